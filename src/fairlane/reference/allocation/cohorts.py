"""From shares of time to whole cohorts and a periodic schedule of launches.

In one graph with share theta the row shares z_i <= theta of B rows, sum z_i <= B theta, are laid end to end on a line
and the line is cut every theta: a request that crosses a cut ends one row and begins the next, and as z_i <= theta its
two pieces do not overlap (McNaughton's wrap-around rule). Between two neighbouring ends the same requests run: a
cohort. Prompts are laid on one more line of their own. So the compact form is exactly the hull of all cohorts: each
cohort satisfies its inequalities, and each of its points is a mixture of cohorts.

Lengths are integers (units of 2^-160), so nothing is lost or counted twice. A request that holds parts of rows in two
graphs makes an end in both; moving share between its graphs, all rates and rows kept, until as few parts as possible
are left (a vertex of the transportation polytope) bounds the cohorts by requests plus rows.

Shares are of wall time: a cohort of share s and duration T is launched in proportion to s / T.

References
----------
McNaughton, R. (1959). Scheduling with deadlines and loss functions. Management Science 6(1), theorem 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from itertools import pairwise

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray, frozen
from fairlane.reference.allocation.basic_rows import basic_rows
from fairlane.reference.allocation.graph_problem import GraphProblem
from fairlane.reference.allocation.rate_table import RateTable
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, found, show

UNITS = 1 << 160
# lengths this close (relative to the graph's) to a whole number of rows are rounding, not idle rows
SNAP = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """A graph or action with the requests in its lanes, and its share of wall time.

    Parameters
    ----------
    action : int
        Catalog place of the graph, or row of the table.
    requests : tuple of int
        Places of its requests, ascending.
    share : Fraction
        Fraction of wall time, > 0.
    """

    action: int
    requests: tuple[int, ...]
    share: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSchedule:
    """One period of whole launches.

    Parameters
    ----------
    launches : tuple of int
        Launches of each cohort in a period.
    cycle_ms : Fraction
        Length of the period.
    rates : ndarray of float64, shape (n_requests,)
        Tokens per millisecond that repeating the period attains.
    rate_error : float
        Largest relative distance of these rates from the allocation's; 1 where a request gets nothing.
    """

    launches: tuple[int, ...]
    cycle_ms: Fraction
    rates: FloatArray
    rate_error: float

    def order(self) -> Iterator[int]:
        """Cohorts in the order of launch, launch k of n at (2 k + 1) / (2 n) of the period."""
        turns = [(Fraction(1, 2 * count), c, 1) for c, count in enumerate(self.launches) if count]
        heapify(turns)
        while turns:
            _, c, k = turns[0]
            yield c
            if k < self.launches[c]:
                heapreplace(turns, (Fraction(2 * k + 1, 2 * self.launches[c]), c, k + 1))
            else:
                heappop(turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortShares:
    """Cohorts whose mixture attains the rates of an allocation; shares sum to 1.

    Parameters
    ----------
    cohorts : tuple of Cohort
        By action, in the order of their timeline.
    durations_ms : tuple of Fraction
        Duration of every graph or action.
    problem : RateTable or GraphProblem
        Where the rates of a lane come from.
    """

    cohorts: tuple[Cohort, ...]
    durations_ms: tuple[Fraction, ...]
    problem: RateTable | GraphProblem

    def rates(self) -> FloatArray:
        """Tokens per millisecond of each request under the shares."""
        return _mixed(self, [float(cohort.share) for cohort in self.cohorts])

    def schedule(self, cycle_ms: Real | str) -> LaunchSchedule:
        """Whole launches of about ``cycle_ms`` a period, rounded so that the time shares are hit best.

        Every cohort is launched floor or floor + 1 times, so the error falls as 1 / cycle_ms.
        """
        return launch_schedule(self, cycle_ms)


def action_cohorts(table: RateTable, time_shares: FloatArray, durations_ms: Sequence[Real] | None) -> CohortShares:
    """The explicit actions of positive share.

    Raises
    ------
    InvalidInstance
        A wrong number of durations, or one that is not positive.
    """
    n_actions = time_shares.size
    if durations_ms is not None and not isinstance(durations_ms, Iterable):
        raise InvalidInstance(f"durations_ms is {found(durations_ms)}; need one number an action")
    given = (1,) * n_actions if durations_ms is None else tuple(durations_ms)
    if len(given) != n_actions:
        raise InvalidInstance(f"durations_ms has {len(given)} numbers; need {n_actions}, one an action")
    durations = tuple(as_fraction(value, f"durations_ms[{a}]") for a, value in enumerate(given))
    for a, duration in enumerate(durations):
        if duration <= 0:
            raise InvalidInstance(f"durations_ms[{a}] is {show(duration)}; need > 0")
    units = {int(a): int(Fraction(float(time_shares[a])) * UNITS) for a in np.flatnonzero(time_shares)}
    total = sum(units.values())
    cohorts = []
    for a, length in units.items():
        row = table.rates[[a]]
        served = np.flatnonzero(row if isinstance(row, np.ndarray) else row.toarray())
        if length:
            cohorts.append(Cohort(action=a, requests=tuple(served.tolist()), share=Fraction(length, total)))
    return CohortShares(cohorts=tuple(cohorts), durations_ms=durations, problem=table)


def graph_cohorts(problem: GraphProblem, shares: FloatArray, row_shares: FloatArray, rates: FloatArray) -> CohortShares:
    """At most requests plus rows cohorts that attain the rates of time and row shares."""
    decode, prefill = problem.decode_index, problem.prefill_index
    held = basic_rows(problem.decode_rates, row_shares[:, decode], shares, problem.decode_rows.astype(np.float64))
    lengths = {int(g): int(Fraction(float(shares[g])) * UNITS) for g in np.flatnonzero(shares > 0)}
    prompts = _prompt_lines(lengths, problem.prefill_rates, prefill, rates)
    pieces: list[tuple[int, tuple[int, ...], int]] = []
    for g, length in lengths.items():
        if length == 0:
            continue
        intervals: list[tuple[int, int, int]] = []
        if problem.decode_rows[g] and decode.size:
            intervals += _wrapped(_units(held[g], decode.tolist(), length), length, int(problem.decode_rows[g]))
        intervals += prompts.get(g, [])
        pieces += [(g, members, size) for members, size in _segments(intervals, length)]
    total = sum(size for _, _, size in pieces)
    return CohortShares(
        cohorts=tuple(Cohort(action=g, requests=members, share=Fraction(size, total)) for g, members, size in pieces),
        durations_ms=tuple(graph.duration_ms for graph in problem.catalog),
        problem=problem,
    )


def _prompt_lines(
    lengths: dict[int, int], prefill_rates: FloatArray, prefill: np.ndarray, rates: FloatArray
) -> dict[int, list[tuple[int, int, int]]]:
    """Prompts laid end to end over all graphs with prefill capacity, so that each graph's end splits at most one."""
    working = [g for g, length in lengths.items() if length and prefill_rates[g] > 0]
    if not prefill.size or not working:
        return {}
    speeds = {g: Fraction(float(prefill_rates[g])) for g in working}
    room = sum((speeds[g] * lengths[g] for g in working), Fraction(0))
    tokens = [Fraction(float(x)) for x in rates[prefill]]
    scale = room / sum(tokens)
    lines: dict[int, list[tuple[int, int, int]]] = {g: [] for g in working}
    place, at = 0, 0
    for k, (i, share) in enumerate(zip(prefill.tolist(), tokens, strict=True)):
        left = share * scale
        while left > 0 and place < len(working):
            g = working[place]
            size = min(int(left / speeds[g]), lengths[g] - at)
            if k == len(tokens) - 1:
                # the last prompt takes what truncation left over
                size = lengths[g] - at
            if size == 0:
                if lengths[g] == at:
                    place, at = place + 1, 0
                    continue
                break
            lines[g].append((at, at + size, i))
            at += size
            left -= size * speeds[g]
            if at == lengths[g]:
                place, at = place + 1, 0
    return lines


def _units(held: FloatArray, requests: Iterable[int], length: int) -> list[tuple[int, int]]:
    return [(i, min(int(Fraction(z) * UNITS), length)) for i, z in zip(requests, held.tolist(), strict=True) if z > 0]


def _wrapped(items: list[tuple[int, int]], length: int, rows: int) -> list[tuple[int, int, int]]:
    """(start, end, request) on the timeline [0, length) of a graph, by the wrap-around rule."""
    whole = [(0, length, i) for i, size in items if size == length]
    parts = [[i, size] for i, size in items if 0 < size < length]
    room = (rows - len(whole)) * length
    total = sum(size for _, size in parts)
    if parts and length:
        nearest = round(Fraction(total, length)) * length
        target = min(nearest if abs(total - nearest) <= SNAP * length else total, room)
        # rounding is made good on the longest parts, which feel it least
        parts.sort(key=lambda part: -part[1])
        change = target - total
        for part in parts:
            new = min(max(part[1] + change, 0), length)
            change -= new - part[1]
            part[1] = new
            if change == 0:
                break
    out = whole
    at = 0
    for i, size in parts:
        if size == 0:
            continue
        end = at + size
        if end <= length:
            out.append((at, end, i))
        else:
            out += [(at, length, i), (0, end - length, i)]
        at = end % length
    return out


def _segments(intervals: list[tuple[int, int, int]], length: int) -> list[tuple[tuple[int, ...], int]]:
    """Maximal stretches of one timeline over which the same requests run; idle stretches are left out."""
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for start, end, i in intervals:
        starts.setdefault(start, []).append(i)
        ends.setdefault(end, []).append(i)
    running: set[int] = set()
    out: dict[tuple[int, ...], int] = {}
    cuts = sorted({0, length, *starts, *ends})
    for here, there in pairwise(cuts):
        running.difference_update(ends.get(here, ()))
        running.update(starts.get(here, ()))
        if running:
            members = tuple(sorted(running))
            out[members] = out.get(members, 0) + there - here
    return list(out.items())


def _mixed(shares: CohortShares, weights: Sequence[float]) -> FloatArray:
    problem = shares.problem
    n = problem.token_values.size
    rates = np.zeros(n)
    if isinstance(problem, RateTable):
        theta = np.zeros(problem.rates.shape[0])
        for cohort, weight in zip(shares.cohorts, weights, strict=True):
            theta[cohort.action] += weight
        return frozen(np.asarray(theta @ problem.rates))
    place = np.zeros(n, dtype=np.int64)
    place[problem.decode_index] = np.arange(problem.decode_index.size)
    prompt = np.zeros(n, dtype=np.bool_)
    prompt[problem.prefill_index] = True
    for cohort, weight in zip(shares.cohorts, weights, strict=True):
        members = np.array(cohort.requests)
        first = prompt[members]
        rates[members[first]] += weight * problem.prefill_rates[cohort.action]
        rates[members[~first]] += weight * problem.decode_rates[cohort.action, place[members[~first]]]
    return frozen(rates)


def launch_schedule(shares: CohortShares, cycle_ms: Real | str) -> LaunchSchedule:
    """Whole launches for a period of about ``cycle_ms``.

    Parameters
    ----------
    shares : CohortShares
        Cohorts with their shares of time.
    cycle_ms : number
        Wanted length of a period in milliseconds, > 0.

    Returns
    -------
    LaunchSchedule
        Its own length differs from the wanted one by the rounding of whole launches.

    Raises
    ------
    InvalidInstance
        A length that is not positive.
    """
    wanted = as_fraction(cycle_ms, "cycle_ms")
    if wanted <= 0:
        raise InvalidInstance(f"cycle_ms is {show(wanted)}; need > 0")
    durations = [shares.durations_ms[cohort.action] for cohort in shares.cohorts]
    exact = [cohort.share * wanted / duration for cohort, duration in zip(shares.cohorts, durations, strict=True)]
    launches = [int(count) for count in exact]
    left = wanted - sum((n * t for n, t in zip(launches, durations, strict=True)), Fraction(0))
    # what rounding down left over goes to the cohorts that lost most of a launch
    for c in sorted(range(len(exact)), key=lambda c: (launches[c] - exact[c], c)):
        if durations[c] <= left or not any(launches):
            launches[c] += 1
            left -= durations[c]
    cycle = sum((n * t for n, t in zip(launches, durations, strict=True)), Fraction(0))
    rates = _mixed(shares, [float(n * t / cycle) for n, t in zip(launches, durations, strict=True)])
    goal = shares.rates()
    return LaunchSchedule(
        launches=tuple(launches),
        cycle_ms=cycle,
        rates=rates,
        rate_error=float(np.abs(rates / goal - 1).max()),
    )
