"""Accepts or rejects what a solver claims; shares no code with any solver."""
