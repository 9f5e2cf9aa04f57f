"""Predicates that describe known weaknesses of dispatchers, for ``fairlane search --predicate``.

Each takes a :class:`fairlane.search.Case` and describes a kind of behaviour, not an instance: the search finds the
smallest instance that shows it. Where they follow a run, it is that in which the likeliest outcome happens at every
completion.
"""

from __future__ import annotations

from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.policies import load_policy
from fairlane.reference.model.completion import prefill_completion_ms
from fairlane.search.case import Case

# what a person notices, and how many graphs the counts of equal streams are compared after
HORIZON_MS = 50
ROUNDS = 10
APART = 5


def slower_than_the_best_chunks(case: Case) -> bool:
    """One prompt alone takes longer than H(p), the least time that any sequence of graphs needs for it."""
    request = case.instance.requests[0]
    if len(case.instance.requests) > 1 or request.prompt == 0:
        return False
    consumed = [block.end_ms for block in case.run if block.consumed]
    return consumed[-1] > prefill_completion_ms(request.prompt, case.instance.graphs)


def prompt_unserved_for_a_horizon(case: Case) -> bool:
    """A prompt receives no token in the first 50 ms, although a graph for it is there."""
    waiting = [i for i, r in enumerate(case.instance.requests) if r.prompt > 0]
    served: dict[int, Fraction] = {}
    for block in case.run:
        for i, _ in block.consumed:
            served.setdefault(i, block.start_ms)
    return any(served[i] >= HORIZON_MS for i in waiting)


def equal_streams_drift_apart(case: Case) -> bool:
    """After ten graphs the token counts of streams that are equal in everything differ by at least five."""
    requests = case.instance.requests
    alike = {(r.prompt, r.generated, r.limit, r.length_prior, r.acceptance, r.weight) for r in requests}
    if len(requests) < 2 or len(alike) > 1 or requests[0].prompt > 0 or len(case.run) < ROUNDS:
        return False
    counts = [0] * len(requests)
    for block in case.run[:ROUNDS]:
        for i, tokens in block.published:
            counts[i] += tokens
    return max(counts) - min(counts) >= APART


def longer_for_the_same_work(case: Case) -> bool:
    """A losing decision runs a graph where one of the same shape, with the same lanes, takes less time."""
    rows = case.instance.graphs.graphs
    for loss in case.evaluation.losses if case.gap else ():
        chosen = rows[loss.action.graph]
        for graph in rows:
            same = (graph.prefill_capacity, graph.prefill_lanes, graph.decode_capacity, graph.width) == (
                chosen.prefill_capacity,
                chosen.prefill_lanes,
                chosen.decode_capacity,
                chosen.width,
            )
            if same and graph.duration_ms < chosen.duration_ms:
                return True
    return False


def loses_where_fixed_value_does_not(case: Case) -> bool:
    """The policy is worse than optimal where ``fixed-value`` is optimal: what the policy adds is to blame."""
    return case.gap > 0 and _fixed_value_gap(case) == 0


def worse_than_fixed_value(case: Case) -> bool:
    """The policy gives away more than ``fixed-value`` does: what the policy adds makes it worse."""
    return case.gap > 0 and case.gap > _fixed_value_gap(case)


def deep_burst_for_a_neglected_stream(case: Case) -> bool:
    """Losing more than ``fixed-value``, the policy runs a wider graph than is right for a stream that has waited."""
    if case.gap == 0:
        return False
    rows = case.instance.graphs.graphs
    deep = any(
        rows[loss.action.graph].width > rows[loss.better.graph].width
        and any(loss.state[i].age_ms > 0 for i in loss.action.decode)
        for loss in case.evaluation.losses
    )
    return deep and worse_than_fixed_value(case)


def _fixed_value_gap(case: Case) -> Fraction:
    return evaluate(case.instance, load_policy("fixed-value"), solution=case.solution).gap
