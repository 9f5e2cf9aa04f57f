"""Outcomes kept between runs: one file, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.reference.atomic_write import write_text
from fairlane.reference.errors import DataError

FOLDER = ".fairlane-cache"
SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An outcome with the key it belongs to, and where its claim stood: messages name that place.

    ``reads`` holds what its code was seen to read beyond that, by label, with a digest or a value.
    """

    key: str
    place: str
    outcome: Outcome
    reads: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class Cache:
    """What an earlier run left."""

    outcomes: dict[str, Kept] = field(default_factory=dict)
    imports: dict[str, Sequence[str]] = field(default_factory=dict)


def cache_file(root: Path) -> Path:
    """Where the outcomes of a folder of notes are kept."""
    return root / FOLDER / "claims.json"


def read_cache(root: Path) -> Cache:
    """Outcomes of earlier runs; none where the file is absent, damaged or of another version."""
    try:
        document = json.loads(cache_file(root).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            return Cache()
        outcomes = {
            claim_id: Kept(key=raw["key"], place=raw["place"], outcome=_outcome(raw), reads=_reads(raw))
            for claim_id, raw in document["claims"].items()
        }
        imports: dict[str, Sequence[str]] = {label: tuple(names) for label, names in document["imports"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A cache is no input: what cannot be read is simply made again.
        return Cache()
    return Cache(outcomes=outcomes, imports=imports)


def _outcome(raw: Mapping[str, object]) -> Outcome:
    strength, value, evidence = raw["strength"], raw["value"], raw["evidence"]
    if not isinstance(evidence, list):
        raise TypeError
    return Outcome(
        status=Status(str(raw["status"])),
        strength=None if strength is None else Strength(str(strength)),
        summary=str(raw["summary"]),
        evidence=tuple(str(line) for line in evidence),
        value=None if value is None else str(value),
    )


def _reads(raw: Mapping[str, object]) -> dict[str, str]:
    reads = raw["reads"]
    if not isinstance(reads, dict):
        raise TypeError
    return {str(label): str(value) for label, value in reads.items()}


def write_cache(root: Path, cache: Cache) -> None:
    """Replace the file in one step; unsettled outcomes are left out.

    Raises
    ------
    DataError
        The folder cannot be written.
    """
    claims = {
        claim_id: {
            "key": kept.key,
            "place": kept.place,
            "status": kept.outcome.status,
            "strength": kept.outcome.strength,
            "summary": kept.outcome.summary,
            "evidence": list(kept.outcome.evidence),
            "value": kept.outcome.value,
            "reads": dict(kept.reads),
        }
        for claim_id, kept in sorted(cache.outcomes.items())
        if kept.outcome.settled
    }
    imports = {label: list(names) for label, names in sorted(cache.imports.items())}
    text = json.dumps({"schema": SCHEMA, "claims": claims, "imports": imports}, indent=1, ensure_ascii=False)
    file = cache_file(root)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror}") from None
    write_text(text + "\n", file)
