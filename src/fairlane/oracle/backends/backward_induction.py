"""Backward induction in rationals: without compilation, so the first choice for small instances.

It is also the last resort where numbers leave the range of doubles or graphs put several prompts together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.encoding.reached_states import count_places, count_reached
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.backward_induction import Sweep, numbers_of
from fairlane.oracle.refusal import Refusal, counted
from fairlane.oracle.rooted_table import exact_table

# beyond this many states the compiled sweep starts faster than the rationals end
SMALL_STATES = 3_000
MAX_STATES = 200_000
# a rational, its number and their entry in a dictionary, measured on a million
STATE_BYTES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardInduction:
    """Backward induction up to a number of states; see :class:`fairlane.oracle.rational.backward_induction.Sweep`."""

    preferred: bool
    name: str = "backward_induction"
    rounding: Fraction = Fraction(0)
    certificate: CertificateForm = CertificateForm.VALUES

    def most_states(self, problem: Problem) -> int:
        """A few thousand where it is preferred, otherwise its own or the problem's limit."""
        most = problem.most_states(MAX_STATES, STATE_BYTES)
        return min(SMALL_STATES, most) if self.preferred else most

    def accepts(self, problem: Problem) -> Refusal | None:
        """Anything of its size without a price on age; with coupled prompts only as a last resort."""
        if problem.prices_age:
            return Refusal("backward induction has no ages in its states")
        if problem.couples:
            return Refusal("states are not counted beforehand where graphs couple prompts") if self.preferred else None
        most = self.most_states(problem)
        # the count from above is at once, the exact one needs every local state
        if numbers_of(problem.instance) <= most or problem.states <= most:
            return None
        return Refusal.of(counted(problem.instance, problem.states, most, "backward induction"))

    def bytes_needed(self, problem: Problem) -> int:
        """Memory for every state, or for as many as the limit where they cannot be counted."""
        return STATE_BYTES * (self.most_states(problem) if problem.couples else problem.states)

    def sweep(self, problem: Problem) -> Table:
        """Exact values of every state that the tried actions reach; of others when they are asked for."""
        engine = Sweep(problem.instance, problem.sense, self.most_states(problem))
        root = engine.number_of(problem.root)
        engine.solve(root, problem.on_progress)
        states = count_reached(engine, root) if problem.couples else count_places(engine)
        return exact_table(problem, self.name, engine, states=states, form=self.certificate)


SMALL: Backend = BackwardInduction(preferred=True)
LARGE: Backend = BackwardInduction(preferred=False)
