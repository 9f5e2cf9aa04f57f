"""Exact optima, exact policy values, long-run rates and their certificates."""

from __future__ import annotations

from fairlane.oracle.certificate import certify, write_certificate
from fairlane.oracle.evaluate import Evaluation, Loss, evaluate
from fairlane.oracle.long_run import LongRun, PolicyRate, long_run, policy_rate
from fairlane.oracle.plain import Sense, solve_plain
from fairlane.oracle.solve import Solution, solve

__all__ = [
    "Evaluation",
    "LongRun",
    "Loss",
    "PolicyRate",
    "Sense",
    "Solution",
    "certify",
    "evaluate",
    "long_run",
    "policy_rate",
    "solve",
    "solve_plain",
    "write_certificate",
]
