"""The architecture page shows the code as it is: its layers, its rooms, its files."""

from __future__ import annotations

import re
from pathlib import Path

import architecture_picture as drawn

SOURCE = Path(__file__).parents[3] / "src" / "fairlane"


def test_the_picture_is_up_to_date() -> None:
    # python docs/architecture_picture.py draws it anew
    assert drawn.FILE.read_text(encoding="utf-8") == drawn.picture()


def test_every_layer_has_rooms_and_every_step_a_place() -> None:
    assert set(drawn.ROOMS) == set(drawn.layers())
    places = {step for rows in drawn.ROOMS.values() for row in rows for room in row for step in room.steps}
    assert places == set(range(1, len(drawn.LIFE) + 1))


def test_every_folder_of_the_oracle_and_the_reference_is_in_the_picture() -> None:
    for layer in ("oracle", "reference"):
        shown = " ".join(room.name for row in drawn.ROOMS[layer] for room in row)
        folders = [p.name for p in (SOURCE / layer).iterdir() if (p / "__init__.py").is_file()]
        assert [name for name in folders if name not in shown] == []


def test_the_page_names_what_exists() -> None:
    page = (drawn.DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)(?:\.py)?`", page)
    assert named
    for path in named:
        place = SOURCE / path
        assert place.is_dir() or place.with_suffix(".py").is_file(), path
