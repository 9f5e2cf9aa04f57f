"""``episode-ratio``: maximises E[net reward] / E[duration] of the episode. A warning, not a recommendation.

Where the net reward is negative the ratio improves when more time is spent, so this objective can prefer a slow
graph that does the same work as a fast one. Two decode requests with one token each, a completion price of 1, a
fast graph of 1 ms and a slow one of 9 ms: finishing at 1 and 2 ms nets -3 over 2 ms, a ratio of -3/2; finishing
the second with the slow graph nets -11 over 10 ms, a ratio of -11/10, which this policy prefers.

Source: the objective is the renewal-reward ratio, maximised exactly by Dinkelbach's method (1967,
doi:10.1287/mnsc.13.7.492).
"""

from __future__ import annotations

from functools import lru_cache

from fairlane.oracle.rational.ratio_sweep import RatioPlan
from fairlane.policies.episode_template import covers, state_in, template_of
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Completion, Decision, Memory, PolicySpec, Sees, View


@lru_cache(maxsize=64)
def _plan(template: Instance) -> RatioPlan:
    return RatioPlan(template)


class EpisodeRatio:
    """The policy; its memory is the episode it set out on, so that the whole episode's ratio stays the aim."""

    sees: frozenset[Sees] = frozenset()

    def initial(self, catalog: Catalog) -> Memory:
        """No episode yet."""
        return None

    def decide(self, view: View, memory: Memory) -> Decision:
        """The action of the plan that maximises the ratio from the episode's start."""
        template = _template(memory, view)
        action = _plan(template).action(state_in(template, view))
        ids = [r.id for r in template.requests]
        return Decision(
            graph=template.graphs.graphs[action.graph].name,
            prefill=tuple(ids[i] for i in action.prefill),
            decode=tuple(ids[i] for i in action.decode),
        )

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """The episode of the first view, or of the latest one with a request that was not in it."""
        return _template(memory, completion.view)


def _template(memory: Memory, view: View) -> Instance:
    if isinstance(memory, Instance) and covers(memory, view):
        return memory
    return template_of(view)


POLICY = PolicySpec(
    name="episode-ratio",
    policy=EpisodeRatio(),
    source="renewal-reward ratio of an episode, maximised by Dinkelbach's method (1967)",
    assumes="known acceptance, durations and length beliefs; an episode small enough to solve",
    plans_episodes=True,
)
