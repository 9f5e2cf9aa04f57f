"""The gallery is what its command builds, covers every policy, and its tests pass.

The pages come from searches with budgets in instances, so they can be built again to the same bytes: some of them each
time, all of them with FAIRLANE_FULL=1.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fairlane.policies import names

GALLERY = Path(__file__).parents[3] / "docs" / "gallery"
ENTRIES: list[dict[str, str]] = json.loads((GALLERY / "entries.json").read_text(encoding="utf-8"))
NAMES = [entry["name"] for entry in ENTRIES]
# each within a second
QUICK = {"round-robin", "least-served", "drifting-counts", "negative-normalisation"}


def builder() -> ModuleType:
    """The script that builds the gallery."""
    found = importlib.util.spec_from_file_location("gallery_build", GALLERY / "build.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["gallery_build"] = module
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_built_again_to_the_same_bytes(name: str) -> None:
    if name not in QUICK and os.environ.get("FAIRLANE_FULL") != "1":
        pytest.skip("built with FAIRLANE_FULL=1")
    build: Any = builder()
    entry = next(e for e in build.entries() if e.name == name)
    for file, text in build.page(entry, *build.search(entry)).items():
        assert (GALLERY / file).read_text(encoding="utf-8") == text, "run `make gallery`"


def test_the_index_lists_every_page() -> None:
    build: Any = builder()
    assert (GALLERY / "index.md").read_text(encoding="utf-8") == build.index(build.entries())
    assert {f.stem for f in GALLERY.glob("*.md")} == {"index", *NAMES}
    assert {f.stem for f in (GALLERY / "spaces").iterdir()} == {entry["space"] for entry in ENTRIES}


def test_every_policy_has_a_smallest_counterexample() -> None:
    losing = {entry["policy"] for entry in ENTRIES if entry.get("predicate") != "equal_streams_drift_apart"}
    assert losing == set(names())


def test_the_two_age_policies_lose_under_an_age_price() -> None:
    for name in ("age-only", "stall-bonus"):
        assert "age_price" in (GALLERY / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_test_of_a_page_passes(name: str) -> None:
    text = (GALLERY / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(r"^(global|local)-min: ", text, re.M)
    block = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert block is not None
    space: dict[str, Any] = {}
    exec(compile(block[1], name, "exec"), space)
    tests = [value for key, value in space.items() if key.startswith("test_")]
    assert len(tests) >= 2
    for test in tests:
        test()
