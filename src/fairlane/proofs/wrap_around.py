"""McNaughton's wrap-around rule turns row times into cohorts.

Statement: Row times 0 <= z_i <= θ with Σz <= B·θ, laid end to end over B rows of length θ and wrapped where a row ends,
give at every instant a cohort of at most B distinct requests, serve each request for exactly z_i, and form at most one
more cohort than there are requests.

Assumptions: whole or rational times; requests may be served in two pieces.

Source: R. McNaughton, Scheduling with deadlines and loss functions, Management Science 6 (1959),
doi:10.1287/mnsc.6.1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import comb

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, forall, induction, settle


def prove(*, longest: str = "z <= h", room: str = "P + z <= B*h") -> Sequence[Evidence]:
    """Evidence for how long one request may be served and for the room in all rows; h is the length of a row."""
    return settle(
        forall(
            # two instants a < b of one request, on the line of all rows end to end, k whole rows apart
            "P in nonnegative, z in nonnegative, h in positive, a, b, k in count",
            "b - a != k*h",
            given=[longest, "P <= a", "a < b", "b < P + z"],
            label="no request is in two rows at once, any sizes",
        ),
        forall(
            # a request that is split at the end of its row at position e = m h
            "P in nonnegative, z in nonnegative, h in positive, e",
            "(P + z) - e <= P - (e - h)",
            given=[longest, "P <= e", "e <= P + z"],
            label="the piece after the wrap ends before the piece before it begins",
        ),
        induction(
            # positions are handed out in order; P: what is used so far
            "z in nonnegative, h in positive, B in count, P",
            "0 <= P and P <= B*h",
            over="n",
            first=0,
            state={"P": ("0", "P + z")},
            given=[room],
            label="all requests fit in B rows, any number of requests",
        ),
        check_all(
            "every integer case of up to 4 requests, 3 rows, 4 instants",
            [
                (z, b, h)
                for n in range(1, 5)
                for b in range(1, 4)
                for h in range(1, 5)
                for z in product(range(h + 1), repeat=n)
                if sum(z) <= b * h
            ],
            lambda at: _is_schedule(*at),
            count=_n_cases(),
        ),
    )


def _n_cases() -> int:
    """How many z in {0..h}^n have Σz <= B h, by inclusion and exclusion over the entries above h."""

    def within(n: int, h: int, total: int) -> int:
        return sum(
            (-1) ** j * comb(n, j) * comb(total - j * (h + 1) + n, n) for j in range(n + 1) if total >= j * (h + 1)
        )

    return sum(within(n, h, b * h) for n in range(1, 5) for b in range(1, 4) for h in range(1, 5))


def cohorts_of(row_times: Sequence[int], n_rows: int, length: int) -> tuple[tuple[int, ...], ...]:
    """The cohort at each instant 0 … length - 1, requests by index."""
    line = [i for i, time in enumerate(row_times) for _ in range(time)]
    rows = [line[row * length : (row + 1) * length] for row in range(n_rows)]
    return tuple(tuple(row[instant] for row in rows if instant < len(row)) for instant in range(length))


def _is_schedule(row_times: Sequence[int], n_rows: int, length: int) -> bool:
    cohorts = cohorts_of(row_times, n_rows, length)
    served = [sum(cohort.count(i) for cohort in cohorts) for i in range(len(row_times))]
    n_pieces = 1 + sum(a != b for a, b in pairwise(cohorts))
    return (
        served == list(row_times)
        and all(len(set(cohort)) == len(cohort) <= n_rows for cohort in cohorts)
        and n_pieces <= len(row_times) + 1
    )


PROOF = proof_from(
    __doc__,
    "wrap-around",
    prove,
    {
        "a request served longer than the schedule": lambda: prove(longest="z <= 2*h"),
        "more row time than there is": lambda: prove(room="P + z <= (B + 1)*h"),
    },
)
