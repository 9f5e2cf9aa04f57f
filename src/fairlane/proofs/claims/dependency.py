"""Which claim rests on which, and the weakest claim below each.

Plain dictionaries: this runs at every start, and importing a graph library would take longer than all of it. The
drawing uses networkx, and the tests hold this module to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.status import Status, Strength, weakness

Standing = tuple[Status, Strength | None]
Uses = Mapping[str, tuple[str, ...]]


def uses_of(claims: Sequence[Claim]) -> dict[str, tuple[str, ...]]:
    """For each claim the known claims that it uses, as written and each once."""
    known = {claim.id for claim in claims}
    return {claim.id: tuple(dict.fromkeys(parent for parent in claim.uses if parent in known)) for claim in claims}


def components(uses: Uses) -> tuple[tuple[str, ...], ...]:
    """Claims grouped so that those in one group rest on each other, what a group rests on before the group.

    References
    ----------
    Tarjan (1972), Depth-first search and linear graph algorithms, doi 10.1137/0201010.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_nodes: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in uses:
        if root in index:
            continue
        path = [(root, iter(uses[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        open_nodes.add(root)
        while path:
            node, parents = path[-1]
            following = next(parents, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(tuple(stack[cut:]))
                    open_nodes.difference_update(stack[cut:])
                    del stack[cut:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                open_nodes.add(following)
                path.append((following, iter(uses[following])))
            elif following in open_nodes:
                low[node] = min(low[node], index[following])
    return tuple(found)


def cycles(uses: Uses) -> tuple[tuple[str, ...], ...]:
    """Groups of claims that rest on each other, in reading order."""
    order = {name: i for i, name in enumerate(uses)}
    groups = [
        tuple(sorted(group, key=order.__getitem__))
        for group in components(uses)
        if len(group) > 1 or any(node in uses[node] for node in group)
    ]
    return tuple(sorted(groups, key=lambda group: order[group[0]]))


def weakest_ancestors(uses: Uses, standing: Mapping[str, Standing]) -> dict[str, str | None]:
    """For each claim the weakest one it rests on, directly or not.

    Definitions are no evidence and are passed over. Ties go to the smallest id. Members of a cycle count as
    ancestors of each other.

    Parameters
    ----------
    uses : mapping
        From :func:`uses_of`.
    standing : mapping
        Own status and strength of every claim.

    Returns
    -------
    dict
        None where a claim rests on no claim with evidence.
    """

    def key(node: str) -> tuple[tuple[int, int], str]:
        return (weakness(*standing[node]), node)

    # below[x]: the weakest of x's group and of all it rests on
    below: dict[str, str | None] = {}
    result: dict[str, str | None] = {}
    for group in components(uses):
        deeper = {below[parent] for node in group for parent in uses[node] if parent not in group}
        found = [name for name in deeper if name is not None]
        own = [node for node in group if standing[node][0] is not Status.DEFINED]
        for node in group:
            result[node] = min([*found, *(other for other in own if other != node)], key=key, default=None)
        weakest = min([*found, *own], key=key, default=None)
        below.update(dict.fromkeys(group, weakest))
    return result
