"""The compact form of a graph problem: no cohort is ever enumerated.

The rate region of a catalog, the convex hull of the rates of all its cohorts, is exactly

    x_i = sum_g r_gi z_gi,   0 <= z_gi <= theta_g,   sum_i z_gi <= B_g theta_g,   sum_g theta_g = 1

over the decoding requests, where z_gi is the fraction of time in which i holds a row of g; for a part of B_g rows any
such z is a mixture of cohorts by McNaughton's wrap-around rule (see `cohorts`). Backlogged prompts that come first
take all the capacity of their graph, so a prefill part has the one bound sum_i z_gi <= theta_g whatever its lanes;
every prompt has the same rate c_g there, so the prefill part is x_i >= 0, sum_i x_i <= sum_g c_g theta_g. Given theta
the two parts of a mixed graph are independent: their wrap-around timelines overlay.

Two reductions keep the solver's work and its degeneracy small: a graph with at least as many rows as decoding requests
serves all of them (z = theta), and a part of one row has no bound z <= theta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray, IntArray
from fairlane.reference.allocation.graph_problem import GraphProblem

# beside values that large no weight can be seen; a positive floor keeps its logarithm
LEAST_WEIGHT = 1e-250


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompactForm:
    """Scaled arrays: every request's best rate is 1, and weights and values sum to about 1.

    Parameters
    ----------
    graphs : ndarray of int64
        Catalog places of the graphs that serve somebody.
    row_rates : ndarray, shape (n_parts, n_decode)
        Rates in the decode parts with fewer rows than requests; the parts of more than one row come first.
    part_graph, rows : ndarrays, shape (n_parts,)
        Place in ``graphs`` and rows B of each part.
    n_boxed : int
        Parts of more than one row.
    full_rates : ndarray, shape (n_graphs, n_decode), or None
        Rates in the graphs that serve all decoding requests at once, 0 for the others.
    prefill_rates : ndarray, shape (n_graphs,)
        Prompt tokens per unit of time, largest 1.
    values, weights : ndarrays, shape (n_decode,)
        Scaled v and f of the decoding requests; ``prefill_values`` and ``prefill_weights`` likewise.
    decode_scale, prefill_scale, utility_scale : ndarray, float, float
        rate = scaled rate * scale; utility = scaled utility * utility_scale.
    """

    graphs: IntArray
    row_rates: FloatArray
    part_graph: IntArray
    rows: FloatArray
    n_boxed: int
    full_rates: FloatArray | None
    prefill_rates: FloatArray
    values: FloatArray
    weights: FloatArray
    prefill_values: FloatArray
    prefill_weights: FloatArray
    decode_scale: FloatArray
    prefill_scale: float
    utility_scale: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompactPoint:
    """What a solver of the compact form hands back, in scaled units.

    ``row_shares`` belongs to the parts of the form; ``prices`` are u = p - v, the log part of the token prices.
    """

    time_shares: FloatArray
    row_shares: FloatArray
    rates: FloatArray
    prices: FloatArray
    prefill_rates: FloatArray
    prefill_prices: FloatArray
    n_steps: int


def compact_form(problem: GraphProblem) -> CompactForm:
    """The scaled compact form of a graph problem."""
    n_decode, n_prefill = problem.decode_index.size, problem.prefill_index.size
    serves_decode = (problem.decode_rows > 0) & (n_decode > 0)
    serves_prefill = (problem.prefill_rates > 0) & (n_prefill > 0)
    graphs = np.flatnonzero(serves_decode | serves_prefill)
    rates = problem.decode_rates[graphs]
    scale = rates.max(axis=0, initial=0.0)
    rates /= scale
    rows = problem.decode_rows[graphs]
    prefill = np.where(serves_prefill[graphs], problem.prefill_rates[graphs], 0.0)
    prefill_scale = float(prefill.max(initial=0.0)) or 1.0
    prefill /= prefill_scale
    values = problem.token_values[problem.decode_index] * scale
    prefill_values = problem.token_values[problem.prefill_index] * prefill_scale
    weights = problem.fairness_weights
    full = (rows >= n_decode) & (n_decode > 0)
    largest = 0.0
    if problem.token_values.any():
        best_prefill = float(prefill_values.max(initial=0.0))
        for g, n_rows in enumerate(rows.tolist()):
            worth = rates[g] * values
            top = worth if n_rows >= n_decode else np.partition(worth, n_decode - n_rows - 1)[n_decode - n_rows :]
            largest = max(largest, float(top.sum()) + float(prefill[g]) * best_prefill)
    utility_scale = float(weights.sum()) + largest
    parts = np.flatnonzero(~full & (rows > 0)) if n_decode else np.zeros(0, dtype=np.int64)
    parts = np.concatenate([parts[rows[parts] > 1], parts[rows[parts] == 1]])
    return CompactForm(
        graphs=graphs,
        row_rates=rates[parts],
        part_graph=parts,
        rows=rows[parts].astype(np.float64),
        n_boxed=int((rows[parts] > 1).sum()),
        full_rates=np.where(full[:, None], rates, 0.0) if full.any() else None,
        prefill_rates=prefill,
        values=values / utility_scale,
        weights=np.maximum(weights[problem.decode_index] / utility_scale, LEAST_WEIGHT),
        prefill_values=prefill_values / utility_scale,
        prefill_weights=np.maximum(weights[problem.prefill_index] / utility_scale, LEAST_WEIGHT),
        decode_scale=scale,
        prefill_scale=prefill_scale,
        utility_scale=utility_scale,
    )


def expand(problem: GraphProblem, form: CompactForm, point: CompactPoint) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Graph shares, row shares and token prices in the problem's own units, the shares made feasible.

    Rounding leaves shares that break a bound by a few units in the last place; they are clipped, and a part that holds
    more than its rows is scaled down.

    Returns
    -------
    time_shares, row_shares, prices : ndarrays, shapes (n_graphs,), (n_graphs, n_requests), (n_requests,)
        Shares are >= 0 and the time shares sum to 1.
    """
    shares = np.clip(point.time_shares.astype(np.float64), 0.0, None)
    shares /= shares.sum()
    held = np.clip(point.row_shares.astype(np.float64), 0.0, shares[form.part_graph][:, None])
    if held.size:
        # the rates are more exact than the row shares of a request whose weight is tiny: let the shares follow
        by_rows = np.einsum("pi,pi->i", form.row_rates, held)
        wanted = point.rates.astype(np.float64)
        if form.full_rates is not None:
            wanted = wanted - shares @ form.full_rates
        follow = (wanted > 0) & (by_rows > 0)
        held *= np.where(follow, wanted / np.where(follow, by_rows, 1.0), 1.0)
        np.minimum(held, shares[form.part_graph][:, None], out=held)
        total = held.sum(axis=1)
        room = form.rows * shares[form.part_graph]
        over = total > room
        held[over] *= (room[over] / total[over])[:, None]
    time_shares = np.zeros(len(problem.catalog))
    time_shares[form.graphs] = shares
    row_shares = np.zeros((len(problem.catalog), len(problem.requests)))
    if form.decode_scale.size:
        decode = np.zeros((form.graphs.size, form.decode_scale.size))
        if form.full_rates is not None:
            all_served = form.full_rates.any(axis=1)
            decode[all_served] = shares[all_served][:, None]
        decode[form.part_graph] = held
        row_shares[np.ix_(form.graphs, problem.decode_index)] = decode
    if problem.prefill_index.size:
        portion = point.prefill_rates.astype(np.float64)
        portion = portion / portion.sum()
        working = np.where(form.prefill_rates > 0, shares, 0.0)
        row_shares[np.ix_(form.graphs, problem.prefill_index)] = working[:, None] * portion
    log_prices = np.empty(len(problem.requests))
    log_prices[problem.decode_index] = point.prices.astype(np.float64) * form.utility_scale / form.decode_scale
    log_prices[problem.prefill_index] = (
        point.prefill_prices.astype(np.float64) * form.utility_scale / form.prefill_scale
    )
    return time_shares, row_shares, log_prices


def rates_of(problem: GraphProblem, row_shares: FloatArray) -> FloatArray:
    """Tokens per millisecond of each request from its row shares."""
    rates = np.empty(len(problem.requests))
    decode, prefill = problem.decode_index, problem.prefill_index
    if prefill.size == 0:
        return np.asarray(np.einsum("gi,gi->i", problem.decode_rates, row_shares))
    rates[decode] = np.einsum("gi,gi->i", problem.decode_rates, row_shares[:, decode])
    rates[prefill] = problem.prefill_rates @ row_shares[:, prefill]
    return rates
