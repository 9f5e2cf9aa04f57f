"""Hypothesis strategies of small instances that shrink towards readable ones."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

_SMALL = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(2), Fraction(16)]


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
    requests = []
    for i in range(draw(st.integers(1, max_requests))):
        limit = draw(st.integers(1, max_limit))
        prior = None
        if priors and draw(st.booleans()):
            lengths = draw(st.lists(st.integers(1, limit + 1), min_size=1, max_size=3, unique=True))
            prior = {n: Fraction(1, len(lengths)) for n in lengths}
        requests.append(
            Request(
                id=f"r{i}",
                prompt=draw(st.integers(0, max_prompt)),
                limit=limit,
                length_prior=prior,
                acceptance=draw(st.lists(st.sampled_from([Fraction(k, 4) for k in range(5)]), max_size=2)),
                weight=draw(st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)])),
            )
        )
    duration = st.fractions(min_value=Fraction(1, 2), max_value=8, max_denominator=3)
    graphs = [
        Graph(name="p", duration_ms=draw(duration), prefill_capacity=draw(st.integers(1, 4))),
        Graph(name="d", duration_ms=draw(duration), decode_capacity=draw(st.integers(1, 2))),
    ]
    for i in range(draw(st.integers(0, max_graphs))):
        prefill = draw(st.integers(0, 4))
        graphs.append(
            Graph(
                name=f"g{i}",
                duration_ms=draw(duration),
                prefill_capacity=prefill,
                prefill_lanes=draw(st.integers(1, 2)),
                decode_capacity=draw(st.integers(0 if prefill else 1, 3)),
                width=draw(st.integers(1, 3)),
            )
        )
    price = st.sampled_from(_SMALL)
    objective = Objective(
        prefill_value=draw(price),
        decode_value=draw(price),
        time_price=draw(price),
        completion_price=draw(price),
        first_output_price=draw(price),
        age_price=draw(st.sampled_from([Fraction(0), Fraction(1, 10)])) if age else 0,
    )
    return Instance(graphs=graphs, requests=requests, objective=objective, name="drawn")
