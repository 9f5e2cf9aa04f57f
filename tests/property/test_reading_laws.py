"""No bytes whatever make a reader fail otherwise than by one line that names the place."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlane.reference.errors import DataError
from fairlane.simulator.metrics import measure
from fairlane.simulator.metrics_json import metrics_to_json, requests_to_json
from fairlane.simulator.publication_rows import PublicationFormat
from fairlane.simulator.publications import read_publications
from fairlane.simulator.rows import decode
from fairlane.simulator.traces import TraceFormat, read_trace, requests_of

TRACES = {
    TraceFormat.AZURE: "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
    "2023-11-16 18:17:04.0319600,3180,8\n",
    TraceFormat.MOONCAKE: '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}\n'
    '{"timestamp": 2.5, "input_length": 1, "output_length": 1}\n',
    TraceFormat.BURSTGPT: "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,A,472,18,490,B\n",
    TraceFormat.CSV: 'id,arrival_ms,prompt,output\n"a",50,10,1\nb,1.5,0,1\n',
}
LOGS = {
    PublicationFormat.JSON: json.dumps(
        {
            "requests": [
                {
                    "id": "a",
                    "arrival_ms": 0,
                    "publications": [[1, 1], [2.5, 3]],
                    "prompt": 0,
                    "targets": {"ttft_ms": 3},
                },
                {"id": "b", "arrival_ms": "7/2", "publications": [], "rejected": "too long"},
            ],
            "targets": {"e2e_ms": 10},
            "boundary_ms": 20,
        }
    ),
    PublicationFormat.JSONL: '{"id": "a", "arrival_ms": 0, "publications": [[1, 1]]}\n',
    PublicationFormat.CSV: "id,arrival_ms,at_ms,tokens,prompt\na,0,1,1,\na,0,2,1,\nb,0,,,0\n",
    PublicationFormat.VLLM: '{"request_id": "a", "queued_ts": 1.5, "first_token_ts": 2, "last_token_ts": 3, '
    '"output_toks": 4}\n',
    PublicationFormat.VTC: "req_time,first_token_latency,request_latency,output_len,prompt_len\n0.0,1.1,9.4,199,13\n",
    PublicationFormat.SUMMARY: "id,arrival,first_token,last_token,output_tokens\na,1,2,3,4\n",
}
PIECES = (
    *("", "-1", "0", "nan", "inf", "1e99", "1e400", "9" * 70, "1/0", "7/2", "\0", "\ud800", '"', ",", "\n", "\r"),
    *("\u2028", "[", "{", "}", "null", "true", "NaN", "a", "٣", " ", "\ufeff", "2023-13-01 00:00:00"),
)


@st.composite
def broken(draw: st.DrawFn, text: str) -> bytes:
    """A text with up to four pieces cut out or put in, then perhaps a byte changed."""
    for _ in range(draw(st.integers(0, 4))):
        i = draw(st.integers(0, len(text)))
        j = min(len(text), i + draw(st.integers(0, 12)))
        text = text[:i] + draw(st.sampled_from(PIECES) | st.text(max_size=4)) + text[j:]
    content = text.encode("utf-8", errors="surrogatepass")
    if content and draw(st.booleans()):
        i = draw(st.integers(0, len(content) - 1))
        content = content[:i] + bytes([draw(st.integers(0, 255))]) + content[i + 1 :]
    return content


def one_line(error: DataError) -> None:
    message = str(error)
    assert message.startswith("file: ")
    assert message.splitlines() == [message]
    assert message.isprintable()


@given(st.data(), st.sampled_from(list(TRACES)), st.sampled_from([None, 1, 1000]), st.booleans())
def test_a_broken_trace_is_read_or_refused_in_one_line(
    data: st.DataObject, layout: TraceFormat, unit: int | None, named: bool
) -> None:
    content = data.draw(broken(TRACES[layout]))
    try:
        trace = read_trace(content, "file", layout=layout if named else None, ms_per_unit=unit)
    except DataError as error:
        one_line(error)
        return
    arrivals = [row.arrival_ms for row in trace.rows]
    assert arrivals == sorted(arrivals)
    assert all(row.output_tokens >= 1 and row.prompt_tokens >= 0 and row.arrival_ms >= 0 for row in trace.rows)
    # whatever was read, the simulator takes it
    assert len({request.id for request in requests_of(trace)}) == len(trace)


@given(st.data(), st.sampled_from(list(LOGS)), st.sampled_from([None, 1, 1000]))
def test_broken_publications_are_measured_or_refused_in_one_line(
    data: st.DataObject, layout: PublicationFormat, unit: int | None
) -> None:
    content = data.draw(broken(LOGS[layout]))
    try:
        file = read_publications(decode(content, "file"), "file", layout=layout, ms_per_unit=unit)
    except DataError as error:
        one_line(error)
        return
    metrics = measure(file.table, targets=file.targets)
    document = metrics_to_json(metrics) | {"requests": requests_to_json(file.table, metrics)}
    # finite numbers only, in text that every terminal can show
    json.dumps(document, allow_nan=False).encode("utf-8")


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([1, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["id", "arrival_ms", "publications", "prompt", "finished", "rejected", "targets"]), json_values
    )
)
def test_any_object_in_place_of_a_request_is_read_or_refused_in_one_line(fields: dict[str, object]) -> None:
    whole = {"id": "a", "arrival_ms": 0, "publications": [[1, 1]]} | fields
    try:
        read_publications(json.dumps([whole]), "file", layout=PublicationFormat.JSON)
    except DataError as error:
        one_line(error)
