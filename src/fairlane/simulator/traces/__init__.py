"""Real request traces, each in the columns its publisher gave it.

A trace says when requests arrived, how long their prompts were and how much output they had. Every bad row is an error
with its number (1 is the first data row), its column and what was found; unsorted arrivals are sorted with a warning.
"""

from __future__ import annotations

from fairlane.simulator.traces.reading import TRACES, TraceFormat, TraceSpec, detect_format, read_trace
from fairlane.simulator.traces.request_list import ShownLengths, prior_of, requests_of
from fairlane.simulator.traces.trace import Trace, TraceRow, repeated

__all__ = [
    "TRACES",
    "ShownLengths",
    "Trace",
    "TraceFormat",
    "TraceRow",
    "TraceSpec",
    "detect_format",
    "prior_of",
    "read_trace",
    "repeated",
    "requests_of",
]
