"""Exported models solved by outside tools: Storm in exact arithmetic, and HiGHS on the linear program.

Where stormpy has no wheel the Storm tests are skipped with that reason.
"""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from fairlane import suite
from fairlane.cli import run
from fairlane.oracle.explicit.explicit_model import ExplicitModel, explicit_model
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.export_prism import to_prism
from fairlane.oracle.explicit.export_umb import to_umb
from fairlane.oracle.explicit.model_solver import ModelMethod, solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.solve import solve
from fairlane.reference.errors import DataError, Unsupported
from fairlane.reference.model.codec import dump_instance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from tests.counts import count
from tests.random_instances import random_instance


def storm() -> Any:
    return pytest.importorskip("stormpy", reason="stormpy has no wheel for this Python")


def drawn(n: int) -> list[Instance]:
    return [random_instance(random.Random(seed), age=seed % 5 == 0) for seed in range(n)]


def exactly(value: object) -> Fraction:
    return Fraction(str(value))


def asked(stormpy: Any, model: Any, query: str) -> Fraction:
    return exactly(stormpy.model_checking(model, stormpy.parse_properties(query)[0]).get_value(0))


def test_storm_gets_the_same_rationals_from_drn_in_both_senses(tmp_path: Path) -> None:
    stormpy = storm()
    file = tmp_path / "m.drn"
    for instance in drawn(count(400)):
        exported = explicit_model(instance)
        if not any(choice.reward for row in exported.choices for choice in row):
            # Storm refuses a reward model of zeros alone
            assert solve(instance).value == 0
            continue
        file.write_text(to_drn(exported))
        model = stormpy.build_model_from_drn[stormpy.Rational](str(file))
        assert asked(stormpy, model, 'R{"net"}max=? [F "done"]') == solve(instance).value
        assert asked(stormpy, model, 'R{"net"}min=? [F "done"]') == solve(instance, sense="min").value


@pytest.mark.parametrize("name", suite.names())
def test_highs_storm_and_the_drn_reader_agree_on_the_bundled_suite(name: str, tmp_path: Path) -> None:
    instance = suite.load(name)
    exported, optimum = explicit_model(instance), solve(instance).value
    assert policy_value(exported, highs_policy(exported)) == optimum
    file = tmp_path / "m.drn"
    file.write_text(to_drn(exported))
    assert solve_model(read_drn(file)).value == optimum
    stormpy = storm()
    model = stormpy.build_model_from_drn[stormpy.Rational](str(file))
    assert asked(stormpy, model, 'R{"net"}max=? [F "done"]') == optimum
    # two of them need rationals of more than two words of 64 bits
    umb = tmp_path / "m.umb"
    umb.write_bytes(to_umb(exported))
    assert asked(stormpy, stormpy.build_model_from_umb(str(umb)), 'R{"net"}max=? [F "done"]') == optimum


def test_storm_gets_the_same_rationals_from_umb(tmp_path: Path) -> None:
    stormpy = storm()
    for instance in drawn(count(100)):
        model = explicit_model(instance)
        optimum = solve(instance).value
        assert optimum is not None
        umb = tmp_path / "m.umb"
        umb.write_bytes(to_umb(model))
        loaded = stormpy.build_model_from_umb(str(umb))
        assert asked(stormpy, loaded, 'R{"net"}max=? [F "done"]') == optimum


def test_prism_files_hold_the_same_model() -> None:
    # PRISM's explicit format: a header `states choices transitions`, then `state choice target value` lines
    for instance in drawn(count(100)):
        model = explicit_model(instance)
        files = to_prism(model)
        moves = [line.split() for line in files[".tra"].splitlines()]
        rewards = [line.split() for line in files[".trew"].splitlines()]
        assert moves[0] == rewards[0] == [str(len(model.choices)), str(model.n_choices), str(len(moves) - 1)]
        assert [m[:3] for m in moves] == [r[:3] for r in rewards]
        assert len(files[".sta"].splitlines()) == len(model.choices) + 1
        ends = {int(line.split(":")[0]) for line in files[".lab"].splitlines()[1:] if line.endswith(": 2")}
        laws: dict[int, dict[int, Fraction]] = {}
        values = dict.fromkeys(ends, Fraction(0))
        # targets have greater numbers than their sources only along the sweep, so values are found by recursion
        for m, r in zip(moves[1:], rewards[1:], strict=True):
            laws.setdefault(int(m[0]), {}).setdefault(int(m[1]), Fraction(0))
            laws[int(m[0])][int(m[1])] += Fraction(m[3]) * Fraction(r[3])
        targets: dict[tuple[int, int], list[tuple[int, Fraction]]] = {}
        for m in moves[1:]:
            targets.setdefault((int(m[0]), int(m[1])), []).append((int(m[2]), Fraction(m[3])))

        def value(s: int, laws: Any = laws, targets: Any = targets, values: Any = values) -> Fraction:
            if s not in values:
                values[s] = max(
                    reward + sum((p * value(t, laws, targets, values) for t, p in targets[s, k]), Fraction(0))
                    for k, reward in laws[s].items()
                )
            found: Fraction = values[s]
            return found

        assert value(0) == solve(instance).value


def storm_dialect(files: dict[str, str]) -> dict[str, str]:
    """The same files as Storm's explicit parser takes them.

    It wants a model type in place of the header, doubles, labels declared by name, and no negative reward, so
    rewards change sign.
    """

    def rows(text: str, sign: int) -> str:
        fields = (line.split() for line in text.splitlines()[1:])
        return "".join(f"{s} {k} {t} {float(sign * Fraction(x))!r}\n" for s, k, t, x in fields)

    first, *labelled = files[".lab"].splitlines()
    names = {number: name.strip('"') for number, name in (word.split("=") for word in first.split())}
    lines = [f"{s} {' '.join(names[k] for k in of.split())}" for s, of in (line.split(":") for line in labelled)]
    return {
        ".tra": "mdp\n" + rows(files[".tra"], 1),
        ".trew": rows(files[".trew"], -1),
        ".lab": "\n".join(["#DECLARATION", " ".join(names.values()), "#END", *lines]) + "\n",
    }


def test_storm_gets_the_same_least_cost_from_prism_files_in_its_dialect(tmp_path: Path) -> None:
    stormpy = storm()
    for instance in drawn(count(100)):
        prices = dataclasses.replace(instance.objective, prefill_value=Fraction(0), decode_value=Fraction(0))
        costly = Instance(graphs=instance.graphs, requests=instance.requests, objective=prices)
        optimum = solve(costly).value
        assert optimum is not None
        files = storm_dialect(to_prism(explicit_model(costly)))
        for ending, text in files.items():
            (tmp_path / f"m{ending}").write_text(text)
        model = stormpy.build_model_from_explicit(
            tmp_path / "m.tra", tmp_path / "m.lab", transition_rewards=tmp_path / "m.trew"
        )
        if optimum == 0:
            # a reward model of zeros alone is refused
            continue
        found = stormpy.model_checking(model, stormpy.parse_properties('Rmin=? [F "done"]')[0]).get_value(0)
        assert float(found) == pytest.approx(-float(optimum), rel=1e-5)


def highs_policy(model: ExplicitModel) -> list[int]:
    """The basic choices of the linear program min sum v, v >= r + P v, from HiGHS's dual values."""
    rows: list[int] = []
    columns: list[int] = []
    data: list[float] = []
    right: list[float] = []
    owner: list[tuple[int, int]] = []
    for s, choices in enumerate(model.choices):
        if s in model.final:
            continue
        for k, choice in enumerate(choices):
            line = len(right)
            entries = {s: -1.0}
            for t, p in choice.to:
                if t not in model.final:
                    entries[t] = entries.get(t, 0.0) + float(p)
            for t, x in entries.items():
                rows.append(line)
                columns.append(t)
                data.append(x)
            right.append(-float(choice.reward))
            owner.append((s, k))
    n = len(model.choices)
    table = csr_matrix((data, (rows, columns)), shape=(len(right), n))
    solved = linprog(np.ones(n), A_ub=table, b_ub=right, bounds=(None, None), method="highs-ds")
    # final states have no row; without one their value is unbounded below, so they are fixed at 0
    if solved.status != 0:
        limits = [(0, 0) if s in model.final else (None, None) for s in range(n)]
        solved = linprog(np.ones(n), A_ub=table, b_ub=right, bounds=limits, method="highs-ds")
    assert solved.status == 0
    picked = [0] * n
    weight = [-1.0] * n
    for (s, k), dual in zip(owner, -np.asarray(solved.ineqlin.marginals), strict=True):
        if dual > weight[s]:
            picked[s], weight[s] = k, dual
    return picked


def policy_value(model: ExplicitModel, picked: list[int]) -> Fraction:
    """Exact value of a policy of an acyclic model, by plain recursion."""
    values: dict[int, Fraction] = dict.fromkeys(model.final, Fraction(0))

    def value(s: int) -> Fraction:
        if s not in values:
            choice = model.choices[s][picked[s]]
            values[s] = choice.reward + sum((p * value(t) for t, p in choice.to), Fraction(0))
        return values[s]

    return value(model.initial)


def test_the_policy_of_highs_has_exactly_the_same_value() -> None:
    for instance in drawn(count(400)):
        model = explicit_model(instance)
        assert policy_value(model, highs_policy(model)) == solve(instance).value


def test_the_reader_reads_back_what_was_written(tmp_path: Path) -> None:
    for instance in drawn(count(100)):
        model = explicit_model(instance)
        file = tmp_path / "m.drn"
        file.write_text(to_drn(model))
        read = read_drn(file)
        assert read.final == model.final
        assert [[(c.reward, c.to) for c in row] for row in read.choices] == [
            [(c.reward, c.to) for c in row] for row in model.choices
        ]
        for sense in Sense:
            assert solve_model(read, sense=sense).value == solve(instance, sense=sense).value


CYCLIC = """@type: MDP
@parameters

@reward_models
net
@nr_states
3
@nr_choices
4
@model
state 0 [0] init
\taction try [-1]
\t\t0 : 1/2
\t\t2 : 1/2
\taction detour [-3/2]
\t\t1 : 1
state 1 [0]
\taction go [0]
\t\t0 : 1/4
\t\t2 : 3/4
state 2 [0] done
\taction stay [0]
\t\t2 : 1
"""


def test_a_cyclic_model_is_solved_exactly(tmp_path: Path) -> None:
    # try until it works: -2. The detour: x = -3/2 + x/4, so x = -2. Mixing them changes nothing; dearer tries do.
    file = tmp_path / "m.drn"
    file.write_text(CYCLIC)
    solved = solve_model(read_drn(file))
    assert (solved.value, solved.method) == (Fraction(-2), ModelMethod.POLICY_ITERATION)
    file.write_text(CYCLIC.replace("action try [-1]", "action try [-4]"))
    assert solve_model(read_drn(file)).value == -2
    assert solve_model(read_drn(file), sense=Sense.MIN).value == -8


def test_a_model_that_may_never_end_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    file.write_text(CYCLIC.replace("\t\t0 : 1/4\n\t\t2 : 3/4", "\t\t0 : 1"))
    with pytest.raises(Unsupported, match="never reaches a final state"):
        solve_model(read_drn(file))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: MDP", "@type: POMDP", "need MDP, DTMC"),
        ("@nr_states\n3", "@nr_states\n4", "@nr_states is 4, and 3 states"),
        ("2 : 1/2", "2 : 1/3", "sum to 5/6; need them >= 0, the sum exactly 1"),
        ("2 : 1/2", "7 : 1/2", "leads to state 7; need states up to 2"),
        ("state 1 [0]", "state 5 [0]", "states in order"),
        ("action try [-1]", "action try [a]", "need a finite number"),
        ("action try [-1]", "action try [1, 2]", "2 rewards in brackets"),
        (" init", "", "0 states are labelled init"),
        ("@model", "", "before any header|@model is missing|unknown|need"),
    ],
)
def test_a_bad_model_file_is_one_line_with_its_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "m.drn"
    file.write_text(CYCLIC.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        read_drn(file)


def test_too_large_an_export_is_refused_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # seven streams of 60 outputs: 61^7 states, the last of them final
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2)],
        requests=[Request(id=f"r{i}", prompt=0, limit=60) for i in range(7)],
        objective=Objective(decode_value=1),
    )
    dump_instance(instance, tmp_path / "x.json")
    assert run(["export", str(tmp_path / "x.json"), "--format", "drn", "--output", str(tmp_path / "m.drn")]) == 1
    assert f"{61**7 - 1:,} states; an export takes at most 100,000" in capsys.readouterr().err
    assert run(["export", str(tmp_path / "x.json"), "--format", "xml", "--output", str(tmp_path / "m")]) == 2
    small = random_instance(random.Random(8))
    dump_instance(small, tmp_path / "y.json")
    for kind in ("drn", "umb", "prism"):
        place = tmp_path / "missing" / "m"
        assert run(["export", str(tmp_path / "y.json"), "--format", kind, "--output", str(place)]) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.json", "y.json"]


def test_the_command_exports_and_solves_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = random_instance(random.Random(8))
    file = tmp_path / "x.json"
    dump_instance(instance, file)
    for kind in ("drn", "umb", "prism"):
        assert run(["export", str(file), "--format", kind, "--output", str(tmp_path / f"m.{kind}")]) == 0
    assert {p.name for p in tmp_path.iterdir()} >= {"m.drn", "m.umb", "m.prism.tra", "m.prism.lab", "m.prism.trew"}
    capsys.readouterr()
    assert run(["solve", str(tmp_path / "m.drn"), "--json"]) == 0
    assert f'"value": "{solve(instance).value}"' in capsys.readouterr().out
