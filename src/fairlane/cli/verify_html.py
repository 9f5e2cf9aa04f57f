"""The report of ``fairlane verify --html``: the worst gap as two schedules side by side, and every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from fairlane.cli.output import brief, percent
from fairlane.cli.tables import action_text, loss_text
from fairlane.oracle.policy_value.likely_run import RunBlock, optimal_run, policy_run
from fairlane.oracle.policy_value.verify import VerifyRow
from fairlane.oracle.solve import solve
from fairlane.pictures.timeline import Block, Lane, LaneKind, Panel, Row, draw_timelines
from fairlane.reference.atomic_write import write_text
from fairlane.reference.exact import show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Policy

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.lead { color: #444; margin-top: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { text-align: left; border-bottom: 2px solid #333; padding: .3rem .6rem .3rem 0; white-space: nowrap; }
td { border-bottom: 1px solid #ddd; padding: .28rem .6rem .28rem 0; vertical-align: top; }
th.n, td.n { text-align: right; white-space: nowrap; }
tr.best td { color: #00664b; }
code { font-size: 12.5px; }
footer { margin-top: 3rem; color: #555; font-size: 13px; }
"""


def write_report(rows: Sequence[VerifyRow], policies: Mapping[str, Policy], path: Path) -> None:
    """Write the report as one self-contained page.

    Parameters
    ----------
    rows : sequence of VerifyRow
        All rows, instance by instance.
    policies : mapping of str to Policy
        Policies by label.
    path : Path
        Where the page goes; written whole or not at all.
    """
    body = [
        "<h1>How far from optimal</h1>",
        f'<p class="lead">{len({r.instance.name for r in rows})} instances, {len(policies)} policies. '
        "Values are exact; every optimum was accepted by a checker that shares no code with the solver.</p>",
    ]
    worst = worst_row(rows)
    if worst is not None:
        body += _worst(worst, policies)
    by_instance: dict[str, list[VerifyRow]] = {}
    for row in rows:
        by_instance.setdefault(row.instance.name, []).append(row)
    for name, group in by_instance.items():
        body.append(f"<h2>{escape(name)}</h2>")
        body.append(f"<p class=lead>optimum <code>{escape(show(group[0].optimum))}</code></p>")
        body.append(_table(group))
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>fairlane verify</title><style>{STYLE}</style></head><body>{''.join(body)}"
        "<footer>Left out of the model: cache capacity, admission, restore, host prerequisites, GPU performance."
        "</footer></body></html>\n"
    )
    write_text(page, path)


def worst_row(rows: Sequence[VerifyRow]) -> VerifyRow | None:
    """The row of the largest relative gap, or None where every policy is optimal everywhere."""
    losing = [r for r in rows if r.evaluation is not None and r.evaluation.relative_gap]
    return max(losing, key=lambda r: r.evaluation.relative_gap or 0 if r.evaluation else 0, default=None)


def _worst(row: VerifyRow, policies: Mapping[str, Policy]) -> list[str]:
    assert row.evaluation is not None
    loss = row.evaluation.first_loss
    assert loss is not None
    instance = row.instance
    mine = policy_run(instance, policies[row.policy])
    best = optimal_run(instance, solve(instance))
    marked = next((k for k, b in enumerate(mine) if b.state == loss.state and b.action == loss.action), None)
    note = f"better here: {action_text(instance, loss.better)}"
    panels = [
        schedule_panel(instance, f"{row.policy}: value {brief(row.evaluation.value)}", mine, marked, note),
        schedule_panel(instance, f"optimum: value {brief(row.optimum)}", best, None, ""),
    ]
    return [
        f"<h2>The worst relative gap: {escape(row.policy)} on {escape(instance.name)}</h2>",
        f"<p>It gives away {escape(brief(row.evaluation.gap))}, {escape(percent(row.evaluation.relative_gap))} of the "
        f"optimum. First wrong decision: {escape(loss_text(instance, loss))}. It gives away "
        f"{escape(brief(-loss.advantage))} there.</p>",
        f'<div class="wide">{draw_timelines(panels, columns=2)}</div>',
        "<p class=lead>Each schedule shows the run in which the likeliest outcome happens at every completion.</p>",
    ]


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


def _table(group: Sequence[VerifyRow]) -> str:
    lines = [
        '<div class="wide"><table><tr><th>policy<th class=n>value<th class=n>gap<th class=n>relative'
        "<th>first wrong decision</tr>"
    ]
    for row in group:
        if row.evaluation is None:
            lines.append(f"<tr><td>{escape(row.policy)}<td colspan=4>failed: {escape(row.failure or '')}</tr>")
            continue
        e = row.evaluation
        kind = " class=best" if e.gap == 0 else ""
        where = loss_text(row.instance, e.first_loss) if e.gap else "optimal throughout"
        lines.append(
            f"<tr{kind}><td>{escape(row.policy)}<td class=n title='{escape(show(e.value))}'>{escape(brief(e.value))}"
            f"<td class=n title='{escape(show(e.gap))}'>{escape(brief(e.gap))}"
            f"<td class=n>{escape(percent(e.relative_gap))}<td>{escape(where)}</tr>"
        )
    lines.append("</table></div>")
    return "".join(lines)
