"""The compiled sweep with output ages in the states, for instances whose objective prices age."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.encoding.rounding import UNIT_ROUNDOFF
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.aged_root import AgedRoot
from fairlane.oracle.refusal import Refusal
from fairlane.oracle.rooted_table import bounded_table
from fairlane.oracle.sweeps.aged_sweep import FIRST_CAPACITY, PLACE_BYTES, sweep_aged


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedStates:
    """The compiled sweep with ages; see :mod:`fairlane.oracle.sweeps.aged_sweep`."""

    name: str = "aged_sweep"
    rounding: Fraction = UNIT_ROUNDOFF[8]
    certificate: CertificateForm = CertificateForm.NONE

    def most_states(self, problem: Problem) -> int:
        """As many as fill half of the greatest table that memory holds."""
        return problem.most_states(None, 2 * PLACE_BYTES)

    def accepts(self, problem: Problem) -> Refusal | None:
        """A price on age, and one prompt a graph; how many states there are is found on the way."""
        if not problem.prices_age:
            return Refusal("ages are no part of the states where they have no price")
        return Refusal("the compiled sweep takes one prompt a graph") if problem.couples else None

    def bytes_needed(self, problem: Problem) -> int:
        """Memory of the first table, which doubles as often as it is half full."""
        return FIRST_CAPACITY * PLACE_BYTES

    def sweep(self, problem: Problem) -> Table:
        """Costs of every state with the bound on their error; exact values of those that are asked for."""
        costs = sweep_aged(
            problem.instance,
            worst=problem.worst,
            max_bytes=problem.max_bytes,
            max_states=problem.max_states,
            threads=problem.threads,
            on_progress=problem.on_progress,
        )
        return bounded_table(problem, self.name, AgedRoot(costs), states=len(costs.costs), form=self.certificate)


AGED_SWEEP: Backend = AgedStates()
