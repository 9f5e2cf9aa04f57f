"""What the server of claims' processes imports before the first of them: watched imports, then the usual libraries."""

from __future__ import annotations

from fairlane.proofs.claims import tracing

tracing.watch_imports()

# ruff: noqa: E402, F401  # the order matters: modules that take import_module by name must find the watched one
import flint
import numpy
import sympy

import fairlane.oracle
import fairlane.proofs.claims.kinds
import fairlane.proofs.claims.proving
import fairlane.proofs.claims.running
import fairlane.proofs.obligations
