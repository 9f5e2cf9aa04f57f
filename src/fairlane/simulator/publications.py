"""Reading publications of any system from a file.

JSON (``.json``): a list of requests, or an object with ``requests`` and, if wanted, ``targets``, ``start_ms``,
``boundary_ms`` and ``drafts_by_position`` (``[proposed, reached, accepted]`` of each). A request is ::

    {"id": "a", "arrival_ms": 0, "publications": [[50, 1], [400, 3]]}

with, if wanted, ``prompt`` (prompt tokens; 0 says that it arrives decoding, so that its arrival opens the first gap
and it has no TTFT), ``finished`` (default: true where anything was published), ``rejected`` (true, or the reason),
``failed`` (likewise: it was taken and ended in an error, perhaps after some output),
``targets`` (its own, as ``{"ttft_ms": 200}``), ``proposed_drafts`` and ``accepted_drafts``.

JSON lines (``.jsonl``): one such request a line. CSV (``.csv``): the columns ``id``, ``arrival_ms``, ``at_ms`` and
``tokens``, one row a publication, rows of a request in the order of time; a request that published nothing has one row
with ``at_ms`` and ``tokens`` empty. ``prompt`` is a further column if wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import PurePath

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.simulator.benchmark_files import is_benchmark, read_benchmark
from fairlane.simulator.draft_positions import DraftPosition
from fairlane.simulator.goodput import NO_TARGETS, Targets, read_targets
from fairlane.simulator.publication_rows import PublicationFormat, PublicationRow, table_of
from fairlane.simulator.publication_table import UNKNOWN, Outcome, PublicationTable
from fairlane.simulator.request_logs import LOGS, log_that_fits, read_log
from fairlane.simulator.rows import (
    Number,
    Place,
    columns_in,
    csv_rows,
    json_lines,
    parse_json,
    read_id,
    read_ms,
    read_whole,
    shown,
)

REQUEST_FIELDS = (
    "id",
    "arrival_ms",
    "publications",
    "prompt",
    "finished",
    "rejected",
    "failed",
    "targets",
    "proposed_drafts",
    "accepted_drafts",
)
REQUIRED = ("id", "arrival_ms", "publications")
WANTED = ("targets", "start_ms", "boundary_ms", "drafts_by_position")
# kept with the data by whoever wrote it, and not read
ANNOTATIONS = ("name", "description", "source", "note", "kind", "expect", "schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationFile:
    """A file's table and the common targets it states."""

    table: PublicationTable
    targets: Targets = NO_TARGETS


def format_of(file: str, text: str = "") -> PublicationFormat:
    """The layout of a benchmark's result, or what a name stands for: ``.jsonl``, ``.ndjson``, ``.csv``, else JSON."""
    if is_benchmark(text):
        return PublicationFormat.BENCHMARK
    suffix = PurePath(file).suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return PublicationFormat.JSONL
    return PublicationFormat.CSV if suffix == ".csv" else PublicationFormat.JSON


def _with_hint(error: DataError, text: str) -> DataError:
    """The error, and the format that would read the text where there is one."""
    fitting = PublicationFormat.BENCHMARK if is_benchmark(text) else log_that_fits(columns_in(text))
    return error if fitting is None else DataError(f"{error}; its columns are those of --format {fitting.value}")


def read_publications(
    text: str, file: str, *, layout: PublicationFormat, ms_per_unit: int | None = None
) -> PublicationFile:
    """Publications from the text of a file.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Named in errors.
    layout : PublicationFormat
        See the module docstring, and :mod:`~fairlane.simulator.request_logs` for other systems' logs.
    ms_per_unit : int or None
        1 or 1000 where the user states the unit; needed where the layout does not fix it.

    Returns
    -------
    PublicationFile
        The table and the targets the file states.

    Raises
    ------
    DataError
        Anything out of place, with its row or path.
    """
    if layout is PublicationFormat.BENCHMARK:
        if ms_per_unit not in (None, 1000):
            raise DataError(f"{file}: the time unit is ms; the format {layout.value} has its times in s")
        return PublicationFile(table=read_benchmark(text, file))
    if layout in LOGS:
        return PublicationFile(table=read_log(text, file, layout=layout, ms_per_unit=ms_per_unit))
    if ms_per_unit not in (None, 1):
        raise DataError(f"{file}: the time unit is s; the format {layout.value} has its times in ms")
    try:
        return _own_layout(text, file, layout)
    except DataError as error:
        raise _with_hint(error, text) from None


def _own_layout(text: str, file: str, layout: PublicationFormat) -> PublicationFile:
    if layout is PublicationFormat.CSV:
        return PublicationFile(table=table_of(_csv(text, file), file=file))
    if layout is PublicationFormat.JSONL:
        seen: dict[str, int] = {}
        rows = [
            _request(value, partial(_in_row, file, n), seen, n)
            for n, value in json_lines(text, file, required=REQUIRED)
        ]
        return PublicationFile(table=table_of(rows, file=file))
    return _json(text, file)


def _json(text: str, file: str) -> PublicationFile:
    value = parse_json(text, file)
    top: Mapping[str, object] = value if isinstance(value, dict) else {"requests": value}
    for key in top:
        if key not in ("requests", *WANTED, *ANNOTATIONS):
            raise DataError(f"{file}: found the field {shown(key)}; need requests, and if wanted {', '.join(WANTED)}")
    listed = top.get("requests")
    if not isinstance(listed, list):
        what = shown(listed) if "requests" in top else "no requests"
        raise DataError(f"{file}: found {what}; need a list of requests, or an object whose requests is one")
    seen: dict[str, int] = {}
    rows: list[PublicationRow] = []
    for i, item in enumerate(listed):
        at = f"{file}: requests[{i}]"
        if not isinstance(item, dict):
            raise DataError(f"{at}: found {shown(item)}; need an object with {', '.join(REQUIRED)}")
        rows.append(_request(item, partial(_in_item, at), seen, i + 1))
    bounds = {k: None if top.get(k) is None else read_ms(top[k], f"{file}: {k}") for k in ("start_ms", "boundary_ms")}
    return PublicationFile(
        table=table_of(
            rows,
            start_ms=bounds["start_ms"],
            boundary_ms=bounds["boundary_ms"],
            draft_positions=_positions(top.get("drafts_by_position"), f"{file}: drafts_by_position"),
            file=file,
        ),
        targets=_targets(top.get("targets"), f"{file}: targets"),
    )


def _in_row(file: str, row: int, column: str) -> str:
    return str(Place(file, row, column))


def _in_item(item: str, field: str) -> str:
    return f"{item}.{field}" if field else item


def _targets(value: object, where: str) -> Targets:
    if value is None:
        return NO_TARGETS
    if not isinstance(value, dict):
        raise DataError(f"{where}: found {shown(value)}; need an object of targets in ms")
    plain = {name: str(bound) if isinstance(bound, Decimal) else bound for name, bound in value.items()}
    try:
        return read_targets(plain, "targets")
    except InvalidInstance as error:
        raise DataError(f"{where}: {error}") from None


def _request(value: Mapping[str, object], at: Callable[[str], str], seen: dict[str, int], row: int) -> PublicationRow:
    for key in value:
        if key not in REQUEST_FIELDS:
            raise DataError(f"{at('')}: found the field {shown(key)}; known fields are {', '.join(REQUEST_FIELDS)}")
    for name in REQUIRED:
        if name not in value:
            raise DataError(f"{at(name)}: missing; need it")
    request_id = read_id(value["id"], at("id"), seen, row)
    arrival = read_ms(value["arrival_ms"], at("arrival_ms"))
    listed = value["publications"]
    if not isinstance(listed, list):
        raise DataError(f"{at('publications')}: found {shown(listed)}; need a list of [ms, tokens] pairs")
    publications: list[tuple[Number, int]] = []
    before = arrival
    for j, pair in enumerate(listed):
        where = at(f"publications[{j}]")
        if not isinstance(pair, list) or len(pair) != 2:
            raise DataError(f"{where}: found {_pair(pair)}; need a pair [ms, tokens]")
        time = read_ms(pair[0], where)
        _in_order(time, before, j == 0, where)
        publications.append((time, read_whole(pair[1], where, minimum=1)))
        before = time
    turned_away, failed = _said(value, "rejected", at), _said(value, "failed", at)
    finished = value.get("finished", bool(publications) and not failed)
    if not isinstance(finished, bool):
        raise DataError(f"{at('finished')}: found {shown(finished)}; need true or false")
    if finished and not publications:
        raise DataError(f"{at('finished')}: found true without a publication; need at least one")
    if turned_away and publications:
        raise DataError(
            f"{at('rejected')}: found {shown(value['rejected'])} with publications; need none for a rejected request"
        )
    if failed and (finished or turned_away):
        other = "finished" if finished else "rejected"
        raise DataError(f"{at('failed')}: found {shown(value['failed'])} beside {other}; need one of them")
    prompt = value.get("prompt")
    drafts = {
        name: read_whole(value[name], at(name), minimum=0) if name in value else 0
        for name in ("proposed_drafts", "accepted_drafts")
    }
    if drafts["accepted_drafts"] > drafts["proposed_drafts"]:
        raise DataError(
            f"{at('accepted_drafts')}: found {drafts['accepted_drafts']}; need at most {drafts['proposed_drafts']}, "
            "the drafts proposed"
        )
    return PublicationRow(
        id=request_id,
        arrival_ms=arrival,
        publications=tuple(publications),
        outcome=_outcome(turned_away=turned_away, failed=failed, finished=finished),
        prompt=UNKNOWN if prompt is None else read_whole(prompt, at("prompt"), minimum=0),
        targets=_targets(value.get("targets"), at("targets")),
        proposed_drafts=drafts["proposed_drafts"],
        accepted_drafts=drafts["accepted_drafts"],
    )


def _said(value: Mapping[str, object], name: str, at: Callable[[str], str]) -> bool:
    """Whether a field says so: true, or a reason that is not empty."""
    found = value.get(name)
    if not (found is None or isinstance(found, (bool, str))):
        raise DataError(f"{at(name)}: found {shown(found)}; need true, false or the reason")
    return bool(found)


def _outcome(*, turned_away: bool, failed: bool, finished: bool) -> Outcome:
    if turned_away or failed:
        return Outcome.REJECTED if turned_away else Outcome.FAILED
    return Outcome.FINISHED if finished else Outcome.UNFINISHED


def _positions(value: object, where: str) -> tuple[DraftPosition, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise DataError(f"{where}: found {shown(value)}; need a list of [proposed, reached, accepted]")
    found = []
    for j, row in enumerate(value):
        if not isinstance(row, list) or len(row) != 3:
            raise DataError(f"{where}[{j}]: found {_pair(row)}; need [proposed, reached, accepted]")
        proposed, reached, accepted = (read_whole(count, f"{where}[{j}]", minimum=0) for count in row)
        try:
            found.append(DraftPosition(position=j + 1, proposed=proposed, reached=reached, accepted=accepted))
        except InvalidInstance as error:
            raise DataError(f"{where}[{j}]: {error}") from None
    return tuple(found)


def _pair(value: object) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else shown(value)


def _in_order(at: Number, before: Number, is_first: bool, where: Place | str) -> None:
    if at < before:
        what = "the arrival" if is_first else "the publication before"
        raise DataError(f"{where}: found {shown(at)} ms; need at least {shown(before)} ms, {what}")


def _csv(text: str, file: str) -> list[PublicationRow]:
    arrivals: dict[str, Number] = {}
    prompts: dict[str, int] = {}
    published: dict[str, list[tuple[Number, int]]] = {}
    silent: set[str] = set()
    for row, value in csv_rows(text, file, required=("id", "arrival_ms", "at_ms", "tokens")):
        request_id = read_id(value["id"], Place(file, row, "id"), {}, row)
        arrival = read_ms(value["arrival_ms"], Place(file, row, "arrival_ms"))
        if arrivals.setdefault(request_id, arrival) != arrival:
            raise DataError(
                f"{Place(file, row, 'arrival_ms')}: found {shown(arrival)}; earlier rows of {request_id!r} have "
                f"{shown(arrivals[request_id])}; need one arrival a request"
            )
        prompt = UNKNOWN
        if value.get("prompt"):
            prompt = read_whole(value["prompt"], Place(file, row, "prompt"), minimum=0)
        if prompts.setdefault(request_id, prompt) != prompt:
            raise DataError(
                f"{Place(file, row, 'prompt')}: found {shown(value['prompt'])}; need what earlier rows of "
                f"{request_id!r} have"
            )
        known = published.setdefault(request_id, [])
        nothing = not value["at_ms"] and not value["tokens"]
        if request_id in silent or (nothing and known):
            raise DataError(
                f"{Place(file, row, 'at_ms')}: {request_id!r} has a row without a publication beside other rows; "
                "need one or the other"
            )
        if nothing:
            silent.add(request_id)
            continue
        place = Place(file, row, "at_ms")
        at = read_ms(value["at_ms"], place)
        _in_order(at, known[-1][0] if known else arrival, not known, place)
        known.append((at, read_whole(value["tokens"], Place(file, row, "tokens"), minimum=1)))
    return [
        PublicationRow(
            id=request_id,
            arrival_ms=arrival,
            publications=tuple(published[request_id]),
            outcome=Outcome.FINISHED if published[request_id] else Outcome.UNFINISHED,
            prompt=prompts[request_id],
        )
        for request_id, arrival in arrivals.items()
    ]
