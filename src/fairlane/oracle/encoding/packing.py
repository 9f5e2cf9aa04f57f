"""An instance as flat tables for the compiled sweeps, in cost form.

Every request finishes, so the expected value of all tokens does not depend on the policy: the optimum is that
constant minus the least expected cost of time and waiting. Costs are sums and products of numbers >= 0, so their
rounding has an a-priori relative bound.

A request's local states are the prompt remainders and outputs that serving it alone can reach, in order of
progress, finished last. What serving does to one request is an operator: a decode row of one width, or a prompt
filled with one capacity. Requests with equal tables are exchangeable and may share an axis, whose places are then
multisets of local states. Graphs with several prefill lanes couple prompts; they are packed only where at most
one request has a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, prod
from typing import TYPE_CHECKING, TypeAlias

from fairlane.reference.errors import Unsupported
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import output_worth, prompt_worth, waiting_rate
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, ZERO, LocalState, State, initial_state
from fairlane.reference.model.yields import row_outcomes, truncated_prior

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# names in quotes: counting states needs no arrays, whose import takes longer than a small instance
Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
SmallInts: TypeAlias = "npt.NDArray[np.int32]"

_DONE = (True, 0, 0)

# outcomes of one operator at one local state: (shift, probability), by shift
ExactLaw = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A decode row of a width, or a prompt filled with a capacity (tokens)."""

    width: int = 0
    capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Exchangeable requests, by index, with their common tables over local states.

    ``laws[o][x]`` are exact outcomes of operator o at local state x, ``rates[x]`` a request's waiting price per ms,
    ``reach[o]`` the range of local states that operator o serves, (0, 0) where it serves none.
    """

    requests: tuple[int, ...]
    chain: tuple[LocalState, ...]
    laws: tuple[tuple[ExactLaw, ...], ...]
    rates: tuple[Fraction, ...]
    reach: tuple[tuple[int, int], ...]
    places: dict[LocalState, int]

    @property
    def members(self) -> int:
        """Number of requests."""
        return len(self.requests)

    @property
    def n_places(self) -> int:
        """Multisets of local states."""
        return comb(len(self.chain) + self.members - 1, self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Axes from the outermost to the innermost; ``earned`` is the constant that the least cost is taken from."""

    instance: Instance
    axes: tuple[Axis, ...]
    operators: tuple[Operator, ...]
    earned: Fraction

    @property
    def n_states(self) -> int:
        """Canonical states, the final one included."""
        return prod(axis.n_places for axis in self.axes)

    def digits_of(self, state: State) -> tuple[tuple[int, ...], ...]:
        """Sorted local states of each axis; ages are ignored.

        Raises
        ------
        KeyError
            A local state that no action reaches.
        """
        return tuple(
            tuple(
                sorted(
                    axis.places[FINISHED if state[i].finished else state[i]._replace(age_ms=ZERO)]
                    for i in axis.requests
                )
            )
            for axis in self.axes
        )

    def state_of(self, digits: Sequence[Sequence[int]]) -> State:
        """A state with the given local states; requests of one axis in the order of the digits."""
        out: dict[int, LocalState] = {}
        for axis, places in zip(self.axes, digits, strict=True):
            for i, place in zip(axis.requests, places, strict=True):
                out[i] = axis.chain[place]
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


def _outcomes(
    request: Request, prompt: int, generated: int, operator: Operator
) -> Iterator[tuple[tuple[bool, int, int], Fraction]]:
    """Exact outcomes of an operator on a local state, as (finished, -prompt, outputs); none where it does not apply."""
    if operator.width:
        if prompt:
            return
        width = operator.width
    else:
        if not prompt:
            return
        if prompt > operator.capacity:
            yield (False, operator.capacity - prompt, 0), Fraction(1)
            return
        width, generated = 1, 0
    for n, finished, p in row_outcomes(request.acceptance, width, request.length_prior, generated, request.limit):
        yield (_DONE if finished else (False, 0, generated + n)), p


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
        total += prompt_worth(prices, request.weight, local.prompt) + output_worth(prices, request.weight, output)
    return total


def templates_of(instance: Instance) -> dict[tuple[object, ...], list[int]]:
    """Indices of requests that differ by nothing but their name and arrival."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, r in enumerate(instance.requests):
        key = (r.prompt, r.generated, r.limit, r.length_prior, r.acceptance, r.weight)
        groups.setdefault(key, []).append(i)
    return groups


def merged_axes(instance: Instance) -> tuple[Axis, ...]:
    """One axis for each template, in the order of the requests."""
    operators = operators_of(instance)
    return tuple(_axis(instance, tuple(group), operators) for group in templates_of(instance).values())


def count_states(instance: Instance, axes: Sequence[Axis] | None = None) -> int:
    """Reachable unfinished states, exactly, before any sweep; ages not counted.

    Without coupled prompts every request can be brought to any of its local states on its own, so the reachable
    states are the product of the local ones. ``axes`` are the merged ones, where they are at hand.
    """
    return int(prod(len(axis.chain) ** axis.members for axis in axes or merged_axes(instance))) - 1


def count_canonical(instance: Instance, axes: Sequence[Axis] | None = None) -> int:
    """Reachable unfinished states up to exchange of equal requests; ages not counted."""
    return prod(axis.n_places for axis in axes or merged_axes(instance)) - 1


def pack(instance: Instance, *, merge: bool = False, axes: Sequence[Axis] | None = None) -> Packed:
    """The tables' exact content.

    Parameters
    ----------
    instance : Instance
        Without a price on age, and without graphs that put several prompts together.
    merge : bool
        Whether equal requests share an axis.
    axes : sequence of Axis or None
        The merged axes, where they are at hand.

    Raises
    ------
    Unsupported
        A price on age, or coupled prompts.
    """
    if instance.objective.age_price:
        raise Unsupported("the compiled sweep has no ages in its states")
    if lanes_couple(instance):
        raise Unsupported("the compiled sweep takes one prompt a graph")
    found: list[Axis] = []
    for axis in axes or merged_axes(instance):
        found += [axis] if merge else [replace(axis, requests=(i,)) for i in axis.requests]
    # the largest axis goes innermost, where it is contiguous
    found.sort(key=lambda axis: (axis.n_places, axis.requests))
    return Packed(
        instance=instance,
        axes=tuple(found),
        operators=operators_of(instance),
        earned=earned_from(instance, initial_state(instance)),
    )


def _axis(instance: Instance, requests: tuple[int, ...], operators: tuple[Operator, ...]) -> Axis:
    request, prices = instance.requests[requests[0]], instance.objective
    # plain numbers while searching: the ages of local states are slow to hash
    start = (False, -request.prompt, request.generated)
    met: dict[tuple[bool, int, int], list[dict[tuple[bool, int, int], Fraction]]] = {}
    queue = [start]
    seen = {start, _DONE}
    for key in queue:
        met[key] = []
        for operator in operators:
            law: dict[tuple[bool, int, int], Fraction] = {}
            for after, p in _outcomes(request, -key[1], key[2], operator):
                law[after] = law[after] + p if after in law else p
            met[key].append(law)
            fresh = [after for after in law if after not in seen]
            seen.update(fresh)
            queue += fresh
    met[_DONE] = [{} for _ in operators]
    keys = sorted(met)
    place = {key: x for x, key in enumerate(keys)}
    chain = tuple(FINISHED if key == _DONE else LocalState(-key[1], key[2], ZERO, False) for key in keys)
    weight = request.weight
    laws = tuple(
        tuple(tuple(sorted((place[after] - x, p) for after, p in met[key][o].items())) for x, key in enumerate(keys))
        for o in range(len(operators))
    )
    # an operator applies to one phase, and a phase is a run of the chain
    served = [[x for x, law in enumerate(of_operator) if law] for of_operator in laws]
    return Axis(
        requests=requests,
        chain=chain,
        laws=laws,
        rates=tuple(ZERO if x.finished else waiting_rate(prices, weight, before_output=x.prompt > 0) for x in chain),
        reach=tuple((used[0], used[-1] + 1) if used else (0, 0) for used in served),
        places={local: x for x, local in enumerate(chain)},
    )
