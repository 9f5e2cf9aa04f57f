"""The main job: how far policies are from the exact optimum, one row an (instance, policy)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import MAX_SITUATIONS, Evaluation, Loss, OptimalValues, evaluate
from fairlane.reference.errors import PolicyError, TooLarge
from fairlane.reference.exact import decimal_of, show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a row keeps of an evaluation: enough to report, little enough to send and to journal by the thousand."""

    value: Fraction
    optimum: Fraction
    first_loss: Loss | None

    @classmethod
    def of(cls, evaluation: Evaluation) -> Comparison:
        """The comparison an evaluation makes."""
        return cls(value=evaluation.value, optimum=evaluation.optimum, first_loss=evaluation.first_loss)

    @property
    def gap(self) -> Fraction:
        """Optimum minus value, >= 0."""
        return self.optimum - self.value

    @property
    def relative_gap(self) -> Fraction | None:
        """Gap over the size of the optimum; None where the optimum is 0."""
        return None if self.optimum == 0 else self.gap / abs(self.optimum)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRow:
    """One policy on one instance.

    ``failure`` is set, and ``evaluation`` None, where the policy broke a rule or something was ``too_large``: what the
    policy can meet, or the instance, whose ``optimum`` is None then. ``worst`` is the
    least value any policy has, None where that is not known exactly.
    """

    instance: Instance
    policy: str
    optimum: Fraction | None
    worst: Fraction | None
    evaluation: Comparison | None
    failure: str | None
    too_large: bool = False

    @classmethod
    def beyond(cls, instance: Instance, policy: str, error: TooLarge, optimum: Fraction | None = None) -> VerifyRow:
        """The answer where a size is refused."""
        failure = f"too large: {error}"
        return cls(
            instance=instance,
            policy=policy,
            optimum=optimum,
            worst=None,
            evaluation=None,
            failure=failure,
            too_large=True,
        )

    @property
    def place(self) -> Fraction | None:
        """Where the value lies between the best, 0, and the worst, 1, of all policies; None where that says nothing."""
        if self.evaluation is None or self.worst is None or self.worst == self.evaluation.optimum:
            return None
        return self.evaluation.gap / (self.evaluation.optimum - self.worst)


def verify_instance(
    instance: Instance,
    policies: Mapping[str, object],
    *,
    solution: OptimalValues,
    max_situations: int = MAX_SITUATIONS,
    worst: Fraction | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterable[VerifyRow]:
    """Rows of one instance, one a policy, in the mapping's order, each as soon as it is known.

    Parameters
    ----------
    instance : Instance
        The instance.
    policies : mapping of str to policy
        Labels and policy objects.
    solution : OptimalValues
        The solved instance.
    max_situations : int
        A policy that reaches more gives a row that says so.
    worst : Fraction or None
        The least value of any policy on it, where that is known.
    on_progress : callable or None
        Called with (situations done, situations known) of each policy in turn.

    Yields
    ------
    VerifyRow
        Exact value, optimum and first losing decision; a policy that breaks a rule gives a row with ``failure``.
    """
    optimum = solution.value
    assert optimum is not None, "verification asks for an exact optimum"
    for label, policy in policies.items():
        compared: Comparison | None = None
        failure: str | None = None
        try:
            evaluation = evaluate(
                instance, policy, solution=solution, max_situations=max_situations, on_progress=on_progress
            )
        except TooLarge as error:
            yield VerifyRow.beyond(instance, label, error, optimum)
            continue
        except PolicyError as error:
            failure = str(error)
        else:
            compared = Comparison.of(evaluation)
        yield VerifyRow(
            instance=instance, policy=label, optimum=optimum, worst=worst, evaluation=compared, failure=failure
        )


def action_to_json(instance: Instance, action: Action) -> dict[str, object]:
    """An action with names in place of indices."""
    return {
        "graph": instance.graphs.graphs[action.graph].name,
        "prefill": [instance.requests[i].id for i in action.prefill],
        "decode": [instance.requests[i].id for i in action.decode],
    }


def state_to_json(instance: Instance, state: State) -> dict[str, object]:
    """Unfinished requests of a state by id: prompt tokens left, output published, age where it is positive."""
    out: dict[str, object] = {}
    for request, local in zip(instance.requests, state, strict=True):
        if not local.finished:
            row: dict[str, object] = {"prompt": local.prompt, "generated": local.generated}
            if local.age_ms:
                row["age_ms"] = show(local.age_ms)
            out[request.id] = row
    return out


def loss_to_json(instance: Instance, loss: Loss) -> dict[str, object]:
    """A losing decision as a document: when, how likely, what was chosen, what was better, what it cost."""
    return {
        "decision": loss.decisions_before + 1,
        "now_ms": show(loss.now_ms),
        "probability": show(loss.probability),
        "advantage": show(loss.advantage),
        "chosen": action_to_json(instance, loss.action),
        "better": action_to_json(instance, loss.better),
        "equally_good": loss.n_better,
        "state": state_to_json(instance, loss.state),
        "decimal": {"probability": decimal_of(loss.probability), "advantage": decimal_of(loss.advantage)},
    }


def row_to_json(row: VerifyRow) -> dict[str, object]:
    """A row of the main job's document. Exact numbers are strings, decimals beside them."""
    evaluation = row.evaluation
    out: dict[str, object] = {
        "instance": row.instance.name,
        "policy": row.policy,
        "value": None,
        "optimum": None if row.optimum is None else show(row.optimum),
        "gap": None,
        "relative_gap": None,
        "worst": None if row.worst is None else show(row.worst),
        "place": None if row.place is None else show(row.place),
        "decimal": {
            "value": None,
            "optimum": None if row.optimum is None else decimal_of(row.optimum),
            "gap": None,
            "relative_gap": None,
            "worst": None if row.worst is None else decimal_of(row.worst),
            "place": None if row.place is None else decimal_of(row.place),
        },
        "first_loss": None,
    }
    if evaluation is None:
        out["failure"] = row.failure
        return out
    relative = evaluation.relative_gap
    out["value"] = show(evaluation.value)
    out["gap"] = show(evaluation.gap)
    out["relative_gap"] = None if relative is None else show(relative)
    decimals = out["decimal"]
    assert isinstance(decimals, dict), "set above"
    decimals["value"] = decimal_of(evaluation.value)
    decimals["gap"] = decimal_of(evaluation.gap)
    decimals["relative_gap"] = None if relative is None else decimal_of(relative)
    if evaluation.first_loss is not None:
        out["first_loss"] = loss_to_json(row.instance, evaluation.first_loss)
    return out
