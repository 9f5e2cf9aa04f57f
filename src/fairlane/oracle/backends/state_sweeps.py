"""The compiled sweeps over states without ages, one backend a layout of the states.

One axis a request (blocks), one axis for all requests where all are exchangeable (places), several axes of
exchangeable requests (classes). Only blocks have single precision, for states that doubles have no room for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.cost_table import costs_of
from fairlane.oracle.encoding.packing import Packed, pack
from fairlane.oracle.encoding.rounding import UNIT_ROUNDOFF
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.exact_root import ExactRoot
from fairlane.oracle.refusal import Refusal, counted, oversized
from fairlane.oracle.rooted_table import bounded_table
from fairlane.oracle.sweeps.compiled import bytes_needed, sweep
from fairlane.reference.errors import TooLarge

# beyond this many states single precision has to do
MAX_DOUBLE_STATES = 250_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSweep:
    """A compiled sweep in one layout; see :mod:`fairlane.oracle.sweeps.compiled`.

    ``wants`` says whether the layout suits a problem, or why not.
    """

    name: str
    wants: Callable[[Problem], str | None]
    merged: bool = False
    itemsize: int = 8
    certificate: CertificateForm = CertificateForm.COSTS

    @property
    def rounding(self) -> Fraction:
        """Unit roundoff of its numbers."""
        return UNIT_ROUNDOFF[self.itemsize]

    def most_states(self, problem: Problem) -> int:
        """As many as memory or the problem's limit allow."""
        return problem.most_states(None, self.itemsize)

    def accepts(self, problem: Problem) -> Refusal | None:
        """Problems without ages or coupled prompts that the layout suits and memory holds."""
        if problem.prices_age:
            return Refusal("the compiled sweep has no ages in its states")
        if problem.couples:
            return Refusal("the compiled sweep takes one prompt a graph")
        unwanted = self.wants(problem)
        if unwanted is not None:
            return Refusal(unwanted)
        states = problem.canonical_states if self.merged else problem.states
        what = "states (equal requests merged)" if self.merged else "states"
        if problem.max_states is not None and states > problem.max_states:
            return Refusal.of(counted(problem.instance, states, problem.max_states, "the run"))
        # the costs alone first: packing takes time, too
        needed = states * self.itemsize
        if needed <= problem.max_bytes:
            try:
                needed = self.bytes_needed(problem)
            except TooLarge as error:
                return Refusal.of(error)
        if needed > problem.max_bytes:
            return Refusal.of(oversized(problem.instance, states, what, needed, problem.max_bytes))
        return None

    def bytes_needed(self, problem: Problem) -> int:
        """Memory of the costs and of every thread's tables."""
        return bytes_needed(self._packed(problem), problem.workers, self.itemsize)

    def sweep(self, problem: Problem) -> Table:
        """Costs of every state with the bound on their error; exact values of those that are asked for."""
        swept = sweep(
            self._packed(problem),
            worst=problem.worst,
            threads=problem.workers,
            on_progress=problem.on_progress,
            itemsize=self.itemsize,
        )
        return bounded_table(
            problem,
            self.name,
            ExactRoot(swept, on_progress=problem.on_progress),
            states=problem.states,
            canonical_states=problem.canonical_states if self.merged else None,
            # single precision leaves too many actions for rationals
            exact=self.itemsize == 8,
            form=self.certificate,
            costs=lambda: costs_of(swept),
        )

    def _packed(self, problem: Problem) -> Packed:
        return pack(problem.instance, merge=self.merged, axes=problem.axes)


def _one_class(problem: Problem) -> str | None:
    if len(problem.axes) > 1:
        return "the place sweep takes requests that are all equal"
    return None if problem.merges else "merging equal requests saves too few states"


def _classes(problem: Problem) -> str | None:
    if len(problem.axes) == 1:
        return "the class sweep takes requests of several kinds"
    return None if problem.merges else "merging equal requests saves too few states"


def _within_doubles(problem: Problem) -> str | None:
    return "so many states are swept in single precision" if problem.states > MAX_DOUBLE_STATES else None


def _beyond_doubles(problem: Problem) -> str | None:
    fits = problem.states <= MAX_DOUBLE_STATES and 8 * problem.states <= problem.max_bytes
    return "doubles hold the instance, and single precision says less" if fits else None


PLACES: Backend = StateSweep(name="place_sweep", wants=_one_class, merged=True)
CLASSES: Backend = StateSweep(name="class_sweep", wants=_classes, merged=True)
BLOCKS: Backend = StateSweep(name="block_sweep", wants=_within_doubles)
SINGLE_BLOCKS: Backend = StateSweep(name="block_sweep_single_precision", wants=_beyond_doubles, itemsize=4)
