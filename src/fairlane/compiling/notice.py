"""Who is told that kernels are being compiled: once per installation, and long enough that one would wonder.

No numba here: a command line may ask to be told before anything is imported that compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiling:
    """That compiling begins or has ended.

    ``kernel`` is the qualified name of the kernel that was called; ``begins`` is False when it is done.
    """

    kernel: str
    begins: bool


_told: list[Callable[[Compiling], None]] = []
_watching: list[Any] = []


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


def watch() -> None:
    """Pass numba's events on, of this package's kernels only; called where the first kernel is defined."""
    if _watching:
        return
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        def __init__(self) -> None:
            # numba compiles under a lock, and what a kernel calls is compiled within it
            self.depth = 0
            self.kernel = ""

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                function = event.data["dispatcher"].py_func
                if not function.__module__.startswith("fairlane."):
                    return
                self.kernel = f"{function.__module__}.{function.__qualname__}"
                _tell(Compiling(kernel=self.kernel, begins=True))
            self.depth += 1

        def on_end(self, event: Any) -> None:
            if self.depth == 0:
                return
            self.depth -= 1
            if self.depth == 0:
                _tell(Compiling(kernel=self.kernel, begins=False))

    listener = Listener()
    _watching.append(listener)
    event.register("numba:compile", listener)


def _tell(what: Compiling) -> None:
    for listener in tuple(_told):
        listener(what)
