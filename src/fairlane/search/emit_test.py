"""A witness as a test of its own: a Python file that needs fairlane and pytest, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from textwrap import fill, indent

from fairlane.reference.exact import show
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import Action
from fairlane.search.result import Counterexample


def pytest_text(witness: Counterexample, *, policy: str | None, predicate: str | None = None) -> str:
    """The text of ``test_counterexample.py``.

    Parameters
    ----------
    witness : Counterexample
        What to test.
    policy : str or None
        How the test loads the policy: a built-in name or ``module:attribute``; None where it has no such name, and the
        test asks for one.
    predicate : str or None
        ``module:attribute`` of what was searched for, where it was not a gap.
    """
    name = policy if policy is not None else "my_module:my_policy"
    loss = witness.evaluation.first_loss
    lines = [
        *fill(f'"""{witness.explanation}', 100).splitlines(),
        "",
        f"Found by `fairlane search --policy {name}`, status {witness.status}. Every value is exact.",
        'When the policy is mended, the test of its value fails."""',
        "",
        "from fractions import Fraction",
        "",
        "from fairlane.oracle import evaluate, solve",
        "from fairlane.policies import load_policy",
        "from fairlane.reference import Graph, Instance, Objective, Request",
        *(["from fairlane.search import Aim, Case"] if predicate is not None else []),
        "",
        f'POLICY = "{name}"',
        *([f'PREDICATE = "{predicate}"'] if predicate is not None else []),
        "INSTANCE = " + _instance(witness.instance),
        "",
        "",
        "def test_optimum() -> None:",
        f"    assert solve(INSTANCE).value == {_fraction(witness.optimum)}",
        "",
        "",
        f"def test_{'policy_loses' if loss is not None else 'value_of_the_policy'}() -> None:",
        "    found = evaluate(INSTANCE, load_policy(POLICY))",
        f"    assert found.value == {_fraction(witness.value)}",
        f"    assert found.gap == {_fraction(witness.gap)}",
    ]
    if loss is not None:
        lines += [
            "    loss = found.first_loss",
            "    assert loss is not None",
            f"    assert loss.decisions_before == {loss.decisions_before}",
            "    # (graph, prefill requests, decode requests), by place",
            f"    assert tuple(loss.action) == {_action(loss.action)}  # what the policy does",
            f"    assert tuple(loss.better) == {_action(loss.better)}  # what is right",
        ]
    if predicate is not None:
        lines += [
            "",
            "",
            "def test_what_was_searched_for() -> None:",
            "    assert Aim(predicate=PREDICATE).holds(Case(INSTANCE, load_policy(POLICY)))",
        ]
    return "\n".join(lines) + "\n"


def _action(action: Action) -> str:
    return repr(tuple(action))


def _fraction(value: Fraction) -> str:
    return f'Fraction("{show(value)}")'


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f'"{value}"'


def _instance(instance: Instance) -> str:
    rows = ["graphs=["]
    rows += [f"    {_graph(g)}," for g in instance.graphs]
    rows += ["],", "requests=["]
    rows += [f"    {_request(r)}," for r in instance.requests]
    rows += ["],", f"objective={_objective(instance.objective)},"]
    return "Instance(\n" + indent("\n".join(rows), "    ") + "\n)"


def _graph(graph: Graph) -> str:
    parts = [f'name="{graph.name}"', f"duration_ms={_number(graph.duration_ms)}"]
    for field, default in (("prefill_capacity", 0), ("prefill_lanes", 1), ("decode_capacity", 0), ("width", 1)):
        value = getattr(graph, field)
        if value != default:
            parts.append(f"{field}={value}")
    if graph.energy_j:
        parts.append(f"energy_j={_number(graph.energy_j)}")
    return f"Graph({', '.join(parts)})"


def _request(request: Request) -> str:
    parts = [f'id="{request.id}"', f"prompt={request.prompt}", f"limit={request.limit}"]
    if request.generated:
        parts.append(f"generated={request.generated}")
    if request.length_prior is not None:
        prior = ", ".join(f"{n}: {_number(p)}" for n, p in request.length_prior)
        parts.append(f"length_prior={{{prior}}}")
    if request.acceptance:
        parts.append(f"acceptance=[{', '.join(map(_number, request.acceptance))}]")
    if request.weight != 1:
        parts.append(f"weight={_number(request.weight)}")
    return f"Request({', '.join(parts)})"


def _objective(objective: Objective) -> str:
    parts = []
    for name in ("decode_value", *(n for n in PRICES if n != "decode_value")):
        value = getattr(objective, name)
        if name == "decode_value" or value != (1 if name == "prefill_value" else 0):
            parts.append(f"{name}={_number(value)}")
    return f"Objective({', '.join(parts)})"
