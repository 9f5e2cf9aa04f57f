"""What a learning policy decides from, the same for every engine: scored cohorts, knowledge of graphs, keyed chance.

Graphs and requests go by index. Service prices, rate normalisers and delivery references are frozen in a situation:
they come from measured means alone, whatever costs the cohorts are then scored at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from fairlane.reference.exact import compare
from fairlane.simulator.learning.options import PolicyOptions
from fairlane.simulator.learning.service_delay import Delay, Lane

NEVER = -math.inf


class Reason(StrEnum):
    """Why a graph was chosen."""

    ORDINARY = "ordinary"
    BOOTSTRAP = "bootstrap"  # nothing feasible is measured
    DISCOVERY = "discovery"  # an unknown graph goes first
    REFRESH = "refresh"  # every sixteenth opportunity
    RANDOM = "random"
    SOFTMAX = "softmax"
    OPTIMISTIC = "optimistic"
    THOMPSON = "thompson"
    PREDICTIVE = "predictive"
    CONFIRMATION = "confirmation"  # evidence of a change waits
    CHECK = "check"  # due for a periodic remeasurement
    CHALLENGER = "challenger"
    STALE = "stale"


class Kind(StrEnum):
    """Which account an execution settles."""

    ORDINARY = "ordinary"
    PROBE = "probe"
    BOOTSTRAP = "bootstrap"


class Scored(NamedTuple):
    """A cohort of one graph, scored at a cost.

    ``line`` holds the places of its members in the order of least recent service, ascending; ``size`` is the graph's
    capacity. Both break ties.
    """

    graph: int
    cost_ms: float
    score: float
    gross_per_ms: float
    prefill: tuple[int, ...]
    decode: tuple[int, ...]
    line: tuple[int, ...]
    size: int


class Knowledge(NamedTuple):
    """What is known of one graph.

    ``mean_ms`` is None while no valid measurement stands (never, or expired); ``n_valid`` counts valid timings of its
    lifetime. Times are NEVER before the first.
    """

    mean_ms: float | None
    n_valid: int
    last_valid_ms: float
    last_valid_busy_ms: float
    last_attempt_ms: float
    pending: bool
    awaiting: bool


class Nomination(NamedTuple):
    """What a policy would rather run than the ordinary choice; ``contended`` where checks and challengers competed."""

    scored: Scored
    reason: Reason
    contended: bool = False


class Situation(Protocol):
    """One decision; see the module docstring."""

    config: PolicyOptions
    now_ms: float
    busy_ms: float
    opportunity: int
    contention: int
    feasible: tuple[int, ...]
    n_live: int
    incumbent: Scored | None

    def known(self, graph: int) -> Knowledge:
        """What is known of a graph."""
        ...

    def nominal_ms(self, graph: int) -> float:
        """The operational mean; the prior location where there is none."""
        ...

    def optimistic_ms(self, graph: int) -> float:
        """The lower quantile of the mean cost given that it is positive."""
        ...

    def drawn_mean_ms(self, graph: int) -> float:
        """A draw of the mean cost from the graph's belief, keyed by opportunity and graph."""
        ...

    def drawn_execution_ms(self, graph: int) -> float:
        """A draw of one execution, likewise."""
        ...

    def uniform(self, word: int) -> float:
        """The number in [0, 1) of this opportunity and a word."""
        ...

    def scored(self, graph: int, cost_ms: float) -> Scored:
        """The best cohort of a feasible graph at a cost."""
        ...

    def rescored(self, cohort: Scored, cost_ms: float) -> Scored:
        """The same cohort at another cost."""
        ...

    def padded(self, graph: int) -> bool:
        """Whether a smaller prefill graph of the same decode rows and width would consume as much of the prompts."""
        ...

    def cohorts(self, graph: int, cost_ms: float) -> Sequence[Scored]:
        """Cohorts that any bound on delay needs: the best ones for each count of the incumbent's requests."""
        ...

    def lanes(self, cohort: Scored) -> tuple[Lane, ...]:
        """Next services that a cohort plans."""
        ...

    def delay(self, cohort: Scored) -> Delay:
        """What a probe of this cohort at its cost delays, against the incumbent."""
        ...


def best(cohorts: Iterable[Scored]) -> Scored:
    """The cohort of highest score, ties by the rule of the model; at least one is given.

    Equal scores (within 1e-12): the members served least recently, then the smaller capacity, then catalog order.
    """
    found: Scored | None = None
    for cohort in cohorts:
        if found is None or _beats(cohort, found):
            found = cohort
    assert found is not None, "something to choose from"
    return found


def _beats(new: Scored, old: Scored) -> bool:
    sign = compare(new.score, old.score)
    if sign:
        return sign > 0
    mine, theirs = new.line, old.line
    if mine[: len(theirs)] != theirs[: len(mine)]:
        return mine < theirs
    return (new.size, new.graph) < (old.size, old.graph)


def by_value(cohort: Scored) -> Scored:
    """The cohort ranked by its useful value, which needs no duration."""
    return cohort._replace(score=cohort.gross_per_ms * cohort.cost_ms)


def alternatives(situation: Situation) -> tuple[int, ...]:
    """Feasible graphs other than the incumbent's."""
    incumbent = situation.incumbent
    assert incumbent is not None
    return tuple(g for g in situation.feasible if g != incumbent.graph)


def loss_ms(*, incumbent_score: float, mean_score: float, mean_ms: float, incumbent_gross_per_ms: float) -> float:
    """Estimated utility lost by a challenger, as service time of the incumbent.

    Examples
    --------
    >>> loss_ms(incumbent_score=1, mean_score=0.5, mean_ms=20, incumbent_gross_per_ms=1)
    10.0
    """
    return max(0.0, incumbent_score - mean_score) * mean_ms / incumbent_gross_per_ms
