"""Bound of the discretionary exploration time.

Statement: With credit minted at a = α/(1-α) per ms of credited ordinary service and capped, a probe allowed only at
full credit and charged its whole duration, and idle time that discards positive credit but no debt, every completion
has E <= a·F + D: E probe time, F credited ordinary time, D the latest probe's duration. Credit minted on E + F breaks
this.

Assumptions: credit starts at zero; a positive cap; "full" may be judged with a tolerance up to the cap.

Source: the foreground exploration allowance of the source's section on learning graph timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_equal, forall, induction, refute_forall, settle

# event 0: credited ordinary completion, 1: probe, 2: idle, anything else: a completion that earns and spends nothing
_VARIABLES = (
    "event in natural, d in positive, a in positive, cap in positive, slack in nonnegative, c,"
    " E in nonnegative, F in nonnegative, D in nonnegative"
)


def prove(
    *,
    spent: str = "c - d",
    idle: str = "min(c, 0)",
    allowed: str = "c >= cap - slack",
) -> Sequence[Evidence]:
    """Evidence for what a probe and idle time leave of the credit, and when a probe may start."""
    after = f"min(cap, c + a*d) if event == 0 else (({spent}) if event == 1 else (({idle}) if event == 2 else c))"
    return settle(
        induction(
            _VARIABLES,
            "E <= a*F - c and c >= -D and D >= 0 and c <= cap",
            over="n",
            first=0,
            state={
                "c": ("0", after),
                "E": ("0", "E + d if event == 1 else E"),
                "F": ("0", "F + d if event == 0 else F"),
                "D": ("0", "d if event == 1 else D"),
            },
            assume=["slack <= cap"],
            given=[f"implies(event == 1, {allowed})"],
            label="E <= a F - credit, and debt is at most the latest probe, after any number of events",
        ),
        forall("E, F, D, a, c", "E <= a*F + D", given=["E <= a*F - c", "c >= -D"], label="E <= a F + D"),
        # by hand: cap 1, a = 1: earn 1 ms, then probes of 1 ms that earn their own cost back start again and again
        check_equal(
            "credit minted on probes too: E after three probes on F = 1", _self_funding_probes(3), 3, beside=False
        ),
        refute_forall(
            "E in nonnegative, F in nonnegative, D in nonnegative, b in open_unit",
            "E <= b/(1-b)*F + D",
            {"b": Fraction(1, 2), "E": 2, "F": 0, "D": 1},
            given=["E <= b*(E + F) + D"],
            label="an allowance on E + F does not give the constant D",
        ),
        forall(
            "E in nonnegative, F in nonnegative, D in nonnegative, b in open_unit",
            "E <= b/(1-b)*F + D/(1-b)",
            given=["E <= b*(E + F) + D"],
            label="it gives the constant D/(1 - alpha)",
        ),
        check_all(
            "ordinary service that funds a 5 ms cap, by hand: 245, 2495 and 995 ms",
            [(Fraction(1, 50), 245), (Fraction(1, 500), 2495), (Fraction(1, 200), 995)],
            lambda at: 5 / (at[0] / (1 - at[0])) == at[1],
            count=3,
        ),
    )


def _self_funding_probes(n_probes: int) -> Fraction:
    """Probe time E reached on F = 1 when probes mint credit at a = 1 as well (alpha = 1/2, cap 1, D = 1)."""
    credit, cap, probe_ms, rate = Fraction(0), Fraction(1), Fraction(1), Fraction(1)
    credit, explored = min(cap, credit + rate * 1), Fraction(0)
    for _ in range(n_probes):
        if credit < cap:
            break
        explored += probe_ms
        credit = min(cap, credit - probe_ms + rate * probe_ms)
    return explored


PROOF = proof_from(
    __doc__,
    "exploration-credit",
    prove,
    {
        "probes mint credit as well": lambda: prove(spent="min(cap, c - d + a*d)"),
        "idle time forgives debt": lambda: prove(idle="0"),
        "a probe may start in debt": lambda: prove(allowed="c >= -cap"),
    },
)
