"""Runtime lag: the account of one request by hand, and the rule at every kind of change."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.reference.allocation.lag import LagLedger, advance, deliver, open_ledger, reference_rates, revise
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request

HALF = Fraction(1, 2)


def _tokens(ledger: LagLedger) -> dict[str, object]:
    return {request_id: account.tokens for request_id, account in ledger.open.items()}


def test_lag_is_reference_progress_minus_deliveries() -> None:
    ledger = revise(open_ledger(), {"a": HALF, "b": HALF})
    # a graph of 10 ms serves a twice over: both are owed 5, a has 8
    ledger = deliver(advance(ledger, 10), {"a": 8})
    assert _tokens(ledger) == {"a": -3, "b": 5}
    # nothing is delivered inside a running graph
    assert _tokens(advance(ledger, 14)) == {"a": -1, "b": 7}


def test_an_arrival_starts_at_zero_and_leaves_the_others_their_lag() -> None:
    ledger = advance(revise(open_ledger(), {"a": HALF, "b": HALF}), 10)
    ledger = revise(ledger, {"a": Fraction(1, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)})
    assert _tokens(ledger) == {"a": 5, "b": 5, "c": 0}
    assert _tokens(advance(ledger, 16)) == {"a": 7, "b": 7, "c": 2}


def test_a_departure_takes_its_lag_with_it() -> None:
    ledger = deliver(advance(revise(open_ledger(), {"a": HALF, "b": HALF}), 10), {"a": 9})
    ledger = revise(ledger, {"b": 1})
    assert _tokens(ledger) == {"b": 5}
    assert ledger.closed["a"].tokens == -4
    assert _tokens(advance(ledger, 12)) == {"b": 7}


def test_a_phase_change_carries_the_time_owed_not_the_tokens() -> None:
    # 8 prompt tokens a ms and 24 tokens owed is 3 ms; at 1/4 output token a ms that is 3/4 token
    ledger = deliver(advance(revise(open_ledger(), {"a": 8, "b": 1}), 10), {"a": 56})
    ledger = revise(ledger, {"a": Fraction(1, 4), "b": 1}, changed_phase=["a"])
    assert _tokens(ledger) == {"a": Fraction(3, 4), "b": 10}
    assert ledger.open["a"].owed_ms == 3


def test_a_cost_revision_moves_only_what_comes_after_it() -> None:
    ledger = revise(advance(revise(open_ledger(), {"a": HALF}), 10), {"a": Fraction(1, 4)})
    assert _tokens(ledger) == {"a": 5}
    assert _tokens(advance(ledger, 20)) == {"a": Fraction(15, 2)}


def test_a_request_that_cannot_run_keeps_its_lag_and_earns_nothing() -> None:
    ledger = revise(advance(revise(open_ledger(), {"a": HALF}), 10), {"a": 0})
    ledger = advance(ledger, 1000)
    assert _tokens(ledger) == {"a": 5}
    # the time owed still counts at the rate it last had
    assert ledger.open["a"].owed_ms == 10


def test_the_most_ever_owed_is_remembered() -> None:
    ledger = deliver(advance(revise(open_ledger(), {"a": 1}), 10), {"a": 10})
    ledger = advance(ledger, 13)
    assert ledger.open["a"].tokens == 3
    assert ledger.open["a"].largest_tokens == 10


def test_a_request_never_runnable_owes_and_is_owed_no_time() -> None:
    assert revise(open_ledger(), {"a": 0}).open["a"].owed_ms == 0


def test_ledgers_are_values() -> None:
    first = revise(open_ledger(5), {"a": 1})
    later = deliver(advance(first, 7), {"a": 1})
    assert _tokens(first) == {"a": 0}
    assert (later.now_ms, _tokens(later)) == (7, {"a": 1})


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda ledger: advance(ledger, 4), "now_ms is 4; need >= 5"),
        (lambda ledger: deliver(ledger, {"z": 1}), "delivery names 'z'"),
        (lambda ledger: deliver(ledger, {"a": -1}), "delivery to 'a' is -1; need >= 0"),
        (lambda ledger: revise(ledger, {"a": -1}), r"rates_per_ms\['a'\] is -1; need >= 0"),
        (lambda ledger: revise(ledger, {"a": 1, "n": 1}, changed_phase=["n"]), "changed_phase names 'n'"),
        (lambda ledger: revise(ledger, {"a": 1}, changed_phase=["gone"]), "changed_phase names 'gone'"),
        (lambda ledger: advance(ledger, float("nan")), "now_ms is nan; need a finite number"),
        (lambda ledger: deliver(ledger, {"a": float("inf")}), "delivery to 'a' is inf; need a finite number"),
        (lambda ledger: revise(ledger, {"a": float("nan")}), r"rates_per_ms\['a'\] is nan; need a finite number"),
        (lambda ledger: revise(ledger, {"a": True}), r"rates_per_ms\['a'\] is true; need a number"),
    ],
)
def test_a_broken_history_is_refused(broken: object, message: str) -> None:
    ledger = revise(open_ledger(5), {"a": 1})
    with pytest.raises(InvalidInstance, match=message):
        broken(ledger)  # type: ignore[operator]  # a lambda of the table above


def test_a_schedule_that_follows_the_reference_ends_a_period_without_lag() -> None:
    # five streams on four rows: after one period of the five cohorts everybody has its 4 tokens of 105 ms
    catalog = Catalog([Graph(name="d4", duration_ms=21, decode_capacity=4)])
    streams = [Request(id=f"s{i}", prompt=0, limit=1) for i in range(5)]
    ledger = revise(open_ledger(), reference_rates(catalog, streams))
    for paused in range(5):
        ledger = advance(ledger, 21 * (paused + 1))
        ledger = deliver(ledger, {f"s{i}": 1 for i in range(5) if i != paused})
    for account in ledger.open.values():
        assert float(account.tokens) == pytest.approx(0, abs=1e-12)


def test_reference_rates_follow_the_active_set() -> None:
    catalog = Catalog([Graph(name="d1", duration_ms=2, decode_capacity=1)])
    streams = [Request(id=name, prompt=0, limit=1) for name in "abc"]
    assert reference_rates(catalog, []) == {}
    weights = {"a": 1, "b": 2, "c": 5}
    both = reference_rates(catalog, streams[:2], fairness_weights=weights)
    assert both == pytest.approx({"a": 1 / 6, "b": 2 / 6})
    all_three = reference_rates(catalog, streams, fairness_weights=weights)
    assert all_three == pytest.approx({"a": 1 / 16, "b": 2 / 16, "c": 5 / 16})
