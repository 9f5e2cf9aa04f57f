"""The names in the experiments' documents: claims and other people's scripts read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "docs" / "notes" / "data"

SHAPES = {
    "policies-on-a-trace.json": (
        "experiment schema command n_requests output_lengths percentile_method rows",
        "policy instances optimal_on mean_gap mean_gap_decimal largest_gap largest_gap_decimal worst failure finished "
        "ttft_p50_ms ttft_p99_ms tpot_p50_ms tpot_p99_ms longest_gap_ms age_area_ms2 open_stalls useful_tokens_per_ms "
        "starved jain_index refusal workload decode_value seed",
    ),
    "ongoing-distance.json": (
        "experiment schema command horizon_ms continuation_fails_on rows",
        "system states age_price optimum lower upper rate half_width confidence runs seed method shortfall "
        "without_fairness without_fairness_decimal without_fairness_shortfall without_fairness_shortfall_decimal "
        "utility fair_utility fair_gap",
    ),
}


def names(document: dict[str, object]) -> tuple[str, set[str]]:
    rows = document["rows"]
    assert isinstance(rows, list)
    return " ".join(document), {" ".join(row) for row in rows}


@pytest.mark.parametrize("file", sorted(SHAPES))
def test_the_checked_in_document_has_the_published_names(file: str) -> None:
    document = json.loads((DATA / file).read_text(encoding="utf-8"))
    assert names(document) == (SHAPES[file][0], {SHAPES[file][1]})
    assert document["schema"] == 1


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (
            "policies-on-a-trace.json",
            "regret --decode-value 16 --policies prefill-first --instances h100-prompt-tail --workload solo_prefill",
        ),
        ("ongoing-distance.json", "ongoing --systems prompt-beside-stream --horizon-ms 100"),
    ],
)
def test_the_command_writes_those_names(file: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from fairlane.cli import run

    assert run(["experiment", *words.split(), "--json"]) == 0
    assert names(json.loads(capsys.readouterr().out)) == (SHAPES[file][0], {SHAPES[file][1]})
