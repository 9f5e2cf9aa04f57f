"""How policies behave on one long run: what no instance small enough to solve can show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlane.policies import names, spec
from fairlane.reference.errors import PolicyError, TooLarge
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Policy
from fairlane.reference.model.request import Request
from fairlane.simulator.run_metrics import RunMetrics, measure_run
from fairlane.simulator.simulate import simulate

# the largest instance of the suite has some 1,600; a lone prompt of 8,192 tokens took half a minute
MAX_EPISODE_STATES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceBehaviour:
    """Figures of one policy's run; ``metrics`` is None where it was refused, and ``refusal`` then says why.

    ``broke_rule`` tells a policy that did something illegal from one that is only too slow for so many requests.
    """

    policy: str
    metrics: RunMetrics | None
    refusal: str | None
    broke_rule: bool = False


def trace_behaviour(
    policies: Mapping[str, Policy],
    requests: Sequence[Request],
    catalog: Catalog,
    *,
    decode_value: Real | str,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[TraceBehaviour, ...]:
    """One run of each policy on the same requests with the same luck.

    Parameters
    ----------
    policies : mapping of str to Policy
        Labels and policies.
    requests : sequence of Request
        As for :func:`~fairlane.simulator.simulate.simulate`.
    catalog : Catalog
        The graphs.
    decode_value : number
        Value of an output token.
    seed : int
        Of every draw.
    on_progress : callable or None
        Called with (policies done, policies).

    Returns
    -------
    tuple of TraceBehaviour
        In the order of the policies. A policy that solves the rest of an episode at each decision is refused where
        that episode could have more than 5,000 states; one that breaks a rule is refused with the rule.

    Raises
    ------
    InvalidInstance
        A request or a number outside its domain.
    """
    out: list[TraceBehaviour] = []
    for label, policy in policies.items():
        out.append(_behaviour(label, policy, requests, catalog, decode_value, seed))
        if on_progress is not None:
            on_progress(len(out), len(policies))
    return tuple(out)


def _behaviour(
    label: str,
    policy: Policy,
    requests: Sequence[Request],
    catalog: Catalog,
    decode_value: Real | str,
    seed: int,
) -> TraceBehaviour:
    refusal = _too_long(label, requests)
    if refusal is not None:
        return TraceBehaviour(policy=label, metrics=None, refusal=refusal)
    try:
        run = simulate(requests, catalog, policy, decode_value=decode_value, seed=seed, name=label)
    except TooLarge as error:
        return TraceBehaviour(policy=label, metrics=None, refusal=str(error))
    except PolicyError as error:
        return TraceBehaviour(policy=label, metrics=None, refusal=str(error), broke_rule=True)
    return TraceBehaviour(policy=label, metrics=measure_run(run), refusal=None)


def _too_long(label: str, requests: Sequence[Request]) -> str | None:
    """Why a policy that plans whole episodes cannot run here; None where it can, or plans none."""
    if label not in names() or not spec(label).plans_episodes:
        return None
    states = 1
    for done, request in enumerate(requests, 1):
        # what is left of the prompt, then what has been published, then gone
        states *= request.prompt + request.limit - request.generated + 1
        if states > MAX_EPISODE_STATES:
            these = "one request spans" if done == 1 else f"{done:,} of {len(requests):,} requests span"
            return (
                f"solves the rest of the episode at each decision; {these} up to {states:,} states, "
                f"{label} takes at most {MAX_EPISODE_STATES:,}"
            )
    return None
