"""The exact optimum of an episode, by the first backend in order of preference that takes it.

Small instances are solved in rationals outright, without compilation. Large ones are swept in doubles with a
rigorous bound on the rounding, and the exact value follows from rationals on the few actions the bounds leave.
Sizes are counted before the work starts, and refused with that number beyond the limits; with ages they cannot be, and
the search for states stops where its table would not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.backends import backends as registered
from fairlane.oracle.preference import solve_by_preference
from fairlane.oracle.problem import MAX_BYTES, Problem
from fairlane.oracle.rational.backward_induction import MAX_TOKENS
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Decision, FunctionPolicy, Policy, Sees, View
from fairlane.reference.model.state import FINISHED, ZERO, Action, LocalState, State

if TYPE_CHECKING:
    from fairlane.reference.checker.cost_check import CostTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An optimum with its evidence, a :class:`fairlane.oracle.backend.Table` with its policy.

    ``value`` is exact, or None where only the certified doubles ``lower`` and ``upper`` enclose it. ``states``
    counts reachable unfinished states without symmetry; ``canonical_states`` those that were visited where equal
    requests were merged, None where they were not.
    """

    instance: Instance = field(repr=False)
    sense: Sense
    value: Fraction | None
    lower: float
    upper: float
    policy: Policy
    states: int
    canonical_states: int | None
    method: str
    certificate: CertificateForm
    seconds: float
    table: Table = field(repr=False)

    @classmethod
    def of(cls, table: Table, seconds: float) -> Solution:
        """The solution that a table holds."""
        return cls(
            instance=table.instance,
            sense=table.sense,
            value=table.value,
            lower=table.lower,
            upper=table.upper,
            policy=policy_of(table),
            states=table.states,
            canonical_states=table.canonical_states,
            method=table.method,
            certificate=table.certificate,
            seconds=seconds,
            table=table,
        )

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state; 0 of a final one.

        Raises
        ------
        TooLarge
            Exactness would take too many states.
        """
        return self.table.value_at(state)

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles that enclose the value of a state, also where exactness would take too many states."""
        return self.table.bounds_at(state)

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, in enumeration order."""
        return self.table.optimal_actions(state)

    def action_values(self, state: State) -> tuple[tuple[Action, Fraction], ...]:
        """Every action of an unfinished state with the exact value of taking it and going on optimally."""
        return self.table.action_values(state)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first.

        Raises
        ------
        TooLarge
            More than can be listed.
        """
        return self.table.reachable_states()

    def cost_table(self) -> CostTable:
        """Every state's cost in doubles, of a compiled sweep without ages.

        Raises
        ------
        Unsupported
            The solution was found in another way.
        """
        return self.table.cost_table()


def solve(
    instance: Instance,
    *,
    exact: bool = True,
    sense: Sense | str = Sense.MAX,
    max_states: int | None = None,
    max_bytes: int = MAX_BYTES,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    backends: Iterable[Backend] | None = None,
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
    max_states : int or None
        Refusal beyond this many states; each method's own limit without it.
    max_bytes : int
        Refusal beyond this much memory, said before the work starts.
    threads : int or None
        Threads of the compiled sweep; the result is the same for any number.
    on_progress : callable or None
        Called with (done, total) of the current phase.
    backends : iterable of Backend or None
        Who may solve it, in order of preference; all registered ones without it.

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
    tokens = sum(r.prompt + r.limit for r in instance.requests)
    if tokens > MAX_TOKENS:
        raise TooLarge(
            f"instance {instance.name!r} has {tokens:,} prompt and output tokens together; the exact solver takes at "
            f"most {MAX_TOKENS:,}; shorter prompts or lower output limits make it fit"
        )
    problem = Problem(
        instance=instance,
        sense=Sense(sense),
        exact=exact,
        max_states=max_states,
        max_bytes=max_bytes,
        threads=threads,
        on_progress=on_progress,
    )
    table = solve_by_preference(problem, registered() if backends is None else backends)
    return Solution.of(table, time.perf_counter() - begun)


def policy_of(table: Table) -> Policy:
    """The first optimal action of every state, as a policy."""
    instance = table.instance
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
