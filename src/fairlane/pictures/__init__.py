"""Drawings and pages."""
