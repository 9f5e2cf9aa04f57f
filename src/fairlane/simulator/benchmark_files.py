"""Results that the serving benchmarks of vLLM and SGLang write: one JSON object a run, with a list a quantity.

``vllm bench serve --save-result --save-detailed`` (before: ``benchmark_serving.py``) and ``sglang.bench_serving
--output-details`` list for every request ``input_lens``, ``output_lens``, ``ttfts``, ``itls`` (the gaps between its
deliveries) and ``errors``, times in seconds. Newer ones of vLLM add ``start_times``, the clock when each was sent;
elsewhere every request is taken as sent at 0, so that only ``duration`` says how long the run took.

A request with an error, or without output, has failed. vLLM's gaps lie between deliveries, of as many tokens each as
the server put into a chunk, and a chat's first delivery may hold none; how many stood in which is not recorded unless
there are as many deliveries as tokens. SGLang divides a gap by the tokens it brought.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from fairlane.reference.errors import DataError
from fairlane.simulator.draft_positions import DraftPosition
from fairlane.simulator.publication_rows import PublicationRow, table_of
from fairlane.simulator.publication_table import UNKNOWN, Outcome, PublicationTable
from fairlane.simulator.rows import Number, parse_json, read_ms, read_number, read_whole, shown

REQUIRED = ("output_lens", "ttfts", "itls")
MS_PER_S = 1000
POSITIONS = "spec_decode_per_position_acceptance_rates"


def is_benchmark(text: str) -> bool:
    """Whether a text looks like such a result."""
    return text.lstrip()[:1] == "{" and all(f'"{name}"' in text for name in REQUIRED)


def read_benchmark(text: str, file: str) -> PublicationTable:
    """The requests of one run.

    Parameters
    ----------
    text : str
        The whole file: one object, or one line of JSON.
    file : str
        Named in errors.

    Returns
    -------
    PublicationTable
        ``tokens_known`` is False where some delivery's token count is not recorded.

    Raises
    ------
    DataError
        No such object, several runs, lists of unequal length, or a value out of its range, with its place.
    """
    runs = [line for line in text.split("\n") if line.strip()]
    if len(runs) > 1 and runs[0].rstrip().endswith("}"):
        raise DataError(f"{file}: found {len(runs)} runs, one a line; need one run")
    run = parse_json(text, file, constants=True)
    if not isinstance(run, dict):
        raise DataError(f"{file}: found {shown(run)}; need an object with {', '.join(REQUIRED)}")
    columns = {name: _column(run, name, file) for name in REQUIRED}
    for name in ("input_lens", "errors", "start_times"):
        if run.get(name) is not None:
            columns[name] = _column(run, name, file)
    n = len(columns["ttfts"])
    for name, column in columns.items():
        if len(column) != n:
            raise DataError(f"{file}: {name} has {len(column)} entries and ttfts {n}; need one a request")
    exact = True
    rows = []
    for i in range(n):
        row, known = _row({name: column[i] for name, column in columns.items()}, f"{file}: request {i}", str(i))
        rows.append(row)
        exact = exact and known
    duration = _duration(run, file)
    if duration is None and "start_times" not in columns:
        raise DataError(f"{file}: duration and start_times are both missing; need one, to know how long the run took")
    start = min((row.arrival_ms for row in rows), default=0)
    last = max((row.publications[-1][0] for row in rows if row.publications), default=start)
    # the clock of a duration starts just before the first request is sent
    end = last if duration is None else max(last, start + duration)
    return table_of(
        rows,
        start_ms=start,
        boundary_ms=max([end, *(row.arrival_ms for row in rows)]),
        tokens_known=exact,
        draft_positions=_positions(run, file),
        file=file,
    )


def _column(run: Mapping[str, object], name: str, file: str) -> list[object]:
    found = run.get(name)
    if not isinstance(found, list):
        what = shown(found) if name in run else "none"
        hint = "; vLLM writes it with --save-detailed, SGLang with --output-details" if name not in run else ""
        raise DataError(f"{file}: found {what} for {name}; need a list, one entry a request{hint}")
    return found


def _row(value: Mapping[str, object], where: str, name: str) -> tuple[PublicationRow, bool]:
    """One request, and whether its deliveries hold a token each."""
    output = read_whole(value["output_lens"], f"{where}, output_lens", minimum=0)
    prompt = UNKNOWN
    if value.get("input_lens") is not None:
        # a failed request may have 0; only a positive length says something
        prompt = read_whole(value["input_lens"], f"{where}, input_lens", minimum=0) or UNKNOWN
    sent: Number = 0
    if value.get("start_times") is not None:
        sent = read_ms(value["start_times"], f"{where}, start_times", ms_per_unit=MS_PER_S)
    if value.get("errors") or not output:
        failed = PublicationRow(id=name, arrival_ms=sent, publications=(), outcome=Outcome.FAILED, prompt=prompt)
        return failed, True
    gaps = value["itls"]
    if not isinstance(gaps, list):
        raise DataError(f"{where}, itls: found {shown(gaps)}; need a list of seconds")
    at = sent + read_ms(value["ttfts"], f"{where}, ttfts", ms_per_unit=MS_PER_S)
    if at == sent and not gaps:
        raise DataError(f"{where}: found no time of any delivery; need a run with streaming")
    times = [at]
    for j, gap in enumerate(gaps):
        at += read_ms(gap, f"{where}, itls[{j}]", ms_per_unit=MS_PER_S)
        times.append(at)
    row = PublicationRow(
        id=name,
        arrival_ms=sent,
        publications=tuple(zip(times, _tokens(output, len(times)), strict=True)),
        outcome=Outcome.FINISHED,
        prompt=prompt,
    )
    return row, len(times) == output


def _tokens(output: int, deliveries: int) -> list[int]:
    """The output over its deliveries: one each; what does not fit is put at an end, since nobody knows where it was."""
    if output < deliveries:
        return [0] * (deliveries - output) + [1] * output
    return [1] * (deliveries - 1) + [output - deliveries + 1]


def _duration(run: Mapping[str, object], file: str) -> Number | None:
    found = run.get("duration")
    return None if found is None else read_ms(found, f"{file}: duration", ms_per_unit=MS_PER_S)


def _positions(run: Mapping[str, object], file: str) -> tuple[DraftPosition, ...]:
    """Acceptance by position: shares of the drafts proposed, each of which has every position."""
    rates = run.get(POSITIONS)
    if not isinstance(rates, list) or run.get("spec_decode_num_drafts") is None:
        return ()
    drafts = read_whole(run["spec_decode_num_drafts"], f"{file}: spec_decode_num_drafts", minimum=0)
    found = []
    reached = drafts
    for j, rate in enumerate(rates):
        share = Decimal(read_number(rate, f"{file}: {POSITIONS}[{j}]"))
        # the counts are whole; the shares were rounded to doubles
        accepted = int((share * drafts).to_integral_value())
        if not 0 <= accepted <= reached:
            raise DataError(f"{file}: {POSITIONS}[{j}]: found {shown(rate)}; need at most the share of the one before")
        found.append(DraftPosition(position=j + 1, proposed=drafts, reached=reached, accepted=accepted))
        reached = accepted
    return tuple(found)
