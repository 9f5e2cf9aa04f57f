"""Checks of what a command will write, made while its options are read: before a computation, not after it."""

from __future__ import annotations

from pathlib import Path

from fairlane.pictures.picture_file import check_ending
from fairlane.reference.atomic_write import check_target
from fairlane.reference.errors import DataError


def file_target(path: Path | None) -> Path | None:
    """The path of an option, if a file can be written there.

    Raises
    ------
    DataError
        It cannot; the message says why.
    """
    if path is not None:
        check_target(path)
    return path


def picture_target(path: Path | None) -> Path | None:
    """The path of an option, if a picture can be written there.

    Raises
    ------
    DataError
        It cannot, or its ending says no format.
    """
    if path is not None:
        check_ending(path)
        check_target(path)
    return path


def folder_target(path: Path | None) -> Path | None:
    """The path of an option, if a folder can be made there.

    Raises
    ------
    DataError
        The name is taken, or it cannot be made; the message says why.
    """
    if path is None:
        return None
    try:
        if path.is_symlink() or path.exists():
            raise DataError(f"{str(path)!r} exists already; need a directory name that is free")
        above = next(parent for parent in path.absolute().parents if parent.exists())
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{str(path)!r} cannot be made: {getattr(error, 'strerror', None) or error}") from None
    if not above.is_dir():
        raise DataError(f"{str(path)!r} cannot be made: {str(above)!r} is no directory")
    # the missing folders of its path and itself, checked as names of one folder that exists
    check_target(above / path.absolute().relative_to(above).parts[0])
    return path
