"""The notes that are checked together: their claims by id, the dependency graph, and what is wrong between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlane.proofs.claims.claim import Claim, Note, Problem
from fairlane.proofs.claims.dependency import Uses, cycles, uses_of
from fairlane.proofs.claims.kinds import form_problems
from fairlane.proofs.claims.note import note_files, parse_note
from fairlane.reference.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Notes of one folder.

    Parameters
    ----------
    root : Path
        The folder; the cache lies in it.
    notes : tuple of Note
        By path.
    claims : tuple of Claim
        In order of note and line, ids distinct.
    selected : frozenset of str
        Paths of the notes that were asked for; the others are there because claims may rest on them.
    uses : mapping
        For each claim's id the ids of the known claims it uses.
    refused : dict
        Why a claim cannot be run at all, by id.
    problems : tuple of Problem
        Everything to mend, by place.
    """

    root: Path
    notes: tuple[Note, ...]
    claims: tuple[Claim, ...]
    selected: frozenset[str]
    uses: Uses
    refused: dict[str, str]
    problems: tuple[Problem, ...]


def load_collection(path: Path) -> Collection:
    """The notes at a path: all of a folder, or one file beside the others of its folder.

    Raises
    ------
    DataError
        No such path, no notes there, or a note that is no UTF-8 text.
    """
    if not path.exists():
        raise DataError(f"{str(path)!r} does not exist; need a note or a folder of notes")
    root = path if path.is_dir() else path.parent
    files = tuple(note_files(root))
    if path.is_file() and path not in files:
        files = (path, *files)
    if not files:
        raise DataError(f"{str(path)!r} holds no Markdown file; need at least one note (*.md)")
    return gather(tuple(_read(file) for file in files), root=root, only=path if path.is_file() else None)


def _read(file: Path) -> Note:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{str(file)!r} is no UTF-8 text (byte {error.start}); need UTF-8") from None
    return parse_note(text, file=file, shown=file.as_posix())


def gather(notes: tuple[Note, ...], *, root: Path, only: Path | None = None) -> Collection:
    """Notes as one collection, with the problems between them."""
    found: list[Problem] = [problem for note in notes for problem in note.problems]
    claims: dict[str, Claim] = {}
    refused: dict[str, str] = {}
    for claim in (claim for note in notes for claim in note.claims):
        if claim.id in claims:
            first = claims[claim.id].where()
            message = f"claim id {claim.id!r} is taken by {first}; need distinct ids"
            found.append(Problem(path=claim.path, line=claim.line, message=message))
            # Two claims under one name: neither can be what a dependent means.
            refused.setdefault(claim.id, f"another claim has the same id, at {claim.where()}")
            continue
        claims[claim.id] = claim
    for claim in claims.values():
        problems = [*form_problems(claim), *_unknown_uses(claim, claims)]
        found += problems
        if problems:
            refused[claim.id] = problems[0].message
    uses = uses_of(tuple(claims.values()))
    for group in cycles(uses):
        message = f"claims rest on each other: {', '.join(group)}; need no cycle in :uses:"
        first_claim = claims[group[0]]
        found.append(Problem(path=first_claim.path, line=first_claim.line, message=message))
        for name in group:
            refused.setdefault(name, message)
    for note in notes:
        for mention in note.mentions:
            if mention.claim_id not in claims:
                message = f"{{{mention.role}}} names claim {mention.claim_id!r}; need a claim of these notes"
                found.append(Problem(path=mention.path, line=mention.line, message=message))
    selected = frozenset(note.path for note in notes if only is None or note.file == only)
    problems_shown = tuple(sorted((p for p in found if p.path in selected), key=lambda p: (p.path, p.line, p.message)))
    return Collection(
        root=root,
        notes=notes,
        claims=tuple(claims.values()),
        selected=selected,
        uses=uses,
        refused=refused,
        problems=problems_shown,
    )


def _unknown_uses(claim: Claim, claims: dict[str, Claim]) -> list[Problem]:
    option = claim.find("uses")
    return [
        Problem(
            path=claim.path,
            line=option.line if option is not None else claim.line,
            message=f"claim {claim.id!r} uses {name!r}; need a claim of these notes",
        )
        for name in claim.uses
        if name not in claims
    ]
