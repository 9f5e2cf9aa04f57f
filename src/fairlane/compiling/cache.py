"""Machine code of kernels on disk, in a folder named by a digest of everything it was made from.

numba looks at the time of one file, that of the kernel itself, so a kernel would run on with the old code of what it
calls in another file. Here all Python files of a kernel's folder (and of this package) are digested, and kernels import
from nowhere else: a changed line anywhere means another folder.

Folders stand in the kernels' ``__pycache__`` where that can be written, otherwise in the user's cache; NUMBA_CACHE_DIR
goes before both. What another user has compiled there is read too, so that an administrator can compile once for all.
Where nothing can be written, kernels are compiled in every process. Of older folders the last few are kept, for those
who go back and forth between versions.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.misc.appdirs import AppDirs

PREFIX = "kernels-"
OLDER_KEPT = 2


@cache
def digest_of(folder: Path) -> str:
    """Digest of the Python files of a kernels' folder and of this package."""
    found = hashlib.sha256()
    for place in (folder, Path(__file__).parent):
        for file in sorted(place.glob("*.py")):
            found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def places_of(folder: Path) -> tuple[Path, ...]:
    """Where the machine code of a kernels' folder may stand, the best first; none of them need exist."""
    # one installation a name, so that versions side by side do not clear each other's folders
    named = f"fairlane-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    roots = [folder / "__pycache__", Path(AppDirs(appname="fairlane", appauthor=False).user_cache_dir) / named]
    chosen: str = getattr(config, "CACHE_DIR", "")  # numba sets its settings by name
    if chosen:
        roots.insert(0, Path(chosen) / named)
    return tuple(root / f"{PREFIX}{digest_of(folder)}" for root in roots)


@cache
def place_to_write(folder: Path) -> Path | None:
    """The first of these places that can be written, made if need be; None where none can."""
    for place in places_of(folder):
        try:
            new = not place.exists()
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except OSError:
            continue
        if new:
            _clear_older(place)
        return place
    return None


def _clear_older(place: Path) -> None:
    """Remove all but the last few folders of other digests beside a new one."""

    def changed(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    others = [p for p in place.parent.glob(f"{PREFIX}*") if p != place]
    for old in sorted(others, key=changed, reverse=True)[OLDER_KEPT:]:
        # a process that still uses it compiles what it has not loaded yet, and makes the folder again
        shutil.rmtree(old, ignore_errors=True)


class _Place(_CacheLocator):  # type: ignore[misc]  # numba has no types
    """Tells numba of the folder."""

    def __init__(self, function: Any) -> None:
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno
        folder = Path(self._py_file).parent
        self.writable = place_to_write(folder)
        self.place = self.writable or places_of(folder)[0]

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Place:
        return cls(py_func)

    def get_cache_path(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]  # numba's raises
        return os.fspath(self.place)

    def get_source_stamp(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        # the same in every place
        return self.place.name

    def get_disambiguator(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        return str(self._line)


class _Code(CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
    _locator_classes = (_Place,)


class KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Machine code of one kernel, read from every place and written to the first that takes it."""

    _impl_class = _Code

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        own = self._impl.locator.place
        self._others = tuple(
            IndexDataCacheFile(os.fspath(place), self._impl.filename_base, place.name)
            for place in places_of(Path(function.__code__.co_filename).parent)
            if place != own
        )

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        for file in (self._cache_file, *self._others):
            try:
                data = file.load(self._index_key(sig, target_context.codegen()))
            except (OSError, EOFError, pickle.UnpicklingError):
                # unreadable, or cut off when a disk was full: compiled anew
                continue
            if data is not None:
                return self._impl.rebuild(target_context, data)
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._impl.locator.writable is None:
            return
        # what cannot be kept, for want of room say, is compiled again the next time
        with suppress(OSError):
            super()._save_overload(sig, data)


def keep(dispatcher: Any) -> Any:
    """A kernel whose machine code is kept; where its source is no file, it is compiled in every process."""
    function = dispatcher.py_func
    if Path(function.__code__.co_filename).is_file():
        dispatcher._cache = KernelCache(function)
    return dispatcher
