"""The readable solver on the model's own step: slow, and the yardstick of every other backend."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import MAX_STATES, solve_plain
from fairlane.oracle.refusal import Refusal, counted
from fairlane.oracle.rooted_table import exact_table

# every transition is kept until its state is valued
STATE_BYTES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """Backward induction on the readable step; see :func:`fairlane.oracle.solve_plain`."""

    name: str = "plain"
    rounding: Fraction = Fraction(0)
    certificate: CertificateForm = CertificateForm.VALUES

    def most_states(self, problem: Problem) -> int:
        """Its own or the problem's limit."""
        return problem.most_states(MAX_STATES, STATE_BYTES)

    def accepts(self, problem: Problem) -> Refusal | None:
        """Any instance of its size; ages only multiply the states that are counted."""
        most = self.most_states(problem)
        if problem.couples or problem.states <= most:
            return None
        return Refusal.of(counted(problem.instance, problem.states, most, "the readable solver"))

    def bytes_needed(self, problem: Problem) -> int:
        """Memory for as many states as the limit."""
        return STATE_BYTES * self.most_states(problem)

    def sweep(self, problem: Problem) -> Table:
        """Exact values and optimal actions of every reachable state."""
        most = self.most_states(problem)
        engine = solve_plain(problem.instance, sense=problem.sense, max_states=most, on_progress=problem.on_progress)
        return exact_table(problem, self.name, engine, states=engine.states, form=self.certificate)


PLAIN: Backend = Readable()
