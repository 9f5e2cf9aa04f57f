"""``fairlane experiment ongoing``: how far `ongoing` is from the exact optimum of closed systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import choices, output
from fairlane.cli.targets import file_target
from fairlane.reference.errors import InvalidInstance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from fairlane.simulator.experiments import OngoingDistance


def command(
    seeds: Annotated[int, typer.Option("--seeds", help="Runs of a system in which anything is drawn, >= 2.")] = 8,
    horizon_ms: Annotated[str, typer.Option("--horizon-ms", help="Length of a run.")] = "10000",
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first seed.")] = 0,
    systems: Annotated[
        str | None, typer.Option("--systems", help="Names of systems, separated by commas. Default: all.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    target: Annotated[
        Path | None, typer.Option("--output", help="Also write the JSON document here.", callback=file_target)
    ] = None,
) -> None:
    """Reward rate of `ongoing` against the exact long-run optimum, and its F against the fair allocation."""
    from fairlane.reference.exact import parse_number
    from fairlane.simulator.experiments import closed_systems, ongoing_distance
    from fairlane.simulator.experiments.documents import ongoing_document

    if seeds < 2:
        raise InvalidInstance(f"--seeds is {seeds}; need >= 2 for a half-width")
    choices.positive_ms(horizon_ms, "--horizon-ms")
    horizon = parse_number(horizon_ms, "--horizon-ms")
    chosen = closed_systems()
    if systems is not None:
        known = {system.name: system for system in chosen}
        for name in systems.split(","):
            if name not in known:
                raise InvalidInstance(f"--systems names {name!r}; need names among {', '.join(known)}")
        chosen = tuple(known[name] for name in systems.split(","))
    with output.progress("solving and simulating") as shown:
        distances = ongoing_distance(chosen, n_seeds=seeds, horizon_ms=horizon, seed=seed, on_progress=shown)
    asked = {"--systems": systems, "--seeds": seeds, "--horizon-ms": horizon_ms, "--seed": seed}
    document = ongoing_document(distances, command=output.command_line("experiment ongoing", asked), horizon_ms=horizon)
    if target is not None:
        output.write_json(document, target)
    if json:
        output.print_json(document)
        return
    _print(distances, horizon)
    if target is not None:
        typer.echo(f"written to {target}")


def _print(distances: Sequence[OngoingDistance], horizon_ms: Fraction) -> None:
    from fairlane.simulator.experiments.documents import continuation_failure

    terminal = output.console()
    rates = output.plain_table(
        "Reward per ms: ongoing, simulated, beside the exact optimum and without fairness prices",
        ("system", "optimum", "ongoing", "below", "unpriced", "below "),
        words=("system",),
        padding=1 if terminal.width < 90 else 2,
    )
    for d in distances:
        rates.add_row(
            d.system,
            output.brief(d.optimum) if d.optimum is not None else f"≤{float(d.upper):.6g}",
            _with_half_width(d),
            _share(d.shortfall),
            output.brief(d.without_fairness),
            _share(None if d.shortfall_without_fairness is None else float(d.shortfall_without_fairness)),
        )
    terminal.print(rates)
    decoding = [d for d in distances if d.fair_utility is not None]
    if decoding:
        utilities = output.plain_table(
            "F = Σ v x + f log x at the mean rates of ongoing, beside the fair allocation",
            ("system", "F", "fair F", "certified gap"),
            words=("system",),
        )
        for d in decoding:
            utilities.add_row(
                d.system,
                "-∞" if d.utility is None else f"{d.utility:.6f}",
                f"{d.fair_utility:.6f}",
                f"{d.fair_gap:.0e}",
            )
        terminal.print()
        terminal.print(utilities)
    terminal.print()
    drawn = [d.ongoing for d in distances if d.ongoing.half_width > 0]
    if drawn:
        terminal.print(
            f"±: 95 % half-width, {drawn[0].method}, {drawn[0].n_samples} runs of {output.brief(horizon_ms)} ms; "
            "without it nothing is drawn and one run tells all. A run's start and open end weigh in with 1/horizon."
        )
    else:
        terminal.print(f"Nothing is drawn in these systems: one run of {output.brief(horizon_ms)} ms each.")
    worst = continuation_failure(distances)
    if worst is not None:
        terminal.print(
            f"The continuation value fails most on {worst.system}: alone with the age price it earns "
            f"{output.brief(worst.without_fairness)} per ms, {output.percent(worst.shortfall_without_fairness)} "
            f"below the optimum."
        )
    elif any(d.age_price > 0 for d in distances):
        terminal.print("The continuation value loses nothing on these systems.")


def _with_half_width(distance: OngoingDistance) -> str:
    estimate = distance.ongoing
    return f"{estimate.mean:.6g}" + (f" ± {estimate.half_width:.1g}" if estimate.half_width else "")


def _share(value: float | None) -> str:
    if value is None:
        return "n/a"
    # a run's open ends can put it above the optimum by a little
    return f"{100 * value:.2f} %" if abs(value) >= 5e-5 else "0"
