"""The model and its reference calculations."""
