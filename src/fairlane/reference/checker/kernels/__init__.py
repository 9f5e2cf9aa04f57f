"""Compiled loops of the checker: arrays in, arrays out. They share no code with the solvers' kernels."""
