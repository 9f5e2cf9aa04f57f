"""The estimators of graph timings, by name."""

from __future__ import annotations

import importlib

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning.estimator import Estimator, EstimatorOptions, EstimatorSpec

# name -> module of this package; modules are imported when their estimator is asked for
MODULES = {
    "cumulative": "cumulative",
    "regime": "regime",
    "log-regime": "log_regime",
    "clipped-cusum": "clipped_cusum",
}


def names() -> tuple[str, ...]:
    """Names of the estimators, in the order of tables."""
    return tuple(MODULES)


def spec(name: str) -> EstimatorSpec:
    """The registered estimator of a name.

    Raises
    ------
    InvalidInstance
        No such name; the message lists the names.
    """
    if name not in MODULES:
        raise InvalidInstance(f"estimator is {name!r}; need one of {', '.join(MODULES)}")
    found = importlib.import_module(f"fairlane.simulator.learning.estimators.{MODULES[name]}").ESTIMATOR
    assert isinstance(found, EstimatorSpec)
    return found


def make(name: str, options: EstimatorOptions | None = None) -> Estimator:
    """A registered estimator with these options, the defaults without any.

    Examples
    --------
    >>> from fairlane.simulator.learning.timing import Timing
    >>> estimator = make("cumulative")
    >>> known = estimator.observe(estimator.initial(), Timing(completed_ms=20.0, duration_ms=20.0), prior_ms=1.0)
    >>> estimator.mean_ms(known)
    20.0
    """
    return spec(name).make(options if options is not None else EstimatorOptions())
