"""The same where every request is a group of its own, so that a transition moves a state's number by a sum."""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import kernel
from fairlane.reference.checker.kernels.launches import paid


@kernel
def deviations_alone(first, last, costs, groups, laws, actions, stack):
    """Largest |cost - best| / best over states first to last, or inf; and the number of actions and outcomes met.

    Sets of rows are met depth first, prompt first. Each keeps its joint outcomes, and a set with one more row is made
    from them.
    """
    strides, sizes = groups.strides, groups.sizes
    phase, counts, law_at, law_to, law_p = laws.phase, laws.counts, laws.at, laws.to, laws.p
    n_widths, n_capacities, graphs, worst = actions.n_widths, actions.n_capacities, actions.graphs, actions.worst
    digits, rows, chosen, begun, number, chance = (
        stack.digits,
        stack.rows,
        stack.chosen,
        stack.begun,
        stack.number,
        stack.chance,
    )
    n = strides.size
    most_rows = graphs.shape[2] - 1
    found = 0.0
    n_actions = 0
    n_outcomes = 0
    for state in range(first, last):
        rate = actions.time_price
        n_rows = 0
        for i in range(n):
            digits[i] = (state // strides[i]) % sizes[i]
            rate += laws.rates[i, digits[i]]
            if phase[i, digits[i]] == 1:
                rows[n_rows] = i
                n_rows += 1
        best = -1.0 if worst else np.inf
        some = False
        for prompt in range(-1, n):
            if prompt >= 0 and phase[prompt, digits[prompt]] != 0:
                continue
            for c in range(n_capacities + 1):
                if (c == 0) != (prompt < 0):
                    continue
                # the joint outcomes of no rows
                begun[0] = 0
                if prompt < 0:
                    number[0], chance[0] = state, 1.0
                    begun[1] = 1
                else:
                    law = law_at[prompt, n_widths + c - 1, digits[prompt]]
                    count = counts[prompt, n_widths + c - 1, digits[prompt]]
                    expected = 0.0
                    for j in range(count):
                        number[j] = state + (law_to[law + j] - digits[prompt]) * strides[prompt]
                        chance[j] = law_p[law + j]
                        expected += chance[j] * costs[number[j]]
                    begun[1] = count
                    n_outcomes += count
                    if graphs[c, 0, 0] > 0:
                        n_actions += 1
                        some = True
                        total = paid(rate, c, 0, 0, actions) + expected
                        best = max(best, total) if worst else min(best, total)
                for w in range(1, n_widths + 1):
                    if n_rows == 0 or most_rows == 0 or graphs[c, w, 1] == 0:
                        continue
                    depth = 0
                    chosen[0] = -1
                    while depth >= 0:
                        chosen[depth] += 1
                        if chosen[depth] >= n_rows or depth >= most_rows or graphs[c, w, depth + 1] == 0:
                            depth -= 1
                            continue
                        row = rows[chosen[depth]]
                        law = law_at[row, w - 1, digits[row]]
                        count = counts[row, w - 1, digits[row]]
                        expected = 0.0
                        to = begun[depth + 1]
                        for j in range(law, law + count):
                            move, p = (law_to[j] - digits[row]) * strides[row], law_p[j]
                            for k in range(begun[depth], begun[depth + 1]):
                                number[to] = number[k] + move
                                chance[to] = chance[k] * p
                                expected += chance[to] * costs[number[to]]
                                to += 1
                        n_outcomes += to - begun[depth + 1]
                        n_actions += 1
                        some = True
                        total = paid(rate, c, w, depth + 1, actions) + expected
                        best = max(best, total) if worst else min(best, total)
                        depth += 1
                        begun[depth + 1] = to
                        chosen[depth] = chosen[depth - 1]
        cost = costs[state]
        if not some or best == 0.0:
            if cost != 0.0:
                found = np.inf
        else:
            deviation = abs(cost - best) / best
            if not deviation <= found:
                found = deviation if deviation >= 0.0 else np.inf
    return found, n_actions, n_outcomes
