"""One configuration of a learning run: who decides, from which estimates, and what exploration may cost.

Every option carries the name it has on the command line. A value that means nothing for the chosen policy is refused
where it would mislead (two rules for one thing), and ignored where it is merely unused, so that one option can be
varied over a list of policies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from fairlane.reference.errors import InvalidInstance

DISCOVERIES = ("productive", "native")
MEAN_ESTIMATORS = ("arithmetic", "ema", "median9")
BLOCK_SIZES = (8, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """A policy with its estimator and its accounts.

    Attributes
    ----------
    policy : str
        A name of `fairlane.simulator.learning.policies`.
    estimator : str
        A registered estimator: `cumulative`, `regime`, `log-regime` and others.
    funded : bool
        Whether exploration waits for earned credit; without it every opportunity is open.
    alpha : float
        Share of foreground time that pays for exploration, 0 < alpha < 1.
    credit_cap_ms : float
        Credit at which a probe may start, and beyond which nothing is earned, > 0.
    refresh_every : int
        Every so many opportunities the least recently attempted alternative runs; 0 never.
    block_size : int
        Observations in a block, 8 or 32.
    partial_blocks : bool
        Whether an unfinished block takes part in the posterior.
    mean_estimator : str or None
        Operational mean, `arithmetic`, `ema` or `median9`; None is the policy's own.
    ttl_ms : float
        Lifetime of a measurement in wall time, > 0.
    epsilon, temperature, quantile : float
        Of the policies that use them: chance of a random nomination in (0, 1], softmax temperature > 0, lower quantile
        of the mean cost in (0, 1/2].
    anneal : bool
        Divide the temperature by sqrt(1 + opportunities / 100).
    initial_discovery : str
        `productive`: bootstrap only where nothing feasible is measured; `native`: unmeasured graphs first.
    probe_extra_ms, probe_loss_ms : float
        Admission limits of targeted challengers: longer than the incumbent by at most so much, and worth at most so
        much incumbent time less, >= 0; `probe_extra_ms` may be infinite.
    refresh_busy_ms : float
        Occupied time after which an unused graph is due for a check, > 0.
    audit_every : int
        Every so many contended opportunities go to a due check; 0 gives checks priority.
    probe_harm_ms : float or None
        Hard limit of the summed service delay of a probe, request-ms, >= 0; None no limit.
    harm_alpha : float or None
        Share of time at which service earns delay, in (0, 1); None keeps no balances.
    log_reference, predictive : str
        Readings of the log-regime reference and of the predictive-noise control.

    Raises
    ------
    InvalidInstance
        A value outside its range, an unknown name (the known ones are listed), or two options that exclude each other.

    Examples
    --------
    >>> LearningConfig(policy="targeted", harm_alpha=0.02).label
    'targeted harm_alpha=0.02'
    """

    policy: str
    estimator: str = "cumulative"
    funded: bool = True
    alpha: float = 0.02
    credit_cap_ms: float = 5.0
    refresh_every: int = 16
    block_size: int = 8
    partial_blocks: bool = False
    mean_estimator: str | None = None
    ttl_ms: float = 30_000.0
    epsilon: float = 0.05
    temperature: float = 0.1
    anneal: bool = False
    quantile: float = 0.05
    initial_discovery: str = "productive"
    probe_extra_ms: float = 0.0
    probe_loss_ms: float = 5.0
    refresh_busy_ms: float = 5_000.0
    audit_every: int = 0
    probe_harm_ms: float | None = None
    harm_alpha: float | None = None
    log_reference: str = "nomination"
    predictive: str = "execution"

    def __post_init__(self) -> None:
        from fairlane.simulator.learning import policies
        from fairlane.simulator.learning.estimators import names as estimator_names

        _member("policy", self.policy, policies.names())
        _member("estimator", self.estimator, estimator_names())
        _member("initial_discovery", self.initial_discovery, DISCOVERIES)
        _member("log_reference", self.log_reference, ("nomination", "once"))
        _member("predictive", self.predictive, ("execution", "block"))
        for name in ("funded", "partial_blocks", "anneal"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInstance(f"{name} is {getattr(self, name)!r}; need true or false")
        if self.block_size not in BLOCK_SIZES or isinstance(self.block_size, bool):
            raise InvalidInstance(f"block_size is {self.block_size!r}; need 8 or 32")
        _within(self, "alpha", 0, 1)
        _within(self, "epsilon", 0, 1, closed_above=True)
        _within(self, "quantile", 0, 0.5, closed_above=True)
        for name in ("credit_cap_ms", "ttl_ms", "temperature", "refresh_busy_ms"):
            _within(self, name, 0, math.inf)
        _within(self, "probe_extra_ms", 0, math.inf, closed_below=True, closed_above=True)
        _within(self, "probe_loss_ms", 0, math.inf, closed_below=True, closed_above=True)
        for name in ("refresh_every", "audit_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInstance(f"{name} is {value!r}; need a whole number >= 0, 0 to turn it off")
        if self.probe_harm_ms is not None:
            _within(self, "probe_harm_ms", 0, math.inf, closed_below=True)
        if self.harm_alpha is not None:
            _within(self, "harm_alpha", 0, 1)
        if self.probe_harm_ms is not None and self.harm_alpha is not None:
            raise InvalidInstance(
                "probe_harm_ms and harm_alpha are both given; the hard delay limit excludes earned delay balances"
            )
        spec = policies.spec(self.policy)
        if self.mean_estimator is not None:
            _member("mean_estimator", self.mean_estimator, MEAN_ESTIMATORS)
            if self.mean_estimator not in spec.means:
                raise InvalidInstance(
                    f"mean_estimator is {self.mean_estimator!r}; policy {self.policy!r} needs {' or '.join(spec.means)}"
                )
        if not spec.bounds_delay and (self.probe_harm_ms is not None or self.harm_alpha is not None):
            name = "probe_harm_ms" if self.probe_harm_ms is not None else "harm_alpha"
            raise InvalidInstance(f"{name} is given with policy {self.policy!r}; delay accounts belong to 'targeted'")

    @property
    def operational_mean(self) -> str:
        """The operational mean in use."""
        from fairlane.simulator.learning import policies

        return self.mean_estimator or policies.spec(self.policy).means[0]

    @property
    def earning_rate(self) -> float:
        """Credit a ms of credited foreground time, alpha / (1 - alpha)."""
        return self.alpha / (1.0 - self.alpha)

    @property
    def label(self) -> str:
        """The policy and every option that is not the default."""
        plain = LearningConfig(policy=self.policy)
        changed = [
            f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)
        ]
        return " ".join([self.policy, *changed])

    def to_json(self) -> dict[str, object]:
        """Every option by name; infinity as the string "inf"."""
        return {
            name: "inf" if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, document: object, where: str = "config") -> LearningConfig:
        """The configuration of a JSON object.

        Raises
        ------
        InvalidInstance
            No object, an unknown or missing option, or a value outside its range.
        """
        if not isinstance(document, Mapping):
            raise InvalidInstance(f"{where} is a {type(document).__name__}; need an object of options")
        known = [f.name for f in fields(cls)]
        for name in document:
            if name not in known:
                raise InvalidInstance(f"{where}.{name} is no option; need one of {', '.join(known)}")
        if "policy" not in document:
            raise InvalidInstance(f"{where}.policy is missing; need the name of a learning policy")
        try:
            return cls(**{k: math.inf if v == "inf" else v for k, v in document.items()})
        except InvalidInstance as error:
            raise InvalidInstance(f"{where}: {error}") from error


def _member(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InvalidInstance(f"{name} is {value!r}; need one of {', '.join(known)}")


def _within(
    config: LearningConfig,
    name: str,
    low: float,
    high: float,
    *,
    closed_below: bool = False,
    closed_above: bool = False,
) -> None:
    value = getattr(config, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInstance(f"{name} is {value!r}; need a number")
    if not (low < value < high or (closed_below and value == low) or (closed_above and value == high)):
        below = ">= " if closed_below else "> "
        above = "" if math.isinf(high) else f" and {'<=' if closed_above else '<'} {high:g}"
        raise InvalidInstance(f"{name} is {value!r}; need {below}{low:g}{above}")
    # whole numbers of a file are the same options
    object.__setattr__(config, name, float(value))
