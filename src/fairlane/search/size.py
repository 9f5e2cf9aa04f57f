"""The order in which instances are small: requests, then tokens, then graphs, then denominators, then magnitudes.

What is left equal by these is put in order by the instance's text, so that every search has one smallest witness.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from fairlane.reference.model.codec import instance_to_json
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import Request
from fairlane.search.space import tokens_of


class Size(NamedTuple):
    """The size of an instance; smaller ones compare less.

    ``denominators`` sums denominator - 1 over all rationals of the instance, ``magnitudes`` their numerators and every
    capacity, lane and width.
    """

    requests: int
    tokens: int
    graphs: int
    denominators: int
    magnitudes: int
    text: str


class Weight(NamedTuple):
    """The part of a size that numbers make: sums over parts of an instance add up."""

    denominators: int
    magnitudes: int


def size_of(instance: Instance) -> Size:
    """The size of an instance."""
    parts = [frame_weight(instance.graphs, instance.objective), *map(request_weight, instance.requests)]
    return Size(
        requests=len(instance.requests),
        tokens=sum(tokens_of(r) for r in instance.requests),
        graphs=len(instance.graphs),
        denominators=sum(part.denominators for part in parts),
        magnitudes=sum(part.magnitudes for part in parts),
        text=json.dumps(instance_to_json(instance)),
    )


def frame_weight(catalog: Catalog, objective: Objective) -> Weight:
    """Of the graphs and the objective."""
    shapes = sum(g.prefill_capacity + g.prefill_lanes + g.decode_capacity + g.width for g in catalog)
    numbers = [x for g in catalog for x in (g.duration_ms, g.energy_j)]
    return _weight([*numbers, *(getattr(objective, name) for name in PRICES)], shapes)


def request_weight(request: Request) -> Weight:
    """Of the rationals of a request; its tokens stand for themselves."""
    return _weight([request.weight, *request.acceptance, *(p for _, p in request.length_prior or ())], 0)


def _weight(rationals: Sequence[Fraction], shapes: int) -> Weight:
    return Weight(
        denominators=sum(x.denominator - 1 for x in rationals),
        magnitudes=shapes + sum(x.numerator for x in rationals),
    )
