"""An instance: graphs, requests and an objective; the one format of episodes and workloads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, show
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


class Regenerates(StrEnum):
    """How a continuing workload goes on after a completion."""

    REQUEST = "request"
    EPISODE = "episode"


def why_unservable(graphs: Iterable[Graph], request: Request, *, length_known: bool = False) -> str | None:
    """Why no graph can bring a request to its end, or None where some can.

    A prompt needs prefill capacity; output beyond the first token of a prompt, and all output of a request
    that arrives decoding, needs decode capacity. The hidden length counts only where ``length_known``, in a
    simulation: the law of an instance does not depend on it.
    """
    rows = tuple(graphs)
    if request.prompt > 0 and not any(g.prefill_capacity > 0 for g in rows):
        return f"its prompt of {request.prompt} tokens needs a graph with prefill_capacity > 0"
    longest = request.limit
    if request.length_prior is not None:
        longest = min(longest, request.length_prior[-1][0])
    if length_known and request.output_length is not None and request.length_prior is None:
        longest = min(longest, request.output_length)
    after_prompt = 1 if request.prompt > 0 else 0
    if longest - request.generated > after_prompt and not any(g.decode_capacity > 0 for g in rows):
        return "its output needs a graph with decode_capacity > 0"
    return None


@dataclass(frozen=True, slots=True, init=False)
class Instance:
    """A completion episode, or the template of a continuing workload.

    Parameters
    ----------
    graphs : Catalog or iterable of Graph
        At least one, distinct names.
    requests : iterable of Request
        At least one, distinct ids, each servable.
    objective : Objective
        Values and prices.
    regenerates : Regenerates
        Used by long-run calculations only.
    age_cap_ms : number or None
        Largest age a continuing workload keeps, > 0; needed there where ``age_price`` is positive.
    name : str
        A label for reports; the file's stem when read from a file.

    Raises
    ------
    InvalidInstance
        No request, duplicate ids, or a request that no graph can serve.
    """

    graphs: Catalog
    requests: tuple[Request, ...]
    objective: Objective
    regenerates: Regenerates
    age_cap_ms: Fraction | None
    name: str

    def __init__(
        self,
        *,
        graphs: Catalog | Iterable[Graph],
        requests: Iterable[Request],
        objective: Objective,
        regenerates: Regenerates = Regenerates.REQUEST,
        age_cap_ms: Real | str | None = None,
        name: str = "instance",
    ) -> None:
        catalog = graphs if isinstance(graphs, Catalog) else Catalog(graphs)
        rows = tuple(requests)
        if not rows:
            raise InvalidInstance("requests is empty; need at least one request")
        seen: dict[str, int] = {}
        for i, request in enumerate(rows):
            if request.id in seen:
                raise InvalidInstance(
                    f"requests[{i}].id is {request.id!r}, already that of requests[{seen[request.id]}]; need distinct"
                )
            seen[request.id] = i
            reason = why_unservable(catalog, request)
            if reason is not None:
                raise InvalidInstance(f"requests[{i}] ({request.id!r}) can be served by no graph: {reason}")
        write = object.__setattr__
        write(self, "graphs", catalog)
        write(self, "requests", rows)
        write(self, "objective", objective)
        write(self, "regenerates", Regenerates(regenerates))
        cap = None if age_cap_ms is None else as_fraction(age_cap_ms, "age_cap_ms")
        if cap is not None and cap <= 0:
            raise InvalidInstance(f"age_cap_ms is {show(cap)}; need > 0")
        write(self, "age_cap_ms", cap)
        write(self, "name", name)
