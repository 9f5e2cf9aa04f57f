"""Compiled counterparts of the estimators: arrays in, arrays out, no objects and no checks."""
