"""Files that appear whole or not at all: written under a temporary name beside the target, then renamed.

A device or a pipe has no such name beside it and is written straight. A symbolic link keeps standing: the file that
it leads to is replaced. :func:`check_target` says before a long computation that its result could not be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fairlane.reference.errors import DataError

PathLike = str | os.PathLike[str]

# what stands there is the system's, even where it looks like a file: /dev/stdout may lead to one
SYSTEM = ("/dev/", "/proc/")
OWN_IN_SYSTEM = ("/dev/shm/",)


def check_target(path: PathLike) -> None:
    """Refuse a place where no file can be written.

    Parameters
    ----------
    path : path
        Where a file is to go. Nothing is made or changed.

    Raises
    ------
    DataError
        A directory, a name that cannot be one, or a folder that is missing or closed to us.
    """
    with _told(path):
        _place(path)


def write_bytes(content: bytes, path: PathLike) -> None:
    """Write a whole file or nothing.

    Raises
    ------
    DataError
        The place cannot be written.
    """
    with whole_file(path) as file:
        file.write(content)


def write_text(text: str, path: PathLike) -> None:
    """Write a whole file of UTF-8 or nothing.

    Raises
    ------
    DataError
        The place cannot be written.
    """
    write_bytes(_utf8(text, path), path)


@contextmanager
def whole_file(path: PathLike) -> Iterator[BinaryIO]:
    """A file to write; it appears under its name when the block has ended well.

    Raises
    ------
    DataError
        The place cannot be written. An error of the block itself is passed on as it is.
    """
    with whole_files((path,)) as (file,):
        yield file


def write_texts(texts: Mapping[str, str]) -> None:
    """Write several whole files of UTF-8 by path, or none of them.

    Raises
    ------
    DataError
        One of the places cannot be written; what stood in the others stands there still.
    """
    contents = [_utf8(text, path) for path, text in texts.items()]
    with whole_files(tuple(texts)) as files:
        for file, content in zip(files, contents, strict=True):
            file.write(content)


@contextmanager
def whole_files(paths: Sequence[PathLike]) -> Iterator[tuple[BinaryIO, ...]]:
    """Files to write; they appear together when the block has ended well, or none does.

    Raises
    ------
    DataError
        One of the places cannot be written.
    """
    parts: list[tuple[BinaryIO, Path | None, Path]] = []
    try:
        for path in paths:
            with _told(path):
                target, is_regular = _place(path)
                temporary = _beside(target) if is_regular else None
                # closed with the others, below
                file: BinaryIO = open(temporary or target, "wb" if temporary is None else "xb")  # noqa: SIM115
                parts.append((file, temporary, target))
        try:
            yield tuple(file for file, _, _ in parts)
        except OSError as error:
            raise DataError(f"{os.fspath(paths[-1])!r} cannot be written: {error.strerror or error}") from None
        for path, (file, temporary, target) in zip(paths, parts, strict=True):
            with _told(path):
                # what did not fit shows here at the latest
                file.close()
                if temporary is not None and target.exists():
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        _rename_all([(path, temporary, target) for path, (_, temporary, target) in zip(paths, parts, strict=True)])
    finally:
        for file, temporary, _ in parts:
            # the error that led here is the one to tell
            with contextlib.suppress(OSError, ValueError):
                file.close()
            if temporary is not None:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)


def _rename_all(parts: Sequence[tuple[PathLike, Path | None, Path]]) -> None:
    """Rename every temporary file; on a failure put back what was there."""
    if len(parts) == 1:
        ((path, temporary, target),) = parts
        if temporary is not None:
            with _told(path):
                os.replace(temporary, target)
        return
    undone: list[tuple[Path, Path | None]] = []
    try:
        for path, temporary, target in parts:
            if temporary is None:
                continue
            with _told(path):
                kept = _beside(target) if target.exists() else None
                if kept is not None:
                    os.rename(target, kept)
                undone.append((target, kept))
                os.replace(temporary, target)
    except BaseException:
        for target, kept in reversed(undone):
            with contextlib.suppress(OSError):
                if kept is None:
                    target.unlink(missing_ok=True)
                else:
                    os.replace(kept, target)
        raise
    for _, kept in undone:
        if kept is not None:
            with contextlib.suppress(OSError):
                kept.unlink()


def _utf8(text: str, path: PathLike) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{os.fspath(path)!r} cannot be written: {error}") from None


def _beside(target: Path) -> Path:
    """A name that nothing has, no longer than any file system allows, in the target's folder."""
    return target.with_name(f".{os.urandom(8).hex()}.part")


def _place(path: PathLike) -> tuple[Path, bool]:
    """Where a file goes, symbolic links followed, and whether it is one that can be renamed into its place."""
    given = os.fspath(path)
    if not given:
        raise DataError("'' is no name of a file; need one")
    try:
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise DataError(f"{given!r} is a directory; need the name of a file")
    whole = os.path.abspath(given)
    system = whole.startswith(SYSTEM) and not whole.startswith(OWN_IN_SYSTEM)
    if mode is not None and (system or not stat.S_ISREG(mode)):
        return Path(given), False
    if given.endswith("/") or os.path.basename(given) in ("", ".", ".."):
        raise DataError(f"{given!r} ends as a directory; need the name of a file")
    target = Path(os.path.realpath(given))
    # raises where there is none
    os.stat(target.parent)
    if not os.access(target.parent, os.W_OK | os.X_OK) or (mode is not None and not os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target, True


@contextmanager
def _told(path: PathLike) -> Iterator[None]:
    """What the system says of a place, as one line that names it."""
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{os.fspath(path)!r} cannot be written: {reason}") from None
