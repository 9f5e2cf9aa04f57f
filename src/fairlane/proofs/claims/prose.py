"""Numbers in prose: each is borrowed from a claim, marked as a mere label, or reported.

A number typed into a sentence stays when the claim behind it changes. So prose takes its numbers from claims by
``{val}``, marks the harmless ones (a section number, a year) by ``{num}``, and everything else is a problem.
Code spans and formulas are notation, not assertions, and pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

from fairlane.proofs.claims.claim import Mention, Problem

# A number does not start inside a word: p99, H2 and x_1 are names.
_NUMBER = re.compile(r"(?<![\w^])[+\-−]?(?:\d[\d.,/]*\d|\d|[½⅓⅔¼¾⅕])%?")
_VALUE = re.compile(r"\s*([a-z][a-z0-9-]*)(?:\s+\.(\d{1,2}))?\s*")


def bare_numbers(text: str) -> tuple[str, ...]:
    """Numbers that a run of plain text contains.

    Examples
    --------
    >>> bare_numbers("p99 of 2 lanes is 9/5, not 1.75")
    ('2', '9/5', '1.75')
    """
    return tuple(match.group() for match in _NUMBER.finditer(text))


def read_inline(
    children: Sequence[Token], *, path: str, line: int, mentions: list[Mention], problems: list[Problem]
) -> None:
    """Collect mentions and problems of one paragraph, heading or cell.

    Parameters
    ----------
    children : sequence of Token
        The inline tokens.
    path, line : str, int
        Where the first of them stands.
    mentions, problems : list
        Receive what is found.
    """
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            line += 1
        elif token.type == "text":
            for number in bare_numbers(token.content):
                wanted = f"{{val}}`claim-id`, or {{num}}`{number}` for a label"
                problems.append(Problem(path=path, line=line, message=f"bare number {number} in prose; need {wanted}"))
        elif token.type == "myst_role" and token.meta.get("name") in ("val", "claim"):
            role = str(token.meta["name"])
            match = _VALUE.fullmatch(token.content)
            if match is None or (role == "claim" and match[2] is not None):
                wanted = "`claim-id` or `claim-id .3`" if role == "val" else "`claim-id`"
                problems.append(
                    Problem(path=path, line=line, message=f"{{{role}}} holds {token.content!r}; need {wanted}")
                )
                continue
            decimals = int(match[2]) if match[2] is not None else None
            mentions.append(Mention(role=role, claim_id=match[1], decimals=decimals, path=path, line=line))
