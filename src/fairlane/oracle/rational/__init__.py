"""Exact values in rationals."""
