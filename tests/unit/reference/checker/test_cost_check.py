"""Tables of costs: the checker accepts what the sweeps found, by its own bounds, and rejects what is no solution."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

from fairlane.cli import run
from fairlane.oracle.cost_table import certify_costs, costs_of
from fairlane.oracle.encoding.packing import count_states, lanes_couple, pack
from fairlane.oracle.rational.exact_root import ExactRoot
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.oracle.sweeps.compiled import sweep
from fairlane.reference.checker.certificate_check import fingerprint
from fairlane.reference.checker.cost_check import CostTable, check_costs
from fairlane.reference.checker.cost_file import read_costs, write_costs
from fairlane.reference.errors import CertificateRejected, DataError, Unsupported
from fairlane.reference.model.codec import dump_instance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance


def one_stream() -> Instance:
    """Two tokens, one a graph of 3 ms, price 2 a ms: costs 12, 6, 0."""
    return Instance(
        graphs=[Graph(name="d", duration_ms=3, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=2)],
        objective=Objective(decode_value=5, time_price=2),
    )


def table_of(instance: Instance, costs: list[float], *groups: tuple[int, ...], worst: bool = False) -> CostTable:
    return CostTable(
        instance=fingerprint(instance), worst=worst, groups=groups or ((0,),), costs=np.array(costs, dtype=np.float64)
    )


def test_a_table_written_by_hand_proves_the_value_worked_out_by_hand() -> None:
    # two tokens of 5 less 12: -2
    checked = check_costs(table_of(one_stream(), [12, 6, 0]), one_stream())
    assert checked.lower <= -2 <= checked.upper
    assert checked.upper - checked.lower < Fraction(1, 10**12)
    assert (checked.states, checked.actions, checked.outcomes) == (2, 2, 2)


@pytest.mark.parametrize(
    "costs",
    [
        [12.1, 6, 0],
        [12, 6.1, 0],
        [11.9, 5.9, 0],
        [12, 6, 1e-300],
        [12, float("nan"), 0],
        [float("inf"), 6, 0],
        [-12, 6, 0],
    ],
)
def test_a_cost_that_is_no_solution_is_rejected(costs: list[float]) -> None:
    with pytest.raises(CertificateRejected):
        check_costs(table_of(one_stream(), costs), one_stream())


def test_a_wrong_shape_group_or_instance_is_rejected() -> None:
    good = table_of(one_stream(), [12, 6, 0])
    with pytest.raises(CertificateRejected, match="shape"):
        check_costs(table_of(one_stream(), [12, 6]), one_stream())
    with pytest.raises(CertificateRejected, match="partition"):
        check_costs(replace(good, groups=((0,), (0,))), one_stream())
    with pytest.raises(CertificateRejected, match="another instance"):
        check_costs(replace(good, instance="0"), one_stream())
    pair = Instance(
        graphs=[Graph(name="d", duration_ms=3, decode_capacity=2)],
        requests=[Request(id="a", prompt=0, limit=1), Request(id="b", prompt=0, limit=1, weight=2)],
        objective=Objective(decode_value=5, time_price=2),
    )
    with pytest.raises(CertificateRejected, match="merges requests that differ"):
        check_costs(table_of(pair, [6, 6, 0], (0, 1)), pair)


def test_ages_and_coupled_prompts_are_refused_by_name() -> None:
    aged = Instance(
        graphs=one_stream().graphs,
        requests=one_stream().requests,
        objective=Objective(decode_value=5, time_price=2, age_price=1),
    )
    with pytest.raises(Unsupported, match="age"):
        check_costs(table_of(aged, [12, 6, 0]), aged)
    coupled = Instance(
        graphs=[Graph(name="p", duration_ms=1, prefill_capacity=4, prefill_lanes=2)],
        requests=[Request(id=x, prompt=2, limit=1) for x in "ab"],
        objective=Objective(decode_value=1),
    )
    with pytest.raises(Unsupported, match="one prompt a graph"):
        check_costs(table_of(coupled, [0.0], (0,), (1,)), coupled)


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("sense", list(Sense))
def test_the_checker_encloses_the_readable_solvers_value_on_random_instances(sense: Sense, merge: bool) -> None:
    checked = 0
    for seed in range(count(300)):
        rng = random.Random(seed)
        drawn = random_instance(rng)
        # copies, so that there is something to merge
        requests = [replace_id(r, f"{r.id}-{k}") for r in drawn.requests[:2] for k in range(2)]
        instance = Instance(graphs=drawn.graphs, requests=requests, objective=drawn.objective)
        if lanes_couple(instance) or instance.objective.age_price or count_states(instance) > 400:
            continue
        swept = sweep(pack(instance, merge=merge), worst=sense is Sense.MIN, threads=1)
        root = ExactRoot(swept)
        value = solve_plain(instance, sense=sense).value
        table = costs_of(swept)
        if merge:
            table = merged(table, root)
        result = check_costs(table, instance)
        assert result.lower <= value <= result.upper
        assert result.upper - result.lower <= Fraction(1, 10**9) * (1 + abs(value))
        checked += 1
        # one cost that is off by a thousandth is no solution any more
        place = rng.randrange(table.costs.size)
        if table.costs[place] > 0:
            wrong = table.costs.copy()
            wrong[place] *= 1.001
            with pytest.raises(CertificateRejected):
                check_costs(replace(table, costs=wrong), instance)
    assert checked > 10


def replace_id(request: Request, name: str) -> Request:
    return Request(
        id=name,
        prompt=request.prompt,
        generated=request.generated,
        limit=request.limit,
        length_prior=request.length_prior,
        acceptance=request.acceptance,
        weight=request.weight,
    )


def merged(table: CostTable, root: ExactRoot) -> CostTable:
    """The table over multisets, from the one over all orders: state by state, by the sorted places."""
    axes = root.packed.axes
    sizes = [len(axis.chain) for axis in axes for _ in axis.requests]
    whole = table.costs.reshape(sizes)
    out = []
    for digits in np.ndindex(*[axis.n_places for axis in axes]):
        places: list[int] = []
        for axis, place in zip(axes, digits, strict=True):
            places += multiset(len(axis.chain), axis.members, place)
        out.append(float(whole[tuple(places)]))
    return replace(table, groups=tuple(axis.requests for axis in axes), costs=np.array(out))


def multiset(n: int, members: int, rank: int) -> list[int]:
    """The sorted multiset of a colexicographic rank, by listing them all."""
    rows = sorted(combinations_with_replacement(range(n), members), key=lambda row: row[::-1])
    return list(rows[rank])


def large() -> Instance:
    """Three equal requests and one more; more states than a solver takes in rationals."""
    prior = {n: Fraction(1, 4) for n in (2, 3, 5, 6)}
    return Instance(
        graphs=[
            Graph(name="p1", duration_ms=2, prefill_capacity=1),
            Graph(name="d1", duration_ms="5/2", decode_capacity=1, width=3),
            Graph(name="d3", duration_ms="7/2", decode_capacity=3, width=2),
        ],
        requests=[
            Request(id=f"r{i}", prompt=2, limit=6, length_prior=prior, acceptance=["7/10", "1/2"], weight=1 + i // 3)
            for i in range(4)
        ],
        objective=Objective(decode_value=2, time_price=1, completion_price="1/2", first_output_price="1/3"),
    )


def test_a_large_solution_is_certified_written_read_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = large()
    solution = solve(instance)
    assert solution.method == "class_sweep_exact_root"
    checked = certify_costs(instance, solution)
    assert solution.value is not None
    assert checked.lower <= solution.value <= checked.upper
    file = tmp_path / "costs"
    write_costs(solution.cost_table(), file)
    table = read_costs(file)
    assert check_costs(table, instance) == checked
    dump_instance(instance, tmp_path / "i.json")
    assert run(["check", str(file), str(tmp_path / "i.json")]) == 0
    assert "accepted: the optimum over all policies lies in [" in capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_one_changed_byte_of_a_file_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = one_stream()
    dump_instance(instance, tmp_path / "i.json")
    good = table_of(instance, [12, 6, 0])
    file = tmp_path / "costs"
    write_costs(good, file)
    # the last bit of one cost, under the old digest: still a solution, but not what was written
    wrong = good.costs.copy()
    wrong[1] = np.nextafter(wrong[1], 7)
    with np.load(file) as archive:
        header = archive["header"]
    with open(file, "wb") as out:
        np.savez(out, header=header, costs=wrong)
    with pytest.raises(CertificateRejected, match="digest"):
        read_costs(file)
    assert run(["check", str(file), str(tmp_path / "i.json")]) == 1
    assert "digest" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04garbage", b"{}"])
def test_a_damaged_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "costs"
    file.write_bytes(content)
    with pytest.raises(DataError):
        read_costs(file)


def test_the_certified_solution_must_lie_within_the_checked_bounds() -> None:
    instance = large()
    solution = solve(instance)
    assert solution.value is not None
    with pytest.raises(CertificateRejected, match="outside"):
        certify_costs(instance, replace(solution, value=solution.value + Fraction(1, 1000)))


def test_a_solution_in_rationals_has_no_table() -> None:
    instance = one_stream()
    assert solve(instance).value_at(initial_state(instance)) == -2
    with pytest.raises(Unsupported, match="no table"):
        solve(instance).cost_table()


def test_too_many_joint_outcomes_for_doubles_are_refused() -> None:
    # 25 rows at once, one of them with four outcomes: a bound by 4^25 terms, more than 2^50 / 3
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=25, width=4)],
        requests=[
            Request(id="a", prompt=0, limit=6, acceptance=["1/2"] * 3, length_prior=dict.fromkeys(range(1, 7), "1/6")),
            *(Request(id=f"r{i}", prompt=0, limit=1) for i in range(24)),
        ],
        objective=Objective(decode_value=1, time_price=1),
    )
    table = table_of(instance, [1.0] * (7 * 25), (0,), tuple(range(1, 25)))
    with pytest.raises(Unsupported):
        check_costs(table, instance)


def test_a_file_with_other_arrays_or_an_impossible_shape_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "costs"
    with open(file, "wb") as out:
        np.savez(out, something=np.zeros(2))
    with pytest.raises(DataError, match=r"^[^\n]*it has something instead of header and costs$"):
        read_costs(file)
    write_costs(table_of(one_stream(), [12, 6, 0]), file)
    whole = bytearray(file.read_bytes())
    # the flag of encryption in the first entry's central header
    place = whole.index(b"PK\x01\x02")
    whole[place + 8] |= 1
    file.write_bytes(bytes(whole))
    with pytest.raises(DataError, match="is not a table of costs"):
        read_costs(file)
