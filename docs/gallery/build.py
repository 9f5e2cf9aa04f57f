"""Build the gallery of counterexamples: a page and a picture for each entry, from searches with budgets in instances.

    python docs/gallery/build.py [NAME ...] [--output DIR]

`entries.json` lists what is searched for, `spaces/` where. Every run gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlane.cli.search_report import emitted_test, timelines
from fairlane.policies import load_policy
from fairlane.search import Aim, Budget, Report, Space, Status, explore
from fairlane.search.answer import bound_sentence, witness_sentence
from fairlane.search.explain import instance_lines
from fairlane.search.space_file import load_space

HERE = Path(__file__).parent
# enough for every entry to end with its smallest witness
INSTANCES = 30_000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One page: which policy, where to search, for what, and what it teaches."""

    name: str
    policy: str
    space: str
    title: str
    lesson: str
    predicate: str | None = None


def entries() -> tuple[Entry, ...]:
    """Every entry, in the order of the gallery."""
    return tuple(Entry(**row) for row in json.loads((HERE / "entries.json").read_text(encoding="utf-8")))


def search(entry: Entry) -> tuple[Report, Space]:
    """The search of an entry, up to the first block of sizes with a witness."""
    space = load_space(HERE / "spaces" / f"{entry.space}.json")
    predicate = None if entry.predicate is None else f"fairlane.search.predicates:{entry.predicate}"
    budget = Budget(instances=INSTANCES, proposals=0, first=True)
    return explore(entry.policy, space, aim=Aim(predicate=predicate), budget=budget), space


def page(entry: Entry, report: Report, space: Space) -> dict[str, str]:
    """The files of an entry by name."""
    witness = report.counterexample
    if witness is None or witness.status is Status.FOUND:
        raise SystemExit(f"{entry.name}: {witness_sentence(report)} An entry needs a smallest witness.")
    command = f"fairlane search --policy {entry.policy} --space spaces/{entry.space}.json"
    if entry.predicate is not None:
        command += f" --predicate fairlane.search.predicates:{entry.predicate}"
    lines = [
        f"# {entry.policy}: {entry.title}",
        "",
        entry.lesson,
        "",
        f"**The losing decision.** {witness.explanation}",
        "",
        f"![The policy's schedule beside an optimal one]({entry.name}.svg)",
        "",
        "Each schedule shows the run in which the likeliest outcome happens at every completion.",
        "",
        "## The smallest instance",
        "",
        "```text",
        *instance_lines(witness.instance),
        "```",
        "",
        witness_sentence(report),
        "",
        bound_sentence(report, space),
        "",
        "## How far it reaches",
        "",
        *(f"- {region.sentence()}" for region in witness.regions),
        "",
        "## The test",
        "",
        "```python",
        emitted_test(report, witness, entry.policy).rstrip(),
        "```",
        "",
        "Found in `docs/gallery` by",
        "",
        "```text",
        f"{command} --first --instances {INSTANCES}",
        "```",
    ]
    picture = timelines(witness, load_policy(entry.policy))
    return {f"{entry.name}.md": "\n".join(lines) + "\n", f"{entry.name}.svg": picture + "\n"}


def index(all_of_them: Sequence[Entry]) -> str:
    """The page that lists the gallery."""
    rows = [f"| [{e.policy}: {e.title}]({e.name}.md) | {e.lesson} |" for e in all_of_them]
    return "\n".join(
        [
            "# Gallery of counterexamples",
            "",
            "The smallest known instance on which each policy is worse than optimal, or does what its name warns of.",
            "Every value is exact, every instance was found by the search from what its page says, and all smaller",
            "ones of its space were looked at. `python docs/gallery/build.py` builds the pages to the same bytes.",
            "",
            "| Policy | What it teaches |",
            "|---|---|",
            *rows,
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *(e.name for e in all_of_them),
            "```",
            "",
        ]
    )


def main() -> None:
    """Write the pages asked for, all of them without names."""
    parser = argparse.ArgumentParser(description="Build the gallery of counterexamples.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--output", type=Path, default=HERE)
    given = parser.parse_args()
    known = entries()
    unknown = set(given.names) - {e.name for e in known}
    if unknown:
        sys.exit(f"no entry {', '.join(sorted(unknown))}; there are {', '.join(e.name for e in known)}")
    given.output.mkdir(exist_ok=True)
    for entry in known:
        if not given.names or entry.name in given.names:
            files = page(entry, *search(entry))
            for name, text in files.items():
                (given.output / name).write_text(text, encoding="utf-8")
            print(entry.name, flush=True)
    if not given.names:
        (given.output / "index.md").write_text(index(known), encoding="utf-8")


if __name__ == "__main__":
    main()
