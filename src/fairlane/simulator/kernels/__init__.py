"""Compiled loops of the simulator: tables of int64 in, tables of int64 out."""
