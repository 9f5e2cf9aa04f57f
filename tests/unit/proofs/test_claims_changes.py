"""What an edit does: the right claims turn red or stale, their dependents doubtful, and nothing else runs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fairlane.proofs.claims.cache import cache_file
from fairlane.proofs.claims.checking import Report, Run
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.claim_process import Ended, run_apart
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.running import run_claim
from fairlane.proofs.claims.status import Colour, Status, Strength
from tests.claim_texts import TODAY, checked, claim_text, entry, read_claim

# one row of 2 ms, three tokens of one request: 3*5 - 3*2*1 = 9
INSTANCE = (
    '{"graphs": [{"name": "d", "duration_ms": 2, "decode_capacity": 1}], '
    '"requests": [{"id": "a", "prompt": 0, "limit": 3}], "objective": {"decode_value": 5, "time_price": 1}}'
)
SIDE = "def double(x):\n    return 2 * x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in ("claim_side", "claim_deep"):
        sys.modules.pop(name, None)


def write(folder: Path, *claims: str, prose: str = "") -> None:
    (folder / "note.md").write_text("# Note\n\n" + "\n".join(claims) + prose, encoding="utf-8")


def forget() -> None:
    """Drop the user's modules, as a new process would."""
    for name in ("claim_side", "claim_deep"):
        sys.modules.pop(name, None)


def colours(report: Report) -> dict[str, str]:
    return {claim_id: str(found.colour) for claim_id, found in report.everything.items()}


IDENTITY = claim_text("identity", "(A + T)**2/2 - A**2/2 == A*T + T**2/2", claim_id="area", vars="A, T")
RESTS = claim_text("exact", "1 + 1 == 2", claim_id="rests", uses="area")
HIGHER = claim_text("exact", "1 + 2 == 3", claim_id="higher", uses="rests")
APART = claim_text("exact", "2 + 2 == 4", claim_id="apart")


def test_a_second_run_executes_nothing(folder: Path) -> None:
    write(folder, IDENTITY, RESTS, APART)
    first, second = checked(folder), checked(folder)
    assert (first.n_executed, second.n_executed) == (3, 0)
    assert first.passed
    assert second.passed
    assert second.entries == first.entries


def test_a_mutated_identity_turns_red_and_its_dependents_doubtful(folder: Path) -> None:
    write(folder, IDENTITY, RESTS, HIGHER, APART)
    assert set(colours(checked(folder)).values()) == {"green"}
    write(folder, IDENTITY.replace("A*T + T**2/2", "A*T + T**2/3"), RESTS, HIGHER, APART)
    seen = checked(folder, run=Run.NONE)
    assert entry(seen, "area").status is Status.STALE
    assert colours(seen) == {"area": "amber", "rests": "amber", "higher": "amber", "apart": "green"}
    ran = checked(folder)
    # its child's key holds the parent's statement, so the child runs again; the others do not
    assert ran.n_executed == 2
    assert colours(ran) == {"area": "red", "rests": "amber", "higher": "amber", "apart": "green"}
    assert entry(ran, "rests").status is Status.HOLDS
    assert entry(ran, "rests").doubtful
    assert entry(ran, "higher").weakest == "area"
    assert not ran.passed


def test_a_changed_oracle_value_turns_red_and_its_dependents_doubtful(folder: Path) -> None:
    claim = claim_text("oracle", "", claim_id="best", instance="tiny.json", quantity="optimum", value="9")
    (folder / "tiny.json").write_text(INSTANCE, encoding="utf-8")
    write(folder, claim, RESTS.replace("area", "best"), APART)
    assert set(colours(checked(folder)).values()) == {"green"}
    (folder / "tiny.json").write_text(INSTANCE.replace('"decode_value": 5', '"decode_value": 6'), encoding="utf-8")
    assert entry(checked(folder, run=Run.NONE), "best").status is Status.STALE
    report = checked(folder)
    assert report.n_executed == 1
    assert colours(report) == {"best": "red", "rests": "amber", "apart": "green"}
    # 3*6 - 3*2*1 = 12
    assert entry(report, "best").summary == "optimum is 12, and the claim says 9"


@pytest.mark.parametrize("module", ["claim_side", "claim_deep"])
def test_an_edited_dependency_makes_stale_then_red(folder: Path, module: str) -> None:
    (folder / "claim_deep.py").write_text(SIDE, encoding="utf-8")
    (folder / "claim_side.py").write_text("from claim_deep import double\n", encoding="utf-8")
    claim = claim_text("exact", "double(3) == 6", claim_id="twice", import_="claim_side:double")
    write(folder, claim, RESTS.replace("area", "twice"), APART)
    assert set(colours(checked(folder)).values()) == {"green"}
    (folder / f"{module}.py").write_text(SIDE.replace("2 *", "3 *"), encoding="utf-8")
    forget()
    seen = checked(folder, run=Run.NONE)
    assert entry(seen, "twice").status is Status.STALE
    assert colours(seen) == {"twice": "amber", "rests": "amber", "apart": "green"}
    report = checked(folder)
    assert report.n_executed == 1
    assert colours(report) == {"twice": "red", "rests": "amber", "apart": "green"}


def test_an_edit_in_fairlane_itself_makes_stale(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "expected_yield((Fraction(1, 2), Fraction(3, 5)), 3) == 9/5"
    claim = claim_text("exact", text, claim_id="yields", import_="fairlane.reference.model.yields:expected_yield")
    write(folder, claim, APART)
    checked(folder)
    from fairlane.proofs.claims import sources

    read = sources.Sources._read

    def edited(self: sources.Sources, name: str, file: Path) -> tuple[str, tuple[str, ...]]:
        digest, imports = read(self, name, file)
        # what yields.py imports has changed, not yields.py
        return (digest + "!", imports) if name == "fairlane.reference.exact" else (digest, imports)

    monkeypatch.setattr(sources.Sources, "_read", edited)
    seen = checked(folder, run=Run.NONE)
    assert entry(seen, "yields").status is Status.STALE


def test_a_vacuous_hypothesis_turns_red_and_its_dependents_doubtful(folder: Path) -> None:
    claim = claim_text("forall", "x*y <= 1", claim_id="bound", vars="x in unit, y in unit", given="x <= y")
    write(folder, claim, RESTS.replace("area", "bound"))
    assert set(colours(checked(folder)).values()) == {"green"}
    write(folder, claim.replace("x <= y", "x <= y, y < 0"), RESTS.replace("area", "bound"))
    report = checked(folder)
    assert colours(report) == {"bound": "red", "rests": "amber"}
    assert "contradict each other" in entry(report, "bound").summary


def test_effort_runs_the_claim_again_and_not_its_dependents(folder: Path) -> None:
    claim = claim_text("forall", "x*x >= 0", claim_id="square", vars="x")
    write(folder, claim, RESTS.replace("area", "square"))
    checked(folder)
    write(folder, claim.replace(":vars: x", ":vars: x\n:rlimit: 1000000"), RESTS.replace("area", "square"))
    assert checked(folder).n_executed == 1


def test_moving_a_claim_runs_nothing(folder: Path) -> None:
    write(folder, IDENTITY, APART)
    checked(folder)
    write(folder, APART, "\n\n", IDENTITY)
    report = checked(folder)
    assert report.n_executed == 0
    assert entry(report, "area").claim.line > entry(report, "apart").claim.line


def test_a_failure_that_has_moved_is_run_again_for_its_line_numbers(folder: Path) -> None:
    wrong = claim_text("exact", "1 == 2", claim_id="wrong")
    write(folder, wrong)
    assert entry(checked(folder), "wrong").summary.startswith("line 6: ")
    write(folder, "One line more.\n", wrong)
    report = checked(folder)
    assert report.n_executed == 1
    assert entry(report, "wrong").summary.startswith("line 8: ")


def test_another_package_version_makes_stale(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, claim_text("forall", "x*x >= 0", claim_id="square", vars="x"), APART)
    checked(folder)
    versions = {"z3-solver": "999"}
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: versions.get(name) or real(name))
    seen = checked(folder, run=Run.NONE)
    assert entry(seen, "square").status is Status.STALE
    assert entry(seen, "apart").status is Status.HOLDS


def test_status_runs_nothing_and_calls_the_unknown_unknown(folder: Path) -> None:
    write(folder, APART)
    report = checked(folder, run=Run.NONE)
    assert report.n_executed == 0
    assert (entry(report, "apart").status, entry(report, "apart").summary) == (Status.UNKNOWN, "never run")
    assert not cache_file(folder).exists() or not json.loads(cache_file(folder).read_text())["claims"]


def test_a_citation_expires_without_being_run(folder: Path) -> None:
    options = {"reference": "R", "locator": "p. 1", "read": "2026-01-01", "expires": "2027-01-01"}
    write(folder, claim_text("cited", "x", claim_id="source", **options), RESTS.replace("area", "source"))
    assert colours(checked(folder)) == {"source": "grey", "rests": "green"}
    later = checked(folder, today=date(2027, 1, 1))
    assert later.n_executed == 0
    assert entry(later, "source").status is Status.STALE
    assert colours(later) == {"source": "amber", "rests": "amber"}


def test_a_claim_shows_its_weakest_ground(folder: Path) -> None:
    guess = claim_text("assumed", "Arrivals are independent.", claim_id="guess")
    write(folder, guess, claim_text("exact", "1 == 1", claim_id="own", uses="guess"))
    found = entry(checked(folder), "own")
    assert (found.colour, found.strength) == (Colour.GREEN, Strength.EXACT)
    assert (found.weakest, found.weakest_strength) == ("guess", Strength.ASSUMED)


def test_a_refused_claim_is_red_and_never_run(folder: Path) -> None:
    write(folder, claim_text("numeric", "pi", claim_id="loose", value="3.14"), RESTS.replace("area", "loose"))
    report = checked(folder)
    assert colours(report) == {"loose": "red", "rests": "amber"}
    assert "has no :tolerance:" in entry(report, "loose").summary
    assert [problem.line for problem in report.problems] == [3]


def test_a_value_of_a_claim_without_one_is_a_problem(folder: Path) -> None:
    write(folder, IDENTITY, APART, prose="\n{val}`apart` and {val}`area`\n")
    report = checked(folder)
    (problem,) = report.problems
    assert problem.message.startswith("{val} asks claim 'area' for a number")
    assert not report.passed


def test_a_damaged_cache_is_made_again(folder: Path) -> None:
    write(folder, APART)
    checked(folder)
    for damage in ("", "{}", "[]", '{"schema": 1, "claims": {"apart": {}}, "imports": {}}', '{"schema": 99}'):
        cache_file(folder).write_text(damage)
        assert checked(folder).n_executed == 1
        assert checked(folder).n_executed == 0


def test_the_cache_is_replaced_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, APART)
    checked(folder)
    before = cache_file(folder).read_text()
    write(folder, APART.replace("2 + 2", "4 + 0"))

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        report = checked(folder)
        # the report stands; only the next run has to make it again
        assert entry(report, "apart").status is Status.HOLDS
        assert report.not_kept is not None
        assert "No space left" in report.not_kept
    assert cache_file(folder).read_text() == before
    assert [file.name for file in cache_file(folder).parent.iterdir()] == ["claims.json"]


def test_an_interrupt_keeps_what_has_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, APART, IDENTITY)

    def interrupted(claims: Sequence[Claim], *words: Any, **options: Any) -> Generator[Ended, None, None]:
        yield from run_apart(claims[:1], *words, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fairlane.proofs.claims.checking.run_apart", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checked(folder)
    assert checked(folder).n_executed == 1


def test_outcomes_that_time_decided_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.proofs.claims import solving

    text = claim_text("forall", "x*x >= 0", claim_id="square", vars="x")
    with monkeypatch.context() as patch:
        patch.setattr(solving, "WALL_CLOCK_S", {"z3": 0.001, "cvc5": 0.001})
        found = run_claim(read_claim(text), Context(today=TODAY, rotation=None))
    assert (found.status, found.settled) == (Status.UNKNOWN, False)
    # a claim that runs into its own limit is as little settled
    (folder / "claim_side.py").write_text("import time\n\n\ndef wait():\n    time.sleep(60)\n")
    write(folder, claim_text("exact", "wait() == 1", claim_id="waits", import_="claim_side:wait"))
    report = checked(folder, limit_s=0.5)
    assert entry(report, "waits").status is Status.FAILED
    assert entry(checked(folder, run=Run.NONE), "waits").summary == "never run"


def test_the_deltas_of_statistical_claims_add_up(folder: Path) -> None:
    (folder / "claim_side.py").write_text("def coin(rng, n):\n    return rng.random(n) < 0.5\n")
    options = {"sampler": "claim_side:coin", "n": "100", "method": "clopper-pearson"}
    write(
        folder,
        claim_text("statistical", "mean < 1", claim_id="one", delta="1e-6", **options),
        claim_text("statistical", "mean > 0", claim_id="two", delta="2e-6", **options),
    )
    assert str(checked(folder).total_delta) == "3/1000000"


def test_processes_change_nothing_in_the_report(folder: Path) -> None:
    write(folder, IDENTITY, RESTS, HIGHER, APART)
    one = checked(folder, run=Run.EVERY)
    two = checked(folder, run=Run.EVERY, n_processes=2)
    assert one == two
