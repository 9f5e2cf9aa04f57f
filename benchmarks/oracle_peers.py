"""Other ways to the optimum of an episode: a plain prototype, stored transitions with scipy or quantecon, and Storm.

The prototype is what one writes in an hour: a recursion over states with a memo, in doubles, over every cohort. It
reads the instance and uses nothing else of the package.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from explicit_arrays import Arrays, row_law

from fairlane.reference.model.instance import Instance

QUERY = 'R{"net"}max=? [F "done"]'
DISCOUNT = 1 - 1e-10


def prototype(instance: Instance, *, merge: bool = False) -> tuple[float, int]:
    """Optimum and number of states by memoised recursion.

    A request is (prompt, published, age in ms), None once finished; ``merge`` sorts the requests, which is right where
    all are of one template.
    """
    prices = instance.objective
    requests = instance.requests
    ages = float(prices.age_price)
    weights = [float(r.weight) for r in requests]
    graphs = [(float(g.duration_ms), g.prefill_capacity, g.decode_capacity, g.width) for g in instance.graphs]
    done = (None,) * len(requests)
    memo: dict[Any, float] = {done: 0.0}

    @cache
    def row(i: int, published: int, width: int) -> tuple[float, list[tuple[Any, float]]]:
        tokens, law = row_law(requests[i], published, width)
        gain = float(prices.decode_value) * weights[i] * tokens
        return gain, [(None if g is None else (0, g, 0.0), p) for g, p in law.items()]

    def fill(i: int, prompt: int, capacity: int) -> tuple[float, list[tuple[Any, float]]]:
        share = min(prompt, capacity)
        gain = float(prices.prefill_value) * weights[i] * share
        if share < prompt:
            return gain, [((prompt - share, 0, 0.0), 1.0)]
        more, law = row(i, 0, 1)
        return gain + more, law

    def value(state: Any) -> float:
        if state in memo:
            return memo[state]
        best = -float("inf")
        prompts = [i for i, x in enumerate(state) if x and x[0]]
        streams = [i for i, x in enumerate(state) if x and not x[0]]
        for duration, capacity, rows, width in graphs:
            cost = float(prices.time_price) * duration
            aged = list(state)
            for i in prompts:
                cost += float(prices.completion_price + prices.first_output_price) * weights[i] * duration
            for i in streams:
                cost += float(prices.completion_price) * weights[i] * duration
                if ages:
                    age = state[i][2]
                    cost += ages * weights[i] * (age * duration + duration * duration / 2)
                    # durations are tenths of ms, and equal ages must be equal keys
                    aged[i] = (0, state[i][1], round(age + duration, 6))
            fills = [None, *prompts] if capacity else [None]
            for filled in fills:
                for size in range(min(rows, len(streams)) + 1):
                    for cohort in combinations(streams, size):
                        lanes = [(i, row(i, state[i][1], width)) for i in cohort]
                        if filled is not None:
                            lanes.append((filled, fill(filled, state[filled][0], capacity)))
                        if not lanes:
                            continue
                        worth = sum(gain for _, (gain, _) in lanes) - cost
                        for outcome in product(*(law for _, (_, law) in lanes)):
                            after, p = list(aged), 1.0
                            for (i, _), (local, chance) in zip(lanes, outcome, strict=True):
                                after[i] = local
                                p *= chance
                            if merge:
                                after.sort(key=lambda x: x or (-1, 0, 0.0))
                            worth += p * value(tuple(after))
                        best = max(best, worth)
        memo[state] = best
        return best

    found = value(tuple((r.prompt, r.generated, 0.0) for r in requests))
    return found, len(memo) - 1


def as_matrix(model: Arrays) -> Any:
    """The transition matrix, choices by states."""
    from scipy.sparse import csr_matrix

    n = model.starts.size - 1
    return csr_matrix((model.p, model.to, model.branches), shape=(model.rewards.size, n))


def by_scipy(model: Arrays) -> tuple[float, dict[str, float]]:
    """Value iteration on a stored sparse matrix until nothing changes: exact up to rounding, as no state recurs."""
    begun = time.perf_counter()
    matrix = as_matrix(model)
    load = time.perf_counter() - begun
    begun = time.perf_counter()
    values = np.zeros(model.starts.size - 1)
    sweeps = 0
    while True:
        after = np.maximum.reduceat(model.rewards + matrix @ values, model.starts[:-1])
        sweeps += 1
        if np.array_equal(after, values):
            return float(values[0]), {"load": load, "solve": time.perf_counter() - begun, "sweeps": sweeps}
        values = after


def by_quantecon(model: Arrays) -> tuple[float, dict[str, float]]:
    """quantecon's value iteration on state-action pairs; it has no total reward, so the discount is nearly 1."""
    from quantecon.markov import DiscreteDP

    begun = time.perf_counter()
    owner = np.repeat(np.arange(model.starts.size - 1), np.diff(model.starts))
    number = np.arange(owner.size) - model.starts[owner]
    problem = DiscreteDP(model.rewards, as_matrix(model), DISCOUNT, owner, number)
    load = time.perf_counter() - begun
    begun = time.perf_counter()
    solved = problem.solve(method="value_iteration", epsilon=1.0, max_iter=100_000)
    return float(solved.v[0]), {"load": load, "solve": time.perf_counter() - begun, "sweeps": solved.num_iter}


def by_storm(file: Path, *, exact: bool) -> tuple[Any, dict[str, float]]:
    """Storm's answer on a DRN or UMB file, exact in rationals or sound in doubles; seconds of loading and solving."""
    import stormpy

    begun = time.perf_counter()
    if file.suffix == ".drn":
        model = stormpy.build_model_from_drn[stormpy.Rational](str(file))
    else:
        model = stormpy.build_model_from_umb(str(file))
    load = time.perf_counter() - begun
    begun = time.perf_counter()
    environment = stormpy.environments.exact() if exact else stormpy.environments.sound()
    result = stormpy.model_checking(model, stormpy.parse_properties(QUERY)[0], environment=environment)
    value = result.get_value(0)
    solving = time.perf_counter() - begun
    return (str(value) if exact else float(value)), {"load": load, "solve": solving}


def export(instance: Instance, file: Path) -> None:
    """The package's own export, in rationals, by the file's ending."""
    from fairlane.oracle.explicit.explicit_model import explicit_model
    from fairlane.oracle.explicit.export_drn import to_drn
    from fairlane.oracle.explicit.export_umb import to_umb

    model = explicit_model(instance)
    file.write_bytes(to_drn(model).encode() if file.suffix == ".drn" else to_umb(model))
