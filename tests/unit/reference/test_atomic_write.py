"""A file appears whole or not at all, several together or none, and a place that cannot be written is one line."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from fairlane.reference.atomic_write import check_target, whole_file, whole_files, write_text, write_texts
from fairlane.reference.errors import DataError


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _write_half(file: BinaryIO) -> None:
    file.write(b"half")
    raise ZeroDivisionError


def test_an_error_while_writing_leaves_what_was_there_and_is_told_itself(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(target) as file:
        _write_half(file)
    assert target.read_text() == "old"
    assert _names(tmp_path) == ["kept"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no name of a file"),
        (".", "is a directory"),
        ("/", "is a directory"),
        ("folder", "is a directory"),
        ("file/below", "Not a directory"),
        ("missing/below", "No such file"),
        ("new/", "ends as a directory"),
        ("n" * 300, "name too long"),
        ("nul\0", "null byte"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_and_by_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("x")
    with pytest.raises(DataError, match=reason):
        check_target(name)
    with pytest.raises(DataError, match=reason):
        write_text("y", name)
    assert _names(tmp_path) == ["file", "folder"]


def test_the_longest_name_a_file_system_takes_is_written(tmp_path: Path) -> None:
    # NAME_MAX is 255 bytes; a temporary name made of the target's name would be longer
    target = tmp_path / ("n" * 255)
    check_target(target)
    write_text("whole", target)
    assert target.read_text() == "whole"


def test_a_full_device_is_told_and_a_device_stays_a_device() -> None:
    with pytest.raises(DataError, match="'/dev/full' cannot be written: No space left on device"):
        write_text("x", "/dev/full")
    write_text("x", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_keeps_standing_and_a_mode_is_kept(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text("new", link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_several_files_appear_together_or_none_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(tmp_path / name) for name in "abc"]
    Path(paths[0]).write_text("old")
    renamed = os.replace

    def refuse_the_last(source: str | Path, target: str | Path) -> None:
        if str(target) == paths[2]:
            raise OSError(5, "Input/output error")
        renamed(source, target)

    monkeypatch.setattr(os, "replace", refuse_the_last)
    with pytest.raises(DataError, match="c' cannot be written: Input/output error"):
        write_texts(dict.fromkeys(paths, "new"))
    assert _names(tmp_path) == ["a"]
    assert Path(paths[0]).read_text() == "old"
    monkeypatch.undo()
    write_texts(dict.fromkeys(paths, "new"))
    assert [Path(path).read_text() for path in paths] == ["new"] * 3
    assert _names(tmp_path) == ["a", "b", "c"]


def test_a_bad_place_among_several_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match="is a directory"), whole_files([tmp_path / "a", tmp_path / "b"]):
        pytest.fail("nothing may be written")
    assert _names(tmp_path) == ["b"]
