"""Sums of durations that a stream's age can be, counted by hand."""

from __future__ import annotations

import pytest

from fairlane.oracle.encoding import attainable_ages as module
from fairlane.oracle.encoding.attainable_ages import attainable_ages, following_ages
from fairlane.reference.errors import Unsupported


def test_sums_of_at_most_so_many_durations_each_once() -> None:
    # none, one or two of 2 and 3: 0 | 2 3 | 4 5 6
    assert attainable_ages([3, 2, 2], 2).tolist() == [0, 2, 3, 4, 5, 6]
    assert attainable_ages([3, 2], 0).tolist() == [0]
    # 2 + 2 = 4 is a duration, too: three of them make 2 4 6 8 10 12
    assert attainable_ages([2, 4], 3).tolist() == [0, 2, 4, 6, 8, 10, 12]


def test_a_step_on_is_the_place_of_the_sum() -> None:
    ages = attainable_ages([2, 3], 2)
    # 0 + 2 = 2 is at 1, 0 + 3 at 2; 6 + 2 is no age any more
    assert following_ages(ages, [2, 3]).tolist() == [[1, 2], [3, 4], [4, 5], [5, -1], [-1, -1], [-1, -1]]


def test_too_many_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_AGES", 5)
    with pytest.raises(Unsupported, match="more than 5 different ages"):
        attainable_ages([2, 3], 2)
