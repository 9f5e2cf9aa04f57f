"""Reading publications and other systems' logs: what is accepted, and what each error names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlane.reference.errors import DataError
from fairlane.simulator.goodput import Targets
from fairlane.simulator.latency import latencies
from fairlane.simulator.metrics import measure
from fairlane.simulator.publication_rows import PublicationFormat
from fairlane.simulator.publication_table import Outcome
from fairlane.simulator.publications import PublicationFile, format_of, read_publications

JSON, JSONL, CSV = PublicationFormat.JSON, PublicationFormat.JSONL, PublicationFormat.CSV
VLLM, VTC, SUMMARY = PublicationFormat.VLLM, PublicationFormat.VTC, PublicationFormat.SUMMARY

A = {"id": "a", "arrival_ms": 1, "publications": [[5, 1], [9.5, 2]]}
B = {"id": "b", "arrival_ms": "7/2", "publications": []}


def read(text: str, layout: PublicationFormat = JSON, unit: int | None = None) -> PublicationFile:
    return read_publications(text, "file", layout=layout, ms_per_unit=unit)


def test_the_three_layouts_of_our_own_give_the_same_table() -> None:
    texts = {
        JSON: json.dumps({"requests": [A, B]}),
        JSONL: "\n".join(json.dumps(r) for r in (A, B)) + "\n",
        CSV: "id,arrival_ms,at_ms,tokens\na,1,5,1\na,1,9.5,2\nb,3.5,,\n",
    }
    for layout, text in texts.items():
        table = read(text, layout).table
        assert table.ids == ("a", "b")
        # counted from the first arrival
        assert table.arrival_ms.tolist() == [0, 2.5]
        assert table.at_ms.tolist() == [4, 8.5]
        assert table.tokens.tolist() == [1, 2]
        assert table.outcome.tolist() == [Outcome.FINISHED, Outcome.UNFINISHED]
        assert table.gaps_known


def test_a_bare_list_is_a_list_of_requests() -> None:
    assert read(json.dumps([A])).table.ids == ("a",)


def test_optional_fields_are_read() -> None:
    full: dict[str, Any] = {
        **A,
        "prompt": 0,
        "finished": False,
        "targets": {"gap_ms": 3},
        "proposed_drafts": 4,
        "accepted_drafts": 3,
    }
    gone = {"id": "g", "arrival_ms": 2, "publications": [], "rejected": "its prompt is too long"}
    file = read(json.dumps({"requests": [full, gone], "targets": {"ttft_ms": "1/2"}, "start_ms": 0, "boundary_ms": 20}))
    assert file.targets == Targets(ttft_ms=0.5)
    table = file.table
    assert table.outcome.tolist() == [Outcome.UNFINISHED, Outcome.REJECTED]
    assert table.prompt_tokens.tolist() == [0, -1]
    assert (table.start_ms, table.boundary_ms) == (0, 20)
    assert table.arrival_ms.tolist() == [1, 2]
    metrics = measure(table)
    assert str(metrics.acceptance) == "3/4"
    # arrives decoding at 1: gaps 4 and 4.5
    assert latencies(table).gaps_ms.tolist() == [4, 4.5]


@pytest.mark.parametrize(
    ("name", "layout"), [("x.jsonl", JSONL), ("x.ndjson", JSONL), ("X.CSV", CSV), ("x.json", JSON), ("x", JSON)]
)
def test_the_name_of_a_file_stands_for_its_layout(name: str, layout: PublicationFormat) -> None:
    assert format_of(name) is layout


def changed(**fields: object) -> str:
    return json.dumps([{**A, **fields}])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "found no requests; need a list of requests"),
        ('{"requests": 3}', "found 3; need a list"),
        ('{"rows": []}', "found the field 'rows'"),
        ("[3]", r"requests\[0\]: found 3; need an object"),
        ('[{"id": "a", "arrival_ms": 0}]', r"requests\[0\]\.publications: missing"),
        (changed(id=""), r"requests\[0\]\.id: found ''; need a non-empty id"),
        (json.dumps([A, A]), r"requests\[1\]\.id: found 'a', already the id of row 1"),
        ('[{"id": "\\ud800", "arrival_ms": 0, "publications": []}]', "lone surrogates"),
        (changed(arrival_ms=-1), r"requests\[0\]\.arrival_ms: found -1; need >= 0"),
        (changed(arrival_ms="soon"), r"arrival_ms: found 'soon'; need a finite number"),
        (changed(arrival_ms=None), r"arrival_ms: found null; need a number"),
        (changed(arrival_ms=True), r"arrival_ms: found true; need a number"),
        (changed(arrival_ms=10**16), r"arrival_ms: found 10000000000000000; need at most 10\^15 ms"),
        ('[{"id": "a", "arrival_ms": NaN, "publications": []}]', "NaN is no JSON number"),
        ('[{"id": "a", "arrival_ms": 1e999, "publications": []}]', "need at most 60 digits and an exponent"),
        (changed(publications=5), r"publications: found 5; need a list of \[ms, tokens\] pairs"),
        (changed(publications=[[5]]), r"publications\[0\]: found a list of 1; need a pair"),
        (changed(publications=[[5, 0]]), r"publications\[0\]: found 0; need >= 1"),
        (changed(publications=[[5, 1.5]]), r"publications\[0\]: found 1.5; need a whole number"),
        (changed(publications=[[0, 1]]), r"publications\[0\]: found 0 ms; need at least 1 ms, the arrival"),
        (changed(publications=[[5, 1], [4, 1]]), r"publications\[1\]: found 4 ms; need at least 5 ms, the publication"),
        (changed(finished=1), r"finished: found 1; need true or false"),
        (changed(publications=[], finished=True), r"finished: found true without a publication"),
        (changed(rejected=True), r"rejected: found true with publications"),
        (changed(rejected=3), r"rejected: found 3"),
        (changed(prompt=-1), r"prompt: found -1; need >= 0"),
        (changed(targets={"ttft": 3}), r"unknown target 'ttft'"),
        (changed(targets={"ttft_ms": 0}), r"targets\.ttft_ms is 0; need > 0"),
        (changed(targets=3), r"targets: found 3; need an object"),
        (changed(accepted_drafts=3, proposed_drafts=2), r"accepted_drafts: found 3; need at most 2"),
        (changed(arrival=3), r"requests\[0\]: found the field 'arrival'"),
        ('[{"id": "a", "id": "b"}]', "the key 'id' stands twice"),
        ('{"requests": [], "boundary_ms": -1}', "boundary_ms: found -1"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("[" + "9" * 5000 + "]", "thousands of digits"),
        ("", "not JSON"),
    ],
)
def test_a_bad_document_is_named_by_its_path(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,arrival_ms,at_ms\n", "header: column tokens is missing"),
        ("id,arrival_ms,at_ms,tokens\na,0,1\n", "row 1: found 3 fields; need 4"),
        ("id,arrival_ms,at_ms,tokens\na,0,1,1\na,2,3,1\n", "row 2, column arrival_ms: found 2; earlier rows"),
        ("id,arrival_ms,at_ms,tokens\na,0,1,1\n\na,0,3,1\n", "row 2: found a blank line"),
        ("id,arrival_ms,at_ms,tokens\na,0,,\na,0,3,1\n", "row 2, column at_ms: 'a' has a row without a publication"),
        ("id,arrival_ms,at_ms,tokens\na,0,3,\n", "row 1, column tokens: found ''"),
        ("id,arrival_ms,at_ms,tokens\na,0,4,1\na,0,3,1\n", "row 2, column at_ms: found 3 ms; need at least 4 ms"),
        ('id,arrival_ms,at_ms,tokens\n"a,0,4,1\n', "row 1: unexpected end of data"),
    ],
)
def test_a_bad_csv_row_is_named_by_number_and_column(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(text, CSV)


def test_a_vllm_log_is_in_seconds_from_queued_to_first_and_last_token() -> None:
    line = {"request_id": "r", "queued_ts": 10.5, "first_token_ts": 10.75, "last_token_ts": 11.75, "output_toks": 5}
    metrics = measure(read(json.dumps(line), VLLM).table)
    assert (metrics.ttft.mean, metrics.e2e.mean, metrics.tpot.mean) == (250, 1250, 250)
    assert metrics.gap.samples == 0


def test_an_aborted_request_of_a_log_is_unfinished() -> None:
    line = {"request_id": "r", "queued_ts": 1, "first_token_ts": None, "last_token_ts": None, "output_toks": 0}
    assert read(json.dumps(line), VLLM).table.outcome.tolist() == [Outcome.UNFINISHED]
    cut = {**line, "first_token_ts": 2, "output_toks": 3}
    table = read(json.dumps(cut), VLLM).table
    assert (table.outcome.tolist(), latencies(table).ttft_ms.tolist()) == ([Outcome.UNFINISHED], [1000])


def test_latencies_of_a_vtc_log_count_from_the_arrival() -> None:
    text = "req_time,first_token_latency,request_latency,output_len\n2,0.5,1.5,11\n"
    metrics = measure(read(text, VTC).table)
    assert (metrics.ttft.mean, metrics.e2e.mean, metrics.tpot.mean) == (500, 1500, 100)


@pytest.mark.parametrize(("unit", "ttft"), [(1, 2), (1000, 2000)])
def test_a_summary_needs_its_unit_stated(unit: int, ttft: float) -> None:
    text = "id,arrival,first_token,last_token,output_tokens\na,1,3,5,2\n"
    assert measure(read(text, SUMMARY, unit).table).ttft.mean == ttft
    with pytest.raises(DataError, match="does not fix its time unit"):
        read(text, SUMMARY)


@pytest.mark.parametrize(
    ("layout", "text", "unit", "words"),
    [
        (VLLM, "{}", 1, "has its times in s"),
        (JSON, "[]", 1000, "has its times in ms"),
        (VLLM, "{}", None, "row 1, column request_id: missing"),
        (
            VLLM,
            '{"request_id": "r", "queued_ts": 5, "first_token_ts": 4, "last_token_ts": 6, "output_toks": 1}',
            None,
            "row 1, column first_token_ts: found 4; need at least queued_ts, 5",
        ),
        (
            SUMMARY,
            "id,arrival,first_token,last_token,output_tokens\na,1,3,2,2\n",
            1,
            "row 1, column last_token: found '2'; need at least first_token, '3'",
        ),
        (
            SUMMARY,
            "id,arrival,first_token,last_token,output_tokens\na,1,3,4,-1\n",
            1,
            "row 1, column output_tokens: found '-1'; need >= 1",
        ),
        (
            SUMMARY,
            "id,arrival,first_token,last_token,output_tokens\na,1,,4,2\n",
            1,
            "found nothing beside a last output",
        ),
    ],
)
def test_a_bad_log_is_named(layout: PublicationFormat, text: str, unit: int | None, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(text, layout, unit)
