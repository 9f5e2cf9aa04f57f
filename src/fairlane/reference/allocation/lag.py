"""Runtime lag: what the fair reference would have delivered by now, minus what was delivered.

Between two changes the active set and the costs are frozen, and the reference serves request i at the fair rate x_i of
that set. Lag is the integral of x_i over the time i is runnable, minus its delivered tokens: positive means owed. The
rule for changes, which the reference itself leaves open:

* **Time.** A change takes effect at its instant, in the middle of a running graph too: the reference is fluid.
  A graph's tokens count when it completes, all at once. At one instant completions come first, then changes.
* **Arrival.** The newcomer enters with lag 0. The others keep their lag and go on at their new, usually lower, rates:
  what they are owed was owed before. It is neither shared out nor forgiven.
* **Departure.** A request leaves with its lag, which is recorded and passes to nobody; the others keep theirs.
* **Phase change.** Prompt tokens and output tokens are different goods, so what is carried over is time: a request owed
  its service of 10 ms at the old rate is owed 10 ms at the new, lag * x_new / x_old.
* **Cost revision.** New costs move the rates from now on. Progress the reference made under the old costs is not
  recomputed: lag compares with what could be known when the work was scheduled.
* **Not runnable.** A request that waits for something outside (a prerequisite, admission) has rate 0 meanwhile and
  keeps its lag.

Total lag need not be zero: batching makes service worth more than its parts, and a policy can lead the reference on all
requests at once when tokens per graph vary, or trail it on all when it wastes rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fairlane.reference.allocation.solve_graphs import fair_allocation_graphs
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, found
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The account of one request.

    Parameters
    ----------
    tokens : number
        Reference progress minus delivered progress in the present phase, tokens.
    rate_per_ms : number
        Reference rate in force, tokens per millisecond; 0 while it is not runnable.
    last_rate_per_ms : number
        The last positive reference rate of the present phase; what turns tokens into time.
    largest_tokens : number
        The most it was ever owed in its present phase, >= 0.
    """

    tokens: Real
    rate_per_ms: Real
    last_rate_per_ms: Real
    largest_tokens: Real

    @property
    def owed_ms(self) -> Real:
        """Lag as time at the reference rate; 0 where no rate was ever in force."""
        return self.tokens / self.last_rate_per_ms if self.last_rate_per_ms else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LagLedger:
    """All accounts at an instant. Immutable; `advance`, `deliver` and `revise` give the next one.

    Parameters
    ----------
    now_ms : number
        The instant, milliseconds.
    open : mapping of id to Lag
        Requests in the system.
    closed : mapping of id to Lag
        Requests that have left, with the lag they left with.
    """

    now_ms: Real
    open: Mapping[str, Lag]
    closed: Mapping[str, Lag]


def open_ledger(now_ms: Real = 0) -> LagLedger:
    """A ledger without requests.

    Raises
    ------
    InvalidInstance
        The instant is no finite number.
    """
    _check_finite(now_ms, "now_ms")
    return LagLedger(now_ms=now_ms, open={}, closed={})


def _check_finite(number: Real, where: str) -> None:
    # a NaN would pass every check of a sign and spoil every account after it
    if isinstance(number, bool) or not isinstance(number, (int, float, Fraction, np.integer, np.floating)):
        raise InvalidInstance(f"{where} is {found(number)}; need a number")
    if isinstance(number, (float, np.floating)) and not math.isfinite(number):
        raise InvalidInstance(f"{where} is {number}; need a finite number")


def advance(ledger: LagLedger, now_ms: Real) -> LagLedger:
    """The ledger at a later instant with nothing delivered meanwhile.

    Raises
    ------
    InvalidInstance
        The instant lies in the past, or is no finite number.
    """
    _check_finite(now_ms, "now_ms")
    passed = now_ms - ledger.now_ms
    if passed < 0:
        raise InvalidInstance(f"now_ms is {now_ms}; need >= {ledger.now_ms}, the ledger's instant")
    accounts = {}
    for request_id, account in ledger.open.items():
        tokens = account.tokens + passed * account.rate_per_ms
        accounts[request_id] = replace(account, tokens=tokens, largest_tokens=max(account.largest_tokens, tokens))
    return replace(ledger, now_ms=now_ms, open=accounts)


def deliver(ledger: LagLedger, tokens: Mapping[str, Real]) -> LagLedger:
    """The ledger after a completion at its instant: useful tokens of each request served.

    Raises
    ------
    InvalidInstance
        A request that is not in the ledger, or a count that is negative or not finite.
    """
    accounts = dict(ledger.open)
    for request_id, count in tokens.items():
        if request_id not in accounts:
            raise InvalidInstance(f"delivery names {request_id!r}; need a request in the ledger")
        _check_finite(count, f"delivery to {request_id!r}")
        if count < 0:
            raise InvalidInstance(f"delivery to {request_id!r} is {count}; need >= 0")
        accounts[request_id] = replace(accounts[request_id], tokens=accounts[request_id].tokens - count)
    return replace(ledger, open=accounts)


def revise(ledger: LagLedger, rates_per_ms: Mapping[str, Real], *, changed_phase: Collection[str] = ()) -> LagLedger:
    """The ledger after a change of the active set, of phases or of costs at its instant; see the module's rule.

    Parameters
    ----------
    ledger : LagLedger
        Advanced to the instant of the change, with the completions of that instant delivered.
    rates_per_ms : mapping of id to number
        The new reference: every request in the system with its fair rate, 0 for one that is not runnable. New ids
        arrive; ids left out depart.
    changed_phase : collection of str
        Requests whose prompt has just been consumed.

    Raises
    ------
    InvalidInstance
        A rate that is negative or not finite, or a phase change of a request that was not there.
    """
    accounts: dict[str, Lag] = {}
    strangers = [name for name in changed_phase if name not in ledger.open]
    if strangers:
        raise InvalidInstance(f"changed_phase names {strangers[0]!r}, which was not in the ledger; need one that was")
    for request_id, rate in rates_per_ms.items():
        _check_finite(rate, f"rates_per_ms[{request_id!r}]")
        if rate < 0:
            raise InvalidInstance(f"rates_per_ms[{request_id!r}] is {rate}; need >= 0")
        old = ledger.open.get(request_id)
        if old is None:
            accounts[request_id] = Lag(tokens=0, rate_per_ms=rate, last_rate_per_ms=rate, largest_tokens=0)
        elif request_id in changed_phase:
            tokens = old.owed_ms * rate
            accounts[request_id] = Lag(
                tokens=tokens, rate_per_ms=rate, last_rate_per_ms=rate, largest_tokens=max(0, tokens)
            )
        else:
            accounts[request_id] = replace(old, rate_per_ms=rate, last_rate_per_ms=rate or old.last_rate_per_ms)
    gone = {request_id: account for request_id, account in ledger.open.items() if request_id not in rates_per_ms}
    return replace(ledger, open=accounts, closed={**ledger.closed, **gone})


def reference_rates(
    catalog: Catalog,
    requests: Iterable[Request],
    *,
    token_values: Mapping[str, Real] | None = None,
    fairness_weights: Mapping[str, Real] | None = None,
) -> dict[str, float]:
    """The fair rate of every request of an active set, tokens per millisecond; what `revise` takes.

    Raises
    ------
    InvalidInstance
        A request that no graph serves.
    """
    rows = tuple(requests)
    if not rows:
        return {}
    known = {request.id for request in rows}
    found = fair_allocation_graphs(
        catalog,
        rows,
        token_values=None if token_values is None else {k: v for k, v in token_values.items() if k in known},
        fairness_weights=None
        if fairness_weights is None
        else {k: v for k, v in fairness_weights.items() if k in known},
    )
    return dict(zip((request.id for request in rows), found.rates.tolist(), strict=True))
