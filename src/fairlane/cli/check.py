"""``fairlane check CERTIFICATE INSTANCE``: an independent check of a certificate of optimality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output


def command(
    certificate: Annotated[Path, typer.Argument(help="A file written by `fairlane solve --certificate`.")],
    instance: Annotated[Path, typer.Argument(help="The instance it is said to solve.")],
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Accept or reject a certificate; every transition is recomputed from the instance."""
    from fairlane.reference.certificate_check import check_certificate
    from fairlane.reference.codec import load_instance, read_json
    from fairlane.reference.errors import CertificateRejected, InvalidInstance

    loaded = load_instance(instance, exact=not inexact)
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
