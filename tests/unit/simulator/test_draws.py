"""Keyed draws: the hash against its published vector, streams, and hidden lengths."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from fairlane.reference.model.request import Request
from fairlane.simulator.clock import clock_for
from fairlane.simulator.draws import KeyedDraws, Stream, absorb, hidden_length, keyed_uniform


def test_the_hash_is_splitmix64() -> None:
    # the generator's published first outputs from seed 1234567, in Vigna's splitmix64.c test vectors
    state, out = 1234567, []
    for _ in range(3):
        out.append(absorb(state, 0))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert out == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_draws_depend_on_their_key_alone() -> None:
    request = Request(id="a", prompt=0, limit=50, acceptance=["1/2"] * 7)
    one, other = KeyedDraws([request] * 3, 5), KeyedDraws([request] * 9, 5)
    asked = [(i, g, 7) for i in range(3) for g in range(20)]
    assert [one.accepted_drafts(*a) for a in asked] == [other.accepted_drafts(*a) for a in reversed(asked)][::-1]
    # fewer drafts are a prefix of the same luck
    assert all(one.accepted_drafts(i, g, 2) == min(2, one.accepted_drafts(i, g, 7)) for i, g, _ in asked)


def test_streams_and_seeds_differ() -> None:
    keys = {keyed_uniform(seed, stream, 3, 4) for seed in range(50) for stream in Stream}
    assert len(keys) == 50 * len(Stream)


def test_sure_and_impossible_drafts() -> None:
    draws = KeyedDraws([Request(id="a", prompt=0, limit=9, acceptance=[1, 1, 0, 1])], 0)
    assert {draws.accepted_drafts(0, g, 7) for g in range(100)} == {2}


def test_acceptance_has_its_rate() -> None:
    # 40,000 draws of 3/10: a deviation of 5 standard errors has probability below 1e-6
    draws = KeyedDraws([Request(id=str(i), prompt=0, limit=9, acceptance=["3/10"]) for i in range(200)], 1)
    hits = sum(draws.accepted_drafts(i, g, 1) for i in range(200) for g in range(200))
    assert abs(hits / 40_000 - 0.3) < 5 * (0.3 * 0.7 / 40_000) ** 0.5


def test_hidden_lengths() -> None:
    prior = {1: "1/2", 4: "1/4", 9: "1/4"}
    given = Request(id="a", prompt=0, limit=6, output_length=7, length_prior=prior)
    assert hidden_length(given, 0, 0) == 6
    assert hidden_length(Request(id="a", prompt=0, limit=6), 0, 0) == 6
    # given more than one token: 4 or the limit of 6, half and half; 4,000 draws, 5 standard errors
    drawn = Request(id="a", prompt=0, generated=1, limit=6, length_prior=prior)
    seen = Counter(hidden_length(drawn, seed, 3) for seed in range(4000))
    assert set(seen) == {4, 6}
    assert abs(seen[4] / 4000 - 0.5) < 5 * (0.25 / 4000) ** 0.5


def test_a_clock_holds_every_time_it_was_made_for() -> None:
    clock = clock_for([Fraction(1, 3), Fraction(7, 4), Fraction(5)])
    assert clock.per_ms == 12
    assert (clock.ticks(Fraction(1, 3)), clock.ticks(Fraction(7, 4)), clock.show_ms(21)) == (4, 21, 1.75)
    with pytest.raises(AssertionError, match="grid"):
        clock.ticks(Fraction(1, 5))
