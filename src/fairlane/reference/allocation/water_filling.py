"""Water-filling: the closed form where every request draws on one common resource.

One graph, or actions that serve one request each, leave

    maximise sum_i c_i z_i + f_i log z_i,   0 <= z_i <= 1 (where rows are many),   sum_i z_i = room,

with c_i = v_i r_i, solved by one price: z_i = 1 if price <= c_i + f_i, else f_i / (price - c_i).
"""

from __future__ import annotations

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray


def fill(worth: FloatArray, weights: FloatArray, room: float, *, capped: bool) -> FloatArray:
    """The shares z of the water-filling problem.

    Parameters
    ----------
    worth, weights : ndarray, shape (n,)
        c >= 0 and f > 0.
    room : float
        Sum of the shares, > 0; with caps, at least n gives 1 to everybody.
    capped : bool
        Whether no share exceeds 1.

    Returns
    -------
    ndarray, shape (n,)
        Shares > 0 of sum ``min(room, n)`` (``room`` without caps).
    """
    if not capped:
        return _below(worth, weights, room)
    n = worth.size
    if room >= n:
        return np.ones(n)
    # the requests at their cap are those of largest c + f; the price falls as their number grows
    order = np.argsort(-(worth + weights), kind="stable")
    low, high = 0, min(n, int(np.ceil(room))) - 1
    while low < high:
        # with `middle` capped, does the next one still want more than 1?
        middle = (low + high) // 2
        rest = order[middle:]
        shares = _below(worth[rest], weights[rest], room - middle)
        if shares[0] > 1:
            low = middle + 1
        else:
            high = middle
    out = np.ones(n)
    rest = order[low:]
    out[rest] = np.minimum(_below(worth[rest], weights[rest], room - low), 1.0)
    return out


def _below(worth: FloatArray, weights: FloatArray, room: float) -> FloatArray:
    """f_i / (price - c_i) of sum ``room``, the price written as max c + d so that nothing cancels."""
    short = worth.max() - worth
    total = float(weights.sum())
    # d lies between f_top / room and sum f / room; the shares' sum is convex and falls in d
    d = float(weights[short == 0].sum()) / room
    for _ in range(200):
        shares = weights / (d + short)
        excess = float(shares.sum()) - room
        # Newton on room / sum - 1 in d, which is nearly linear
        step = excess * float(shares.sum()) / (room * float((shares / (d + short)).sum()))
        new = d + step
        if not d < new <= total / room * (1 + 1e-12) or abs(step) <= 1e-16 * d:
            break
        d = new
    shares = weights / (d + short)
    return np.asarray(shares * (room / shares.sum()))
