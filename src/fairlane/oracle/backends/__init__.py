"""Every backend, in order of preference; a module is imported when its turn comes, since most need arrays.

A new backend is a module here with an object that satisfies :class:`fairlane.oracle.backend.Backend`, and one line
below.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from fairlane.oracle.backend import Backend

# who solves, first come first served
PREFERENCE = (
    "backward_induction:SMALL",
    "aged_induction:SMALL",
    "state_sweeps:PLACES",
    "state_sweeps:CLASSES",
    "state_sweeps:BLOCKS",
    "state_sweeps:SINGLE_BLOCKS",
    "aged_states:AGED_SWEEP",
    "backward_induction:LARGE",
    "aged_induction:LARGE",
)
# who lists the exact values of all states, for certificates in rationals
LISTING = ("listed_values:FULL_TABLE", "aged_induction:LARGE")
# second opinions, that nobody prefers
OTHERS = ("readable:PLAIN", "tiny_records:TINY")


def backends(lines: tuple[str, ...] = PREFERENCE) -> Iterator[Backend]:
    """Backends by their lines in the register, each imported when it is asked for."""
    for line in lines:
        module, _, name = line.partition(":")
        found: Backend = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        yield found


def every_backend() -> tuple[Backend, ...]:
    """All backends, each once."""
    return tuple(backends(tuple(dict.fromkeys((*PREFERENCE, *LISTING, *OTHERS)))))
