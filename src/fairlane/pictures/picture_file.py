"""Saving a figure: the ending of the name says the format, and the same figure gives the same bytes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane.reference.atomic_write import PathLike, whole_file
from fairlane.reference.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# what a format would put its time of writing under
DATES: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}


def check_ending(path: Path) -> None:
    """Refuse a name that says no picture format.

    Raises
    ------
    DataError
        Neither .svg, .png nor .pdf.
    """
    if path.suffix.lower() not in DATES:
        raise DataError(f"{str(path)!r} has no ending of a picture; need one of {', '.join(DATES)}")


def save_figure(figure: Figure, path: PathLike) -> None:
    """Write a figure, whole or not at all.

    Raises
    ------
    DataError
        The name has no ending of a picture, or the place cannot be written.
    """
    # an ending is checked before the time of loading matplotlib is spent
    import matplotlib

    target = Path(path)
    check_ending(target)
    ending = target.suffix.lower()
    with whole_file(target) as file, warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "fairlane"}):
        # names may use characters the font lacks; they are drawn as boxes
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(file, format=ending[1:], dpi=150, metadata=DATES[ending])
