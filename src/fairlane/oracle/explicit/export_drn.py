"""Explicit models in Storm's DRN text format, with rational values."""

from __future__ import annotations

from fairlane.oracle.explicit.explicit_model import ExplicitModel
from fairlane.reference.exact import show


def to_drn(model: ExplicitModel) -> str:
    """The model as DRN text.

    Query it with ``R{"net"}max=? [F "done"]``: without the reachability form Storm answers negative total rewards
    wrongly.
    """
    lines = [
        "// exported by fairlane",
        "@type: MDP",
        "@value_type: rational",
        "@parameters",
        "",
        "@reward_models",
        model.reward_name,
        "@nr_states",
        str(len(model.choices)),
        "@nr_choices",
        str(model.n_choices),
        "@model",
    ]
    for s, row in enumerate(model.choices):
        labels = (" init" if s == model.initial else "") + (" done" if s in model.final else "")
        lines.append(f"state {s} [0]{labels}")
        for k, choice in enumerate(row):
            lines.append(f"\taction {k} [{show(choice.reward)}]")
            lines += [f"\t\t{t} : {show(p)}" for t, p in choice.to]
    return "\n".join(lines) + "\n"
