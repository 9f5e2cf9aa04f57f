"""How many states a rational sweep's instance has, without the actions of every one of them."""

from __future__ import annotations

from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.refusal import met


def count_places(sweep: Sweep) -> int:
    """Reachable unfinished states where no graph puts two prompts together: the product of the local ones."""
    widths = {g.width for g in sweep.graphs if g.decode_capacity}
    capacities = {g.prefill_capacity for g in sweep.graphs if g.prefill_capacity}
    total = 1
    for i, chain in enumerate(sweep.locals):
        stride, prompt = sweep.strides[i], sweep.prompts[i]
        seen = {0}
        queue = [0]
        for place in queue:
            if place < prompt:
                lanes = [sweep.fill(i, place, min(capacity, prompt - place)) for capacity in capacities]
            elif place < len(chain) - 1:
                lanes = [sweep.row(i, place, width) for width in widths]
            else:
                continue
            for lane in lanes:
                for _, shift in lane.law:
                    following = place + shift // stride
                    if following not in seen:
                        seen.add(following)
                        queue.append(following)
        total *= len(seen)
    return total - 1


def count_reached(sweep: Sweep, root: int) -> int:
    """Unfinished states that some action sequence reaches, where graphs may put prompts together.

    A cohort leads where its rows and its prefill list lead one after the other, and each of those is legal
    alone, so single rows and bare lists reach every state.

    Raises
    ------
    TooLarge
        More than the sweep's ``max_states``.
    """
    widths = {g.width for g in sweep.graphs if g.decode_capacity}
    shapes = {(g.prefill_capacity, g.prefill_lanes): k for k, g in enumerate(sweep.graphs) if g.prefill_capacity}
    final = sweep.size - 1
    seen = {root, final}
    queue = [root]
    for number in queue:
        places = sweep.digits_of(number)
        prompts = [i for i, place in enumerate(places) if place < sweep.prompts[i]]
        rows = [i for i, place in enumerate(places) if sweep.prompts[i] <= place < len(sweep.locals[i]) - 1]
        laws = [sweep.row(i, places[i], width).law for i in rows for width in widths]
        laws += [law for g in shapes.values() for _, _, law in sweep.lists(g, prompts, places, every=True)]
        for law in laws:
            for _, shift in law:
                if number + shift not in seen:
                    seen.add(number + shift)
                    queue.append(number + shift)
        if len(queue) > sweep.max_states:
            raise met(sweep.instance, sweep.max_states)
    return len(queue)
