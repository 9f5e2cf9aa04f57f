"""The families of the benchmarks, and the explicit model that other solvers are given, against hand counts."""

from __future__ import annotations

import json
import tarfile
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from benchmarks.explicit_arrays import arrays, local_states, row_law, sizes, write_umb
from benchmarks.families import TEMPLATES, decode_ms, family, prior
from fairlane.oracle.encoding.packing import count_canonical, count_states
from fairlane.oracle.explicit.explicit_model import explicit_model
from fairlane.oracle.rational.plain import solve_plain
from fairlane.reference.model.request import Request


def test_a_prior_puts_the_rest_at_the_limit() -> None:
    # hazards 3/10 and 1/5 in turn: 3/10, then 7/10 · 1/5, and 7/10 · 4/5 is left
    assert prior("m", 3) == {1: Fraction(3, 10), 2: Fraction(7, 50), 3: Fraction(28, 50)}
    assert prior("w", 2) == {1: Fraction(1, 16), 2: Fraction(15, 16)}


@pytest.mark.parametrize("kind", sorted(TEMPLATES))
def test_every_prior_sums_to_exactly_one(kind: str) -> None:
    for request in family(f"{kind}9").requests:
        assert request.length_prior is not None
        assert sum(p for _, p in request.length_prior) == 1
        assert [n for n, _ in request.length_prior] == list(range(1, request.limit + 1))


def test_durations_grow_with_rows_and_width() -> None:
    # 2 + (2·4 + 3·4 + 4·4) / 10
    assert decode_ms(4, 4) == Fraction(28, 5)
    assert family("u1").graphs["d4w4"].duration_ms == Fraction(28, 5)
    assert [g.name for g in family("u1").graphs][:3] == ["p1", "p2", "d1w1"]


@pytest.mark.parametrize(("kind", "local"), [("m", 10), ("s", 10), ("u", 10), ("w", 41), ("a", 4)])
def test_states_are_powers_of_the_local_states(kind: str, local: int) -> None:
    # p prompt remainders, l - 1 outputs after a first token (l without a prompt), one end
    for request in family(f"{kind}9").requests:
        assert len(local_states(request)) == local
    for n in (1, 2, 9):
        # the final state is not counted
        assert count_states(family(f"{kind}{n}")) == local**n - 1
    assert sizes(family(f"{kind}2")).states == local**2


def test_states_up_to_exchange_are_multisets() -> None:
    assert count_canonical(family("s6")) + 1 == comb(15, 6) == 5005
    # eight requests of three templates in turn: three, three and two of them
    assert count_canonical(family("m8")) + 1 == comb(12, 3) ** 2 * comb(11, 2)
    assert count_canonical(family("u6")) + 1 == 10**6


@pytest.mark.parametrize("name", ["t4", "m", "m0", "m10", "m-1", "m1.0", ""])
def test_an_unknown_family_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="need one of m, s, u, w, a"):
        family(name)


def test_a_row_ends_by_its_length_or_goes_on_after_a_rejected_draft() -> None:
    # q = 7/10, width 2, lengths 1, 2, 3 with 3/10, 7/50, 14/25: one token ends it with 3/10; after a rejected draft it
    # goes on with 3/10 · 7/10; an accepted one ends it with 7/10 · 7/50 and goes on with 7/10 · 14/25
    request = Request(id="r", prompt=0, limit=3, length_prior=prior("m", 3), acceptance=["7/10"])
    tokens, law = row_law(request, 0, 2)
    assert law == pytest.approx({None: 0.3 + 0.098, 1: 0.21, 2: 0.392})
    assert tokens == pytest.approx(0.3 + 0.21 + 2 * (0.098 + 0.392))


@pytest.mark.parametrize("name", ["u2", "w1"])
def test_sizes_count_what_the_explicit_model_lists(name: str) -> None:
    instance = family(name)
    listed = explicit_model(instance)
    size = sizes(instance)
    assert size.states == len(listed.choices)
    assert size.choices == listed.n_choices
    assert size.transitions == sum(len(choice.to) for row in listed.choices for choice in row)


@pytest.mark.parametrize("name", ["m2", "w1"])
def test_stored_transitions_have_the_exact_optimum(name: str) -> None:
    instance = family(name)
    model = arrays(instance)
    size = sizes(instance)
    assert (model.starts.size, model.branches.size, model.to.size) == (
        size.states + 1,
        size.choices + 1,
        size.transitions,
    )
    assert np.add.reduceat(model.p, model.branches[:-1]) == pytest.approx(np.ones(size.choices))
    values = np.zeros(size.states)
    # no state recurs, so as many sweeps as states are surely enough
    for _ in range(size.states):
        worth = model.rewards + np.add.reduceat(model.p * values[model.to], model.branches[:-1])
        values = np.maximum.reduceat(worth, model.starts[:-1])
    assert values[0] == pytest.approx(float(solve_plain(instance).value), rel=1e-12)


def test_a_binary_file_holds_the_arrays(tmp_path: Path) -> None:
    instance = family("u1")
    model = arrays(instance)
    file = tmp_path / "m.umb"
    write_umb(model, file)
    with tarfile.open(file) as archive:
        held = {entry.name: archive.extractfile(entry) for entry in archive}
        content = {name: stream.read() for name, stream in held.items() if stream is not None}
    index = json.loads(content["index.json"])["transition-system"]
    assert (index["#states"], index["#choices"], index["#branches"]) == (10, model.rewards.size, model.to.size)
    assert np.frombuffer(content["branch-to-probability.bin"]).tolist() == model.p.tolist()
    # ten states in one word: the first is initial, the last final
    assert int.from_bytes(content["state-is-initial.bin"], "little") == 1
    assert int.from_bytes(content["annotations/aps/done/states/values.bin"], "little") == 512
