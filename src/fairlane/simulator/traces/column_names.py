"""Which columns of a file hold what: the first row's names, and a mapping from the user.

``arrival=arrived_at,prompt=num_prefill_tokens,output=num_decode_tokens`` reads a log of another simulator.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.simulator.rows import parse_json

NEEDED = ("arrival", "prompt", "output")
ROLES = (*NEEDED, "id", "limit", "weight", "acceptance")


def read_mapping(text: str, option: str) -> Mapping[str, str]:
    """Roles to column names.

    Parameters
    ----------
    text : str
        ``role=column`` separated by commas; a column's name may hold blanks.
    option : str
        Named in errors.

    Raises
    ------
    InvalidInstance
        No such pair, an unknown role, a role or a column twice, or arrival, prompt or output missing.

    Examples
    --------
    >>> read_mapping("arrival=t,prompt=Request tokens,output=n", "--columns")["prompt"]
    'Request tokens'
    """
    mapping: dict[str, str] = {}
    for pair in text.split(","):
        role, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not column or role not in ROLES:
            raise InvalidInstance(f"{option} has {pair!r}; need role=column with a role of {', '.join(ROLES)}")
        if role in mapping or column in mapping.values():
            raise InvalidInstance(f"{option} has {pair!r}, a role or a column for the second time; need each once")
        mapping[role] = column
    missing = [role for role in NEEDED if role not in mapping]
    if missing:
        raise InvalidInstance(f"{option} says nothing of {', '.join(missing)}; need {', '.join(NEEDED)}")
    return mapping


def is_json_lines(text: str) -> bool:
    """Whether a text begins as a JSON object does."""
    return text.lstrip()[:1] == "{"


def columns_in(text: str) -> tuple[str, ...]:
    """Names of the columns, or of the fields of the first JSON object; empty where the first row is broken."""
    if is_json_lines(text):
        try:
            first = parse_json(text.lstrip().partition("\n")[0], "first row")
        except DataError:
            return ()
        return tuple(first) if isinstance(first, dict) else ()
    try:
        return tuple(name.strip() for name in next(csv.reader(io.StringIO(text.lstrip(), newline=""), strict=True), []))
    except csv.Error:
        return ()
