"""Multisets of local states against a listing by itertools."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from fairlane.oracle.encoding.multisets import multisets
from fairlane.reference.errors import TooLarge


@pytest.mark.parametrize(("n_values", "members"), [(1, 3), (3, 2), (4, 3)])
def test_every_multiset_has_one_row_in_the_order_of_its_sum(n_values: int, members: int) -> None:
    found = multisets(n_values, members, least=members)[members]
    listed = list(combinations_with_replacement(range(n_values), members))
    assert sorted(map(tuple, found.digits.tolist())) == listed
    sums = found.digits.sum(axis=1).tolist()
    assert sums == sorted(sums)
    for row in listed:
        assert tuple(found.digits[found.number_of(row)].tolist()) == row
    for level in range(members * (n_values - 1) + 1):
        span = slice(int(found.level_start[level]), int(found.level_start[level + 1]))
        assert set(sums[span]) <= {level}
        assert len(sums[span]) == sum(sum(row) == level for row in listed)


def test_a_member_is_added_by_one_look_up() -> None:
    of = multisets(4, 3, least=1)
    for size in (1, 2):
        for row in combinations_with_replacement(range(4), size):
            for y in range(4):
                whole = tuple(sorted((*row, y)))
                assert int(of[size].up[y, of[size].number_of(row)]) == of[size + 1].number_of(whole)


def test_too_many_multisets_are_refused_by_their_number() -> None:
    with pytest.raises(TooLarge, match=r"100 equal requests of 100 local states have 2\^31 multisets or more"):
        multisets(100, 100, least=100)
