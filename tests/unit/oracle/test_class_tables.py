"""Tables of the merged sweep, counted by hand, and the room that the innermost axis takes in its kernels."""

from __future__ import annotations

import numpy as np
import pytest

from fairlane.oracle.encoding.packing import pack
from fairlane.oracle.encoding.signatures import Rules
from fairlane.oracle.sweeps.class_sweep import sweep_classes
from fairlane.oracle.sweeps.class_tables import class_axes, most_served, split
from fairlane.oracle.sweeps.compiled import sweep
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


def two_classes(short: int, long: int) -> Instance:
    """Decoding requests with limits 2 and 3, so of 3 and 4 local states; graphs of at most two rows."""
    requests = [Request(id=f"s{i}", prompt=0, limit=2) for i in range(short)]
    requests += [Request(id=f"l{i}", prompt=0, limit=3) for i in range(long)]
    return Instance(
        graphs=[
            Graph(name="d", duration_ms=1, decode_capacity=2),
            Graph(name="e", duration_ms="3/4", decode_capacity=1),
        ],
        requests=requests,
        objective=Objective(decode_value=1, completion_price=1),
    )


@pytest.mark.parametrize("counts", [(2, 3), (3, 2), (2, 2), (4, 2)])
def test_every_axis_has_its_own_pairs(counts: tuple[int, int]) -> None:
    packed = pack(two_classes(*counts), merge=True)
    rules = Rules(packed.instance, packed.operators, worst=False)
    axes = class_axes(packed, [split(axis, most_served(axis, rules, packed)) for axis in packed.axes])
    # n local states of which n - 1 decode, m members: a served one beside a multiset of m - 1, or two beside m - 2.
    # n = 3, m = 2: 2·3 + 3·1; m = 3: 2·6 + 3·3; m = 4: 2·10 + 3·6. n = 4, m = 2: 3·4 + 6·1; m = 3: 3·10 + 6·4
    by_hand = {(3, 2): 9, (3, 3): 21, (3, 4): 38, (4, 2): 18, (4, 3): 54}
    expected = [by_hand[len(axis.chain), axis.members] for axis in packed.axes]
    assert axes.pairs.tolist() == expected
    assert len(set(expected)) == 2, "which axis comes last makes a difference"


@pytest.mark.parametrize("counts", [(2, 3), (3, 2), (4, 2)])
def test_either_axis_may_be_the_innermost(counts: tuple[int, int]) -> None:
    instance = two_classes(*counts)
    packed = pack(instance, merge=True)
    turned = type(packed)(
        instance=packed.instance, axes=packed.axes[::-1], operators=packed.operators, earned=packed.earned
    )
    alone = sweep(pack(instance, merge=False), threads=1)
    for order in (packed, turned):
        costs = sweep_classes(order, worst=False, threads=1, on_progress=None)
        # the first state is number 0 in every order; its cost does not depend on what is merged
        np.testing.assert_allclose(costs[0], alone.costs[0], rtol=1e-12)
