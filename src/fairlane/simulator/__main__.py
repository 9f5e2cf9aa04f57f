"""``python -m fairlane.simulator``: the same as ``fairlane simulate``."""

from __future__ import annotations

import importlib
import sys

# the command line is a layer above; it is looked up by name when this is run as a program
sys.exit(importlib.import_module("fairlane.cli").run(["simulate", *sys.argv[1:]]))
