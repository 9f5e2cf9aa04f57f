"""The directory of a search: a journal while it runs, then instance, test, report and the answer as a document.

The journal has a line for each finished piece, so that a search that was killed loses at most the pieces at work, and
the smallest witness so far always stands in ``instance.json``. A journal of another search is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from fractions import Fraction
from pathlib import Path

from fairlane.cli.journal import program_of
from fairlane.cli.search_report import emitted_test, write_search_report
from fairlane.cli.workers import version
from fairlane.reference.atomic_write import write_text
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import decimal_of, show
from fairlane.reference.model.codec import dump_instance, instance_from_json, instance_to_json, parse_json
from fairlane.search.answer import bound_sentence, witness_sentence
from fairlane.search.case import Aim
from fairlane.search.enumeration import Found, PieceResult, merge
from fairlane.search.explore import failure_text
from fairlane.search.failure import PolicyFailure
from fairlane.search.result import Counterexample, Report
from fairlane.search.space import Space
from fairlane.search.space_file import space_to_json

JOURNAL = "journal.jsonl"


class SearchFolder:
    """An open directory.

    Parameters
    ----------
    path : Path
        A new directory, or with ``resume`` one that an earlier search made.
    space, aim, policy
        The search.
    resume : bool
        Whether to go on with what the directory has.

    Raises
    ------
    DataError
        A directory that exists already, one of another search, or a place that cannot be written.
    """

    def __init__(self, path: Path, space: Space, aim: Aim, policy: str, *, resume: bool) -> None:
        self.path = path
        self.known: dict[int, PieceResult] = {}
        self._space = space
        self._aim = aim
        self._policy = policy
        self._total = PieceResult()
        self._key = _key(space, aim, policy)
        if resume:
            self._read()
        else:
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                raise DataError(f"{str(path)!r} exists already; need a directory name that is free") from None
            except (OSError, ValueError) as error:
                raise DataError(f"{str(path)!r} cannot be made: {getattr(error, 'strerror', None) or error}") from None
            self._append({"fairlane_search": 1, "policy": policy, "key": self._key})

    def add(self, number: int, result: PieceResult) -> None:
        """Keep a finished piece, and the smallest witness where it is a new one."""
        if result.failure is None:
            self._append({"piece": number, **_piece_to_json(result)})
        before = self._total.smallest
        self._total = merge(self._aim, self._total, result)
        smallest = self._total.smallest
        if smallest is not None and smallest is not before:
            dump_instance(smallest.instance, self.path / "instance.json")

    def finish(self, report: Report) -> None:
        """Write what the search found."""
        answer = json.dumps(document(report, self._space), indent=2, ensure_ascii=False, allow_nan=False)
        witness = report.counterexample
        if witness is not None:
            dump_instance(witness.instance, self.path / "instance.json")
            write_text(emitted_test(report, witness, self._policy), self.path / "test_counterexample.py")
            write_search_report(report, self._space, self._policy, self.path / "report.html")
        elif report.failure is not None and report.failure.instance is not None:
            dump_instance(report.failure.instance, self.path / "instance.json")
        write_text(answer + "\n", self.path / "result.json")

    def _append(self, line: dict[str, object]) -> None:
        try:
            # one write a line, so that a kill leaves whole lines and at most one torn end
            file = os.open(self.path / JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(file, (json.dumps(line, ensure_ascii=False) + "\n").encode())
            finally:
                os.close(file)
        except OSError as error:
            raise DataError(f"{str(self.path / JOURNAL)!r} cannot be written: {error.strerror}") from None

    def _read(self) -> None:
        file = self.path / JOURNAL
        try:
            content = file.read_bytes()
        except OSError:
            raise DataError(f"{str(self.path)!r} has no {JOURNAL}; need a directory that --output made") from None
        *lines, torn = content.split(b"\n")
        try:
            head = json.loads(lines[0]) if lines else {}
            if head.get("fairlane_search") != 1:
                raise ValueError("no head")
            if head.get("key") != self._key:
                raise DataError(
                    f"{file} is of another search; need the same policy, space, aim and version "
                    f"(it was of {head.get('policy')!r})"
                )
            for line in lines[1:]:
                row = json.loads(line)
                self.known[int(row["piece"])] = _piece_from_json(row)
        except (ValueError, KeyError, TypeError, AttributeError, InvalidInstance):
            raise DataError(f"{file} is no journal of a search; need a directory that --output made") from None
        if torn:
            os.truncate(file, len(content) - len(torn))
        for result in self.known.values():
            self._total = merge(self._aim, self._total, result)


def _key(space: Space, aim: Aim, policy: str) -> str:
    """SHA-256 of everything that the results of pieces depend on."""
    parts: list[object] = [
        version(),
        space_to_json(space),
        policy,
        program_of(policy),
        aim.measure.value,
        show(aim.exceeds),
    ]
    if isinstance(aim.predicate, str):
        parts += [aim.predicate, program_of(aim.predicate)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _piece_to_json(result: PieceResult) -> dict[str, object]:
    return {
        "instances": result.instances,
        "unmeasured": result.unmeasured,
        "smallest": _found_to_json(result.smallest),
        "worst": _found_to_json(result.worst),
    }


def _piece_from_json(row: dict[str, object]) -> PieceResult:
    instances, unmeasured = row["instances"], row["unmeasured"]
    if not isinstance(instances, int) or not isinstance(unmeasured, int):
        raise TypeError("counts are integers")
    return PieceResult(
        instances=instances,
        unmeasured=unmeasured,
        smallest=_found_from_json(row["smallest"]),
        worst=_found_from_json(row["worst"]),
    )


def _found_to_json(found: Found | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "gap": show(found.gap),
        "optimum": show(found.optimum),
        "instance": instance_to_json(found.instance),
    }


def _found_from_json(row: object) -> Found | None:
    if row is None:
        return None
    if not isinstance(row, dict):
        raise TypeError("a witness is an object")
    text = json.dumps(row["instance"])
    return Found(
        instance=instance_from_json(parse_json(text, "journal"), name="counterexample"),
        gap=Fraction(row["gap"]),
        optimum=Fraction(row["optimum"]),
    )


def document(report: Report, space: Space) -> dict[str, object]:
    """A search as one document; exact numbers are strings, decimals beside them."""
    worst = report.worst
    return {
        "policy": report.policy,
        "answer": witness_sentence(report),
        "bound": {
            "sentence": bound_sentence(report, space),
            "measure": report.aim.measure.value,
            "value": None if report.aim.predicate is not None else show(report.bound),
            "instances": report.instances,
            "without_relative_gap": report.unmeasured,
            "exhaustive": report.exhaustive,
            "complete_up_to": None
            if report.complete is None
            else dict(zip(("requests", "tokens", "graphs"), report.complete, strict=True)),
            "attained_by": None if worst is None else instance_to_json(worst.instance),
        },
        "proposed": report.proposed,
        "counterexample": None if report.counterexample is None else _witness_to_json(report.counterexample),
        "failure": None if report.failure is None else _failure_to_json(report.policy, report.failure),
    }


def _witness_to_json(witness: Counterexample) -> dict[str, object]:
    relative = witness.relative_gap
    return {
        "status": witness.status.value,
        "origin": witness.origin,
        "explanation": witness.explanation,
        "value": show(witness.value),
        "optimum": show(witness.optimum),
        "gap": show(witness.gap),
        "relative_gap": None if relative is None else show(relative),
        "decimal": {
            "value": decimal_of(witness.value),
            "optimum": decimal_of(witness.optimum),
            "gap": decimal_of(witness.gap),
            "relative_gap": None if relative is None else decimal_of(relative),
        },
        "regions": [region.sentence() for region in witness.regions],
        "instance": instance_to_json(witness.instance),
    }


def _failure_to_json(policy: str, failure: PolicyFailure) -> dict[str, object]:
    view = failure.view
    return {
        "breach": failure.breach.value,
        "message": failure.message,
        "sentence": failure_text(policy, failure),
        "view": {
            "now_ms": show(Fraction(view.now_ms)),
            "graphs": [g.name for g in view.catalog],
            "requests": [
                {
                    "id": r.id,
                    "prompt": r.prompt,
                    "generated": r.generated,
                    "limit": r.limit,
                    "age_ms": None if r.age_ms is None else show(Fraction(r.age_ms)),
                    "last_service_ms": None if r.last_service_ms is None else show(Fraction(r.last_service_ms)),
                }
                for r in view.requests
            ],
        },
        "instance": None if failure.instance is None else instance_to_json(failure.instance),
    }
