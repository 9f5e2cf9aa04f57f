"""How the sweeps' kernels are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

# Kernels allocate nothing, so they go without numba's reference counts: for arrays that are handed from function to
# function those are atomic and cost more than a short loop (120 against 25 ns a call, measured), and without the
# entry that C would call.
UNCOUNTED: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}

kernel: Any = njit(**UNCOUNTED)

# What only kernels call: no entry from Python, which takes as long to compile as a short function.
callee: Any = njit(**UNCOUNTED | {"no_cpython_wrapper": True})

# The same, always a part of its caller: a dozen arrays handed over cost more than a short loop (16 against 9 us an
# instance, measured).
inner: Any = njit(**UNCOUNTED | {"no_cpython_wrapper": True, "forceinline": True})
