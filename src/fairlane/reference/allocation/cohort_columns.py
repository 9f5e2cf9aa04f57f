"""Whole cohorts as columns, made on demand by ranking at given prices; never all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from fairlane.reference.allocation.arrays import FloatArray, IntArray
from fairlane.reference.allocation.graph_problem import GraphProblem

# up to this many requests a graph has at most three largest cohorts, and listing them beats any other start
FEW_REQUESTS = 3


class CohortColumns:
    """Cohorts of a graph problem with their scaled rates.

    Parameters
    ----------
    problem : GraphProblem
        Graphs and requests.
    scale : ndarray, shape (n_requests,)
        rate = scaled rate * scale.
    """

    def __init__(self, problem: GraphProblem, scale: FloatArray) -> None:
        self.problem = problem
        n = len(problem.requests)
        self.lane_rates = np.zeros((len(problem.catalog), n))
        self.lane_rates[:, problem.decode_index] = problem.decode_rates
        self.lane_rates[:, problem.prefill_index] = problem.prefill_rates[:, None]
        self.lane_rates /= scale
        self.graphs: list[int] = []
        self.members: list[npt.NDArray[np.bool_]] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._rates: list[FloatArray] = []

    def add(self, graph: int, lanes: IntArray) -> int:
        """The place of a cohort among the columns, added where it is new."""
        member = np.zeros(len(self.problem.requests), dtype=np.bool_)
        member[lanes] = True
        key = (graph, member.tobytes())
        if key not in self._known:
            self._known[key] = len(self.graphs)
            self.graphs.append(graph)
            self.members.append(member)
            self._rates.append(np.where(member, self.lane_rates[graph], 0.0))
        return self._known[key]

    def table(self) -> FloatArray:
        """Scaled rates of the columns held."""
        return np.array(self._rates)

    def best_lanes(self, graph: int, prices: FloatArray) -> IntArray:
        """The lanes of most value in a graph: its best rows and its dearest prompt."""
        problem = self.problem
        worth = self.lane_rates[graph] * prices
        rows = int(problem.decode_rows[graph])
        decode, prefill = problem.decode_index, problem.prefill_index
        lanes = decode if rows >= decode.size else decode[np.argsort(-worth[decode], kind="stable")[:rows]]
        if problem.prefill_rates[graph] and prefill.size:
            lanes = np.append(lanes, prefill[worth[prefill].argmax()])
        return lanes

    def grow(self, prices: FloatArray) -> float:
        """Add each graph's best cohort; gives the largest value of any cohort."""
        best = 0.0
        for graph in range(len(self.problem.catalog)):
            lanes = self.best_lanes(graph, prices)
            if lanes.size:
                best = max(best, float((self.lane_rates[graph, lanes] * prices[lanes]).sum()))
                self.add(graph, lanes)
        return best

    def cover(self) -> None:
        """A cohort of each graph for each request it can serve, filled up with neighbours: a start for any method."""
        problem = self.problem
        for graph in range(len(problem.catalog)):
            able = np.flatnonzero(self.lane_rates[graph] > 0)
            for i in able:
                self.add(graph, self.best_lanes(graph, np.roll(np.arange(1.0, self.lane_rates.shape[1] + 1), -i)[::-1]))
        held = self.table() > 0
        for i in np.flatnonzero(~held.any(axis=0)):
            prices = np.ones(held.shape[1]) * 1e-6
            prices[i] = 1.0
            self.add(int(self.lane_rates[:, i].argmax()), self.best_lanes(int(self.lane_rates[:, i].argmax()), prices))

    def list_largest(self) -> None:
        """Every largest cohort of every graph; for a few requests only."""
        problem = self.problem
        decode, prefill = problem.decode_index, problem.prefill_index
        for graph in range(len(problem.catalog)):
            rows = min(int(problem.decode_rows[graph]), decode.size)
            prompts = prefill if problem.prefill_rates[graph] else prefill[:0]
            for held in combinations(decode.tolist(), rows):
                for prompt in prompts.tolist() or [None]:
                    lanes = [*held] if prompt is None else [*held, prompt]
                    if lanes:
                        self.add(graph, np.array(lanes))

    def shares(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Graph shares and row shares of a mixture of the columns."""
        n_graphs, n = self.lane_rates.shape
        time_shares = np.zeros(n_graphs)
        row_shares = np.zeros((n_graphs, n))
        for share, graph, member in zip(theta.tolist(), self.graphs, self.members, strict=True):
            if share > 0:
                time_shares[graph] += share
                row_shares[graph] += share * member
        return time_shares, np.minimum(row_shares, time_shares[:, None])
