"""Statistical and recorded claims: exact bounds, draws fixed by the id, tables computed again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.statistical import seed_of
from fairlane.proofs.claims.running import run_claim
from fairlane.proofs.claims.status import Status, Strength
from fairlane.proofs.claims.table import read_table
from fairlane.reference.errors import DataError
from tests.claim_texts import TODAY, claim_text, outcome, read_claim

SAMPLER = '''
import numpy as np
SEEDS = []

def coin(rng, n):
    return rng.random(n) < 0.5

def uniform(rng, n):
    return rng.random(n)

def wild(rng, n):
    return np.full(n, 7.0)

def short(rng, n):
    return [0.5]

def missing_once(rng, n):
    """Misses in the first run of a rotation, is fine in the second."""
    SEEDS.append(1)
    return np.zeros(n, int) if len(SEEDS) == 1 else rng.random(n) < 0.5

def square(x, shift=0):
    return {"y": x * x + shift}

def wrong(x):
    return {"y": x * x + 1}
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "claim_samples.py").write_text(SAMPLER, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    sys.modules.pop("claim_samples", None)


COIN = {"sampler": "claim_samples:coin", "n": "4000", "delta": "1e-6", "method": "clopper-pearson"}
UNIFORM = {"sampler": "claim_samples:uniform", "n": "4000", "delta": "1e-6", "range": "0, 1"}


@pytest.mark.usefixtures("folder")
def test_a_bound_holds_where_the_whole_interval_obeys_it() -> None:
    found = outcome("statistical", "42/100 < mean < 58/100", **COIN)
    assert (found.status, found.strength) == (Status.HOLDS, Strength.STATISTICAL)
    # the interval is about 0.04 wide on each side: it settles neither 0.49 < mean nor its opposite
    assert outcome("statistical", "49/100 < mean", **COIN).status is Status.UNKNOWN
    assert outcome("statistical", "mean < 40/100", **COIN).status is Status.FAILED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("method", ["hoeffding", "empirical-bernstein"])
def test_means_of_bounded_draws(method: str) -> None:
    assert outcome("statistical", "0.42 < mean and mean < 0.58", method=method, **UNIFORM).status is Status.HOLDS
    assert outcome("statistical", "mean > 0.6", method=method, **UNIFORM).status is Status.FAILED


@pytest.mark.usefixtures("folder")
def test_draws_are_fixed_by_the_id_and_rotate_on_demand() -> None:
    first, again = (outcome("statistical", "mean < 1", **COIN) for _ in range(2))
    other = outcome("statistical", "mean < 1", claim_id="other", **COIN)
    rotated = outcome("statistical", "mean < 1", rotation="x", **COIN)
    assert first == again
    assert len({first.evidence, other.evidence, rotated.evidence}) == 3
    assert seed_of("it", None) != seed_of("it", "x") != seed_of("it", "x", again=True)


@pytest.mark.usefixtures("folder")
def test_a_miss_under_a_rotation_needs_an_independent_second_one() -> None:
    options = COIN | {"sampler": "claim_samples:missing_once"}
    found = outcome("statistical", "42/100 < mean", rotation="x", **options)
    assert found.status is Status.HOLDS
    assert found.summary.startswith("missed once, not confirmed")
    confirmed = outcome("statistical", "58/100 < mean", rotation="x", **COIN)
    assert confirmed.status is Status.FAILED
    assert confirmed.summary.startswith("missed twice")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": "2"}, "delta is 2; need 0 < delta <= 1/20"),
        # such an interval is all but empty: everything would be false of it, or nothing
        ({"delta": "0.999999"}, "delta is 999999/1000000; need 0 < delta <= 1/20"),
        ({"n": "1"}, "n is 1; need >= 2"),
        ({"method": "bootstrap"}, "method is 'bootstrap'; need one of clopper-pearson"),
        ({"sampler": "claim_samples:uniform"}, "needs draws that are 0 or 1"),
        ({"sampler": "claim_samples:short"}, "gave 1 draws; need 4000"),
        ({"sampler": "claim_samples:nothing"}, "has no attribute 'nothing'"),
        ({"method": "hoeffding"}, "needs :range: low, high"),
        (
            {"method": "hoeffding", "range": "0, 1", "sampler": "claim_samples:wild"},
            "a draw is 7; need draws in [0, 1]",
        ),
    ],
)
def test_statistical_says_what_is_wrong_and_where(options: dict[str, str], message: str) -> None:
    found = outcome("statistical", "mean < 1", **(COIN | options))
    assert found.status is Status.FAILED
    assert found.summary.startswith("note.md:")
    assert message in found.summary


@pytest.mark.usefixtures("folder")
def test_statistical_takes_bounds_on_the_mean_only() -> None:
    assert outcome("statistical", "mean*mean < 1", **COIN).status is Status.FAILED


def table(folder: Path, rows: str) -> None:
    (folder / "t.csv").write_text("x,y,label\n" + rows, encoding="utf-8")


RECORDED = {"table": "t.csv", "callable": "claim_samples:square", "inputs": "x", "outputs": "y"}
ROWS = "1,1,a\n2,4,b\n1/2,0.25,a\n"


def test_recorded_reads_the_table_and_computes_rows_again(folder: Path) -> None:
    table(folder, ROWS)
    found = outcome("recorded", "max(row.y for row in rows) == 4", folder=folder, value="len(rows)", **RECORDED)
    assert (found.status, found.strength, found.value) == (Status.HOLDS, Strength.RECORDED, "3")
    assert sum("computed again, same" in line for line in found.evidence) == 2


def test_recorded_fails_on_a_false_statement_or_a_row_that_differs(folder: Path) -> None:
    table(folder, ROWS)
    assert outcome("recorded", "max(row.y for row in rows) == 5", folder=folder, **RECORDED).status is Status.FAILED
    changed = RECORDED | {"callable": "claim_samples:wrong"}
    found = outcome("recorded", "len(rows) == 3", folder=folder, **changed)
    assert found.status is Status.FAILED
    assert "computes to something else: y is" in found.summary


def test_recorded_looks_at_the_rows_that_are_asked_for(folder: Path) -> None:
    table(folder, ROWS)
    options = RECORDED | {"rows": 'label == "a"'}
    assert outcome("recorded", "len(rows) == 2", folder=folder, **options).status is Status.HOLDS


def test_recorded_takes_a_tolerance_relative_to_the_larger_side(folder: Path) -> None:
    table(folder, "10,100.1,a\n")
    assert outcome("recorded", "len(rows) == 1", folder=folder, tolerance="0.002", **RECORDED).status is Status.HOLDS
    assert outcome("recorded", "len(rows) == 1", folder=folder, tolerance="0.0005", **RECORDED).status is Status.FAILED


def test_recorded_runs_a_command(folder: Path) -> None:
    table(folder, ROWS)
    (folder / "square.py").write_text(
        "import json, sys\nfrom fractions import Fraction\n"
        "print(json.dumps({'rows': [{'y': str(Fraction(sys.argv[1]) ** 2)}]}))\n"
    )
    options = {"table": "t.csv", "command": "python square.py {x}", "inputs": "x", "outputs": "y = rows.0.y"}
    assert outcome("recorded", "len(rows) == 3", folder=folder, **options).status is Status.HOLDS
    broken = outcome("recorded", "len(rows) == 3", folder=folder, **(options | {"command": "python nothing.py {x}"}))
    assert broken.status is Status.FAILED
    assert "ended with status 2" in broken.summary


def test_recorded_samples_other_rows_under_a_rotation(folder: Path) -> None:
    table(folder, "".join(f"{i},{i * i},a\n" for i in range(50)))
    claim = read_claim(claim_text("recorded", "len(rows) == 50", rerun="5", **RECORDED), folder=folder)
    seen = {run_claim(claim, Context(today=TODAY, rotation=word)).evidence for word in (None, "a", "b")}
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "none.csv"}, "cannot be read: No such file"),
        ({"inputs": "z"}, "the table has no column 'z'"),
        ({"outputs": "z"}, "the table has no column 'z'"),
        ({"outputs": "label"}, "the result has no 'label'"),
        ({"rows": "x > 100"}, "no row of the table is chosen"),
        ({"command": "python x.py"}, "needs exactly one of :callable: and :command:"),
    ],
)
def test_recorded_says_what_is_wrong_and_where(folder: Path, options: dict[str, str], message: str) -> None:
    table(folder, ROWS)
    found = outcome("recorded", "len(rows) > 0", folder=folder, **(RECORDED | options))
    assert found.status is Status.FAILED
    assert found.summary.startswith("note.md:")
    assert message in found.summary


def test_tables_are_read_by_their_decimal_text(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"rows": [{"a": 0.1, "b": "-374/7", "c": true, "d": null, "e": "text"}]}')
    (row,) = read_table(file)
    assert row.cells == {"a": Fraction(1, 10), "b": Fraction(-374, 7), "c": True, "d": None, "e": "text"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "a,b\n1\n", "t.csv:2: 1 cells; need 2"),
        ("t.csv", "a,a\n1,2\n", "need distinct column names"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.json", "[1]", "need a list of objects"),
        ("t.json", "{", "t.json: "),
    ],
)
def test_malformed_tables_are_bad_data(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as error:
        read_table(tmp_path / name)
    assert message in str(error.value)
