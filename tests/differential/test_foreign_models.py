"""Models that others wrote: totals of cyclic ones and long-run averages, against Storm in exact arithmetic.

Storm is asked in exact arithmetic only: in doubles version 2.0 answers some negative totals of cyclic models wrongly.
Where stormpy has no wheel its tests are skipped with that reason; hand calculations stay.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run
from fairlane.oracle.explicit.end_components import maximal_end_components
from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.model_average import average_reward
from fairlane.oracle.explicit.model_solver import ModelMethod, solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.explicit.total_reward_bounds import total_reward_bounds
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import DataError, Unsupported
from tests.counts import count

QUERY = {Sense.MAX: "max", Sense.MIN: "min"}


def storm() -> Any:
    return pytest.importorskip("stormpy", reason="stormpy has no wheel for this Python")


def asked(file: Path, query: str) -> Fraction:
    stormpy = storm()
    model = stormpy.build_model_from_drn[stormpy.Rational](str(file))
    return Fraction(str(stormpy.model_checking(model, stormpy.parse_properties(query)[0]).get_value(0)))


def choice(rng: random.Random, targets: list[int]) -> Choice:
    weights = [rng.randint(1, 4) for _ in targets]
    to = tuple(sorted((t, Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)))
    return Choice(name="c", reward=Fraction(rng.randint(-6, 6), rng.randint(1, 3)), to=to)


def random_model(rng: random.Random, *, ends: bool) -> ExplicitModel:
    """A cyclic model; with ``ends`` every choice may move towards the last state, so that every policy ends."""
    n = rng.randint(2, 8)
    rows = []
    for s in range(n - 1):
        row = []
        for _ in range(rng.randint(1, 3)):
            targets = set(rng.sample(range(n), rng.randint(1, min(3, n))))
            if ends:
                targets.add(rng.randint(s + 1, n - 1))
            row.append(choice(rng, sorted(targets)))
        rows.append(tuple(row))
    rows.append((Choice(name="end", reward=Fraction(0), to=((n - 1, Fraction(1)),)),))
    return ExplicitModel(choices=tuple(rows), initial=0, final=frozenset({n - 1}), reward_name="net")


@pytest.mark.parametrize("sense", list(Sense))
def test_totals_of_cyclic_models_equal_those_of_storm(sense: Sense, tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    cyclic = 0
    for seed in range(count(400)):
        model = random_model(random.Random(seed), ends=True)
        file.write_text(to_drn(model))
        solved = solve_model(read_drn(file), sense=sense)
        if not any(c.reward for row in model.choices for c in row):
            # Storm refuses a reward model of zeros alone
            assert solved.value == 0
            continue
        assert solved.value == asked(file, f'R{{"net"}}{QUERY[sense]}=? [F "done"]')
        cyclic += solved.method is ModelMethod.POLICY_ITERATION
    assert cyclic > count(400) // 2


@pytest.mark.parametrize("sense", list(Sense))
def test_averages_of_any_model_equal_those_of_storm(sense: Sense, tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    several = 0
    for seed in range(count(400)):
        model = random_model(random.Random(seed), ends=False)
        file.write_text(to_drn(model))
        solved = average_reward(read_drn(file), sense=sense)
        assert solved.value == asked(file, f'R{{"net"}}{QUERY[sense]}=? [LRA]')
        several += len(maximal_end_components(model.choices, 0)) > 1
    assert several > count(400) // 10


@pytest.mark.parametrize("sense", list(Sense))
def test_bounds_hold_and_are_narrow_where_components_are_too_large(sense: Sense) -> None:
    for seed in range(count(300)):
        model = random_model(random.Random(seed), ends=True)
        exact = solve_model(model, sense=sense).value
        assert exact is not None
        lower, upper = total_reward_bounds(model, sense)
        assert lower <= exact <= upper
        assert upper - lower < Fraction(1, 10**9) * (1 + abs(exact))


def test_a_long_cycle_is_exact_or_bounded_and_its_value_is_the_sum_by_hand() -> None:
    # n states in a row, each left with chance 1/2 at a cost of 1: 2 (n - 1) in expectation; the way back of the
    # last but one to the first with chance 1/4 makes one large component. x = 2 (n - 2) + 1 + x / 4 + y / 4 with y
    # the cost at the last but one: y = 1 + x / 4 + y / 4, so y = (4 + x) / 3 and x = 2 (n - 2) + y.
    n = 900
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    rows: list[tuple[Choice, ...]] = [
        (Choice(name="c", reward=Fraction(-1), to=((s, half), (s + 1, half))),) for s in range(n - 2)
    ]
    rows.append((Choice(name="c", reward=Fraction(-1), to=((0, quarter), (n - 2, quarter), (n - 1, half))),))
    rows.append((Choice(name="end", reward=Fraction(0), to=((n - 1, Fraction(1)),)),))
    model = ExplicitModel(choices=tuple(rows), initial=0, final=frozenset({n - 1}), reward_name="net")
    # x = 2 (n - 2) + (4 + x) / 3, so x = 3 (n - 2) + 2
    by_hand = -Fraction(3 * (n - 2) + 2)
    assert solve_model(model).value == by_hand
    solved = solve_model(model, max_work=0)
    assert solved.method is ModelMethod.BOUNDED_ITERATION
    assert solved.lower <= by_hand <= solved.upper
    assert solved.upper - solved.lower < Fraction(1, 10**6)


AVERAGES = """@type: MDP
@value_type: rational
@parameters

@reward_models
time net
@nr_states
6
@nr_choices
8
@model
state 0 [1, 0] init
\taction gamble [0, 9]
\t\t1 : 1/2
\t\t3 : 1/2
\taction safe [0, -9]
\t\t4 : 1
state 1 [1, 4]
\taction there [0, 0]
\t\t2 : 1
state 2 [1, 0]
\taction back [0, 0]
\t\t1 : 1
\taction rest [0, 1]
\t\t2 : 1
state 3 [1, 0]
//[a comment]
\taction stay [0, 0]
\t\t3 : 1
state 4 [1, 0]
\taction slow [0, 1/3]
\t\t4 : 2/3
\t\t5 : 1/3
state 5 [1, 1] left
\taction __NOLABEL__ [0, 0]
\t\t4 : 1
"""


def test_averages_of_periodic_and_multichain_models_by_hand(tmp_path: Path) -> None:
    # the cycle 1, 2 earns 4 in two steps: 2 a step (resting: 1). The gamble ends there or at 0 a step: 1 on average.
    # 4, 5: three steps of 4 for one of 5 earn 3 * 1/3 + 1 in four steps: 1/2. So the best is 1, the worst 1/2:
    # with the worst choice the gamble is worth 1/2 as well, since resting earns 1, and half of it is 1/2.
    file = tmp_path / "m.drn"
    file.write_text(AVERAGES)
    model = read_drn(file)
    assert model.reward_name == "net"
    assert average_reward(model).value == 1
    assert average_reward(model, sense=Sense.MIN).value == Fraction(1, 2)
    assert average_reward(read_drn(file, reward="time")).value == 1
    found = {c.states: c.choices for c in maximal_end_components(model.choices, 0)}
    assert found == {(1, 2): {1: (0,), 2: (0, 1)}, (3,): {3: (0,)}, (4, 5): {4: (0,), 5: (0,)}}
    with pytest.raises(Unsupported, match="never reaches a final state"):
        solve_model(model)
    # a goal of our choice: 5 is not reached by the gamble
    with pytest.raises(Unsupported, match="never reaches a final state"):
        solve_model(read_drn(file, goal="left"))


def test_the_command_solves_averages_and_says_what_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.drn"
    file.write_text(AVERAGES)
    assert run(["solve", str(file), "--average", "--worst", "--json"]) == 0
    assert '"value": "1/2"' in capsys.readouterr().out
    assert run(["solve", str(file), "--average", "--reward", "time"]) == 0
    assert "best long-run average time: 1" in capsys.readouterr().out
    assert run(["solve", str(file)]) == 1
    assert "never reaches a final state" in capsys.readouterr().err
    assert run(["solve", str(file), "--reward", "cost"]) == 2
    assert run(["solve", str(file), "--certificate", str(tmp_path / "c")]) == 2
    assert run(["solve", str(tmp_path / "x.json"), "--average"]) == 2


def test_rounded_probabilities_are_refused_or_divided_by_their_sum(tmp_path: Path) -> None:
    # three thirds to ten digits sum to 1 - 1e-10; divided by the sum they are thirds
    file = tmp_path / "m.drn"
    third = "0.3333333333"
    text = f"""@type: DTMC
@value_type: double
@reward_models
r
@nr_states
2
@model
state 0 [2] init
\t0 : {third}
\t1 : 0.6666666666
state 1 [0] done
\t1 : 1
"""
    file.write_text(text)
    with pytest.raises(DataError, match="sum to 9999999999/10000000000; need them >= 0, the sum exactly 1"):
        read_drn(file)
    # x = 2 + x / 3
    assert solve_model(read_drn(file, exact=False)).value == 3
    assert run(["solve", str(file)]) == 2
    assert run(["solve", str(file), "--inexact"]) == 0
    file.write_text(text.replace(third, "0.33"))
    with pytest.raises(DataError, match="within 1e-8 of 1"):
        read_drn(file, exact=False)


def test_files_that_storm_writes_are_read(tmp_path: Path) -> None:
    storm()
    from stormpy.io import export_to_drn

    stormpy = storm()
    text = tmp_path / "m.prism"
    text.write_text(PRISM)
    program = stormpy.parse_prism_program(str(text))
    for kind, near in ((stormpy.Rational, Fraction(0)), (float, Fraction(1, 10**7))):
        file = tmp_path / "m.drn"
        export_to_drn(stormpy.build_model[kind](program), str(file))
        model = read_drn(file)
        for sense in Sense:
            solved = solve_model(model, sense=sense).value
            assert solved is not None
            # Storm's doubles are written with ten digits
            exact = stormpy.build_model[stormpy.Rational](program)
            query = stormpy.parse_properties(f'R{{"net"}}{QUERY[sense]}=? [F "done"]', program)[0]
            value = Fraction(str(stormpy.model_checking(exact, query).get_value(0)))
            assert abs(solved - value) <= near


PRISM = """mdp
module m
 s : [0..4] init 0;
 [a] s=0 -> 1/3:(s'=1) + 2/3:(s'=0);
 [b] s=0 -> (s'=2);
 [] s=1 -> 1/2:(s'=0) + 1/2:(s'=4);
 [c] s=2 -> 0.25:(s'=2) + 0.75:(s'=4);
 [d] s=2 -> (s'=1);
 [] s=4 -> true;
endmodule
rewards "time"
 true : 1;
endrewards
rewards "net"
 s=0 : 1/7;
 [a] true : 2;
 [b] true : -1;
 [c] true : 0.1;
endrewards
label "done" = s=4;
"""
