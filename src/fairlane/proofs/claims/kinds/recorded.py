"""``recorded``: a statement about a checked-in table, a few rows of which are computed again.

    :table: results/gaps.csv
    :callable: experiments.gaps:one_run
    :inputs: policy, seed
    :outputs: gap
    :rerun: 2
    all(row.gap < 1/10 for row in rows)

The callable takes the inputs as keyword arguments and returns a mapping with the outputs. A ``:command:`` gets the
inputs in braces and prints one JSON object; an output may then be a path in it, ``gap = rows.0.gap``. Which rows are
computed again follows from the claim's id.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairlane.proofs.claims import tracing
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.exact import check_line, value_option
from fairlane.proofs.claims.kinds.statistical import seed_of
from fairlane.proofs.claims.program import compile_program, evaluate, imported, load_callable, run_bindings
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.table import Cell, Row, read_cell, read_table
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import as_integer, parse_number

TIMEOUT_S = 600.0


def run(claim: Claim, context: Context) -> Outcome:
    """The statement over the chosen rows, then the sample of them computed again."""
    try:
        table = read_table(claim.folder / claim.text("table"))
    except DataError as error:
        raise InvalidInstance(f"{claim.where('table')}: {error}") from None
    program = compile_program(claim.body, path=claim.path, first_line=claim.body_line)
    names = imported(claim)
    rows = _chosen(claim, table, names)
    scope = run_bindings(program, {**names, "rows": rows}, path=claim.path)
    evidence = [f"{len(rows)} of {len(table)} rows of {claim.text('table')}"]
    if not program.statements:
        raise InvalidInstance(f"{claim.path}:{claim.body_line}: claim {claim.id!r} states nothing; need a statement")
    for line in program.statements:
        holds, shown, _ = check_line(line, scope, path=claim.path)
        evidence.append(shown)
        if not holds:
            return Outcome(
                status=Status.FAILED, strength=None, summary=f"line {line.line}: {shown}", evidence=tuple(evidence)
            )
    sample = _sample(claim, rows, context)
    for row in sample:
        difference = _recompute(claim, row)
        where = f"row at line {row.line}"
        if difference is not None:
            summary = f"{where} computes to something else: {difference}"
            return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=(*evidence, summary))
        evidence.append(f"{where} computed again, same")
    value = value_option(claim, scope)
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.RECORDED,
        summary=f"true of {len(rows)} recorded rows, {len(sample)} computed again",
        evidence=tuple(evidence),
        value=str(value) if value is not None else None,
    )


def _chosen(claim: Claim, table: tuple[Row, ...], names: Mapping[str, object]) -> tuple[Row, ...]:
    option = claim.find("rows")
    if option is None:
        return table
    program = compile_program(option.value, path=claim.path, first_line=option.line)
    if len(program.statements) != 1:
        raise InvalidInstance(f"{claim.where('rows')}: rows is {option.value!r}; need one condition on row")
    chosen = []
    for row in table:
        scope = run_bindings(program, {**names, **row.cells, "row": row}, path=claim.path)
        if evaluate(program.statements[0].code, scope, path=claim.path, line=option.line):
            chosen.append(row)
    if not chosen:
        raise InvalidInstance(f"{claim.where('rows')}: no row of the table is chosen; need at least one")
    return tuple(chosen)


def _sample(claim: Claim, rows: Sequence[Row], context: Context) -> tuple[Row, ...]:
    size = as_integer(claim.text("rerun", "2"), f"{claim.where('rerun')}: rerun", minimum=1)
    draw = random.Random(seed_of(claim.id, context.rotation))
    return tuple(sorted(draw.sample(list(rows), min(size, len(rows))), key=lambda row: row.line))


def _recompute(claim: Claim, row: Row) -> str | None:
    """What differs when a row is computed again, or None."""
    inputs = _names(claim, "inputs")
    for name in inputs:
        if name not in row.cells:
            raise InvalidInstance(f"{claim.where('inputs')}: the table has no column {name!r}")
    arguments = {name: _plain(row.cells[name]) for name in inputs}
    target, command = claim.find("callable"), claim.find("command")
    if (target is None) == (command is None):
        raise InvalidInstance(f"{claim.where()}: claim {claim.id!r} needs exactly one of :callable: and :command:")
    found: Any
    if target is not None:
        found = load_callable(target.value, claim.where("callable"))(**arguments)
    else:
        assert command is not None
        found = _run_command(claim, command.value, arguments)
    tolerance = parse_number(claim.text("tolerance", "0"), f"{claim.where('tolerance')}: tolerance")
    for entry in _names(claim, "outputs"):
        column, _, path = (part.strip() for part in entry.partition("="))
        if column not in row.cells:
            raise InvalidInstance(f"{claim.where('outputs')}: the table has no column {column!r}")
        again = _look_up(claim, found, path or column)
        if not _agree(row.cells[column], again, tolerance):
            return f"{column} is {row.cells[column]} in the table and {again} now"
    return None


def _run_command(claim: Claim, template: str, arguments: Mapping[str, object]) -> Any:
    words = []
    for word in shlex.split(template):
        for name, value in arguments.items():
            word = word.replace("{" + name + "}", str(value))
        words.append(word)
    try:
        with tempfile.TemporaryDirectory() as folder:
            noted = Path(folder, "reads.json")
            done = subprocess.run(
                tracing.command(words),
                cwd=claim.folder,
                env={**os.environ, tracing.VARIABLE: str(noted)},
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            if noted.exists():
                tracing.add(tracing.from_json(noted.read_text(encoding="utf-8")))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInstance(f"{claim.where('command')}: {template!r} did not run: {error}") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        shown = " ".join(words)
        raise InvalidInstance(f"{claim.where('command')}: {shown!r} ended with status {done.returncode}: {last}")
    try:
        return json.loads(done.stdout, parse_float=_number_text, parse_int=_number_text)
    except (ValueError, InvalidInstance):
        raise InvalidInstance(f"{claim.where('command')}: {' '.join(words)!r} printed no JSON document") from None


def _number_text(text: str) -> Fraction:
    return parse_number(text, "number")


def _names(claim: Claim, option: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in claim.text(option).replace("\n", ",").split(",") if part.strip())


def _plain(cell: Cell) -> object:
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else cell
    return cell


def _look_up(claim: Claim, found: Any, path: str) -> Cell:
    value = found
    for part in path.split("."):
        try:
            value = value[int(part)] if part.isdigit() and isinstance(value, (list, tuple)) else value[part]
        except (KeyError, IndexError, TypeError):
            raise InvalidInstance(f"{claim.where('outputs')}: the result has no {path!r}") from None
    if isinstance(value, str):
        return read_cell(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    return read_cell(repr(float(value)))


def _agree(recorded: Cell, again: Cell, tolerance: Fraction) -> bool:
    if isinstance(recorded, Fraction) and isinstance(again, Fraction):
        return abs(recorded - again) <= tolerance * max(abs(recorded), abs(again))
    return recorded == again
