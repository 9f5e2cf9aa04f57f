"""How far `ongoing` is from optimal in closed systems that can be solved.

Two numbers a system. The linear reward rate, under the same output value and age price, against the exact long-run
optimum. And, where every request only decodes, F = sum v_i x_i + f_i log x_i at the mean rates against the certified
fair allocation. Both are distances of a compromise: fairness prices cost linear reward, linear values cost fairness.
The same policy without its fairness prices has no memory, hence an exact rate: what it lacks is the work of the age
price and its continuation value alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, stdev

from fairlane.oracle.average.long_run import long_run, policy_rate
from fairlane.policies.ongoing import Ongoing
from fairlane.reference.allocation import fair_allocation_graphs
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Decision, FunctionPolicy, Sees, View
from fairlane.simulator.closed_system import simulate_closed

CONFIDENCE = 0.95
HORIZON_MS = 10_000
N_SEEDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEstimate:
    """A simulated rate, reward per ms.

    Attributes
    ----------
    mean, half_width : float
        Of the interval at ``confidence``; its width shows luck only, not the start and the open end of the runs.
    confidence : float
        0 to 1.
    n_samples, seed : int
        Independent runs, with the seeds ``seed``, ``seed`` + 1, ...
    method : str
        What the half-width is.
    """

    mean: float
    half_width: float
    confidence: float
    n_samples: int
    seed: int
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingDistance:
    """One system.

    Attributes
    ----------
    system : str
        Its name.
    states : int
        Of the exact model.
    optimum : Fraction or None
        Exact long-run optimum, reward per ms; None where only the bounds were proved.
    lower, upper : Fraction
        Proved bounds on it.
    ongoing : RateEstimate
        Simulated rate of the policy as it is.
    without_fairness : Fraction
        Exact rate of the policy without fairness prices, ages capped as in the optimum.
    age_price : Fraction
        Of the system; where it is 0 the continuation value is 0 too.
    utility, fair_utility : float or None
        F at the simulated mean rates and at the fair allocation; None where a request has a prompt, and the former
        also where a rate is 0.
    fair_gap : float or None
        Certified gap of ``fair_utility``.
    """

    system: str
    states: int
    optimum: Fraction | None
    lower: Fraction
    upper: Fraction
    ongoing: RateEstimate
    without_fairness: Fraction
    age_price: Fraction
    utility: float | None
    fair_utility: float | None
    fair_gap: float | None

    @property
    def shortfall(self) -> float | None:
        """Optimum minus simulated rate over the optimum's size, the upper bound in its place; None where it is 0."""
        return None if self.upper == 0 else (float(self.upper) - self.ongoing.mean) / abs(float(self.upper))

    @property
    def shortfall_without_fairness(self) -> Fraction | None:
        """The same of the policy without fairness prices, exactly; at most so much where only bounds are known."""
        return None if self.upper == 0 else (self.upper - self.without_fairness) / abs(self.upper)


def ongoing_distance(
    systems: Sequence[Instance],
    *,
    n_seeds: int = N_SEEDS,
    horizon_ms: Real | str = HORIZON_MS,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[OngoingDistance, ...]:
    """Both distances for every system.

    Parameters
    ----------
    systems : sequence of Instance
        Closed systems small enough for `long_run`; with an age price they give ``age_cap_ms``.
    n_seeds : int
        Runs of a system in which anything is drawn, >= 2; one run tells all of a system without chance.
    horizon_ms : number
        Length of a run, milliseconds, > 0.
    seed : int
        The first seed.
    on_progress : callable or None
        Called with (steps done, steps), a run or an exact solution each.

    Returns
    -------
    tuple of OngoingDistance
        In the order of the systems.

    Raises
    ------
    InvalidInstance
        ``n_seeds`` below 2, or a system that is no closed system.
    TooLarge
        A system beyond the exact solver.

    Notes
    -----
    The fair allocation ignores output limits: where drafts are accepted, the last output of a request cuts a burst and
    ``fair_utility`` is an upper bound that no schedule reaches. Ages are capped in the optimum and not in the runs,
    so the shortfall of a policy that leaves a stream beyond the cap is an upper bound too.
    """
    if n_seeds < 2:
        raise InvalidInstance(f"n_seeds is {n_seeds}; need >= 2 for a half-width")
    runs = [n_seeds if _has_chance(system) else 1 for system in systems]
    total, done = sum(runs) + len(systems), 0

    def step() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, total)

    out: list[OngoingDistance] = []
    for system, n_runs in zip(systems, runs, strict=True):
        exact = long_run(system)
        bare = policy_rate(system, without_fairness(system)).rate
        step()
        estimate, tokens = _simulated(system, n_runs, horizon_ms, seed, step)
        utility, fair, gap = _utilities(system, tokens)
        out.append(
            OngoingDistance(
                system=system.name,
                states=exact.states,
                optimum=exact.rate,
                lower=exact.lower,
                upper=exact.upper,
                ongoing=estimate,
                without_fairness=bare,
                age_price=system.objective.age_price,
                utility=utility,
                fair_utility=fair,
                fair_gap=gap,
            )
        )
    return tuple(out)


def without_fairness(system: Instance) -> FunctionPolicy:
    """`ongoing` without fairness prices: it looks at no rates, so it needs no memory and has an exact rate."""
    rule = Ongoing(token_fairness=0.0, delivery_fairness=0.0)

    def decide(view: View) -> Decision:
        return rule.decide(view, ())

    return FunctionPolicy(decide, frozenset({Sees.AGE}) if system.objective.age_price else frozenset())


def _has_chance(system: Instance) -> bool:
    return any(
        any(0 < q < 1 for q in r.acceptance) or (r.length_prior is not None and len(r.length_prior) > 1)
        for r in system.requests
    )


def _simulated(
    system: Instance, n_runs: int, horizon_ms: Real | str, seed: int, step: Callable[[], None]
) -> tuple[RateEstimate, list[float]]:
    """The estimate, and each template's mean useful tokens a ms."""
    rewards: list[float] = []
    tokens = [0.0] * len(system.requests)
    for k in range(n_runs):
        run = simulate_closed(system, Ongoing(), horizon_ms=horizon_ms, seed=seed + k)
        rewards.append(run.reward_per_ms)
        tokens = [a + float(b) / n_runs for a, b in zip(tokens, run.tokens_per_ms, strict=True)]
        step()
    if n_runs == 1:
        width, method = 0.0, "one run, nothing is drawn"
    else:
        width, method = half_width(rewards), "Student's t over seeds"
    estimate = RateEstimate(
        mean=fmean(rewards), half_width=width, confidence=CONFIDENCE, n_samples=n_runs, seed=seed, method=method
    )
    return estimate, tokens


def half_width(values: Sequence[float]) -> float:
    """Half the width of Student's 95 % interval for the mean of independent normal values, at least two."""
    # scipy loads slowly, and most calls come by without it
    from scipy.special import stdtrit

    n = len(values)
    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * stdev(values) / math.sqrt(n)


def _utilities(system: Instance, tokens: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """F at given rates and at the fair allocation, by the prices that `ongoing` itself uses, and its certified gap."""
    if any(r.prompt for r in system.requests):
        return None, None, None
    weights = [float(r.weight) for r in system.requests]
    values = [w * float(system.objective.decode_value) for w in weights]
    fair = fair_allocation_graphs(system.graphs, system.requests, token_values=values, fairness_weights=weights)
    if min(tokens) <= 0:
        return None, fair.utility, fair.gap
    reached = sum(v * x + w * math.log(x) for v, w, x in zip(values, weights, tokens, strict=True))
    return reached, fair.utility, fair.gap
