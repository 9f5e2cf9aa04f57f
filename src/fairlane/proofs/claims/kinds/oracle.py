"""``oracle``: an exact value of an instance: its optimum, a policy's value, the gap between them.

    :instance: instances/tiny.json
    :policy: fixed-value
    :quantity: gap
    :value: 3/7

``:instance:`` is a file beside the note or the JSON itself. ``:value:`` is what the quantity must be; lines in
the body may state more about ``value``, ``optimum``, ``gap``, ``relative_gap``, ``states``, ``situations`` and
``n_losses``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from fairlane.oracle.certificate import certify
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.solve import solve
from fairlane.policies import load_policy
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.exact import check_line
from fairlane.proofs.claims.program import compile_program, run_bindings
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.reference.errors import CertificateRejected, DataError, FairlaneError, InvalidInstance, TooLarge
from fairlane.reference.exact import parse_number
from fairlane.reference.model.codec import instance_from_json, load_instance, parse_json
from fairlane.reference.model.instance import Instance


class Quantity(StrEnum):
    """What may be asked of an instance; the last four need a policy."""

    VALUE = "value"
    OPTIMUM = "optimum"
    STATES = "states"
    GAP = "gap"
    RELATIVE_GAP = "relative_gap"
    SITUATIONS = "situations"
    N_LOSSES = "n_losses"


OF_A_POLICY = frozenset({Quantity.GAP, Quantity.RELATIVE_GAP, Quantity.SITUATIONS, Quantity.N_LOSSES})


def run(claim: Claim, context: Context) -> Outcome:
    """The oracle asked, its certificate checked, the quantity compared."""
    name = claim.text("quantity").strip()
    if name not in list(Quantity):
        raise InvalidInstance(f"{claim.where('quantity')}: quantity is {name!r}; need one of {', '.join(Quantity)}")
    quantity = Quantity(name)
    policy = claim.find("policy")
    if quantity in OF_A_POLICY and policy is None:
        raise InvalidInstance(f"{claim.where('quantity')}: quantity {quantity} needs a :policy:")
    if claim.find("value") is None and not claim.body.strip():
        raise InvalidInstance(f"{claim.where()}: claim {claim.id!r} compares nothing; need :value: or a body")
    sense = claim.text("sense", "max")
    if sense not in ("max", "min"):
        raise InvalidInstance(f"{claim.where('sense')}: sense is {sense!r}; need max or min")
    if sense == "min" and policy is not None:
        raise InvalidInstance(f"{claim.where('sense')}: the worst value is over all policies; need no :policy: with it")
    instance = read_instance(claim)
    evidence: list[str] = []
    try:
        found, certified = measure(instance, policy.value if policy is not None else None, sense, evidence)
    except CertificateRejected as error:
        return Outcome(status=Status.FAILED, strength=None, summary=f"certificate rejected: {error}")
    except FairlaneError as error:
        raise type(error)(f"{claim.where('instance')}: {error}") from error
    return compared(claim, quantity, found, certified, evidence)


def read_instance(claim: Claim) -> Instance:
    """The claim's instance, from its file or from the text itself.

    Raises
    ------
    InvalidInstance
        Unreadable, or no instance.
    """
    text = claim.text("instance").strip()
    try:
        if text.startswith("{"):
            return instance_from_json(parse_json(text, "instance"), name=claim.id)
        return load_instance(claim.folder / text)
    except (DataError, InvalidInstance) as error:
        raise InvalidInstance(f"{claim.where('instance')}: {error}") from None


def measure(
    instance: Instance, policy: str | None, sense: str, evidence: list[str]
) -> tuple[Mapping[str, Fraction | None], bool]:
    """Every quantity that the oracle gives for an instance, and whether a certificate was accepted.

    Parameters
    ----------
    instance : Instance
        What is solved.
    policy : str or None
        A built-in name or ``module:attribute``.
    sense : str
        "max", or "min" for the worst value over all policies.
    evidence : list of str
        Receives what was done.
    """
    direction = Sense(sense)
    solution = solve(instance, sense=direction)
    value = solution.value
    states = solution.states if solution.states is not None else solution.canonical_states
    found: dict[str, Fraction | None] = {
        "value": value,
        "optimum": value,
        "states": Fraction(states) if states is not None else None,
    }
    evidence.append(f"oracle: {solution.method}, value {value}")
    certified = True
    try:
        certify(instance, solution, sense=direction)
        evidence.append("certificate accepted")
    except TooLarge as error:
        certified = False
        evidence.append(f"no certificate: {error}")
    if policy is not None:
        result = evaluate(instance, load_policy(policy), solution=solution)
        found |= {
            "value": result.value,
            "optimum": result.optimum,
            "gap": result.gap,
            "relative_gap": result.relative_gap,
            "situations": Fraction(result.situations),
            "n_losses": Fraction(result.n_losses),
        }
        evidence.append(f"policy {policy}: value {result.value}, gap {result.gap}")
    return found, certified


def compared(
    claim: Claim, quantity: Quantity, found: Mapping[str, Fraction | None], certified: bool, evidence: list[str]
) -> Outcome:
    """The outcome of comparing what was found with what is claimed."""
    value = found[quantity]
    if value is None:
        summary = f"{quantity} has no exact value here"
        return Outcome(status=Status.UNKNOWN, strength=None, summary=summary, evidence=tuple(evidence))
    # The certificate is about the optimum; a policy's own value is exact, and checked by its losses only.
    of_optimum = quantity is Quantity.OPTIMUM or (quantity is Quantity.VALUE and claim.find("policy") is None)
    option = claim.find("value")
    if option is not None:
        wanted = parse_number(option.value, f"{claim.where('value')}: value")
        if value != wanted:
            summary = f"{quantity} is {value}, and the claim says {wanted}"
            return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=tuple(evidence))
    program = compile_program(claim.body, path=claim.path, first_line=claim.body_line)
    names = {name: number for name, number in found.items() if number is not None}
    scope = run_bindings(program, names, path=claim.path)
    for line in program.statements:
        holds, shown, _ = check_line(line, scope, path=claim.path)
        evidence.append(shown)
        if not holds:
            summary = f"line {line.line}: {shown}"
            return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=tuple(evidence))
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.CERTIFICATE if certified and of_optimum else Strength.EXACT,
        summary=f"{quantity} = {value}",
        evidence=tuple(evidence),
        value=str(value),
    )
