"""Starved requests: those with one wait far longer than serving everyone live once would have taken.

A wait runs from a request's arrival, or from the end of a graph that held it, to the start of the next graph that
holds it; a wait still open counts up to the boundary. A request is starved when one wait is longer than ``factor``
times the sum, over the requests live when the wait began, of the shortest graph that can serve each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.publication_table import Floats, Integers

DEFAULT_FACTOR = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service:
    """Which graph launches held which request, and the phases of the requests.

    Attributes
    ----------
    request : int64, shape (s,)
        Index of the request of each lane.
    start_ms, end_ms : float64, shape (s,)
        The launch it was part of; each request's lanes appear in the order of time.
    arrival_ms : float64, shape (n,)
        Arrivals.
    decoding_ms : float64, shape (n,)
        When the prompt was consumed; the arrival of one that arrives decoding; infinity if it never was.
    finished_ms : float64, shape (n,)
        When it finished; infinity if it did not.
    served : bool, shape (n,)
        False for rejected requests, which wait for nothing and are not live.
    shortest_prefill_ms, shortest_decode_ms : float
        Shortest graph with prefill (decode) capacity; anything finite where there is none.
    boundary_ms : float
        End of the measurement.
    """

    request: Integers
    start_ms: Floats
    end_ms: Floats
    arrival_ms: Floats
    decoding_ms: Floats
    finished_ms: Floats
    served: npt.NDArray[np.bool_]
    shortest_prefill_ms: float
    shortest_decode_ms: float
    boundary_ms: float


def starved(service: Service, *, factor: float = DEFAULT_FACTOR) -> npt.NDArray[np.bool_]:
    """Which requests had a wait beyond the bound.

    Parameters
    ----------
    service : Service
        Launches and phases of a run.
    factor : float
        Multiple of the time to serve everyone live once, > 0.

    Returns
    -------
    bool, shape (n,)
        Cost O((n + s) log (n + s)).

    Raises
    ------
    InvalidInstance
        ``factor`` is not a finite number > 0.
    """
    if not (np.isfinite(factor) and factor > 0):
        raise InvalidInstance(f"starvation factor is {factor}; need a finite number > 0")
    n = len(service.arrival_ms)
    alive = np.flatnonzero(service.served).astype(np.int64)
    out = np.zeros(n, dtype=bool)
    # a stable sort by request keeps each request's lanes in time order
    order = np.argsort(service.request, kind="stable")
    request, start, end = service.request[order], service.start_ms[order], service.end_ms[order]
    opening = np.ones(len(request), dtype=bool)
    opening[1:] = request[1:] != request[:-1]
    began = np.empty(len(request))
    began[1:] = end[:-1]
    began[opening] = service.arrival_ms[request[opening]]
    # the wait after the last launch of a request that has not finished, or of one never launched, is open
    last_end = service.arrival_ms.copy()
    closing = np.ones(len(request), dtype=bool)
    closing[:-1] = opening[1:]
    last_end[request[closing]] = end[closing]
    waiting = alive[service.finished_ms[alive] > service.boundary_ms]
    who = np.concatenate((request, waiting))
    began = np.concatenate((began, last_end[waiting]))
    length = np.concatenate((start, np.full(len(waiting), service.boundary_ms))) - began
    bound = factor * _one_round_ms(service, alive, began)
    out[who[length > bound]] = True
    return out


def _one_round_ms(service: Service, alive: Integers, at_ms: Floats) -> Floats:
    """Shortest graphs summed over the requests live at each instant; whoever finishes then is gone, arrivals are in."""
    arrived = np.searchsorted(np.sort(service.arrival_ms[alive]), at_ms, side="right")
    decoding = np.searchsorted(np.sort(service.decoding_ms[alive]), at_ms, side="right")
    gone = np.searchsorted(np.sort(service.finished_ms[alive]), at_ms, side="right")
    return (arrived - decoding) * service.shortest_prefill_ms + (decoding - gone) * service.shortest_decode_ms
