"""Known answers for what is measured and read: publications, acceptance and trace files.

The answers come with the case files; a null stands for "undefined".
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.reference.errors import DataError
from fairlane.simulator.acceptance_rate import acceptance_of_rounds
from fairlane.simulator.traces import TraceFormat, read_trace
from tests.cases import cases
from tests.cli.test_no_traceback import outcome

MS_PER_UNIT = {"s": 1000, "ms": 1, None: None}


def same(found: object, wanted: object) -> bool:
    """Equal as numbers, whatever their spelling; a list entry by entry; null only as null."""
    if wanted is None or found is None:
        return wanted is None and found is None
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(same(a, b) for a, b in zip(found, wanted, strict=True))
        )
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    exact = Fraction(str(found)), Fraction(str(wanted))
    return exact[0] == exact[1] or math.isclose(float(exact[0]), float(exact[1]), rel_tol=1e-9)


@pytest.mark.parametrize("case", cases("serving.json", "publications"))
def test_publications_give_the_known_figures(case: Any, tmp_path: Path) -> None:
    file = tmp_path / "publications.json"
    file.write_text(json.dumps({key: case[key] for key in ("requests", "targets") if key in case}))
    status, out, err = outcome(["metrics", str(file), "--json"])
    assert (status, err) == (0, "")
    figures = json.loads(out)
    wrong = {
        name: (figures[name], wanted) for name, wanted in case["expect"].items() if not same(figures[name], wanted)
    }
    assert not wrong


@pytest.mark.parametrize("case", cases("serving.json", "acceptance"))
def test_accepted_rounds_give_the_known_rate(case: Any) -> None:
    rate = acceptance_of_rounds(case["accepted"], proposed_per_round=case["proposed"])
    assert same(None if rate is None else str(rate), case["expect"])


@pytest.mark.parametrize("case", cases("serving.json", "trace"))
def test_a_trace_text_is_read_or_its_bad_row_named(case: Any) -> None:
    unit = MS_PER_UNIT[case.get("time_unit")]
    if "error_names" in case:
        with pytest.raises(DataError, match=rf"{case['error_names']}\b"):
            read_trace(case["text"], "trace", layout=TraceFormat(case["format"]), ms_per_unit=unit)
        return
    trace = read_trace(case["text"], "trace", layout=TraceFormat(case["format"]), ms_per_unit=unit)
    assert len(trace) == case["expect"]
    arrivals = [row.arrival_ms for row in trace.rows]
    assert arrivals == sorted(arrivals)
