"""Terminal tables of the verification commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fairlane.cli.output import brief, percent
from fairlane.oracle.policy_value.evaluate import Evaluation, Loss
from fairlane.oracle.policy_value.verify import VerifyRow
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action

if TYPE_CHECKING:
    from rich.console import RenderableType


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
        f"{action_text(instance, loss.action)}; better {action_text(instance, loss.better)}"
    )


def verify_table(rows: Sequence[VerifyRow], method: str) -> Table:
    """The rows of one instance."""
    instance, optimum = rows[0].instance, rows[0].optimum
    table = Table(
        title=f"{instance.name}: " + (method if optimum is None else f"optimum {brief(optimum)}, {method}"),
        title_justify="left",
        title_style="bold",
        expand=True,
        pad_edge=False,
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("policy", no_wrap=True, width=15)
    table.add_column("value", justify="right", no_wrap=True, width=10)
    table.add_column("gap", justify="right", no_wrap=True, width=9)
    table.add_column("relative", justify="right", no_wrap=True, width=10)
    table.add_column("first wrong decision", ratio=1)
    for row in rows:
        if row.evaluation is None:
            table.add_row(
                row.policy, "too large" if row.too_large else "failed", "", "", Text(row.failure or "", style="red")
            )
            continue
        style = "green" if row.evaluation.gap == 0 else ""
        table.add_row(
            row.policy,
            brief(row.evaluation.value, digits=5),
            brief(row.evaluation.gap, digits=4),
            percent(row.evaluation.relative_gap),
            loss_text(instance, row.evaluation.first_loss) if row.evaluation.gap else "optimal throughout",
            style=style,
        )
    return table


def summary_table(rows: Iterable[VerifyRow]) -> Table:
    """One line a policy: how often it is optimal, and its mean and worst relative gap."""
    by_policy: dict[str, list[VerifyRow]] = {}
    for row in rows:
        by_policy.setdefault(row.policy, []).append(row)
    table = Table(
        title="Summary", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False
    )
    for heading, justify in (
        ("policy", "left"),
        ("optimal on", "right"),
        ("mean gap", "right"),
        ("worst gap", "right"),
        ("worst on", "left"),
    ):
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True)
    for policy, group in by_policy.items():
        done = [row for row in group if row.evaluation is not None]
        gaps = [
            (row.evaluation.relative_gap, row.instance.name)
            for row in done
            if row.evaluation is not None and row.evaluation.relative_gap is not None
        ]
        best = sum(row.evaluation is not None and row.evaluation.gap == 0 for row in done)
        large = sum(row.too_large for row in group)
        counts = ((len(group) - len(done) - large, "failed"), (large, "too large"))
        failed = "".join(f" ({n} {what})" for n, what in counts if n)
        mean = sum((gap for gap, _ in gaps), Fraction(0)) / len(gaps) if gaps else None
        worst = max(gaps, default=None, key=lambda pair: pair[0])
        table.add_row(
            policy,
            f"{best} of {len(group)}{failed}",
            percent(mean),
            percent(worst[0]) if worst else "n/a",
            worst[1] if worst and worst[0] > 0 else "",
        )
    return table


def losses_table(instance: Instance, evaluation: Evaluation, most: int) -> RenderableType:
    """The costliest losing decisions of a policy."""
    table = Table(
        title=f"{evaluation.n_losses:,} losing decisions, the costliest first",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    for heading in ("part of gap", "probability", "advantage"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("decision")
    for loss in evaluation.losses[:most]:
        share = -loss.contribution / evaluation.gap
        table.add_row(
            percent(share),
            brief(loss.probability, digits=4),
            brief(loss.advantage, digits=4),
            f"#{loss.decisions_before + 1} at {brief(loss.now_ms)} ms: {action_text(instance, loss.action)}; "
            f"better {action_text(instance, loss.better)}",
        )
    return table
