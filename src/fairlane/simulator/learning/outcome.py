"""What a learning run leaves: launches with their accounts, requests, and what was learned of every graph."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.scenario import Scenario
from fairlane.simulator.learning.situation import Kind, Reason
from fairlane.simulator.run import Floats, Integers

KINDS = tuple(Kind)
REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOutcome:
    """What was learned of one graph, history included; times in ms.

    ``mean_ms`` and ``sd_ms`` are lifetime moments, ``operational_ms`` the mean of ordinary decisions; None without a
    valid timing.
    """

    count: int
    mean_ms: float | None
    active_count: int
    active_mean_ms: float | None
    operational_ms: float | None
    resets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Accounts at the end, ms and request-ms.

    Attributes
    ----------
    foreground_ms, exploration_ms, latest_probe_ms : float
        F, E and D of the exploration bound.
    bootstrap_ms : float
        Time of executions outside it.
    credit_ms : float
        What stood at the end.
    opportunities : int
        Committed ones.
    delay_earned, delay_charged : tuple of float
        Prefill and decode; empty without balances.
    """

    foreground_ms: float
    exploration_ms: float
    latest_probe_ms: float
    bootstrap_ms: float
    credit_ms: float
    opportunities: int
    delay_earned: tuple[float, ...] = ()
    delay_charged: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearningRun:
    """One run of one configuration on one scenario.

    Attributes
    ----------
    config, scenario, seed : LearningConfig, Scenario, int
        What ran.
    graph : int64, shape (m,)
        Graph of each launch, in order of time.
    start_ms, end_ms : float64, shape (m,)
        Wall times.
    kind, reason : int64, shape (m,)
        Places in `KINDS` and `REASONS`.
    measured_ms : float64, shape (m,)
        What the timer showed; NaN where it showed nothing.
    credit_ms : float64, shape (m,)
        Exploration credit after each completion.
    lane_offsets : int64, shape (m + 1,)
        Lanes of launch k are ``lane_offsets[k]`` to ``lane_offsets[k + 1]``: prompts, then decode rows.
    lane_request, lane_consumed, lane_published : int64, shape (s,)
        Request by rank, prompt tokens consumed, output tokens published.
    template : int64, shape (n,)
        Template of each request, by rank.
    arrival_ms, finished_ms : float64, shape (n,)
        When it arrived and finished; NaN where it did not finish.
    measured_from, drain_from : int
        First launch that started at or after the end of learning, and of measuring.
    graphs : tuple of GraphOutcome
        In catalog order.
    totals : Totals
        The accounts.
    """

    config: LearningConfig
    scenario: Scenario
    seed: int
    graph: Integers
    start_ms: Floats
    end_ms: Floats
    kind: Integers
    reason: Integers
    measured_ms: Floats
    credit_ms: Floats
    lane_offsets: Integers
    lane_request: Integers
    lane_consumed: Integers
    lane_published: Integers
    template: Integers
    arrival_ms: Floats
    finished_ms: Floats
    measured_from: int
    drain_from: int
    graphs: tuple[GraphOutcome, ...]
    totals: Totals

    @property
    def n_launches(self) -> int:
        """Dispatches."""
        return len(self.graph)

    @property
    def busy_before_ms(self) -> Floats:
        """Occupied time before each launch, shape (m,)."""
        spent = np.cumsum(self.end_ms - self.start_ms)
        return np.concatenate((np.zeros(1), spent[:-1])) if len(spent) else spent

    @property
    def useful_tokens(self) -> Integers:
        """Prompt tokens consumed and output tokens published by each launch, shape (m,)."""
        sums = np.concatenate(([0], np.cumsum(self.lane_consumed + self.lane_published)))
        tokens: Integers = sums[self.lane_offsets[1:]] - sums[self.lane_offsets[:-1]]
        return tokens

    @property
    def lane_launch(self) -> Integers:
        """Launch of each lane, shape (s,)."""
        return np.repeat(np.arange(len(self.graph), dtype=np.int64), np.diff(self.lane_offsets))

    def difference(self, other: LearningRun) -> str | None:
        """The first array or figure in which two runs differ, None where they are identical."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, np.ndarray):
                if mine.shape != theirs.shape:
                    return f"{field.name}: shapes {mine.shape} and {theirs.shape}"
                same = (mine == theirs) | (_missing(mine) & _missing(theirs))
                if not same.all():
                    k = int(np.argmin(same))
                    return f"{field.name}[{k}]: {mine[k]!r} and {theirs[k]!r}"
            elif mine != theirs:
                return f"{field.name}: {mine!r} and {theirs!r}"
        return None


def _missing(array: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Where an array of doubles holds no number."""
    return np.isnan(array) if array.dtype == np.float64 else np.zeros(array.shape, dtype=np.bool_)
