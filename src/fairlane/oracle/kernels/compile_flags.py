"""How the sweeps' kernels are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

# Kernels allocate nothing, so they go without numba's reference counts: for arrays that are handed from function to
# function those are atomic and cost more than a short loop (120 against 25 ns a call, measured).
UNCOUNTED: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}

kernel: Any = njit(**UNCOUNTED)

# What only kernels call: no entry from Python, which takes as long to compile as a short function, and always a part
# of its caller, since a dozen arrays handed over cost more than a short loop (16 against 9 us an instance, measured).
INLINED: dict[str, Any] = UNCOUNTED | {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner: Any = njit(**INLINED)
