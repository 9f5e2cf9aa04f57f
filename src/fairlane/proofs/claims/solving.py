"""Asking a solver: a fresh process, a fixed resource limit, answers that do not depend on the machine's speed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairlane.reference.errors import Unsupported

# z3 counts about 2e6 units a second on a common machine, cvc5 about 1e5; both stop at the same place everywhere.
Z3_LIMIT = 20_000_000
CVC5_LIMIT = 400_000
# A last resort: single steps of nonlinear arithmetic can take long between two looks at the resource counter.
WALL_CLOCK_S = {"z3": 60.0, "cvc5": 15.0}


class Solver(StrEnum):
    """Solvers that can be asked, the main one first."""

    Z3 = "z3"
    CVC5 = "cvc5"


class Answer(StrEnum):
    """What a solver says of a question."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """SMT-LIB text, and the answer after which later questions of the same list need no asking."""

    text: str
    stop_if: Answer | None = None

    @property
    def logic(self) -> str:
        """The logic the text names."""
        return self.text.split("(set-logic ", 1)[1].split(")", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with its reason (of "unknown") and rational candidates for each symbol (of "sat")."""

    answer: Answer
    reason: str
    model: Mapping[str, tuple[Fraction, ...]]
    in_time: bool = True


def installed(solver: Solver) -> bool:
    """Whether the solver's package can be imported; nothing is imported."""
    return importlib.util.find_spec(solver.value) is not None


def ask(questions: Sequence[Question], solver: Solver = Solver.Z3, *, limit: int | None = None) -> tuple[Reply, ...]:
    """Answers to questions, asked in order in one fresh process.

    Parameters
    ----------
    questions : sequence of Question
        At least one.
    solver : Solver
        Which one.
    limit : int or None
        Resource units a question, the solver's own; None takes the default.

    Returns
    -------
    tuple of Reply
        One a question asked; fewer where a question's ``stop_if`` came true.

    Raises
    ------
    Unsupported
        The solver is not installed, or its process broke.
    """
    return ask_groups((questions,), solver, limit=limit)[0]


def ask_groups(
    groups: Sequence[Sequence[Question]], solver: Solver = Solver.Z3, *, limit: int | None = None
) -> tuple[tuple[Reply, ...], ...]:
    """Answers to several lists of questions, all in one fresh process; ``stop_if`` ends its own list only.

    Parameters
    ----------
    groups : sequence of sequences of Question
        Each at least one.
    solver, limit
        As for :func:`ask`.

    Returns
    -------
    tuple of tuples of Reply
        One a list, in their order.

    Raises
    ------
    Unsupported
        The solver is not installed, or its process broke.
    """
    if not groups:
        return ()
    if not installed(solver):
        extra = "fairlane[solvers]" if solver is Solver.CVC5 else "z3-solver"
        raise Unsupported(f"solver {solver} is not installed; need {extra}")
    task = {
        "solver": solver.value,
        "limit": limit if limit is not None else (Z3_LIMIT if solver is Solver.Z3 else CVC5_LIMIT),
        "groups": [[{"text": q.text, "logic": q.logic, "stop_if": q.stop_if} for q in group] for group in groups],
    }
    worker = Path(__file__).with_name("_solver_worker.py")
    try:
        # -P keeps this folder off the path, where module names are ours and could hide others.
        done = subprocess.run(
            [sys.executable, "-P", str(worker)],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=WALL_CLOCK_S[solver],
            check=False,
        )
    except subprocess.TimeoutExpired:
        late = Reply(
            answer=Answer.UNKNOWN, reason=f"no answer within {WALL_CLOCK_S[solver]:g} s", model={}, in_time=False
        )
        return tuple((late,) * len(group) for group in groups)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unsupported(f"solver {solver} stopped with status {done.returncode}: {last}")
    return tuple(tuple(_reply(raw) for raw in group) for group in json.loads(done.stdout))


def _reply(raw: Mapping[str, Any]) -> Reply:
    return Reply(
        answer=Answer(raw["answer"]),
        reason=raw["reason"],
        model={name: tuple(Fraction(text) for text in choices) for name, choices in raw["model"].items()},
    )
