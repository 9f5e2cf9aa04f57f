"""What a launch costs before anything is delivered. Arrays in, numbers out; no checks."""

from __future__ import annotations

from fairlane.compiling.flags import callee


@callee
def paid(rate, c, w, k, actions):
    """The least (greatest) of duration times rate plus fee, over the graphs that hold k rows and the prompt."""
    first = actions.at[c, w, k]
    found = actions.duration[first] * rate + actions.fee[first]
    for i in range(first + 1, first + actions.graphs[c, w, k]):
        cost = actions.duration[i] * rate + actions.fee[i]
        found = max(found, cost) if actions.worst else min(found, cost)
    return found
