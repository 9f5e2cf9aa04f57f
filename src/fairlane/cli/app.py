"""The tree of commands. Every module named here is light to import; heavy work is imported where it is done."""

from __future__ import annotations

from typing import Any

import typer

from fairlane.cli import (
    allocate,
    catalog,
    check,
    evaluate,
    experiment_ongoing,
    experiment_regret,
    explore,
    export,
    graph,
    long_run,
    metrics,
    notes,
    policies,
    search,
    simulate,
    solve,
    verify,
    warm,
)


def build() -> Any:  # a click command; typer does not publish its type
    """The whole command line as one callable."""
    app = typer.Typer(
        name="fairlane",
        help="Exact optima, certified allocations and counterexamples for request scheduling in LLM inference.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    app.command("verify")(verify.command)
    app.command("solve")(solve.command)
    app.command("check")(check.command)
    app.command("evaluate")(evaluate.command)
    app.command("explore")(explore.command)
    app.command("export")(export.command)
    app.command("graph")(graph.command)
    app.command("long-run")(long_run.command)
    app.command("allocate")(allocate.command)
    app.command("metrics")(metrics.command)
    app.command("policies")(policies.command)
    app.command("search")(search.command)
    app.command("simulate")(simulate.command)
    app.command("warm")(warm.command)
    catalogs = typer.Typer(help="Graph catalogs.", no_args_is_help=True, rich_markup_mode=None)
    catalogs.command("check")(catalog.check)
    app.add_typer(catalogs, name="catalog")
    checked = typer.Typer(
        help="Research notes whose every statement is executed.", no_args_is_help=True, rich_markup_mode=None
    )
    checked.command("check")(notes.check)
    checked.command("status")(notes.status)
    checked.command("build")(notes.build)
    app.add_typer(checked, name="notes")
    experiments = typer.Typer(
        help="Policies beside exact optima, fair allocations and traces.", no_args_is_help=True, rich_markup_mode=None
    )
    experiments.command("regret")(experiment_regret.command)
    experiments.command("ongoing")(experiment_ongoing.command)
    app.add_typer(experiments, name="experiment")
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        # a tenth of the time of --help, which does without
        from importlib.metadata import version

        typer.echo(f"fairlane {version('fairlane')}")
        raise typer.Exit(0)


def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version and leave.", callback=_version, is_eager=True
    ),
) -> None:
    """Exact optima, certified allocations and counterexamples for request scheduling in LLM inference."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
