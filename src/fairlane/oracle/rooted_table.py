"""A table of any backend: what is known of the initial state, and where the values of other states come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from fairlane.oracle.backend import CertificateForm, Values, action_values
from fairlane.oracle.encoding.enclosure import enclose
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State

if TYPE_CHECKING:
    from fairlane.reference.checker.cost_check import CostTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RootedTable:
    """See :class:`fairlane.oracle.backend.Table`, which this is, on the values of one backend."""

    instance: Instance
    sense: Sense
    method: str
    value: Fraction | None
    lower: float
    upper: float
    states: int
    canonical_states: int | None
    certificate: CertificateForm
    values: Values = field(repr=False)
    costs: Callable[[], CostTable] | None = field(default=None, repr=False)

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state."""
        return self.values.value_at(state)

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles around the value of a state."""
        return self.values.bounds_at(state)

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state."""
        return self.values.optimal_actions(state)

    def action_values(self, state: State) -> tuple[tuple[Action, Fraction], ...]:
        """Every action of an unfinished state with its exact value."""
        return action_values(self.instance, self.values, state)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first."""
        return self.values.reachable_states()

    def cost_table(self) -> CostTable:
        """Every state's cost in doubles."""
        if self.costs is None:
            raise Unsupported(f"method {self.method} keeps no table of costs; write a certificate in rationals")
        return self.costs()


def exact_table(problem: Problem, method: str, values: Values, *, states: int, form: CertificateForm) -> RootedTable:
    """The table of a backend in rationals."""
    value = values.value_at(problem.root)
    lower, upper = enclose(value)
    return RootedTable(
        instance=problem.instance,
        sense=problem.sense,
        method=method,
        value=value,
        lower=lower,
        upper=upper,
        states=states,
        canonical_states=None,
        certificate=form,
        values=values,
    )


def bounded_table(
    problem: Problem,
    method: str,
    values: Values,
    *,
    states: int,
    canonical_states: int | None = None,
    exact: bool = True,
    form: CertificateForm = CertificateForm.NONE,
    costs: Callable[[], CostTable] | None = None,
) -> RootedTable:
    """The table of a backend in doubles: certified bounds, and the exact value where it is wanted and within reach."""
    lower, upper = values.bounds_at(problem.root)
    value: Fraction | None = None
    if exact and problem.exact:
        try:
            value = values.value_at(problem.root)
        except TooLarge:
            value = None
        else:
            method = f"{method}_exact_root"
            if not lower <= value <= upper:
                raise AssertionError("the exact value leaves its certified bounds: the sweep is wrong")
            lower, upper = enclose(value)
    return RootedTable(
        instance=problem.instance,
        sense=problem.sense,
        method=method,
        value=value,
        lower=lower,
        upper=upper,
        states=states,
        canonical_states=canonical_states,
        certificate=form,
        values=values,
        costs=costs,
    )
