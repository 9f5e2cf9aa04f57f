"""Known optima of completion episodes, from an independent memoised recursion outside this project.

The folder is FAIRLANE_CASES, so that any file of the same format can be checked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.oracle.certificate import certify
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.reference.model.codec import instance_from_json, parse_json
from fairlane.reference.model.instance import Instance

CASES = Path(os.environ.get("FAIRLANE_CASES", "../shared/cases"))
FAMILIES = Path(os.environ.get("FAIRLANE_BENCH", str(CASES / "../bench"))) / "families.py"
SMALL = 500


def load() -> dict[str, Any]:
    file = CASES / "episodes.json"
    if not file.is_file():
        return {"episodes": [], "families": {}}
    document: dict[str, Any] = json.loads(file.read_text())
    return document


DOCUMENT = load()
EPISODES: list[dict[str, Any]] = DOCUMENT["episodes"]
needs_cases = pytest.mark.skipif(
    not EPISODES, reason=f"{CASES}/episodes.json is absent; FAIRLANE_CASES names its folder"
)


def instance_of(document: object) -> Instance:
    return instance_from_json(parse_json(json.dumps(document), "case"))


@needs_cases
@pytest.mark.parametrize("k", range(len(EPISODES)))
def test_optimum_worst_value_and_states_match(k: int) -> None:
    case = EPISODES[k]
    instance = instance_of(case["instance"])
    best = solve(instance)
    worst = solve(instance, sense="min")
    assert best.value == Fraction(case["optimum"])
    assert worst.value == Fraction(case["worst"])
    assert best.lower <= Fraction(case["optimum"]) <= best.upper
    assert best.states in (case["states"], None)
    if case["states"] <= SMALL:
        assert solve_plain(instance).value == Fraction(case["optimum"])
        assert solve_plain(instance, sense=Sense.MIN).value == Fraction(case["worst"])
        assert solve_plain(instance).states == case["states"]
        certify(instance, best)
        certify(instance, worst, sense=Sense.MIN)


@needs_cases
@pytest.mark.parametrize("name", sorted(DOCUMENT["families"]))
def test_family_optimum_matches(name: str) -> None:
    if not FAMILIES.is_file():
        pytest.skip(f"{FAMILIES} is absent; FAIRLANE_BENCH names its folder")
    printed = subprocess.run([sys.executable, str(FAMILIES), name], capture_output=True, text=True, check=True)
    assert solve(instance_of(json.loads(printed.stdout))).value == Fraction(DOCUMENT["families"][name])
