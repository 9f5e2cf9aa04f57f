"""Exact optima, exact policy values and their certificates."""
