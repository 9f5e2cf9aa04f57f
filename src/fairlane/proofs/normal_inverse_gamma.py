"""Conjugate updates of the normal-inverse-gamma model.

Statement: Observing a mean z with weight w turns NIG(m, κ, α, β) into κ' = κ + w, m' = (κm + wz)/(κ + w),
α' = α + w/2, β' = β + κw(z - m)²/(2(κ + w)); any number of such updates equals one update with the totals Σw, Σwz,
Σwz², so their order does not matter.

Assumptions: κ > 0, w > 0; a likelihood raised to the power w, of which w = 1 is an ordinary observation.

Source: the posterior formulas of the source's section on retained estimates; standard conjugacy, here as identities of
rational functions in the parameters, the data, μ and 1/σ².
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.nonnegativity import certify_nonnegative
from fairlane.proofs.obligations import check_all, prove_identity, settle

_SHIFT = "k*w*(z-m)**2/(2*(k+w))"
_LOCATION = "(k*m + w*z)/(k+w)"
Parameters = tuple[Fraction, Fraction, Fraction, Fraction]  # m, kappa, alpha, beta


def prove(*, location: str = _LOCATION, shift: str = _SHIFT, shape: str = "a + w/2") -> Sequence[Evidence]:
    """Evidence for the new location, what is added to beta, and the new shape.

    ``l`` stands for log σ², ``s`` for σ², ``u`` for μ; terms of the log density that hold neither are constants.
    """

    def log_density(m: str, k: str, a: str, b: str) -> str:
        return f"-({a}+1)*l - ({b})/s - l/2 - ({k})*(u-({m}))**2/(2*s)"

    likelihood = "- w*l/2 - w*(z-u)**2/(2*s)"
    # totals: W, S, Q stand for the sums of w, w z and w z² so far
    batch_location = "(k*m + S)/(k + W)"
    batch_scale = "b + (Q + k*m**2 - (k*m + S)**2/(k + W))/2"

    def at_totals(text: str) -> str:
        return text.replace("W", "(W + w)").replace("S", "(S + w*z)").replace("Q", "(Q + w*z**2)")

    def one_step(text: str) -> str:
        # the update applied to the batch's own parameters
        return text.replace("m", "M").replace("k", "K").replace("M", f"({batch_location})").replace("K", "(k + W)")

    return settle(
        prove_identity(
            "m, k in positive, a, b in positive, w in positive, z, u, l, s in positive",
            f"{log_density('m', 'k', 'a', 'b')} {likelihood}",
            log_density(location, "k+w", shape, f"b + {shift}"),
            label="prior density times likelihood is the updated density",
        ),
        prove_identity(
            "m, k in positive, W in nonnegative, S, w in positive, z",
            at_totals(batch_location),
            one_step(location),
            label="one more update: location",
        ),
        prove_identity(
            "m, k in positive, b, W in nonnegative, S, Q, w in positive, z",
            at_totals(batch_scale),
            f"{batch_scale} + {one_step(shift)}",
            label="one more update: beta",
        ),
        # what one update adds to the spread of a batch, cleared of k + w
        certify_nonnegative(
            "(k + w)*(w*z**2 + k*m**2) - (k*m + w*z)**2",
            [("k*w", "z-m")],
            nonnegative=["k", "w"],
            label="beta never falls",
        ),
        prove_identity(
            "m, k in positive, b",
            batch_scale.replace("W", "0").replace("S", "0").replace("Q", "0"),
            "b",
            label="no update: beta",
        ),
        check_all(
            "updates in every order against the formula of a batch, with its own sum of squares",
            list(permutations((Fraction(3), Fraction(5, 2), Fraction(7), Fraction(1, 3)))),
            _equals_batch,
            count=24,
        ),
    )


def updated(prior: Parameters, mean: Fraction, weight: Fraction = Fraction(1)) -> Parameters:
    """The parameters after observing a mean with a weight."""
    m, kappa, alpha, beta = prior
    total = kappa + weight
    return (
        (kappa * m + weight * mean) / total,
        total,
        alpha + weight / 2,
        beta + kappa * weight * (mean - m) ** 2 / (2 * total),
    )


def _equals_batch(data: Sequence[Fraction]) -> bool:
    m, kappa, alpha, beta = start = (Fraction(4), Fraction(1, 4), Fraction(2), Fraction(16))
    n, mean = len(data), sum(data, Fraction(0)) / len(data)
    spread = sum(((y - mean) ** 2 for y in data), Fraction(0))
    batch = (
        (kappa * m + n * mean) / (kappa + n),
        kappa + n,
        alpha + Fraction(n, 2),
        beta + spread / 2 + kappa * n * (mean - m) ** 2 / (2 * (kappa + n)),
    )
    for y in data:
        start = updated(start, y)
    return start == batch


PROOF = proof_from(
    __doc__,
    "normal-inverse-gamma",
    prove,
    {
        "the location forgets the prior's weight": lambda: prove(location="(m + w*z)/(1+w)"),
        "the half in beta is forgotten": lambda: prove(shift="k*w*(z-m)**2/(k+w)"),
        "the shape gains a whole observation": lambda: prove(shape="a + w"),
    },
)
