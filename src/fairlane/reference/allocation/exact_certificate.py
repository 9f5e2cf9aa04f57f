"""A certificate in rationals that holds without trust in any solver or in floating point.

It states shares and token prices; the checker computes the attained rates and the dual value from the problem itself.
With t_i = u_i x_i / f_i and -log t <= 1/t - 1 the loss is at most

    h(v + u) - <v + u, x> + sum_i f_i (t_i - 1)^2 / t_i,

in which no logarithm is left, so that a rational bound exists even where the optimum is irrational.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.certificate import certified_gap
from fairlane.reference.allocation.exact_problem import ExactProblem, exact_problem
from fairlane.reference.allocation.graph_problem import as_catalog, read_requests
from fairlane.reference.allocation.rate_table import NumbersLike
from fairlane.reference.allocation.result import Allocation, GraphAllocation
from fairlane.reference.errors import CertificateRejected, InvalidInstance
from fairlane.reference.exact import as_fraction, found, show
from fairlane.reference.model.request import Request

# shares are whole multiples of this, far below any share that a rate depends on
SHARE_UNIT = Fraction(1, 1 << 400)

Held = tuple[tuple[int, int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationCertificate:
    """Shares and token prices as rationals.

    Parameters
    ----------
    time_shares : tuple of Fraction
        Share of each action or graph, >= 0, of sum 1.
    row_shares : tuple of (graph, request, Fraction), or None
        In the graph form, the share of time in which a request holds a lane of a graph.
    log_prices : tuple of Fraction
        u_i > 0.
    """

    time_shares: tuple[Fraction, ...]
    row_shares: Held | None
    log_prices: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedGap:
    """What the checker established: the loss of utility is at most ``gap``.

    ``relative_gap`` is ``gap / (sum v x + sum f)``; ``rates`` are the exact attained rates.
    """

    gap: Fraction
    relative_gap: Fraction
    rates: tuple[Fraction, ...]


def exact_certificate(allocation: Allocation) -> AllocationCertificate:
    """The certificate of an allocation: its shares rounded to exactly feasible rationals, with its prices.

    Parameters
    ----------
    allocation : Allocation
        Of either form.
    """
    shares = _sum_to_one(allocation.time_shares)
    held: Held | None = None
    if isinstance(allocation, GraphAllocation):
        held = _feasible_rows(allocation, shares)
    return AllocationCertificate(
        time_shares=tuple(share * SHARE_UNIT for share in shares),
        row_shares=held,
        log_prices=tuple(Fraction(u) for u in _better_prices(allocation).tolist()),
    )


def _better_prices(allocation: Allocation) -> FloatArray:
    """The solver's prices, or those of the gradient where they prove at least as much."""
    of_gradient = certified_gap(allocation.problem, allocation.rates, None)[0]
    if of_gradient > allocation.gap:
        return allocation.log_prices
    return allocation.problem.fairness_weights / allocation.rates


def _units(value: float) -> int:
    return int(Fraction(value) / SHARE_UNIT)


def _sum_to_one(shares: FloatArray) -> list[int]:
    units = [max(0, _units(share)) for share in shares.tolist()]
    units[max(range(len(units)), key=units.__getitem__)] += int(1 / SHARE_UNIT) - sum(units)
    return units


def _feasible_rows(allocation: GraphAllocation, shares: Sequence[int]) -> Held:
    problem = allocation.problem
    held: list[tuple[int, int, Fraction]] = []
    for g, graph in enumerate(problem.catalog):
        if shares[g] <= 0:
            continue
        for index, lanes in ((problem.decode_index, graph.decode_capacity), (problem.prefill_index, 1)):
            if lanes == 0 or (index is problem.prefill_index and graph.prefill_capacity == 0):
                continue
            row = {int(i): min(_units(allocation.row_shares[g, i]), shares[g]) for i in index}
            excess = sum(row.values()) - lanes * shares[g]
            for i in sorted(row, key=row.__getitem__, reverse=True):
                if excess <= 0:
                    break
                cut = min(excess, row[i])
                row[i] -= cut
                excess -= cut
            held += [(g, i, units * SHARE_UNIT) for i, units in row.items() if units > 0]
    return tuple(held)


def check_certificate(
    certificate: AllocationCertificate,
    rates_or_graphs: object,
    requests: Iterable[Request] | None = None,
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
    tolerance: float | Fraction | str = 1e-9,
) -> CheckedGap:
    """The exact bound a certificate proves, if it holds and meets the tolerance.

    Parameters
    ----------
    certificate : AllocationCertificate
        The claim.
    rates_or_graphs : table, Catalog, or iterable of Graph
        The problem as it was given to the solver; floats are read by their shortest decimal text.
    requests : iterable of Request or None
        Needed beside a Catalog.
    token_values, fairness_weights : sequence of numbers or None
        v and f.
    tolerance : number
        Largest relative gap that is accepted.

    Returns
    -------
    CheckedGap
        Exact rationals.

    Raises
    ------
    CertificateRejected
        Infeasible shares, a request without rate, a price that is not positive, or a gap above the tolerance.
    InvalidInstance
        The problem itself is outside its domain.
    """
    rows = None
    if requests is not None:
        rows, rates_or_graphs = read_requests(requests), as_catalog(rates_or_graphs)
    _check_exact(certificate)
    problem = exact_problem(rates_or_graphs, rows, token_values=token_values, fairness_weights=fairness_weights)
    limit = as_fraction(tolerance, "tolerance")
    if limit < 0:
        raise InvalidInstance(f"tolerance is {show(limit)}; need >= 0")
    rates = _attained(problem, certificate)
    weights = problem.fairness_weights
    scale = sum((v * x for v, x in zip(problem.token_values, rates, strict=True)), sum(weights, Fraction(0)))
    if len(certificate.log_prices) != len(rates):
        raise CertificateRejected(f"log_prices has {len(certificate.log_prices)} numbers; need {len(rates)}")
    for i, u in enumerate(certificate.log_prices):
        if u <= 0:
            raise CertificateRejected(f"log_prices[{i}] is {show(u)}; need > 0")
    gap = _bound(problem, rates, certificate.log_prices)
    if gap > limit * scale:
        raise CertificateRejected(f"relative gap is about {float(gap / scale):.3g}; need <= {float(limit):.3g}")
    return CheckedGap(gap=gap, relative_gap=gap / scale, rates=rates)


def _check_exact(certificate: AllocationCertificate) -> None:
    """Every number is a rational: a NaN among them would pass every comparison that asks for a violation."""
    if not isinstance(certificate, AllocationCertificate):
        raise CertificateRejected(f"certificate is {found(certificate)}; need an AllocationCertificate")
    for name in ("time_shares", "log_prices"):
        numbers = getattr(certificate, name)
        if not isinstance(numbers, tuple):
            raise CertificateRejected(f"{name} is {found(numbers)}; need a tuple of rationals")
        for i, number in enumerate(numbers):
            if type(number) not in (int, Fraction):
                raise CertificateRejected(f"{name}[{i}] is {found(number)}; need a rational")
    held = certificate.row_shares
    if held is None:
        return
    if not isinstance(held, tuple):
        raise CertificateRejected(f"row_shares is {found(held)}; need a tuple of (graph, request, share)")
    for i, row in enumerate(held):
        if not (
            isinstance(row, tuple)
            and len(row) == 3
            and type(row[0]) is int
            and type(row[1]) is int
            and type(row[2]) in (int, Fraction)
        ):
            raise CertificateRejected(f"row_shares[{i}] is {found(row)}; need (graph, request, rational share)")


def _bound(problem: ExactProblem, rates: Sequence[Fraction], log_prices: Sequence[Fraction]) -> Fraction:
    prices = [v + u for v, u in zip(problem.token_values, log_prices, strict=True)]
    total = problem.best_action(prices)[2]
    for p, u, x, f in zip(prices, log_prices, rates, problem.fairness_weights, strict=True):
        t = u * x / f
        total += f * (t - 1) * (t - 1) / t - p * x
    return total


def _attained(problem: ExactProblem, certificate: AllocationCertificate) -> tuple[Fraction, ...]:
    shares = certificate.time_shares
    if len(shares) != len(problem.rows):
        raise CertificateRejected(f"time_shares has {len(shares)} numbers; need {len(problem.rows)}")
    for a, share in enumerate(shares):
        if share < 0:
            raise CertificateRejected(f"time_shares[{a}] is {show(share)}; need >= 0")
    if sum(shares) != 1:
        raise CertificateRejected(f"time_shares sum to about {float(sum(shares))!r}; need exactly 1")
    rates = [Fraction(0)] * len(problem.token_values)
    if problem.capacities is None:
        if certificate.row_shares is not None:
            raise CertificateRejected("row_shares are given; need None beside explicit actions")
        for share, row in zip(shares, problem.rows, strict=True):
            if share:
                for i, rate in row:
                    rates[i] += share * rate
    else:
        _add_rows(problem, certificate, rates)
    for i, x in enumerate(rates):
        if x <= 0:
            raise CertificateRejected(f"request {i} has the rate 0; need > 0")
    return tuple(rates)


def _add_rows(problem: ExactProblem, certificate: AllocationCertificate, rates: list[Fraction]) -> None:
    assert problem.capacities is not None
    if certificate.row_shares is None:
        raise CertificateRejected("row_shares is missing; need them beside graphs")
    shares = certificate.time_shares
    prefilling = set(problem.prefilling)
    decode_rates = [dict(row) for row in problem.rows]
    used: dict[tuple[int, bool], Fraction] = {}
    seen: set[tuple[int, int]] = set()
    for g, i, share in certificate.row_shares:
        where = f"row share of graph {g}, request {i}"
        if not (0 <= g < len(shares) and 0 <= i < len(rates)) or (g, i) in seen:
            raise CertificateRejected(f"{where} is out of range or given twice; need each pair once")
        seen.add((g, i))
        if not 0 <= share <= shares[g]:
            raise CertificateRejected(f"{where} is about {float(share)!r}; need 0 to the graph's {float(shares[g])!r}")
        prompt = i in prefilling
        rate = problem.prefill_rates[g] if prompt else decode_rates[g].get(i, Fraction(0))
        rates[i] += share * rate
        used[g, prompt] = used.get((g, prompt), Fraction(0)) + share
    for (g, prompt), total in used.items():
        # a prompt that comes first takes all the capacity, so prompts share one lane's time whatever the lanes
        room = shares[g] if prompt else problem.capacities[g] * shares[g]
        if total > room:
            part = "prefill" if prompt else "decode"
            raise CertificateRejected(f"{part} rows of graph {g} hold about {float(total)!r}; need <= {float(room)!r}")
