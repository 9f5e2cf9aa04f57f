"""Statuses are derived: never green without evidence, and doubt reaches every dependent."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.proofs.claims.claim import Claim, Kind, Option
from fairlane.proofs.claims.dependency import cycles, uses_of, weakest_ancestors
from fairlane.proofs.claims.status import STRENGTHS, Colour, Status, Strength, colour_of, is_sound, weakness


def test_strengths_stand_in_the_documented_order() -> None:
    # the order is the design's, written out here and nowhere else in the tests
    assert [str(strength) for strength in STRENGTHS] == [
        "certificate",
        "two solvers",
        "one solver",
        "enumerated",
        "exact",
        "statistical",
        "recorded",
        "numeric",
        "cited",
        "assumed",
    ]


@pytest.mark.parametrize("status", [Status.UNKNOWN, Status.STALE, Status.FAILED])
def test_unknown_stale_and_failed_are_never_green(status: Status) -> None:
    for below in (None, *Status):
        assert colour_of(status, below) in (Colour.AMBER, Colour.RED)


def test_a_claim_is_green_only_on_sound_ground() -> None:
    assert colour_of(Status.HOLDS, None) is Colour.GREEN
    assert colour_of(Status.HOLDS, Status.CITED) is Colour.GREEN
    assert colour_of(Status.CITED, Status.HOLDS) is Colour.GREY
    for below in (Status.FAILED, Status.UNKNOWN, Status.STALE):
        assert colour_of(Status.HOLDS, below) is Colour.AMBER
        assert colour_of(Status.CITED, below) is Colour.AMBER


def test_what_is_wrong_is_weaker_than_any_evidence() -> None:
    held = [weakness(Status.HOLDS, strength) for strength in Strength]
    assert held == sorted(held, reverse=True)
    for status in (Status.FAILED, Status.UNKNOWN, Status.STALE):
        assert weakness(status, None) < min(held)


def claim(name: str, uses: list[str]) -> Claim:
    options = (Option(name="uses", value=", ".join(uses), line=2),) if uses else ()
    return Claim(
        id=name,
        kind=Kind.EXACT,
        options=options,
        body="1 == 1",
        path="note.md",
        folder=Path("."),
        line=1,
        last_line=4,
        body_line=3,
    )


def test_the_weakest_ancestor_is_found_through_others() -> None:
    claims = [claim("base", []), claim("middle", ["base"]), claim("top", ["middle"]), claim("alone", [])]
    standing = {
        "base": (Status.HOLDS, Strength.NUMERIC),
        "middle": (Status.HOLDS, Strength.TWO_SOLVERS),
        "top": (Status.HOLDS, Strength.EXACT),
        "alone": (Status.FAILED, None),
    }
    found = weakest_ancestors(uses_of(claims), standing)
    assert found == {"base": None, "middle": "base", "top": "base", "alone": None}


def test_a_definition_is_no_evidence_but_what_it_rests_on_is() -> None:
    claims = [claim("cited", []), claim("def-x", ["cited"]), claim("top", ["def-x"])]
    standing = {
        "cited": (Status.CITED, Strength.CITED),
        "def-x": (Status.DEFINED, None),
        "top": (Status.HOLDS, Strength.EXACT),
    }
    assert weakest_ancestors(uses_of(claims), standing)["top"] == "cited"


@given(data=st.data(), n=st.integers(1, 9))
def test_the_weakest_ancestor_is_the_minimum_over_all_ancestors(data: st.DataObject, n: int) -> None:
    # against the definition: every claim reachable along :uses:, by networkx's own search
    names = [f"c{i}" for i in range(n)]
    pairs = [pair for pair in itertools.permutations(names, 2) if data.draw(st.integers(0, 3)) == 0]
    claims = [claim(name, [low for low, high in pairs if high == name]) for name in names]
    standing = {
        name: data.draw(
            st.one_of(
                st.tuples(st.just(Status.HOLDS), st.sampled_from(list(Strength))),
                st.tuples(st.sampled_from([Status.FAILED, Status.UNKNOWN, Status.STALE]), st.none()),
            )
        )
        for name in names
    }
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((high, low) for low, high in pairs)
    uses = uses_of(claims)
    found = weakest_ancestors(uses, standing)
    groups = {frozenset(group) for group in nx.strongly_connected_components(graph) if len(group) > 1}
    assert {frozenset(group) for group in cycles(uses)} == groups
    for name in names:
        below = nx.descendants(graph, name)
        expected = min((weakness(*standing[other]) for other in below), default=None)
        weakest = found[name]
        assert (None if weakest is None else weakness(*standing[weakest])) == expected
        assert weakest is None or weakest in below
        if colour_of(standing[name][0], None if weakest is None else standing[weakest][0]) is Colour.GREEN:
            assert all(is_sound(standing[other][0]) for other in below)
