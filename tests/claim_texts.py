"""Small notes for tests: a claim's text from its parts, and running one."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from fairlane.proofs.claims.checking import Entry, Report, Run, check
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.collection import load_collection
from fairlane.proofs.claims.kinds import Context, form_problems
from fairlane.proofs.claims.note import parse_note
from fairlane.proofs.claims.running import run_claim
from fairlane.proofs.claims.status import Outcome

TODAY = date(2026, 11, 30)


def claim_text(kind: str, body: str, *, claim_id: str = "it", **options: str) -> str:
    """A claim as written in a note; ``given_`` stands for an option whose name is taken in Python."""
    lines = [f":::{{claim}} {claim_id}", f":kind: {kind}"]
    lines += [f":{name.rstrip('_')}: {value}" for name, value in options.items()]
    return "\n".join([*lines, "", body, ":::", ""])


def read_claim(text: str, *, folder: Path = Path(".")) -> Claim:
    """The only claim of a text, well formed."""
    note = parse_note(text, file=folder / "note.md", shown="note.md")
    assert not note.problems, note.problems
    (claim,) = note.claims
    assert not form_problems(claim), form_problems(claim)
    return claim


def outcome(
    kind: str,
    body: str,
    *,
    claim_id: str = "it",
    folder: Path | str = ".",
    rotation: str | None = None,
    **options: str,
) -> Outcome:
    """What running a claim gives."""
    claim = read_claim(claim_text(kind, body, claim_id=claim_id, **options), folder=Path(folder))
    return run_claim(claim, Context(today=TODAY, rotation=rotation))


def checked(
    folder: Path, *, run: Run = Run.CHANGED, today: date = TODAY, n_processes: int = 1, limit_s: float = 60.0
) -> Report:
    """A folder of notes, checked."""
    notes = load_collection(folder)
    return check(notes, today=today, roots=(folder,), run=run, n_processes=n_processes, limit_s=limit_s)


def entry(report: Report, claim_id: str) -> Entry:
    """One claim's entry."""
    return report.everything[claim_id]
