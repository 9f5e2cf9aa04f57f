"""What a backend is asked: an instance, which optimum, within which limits; and the sizes that decide who takes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from fairlane.oracle.encoding.packing import Axis, count_canonical, count_states, lanes_couple, merged_axes
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import charges_launches
from fairlane.reference.model.state import State, initial_state

MAX_BYTES = 8 * 2**30


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An instance with what is asked of it; sizes are counted once, when a backend asks for them.

    ``max_states`` replaces the limits that backends have of their own, None leaves them; ``max_bytes`` bounds memory.
    """

    instance: Instance
    sense: Sense = Sense.MAX
    exact: bool = True
    max_states: int | None = None
    max_bytes: int = MAX_BYTES
    threads: int | None = None
    on_progress: Callable[[int, int], None] | None = None

    @cached_property
    def root(self) -> State:
        """The initial state."""
        return initial_state(self.instance)

    @cached_property
    def couples(self) -> bool:
        """Whether some graph can put two prompts into one execution; then states cannot be counted beforehand."""
        return lanes_couple(self.instance)

    @property
    def prices_age(self) -> bool:
        """Whether ages are part of the states."""
        return bool(self.instance.objective.age_price)

    @cached_property
    def charges_launches(self) -> bool:
        """Whether some launch is paid for beyond its time."""
        return charges_launches(self.instance)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Equal requests, merged; without coupled prompts."""
        return merged_axes(self.instance)

    @cached_property
    def states(self) -> int:
        """Reachable unfinished states without symmetry, ages not counted; without coupled prompts."""
        return count_states(self.instance, self.axes)

    @cached_property
    def canonical_states(self) -> int:
        """States up to exchange of equal requests, ages not counted; without coupled prompts."""
        return count_canonical(self.instance, self.axes)

    @property
    def merges(self) -> bool:
        """Whether merging pays: merged states cost more each, and are worth it where there are fewer by half."""
        return 2 * self.canonical_states <= self.states

    @property
    def worst(self) -> bool:
        """Whether the greatest cost is sought."""
        return self.sense is Sense.MIN

    @property
    def workers(self) -> int:
        """Threads to use."""
        return self.threads if self.threads is not None else (os.cpu_count() or 1)

    def most_states(self, own: int | None, state_bytes: int) -> int:
        """States within a backend's own limit, or the one asked for, and within memory."""
        limit = own if self.max_states is None else self.max_states
        fitting = self.max_bytes // state_bytes
        return fitting if limit is None else min(limit, fitting)
