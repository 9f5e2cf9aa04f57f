"""``forall``: hypotheses imply a statement for all values of the variables, by solver."""

from __future__ import annotations

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.domain import read_variables
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import read_given, read_limit, read_statement, reader_of
from fairlane.proofs.claims.proving import Obligation, prove
from fairlane.proofs.claims.side_conditions import antecedents
from fairlane.proofs.claims.status import Outcome


def run(claim: Claim, context: Context) -> Outcome:
    """The body under ``:given:``, with every divisor shown to be off zero."""
    variables = read_variables(claim)
    reader = reader_of(claim, variables)
    given, statement = read_given(claim, reader), read_statement(claim, reader)
    obligation = Obligation(
        hypotheses=given, statement=statement, variables=variables, applies=antecedents(statement, given)
    )
    return prove(obligation, limit=read_limit(claim))
