"""The report of ``fairlane verify --html``: the worst gap as two schedules side by side, and every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlane.oracle.policy_value.decision_text import better_text, loss_text
from fairlane.oracle.policy_value.likely_run import RunBlock, optimal_run, policy_run
from fairlane.oracle.policy_value.verify import VerifyRow
from fairlane.oracle.solve import solve
from fairlane.pictures.page import Markup, render_page
from fairlane.pictures.timeline import Block, Lane, LaneKind, Panel, Row, draw_timelines
from fairlane.reference.atomic_write import write_text
from fairlane.reference.exact import show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Policy
from fairlane.reference.shown_numbers import brief, column, percent


def write_report(
    rows: Sequence[VerifyRow], policies: Mapping[str, Policy], path: Path, *, max_states: int | None = None
) -> None:
    """Write the report as one self-contained page.

    Parameters
    ----------
    rows : sequence of VerifyRow
        All rows, instance by instance.
    policies : mapping of str to Policy
        Policies by label.
    path : Path
        Where the page goes; written whole or not at all.
    max_states : int or None
        The limit that the rows were found with.
    """
    worst = worst_row(rows)
    by_instance: dict[str, list[VerifyRow]] = {}
    for row in rows:
        by_instance.setdefault(row.instance.name, []).append(row)
    page = render_page(
        "verify.html",
        title="fairlane verify",
        n_policies=len(policies),
        worst=None if worst is None else _worst(worst, policies, max_states),
        instances=[
            {
                "name": name,
                "optimum": None if group[0].optimum is None else show(group[0].optimum),
                "worst": None if group[0].worst is None else show(group[0].worst),
                "rows": _rows(group),
            }
            for name, group in by_instance.items()
        ],
    )
    write_text(page, path)


def worst_row(rows: Sequence[VerifyRow]) -> VerifyRow | None:
    """The row of the largest relative gap, or None where every policy is optimal everywhere."""
    losing = [r for r in rows if r.evaluation is not None and r.evaluation.relative_gap]
    return max(losing, key=lambda r: r.evaluation.relative_gap or 0 if r.evaluation else 0, default=None)


def _worst(row: VerifyRow, policies: Mapping[str, Policy], max_states: int | None) -> dict[str, object]:
    assert row.evaluation is not None
    loss = row.evaluation.first_loss
    assert loss is not None
    instance = row.instance
    mine = policy_run(instance, policies[row.policy])
    best = optimal_run(instance, solve(instance, max_states=max_states), beside=mine)
    marked = next((k for k, b in enumerate(mine) if b.state == loss.state and b.action == loss.action), None)
    note = f"better here: {better_text(instance, loss)}"
    panels = [
        schedule_panel(instance, f"{row.policy}: value {brief(row.evaluation.value)}", mine, marked, note),
        schedule_panel(instance, f"optimum: value {brief(row.evaluation.optimum)}", best, None, ""),
    ]
    return {
        "policy": row.policy,
        "instance": instance.name,
        "gap": brief(row.evaluation.gap),
        "relative": percent(row.evaluation.relative_gap),
        "loss": loss_text(instance, loss),
        "advantage": brief(-loss.advantage),
        "schedules": Markup(draw_timelines(panels, columns=2)),
    }


def schedule_panel(instance: Instance, title: str, run: Sequence[RunBlock], marked: int | None, note: str) -> Panel:
    graphs, ids = instance.graphs.graphs, [r.id for r in instance.requests]
    blocks = []
    for k, block in enumerate(run):
        graph = graphs[block.action.graph]
        published = dict(block.published)
        lanes = [Lane(request_id=ids[i], kind=LaneKind.PREFILL, tokens=n) for i, n in block.consumed]
        lanes += [
            Lane(request_id=ids[i], kind=LaneKind.DECODE, tokens=published.get(i, 0)) for i in block.action.decode
        ]
        blocks.append(
            Block(
                start_ms=block.start_ms,
                end_ms=block.end_ms,
                graph=graph.name,
                lanes=tuple(lanes),
                prefill_capacity=graph.prefill_capacity,
                decode_capacity=graph.decode_capacity,
                width=graph.width,
                note=note if k == marked else "",
            )
        )
    rows = tuple(Row(request_id=request_id, arrival_ms=0) for request_id in ids)
    return Panel(title=title, blocks=tuple(blocks), rows=rows)


def _rows(group: Sequence[VerifyRow]) -> list[dict[str, object]]:
    values = column([None if row.evaluation is None else row.evaluation.value for row in group])
    gaps = column([None if row.evaluation is None else row.evaluation.gap for row in group], digits=5)
    return [_row(row, value, gap) for row, value, gap in zip(group, values, gaps, strict=True)]


def _row(row: VerifyRow, value: str, gap: str) -> dict[str, object]:
    if row.evaluation is None:
        return {"policy": row.policy, "failure": (row.failure or "") if row.too_large else f"failed: {row.failure}"}
    e = row.evaluation
    return {
        "policy": row.policy,
        "failure": None,
        "best": e.gap == 0,
        "value": value,
        "exact_value": show(e.value),
        "gap": gap,
        "exact_gap": show(e.gap),
        "relative": percent(e.relative_gap),
        "place": percent(row.place),
        "where": loss_text(row.instance, e.first_loss) if e.gap else "optimal throughout",
    }
