"""Best cohorts and prefill lists against trying everything."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

from fairlane.reference.graph import Graph
from fairlane.reference.prefill_list import best_prefill, exhaustive_prefill
from fairlane.reference.request import Request
from fairlane.reference.score import Lanes, best_cohort, lanes_value
from tests.counts import count


def random_requests(rng: random.Random) -> list[Request]:
    return [
        Request(
            id=f"r{i}",
            prompt=rng.choice([0, 0, rng.randint(1, 12)]),
            limit=rng.randint(1, 4),
            acceptance=[Fraction(rng.randint(0, 4), 4) for _ in range(rng.randint(0, 3))],
            weight=rng.choice([Fraction(1), Fraction(1), Fraction(3), Fraction(1, 2)]),
        )
        for i in range(rng.randint(1, 5))
    ]


def random_graph(rng: random.Random) -> Graph:
    prefill = rng.choice([0, rng.randint(1, 20)])
    return Graph(
        name="g",
        duration_ms=rng.randint(1, 9),
        prefill_capacity=prefill,
        prefill_lanes=rng.randint(1, 4),
        decode_capacity=rng.randint(0 if prefill else 1, 3),
        width=rng.randint(1, 4),
    )


def test_the_best_prefill_list_is_the_best_of_all_ordered_lists() -> None:
    rng = random.Random(3)
    for _ in range(count(3000)):
        graph, requests = random_graph(rng), random_requests(rng)
        beta = rng.choice([Fraction(0), Fraction(1), Fraction(5), Fraction(1, 2)])
        by_id = {r.id: r for r in requests}
        found = best_prefill(graph, requests, decode_value=beta)
        _, best = exhaustive_prefill(graph, requests, decode_value=beta)
        value = lanes_value(graph, Lanes([by_id[i] for i in found], ()), beta) if found else Fraction(0)
        assert value == best


def test_the_best_cohort_is_the_best_of_all_cohorts() -> None:
    rng = random.Random(4)
    for _ in range(count(2000)):
        graph, requests = random_graph(rng), random_requests(rng)
        beta = rng.choice([Fraction(1), Fraction(5), Fraction(1, 2)])
        rows = [r for r in requests if r.prompt == 0]
        _, best_list = exhaustive_prefill(graph, requests, decode_value=beta)
        best = max(
            best_list + lanes_value(graph, Lanes((), chosen), beta)
            for size in range(min(graph.decode_capacity, len(rows)) + 1)
            for chosen in combinations(rows, size)
        )
        cohort = best_cohort(graph, requests, decode_value=beta)
        assert (cohort.value if cohort is not None else 0) == best
