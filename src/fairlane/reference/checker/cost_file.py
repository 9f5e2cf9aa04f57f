"""Tables of costs as files: a header and an array in numpy's zip format, sealed by a digest."""

from __future__ import annotations

import json
import zipfile
import zlib

import numpy as np

from fairlane.reference.atomic_write import PathLike, whole_file
from fairlane.reference.checker.cost_check import CostTable
from fairlane.reference.errors import CertificateRejected, DataError
from fairlane.reference.exact import as_integer, found
from fairlane.reference.model.codec import need_list, need_object, parse_json

SCHEMA = 1
FIELDS = ("schema", "instance", "sense", "groups", "digest")


def is_cost_file(path: PathLike) -> bool:
    """Whether a file begins like a zip archive; False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def write_costs(table: CostTable, path: PathLike) -> None:
    """Write a table, whole or not at all.

    Raises
    ------
    DataError
        The place cannot be written.
    """
    header = {
        "schema": SCHEMA,
        "instance": table.instance,
        "sense": "min" if table.worst else "max",
        "groups": table.groups,
        "digest": table.digest(),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with whole_file(path) as file:
        np.savez(file, header=text, costs=table.costs.astype("<f8"))


def _not_a_table(where: str, why: str) -> DataError:
    return DataError(f"{where} is not a table of costs: {why}")


def read_costs(path: PathLike) -> CostTable:
    """Read a table.

    Raises
    ------
    DataError
        Not such a file, or one that is damaged.
    CertificateRejected
        A table that was changed after it was written.
    """
    where = str(path)
    if not is_cost_file(path):
        raise DataError(f"{where} is not a table of costs, or cannot be read")
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            if set(archive.files) != {"header", "costs"}:
                raise _not_a_table(where, f"it has {', '.join(archive.files) or 'nothing'} instead of header and costs")
            text, costs = archive["header"].tobytes(), archive["costs"]
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror or error}") from None
    except DataError:
        raise
    except MemoryError:
        raise _not_a_table(where, "its arrays do not fit into memory") from None
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise _not_a_table(where, " ".join(str(error).split())) from None
    try:
        parsed = parse_json(text.decode(), where)
    except UnicodeDecodeError:
        raise DataError(f"{where}: the header is not UTF-8") from None
    document = need_object(parsed, f"{where}: header", fields=FIELDS, required=FIELDS)
    schema = as_integer(document["schema"], f"{where}: schema", minimum=0)
    if schema != SCHEMA:
        raise DataError(f"{where}: schema is {schema}; need {SCHEMA}")
    if document["sense"] not in ("min", "max"):
        raise DataError(f"{where}: sense is {found(document['sense'])}; need max or min")
    if costs.dtype != np.float64 or costs.ndim != 1:
        raise DataError(f"{where}: costs are {costs.dtype} in {costs.ndim} dimensions; need float64 in one")
    groups = tuple(
        tuple(as_integer(i, f"{where}: groups", minimum=0) for i in need_list(row, f"{where}: groups"))
        for row in need_list(document["groups"], f"{where}: groups")
    )
    costs.flags.writeable = False
    table = CostTable(instance=str(document["instance"]), worst=document["sense"] == "min", groups=groups, costs=costs)
    if document["digest"] != table.digest():
        raise CertificateRejected("its digest is not that of its contents: it was changed after it was written")
    return table
