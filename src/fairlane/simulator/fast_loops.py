"""Loops that run one policy faster than the event loop, to the same run byte for byte.

Adding one is a function and a line of ``FAST_LOOPS``. A loop may decline an input (None); the next one is asked
then, and the event loop at last.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from fairlane.policies.fixed_value import POLICY as FIXED_VALUE
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Policy
from fairlane.simulator.compiled import run_compiled
from fairlane.simulator.draws import KeyedDraws
from fairlane.simulator.fast_fixed_value import run_fast
from fairlane.simulator.stage import Outcome, Stage

# output tokens from which compiling pays, even the first time
COMPILED_FROM = 200_000


class Path(StrEnum):
    """Which loop runs a policy that has fast ones; every other policy is run by the event loop.

    ``BY_SIZE`` takes the compiled loop from 200,000 output tokens on and the fast one below.
    """

    BY_SIZE = "by-size"
    FAST = "fast"
    COMPILED = "compiled"
    READABLE = "readable"


class FastLoop(NamedTuple):
    """A loop, the policy it stands for, and from how many output tokens it pays.

    ``run`` takes graphs at the durations of the catalog, and a draw source that does so too.
    """

    policy: Policy
    path: Path
    from_tokens: int
    run: Callable[[Stage, Catalog, Objective, KeyedDraws], Outcome | None]


# of one policy, the loop of the largest inputs first
FAST_LOOPS = (
    FastLoop(FIXED_VALUE.policy, Path.COMPILED, COMPILED_FROM, run_compiled),
    FastLoop(FIXED_VALUE.policy, Path.FAST, 0, run_fast),
)


def run_fast_loop(
    policy: Policy, ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws, path: Path
) -> Outcome | None:
    """What the first loop that takes the policy and the input makes of it; None where the event loop is to run."""
    if path is Path.READABLE:
        return None
    work = sum(length for length, admitted in zip(source.lengths, ready.admitted, strict=True) if admitted)
    for loop in FAST_LOOPS:
        if loop.policy is not policy:
            continue
        # where the compiled loop was asked for and declines, a fast one is the next best
        wanted = work >= loop.from_tokens if path is Path.BY_SIZE else path in (loop.path, Path.COMPILED)
        outcome = loop.run(ready, catalog, objective, source) if wanted else None
        if outcome is not None:
            return outcome
    return None
