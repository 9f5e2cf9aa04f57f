"""The decorators of kernels. Importing this module imports numba; faces import kernels where they call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

from fairlane.compiling.cache import keep
from fairlane.compiling.notice import Compiling, tell

# Kernels allocate nothing, so they go without numba's reference counts: for arrays that are handed from function to
# function those are atomic and cost more than a short loop (120 against 25 ns a call, measured), and without the
# entry that C would call.
UNCOUNTED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
# no entry from Python, which takes as long to compile as a short function
CALLEE: dict[str, Any] = UNCOUNTED | {"no_cpython_wrapper": True}
INNER: dict[str, Any] = CALLEE | {"forceinline": True}


class _Watch(event.Listener):  # type: ignore[misc]  # numba has no types
    """Passes numba's events on, of this package's kernels only."""

    def __init__(self) -> None:
        # numba compiles under a lock, and what a kernel calls is compiled within its own time
        self.depth = 0
        self.kernel = ""

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            function = event.data["dispatcher"].py_func
            if not function.__module__.startswith("fairlane."):
                return
            self.kernel = f"{function.__module__}.{function.__qualname__}"
            tell(Compiling(kernel=self.kernel, begins=True))
        self.depth += 1

    def on_end(self, event: Any) -> None:
        if self.depth == 0:
            return
        self.depth -= 1
        if self.depth == 0:
            tell(Compiling(kernel=self.kernel, begins=False))


event.register("numba:compile", _Watch())


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function that Python calls; its machine code is kept."""
    return keep(njit(**UNCOUNTED)(function))


def callee(function: Callable[..., Any]) -> Any:
    """What only kernels call: compiled into them, so that nothing of its own is kept."""
    return njit(**CALLEE)(function)


def inner(function: Callable[..., Any]) -> Any:
    """The same, always a part of its caller.

    A dozen arrays handed over cost more than a short loop (16 against 9 us an instance, measured).
    """
    return njit(**INNER)(function)


def part(function: Callable[..., Any]) -> Any:
    """What one kernel calls in one place, made a part of it before anything is compiled."""
    return njit(**UNCOUNTED, inline="always")(function)
