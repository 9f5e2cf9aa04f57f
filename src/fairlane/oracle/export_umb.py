"""Explicit models in the unified Markov binary format: a tar of an index and little-endian arrays.

Rationals are pairs of a signed 64-bit numerator and an unsigned 64-bit denominator. A model with larger ones is
refused; DRN has no such limit.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Iterable
from fractions import Fraction

from fairlane.oracle.explicit_model import ExplicitModel
from fairlane.reference.errors import Unsupported

RATIONAL = {"type": "rational", "size": 128}


def to_umb(model: ExplicitModel) -> bytes:
    """The model as the bytes of a UMB file; the same model gives the same bytes.

    Raises
    ------
    Unsupported
        A numerator or denominator beyond 64 bits.
    """
    rows = model.choices
    choices = [choice for row in rows for choice in row]
    branches = [branch for choice in choices for branch in choice.to]
    files = {
        "index.json": json.dumps(_index(model, len(choices), len(branches)), indent=1).encode(),
        "state-is-initial.bin": _bits(s == model.initial for s in range(len(rows))),
        "state-to-choices.bin": _starts(len(row) for row in rows),
        "choice-to-branches.bin": _starts(len(choice.to) for choice in choices),
        "branch-to-target.bin": b"".join(struct.pack("<Q", t) for t, _ in branches),
        "branch-to-probability.bin": _rationals(p for _, p in branches),
        f"annotations/rewards/{model.reward_name}/choices/values.bin": _rationals(c.reward for c in choices),
        "annotations/aps/done/states/values.bin": _bits(s in model.final for s in range(len(rows))),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _index(model: ExplicitModel, n_choices: int, n_branches: int) -> dict[str, object]:
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
            "branch-probability-type": RATIONAL,
        },
        "annotations": {
            "rewards": {model.reward_name: {"applies-to": ["choices"], "type": RATIONAL}},
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


def _rationals(values: Iterable[Fraction]) -> bytes:
    out = []
    for value in values:
        if not (-(2**63) <= value.numerator < 2**63 and value.denominator < 2**64):
            raise Unsupported(
                f"UMB holds 64-bit numerators and denominators, and {value} needs more; export DRN instead"
            )
        out.append(struct.pack("<qQ", value.numerator, value.denominator))
    return b"".join(out)
