"""Student's t distribution with any degrees of freedom, fractional ones too: tails, density and quantiles.

The tail is half a regularised incomplete beta function at (dof/2, 1/2): a series of positive terms near the middle,
around the normal tail for many degrees of freedom, a continued fraction otherwise. A quantile starts from Hill's
approximation and takes steps of the third order, mostly one. Against mpmath relative errors stay below 1e-12 for
probabilities down to 1e-15 and 1 to 1e6 degrees of freedom; the tests say where.

References
----------
G. W. Hill, "Algorithm 396: Student's t-quantiles", CACM 13 (1970), doi:10.1145/355598.355600.
M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988),
doi:10.2307/2347330.
A. R. DiDonato, A. H. Morris, "Algorithm 708: significant digit computation of the incomplete beta function ratios",
ACM TOMS 18 (1992), doi:10.1145/131766.131776, section 9 (BGRAT).
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, kernel

MOST_TERMS = 5000
MOST_STEPS = 60
# p_n of DiDonato and Morris (9.3) for b = 1/2, from n = 1
P = (
    -1.0 / 12.0,
    1.0 / 160.0,
    -61.0 / 120960.0,
    1261.0 / 29030400.0,
    -79.0 / 20275200.0,
    3.5833354634507906e-07,
    -3.349747072060578e-08,
    3.1675854343161146e-09,
    -3.0210368517370963e-10,
    2.900415787669253e-11,
)


@callee
def log_gamma_half_step(x):
    """Logarithm of gamma(x + 1/2) / gamma(x), without the difference of two large logarithms."""
    # raised to x >= 16, where the series in 1/x has ten digits to spare
    shift = 0.0
    while x < 16.0:
        shift += math.log(x / (x + 0.5))
        x += 1.0
    r = 1.0 / x
    r2 = r * r
    # DLMF 5.11.13 in logarithms: odd powers of 1/x alone
    series = r * (-1.0 / 8.0 + r2 * (1.0 / 192.0 + r2 * (-1.0 / 640.0 + r2 * (17.0 / 14336.0 - r2 * 31.0 / 18432.0))))
    return 0.5 * math.log(x) + series + shift


@kernel
def log_density(t, dof):
    """Logarithm of the density at t."""
    return log_gamma_half_step(0.5 * dof) - 0.5 * math.log(math.pi * dof) - 0.5 * (dof + 1.0) * math.log1p(t * t / dof)


@callee
def beta_fraction(a, x):
    """Continued fraction of the incomplete beta function at (a, 1/2), for x below (a + 1) / (a + 5/2)."""
    c = 1.0
    d = 1.0 / (1.0 - (a + 0.5) * x / (a + 1.0))
    value = d
    for m in range(1, MOST_TERMS):
        even = m * (0.5 - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        value *= d * c
        odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        value *= d * c
        if abs(d * c - 1.0) < 4e-16:
            break
    return value


@callee
def beta_by_normal(a, x, log_x, log_ratio):
    """The incomplete beta function at (a, 1/2) for large a, around the tail of the normal law."""
    t = a - 0.25
    u = -t * log_x
    root = math.sqrt(u)
    # H(1/2, u) and M of the paper; gamma(1/2) is the square root of pi
    h = math.exp(-u) * root / math.sqrt(math.pi)
    j = math.erfc(root) / h
    total = j
    square = 0.25 * log_x * log_x
    power = 1.0
    for n in range(len(P)):
        b = 0.5 + 2.0 * n
        j = (b * (b + 1.0) * j + (u + b + 1.0) * power) / (4.0 * t * t)
        power *= square
        total += P[n] * j
        if abs(P[n] * j) < 1e-17 * total:
            break
    return h * math.exp(log_ratio) / math.sqrt(t) * total


@callee
def split(t, dof):
    """Probabilities above t and between 0 and t, and the density at t, for t >= 0.

    The smaller of the two probabilities is exact to its last digits.
    """
    a = 0.5 * dof
    square = t * t
    log_x = -math.log1p(square / dof)
    log_ratio = log_gamma_half_step(a)
    density = math.exp(log_ratio + (a + 0.5) * log_x) / math.sqrt(math.pi * dof)
    if square < 1.5:
        # a hypergeometric series of positive terms, about t²/2n each the one before
        y = square / (dof + square)
        term = total = 1.0
        n = 0
        while term > 1e-17 * total:
            term *= (a + 0.5 + n) * y / (1.5 + n)
            total += term
            n += 1
        # density times t is x^a y^(1/2) / B(a, 1/2)
        between = density * t * total
        return 0.5 - between, between, density
    x = dof / (dof + square)
    if a >= 15.0 and x > 0.5:
        above = 0.5 * beta_by_normal(a, x, log_x, log_ratio)
    else:
        above = density * t * beta_fraction(a, x) / dof
    return above, 0.5 - above, density


@kernel
def tail(t, dof):
    """Probability above t, for t >= 0."""
    return split(t, dof)[0]


@kernel
def cumulative(t, dof):
    """Probability at or below t."""
    return tail(-t, dof) if t < 0.0 else 1.0 - tail(t, dof)


@callee
def normal_upper_quantile(q):
    """The number with probability q above it under the standard normal law, 0 < q <= 1/2, to seven digits."""
    away = 0.5 - q
    if away <= 0.425:
        r = 0.180625 - away * away
        top = ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179
        return away * top / (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0)
    r = math.sqrt(-math.log(q))
    if r <= 5.0:
        r -= 1.6
        top = ((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777
        return top / ((0.12021132975 * r + 0.73700164250) * r + 1.0)
    r -= 5.0
    top = ((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150
    return top / ((0.012258202635 * r + 0.24197894225) * r + 1.0)


@callee
def rough_upper_quantile(q, dof):
    """Hill's approximation, three digits or more from two degrees of freedom on."""
    a = 1.0 / (dof - 0.5)
    b = 48.0 / (a * a)
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * math.sqrt(a * math.pi / 2.0) * dof
    y = math.pow(d * 2.0 * q, 2.0 / dof)
    if y > 0.05 + a:
        x = -normal_upper_quantile(q)
        y = x * x
        if dof < 5.0:
            c += 0.3 * (dof - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        return math.sqrt(dof * math.expm1(a * y * y))
    inner = 1.0 / (((dof + 6.0) / (dof * y) - 0.089 * d - 0.822) * (dof + 2.0) * 3.0) + 0.5 / (dof + 4.0)
    y = (inner * y - 1.0) * (dof + 1.0) / (dof + 2.0) + 1.0 / y
    return math.sqrt(dof * y)


@kernel
def upper_quantile(q, dof):
    """The t >= 0 with probability q above it, for 0 < q <= 1/2."""
    if q == 0.5:
        return 0.0
    t = rough_upper_quantile(q, dof) if dof > 1.5 else 1.0 / math.tan(math.pi * q)
    for _ in range(MOST_STEPS):
        above, between, density = split(t, dof)
        if between < above:
            # near the middle, by the probability between 0 and t; t solves t'' = t'² t (dof + 1) / (dof + t²)
            step = (0.5 - q - between) / density
            bend = 0.5 * t * (dof + 1.0) / (dof + t * t)
            t += step * (1.0 + step * bend)
            if abs(step) < 1e-5 * t:
                break
        else:
            # log tail against log t is concave and nearly straight far out: no start diverges
            hazard = t * density / above
            step = math.log(above / q) / hazard
            # second derivative of log t as a function of log tail, from the same differential equation
            bend = 0.5 * ((dof + 1.0) * t * t / (dof + t * t) - 1.0 - hazard)
            step *= 1.0 + step * bend if abs(step * bend) < 0.1 else 1.0
            t *= math.exp(step)
            if abs(step) < 1e-5:
                break
    return t


@kernel
def quantile(p, dof):
    """The number with probability p at or below it, for 0 < p < 1."""
    return -upper_quantile(p, dof) if p < 0.5 else upper_quantile(1.0 - p, dof)


@kernel
def positive_quantile(u, dof, location, scale):
    """Quantile at u in [0, 1) of location + scale t, given that it is above zero."""
    zero = -location / scale
    # a keyed uniform may be 0, a cost never
    u = max(u, 2.0**-54)
    if zero <= 0.0:
        # worked in upper tails: keeps the digits of a small probability below zero, and of u near 1
        below = tail(-zero, dof)
        p = below + u * (1.0 - below)
        t = -upper_quantile(p, dof) if p < 0.5 else upper_quantile((1.0 - u) * (1.0 - below), dof)
    else:
        t = upper_quantile((1.0 - u) * tail(zero, dof), dof)
    value = location + scale * t
    if value <= 0.0:
        # u so small that the quantile is lost in rounding: the density is flat between zero and it
        above = 1.0 - tail(-zero, dof) if zero <= 0.0 else tail(zero, dof)
        value = u * above * scale / math.exp(log_density(zero, dof))
    return value


@kernel
def positive_mean(dof, location, scale):
    """Mean of location + scale t given that it is above zero, for dof > 1."""
    zero = -location / scale
    above = 1.0 - tail(-zero, dof) if zero <= 0.0 else tail(zero, dof)
    excess = dof / (dof - 1.0) * (1.0 + zero * zero / dof) * math.exp(log_density(zero, dof)) / above
    return location + scale * excess
