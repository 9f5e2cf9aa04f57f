"""The requests that a simulation takes from a trace: what they show to a policy, and what stays hidden.

A trace records how long every answer became, which no dispatcher knows when the request arrives. So the recorded length
is hidden: a request shows its limit, and a belief over its length where one is given. The limit comes from the trace's
own ``limit`` column, or is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, as_integer, show
from fairlane.reference.model.learned_prior import LearnedPrior, learn_prior
from fairlane.reference.model.request import LengthPrior, Request, read_prior
from fairlane.simulator.traces.trace import Trace, TraceRow

DEFAULT_LIMIT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLengths:
    """What requests of a trace show of their lengths.

    Parameters
    ----------
    limit : int
        Explicit output limit of every row without one of its own, >= 1.
    known : bool
        The recorded length is the limit, as if everybody knew it.
    prior : LengthPrior or None
        Belief over the length, the same for all; None means certainly the limit.

    Raises
    ------
    InvalidInstance
        A limit below 1, or a belief beside known lengths.
    """

    limit: int = DEFAULT_LIMIT
    known: bool = False
    prior: LengthPrior | None = None

    def __post_init__(self) -> None:
        as_integer(self.limit, "limit", minimum=1)
        if self.known and self.prior is not None:
            raise InvalidInstance("a length prior is given beside known lengths; need one of them")
        if self.prior is not None:
            # checked once here instead of once a request
            object.__setattr__(self, "prior", read_prior(self.prior, "length_prior"))

    def limit_of(self, row: TraceRow) -> int:
        """The limit that a row's request shows."""
        if self.known:
            return row.output_tokens
        return self.limit if row.limit is None else row.limit

    def words(self, trace: Trace) -> str:
        """What a run on this trace shows of lengths, in one line."""
        if self.known:
            return "known: the limit is the recorded length"
        own = sum(row.limit is not None for row in trace.rows)
        limit = f"limit {self.limit}" if not own else "limit from the column limit"
        if 0 < own < len(trace):
            limit += f", {self.limit} where it is empty"
        cut = sum(row.output_tokens > self.limit_of(row) for row in trace.rows)
        belief = "" if self.prior is None else f", prior over {len(self.prior)} lengths"
        return f"hidden: {limit}, which cuts {cut} of {len(trace)} answers{belief}"


HIDDEN = ShownLengths()


def requests_of(
    trace: Trace, *, acceptance: Sequence[Real | str] = (), lengths: ShownLengths = HIDDEN
) -> tuple[Request, ...]:
    """The requests that a simulation takes.

    Parameters
    ----------
    trace : Trace
        A row's output is the request's hidden length.
    acceptance : sequence of numbers
        Conditional acceptance by draft position of every row without its own.
    lengths : ShownLengths
        What policies see of lengths.

    Returns
    -------
    tuple of Request
        In the order of the trace.

    Raises
    ------
    InvalidInstance
        An acceptance outside [0, 1], or one for all beside rows that have their own.
    """
    shared = tuple(as_fraction(q, f"acceptance[{j}]") for j, q in enumerate(acceptance))
    for j, q in enumerate(shared):
        if not 0 <= q <= 1:
            raise InvalidInstance(f"acceptance[{j}] is {show(q)}; need a probability in [0, 1]")
    if shared and any(row.acceptance is not None for row in trace.rows):
        raise InvalidInstance("acceptance is given for all requests, and the trace has a column acceptance; need one")
    return tuple(
        Request(
            id=row.request_id,
            prompt=row.prompt_tokens,
            limit=lengths.limit_of(row),
            output_length=row.output_tokens,
            length_prior=lengths.prior,
            arrival_ms=Fraction(row.arrival_ms),
            acceptance=shared if row.acceptance is None else row.acceptance,
            weight=1 if row.weight is None else row.weight,
        )
        for row in trace.rows
    )


def prior_of(trace: Trace) -> LearnedPrior:
    """The law of the lengths of a trace, to be believed of other requests.

    Parameters
    ----------
    trace : Trace
        All of its answers ended by themselves; it should not hold the requests that the prior is for.

    Returns
    -------
    LearnedPrior
        Here the product-limit estimate is the share of each length, since nothing is censored.
    """
    lengths = [row.output_tokens for row in trace.rows]
    return learn_prior(lengths, (), limit=max(lengths))
