"""``fairlane solve MODEL.drn``: the best total or average reward of a model that others wrote."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane.cli import output
from fairlane.reference.errors import InvalidInstance, Unsupported
from fairlane.reference.exact import decimal_of, parse_number, show

if TYPE_CHECKING:
    from fairlane.oracle.explicit.explicit_model import ExplicitModel
    from fairlane.oracle.explicit.model_solver import ModelSolution

SUFFIXES = (".drn", ".drn.gz")
DEFAULT_TOLERANCE = "1e-6"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options that only models take, as typed."""

    average: bool = False
    reward: str | None = None
    goal: str | None = None
    tolerance: str | None = None

    def need_none(self) -> None:
        """Refuse them beside an instance.

        Raises
        ------
        InvalidInstance
            One was typed.
        """
        given = {
            "--average": self.average or None,
            "--reward": self.reward,
            "--goal": self.goal,
            "--tolerance": self.tolerance,
        }
        for option, value in given.items():
            if value is not None:
                raise InvalidInstance(f"{option} is for models (*.drn, *.drn.gz); need one, or no such option")


def is_model(file: Path) -> bool:
    """Whether a file's name says that it is a model."""
    return file.name.lower().endswith(SUFFIXES)


def solve_file(file: Path, options: ModelOptions, *, worst: bool, exact: bool, json: bool) -> None:
    """Solve a model and print its value with its evidence.

    Raises
    ------
    DataError, InvalidInstance
        No such model, reward model or label, or a bad option.
    Unsupported
        No finite total, or bounds wider than the tolerance.
    """
    from fairlane.oracle.explicit.model_average import average_reward
    from fairlane.oracle.explicit.model_solver import solve_model
    from fairlane.oracle.explicit.read_drn import read_drn
    from fairlane.oracle.rational.plain import Sense

    begun = time.perf_counter()
    tolerance = parse_number(options.tolerance or DEFAULT_TOLERANCE, "--tolerance")
    if tolerance < 0:
        raise InvalidInstance(f"--tolerance is {options.tolerance}; need >= 0")
    model = read_drn(file, reward=options.reward, goal=options.goal, exact=exact)
    if options.average and options.goal is not None:
        raise InvalidInstance("--goal ends a total and is given with --average; need one of them")
    sense = Sense.MIN if worst else Sense.MAX
    with output.progress("solving") as shown:
        solved = (average_reward if options.average else solve_model)(model, sense=sense, on_progress=shown)
    _check_width(file, solved, tolerance)
    if json:
        output.print_json(_document(file, model, solved, options, sense.value, tolerance, time.perf_counter() - begun))
        return
    terminal = output.console()
    quantity = "long-run average" if options.average else "total"
    what = f"{'worst' if worst else 'best'} {quantity} {model.reward_name}"
    unit = "" if not options.average else " per unit of time" if model.timed else " per step"
    if solved.value is None:
        lower, upper = _doubles(solved)
        terminal.print(f"{what}: in [{lower!r}, {upper!r}]{unit}", soft_wrap=True)
        terminal.print(f"bounds proved, within the tolerance {show(tolerance)} of each other")
    else:
        terminal.print(f"{what}: {show(solved.value)}{unit}", soft_wrap=True)
        if solved.value.denominator != 1:
            terminal.print(f"{' ' * len(what)}≈ {decimal_of(solved.value)!r}")
    terminal.print(f"{solved.states:,} states; method {solved.method}")


def _check_width(file: Path, solved: ModelSolution, tolerance: Fraction) -> None:
    """Bounds that say nothing are no answer."""
    width = solved.upper - solved.lower
    if width > tolerance * max(Fraction(1), abs(solved.lower), abs(solved.upper)):
        lower, upper = _doubles(solved)
        raise Unsupported(
            f"{file}: not converged: the value is in [{lower!r}, {upper!r}], wider than the tolerance "
            f"{show(tolerance)} (--tolerance changes it)"
        )


def _doubles(solved: ModelSolution) -> tuple[float, float]:
    from fairlane.oracle.encoding.enclosure import enclose

    return enclose(solved.lower)[0], enclose(solved.upper)[1]


def _document(
    file: Path,
    model: ExplicitModel,
    solved: ModelSolution,
    options: ModelOptions,
    sense: str,
    tolerance: Fraction,
    seconds: float,
) -> dict[str, object]:
    lower, upper = _doubles(solved)
    value = solved.value
    return {
        "model": str(file),
        "reward": model.reward_name,
        "quantity": "average" if options.average else "total",
        "per": None if not options.average else "time" if model.timed else "step",
        "sense": sense,
        "value": None if value is None else show(value),
        "decimal": None if value is None else decimal_of(value),
        "lower": lower,
        "upper": upper,
        "tolerance": show(tolerance),
        "states": solved.states,
        "method": solved.method.value,
        "seconds": seconds,
    }
