"""The ledger's views, made without the constructor, are what the constructor makes."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import RequestView
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock
from fairlane.simulator.ledger import Ledger

GRAPHS = Catalog([Graph(name="d", duration_ms=2, decode_capacity=1)])


def test_every_part_of_a_view_stands_under_its_own_name() -> None:
    # every value is another one, so that no two can be exchanged unnoticed
    prior = {7: "1/2", 8: "1/2"}
    stream = Request(
        id="s", arrival_ms=1, prompt=0, generated=3, limit=9, length_prior=prior, acceptance=("1/5",), weight="11/2"
    )
    prompt = Request(id="p", arrival_ms=2, prompt=13, limit=6)
    ledger = Ledger([stream, prompt], [1, 2], GRAPHS, Objective(decode_value=1), Clock(1, exact=True))
    ledger.now = 4
    ledger.admit(0)
    ledger.admit(1)
    ledger.serve(0, consumed=0, published=2, finished=False)
    ledger.now = 10
    served, waiting = ledger.view().requests
    assert served == RequestView(
        id="s",
        index=0,
        weight=Fraction(11, 2),
        arrival_ms=1,
        prompt=0,
        generated=5,
        limit=9,
        acceptance=(Fraction(1, 5),),
        length_prior=stream.length_prior,
        age_ms=6,
        last_service_ms=4,
    )
    assert waiting == RequestView(
        id="p",
        index=1,
        weight=Fraction(1),
        arrival_ms=2,
        prompt=13,
        generated=0,
        limit=6,
        acceptance=(),
        length_prior=None,
        age_ms=None,
        last_service_ms=None,
    )
    # no part is left unset: reading one that is raises AttributeError
    assert all(hasattr(served, field.name) for field in fields(RequestView))
