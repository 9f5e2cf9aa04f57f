"""Bound of the service delay charged to probes, phase by phase.

Statement: With one balance a phase, capped, starting at zero and earned by ordinary service, a probe allowed only where
every phase it exposes has a full balance, and each exposed phase charged its own delay, the delay charged to a phase is
at most what it has earned plus the charge of the latest probe that exposed it; a probe that serves the other phase only
does not touch this. A probe's charge is at most its duration times the lanes it delays.

Assumptions: charges and earnings are nonnegative; idle time clears positive balances and keeps debt; probes and
bootstrap earn nothing.

Source: the request service-delay accounting of the source's section on learning graph timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import Task, check_all, forall, induction, settle

# event 0: ordinary completion that earns m (prefill) and n (decode), 1: probe that exposes phases by x, y in {0, 1} and
# charges u, v; 2: idle; else bootstrap. Balances b, c; charged G, H; earned M, N; latest charges D, E.
_VARIABLES = (
    "event in natural, x in natural, y in natural, m in nonnegative, n in nonnegative, u in nonnegative,"
    " v in nonnegative, b, c, G, H, M, N, D, E"
)


def prove(*, idle: str = "min({c}, 0)", allowed: str = "{c} >= 1", delay: str = "max(0, t - s)") -> Sequence[Evidence]:
    """Evidence for what idle time leaves, when a phase may be exposed, and the delay of a lane served alike."""
    return settle(
        _both_phases(idle, allowed),
        forall("G, M, D, b", "G <= M + D", given=["G <= M - b", "b >= -D"], label="charged <= earned + latest charge"),
        induction(
            # one incumbent lane more in each step; t: the probe's duration, s: the incumbent's; alike: served the same
            "t in positive, s in positive, alike in natural, C, k",
            "0 <= C and C <= t*lanes",
            over="lanes",
            first=0,
            state={"C": ("0", f"C + ({delay} if alike == 1 else t)")},
            given=["alike <= 1"],
            label="a charge is nonnegative and at most t a lane, any number of lanes",
        ),
        forall(
            "t in positive, s in positive",
            f"{delay} == 0",
            given=["t <= s"],
            label="a faster probe with the same service charges nothing",
        ),
        check_all(
            "the bound after every event of every sequence of six: service, probes of either charge, idle time",
            list(product(("serve", "small probe", "large probe", "idle"), repeat=6)),
            _stays_bounded,
            count=4**6,
        ),
    )


def _both_phases(idle: str, allowed: str) -> Task:
    def after(balance: str, earned: str, exposed: str, charge: str) -> str:
        ordinary = f"min(1, {balance} + {earned})"
        probe = f"({balance} - {charge} if {exposed} == 1 else {balance})"
        resting = idle.format(c=balance)
        return f"{ordinary} if event == 0 else ({probe} if event == 1 else ({resting} if event == 2 else {balance}))"

    def on_exposure(exposed: str, then: str, otherwise: str) -> str:
        return f"({then} if event == 1 and {exposed} == 1 else {otherwise})"

    return induction(
        _VARIABLES,
        "G <= M - b and b >= -D and D >= 0 and H <= N - c and c >= -E and E >= 0",
        over="k",
        first=0,
        state={
            "b": ("0", after("b", "m", "x", "u")),
            "c": ("0", after("c", "n", "y", "v")),
            "G": ("0", on_exposure("x", "G + u", "G")),
            "H": ("0", on_exposure("y", "H + v", "H")),
            "M": ("0", "M + m if event == 0 else M"),
            "N": ("0", "N + n if event == 0 else N"),
            "D": ("0", on_exposure("x", "u", "D")),
            "E": ("0", on_exposure("y", "v", "E")),
        },
        given=[
            "x <= 1",
            "y <= 1",
            f"implies(event == 1 and x == 1, {allowed.format(c='b')})",
            f"implies(event == 1 and y == 1, {allowed.format(c='c')})",
        ],
        label="both phases at once, after any number of events",
    )


def _stays_bounded(events: Sequence[str]) -> bool:
    """Replays one phase's balance; a probe that the balance does not allow does not run."""
    half = Fraction(1, 2)
    balance = charged = earned = latest = Fraction(0)
    for event in events:
        if event == "serve":
            balance, earned = min(Fraction(1), balance + half), earned + half
        elif event == "idle":
            balance = min(balance, Fraction(0))
        elif balance >= 1:
            latest = half if event == "small probe" else Fraction(3)
            balance, charged = balance - latest, charged + latest
        if charged > earned + latest:
            return False
    return True


PROOF = proof_from(
    __doc__,
    "service-delay",
    prove,
    {
        "idle time forgives debt": lambda: prove(idle="0"),
        "a phase is exposed in debt": lambda: prove(allowed="{c} >= -1"),
        "gains offset delays": lambda: prove(delay="(t - s)"),
    },
)
