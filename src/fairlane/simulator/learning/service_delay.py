"""What a probe delays: per request against the incumbent's frozen cohort, and balances that pay for it.

For each lane of the incumbent a probe that gives the same next service delays it by max(0, probe - incumbent duration);
any other probe delays it by its whole duration, as the incumbent's service would follow it. Next service is a decode
delivery, or at least the incumbent's prompt progress. One request's gain never offsets another's delay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from fairlane.simulator.learning.credit import FULL_TOLERANCE_MS

CAP_REQUEST_MS = 1.0

R = TypeVar("R")


class Lane(NamedTuple):
    """Next service of one request: prompt tokens, or 0 for a decode delivery."""

    request: int
    prompt_tokens: int

    @property
    def decoding(self) -> bool:
        """Whether it is a decode delivery."""
        return self.prompt_tokens == 0


class Delay(NamedTuple):
    """Summed delays of a probe by the phase of the delayed requests, request-ms."""

    prefill: float
    decode: float

    @property
    def total(self) -> float:
        """Over both phases."""
        return self.prefill + self.decode


def lane_delays(
    incumbent: Sequence[Lane], probe: Sequence[Lane], *, incumbent_ms: float, probe_ms: float
) -> dict[int, float]:
    """Delay of every lane of the incumbent, ms by request.

    Parameters
    ----------
    incumbent, probe : sequence of Lane
        Services of the frozen incumbent and of the probe, planned or committed.
    incumbent_ms, probe_ms : float
        Durations: estimated, or for the probe the actual one.

    Examples
    --------
    >>> lane_delays([Lane(0, 0), Lane(1, 64)], [Lane(0, 0), Lane(1, 63)], incumbent_ms=20, probe_ms=25)
    {0: 5, 1: 25}
    """
    given: Mapping[int, Lane] = {lane.request: lane for lane in probe}
    extra = max(0, probe_ms - incumbent_ms)
    delays = {}
    for lane in incumbent:
        service = given.get(lane.request)
        same = service is not None and service.decoding == lane.decoding and service.prompt_tokens >= lane.prompt_tokens
        delays[lane.request] = extra if same else probe_ms
    return delays


def delay_of(incumbent: Sequence[Lane], probe: Sequence[Lane], *, incumbent_ms: float, probe_ms: float) -> Delay:
    """The sums of `lane_delays` by phase."""
    by_request = lane_delays(incumbent, probe, incumbent_ms=incumbent_ms, probe_ms=probe_ms)
    prefill = decode = 0.0
    for lane in incumbent:
        if lane.decoding:
            decode += by_request[lane.request]
        else:
            prefill += by_request[lane.request]
    return Delay(prefill, decode)


def row_choices(ranked: Sequence[R], *, is_theirs: Callable[[R], bool], capacity: int) -> list[list[R]]:
    """Decode cohorts among which both the most valuable one within a limit of delay and the gentlest one are.

    Delay depends on a cohort only through how many of the incumbent's rows it holds, so for each such count the best
    rows within that group and the best outside it make the most valuable cohort.

    Parameters
    ----------
    ranked : sequence
        Rows, the most valuable first.
    is_theirs : callable
        Whether a row is in the incumbent's cohort.
    capacity : int
        Decode rows of the graph.

    Examples
    --------
    >>> row_choices("abcd", is_theirs=lambda row: row in "ac", capacity=2)
    [['b', 'd'], ['a', 'b'], ['a', 'c']]
    """
    within = [row for row in ranked if is_theirs(row)]
    outside = [row for row in ranked if not is_theirs(row)]
    return [within[:kept] + outside[: capacity - kept] for kept in range(min(len(within), capacity) + 1)]


@dataclass(slots=True, kw_only=True)
class PhaseBalance:
    """Delay that one phase has earned and been charged, request-ms."""

    balance: float = 0.0
    earned: float = 0.0
    charged: float = 0.0
    latest: float = 0.0

    @property
    def full(self) -> bool:
        """Whether a probe may expose this phase."""
        return self.balance >= CAP_REQUEST_MS - FULL_TOLERANCE_MS

    @property
    def holds(self) -> bool:
        """Whether the charge is within what was earned and the latest probe that exposed this phase."""
        allowed = self.earned + self.latest
        return self.charged <= allowed + FULL_TOLERANCE_MS + 1e-12 * allowed

    def earn(self, amount: float) -> None:
        """Ordinary service of this phase."""
        self.earned += amount
        self.balance = min(CAP_REQUEST_MS, self.balance + amount)

    def charge(self, amount: float) -> None:
        """A probe that exposed this phase."""
        self.charged += amount
        self.latest = amount
        self.balance -= amount


@dataclass(slots=True)
class DelayBalances:
    """The two balances of one run, earned at ``rate`` = harm_alpha / (1 - harm_alpha) a ms and lane."""

    rate: float
    prefill: PhaseBalance
    decode: PhaseBalance

    @classmethod
    def at(cls, harm_alpha: float) -> DelayBalances:
        """Empty balances."""
        return cls(harm_alpha / (1.0 - harm_alpha), PhaseBalance(), PhaseBalance())

    @property
    def holds(self) -> bool:
        """Whether both bounds stand."""
        return self.prefill.holds and self.decode.holds

    def allow(self, incumbent: Sequence[Lane]) -> bool:
        """Whether every phase of a frozen incumbent has a full balance."""
        needs_decode = any(lane.decoding for lane in incumbent)
        needs_prefill = any(not lane.decoding for lane in incumbent)
        return (self.decode.full or not needs_decode) and (self.prefill.full or not needs_prefill)

    def earn(self, elapsed_ms: float, *, prefill_lanes: int, decode_lanes: int) -> None:
        """An ordinary completion: every lane that was served earns for its phase, valid timing or not."""
        if prefill_lanes:
            self.prefill.earn(self.rate * elapsed_ms * prefill_lanes)
        if decode_lanes:
            self.decode.earn(self.rate * elapsed_ms * decode_lanes)

    def charge(self, incumbent: Sequence[Lane], delay: Delay) -> None:
        """A probe's completion: each phase of the frozen incumbent pays, and nothing else counts as exposed."""
        if any(not lane.decoding for lane in incumbent):
            self.prefill.charge(delay.prefill)
        if any(lane.decoding for lane in incumbent):
            self.decode.charge(delay.decode)

    def idle(self) -> None:
        """Positive balances are lost, debts stay."""
        for phase in (self.prefill, self.decode):
            phase.balance = min(phase.balance, 0.0)
