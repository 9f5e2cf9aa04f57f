"""``python -m fairlane``."""

from __future__ import annotations

from fairlane.cli import main

main()
