"""Hypothesis strategies of small graphs, requests, instances and workloads that shrink towards readable ones."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance, Regenerates, why_unservable
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.search.space import IDS, Space, graph_name, renamed

_SMALL = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(2), Fraction(16)]
_DURATIONS = st.fractions(min_value=Fraction(1, 2), max_value=8, max_denominator=3)


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    name: str | None = None,
    max_prefill: int = 4,
    max_lanes: int = 2,
    max_decode: int = 3,
    max_width: int = 3,
) -> Graph:
    """Graphs of either phase, or mixed ones.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    name : str or None
        Its name; what it does, such as ``p4x2+d2-3/2ms``, without it.
    max_prefill, max_lanes, max_decode, max_width : int
        Largest capacities and widths; with ``max_prefill`` or ``max_decode`` 0 every graph is of the other phase.
    """
    prefill = draw(st.integers(0 if max_decode else 1, max_prefill))
    lanes = draw(st.integers(1, max_lanes)) if prefill else 1
    decode = draw(st.integers(0 if prefill else 1, max_decode))
    width = draw(st.integers(1, max_width)) if decode else 1
    duration = draw(_DURATIONS)
    return Graph(
        name=name or graph_name(prefill, lanes, decode, width, duration, Fraction(0)),
        duration_ms=duration,
        prefill_capacity=prefill,
        prefill_lanes=lanes,
        decode_capacity=decode,
        width=width,
    )


@st.composite
def requests(
    draw: st.DrawFn, *, name: str = "a", max_prompt: int = 4, max_limit: int = 3, priors: bool = True
) -> Request:
    """Requests with a prompt or already decoding.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    name : str
        Its id.
    max_prompt, max_limit : int
        Largest sizes.
    priors : bool
        Whether lengths may be uncertain.
    """
    limit = draw(st.integers(1, max_limit))
    prior = None
    if priors and draw(st.booleans()):
        lengths = draw(st.lists(st.integers(1, limit + 1), min_size=1, max_size=3, unique=True))
        prior = {n: Fraction(1, len(lengths)) for n in lengths}
    return Request(
        id=name,
        prompt=draw(st.integers(0, max_prompt)),
        limit=limit,
        length_prior=prior,
        acceptance=draw(st.lists(st.sampled_from([Fraction(k, 4) for k in range(5)]), max_size=2)),
        weight=draw(st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)])),
    )


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    max_requests: int = 3,
    max_prompt: int = 4,
    max_limit: int = 3,
    max_graphs: int = 3,
    priors: bool = True,
    age: bool = False,
) -> Instance:
    """Instances of the whole model with at most some hundreds of states.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    max_requests, max_prompt, max_limit, max_graphs : int
        Largest sizes; a prefill graph and a decode graph are always there and do not count.
    priors : bool
        Whether lengths may be uncertain.
    age : bool
        Whether output age may have a price.
    """
    rows = [
        draw(requests(name=f"r{i}", max_prompt=max_prompt, max_limit=max_limit, priors=priors))
        for i in range(draw(st.integers(1, max_requests)))
    ]
    catalog = [
        draw(graphs(name="p", max_lanes=1, max_decode=0)),
        draw(graphs(name="d", max_prefill=0, max_decode=2, max_width=1)),
        *(draw(graphs(name=f"g{i}")) for i in range(draw(st.integers(0, max_graphs)))),
    ]
    price = st.sampled_from(_SMALL)
    objective = Objective(
        prefill_value=draw(price),
        decode_value=draw(price),
        time_price=draw(price),
        completion_price=draw(price),
        first_output_price=draw(price),
        age_price=draw(st.sampled_from([Fraction(0), Fraction(1, 10)])) if age else 0,
    )
    return Instance(graphs=catalog, requests=rows, objective=objective, name="drawn")


@st.composite
def workloads(
    draw: st.DrawFn, *, max_requests: int = 2, max_prompt: int = 2, max_limit: int = 2, max_graphs: int = 1
) -> Instance:
    """Continuing workloads of either kind, with at most some hundreds of states; ages have no price.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    max_requests, max_prompt, max_limit, max_graphs : int
        As of :func:`instances`.
    """
    template = draw(
        instances(max_requests=max_requests, max_prompt=max_prompt, max_limit=max_limit, max_graphs=max_graphs)
    )
    return Instance(
        graphs=template.graphs,
        requests=template.requests,
        objective=template.objective,
        regenerates=draw(st.sampled_from(Regenerates)),
        name="drawn",
    )


def instances_of(space: Space) -> st.SearchStrategy[Instance]:
    """Instances of a space of the counterexample search, so that a test draws what a search walks through.

    Parameters
    ----------
    space : Space
        Its first options are what examples shrink to.
    """
    return _in(space)


@st.composite
def _in(draw: st.DrawFn, space: Space) -> Instance:
    n = draw(st.sampled_from(space.n_requests))
    options = st.sampled_from(space.requests)
    chosen = [draw(options)] * n if space.identical else [draw(options) for _ in range(n)]
    count = draw(st.sampled_from(space.n_graphs))
    places = draw(st.lists(st.integers(0, len(space.graphs) - 1), min_size=count, max_size=count, unique=True))
    catalog = [space.graphs[k] for k in sorted(places)]
    objective = draw(st.sampled_from(space.objectives))
    rows = [renamed(request, IDS[i]) for i, request in enumerate(chosen)]
    # what no graph can serve is no instance of the space
    assume(all(why_unservable(catalog, request) is None for request in rows))
    return Instance(graphs=catalog, requests=rows, objective=objective, name="drawn")
