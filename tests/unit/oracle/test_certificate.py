"""Certificates: the checker accepts what the solver found, and rejects it with any single number changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run
from fairlane.oracle.certificate import certificate, certify, write_certificate
from fairlane.oracle.rational.full_table import FullTable
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.reference.checker.certificate_check import check_certificate
from fairlane.reference.errors import CertificateRejected, InvalidInstance, TooLarge
from fairlane.reference.model.codec import dump_instance, parse_json, read_json
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from tests.counts import count
from tests.random_instances import random_instance


def checked(document: object, instance: Instance) -> Fraction:
    value = check_certificate(parse_json(json.dumps(document), "certificate"), instance).value
    return Fraction(int(value.p), int(value.q))


def larger(*, limit: int = 5) -> Instance:
    """A prompt and two speculating streams."""
    return Instance(
        graphs=[
            Graph(name="p", duration_ms=2, prefill_capacity=2),
            Graph(name="d1", duration_ms="3/2", decode_capacity=1, width=3),
            Graph(name="d3", duration_ms=2, decode_capacity=3, width=2),
        ],
        requests=[
            Request(id="a", prompt=3, limit=limit, acceptance=["7/10", "1/2"]),
            Request(id="b", prompt=0, limit=limit + 1, acceptance=["3/4"], length_prior={2: "1/3", limit + 1: "2/3"}),
            Request(id="c", prompt=0, limit=limit, acceptance=["1/3", "1/5"], weight=2),
        ],
        objective=Objective(decode_value=3, time_price="1/7", first_output_price="1/2"),
    )


def numbers_in(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place of a document that holds a number, or a rational as text."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from numbers_in(value, (*path, key))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from numbers_in(value, (*path, i))
    elif isinstance(document, int) or (isinstance(document, str) and path[-1] in {"value", 2, "instance"}):
        yield path, document


def changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 2])
    if len(value) == 64:
        return ("0" if value[0] != "0" else "1") + value[1:]
    return str(Fraction(value) + Fraction(rng.choice([-1, 1]), rng.choice([1, 7, 10**9])))


@pytest.mark.parametrize("sense", list(Sense))
def test_solved_instances_are_accepted_in_both_senses(sense: Sense) -> None:
    for seed in range(count(200)):
        instance = random_instance(random.Random(seed), age=seed % 4 == 0)
        solution = solve(instance, sense=sense)
        accepted = certify(instance, solution, sense=sense)
        assert Fraction(int(accepted.value.p), int(accepted.value.q)) == solution.value
        assert accepted.states == solution.states


def mutants(document: Any, places: list[tuple[tuple[Any, ...], Any]], rng: random.Random) -> Iterator[Any]:
    """Copies of a document with the number at one of the places changed."""
    for path, value in places:
        mutant = copy.deepcopy(document)
        at: Any = mutant
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = changed(value, rng)
        yield mutant


def test_every_single_changed_number_of_a_small_certificate_is_rejected() -> None:
    rng = random.Random(1)
    tried = 0
    for seed in range(count(100)):
        instance = random_instance(random.Random(seed), age=seed % 3 == 0, most_requests=2)
        document = certificate(instance, solve(instance))
        assert checked(document, instance) == solve(instance).value
        places = list(numbers_in(document))
        # all of them, whatever their number, unless the certificate is no small one
        for mutant in mutants(document, places if len(places) <= 400 else rng.sample(places, 100), rng):
            with pytest.raises((CertificateRejected, InvalidInstance)):
                checked(mutant, instance)
            tried += 1
    assert tried > 30 * count(100)


def test_random_changed_numbers_of_a_larger_certificate_are_rejected() -> None:
    rng = random.Random(2)
    instance = larger()
    document: Any = certificate(instance, solve(instance))
    assert document["n_states"] > 200
    for mutant in mutants(document, rng.sample(list(numbers_in(document)), count(200)), rng):
        with pytest.raises((CertificateRejected, InvalidInstance)):
            checked(mutant, instance)


@pytest.mark.parametrize("local", [[0, 9, 0], [7, 0, 0], [1, 1, 0], [0, 3, 0]])
def test_a_local_state_no_request_can_be_in_is_rejected_by_name(local: list[int]) -> None:
    # limit 4 with lengths up to 3: output 3 is the end, 9 beyond it; a prompt of 2 never becomes 7
    instance = Instance(
        graphs=[
            Graph(name="p", duration_ms=1, prefill_capacity=1),
            Graph(name="d", duration_ms=1, decode_capacity=1, width=2),
        ],
        requests=[
            Request(id="a", prompt=2, limit=4, length_prior={2: "1/2", 3: "1/2"}, acceptance=["1/2"]),
        ],
        objective=Objective(decode_value=1, time_price="1/3"),
    )
    document: Any = certificate(instance, solve(instance))
    assert checked(document, instance) == solve(instance).value
    document["states"].append({"state": [local], "value": "0", "action": [1, [], [0]]})
    document["n_states"] += 1
    with pytest.raises(CertificateRejected, match="'a' is never at prompt"):
        checked(document, instance)


def test_numbers_of_any_length_are_written_and_checked(tmp_path: Path) -> None:
    # 80 outputs with acceptances of 58 digits: the value has thousands of digits; and ages with over 60 digits
    rng = random.Random(5)

    def long_decimal() -> str:
        return "0." + "".join(rng.choice("123456789") for _ in range(58))

    for requests, age_price in (
        ([Request(id="a", prompt=0, limit=80, acceptance=[long_decimal() for _ in range(3)])], 0),
        ([Request(id=name, prompt=0, limit=3, acceptance=[long_decimal()]) for name in "ab"], 1),
    ):
        durations = [Fraction(rng.randrange(10**58, 10**59), rng.randrange(10**58, 10**59)) for _ in range(2)]
        instance = Instance(
            graphs=[
                Graph(name=f"d{k}", duration_ms=t, decode_capacity=1, width=4 - k) for k, t in enumerate(durations)
            ],
            requests=requests,
            objective=Objective(decode_value=1, time_price="1/7", age_price=age_price),
        )
        file, proof = tmp_path / "x.json", tmp_path / "x.cert"
        dump_instance(instance, file)
        assert run(["solve", str(file), "--certificate", str(proof)]) == 0
        assert len(proof.read_text()) > 10_000
        assert run(["check", str(proof), str(file)]) == 0


@pytest.mark.parametrize("sense", list(Sense))
def test_the_table_of_all_values_agrees_with_the_plain_solver(sense: Sense) -> None:
    for seed in range(count(300)):
        instance = random_instance(random.Random(seed + 500))
        table = FullTable(instance, sense, max_states=10_000)
        plain = solve_plain(instance, sense=sense)
        assert table.states == plain.states
        for state in table.reachable_states():
            assert table.value_at(state) == plain.value_at(state)
            assert table.optimal_actions(state) == plain.optimal_actions(state)


def test_a_certificate_of_a_compiled_solution_is_accepted(tmp_path: Path) -> None:
    instance = larger(limit=13)
    solution = solve(instance)
    assert solution.method == "block_sweep_exact_root"
    proof = tmp_path / "x.cert"
    write_certificate(instance, proof, solution=solution)
    accepted = check_certificate(read_json(proof), instance)
    assert Fraction(int(accepted.value.p), int(accepted.value.q)) == solution.value
    assert accepted.states == solution.states
    assert certify(instance, solution) == accepted


def test_too_large_an_instance_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # nine streams of 60 outputs each: 61^9 states, the last one final
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2)],
        requests=[Request(id=f"r{i}", prompt=0, limit=60) for i in range(9)],
        objective=Objective(decode_value=1),
    )
    with pytest.raises(TooLarge, match=f"{61**9 - 1:,} states; a certificate takes at most 100,000"):
        write_certificate(instance, tmp_path / "x.cert")
    dump_instance(instance, tmp_path / "x.json")
    assert run(["solve", str(tmp_path / "x.json"), "--certificate", str(tmp_path / "x.cert")]) == 1
    # merged, they are multisets of nine among 61 local states: C(69, 9)
    assert f"{comb(69, 9) - 1:,} states" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_state_left_out_added_or_doubled_is_rejected() -> None:
    instance = random_instance(random.Random(11), most_requests=2)
    document: Any = certificate(instance, solve(instance))
    missing = copy.deepcopy(document)
    missing["states"].pop()
    missing["n_states"] -= 1
    with pytest.raises(CertificateRejected, match=r"not listed"):
        checked(missing, instance)
    doubled = copy.deepcopy(document)
    doubled["states"].append(doubled["states"][0])
    doubled["n_states"] += 1
    with pytest.raises(CertificateRejected, match="twice"):
        checked(doubled, instance)


def test_the_certificate_of_another_instance_or_sense_is_rejected() -> None:
    one, other = (random_instance(random.Random(s)) for s in (3, 4))
    with pytest.raises(CertificateRejected, match="another instance"):
        checked(certificate(one, solve(one)), other)
    worst: Any = certificate(one, solve(one, sense="min"), sense=Sense.MIN)
    worst["sense"] = "max"
    if solve(one).value != solve(one, sense="min").value:
        with pytest.raises(CertificateRejected):
            checked(worst, one)


def test_the_command_accepts_and_rejects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = random_instance(random.Random(3))
    file, proof = tmp_path / "x.json", tmp_path / "x.cert"
    dump_instance(instance, file)
    write_certificate(instance, proof)
    assert run(["check", str(proof), str(file)]) == 0
    assert "accepted" in capsys.readouterr().out
    document: Any = json.loads(proof.read_text())
    document["value"] = str(Fraction(document["value"]) + 1)
    proof.write_text(json.dumps(document))
    assert run(["check", str(proof), str(file)]) == 1
    assert "rejected" in capsys.readouterr().err
    assert run(["check", str(file), str(file)]) == 2
    assert read_json(file) is not None


def test_an_optimum_without_a_table_of_costs_is_refused_by_its_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # one stream of three outputs with an age price: three states, each met with age 0
    aged = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=3)],
        objective=Objective(decode_value=1, age_price=1),
    )
    dump_instance(aged, tmp_path / "x.json")
    monkeypatch.setattr("fairlane.oracle.certificate.MAX_STATES", 2)
    assert run(["solve", str(tmp_path / "x.json"), "--certificate", str(tmp_path / "x.cert")]) == 1
    assert "has 3 states; a certificate takes at most 2" in capsys.readouterr().err
