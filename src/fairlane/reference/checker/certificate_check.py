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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from flint import fmpq

from fairlane.reference.errors import CertificateRejected, InvalidInstance
from fairlane.reference.exact import JsonNumber, as_integer, found, parse_long
from fairlane.reference.model.codec import instance_to_json, need_list, need_object
from fairlane.reference.model.instance import Instance
from fairlane.reference.rationals import to_fmpq

SCHEMA = 1
FIELDS = ("schema", "instance", "sense", "value", "n_states", "states")

# prompt left, output published, age in ms
Local = tuple[int, int, fmpq]
# one number a request: 0 when it has finished, otherwise the place of its local state in a list
Key = tuple[int, ...]
Act = tuple[int, tuple[int, ...], tuple[int, ...]]

# expectations kept between states; forgetting them costs time, never correctness
MAX_KEPT = 2_000_000


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


class RowLaws:
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
                    mass[min(n, request.limit)] += to_fmpq(p)
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
                following = to_fmpq(q)
            stops = accepted * (1 - following) * alive[published + n]
            if stops != 0:
                out.append((n, False, stops / base))
            accepted *= following
        self.cache[key] = out
        return out


class _Model:
    """Actions, transitions and rewards of one instance, and the values listed for its states."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.laws = RowLaws(instance)
        prices = instance.objective
        self.prices = {
            name: to_fmpq(getattr(prices, name))
            for name in (
                "prefill_value",
                "decode_value",
                "time_price",
                "completion_price",
                "first_output_price",
                "age_price",
                "energy_price",
            )
        }
        self.weights = [to_fmpq(r.weight) for r in instance.requests]
        self.durations = [to_fmpq(g.duration_ms) for g in instance.graphs]
        self.energies = [to_fmpq(g.energy_j) for g in instance.graphs]
        self.keeps_age = prices.age_price > 0
        self.locals: list[Local] = [(0, 0, fmpq(0))]
        self.places: dict[Local, int] = {}
        self.values: dict[Key, fmpq] = {}
        self.reached: set[Key] = set()
        self.kept: dict[tuple[Key, tuple[int, ...], int], fmpq] = {}
        self.rows: dict[tuple[int, int, int], list[tuple[int, fmpq]]] = {}
        self.gains: dict[tuple[int, int, int], fmpq] = {}

    def place(self, local: Local) -> int:
        """The number that stands for a local state in keys."""
        known = self.places.get(local)
        if known is None:
            known = self.places[local] = len(self.locals)
            self.locals.append(local)
        return known

    def show(self, key: Key) -> str:
        """A state for a message: prompt left, output, age by request; ``-`` for a finished one."""
        return "[" + ", ".join("-" if n == 0 else "{}/{}/{}".format(*self.locals[n]) for n in key) + "]"

    def start(self) -> Key:
        return tuple(self.place((r.prompt, r.generated, fmpq(0))) for r in self.instance.requests)

    def acts(self, key: Key) -> Iterator[tuple[Act, tuple[int, ...]]]:
        """Every legal action with the prompt tokens of its list, in the canonical order."""
        prompts = [i for i, n in enumerate(key) if n and self.locals[n][0] > 0]
        rows = [i for i, n in enumerate(key) if n and self.locals[n][0] == 0]
        for g, graph in enumerate(self.instance.graphs):
            fills: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
            seen: set[tuple[tuple[int, int], ...]] = set()
            most = min(graph.prefill_lanes, len(prompts)) if graph.prefill_capacity > 0 else 0
            for size in range(1, most + 1):
                for order in permutations(prompts, size):
                    room = graph.prefill_capacity
                    shares: list[int] = []
                    for i in order:
                        shares.append(min(room, self.locals[key[i]][0]))
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
        """Cost of the graph's duration, and of its energy."""
        t = self.durations[g]
        cost = self.prices["time_price"] * t + self.prices["energy_price"] * self.energies[g]
        for i, n in enumerate(key):
            if n == 0:
                continue
            prompt, _, age = self.locals[n]
            rate = self.prices["completion_price"]
            if prompt > 0:
                rate += self.prices["first_output_price"]
            cost += rate * self.weights[i] * t
            if prompt == 0 and self.keeps_age:
                cost += self.prices["age_price"] * self.weights[i] * (age * t + t * t / 2)
        return cost

    def worth(self, key: Key, act: Act, shares: tuple[int, ...], waiting: fmpq) -> fmpq:
        """Expected reward plus expected value of the next state."""
        g, order, chosen = act
        width = self.instance.graphs.graphs[g].width
        total = -waiting
        for i in chosen:
            total += self._gain(i, self.locals[key[i]][1], width)
        # rows are independent, so each lane's outcomes may be averaged over in turn
        filled = [(self._passed(key, g, chosen), fmpq(1))]
        for i, share in zip(order, shares, strict=True):
            left = self.locals[key[i]][0] - share
            total += self.prices["prefill_value"] * self.weights[i] * share
            if left:
                after = [(self.place((left, 0, fmpq(0))), fmpq(1))]
            else:
                # the last prompt token publishes exactly one output token
                after = self._row(i, 0, 1)
                total += self.prices["decode_value"] * self.weights[i]
            filled = [((*k[:i], n, *k[i + 1 :]), chance * p) for k, chance in filled for n, p in after]
        for k, chance in filled:
            total += chance * self._expected(k, chosen, width)
        return total

    def _passed(self, key: Key, g: int, chosen: tuple[int, ...]) -> Key:
        """The state with the graph's time on the ages; what is served starts at 0 again."""
        if not self.keeps_age:
            return key
        aged = []
        for i, n in enumerate(key):
            prompt, published, age = self.locals[n]
            older = n and prompt == 0
            now = fmpq(0) if i in chosen else age + self.durations[g]
            aged.append(self.place((prompt, published, now)) if older else n)
        return tuple(aged)

    def _row(self, i: int, published: int, width: int) -> list[tuple[int, fmpq]]:
        """(local state after, probability) of one row."""
        known = self.rows.get((i, published, width))
        if known is None:
            known = self.rows[i, published, width] = [
                (0 if finished else self.place((0, published + n, fmpq(0))), p)
                for n, finished, p in self.laws.row(i, published, width)
            ]
        return known

    def _gain(self, i: int, published: int, width: int) -> fmpq:
        """Expected value of the tokens of one row."""
        known = self.gains.get((i, published, width))
        if known is None:
            mean = sum((p * n for n, _, p in self.laws.row(i, published, width)), fmpq(0))
            known = self.gains[i, published, width] = self.prices["decode_value"] * self.weights[i] * mean
        return known

    def _expected(self, key: Key, rows: tuple[int, ...], width: int) -> fmpq:
        """Expected listed value once ``rows`` have run; every state it may lead to is noted as reached."""
        if not rows:
            return self._listed(key)
        known = self.kept.get((key, rows, width))
        if known is not None:
            return known
        i, rest = rows[-1], rows[:-1]
        total = fmpq(0)
        for n, p in self._row(i, self.locals[key[i]][1], width):
            total += p * self._expected((*key[:i], n, *key[i + 1 :]), rest, width)
        if len(self.kept) >= MAX_KEPT:
            self.kept.clear()
        self.kept[key, rows, width] = total
        return total

    def _listed(self, key: Key) -> fmpq:
        if not any(key):
            return fmpq(0)
        value = self.values.get(key)
        if value is None:
            raise CertificateRejected(f"state {self.show(key)} can be reached and is not listed")
        self.reached.add(key)
        return value


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
    model = _Model(instance)
    acts = _read_states(model, need_list(top["states"], "certificate.states"))
    values = model.values
    n_states = as_integer(top["n_states"], "certificate.n_states", minimum=0)
    if n_states != len(values):
        raise CertificateRejected(f"n_states is {n_states}, and {len(values)} states are listed")
    root = model.start()
    if root not in values:
        raise CertificateRejected("the initial state is not listed")
    claimed = _rational(top["value"], "certificate.value")
    if values[root] != claimed:
        raise CertificateRejected(f"the initial state has value {values[root]}, and {claimed} is claimed")
    model.reached.add(root)
    tried = 0
    for key, value in values.items():
        first: Act | None = None
        waiting = [model.waiting(key, g) for g in range(len(model.durations))]
        for act, shares in model.acts(key):
            tried += 1
            worth = model.worth(key, act, shares, waiting[act[0]])
            if worth > value if sense == "max" else worth < value:
                raise CertificateRejected(
                    f"state {model.show(key)}: action {act} is worth {worth}, beyond its value {value}"
                )
            if first is None and worth == value:
                first = act
        if first != acts[key]:
            raise CertificateRejected(
                f"state {model.show(key)}: {acts[key]} is listed, and {first or 'no action'} attains its value first"
            )
    if len(model.reached) != len(values):
        extra = next(key for key in values if key not in model.reached)
        raise CertificateRejected(f"state {model.show(extra)} is listed and cannot be reached")
    return Checked(value=claimed, sense=str(sense), states=len(values), actions=tried)


def _rational(value: object, where: str) -> fmpq:
    # values of long episodes have far more digits than any input number may have
    text = value.text if isinstance(value, JsonNumber) else value
    exact = parse_long(text) if isinstance(text, str) else None
    if exact is None:
        raise InvalidInstance(f"{where} is {found(value)}; need a rational in lowest terms as text")
    return to_fmpq(exact)


def _read_states(model: _Model, rows: list[object]) -> dict[Key, Act]:
    """The listed actions by state; the values go into the model."""
    acts: dict[Key, Act] = {}
    n_requests = len(model.instance.requests)
    for k, row in enumerate(rows):
        where = f"certificate.states[{k}]"
        fields = need_object(row, where, fields=("state", "value", "action"), required=("state", "value", "action"))
        parts = need_list(fields["state"], f"{where}.state")
        if len(parts) != n_requests:
            raise CertificateRejected(f"{where}.state has {len(parts)} requests; the instance has {n_requests}")
        key = tuple(_local(model, i, part, f"{where}.state[{i}]") for i, part in enumerate(parts))
        if key in model.values:
            raise CertificateRejected(f"state {model.show(key)} is listed twice")
        model.values[key] = _rational(fields["value"], f"{where}.value")
        acts[key] = _act(fields["action"], f"{where}.action")
    return acts


def _local(model: _Model, i: int, part: object, where: str) -> int:
    if part is None:
        return 0
    three = need_list(part, where)
    if len(three) != 3:
        raise InvalidInstance(f"{where} has {len(three)} numbers; need prompt, output and age")
    prompt, published = (as_integer(three[n], f"{where}[{n}]", minimum=0) for n in (0, 1))
    request = model.instance.requests[i]
    possible = published == 0 if prompt else published < request.limit and model.laws.alive[i][published] > 0
    if not possible or prompt > request.prompt:
        raise CertificateRejected(f"{where}: {request.id!r} is never at prompt {prompt} and output {published}")
    return model.place((prompt, published, _rational(three[2], f"{where}[2]")))


def _act(value: object, where: str) -> Act:
    parts = need_list(value, where)
    if len(parts) != 3:
        raise InvalidInstance(f"{where} has {len(parts)} parts; need graph, prefill list and decode set")
    graph = as_integer(parts[0], f"{where}[0]", minimum=0)
    lists = [
        tuple(as_integer(x, f"{where}[{k}]", minimum=0) for x in need_list(parts[k], f"{where}[{k}]")) for k in (1, 2)
    ]
    return graph, lists[0], lists[1]
