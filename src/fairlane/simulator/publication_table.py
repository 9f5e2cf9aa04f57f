"""Who published how many tokens when: the one table from which every latency figure is taken.

A simulated run and a log of any other system become the same table, so that both are measured by the same
definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.draft_positions import DraftPosition

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

UNKNOWN = -1


class Outcome(IntEnum):
    """How a request stood at the end of the measurement."""

    FINISHED = 0
    UNFINISHED = 1
    REJECTED = 2
    FAILED = 3


class TargetKind(StrEnum):
    """What a service target bounds; the order of the columns of ``target_ms``."""

    TTFT = "ttft_ms"
    TPOT = "tpot_ms"
    E2E = "e2e_ms"
    GAP = "gap_ms"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicationTable:
    """Publications of ``n`` requests in compressed rows; all arrays are read-only.

    Attributes
    ----------
    ids : tuple of str
        Distinct labels, length n.
    arrival_ms : float64, shape (n,)
        Finite.
    offsets : int64, shape (n + 1,)
        Publications of request i are ``offsets[i]`` to ``offsets[i + 1]``.
    at_ms : float64, shape (m,)
        When each publication was made; not before the arrival, never decreasing within a request.
    tokens : int64, shape (m,)
        Output tokens in it, >= 1.
    outcome : int64, shape (n,)
        :class:`Outcome` codes.
    prompt_tokens : int64, shape (n,)
        Prompt length; 0 for a request that arrives decoding, -1 where unknown (taken as a prompt).
    target_ms : float64, shape (n, 4)
        Each request's own targets, columns as in :class:`TargetKind`; NaN where it has none.
    proposed_drafts, accepted_drafts : int64, shape (n,)
        Draft tokens proposed and accepted; 0 where nothing is known.
    start_ms, boundary_ms : float
        The measured interval; nothing lies after the boundary.
    tokens_known : bool
        False where a delivery's tokens are not recorded, only a request's; some may then stand as 0.
    draft_positions : tuple of DraftPosition
        Drafts by position over all requests; empty where nothing is known.
    gaps_known : bool
        False for logs that hold only the first and the last publication, where gaps and ages are not measurable.
    """

    ids: tuple[str, ...]
    arrival_ms: Floats
    offsets: Integers
    at_ms: Floats
    tokens: Integers
    outcome: Integers
    prompt_tokens: Integers
    target_ms: Floats
    proposed_drafts: Integers
    accepted_drafts: Integers
    start_ms: float
    boundary_ms: float
    gaps_known: bool = field(default=True)
    tokens_known: bool = field(default=True)
    draft_positions: tuple[DraftPosition, ...] = field(default=())

    def __post_init__(self) -> None:
        n, m = len(self.ids), len(self.at_ms)
        shapes = {
            "arrival_ms": (n,),
            "offsets": (n + 1,),
            "tokens": (m,),
            "outcome": (n,),
            "prompt_tokens": (n,),
            "target_ms": (n, len(TargetKind)),
            "proposed_drafts": (n,),
            "accepted_drafts": (n,),
        }
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            if found != shape:
                raise InvalidInstance(f"{name} has shape {found}; need {shape}")
        if self.offsets[0] != 0 or self.offsets[-1] != m or (np.diff(self.offsets) < 0).any():
            raise InvalidInstance(f"offsets do not run from 0 to {m} without decreasing")
        if len(set(self.ids)) != n:
            raise InvalidInstance("ids are not distinct; need one row a request")
        for name in (*shapes, "at_ms"):
            getattr(self, name).flags.writeable = False
        self._check_times()

    def _check_times(self) -> None:
        if not (np.isfinite(self.arrival_ms).all() and np.isfinite(self.at_ms).all()):
            raise InvalidInstance("arrival_ms and at_ms need finite numbers")
        if not np.isfinite([self.start_ms, self.boundary_ms]).all():
            raise InvalidInstance(f"start_ms {self.start_ms} and boundary_ms {self.boundary_ms} need finite numbers")
        least = 1 if self.tokens_known else 0
        if (self.tokens < least).any():
            raise InvalidInstance(f"a publication has fewer than {least} tokens; need >= {least}")
        late = self.at_ms < self.previous_ms()
        if late.any():
            i = int(self.owner()[np.flatnonzero(late)[0]])
            raise InvalidInstance(
                f"request {self.ids[i]!r} has a publication before its arrival or its previous publication; "
                "need times in order"
            )
        latest = max(self.at_ms.max(initial=-np.inf), self.arrival_ms.max(initial=-np.inf))
        if latest > self.boundary_ms:
            raise InvalidInstance(f"boundary_ms is {self.boundary_ms}; need >= {latest}, the last event")
        if (self.accepted_drafts > self.proposed_drafts).any() or (self.accepted_drafts < 0).any():
            i = int(np.flatnonzero((self.accepted_drafts > self.proposed_drafts) | (self.accepted_drafts < 0))[0])
            raise InvalidInstance(
                f"request {self.ids[i]!r} accepted {self.accepted_drafts[i]} of {self.proposed_drafts[i]} drafts; "
                "need between 0 and the number proposed"
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def arrives_decoding(self) -> npt.NDArray[np.bool_]:
        """Which requests have no prompt to consume."""
        decoding: npt.NDArray[np.bool_] = self.prompt_tokens == 0
        return decoding

    def counts(self) -> Integers:
        """Publications of each request, shape (n,)."""
        return np.diff(self.offsets)

    def owner(self) -> Integers:
        """Request index of each publication, shape (m,)."""
        return np.repeat(np.arange(len(self.ids), dtype=np.int64), self.counts())

    def previous_ms(self) -> Floats:
        """What each publication's gap is counted from: the one before it, or the arrival; shape (m,)."""
        before = np.empty_like(self.at_ms)
        before[1:] = self.at_ms[:-1]
        some = self.counts() > 0
        before[self.offsets[:-1][some]] = self.arrival_ms[some]
        return before
