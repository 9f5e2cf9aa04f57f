"""Decision graphs: whose choice is whose, by hand; losses that sum to the gap; layouts without overlap; files."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from fairlane import policies, suite
from fairlane.cli import run
from fairlane.oracle.policy_value.decision_graph import Kind, decision_graph
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.solve import solve
from fairlane.pictures.decision_picture import draw_decision_graph
from fairlane.pictures.layered_layout import crossings, layered, spread
from fairlane.pictures.picture_file import save_figure
from fairlane.reference.errors import DataError, TooLarge
from fairlane.reference.model.codec import dump_instance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from tests.counts import count
from tests.random_instances import random_instance


def two_prompt_graphs(*, name: str = "two graphs", request: str = "a") -> Instance:
    return Instance(
        graphs=[
            Graph(name="one", duration_ms=1, prefill_capacity=1),
            Graph(name="two", duration_ms="3/2", prefill_capacity=2),
        ],
        requests=[Request(id=request, prompt=2, limit=1)],
        objective=Objective(prefill_value=0, decode_value=0, time_price=1),
        name=name,
    )


def one_by_one(view: View) -> Decision:
    return Decision(graph="one", prefill=(view.requests[0].id,))


def test_kinds_and_advantages_of_a_hand_made_instance() -> None:
    # two prompt tokens, 1 per ms of time: `two` costs 3/2; `one` twice costs 2, so the first `one` loses 1/2.
    # with one token left `one` (-1) is best and `two` (-3/2) half a unit worse.
    graph = decision_graph(two_prompt_graphs(), policy=one_by_one)
    found = {
        (graph.states[c.source].state[0].prompt, c.action.graph): (c.kind, c.advantage, c.probability)
        for c in graph.choices
    }
    half = Fraction(1, 2)
    zero, one = Fraction(0), Fraction(1)
    assert found == {
        (2, 0): (Kind.LOSING, -half, one),
        (2, 1): (Kind.OPTIMAL, zero, zero),
        (1, 0): (Kind.FOLLOWING, zero, one),
        (1, 1): (Kind.OTHER, -half, zero),
    }
    assert (graph.optimum, graph.policy_value) == (Fraction(-3, 2), Fraction(-2))
    assert [node.on_optimal_path for node in graph.states] == [True, False, True]


def test_a_tied_decision_is_no_loss() -> None:
    # the same duration for both graphs: whichever finishes one token is as good
    instance = Instance(
        graphs=[Graph(name=n, duration_ms=1, prefill_capacity=1) for n in ("one", "other")],
        requests=[Request(id="a", prompt=1, limit=1)],
        objective=Objective(decode_value=0, time_price=1),
    )
    graph = decision_graph(instance, policy=lambda view: Decision(graph="other", prefill=("a",)))
    assert [choice.kind for choice in graph.choices] == [Kind.OPTIMAL, Kind.TIED]


@pytest.mark.parametrize("name", ["prefill-first", "decode-first", "round-robin", "least-served"])
def test_losses_drawn_sum_to_the_exact_gap(name: str) -> None:
    policy = policies.load_policy(name)
    drawn = 0
    for seed in range(count(200)):
        instance = random_instance(random.Random(seed), age=seed % 4 == 0, most_requests=2)
        solution = solve(instance)
        graph = decision_graph(instance, solution=solution, policy=policy, max_choices=10_000, max_transitions=10_000)
        exact = evaluate(instance, policy, solution=solution)
        assert graph.policy_value == exact.value
        lost = sum((c.advantage * (c.probability or 0) for c in graph.choices if c.kind is Kind.LOSING), Fraction(0))
        assert lost == exact.value - exact.optimum
        for choice in graph.choices:
            assert sum(p for _, p in choice.to) == 1
            assert (choice.advantage == 0) or choice.kind in (Kind.LOSING, Kind.OTHER)
        drawn += len(graph.choices)
    assert drawn > 5 * count(200)


def test_too_many_choices_are_refused_with_their_number() -> None:
    with pytest.raises(TooLarge, match=r"needs at least 6 choices in its picture; a picture takes at most 5"):
        decision_graph(suite.load("h100-weights"), max_choices=5)
    with pytest.raises(TooLarge, match=r"needs \d+ transitions in its picture; a picture takes at most 5"):
        decision_graph(suite.load("h100-weights"), max_transitions=5)


def test_nothing_overlaps_and_edges_run_forward_in_a_layout() -> None:
    for seed in range(count(300)):
        rng = random.Random(seed)
        n = rng.randint(2, 25)
        edges = sorted({(u, v) for u, v in (sorted(rng.sample(range(n), 2)) for _ in range(2 * n))})
        room = [rng.uniform(0.1, 2) for _ in range(n)]
        layout = layered(room, edges, gap=0.2)
        assert layout == layered(room, edges, gap=0.2)
        for u, v in edges:
            assert layout.layer[u] < layout.layer[v]
            assert [k for k, _ in layout.bends[u, v]] == list(range(layout.layer[u] + 1, layout.layer[v]))
        for k in set(layout.layer):
            column = sorted((layout.across[v], v) for v in range(n) if layout.layer[v] == k)
            for (y, u), (z, v) in pairwise(column):
                assert z - y >= (room[u] + room[v]) / 2 + 0.2 - 1e-9


def test_crossed_pairs_are_uncrossed() -> None:
    # two edges given in crossing order: swapping one column undoes it
    assert crossings([0, 1], [2, 3], [[3], [2], [], []]) == 1
    layout = layered([1, 1, 1, 1], [(0, 3), (1, 2)])
    assert (layout.across[0] < layout.across[1]) == (layout.across[3] < layout.across[2])


def test_spread_keeps_what_already_has_room_and_centres_what_has_not() -> None:
    # least squares by hand: three unit boxes wanting the same place stand at -1, 0, 1
    assert spread([0, 0, 0], [1, 1, 1], 0) == [-1, 0, 1]
    assert spread([0, 5], [1, 1], 0.5) == [0, 5]
    # weights 3 to 1: the first moves a quarter of the missing room, the second three quarters
    assert spread([0, 0], [1, 1], 0, weights=[3, 1]) == [-0.25, 0.75]


def test_pictures_are_reproducible_and_name_everything(tmp_path: Path) -> None:
    graph = decision_graph(
        two_prompt_graphs(name="$x^2$ & <b>", request="\u4e2d_$"), policy=one_by_one, policy_name="p"
    )
    one, two = tmp_path / "a.svg", tmp_path / "b.svg"
    save_figure(draw_decision_graph(graph), one)
    save_figure(draw_decision_graph(graph), two)
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.svg", "b.svg"]
    texts = [text.get_text() for text in draw_decision_graph(graph).axes[0].texts]
    assert {"$x^2$ & <b>", "V = −3/2", "loses 1/2", "\u4e2d_$: prompt 2", "all finished", "optimal path"} <= set(texts)
    save_figure(draw_decision_graph(graph), tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(DataError, match="no ending of a picture"):
        save_figure(draw_decision_graph(graph), tmp_path / "c.gif")
    with pytest.raises(DataError, match="cannot be written"):
        save_figure(draw_decision_graph(graph), tmp_path / "missing" / "c.svg")


def test_the_command_draws_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "x.json", tmp_path / "x.svg"
    dump_instance(two_prompt_graphs(), file)
    assert run(["graph", str(file), "--policy", "shortest-prompt", "--output", str(picture)]) == 0
    assert picture.read_text().lstrip().startswith("<?xml")
    assert "2 states and 4 choices" in capsys.readouterr().out
    assert run(["graph", str(file), "--output", str(tmp_path / "x.txt")]) == 2
    assert run(["graph", str(tmp_path / "none.json"), "--output", str(picture)]) == 2
    assert run(["graph", str(file), "--policy", "nobody", "--output", str(picture)]) == 2
    assert all(line.startswith("fairlane: ") for line in capsys.readouterr().err.splitlines())
