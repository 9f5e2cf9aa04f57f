"""Which backend solves a problem: the first in order of preference that takes it."""

from __future__ import annotations

from collections.abc import Iterable

from fairlane.oracle.backend import Backend, Table
from fairlane.oracle.problem import Problem
from fairlane.oracle.refusal import Refusal
from fairlane.reference.errors import Unsupported


def solve_by_preference(problem: Problem, backends: Iterable[Backend]) -> Table:
    """The table of the first backend that takes the problem.

    Raises
    ------
    TooLarge, Unsupported
        No backend takes it; of the refusals by size the one that is nearest to fitting.
    """
    met = 0
    refusals: list[tuple[int, Refusal]] = []
    for backend in backends:
        most = backend.most_states(problem)
        # what was met on the way and was too much for one is too much for those that take less
        if met > most:
            continue
        refusal = backend.accepts(problem)
        if refusal is None:
            try:
                return backend.sweep(problem)
            except Unsupported as error:
                refusal = Refusal.of(error)
                met = max(met, refusal.states)
        refusals.append((most, refusal))
    sized = [pair for pair in refusals if pair[1].states]
    # states over what is taken: how much the instance would have to shrink
    nearest = min(sized or refusals, key=lambda pair: max(met, pair[1].states) / max(1, pair[0]))[1]
    raise nearest.error()
