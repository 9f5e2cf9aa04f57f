"""Counterexamples and elementary behaviours of dispatch by immediate value, each worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from fairlane.oracle.policy_value.evaluate import PolicySweep, action_of, evaluate, view_of
from fairlane.oracle.policy_value.likely_run import policy_run
from fairlane.oracle.solve import solve
from fairlane.policies import load_policy, names
from fairlane.reference.model.completion import greedy_plan, prefill_completion_ms, prefill_plan
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, FunctionPolicy, RequestView, View
from fairlane.reference.model.request import Request
from fairlane.reference.model.score import Lanes, fixed_value_score
from fairlane.reference.prefill.fixed_value_cohort import best_cohort

SMALL_PREFILLS = (
    Graph(name="p64", duration_ms=2, prefill_capacity=64),
    Graph(name="p128", duration_ms=3, prefill_capacity=128),
    Graph(name="p256", duration_ms=4, prefill_capacity=256),
)


def graphs_run(instance: Instance, policy: str) -> list[str]:
    return [instance.graphs.graphs[b.action.graph].name for b in policy_run(instance, load_policy(policy))]


def test_a_129_token_prompt_is_cut_into_128_and_1_and_takes_5_ms_where_4_were_possible() -> None:
    # 64 in 2 ms: 32 a ms; 128 in 3: 42.7; the whole prompt and its first output in 4: 130/4 = 32.5
    instance = Instance(
        graphs=SMALL_PREFILLS,
        requests=[Request(id="a", prompt=129, limit=1)],
        objective=Objective(decode_value=1, time_price=1),
    )
    assert graphs_run(instance, "fixed-value") == ["p128", "p64"]
    assert prefill_completion_ms(129, SMALL_PREFILLS) == 4
    assert prefill_plan(129, SMALL_PREFILLS).graphs == ("p256",)
    assert greedy_plan(129, SMALL_PREFILLS).graphs == ("p128", "p64")
    assert greedy_plan(129, SMALL_PREFILLS).duration_ms == 5
    result = evaluate(instance, load_policy("fixed-value"))
    assert result.value == 130 - 5
    assert result.optimum == 130 - 4
    assert result.first_loss is not None
    assert result.first_loss.decisions_before == 0


def test_a_prompt_never_runs_beside_a_decode_of_high_value() -> None:
    # each decode token is worth 1000 in 1 ms; the prompt earns 65 in 2 ms. Forty rounds, and then the prompt.
    instance = Instance(
        graphs=[SMALL_PREFILLS[0], Graph(name="d1", duration_ms=1, decode_capacity=1)],
        requests=[Request(id="stream", prompt=0, limit=40), Request(id="waiting", prompt=64, limit=1)],
        objective=Objective(decode_value=1000),
    )
    assert graphs_run(instance, "fixed-value") == ["d1"] * 40 + ["p64"]


def test_five_identical_streams_receive_10_10_10_5_5() -> None:
    instance = Instance(
        graphs=[Graph(name="d4", duration_ms=20, decode_capacity=4)],
        requests=[Request(id=f"s{i}", prompt=0, limit=50) for i in range(5)],
        objective=Objective(decode_value=1),
    )
    received = [0] * 5
    for block in policy_run(instance, load_policy("fixed-value"))[:10]:
        for i, tokens in block.published:
            received[i] += tokens
    assert received == [10, 10, 10, 5, 5]


def test_padding_earns_nothing() -> None:
    request = Request(id="a", prompt=64, limit=1)
    narrow = fixed_value_score(SMALL_PREFILLS[0], Lanes((request,), ()), decode_value=1)
    padded = Graph(name="p4096", duration_ms=2, prefill_capacity=4096)
    assert narrow == fixed_value_score(padded, Lanes((request,), ()), decode_value=1) == Fraction(65, 2)


def test_a_64_token_tail_takes_the_fastest_graph_that_holds_it() -> None:
    slow_small = Graph(name="p64", duration_ms=3, prefill_capacity=64)
    quick_large = Graph(name="p512", duration_ms=2, prefill_capacity=512)
    instance = Instance(
        graphs=[slow_small, quick_large, Graph(name="p4096", duration_ms=66, prefill_capacity=4096)],
        requests=[Request(id="a", prompt=64, limit=1)],
        objective=Objective(decode_value=1),
    )
    assert graphs_run(instance, "fixed-value") == ["p512"]


def test_two_full_prompts_need_no_smaller_chunks() -> None:
    instance = Instance(
        graphs=[
            Graph(name="p1024", duration_ms=20, prefill_capacity=1024),
            Graph(name="p4096", duration_ms=66, prefill_capacity=4096),
        ],
        requests=[Request(id="a", prompt=4096, limit=1), Request(id="b", prompt=4096, limit=1)],
        objective=Objective(decode_value=1),
    )
    # 4097/66 = 62.1 a ms against 1024/20 = 51.2
    assert graphs_run(instance, "fixed-value") == ["p4096", "p4096"]


def test_a_30_ms_round_wins_on_yield() -> None:
    # acceptance 9/10 throughout: D(8) = (1 - 0.9^8) / 0.1 = 5.6953 in 30 ms, 0.19 a ms; one token in 17.3 ms is 0.058
    request = Request(id="a", prompt=0, limit=1000, acceptance=["9/10"] * 7)
    wide = best_cohort(Graph(name="w8", duration_ms=30, decode_capacity=1, width=8), [request], decode_value=1)
    plain = best_cohort(Graph(name="w1", duration_ms="17.3", decode_capacity=1), [request], decode_value=1)
    assert wide is not None
    assert plain is not None
    assert wide.value == (1 - Fraction(9, 10) ** 8) * 10
    assert wide.score > plain.score


@pytest.mark.parametrize("policy", [n for n in names() if n not in {"stall-bonus"}])
def test_uniform_time_scaling_changes_no_choice(policy: str) -> None:
    def build(scale: int) -> Instance:
        return Instance(
            graphs=[
                Graph(name="p4", duration_ms=2 * scale, prefill_capacity=4),
                Graph(name="d1", duration_ms=Fraction(3, 2) * scale, decode_capacity=1, width=2),
                Graph(name="d2", duration_ms=2 * scale, decode_capacity=2),
                Graph(name="mix", duration_ms=3 * scale, prefill_capacity=2, decode_capacity=1),
            ],
            requests=[
                Request(id="a", prompt=5, limit=2),
                Request(id="b", prompt=0, limit=3, acceptance=["1/2"]),
                Request(id="c", prompt=0, limit=2),
            ],
            objective=Objective(decode_value=3, time_price=Fraction(1, scale), completion_price=Fraction(1, 2 * scale)),
        )

    one, seven = build(1), build(7)
    first, second = (policy_run(i, load_policy(policy)) for i in (one, seven))
    assert [b.action for b in first] == [b.action for b in second]
    assert evaluate(one, load_policy(policy)).value == evaluate(seven, load_policy(policy)).value


def fixed_order(order: Sequence[str]) -> FunctionPolicy:
    """A policy that serves prompts in a listed order of turns."""

    def decide(view: View) -> Decision:
        waiting = {r.id: r for r in view.requests}
        turn = 8 - sum(r.prompt for r in view.requests)
        chosen = next(i for i in (*order[turn // 2 :], *waiting) if i in waiting)
        return Decision(graph="p2", prefill=(chosen,))

    return FunctionPolicy(decide, frozenset())


def test_alternating_two_equal_prompts_ends_at_the_same_time_and_delays_the_mean_first_output() -> None:
    # two prompts of 4, graphs of 2 tokens in 2 ms. One after the other: first outputs at 4 and 8, mean 6.
    # Alternating: at 6 and 8, mean 7. Both end at 8.
    graphs = [Graph(name="p2", duration_ms=2, prefill_capacity=2)]
    requests = [Request(id=i, prompt=4, limit=1) for i in "ab"]
    ends = Instance(
        graphs=graphs, requests=requests, objective=Objective(decode_value=0, prefill_value=0, time_price=1)
    )
    firsts = Instance(
        graphs=graphs, requests=requests, objective=Objective(decode_value=0, prefill_value=0, first_output_price=1)
    )
    serial, alternating = fixed_order("aabb"), fixed_order("abab")
    assert evaluate(ends, serial).value == evaluate(ends, alternating).value == -8
    assert evaluate(firsts, serial).value == -(4 + 8)
    assert evaluate(firsts, alternating).value == -(6 + 8)
    assert solve(firsts).value == -12


def test_reward_over_makespan_ignores_the_order_of_completions() -> None:
    # the reward of a finished set is fixed, 8 prompt tokens and 2 outputs; with a price on the end alone every
    # order is worth the same, and the mean completion still differs (4, 8 against 6, 8)
    graphs = [Graph(name="p2", duration_ms=2, prefill_capacity=2)]
    requests = [Request(id=i, prompt=4, limit=1) for i in "ab"]
    makespan = Instance(graphs=graphs, requests=requests, objective=Objective(decode_value=3, time_price=1))
    mean = Instance(graphs=graphs, requests=requests, objective=Objective(decode_value=3, completion_price=1))
    values = {evaluate(makespan, fixed_order(order)).value for order in ("aabb", "abab", "abba", "bbaa")}
    assert values == {Fraction(8 + 6 - 8)}
    assert evaluate(mean, fixed_order("aabb")).value == 14 - 12
    assert evaluate(mean, fixed_order("abab")).value == 14 - 14


def test_ranking_fails_for_several_prefill_lanes_and_the_exact_list_does_not() -> None:
    # capacity 10, two lanes, prompts 10, 9, 1, output value 5: {10} earns 15, {9, 1} earns 9 + 5 + 1 + 5 = 20
    graph = Graph(name="p10", duration_ms=1, prefill_capacity=10, prefill_lanes=2)
    requests = [Request(id=str(p), prompt=p, limit=1) for p in (10, 9, 1)]
    best = best_cohort(graph, requests, decode_value=5)
    assert best is not None
    assert best.value == 20
    assert set(best.prefill) == {"9", "1"}


def test_a_stateful_policy_lifts_a_new_request_to_the_least_counter() -> None:
    policy = load_policy("least-served")
    instance = Instance(
        graphs=[Graph(name="d1", duration_ms=1, decode_capacity=1)],
        requests=[Request(id="old", prompt=0, limit=9), Request(id="new", prompt=0, limit=9)],
        objective=Objective(decode_value=1),
    )
    served = [block.action.decode[0] for block in policy_run(instance, policy)]
    assert served[:6] == [0, 1, 0, 1, 0, 1]


def test_a_negative_net_reward_over_duration_rewards_wasted_time() -> None:
    # one token each. Fast: ends 1 and 2, net -3 over 2 ms = -3/2. Second one slow: -(1 + 10) over 10 ms = -11/10.
    instance = Instance(
        graphs=[
            Graph(name="fast", duration_ms=1, decode_capacity=1),
            Graph(name="slow", duration_ms=9, decode_capacity=1),
        ],
        requests=[Request(id="a", prompt=0, limit=1), Request(id="b", prompt=0, limit=1)],
        objective=Objective(decode_value=0, completion_price=1),
    )
    assert graphs_run(instance, "episode-ratio") == ["fast", "slow"]
    result = evaluate(instance, load_policy("episode-ratio"))
    assert result.value == -11
    assert result.optimum == -3
    assert evaluate(instance, load_policy("continuation")).gap == 0


def test_views_hide_the_true_length() -> None:
    assert "output_length" not in RequestView.__slots__
    instance = Instance(
        graphs=SMALL_PREFILLS,
        requests=[Request(id="a", prompt=9, limit=1, output_length=1)],
        objective=Objective(decode_value=1),
    )
    sweep = PolicySweep.of(instance, load_policy("fixed-value"))
    view = view_of(instance, sweep.start())
    decision = load_policy("fixed-value").decide(view, None)
    assert isinstance(decision, Decision)
    assert action_of(instance, view, decision).prefill == (0,)
