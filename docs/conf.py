"""Sphinx configuration of the documentation site. Built without network and without system programs."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, os.path.abspath("../src"))

project = "fairlane"
author = "the fairlane authors"
copyright = "the fairlane authors, Apache-2.0"
release = installed_version("fairlane")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "fairlane.proofs.claims.sphinx_ext",
]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
# statuses of claims: what has changed is run, the rest is what an earlier check left beside the notes
fairlane_notes = "notes"
fairlane_notes_run = "changed"
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

# numpydoc brings autosummary along, which writes pages of its own
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = "fairlane"
html_static_path = ["_static"]
html_css_files = ["fairlane.css"]
html_copy_source = False
# formulas are plain text, so that the site needs no script from elsewhere


def setup(app: Sphinx) -> None:
    """Name the blocks that hold CSV as such; there is nothing to colour in them."""
    app.add_lexer("csv", TextLexer)
