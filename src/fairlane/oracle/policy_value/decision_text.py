"""Decisions in a few words, as tables, reports and failed tests write them: ``graph ← prompts | decode rows``."""

from __future__ import annotations

from fairlane.oracle.policy_value.evaluate import Loss
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action
from fairlane.reference.shown_numbers import brief


def action_text(instance: Instance, action: Action) -> str:
    """An action in a few words: ``p256 ← a`` or ``mix ← a | b, c`` (prompts before the bar)."""
    ids = [request.id for request in instance.requests]
    prompts = ", ".join(ids[i] for i in action.prefill)
    rows = ", ".join(ids[i] for i in action.decode)
    lanes = f"{prompts} | {rows}" if prompts and rows else prompts or rows
    return f"{instance.graphs.graphs[action.graph].name} ← {lanes}"


def loss_text(instance: Instance, loss: Loss | None) -> str:
    """Where a policy first loses, for a table cell."""
    if loss is None:
        return "-"
    chance = "" if loss.probability == 1 else f", p {float(loss.probability):.2g}"
    return (
        f"#{loss.decisions_before + 1} at {brief(loss.now_ms)} ms{chance}: "
        f"{action_text(instance, loss.action)}; better {better_text(instance, loss)}"
    )


def better_text(instance: Instance, loss: Loss) -> str:
    """The optimal action nearest to the one taken, and how many others are as good."""
    others = loss.n_better - 1
    return action_text(instance, loss.better) + (f" (or {others} more)" if others else "")
