"""An episode as arrays of doubles, every action listed: what solvers that need stored transitions are given.

Written apart from the package's solvers, on the model's row probabilities alone. Local states of a request are numbered
by progress, the finished one last; a state is one number in mixed radix, 0 the initial one, the last the final one.
No ages, and no graph with several prefill lanes.
"""

from __future__ import annotations

import io
import json
import math
import tarfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.request import Request

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# (prompt, published) of a request, None once finished
Local = tuple[int, int] | None


def local_states(request: Request) -> list[Local]:
    """Every local state of a request, in order of progress."""
    prompts: list[Local] = [(p, 0) for p in range(request.prompt, 0, -1)]
    first = 1 if request.prompt else 0
    return [*prompts, *((0, g) for g in range(first, request.limit)), None]


def row_law(request: Request, published: int, width: int) -> tuple[float, dict[int | None, float]]:
    """Expected tokens of a decode row, and the law of the output after it (None: finished).

    With R(n) the chance that n - 1 drafts are accepted and S the survival of the length: R(n) p(g + n) / S(g) to finish
    with n tokens, R(n) (1 - q_n) S(g + n) / S(g) to go on after them.
    """
    pairs = request.length_prior or ((request.limit, 1),)
    mass = dict.fromkeys(range(1, request.limit + 1), 0.0)
    for length, p in pairs:
        mass[min(length, request.limit)] += float(p)

    def survival(g: int) -> float:
        return math.fsum(mass[n] for n in range(g + 1, request.limit + 1))

    drafts = [float(q) for q in request.acceptance]
    reached, alive = 1.0, survival(published)
    tokens, law = 0.0, dict[int | None, float]()
    for n in range(1, width + 1):
        after = published + n
        if after > request.limit:
            break
        ends = reached * mass[after] / alive
        q = drafts[n - 1] if n <= len(drafts) and n < width else 0.0
        goes_on = reached * (1 - q) * survival(after) / alive if after < request.limit else 0.0
        tokens += n * (ends + goes_on)
        for following, chance in ((None, ends), (after, goes_on)):
            if chance:
                law[following] = law.get(following, 0.0) + chance
        reached *= q
    return tokens, law


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What a lane does to one request: of every local state served, reward and (place after, probability) pairs."""

    served: tuple[int, ...]
    rewards: tuple[float, ...]
    laws: tuple[tuple[tuple[int, float], ...], ...]

    @property
    def n_outcomes(self) -> int:
        """Outcomes of all local states served together."""
        return sum(map(len, self.laws))


def decode_lane(instance: Instance, request: Request, width: int) -> Lane:
    """A decode row."""
    places = {x: k for k, x in enumerate(local_states(request))}
    served, rewards, laws = [], [], []
    for x, k in places.items():
        if x is None or x[0]:
            continue
        tokens, law = row_law(request, x[1], width)
        served.append(k)
        rewards.append(float(instance.objective.decode_value * request.weight) * tokens)
        laws.append(tuple(sorted((places[None if g is None else (0, g)], p) for g, p in law.items())))
    return Lane(served=tuple(served), rewards=tuple(rewards), laws=tuple(laws))


def prefill_lane(instance: Instance, request: Request, capacity: int) -> Lane:
    """A prompt that gets all of a graph's prefill capacity."""
    prices = instance.objective
    places = {x: k for k, x in enumerate(local_states(request))}
    served, rewards, laws = [], [], []
    for x, k in places.items():
        if x is None or not x[0]:
            continue
        share = min(x[0], capacity)
        reward = float(prices.prefill_value * request.weight) * share
        if x[0] > share:
            law: tuple[tuple[int, float], ...] = ((places[x[0] - share, 0], 1.0),)
        else:
            tokens, rows = row_law(request, 0, 1)
            reward += float(prices.decode_value * request.weight) * tokens
            law = tuple(sorted((places[None if g is None else (0, g)], p) for g, p in rows.items()))
        served.append(k)
        rewards.append(reward)
        laws.append(law)
    return Lane(served=tuple(served), rewards=tuple(rewards), laws=tuple(laws))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """States with the final one, choices and transitions with its self-loop."""

    states: int
    choices: int
    transitions: int


def sizes(instance: Instance) -> Sizes:
    """Sizes of the explicit model, counted without building it."""
    counts = [len(local_states(r)) for r in instance.requests]
    choices = transitions = 1
    for graph in instance.graphs:
        rows = [decode_lane(instance, r, graph.width) for r in instance.requests]
        fills = [prefill_lane(instance, r, graph.prefill_capacity) for r in instance.requests]
        for what in ("choices", "transitions"):

            def weight(lane: Lane, what: str = what) -> int:
                return len(lane.served) if what == "choices" else lane.n_outcomes

            # by[b, f]: ways with b decode rows and f prompts chosen so far
            most = graph.decode_capacity
            by = {(0, 0): 1}
            for n, row, fill in zip(counts, rows, fills, strict=True):
                following: dict[tuple[int, int], int] = {}
                for (b, f), ways in by.items():
                    moves = [((b, f), n)]
                    if b < most:
                        moves.append(((b + 1, f), weight(row)))
                    if f == 0 and graph.prefill_capacity:
                        moves.append(((b, 1), weight(fill)))
                    for key, factor in moves:
                        following[key] = following.get(key, 0) + ways * factor
                by = following
            total = sum(ways for key, ways in by.items() if key != (0, 0))
            if what == "choices":
                choices += total
            else:
                transitions += total
    return Sizes(states=math.prod(counts), choices=choices, transitions=transitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """A model by rows: choices of state s are ``starts[s]`` to ``starts[s + 1]``, and likewise branches of a choice.

    ``starts`` has states + 1 entries, ``branches`` choices + 1; ``rewards`` one a choice; ``to``, ``p`` one a branch.
    """

    starts: Ints
    branches: Ints
    rewards: Floats
    to: Ints
    p: Floats


def _outer(parts: list[Any]) -> Any:
    """Sums of one entry from each part, the last part fastest."""
    total = np.zeros(1, dtype=np.result_type(*parts))
    for part in parts:
        total = np.add.outer(total, part).ravel()
    return total


def arrays(instance: Instance) -> Arrays:
    """The explicit model."""
    requests = instance.requests
    prices = instance.objective
    counts = [len(local_states(r)) for r in requests]
    strides = [math.prod(counts[i + 1 :]) for i in range(len(counts))]
    rate = [
        np.array(
            [
                0.0
                if x is None
                else float(r.weight * (prices.completion_price + (prices.first_output_price if x[0] else 0)))
                for x in local_states(r)
            ]
        )
        for r in requests
    ]
    blocks: list[tuple[Ints, Floats, Ints, Ints, Floats]] = []
    for graph in instance.graphs:
        for lanes in _lanes_of(instance, graph):
            blocks.append(_block(graph, lanes, counts, strides, rate, float(prices.time_price)))
    n = math.prod(counts)
    loop = (np.array([n - 1]), np.zeros(1), np.ones(1, dtype=np.int64), np.array([n - 1]), np.ones(1))
    blocks.append(loop)
    states = np.concatenate([b[0] for b in blocks])
    rewards = np.concatenate([b[1] for b in blocks])
    widths = np.concatenate([b[2] for b in blocks])
    to = np.concatenate([b[3] for b in blocks])
    p = np.concatenate([b[4] for b in blocks])
    blocks.clear()
    order = np.argsort(states, kind="stable")
    begins = np.concatenate([[0], np.cumsum(widths)])
    taken = widths[order]
    branches = np.concatenate([[0], np.cumsum(taken)])
    # branch k of choice c stands at begins[order[c]] + k
    at = np.repeat(begins[order] - branches[:-1], taken) + np.arange(to.size)
    return Arrays(
        starts=np.searchsorted(states[order], np.arange(n + 1)),
        branches=branches,
        rewards=rewards[order],
        to=to[at],
        p=p[at],
    )


def _lanes_of(instance: Instance, graph: Graph) -> list[dict[int, Lane]]:
    """Every way to fill a graph's lanes, by request."""
    n = len(instance.requests)
    out: list[dict[int, Lane]] = []
    fills: list[int | None] = [None, *(range(n) if graph.prefill_capacity else ())]
    for fill in fills:
        others = [i for i in range(n) if i != fill]
        for size in range(min(graph.decode_capacity, len(others)) + 1):
            for cohort in combinations(others, size):
                lanes = {i: decode_lane(instance, instance.requests[i], graph.width) for i in cohort}
                if fill is not None:
                    lanes[fill] = prefill_lane(instance, instance.requests[fill], graph.prefill_capacity)
                if lanes and all(lane.served for lane in lanes.values()):
                    out.append(lanes)
    return out


def _block(
    graph: Graph, lanes: dict[int, Lane], counts: list[int], strides: list[int], rate: list[Floats], time_price: float
) -> tuple[Ints, Floats, Ints, Ints, Floats]:
    """States, rewards and branch counts of one action wherever it is legal, and its branches in the same order."""
    places = [np.array(lanes[i].served) if i in lanes else np.arange(n) for i, n in enumerate(counts)]
    states = _outer([at * stride for at, stride in zip(places, strides, strict=True)])
    duration = float(graph.duration_ms)
    gains = [
        (np.array(lanes[i].rewards) if i in lanes else 0.0) - duration * rate[i][at] for i, at in enumerate(places)
    ]
    rewards = _outer(gains) - duration * time_price
    # the k-th outcome of every lane; a lane without a k-th one has probability 0 there and is dropped
    most = {i: max(map(len, lane.laws)) for i, lane in lanes.items()}
    shifts, chances = np.zeros((states.size, 1), np.int64), np.ones((states.size, 1))
    shape = [at.size for at in places]
    index = np.unravel_index(np.arange(states.size), shape)
    for i, lane in lanes.items():
        shift = np.zeros((len(lane.served), most[i]), np.int64)
        chance = np.zeros((len(lane.served), most[i]))
        for row, (x, law) in enumerate(zip(lane.served, lane.laws, strict=True)):
            for k, (after, probability) in enumerate(law):
                shift[row, k], chance[row, k] = (after - x) * strides[i], probability
        shifts = (shifts[:, :, None] + shift[index[i]][:, None, :]).reshape(states.size, -1)
        chances = (chances[:, :, None] * chance[index[i]][:, None, :]).reshape(states.size, -1)
    kept = chances > 0
    return states, rewards, kept.sum(axis=1), (states[:, None] + shifts)[kept], chances[kept]


def write_umb(model: Arrays, file: Path) -> None:
    """The model in the unified Markov binary format, with doubles, not compressed."""
    n = model.starts.size - 1
    double = {"type": "double", "size": 64}
    index = {
        "format-version": 1,
        "format-revision": 0,
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": n,
            "#initial-states": 1,
            "#choices": model.rewards.size,
            "#choice-actions": 0,
            "#branches": model.to.size,
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": double,
        },
        "annotations": {
            "rewards": {"net": {"applies-to": ["choices"], "type": double}},
            "aps": {"done": {"applies-to": ["states"], "type": {"type": "bool", "size": 1}}},
        },
    }
    words = -(-n // 64)
    first = (1).to_bytes(8 * words, "little")
    last = (1 << (n - 1)).to_bytes(8 * words, "little")
    files: dict[str, Any] = {
        "index.json": json.dumps(index).encode(),
        "state-is-initial.bin": first,
        "state-to-choices.bin": model.starts.astype("<u8").tobytes(),
        "choice-to-branches.bin": model.branches.astype("<u8").tobytes(),
        "branch-to-target.bin": model.to.astype("<u8").tobytes(),
        "branch-to-probability.bin": model.p.astype("<f8").tobytes(),
        "annotations/rewards/net/choices/values.bin": model.rewards.astype("<f8").tobytes(),
        "annotations/aps/done/states/values.bin": last,
    }
    with tarfile.open(file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
