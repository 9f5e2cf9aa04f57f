"""The batch sweep of tiny instances, asked for one of them: a second opinion on its certified bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.encoding.rounding import UNIT_ROUNDOFF
from fairlane.oracle.kernels.tiny_tables import MOST_STATES
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.refusal import Refusal, counted
from fairlane.oracle.rooted_table import bounded_table
from fairlane.oracle.sweeps.tiny_batch import sweep_records
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.state import State

# a record, and a thread's arrays of local laws and values
RECORD_BYTES = 64 * 2**20


class _Rooted(Sweep):
    """Rationals for every state, and for the initial one the record's bounds."""

    bounds: tuple[float, float]

    def bounds_at(self, state: State) -> tuple[float, float]:
        return self.bounds if self.number_of(state) == 0 else super().bounds_at(state)


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyRecords:
    """One record of the batch; see :mod:`fairlane.oracle.sweeps.tiny_batch`."""

    name: str = "tiny_records"
    rounding: Fraction = UNIT_ROUNDOFF[8]
    certificate: CertificateForm = CertificateForm.NONE

    def most_states(self, problem: Problem) -> int:
        """What the kernel's arrays hold, or the problem's limit."""
        own = MOST_STATES if problem.max_states is None else min(MOST_STATES, problem.max_states)
        return own if problem.max_bytes >= RECORD_BYTES else 0

    def accepts(self, problem: Problem) -> Refusal | None:
        """Small instances without ages or coupled prompts."""
        if problem.prices_age:
            return Refusal("the batch of tiny instances has no ages in its states")
        if problem.charges_launches:
            return Refusal("the batch of tiny instances has no launches that cost energy")
        if problem.couples:
            return Refusal("the batch of tiny instances takes one prompt a graph")
        most = self.most_states(problem)
        if problem.states <= most:
            return None
        return Refusal.of(counted(problem.instance, problem.states, most, "the batch of tiny instances"))

    def bytes_needed(self, problem: Problem) -> int:
        """Memory of the kernel's arrays, whatever the instance."""
        return RECORD_BYTES

    def sweep(self, problem: Problem) -> Table:
        """Certified bounds; exact values in rationals."""
        lower, upper, states, swept = sweep_records((problem.instance,), problem.sense)
        if not swept[0]:
            raise Unsupported("the batch of tiny instances does not hold the instance's numbers")
        engine = _Rooted(problem.instance, problem.sense, self.most_states(problem))
        engine.bounds = float(lower[0]), float(upper[0])
        return bounded_table(problem, self.name, engine, states=int(states[0]), form=self.certificate)


TINY: Backend = TinyRecords()
