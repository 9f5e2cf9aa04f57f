"""Clocks that do not start at zero, units, columns of other systems, failed answers and hidden lengths of traces."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.policies import load_policy
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.simulator.run_metrics import measure_run
from fairlane.simulator.simulate import simulate
from fairlane.simulator.timing_tables import synthetic_catalog
from fairlane.simulator.traces import ShownLengths, Trace, TraceFormat, prior_of, read_trace, requests_of
from fairlane.simulator.traces.column_names import read_mapping

BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
VIDUR = read_mapping("arrival=arrived_at,prompt=num_prefill_tokens,output=num_decode_tokens", "--columns")


def arrivals(trace: Trace) -> list[Fraction]:
    return [Fraction(row.arrival_ms) for row in trace.rows]


def chats(*times: str, **fields: int) -> str:
    more = "".join(f', "{name}": {value}' for name, value in fields.items())
    return "\n".join(f'{{"timestamp": {t}, "input_length": 8, "output_length": 2{more}}}' for t in times)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (BURST + "1699999999,m,8,2,10,x\n1700000001,m,8,2,10,x\n", None),
        (chats("3600000", "3602000"), None),
        (chats("100.5", "102.5", chat_id=1, turn=1), 1000),
        ("arrival_s,prompt,output\n5,8,2\n7,8,2\n", None),
        ("arrival,prompt,output\n1700000000,8,2\n1700000002,8,2\n", 1000),
        ("arrival_ms,prompt,output\n1700000000000,8,2\n1700000002000,8,2\n", None),
    ],
    ids=["burstgpt", "mooncake", "bailian", "seconds", "epoch", "epoch in ms"],
)
def test_every_clock_starts_with_the_first_arrival(text: str, unit: int | None) -> None:
    # all of them: two seconds apart
    trace = read_trace(text, "t", ms_per_unit=unit)
    assert arrivals(trace) == [0, 2000]
    assert any("counted from the first arrival" in note for note in trace.notes)


def test_elapsed_time_and_rates_of_an_epoch_trace_are_those_of_the_same_trace_from_zero() -> None:
    figures = []
    for origin in (0, 1_700_000_000):
        text = "arrival_s,prompt,output\n" + "".join(f"{origin + k},100,4\n" for k in range(4))
        run = simulate(
            requests_of(read_trace(text, "t")), synthetic_catalog(), load_policy("fixed-value"), decode_value=16
        )
        metrics = measure_run(run)
        shown = metrics.publications
        # three seconds to the last arrival, and its service is far below a second
        assert 3000 < shown.elapsed_ms < 4000
        assert (shown.n_requests, shown.n_finished) == (4, 4)
        figures.append((shown.elapsed_ms, shown.output_tokens_per_ms, metrics.useful_tokens_per_elapsed_ms))
    assert figures[0] == figures[1]


def test_a_horizon_counts_from_the_first_arrival() -> None:
    text = "arrival_s,prompt,output\n1700000000,100,4\n1700000900,100,4\n"
    run = simulate(
        requests_of(read_trace(text, "t")),
        synthetic_catalog(),
        load_policy("fixed-value"),
        decode_value=16,
        horizon_ms=1000,
    )
    shown = measure_run(run).publications
    assert (shown.n_requests, shown.n_finished) == (1, 1)


def test_a_chat_log_needs_its_unit_stated_and_takes_both() -> None:
    text = chats("100.5", "101.5", chat_id=1, turn=1)
    with pytest.raises(DataError, match="the format bailian does not fix its time unit"):
        read_trace(text, "t")
    assert arrivals(read_trace(text, "t", ms_per_unit=1000)) == [0, 1000]
    assert arrivals(read_trace(text, "t", ms_per_unit=1)) == [0, 1]


def test_a_log_with_fields_of_nobody_known_needs_its_unit_stated() -> None:
    text = chats("100", "101", session=7)
    with pytest.raises(DataError, match="found the fields 'session', which mooncake does not have"):
        read_trace(text, "t")
    assert arrivals(read_trace(text, "t", ms_per_unit=1000)) == [0, 1000]
    assert arrivals(read_trace(text, "t", layout=TraceFormat.MOONCAKE)) == [0, 1]


def test_numbers_that_contradict_their_format_are_refused_until_the_unit_is_stated() -> None:
    # Mooncake counts whole ms
    with pytest.raises(DataError, match=r"row 2, column timestamp: found 101\.5, and the format mooncake counts whole"):
        read_trace(chats("100", "101.5"), "t")
    assert arrivals(read_trace(chats("100", "101.5"), "t", ms_per_unit=1000)) == [0, 1500]
    # 1.7e9 ms are twenty days after an epoch nobody uses; BurstGPT's seconds never reach 1.7e12
    with pytest.raises(DataError, match="1700000000, looks like a date in s, and the format mooncake counts ms"):
        read_trace(chats("1700000000", "1700000001"), "t")
    late = BURST + "1700000000000,m,8,2,10,x\n1700000001000,m,8,2,10,x\n"
    with pytest.raises(DataError, match=r"column Timestamp: found '1700000000000'.* it is read in s: does it count ms"):
        read_trace(late, "t")
    trace = read_trace(late, "t", ms_per_unit=1)
    assert arrivals(trace) == [0, 1000]
    assert "read in ms as stated; burstgpt is published in s" in trace.notes[0]


def test_a_doubtful_unit_that_the_user_stated_is_a_warning() -> None:
    trace = read_trace("arrival,prompt,output\n1700000000,8,2\n", "t", ms_per_unit=1)
    assert "looks like a date in s, and is read in ms" in trace.warnings[0]


def test_failed_and_empty_answers_are_counted_and_left_out() -> None:
    text = BURST + "5,m,472,18,490,x\n6,m,30,0,30,x\n7,m,9,,9,x\n8,m,9,1,10,x\n"
    trace = read_trace(text, "t")
    assert ([row.request_id for row in trace.rows], trace.n_unanswered) == (["1", "4"], 2)
    assert "2 rows are failed or empty answers without output (the first is row 2)" in trace.warnings[0]
    null = chats("0", "1").replace('"output_length": 2', '"output_length": null', 1)
    # the clock starts with the first request that is simulated
    assert (arrivals(read_trace(null, "t")), read_trace(null, "t").n_unanswered) == ([Fraction(0)], 1)
    with pytest.raises(DataError, match="all 1 rows are without output"):
        read_trace(BURST + "5,m,472,0,472,x\n", "t")


def test_columns_of_another_simulator_are_mapped() -> None:
    text = "id,arrived_at,num_prefill_tokens,num_decode_tokens,pd_ratio\n7,0.5,100,10,10\n8,0.75,50,5,10\n"
    trace = read_trace(text, "t", columns=VIDUR, ms_per_unit=1000)
    assert arrivals(trace) == [0, 250]
    assert [(r.prompt_tokens, r.output_tokens) for r in trace.rows] == [(100, 10), (50, 5)]
    assert any("columns not read: 'id', 'pd_ratio'" in note for note in trace.notes)
    named = read_mapping("arrival=a,prompt=Request tokens,output=o,id=who,limit=most", "--columns")
    row = read_trace("who,a,Request tokens,o,most\nx,1,8,2,9\n", "t", columns=named, ms_per_unit=1).rows[0]
    assert (row.request_id, row.prompt_tokens, row.limit) == ("x", 8, 9)


def test_mapped_columns_of_json_lines_need_their_unit_too() -> None:
    mapping = read_mapping("arrival=t,prompt=p,output=o", "--columns")
    text = '{"t": 1, "p": 8, "o": 2}\n{"t": 3.5, "p": 8, "o": 0}\n{"t": 4.5, "p": 8, "o": 1}\n'
    with pytest.raises(DataError, match="column t does not say its time unit"):
        read_trace(text, "t", columns=mapping)
    trace = read_trace(text, "t", columns=mapping, ms_per_unit=1000)
    assert (arrivals(trace), trace.n_unanswered) == ([Fraction(0), Fraction(3500)], 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arrival=a,prompt=p", "says nothing of output"),
        ("arrival=a,prompt=p,output=o,size=s", "'size=s'; need role=column with a role of arrival"),
        ("arrival=a,prompt=a,output=o", "'prompt=a', a role or a column for the second time"),
        ("arrival,prompt=p,output=o", "'arrival'; need role=column"),
        ("", "need role=column"),
    ],
)
def test_a_bad_mapping_is_named(text: str, words: str) -> None:
    with pytest.raises(InvalidInstance, match=words):
        read_mapping(text, "--columns")


def test_a_file_names_the_option_that_would_read_it() -> None:
    with pytest.raises(DataError, match="looks like vidur: --columns arrival=arrived_at,prompt=num_prefill_tokens"):
        read_trace("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n", "t")
    with pytest.raises(DataError, match="looks like splitwise-sim: --columns arrival=arrival_timestamp"):
        read_trace("request_id,arrival_timestamp,prompt_size,token_size\n0,0,1,1\n", "t")
    with pytest.raises(DataError, match="a log for fairlane metrics --format summary"):
        read_trace("id,arrival,first_token,last_token,output_tokens\na,0,1,2,2\n", "t")
    with pytest.raises(DataError, match="its columns are those of --format mooncake"):
        read_trace(chats("0", "1"), "t", layout=TraceFormat.AZURE)


def test_limit_weight_and_acceptance_of_a_table_are_used_and_other_columns_reported() -> None:
    text = "arrival_ms,prompt,output,limit,weight,acceptance,who\n0,8,5,64,2.5,0.7 1/2,x\n1,8,5,,,,y\n"
    trace = read_trace(text, "t")
    assert any("columns not read: 'who'" in note for note in trace.notes)
    first, second = requests_of(trace)
    assert (first.limit, first.weight, first.acceptance) == (64, Fraction(5, 2), (Fraction(7, 10), Fraction(1, 2)))
    assert (second.limit, second.weight, second.acceptance) == (4096, Fraction(1), ())
    with pytest.raises(InvalidInstance, match="acceptance is given for all requests, and the trace has a column"):
        requests_of(trace, acceptance=["1/2"])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("0,,", "row 1, column limit: found '0'; need >= 1"),
        (",0,", "row 1, column weight: found '0'; need > 0"),
        (",nan,", "row 1, column weight: found 'nan'; need a finite number"),
        (",,1.5", "row 1, column acceptance: found 3/2; need probabilities"),
        (",,x", "row 1, column acceptance: found 'x'; need a finite number"),
    ],
)
def test_a_bad_cell_of_these_columns_is_named(cells: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_trace(f"arrival_ms,prompt,output,limit,weight,acceptance\n0,8,5,{cells}\n", "t")


def test_a_request_shows_its_limit_and_hides_its_length() -> None:
    trace = read_trace("arrival_ms,prompt,output\n0,8,12\n1,8,5000\n", "t")
    assert [(r.limit, r.output_length, r.length_prior) for r in requests_of(trace)] == [
        (4096, 12, None),
        (4096, 5000, None),
    ]
    assert ShownLengths().words(trace) == "hidden: limit 4096, which cuts 1 of 2 answers"
    known = ShownLengths(known=True)
    assert [r.limit for r in requests_of(trace, lengths=known)] == [12, 5000]
    assert known.words(trace) == "known: the limit is the recorded length"


def test_lengths_that_are_hidden_leave_no_trace_in_what_a_policy_sees() -> None:
    # two traces that differ in lengths alone: the first decision on each sees the same
    seen = []
    for outputs in ((3, 4), (9, 30)):
        text = "arrival_ms,prompt,output\n" + "".join(f"0,8,{n}\n" for n in outputs)
        rows = requests_of(read_trace(text, "t"))
        seen.append([(r.id, r.prompt, r.limit, r.length_prior, r.acceptance) for r in rows])
    assert seen[0] == seen[1]


def test_an_answer_is_cut_at_the_limit_and_at_nothing_else() -> None:
    trace = read_trace("arrival_ms,prompt,output\n0,8,12\n0,8,3\n", "t")
    requests = requests_of(trace, lengths=ShownLengths(limit=5))
    run = simulate(requests, synthetic_catalog(), load_policy("fixed-value"), decode_value=16)
    assert measure_run(run).publications.per_request.output_tokens.tolist() == [5, 3]


def test_a_prior_is_learned_on_one_part_and_believed_on_another() -> None:
    learned = prior_of(read_trace("arrival_ms,prompt,output\n0,8,2\n1,8,2\n2,8,5\n3,8,9\n", "t"))
    # shares by hand: 2 of 4, 1 of 4, 1 of 4
    assert dict(learned.prior) == {2: Fraction(1, 2), 5: Fraction(1, 4), 9: Fraction(1, 4)}
    other = read_trace("arrival_ms,prompt,output\n0,8,7\n", "t")
    (request,) = requests_of(other, lengths=ShownLengths(prior=learned.prior))
    assert (request.length_prior, request.output_length, request.limit) == (learned.prior, 7, 4096)
    with pytest.raises(InvalidInstance, match="beside known lengths"):
        ShownLengths(known=True, prior=learned.prior)


def test_hidden_lengths_change_schedules_where_drafts_are_accepted_and_not_where_none_are() -> None:
    # one token a row: no limit cuts it, so its expected service is the same; with drafts a near end cuts the burst
    text = "arrival_ms,prompt,output\n" + "".join(f"{5 * k},{100 + 37 * k},{3 + k % 5}\n" for k in range(12))
    trace = read_trace(text, "t")
    same = {}
    for acceptance in ((), ("9/10", "9/10", "9/10")):
        launches = [
            simulate(
                requests_of(trace, acceptance=acceptance, lengths=lengths),
                synthetic_catalog(),
                load_policy("fixed-value"),
                decode_value=64,
            ).graph.tolist()
            for lengths in (ShownLengths(), ShownLengths(known=True))
        ]
        same[acceptance] = launches[0] == launches[1]
    assert list(same.values()) == [True, False]
