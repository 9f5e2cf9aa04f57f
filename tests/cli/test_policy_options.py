"""Prices of the objective and parameters of policies on the command line of simulate."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fairlane.cli import run
from fairlane.policies import names, spec
from fairlane.policies.ongoing import Ongoing
from fairlane.policies.parameters import default_of

WORDS = ["simulate", "--decode-values", "16", "--policy", "ongoing", "--workload", "prefill_five_decodes"]


def launches(folder: Path) -> list[tuple[str, float]]:
    lines = (folder / "trace.jsonl").read_text().splitlines()
    return [(row["graph"], row["start_ms"]) for row in map(json.loads, lines)]


def summary(folder: Path) -> list[dict[str, str]]:
    with (folder / "summary.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_age_price_changes_what_ongoing_does_and_stands_in_the_files(tmp_path: Path) -> None:
    assert run([*WORDS, "--output", str(tmp_path / "none")]) == 0
    assert run([*WORDS, "--age-price", "2", "--output", str(tmp_path / "objective")]) == 0
    assert run([*WORDS, "--policy-option", "age_price=2", "--output", str(tmp_path / "own")]) == 0
    assert launches(tmp_path / "none") != launches(tmp_path / "objective")
    # the policy's own price stands for the objective's where it is given
    assert launches(tmp_path / "objective") == launches(tmp_path / "own")
    # with a price on age the streams run first: the five decodes are over before the prompt starts
    assert launches(tmp_path / "none")[0][0].startswith("prefill")
    assert launches(tmp_path / "objective")[0][0].startswith("decode")
    assert summary(tmp_path / "objective")[0]["age_price"] == "2"
    assert summary(tmp_path / "own")[0]["policy"] == "ongoing age_price=2"


def test_a_parameter_of_one_policy_leaves_the_others_alone(tmp_path: Path) -> None:
    words = [*WORDS, "--policy", "fair-gradient", "--policy-option", "fair-gradient.history_ms=50"]
    assert run([*words, "--output", str(tmp_path / "one")]) == 0
    assert [row["policy"] for row in summary(tmp_path / "one")] == ["ongoing", "fair-gradient history_ms=50"]
    assert run([*words[:-1], "history_ms=50", "--output", str(tmp_path / "both")]) == 0
    labels = [row["policy"] for row in summary(tmp_path / "both")]
    assert labels == ["ongoing history_ms=50", "fair-gradient history_ms=50"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--age-price", "-1"], "--age-price is '-1'; need >= 0"),
        (["--energy-price", "much"], "--energy-price"),
        (["--policy-option", "history_ms=0"], "ongoing.history_ms is 0; need > 0"),
        (["--policy-option", "token_fairness=-1/2"], "ongoing.token_fairness is -1/2; need >= 0"),
        (["--policy-option", "histroy_ms=3"], "'histroy_ms=3' fits none of ongoing"),
        (["--policy-option", "ongoing.histroy_ms=3"], "has no parameter 'histroy_ms'; it has history_ms"),
        (["--policy-option", "least-served.output_token=3"], "fits none of ongoing"),
        (["--policy-option", "history_ms"], "need NAME=VALUE"),
    ],
)
def test_a_bad_option_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*WORDS, *words, "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_listing_names_every_parameter_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["policies", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["policies"]}
    assert list(rows) == list(names())
    listed = {p["name"]: p["default"] for p in rows["ongoing"]["parameters"]}
    assert set(listed) == set(Ongoing.__dataclass_fields__)
    assert listed["history_ms"] == "1000.0"
    assert listed["age_price"] is None
    assert run(["policies"]) == 0
    assert "per_ms = 1/50" in capsys.readouterr().out


@pytest.mark.parametrize("name", names())
def test_declared_parameters_are_fields_of_the_policy(name: str) -> None:
    declared = spec(name)
    for parameter in declared.parameters:
        default = default_of(declared, parameter)
        assert default is None or default >= 0
