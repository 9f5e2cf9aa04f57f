"""Exact optima, exact policy values, long-run rates and their certificates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fairlane.oracle.average.long_run import LongRun, PolicyRate, long_run, policy_rate
from fairlane.oracle.batch.many import Optimum, Verdict, solve_many, verify_many
from fairlane.oracle.batch.process_pool import process_pool
from fairlane.oracle.certificate import certify, write_certificate
from fairlane.oracle.policy_value.evaluate import Evaluation, Loss, evaluate
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import Solution, solve

if TYPE_CHECKING:
    from fairlane.oracle.sweeps.tiny_batch import TinyResults, solve_tiny
    from fairlane.search import search

# Arrays, which the rest does without, are imported when a name that needs them is asked for. `search` is published
# here, beside `solve` and `evaluate`, but it loads policies by name and so stands above them, as a layer of its own:
# it is looked up on demand, and nothing in this package depends on it.
_HOME = {
    "TinyResults": "fairlane.oracle.sweeps.tiny_batch",
    "search": "fairlane.search",
    "solve_tiny": "fairlane.oracle.sweeps.tiny_batch",
}

__all__ = [
    "Evaluation",
    "LongRun",
    "Loss",
    "Optimum",
    "PolicyRate",
    "Sense",
    "Solution",
    "TinyResults",
    "Verdict",
    "certify",
    "evaluate",
    "long_run",
    "policy_rate",
    "process_pool",
    "search",
    "solve",
    "solve_many",
    "solve_plain",
    "solve_tiny",
    "verify_many",
    "write_certificate",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
