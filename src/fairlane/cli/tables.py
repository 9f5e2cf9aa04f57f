"""Terminal tables of the verification commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fairlane.oracle.policy_value.decision_text import action_text, better_text, loss_text
from fairlane.oracle.policy_value.evaluate import Evaluation
from fairlane.oracle.policy_value.verify import VerifyRow
from fairlane.reference.model.instance import Instance
from fairlane.reference.shown_numbers import brief, column, percent

if TYPE_CHECKING:
    from rich.console import RenderableType


def verify_table(rows: Sequence[VerifyRow], method: str) -> Table:
    """The rows of one instance."""
    instance, optimum, worst = rows[0].instance, rows[0].optimum, rows[0].worst
    values = [None if row.evaluation is None else row.evaluation.value for row in rows]
    shown = column([optimum, worst, *values])
    ends = "" if optimum is None else f"best {shown[0]}" + ("; " if worst is None else f", worst {shown[1]}; ")
    table = Table(
        title=f"{instance.name}: {ends}{method}",
        title_justify="left",
        title_style="bold",
        expand=True,
        pad_edge=False,
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("policy", no_wrap=True, min_width=15)
    table.add_column("value", justify="right", no_wrap=True, min_width=9)
    table.add_column("gap", justify="right", no_wrap=True, min_width=8)
    table.add_column("relative", justify="right", no_wrap=True, min_width=8)
    table.add_column("place", justify="right", no_wrap=True, min_width=8)
    table.add_column("first wrong decision", ratio=1)
    if optimum is None:
        # what is said of the instance holds for every policy
        table.add_row("all policies", "too large", "", "", "", Text(rows[0].failure or "", style="red"))
        return table
    gaps = column([None if row.evaluation is None else row.evaluation.gap for row in rows], digits=5)
    for row, value, gap in zip(rows, shown[2:], gaps, strict=True):
        if row.evaluation is None:
            answer = "too large" if row.too_large else "failed"
            table.add_row(row.policy, answer, "", "", "", Text(row.failure or "", style="red"))
            continue
        optimal = row.evaluation.gap == 0
        table.add_row(
            row.policy,
            value,
            gap,
            percent(row.evaluation.relative_gap),
            percent(row.place),
            "optimal throughout" if optimal else loss_text(instance, row.evaluation.first_loss),
            style="green" if optimal else "",
        )
    return table


def summary_table(rows: Iterable[VerifyRow]) -> Table:
    """One line a policy: how often it is optimal, and its mean and worst gap.

    Gaps over the size of the optimum say little where an optimum is near zero or negative: then all of them are shown
    as places between the best and the worst value instead.
    """
    by_policy: dict[str, list[VerifyRow]] = {}
    for row in rows:
        by_policy.setdefault(row.policy, []).append(row)
    placed = any(_needs_place(row) for group in by_policy.values() for row in group)
    scale = "place between best (0 %) and worst (100 %)" if placed else "gap over the optimum"
    table = Table(
        title=f"Summary: {scale}",
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    for heading in ("policy", "optimal on", "mean", "largest", "largest on"):
        table.add_column(heading, justify="left" if heading in ("policy", "largest on") else "right", no_wrap=True)
    for policy, group in by_policy.items():
        done = [row for row in group if row.evaluation is not None]
        gaps = [(gap, row.instance.name) for row in done if (gap := _gap_of(row, placed)) is not None]
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


def _needs_place(row: VerifyRow) -> bool:
    """Whether a gap over the size of the optimum would mislead: the values of policies lie on both sides of zero."""
    if row.worst is None or row.optimum is None:
        return False
    return row.worst <= 0 <= row.optimum and row.worst != row.optimum


def _gap_of(row: VerifyRow, placed: bool) -> Fraction | None:
    if row.evaluation is None:
        return None
    if not placed:
        return row.evaluation.relative_gap
    return Fraction(0) if row.evaluation.gap == 0 else row.place


def losses_table(instance: Instance, evaluation: Evaluation, most: int) -> RenderableType:
    """The costliest losing decisions of a policy."""
    table = Table(
        title="1 losing decision"
        if evaluation.n_losses == 1
        else f"{evaluation.n_losses:,} losing decisions, the costliest first",
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
            f"better {better_text(instance, loss)}",
        )
    return table
