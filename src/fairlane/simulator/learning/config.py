"""One configuration of a learning run: who decides, from which estimates, and what exploration may cost.

Every option carries the name it has on the command line. What would mislead for the chosen policy is refused; what is
merely unused by it is ignored, so that one option can be varied over a list of policies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning import estimators, policies
from fairlane.simulator.learning.estimator import EstimatorOptions, LogReference, MeanKind, PredictiveKind
from fairlane.simulator.learning.options import PolicyOptions, need_member
from fairlane.simulator.learning.policies.spec import LearningPolicySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig(PolicyOptions):
    """A policy with its estimator and its accounts; the other options are those of `PolicyOptions`.

    Attributes
    ----------
    policy : str
        A name of `fairlane.simulator.learning.policies`.
    estimator : str
        A name of `fairlane.simulator.learning.estimators`.
    block_size : int
        Observations in a block, 8 or 32.
    partial_blocks : bool
        Whether an unfinished block takes part in the posterior.
    mean_estimator : str or None
        Operational mean, `arithmetic`, `ema` or `median9`; None is the policy's own.
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
    block_size: int = 8
    partial_blocks: bool = False
    mean_estimator: str | None = None
    log_reference: str = LogReference.NOMINATION
    predictive: str = PredictiveKind.EXECUTION

    def __post_init__(self) -> None:
        PolicyOptions.__post_init__(self)
        need_member("policy", self.policy, policies.names())
        need_member("estimator", self.estimator, estimators.names())
        need_member("log_reference", self.log_reference, tuple(LogReference))
        need_member("predictive", self.predictive, tuple(PredictiveKind))
        if not isinstance(self.partial_blocks, bool):
            raise InvalidInstance(f"partial_blocks is {self.partial_blocks!r}; need true or false")
        if self.mean_estimator is not None:
            need_member("mean_estimator", self.mean_estimator, tuple(MeanKind))
            if self.mean_estimator not in self.spec.means:
                raise InvalidInstance(
                    f"mean_estimator is {self.mean_estimator!r}; policy {self.policy!r} "
                    f"needs {' or '.join(self.spec.means)}"
                )
        if not self.spec.bounds_delay and (self.probe_harm_ms is not None or self.harm_alpha is not None):
            name = "probe_harm_ms" if self.probe_harm_ms is not None else "harm_alpha"
            raise InvalidInstance(f"{name} is given with policy {self.policy!r}; delay limits belong to 'targeted'")
        # the estimator's own options are checked where they are made
        assert self.estimator_options is not None

    @property
    def spec(self) -> LearningPolicySpec:
        """The registered policy."""
        return policies.spec(self.policy)

    @property
    def estimator_options(self) -> EstimatorOptions:
        """What the estimator is made with."""
        return EstimatorOptions(
            block_size=self.block_size,
            partial_blocks=self.partial_blocks,
            mean_estimator=MeanKind(self.mean_estimator or self.spec.means[0]),
            expiry_ms=self.ttl_ms if self.spec.fresh_ttl else None,
            log_reference=LogReference(self.log_reference),
            predictive=PredictiveKind(self.predictive),
        )

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
            # every value is checked where it is kept
            return cls(**{name: math.inf if value == "inf" else value for name, value in document.items()})  # type: ignore[arg-type]
        except InvalidInstance as error:
            raise InvalidInstance(f"{where}: {error}") from error
