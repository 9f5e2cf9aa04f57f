"""``fairlane export INSTANCE``: the episode as a model that outside model checkers read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.reference.atomic_write import check_target, write_bytes, write_text, write_texts


class Format(StrEnum):
    """Model formats."""

    DRN = "drn"
    UMB = "umb"
    PRISM = "prism"


def command(
    instance: Annotated[Path, typer.Argument(help="An instance file.")],
    format: Annotated[Format, typer.Option("--format", help="drn (Storm), umb (binary), prism (four explicit files).")],
    target: Annotated[
        Path,
        typer.Option("--output", help="The file to write; prism adds .sta, .tra, .lab, .trew."),
    ],
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
) -> None:
    """Write the decision process of an instance, with exact numbers."""
    from fairlane.oracle.explicit.explicit_model import explicit_model
    from fairlane.oracle.explicit.export_drn import to_drn
    from fairlane.oracle.explicit.export_prism import ENDINGS, to_prism
    from fairlane.oracle.explicit.export_umb import to_umb
    from fairlane.reference.model.codec import load_instance

    files = [f"{target}{ending}" for ending in ENDINGS] if format is Format.PRISM else [str(target)]
    for file in files:
        check_target(file)
    with output.progress("exporting") as shown:
        model = explicit_model(load_instance(instance, exact=not inexact), on_progress=shown)
    terminal = output.console()
    if format is Format.DRN:
        write_text(to_drn(model), target)
    elif format is Format.PRISM:
        write_texts(dict(zip(files, to_prism(model).values(), strict=True)))
    else:
        write_bytes(to_umb(model), target)
    terminal.print(f"{len(model.choices):,} states and {model.n_choices:,} choices written to {target}")
    terminal.print('the optimum is R{"net"}max=? [F "done"]', markup=False)
