"""Explicit models as PRISM's explicit files: states, transitions, labels and transition rewards."""

from __future__ import annotations

from fairlane.oracle.explicit.explicit_model import ExplicitModel
from fairlane.reference.exact import show

ENDINGS = (".sta", ".tra", ".lab", ".trew")


def to_prism(model: ExplicitModel) -> dict[str, str]:
    """File name endings, as in ``ENDINGS``, with their text.

    Rewards stand on choices; PRISM reads them as transition rewards, so each is repeated for every target of its
    choice, which leaves the expectation unchanged.
    """
    n = len(model.choices)
    transitions = sum(len(choice.to) for row in model.choices for choice in row)
    states = ["(s)", *(f"{s}:({s})" for s in range(n))]
    moves = [f"{n} {model.n_choices} {transitions}"]
    rewards = [f"{n} {model.n_choices} {transitions}"]
    for s, row in enumerate(model.choices):
        for k, choice in enumerate(row):
            for t, p in choice.to:
                moves.append(f"{s} {k} {t} {show(p)}")
                rewards.append(f"{s} {k} {t} {show(choice.reward)}")
    labels = ['0="init" 1="deadlock" 2="done"', f"{model.initial}: 0", *(f"{s}: 2" for s in sorted(model.final))]
    return {
        ending: "\n".join(lines) + "\n" for ending, lines in zip(ENDINGS, (states, moves, labels, rewards), strict=True)
    }
