"""Graph catalogs that come with the simulator: two synthetic tables, and measured ones with their source.

The synthetic durations follow one formula, so that effects can be traced to it: a prefill graph of C tokens takes
2 + C / 64 ms; a decode graph of b rows and width k takes 13 + 2 b + (k - 1)(1 + b / 4) ms; a mixed graph takes its
decode part plus C / 64 ms, since its prompt tokens share one pass over the weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from importlib.resources import as_file, files

from fairlane.reference.errors import DataError
from fairlane.reference.model.codec import load_catalog
from fairlane.reference.model.graph import Catalog, Graph

PREFILL_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096)
DECODE_ROWS = (1, 2, 4, 8, 16)
WIDTHS = (1, 2, 4, 8)
MIXED_PREFILL_TOKENS = (64, 256, 512, 1024)
MIXED_ROWS = (1, 4, 16)
MIXED_WIDTHS = (1, 4)


def _decode_ms(rows: int, width: int) -> Fraction:
    return Fraction(13 + 2 * rows) + (width - 1) * (1 + Fraction(rows, 4))


def _separate() -> Iterable[Graph]:
    for tokens in PREFILL_TOKENS:
        yield Graph(name=f"prefill-{tokens}", duration_ms=2 + Fraction(tokens, 64), prefill_capacity=tokens)
    for rows in DECODE_ROWS:
        for width in WIDTHS:
            yield Graph(
                name=f"decode-b{rows}-w{width}",
                duration_ms=_decode_ms(rows, width),
                decode_capacity=rows,
                width=width,
            )


def _mixed() -> Iterable[Graph]:
    yield from _separate()
    for tokens in MIXED_PREFILL_TOKENS:
        for rows in MIXED_ROWS:
            for width in MIXED_WIDTHS:
                yield Graph(
                    name=f"mixed-{tokens}-b{rows}-w{width}",
                    duration_ms=_decode_ms(rows, width) + Fraction(tokens, 64),
                    prefill_capacity=tokens,
                    decode_capacity=rows,
                    width=width,
                )


def synthetic_catalog(*, mixed: bool = False) -> Catalog:
    """The built-in table of separate prefill and decode graphs; with ``mixed``, mixed graphs too.

    Examples
    --------
    >>> graphs = synthetic_catalog()
    >>> len(graphs), str(graphs["prefill-4096"].duration_ms), str(graphs["decode-b1-w8"].duration_ms)
    (27, '66', '95/4')
    """
    return Catalog(_mixed() if mixed else _separate())


def measured_names() -> tuple[str, ...]:
    """Names of the measured catalogs, sorted."""
    folder = files("fairlane.simulator") / "catalogs"
    return tuple(sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json")))


def measured_catalog(name: str) -> Catalog:
    """A measured catalog; its file cites the source.

    Raises
    ------
    DataError
        No such name.
    """
    if name not in measured_names():
        raise DataError(f"catalog is {name!r}; need a file or one of {', '.join(measured_names())}")
    with as_file(files("fairlane.simulator") / "catalogs" / f"{name}.json") as path:
        return load_catalog(path)
