"""``ongoing``: useful work, token fairness, delivery fairness and decode age in one score per millisecond.

Symbols: x_i useful tokens per ms, z_i deliveries per ms (both observed, see `service_rates`); v output value, f token
fairness, f_d delivery fairness, c age price, each times the request's weight; A_i output age; N streams now decoding;
B_g decode rows of graph g. A prompt token is worth 1 + f / x_i, an output token v + f / x_i, and a served decode row
f_d / z_i more, once, whatever its burst. Waiting costs c (A T + T²/2) for every stream. The continuation value is
h = -c G sum A with G = min_g N T_g / min(B_g, N), the interval at which streams that share the best batch are served:
serving a stream is worth c G A_i, leaving it costs c G T. The score is

    (prices · expected service - age cost + change of h) / T.

Prices, N, G and normalisers are frozen while candidates are compared. Behind a running graph they are those of copies
that its expected service has moved forward, and the streams in it count in N and in the ages. First-token waiting has
no age price. The
continuation value is linear in the ages and takes G as known for everyone: it fails where streams leave soon, where
the best batch changes, and where prompts in between lengthen the interval.

Source: the runtime policy choices of the ongoing-service design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fairlane.policies.choosing import Candidate, choose, oldest_first
from fairlane.policies.priced_prompts import PricedPrompt, PromptList, best_prompts
from fairlane.policies.service_rates import (
    Measured,
    Rate,
    current_rates,
    delivery_normaliser,
    measured_graphs,
    observed,
    price,
    projected,
    rates_of,
    row_tokens,
)
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Completion, Decision, Memory, PolicySpec, RequestView, Running, Sees, View
from fairlane.reference.model.policy_parameter import PolicyParameter
from fairlane.reference.model.yields import row_outcomes


class Offer(NamedTuple):
    """The best cohort of one graph: its value a ms before any age cost, and its score."""

    graph: Measured
    prefill: tuple[RequestView, ...]
    decode: tuple[RequestView, ...]
    gross_per_ms: float
    score: float


class RankedRow(NamedTuple):
    """A decode row: what serving it changes, its value apart from ages, and the request."""

    worth: float
    gain: float
    request: RequestView


class _Prices(NamedTuple):
    """Everything frozen at one decision."""

    prompt_token: dict[str, float]
    output_token: dict[str, float]
    delivery: dict[str, float]
    age: dict[str, float]
    interval_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ongoing:
    """The policy; its memory holds the rates of every live request that was live at the last completion.

    Parameters
    ----------
    history_ms : float
        H, > 0.
    output_value : float or None
        v; None takes the objective's ``decode_value``.
    token_fairness, delivery_fairness : float
        f and f_d: value a ms of serving a request at its best rate.
    age_price : float or None
        c; None takes the objective's ``age_price``.
    retirement_value, retirement_age_price : float
        Worth of ending a request: a fixed part, and one per ms since its arrival.
    """

    history_ms: float = 1000.0
    output_value: float | None = None
    token_fairness: float = 1.0
    delivery_fairness: float = 1.0
    age_price: float | None = None
    retirement_value: float = 0.0
    retirement_age_price: float = 0.0

    @property
    def sees(self) -> frozenset[Sees]:
        """Ages unless their price is nothing, the clock only for an age price of retirement."""
        looks_at_age = set() if self.age_price == 0 else {Sees.AGE}
        looks_at_clock = {Sees.NOW} if self.retirement_age_price else set()
        return frozenset(looks_at_age | looks_at_clock)

    def initial(self, catalog: Catalog) -> Memory:
        """No rates."""
        return ()

    def decide(self, view: View, memory: Memory) -> Decision:
        """The best cohort of every graph at frozen prices, then the best graph."""
        return choose(
            Candidate(graph=o.graph.graph, order=o.graph.order, prefill=o.prefill, decode=o.decode, score=o.score)
            for o in self.offers(view, rates_of(memory), measured_graphs(view))
        )

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """Rates after the graph."""
        return observed(memory, completion, measured_graphs(completion.view), self.history_ms)

    def project(self, memory: Memory, running: Running) -> Memory:
        """Copies of the rates after a graph that still runs."""
        return projected(memory, running, measured_graphs(running.view), self.history_ms)

    def offers(self, view: View, known: dict[str, Rate], graphs: Sequence[Measured]) -> Iterator[Offer]:
        """The best cohort of every graph of known duration, in catalog order; see `frozen`."""
        scores = self.frozen(view, known, graphs)
        return (offer for offer in map(scores.offer, graphs) if offer is not None)

    def frozen(self, view: View, known: dict[str, Rate], graphs: Sequence[Measured]) -> FrozenScores:
        """Scores at the prices of one decision, of the measured graphs or of any other at a nominal duration.

        Parameters
        ----------
        view : View
            What can be seen.
        known : dict
            Rates by request; copies of them where a queued frame is projected.
        graphs : sequence of Measured
            Graphs whose duration is known, in catalog order; they alone supply normalisers.
        """
        return FrozenScores(self, view, self._prices(view, known, graphs))

    def _prices(self, view: View, known: dict[str, Rate], graphs: Sequence[Measured]) -> _Prices:
        rates = current_rates(view, known, graphs)
        value = float(view.objective.decode_value) if self.output_value is None else self.output_value
        age = float(view.objective.age_price) if self.age_price is None else self.age_price
        n_decoding = sum(1 for r in (*view.requests, *view.in_flight) if r.decoding)
        # the reference interval is the reciprocal of the delivery normaliser
        reference = delivery_normaliser(n_decoding, graphs)
        prices = _Prices({}, {}, {}, {}, 1 / reference if reference else 0.0)
        for r in view.requests:
            weight = float(r.weight)
            x, z = rates[r.id]
            fair = price(self.token_fairness, x)
            prices.prompt_token[r.id] = weight * (1.0 + fair)
            prices.output_token[r.id] = weight * (value + fair)
            prices.delivery[r.id] = weight * price(self.delivery_fairness, z)
            prices.age[r.id] = weight * age
        for r in view.in_flight:
            prices.age[r.id] = float(r.weight) * age
        return prices

    def at_end(self, view: View, request: RequestView, prices: _Prices) -> float:
        """Worth of a prompt's end: its first output, and its retirement where that is the last one too."""
        return prices.output_token[request.id] + self.retirement(view, request, 1)

    def retirement(self, view: View, request: RequestView, width: int) -> float:
        if not (self.retirement_value or self.retirement_age_price):
            return 0.0
        # the runtime has no belief about lengths: only the limit is known to end a request
        outcomes = row_outcomes(request.acceptance, width, None, request.generated, request.limit)
        chance = float(sum(o.probability for o in outcomes if o.finished))
        since_arrival = float(view.now_ms) - float(request.arrival_ms)
        return chance * float(request.weight) * (self.retirement_value + self.retirement_age_price * since_arrival)


class FrozenScores:
    """Scores of cohorts at one decision, with prices, N, G and normalisers frozen.

    Attributes
    ----------
    waiting : list of PricedPrompt
        Prompts, least recently served first.
    streams : list of RequestView
        Decoding requests, likewise.
    """

    def __init__(self, rule: Ongoing, view: View, prices: _Prices) -> None:
        self._rule = rule
        self._view = view
        self._prices = prices
        line = sorted(view.requests, key=oldest_first)
        self.waiting = [
            PricedPrompt(r, prices.prompt_token[r.id], rule.at_end(view, r, prices)) for r in line if r.prompt
        ]
        self.streams = [r for r in line if r.decoding]
        # streams in the running graph wait through the one that is chosen, whichever it is
        aging = [*self.streams, *(r for r in view.in_flight if r.decoding)]
        self._total_price = sum(prices.age[r.id] for r in aging)
        self._total_age = sum(prices.age[r.id] * float(r.age_ms or 0) for r in aging)
        # leaving a stream costs c G T: with unequal weights the ranking depends on T
        self._uniform = len({prices.age[r.id] for r in self.streams}) < 2
        self._by_key: dict[tuple[int, float], list[RankedRow]] = {}

    def offer(self, measured: Measured) -> Offer | None:
        """The best cohort of a graph at a duration; None where it can serve nobody."""
        graph = measured.graph
        prompts = best_prompts(graph, self.waiting)
        rows = self.rows(measured)[: graph.decode_capacity] if graph.decode_capacity else []
        if not prompts.requests and not rows:
            return None
        return self.cohort(measured, prompts, rows)

    def cohort(self, measured: Measured, prompts: PromptList, rows: Sequence[RankedRow]) -> Offer:
        """The score of a graph with these lanes at a duration."""
        prices, span = self._prices, measured.duration_ms
        gross = prompts.value
        if rows:
            gross += sum(row.gain for row in rows)
        age_cost = self._total_age * span + self._total_price * span * span / 2
        served_age = sum(prices.age[row.request.id] * float(row.request.age_ms or 0) for row in rows)
        left_price = self._total_price - sum(prices.age[row.request.id] for row in rows)
        change = prices.interval_ms * (served_age - left_price * span) if self._total_price else 0.0
        return Offer(
            measured,
            prompts.requests,
            tuple(row.request for row in rows),
            gross / span,
            (gross - age_cost + change) / span,
        )

    def rows(self, measured: Measured) -> list[RankedRow]:
        """Streams by what serving them at a graph's width changes; ties by least recent service."""
        width, span = measured.graph.width, 0.0 if self._uniform else measured.duration_ms
        key = (width, span)
        if key not in self._by_key:
            prices, view, rule = self._prices, self._view, self._rule
            ranked = []
            for r in self.streams:
                gain = prices.output_token[r.id] * row_tokens(r, width) + prices.delivery[r.id]
                gain += rule.retirement(view, r, width)
                spared = prices.age[r.id] and prices.interval_ms * prices.age[r.id] * (float(r.age_ms or 0) + span)
                ranked.append(RankedRow(gain + spared, gain, r))
            ranked.sort(key=lambda row: -row.worth)
            self._by_key[key] = ranked
        return self._by_key[key]


POLICY = PolicySpec(
    name="ongoing",
    policy=Ongoing(),
    source="ongoing-service utility: token and delivery fairness prices with a decode-age continuation value",
    assumes="known durations and acceptance; no belief about lengths; rates as doubles",
    parameters=(
        PolicyParameter(name="history_ms", meaning="time over which observed rates fade, ms", positive=True),
        PolicyParameter(name="output_value", meaning="value of an output token"),
        PolicyParameter(name="token_fairness", meaning="worth of a ms of service at the best token rate"),
        PolicyParameter(name="delivery_fairness", meaning="worth of a ms of service at the best delivery rate"),
        PolicyParameter(name="age_price", meaning="price of output age, per request and ms²"),
        PolicyParameter(name="retirement_value", meaning="worth of ending a request"),
        PolicyParameter(name="retirement_age_price", meaning="worth of ending a request, per ms since its arrival"),
    ),
)
