"""``fairlane solve INSTANCE``: the exact optimum of an instance, with its certificate on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.cli.targets import file_target
from fairlane.reference.errors import InvalidInstance


def command(
    instance: Annotated[Path, typer.Argument(help="An instance file, or a model in DRN format (*.drn).")],
    worst: Annotated[bool, typer.Option("--worst", help="The worst value over all policies instead.")] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Write the certificate here.", callback=file_target)
    ] = None,
    average: Annotated[
        bool, typer.Option("--average", help="Of a model: the best long-run average a step, not the best total.")
    ] = False,
    reward: Annotated[
        str | None, typer.Option("--reward", help="Of a model: which reward model; `net` or the first without it.")
    ] = None,
    goal: Annotated[str, typer.Option("--goal", help="Of a model: the label of the states that end it.")] = "done",
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Exact optimum over all policies."""
    if instance.suffix == ".drn":
        if certificate is not None:
            raise InvalidInstance("--certificate is given with a model; need an instance file, models have none")
        _solve_model(instance, worst=worst, average=average, reward=reward, goal=goal, exact=not inexact, json=json)
        return
    if average or reward is not None:
        raise InvalidInstance(
            f"--{'average' if average else 'reward'} is for models (*.drn); need one, or no such option"
        )
    from fairlane.oracle.certificate import write_largest
    from fairlane.oracle.solve import solve
    from fairlane.reference.exact import decimal_of, show
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(instance, exact=not inexact)
    with output.progress("solving") as shown:
        solution = solve(loaded, sense="min" if worst else "max", on_progress=shown)
    if certificate is not None:
        with output.progress("certifying") as shown:
            write_largest(solution, certificate, on_progress=shown)
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


def _solve_model(
    file: Path, *, worst: bool, average: bool, reward: str | None, goal: str, exact: bool, json: bool
) -> None:
    import time

    from fairlane.oracle.encoding.enclosure import enclose
    from fairlane.oracle.explicit.model_average import average_reward
    from fairlane.oracle.explicit.model_solver import solve_model
    from fairlane.oracle.explicit.read_drn import read_drn
    from fairlane.oracle.rational.plain import Sense
    from fairlane.reference.exact import decimal_of, show

    begun = time.perf_counter()
    model = read_drn(file, reward=reward, goal=goal, exact=exact)
    sense = Sense.MIN if worst else Sense.MAX
    with output.progress("solving") as shown:
        solved = (average_reward if average else solve_model)(model, sense=sense, on_progress=shown)
    value = solved.value
    lower, upper = enclose(solved.lower)[0], enclose(solved.upper)[1]
    if json:
        output.print_json(
            {
                "model": str(file),
                "reward": model.reward_name,
                "quantity": "average" if average else "total",
                "sense": sense.value,
                "value": None if value is None else show(value),
                "decimal": None if value is None else decimal_of(value),
                "lower": lower,
                "upper": upper,
                "states": solved.states,
                "method": solved.method.value,
                "seconds": time.perf_counter() - begun,
            }
        )
        return
    terminal = output.console()
    what = f"{'worst' if worst else 'best'} {'long-run average' if average else 'total'} {model.reward_name}"
    if value is None:
        terminal.print(f"{what}: in [{lower!r}, {upper!r}]")
    else:
        terminal.print(f"{what}: {show(value)}", soft_wrap=True)
    terminal.print(f"{solved.states:,} states; method {solved.method}")
