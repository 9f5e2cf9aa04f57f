"""``report.html`` of a search: one sentence, both schedules side by side, what is proved, and the test."""

from __future__ import annotations

from pathlib import Path

from fairlane.cli.verify_html import schedule_panel
from fairlane.oracle.policy_value.likely_run import optimal_run, policy_run
from fairlane.oracle.solve import solve
from fairlane.pictures.page import Markup, render_page
from fairlane.pictures.timeline import draw_timelines
from fairlane.policies import load_policy
from fairlane.reference.atomic_write import write_text
from fairlane.reference.model.policy import Policy
from fairlane.reference.shown_numbers import brief
from fairlane.search.answer import bound_sentence, witness_sentence
from fairlane.search.emit_test import pytest_text
from fairlane.search.explain import instance_lines, lanes_text
from fairlane.search.result import Counterexample, Report
from fairlane.search.space import Space


def timelines(witness: Counterexample, policy: Policy) -> str:
    """Both schedules of a witness beside each other as one SVG; the first losing decision is marked.

    Parameters
    ----------
    witness : Counterexample
        The witness.
    policy : Policy
        The policy.
    """
    instance, loss = witness.instance, witness.evaluation.first_loss
    mine = policy_run(instance, policy)
    best = optimal_run(instance, solve(instance), beside=mine)
    marked, note = None, ""
    if loss is not None:
        marked = next((k for k, b in enumerate(mine) if b.state == loss.state and b.action == loss.action), None)
        note = f"better here: {lanes_text(instance, loss.better)}"
    return draw_timelines(
        [
            schedule_panel(instance, f"{witness.policy}: value {brief(witness.value)}", mine, marked, note),
            schedule_panel(instance, f"optimum: value {brief(witness.optimum)}", best, None, ""),
        ],
        columns=2,
    )


def emitted_test(report: Report, witness: Counterexample, policy: str) -> str:
    """The test of a witness, with the predicate where that has a name."""
    predicate = report.aim.predicate
    return pytest_text(witness, policy=policy, predicate=predicate if isinstance(predicate, str) else None)


def write_search_report(report: Report, space: Space, policy: str, path: Path) -> None:
    """Write the report of a search with a witness as one self-contained page."""
    witness = report.counterexample
    assert witness is not None, "a report shows a witness"
    page = render_page(
        "search.html",
        title="fairlane search",
        policy=report.policy,
        sentence=witness_sentence(report),
        explanation=witness.explanation,
        schedules=Markup(timelines(witness, load_policy(policy))),
        instance="\n".join(instance_lines(witness.instance)),
        bound=bound_sentence(report, space),
        regions=[region.sentence() for region in witness.regions],
        test=emitted_test(report, witness, policy),
    )
    write_text(page, path)
