"""Models with labels in quotes, end components without rewards, slow and periodic chains, and models of time.

Values by hand, with the sum shown, and from Storm, in exact arithmetic where it has one; without stormpy those tests
are skipped.
"""

from __future__ import annotations

import gzip
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run
from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.model_average import average_reward
from fairlane.oracle.explicit.model_solver import solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import DataError, Unsupported
from tests.counts import count

QUERY = {Sense.MAX: "max", Sense.MIN: "min"}
HEAD = "@type: {kind}\n@parameters\n\n@reward_models\n{rewards}\n@nr_states\n{n}\n@nr_choices\n{choices}\n@model\n"


def storm() -> Any:
    return pytest.importorskip("stormpy", reason="stormpy has no wheel for this Python")


def asked(file: Path, query: str) -> Fraction:
    stormpy = storm()
    model = stormpy.build_model_from_drn[stormpy.Rational](str(file))
    return Fraction(str(stormpy.model_checking(model, stormpy.parse_properties(query)[0]).get_value(0)))


def drn(body: str, n: int, *, kind: str = "MDP", rewards: str = "r") -> str:
    return HEAD.format(kind=kind, rewards=rewards, n=n, choices=max(n, body.count("action"))) + body


def chain(rows: list[list[tuple[int, Fraction]]], rewards: list[int]) -> ExplicitModel:
    choices = tuple((Choice(name="c", reward=Fraction(r), to=tuple(to)),) for r, to in zip(rewards, rows, strict=True))
    return ExplicitModel(choices=choices, initial=0, final=frozenset(), reward_name="r")


def test_labels_and_names_in_quotes_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    body = (
        'state 0 [1] init "a // b" // a comment\n\taction "go on" [2]\n\t\t1 : 1\n'
        'state 1 [0] "goal \\"reached\\"" x\n\taction b [5]\n\t\t2 : 1\nstate 2 [0]\n\taction c [0]\n\t\t2 : 1\n'
    )
    file.write_text(drn(body, 3, rewards='"net cost"'))
    model = read_drn(file, goal='goal "reached"')
    assert (model.reward_name, model.choices[0][0].name) == ("net cost", "go on")
    # 1 + 2 until the label; 5 more without it
    assert solve_model(model).value == 3
    assert solve_model(read_drn(file)).value == 8
    assert solve_model(read_drn(file, goal="a // b")).value == 0
    with pytest.raises(
        DataError, match=r'no state is labelled .goal.; known labels are init, a // b, goal "reached", x'
    ):
        read_drn(file, goal="goal")
    file.write_text(drn('state 0 [0] init "open\n\taction a [0]\n\t\t0 : 1\n', 1))
    with pytest.raises(DataError, match=r":11: .* has a quote that is not closed"):
        read_drn(file)


def test_a_label_in_quotes_that_storm_writes_is_read(tmp_path: Path) -> None:
    stormpy = storm()
    from stormpy.io import export_to_drn

    file = tmp_path / "m.drn"
    file.write_text(
        drn('state 0 [1] init\n\taction a [0]\n\t\t1 : 1\nstate 1 [0] "the end"\n\taction a [0]\n\t\t1 : 1\n', 2)
    )
    export_to_drn(stormpy.build_model_from_drn(str(file)), str(tmp_path / "s.drn"))
    assert solve_model(read_drn(tmp_path / "s.drn", goal="the end")).value == 1


def test_an_unknown_goal_or_no_reward_model_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.drn"
    loop = "state 0 init\n\taction a\n\t\t0 : 1\n"
    file.write_text(drn(loop, 1, rewards=""))
    for words in ([], ["--average"]):
        assert run(["solve", str(file), *words]) == 2
        assert "has no reward model, so there is nothing to add up" in capsys.readouterr().err
    file.write_text(drn(loop.replace("init", "[0] init").replace("a\n", "a [0]\n", 1), 1))
    for words in ([], ["--average"]):
        assert run(["solve", str(file), "--goal", "nowhere", *words]) == 2
        assert "no state is labelled 'nowhere'; known labels are init" in capsys.readouterr().err
    assert run(["solve", str(file), "--goal", "init", "--average"]) == 2


def test_compressed_models_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = drn("state 0 [1/3] init\n\taction a [0]\n\t\t1 : 1\nstate 1 [0]\n\taction a [0]\n\t\t0 : 1\n", 2)
    file = tmp_path / "m.drn.gz"
    file.write_bytes(gzip.compress(text.encode()))
    assert run(["solve", str(file), "--average"]) == 0
    shown = capsys.readouterr().out
    # a third every second step, with its decimal
    assert "1/6 per step" in shown
    assert "≈ 0.16666666666666666" in shown
    assert run(["solve", str(file), "--average", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decimal"] == 1 / 6
    for broken in (file.read_bytes()[:-9], b"no gzip", gzip.compress(b"\xff\xfe")):
        file.write_bytes(broken)
        assert run(["solve", str(file)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


# 0 may loop for nothing, gamble on a pair of states that go round for nothing, or take 5 and end
FREE = """state 0 [0] init
\taction wait [0]
\t\t0 : 1
\taction round [3]
\t\t1 : 1/2
\t\t3 : 1/2
\taction end [2]
\t\t3 : 1
state 1 [0]
\taction there [0]
\t\t2 : 1
\taction leave [1]
\t\t3 : 1
state 2 [0]
\taction back [0]
\t\t1 : 1
state 3 [0] done
\taction a [0]
\t\t3 : 1
"""


def test_going_on_for_nothing_is_worth_nothing(tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    file.write_text(drn(FREE, 4))
    # best: round earns 3, then leave 1 with chance 1/2; worst: wait for ever
    assert solve_model(read_drn(file)).value == Fraction(7, 2)
    assert solve_model(read_drn(file), sense=Sense.MIN).value == 0
    # with waiting at a price of 1 some run loses for ever
    file.write_text(drn(FREE.replace("wait [0]", "wait [-1]"), 4))
    with pytest.raises(Unsupported, match="never reaches a final state and earns rewards for ever"):
        solve_model(read_drn(file), sense=Sense.MIN)


@pytest.mark.parametrize("sense", list(Sense))
def test_totals_with_end_components_without_rewards_equal_those_of_storm(sense: Sense, tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    solved = 0
    for seed in range(count(400)):
        rng = random.Random(seed)
        n = rng.randint(2, 7)
        rows = []
        for s in range(n):
            row = []
            for k in range(rng.randint(1, 3)):
                # rewards only on choices that move on for good with some chance; the others go anywhere for nothing
                earns = s < n - 1 and rng.random() < 0.5
                targets = set(rng.sample(range(n), rng.randint(1, min(3, n))))
                if earns:
                    targets = {t for t in targets if t > s} | {n - 1}
                to = tuple((t, Fraction(1, len(targets))) for t in sorted(targets))
                row.append(Choice(name=str(k), reward=Fraction(rng.randint(1, 6) if earns else 0), to=to))
            rows.append(tuple(row))
        rows[n - 1] = (Choice(name="end", reward=Fraction(0), to=((n - 1, Fraction(1)),)),)
        model = ExplicitModel(choices=tuple(rows), initial=0, final=frozenset({n - 1}), reward_name="net")
        if not any(choice.reward for row in rows for choice in row):
            continue
        file.write_text(to_drn(model))
        try:
            value = solve_model(read_drn(file), sense=sense).value
        except Unsupported:
            # a choice for nothing leads back to one that earns
            continue
        assert value == asked(file, f'R{{"net"}}{QUERY[sense]}=? [C]')
        solved += 1
    assert solved > count(400) // 4


def test_a_ring_and_slow_and_periodic_chains_are_exact() -> None:
    one = Fraction(1)
    for n in (1000, 5000):
        ring = chain([[((s + 1) % n, one)] for s in range(n)], [1] + [0] * (n - 1))
        assert average_reward(ring).value == Fraction(1, n)
    # two states left with chances 1e-9 and 2e-9: the first holds 2/3 of the time
    slow, twice = Fraction(1, 10**9), Fraction(2, 10**9)
    assert average_reward(chain([[(0, 1 - slow), (1, slow)], [(0, twice), (1, 1 - twice)]], [1, 0])).value == Fraction(
        2, 3
    )
    # a fair walk on 0 ... n reflected at both ends: stationary shares 1/2n at the ends, 1/n inside; period 2
    n = 1500
    half = Fraction(1, 2)
    walk = [[(s - 1, half), (s + 1, half)] for s in range(n + 1)]
    walk[0], walk[n] = [(1, one)], [(n - 1, one)]
    assert average_reward(chain(walk, [1] + [0] * n)).value == Fraction(1, 2 * n)


def test_the_best_round_of_a_large_model_is_exact_in_both_senses() -> None:
    # a ring of 1,200 states with a way back to the start for 1 at state k - 1: k steps a round, best k = 3, worst none
    n = 1200
    rows = []
    for s in range(n):
        row = [Choice(name="on", reward=Fraction(0), to=(((s + 1) % n, Fraction(1)),))]
        if s in (2, 600):
            row.append(Choice(name="back", reward=Fraction(1), to=((0, Fraction(1)),)))
        rows.append(tuple(row))
    model = ExplicitModel(choices=tuple(rows), initial=5, final=frozenset(), reward_name="r")
    assert average_reward(model).value == Fraction(1, 3)
    assert average_reward(model, sense=Sense.MIN).value == 0


def dense_chain(n: int, seed: int) -> ExplicitModel:
    rng = random.Random(seed)
    rows = []
    for s in range(n):
        targets = sorted({*rng.sample(range(n), 4), (s + 1) % n})
        rows.append([(t, Fraction(1, len(targets))) for t in targets])
    return chain(rows, [rng.randint(0, 9) for _ in range(n)])


def test_what_is_too_large_to_be_exact_is_bounded_within_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    model = dense_chain(60, 3)
    exact = average_reward(model).value
    assert exact is not None
    monkeypatch.setattr("fairlane.oracle.average.policy_iteration.renewal", lambda *_, **__: None)
    bounded = average_reward(model)
    assert bounded.value is None
    assert bounded.lower <= exact <= bounded.upper
    assert bounded.upper - bounded.lower < Fraction(1, 10**9)


def test_bounds_wider_than_the_tolerance_are_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.drn"
    file.write_text(to_drn(dense_chain(60, 3)))
    monkeypatch.setattr("fairlane.oracle.average.policy_iteration.renewal", lambda *_, **__: None)
    assert run(["solve", str(file), "--average"]) == 0
    assert "bounds proved, within the tolerance 1/1000000 of each other" in capsys.readouterr().out
    assert run(["solve", str(file), "--average", "--tolerance", "0"]) == 1
    assert "not converged: the value is in [" in capsys.readouterr().err


AUTOMATON = """state 0 !5 [7] init
\taction 0 [0]
\t\t1 : 2/5
\t\t2 : 3/5
state 1 !0 [100]
\taction 0 [2]
\t\t0 : 1/2
\t\t3 : 1/2
\taction 1 [0]
\t\t3 : 1
state 2 !4 [0]
\taction 0 [5]
\t\t0 : 1
state 3 !1 [0]
\taction 0 [0]
\t\t4 : 1
state 4 !1 [0] done
\taction 0 [0]
\t\t0 : 1
"""


def test_a_markov_automaton_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.drn"
    file.write_text(drn(AUTOMATON, 5, kind="Markov Automaton"))
    # until done, from 0: 7/5 of waiting, then 2/5 (2 + x/2) + 3/5 (5 + x), the 100 of state 1 lasting no time:
    # x = 7/5 + 4/5 + x/5 + 3 + 3x/5, so x/5 = 26/5
    assert solve_model(read_drn(file)).value == 26
    # without action 0 of state 1: x = 7/5 + 3/5 (5 + x), 2x/5 = 22/5
    assert solve_model(read_drn(file), sense=Sense.MIN).value == 11
    # a round by way of action 1: earns 11 in 1/5 + 3/5 (1/4 + ...): visits of 0 a round 1 / (2/5) = 5/2, of 2 3/2,
    # reward 5/2 * 7/5 + 3/2 * 5 = 11, time 5/2 * 1/5 + 3/2 * 1/4 + 2 = 23/8: 88/23 a unit
    assert average_reward(read_drn(file), sense=Sense.MIN).value == Fraction(88, 23)
    # with action 0 visits of 0 are 1 / (1/5) = 5, of 1 two, of 2 three: (7 + 4 + 15) / (1 + 3/4 + 2)
    assert average_reward(read_drn(file)).value == Fraction(104, 15)
    assert run(["solve", str(file), "--average"]) == 0
    assert "104/15 per unit of time" in capsys.readouterr().out
    for old, new, words in (
        ("!5 ", "", "state 0 has no exit rate"),
        ("!0", "!3", "state 1 has an exit rate and 2 actions"),
        ("!5", "!-5", "the exit rate is -5"),
    ):
        file.write_text(drn(AUTOMATON.replace(old, new, 1), 5, kind="Markov Automaton"))
        with pytest.raises(DataError, match=words):
            read_drn(file)
    file.write_text(drn(AUTOMATON, 5))
    with pytest.raises(DataError, match="a state has an exit rate; need none in a model of type mdp"):
        read_drn(file)


def test_a_chain_in_continuous_time_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    first = "state 0 !5 [7] init\n\t\t1 : 2\n\t\t2 : 3\n"
    body = first + "state 1 !4 [0]\n\t\t0 : 4\nstate 2 !2 [0] done\n\t\t0 : 1\n\t\t2 : 1\n"
    file.write_text(drn(body, 3, kind="CTMC"))
    # until done: x = 7/5 + 2/5 x
    assert solve_model(read_drn(file)).value == Fraction(7, 3)
    # a round from 0: 7/5 in 1/5 + 2/5 * 1/4 + 3/5 * 1 (state 2 is left at rate 1): (7/5) / (9/10)
    assert average_reward(read_drn(file)).value == Fraction(14, 9)
    file.write_text(drn(body.replace("!5", "!6"), 3, kind="CTMC"))
    with pytest.raises(DataError, match="state 0 has exit rate 6, its rates sum to 5"):
        read_drn(file)


def test_a_run_without_time_has_no_average(tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    file.write_text(drn("state 0 !0 [0] init\n\taction a [1]\n\t\t0 : 1\n", 1, kind="Markov Automaton"))
    with pytest.raises(Unsupported, match="go on forever without time passing"):
        average_reward(read_drn(file))


def random_automaton(rng: random.Random) -> str:
    n = rng.randint(2, 6)
    lines = []
    for s in range(n):
        timed = s in (0, n - 1) or rng.random() < 0.5
        lines.append(f"state {s} !{rng.randint(1, 5) if timed else 0} [{rng.randint(0, 4)}]{' init' if s == 0 else ''}")
        for k in range(1 if timed else rng.randint(1, 3)):
            # states that are left at once lead upwards, so that time passes
            room = range(n) if timed else range(s + 1, n)
            targets = sorted(rng.sample(room, rng.randint(1, min(3, len(room)))))
            lines.append(f"\taction {k} [{rng.randint(0, 4)}]")
            lines += [f"\t\t{t} : 1/{len(targets)}" for t in targets]
    return drn("\n".join(lines) + "\n", n, kind="Markov Automaton")


@pytest.mark.parametrize("sense", list(Sense))
def test_averages_of_markov_automata_equal_those_of_storm(sense: Sense, tmp_path: Path) -> None:
    stormpy = storm()
    file = tmp_path / "m.drn"
    for seed in range(count(200)):
        file.write_text(random_automaton(random.Random(seed)))
        found = average_reward(read_drn(file), sense=sense).value
        assert found is not None
        # Storm has no exact averages of automata: its doubles are sound to 1e-6 by default
        model = stormpy.build_model_from_drn(str(file))
        query = stormpy.parse_properties(f'R{{"r"}}{QUERY[sense]}=? [LRA]')[0]
        value = stormpy.model_checking(model, query).get_value(0)
        assert value == pytest.approx(float(found), rel=1e-5, abs=1e-6)
