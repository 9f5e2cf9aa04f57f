"""The pages of an explorer: every situation, every decision with its exact value, and what a policy does there."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.oracle import evaluate, solve
from fairlane.oracle.policy_value.decision_book import DecisionBook, decision_book
from fairlane.policies import load_policy
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View, as_policy
from fairlane.reference.model.request import Request

TWO_PROMPTS = Instance(
    graphs=Catalog([Graph(name="p", duration_ms=4, prefill_capacity=256)]),
    requests=(Request(id="long", prompt=512, limit=1), Request(id="short", prompt=100, limit=1)),
    objective=Objective(decode_value=4, first_output_price=1),
)
DRAFTS = Instance(
    graphs=Catalog([Graph(name="w2", duration_ms=3, decode_capacity=1, width=2)]),
    requests=(
        Request(id="a", prompt=0, limit=3, acceptance=(Fraction(1, 2),)),
        Request(id="b", prompt=0, limit=1),
    ),
    objective=Objective(decode_value=1, completion_price=1),
)


def expected_value(book: DecisionBook, number: int = 0) -> Fraction:
    """What the marked policy earns from a page on, added up over the book."""
    return sum(
        (
            choice.taken
            * outcome.probability
            * (outcome.reward + (Fraction(0) if outcome.page is None else expected_value(book, outcome.page)))
            for choice in book.pages[number].choices
            for outcome in choice.outcomes
        ),
        Fraction(0),
    )


def test_pages_are_the_states_that_any_decisions_reach() -> None:
    book = decision_book(TWO_PROMPTS, solve(TWO_PROMPTS))
    # prompts left (512, 100), (256, 100), (512, -), (-, 100), (256, -); the last finish leads to no page
    assert len(book.pages) == 5
    first = book.pages[0]
    # by hand: 612 + 8 tokens' worth; outputs after 4 and 12 ms, or after 8 and 12
    assert [choice.action.prefill for choice in first.choices] == [(1,), (0,)]
    assert [choice.value for choice in first.choices] == [604, 600]
    assert first.value == 604
    assert first.best == 0


@pytest.mark.parametrize("name", ["fixed-value", "round-robin", "least-served"])
@pytest.mark.parametrize("instance", [TWO_PROMPTS, DRAFTS], ids=["prompts", "drafts"])
def test_the_marked_choices_add_up_to_the_policys_value(name: str, instance: Instance) -> None:
    policy = load_policy(name)
    book = decision_book(instance, solve(instance), policy=policy, policy_name=name)
    assert expected_value(book) == evaluate(instance, policy).value


def test_a_drawing_policy_marks_all_it_may_do() -> None:
    def either(view: View) -> tuple[tuple[Fraction, Decision], ...]:
        ids = [request.id for request in view.requests]
        return tuple((Fraction(1, len(ids)), Decision(graph="w2", decode=(i,))) for i in ids)

    policy = as_policy(either, "policy")
    book = decision_book(DRAFTS, solve(DRAFTS), policy=policy, policy_name="either")
    assert [choice.taken for choice in book.pages[0].choices] == [Fraction(1, 2)] * 2
    assert expected_value(book) == evaluate(DRAFTS, policy).value


def test_outcomes_are_a_distribution_and_values_their_mean() -> None:
    book = decision_book(DRAFTS, solve(DRAFTS))
    for page in book.pages:
        for choice in page.choices:
            assert sum(outcome.probability for outcome in choice.outcomes) == 1
            mean = sum(
                o.probability * (o.reward + (0 if o.page is None else book.pages[o.page].value))
                for o in choice.outcomes
            )
            assert mean == choice.value
        assert page.value == max(choice.value for choice in page.choices) == page.choices[page.best].value


def test_what_is_too_large_for_a_page_is_refused_by_its_size() -> None:
    with pytest.raises(TooLarge, match=r"more than 3 situations with \d+ outcomes; a page takes at most 3 "):
        decision_book(TWO_PROMPTS, solve(TWO_PROMPTS), max_pages=3)
