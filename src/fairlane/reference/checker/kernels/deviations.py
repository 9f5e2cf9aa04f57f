"""One step of the optimality equation at every state of a table of costs. Arrays in, arrays out; no checks."""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee, kernel
from fairlane.reference.checker.kernels.launches import paid


@callee
def _rank(after, first, size, binomial, work):
    """Colexicographic rank of the multiset after[first : first + size]."""
    for i in range(size):
        d = after[first + i]
        j = i
        while j > 0 and work[j - 1] > d:
            work[j] = work[j - 1]
            j -= 1
        work[j] = d
    rank = 0
    for i in range(size):
        rank += binomial[work[i] + i, i + 1]
    return rank


@kernel
def deviations(first, last, costs, groups, laws, actions, room):
    """Largest |cost - best| / best over states first to last, or inf; and the number of actions and outcomes met."""
    group_of, group_start, strides, sizes, binomial = (
        groups.of,
        groups.start,
        groups.strides,
        groups.sizes,
        groups.binomial,
    )
    phase, counts, law_at, law_to, law_p = laws.phase, laws.counts, laws.at, laws.to, laws.p
    n_widths, n_capacities, worst = actions.n_widths, actions.n_capacities, actions.worst
    digits, after, work, rows, member, operator, at, touched, part = (
        room.digits,
        room.after,
        room.work,
        room.rows,
        room.member,
        room.operator,
        room.at,
        room.touched,
        room.part,
    )
    n = group_of.size
    n_groups = strides.size
    found = 0.0
    n_actions = 0
    n_outcomes = 0
    for state in range(first, last):
        for g in range(n_groups):
            place = (state // strides[g]) % sizes[g]
            part[g] = place * strides[g]
            size = group_start[g + 1] - group_start[g]
            for i in range(size):
                digits[group_start[g] + i] = groups.table[groups.table_at[g] + place * size + i]
        rate = actions.time_price
        n_rows = 0
        for i in range(n):
            after[i] = digits[i]
            g = group_of[i]
            rate += laws.rates[g, digits[i]]
            if phase[g, digits[i]] == 1:
                rows[n_rows] = i
                n_rows += 1
        best = -1.0 if worst else np.inf
        some = False
        # prompt -1 is no prompt
        for prompt in range(-1, n):
            if prompt >= 0 and phase[group_of[prompt], digits[prompt]] != 0:
                continue
            for mask in range(1 << n_rows):
                k = 0
                for j in range(n_rows):
                    if mask >> j & 1:
                        member[k] = rows[j]
                        k += 1
                if k >= actions.graphs.shape[2] or (k == 0 and prompt < 0):
                    continue
                size = k
                if prompt >= 0:
                    member[k] = prompt
                    size += 1
                for g in range(n_groups):
                    touched[g] = False
                for j in range(size):
                    touched[group_of[member[j]]] = True
                rest = 0
                for g in range(n_groups):
                    if not touched[g]:
                        rest += part[g]
                for w in range(n_widths + 1):
                    if (w == 0) != (k == 0):
                        continue
                    for c in range(n_capacities + 1):
                        if (c == 0) != (prompt < 0):
                            continue
                        if actions.graphs[c, w, k] == 0:
                            continue
                        for j in range(k):
                            operator[j] = w - 1
                        if prompt >= 0:
                            operator[k] = n_widths + c - 1
                        for j in range(size):
                            at[j] = 0
                        # the last one's outcomes run in the inner loop
                        last_one = member[size - 1]
                        last_group = group_of[last_one]
                        last_size = group_start[last_group + 1] - group_start[last_group]
                        last_law = law_at[last_group, operator[size - 1], digits[last_one]]
                        last_count = counts[last_group, operator[size - 1], digits[last_one]]
                        expected = 0.0
                        while True:
                            p = 1.0
                            for j in range(size - 1):
                                m = member[j]
                                law = law_at[group_of[m], operator[j], digits[m]] + at[j]
                                p *= law_p[law]
                                after[m] = law_to[law]
                            number = rest
                            for g in range(n_groups):
                                if touched[g] and g != last_group:
                                    start = group_start[g]
                                    held = group_start[g + 1] - start
                                    number += strides[g] * (
                                        after[start] if held == 1 else _rank(after, start, held, binomial, work)
                                    )
                            for law in range(last_law, last_law + last_count):
                                place = law_to[law]
                                if last_size > 1:
                                    after[last_one] = place
                                    place = _rank(after, group_start[last_group], last_size, binomial, work)
                                expected += p * law_p[law] * costs[number + strides[last_group] * place]
                            n_outcomes += last_count
                            j = size - 2
                            while j >= 0:
                                m = member[j]
                                at[j] += 1
                                if at[j] < counts[group_of[m], operator[j], digits[m]]:
                                    break
                                at[j] = 0
                                j -= 1
                            if j < 0:
                                break
                        for j in range(size):
                            after[member[j]] = digits[member[j]]
                        n_actions += 1
                        some = True
                        total = paid(rate, c, w, k, actions) + expected
                        if worst:
                            best = max(best, total)
                        else:
                            best = min(best, total)
        cost = costs[state]
        if not some:
            # only the final state has no action
            if cost != 0.0:
                found = np.inf
        elif best == 0.0:
            if cost != 0.0:
                found = np.inf
        else:
            deviation = abs(cost - best) / best
            # a NaN compares with nothing
            if not deviation <= found:
                found = deviation if deviation >= 0.0 else np.inf
    return found, n_actions, n_outcomes
