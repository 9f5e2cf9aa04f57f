"""Small random instances of the whole model, from a seeded generator."""

from __future__ import annotations

import random
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import Request


def random_prior(rng: random.Random, limit: int) -> dict[int, Fraction] | None:
    """A random belief over up to three lengths, sometimes beyond the limit; often none."""
    if rng.random() < 0.4:
        return None
    lengths = rng.sample(range(1, limit + 3), rng.randint(1, min(3, limit + 2)))
    weights = [rng.randint(1, 3) for _ in lengths]
    return {n: Fraction(w, sum(weights)) for n, w in zip(lengths, weights, strict=True)}


def random_graphs(rng: random.Random) -> list[Graph]:
    """One to two prefill graphs, one to two decode graphs, sometimes a mixed one; a single decode row always."""
    rows = [
        Graph(
            name=f"p{k}",
            duration_ms=Fraction(rng.randint(1, 8), rng.randint(1, 2)),
            prefill_capacity=rng.randint(1, 4),
            prefill_lanes=rng.randint(1, 2),
        )
        for k in range(rng.randint(1, 2))
    ]
    rows += [
        Graph(
            name=f"d{k}",
            duration_ms=Fraction(rng.randint(1, 9), rng.randint(1, 3)),
            decode_capacity=rng.randint(1, 3),
            width=rng.randint(1, 3),
        )
        for k in range(rng.randint(1, 2))
    ]
    if rng.random() < 0.5:
        rows.append(
            Graph(
                name="mix",
                duration_ms=rng.randint(2, 9),
                prefill_capacity=rng.randint(1, 3),
                decode_capacity=rng.randint(1, 2),
                width=rng.randint(1, 2),
            )
        )
    return rows


def with_energy(instance: Instance, rng: random.Random) -> Instance:
    """The instance with a price on energy and random energies, some graphs taking none."""
    graphs = [
        Graph(
            name=g.name,
            duration_ms=g.duration_ms,
            prefill_capacity=g.prefill_capacity,
            prefill_lanes=g.prefill_lanes,
            decode_capacity=g.decode_capacity,
            width=g.width,
            energy_j=_one_of(rng, 0, "1/3", 2, 7),
        )
        for g in instance.graphs
    ]
    prices = {name: getattr(instance.objective, name) for name in PRICES}
    prices["energy_price"] = _one_of(rng, "1/2", 1, "5/3")
    return Instance(graphs=graphs, requests=instance.requests, objective=Objective(**prices), name=instance.name)


def _one_of(rng: random.Random, *values: int | str) -> Fraction:
    return Fraction(rng.choice(values))


def random_instance(rng: random.Random, *, age: bool = False, most_requests: int = 3) -> Instance:
    """An instance of one to three requests with a few dozen states.

    Parameters
    ----------
    rng : random.Random
        Seeded by the caller.
    age : bool
        Whether output age has a price.
    most_requests : int
        Most requests, >= 1.
    """
    while True:
        requests = []
        for i in range(rng.randint(1, most_requests)):
            prompt = rng.choice([0, 0, 1, 2, 3])
            generated = rng.randint(0, 1) if prompt == 0 else 0
            limit = generated + rng.randint(1, 2)
            try:
                requests.append(
                    Request(
                        id=f"r{i}",
                        prompt=prompt,
                        generated=generated,
                        limit=limit,
                        length_prior=random_prior(rng, limit),
                        acceptance=[Fraction(rng.randint(0, 4), 4) for _ in range(rng.randint(0, 2))],
                        weight=_one_of(rng, 1, 1, 2, "1/2"),
                    )
                )
            except InvalidInstance:
                # the prior has no mass above what was generated; draw this request's episode anew
                break
        else:
            return Instance(
                graphs=random_graphs(rng),
                requests=requests,
                objective=Objective(
                    prefill_value=rng.choice([0, 1]),
                    decode_value=_one_of(rng, 0, 1, "1/2", 16),
                    time_price=_one_of(rng, 0, 1, "1/2"),
                    completion_price=_one_of(rng, 0, "1/3", 2),
                    first_output_price=rng.choice([0, 1]),
                    age_price=Fraction(1, 10) if age else 0,
                ),
            )
