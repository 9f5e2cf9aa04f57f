"""Which claim rests on which, and the weakest claim below each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.status import Status, Strength, weakness

Standing = tuple[Status, Strength | None]


def dependency_graph(claims: Sequence[Claim]) -> nx.DiGraph:
    """Claims as nodes, an edge from each claim to every known claim it uses."""
    graph = nx.DiGraph()
    known = {claim.id for claim in claims}
    graph.add_nodes_from(claim.id for claim in claims)
    for claim in claims:
        graph.add_edges_from((claim.id, parent) for parent in claim.uses if parent in known)
    return graph


def cycles(claims: Sequence[Claim], graph: nx.DiGraph) -> tuple[tuple[str, ...], ...]:
    """Groups of claims that rest on each other, each in reading order."""
    order = {claim.id: i for i, claim in enumerate(claims)}
    groups = [
        tuple(sorted(group, key=order.__getitem__))
        for group in nx.strongly_connected_components(graph)
        if len(group) > 1 or any(graph.has_edge(node, node) for node in group)
    ]
    return tuple(sorted(groups, key=lambda group: order[group[0]]))


def weakest_ancestors(graph: nx.DiGraph, standing: Mapping[str, Standing]) -> dict[str, str | None]:
    """For each claim the weakest one it rests on, directly or not.

    Definitions are no evidence and are passed over unless something is wrong with them. Ties go to the
    smallest id. Members of a cycle count as ancestors of each other.

    Parameters
    ----------
    graph : networkx.DiGraph
        From :func:`dependency_graph`.
    standing : mapping
        Own status and strength of every node.

    Returns
    -------
    dict
        None where a claim rests on no claim with evidence.
    """

    def key(node: str) -> tuple[tuple[int, int], str]:
        status, strength = standing[node]
        return (weakness(status, strength), node)

    # One pass over the condensation: below a component lie its successors' components and what lies below those.
    below: dict[int, str | None] = {}
    condensed = nx.condensation(graph)
    result: dict[str, str | None] = {}
    for component in reversed(list(nx.topological_sort(condensed))):
        members = condensed.nodes[component]["members"]
        found: list[str] = []
        for following in condensed.successors(component):
            deeper = below[following]
            if deeper is not None:
                found.append(deeper)
        own = [node for node in members if standing[node][0] is not Status.DEFINED]
        for node in members:
            others = [n for n in own if n != node] if len(members) > 1 else []
            candidates = found + others
            result[node] = min(candidates, key=key) if candidates else None
        everything = found + own
        below[component] = min(everything, key=key) if everything else None
    return result
