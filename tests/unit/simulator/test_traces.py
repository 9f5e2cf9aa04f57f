"""Trace readers: published columns, units, order, and every kind of bad row named by number and column."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.simulator.traces import Trace, TraceFormat, detect_format, read_trace, repeated, requests_of

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
BAILIAN = '{"chat_id": 0, "turn": 1, "timestamp": 100.5, "input_length": 64, "output_length": 3, "type": "text"}'
PLAIN = "id,arrival_ms,prompt,output\n"


def arrivals(trace: Trace) -> list[float]:
    return [float(row.arrival_ms) for row in trace.rows]


def test_azure_counts_from_the_first_arrival_to_the_hundred_nanoseconds() -> None:
    text = AZURE + "2023-11-16 23:59:59.9799600,10,1\n2023-11-17 00:00:00.0319601,3,2\n"
    trace = read_trace(text, "t")
    assert [row.arrival_ms for row in trace.rows] == [0, Fraction("52.0001")]
    assert [(row.request_id, row.prompt_tokens, row.output_tokens) for row in trace.rows] == [("1", 10, 1), ("2", 3, 2)]


def test_azure_of_2024_has_time_zones() -> None:
    text = AZURE + "2024-05-10 01:00:00.009930+01:00,10,1\n2024-05-10 00:00:01+00:00,3,2\n"
    assert arrivals(read_trace(text, "t")) == [0, 990.07]


def test_mooncake_is_in_milliseconds_and_keeps_equal_arrivals_in_file_order() -> None:
    lines = ['{"timestamp": 3000, "input_length": 7, "output_length": 2, "hash_ids": [0, 1]}'] * 2
    trace = read_trace("\n".join(lines), "t")
    assert arrivals(trace) == [0, 0]
    assert trace.origin_ms == 3000
    assert [row.request_id for row in trace.rows] == ["1", "2"]


def test_burstgpt_is_in_seconds() -> None:
    trace = read_trace(BURST + "5,ChatGPT,472,18,490,Conversation log\n6.5,GPT-4,1,2,3,API log\n", "t")
    # 6.5 - 5 seconds
    assert arrivals(trace) == [0, 1500]
    assert trace.rows[0].prompt_tokens == 472


def test_plain_csv_takes_its_unit_from_the_column_or_from_the_user() -> None:
    rows = ",prompt,output\n0,0,1\n1.5,0,1\n"
    assert arrivals(read_trace("arrival_ms" + rows, "t")) == [0, 1.5]
    assert arrivals(read_trace("arrival_s" + rows, "t")) == [0, 1500]
    assert arrivals(read_trace("arrival" + rows, "t", ms_per_unit=1000)) == [0, 1500]
    with pytest.raises(DataError, match="does not say its time unit"):
        read_trace("arrival,prompt,output\n1.5,0,1\n", "t")
    with pytest.raises(DataError, match="not that of column arrival_ms"):
        read_trace("arrival_ms,prompt,output\n1.5,0,1\n", "t", ms_per_unit=1000)


def test_dates_have_no_unit_to_state() -> None:
    with pytest.raises(DataError, match="has its times as dates"):
        read_trace(AZURE + "2023-11-16 18:17:03,10,1\n", "t", ms_per_unit=1)


def test_unsorted_rows_are_sorted_stably_and_counted() -> None:
    text = PLAIN + "a,50,10,1\nb,10,10,1\nc,50,9,1\nd,20,8,1\ne,10,7,1\n"
    trace = read_trace(text, "t")
    assert [row.request_id for row in trace.rows] == ["b", "e", "d", "a", "c"]
    # b, d and e stand after a later arrival; c equals a
    assert trace.n_moved == 3
    assert len(trace.warnings) == 1
    assert "3 rows arrive before an earlier row (the first is row 2)" in trace.warnings[0]


def test_sorted_rows_give_no_warning() -> None:
    trace = read_trace(PLAIN + "a,0,10,1\nb,0,10,1\n", "t")
    assert trace.warnings == trace.notes == ()


BAD_PLAIN = [
    ("a,-1,10,1", "row 1, column arrival_ms: found '-1'; need >= 0"),
    ("a,nan,10,1", "row 1, column arrival_ms: found 'nan'; need a finite number"),
    ("a,inf,10,1", "row 1, column arrival_ms: found 'inf'; need a finite number"),
    ("a,1e400,10,1", "row 1, column arrival_ms: found '1e400'; need a finite number"),
    ("a,,10,1", "row 1, column arrival_ms: found ''; need a finite number"),
    ("a,1e16,10,1", r"row 1, column arrival_ms: found '1e16'; need at most 10\^15 ms"),
    ("a,0,-3,1", "row 1, column prompt: found '-3'; need >= 0"),
    ("a,0,1.5,1", "row 1, column prompt: found '1.5'; need a whole number"),
    ("a,0,99999999999999,1", r"row 1, column prompt: found '99999999999999'; need at most 10\^12"),
    ("a,0,٣,1", "row 1, column prompt: found '٣'; need a finite number"),
    ("a,0,10,0", "row 1, column output: found '0'; need >= 1"),
    ("a,0,10,NaN", "row 1, column output: found 'NaN'; need a finite number"),
    ("a,0,10", "row 1: found 3 fields; need 4"),
    ("a,0,10,1,2", "row 1: found 5 fields; need 4"),
    (",0,10,1", "row 1, column id: found ''; need a non-empty id"),
    ("a,0,10,1\nb,1,10,1\na,2,10,1", "row 3, column id: found 'a', already the id of row 1"),
    ("a,0,10,1\n\nb,1,10,1", "row 2: found a blank line"),
    ('a,0,10,1\n"b,1,10,1', "row 2: unexpected end of data"),
    ("a,0,10,1\nb,1,1\0,1", "row 2"),
]


@pytest.mark.parametrize(("rows", "words"), BAD_PLAIN)
def test_a_bad_row_of_a_plain_csv_is_named(rows: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read_trace(PLAIN + rows + "\n", "file.csv", layout=TraceFormat.CSV)
    assert str(error.value).startswith("file.csv: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("layout", "text", "words"),
    [
        ("azure", AZURE + "yesterday,10,1\n", "row 1, column TIMESTAMP: found 'yesterday'"),
        ("azure", AZURE + "2023-02-30 00:00:00,10,1\n", "row 1, column TIMESTAMP: found '2023-02-30 00:00:00'"),
        ("azure", AZURE + "2023-11-16 24:00:00,10,1\n", "row 1, column TIMESTAMP"),
        ("azure", AZURE + "2023-11-16 18:17:03.97,10,1\n2023-11-16 18:17:03,10\n", "row 2: found 2 fields; need 3"),
        ("azure", AZURE + "2023-11-16 18:17:03,0,1\n", "row 1, column ContextTokens: found '0'; need >= 1"),
        ("azure", AZURE + "2023-11-16 18:17:03,1,1\n2023-11-16 18:17:03Z,1,1\n", "row 2, column TIMESTAMP.*time zone"),
        ("azure", "TIMESTAMP,ContextTokens\nx,1\n", "header: column GeneratedTokens is missing"),
        ("azure", AZURE, "found no data row"),
        ("azure", "", "found no header"),
        ("csv", "arrival_ms,prompt,prompt,output\n", "header: column 'prompt' stands twice"),
        ("csv", "prompt,output\n1,1\n", "header: found none of them; need one column of arrival_ms"),
        ("csv", "arrival_ms,arrival_s,prompt,output\n1,1,1,1\n", "header: found arrival_ms and arrival_s"),
        ("mooncake", '{"timestamp": 0, "input_length": 5}\n', "row 1, column output_length: missing"),
        ("mooncake", '{"timestamp": 0, "input_length": 5, "output_length": 1}\n{"timest', "row 2: not JSON"),
        ("mooncake", '{"timestamp": -1, "input_length": 5, "output_length": 1}', "row 1, column timestamp: found -1"),
        ("mooncake", '{"timestamp": NaN, "input_length": 5, "output_length": 1}', "row 1: NaN is no JSON number"),
        ("mooncake", '{"timestamp": 1e999, "input_length": 5, "output_length": 1}', "row 1: found '1e999'"),
        (
            "mooncake",
            '{"timestamp": 0, "input_length": "x", "output_length": 1}',
            "row 1, column input_length: found 'x'",
        ),
        ("mooncake", '{"timestamp": 0, "input_length": true, "output_length": 1}', "column input_length: found true"),
        ("mooncake", '{"timestamp": 0, "input_length": 5, "output_length": -1}', "output_length: found -1; need >= 0"),
        ("mooncake", "[1]\n", "row 1: found a list; need a JSON object"),
        ("mooncake", "", "found no data row"),
    ],
)
def test_a_bad_row_of_a_published_format_is_named(layout: str, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read_trace(text, "file", layout=TraceFormat(layout))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PLAIN.encode() + b"a,0,10,1\nb\xff,1,10,1\n", "row 2: found the byte 0xff, which is not UTF-8"),
        (b"\xff\xfei\x00d\x00", "header: found the byte 0xff"),
        (b'{"timestamp": 0}\n{"\xc3(": 1}', "row 2: found the byte 0xc3"),
    ],
)
def test_bytes_that_are_not_utf8_are_named_by_row(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_trace(content, "file")


def test_a_byte_order_mark_is_no_part_of_the_first_column() -> None:
    assert len(read_trace(b"\xef\xbb\xbf" + PLAIN.encode() + b"a,0,10,1\n", "t")) == 1


@pytest.mark.parametrize(
    ("text", "layout"),
    [(AZURE, "azure"), (BURST, "burstgpt"), (PLAIN, "csv"), ('{"timestamp": 0}', "mooncake"), (BAILIAN, "bailian")],
)
def test_a_format_is_known_by_its_columns(text: str, layout: str) -> None:
    assert detect_format(text, "t") is TraceFormat(layout)


def test_an_unknown_header_is_refused() -> None:
    with pytest.raises(DataError, match="found the header 'time,x'; need the columns of a known format"):
        read_trace("time,x\n1,2\n", "t")


def test_requests_carry_the_trace_and_one_acceptance_for_all() -> None:
    trace = read_trace(PLAIN + "a,0.1,10,3\nb,2,0,1\n", "t")
    first, second = requests_of(trace, acceptance=["0.7", "1/2"])
    assert (first.id, first.arrival_ms, first.prompt, first.output_length) == ("a", Fraction(0), 10, 3)
    # 2 - 1/10
    assert second.arrival_ms == Fraction(19, 10)
    assert first.acceptance == second.acceptance == (Fraction(7, 10), Fraction(1, 2))
    assert second.prompt == 0
    with pytest.raises(InvalidInstance, match=r"acceptance\[1\] is 3/2"):
        requests_of(trace, acceptance=["0.7", "1.5"])


def test_a_trace_several_times_over_is_shifted_by_its_span() -> None:
    trace = repeated(read_trace(PLAIN + "a,10,1,1\nb,25,1,1\n", "t"), 3)
    assert arrivals(trace) == [0, 15, 15, 30, 30, 45]
    assert len({row.request_id for row in trace.rows}) == 6
