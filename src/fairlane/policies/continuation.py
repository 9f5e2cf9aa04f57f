"""``continuation``: one step of policy improvement on a base policy's exact continuation value.

With V the exact value of going on with the base policy, the dispatcher takes the action of the largest

    [expected net work + E V(s') - V(s)] / T.

Source: the policy-improvement prototype of the completion-episode oracle; the score is the per-time form of
Howard's improvement step (Howard, "Dynamic Programming and Markov Processes", 1960). It divides by T, so unlike
that step it need not improve: compare its exact value with the base's and the optimum's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import PolicySweep, Situation, action_of, view_of
from fairlane.policies.episode_template import covers, situation_in, template_of
from fairlane.policies.fixed_value import POLICY as BASE
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import (
    Completion,
    Decision,
    Memory,
    Policy,
    PolicySpec,
    Sees,
    View,
    branches,
    sees_of,
)
from fairlane.reference.model.state import ZERO, actions, is_final

MAX_SITUATIONS = 200_000


@dataclass(frozen=True, slots=True)
class _BaseValues:
    """Exact values of the base policy from any situation of one template, found as they are asked for."""

    instance: Instance
    base: Policy
    sweep: PolicySweep
    values: dict[Situation, Fraction] = field(default_factory=dict)

    def of(self, situation: Situation) -> Fraction:
        """Value of going on with the base policy; an explicit stack, since episodes can be long."""
        stack: list[Situation] = [situation]
        while stack:
            top = stack[-1]
            if top in self.values:
                stack.pop()
                continue
            if is_final(top.state):
                self.values[top] = ZERO
                continue
            view = view_of(self.instance, top)
            total = ZERO
            missing: list[Situation] = []
            for chance, decision in branches(self.base.decide(view, top.memory)):
                action = action_of(self.instance, view, decision)
                for outcome, following in self.sweep.successors(top, view, decision, action):
                    known = self.values.get(following)
                    if known is None:
                        missing.append(following)
                    else:
                        total += chance * outcome.probability * (outcome.reward + known)
            if missing:
                stack += missing
            else:
                self.values[top] = total
                if len(self.values) > MAX_SITUATIONS:
                    raise TooLarge(
                        f"the base policy's continuation has more than {MAX_SITUATIONS} situations; "
                        "`continuation` needs a smaller episode"
                    )
        return self.values[situation]


@dataclass(frozen=True)
class Continuation:
    """The policy over any base policy; `Continuation(my_policy)` is a policy too."""

    base: Policy
    _tables: dict[Instance, _BaseValues] = field(default_factory=dict, repr=False, compare=False)

    @property
    def sees(self) -> frozenset[Sees]:
        """What the base policy sees; ages with a price are part of the state anyway."""
        return sees_of(self.base)

    def initial(self, catalog: Catalog) -> Memory:
        """The base policy's memory, and no template yet."""
        return (self.base.initial(catalog), None)

    def decide(self, view: View, memory: Memory) -> Decision:
        """The action of the largest score; the first one in enumeration order among equals."""
        base_memory, template = _parts(memory)
        if template is None or not covers(template, view):
            template = template_of(view)
        table = self._tables.get(template)
        if table is None:
            table = _BaseValues(template, self.base, PolicySweep.of(template, self.base))
            self._tables[template] = table
        here = situation_in(template, view, base_memory)
        inner = view_of(template, here)
        stay = table.of(here)
        best: tuple[Fraction, Decision] | None = None
        ids = [r.id for r in template.requests]
        for action in actions(template, here.state):
            graph = template.graphs.graphs[action.graph]
            decision = Decision(
                graph=graph.name,
                prefill=tuple(ids[i] for i in action.prefill),
                decode=tuple(ids[i] for i in action.decode),
            )
            gained = -stay
            for outcome, following in table.sweep.successors(here, inner, decision, action):
                gained += outcome.probability * (outcome.reward + table.of(following))
            score = gained / graph.duration_ms
            if best is None or score > best[0]:
                best = (score, decision)
        assert best is not None, "a view with live requests has an action"
        return best[1]

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """The base policy's memory after the completion; the template of the first view is kept."""
        base_memory, template = _parts(memory)
        if template is None or not covers(template, completion.view):
            template = template_of(completion.view)
        return (self.base.observe(base_memory, completion), template)


def _parts(memory: Memory) -> tuple[Memory, Instance | None]:
    assert isinstance(memory, tuple)
    base_memory, template = memory
    assert template is None or isinstance(template, Instance)
    return base_memory, template


def _default() -> Continuation:
    return Continuation(BASE.policy)


POLICY = PolicySpec(
    name="continuation",
    policy=_default(),
    source="policy improvement on exact continuation values, per unit of time (Howard 1960)",
    assumes="known acceptance, durations and length beliefs; an episode small enough to solve; base fixed-value",
    plans_episodes=True,
)
