"""The current folder as a place to import from, for as long as it is needed and no longer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def current_folder_first() -> Iterator[None]:
    """Modules of the current folder can be imported in the block; ``sys.path`` is as before after it.

    What an imported module itself adds to the path stays.
    """
    here = os.getcwd()
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)
