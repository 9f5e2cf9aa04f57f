"""``fairlane check CERTIFICATE INSTANCE``: an independent check of a certificate of optimality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output
from fairlane.reference.errors import CertificateRejected, InvalidInstance

if TYPE_CHECKING:
    from fairlane.reference.model.instance import Instance


def command(
    certificate: Annotated[Path, typer.Argument(help="A file written by `fairlane solve --certificate`.")],
    instance: Annotated[Path, typer.Argument(help="The instance it is said to solve.")],
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Accept or reject a certificate; every transition is recomputed from the instance.

    A certificate in rationals proves the exact value, a table of costs (of a large instance) proves bounds.
    """
    from fairlane.reference.checker.certificate_check import check_certificate
    from fairlane.reference.checker.cost_file import is_cost_file
    from fairlane.reference.model.codec import load_instance, read_json

    loaded = load_instance(instance, exact=not inexact)
    if is_cost_file(certificate):
        _check_costs(certificate, instance, loaded, json=json)
        return
    document = read_json(certificate)
    try:
        checked = check_certificate(document, loaded)
    except CertificateRejected as error:
        if json:
            output.print_json({"accepted": False, "reason": str(error)})
            raise typer.Exit(1) from None
        raise CertificateRejected(f"{certificate} is rejected: {error}") from None
    except InvalidInstance as error:
        raise InvalidInstance(f"{certificate}: {error}") from None
    if json:
        output.print_json(
            {
                "accepted": True,
                "sense": checked.sense,
                "value": str(checked.value),
                "states": checked.states,
                "actions": checked.actions,
            }
        )
        return
    what = "optimum" if checked.sense == "max" else "worst value"
    terminal = output.console()
    terminal.print(f"accepted: the {what} over all policies is {checked.value}", soft_wrap=True)
    terminal.print(f"{checked.states:,} states and {checked.actions:,} actions recomputed from {instance}")


def _check_costs(file: Path, instance: Path, loaded: Instance, *, json: bool) -> None:
    from fairlane.oracle.encoding.enclosure import outward
    from fairlane.reference.checker.cost_check import check_costs
    from fairlane.reference.checker.cost_file import read_costs
    from fairlane.reference.exact import show

    try:
        with output.progress("checking", unit="states") as shown:
            checked = check_costs(read_costs(file), loaded, on_progress=shown)
    except CertificateRejected as error:
        if json:
            output.print_json({"accepted": False, "reason": str(error)})
            raise typer.Exit(1) from None
        raise CertificateRejected(f"{file} is rejected: {error}") from None
    lower, upper = outward(checked.lower, checked.upper)
    if json:
        output.print_json(
            {
                "accepted": True,
                "sense": "min" if checked.worst else "max",
                "lower": lower,
                "upper": upper,
                "exact_bounds": [show(checked.lower), show(checked.upper)],
                "states": checked.states,
                "actions": checked.actions,
                "outcomes": checked.outcomes,
            }
        )
        return
    terminal = output.console()
    what = "worst value" if checked.worst else "optimum"
    terminal.print(f"accepted: the {what} over all policies lies in [{lower!r}, {upper!r}]", soft_wrap=True)
    terminal.print(
        f"{checked.states:,} states, {checked.actions:,} actions and {checked.outcomes:,} outcomes recomputed "
        f"from {instance}",
        soft_wrap=True,
    )
