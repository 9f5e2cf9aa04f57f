"""Who is told that kernels are being compiled: once per installation, and long enough that one would wonder.

No numba here: a command line may ask to be told before anything is imported that compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiling:
    """That compiling begins or has ended.

    ``kernel`` is the qualified name of the kernel that was called; ``begins`` is False when it is done.
    """

    kernel: str
    begins: bool


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
