"""A record of a tiny instance has every number where its name says."""

from __future__ import annotations

from fairlane.oracle.kernels import tiny_record as record
from fairlane.oracle.sweeps.tiny_batch import pack
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


def test_every_number_stands_where_its_name_says() -> None:
    instance = Instance(
        graphs=[
            Graph(name="p", duration_ms=11, prefill_capacity=12, prefill_lanes=1),
            Graph(name="d", duration_ms=13, prefill_capacity=14, prefill_lanes=2, decode_capacity=15, width=16),
        ],
        requests=[
            Request(id="a", prompt=21, limit=22, weight=23, acceptance=["1/4"]),
            Request(id="b", prompt=0, generated=1, limit=3, weight=24, length_prior={2: "1/2", 3: "1/2"}),
        ],
        objective=Objective(
            prefill_value=31,
            decode_value=32,
            time_price=33,
            completion_price=34,
            first_output_price=35,
            age_price=36,
            energy_price=37,
        ),
    )
    words, at = pack([instance, instance])
    assert at.tolist() == [0, len(words) // 2, len(words)]
    # the second record copies what the first one wrote
    for begin in at[:-1].tolist():
        head = words[begin:]
        assert head[record.N_GRAPHS] == head[record.N_REQUESTS] == 2
        assert head[record.PREFILL_VALUE] == 31
        assert head[record.DECODE_VALUE] == 32
        assert head[record.TIME_PRICE] == 33
        assert head[record.COMPLETION_PRICE] == 34
        assert head[record.FIRST_OUTPUT_PRICE] == 35
        assert head[record.OTHER_PRICES] == 36 + 37
        graph = head[record.HEAD + record.GRAPH :]
        assert graph[record.DURATION] == 13
        assert graph[record.PREFILL_CAPACITY] == 14
        assert graph[record.PREFILL_LANES] == 2
        assert graph[record.DECODE_CAPACITY] == 15
        assert graph[record.ROW_WIDTH] == 16
        first = head[record.HEAD + 2 * record.GRAPH :]
        assert first[record.PROMPT] == 21
        assert first[record.LIMIT] == 22
        assert first[record.WEIGHT] == 23
        assert (first[record.N_LENGTHS], first[record.N_DRAFTS]) == (0, 1)
        assert first[record.REQUEST : record.REQUEST + 2].tolist() == [0.25, 0.75]
        second = first[record.REQUEST + 2 :]
        assert (second[record.PROMPT], second[record.GENERATED], second[record.WEIGHT]) == (0, 1, 24)
        assert (second[record.N_LENGTHS], second[record.N_DRAFTS]) == (2, 0)
        assert second[record.REQUEST : record.REQUEST + 4].tolist() == [2, 0.5, 3, 0.5]
