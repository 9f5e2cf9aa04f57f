"""An independent check of a certificate of optimality.

A certificate lists every reachable unfinished state of an instance with a value and an action. The checker
accepts it when, with every transition recomputed from the instance here,

- no action of any state is worth more than the state's value (the values are an upper bound),
- the listed action is worth exactly the value, and is the first that is (the policy attains the bound),
- the states are exactly those reachable from the initial one, and that one has the claimed value.

For the worst value the inequalities turn round. It shares no code with the solvers, nor with the readable step:
what an action does is written down here a second time, from the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

from flint import fmpq

from fairlane.reference.codec import instance_to_json, need_list, need_object
from fairlane.reference.errors import CertificateRejected, InvalidInstance
from fairlane.reference.exact import JsonNumber, as_fraction, as_integer
from fairlane.reference.instance import Instance

SCHEMA = 1
FIELDS = ("schema", "instance", "sense", "value", "n_states", "states")

# prompt left, output published, age in ms; None for a finished request
Local = tuple[int, int, fmpq] | None
Key = tuple[Local, ...]
Act = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What an accepted certificate proves."""

    value: fmpq
    sense: str
    states: int
    actions: int


def fingerprint(instance: Instance) -> str:
    """SHA-256 of the instance's canonical JSON; its name does not count."""
    text = json.dumps(instance_to_json(instance), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class _Laws:
    """Length laws and row outcomes of one instance, straight from the model's formulas."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.cache: dict[tuple[int, int, int], list[tuple[int, bool, fmpq]]] = {}
        self.alive: list[list[fmpq]] = []
        for request in instance.requests:
            mass = [fmpq(0)] * (request.limit + 1)
            if request.length_prior is None:
                mass[request.limit] = fmpq(1)
            else:
                for n, p in request.length_prior:
                    mass[min(n, request.limit)] += fmpq(p.numerator, p.denominator)
            # alive[g] = P(length > g)
            alive = [fmpq(0)] * (request.limit + 1)
            for g in range(request.limit - 1, -1, -1):
                alive[g] = alive[g + 1] + mass[g + 1]
            self.alive.append(alive)

    def row(self, i: int, published: int, width: int) -> list[tuple[int, bool, fmpq]]:
        """(tokens, finished, probability) of one row."""
        key = (i, published, width)
        known = self.cache.get(key)
        if known is not None:
            return known
        request, alive = self.instance.requests[i], self.alive[i]
        base = alive[published]
        out: list[tuple[int, bool, fmpq]] = []
        accepted = fmpq(1)
        for n in range(1, min(width, request.limit - published) + 1):
            ends = alive[published + n - 1] - alive[published + n]
            if accepted * ends != 0:
                out.append((n, True, accepted * ends / base))
            following = fmpq(0)
            if n < width and n - 1 < len(request.acceptance):
                q = request.acceptance[n - 1]
                following = fmpq(q.numerator, q.denominator)
            stops = accepted * (1 - following) * alive[published + n]
            if stops != 0:
                out.append((n, False, stops / base))
            accepted *= following
        self.cache[key] = out
        return out


class _Model:
    """Actions, transitions and rewards of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.laws = _Laws(instance)
        prices = instance.objective
        self.prices = {
            name: fmpq(getattr(prices, name).numerator, getattr(prices, name).denominator)
            for name in (
                "prefill_value",
                "decode_value",
                "time_price",
                "completion_price",
                "first_output_price",
                "age_price",
            )
        }
        self.weights = [fmpq(r.weight.numerator, r.weight.denominator) for r in instance.requests]
        self.durations = [fmpq(g.duration_ms.numerator, g.duration_ms.denominator) for g in instance.graphs]
        self.keeps_age = prices.age_price > 0

    def start(self) -> Key:
        return tuple((r.prompt, r.generated, fmpq(0)) for r in self.instance.requests)

    def acts(self, key: Key) -> Iterator[tuple[Act, tuple[int, ...]]]:
        """Every legal action with the prompt tokens of its list, in the canonical order."""
        prompts = [i for i, x in enumerate(key) if x is not None and x[0] > 0]
        rows = [i for i, x in enumerate(key) if x is not None and x[0] == 0]
        for g, graph in enumerate(self.instance.graphs):
            fills: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
            seen: set[tuple[tuple[int, int], ...]] = set()
            most = min(graph.prefill_lanes, len(prompts)) if graph.prefill_capacity > 0 else 0
            for size in range(1, most + 1):
                for order in permutations(prompts, size):
                    room = graph.prefill_capacity
                    shares: list[int] = []
                    for i in order:
                        local = key[i]
                        assert local is not None
                        shares.append(min(room, local[0]))
                        room -= shares[-1]
                    same = tuple(sorted(zip(order, shares, strict=True)))
                    if shares[-1] > 0 and same not in seen:
                        seen.add(same)
                        fills.append((order, tuple(shares)))
            for order, given in fills:
                for size in range(min(graph.decode_capacity, len(rows)) + 1):
                    for chosen in combinations(rows, size):
                        if order or chosen:
                            yield (g, order, chosen), given

    def waiting(self, key: Key, g: int) -> fmpq:
        """Cost of the graph's duration."""
        t = self.durations[g]
        cost = self.prices["time_price"] * t
        for i, local in enumerate(key):
            if local is None:
                continue
            rate = self.prices["completion_price"]
            if local[0] > 0:
                rate += self.prices["first_output_price"]
            cost += rate * self.weights[i] * t
            if local[0] == 0 and self.keeps_age:
                cost += self.prices["age_price"] * self.weights[i] * (local[2] * t + t * t / 2)
        return cost

    def worth(self, key: Key, act: Act, shares: tuple[int, ...], values: Mapping[Key, fmpq], reached: set[Key]) -> fmpq:
        """Expected reward plus expected value of the next state, which is added to ``reached``."""
        g, order, chosen = act
        t = self.durations[g]
        aged: list[Local] = [
            None if x is None else (x[0], x[1], x[2] + t if self.keeps_age and x[0] == 0 else fmpq(0)) for x in key
        ]
        total = -self.waiting(key, g)
        lanes: list[tuple[int, list[tuple[Local, fmpq]]]] = []
        for i, share in zip(order, shares, strict=True):
            local = key[i]
            assert local is not None
            total += self.prices["prefill_value"] * self.weights[i] * share
            if share < local[0]:
                lanes.append((i, [((local[0] - share, 0, fmpq(0)), fmpq(1))]))
            else:
                lanes.append((i, self._published(i, 0, 1)))
                total += self.prices["decode_value"] * self.weights[i]
        for i in chosen:
            local = key[i]
            assert local is not None
            lanes.append((i, self._published(i, local[1], self.instance.graphs.graphs[g].width)))
            mean = sum((p * n for n, _, p in self.laws.row(i, local[1], self.instance.graphs.graphs[g].width)), fmpq(0))
            total += self.prices["decode_value"] * self.weights[i] * mean
        return total + self._future(aged, lanes, 0, fmpq(1), values, reached)

    def _published(self, i: int, published: int, width: int) -> list[tuple[Local, fmpq]]:
        return [
            (None if finished else (0, published + n, fmpq(0)), p)
            for n, finished, p in self.laws.row(i, published, width)
        ]

    def _future(
        self,
        aged: list[Local],
        lanes: list[tuple[int, list[tuple[Local, fmpq]]]],
        at: int,
        chance: fmpq,
        values: Mapping[Key, fmpq],
        reached: set[Key],
    ) -> fmpq:
        if at == len(lanes):
            following = tuple(aged)
            if all(x is None for x in following):
                return fmpq(0)
            if following not in values:
                raise CertificateRejected(f"state {show(following)} can be reached and is not listed")
            reached.add(following)
            return chance * values[following]
        i, options = lanes[at]
        total = fmpq(0)
        for local, p in options:
            aged[i] = local
            total += self._future(aged, lanes, at + 1, chance * p, values, reached)
        return total


def show(key: Key) -> str:
    """A state for a message: prompt left, output, age by request; ``-`` for a finished one."""
    return "[" + ", ".join("-" if x is None else f"{x[0]}/{x[1]}/{x[2]}" for x in key) + "]"


def check_certificate(document: object, instance: Instance) -> Checked:
    """Accept a certificate of an instance's optimum, or say why not.

    Parameters
    ----------
    document : object
        Parsed JSON of a certificate.
    instance : Instance
        The instance it is said to solve.

    Returns
    -------
    Checked
        The proved value.

    Raises
    ------
    CertificateRejected
        Anything that does not hold; the message names the state.
    InvalidInstance
        The document has not the form of a certificate.
    """
    top = need_object(document, "certificate", fields=FIELDS, required=FIELDS)
    if top["schema"] != JsonNumber(str(SCHEMA)):
        raise CertificateRejected(f"schema is {top['schema']}; need {SCHEMA}")
    sense = top["sense"]
    if sense not in ("max", "min"):
        raise CertificateRejected(f"sense is {sense!r}; need max or min")
    if top["instance"] != fingerprint(instance):
        raise CertificateRejected("it was made for another instance: the fingerprints differ")
    values, acts = _listed(need_list(top["states"], "certificate.states"), len(instance.requests))
    n_states = as_integer(top["n_states"], "certificate.n_states", minimum=0)
    if n_states != len(values):
        raise CertificateRejected(f"n_states is {n_states}, and {len(values)} states are listed")
    model = _Model(instance)
    root = model.start()
    if root not in values:
        raise CertificateRejected("the initial state is not listed")
    claimed = _rational(top["value"], "certificate.value")
    if values[root] != claimed:
        raise CertificateRejected(f"the initial state has value {values[root]}, and {claimed} is claimed")
    reached = {root}
    tried = 0
    for key, value in values.items():
        first: Act | None = None
        for act, shares in model.acts(key):
            tried += 1
            worth = model.worth(key, act, shares, values, reached)
            if worth > value if sense == "max" else worth < value:
                raise CertificateRejected(f"state {show(key)}: action {act} is worth {worth}, beyond its value {value}")
            if first is None and worth == value:
                first = act
        if first != acts[key]:
            raise CertificateRejected(f"state {show(key)}: {acts[key]} is listed, and {first} attains its value first")
    if len(reached) != len(values):
        extra = next(key for key in values if key not in reached)
        raise CertificateRejected(f"state {show(extra)} is listed and cannot be reached")
    return Checked(value=claimed, sense=str(sense), states=len(values), actions=tried)


def _rational(value: object, where: str) -> fmpq:
    if not isinstance(value, str):
        raise InvalidInstance(f"{where} is no string; need a rational as text")
    # values of long episodes have far more digits than any input number may have
    numerator, _, denominator = value.partition("/")
    try:
        exact = fmpq(int(numerator), int(denominator or "1"))
    except (ValueError, ZeroDivisionError):
        raise InvalidInstance(f"{where} is {value[:40]!r}; need a rational as text") from None
    if str(exact) != value:
        raise CertificateRejected(f"{where} is {value[:40]!r}; need it in lowest terms")
    return exact


def _listed(rows: list[object], n_requests: int) -> tuple[dict[Key, fmpq], dict[Key, Act]]:
    values: dict[Key, fmpq] = {}
    acts: dict[Key, Act] = {}
    for k, row in enumerate(rows):
        where = f"certificate.states[{k}]"
        fields = need_object(row, where, fields=("state", "value", "action"), required=("state", "value", "action"))
        local: list[Local] = []
        for i, part in enumerate(need_list(fields["state"], f"{where}.state")):
            if part is None:
                local.append(None)
                continue
            three = need_list(part, f"{where}.state[{i}]")
            if len(three) != 3:
                raise InvalidInstance(f"{where}.state[{i}] has {len(three)} numbers; need prompt, output and age")
            age = as_fraction(three[2], f"{where}.state[{i}][2]")
            local.append(
                (
                    as_integer(three[0], f"{where}.state[{i}][0]", minimum=0),
                    as_integer(three[1], f"{where}.state[{i}][1]", minimum=0),
                    fmpq(age.numerator, age.denominator),
                )
            )
        key = tuple(local)
        if len(key) != n_requests:
            raise CertificateRejected(f"{where}.state has {len(key)} requests; the instance has {n_requests}")
        if key in values:
            raise CertificateRejected(f"state {show(key)} is listed twice")
        values[key] = _rational(fields["value"], f"{where}.value")
        acts[key] = _act(fields["action"], f"{where}.action")
    return values, acts


def _act(value: object, where: str) -> Act:
    parts = need_list(value, where)
    if len(parts) != 3:
        raise InvalidInstance(f"{where} has {len(parts)} parts; need graph, prefill list and decode set")
    graph = as_integer(parts[0], f"{where}[0]", minimum=0)
    lists = [
        tuple(as_integer(x, f"{where}[{k}]", minimum=0) for x in need_list(parts[k], f"{where}[{k}]")) for k in (1, 2)
    ]
    return graph, lists[0], lists[1]
