"""The readable step on cases worked out by hand."""

from __future__ import annotations

from fractions import Fraction as F

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, Action, LocalState, actions, initial_state
from fairlane.reference.model.step import step


def instance(objective: Objective) -> Instance:
    return Instance(
        graphs=[
            Graph(name="p4", duration_ms=2, prefill_capacity=4, prefill_lanes=2),
            Graph(name="d2", duration_ms=3, decode_capacity=2, width=2),
        ],
        requests=[
            Request(id="a", prompt=3, limit=2, weight=2),
            Request(id="b", prompt=4, limit=3),
            Request(id="c", prompt=0, limit=3, acceptance=["1/4"], length_prior={1: "1/5", 2: "3/5", 7: "1/5"}),
        ],
        objective=objective,
    )


def test_two_prompts_share_capacity_in_the_order_given() -> None:
    # a takes 3 of 4 tokens and publishes its first output; b gets the last one. Work 3*2 + 1 = 7, first output 5*2.
    # Time 2 ms: completion price 1 per ms and weight (2 + 1 + 1) * 2 = 8.
    case = instance(Objective(decode_value=5, completion_price=1))
    (outcome,) = step(case, initial_state(case), Action(0, (0, 1), ()))
    assert outcome.reward == 7 + 10 - 8
    assert outcome.state[0] == LocalState(0, 1, F(0), False)
    assert outcome.state[1] == LocalState(3, 0, F(0), False)
    assert outcome.consumed == ((0, 3), (1, 1))
    assert outcome.published == ((0, 1),)


def test_a_row_follows_the_outcome_probabilities_of_the_model() -> None:
    # c: limit 3, so p = {1: 1/5, 2: 3/5, 3: 1/5}, q_1 = 1/4, width 2.
    # finish with 1: 1/5. go on with 1: (3/4)(4/5) = 3/5.
    # finish with 2: (1/4)(3/5) = 3/20. go on with 2: (1/4)(1/5) = 1/20.
    case = instance(Objective(decode_value=1, prefill_value=0))
    outcomes = {o.state[2]: (o.probability, o.reward) for o in step(case, initial_state(case), Action(1, (), (2,)))}
    finished = [o.probability for o in step(case, initial_state(case), Action(1, (), (2,))) if o.state[2] == FINISHED]
    assert sorted(finished) == [F(3, 20), F(1, 5)]
    assert outcomes[LocalState(0, 1, F(0), False)] == (F(3, 5), F(1))
    assert outcomes[LocalState(0, 2, F(0), False)] == (F(1, 20), F(2))


def test_prices_on_waiting_count_every_unfinished_request() -> None:
    # 3 ms: time 1*3; first output (2 + 1)*3 for a and b; age of c from 0: 9/2; all negative.
    case = instance(Objective(decode_value=0, prefill_value=0, time_price=1, first_output_price=1, age_price=1))
    outcome = step(case, initial_state(case), Action(1, (), (2,)))[0]
    assert outcome.reward == -(3 + 9 + F(9, 2))


def test_an_unserved_stream_ages_and_a_served_one_restarts() -> None:
    case = instance(Objective(decode_value=0, age_price=1))
    (outcome,) = step(case, initial_state(case), Action(0, (0,), ()))
    assert outcome.state[2].age_ms == 2
    assert outcome.state[0].age_ms == 0
    later = step(case, outcome.state, Action(1, (), (0,)))
    # a (age 0, weight 2): 2 * 9/2; c (age 2): 2*3 + 9/2; prefill_value 1 earns nothing in a decode graph
    assert all(o.reward == -(9 + 6 + F(9, 2)) for o in later)
    assert {o.state[2].age_ms for o in later} == {5}


def test_lists_with_equal_shares_appear_once_and_empty_actions_never() -> None:
    case = instance(Objective(decode_value=1))
    listed = list(actions(case, initial_state(case)))
    # p4: a, b, (a then b: 3+1), b then a gives a nothing. d2: c.
    assert listed == [Action(0, (0,), ()), Action(0, (1,), ()), Action(0, (0, 1), ()), Action(1, (), (2,))]
