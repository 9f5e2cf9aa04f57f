"""Reading files: good ones come back equal, bad ones give one line with a path."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.model.codec import dump_instance, load_catalog, load_instance

GOOD: dict[str, Any] = {
    "graphs": [
        {"name": "p4", "duration_ms": 2, "prefill_capacity": 4, "prefill_lanes": 2},
        {"name": "d2", "duration_ms": "7/2", "decode_capacity": 2, "width": 2},
    ],
    "requests": [
        {"id": "a", "prompt": 5, "limit": 3, "length_prior": {"1": 0.1, "3": "9/10"}, "acceptance": [0.25]},
        {"id": "b", "prompt": 0, "generated": 1, "limit": 4, "weight": 2},
    ],
    "objective": {"decode_value": 16, "time_price": "1/2"},
}


def write(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def changed(path: str, value: object) -> dict[str, Any]:
    """GOOD with the value at a dotted path replaced, or removed where the value is Ellipsis."""
    copy: Any = json.loads(json.dumps(GOOD))
    at = copy
    *steps, last = path.split(".")
    for part in steps:
        at = at[int(part)] if part.isdigit() else at[part]
    key: Any = int(last) if last.isdigit() else last
    if value is ...:
        del at[key]
    else:
        at[key] = value
    return dict(copy)


def test_numbers_are_read_by_their_decimal_text(tmp_path: Path) -> None:
    instance = load_instance(write(tmp_path, GOOD))
    assert instance.graphs["d2"].duration_ms == Fraction(7, 2)
    assert instance.requests[0].length_prior == ((1, Fraction(1, 10)), (3, Fraction(9, 10)))
    assert instance.requests[0].acceptance == (Fraction(1, 4),)
    assert instance.objective.prefill_value == 1
    assert instance.name == "x"


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    instance = load_instance(write(tmp_path, GOOD))
    target = tmp_path / "y" / "x.json"
    target.parent.mkdir()
    dump_instance(instance, target)
    assert load_instance(target) == instance
    assert [p.name for p in target.parent.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("graphs.1.duration_ms", 0, r"graphs\[1\]\.duration_ms is 0; need > 0 \(graph 'd2'\)"),
        ("graphs.1.duration_ms", -1, r"graphs\[1\]\.duration_ms is -1; need > 0"),
        ("graphs.1.duration_ms", "5 ms", r"graphs\[1\]\.duration_ms is '5 ms'; need a finite number"),
        ("graphs.1.duration_ms", True, r"graphs\[1\]\.duration_ms is true; need a number"),
        ("graphs.1.duration_ms", None, r"graphs\[1\]\.duration_ms is null"),
        ("graphs.1.duration_ms", ..., r"graphs\[1\]\.duration_ms is missing"),
        ("graphs.1.durations", 3, r"graphs\[1\] has the unknown field 'durations'"),
        ("graphs.1.name", "p4", r"graphs\[1\]\.name is 'p4', already that of graphs\[0\]"),
        ("graphs.1.name", 5, r"graphs\[1\]\.name is 5; need a non-empty string"),
        ("graphs.1.decode_capacity", "1.5", r"graphs\[1\]\.decode_capacity is 3/2; need a whole number"),
        ("graphs.1.width", 0, r"graphs\[1\]\.width is 0; need >= 1"),
        ("graphs.0.prefill_capacity", 0, r"graphs\[0\] has prefill_capacity 0 and decode_capacity 0"),
        ("graphs", [], r"graphs is empty"),
        ("graphs", {"a": 1}, r"graphs is an object; need a list"),
        ("requests", [], r"requests is empty"),
        ("requests.1.id", "a", r"requests\[1\]\.id is 'a', already that of requests\[0\]"),
        ("requests.1.limit", 1, r"requests\[1\]\.limit is 1; need > generated, which is 1 \(request 'b'\)"),
        ("requests.1.limit", ..., r"requests\[1\]\.limit is missing"),
        ("requests.1.weight", 0, r"requests\[1\]\.weight is 0; need > 0"),
        ("requests.1.generated", -1, r"requests\[1\]\.generated is -1; need >= 0"),
        ("requests.0.generated", 1, r"requests\[0\]\.generated is 1 with prompt 5"),
        ("requests.0.prompt", -1, r"requests\[0\]\.prompt is -1; need >= 0"),
        (
            "requests.0.acceptance",
            ["1/2", "3/2"],
            r"requests\[0\]\.acceptance\[1\] is 3/2; need a probability in \[0, 1\]",
        ),
        ("requests.0.acceptance", "1/2", r"requests\[0\]\.acceptance is '1/2'; need a list"),
        ("requests.0.length_prior", {"1": "1/2"}, r"requests\[0\]\.length_prior sums to 1/2; need a sum of 1"),
        ("requests.0.length_prior", {"01": 1}, r"requests\[0\]\.length_prior has the key '01'"),
        ("requests.0.length_prior", {"0": 1}, r"requests\[0\]\.length_prior has the key '0'"),
        ("requests.0.length_prior", {"1": 0, "2": 1}, r"requests\[0\]\.length_prior\[1\] is 0; need a probability > 0"),
        ("requests.0.length_prior", {}, r"requests\[0\]\.length_prior is empty"),
        ("requests.0.length_prior", None, r"requests\[0\]\.length_prior is null"),
        ("requests.1.length_prior", {"1": 1}, r"requests\[1\]\.length_prior has no length above generated"),
        ("objective.decode_value", ..., r"objective\.decode_value is missing"),
        ("objective.time_price", -1, r"objective\.time_price is -1; need >= 0"),
        ("objective.price", 1, r"objective has the unknown field 'price'"),
        ("regenerates", "weekly", r'regenerates is .weekly.; need "request" or "episode"'),
        ("age_cap_ms", 0, r"age_cap_ms is 0; need > 0"),
        ("schema", 2, r"schema is 2; need 1"),
    ],
)
def test_a_bad_value_is_named_with_its_path(tmp_path: Path, path: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInstance, match=message) as caught:
        load_instance(write(tmp_path, changed(path, value)))
    assert "\n" not in str(caught.value)


def test_a_request_that_no_graph_can_serve_is_named(tmp_path: Path) -> None:
    only_prefill = changed("graphs", GOOD["graphs"][:1])
    with pytest.raises(InvalidInstance, match=r"requests\[0\] \('a'\) can be served by no graph: its output needs"):
        load_instance(write(tmp_path, only_prefill))
    only_decode = changed("graphs", GOOD["graphs"][1:])
    with pytest.raises(InvalidInstance, match=r"requests\[0\] \('a'\) can be served by no graph: its prompt of 5"):
        load_instance(write(tmp_path, only_decode))


def test_a_prompt_that_ends_with_its_first_output_needs_no_decode_row(tmp_path: Path) -> None:
    one = {
        "graphs": GOOD["graphs"][:1],
        "requests": [{"id": "a", "prompt": 5, "limit": 1}],
        "objective": {"decode_value": 1},
    }
    assert load_instance(write(tmp_path, one)).requests[0].limit == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"graphs": [', "not JSON"),
        (b"graphs: 1", "not JSON"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": -Infinity}', "-Infinity is no JSON number"),
        (b'{"a": 1, "a": 2}', "key 'a' stands twice"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 64"),
    ],
)
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_instance(path)


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_instance(tmp_path / "no.json")
    with pytest.raises(DataError, match="is a directory"):
        load_catalog(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        load_catalog("x\0y")


def test_priors_within_1e_12_of_one_pass_only_where_asked(tmp_path: Path) -> None:
    thirds = {"1": 0.3333333333333, "2": 0.3333333333333, "3": 0.3333333333333}
    path = write(tmp_path, changed("requests.0.length_prior", thirds))
    with pytest.raises(InvalidInstance, match="need a sum of 1"):
        load_instance(path)
    prior = load_instance(path, exact=False).requests[0].length_prior
    assert prior == ((1, Fraction(1, 3)), (2, Fraction(1, 3)), (3, Fraction(1, 3)))


def test_huge_durations_pass(tmp_path: Path) -> None:
    path = write(tmp_path, [{"name": "a", "duration_ms": 3e9, "prefill_capacity": 64}])
    assert load_catalog(path)["a"].duration_ms == 3 * 10**9


def test_a_hidden_length_does_not_make_a_request_servable(tmp_path: Path) -> None:
    # the law of an instance goes up to the limit, whatever a simulation would draw
    short = {
        **changed("graphs", GOOD["graphs"][:1]),
        "requests": [{"id": "a", "prompt": 4, "limit": 5, "output_length": 1}],
    }
    with pytest.raises(InvalidInstance, match="its output needs a graph with decode_capacity > 0"):
        load_instance(write(tmp_path, short))
