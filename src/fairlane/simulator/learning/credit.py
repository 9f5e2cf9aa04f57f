"""Foreground credit for exploration: ordinary service earns it, probes spend it and may overrun once.

With the earning rate r = alpha / (1 - alpha), ordinary credited time F, time spent on probes E and the duration D of
the latest probe, a probe starts only at full credit, so that after every completion

    E <= r F + D.

Proof: before a probe of duration D the credit is at most what was earned minus what was spent, credit <= r F - E', and
it is at least 0, being full; afterwards E = E' + D.
"""

from __future__ import annotations

from dataclasses import dataclass

# 245 ordinary graphs of 1 ms earn 4.99999999999997 of 5 ms
FULL_TOLERANCE_MS = 1e-9


@dataclass(slots=True, kw_only=True)
class ExplorationCredit:
    """The account of one run; times in ms.

    Attributes
    ----------
    rate : float
        Earned a ms of valid ordinary time.
    cap_ms : float
        Full credit.
    balance_ms : float
        What stands now; negative while an overrun is repaid.
    foreground_ms, spent_ms, latest_ms : float
        F, E and D of the bound.
    """

    rate: float
    cap_ms: float
    balance_ms: float = 0.0
    foreground_ms: float = 0.0
    spent_ms: float = 0.0
    latest_ms: float = 0.0

    @property
    def full(self) -> bool:
        """Whether a probe may start."""
        return self.balance_ms >= self.cap_ms - FULL_TOLERANCE_MS

    @property
    def holds(self) -> bool:
        """Whether the bound stands; the tolerance is that of adding up many doubles."""
        allowed = self.rate * self.foreground_ms + self.latest_ms
        return self.spent_ms <= allowed + FULL_TOLERANCE_MS + 1e-12 * allowed

    def earn(self, elapsed_ms: float) -> None:
        """A valid ordinary completion."""
        self.foreground_ms += elapsed_ms
        self.balance_ms = min(self.cap_ms, self.balance_ms + self.rate * elapsed_ms)

    def spend(self, elapsed_ms: float) -> None:
        """A probe's completion, of valid timing or not."""
        self.spent_ms += elapsed_ms
        self.latest_ms = elapsed_ms
        self.balance_ms -= elapsed_ms

    def idle(self) -> None:
        """An interval without feasible work: positive credit is lost, debt stays."""
        self.balance_ms = min(self.balance_ms, 0.0)
