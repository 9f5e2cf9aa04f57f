"""The result of a simulation: every graph that ran, what each of its lanes delivered, and how each request ended.

One run is one struct of read-only arrays, so that hundreds of thousands of launches stay small and every figure can
be computed by whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Status(IntEnum):
    """How a request stood when the run ended."""

    FINISHED = 0
    UNFINISHED = 1
    REJECTED = 2
    NOT_ARRIVED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A request that no graph can serve: its index in ``Run.requests``, and why."""

    request: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One simulation; n requests, m launches, s lanes. All arrays are read-only.

    Attributes
    ----------
    requests : tuple of Request
        By arrival; those of equal arrival in the order given. A request's index here is its rank.
    catalog : Catalog
        The graphs.
    policy : str
        Label of the policy.
    objective : Objective
        What the policy was shown; ``decode_value`` is its output value.
    seed : int
        Of every draw.
    horizon_ms : Fraction or None
        No graph starts at or after it; None where the run went on until everyone had finished or was rejected.
    boundary_ms : float
        End of the measurement, which starts at 0: the end of the last graph, the last rejection if that is later,
        and the horizon if that is later still.
    graph : int64, shape (m,)
        Index in the catalog of each launch, in order of time.
    start_ms, end_ms : float64, shape (m,)
        When it started and ended. Each is the double nearest to the exact time, which the simulator keeps.
    lane_offsets : int64, shape (m + 1,)
        Lanes of launch k are ``lane_offsets[k]`` to ``lane_offsets[k + 1]``: prompts in the order they were filled,
        then decode rows by rank.
    lane_request : int64, shape (s,)
        Rank of the request in the lane.
    lane_consumed : int64, shape (s,)
        Prompt tokens consumed, >= 1 in a prefill lane and 0 in a decode row.
    lane_published : int64, shape (s,)
        Output tokens published, after every cut.
    lane_proposed, lane_accepted : int64, shape (s,)
        Draft tokens proposed (width - 1 a decode row) and accepted, before the cut by length and limit.
    status : int64, shape (n,)
        :class:`Status` codes.
    finished_ms : float64, shape (n,)
        When it finished; NaN where it did not.
    prompt_left, generated : int64, shape (n,)
        Prompt tokens left and output published at the end, ``Request.generated`` included.
    rejections : tuple of Rejection
        By rank.
    warnings : tuple of str
        What the user should know about the input.
    frames_in_flight : int
        1, or 2 where a second graph was chosen while the first ran.
    launch_gap_ms : Fraction
        Least time from a choice to the start of its graph, milliseconds, >= 0.
    chosen_ms : float64, shape (m,), or None
        When each launch was chosen; None where that was at its start.
    """

    requests: tuple[Request, ...]
    catalog: Catalog
    policy: str
    objective: Objective
    seed: int
    horizon_ms: Fraction | None
    boundary_ms: float
    graph: Integers
    start_ms: Floats
    end_ms: Floats
    lane_offsets: Integers
    lane_request: Integers
    lane_consumed: Integers
    lane_published: Integers
    lane_proposed: Integers
    lane_accepted: Integers
    status: Integers
    finished_ms: Floats
    prompt_left: Integers
    generated: Integers
    rejections: tuple[Rejection, ...] = ()
    warnings: tuple[str, ...] = ()
    frames_in_flight: int = 1
    launch_gap_ms: Fraction = Fraction(0)
    chosen_ms: Floats | None = None

    def __post_init__(self) -> None:
        n, m, s = len(self.requests), len(self.graph), len(self.lane_request)
        shapes = {
            "graph": m,
            "start_ms": m,
            "end_ms": m,
            "lane_offsets": m + 1,
            "lane_request": s,
            "lane_consumed": s,
            "lane_published": s,
            "lane_proposed": s,
            "lane_accepted": s,
            "status": n,
            "finished_ms": n,
            "prompt_left": n,
            "generated": n,
        }
        for name, length in shapes.items():
            array: npt.NDArray[np.generic] = getattr(self, name)
            if array.shape != (length,):
                raise InvalidInstance(f"run.{name} has shape {array.shape}; need ({length},)")
            array.flags.writeable = False
        if self.chosen_ms is not None:
            if self.chosen_ms.shape != (m,):
                raise InvalidInstance(f"run.chosen_ms has shape {self.chosen_ms.shape}; need ({m},)")
            self.chosen_ms.flags.writeable = False

    @property
    def decode_value(self) -> Fraction:
        """Intrinsic value of an output token."""
        return self.objective.decode_value

    @property
    def n_requests(self) -> int:
        """Requests given, rejected ones included."""
        return len(self.requests)

    @property
    def n_launches(self) -> int:
        """Graphs that ran."""
        return len(self.graph)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Publications:
    """Publications of every request in compressed rows; those of request i are ``offsets[i]`` to ``offsets[i + 1]``.

    ``at_ms`` is float64 and ``tokens`` int64 >= 1, in order of time within a request.
    """

    offsets: Integers
    at_ms: Floats
    tokens: Integers


def lane_launch(run: Run) -> Integers:
    """The launch each lane belongs to, shape (s,)."""
    return np.repeat(np.arange(run.n_launches, dtype=np.int64), np.diff(run.lane_offsets))


def publications(run: Run) -> Publications:
    """Who published how many tokens when, request by request. Cost O(s log s)."""
    published = np.flatnonzero(run.lane_published > 0)
    who = run.lane_request[published]
    order = np.argsort(who, kind="stable")
    rows = published[order]
    offsets = np.zeros(run.n_requests + 1, dtype=np.int64)
    np.cumsum(np.bincount(who, minlength=run.n_requests), out=offsets[1:])
    return Publications(
        offsets=offsets, at_ms=run.end_ms[lane_launch(run)[rows]], tokens=run.lane_published[rows].astype(np.int64)
    )
