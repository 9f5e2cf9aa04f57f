"""Proposals beyond what was enumerated: draws from the space, and an optimiser over the numbers of an instance.

The optimiser is differential evolution (Storn and Price 1997, doi:10.1023/A:1008202821328) as scipy has it. It works
on doubles, which only propose: each point is rounded to rationals of small denominator before it is evaluated, and the
evaluation is exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from fairlane.reference.model.instance import Instance, why_unservable
from fairlane.search.space import Space
from fairlane.search.variation import numbers, plainly_named, with_number

# denominators of proposals; minimising makes them smaller still
DENOMINATOR = 24


def draw(space: Space, number: int) -> Instance | None:
    """The instance of one number of an endless list of draws, None where the draw is no instance.

    The number of requests, their tokens and the number of graphs are drawn first, each uniformly, so that large
    instances, of which there are most, do not crowd out the others.
    """
    rng = random.Random(number)
    n = rng.choice(space.n_requests)
    tokens = rng.choice(space.tokens(n))
    g = rng.choice(space.n_graphs)
    catalog = space.catalog(g, rng.randrange(space.n_catalogs(g)))
    requests = space.request_list(n, tokens, rng.randrange(space.n_request_lists(n, tokens)))
    if any(why_unservable(catalog, r) is not None for r in requests):
        return None
    return Instance(graphs=catalog, requests=requests, objective=rng.choice(space.objectives), name="counterexample")


def climb(
    instance: Instance,
    measure: Callable[[Instance], Fraction],
    *,
    enough: Fraction,
    max_instances: int,
    seed: int,
) -> tuple[Instance, Fraction, int]:
    """An instance of the same shape with a larger gap.

    Parameters
    ----------
    instance : Instance
        Where to start; every number of it may move between a quarter and four times its value.
    measure : callable
        The exact gap of an instance, as it counts.
    enough : Fraction
        The search stops at a gap above this.
    max_instances : int
        How many instances may be looked at.
    seed : int
        Of the optimiser.

    Returns
    -------
    Instance, Fraction, int
        The best one, its gap, and how many were looked at.
    """
    moving = numbers(instance)
    best, most = instance, measure(instance)
    looked = 1

    def rationalised(point: Sequence[float]) -> Instance:
        built = instance
        for number, x in zip(moving, point, strict=True):
            value = Fraction(x).limit_denominator(DENOMINATOR)
            if number.highest is not None:
                value = min(value, number.highest)
            if value > 0:
                built = with_number(built, number, value)
        return plainly_named(built)

    def loss(point: Sequence[float]) -> float:
        nonlocal best, most, looked
        if most > enough or looked >= max_instances:
            # the optimiser asks for the rest of its round all the same
            return 0.0
        candidate = rationalised(point)
        looked += 1
        found = measure(candidate)
        if found > most:
            best, most = candidate, found
        return -float(found)

    # scipy loads slowly, and most calls come by without it
    from scipy.optimize import differential_evolution

    sides = [(float(n.value) / 4, min(float(n.highest or n.value * 4), float(n.value) * 4)) for n in moving]
    differential_evolution(
        loss,
        [(low, max(high, low)) for low, high in sides],
        rng=seed,
        popsize=6,
        maxiter=10_000,
        polish=False,
        tol=0,
        x0=[float(n.value) for n in moving],
        callback=lambda *_, **__: most > enough or looked >= max_instances,
    )
    return best, most, looked
