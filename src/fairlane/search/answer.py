"""The two-sided answer in words: what was found, and what is proved of everything that was looked at."""

from __future__ import annotations

from fairlane.reference.exact import show
from fairlane.search.case import Measure
from fairlane.search.explore import failure_text
from fairlane.search.result import Report, Status
from fairlane.search.space import Space
from fairlane.search.space_file import space_sentence

_STATUS = {
    Status.GLOBAL_MIN: "every smaller instance of the space was looked at",
    Status.LOCAL_MIN: "no single step makes it smaller",
    Status.FOUND: "not minimised to the end",
}


def witness_sentence(report: Report) -> str:
    """What was found."""
    if report.failure is not None:
        return f"The policy broke: {failure_text(report.policy, report.failure)}."
    witness = report.counterexample
    if witness is None:
        if not report.exhaustive:
            return (
                f"No witness among {report.instances:,} instances in order of size and {report.proposed:,} proposals."
            )
        return f"None: {report.instances:,} instances, exhaustive."
    size = witness.size
    relative = "" if witness.relative_gap is None else f", {show(witness.relative_gap)} of the optimum"
    return (
        f"{witness.status}: {_count(size.requests, 'request')}, {_count(size.tokens, 'token')}, "
        f"{_count(size.graphs, 'graph')}; gap {show(witness.gap)}{relative} ({_STATUS[witness.status]}; "
        f"from {witness.origin})."
    )


def bound_sentence(report: Report, space: Space) -> str:
    """What is proved of the enumeration; it says nothing of proposals."""
    looked = f"{report.instances:,} instances"
    where = f"the space ({space_sentence(space)})"
    if not report.exhaustive:
        if report.complete is None:
            where = f"what was looked at of {where}"
        else:
            n, t, g = report.complete
            up_to = f"{_count(n, 'request')}, {_count(t, 'token')} and {_count(g, 'graph')}"
            where = f"what was looked at of {where}, which is all of it up to {up_to}"
    if report.aim.predicate is not None:
        holds = "no instance of it does what was asked for" if report.counterexample is None else "a witness was found"
        return f"Of {where}: {holds}; {looked}{', exhaustive' if report.exhaustive else ''}."
    kind = "relative gap" if report.aim.measure is Measure.RELATIVE else "gap"
    if report.worst is None:
        bound = "the policy is optimal on every instance"
    else:
        bound = f"no instance exceeds a {kind} of {show(report.bound)}, which is attained"
    without = f", {report.unmeasured:,} of them without a relative gap (optimum 0)" if report.unmeasured else ""
    return f"Of {where}: {bound}; {looked}{without}{', exhaustive' if report.exhaustive else ''}."


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
