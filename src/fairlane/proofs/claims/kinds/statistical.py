"""``statistical``: a bound on a mean, true of every value in an exact confidence interval.

    :sampler: module:function
    :n: 20000
    :delta: 1e-6
    :method: clopper-pearson
    17/10 < mean < 19/10

The sampler is called once as ``sampler(rng, n)`` with a numpy generator and returns n independent draws. The
generator's seed comes from the claim's id, so that a run repeats. A rotation draws new ones; a miss under a rotation
counts only when an independent second run misses too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.confidence import Interval, Method, clopper_pearson, empirical_bernstein, hoeffding
from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import read_statement, reader_of
from fairlane.proofs.claims.program import load_callable
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import as_integer, parse_number

MAX_DRAWS = 10_000_000
# An interval that misses more often than this says next to nothing; one that misses almost always is empty.
MAX_DELTA = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Region:
    """The means a claim allows: an interval whose ends may be open or missing."""

    low: Fraction | None = None
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False

    def holds_on(self, interval: Interval) -> bool:
        """Whether every point of a closed interval is allowed."""
        above = self.low is None or interval.low > self.low or (interval.low == self.low and not self.low_open)
        below = self.high is None or interval.high < self.high or (interval.high == self.high and not self.high_open)
        return above and below

    def fails_on(self, interval: Interval) -> bool:
        """Whether no point of a closed interval is allowed."""
        under = self.low is not None and (interval.high < self.low or (interval.high == self.low and self.low_open))
        over = self.high is not None and (interval.low > self.high or (interval.low == self.high and self.high_open))
        return under or over


def run(claim: Claim, context: Context) -> Outcome:
    """The interval of one run, and of a second one where a rotated run misses."""
    region = _region(claim)
    outcome = _one_run(claim, region, context.rotation, again=False)
    if context.rotation is None or outcome.status is not Status.FAILED:
        return outcome
    second = _one_run(claim, region, context.rotation, again=True)
    evidence = (*outcome.evidence, "missed; an independent run:", *second.evidence)
    if second.status is Status.FAILED:
        return Outcome(
            status=Status.FAILED, strength=None, summary=f"missed twice: {second.summary}", evidence=evidence
        )
    return Outcome(
        status=second.status,
        strength=second.strength,
        summary=f"missed once, not confirmed: {second.summary}",
        evidence=evidence,
        value=second.value,
    )


def delta_of(claim: Claim) -> Fraction:
    """The probability that this claim's interval misses.

    Raises
    ------
    InvalidInstance
        Not above 0, or too large for the interval to say anything.
    """
    delta = parse_number(claim.text("delta"), f"{claim.where('delta')}: delta")
    if not 0 < delta <= MAX_DELTA:
        raise InvalidInstance(
            f"{claim.where('delta')}: delta is {delta}; need 0 < delta <= {MAX_DELTA}, a small chance of a miss"
        )
    return delta


def seed_of(claim_id: str, rotation: str | None, *, again: bool = False) -> int:
    """The seed of a claim's draws: a digest of its id, and of the rotation where there is one."""
    text = "\n".join([claim_id, rotation or "", "again" if again else ""])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def _one_run(claim: Claim, region: Region, rotation: str | None, *, again: bool) -> Outcome:
    delta = delta_of(claim)
    n = as_integer(claim.text("n"), f"{claim.where('n')}: n", minimum=2)
    if n > MAX_DRAWS:
        raise InvalidInstance(f"{claim.where('n')}: n is {n}; need at most {MAX_DRAWS}")
    sampler = load_callable(claim.text("sampler"), claim.where("sampler"))
    seed = seed_of(claim.id, rotation, again=again)
    draws = sampler(np.random.default_rng(seed), n)
    interval = _interval(claim, _rationals(claim, draws, n), delta)
    shown = f"[{float(interval.low):.6g}, {float(interval.high):.6g}]"
    evidence = (
        f"{interval.method}, n = {n}, delta = {float(delta):g}, seed {seed}",
        f"mean {float(interval.mean):.8g}, interval {shown}",
        f"false alarm: a true statement fails here with probability at most {float(delta):g}",
    )
    status = Status.UNKNOWN
    summary = f"the interval {shown} does not settle it; need more draws"
    if region.holds_on(interval):
        status, summary = Status.HOLDS, f"mean in {shown}, delta {float(delta):g}"
    elif region.fails_on(interval):
        status, summary = Status.FAILED, f"mean in {shown}, outside what is claimed"
    return Outcome(
        status=status,
        strength=Strength.STATISTICAL if status is Status.HOLDS else None,
        summary=summary,
        evidence=evidence,
        value=str(interval.mean) if status is Status.HOLDS else None,
    )


def _rationals(claim: Claim, draws: Any, n: int) -> Sequence[Fraction]:
    values = draws.tolist() if hasattr(draws, "tolist") else list(draws)
    if len(values) != n:
        raise InvalidInstance(f"{claim.where('sampler')}: the sampler gave {len(values)} draws; need {n}")
    result: list[Fraction] = []
    for value in values:
        if not isinstance(value, (bool, int, float, Fraction)) or not math.isfinite(value):
            raise InvalidInstance(f"{claim.where('sampler')}: the sampler gave {value!r}; need finite numbers")
        # a float is itself here: the draw, not a decimal somebody wrote
        result.append(Fraction(value))
    return result


def _interval(claim: Claim, values: Sequence[Fraction], delta: Fraction) -> Interval:
    name = claim.text("method")
    if name not in list(Method):
        raise InvalidInstance(f"{claim.where('method')}: method is {name!r}; need one of {', '.join(Method)}")
    method = Method(name)
    if method is Method.CLOPPER_PEARSON:
        if any(value not in (0, 1) for value in values):
            raise InvalidInstance(f"{claim.where('method')}: {method} needs draws that are 0 or 1")
        return clopper_pearson(int(sum(values)), len(values), delta=delta)
    option = claim.find("range")
    parts = [part.strip() for part in option.value.split(",")] if option is not None else []
    if len(parts) != 2:
        raise InvalidInstance(f"{claim.where('range')}: method {method} needs :range: low, high")
    low, high = (parse_number(part, f"{claim.where('range')}: range") for part in parts)
    if not low < high:
        raise InvalidInstance(f"{claim.where('range')}: range is {low}, {high}; need low < high")
    bound = hoeffding if method is Method.HOEFFDING else empirical_bernstein
    try:
        return bound(values, span=(low, high), delta=delta)
    except ValueError as error:
        raise InvalidInstance(f"{claim.where('range')}: {error}") from None


def _region(claim: Claim) -> Region:
    """The body as an interval of means: comparisons of ``mean`` with constants, joined by ``and``."""
    reader = reader_of(claim, (Variable("mean", Domain.REAL),))
    statement = read_statement(claim, reader)
    region = Region()
    for part in statement.args if statement.op is Op.AND else (statement,):
        region = _cut(claim, region, part)
    return region


def _cut(claim: Claim, region: Region, part: Term) -> Region:
    if part.op in (Op.LE, Op.LT):
        left, right = part.args
        is_open = part.op is Op.LT
        if left.op is Op.VARIABLE and right.op is Op.NUMBER:
            if region.high is not None and region.high < right.number:
                return region
            return Region(region.low, region.low_open, right.number, is_open)
        if right.op is Op.VARIABLE and left.op is Op.NUMBER:
            if region.low is not None and region.low > left.number:
                return region
            return Region(left.number, is_open, region.high, region.high_open)
    raise InvalidInstance(
        f"{claim.path}:{claim.body_line}: {part}: need comparisons of mean with numbers, such as 17/10 < mean < 19/10"
    )
