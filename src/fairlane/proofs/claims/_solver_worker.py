"""Runs one solver on the questions that standard input holds, in a process of its own; started by ``solving.py``.

It imports nothing of fairlane, so that the process is as fresh as it can be.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def ask_z3(text: str, logic: str, limit: int) -> dict[str, Any]:
    """z3's answer with a model of rationals, or of close ones where a root is irrational."""
    z3: Any = importlib.import_module("z3")
    context = z3.Context()
    solver = z3.Solver(ctx=context) if logic == "ALL" else z3.SolverFor(logic, ctx=context)
    solver.set("rlimit", limit)
    solver.from_string(text)
    answer = str(solver.check())
    model: dict[str, list[str]] = {}
    if answer == "sat":
        found = solver.model()
        for declaration in found.decls():
            value = found[declaration]
            if z3.is_algebraic_value(value):
                choices = [str(value.approx(digits)) for digits in (1, 4, 20)]
            elif z3.is_int_value(value) or z3.is_rational_value(value):
                choices = [str(value)]
            else:
                continue
            model[str(declaration.name())] = choices
    reason = solver.reason_unknown() if answer == "unknown" else ""
    return {"answer": answer, "reason": reason, "model": model}


def ask_cvc5(text: str, logic: str, limit: int) -> dict[str, Any]:
    """cvc5's answer with a model of rationals."""
    cvc5: Any = importlib.import_module("cvc5")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", str(limit))
    solver.setOption("produce-models", "true")
    if logic in ("QF_NRA", "ALL"):
        solver.setOption("nl-cov", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "claim")
    symbols = parser.getSymbolManager()
    answer = "unknown"
    while True:
        command = parser.nextCommand()
        if command.isNull():
            break
        said = str(command.invoke(solver, symbols)).strip()
        if said in ("sat", "unsat", "unknown"):
            answer = said
    model: dict[str, list[str]] = {}
    if answer == "sat":
        for constant in symbols.getDeclaredTerms():
            value = solver.getValue(constant)
            if value.isRealValue():
                model[str(constant).strip("|")] = [str(value.getRealValue())]
            elif value.isIntegerValue():
                model[str(constant).strip("|")] = [str(value.getIntegerValue())]
    return {"answer": answer, "reason": "resource limit" if answer == "unknown" else "", "model": model}


def main() -> None:
    """Read questions, write answers."""
    task = json.load(sys.stdin)
    ask = {"z3": ask_z3, "cvc5": ask_cvc5}[task["solver"]]
    answers: list[list[dict[str, Any]]] = []
    for group in task["groups"]:
        answers.append([])
        for question in group:
            answer = ask(question["text"], question["logic"], task["limit"])
            answers[-1].append(answer)
            if question["stop_if"] == answer["answer"]:
                break
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
