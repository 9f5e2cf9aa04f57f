"""``targeted``: challengers that look better at an optimistic cost, periodic checks, and confirmations.

A measured challenger has a higher optimistic score than the incumbent's ordinary one, is estimated at most
probe_extra_ms longer, and loses at most probe_loss_ms of incumbent service, all for the cohort that would run. An
unmeasured graph needs the optimistic improvement alone. A measured graph whose last valid timing is refresh_busy_ms of
occupied time ago is due for a check, and pending evidence of a change asks for a confirmation; neither needs
admission. Under a hard limit of service delay the cohort is the most valuable one within it, and an unmeasured graph
is not tried; with earned delay, checks and confirmations take the cohort that delays least.
"""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import (
    Nomination,
    Reason,
    Scored,
    Situation,
    alternatives,
    best,
    loss_ms,
)


def due(situation: Situation, graph: int) -> bool:
    """Whether a graph is due for a periodic check; a graph that was never measured is a challenger instead."""
    known = situation.known(graph)
    return known.n_valid > 0 and situation.busy_ms - known.last_valid_busy_ms >= situation.config.refresh_busy_ms


def challenger(situation: Situation, graph: int) -> Scored | None:
    """The cohort a challenger would run, scored at its optimistic cost; None where it is not admitted."""
    config, incumbent = situation.config, situation.incumbent
    assert incumbent is not None
    known = situation.known(graph)
    cohort = _within_limit(situation, graph, situation.optimistic_ms(graph))
    if cohort is None or cohort.score <= incumbent.score:
        return None
    if known.n_valid == 0:
        return cohort
    mean_ms = situation.nominal_ms(graph)
    lost = loss_ms(
        incumbent_score=incumbent.score,
        mean_score=situation.rescored(cohort, mean_ms).score,
        mean_ms=mean_ms,
        incumbent_gross_per_ms=incumbent.gross_per_ms,
    )
    if mean_ms - incumbent.cost_ms > config.probe_extra_ms or lost > config.probe_loss_ms:
        return None
    return cohort


def nominate(situation: Situation) -> Nomination | None:
    """A confirmation, a due check or a challenger."""
    config = situation.config
    others = alternatives(situation)
    confirm, checks = [], []
    for graph in others:
        known = situation.known(graph)
        if known.pending and known.n_valid > 0 and not known.awaiting:
            confirm.append(graph)
        elif known.awaiting or due(situation, graph):
            checks.append(graph)
    found = _longest_ago(situation, confirm)
    if found is not None:
        return Nomination(found, Reason.CONFIRMATION)
    check = _longest_ago(situation, checks)
    # a graph in the check queue competes there alone
    admitted = [c for g in others if g not in checks and (c := challenger(situation, g)) is not None]
    if check is None:
        return Nomination(best(admitted), Reason.CHALLENGER) if admitted else None
    if not admitted:
        return Nomination(check, Reason.CHECK)
    if config.audit_every and (situation.contention + 1) % config.audit_every:
        return Nomination(best(admitted), Reason.CHALLENGER, contended=True)
    return Nomination(check, Reason.CHECK, contended=True)


def _longest_ago(situation: Situation, graphs: list[int]) -> Scored | None:
    """The cohort of the graph attempted longest ago among those a delay limit lets run."""
    for graph in sorted(graphs, key=lambda g: (situation.known(g).last_attempt_ms, g)):
        cost = situation.nominal_ms(graph)
        if situation.config.harm_alpha is not None:
            return _gentlest(situation, graph, cost)
        cohort = _within_limit(situation, graph, cost)
        if cohort is not None:
            return cohort
    return None


def _within_limit(situation: Situation, graph: int, cost_ms: float) -> Scored | None:
    """The most valuable cohort within the hard limit of delay, at the graph's estimated duration."""
    limit = situation.config.probe_harm_ms
    if limit is None or situation.n_live == 1:
        return situation.scored(graph, cost_ms)
    if situation.known(graph).n_valid == 0:
        return None
    mean_ms = situation.nominal_ms(graph)
    safe = [c for c in situation.cohorts(graph, cost_ms) if situation.delay(c._replace(cost_ms=mean_ms)).total <= limit]
    return best(safe) if safe else None


def _gentlest(situation: Situation, graph: int, cost_ms: float) -> Scored:
    """The cohort of least predicted delay, ties by utility."""
    cohorts = situation.cohorts(graph, cost_ms)
    delays = [situation.delay(c).total for c in cohorts]
    least = min(delays)
    return best(c for c, delay in zip(cohorts, delays, strict=True) if delay == least)


POLICY = LearningPolicySpec(
    name="targeted",
    source="targeted challengers, periodic checks and confirmations",
    nominate=nominate,
    refreshes=False,
    bounds_delay=True,
    compiled=columns.TARGETED,
)
