"""Reading notes: claims with their places, prose without bare numbers, every error with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.proofs.claims.claim import Kind, Note
from fairlane.proofs.claims.collection import load_collection
from fairlane.proofs.claims.kinds import KINDS, form_problems
from fairlane.proofs.claims.note import parse_note
from fairlane.proofs.claims.prose import bare_numbers
from fairlane.reference.errors import DataError


def read(text: str) -> Note:
    return parse_note(text, file=Path("note.md"), shown="note.md")


def messages(text: str) -> list[str]:
    return [str(problem) for problem in read(text).problems]


def test_a_claim_is_read_with_its_places() -> None:
    note = read(
        "# Title\n\n:::{claim} yield-step\n:kind: forall\n:vars: k, P\n:given: k >= 1,\n  P >= 0\n\nk*P >= 0\n:::\n"
    )
    (claim,) = note.claims
    assert note.title == "Title"
    assert (claim.id, claim.kind, claim.body) == ("yield-step", Kind.FORALL, "k*P >= 0")
    assert (claim.line, claim.body_line, claim.last_line) == (3, 9, 10)
    assert claim.text("given") == "k >= 1,\nP >= 0"
    assert claim.where("given") == "note.md:6"


def test_backtick_fences_and_claims_inside_admonitions_count() -> None:
    note = read(
        "```{claim} a\n:kind: exact\n1 == 1\n```\n\n"
        "::::{note}\nText.\n\n:::{claim} b\n:kind: exact\n2 == 2\n:::\n::::\n"
    )
    assert [(claim.id, claim.line) for claim in note.claims] == [("a", 1), ("b", 9)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":::{claim} Bad_Id\n:kind: exact\n1 == 1\n:::\n", "note.md:1: claim id is 'Bad_Id'; need"),
        (":::{claim} a\n1 == 1\n:::\n", "note.md:1: claim 'a' has no :kind:; need one of numeric"),
        (":::{claim} a\n:kind: proven\n1 == 1\n:::\n", "note.md:2: claim 'a' has kind 'proven'; need one of"),
        (
            ":::{claim} a\n:kind: exact\n:value: 1\n:value: 2\n1 == 1\n:::\n",
            "note.md:4: claim 'a' gives :value: again (first on line 3)",
        ),
    ],
)
def test_a_malformed_claim_is_a_problem_with_its_line(text: str, expected: str) -> None:
    note = read(text)
    assert note.claims == ()
    (message,) = messages(text)
    assert message.startswith(expected)


def test_a_status_cannot_be_typed() -> None:
    (claim,) = read(":::{claim} a\n:kind: exact\n:status: holds\n1 == 2\n:::\n").claims
    (problem,) = form_problems(claim)
    assert str(problem).startswith("note.md:3: claim 'a' of kind exact has :status:; need one of")


@pytest.mark.parametrize("spec", KINDS, ids=lambda spec: str(spec.kind))
def test_a_kind_without_its_options_and_body_is_refused(spec: object) -> None:
    from fairlane.proofs.claims.kinds import Body, KindSpec

    assert isinstance(spec, KindSpec)
    (claim,) = read(f":::{{claim}} a\n:kind: {spec.kind}\n:::\n").claims
    found = [problem.message for problem in form_problems(claim)]
    for name in spec.required:
        assert f"claim 'a' of kind {spec.kind} has no :{name}:; need one" in found
    assert len(found) == len(spec.required) + (spec.body is Body.NEEDED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it takes 3 rounds", ("3",)),
        ("1.5 or 9/5, at 98%", ("1.5", "9/5", "98%")),
        ("a loss of -3 and ½", ("-3", "½")),
        ("p99, H2, x_1 and k1 are names", ()),
        ("no number", ()),
    ],
)
def test_bare_numbers_are_found_and_names_are_not(text: str, expected: tuple[str, ...]) -> None:
    assert bare_numbers(text) == expected


def test_a_bare_number_is_a_problem_on_its_own_line() -> None:
    (message,) = messages("# Title\n\nfirst line\nthen 42 items\n")
    assert message == "note.md:4: bare number 42 in prose; need {val}`claim-id`, or {num}`42` for a label"


@pytest.mark.parametrize(
    "text",
    [
        "see {num}`42` of it",
        "the code `range(42)` runs",
        "with $x = 42$ in it",
        "```python\nx = 42\n```",
        "1. an ordered item",
        "a [link](http://example.org/42)",
        "---\nyear: 2026\n---\n\ntext",
    ],
)
def test_marked_numbers_code_and_formulas_pass(text: str) -> None:
    assert messages(text) == []


def test_headings_tables_lists_and_admonitions_are_prose() -> None:
    text = "# The 3 laws\n\n| a | b |\n|---|---|\n| 4 | x |\n\n- item 5\n\n:::{note}\nabout 6\n:::\n"
    assert [message.partition(";")[0] for message in messages(text)] == [
        "note.md:1: bare number 3 in prose",
        "note.md:5: bare number 4 in prose",
        "note.md:7: bare number 5 in prose",
        "note.md:10: bare number 6 in prose",
    ]


def test_values_in_prose_are_read_with_their_decimals() -> None:
    note = read("A\n{val}`one` and {val}`two .3`, see {claim}`one`.\n")
    found = [(m.role, m.claim_id, m.decimals, m.line) for m in note.mentions]
    assert found == [("val", "one", None, 2), ("val", "two", 3, 2), ("claim", "one", None, 2)]


def test_a_malformed_value_is_a_problem() -> None:
    assert messages("{val}`one two`") == ["note.md:1: {val} holds 'one two'; need `claim-id` or `claim-id .3`"]


def write(folder: Path, **notes: str) -> None:
    for name, text in notes.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


EXACT = ":::{{claim}} {id}\n:kind: exact\n{more}\n1 == 1\n:::\n"


def test_ids_are_distinct_across_notes(tmp_path: Path) -> None:
    write(tmp_path, a=EXACT.format(id="same", more=""), b=EXACT.format(id="same", more=""))
    (problem,) = load_collection(tmp_path).problems
    first = (tmp_path / "a.md").as_posix()
    assert (
        str(problem) == f"{(tmp_path / 'b.md').as_posix()}:1: claim id 'same' is taken by {first}:1; need distinct ids"
    )


def test_unknown_parents_and_values_are_problems(tmp_path: Path) -> None:
    write(tmp_path, a=EXACT.format(id="one", more=":uses: nowhere") + "\nSee {val}`other`.\n")
    collection = load_collection(tmp_path)
    lines = [(problem.line, problem.message) for problem in collection.problems]
    assert lines == [
        (3, "claim 'one' uses 'nowhere'; need a claim of these notes"),
        (7, "{val} names claim 'other'; need a claim of these notes"),
    ]
    assert "one" in collection.refused


def test_claims_that_rest_on_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, a="".join(EXACT.format(id=i, more=f":uses: {j}") + "\n" for i, j in ("ab", "bc", "ca", "da")))
    collection = load_collection(tmp_path)
    (problem,) = collection.problems
    assert problem.message == "claims rest on each other: a, b, c; need no cycle in :uses:"
    assert set(collection.refused) == {"a", "b", "c"}


def test_one_note_is_checked_beside_the_others_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, a=EXACT.format(id="one", more=""), b=EXACT.format(id="two", more=":uses: one") + "\n7\n")
    collection = load_collection(tmp_path / "a.md")
    assert collection.selected == {(tmp_path / "a.md").as_posix()}
    assert collection.problems == ()
    assert {claim.id for claim in collection.claims} == {"one", "two"}


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_path_without_notes_is_bad_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"need a"):
        load_collection(tmp_path / name)


def test_a_note_that_is_no_text_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"no UTF-8 text \(byte 0\)"):
        load_collection(tmp_path)
