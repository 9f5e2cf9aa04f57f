"""A report as text, one line a claim, and as a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.claims.checking import Entry, Report
from fairlane.proofs.claims.status import Colour

MAX_SHOWN = 30


def claim_lines(entries: Sequence[Entry]) -> tuple[str, ...]:
    """One line a claim, in columns: colour, status, strength, id, place, and why."""
    rows = [
        (
            str(entry.colour),
            "doubtful" if entry.doubtful else str(entry.status),
            str(entry.strength) if entry.strength is not None else "-",
            entry.claim.id,
            entry.claim.where(),
            entry.summary + _below(entry),
        )
        for entry in entries
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
    return tuple(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True)), row[5]]) for row in rows
    )


def _below(entry: Entry) -> str:
    if entry.weakest is None:
        return ""
    standing = entry.weakest_strength if entry.weakest_strength is not None else entry.weakest_status
    return f" [weakest below: {entry.weakest}, {standing}]"


def summary_lines(report: Report) -> tuple[str, ...]:
    """Problems, then the totals."""
    counts = Counter(entry.colour for entry in report.entries)
    shown = ", ".join(f"{counts[colour]} {colour}" for colour in Colour)
    lines = [str(problem) for problem in report.problems]
    problems = f"; {len(report.problems)} to mend" if report.problems else ""
    lines.append(f"{len(report.entries)} claims: {shown}{problems}; {report.n_executed} run")
    if report.deltas:
        parts = ", ".join(f"{path} {show_delta(delta)}" for path, delta in report.deltas)
        lines.append(f"statistical claims miss with probability at most {show_delta(report.total_delta)} ({parts})")
    return tuple(lines)


def show_delta(delta: Fraction) -> str:
    """A miss probability, short."""
    return f"{float(delta):.3g}"


def report_to_json(report: Report) -> dict[str, object]:
    """The report as one document; exact numbers are strings."""
    return {
        "passed": report.passed,
        "executed": report.n_executed,
        "claims": [entry_to_json(entry) for entry in report.entries],
        "problems": [
            {"path": problem.path, "line": problem.line, "message": problem.message} for problem in report.problems
        ],
        "delta": {"total": str(report.total_delta), "notes": {path: str(delta) for path, delta in report.deltas}},
    }


def entry_to_json(entry: Entry) -> dict[str, object]:
    """One claim."""
    return {
        "id": entry.claim.id,
        "kind": entry.claim.kind,
        "path": entry.claim.path,
        "line": entry.claim.line,
        "colour": entry.colour,
        "status": entry.status,
        "strength": entry.strength,
        "doubtful": entry.doubtful,
        "summary": entry.summary,
        "evidence": list(entry.evidence),
        "value": entry.value,
        "uses": list(entry.claim.uses),
        "weakest": entry.weakest,
        "weakest_status": entry.weakest_status,
        "weakest_strength": entry.weakest_strength,
    }


def show_value(text: str, decimals: int | None) -> str:
    """A claim's number as prose shows it: exact, or rounded to so many decimals.

    Examples
    --------
    >>> show_value("9/5", None), show_value("2/3", 3), show_value("-1/8", 2)
    ('9/5', '0.667', '-0.12')
    """
    if decimals is None:
        # A mean of doubles is a rational too, but no reader wants to see it.
        return text if len(text) <= MAX_SHOWN else f"≈{float(Fraction(text)):.6g}"
    value = Fraction(text)
    scaled = round(value * 10**decimals)
    digits = f"{abs(scaled):0{decimals + 1}d}"
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits}" if decimals == 0 else f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"
