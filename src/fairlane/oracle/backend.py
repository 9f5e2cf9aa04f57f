"""The one contract of everything that finds optima: a backend takes a problem or refuses it, and leaves a table.

Whoever reads a table (the facade, certificates, verification, the decision graph) never asks which backend made it.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.refusal import Refusal
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State, actions
from fairlane.reference.model.step import step

if TYPE_CHECKING:
    from fairlane.reference.checker.cost_check import CostTable


class CertificateForm(StrEnum):
    """What of a table an independent checker can read."""

    VALUES = "values"  # every reachable state's value and first optimal action, in rationals
    COSTS = "costs"  # every state's cost in doubles
    NONE = "none"  # the values come from another pass in rationals


class Values(Protocol):
    """Values of single states, found as they are asked for or looked up."""

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a reachable state; 0 of a final one. `TooLarge` where that takes too many states."""
        ...

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles that enclose the value of a reachable state."""
        ...

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, in enumeration order."""
        ...

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first. `TooLarge` where they cannot be listed."""
        ...


class Table(Values, Protocol):
    """A solved instance.

    ``value`` is the exact optimum, or None where only ``lower`` and ``upper`` enclose it. ``states`` counts reachable
    unfinished states without symmetry; ``canonical_states`` those that were visited where equal requests were merged,
    None where they were not. ``method`` says how the value was found.
    """

    @property
    def instance(self) -> Instance: ...

    @property
    def sense(self) -> Sense: ...

    @property
    def method(self) -> str: ...

    @property
    def value(self) -> Fraction | None: ...

    @property
    def lower(self) -> float: ...

    @property
    def upper(self) -> float: ...

    @property
    def states(self) -> int: ...

    @property
    def canonical_states(self) -> int | None: ...

    @property
    def certificate(self) -> CertificateForm: ...

    def action_values(self, state: State) -> tuple[tuple[Action, Fraction], ...]:
        """Every action of an unfinished state with the exact value of taking it and going on optimally."""
        ...

    def cost_table(self) -> CostTable:
        """Every state's cost; `Unsupported` unless the certificate's form is costs."""
        ...


class Backend(Protocol):
    """One way of finding optima. Adding one is a file in `backends` and a line in its register.

    ``rounding`` is the unit roundoff of its numbers, 0 where they are rationals.
    """

    @property
    def name(self) -> str: ...

    @property
    def rounding(self) -> Fraction: ...

    @property
    def certificate(self) -> CertificateForm: ...

    def most_states(self, problem: Problem) -> int:
        """States that it takes at most within the problem's limits."""
        ...

    def accepts(self, problem: Problem) -> Refusal | None:
        """Why the problem is refused before any work, or None."""
        ...

    def bytes_needed(self, problem: Problem) -> int:
        """Memory of an accepted problem's sweep: exact where states can be counted, otherwise what it starts with."""
        ...

    def sweep(self, problem: Problem) -> Table:
        """The solved problem.

        Raises
        ------
        TooLarge
            More states or memory than the limits, found on the way.
        Unsupported
            Numbers that it does not hold.
        """
        ...


def action_values(instance: Instance, values: Values, state: State) -> tuple[tuple[Action, Fraction], ...]:
    """The value of every action of an unfinished state by the model's own step, whatever the table."""
    return tuple(
        (
            action,
            sum(
                (o.probability * (o.reward + values.value_at(o.state)) for o in step(instance, state, action)),
                Fraction(0),
            ),
        )
        for action in actions(instance, state)
    )
