"""Which optional extra of the distribution a package belongs to."""

from __future__ import annotations

from fairlane.reference.errors import Unsupported

EXTRA_OF = {
    "cvxpy": "cvxpy",
    "dask": "cluster",
    "distributed": "cluster",
    "markdown_it": "notes",
    "matplotlib": "pictures",
    "mdit_py_plugins": "notes",
    "mpl_toolkits": "pictures",
    "mpmath": "notes",
    "sympy": "notes",
    "z3": "notes",
}


def unsupported_without(error: ModuleNotFoundError) -> Unsupported | None:
    """What to say of a package that is missing: the extra that brings it; None where no extra does."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRA_OF.get(package)
    if extra is None:
        return None
    return Unsupported(f"this needs {package}, which is not installed; need the extra: pip install 'fairlane[{extra}]'")
