"""Expected values after serving given requests in one state, by plain products of outcomes. Arrays only, no checks."""

from __future__ import annotations

from fairlane.compiling.flags import inner, kernel


@inner
def _part(digits, a, numbering, work):
    """What axis a adds to a state's number."""
    first = numbering.axis_start[a]
    size = numbering.axis_start[a + 1] - first
    # a single request numbers itself
    place = digits[first]
    if size > 1:
        for i in range(size):
            d = digits[first + i]
            j = i
            while j > 0 and work[j - 1] > d:
                work[j] = work[j - 1]
                j -= 1
            work[j] = d
        rank = 0
        for i in range(size):
            rank += numbering.binomial[work[i] + i, i + 1]
        place = numbering.place[numbering.place_at[a] + rank]
    return numbering.strides[a] * place


@inner
def _next_outcome(at, served, first, size, digits, numbering, laws):
    """The next joint outcome, the last member's fastest; whether there is one."""
    j = size - 1
    while j >= 0:
        m = served.member[first + j]
        at[j] += 1
        if at[j] < laws.counts[numbering.axis_of[m], served.operator[first + j], digits[m]]:
            return True
        at[j] = 0
        j -= 1
    return False


@kernel
def expectations(digits, numbering, values, served, laws, room, out):
    """out[i] = expected value after serving set i."""
    axis_of, after, at, touched, base = numbering.axis_of, room.after, room.at, room.touched, room.base
    n_axes = numbering.strides.size
    for m in range(digits.size):
        after[m] = digits[m]
    for a in range(n_axes):
        base[a] = _part(digits, a, numbering, room.sorted)
    for i in range(served.start.size - 1):
        first = served.start[i]
        size = served.start[i + 1] - first
        for a in range(n_axes):
            touched[a] = False
        for j in range(size):
            touched[axis_of[served.member[first + j]]] = True
            at[j] = 0
        fixed = 0
        for a in range(n_axes):
            if not touched[a]:
                fixed += base[a]
        total = 0.0
        while True:
            p = 1.0
            for j in range(size):
                m = served.member[first + j]
                law = laws.at[axis_of[m], served.operator[first + j], digits[m]] + at[j]
                p *= laws.p[law]
                after[m] = laws.to[law]
            number = fixed
            for a in range(n_axes):
                if touched[a]:
                    number += _part(after, a, numbering, room.sorted)
            total += p * values[number]
            if not _next_outcome(at, served, first, size, digits, numbering, laws):
                break
        for j in range(size):
            after[served.member[first + j]] = digits[served.member[first + j]]
        out[i] = total


@kernel
def followers(digits, numbering, served, laws, room, out):
    """Numbers of the states after serving the one set, one a joint outcome; the last member's outcomes run fastest."""
    after, at = room.after, room.at
    size = served.member.size
    for m in range(digits.size):
        after[m] = digits[m]
        at[m] = 0
    for i in range(out.size):
        for j in range(size):
            m = served.member[j]
            after[m] = laws.to[laws.at[numbering.axis_of[m], served.operator[j], digits[m]] + at[j]]
        number = 0
        for a in range(numbering.strides.size):
            number += _part(after, a, numbering, room.sorted)
        out[i] = number
        _next_outcome(at, served, served.start[0], size, digits, numbering, laws)
