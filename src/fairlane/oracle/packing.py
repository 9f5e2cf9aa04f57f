"""An instance as flat arrays for the compiled sweep, in cost form.

Every request finishes, so the expected value of all tokens does not depend on the policy: the optimum is that
constant minus the least expected cost of time and waiting. Costs are sums and products of numbers >= 0, so their
rounding has an a-priori relative bound.

A request's local states are the prompt remainders and outputs that serving it alone can reach, in order of
progress, finished last. What serving does to one request is an operator on its axis: a decode row of one width,
or a prompt filled with one capacity. Graphs with several prefill lanes couple prompts; they are packed only where
at most one request has a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import Unsupported
from fairlane.reference.instance import Instance
from fairlane.reference.state import FINISHED, ZERO, LocalState, State, initial_state
from fairlane.reference.yields import row_outcomes, truncated_prior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PROMPT, DECODE, DONE = 0, 1, 2

# outcomes of one operator at one local state: (shift, probability)
ExactLaw = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A decode row of a width, or a prompt filled with a capacity (tokens)."""

    width: int = 0
    capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Axes are requests in the given order, padded in front to three axes.

    ``requests[a]`` is the request of axis a, -1 for padding. ``laws[o][a][x]`` are exact outcomes of operator o at
    local state x of axis a. ``rates[a][x]`` is a request's waiting price per ms. ``earned`` is the constant that
    the least cost is taken from.
    """

    instance: Instance
    requests: tuple[int, ...]
    chains: tuple[tuple[LocalState, ...], ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    operators: tuple[Operator, ...]
    laws: tuple[tuple[tuple[ExactLaw, ...], ...], ...]
    rates: tuple[tuple[Fraction, ...], ...]
    phases: tuple[tuple[int, ...], ...]
    earned: Fraction
    places: tuple[dict[LocalState, int], ...]

    @property
    def n_states(self) -> int:
        """All states, the final one included."""
        return prod(self.sizes)

    def number_of(self, state: State) -> int:
        """The number of a state; ages are ignored."""
        total = 0
        for axis, i in enumerate(self.requests):
            if i >= 0:
                local = FINISHED if state[i].finished else state[i]._replace(age_ms=ZERO)
                total += self.places[axis][local] * self.strides[axis]
        return total

    def state_of(self, number: int) -> State:
        """The state of a number."""
        out: dict[int, LocalState] = {}
        for axis, i in enumerate(self.requests):
            place, number = divmod(number, self.strides[axis])
            if i >= 0:
                out[i] = self.chains[axis][place]
        return tuple(out[i] for i in range(len(out)))


def lanes_couple(instance: Instance) -> bool:
    """Whether some graph can put two prompts into one execution."""
    prompts = sum(r.prompt > 0 for r in instance.requests)
    return prompts > 1 and any(g.prefill_lanes > 1 and g.prefill_capacity > 0 for g in instance.graphs)


def operators_of(instance: Instance) -> tuple[Operator, ...]:
    """Distinct operators of the catalog: widths, then capacities."""
    widths = sorted({g.width for g in instance.graphs if g.decode_capacity})
    capacities = sorted({g.prefill_capacity for g in instance.graphs if g.prefill_capacity})
    return (*(Operator(width=w) for w in widths), *(Operator(capacity=c) for c in capacities))


def local_chain(instance: Instance, i: int, operators: tuple[Operator, ...]) -> tuple[LocalState, ...]:
    """Local states of a request that serving it reaches, in order of progress, the finished one last."""
    request = instance.requests[i]
    start = LocalState(request.prompt, request.generated, ZERO, False)
    seen = {start}
    queue = [start]
    for local in queue:
        for operator in operators:
            for following, _ in outcomes_of(instance, i, local, operator):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
    return tuple(sorted(seen, key=lambda x: (x.finished, -x.prompt, x.generated)))


def outcomes_of(
    instance: Instance, i: int, local: LocalState, operator: Operator
) -> tuple[tuple[LocalState, Fraction], ...]:
    """Exact outcomes of an operator on a request's local state; none where it does not apply."""
    request = instance.requests[i]
    if local.finished:
        return ()
    if operator.width:
        if local.prompt:
            return ()
        width, generated = operator.width, local.generated
    else:
        if not local.prompt:
            return ()
        left = local.prompt - operator.capacity
        if left > 0:
            return ((LocalState(left, 0, ZERO, False), Fraction(1)),)
        width, generated = 1, 0
    law: dict[LocalState, Fraction] = {}
    for n, finished, p in row_outcomes(request.acceptance, width, request.length_prior, generated, request.limit):
        following = FINISHED if finished else LocalState(0, generated + n, ZERO, False)
        law[following] = law.get(following, ZERO) + p
    return tuple(law.items())


def earned_from(instance: Instance, state: State) -> Fraction:
    """Expected value of all tokens still to come from a state, the same under every policy."""
    prices = instance.objective
    total = ZERO
    for request, local in zip(instance.requests, state, strict=True):
        if local.finished:
            continue
        law = [(n, p) for n, p in truncated_prior(request.length_prior, request.limit) if n > local.generated]
        alive = sum((p for _, p in law), ZERO)
        output = sum((p * (n - local.generated) for n, p in law), ZERO) / alive
        total += request.weight * (prices.prefill_value * local.prompt + prices.decode_value * output)
    return total


def count_states(instance: Instance) -> int:
    """Reachable unfinished states, exactly, before any sweep; ages not counted.

    Without coupled prompts every request can be brought to any of its local states on its own, so the reachable
    states are the product of the local ones.
    """
    operators = operators_of(instance)
    return prod(len(local_chain(instance, i, operators)) for i in range(len(instance.requests))) - 1


def pack(instance: Instance) -> Packed:
    """The arrays' exact content.

    Raises
    ------
    Unsupported
        A price on age, or graphs that put several prompts together.
    """
    if instance.objective.age_price:
        raise Unsupported("the compiled sweep has no ages in its states")
    if lanes_couple(instance):
        raise Unsupported("the compiled sweep takes one prompt a graph")
    operators = operators_of(instance)
    prices = instance.objective
    # the largest axis goes innermost, where it is contiguous
    order = sorted(range(len(instance.requests)), key=lambda i: len(local_chain(instance, i, operators)))
    requests = (*([-1] * (3 - len(order))), *order)
    chains, laws_by_axis, rates, phases = [], [], [], []
    for i in requests:
        chain = (FINISHED,) if i < 0 else local_chain(instance, i, operators)
        place = {local: x for x, local in enumerate(chain)}
        chains.append(chain)
        laws_by_axis.append(
            [
                tuple(
                    tuple((place[following] - x, p) for following, p in outcomes_of(instance, i, local, operator))
                    for x, local in enumerate(chain)
                )
                for operator in operators
            ]
        )
        phases.append(tuple(DONE if x.finished else PROMPT if x.prompt else DECODE for x in chain))
        weight = ZERO if i < 0 else instance.requests[i].weight
        rates.append(
            tuple(
                ZERO
                if x.finished
                else weight * (prices.completion_price + (prices.first_output_price if x.prompt else ZERO))
                for x in chain
            )
        )
    sizes = tuple(len(chain) for chain in chains)
    strides = tuple(prod(sizes[a + 1 :]) for a in range(len(sizes)))
    return Packed(
        instance=instance,
        requests=requests,
        chains=tuple(chains),
        sizes=sizes,
        strides=strides,
        operators=operators,
        laws=tuple(tuple(axis[o] for axis in laws_by_axis) for o in range(len(operators))),
        rates=tuple(rates),
        phases=tuple(phases),
        earned=earned_from(instance, initial_state(instance)),
        places=tuple({local: x for x, local in enumerate(chain)} for chain in chains),
    )
