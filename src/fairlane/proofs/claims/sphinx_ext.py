"""Sphinx extension: notes as they are written, shown with status and evidence.

In ``conf.py``::

    extensions = ["myst_parser", "fairlane.proofs.claims.sphinx_ext"]
    myst_enable_extensions = ["colon_fence", "dollarmath"]
    fairlane_notes = "notes"        # folder of notes, relative to conf.py
    fairlane_notes_run = "none"     # "changed" runs what has changed first

It defines the ``claim`` directive, the roles ``val``, ``num`` and ``claim``, a ``claim-graph`` directive, and a
``proof-list`` directive for fairlane's own proofs.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.errors import ConfigError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from fairlane.proofs import PROOFS
from fairlane.proofs import load as load_proof
from fairlane.proofs.claims.checking import Entry, Report, Run, check
from fairlane.proofs.claims.collection import Collection, load_collection
from fairlane.proofs.claims.graph_page import PAINT, box_styles, claim_graph_svg, legend_html
from fairlane.proofs.claims.site import source_text, standing_text, stated_and_evidence, value_text
from fairlane.proofs.claims.status import Colour
from fairlane.reference.errors import FairlaneError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

log = logging.getLogger(__name__)


class ClaimDirective(SphinxDirective):
    """A claim with its standing; what it says was read from the note itself."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    # Without an option list the whole body stays text: a claim's options are read by the claim engine alone.
    option_spec: ClassVar[Any] = None

    def run(self) -> list[nodes.Node]:
        """The box that a reader sees."""
        claim_id = self.arguments[0].strip()
        entry = entries_of(self.env).get(claim_id)
        if entry is None:
            log.warning("claim %r is not among the notes of fairlane_notes", claim_id, location=self.get_location())
            return [nodes.literal_block(self.block_text, self.block_text)]
        classes = ["claim", f"claim-{entry.colour}"]
        title = nodes.title("", entry.claim.text("title", claim_id))
        box = nodes.admonition("", title, classes=classes, ids=[f"claim-{claim_id}"])
        standing = nodes.paragraph()
        standing += nodes.strong("", standing_text(entry))
        standing += nodes.Text(f". {entry.summary}.")
        if entry.weakest is not None:
            worth = entry.weakest_strength if entry.weakest_strength is not None else entry.weakest_status
            standing += nodes.Text(" Rests on ")
            standing += _reference(self.env, entry.weakest, entry.weakest)
            standing += nodes.Text(f" ({worth}) at its weakest.")
        box += standing
        stated, evidence = stated_and_evidence(entry)
        if stated:
            box += nodes.paragraph("", stated)
        source = source_text(entry.claim)
        block = nodes.literal_block(source, source, language="text")
        box += block
        if evidence:
            box += nodes.raw("", "<details><summary>Evidence</summary>", format="html")
            listed = nodes.bullet_list()
            for line in evidence:
                item = nodes.list_item()
                item += nodes.paragraph("", line)
                listed += item
            box += listed
            box += nodes.raw("", "</details>", format="html")
        domain = cast("Any", self.env.get_domain("std"))
        domain.note_hyperlink_target(f"claim-{claim_id}", self.env.docname, f"claim-{claim_id}", claim_id)
        self.state.document.note_explicit_target(box)
        return [box]


class ValueRole(SphinxRole):
    """A claim's number, linked to the claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The number, or a visible mark where there is none."""
        claim_id, _, form = self.text.strip().partition(" ")
        entry = entries_of(self.env).get(claim_id)
        if entry is None:
            log.warning("no claim %r for a value", claim_id, location=self.get_location())
            return [nodes.Text(f"?({claim_id})")], []
        digits = form.strip().lstrip(".")
        text = value_text(entry, int(digits) if digits.isdigit() else None)
        return [_reference(self.env, claim_id, text)], []


class ClaimRole(SphinxRole):
    """A link to a claim by its id."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The id as a link."""
        claim_id = self.text.strip()
        if claim_id not in entries_of(self.env):
            log.warning("no claim %r to link to", claim_id, location=self.get_location())
            return [nodes.Text(claim_id)], []
        return [_reference(self.env, claim_id, claim_id)], []


class LabelRole(SphinxRole):
    """A number that is a mere label."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The text itself."""
        return [nodes.Text(self.text)], []


class ClaimGraphDirective(SphinxDirective):
    """The graph of all claims."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """One SVG, scrolled sideways where the screen is narrow."""
        collection = cast("Collection", getattr(self.env, "fairlane_collection"))  # noqa: B009  # set by load()
        builder = self.env.app.builder
        source = Path(self.env.srcdir)
        pages = {
            claim.id: note.file.resolve().relative_to(source.resolve()).with_suffix("").as_posix()
            for note in collection.notes
            for claim in note.claims
        }

        def link(entry: Entry) -> str:
            target = pages[entry.claim.id]
            uri = builder.get_relative_uri(self.env.docname, target) if builder.format == "html" else ""
            return f"{uri}#claim-{entry.claim.id}"

        svg = claim_graph_svg(collection.uses, entries_of(self.env), link=link)
        frame = f'<div class="claim-graph-frame">{svg}</div>{legend_html()}'
        return [nodes.raw("", frame, format="html")]


class ProofListDirective(SphinxDirective):
    """Every registered identity with its statement, assumptions and source, as the modules' docstrings have them."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """One section a proof, with the false variants that it refuses."""
        sections: list[nodes.Node] = []
        for registered in PROOFS:
            proof = load_proof(registered.name)
            section = nodes.section("", nodes.title("", registered.name), ids=[f"proof-{registered.name}"])
            section += nodes.paragraph("", proof.statement)
            fields = nodes.field_list()
            for name, text in (
                ("Assumptions", proof.assumptions),
                ("Source", proof.source),
                ("Refuses", "; ".join(proof.broken)),
            ):
                body = nodes.field_body("", nodes.paragraph("", text))
                fields += nodes.field("", nodes.field_name("", name), body)
            section += fields
            sections.append(section)
        return sections


def _reference(env: BuildEnvironment, claim_id: str, text: str) -> nodes.Node:
    node = pending_xref(
        "",
        refdomain="std",
        reftype="ref",
        reftarget=f"claim-{claim_id}",
        refexplicit=True,
        refdoc=env.docname,
        refwarn=True,
    )
    node += nodes.inline("", text)
    # Sphinx replaces what is inside the reference, so the colour goes around it.
    shown = nodes.inline("", "", classes=["claim-value", f"claim-value-{entries_of(env)[claim_id].colour}"])
    shown += node
    return shown


def entries_of(env: BuildEnvironment) -> dict[str, Entry]:
    """The checked claims of a build, by id."""
    report: Report | None = getattr(env, "fairlane_report", None)
    return dict(report.everything) if report is not None else {}


def load(app: Sphinx) -> None:
    """Read the notes once, before any page; what is kept decides the statuses.

    Raises
    ------
    ConfigError
        The folder holds no notes.
    """
    folder = Path(app.confdir) / app.config.fairlane_notes
    if app.config.fairlane_notes_run not in list(Run):
        raise ConfigError(f"fairlane_notes_run is {app.config.fairlane_notes_run!r}; need one of {', '.join(Run)}")
    roots = (Path.cwd(), folder.resolve())
    for root in roots:
        # notes import modules of their own, as they do under `fairlane notes check`
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
    try:
        collection = load_collection(folder)
        report = check(
            collection,
            today=date.today(),
            roots=roots,
            run=Run(app.config.fairlane_notes_run),
        )
    except FairlaneError as error:
        raise ConfigError(str(error)) from None
    env = cast("Any", app.env)
    env.fairlane_collection, env.fairlane_report = collection, report
    for problem in report.problems:
        log.warning("%s", problem)
    for claim_id, entry in report.everything.items():
        if entry.colour is Colour.RED:
            log.warning("claim %r is red: %s", claim_id, entry.summary)


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Pages with claims are written again every time: their statuses come from outside the page."""
    collection: Collection | None = getattr(env, "fairlane_collection", None)
    if collection is None:
        return []
    source = Path(app.srcdir).resolve()
    names = []
    for note in collection.notes:
        if note.file.resolve().is_relative_to(source):
            names.append(note.file.resolve().relative_to(source).with_suffix("").as_posix())
    return [name for name in names if name in env.all_docs]


def add_style(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The colours of the boxes, in the page's head: no file has to be shipped or copied."""
    context["metatags"] = f"{context.get('metatags', '')}\n<style>{style_sheet()}</style>"


def style_sheet() -> str:
    """CSS for claims, their values and the graph."""
    rules = [
        box_styles(),
        ".claim pre { font-size: .85em; }",
        ".claim-graph-frame { overflow-x: auto; background: #fff; }",
        ".claim-legend { list-style: none; padding: 0; }",
        ".claim-swatch { display: inline-block; width: .9em; height: .9em; border: 1.5px solid; margin-right: .5em; }",
    ]
    for colour, (fill, _) in PAINT.items():
        if colour in (Colour.AMBER, Colour.RED):
            rules.append(f".claim-value-{colour} {{ background: {fill}; color: #111; }}")
    return "\n".join(rules)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything with Sphinx."""
    app.add_config_value("fairlane_notes", "notes", "env", str)
    app.add_config_value("fairlane_notes_run", "none", "env", str)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("claim-graph", ClaimGraphDirective)
    app.add_directive("proof-list", ProofListDirective)
    app.add_role("val", ValueRole())
    app.add_role("claim", ClaimRole())
    app.add_role("num", LabelRole())
    app.connect("builder-inited", load)
    app.connect("html-page-context", add_style)
    app.connect("env-get-outdated", outdated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
