"""The accounts of one run, settled once at every completion, with their bounds asserted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlane.simulator.learning.credit import ExplorationCredit
from fairlane.simulator.learning.options import PolicyOptions
from fairlane.simulator.learning.service_delay import DelayBalances, Lane, delay_of
from fairlane.simulator.learning.situation import Kind


@dataclass(slots=True, kw_only=True)
class Accounts:
    """Credit, delay balances and counters.

    Attributes
    ----------
    credit : ExplorationCredit
        Of funded runs; of others it records F, E and D without a bound.
    delay : DelayBalances or None
        Where delay is earned.
    funded : bool
        Whether a probe waits for full credit.
    bootstrap_ms : float
        Time of executions that neither earn nor spend.
    opportunities, contention : int
        Counters that advance when a choice is committed, and survive idle.
    """

    credit: ExplorationCredit
    delay: DelayBalances | None
    funded: bool
    bootstrap_ms: float = 0.0
    opportunities: int = 0
    contention: int = 0

    @classmethod
    def of(cls, options: PolicyOptions) -> Accounts:
        """Empty accounts."""
        return cls(
            credit=ExplorationCredit(rate=options.earning_rate, cap_ms=options.credit_cap_ms),
            delay=None if options.harm_alpha is None else DelayBalances.at(options.harm_alpha),
            funded=options.funded,
        )

    def open(self, incumbent: Sequence[Lane]) -> bool:
        """Whether a probe against this incumbent is paid for."""
        if self.funded and not self.credit.full:
            return False
        return self.delay is None or self.delay.allow(incumbent)

    def commit(self, *, opportunity: bool, contended: bool) -> None:
        """A choice that was made runs."""
        self.opportunities += opportunity
        self.contention += contended

    def settle(
        self,
        kind: Kind,
        *,
        elapsed_ms: float,
        valid: bool,
        incumbent: Sequence[Lane],
        incumbent_ms: float,
        committed: Sequence[Lane],
    ) -> None:
        """A completion.

        Parameters
        ----------
        kind : Kind
            The account.
        elapsed_ms : float
            Actual duration, charged and earned whatever the timer showed.
        valid : bool
            Whether the timing was valid; without one nothing is earned in ordinary credit.
        incumbent, incumbent_ms : sequence of Lane, float
            The frozen ordinary choice and its estimated duration; read for probes alone.
        committed : sequence of Lane
            Services that the execution gave.
        """
        if kind is Kind.BOOTSTRAP:
            self.bootstrap_ms += elapsed_ms
        elif kind is Kind.PROBE:
            self.credit.spend(elapsed_ms)
            if self.delay is not None:
                actual = delay_of(incumbent, committed, incumbent_ms=incumbent_ms, probe_ms=elapsed_ms)
                self.delay.charge(incumbent, actual)
        else:
            if valid:
                self.credit.earn(elapsed_ms)
            if self.delay is not None:
                n_decode = sum(lane.decoding for lane in committed)
                self.delay.earn(elapsed_ms, prefill_lanes=len(committed) - n_decode, decode_lanes=n_decode)
        assert not self.funded or self.credit.holds, "exploration: E <= alpha / (1 - alpha) F + D"
        assert self.delay is None or self.delay.holds, "delay: charged <= earned + the latest exposure"

    def idle(self) -> None:
        """An interval without feasible work."""
        self.credit.idle()
        if self.delay is not None:
            self.delay.idle()
