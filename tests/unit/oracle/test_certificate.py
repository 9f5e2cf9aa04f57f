"""Certificates: the checker accepts what the solver found, and rejects it with any single number changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run
from fairlane.oracle.certificate import certificate, certify, write_certificate
from fairlane.oracle.plain import Sense
from fairlane.oracle.solve import solve
from fairlane.reference.certificate_check import check_certificate
from fairlane.reference.codec import dump_instance, parse_json, read_json
from fairlane.reference.errors import CertificateRejected, InvalidInstance
from fairlane.reference.instance import Instance
from tests.counts import count
from tests.random_instances import random_instance


def checked(document: object, instance: Instance) -> Fraction:
    value = check_certificate(parse_json(json.dumps(document), "certificate"), instance).value
    return Fraction(int(value.p), int(value.q))


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


def test_every_single_changed_number_is_rejected() -> None:
    rng = random.Random(1)
    tried = 0
    for seed in range(count(100)):
        instance = random_instance(random.Random(seed), age=seed % 3 == 0, most_requests=2)
        document = certificate(instance, solve(instance))
        assert checked(document, instance) == solve(instance).value
        places = list(numbers_in(document))
        for path, value in places if len(places) <= 60 else rng.sample(places, 60):
            mutant = copy.deepcopy(document)
            at: Any = mutant
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = changed(value, rng)
            with pytest.raises((CertificateRejected, InvalidInstance)):
                checked(mutant, instance)
            tried += 1
    assert tried > 20 * count(100)


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
