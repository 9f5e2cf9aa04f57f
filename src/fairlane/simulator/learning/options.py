"""Options of the policies and accounts of a learning run, under the names they have on the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairlane.reference.errors import InvalidInstance

DISCOVERIES = ("productive", "native")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """What exploration may cost, and how a policy goes about it.

    Attributes
    ----------
    funded : bool
        Whether exploration waits for earned credit; without it every opportunity is open.
    alpha : float
        Share of foreground time that pays for exploration, 0 < alpha < 1.
    credit_cap_ms : float
        Credit at which a probe may start, and beyond which nothing is earned, > 0.
    refresh_every : int
        Every so many opportunities the least recently attempted alternative runs; 0 never.
    ttl_ms : float
        Lifetime of a measurement in wall time, > 0.
    epsilon, temperature, quantile : float
        Of the policies that use them: chance of a random nomination in (0, 1], softmax temperature > 0, lower quantile
        of the mean cost in (0, 1/2].
    anneal : bool
        Divide the temperature by sqrt(1 + opportunities / 100).
    initial_discovery : str
        `productive`: bootstrap only where nothing feasible is measured; `native`: unmeasured graphs first.
    probe_extra_ms, probe_loss_ms : float
        Admission limits of targeted challengers: longer than the incumbent by at most so much, and worth at most so
        much incumbent time less, >= 0, infinite for no limit.
    refresh_busy_ms : float
        Occupied time after which an unused graph is due for a check, > 0.
    audit_every : int
        Every so many contended opportunities go to a due check; 0 gives checks priority.
    probe_harm_ms : float or None
        Hard limit of the summed service delay of a probe, request-ms, >= 0; None no limit.
    harm_alpha : float or None
        Share of time at which service earns delay, in (0, 1); None keeps no balances.

    Raises
    ------
    InvalidInstance
        A value outside its range, or the hard limit of delay together with earned delay.
    """

    funded: bool = True
    alpha: float = 0.02
    credit_cap_ms: float = 5.0
    refresh_every: int = 16
    ttl_ms: float = 30_000.0
    epsilon: float = 0.05
    temperature: float = 0.1
    anneal: bool = False
    quantile: float = 0.05
    initial_discovery: str = "productive"
    probe_extra_ms: float = 0.0
    probe_loss_ms: float = 5.0
    refresh_busy_ms: float = 5_000.0
    audit_every: int = 0
    probe_harm_ms: float | None = None
    harm_alpha: float | None = None

    def __post_init__(self) -> None:
        need_member("initial_discovery", self.initial_discovery, DISCOVERIES)
        for name in ("funded", "anneal"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInstance(f"{name} is {getattr(self, name)!r}; need true or false")
        _within(self, "alpha", 0, 1)
        _within(self, "epsilon", 0, 1, closed_above=True)
        _within(self, "quantile", 0, 0.5, closed_above=True)
        for name in ("credit_cap_ms", "ttl_ms", "temperature", "refresh_busy_ms"):
            _within(self, name, 0, math.inf)
        for name in ("probe_extra_ms", "probe_loss_ms"):
            _within(self, name, 0, math.inf, closed_below=True, closed_above=True)
        for name in ("refresh_every", "audit_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInstance(f"{name} is {value!r}; need a whole number >= 0, 0 to turn it off")
        if self.probe_harm_ms is not None:
            _within(self, "probe_harm_ms", 0, math.inf, closed_below=True)
        if self.harm_alpha is not None:
            _within(self, "harm_alpha", 0, 1)
        if self.probe_harm_ms is not None and self.harm_alpha is not None:
            raise InvalidInstance(
                "probe_harm_ms and harm_alpha are both given; the hard delay limit excludes earned delay balances"
            )

    @property
    def earning_rate(self) -> float:
        """Credit a ms of credited foreground time, alpha / (1 - alpha)."""
        return self.alpha / (1.0 - self.alpha)


def need_member(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a name that is not among the known ones, which the message lists."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInstance(f"{name} is {value!r}; need one of {', '.join(known)}")


def _within(
    options: PolicyOptions,
    name: str,
    low: float,
    high: float,
    *,
    closed_below: bool = False,
    closed_above: bool = False,
) -> None:
    value = getattr(options, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInstance(f"{name} is {value!r}; need a number")
    if not (low < value < high or (closed_below and value == low) or (closed_above and value == high)):
        below = ">= " if closed_below else "> "
        above = "" if math.isinf(high) else f" and {'<=' if closed_above else '<'} {high:g}"
        raise InvalidInstance(f"{name} is {value!r}; need {below}{low:g}{above}")
    # whole numbers of a file are the same options
    object.__setattr__(options, name, float(value))
