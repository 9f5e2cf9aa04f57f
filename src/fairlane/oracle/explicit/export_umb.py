"""Explicit models in the unified Markov binary format: a tar of an index and little-endian arrays.

Rationals are pairs of a signed numerator and an unsigned denominator of 64 bits each, or of the least multiple of 64
that all rationals of an array fit in; the index names the size.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Iterable, Sequence
from fractions import Fraction

from fairlane.oracle.explicit.explicit_model import ExplicitModel

WORD_BITS = 64


def to_umb(model: ExplicitModel) -> bytes:
    """The model as the bytes of a UMB file; the same model gives the same bytes."""
    rows = model.choices
    choices = [choice for row in rows for choice in row]
    branches = [branch for choice in choices for branch in choice.to]
    probabilities = [p for _, p in branches]
    rewards = [choice.reward for choice in choices]
    index = _index(
        model, len(choices), len(branches), probability_words=_words(probabilities), reward_words=_words(rewards)
    )
    files = {
        "index.json": json.dumps(index, indent=1).encode(),
        "state-is-initial.bin": _bits(s == model.initial for s in range(len(rows))),
        "state-to-choices.bin": _starts(len(row) for row in rows),
        "choice-to-branches.bin": _starts(len(choice.to) for choice in choices),
        "branch-to-target.bin": b"".join(struct.pack("<Q", t) for t, _ in branches),
        "branch-to-probability.bin": _rationals(probabilities),
        f"annotations/rewards/{model.reward_name}/choices/values.bin": _rationals(rewards),
        "annotations/aps/done/states/values.bin": _bits(s in model.final for s in range(len(rows))),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _index(
    model: ExplicitModel, n_choices: int, n_branches: int, *, probability_words: int, reward_words: int
) -> dict[str, object]:
    return {
        "format-version": 1,
        "format-revision": 0,
        "file-data": {"tool": "fairlane"},
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": len(model.choices),
            "#initial-states": 1,
            "#choices": n_choices,
            "#choice-actions": 0,
            "#branches": n_branches,
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": _rational_type(probability_words),
        },
        "annotations": {
            "rewards": {model.reward_name: {"applies-to": ["choices"], "type": _rational_type(reward_words)}},
            "aps": {"done": {"applies-to": ["states"], "type": {"type": "bool", "size": 1}}},
        },
    }


def _bits(flags: Iterable[bool]) -> bytes:
    """A bit vector in words of 64 bits, least significant bit first."""
    value, n = 0, 0
    for flag in flags:
        value |= int(flag) << n
        n += 1
    return value.to_bytes(8 * max(1, -(-n // 64)), "little")


def _starts(counts: Iterable[int]) -> bytes:
    total = 0
    out = [struct.pack("<Q", 0)]
    for count in counts:
        total += count
        out.append(struct.pack("<Q", total))
    return b"".join(out)


def _rational_type(words: int) -> dict[str, object]:
    return {"type": "rational", "size": 2 * WORD_BITS * words}


def _words(values: Sequence[Fraction]) -> int:
    """Words that every numerator with its sign, and every denominator, fits in."""
    bits = max(max(v.numerator.bit_length() + 1, v.denominator.bit_length()) for v in values)
    return -(-bits // WORD_BITS)


def _rationals(values: Sequence[Fraction]) -> bytes:
    n = WORD_BITS // 8 * _words(values)
    return b"".join(
        v.numerator.to_bytes(n, "little", signed=True) + v.denominator.to_bytes(n, "little") for v in values
    )
