"""The decorators of kernels, which stand in `fairlane.compiling`."""

from __future__ import annotations

from fairlane.compiling.flags import kernel

__all__ = ["kernel"]
