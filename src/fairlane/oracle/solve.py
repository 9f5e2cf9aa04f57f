"""The exact optimum of an episode, by the method that fits its size.

Small instances are solved in rationals outright, without compilation. Large ones are swept in doubles with a
rigorous bound on the rounding, and the exact value follows from rationals on the few actions the bounds leave.
Sizes are counted before the work starts, and refused with that number beyond the limits; with ages they cannot be, and
the search for states stops where its table would not fit.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Protocol

from fairlane.oracle.encoding.reached_states import count_places, count_reached
from fairlane.oracle.rational.aged_induction import AgedSweep
from fairlane.oracle.rational.backward_induction import MAX_TOKENS, Sweep, numbers_of
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Decision, FunctionPolicy, Policy, Sees, View
from fairlane.reference.model.state import FINISHED, ZERO, Action, LocalState, State, initial_state

if TYPE_CHECKING:
    from fairlane.oracle.encoding.packing import Axis

# beyond this many states the compiled sweep starts faster than the rationals end
SMALL_STATES = 3_000
# where compilation is not possible (ages, coupled prompts) rationals go this far
MAX_RATIONAL_STATES = 200_000
MAX_BYTES = 8 * 2**30
# beyond this many states single precision has to do
MAX_DOUBLE_STATES = 250_000_000
MAX_LISTED_STATES = 2_000_000


class Method(StrEnum):
    """How an optimum was found."""

    BACKWARD_INDUCTION = "backward_induction"
    AGED_BACKWARD_INDUCTION = "aged_backward_induction"
    AGED_COMPILED_SWEEP = "aged_compiled_sweep"
    AGED_COMPILED_SWEEP_EXACT_ROOT = "aged_compiled_sweep_exact_root"
    COMPILED_SWEEP = "compiled_sweep"
    COMPILED_SWEEP_SINGLE = "compiled_sweep_single_precision"
    COMPILED_SWEEP_EXACT_ROOT = "compiled_sweep_exact_root"


class _Table(Protocol):
    def value_at(self, state: State) -> Fraction: ...

    def optimal_actions(self, state: State) -> tuple[Action, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An optimum with its evidence.

    ``value`` is exact, or None where only the certified doubles ``lower`` and ``upper`` enclose it. ``states``
    counts reachable unfinished states without symmetry; ``canonical_states`` those that were visited where equal
    requests were merged, None where they were not.
    """

    value: Fraction | None
    lower: float
    upper: float
    policy: Policy
    states: int
    canonical_states: int | None
    method: Method
    seconds: float
    _table: _Table = field(repr=False)
    _list_states: Callable[[], list[State]] = field(repr=False)

    @property
    def table(self) -> object:
        """Where values of single states come from; an `ExactRoot` after a compiled sweep."""
        return self._table

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state; 0 of a final one.

        Raises
        ------
        TooLarge
            Exactness would take too many states.
        """
        return self._table.value_at(state)

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, in enumeration order."""
        return self._table.optimal_actions(state)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first.

        Raises
        ------
        TooLarge
            More than can be listed.
        """
        return tuple(self._list_states())


def solve(
    instance: Instance,
    *,
    exact: bool = True,
    sense: Sense | str = Sense.MAX,
    max_bytes: int = MAX_BYTES,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Solution:
    """Exact optimum over all policies.

    Parameters
    ----------
    instance : Instance
        Any instance of the model.
    exact : bool
        False stops a large instance at certified bounds.
    sense : Sense or str
        "max" for the optimum, "min" for the worst value over all policies.
    max_bytes : int
        Refusal beyond this much memory, said before the work starts.
    threads : int or None
        Threads of the compiled sweep; the result is the same for any number.
    on_progress : callable or None
        Called with (done, total) of the current phase.

    Returns
    -------
    Solution
        A rational value where the rationals allow, certified bounds always.

    Raises
    ------
    TooLarge
        More states or memory than the limits; the message has the number.
    """
    begun = time.perf_counter()
    which = Sense(sense)
    root = initial_state(instance)
    tokens = sum(r.prompt + r.limit for r in instance.requests)
    if tokens > MAX_TOKENS:
        raise TooLarge(
            f"instance {instance.name!r} has {tokens:,} prompt and output tokens together; "
            f"the exact solver takes at most {MAX_TOKENS:,}"
        )
    if instance.objective.age_price:
        return _aged(instance, which, exact, max_bytes, threads, on_progress, begun)
    from fairlane.oracle.encoding.packing import count_canonical, count_states, lanes_couple, merged_axes

    if numbers_of(instance) <= SMALL_STATES and not lanes_couple(instance):
        # counting beforehand takes longer than solving a tiny instance, whose sweep counts as it goes
        tiny = Sweep(instance, which, SMALL_STATES)
        states = count_places(tiny)
        tiny.solve(tiny.number_of(root), on_progress)
        return _exact(instance, tiny, Method.BACKWARD_INDUCTION, begun, states)
    axes = () if lanes_couple(instance) else merged_axes(instance)
    if axes and count_states(instance, axes) > SMALL_STATES:
        try:
            return _compiled(instance, axes, which, exact, max_bytes, threads, on_progress, begun)
        except TooLarge:
            raise
        except Unsupported:
            # costs beyond the range of doubles; rationals have none
            if count_canonical(instance, axes) > MAX_RATIONAL_STATES:
                raise
    small = Sweep(instance, which, MAX_RATIONAL_STATES)
    small.solve(small.number_of(root), on_progress)
    return _exact(instance, small, Method.BACKWARD_INDUCTION, begun)


def _aged(
    instance: Instance,
    sense: Sense,
    exact: bool,
    max_bytes: int,
    threads: int | None,
    on_progress: Callable[[int, int], None] | None,
    begun: float,
) -> Solution:
    from fairlane.oracle.encoding.packing import count_states, lanes_couple

    coupled = lanes_couple(instance)
    # ages only multiply the states that there are without them
    if coupled or numbers_of(instance) <= SMALL_STATES or count_states(instance) <= SMALL_STATES:
        try:
            return solve_aged_rationally(instance, sense, MAX_RATIONAL_STATES if coupled else SMALL_STATES, on_progress)
        except TooLarge:
            if coupled:
                raise
    from fairlane.oracle.rational.aged_root import AgedRoot
    from fairlane.oracle.sweeps.aged_sweep import sweep_aged

    try:
        swept = sweep_aged(
            instance, worst=sense is Sense.MIN, max_bytes=max_bytes, threads=threads, on_progress=on_progress
        )
    except TooLarge:
        raise
    except Unsupported:
        # numbers beyond 64 bits or the range of doubles; rationals have no such limit
        return solve_aged_rationally(instance, sense, MAX_RATIONAL_STATES, on_progress)
    root = AgedRoot(swept)
    least, most = swept.bounds()
    lower, upper = outward(swept.packed.earned - most, swept.packed.earned - least)
    value: Fraction | None = None
    method = Method.AGED_COMPILED_SWEEP
    if exact:
        try:
            value = root.value_at(initial_state(instance))
        except TooLarge:
            value = None
        else:
            method = Method.AGED_COMPILED_SWEEP_EXACT_ROOT
            if not Fraction(lower) <= value <= Fraction(upper):
                raise AssertionError("the exact value leaves its certified bounds: the sweep is wrong")
            lower, upper = enclose(value)
    return Solution(
        value=value,
        lower=lower,
        upper=upper,
        policy=policy_of(instance, root),
        states=len(swept.costs),
        canonical_states=None,
        method=method,
        seconds=time.perf_counter() - begun,
        _table=root,
        _list_states=lambda: root.list_states(MAX_RATIONAL_STATES),
    )


def solve_aged_rationally(
    instance: Instance, sense: Sense, max_states: int, on_progress: Callable[[int, int], None] | None = None
) -> Solution:
    """Every value of an instance with a price on age, in rationals.

    Raises
    ------
    TooLarge
        More than ``max_states`` states with their ages.
    """
    begun = time.perf_counter()
    aged = AgedSweep(instance, sense, max_states)
    aged.solve(aged.key_of(initial_state(instance)), on_progress)
    return _exact(instance, aged, Method.AGED_BACKWARD_INDUCTION, begun)


def _exact(
    instance: Instance, table: Sweep | AgedSweep, method: Method, begun: float, states: int | None = None
) -> Solution:
    value = table.value_at(initial_state(instance))
    if isinstance(table, Sweep):
        counted = states if states is not None else count_reached(table, table.number_of(initial_state(instance)))
        listed = table.reachable_states
    else:
        reached = table.reachable_states()
        counted = len(reached)

        def listed() -> list[State]:
            return reached

    lower, upper = enclose(value)
    return Solution(
        value=value,
        lower=lower,
        upper=upper,
        policy=policy_of(instance, table),
        states=counted,
        canonical_states=None,
        method=method,
        seconds=time.perf_counter() - begun,
        _table=table,
        _list_states=listed,
    )


def _compiled(
    instance: Instance,
    axes: Sequence[Axis],
    sense: Sense,
    exact: bool,
    max_bytes: int,
    threads: int | None,
    on_progress: Callable[[int, int], None] | None,
    begun: float,
) -> Solution:
    from fairlane.oracle.encoding.packing import count_canonical, count_states

    states, canonical = count_states(instance, axes), count_canonical(instance, axes)
    # merged states cost more each, and are worth it where there are fewer by half
    merge = 2 * canonical <= states
    swept_states = canonical if merge else states
    itemsize = 4 if not merge and states > MAX_DOUBLE_STATES else 8

    def refuse(needed: int) -> None:
        if needed > max_bytes:
            merged = " (equal requests merged)" if merge else ""
            raise TooLarge(
                f"instance {instance.name!r} has {swept_states:,} states{merged}, which take "
                f"{needed / 2**30:,.1f} GiB; the limit is {max_bytes / 2**30:,.1f} GiB"
            )

    refuse(itemsize * swept_states)
    from fairlane.oracle.encoding.packing import pack
    from fairlane.oracle.rational.exact_root import ExactRoot
    from fairlane.oracle.sweeps.compiled import bytes_needed, sweep

    packed = pack(instance, merge=merge, axes=axes)
    workers = threads if threads is not None else (os.cpu_count() or 1)
    refuse(bytes_needed(packed, workers, itemsize))
    swept = sweep(packed, worst=sense is Sense.MIN, threads=workers, on_progress=on_progress, itemsize=itemsize)
    table = ExactRoot(swept, on_progress=on_progress)
    root = initial_state(instance)
    least, most = swept.bounds(swept.number_of(packed.digits_of(root)))
    lower, upper = outward(packed.earned - most, packed.earned - least)
    value: Fraction | None = None
    method = Method.COMPILED_SWEEP if itemsize == 8 else Method.COMPILED_SWEEP_SINGLE
    # single precision leaves too many actions for rationals
    if exact and itemsize == 8:
        try:
            value = table.value_at(root)
        except TooLarge:
            value = None
        else:
            method = Method.COMPILED_SWEEP_EXACT_ROOT
            if not Fraction(lower) <= value <= Fraction(upper):
                raise AssertionError("the exact value leaves its certified bounds: the sweep is wrong")
            lower, upper = enclose(value)

    def listed() -> list[State]:
        if states > MAX_LISTED_STATES:
            raise TooLarge(
                f"instance {instance.name!r} has {states:,} states; a list takes at most {MAX_LISTED_STATES:,}"
            )
        plain = pack(instance)
        places = product(*(range(len(axis.chain)) for axis in plain.axes))
        found = [plain.state_of([(place,) for place in digits]) for digits in places]
        # the last one is final
        return found[:-1]

    return Solution(
        value=value,
        lower=lower,
        upper=upper,
        policy=policy_of(instance, table),
        states=states,
        canonical_states=canonical if merge else None,
        method=method,
        seconds=time.perf_counter() - begun,
        _table=table,
        _list_states=listed,
    )


def enclose(value: Fraction) -> tuple[float, float]:
    """The doubles around a rational, equal where it is one."""
    try:
        near = float(value)
    except OverflowError:
        return (-math.inf, -1.7976931348623157e308) if value < 0 else (1.7976931348623157e308, math.inf)
    exact = Fraction(near)
    if exact == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if exact < value else (math.nextafter(near, -math.inf), near)


def outward(lower: Fraction, upper: Fraction) -> tuple[float, float]:
    """Doubles that enclose an interval of rationals."""
    return enclose(lower)[0], enclose(upper)[1]


def policy_of(instance: Instance, table: _Table) -> Policy:
    """The first optimal action of every state, as a policy."""
    ids = [request.id for request in instance.requests]
    keeps_age = bool(instance.objective.age_price)

    def decide(view: View) -> Decision:
        live = {request.index: request for request in view.requests}
        state = tuple(
            LocalState(live[i].prompt, live[i].generated, Fraction(live[i].age_ms or 0) if keeps_age else ZERO, False)
            if i in live
            else FINISHED
            for i in range(len(ids))
        )
        action = table.optimal_actions(state)[0]
        return Decision(
            graph=instance.graphs.graphs[action.graph].name,
            prefill=tuple(ids[i] for i in action.prefill),
            decode=tuple(ids[i] for i in action.decode),
        )

    return FunctionPolicy(decide, frozenset({Sees.AGE}) if keeps_age else frozenset())
