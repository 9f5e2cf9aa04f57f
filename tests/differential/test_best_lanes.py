"""Best cohorts and prefill lists against trying everything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.request import Request
from fairlane.reference.model.score import Lanes, lanes_value
from fairlane.reference.prefill import prompt_induction
from fairlane.reference.prefill.fixed_value_cohort import best_cohort
from fairlane.reference.prefill.prefill_list import best_prefill, exhaustive_prefill
from fairlane.reference.prefill.prompt import Prompt, WholePrompt
from fairlane.reference.prefill.prompt_knapsack import PromptKnapsack, largest_sum
from fairlane.reference.prefill.prompt_table import best_set_by_table
from tests.counts import count


def random_requests(rng: random.Random, *, unit: int = 1) -> list[Request]:
    return [
        Request(
            id=f"r{i}",
            prompt=rng.choice([0, 0, rng.randint(1, 12)]),
            limit=rng.randint(1, 4),
            acceptance=[Fraction(rng.randint(0, 4), 4) for _ in range(rng.randint(0, 3))],
            weight=unit * rng.choice([Fraction(1), Fraction(1), Fraction(3), Fraction(1, 2)]),
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


@pytest.mark.parametrize("most_states", [prompt_induction.MOST_STATES, 0], ids=["induction", "table"])
def test_the_best_prefill_list_is_the_best_of_all_ordered_lists(
    monkeypatch: pytest.MonkeyPatch, most_states: int
) -> None:
    # with no states allowed every list of unequal prices comes from the dense table
    monkeypatch.setattr(prompt_induction, "MOST_STATES", most_states)
    rng = random.Random(3)
    for trial in range(count(3000)):
        # values beyond 64 bits now and then
        unit = 10**30 if trial % 10 == 9 else 1
        graph, requests = random_graph(rng), random_requests(rng, unit=unit)
        beta = rng.choice([Fraction(0), Fraction(1), Fraction(5), Fraction(1, 2)])
        by_id = {r.id: r for r in requests}
        found = best_prefill(graph, requests, decode_value=beta)
        _, best = exhaustive_prefill(graph, requests, decode_value=beta)
        value = lanes_value(graph, Lanes([by_id[i] for i in found], ()), beta) if found else Fraction(0)
        assert value == best
        waiting = [Prompt(r.prompt, r.weight, r.weight * beta) for r in requests if r.prompt]
        if graph.prefill_capacity:
            assert PromptKnapsack(waiting).at_most(graph.prefill_capacity, graph.prefill_lanes) >= best


def test_of_equal_lists_the_least_recently_served_wins() -> None:
    rng = random.Random(8)
    for trial in range(count(3000)):
        graph = Graph(
            name="g", duration_ms=1, prefill_capacity=rng.randint(1, 20), prefill_lanes=rng.choice([1, 2, 3, 4])
        )
        weights = [Fraction(1)] if trial % 2 else [Fraction(1), Fraction(2), Fraction(1, 2)]
        requests = [
            Request(id=f"r{i}", prompt=rng.randint(1, 6), limit=1, weight=rng.choice(weights))
            for i in range(rng.randint(1, 6))
        ]
        beta = rng.choice([Fraction(1), Fraction(5), Fraction(1, 2)])
        place = {r.id: i for i, r in enumerate(requests)}
        found = sorted(place[i] for i in best_prefill(graph, requests, decode_value=beta))
        wanted = sorted(place[i] for i in exhaustive_prefill(graph, requests, decode_value=beta)[0])
        # where one set begins with the other, neither is the older one
        assert found[: len(wanted)] == wanted[: len(found)]


def test_equal_prices_agree_with_the_table_on_queues_of_dozens() -> None:
    rng = random.Random(9)
    for _ in range(count(300)):
        lanes, capacity = rng.randint(2, 12), rng.randint(50, 600)
        rate, bonus = rng.choice([(1, 1), (1, 64), (2, 1), (1, 0)])
        items = [WholePrompt(rng.randint(1, rng.choice([60, 200])), rate, bonus) for _ in range(rng.randint(13, 50))]
        found = PromptKnapsack([Prompt(*item) for item in items]).best(capacity, lanes)
        every = frozenset(range(len(items)))
        other = best_set_by_table(items, capacity, lanes, completable=every, closable=every)
        assert list_value(items, found, capacity) == list_value(items, other, capacity)


def list_value(items: list[WholePrompt], members: Sequence[int], capacity: int) -> int:
    """Of prompts filled in order, at equal prices, where the order does not matter."""
    assert len(set(members)) == len(members)
    over = max(0, sum(items[i].tokens for i in members) - capacity)
    assert not over or any(items[i].tokens > over for i in members)
    lost = items[0].rate * over + (items[0].bonus if over else 0)
    return sum(items[i].full for i in members) - lost


def test_a_fixed_number_of_prompts_with_the_largest_sum() -> None:
    # against every combination
    rng = random.Random(10)
    for _ in range(count(1000)):
        tokens = [rng.randint(1, 30) for _ in range(rng.randint(1, 20))]
        size = rng.randint(1, min(4, len(tokens)))
        capacity = sum(sorted(tokens)[:size]) + rng.randint(0, 30)
        best = max(s for c in combinations(tokens, size) if (s := sum(c)) <= capacity)
        first = next(c for c in combinations(range(len(tokens)), size) if sum(tokens[i] for i in c) == best)
        assert largest_sum(tokens, capacity, size) == first


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
