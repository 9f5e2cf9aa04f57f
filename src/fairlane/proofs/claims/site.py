"""A checked collection as pages: Markdown that Sphinx takes as it is, the same in plain HTML, and the claim graph."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from fairlane.proofs.claims.checking import Entry, Report
from fairlane.proofs.claims.claim import Claim, Kind, Note
from fairlane.proofs.claims.collection import Collection
from fairlane.proofs.claims.graph_page import claim_graph_svg, legend_html
from fairlane.proofs.claims.html_page import page_of
from fairlane.proofs.claims.rendering import report_to_json, show_value, summary_lines
from fairlane.proofs.claims.status import is_sound

GRAPH = "claim-graph"
_MARK = re.compile(r"(\s*)(:{3,}|`{3,}|~{3,})")
_ROLE = re.compile(r"\{(val|num|claim)\}$")


def pages_of(collection: Collection, report: Report) -> dict[str, str]:
    """Every page by its relative name.

    Parameters
    ----------
    collection, report : Collection, Report
        What was checked, and what came of it.

    Returns
    -------
    dict
        ``NOTE.md`` and ``NOTE.html`` for each note, the graph as ``claim-graph.{md,html,svg}``, an index, and
        ``claims.json``.
    """
    notes = {page_name(collection, note): note for note in collection.notes if note.path in collection.selected}
    places = {claim.id: name for name, note in notes.items() for claim in note.claims}
    entries = {entry.claim.id: entry for entry in report.entries if entry.claim.id in places}
    pages: dict[str, str] = {}
    for name, note in notes.items():
        up = "../" * name.count("/")

        def link(claim_id: str, up: str = up) -> str | None:
            return f"{up}{places[claim_id]}.html#claim-{claim_id}" if claim_id in places else None

        # Sphinx finds a target wherever it stands; a plain HTML page has to say in which file.
        pages[f"{name}.md"] = note_markdown(note, report.everything, link=lambda claim_id: f"#claim-{claim_id}")
        pages[f"{name}.html"] = page_of(note.title, note_markdown(note, report.everything, link=link), up=up)
    svg = claim_graph_svg(
        collection.uses, entries, link=lambda entry: f"{places[entry.claim.id]}.html#claim-{entry.claim.id}"
    )
    pages[f"{GRAPH}.svg"] = svg
    body = f'<div class="claim-graph-frame">\n{svg}</div>\n{legend_html()}'
    pages[f"{GRAPH}.md"] = f"# Claim graph\n\n```{{raw}} html\n{body}```\n"
    pages[f"{GRAPH}.html"] = page_of("Claim graph", pages[f"{GRAPH}.md"], up="")
    index = _index(notes, report)
    pages["index.md"] = index + _toctree([*notes, GRAPH])
    pages["index.html"] = page_of("Notes", index + _links(notes), up="")
    pages["claims.json"] = json.dumps(report_to_json(report), indent=1, ensure_ascii=False) + "\n"
    return pages


def page_name(collection: Collection, note: Note) -> str:
    """A note's page without its ending, relative to the folder of notes; a note named index makes room for ours."""
    name = note.file.relative_to(collection.root).with_suffix("").as_posix()
    return "index-note" if name == "index" else name


def note_markdown(note: Note, entries: Mapping[str, Entry], *, link: Callable[[str], str | None]) -> str:
    """A note with every claim shown as a box with its standing, and every borrowed number in place."""
    lines = note.text.splitlines()
    starts = {claim.line: claim for claim in note.claims}
    result: list[str] = []
    i = 0
    fence: str | None = None
    while i < len(lines):
        claim = starts.get(i + 1)
        if claim is not None:
            match = _MARK.match(lines[i])
            indent, mark = match.groups() if match is not None else ("", ":::")
            entry = entries.get(claim.id)
            if entry is not None and entry.claim.line == claim.line and entry.claim.path == claim.path:
                result += [indent + line for line in _box(entry, mark, link)]
            i = claim.last_line
            continue
        fence = _code_fence(lines[i], fence)
        result.append(lines[i] if fence is not None else _roles(lines[i], entries, link))
        i += 1
    return "\n".join(result) + "\n"


def _code_fence(line: str, inside: str | None) -> str | None:
    """The mark of the code block a line is in, None outside; directives are no code."""
    match = _MARK.match(line)
    if match is None or match[2][0] == ":":
        return inside
    mark, rest = match[2], line[match.end() :].strip()
    if inside is None:
        return mark if not rest.startswith("{") else None
    return None if not rest and mark[0] == inside[0] and len(mark) >= len(inside) else inside


def _roles(line: str, entries: Mapping[str, Entry], link: Callable[[str], str | None]) -> str:
    """A line of prose with its roles replaced; code spans stay as they are."""
    result = ""
    i = 0
    while i < len(line):
        if line[i] != "`":
            result += line[i]
            i += 1
            continue
        run = len(line) - len(line[i:].lstrip("`")) - i
        end = _closing(line, i + run, run)
        if end is None:
            result += line[i : i + run]
            i += run
            continue
        content = line[i + run : end]
        role = _ROLE.search(result)
        if role is None:
            result += line[i : end + run]
        else:
            result = result[: role.start()] + _role_text(role[1], content, entries, link)
        i = end + run
    return result


def _closing(line: str, start: int, run: int) -> int | None:
    """Where a run of exactly so many backticks starts."""
    for match in re.finditer("`+", line[start:]):
        if len(match.group()) == run:
            return start + match.start()
    return None


def _role_text(role: str, content: str, entries: Mapping[str, Entry], link: Callable[[str], str | None]) -> str:
    if role == "num":
        return content
    claim_id, _, form = content.strip().partition(" ")
    entry = entries.get(claim_id)
    if entry is None:
        return f"**{claim_id} is no claim**"
    text = claim_id if role == "claim" else value_text(entry, int(form.lstrip(".")) if form else None)
    address = link(claim_id)
    return f"[{text}]({address})" if address is not None else text


def value_text(entry: Entry, decimals: int | None) -> str:
    """A claim's number for prose, marked where the claim does not stand firm."""
    if entry.value is None:
        return f"?({entry.claim.id}: no value)"
    shown = show_value(entry.value, decimals)
    firm = is_sound(entry.status) and not entry.doubtful
    return shown if firm else f"{shown}?({'doubtful' if entry.doubtful else entry.status})"


def _box(entry: Entry, mark: str, link: Callable[[str], str | None]) -> list[str]:
    claim = entry.claim
    title = claim.text("title", claim.id)
    stated, evidence = stated_and_evidence(entry)
    lines = [
        f"(claim-{claim.id})=",
        f"{mark}{{admonition}} {title}",
        f":class: claim claim-{entry.colour}",
        "",
        f"**{standing_text(entry)}.** {_plain(entry.summary)}.{_rests_on(entry, link)}",
        "",
        *((_plain(stated), "") if stated else ()),
        "~~~~text",
        *source_text(claim).splitlines(),
        "~~~~",
    ]
    if evidence:
        lines += ["", "Evidence:", "", *(f"- {_plain(line)}" for line in evidence)]
    return [*lines, mark[0] * len(mark), ""]


def stated_and_evidence(entry: Entry) -> tuple[str, tuple[str, ...]]:
    """What a claim states where its text does not show it, and its evidence: a proof brings its own statement."""
    if entry.claim.kind is not Kind.PROOF:
        return "", entry.evidence
    own = tuple(line for line in entry.evidence if line.startswith("statement: "))
    rest = tuple(line for line in entry.evidence if line not in own)
    return " ".join(line.removeprefix("statement: ") for line in own), rest


def source_text(claim: Claim) -> str:
    """A claim as its author wrote it, options first."""
    options = "".join(f":{option.name}: {' '.join(option.value.split())}\n" for option in claim.options)
    return f":kind: {claim.kind}\n{options}" + (f"\n{claim.body}" if claim.body else "")


def standing_text(entry: Entry) -> str:
    """``holds (two solvers)``, ``doubtful``, ``failed``, as the claim stands."""
    if entry.doubtful:
        return f"doubtful: {entry.status}, but {entry.weakest} is {entry.weakest_status}"
    return f"{entry.status} ({entry.strength})" if entry.strength is not None else str(entry.status)


def _rests_on(entry: Entry, link: Callable[[str], str | None]) -> str:
    if entry.weakest is None:
        return ""
    address = link(entry.weakest)
    name = f"[{entry.weakest}]({address})" if address is not None else entry.weakest
    standing = entry.weakest_strength if entry.weakest_strength is not None else entry.weakest_status
    return f" Rests on {name} ({standing}) at its weakest."


def _plain(text: str) -> str:
    """Text with the characters escaped that Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>#$|])", r"\\\1", text)


def _index(notes: Mapping[str, Note], report: Report) -> str:
    lines = ["# Notes", "", "Every statement in these notes was executed; its status is derived, never typed.", ""]
    lines += [f"- {_plain(line)}" for line in summary_lines(report)]
    return "\n".join(lines) + "\n"


def _toctree(names: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def _links(notes: Mapping[str, Note]) -> str:
    lines = ["", *(f"- [{_plain(note.title)}]({name}.html)" for name, note in notes.items())]
    return "\n".join([*lines, f"- [Claim graph]({GRAPH}.html)", ""])
