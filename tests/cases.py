"""Known answers and data from outside the project, read where they stand and skipped with the reason where absent.

FAIRLANE_CASES names a folder of case files, or one file of the same format; FAIRLANE_DATA a folder of traces and logs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def cases(file_name: str, *kinds: str) -> list[Any]:
    """Parameters for ``pytest.mark.parametrize``: the cases of these kinds (all without any), or one skipped entry."""
    place = Path(os.environ.get("FAIRLANE_CASES", ROOT / "../shared/cases"))
    file = place / file_name if place.is_dir() else place
    if not file.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no case file {file_name}; FAIRLANE_CASES names it"))]
    found = json.loads(file.read_text(encoding="utf-8"))["cases"]
    wanted = [case for case in found if not kinds or case.get("kind") in kinds]
    if not wanted:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{file.name} has no case of {', '.join(kinds)}"))]
    return [pytest.param(case, id=f"{case.get('kind', 'case')}: {case['name']}") for case in wanted]


def vectors(file_name: str, kind: str) -> list[Any]:
    """Parameters for ``pytest.mark.parametrize``: the entries of one kind in a file, or one skipped entry."""
    place = Path(os.environ.get("FAIRLANE_CASES", ROOT / "../shared/cases"))
    file = place / file_name if place.is_dir() else place
    if not file.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no case file {file_name}; FAIRLANE_CASES names it"))]
    found = json.loads(file.read_text(encoding="utf-8")).get("vectors", {}).get(kind)
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{file.name} has no vectors of kind {kind}"))]
    entries = found if isinstance(found, list) else [found]
    return [pytest.param(entry, id=f"{kind} {n}") for n, entry in enumerate(entries)]


def data(*parts: str) -> Path:
    """A data file; skips the test where it is absent."""
    file = Path(os.environ.get("FAIRLANE_DATA", ROOT / "../shared/data")).joinpath(*parts)
    if not file.is_file():
        pytest.skip(f"no data file {'/'.join(parts)}; FAIRLANE_DATA names its folder")
    return file
