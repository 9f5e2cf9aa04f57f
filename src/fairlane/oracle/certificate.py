"""Writing certificates of optimality: every reachable state with its exact value and its first optimal action."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from fairlane.oracle.policy_value.evaluate import OptimalValues
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.atomic_write import PathLike, write_text
from fairlane.reference.checker.certificate_check import SCHEMA, Checked, check_certificate, fingerprint
from fairlane.reference.errors import TooLarge
from fairlane.reference.exact import show
from fairlane.reference.model.codec import parse_json
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import State, initial_state

MAX_STATES = 100_000
# solutions up to this size have values and actions of every state at hand
SMALL_STATES = 3_000


class SolvedEpisode(OptimalValues, Protocol):
    """A solved instance that can count and list its states."""

    @property
    def states(self) -> int | None:
        """How many unfinished states are reachable, None where only merged ones were counted."""
        ...

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first."""
        ...


def certificate(instance: Instance, solution: SolvedEpisode, *, sense: Sense = Sense.MAX) -> dict[str, object]:
    """A certificate as a JSON document.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : OptimalValues
        Exact values and optimal actions of every reachable state.
    sense : Sense
        What the solution solves for.

    Raises
    ------
    TooLarge
        More states than a certificate takes.
    """
    _refuse_beyond(instance, solution.states or 0)
    reached = solution.reachable_states()
    _refuse_beyond(instance, len(reached))
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
    solution: SolvedEpisode | None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SolvedEpisode:
    """Exact values of all states: the given solution where it has them, otherwise one pass over all states."""
    if instance.objective.age_price:
        from fairlane.oracle.solve import Method, solve_aged_rationally

        if solution is not None and getattr(solution, "method", None) is Method.AGED_BACKWARD_INDUCTION:
            return solution
        aged = solve_aged_rationally(instance, sense, MAX_STATES, on_progress)
        if solution is not None and solution.value != aged.value:
            raise AssertionError("two exact methods disagree on the value: one of them is wrong")
        return aged
    from fairlane.oracle.rational.full_table import FullTable

    refuse_large(instance)
    table = FullTable(instance, sense, max_states=MAX_STATES, on_progress=on_progress)
    if solution is not None and solution.value is not None and solution.value != table.value:
        raise AssertionError("two exact methods disagree on the value: one of them is wrong")
    return table


def refuse_large(instance: Instance) -> None:
    """Refuse an instance with too many states for a certificate before any work, where they can be counted.

    Raises
    ------
    TooLarge
        More states than a certificate takes.
    """
    from fairlane.oracle.encoding.packing import count_states, lanes_couple

    if not instance.objective.age_price and not lanes_couple(instance):
        _refuse_beyond(instance, count_states(instance))


def _refuse_beyond(instance: Instance, states: int) -> None:
    if states > MAX_STATES:
        raise TooLarge(f"instance {instance.name!r} has {states:,} states; a certificate takes at most {MAX_STATES:,}")


def _age(age_ms: Fraction) -> int | str:
    return int(age_ms) if age_ms.denominator == 1 else show(age_ms)


def certify(
    instance: Instance,
    solution: SolvedEpisode,
    *,
    sense: Sense = Sense.MAX,
    on_progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """Have a solution's certificate checked, without a file.

    A small solution's own values and actions are checked, a larger one's value with those of a full pass.

    Raises
    ------
    CertificateRejected
        The independent checker refuses it.
    """
    known = solution.states is not None and solution.states <= SMALL_STATES
    solved = solution if known else all_values(instance, sense, solution, on_progress)
    text = json.dumps(certificate(instance, solved, sense=sense))
    return check_certificate(parse_json(text, "certificate"), instance)


def write_certificate(
    instance: Instance,
    path: PathLike,
    *,
    sense: Sense | str = Sense.MAX,
    solution: SolvedEpisode | None = None,
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
    solution : SolvedEpisode or None
        The solved instance, where it is at hand.
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
    solved = all_values(instance, which, solution, on_progress)
    document = certificate(instance, solved, sense=which)
    rows = document.pop("states")
    assert isinstance(rows, list)
    head = json.dumps(document, indent=1)[:-2]
    body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    write_text(f'{head},\n "states": [\n{body}\n]\n}}\n', path)
