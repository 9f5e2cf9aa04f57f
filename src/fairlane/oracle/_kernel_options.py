"""Which trie nodes are actions under every pattern of phases, and their least (or greatest) duration. Arrays only."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def _fits(
    pattern_prompts, pattern_rows, n_rows, mask, size, prompt_axis, width, capacity, prefill, rows, g_width, every
):
    if prompt_axis >= 0:
        if prefill != capacity or (pattern_prompts >> prompt_axis) & 1 == 0:
            return False
    elif prefill > 0 and pattern_prompts != 0 and not every:
        # a maximal action fills the prompt lane where a prompt waits
        return False
    if mask & ~pattern_rows:
        return False
    if size > 0 and (g_width != width or size > rows):
        return False
    if not every:
        most = rows if rows < n_rows else n_rows
        if size != most:
            return False
    return True


@njit(cache=True, nogil=True)
def count_or_fill(
    n_axes,
    masks,
    sizes,
    prompt_axes,
    widths,
    capacities,
    durations,
    prefills,
    rows,
    g_widths,
    every,
    start,
    node_out,
    t_out,
):
    """Fill the options of every pattern (base-3 digits, axis 0 least); with empty outputs only count them."""
    n_patterns = 3**n_axes
    filling = node_out.size > 0
    at = 0
    for pattern in range(n_patterns):
        prompts = 0
        decoding = 0
        n_rows = 0
        rest = pattern
        for axis in range(n_axes):
            phase = rest % 3
            rest //= 3
            if phase == 0:
                prompts |= 1 << axis
            elif phase == 1:
                decoding |= 1 << axis
                n_rows += 1
        start[pattern] = at
        for node in range(masks.size):
            best = -1.0
            for g in range(durations.size):
                if _fits(
                    prompts,
                    decoding,
                    n_rows,
                    masks[node],
                    sizes[node],
                    prompt_axes[node],
                    widths[node],
                    capacities[node],
                    prefills[g],
                    rows[g],
                    g_widths[g],
                    every,
                ):
                    t = durations[g]
                    if best < 0.0 or (t > best if every else t < best):
                        best = t
            if best >= 0.0:
                if filling:
                    node_out[at] = node
                    t_out[at] = best
                at += 1
    start[n_patterns] = at
    return at
