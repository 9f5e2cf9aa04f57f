"""How many random cases a test takes: a tenth by default, all of them with FAIRLANE_FULL=1."""

from __future__ import annotations

import os


def count(full: int) -> int:
    """The number of random cases to run; ``full`` with FAIRLANE_FULL=1, otherwise a tenth, at least one."""
    return full if os.environ.get("FAIRLANE_FULL") == "1" else max(1, full // 10)
