"""One sentence about a witness, made from the first decision that loses."""

from __future__ import annotations

from collections.abc import Iterable

from fairlane.oracle.policy_value.evaluate import Evaluation
from fairlane.reference.exact import show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES
from fairlane.reference.model.state import Action


def lanes_text(instance: Instance, action: Action) -> str:
    """An action in words: ``p4-3ms with the prompt of a`` or ``d2-1ms with a and b``."""
    ids = [r.id for r in instance.requests]
    parts = []
    if action.prefill:
        noun = "prompt" if len(action.prefill) == 1 else "prompts"
        parts.append(f"the {noun} of {_and(ids[i] for i in action.prefill)}")
    if action.decode:
        parts.append(_and(ids[i] for i in action.decode))
    return f"{instance.graphs.graphs[action.graph].name} with {' beside '.join(parts)}"


def explanation(instance: Instance, policy: str, evaluation: Evaluation) -> str:
    """The sentence; of a policy that loses nothing, that.

    Parameters
    ----------
    instance : Instance
        The witness.
    policy : str
        What to call the policy.
    evaluation : Evaluation
        Its exact evaluation there.
    """
    loss = evaluation.first_loss
    if loss is None:
        return f"{policy} is optimal here: its value and the optimum are {show(evaluation.value)}."
    chance = "" if loss.probability == 1 else f" and with probability {show(loss.probability)}"
    whole = "all" if -loss.contribution == evaluation.gap else "part"
    return (
        f"In decision {loss.decisions_before + 1}, at {show(loss.now_ms)} ms{chance}, {policy} runs "
        f"{lanes_text(instance, loss.action)} where {lanes_text(instance, loss.better)} is better: this gives away "
        f"{show(-loss.advantage)}, {whole} of its gap of {show(evaluation.gap)} "
        f"(value {show(evaluation.value)}, optimum {show(evaluation.optimum)})."
    )


def instance_lines(instance: Instance) -> tuple[str, ...]:
    """An instance to read: a line a graph, a line a request, a line for what counts."""
    out = []
    for g in instance.graphs:
        parts = [f"{show(g.duration_ms)} ms"]
        if g.prefill_capacity:
            lanes = f" over {g.prefill_lanes} prompts" if g.prefill_lanes > 1 else ""
            parts.append(f"prefill {g.prefill_capacity}{lanes}")
        if g.decode_capacity:
            parts.append(f"decode {g.decode_capacity}" + (f" at width {g.width}" if g.width > 1 else ""))
        if g.energy_j:
            parts.append(f"{show(g.energy_j)} J a launch")
        out.append(f"graph {g.name}: {', '.join(parts)}")
    for r in instance.requests:
        parts = [f"prompt {r.prompt}", f"limit {r.limit}"]
        if r.generated:
            parts.append(f"{r.generated} published")
        if r.length_prior is not None:
            parts.append("length " + ", ".join(f"{n} with probability {show(p)}" for n, p in r.length_prior))
        if r.acceptance:
            parts.append(f"acceptance {', '.join(map(show, r.acceptance))}")
        if r.weight != 1:
            parts.append(f"weight {show(r.weight)}")
        out.append(f"request {r.id}: {', '.join(parts)}")
    prices = [
        f"{name} {show(getattr(instance.objective, name))}"
        for name in PRICES
        if getattr(instance.objective, name) or name == "decode_value"
    ]
    return (*out, f"objective: {', '.join(prices)}")


def _and(names: Iterable[str]) -> str:
    words = list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
