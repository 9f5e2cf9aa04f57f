"""``fairlane solve INSTANCE``: the exact optimum of an instance, with its certificate on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output, solve_model
from fairlane.cli.limits import MaxStates
from fairlane.cli.targets import file_target
from fairlane.reference.errors import InvalidInstance


def command(
    instance: Annotated[Path, typer.Argument(help="An instance file, or a model in DRN format (*.drn, *.drn.gz).")],
    worst: Annotated[bool, typer.Option("--worst", help="The worst value over all policies instead.")] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Write the certificate here.", callback=file_target)
    ] = None,
    average: Annotated[
        bool, typer.Option("--average", help="Of a model: the best long-run average, not the best total.")
    ] = False,
    reward: Annotated[
        str | None, typer.Option("--reward", help="Of a model: which reward model; `net` or the first without it.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option("--goal", help="Of a model: the label of the states that end it; `done` without it.")
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option("--tolerance", help="Of a model too large to be exact: widest bounds, relative. Default: 1e-6."),
    ] = None,
    max_states: MaxStates = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Exact optimum over all policies."""
    options = solve_model.ModelOptions(average=average, reward=reward, goal=goal, tolerance=tolerance)
    if solve_model.is_model(instance):
        if certificate is not None:
            raise InvalidInstance("--certificate is given with a model; need an instance file, models have none")
        solve_model.solve_file(instance, options, worst=worst, exact=not inexact, json=json)
        return
    options.need_none()
    from fairlane.oracle.certificate import write_largest
    from fairlane.oracle.solve import solve
    from fairlane.reference.exact import decimal_of, show
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(instance, exact=not inexact)
    with output.progress(f"solving {instance.name}", unit="states") as shown:
        solution = solve(loaded, sense="min" if worst else "max", max_states=max_states, on_progress=shown)
    if certificate is not None:
        with output.progress("certifying", unit="states") as shown:
            write_largest(solution, certificate, max_states=max_states, on_progress=shown)
    exact = solution.value
    if json:
        output.print_json(
            {
                "instance": loaded.name,
                "sense": "min" if worst else "max",
                "value": None if exact is None else show(exact),
                "decimal": None if exact is None else decimal_of(exact),
                "lower": solution.lower,
                "upper": solution.upper,
                "states": solution.states,
                "canonical_states": solution.canonical_states,
                "method": solution.method,
                "certificate": None if certificate is None else str(certificate),
                "seconds": solution.seconds,
            }
        )
        return
    terminal = output.console()
    what = "worst value over all policies" if worst else "optimum over all policies"
    if exact is not None:
        terminal.print(f"{what}: {show(exact)}", soft_wrap=True)
        if exact.denominator != 1:
            terminal.print(f"                           ≈ {decimal_of(exact)!r}")
    terminal.print(f"certified bounds: [{solution.lower!r}, {solution.upper!r}]")
    states = solution.states if solution.states is not None else solution.canonical_states
    merged = "" if solution.states is not None else ", exchangeable requests merged"
    terminal.print(f"{states:,} states{merged}; method {solution.method}; {solution.seconds:.3f} s")
    if certificate is not None:
        terminal.print(f"certificate written to {certificate}; check it with: fairlane check {certificate} {instance}")
