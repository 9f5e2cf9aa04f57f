"""``fairlane export INSTANCE``: the episode as a model that outside model checkers read."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output


class Format(StrEnum):
    """Model formats."""

    DRN = "drn"
    UMB = "umb"
    PRISM = "prism"


def command(
    instance: Annotated[Path, typer.Argument(help="An instance file.")],
    format: Annotated[Format, typer.Option("--format", help="drn (Storm), umb (binary), prism (four explicit files).")],
    target: Annotated[Path, typer.Option("--output", help="The file to write; prism adds .sta, .tra, .lab, .trew.")],
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
) -> None:
    """Write the decision process of an instance, with exact numbers."""
    from fairlane.oracle.explicit.explicit_model import explicit_model
    from fairlane.oracle.explicit.export_drn import to_drn
    from fairlane.oracle.explicit.export_prism import to_prism
    from fairlane.oracle.explicit.export_umb import to_umb
    from fairlane.reference.errors import DataError
    from fairlane.reference.model.codec import load_instance, write_text

    with output.progress("exporting") as shown:
        model = explicit_model(load_instance(instance, exact=not inexact), on_progress=shown)
    terminal = output.console()
    if format is Format.DRN:
        write_text(to_drn(model), target)
    elif format is Format.PRISM:
        for ending, text in to_prism(model).items():
            write_text(text, f"{target}{ending}")
    else:
        content = to_umb(model)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, target)
        except OSError as error:
            raise DataError(f"{str(target)!r} cannot be written: {error.strerror}") from None
        finally:
            temporary.unlink(missing_ok=True)
    terminal.print(f"{len(model.choices):,} states and {model.n_choices:,} choices written to {target}")
    terminal.print('the optimum is R{"net"}max=? [F "done"]', markup=False)
