"""Which columns of a file hold what, by a mapping from the user.

``arrival=arrived_at,prompt=num_prefill_tokens,output=num_decode_tokens`` reads a log of another simulator.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlane.reference.errors import InvalidInstance

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
