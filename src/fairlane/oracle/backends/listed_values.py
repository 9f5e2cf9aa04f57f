"""Every reachable state's exact value in one pass, for certificates in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.full_table import FullTable
from fairlane.oracle.refusal import Refusal, counted
from fairlane.oracle.rooted_table import exact_table

MAX_STATES = 100_000
# a rational, its best actions, and the expectations of decode sets, by measure
STATE_BYTES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedValues:
    """All values in rationals; see :class:`fairlane.oracle.rational.full_table.FullTable`."""

    name: str = "full_table"
    rounding: Fraction = Fraction(0)
    certificate: CertificateForm = CertificateForm.VALUES

    def most_states(self, problem: Problem) -> int:
        """Its own or the problem's limit."""
        return problem.most_states(MAX_STATES, STATE_BYTES)

    def accepts(self, problem: Problem) -> Refusal | None:
        """Anything of its size without a price on age."""
        if problem.prices_age:
            return Refusal("the full table has no ages in its states")
        most = self.most_states(problem)
        if problem.couples or problem.states <= most:
            return None
        return Refusal.of(counted(problem.instance, problem.states, most, "a certificate"))

    def bytes_needed(self, problem: Problem) -> int:
        """Memory for every state, or for as many as the limit where they cannot be counted."""
        return STATE_BYTES * (self.most_states(problem) if problem.couples else problem.states)

    def sweep(self, problem: Problem) -> Table:
        """Exact values and optimal actions of every reachable state."""
        most = self.most_states(problem)
        engine = FullTable(problem.instance, problem.sense, max_states=most, on_progress=problem.on_progress)
        return exact_table(problem, self.name, engine, states=engine.states, form=self.certificate)


FULL_TABLE: Backend = ListedValues()
