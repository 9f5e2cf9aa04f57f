"""Writing certificates of optimality: every reachable state with its exact value and its first optimal action."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

from fairlane.oracle.backend import CertificateForm, Table
from fairlane.oracle.backends import LISTING, backends
from fairlane.oracle.preference import solve_by_preference
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.refusal import counted
from fairlane.reference.atomic_write import PathLike, write_text
from fairlane.reference.checker.certificate_check import SCHEMA, Checked, check_certificate, fingerprint
from fairlane.reference.exact import show
from fairlane.reference.model.codec import parse_json
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import initial_state

MAX_STATES = 100_000
# solutions up to this size have values and actions of every state at hand
SMALL_STATES = 3_000


def certificate(
    instance: Instance, solution: Table, *, sense: Sense = Sense.MAX, max_states: int | None = None
) -> dict[str, object]:
    """A certificate as a JSON document.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : Table
        Exact values and optimal actions of every reachable state.
    sense : Sense
        What the solution solves for.
    max_states : int or None
        Refusal beyond this many states; 100,000 without it.

    Raises
    ------
    TooLarge
        More states than a certificate takes.
    """
    most = MAX_STATES if max_states is None else max_states
    if solution.states > most:
        raise counted(instance, solution.states, most, "a certificate")
    reached = solution.reachable_states()
    if len(reached) != solution.states:
        raise AssertionError("the states that were listed are not as many as were counted")
    rows = []
    for state in reached:
        action = solution.optimal_actions(state)[0]
        rows.append(
            {
                "state": [None if x.finished else [x.prompt, x.generated, _age(x.age_ms)] for x in state],
                "value": show(solution.value_at(state)),
                "action": [action.graph, list(action.prefill), list(action.decode)],
            }
        )
    return {
        "schema": SCHEMA,
        "instance": fingerprint(instance),
        "sense": sense.value,
        "value": show(solution.value_at(initial_state(instance))),
        "n_states": len(rows),
        "states": rows,
    }


def all_values(
    instance: Instance,
    sense: Sense,
    solution: Table | None = None,
    *,
    max_states: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Exact values of all states: the given solution where it has them at hand, otherwise one pass over all states."""
    # with ages there is no faster pass than the one that was made
    quick = solution is not None and (solution.states <= SMALL_STATES or bool(instance.objective.age_price))
    if solution is not None and quick and solution.certificate is CertificateForm.VALUES:
        return solution
    problem = Problem(
        instance=instance,
        sense=sense,
        max_states=MAX_STATES if max_states is None else max_states,
        on_progress=on_progress,
    )
    table = solve_by_preference(problem, backends(LISTING))
    if solution is not None and solution.value is not None and solution.value != table.value:
        raise AssertionError("two exact methods disagree on the value: one of them is wrong")
    return table


def _age(age_ms: Fraction) -> int | str:
    return int(age_ms) if age_ms.denominator == 1 else show(age_ms)


def certify(
    instance: Instance,
    solution: Table,
    *,
    sense: Sense = Sense.MAX,
    max_states: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """Have a solution's certificate checked, without a file.

    A small solution's own values and actions are checked, a larger one's value with those of a full pass.

    Raises
    ------
    CertificateRejected
        The independent checker refuses it.
    TooLarge
        More states than a certificate takes.
    """
    solved = all_values(instance, sense, solution, max_states=max_states, on_progress=on_progress)
    text = json.dumps(certificate(instance, solved, sense=sense, max_states=max_states))
    return check_certificate(parse_json(text, "certificate"), instance)


def confirm(
    solution: Table, *, max_states: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> None:
    """Have a solution checked by the certificate that it offers: its table of costs, or all values in rationals.

    Raises
    ------
    CertificateRejected
        The independent checker refuses it.
    TooLarge
        It offers no table of costs, and has more states than a certificate takes.
    """
    if solution.certificate is CertificateForm.COSTS:
        # arrays, which solutions in rationals do without
        from fairlane.oracle.cost_table import certify_costs

        certify_costs(solution.instance, solution, on_progress=on_progress)
        return
    certify(solution.instance, solution, sense=solution.sense, max_states=max_states, on_progress=on_progress)


def write_largest(
    solution: Table,
    path: PathLike,
    *,
    max_states: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write all values in rationals where they are few enough, otherwise the table of costs.

    Raises
    ------
    TooLarge
        More states than a certificate takes, and no table of costs.
    DataError
        The place cannot be written.
    """
    most = MAX_STATES if max_states is None else max_states
    if solution.certificate is CertificateForm.COSTS and solution.states > most:
        # arrays, which solutions in rationals do without
        from fairlane.reference.checker.cost_file import write_costs

        write_costs(solution.cost_table(), path)
        return
    write_certificate(
        solution.instance, path, sense=solution.sense, solution=solution, max_states=max_states, on_progress=on_progress
    )


def write_certificate(
    instance: Instance,
    path: PathLike,
    *,
    sense: Sense | str = Sense.MAX,
    solution: Table | None = None,
    max_states: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Solve an instance and write its certificate, whole or not at all.

    Parameters
    ----------
    instance : Instance
        The instance.
    path : path-like
        Where the certificate goes.
    sense : Sense or str
        "max" for the optimum, "min" for the worst value over all policies.
    solution : Table or None
        The solved instance, where it is at hand.
    max_states : int or None
        Refusal beyond this many states; 100,000 without it.
    on_progress : callable or None
        Called with (states done, states).

    Raises
    ------
    TooLarge
        More states than a certificate takes.
    DataError
        The place cannot be written.
    """
    which = Sense(sense)
    if solution is not None and solution.states > (most := MAX_STATES if max_states is None else max_states):
        raise counted(instance, solution.states, most, "a certificate")
    solved = all_values(instance, which, solution, max_states=max_states, on_progress=on_progress)
    document = certificate(instance, solved, sense=which, max_states=max_states)
    rows = document.pop("states")
    assert isinstance(rows, list)
    head = json.dumps(document, indent=1)[:-2]
    body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    write_text(f'{head},\n "states": [\n{body}\n]\n}}\n', path)
