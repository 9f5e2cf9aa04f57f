"""The episode a view stands at: its live requests as an instance, and its situation there.

What finished requests were does not change the future, so an episode can be cut down to what a view shows.
"""

from __future__ import annotations

from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import Situation
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Memory, View
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, ZERO, LocalState, State


def graphs_of(view: View) -> Catalog:
    """The catalog with the durations that the dispatcher goes by, without graphs that it knows nothing of."""
    if view.estimates is view.catalog.durations_ms:
        return view.catalog
    return Catalog(
        Graph(
            name=graph.name,
            duration_ms=known,
            prefill_capacity=graph.prefill_capacity,
            prefill_lanes=graph.prefill_lanes,
            decode_capacity=graph.decode_capacity,
            width=graph.width,
            energy_j=graph.energy_j,
        )
        for _, graph, known in view.known_graphs()
    )


def template_of(view: View) -> Instance:
    """The rest of the episode as an instance of its own."""
    requests = tuple(
        Request(
            id=r.id,
            prompt=r.prompt,
            generated=r.generated,
            limit=r.limit,
            length_prior=r.length_prior,
            acceptance=r.acceptance,
            weight=r.weight,
        )
        for r in view.requests
    )
    return Instance(graphs=graphs_of(view), requests=requests, objective=view.objective, name="rest of the episode")


def covers(template: Instance, view: View) -> bool:
    """Whether every live request of a view belongs to a template, under the same catalog and objective."""
    known = {r.id: r for r in template.requests}
    return (
        template.graphs == graphs_of(view)
        and template.objective == view.objective
        and all(
            r.id in known and r.limit == known[r.id].limit and r.prompt <= known[r.id].prompt for r in view.requests
        )
    )


def state_in(template: Instance, view: View) -> State:
    """A view's state, by the template's request order; requests that are gone have finished."""
    keeps_age = bool(template.objective.age_price)
    live = {r.id: r for r in view.requests}
    out = []
    for request in template.requests:
        shown = live.get(request.id)
        if shown is None:
            out.append(FINISHED)
            continue
        age = exactly(shown.age_ms) if keeps_age and shown.age_ms is not None else ZERO
        out.append(LocalState(shown.prompt, shown.generated, age, False))
    return tuple(out)


def situation_in(template: Instance, view: View, memory: Memory) -> Situation:
    """A view's situation in the template, with the memory of the policy that goes on from it."""
    live = {r.id: r for r in view.requests}
    service: list[Fraction | None] = []
    for request in template.requests:
        last = live[request.id].last_service_ms if request.id in live else None
        service.append(None if last is None else exactly(last))
    return Situation(state_in(template, view), tuple(service), exactly(view.now_ms), memory)


def exactly(value: Real) -> Fraction:
    """A clock reading as a rational; a double stands for itself."""
    return Fraction(value)
