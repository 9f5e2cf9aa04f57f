"""Sparse rational systems by elimination, against the dense solver of FLINT and closed forms."""

from __future__ import annotations

import random

from flint import fmpq, fmpq_mat

from fairlane.oracle.rational.state_elimination import solve_sparse
from tests.counts import count


def test_random_systems_have_the_dense_solution() -> None:
    for seed in range(count(500)):
        rng = random.Random(seed)
        n = rng.randint(1, 9)
        rows = []
        for _ in range(n):
            targets = rng.sample(range(n), rng.randint(0, n))
            weights = [rng.randint(1, 5) for _ in targets]
            # some mass is missing, so the system is regular
            total = sum(weights) + rng.randint(1, 4)
            rows.append([(t, fmpq(w, total)) for t, w in zip(targets, weights, strict=True)])
        right = [[fmpq(rng.randint(-5, 5)), fmpq(1)] for _ in range(n)]
        matrix, columns = fmpq_mat(n, n), fmpq_mat(n, 2)
        for s in range(n):
            matrix[s, s] += 1
            for t, p in rows[s]:
                matrix[s, t] -= p
            columns[s, 0], columns[s, 1] = right[s]
        dense = matrix.solve(columns)
        assert solve_sparse(rows, right) == [[dense[s, 0], dense[s, 1]] for s in range(n)]


def test_a_walk_of_thousands_of_states_has_its_closed_form() -> None:
    # steps of a fair walk on 0 ... n until it leaves at n, reflected at 0: n^2 from 0, n^2 - s^2 from s
    n = 2000
    half = fmpq(1, 2)
    rows = [[(s - 1, half), (s + 1, half)] for s in range(n)]
    rows[0] = [(1, fmpq(1))]
    rows[n - 1] = [(n - 2, half)]
    solved = solve_sparse(rows, [[fmpq(1)]] * n)
    assert solved is not None
    assert [x for (x,) in solved] == [fmpq(n * n - s * s) for s in range(n)]


def test_a_system_that_fills_up_is_given_up() -> None:
    rows = [[(t, fmpq(1, 31)) for t in range(30)] for _ in range(30)]
    assert solve_sparse(rows, [[fmpq(1)]] * 30, max_work=100) is None
    solved = solve_sparse(rows, [[fmpq(1)]] * 30)
    # x = 1 + 30/31 x
    assert solved == [[fmpq(31)]] * 30
