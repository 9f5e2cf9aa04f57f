"""Backward sweeps in doubles with certified bounds."""
