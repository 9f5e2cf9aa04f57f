"""``fairlane long-run WORKLOAD``: the best long-run reward per ms of a continuing workload, and a policy's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.cli.limits import MaxStates
from fairlane.reference.errors import TooLarge


def command(
    workload: Annotated[Path, typer.Argument(help="An instance file; `regenerates` says how requests start again.")],
    policy: Annotated[str | None, typer.Option("--policy", help="Also the rate of this policy.")] = None,
    max_states: MaxStates = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Best long-run reward per ms over all policies, beside what ignoring the future earns."""
    from fairlane.oracle.average.long_run import MAX_POLICY_STATES, long_run, myopic_policy, policy_rate
    from fairlane.oracle.average.workload_model import MAX_STATES
    from fairlane.reference.exact import decimal_of, show
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(workload, exact=not inexact)
    rules = output.policies_by_name([policy]) if policy is not None else {}
    most = MAX_POLICY_STATES if max_states is None else max_states
    with output.progress("solving") as shown:
        best = long_run(loaded, max_states=MAX_STATES if max_states is None else max_states, on_progress=shown)
        rates = {
            name: policy_rate(loaded, rule, max_situations=most, on_progress=shown) for name, rule in rules.items()
        }
        try:
            myopic = policy_rate(loaded, myopic_policy(best.model), max_situations=most, on_progress=shown)
        except TooLarge:
            myopic = None
    if json:
        document: dict[str, object] = {
            "workload": loaded.name,
            "regenerates": loaded.regenerates.value,
            "rate": None if best.rate is None else show(best.rate),
            "lower": show(best.lower),
            "upper": show(best.upper),
            "decimal": {
                "rate": None if best.rate is None else decimal_of(best.rate),
                "lower": decimal_of(best.lower),
                "upper": decimal_of(best.upper),
            },
            "constant_offset": show(best.constant_offset),
            "age_cap_ms": None if best.age_cap_ms is None else show(best.age_cap_ms),
            "states": best.states,
            "method": best.method,
            "myopic": None if myopic is None else _rate(myopic.rate, best.upper),
            "policies": {
                name: {
                    **_rate(rate.rate, best.upper),
                    "classes": rate.classes,
                    "class_rates": [show(r) for r in rate.class_rates],
                    "period": rate.period,
                }
                for name, rate in rates.items()
            },
            "seconds": best.seconds,
        }
        output.print_json(document)
        return
    terminal = output.console()
    if best.rate is not None:
        terminal.print(f"best long-run rate: {show(best.rate)} per ms  ({decimal_of(best.rate)!r})", soft_wrap=True)
    else:
        terminal.print(f"best long-run rate between {decimal_of(best.lower)!r} and {decimal_of(best.upper)!r} per ms")
    terminal.print(
        f"{best.states:,} states; method {best.method}; the optimality equation holds at each of them"
        if best.rate is not None
        else f"{best.states:,} states; method {best.method}; bounds proved in rationals"
    )
    if best.constant_offset:
        terminal.print(f"of which {output.brief(best.constant_offset)} per ms is a constant no policy changes")
    if best.age_cap_ms is not None:
        terminal.print(f"ages are capped at {output.brief(best.age_cap_ms)} ms")
    shown_rates = ({} if myopic is None else {"without the future term": myopic}) | rates
    for name, rate in shown_rates.items():
        several = "" if rate.classes == 1 else f"; ends in one of {rate.classes} closed classes"
        cyclic = "" if rate.period == 1 else f"; period {rate.period}"
        terminal.print(
            f"{name}: {output.brief(rate.rate)} per ms, {output.brief(best.upper - rate.rate)} below{several}{cyclic}"
        )


def _rate(rate: object, best: object) -> dict[str, object]:
    from fairlane.reference.exact import decimal_of, show

    assert isinstance(rate, Fraction)
    assert isinstance(best, Fraction)
    return {
        "rate": show(rate),
        "loss": show(best - rate),
        "decimal": {"rate": decimal_of(rate), "loss": decimal_of(best - rate)},
    }
