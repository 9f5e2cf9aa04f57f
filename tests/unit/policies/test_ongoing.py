"""`ongoing` and `fair-gradient` on numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from fairlane.policies.fair_gradient import FairGradient
from fairlane.policies.ongoing import Ongoing
from fairlane.policies.priced_prompts import PricedPrompt, best_prompts
from fairlane.policies.service_rates import (
    Rate,
    delivery_normaliser,
    faded,
    measured_graphs,
    observed,
    price,
    rates_of,
    token_normaliser,
)
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Completion, Decision, LaneResult, RequestView, View


def seen(name: str, index: int, *, prompt: int = 0, age: int | None = None, limit: int = 100) -> RequestView:
    return RequestView(
        id=name,
        index=index,
        weight=Fraction(1),
        arrival_ms=0,
        prompt=prompt,
        generated=0 if prompt else 1,
        limit=limit,
        acceptance=(),
        length_prior=None,
        age_ms=None if prompt else (age or 0),
        last_service_ms=None,
    )


def view_of(graphs: list[Graph], requests: list[RequestView], age_price: int | str = 0) -> View:
    return View(
        catalog=Catalog(graphs),
        now_ms=0,
        objective=Objective(decode_value=1, age_price=age_price),
        requests=tuple(requests),
    )


def test_a_rate_fades_by_half_in_its_half_life_and_takes_half_of_what_came() -> None:
    # e^(-T/H) = 1/2 for T = H ln 2: 0.4 / 2 + (1/2) 3 tokens / 10 ms
    assert faded(0.4, 3, 10.0, 10.0 / math.log(2)) == pytest.approx(0.2 + 0.15, rel=1e-14)


def test_five_streams_share_the_better_of_two_batches() -> None:
    # a batch of four in 21 ms serves each of five at 4 / 105, all five in 29 ms at 1 / 29
    graphs = [Graph(name="d4", duration_ms=21, decode_capacity=4), Graph(name="d5", duration_ms=29, decode_capacity=5)]
    view = view_of(graphs, [seen("a", 0)])
    assert delivery_normaliser(5, measured_graphs(view)) == pytest.approx(4 / 105, rel=1e-15)
    assert delivery_normaliser(1, measured_graphs(view)) == pytest.approx(1 / 21, rel=1e-15)


def test_a_term_without_a_graph_is_left_out() -> None:
    view = view_of([Graph(name="d", duration_ms=4, decode_capacity=1)], [seen("p", 0, prompt=7)])
    assert token_normaliser(view.requests[0], measured_graphs(view)) == 0
    assert delivery_normaliser(3, ()) == 0
    assert price(5.0, 0.0) == 0
    assert price(5.0, None) == 0


def test_the_age_terms_by_hand() -> None:
    # ages 10 and 30, one row in 5 ms, c = 1/10, no fairness: G = 2 * 5 / 1 = 10.
    # serving the older: 1 - 0.1 (50 + 12.5 + 150 + 12.5) + 0.1 * 10 * (30 - 5) = 3.5 over 5 ms
    view = view_of(
        [Graph(name="d", duration_ms=5, decode_capacity=1)],
        [seen("a", 0, age=10), seen("b", 1, age=30)],
        age_price="1/10",
    )
    policy = Ongoing(token_fairness=0, delivery_fairness=0)
    (offer,) = policy.offers(view, {}, measured_graphs(view))
    assert [r.id for r in offer.decode] == ["b"]
    assert offer.score == pytest.approx(0.7, rel=1e-14)
    assert offer.gross_per_ms == pytest.approx(0.2, rel=1e-14)


def test_the_net_score_can_be_negative_while_the_gross_rate_is_not() -> None:
    view = view_of(
        [Graph(name="p", duration_ms=50, prefill_capacity=64)],
        [seen("a", 0, prompt=64), seen("b", 1, age=100)],
        age_price=10,
    )
    (offer,) = Ongoing().offers(view, {}, measured_graphs(view))
    assert offer.gross_per_ms > 0 > offer.score


def test_prices_of_new_requests_by_hand() -> None:
    # prompt of 10 in a graph of 20 tokens and 4 ms: x = 10/4, so a token is worth 1 + 1/2.5 = 1.4 and the first
    # output 1 + 0.4; the stream: x = z = 1/2, so its row is worth (1 + 2) + 2
    view = view_of(
        [
            Graph(name="p", duration_ms=4, prefill_capacity=20),
            Graph(name="d", duration_ms=2, decode_capacity=1),
        ],
        [seen("a", 0, prompt=10), seen("b", 1)],
    )
    offers = {o.graph.graph.name: o for o in Ongoing().offers(view, {}, measured_graphs(view))}
    assert offers["p"].score == pytest.approx((10 * 1.4 + 1.4) / 4, rel=1e-14)
    assert offers["d"].score == pytest.approx((3 + 2) / 2, rel=1e-14)


def test_a_delivery_counts_once_whatever_the_burst() -> None:
    # acceptance 1 throughout: three tokens in 6 ms, x = 1/2, z = 1/6: 3 (1 + 2) + 6
    stream = replace(seen("a", 0), acceptance=(Fraction(1), Fraction(1)))
    view = view_of([Graph(name="d", duration_ms=6, decode_capacity=1, width=3)], [stream])
    (offer,) = Ongoing().offers(view, {}, measured_graphs(view))
    assert offer.gross_per_ms == pytest.approx((3 * 3 + 6) / 6, rel=1e-14)


def test_retirement_is_worth_something_only_where_the_limit_is_in_reach() -> None:
    graphs = [Graph(name="d", duration_ms=2, decode_capacity=1)]
    policy = Ongoing(token_fairness=0, delivery_fairness=0, retirement_value=7)
    last = view_of(graphs, [seen("a", 0, limit=2)])
    (offer,) = policy.offers(last, {}, measured_graphs(last))
    assert offer.score == pytest.approx((1 + 7) / 2)
    early = view_of(graphs, [seen("a", 0, limit=3)])
    (offer,) = policy.offers(early, {}, measured_graphs(early))
    assert offer.score == pytest.approx(1 / 2)


def test_first_output_keeps_the_token_rate_and_starts_the_delivery_rate() -> None:
    # H = T / ln 2. Prompt of 10 consumed in 4 ms with its first output: x = 2.5/2 + 11/8; z starts at 1/2 shared
    # by two streams, 1/4. The stream that waited: x = z = (1/2)/2
    graphs = [Graph(name="p", duration_ms=4, prefill_capacity=20), Graph(name="d", duration_ms=2, decode_capacity=1)]
    view = view_of(graphs, [seen("a", 0, prompt=10), seen("b", 1)])
    done = Completion(
        view=view,
        decision=Decision(graph="p", prefill=("a",)),
        graph=graphs[0],
        ended_ms=4,
        elapsed_ms=4,
        measured_ms=4,
        lanes=(LaneResult(id="a", consumed=10, published=1, finished=False),),
    )
    after = rates_of(observed((), done, measured_graphs(view), 4 / math.log(2)))
    assert after["a"] == pytest.approx((2.5 / 2 + 11 / 8, 0.25), rel=1e-14)
    assert after["b"] == pytest.approx((0.25, 0.25), rel=1e-14)


def test_a_finished_request_is_forgotten() -> None:
    graphs = [Graph(name="d", duration_ms=2, decode_capacity=1)]
    view = view_of(graphs, [seen("a", 0), seen("b", 1)])
    done = Completion(
        view=view,
        decision=Decision(graph="d", decode=("a",)),
        graph=graphs[0],
        ended_ms=2,
        elapsed_ms=2,
        measured_ms=2,
        lanes=(LaneResult(id="a", consumed=0, published=1, finished=True),),
    )
    assert set(rates_of(Ongoing().observe((), done))) == {"b"}


def test_fair_gradient_prefers_who_has_received_less() -> None:
    graphs = [Graph(name="d", duration_ms=2, decode_capacity=1)]
    view = view_of(graphs, [seen("a", 0), seen("b", 1)])
    policy = FairGradient()
    assert policy.decide(view, (("a", Rate(0.5, 0.5)), ("b", Rate(0.4, 0.5)))).decode == ("b",)
    assert policy.decide(view, (("a", Rate(0.4, 0.5)), ("b", Rate(0.5, 0.5)))).decode == ("a",)


def test_several_lanes_need_more_than_ranking() -> None:
    # the model page's example: capacity 10, two lanes, prompts 10, 9, 1, an output value of 5: {9, 1} earns 20
    graph = Graph(name="p", duration_ms=1, prefill_capacity=10, prefill_lanes=2)
    waiting = [PricedPrompt(seen(f"r{n}", k, prompt=n), 1.0, 5.0) for k, n in enumerate((10, 9, 1))]
    best = best_prompts(graph, waiting)
    assert ({r.id for r in best.requests}, best.value) == ({"r9", "r1"}, 20.0)
