"""The decision explorer: one self-contained page that steps through runs of a small instance."""

from __future__ import annotations

import json
from fractions import Fraction

from fairlane.oracle.policy_value.decision_book import BookOutcome, Choice, DecisionBook, Page
from fairlane.pictures.page import Markup, render_page
from fairlane.reference.exact import decimal_of, show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective


def explorer_page(book: DecisionBook) -> str:
    """A whole HTML page, the same for the same book.

    Parameters
    ----------
    book : DecisionBook
        Every situation with its decisions.

    Returns
    -------
    str
        HTML 5 without any outside resource; its script needs nothing but the page.
    """
    # "</" would end the script element wherever a name holds it
    data = json.dumps(_book(book), ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return render_page(
        "explore.html",
        title=f"{book.instance.name}: decisions",
        heading=book.instance.name,
        policy=book.policy,
        data=Markup(data),
    )


def _book(book: DecisionBook) -> dict[str, object]:
    instance = book.instance
    return {
        "graphs": [
            {
                "name": graph.name,
                "ms": float(graph.duration_ms),
                "prefill": graph.prefill_capacity,
                "lanes": graph.prefill_lanes,
                "rows": graph.decode_capacity,
                "width": graph.width,
            }
            for graph in instance.graphs
        ],
        "requests": [
            {"id": request.id, "prompt": request.prompt, "generated": request.generated, "limit": request.limit}
            for request in instance.requests
        ],
        "objective": _prices(instance),
        "policy": book.policy,
        "pages": [_page(page) for page in book.pages],
    }


def _prices(instance: Instance) -> list[list[str]]:
    """Name and size of each price that is not zero."""
    objective: Objective = instance.objective
    names = (
        "prefill_value",
        "decode_value",
        "time_price",
        "completion_price",
        "first_output_price",
        "age_price",
        "energy_price",
    )
    return [[name.replace("_", " "), show(getattr(objective, name))] for name in names if getattr(objective, name)]


def _page(page: Page) -> dict[str, object]:
    return {
        "s": [None if local.finished else [local.prompt, local.generated, float(local.age_ms)] for local in page.state],
        "v": show(page.value),
        "d": _number(page.value),
        "best": page.best,
        "c": [_choice(page, choice) for choice in page.choices],
    }


def _choice(page: Page, choice: Choice) -> list[object]:
    return [
        choice.action.graph,
        list(choice.action.prefill),
        list(choice.action.decode),
        show(choice.value),
        _number(choice.value),
        _number(page.value - choice.value),
        _number(choice.taken),
        [_outcome(outcome) for outcome in choice.outcomes],
    ]


def _outcome(outcome: BookOutcome) -> list[object]:
    return [
        show(outcome.probability),
        _number(outcome.probability),
        -1 if outcome.page is None else outcome.page,
        _number(outcome.reward),
        [list(pair) for pair in outcome.published],
        [list(pair) for pair in outcome.consumed],
    ]


def _number(value: Fraction) -> float:
    found = decimal_of(value)
    return 0.0 if found is None else found
