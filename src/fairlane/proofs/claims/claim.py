"""A claim as its author wrote it, the note that holds it, and what is wrong with either."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fairlane.reference.errors import InvalidInstance


class Kind(StrEnum):
    """What sort of evidence a claim asks for."""

    NUMERIC = "numeric"
    EXACT = "exact"
    IDENTITY = "identity"
    FORALL = "forall"
    INDUCTION = "induction"
    ENUMERATE = "enumerate"
    NOT_FORALL = "not-forall"
    STATISTICAL = "statistical"
    RECORDED = "recorded"
    ORACLE = "oracle"
    PROOF = "proof"
    CITED = "cited"
    ASSUMED = "assumed"
    DEFINITION = "definition"


# Options that change how hard the evidence tries, or how a claim is shown, but not what it says. Dependents
# are keyed by their parents' statements, so editing one of these never re-runs a dependent.
EFFORT = frozenset({"uses", "title", "n", "delta", "method", "rlimit", "rerun", "read", "expires", "depends", "check"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something to mend in a note: one line with its place."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One ``:name: value`` line of a claim, with the line it starts on."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A parsed claim.

    Parameters
    ----------
    id : str
        Unique among all notes checked together.
    kind : Kind
        The evidence asked for.
    options : tuple of Option
        In the order written.
    body : str
        Everything after the options, without surrounding blank lines.
    path : str
        The note, as shown to the reader.
    folder : Path
        Where relative files are looked up: the note's own directory.
    line, last_line : int
        Lines of the fences that open and close it, counted from 1.
    body_line : int
        First line of the body.
    """

    id: str
    kind: Kind
    options: tuple[Option, ...]
    body: str
    path: str
    folder: Path
    line: int
    last_line: int
    body_line: int

    def find(self, name: str) -> Option | None:
        """The option of that name, or None."""
        for option in self.options:
            if option.name == name:
                return option
        return None

    def text(self, name: str, default: str | None = None) -> str:
        """An option's value.

        Raises
        ------
        InvalidInstance
            It is absent and no default was given.
        """
        option = self.find(name)
        if option is not None:
            return option.value
        if default is None:
            raise InvalidInstance(f"{self.where()}: claim {self.id!r} of kind {self.kind} has no :{name}:; need one")
        return default

    def where(self, name: str | None = None) -> str:
        """``path:line`` of an option, or of the claim."""
        option = self.find(name) if name is not None else None
        return f"{self.path}:{option.line if option is not None else self.line}"

    @property
    def uses(self) -> tuple[str, ...]:
        """Ids of the claims it rests on, as written."""
        option = self.find("uses")
        return tuple(option.value.replace(",", " ").split()) if option is not None else ()

    @property
    def content(self) -> str:
        """Canonical text of all that was written, places left out: what a cached outcome belongs to."""
        pairs = sorted((option.name, _squeezed(option.value)) for option in self.options)
        return json.dumps([self.id, self.kind, pairs, self.body.rstrip()], ensure_ascii=False)

    @property
    def statement(self) -> str:
        """Digest of what the claim says, whatever effort its evidence takes."""
        pairs = sorted((o.name, _squeezed(o.value)) for o in self.options if o.name not in EFFORT)
        text = json.dumps([self.kind, pairs, self.body.rstrip()], ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _squeezed(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A ``{val}`` or ``{claim}`` in prose: which claim, how many decimals (None: exact), and where."""

    role: str
    claim_id: str
    decimals: int | None
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One Markdown file, parsed.

    ``problems`` holds what can be said without the other notes: malformed claims and bare numbers.
    """

    path: str
    file: Path
    title: str
    text: str
    claims: tuple[Claim, ...]
    mentions: tuple[Mention, ...]
    problems: tuple[Problem, ...]
