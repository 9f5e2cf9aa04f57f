"""The physical costs of executions, drawn by key: graph and execution count, never by what was scheduled before.

One execution of graph g, the k-th, takes

    gpu = mean * mismatch * exp(e_k - s²/2) * (outlier factor or 1) + first-use penalty if k = 0,   plus host,

with e_k = rho e_(k-1) + s sqrt(1 - rho²) n_k, so that noise keeps the mean and is correlated from one execution of a
graph to its next. The normal n_k is made by Box and Muller from two keyed uniforms.
"""

from __future__ import annotations

import math

import numpy as np

from fairlane.compiling.flags import kernel

TICKS_PER_MS = 1_000_000
# columns of the table of laws
GPU, HOST, FIRST, NOISE, CORRELATION, OUTLIERS, OUTLIER, MISSING, ZERO, OCCUPANCY, CONTEXT = range(11)
N_LAW = 11
# columns of the table of changes
AT, OF, TO = range(3)
# what a timer shows
SHOWN, NOTHING, ZEROED = range(3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def absorb(state, word):
    """Hash state after one more word; `fairlane.simulator.draws.absorb`, compiled."""
    z = state + GOLDEN * (np.uint64(word) + ONE)
    z = (z ^ (z >> S30)) * MULTIPLY_1
    z = (z ^ (z >> S27)) * MULTIPLY_2
    return z ^ (z >> S31)


@kernel
def unit(state):
    """A hash as a number in [0, 1)."""
    return np.float64(state >> S11) * 2.0**-53


@kernel
def mean_gpu(laws, changes, graph, busy_ms):
    """The regime's mean at an occupied time; changes are in order of time."""
    mean = laws[graph, GPU]
    for k in range(len(changes)):
        if changes[k, OF] == graph and changes[k, AT] <= busy_ms:
            mean = changes[k, TO]
    return mean


@kernel
def mismatch(laws, graph, occupancy, context_tokens):
    """What the catalog's geometry does not say: fewer rows may be cheaper, longer contexts dearer."""
    return (1.0 + laws[graph, OCCUPANCY] * (occupancy - 1.0)) * (1.0 + laws[graph, CONTEXT] * context_tokens / 1000.0)


@kernel
def conditional_mean(laws, changes, noise, counts, graph, busy_ms, occupancy, context_tokens):
    """Expected cost of the next execution, given the regime and the noise of the graph's last one."""
    s = laws[graph, NOISE]
    rho = laws[graph, CORRELATION]
    gpu = mean_gpu(laws, changes, graph, busy_ms) * mismatch(laws, graph, occupancy, context_tokens)
    if counts[graph] > 0:
        # the log of the multiplier is normal with mean rho e - s²/2 and variance s² (1 - rho²)
        gpu *= math.exp(rho * noise[graph] - 0.5 * s * s * rho * rho)
    gpu *= 1.0 + laws[graph, OUTLIERS] * (laws[graph, OUTLIER] - 1.0)
    if counts[graph] == 0:
        gpu += laws[graph, FIRST]
    return gpu + laws[graph, HOST]


@kernel
def execute(stream, laws, changes, noise, counts, graph, busy_ms, occupancy, context_tokens, out):
    """Run the next execution of a graph: its GPU and host parts in ms into ``out``; what its timer shows."""
    count = counts[graph]
    counts[graph] = count + 1
    key = absorb(absorb(stream, graph), count)
    s = laws[graph, NOISE]
    gpu = mean_gpu(laws, changes, graph, busy_ms) * mismatch(laws, graph, occupancy, context_tokens)
    if s > 0.0:
        # 1 - u lies in (0, 1]
        radius = math.sqrt(-2.0 * math.log(1.0 - unit(absorb(key, 0))))
        normal = radius * math.cos(2.0 * math.pi * unit(absorb(key, 1)))
        rho = laws[graph, CORRELATION]
        noise[graph] = s * normal if count == 0 else rho * noise[graph] + s * math.sqrt(1.0 - rho * rho) * normal
        gpu *= math.exp(noise[graph] - 0.5 * s * s)
    if laws[graph, OUTLIERS] > 0.0 and unit(absorb(key, 2)) < laws[graph, OUTLIERS]:
        gpu *= laws[graph, OUTLIER]
    if count == 0:
        gpu += laws[graph, FIRST]
    out[0] = gpu
    out[1] = laws[graph, HOST]
    lost = laws[graph, MISSING] + laws[graph, ZERO]
    if lost > 0.0:
        u = unit(absorb(key, 3))
        if u < laws[graph, MISSING]:
            return NOTHING
        if u < lost:
            return ZEROED
    return SHOWN


@kernel
def draw_history(stream, laws, changes, noise, counts, graph, parts, out):
    """Durations of a graph's next executions in whole nanoseconds, as ms, at occupied time 0."""
    for k in range(len(out)):
        execute(stream, laws, changes, noise, counts, graph, 0.0, 1.0, 0.0, parts)
        ticks = max(1, int(parts[0] * TICKS_PER_MS + 0.5)) + int(parts[1] * TICKS_PER_MS + 0.5)
        out[k] = ticks / TICKS_PER_MS
