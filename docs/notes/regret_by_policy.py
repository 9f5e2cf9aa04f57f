"""The note on regret by policy, written from the recorded gaps: one row of its table and five claims a policy.

``python docs/notes/regret_by_policy.py`` writes `regret-by-policy.md` anew. The claims check the table against gaps
that are computed again; a test says where the note is not what is written here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from notes_support import CAUSES, DATA

NOTE = Path(__file__).with_name("regret-by-policy.md")

HEAD = """\
# Regret by policy

<!-- written by regret_by_policy.py from data/suite-gaps.csv -->

Gaps relative to the optimum's size, over the bundled suite: the mean of all instances, the worst one, and the part of
the mean that is lost by decisions that take the wrong phases (prompts, streams or both), the wrong graph for the right
phases, and the wrong requests on the right graph. What the figures mean is in [Regret of the policies](regret.md).

| policy | mean gap | worst gap | worst on | by phase | by graph | by requests |
|---|---|---|---|---|---|---|
"""

AFTER_TABLE = """
Parts add up to the mean, because a gap is the sum of what its losing decisions give away, each weighted by the chance
of meeting it ({claim}`parts-add-up`).

"""

ROW = (
    "| {name} | {{val}}`mean-{name} .4` | {{val}}`worst-{name} .4` | `{worst}` | {{val}}`phase-{name} .4` "
    "| {{val}}`graph-{name} .4` | {{val}}`cohort-{name} .4` |\n"
)

CLAIM = """\
:::{{claim}} {name}
:kind: recorded
:table: data/suite-gaps.csv
:callable: notes_support:one_gap
:inputs: policy, instance
:outputs: gap, relative_gap, phase, graph, cohort
{options}
{formulas}
:::
"""


class Gaps(NamedTuple):
    """What the recorded table says of one policy."""

    policy: str
    n_instances: int
    n_optimal: int
    worst: str


def recorded_gaps() -> tuple[Gaps, ...]:
    """One row a policy, in the order of the table."""
    with (DATA / "suite-gaps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        gaps = {row["instance"]: Fraction(row["relative_gap"]) for row in rows if row["policy"] == policy}
        optimal = sum(gap == 0 for gap in gaps.values())
        found.append(Gaps(policy, len(gaps), optimal, max(gaps, key=gaps.__getitem__)))
    return tuple(found)


def _claim(name: str, options: Sequence[str], *formulas: str) -> str:
    return CLAIM.format(name=name, options="".join(f":{line}\n" for line in options), formulas="\n".join(formulas))


def _claims(of: Gaps) -> Iterator[str]:
    """The mean, the worst, and the three parts of the mean."""
    rows = f'rows: row.policy == "{of.policy}"'
    mean = f"mean-{of.policy}"
    yield _claim(
        mean,
        (rows, "value: sum(row.relative_gap for row in rows) / len(rows)", "uses: suite-size"),
        f"len(rows) == len(set(row.instance for row in rows)) == {of.n_instances}",
        f"sum(1 for row in rows if row.gap == 0) == {of.n_optimal}",
    )
    yield _claim(
        f"worst-{of.policy}",
        (rows, "value: max(row.relative_gap for row in rows)", f"uses: {mean}"),
        f'max(rows, key=lambda row: row.relative_gap).instance == "{of.worst}"',
    )
    for cause in CAUSES:
        yield _claim(
            f"{cause}-{of.policy}",
            (rows, f"value: sum(row.{cause} / abs(row.optimum) for row in rows) / len(rows)", f"uses: {mean}"),
            f"all(0 <= row.{cause} <= row.gap for row in rows)",
        )


def text(gaps: Sequence[Gaps] | None = None) -> str:
    """The whole note, of the recorded gaps unless others are given."""
    gaps = recorded_gaps() if gaps is None else gaps
    table = "".join(ROW.format(name=of.policy, worst=of.worst) for of in gaps)
    sum_up = _claim(
        "parts-add-up", ("uses: suite-size",), "all(row.phase + row.graph + row.cohort == row.gap for row in rows)"
    )
    claims = "\n".join(claim for of in gaps for claim in _claims(of))
    return f"{HEAD}{table}{AFTER_TABLE}{sum_up}\n## The claims behind the table\n\n{claims}"


if __name__ == "__main__":
    NOTE.write_text(text(), encoding="utf-8")
