"""Who is told that kernels are being compiled: once per installation, and long enough that one would wonder.

No numba here: a command line may ask to be told before anything is imported that compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Processor seconds from the first kernel of a call to its last on two cores of 2024, by the module of the first one.
SECONDS = {
    "fairlane.oracle.kernels.blocks": 8,
    "fairlane.oracle.kernels.multisets": 7,
    "fairlane.oracle.kernels.aged": 2,
    "fairlane.oracle.kernels.tiny": 9,
    "fairlane.reference.checker.kernels.deviations": 3,
    "fairlane.reference.checker.kernels.deviations_alone": 3,
    "fairlane.simulator.kernels.fixed_value": 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiling:
    """That compiling begins or has ended.

    ``kernel`` is the qualified name of the kernel that was called; ``begins`` is False when it is done.
    """

    kernel: str
    begins: bool

    @property
    def seconds(self) -> int | None:
        """About how long it takes, if that was measured."""
        return SECONDS.get(self.kernel.rpartition(".")[0])


_told: list[Callable[[Compiling], None]] = []


@contextmanager
def told(listener: Callable[[Compiling], None]) -> Iterator[None]:
    """Tell a listener, for the length of a block, when compiling begins and ends in this process.

    Machine code that is found on disk is not compiled. The listener is called in the thread that compiles.
    """
    _told.append(listener)
    try:
        yield
    finally:
        _told.remove(listener)


def tell(what: Compiling) -> None:
    """Tell everybody who asked."""
    for listener in tuple(_told):
        listener(what)
