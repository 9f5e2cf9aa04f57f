"""Exact optima, exact policy values, long-run rates and their certificates."""

from __future__ import annotations

from fairlane.oracle.certificate import certify, write_certificate
from fairlane.oracle.evaluate import Evaluation, Loss, evaluate
from fairlane.oracle.long_run import LongRun, PolicyRate, long_run, policy_rate
from fairlane.oracle.many import Optimum, Verdict, solve_many, verify_many
from fairlane.oracle.plain import Sense, solve_plain
from fairlane.oracle.process_pool import process_pool
from fairlane.oracle.solve import Solution, solve

__all__ = [
    "Evaluation",
    "LongRun",
    "Loss",
    "Optimum",
    "PolicyRate",
    "Sense",
    "Solution",
    "Verdict",
    "certify",
    "evaluate",
    "long_run",
    "policy_rate",
    "process_pool",
    "solve",
    "solve_many",
    "solve_plain",
    "verify_many",
    "write_certificate",
]
