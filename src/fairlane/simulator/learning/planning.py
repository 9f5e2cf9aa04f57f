"""One decision from one situation: the ordinary choice, discovery of unknown graphs, and paid exploration."""

from __future__ import annotations

from dataclasses import dataclass

from fairlane.simulator.learning.accounts import Accounts
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.service_delay import Lane
from fairlane.simulator.learning.situation import (
    Kind,
    Nomination,
    Reason,
    Scored,
    Situation,
    alternatives,
    best,
    by_value,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What runs next, and which account it settles.

    Attributes
    ----------
    kind, reason : Kind, Reason
        The account, and why.
    cohort : Scored
        Graph and lanes, scored at the cost that chose them.
    incumbent : Scored or None
        The ordinary choice, None while nothing feasible is measured.
    incumbent_lanes : tuple of Lane
        Its next services, kept for probes where delay is accounted.
    opportunity, contended : bool
        Which counters advance when the plan runs.
    """

    kind: Kind
    reason: Reason
    cohort: Scored
    incumbent: Scored | None
    incumbent_lanes: tuple[Lane, ...] = ()
    opportunity: bool = False
    contended: bool = False


def plan(situation: Situation, config: LearningConfig, accounts: Accounts) -> Plan:
    """The decision of a policy; the same situation gives the same plan, and nothing is counted until it runs."""
    first = _discovery(situation, config)
    if first is not None:
        return first
    incumbent = situation.incumbent
    assert incumbent is not None
    spec = config.spec
    ordinary = Plan(kind=Kind.ORDINARY, reason=Reason.ORDINARY, cohort=incumbent, incumbent=incumbent)
    if spec.nominate is None or len(situation.feasible) < 2:
        return ordinary
    lanes = () if accounts.delay is None else situation.lanes(incumbent)
    if not accounts.open(lanes):
        return ordinary
    chosen: Nomination | None
    if spec.refreshes and config.refresh_every and situation.opportunity % config.refresh_every == 0:
        chosen = _refresh(situation)
    else:
        chosen = spec.nominate(situation)
    contended = chosen is not None and chosen.contended
    if chosen is None or chosen.scored.graph == incumbent.graph:
        # a nomination of the incumbent's graph runs the incumbent's full cohort as ordinary service
        reason = Reason.ORDINARY if chosen is None else chosen.reason
        return Plan(
            kind=Kind.ORDINARY,
            reason=reason,
            cohort=incumbent,
            incumbent=incumbent,
            opportunity=True,
            contended=contended,
        )
    never = situation.known(chosen.scored.graph).n_valid == 0
    return Plan(
        kind=Kind.BOOTSTRAP if never and config.initial_discovery == "native" else Kind.PROBE,
        reason=chosen.reason,
        cohort=chosen.scored,
        incumbent=incumbent,
        incumbent_lanes=lanes,
        opportunity=True,
        contended=contended,
    )


def _discovery(situation: Situation, config: LearningConfig) -> Plan | None:
    """An unknown graph, where it goes first or nothing feasible is measured."""
    spec = config.spec
    known = {g: situation.known(g) for g in situation.feasible}
    unknown = [g for g in situation.feasible if known[g].mean_ms is None]
    if not unknown:
        return None
    reason = Reason.DISCOVERY
    if spec.unknown_first:
        wanted = [g for g in unknown if not situation.padded(g)]
    elif config.initial_discovery == "native":
        wanted = [g for g in unknown if known[g].n_valid == 0 and not situation.padded(g)]
    else:
        wanted = []
    if not wanted:
        if situation.incumbent is not None:
            return None
        wanted, reason = unknown, Reason.BOOTSTRAP
    cohort = best(by_value(situation.scored(g, situation.nominal_ms(g))) for g in wanted)
    # trying a graph again whose measurement has expired is ordinary service
    kind = Kind.BOOTSTRAP if known[cohort.graph].n_valid == 0 else Kind.ORDINARY
    return Plan(kind=kind, reason=reason, cohort=cohort, incumbent=situation.incumbent)


def _refresh(situation: Situation) -> Nomination:
    """The least recently attempted alternative, at nominal costs."""
    graph = min(alternatives(situation), key=lambda g: (situation.known(g).last_attempt_ms, g))
    return Nomination(situation.scored(graph, situation.nominal_ms(graph)), Reason.REFRESH)
