"""HTML pages from the templates of this package; every text in a page is escaped unless it is markup already.

A page is self-contained: pictures are inline SVG and the style stands inside.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

__all__ = ["Markup", "render_page"]


@cache
def _template(name: str) -> Template:
    return Environment(
        loader=PackageLoader("fairlane.pictures"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template(name)


def render_page(name: str, **values: object) -> str:
    """A page, the same text for the same values.

    Parameters
    ----------
    name : str
        File name of a template.
    **values : object
        What the template names; text is escaped, `Markup` stands as it is.

    Returns
    -------
    str
        HTML 5.
    """
    return _template(name).render(values)
