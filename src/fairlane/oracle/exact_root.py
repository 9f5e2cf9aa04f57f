"""Exact values from a certified sweep: rationals only on what its bounds leave.

Bounds on the cost of every action exclude nearly all of them. The exact value of a state needs the exact values
of what its remaining actions lead to, and no others.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import fmpq

from fairlane.oracle.backward_induction import fraction, rational
from fairlane.oracle.compiled import Swept, action_roundings, relative_error
from fairlane.oracle.packing import earned_from
from fairlane.reference.errors import TooLarge
from fairlane.reference.state import Action, State

MAX_EXACT_STATES = 40_000


class ExactRoot:
    """Exact values of a swept instance, found as they are asked for.

    Parameters
    ----------
    swept : Swept
        A sweep with its relative error bound.
    max_states : int
        Refusal beyond this many exactly valued states.
    """

    def __init__(self, swept: Swept, *, max_states: int = MAX_EXACT_STATES) -> None:
        self.swept = swept
        self.packed = swept.packed
        self.max_states = max_states
        # Computed costs carry the sweep's error and that of their own sum. Twice their total also covers the
        # product of the two, and the roundings of the comparison itself.
        own = relative_error(action_roundings(swept.packed))
        self.slack = math.nextafter(float(2 * (swept.relative_error + own)), math.inf)
        self.costs: dict[int, fmpq] = {self.packed.n_states - 1: fmpq(0)}
        self.laws = [
            [[[(shift, rational(p)) for shift, p in law] for law in chain] for chain in axes]
            for axes in self.packed.laws
        ]
        self.rates = [[rational(r) for r in row] for row in self.packed.rates]
        self.time_price = rational(self.packed.instance.objective.time_price)
        self.graphs = self.packed.instance.graphs.graphs
        self.durations = [rational(g.duration_ms) for g in self.graphs]

    def digits_of(self, number: int) -> list[int]:
        """Local places, axis by axis."""
        out = []
        for stride in self.packed.strides:
            digit, number = divmod(number, stride)
            out.append(digit)
        return out

    def _left(self, number: int) -> list[tuple[int, int]]:
        """(node, graph) pairs that the bounds cannot exclude."""
        arrays = self.swept.arrays
        digits = self.digits_of(number)
        pattern = sum(self.packed.phases[a][x] * 3**a for a, x in enumerate(digits))
        start, stop = int(arrays.option_start[pattern]), int(arrays.option_start[pattern + 1])
        nodes, times = arrays.option_node[start:stop], np.abs(arrays.option_t[start:stop])
        rate = float(arrays.time_price) + sum(float(arrays.rates[a, x]) for a, x in enumerate(digits))
        out = np.empty(nodes.size)
        arrays.action_costs(np.array(digits), number, self.swept.costs, nodes, times, rate, out)
        slack = self.slack
        if self.swept.worst:
            keep = out * (1 + slack) >= out.max() * (1 - slack)
        else:
            keep = out * (1 - slack) <= out.min() * (1 + slack)
        return [(int(n), self._graph(int(n), number)) for n in nodes[keep]]

    def _graph(self, node: int, number: int) -> int:
        """The first graph of best duration that holds a node in a state."""
        trie = self.swept.trie
        size = int(trie.decode_mask[node]).bit_count()
        prompt = int(trie.prompt_axis[node]) >= 0
        best = -1
        for g, graph in enumerate(self.graphs):
            if size and (graph.width != int(trie.width[node]) or graph.decode_capacity < size):
                continue
            if prompt and graph.prefill_capacity != int(trie.capacity[node]):
                continue
            if best < 0 or (
                graph.duration_ms > self.graphs[best].duration_ms
                if self.swept.worst
                else graph.duration_ms < self.graphs[best].duration_ms
            ):
                best = g
        assert best >= 0, number
        return best

    def _law(self, node: int, digits: list[int], number: int) -> list[tuple[int, fmpq]]:
        law = [(number, fmpq(1))]
        for axis, o in self.swept.trie.members[node]:
            step = [(s * self.packed.strides[axis], p) for s, p in self.laws[o][axis][digits[axis]]]
            law = [(at + s, q * p) for at, q in law for s, p in step]
        return law

    def cost(self, root: int) -> fmpq:
        """Exact expected cost of a state.

        Raises
        ------
        TooLarge
            More states than the limit.
        """
        stack = [root]
        plans: dict[int, list[tuple[fmpq, list[tuple[int, fmpq]]]]] = {}
        while stack:
            number = stack[-1]
            if number in self.costs:
                stack.pop()
                continue
            plan = plans.get(number)
            if plan is None:
                digits = self.digits_of(number)
                rate = self.time_price
                for a, x in enumerate(digits):
                    rate += self.rates[a][x]
                plan = plans[number] = [
                    (rate * self.durations[g], self._law(node, digits, number)) for node, g in self._left(number)
                ]
                if len(self.costs) + len(plans) > self.max_states:
                    raise TooLarge(f"the exact value needs more than {self.max_states} states in rationals")
                missing = {to for _, law in plan for to, _ in law if to not in self.costs}
                if missing:
                    stack += missing
                    continue
            best: fmpq | None = None
            for waited, law in plan:
                value = waited
                for to, p in law:
                    value += p * self.costs[to]
                if best is None or (value > best if self.swept.worst else value < best):
                    best = value
            assert best is not None
            self.costs[number] = best
            del plans[number]
            stack.pop()
        return self.costs[root]

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state: what its tokens earn for certain, less the exact cost."""
        return earned_from(self.packed.instance, state) - fraction(self.cost(self.packed.number_of(state)))

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a state, maximal or not, in enumeration order."""
        from fairlane.reference.state import actions
        from fairlane.reference.step import step

        instance = self.packed.instance
        top = self.value_at(state)
        out = []
        for action in actions(instance, state):
            value = Fraction(0)
            for o in step(instance, state, action):
                value += o.probability * (o.reward + self.value_at(o.state))
            if value == top:
                out.append(action)
        return tuple(out)
