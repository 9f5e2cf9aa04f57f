"""The option that limits sizes, the same in every command that solves."""

from __future__ import annotations

from typing import Annotated

import typer

MaxStates = Annotated[
    int | None,
    typer.Option(
        "--max-states",
        min=1,
        help="Refuse beyond this many states (of a policy: situations); each method has its own limit without it.",
        show_default=False,
    ),
]
