"""Backward induction in rationals with output ages in the states, for instances whose objective prices age."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.aged_induction import AgedSweep
from fairlane.oracle.rational.backward_induction import numbers_of
from fairlane.oracle.refusal import Refusal, counted
from fairlane.oracle.rooted_table import exact_table

SMALL_STATES = 3_000
MAX_STATES = 200_000
# a rational, its key with the ages and their entry in a dictionary
STATE_BYTES = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedInduction:
    """Aged backward induction; see :class:`fairlane.oracle.rational.aged_induction.AgedSweep`."""

    preferred: bool
    name: str = "aged_backward_induction"
    rounding: Fraction = Fraction(0)
    certificate: CertificateForm = CertificateForm.VALUES

    def most_states(self, problem: Problem) -> int:
        """A few thousand where it is preferred, otherwise its own or the problem's limit."""
        most = problem.most_states(MAX_STATES, STATE_BYTES)
        return min(SMALL_STATES, most) if self.preferred else most

    def accepts(self, problem: Problem) -> Refusal | None:
        """A price on age, and as many states at most without their ages, which only multiply them."""
        if not problem.prices_age:
            return Refusal("ages are no part of the states where they have no price")
        if problem.couples:
            return Refusal("states are not counted beforehand where graphs couple prompts") if self.preferred else None
        most = self.most_states(problem)
        if numbers_of(problem.instance) <= most or problem.states <= most:
            return None
        return Refusal.of(counted(problem.instance, problem.states, most, "backward induction with ages"))

    def bytes_needed(self, problem: Problem) -> int:
        """Memory for as many states as the limit; how many there are is only known afterwards."""
        return STATE_BYTES * self.most_states(problem)

    def sweep(self, problem: Problem) -> Table:
        """Exact values of every state that the tried actions reach; of others when they are asked for."""
        engine = AgedSweep(problem.instance, problem.sense, self.most_states(problem))
        engine.solve(engine.key_of(problem.root), problem.on_progress)
        states = len(engine.reachable_states())
        return exact_table(problem, self.name, engine, states=states, form=self.certificate)


SMALL: Backend = AgedInduction(preferred=True)
LARGE: Backend = AgedInduction(preferred=False)
