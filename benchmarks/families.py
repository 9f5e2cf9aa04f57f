"""Families of episodes whose sizes are known by hand, for benchmarks.

    python benchmarks/families.py m6 > m6.json

A name is a kind and the number of requests, 1 to 9 (`s`: to 12):

- ``m``: three templates in turn, so requests can be merged by class;
- ``s``: one template, so all requests can be merged;
- ``u``: nine different templates, so none can be merged;
- ``w``: output limit 40 and verification widths to 8, with very many outcomes an action;
- ``a``: a short template and a positive price on age, so that ages are part of the state.

A request with a prompt of p tokens and an output limit of l has p prompt remainders, l - 1 outputs between its first
and its last (one more where it arrives decoding) and one end: p + l local states, l + 1 without a prompt. That is 10 in
``m``, ``s`` and ``u``, 41 in ``w``, 4 in ``a``, and N requests have its Nth power of states, the final one included.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction

from fairlane.reference.model.codec import instance_to_json
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

MOST_REQUESTS = 9
BATCHES = (1, 2, 4)
PREFILL_CAPACITIES = (1, 2)
ACCEPTANCE = Fraction(7, 10)

# (prompt, output limit) of the requests in turn
TEMPLATES: dict[str, tuple[tuple[int, int], ...]] = {
    "m": ((3, 7), (2, 8), (1, 9)),
    "s": ((3, 7),),
    "u": ((3, 7), (2, 8), (1, 9), (4, 6), (5, 5), (6, 4), (0, 9), (7, 3), (8, 2)),
    "w": ((0, 40),),
    "a": ((1, 3),),
}


def hazard(kind: str, length: int) -> Fraction:
    """Probability that an output ends at ``length`` tokens, given that it has come so far."""
    if kind == "w":
        return Fraction(1, 16)
    return Fraction(3, 10) if length % 2 else Fraction(1, 5)


def prior(kind: str, limit: int) -> dict[int, Fraction]:
    """Length prior of a request: the hazard below ``limit``, all that is left at it."""
    alive = Fraction(1)
    law: dict[int, Fraction] = {}
    for length in range(1, limit):
        law[length] = alive * hazard(kind, length)
        alive -= law[length]
    law[limit] = alive
    return law


def decode_ms(rows: int, width: int) -> Fraction:
    """Duration of a decode graph, growing with rows, width and their product."""
    return 2 + Fraction(2 * rows + 3 * width + rows * width, 10)


def catalog(widths: tuple[int, ...]) -> list[Graph]:
    """Two prefill graphs, a decode graph of every batch and width, and a mixed one."""
    graphs = [Graph(name=f"p{c}", duration_ms=2 + c, prefill_capacity=c) for c in PREFILL_CAPACITIES]
    graphs += [
        Graph(name=f"d{b}w{w}", duration_ms=decode_ms(b, w), decode_capacity=b, width=w)
        for b in BATCHES
        for w in widths
    ]
    graphs.append(Graph(name="mix", duration_ms="9/2", prefill_capacity=1, decode_capacity=2, width=1))
    return graphs


def family(name: str) -> Instance:
    """The instance of a name such as ``m6``.

    Parameters
    ----------
    name : str
        A kind (m, s, u, w or a) and a number of requests.

    Raises
    ------
    ValueError
        Another name.
    """
    kind, digits = name[:1], name[1:]
    most = 12 if kind == "s" else MOST_REQUESTS
    if kind not in TEMPLATES or not digits.isdecimal() or not 1 <= int(digits) <= most:
        raise ValueError(f"family is {name!r}; need one of {', '.join(TEMPLATES)} and a number of requests from 1 up")
    widths = (1, 2, 4, 8) if kind == "w" else (1, 2, 4)
    templates = TEMPLATES[kind]
    requests = []
    for i in range(int(digits)):
        prompt, limit = templates[i % len(templates)]
        requests.append(
            Request(
                id=f"r{i}",
                prompt=prompt,
                limit=limit,
                length_prior=prior(kind, limit),
                acceptance=[ACCEPTANCE] * (widths[-1] - 1),
            )
        )
    objective = Objective(
        prefill_value=0,
        decode_value="3/2",
        time_price=1,
        completion_price="1/2",
        age_price="1/20" if kind == "a" else 0,
    )
    return Instance(graphs=catalog(widths), requests=requests, objective=objective, name=name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("need one name, such as m6")
    try:
        json.dump(instance_to_json(family(sys.argv[1])), sys.stdout, indent=1)
    except ValueError as error:
        sys.exit(str(error))
