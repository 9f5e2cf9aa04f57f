"""Of equally good choices the one that helps a reader: near the policy's, full, short; pictures waste no time."""

from __future__ import annotations

from fractions import Fraction

from fairlane.oracle import evaluate, solve
from fairlane.oracle.policy_value.likely_run import optimal_run, policy_run
from fairlane.oracle.policy_value.tied_actions import TimeToGo, nearest
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View, as_policy
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import Action, initial_state

# Only the prompt's wait has a price: whether the streams ride along in the mixed graph changes no value.
FREE_STREAMS = Instance(
    graphs=Catalog(
        [
            Graph(name="m4", duration_ms=4, prefill_capacity=4, decode_capacity=2),
            Graph(name="m8", duration_ms=6, prefill_capacity=8, decode_capacity=2),
            Graph(name="d2", duration_ms=1, decode_capacity=2),
            Graph(name="slow", duration_ms=50, decode_capacity=2),
        ]
    ),
    requests=(
        Request(id="chat", prompt=4, limit=1),
        Request(id="s0", prompt=0, limit=1),
        Request(id="s1", prompt=0, limit=1),
    ),
    objective=Objective(decode_value=1, first_output_price=1),
)


def long_first(view: View) -> Decision:
    """Takes the slow mixed graph with everything, then whatever is left."""
    prompts = tuple(r.id for r in view.requests if r.prompt)
    rows = tuple(r.id for r in view.requests if not r.prompt)
    return Decision(graph="m8" if prompts else "d2", prefill=prompts, decode=rows)


def test_the_better_choice_is_the_optimal_one_nearest_to_what_was_chosen() -> None:
    found = evaluate(FREE_STREAMS, long_first)
    assert found.gap == 2, "the first output after 6 ms where 4 ms are possible"
    loss = found.first_loss
    assert loss is not None
    # with any of the two streams, both or none beside the prompt: four choices are equally good
    assert loss.n_better == 4
    assert loss.better == Action(0, (0,), (1, 2))


def test_nearest_counts_lanes_then_the_graph_then_fullness_and_time() -> None:
    prompt, both, one = Action(0, (0,), ()), Action(0, (0,), (1, 2)), Action(0, (0,), (1,))
    assert nearest(FREE_STREAMS, (prompt, one, both), Action(1, (0,), ())) == prompt
    assert nearest(FREE_STREAMS, (prompt, one, both), Action(1, (0,), (2,))) == both, "as near as prompt, and fuller"
    assert nearest(FREE_STREAMS, (prompt, one, both), Action(1, (0,), (1,))) == one
    assert nearest(FREE_STREAMS, (prompt, one, both)) == both, "the fullest without a choice to stay close to"
    rows = (Action(3, (), (1, 2)), Action(2, (), (1, 2)))
    assert nearest(FREE_STREAMS, rows) == rows[1], "the shorter of two as full"
    assert nearest(FREE_STREAMS, rows, Action(3, (), (1, 2))) == rows[0], "the graph that was chosen"


def test_the_drawn_optimum_wastes_no_time() -> None:
    solution = solve(FREE_STREAMS)
    run = optimal_run(FREE_STREAMS, solution)
    # by hand: one mixed graph of 4 ms serves everything; an optimum may also take 50 ms for the streams afterwards
    assert run[-1].end_ms == 4
    beside = policy_run(FREE_STREAMS, as_policy(long_first, "policy"))
    assert optimal_run(FREE_STREAMS, solution, beside=beside)[-1].end_ms == 4


def test_time_to_go_is_an_expectation_over_outcomes() -> None:
    # two tokens, a draft accepted with 1/2: after the row of width 2 half of the runs need another graph
    instance = Instance(
        graphs=Catalog(
            [
                Graph(name="w1", duration_ms=2, decode_capacity=1),
                Graph(name="w2", duration_ms=3, decode_capacity=1, width=2),
            ]
        ),
        requests=(Request(id="a", prompt=0, limit=2, acceptance=(Fraction(1, 2),)),),
        objective=Objective(decode_value=1),
    )
    start = initial_state(instance)
    solution = solve(instance)
    assert len(solution.optimal_actions(start)) == 2, "time is free, so both widths are optimal"
    # by hand: w1 twice takes 4 ms; w2, then w1 with probability 1/2, takes 3 + 1 = 4 ms: neither wastes time
    assert TimeToGo(instance, solution).quickest(start) == solution.optimal_actions(start)
    sure = Instance(
        graphs=instance.graphs,
        requests=(Request(id="a", prompt=0, limit=2, acceptance=(Fraction(3, 4),)),),
        objective=instance.objective,
    )
    # 3 + 2/4 = 3.5 ms against 4
    assert TimeToGo(sure, solve(sure)).quickest(initial_state(sure)) == (Action(1, (), (0,)),)
