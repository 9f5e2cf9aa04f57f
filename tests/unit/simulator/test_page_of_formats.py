"""The examples on the page of file formats are files that the readers take."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from fairlane.simulator.metrics import measure
from fairlane.simulator.publication_rows import PublicationFormat
from fairlane.simulator.publications import read_publications
from fairlane.simulator.request_logs import LOGS
from fairlane.simulator.traces import TRACES, read_trace

PAGE = (Path(__file__).parents[3] / "docs/reference/publications-and-traces.md").read_text(encoding="utf-8")
JSON, CSV, TRACE = re.findall(r"```(?:json|csv)\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_json_example_has_the_figures_its_numbers_give() -> None:
    file = read_publications(JSON, "page", layout=PublicationFormat.JSON)
    metrics = measure(file.table, targets=file.targets)
    # a alone has a first token to wait for and meets 100 ms; b arrived decoding, c was rejected
    assert (metrics.ttft.mean, metrics.n_rejected) == (50, 1)
    assert metrics.goodput.attainment == Fraction(1, 3)
    # a: 400 - 50; b: 20 - 5
    assert metrics.per_request.gaps_ms.tolist() == [350, 15]


def test_the_csv_example_holds_the_same_publications() -> None:
    one = read_publications(JSON, "page", layout=PublicationFormat.JSON).table
    two = read_publications(CSV, "page", layout=PublicationFormat.CSV).table
    assert (one.ids, one.at_ms.tolist(), one.tokens.tolist()) == (two.ids, two.at_ms.tolist(), two.tokens.tolist())


def test_the_trace_example_is_a_trace() -> None:
    assert [row.prompt_tokens for row in read_trace(TRACE, "page").rows] == [4808, 3180]


def test_every_format_stands_on_the_page_with_its_columns() -> None:
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `(\w+)` \|.*$", PAGE, flags=re.MULTILINE)}
    for spec in TRACES:
        assert all(f"`{column}`" in rows[spec.format.value] for column in spec.columns)
    for layout, log in LOGS.items():
        for column in (log.arrival, log.first, log.last, log.output):
            assert f"`{column}`" in rows[layout.value]
