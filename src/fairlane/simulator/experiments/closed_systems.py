"""Closed systems small enough for an exact long-run optimum, made to set one effect apart each."""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

LIKELY, UNLIKELY = ("4/5",) * 3, ("1/5",) * 3


def _streams(*outputs: int, accepts: Sequence[tuple[str, ...]] | None = None) -> list[Request]:
    return [
        Request(id=f"d{k}", prompt=0, limit=n, acceptance=accepts[k] if accepts else ()) for k, n in enumerate(outputs)
    ]


def _decode(*rows_and_ms: tuple[int, int]) -> list[Graph]:
    return [Graph(name=f"d{rows}", duration_ms=ms, decode_capacity=rows) for rows, ms in rows_and_ms]


def _prefill(*tokens_and_ms: tuple[int, int]) -> list[Graph]:
    return [Graph(name=f"p{tokens}", duration_ms=ms, prefill_capacity=tokens) for tokens, ms in tokens_and_ms]


def closed_systems() -> tuple[Instance, ...]:
    """The systems, in the order of tables.

    Returns
    -------
    tuple of Instance
        At most some 1,100 states each; the first four without an age price, the others with one and a cap on ages.
    """
    widths = [
        Graph(name="d1w1", duration_ms=10, decode_capacity=1),
        Graph(name="d1w4", duration_ms=16, decode_capacity=1, width=4),
        Graph(name="d2w2", duration_ms=18, decode_capacity=2, width=2),
    ]
    quick = _decode((1, 2), (2, 3))
    slow = _decode((1, 3), (2, 5))
    # one prompt graph and one row: with k prompts between deliveries a cycle lasts 4 k + 3 ms, and best k is by hand
    one_row = [*_prefill((8, 4)), *_decode((1, 3))]

    def prompt(weight: int = 1) -> Request:
        return Request(id="p", prompt=8, limit=1, weight=weight)

    return (
        Instance(
            name="batch-of-four-or-five",
            graphs=_decode((4, 21), (5, 29)),
            requests=_streams(2, 2, 2, 2, 2),
            objective=Objective(decode_value=1),
        ),
        Instance(
            name="unlike-acceptance",
            graphs=widths,
            requests=_streams(8, 8, accepts=[LIKELY, UNLIKELY]),
            objective=Objective(decode_value=1),
        ),
        Instance(
            name="unlike-acceptance-long",
            graphs=widths,
            requests=_streams(24, 24, accepts=[LIKELY, UNLIKELY]),
            objective=Objective(decode_value=1),
        ),
        Instance(
            name="prompt-beside-stream",
            graphs=[*_prefill((2, 2), (8, 6)), *slow],
            requests=[Request(id="p", prompt=8, limit=3), *_streams(4)],
            objective=Objective(decode_value=4),
        ),
        Instance(
            name="aged-three-streams",
            graphs=quick,
            requests=_streams(1, 1, 2),
            objective=Objective(decode_value=1, age_price="1/20"),
            age_cap_ms=12,
        ),
        Instance(
            name="aged-prompt-and-streams",
            graphs=[*_prefill((2, 2), (8, 6)), *quick],
            requests=[prompt(), *_streams(1, 2)],
            objective=Objective(decode_value=2, age_price="1/20"),
            age_cap_ms=16,
        ),
        Instance(
            name="aged-early-leaver",
            graphs=slow,
            requests=_streams(1, 6),
            objective=Objective(decode_value=1, age_price="1/5"),
            age_cap_ms=24,
        ),
        Instance(
            name="aged-unequal-weights",
            graphs=_decode((1, 2), (2, 4)),
            requests=[Request(id=f"d{k}", prompt=0, limit=1, weight=weight) for k, weight in enumerate((1, 4))],
            objective=Objective(decode_value=2, age_price="1/5"),
            age_cap_ms=48,
        ),
        Instance(
            name="aged-prompts-between",
            graphs=one_row,
            requests=[prompt(), *_streams(1)],
            objective=Objective(decode_value=2, age_price="1/10"),
            age_cap_ms=64,
        ),
        Instance(
            name="aged-dear-prompts",
            graphs=one_row,
            requests=[prompt(2), *_streams(1)],
            objective=Objective(decode_value=2, age_price="1/10"),
            age_cap_ms=64,
        ),
    )
