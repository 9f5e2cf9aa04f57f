"""The bundled suite: small instances made of measured graph timings and acceptance, each solved exactly in seconds."""

from __future__ import annotations

from importlib.resources import as_file, files

from fairlane.reference.errors import DataError
from fairlane.reference.model.codec import load_instance
from fairlane.reference.model.instance import Instance

__all__ = ["file", "load", "names"]


def names() -> tuple[str, ...]:
    """Names of the bundled instances, sorted."""
    return tuple(sorted(f.name.removesuffix(".json") for f in files(__name__).iterdir() if f.name.endswith(".json")))


def load(name: str) -> Instance:
    """A bundled instance.

    Raises
    ------
    DataError
        No such name.
    """
    if name not in names():
        raise DataError(f"suite has no instance {name!r}; need one of {', '.join(names())}")
    with as_file(files(__name__) / f"{name}.json") as path:
        return load_instance(path)


def file(name: str) -> str:
    """Where a bundled instance stands, for a command line."""
    return str(files(__name__) / f"{name}.json")
