"""Goodput: how many requests met every target, with rejected and unfinished ones in the denominator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import as_fraction, show
from fairlane.simulator.latency import Latencies
from fairlane.simulator.publication_table import Floats, Outcome, PublicationTable, TargetKind


class MissingTarget(StrEnum):
    """How a request counts that lacks a target in force, or the figure the target bounds."""

    NOT_MET = "not-met"
    MET = "met"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Upper bounds that hold for every request without one of its own; None sets none.

    Attributes
    ----------
    ttft_ms, tpot_ms, e2e_ms, gap_ms : float or None
        Milliseconds, > 0; ``gap_ms`` bounds the longest gap.
    """

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None
    gap_ms: float | None = None

    def __post_init__(self) -> None:
        for kind in TargetKind:
            value: float | None = getattr(self, kind.value)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InvalidInstance(f"targets.{kind.value} is {value}; need a finite number > 0")


NO_TARGETS = Targets()


def read_targets(value: Mapping[str, object], where: str) -> Targets:
    """Targets from parsed JSON.

    Parameters
    ----------
    value : mapping
        Target names to numbers.
    where : str
        Path named in errors.

    Raises
    ------
    InvalidInstance
        An unknown name, or no number > 0.
    """
    read: dict[str, float] = {}
    for name, bound in value.items():
        if name not in tuple(TargetKind):
            raise InvalidInstance(f"{where} has the unknown target {name!r}; known are {', '.join(TargetKind)}")
        exact = as_fraction(bound, f"{where}.{name}")
        if exact <= 0 or exact > 10**15:
            raise InvalidInstance(f"{where}.{name} is {show(exact)}; need > 0 and <= 10^15 ms")
        read[name] = float(exact)
    return Targets(**read)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Requests that met every target in force.

    ``attainment`` is met / requests, None where no target is in force or there is no request.
    """

    met: int
    requests: int
    in_force: tuple[TargetKind, ...]

    @property
    def attainment(self) -> Fraction | None:
        """Share of all requests, rejected and unfinished ones included."""
        return Fraction(self.met, self.requests) if self.requests and self.in_force else None


def goodput(
    table: PublicationTable,
    figures: Latencies,
    *,
    targets: Targets = NO_TARGETS,
    missing: MissingTarget = MissingTarget.NOT_MET,
) -> Goodput:
    """How many requests finished within every target.

    Parameters
    ----------
    table : PublicationTable
        A request's own target takes the place of the common one.
    figures : Latencies
        Of the same table.
    targets : Targets
        Common targets.
    missing : MissingTarget
        A kind of target is in force once a common one or any request's own is given. A request that lacks a target in
        force, or whose figure is undefined (the TPOT of one token), fails it by default; ``met`` passes it.

    Returns
    -------
    Goodput
        Only finished requests can meet targets.
    """
    measured: Mapping[TargetKind, Floats] = {
        TargetKind.TTFT: figures.ttft_ms,
        TargetKind.TPOT: figures.tpot_ms,
        TargetKind.E2E: figures.e2e_ms,
        TargetKind.GAP: figures.longest_gap_ms,
    }
    met = table.outcome == Outcome.FINISHED
    in_force: list[TargetKind] = []
    for column, kind in enumerate(TargetKind):
        common: float | None = getattr(targets, kind.value)
        own = table.target_ms[:, column]
        bound = own if common is None else np.where(np.isnan(own), common, own)
        if common is None and np.isnan(bound).all():
            continue
        in_force.append(kind)
        undefined = np.isnan(bound) | np.isnan(measured[kind])
        with np.errstate(invalid="ignore"):
            within = measured[kind] <= bound
        met = met & np.where(undefined, missing is MissingTarget.MET, within)
    return Goodput(met=int(met.sum()) if in_force else 0, requests=len(table), in_force=tuple(in_force))
