"""Kinds that rest on something outside the note: citations, the oracle, proofs, code that may raise."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.proofs.claims.status import Status, Strength
from fairlane.reference.errors import CertificateRejected
from tests.claim_texts import claim_text, outcome, read_claim

HOLDS, FAILED, UNKNOWN = Status.HOLDS, Status.FAILED, Status.UNKNOWN


CITATION = {"reference": "Little 1961", "locator": "Theorem 1", "read": "2026-01-01", "expires": "2027-01-01"}


def test_cited_is_grey_and_a_false_spot_check_is_red() -> None:
    found = outcome("cited", "L equals lambda W.", check="2*3 == 6", **CITATION)
    assert (found.status, found.strength) == (Status.CITED, Strength.CITED)
    assert outcome("cited", "L equals lambda W.", check="2*3 == 5", **CITATION).status is FAILED


@pytest.mark.parametrize(("name", "value"), [("read", "yesterday"), ("read", "2027-06-01"), ("expires", "2025-01-01")])
def test_cited_refuses_impossible_dates(name: str, value: str) -> None:
    assert outcome("cited", "x", **(CITATION | {name: value})).status is FAILED


def test_assumptions_and_definitions_are_grey() -> None:
    assert outcome("assumed", "Arrivals are independent.").status is Status.ASSUMED
    assert outcome("definition", "D is the yield.").status is Status.DEFINED
    assert outcome("definition", "D is the yield.", import_="fairlane.reference.model.yields:nothing").status is FAILED


def test_a_claim_whose_code_raises_fails_alone() -> None:
    found = outcome("exact", "parse(5) == 1", import_="json:loads as parse")
    assert found.status is FAILED
    assert "TypeError" in found.summary


# one row of 2 ms, three tokens of one request: 3*5 - 3*2*1 = 9, whatever the policy does
INSTANCE = (
    '{"graphs": [{"name": "d", "duration_ms": 2, "decode_capacity": 1}], '
    '"requests": [{"id": "a", "prompt": 0, "limit": 3}], "objective": {"decode_value": 5, "time_price": 1}}'
)


def test_oracle_compares_the_certified_optimum() -> None:
    found = outcome("oracle", "optimum == 3*5 - 3*2", instance=INSTANCE, quantity="value", value="9")
    assert (found.status, found.strength, found.value) == (HOLDS, Strength.CERTIFICATE, "9")
    assert "certificate accepted" in found.evidence


def test_oracle_fails_on_another_value() -> None:
    found = outcome("oracle", "", instance=INSTANCE, quantity="value", value="8")
    assert (found.status, found.summary) == (FAILED, "value is 9, and the claim says 8")


def test_oracle_reads_a_file_beside_the_note_and_measures_a_policy(tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(INSTANCE, encoding="utf-8")
    found = outcome(
        "oracle",
        "n_losses == 0",
        folder=tmp_path,
        instance="tiny.json",
        policy="decode-first",
        quantity="gap",
        value="0",
    )
    assert (found.status, found.strength) == (HOLDS, Strength.EXACT)


def test_oracle_turns_red_when_the_certificate_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.proofs.claims.kinds import oracle

    def reject(*_: object, **__: object) -> None:
        raise CertificateRejected("state 0: value is not superharmonic")

    monkeypatch.setattr(oracle, "certify", reject)
    found = outcome("oracle", "", instance=INSTANCE, quantity="value", value="9")
    assert found.status is FAILED
    assert found.summary.startswith("certificate rejected")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "gap", "value": "0"}, "quantity gap needs a :policy:"),
        ({"quantity": "beauty", "value": "0"}, "quantity is 'beauty'; need one of value"),
        ({"quantity": "value"}, "compares nothing"),
        ({"quantity": "value", "value": "0", "policy": "nobody"}, "policy is 'nobody'"),
        ({"quantity": "value", "value": "0", "sense": "min", "policy": "decode-first"}, "need no :policy: with it"),
    ],
)
def test_oracle_says_what_is_missing(options: dict[str, str], message: str) -> None:
    found = outcome("oracle", "", instance=INSTANCE, **options)
    assert found.status is FAILED
    assert found.summary.startswith("note.md:")
    assert message in found.summary


def test_proof_runs_a_proof_of_fairlane() -> None:
    found = outcome("proof", "", module="age-area")
    assert found.status is HOLDS
    assert found.evidence[0].startswith("statement: ")
    assert outcome("proof", "", module="no-such-proof").status is FAILED


def test_proof_takes_the_weakest_evidence_and_no_evidence_is_nothing() -> None:
    from fairlane.proofs.claims.kinds.proof import outcome_of
    from fairlane.proofs.evidence import Evidence, EvidenceKind, Proof, Refuted, Undecided

    strong = Evidence(kind=EvidenceKind.FORALL, strength=Strength.TWO_SOLVERS, detail="a")
    weak = Evidence(kind=EvidenceKind.EXACT, strength=Strength.EXACT, detail="b")
    assert outcome_of(Proof(name="p", statement="s", prove=lambda: (strong, weak))).strength is Strength.EXACT
    assert outcome_of(Proof(name="p", statement="s", prove=tuple)).status is UNKNOWN

    def refuted() -> tuple[Evidence, ...]:
        raise Refuted("no")

    def undecided() -> tuple[Evidence, ...]:
        raise Undecided("who knows")

    assert outcome_of(Proof(name="p", statement="s", prove=refuted)).status is FAILED
    assert outcome_of(Proof(name="p", statement="s", prove=undecided)).status is UNKNOWN


def test_statements_and_effort_are_told_apart() -> None:
    first = read_claim(claim_text("forall", "x*x >= 0", vars="x"))
    harder = read_claim(claim_text("forall", "x*x >= 0", vars="x", rlimit="1000000"))
    other = read_claim(claim_text("forall", "x*x >= 0", vars="x in positive"))
    assert first.statement == harder.statement
    assert first.statement != other.statement
    assert len({first.content, harder.content, other.content}) == 3
