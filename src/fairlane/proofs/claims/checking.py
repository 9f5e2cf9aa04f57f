"""Checking a collection: what is kept, what must run, and the status that follows for every claim."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import fairlane
from fairlane.proofs.claims.cache import Cache, Kept, read_cache, write_cache
from fairlane.proofs.claims.claim import Claim, Kind, Problem
from fairlane.proofs.claims.claim_process import run_apart
from fairlane.proofs.claims.collection import Collection
from fairlane.proofs.claims.dependency import Standing, weakest_ancestors
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.running import TIME_LIMIT_S
from fairlane.proofs.claims.sources import Sources, key_of, modules_known
from fairlane.proofs.claims.status import Colour, Outcome, Status, Strength, colour_of, is_sound
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import parse_number

Progress = Callable[[int, int], None]


class Run(StrEnum):
    """Which claims are executed."""

    CHANGED = "changed"
    NONE = "none"
    EVERY = "every"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A claim with its derived standing."""

    claim: Claim
    status: Status
    strength: Strength | None
    summary: str
    evidence: tuple[str, ...]
    value: str | None
    weakest: str | None
    weakest_status: Status | None
    weakest_strength: Strength | None

    @property
    def colour(self) -> Colour:
        """What a reader sees."""
        return colour_of(self.status, self.weakest_status)

    @property
    def doubtful(self) -> bool:
        """Whether its own evidence is fine and something it rests on is not."""
        return is_sound(self.status) and self.weakest_status is not None and not is_sound(self.weakest_status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All claims asked for, in reading order, with the problems and the miss probabilities.

    ``everything`` holds the entries of all notes, asked for or not, by id. ``deltas`` are the summed miss
    probabilities of each note with statistical claims. ``not_kept`` says why outcomes could not be written down for
    the next run, None where they could.
    """

    entries: tuple[Entry, ...]
    everything: Mapping[str, Entry]
    problems: tuple[Problem, ...]
    deltas: tuple[tuple[str, Fraction], ...]
    n_executed: int
    not_kept: str | None = None

    @property
    def total_delta(self) -> Fraction:
        """Bound on the chance that any statistical claim's interval misses."""
        return sum((delta for _, delta in self.deltas), Fraction(0))

    @property
    def passed(self) -> bool:
        """Whether every claim is green or grey and nothing needs mending."""
        return not self.problems and all(entry.colour in (Colour.GREEN, Colour.GREY) for entry in self.entries)


def check(
    collection: Collection,
    *,
    today: date,
    roots: Sequence[Path],
    run: Run = Run.CHANGED,
    only: frozenset[str] | None = None,
    rotation: str | None = None,
    n_processes: int = 2,
    limit_s: float = TIME_LIMIT_S,
    on_progress: Progress | None = None,
) -> Report:
    """Standing of every claim, after running those whose key has changed.

    Parameters
    ----------
    collection : Collection
        From :func:`fairlane.proofs.claims.collection.load_collection`.
    today : date
        Citations expire by it.
    roots : sequence of Path
        Folders of the user's own modules, for the keys.
    run : Run
        NONE executes nothing and shows what is out of date; EVERY ignores what is kept.
    only : frozenset of str or None
        Ids that may be run, with what they rest on; None stands for every claim of the selected notes.
    rotation : str or None
        Other draws for statistical and recorded claims; those outcomes are not kept.
    n_processes : int
        >= 1; the report does not depend on it.
    limit_s : float
        Seconds a claim may run, > 0; after that it has failed, which is not kept.
    on_progress : callable or None
        Called with (claims done, claims to run).

    Returns
    -------
    Report
        The same whatever ran and in whatever order.
    """
    cache = read_cache(collection.root)
    package = Path(fairlane.__file__).parent
    sources = Sources(package=package, roots=roots, known_imports=cache.imports)
    keys = _keys(collection, sources)
    drawn = {claim.id for claim in collection.claims if claim.kind in (Kind.STATISTICAL, Kind.RECORDED)}
    rotated = drawn if rotation is not None else frozenset[str]()

    def is_current(claim: Claim) -> bool:
        kept = cache.outcomes.get(claim.id)
        if kept is None or kept.key != keys[claim.id]:
            return False
        if _changed(kept, sources):
            return False
        # A failure's message names lines; where the claim has moved, they are wrong.
        return kept.outcome.strength is not None or kept.place == claim.where()

    needed = _with_ancestors(collection, only)
    waiting = [
        claim
        for claim in collection.claims
        if run is not Run.NONE
        and claim.id in needed
        and claim.id not in collection.refused
        and (run is Run.EVERY or claim.id in rotated or not is_current(claim))
    ]
    fresh: dict[str, Outcome] = {}
    seen: dict[str, dict[str, str]] = {}
    context = Context(today=today, rotation=rotation)
    own_code = (str(package), *(str(root) for root in roots))
    ends = run_apart(waiting, context, n_processes=n_processes, limit_s=limit_s, roots=own_code)
    try:
        with contextlib.closing(ends):
            for end in ends:
                fresh[end.claim.id] = end.outcome
                seen[end.claim.id] = sources.reads(end.reads, modules_known(end.claim, sources))
                if on_progress is not None:
                    on_progress(len(fresh), len(waiting))
    finally:
        # Kept on the way out of an interrupt as well: what has run need not run again.
        not_kept = _keep(collection, cache, keys, fresh, seen, sources, without=rotated)
    outcomes = {
        claim.id: _standing(claim, collection, cache, keys, fresh, sources, today=today) for claim in collection.claims
    }
    return _report(collection, outcomes, n_executed=len(fresh), not_kept=not_kept)


def _changed(kept: Kept, sources: Sources) -> str | None:
    """What a claim was seen to read and is another thing now, None where everything is as it was."""
    return next((label for label, value in kept.reads.items() if sources.now(label) != value), None)


def _keys(collection: Collection, sources: Sources) -> dict[str, str]:
    by_id = {claim.id: claim for claim in collection.claims}
    return {
        claim.id: key_of(claim, {name: by_id[name].statement for name in claim.uses if name in by_id}, sources)
        for claim in collection.claims
    }


def _with_ancestors(collection: Collection, only: frozenset[str] | None) -> set[str]:
    """Claims that are asked for and everything they rest on."""
    needed = {
        claim.id
        for claim in collection.claims
        if (claim.path in collection.selected if only is None else claim.id in only)
    }
    waiting = list(needed)
    while waiting:
        for parent in collection.uses[waiting.pop()]:
            if parent not in needed:
                needed.add(parent)
                waiting.append(parent)
    return needed


def _keep(
    collection: Collection,
    cache: Cache,
    keys: Mapping[str, str],
    fresh: Mapping[str, Outcome],
    seen: Mapping[str, Mapping[str, str]],
    sources: Sources,
    *,
    without: frozenset[str] | set[str],
) -> str | None:
    """Write what is new, or say why that was not possible; a report need not wait for a folder that can be written."""
    known = {claim.id: claim for claim in collection.claims}
    outcomes = {claim_id: kept for claim_id, kept in cache.outcomes.items() if claim_id in known}
    for claim_id, outcome in fresh.items():
        if claim_id not in without:
            outcomes[claim_id] = Kept(
                key=keys[claim_id], place=known[claim_id].where(), outcome=outcome, reads=seen[claim_id]
            )
    if outcomes != cache.outcomes or sources.seen_imports != cache.imports:
        try:
            write_cache(collection.root, Cache(outcomes=outcomes, imports=dict(sources.seen_imports)))
        except DataError as error:
            return str(error)
    return None


def _standing(
    claim: Claim,
    collection: Collection,
    cache: Cache,
    keys: Mapping[str, str],
    fresh: Mapping[str, Outcome],
    sources: Sources,
    *,
    today: date,
) -> Outcome:
    """A claim's own outcome, from this run, from an earlier one, or the lack of any."""
    if claim.id in collection.refused:
        reason = collection.refused[claim.id]
        return Outcome(status=Status.FAILED, strength=None, summary=f"refused: {reason}")
    outcome = fresh.get(claim.id)
    if outcome is None:
        kept = cache.outcomes.get(claim.id)
        if kept is None:
            return Outcome(status=Status.UNKNOWN, strength=None, summary="never run")
        outcome = kept.outcome
        changed = "something it depends on" if kept.key != keys[claim.id] else _changed(kept, sources)
        if changed:
            summary = f"{changed} has changed since it was last run (then: {outcome.status})"
            return replace(outcome, status=Status.STALE, strength=None, summary=summary)
    if claim.kind is Kind.CITED and outcome.status is Status.CITED:
        expires = date.fromisoformat(claim.text("expires"))
        if expires <= today:
            return replace(outcome, status=Status.STALE, strength=None, summary=f"expired on {expires}; read it again")
    return outcome


def _report(
    collection: Collection, outcomes: Mapping[str, Outcome], *, n_executed: int, not_kept: str | None
) -> Report:
    standing: dict[str, Standing] = {name: (outcome.status, outcome.strength) for name, outcome in outcomes.items()}
    weakest = weakest_ancestors(collection.uses, standing)
    everything: dict[str, Entry] = {}
    for claim in collection.claims:
        outcome = outcomes[claim.id]
        below = weakest[claim.id]
        status, strength = standing[below] if below is not None else (None, None)
        everything[claim.id] = Entry(
            claim=claim,
            status=outcome.status,
            strength=outcome.strength,
            summary=outcome.summary,
            evidence=outcome.evidence,
            value=outcome.value,
            weakest=below,
            weakest_status=status,
            weakest_strength=strength,
        )
    entries = tuple(entry for entry in everything.values() if entry.claim.path in collection.selected)
    problems = (*collection.problems, *_valueless(collection, everything))
    return Report(
        entries=entries,
        everything=everything,
        problems=tuple(sorted(problems, key=lambda p: (p.path, p.line, p.message))),
        deltas=_deltas(entries),
        n_executed=n_executed,
        not_kept=not_kept,
    )


def _valueless(collection: Collection, everything: Mapping[str, Entry]) -> list[Problem]:
    """Numbers borrowed from claims that establish none."""
    found = []
    for note in collection.notes:
        for mention in note.mentions:
            entry = everything.get(mention.claim_id)
            if mention.role != "val" or entry is None or note.path not in collection.selected:
                continue
            if entry.value is None and is_sound(entry.status):
                message = f"{{val}} asks claim {mention.claim_id!r} for a number; need a claim that has one (:value:)"
                found.append(Problem(path=mention.path, line=mention.line, message=message))
    return found


def _deltas(entries: Sequence[Entry]) -> tuple[tuple[str, Fraction], ...]:
    sums: dict[str, Fraction] = {}
    for entry in entries:
        if entry.claim.kind is Kind.STATISTICAL and entry.claim.find("delta") is not None:
            try:
                delta = parse_number(entry.claim.text("delta"), "delta")
            except InvalidInstance:
                continue
            sums[entry.claim.path] = sums.get(entry.claim.path, Fraction(0)) + delta
    return tuple(sums.items())
