"""Fair allocation against CVXPY (Clarabel, ECOS where installed) and a plain prototype, certified by one checker.

    python benchmarks/allocation.py [--quick] [--output benchmarks/results/allocation.md]

Each row is one problem and one solver in a process of its own: wall and CPU time of the call, the peak memory of the
process, and the relative gap that our float certificate gives the shares the solver returned. Solvers that answer
"optimal" with a larger gap than 1e-9 are shown with it. The prototype is pairwise conditional gradients in plain numpy,
the method of the published reference, stopped after 20 seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

GOAL = 1e-9
LIMIT_S = 120

# name, target seconds, solvers beside ours
PROBLEMS: dict[str, tuple[float, tuple[str, ...]]] = {
    "explicit-7x3": (0.002, ("clarabel", "ecos", "prototype")),
    "graphs-4x3": (0.002, ("clarabel", "ecos", "prototype")),
    "graphs-12x100": (0.02, ("clarabel", "ecos", "prototype")),
    "graphs-12x1000": (0.15, ("clarabel", "prototype")),
    "graphs-12x10000": (1.0, ("clarabel",)),
    "graphs-12x100000": (12.0, ()),
    "explicit-10000x100": (0.1, ("clarabel", "ecos", "prototype")),
    "explicit-100000x1000-sparse": (1.5, ("clarabel",)),
}
QUICK = ("explicit-7x3", "graphs-4x3", "graphs-12x100", "explicit-10000x100")


def graph_problem(n_graphs: int, n: int) -> Any:
    """A decode catalog with sublinear batch costs and ``n`` requests of seeded acceptance, values and weights."""
    from fairlane.reference.allocation.graph_problem import read_graph_problem
    from fairlane.reference.model.graph import Catalog, Graph
    from fairlane.reference.model.request import Request

    rng = np.random.default_rng(n)
    graphs = []
    for g in range(n_graphs):
        width, rows = int(rng.integers(1, 9)), int(rng.choice([1, 2, 4, 8, 16, 32, 64]))
        duration = round(10 + 0.7 * width * rows**0.5 + 0.3 * rows, 3)
        graphs.append(Graph(name=f"g{g}", duration_ms=duration, decode_capacity=rows, width=width))
    requests = [
        Request(id=f"r{i}", prompt=0, limit=1, acceptance=[round(float(q), 3)] * 7)
        for i, q in enumerate(rng.uniform(0.3, 0.95, n))
    ]
    return read_graph_problem(
        Catalog(graphs),
        requests,
        token_values=rng.uniform(0, 2, n) * (rng.random(n) < 0.5),
        fairness_weights=rng.uniform(0.5, 2, n),
    )


def table_problem(n_actions: int, n: int, *, sparse: bool) -> Any:
    """Random action vectors; the sparse ones serve eight requests each."""
    from fairlane.reference.allocation.rate_table import read_table

    rng = np.random.default_rng(n)
    if sparse:
        from scipy.sparse import csr_array

        columns = rng.integers(0, n, n_actions * 8)
        speeds = rng.uniform(0.2, 1, n)
        rates: Any = csr_array(
            (rng.uniform(0.2, 1, columns.size) * speeds[columns], (np.repeat(np.arange(n_actions), 8), columns)),
            shape=(n_actions, n),
        )
        rates.sum_duplicates()
    else:
        rates = rng.uniform(0, 1, (n_actions, n))
    return read_table(rates, fairness_weights=rng.uniform(0.5, 2, n))


def make(name: str) -> Any:
    """The problem of a name such as ``graphs-12x100``."""
    kind, size, *rest = name.split("-")
    rows, columns = (int(k) for k in size.split("x"))
    return graph_problem(rows, columns) if kind == "graphs" else table_problem(rows, columns, sparse=bool(rest))


def run(name: str, solver: str) -> dict[str, Any]:
    """One measurement."""
    from fairlane.reference.allocation.certificate import certified_gap
    from fairlane.reference.allocation.compact_form import rates_of
    from fairlane.reference.allocation.graph_problem import GraphProblem

    problem = make(name)
    if solver in ("clarabel", "ecos"):
        import cvxpy  # noqa: F401  # its import takes longer than many a solve and is not timed
    repeats = 20 if problem.token_values.size <= 100 and solver == "fairlane" else 1
    walls = []
    row: dict[str, Any] = {}
    for _ in range(repeats):
        begun, cpu = time.perf_counter(), time.process_time()
        try:
            shares, log_prices = SOLVERS[solver](problem)
        except Exception as error:  # whatever a peer raises is its result here
            return {"failure": f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"}
        walls.append((time.perf_counter() - begun, time.process_time() - cpu))
    wall, cpu = min(walls)
    x = rates_of(problem, shares) if isinstance(problem, GraphProblem) else np.asarray(shares @ problem.rates)
    if not (x > 0).all():
        row["relative_gap"] = float("inf")
    else:
        gap, scale = certified_gap(problem, x, log_prices)
        row["relative_gap"] = gap / scale
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**row, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak}


def _ours(problem: Any) -> tuple[Any, Any]:
    from fairlane.reference.allocation import fair_allocation, fair_allocation_graphs
    from fairlane.reference.allocation.graph_problem import GraphProblem

    v, f = problem.token_values, problem.fairness_weights
    if isinstance(problem, GraphProblem):
        found = fair_allocation_graphs(
            problem.catalog, problem.requests, token_values=v, fairness_weights=f, tolerance=GOAL
        )
        return found.row_shares, found.log_prices
    explicit = fair_allocation(problem.rates, token_values=v, fairness_weights=f, tolerance=GOAL)
    return explicit.time_shares, explicit.log_prices


def _cvxpy(problem: Any, solver: str) -> tuple[Any, None]:
    import warnings

    import cvxpy

    from fairlane.reference.allocation.graph_problem import GraphProblem
    from fairlane.reference.allocation.region import rate_region

    region = rate_region(problem, scaled=True)
    total = float(problem.fairness_weights.sum())
    objective = cvxpy.sum(cvxpy.multiply(problem.fairness_weights / total, cvxpy.log(region.rates)))
    if problem.token_values.any():
        objective = objective + (problem.token_values * region.unit / total) @ region.rates
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cvxpy.Problem(cvxpy.Maximize(objective), region.constraints).solve(solver=solver)
    theta = np.clip(np.asarray(region.time_shares.value), 0, None)
    theta /= theta.sum()
    if not isinstance(problem, GraphProblem):
        return theta, None
    shares = np.zeros((len(problem.catalog), len(problem.requests)))
    for g, index, variable in region.row_shares:
        held = np.clip(np.asarray(variable.value), 0, theta[g])
        room = float(problem.decode_rows[g]) * theta[g]
        shares[g, list(index)] = held * min(1.0, room / max(float(held.sum()), 1e-300))
    return shares, None


def _prototype(problem: Any) -> tuple[Any, None]:
    """Pairwise conditional gradients as one would first write them; whole cohorts are its atoms in the graph form."""
    from fairlane.reference.allocation.graph_problem import GraphProblem

    v, f = problem.token_values, problem.fairness_weights
    graphs = isinstance(problem, GraphProblem)

    def best(q: Any) -> tuple[Any, Any, float]:
        if not graphs:
            worth = problem.rates @ q
            a = int(worth.argmax())
            return a, problem.rates[a], float(worth[a])
        top: tuple[Any, Any, float] = (None, None, -1.0)
        for g, rows in enumerate(problem.decode_rows.tolist()):
            held = np.argsort(-problem.decode_rates[g] * q)[:rows]
            y = np.zeros(q.size)
            y[held] = problem.decode_rates[g][held]
            if float(y @ q) > top[2]:
                top = ((g, tuple(sorted(held.tolist()))), y, float(y @ q))
        return top

    n = f.size
    held: dict[Any, tuple[Any, float]] = {}
    for i in range(n):
        q = np.full(n, 1e-6)
        q[i] = 1.0
        key, y, _ = best(q)
        held[key] = (y, held.get(key, (y, 0.0))[1] + f[i] / f.sum())
    begun = time.perf_counter()
    while time.perf_counter() - begun < 20:
        x = sum(share * y for y, share in held.values())
        q = v + f / x
        key, y, worth = best(q)
        if worth - q @ x <= GOAL * (v @ x + f.sum()):
            break
        away = min(held, key=lambda k: float(held[k][0] @ q))
        d = y - held[away][0]
        low, high = 0.0, held[away][1]
        for _ in range(60):
            middle = (low + high) / 2
            after = x + middle * d
            rising = (after > 0).all() and float(((v + f / np.maximum(after, 1e-300)) * d).sum()) > 0
            low, high = (middle, high) if rising else (low, middle)
        held[away] = (held[away][0], held[away][1] - low)
        if held[away][1] <= 0:
            del held[away]
        held[key] = (y, held.get(key, (y, 0.0))[1] + low)
    total = sum(share for _, share in held.values())
    if not graphs:
        theta = np.zeros(problem.rates.shape[0])
        for key, (_, share) in held.items():
            theta[key] = share / total
        return theta, None
    rows = np.zeros((len(problem.catalog), n))
    for (g, members), (_, share) in held.items():
        rows[g, list(members)] += share / total
    return rows, None


SOLVERS: dict[str, Any] = {
    "fairlane": _ours,
    "clarabel": lambda problem: _cvxpy(problem, "CLARABEL"),
    "ecos": lambda problem: _cvxpy(problem, "ECOS"),
    "prototype": _prototype,
}


def main() -> None:
    """Run every row in its own process and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small problems only")
    parser.add_argument("--output", type=Path, help="write the table to this file")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads of every solver")
    parser.add_argument("--row", nargs=2, metavar=("PROBLEM", "SOLVER"), help="one measurement as JSON")
    options = parser.parse_args()
    if options.row:
        print(json.dumps(run(*options.row)))
        return
    lines = [
        "# Fair allocation: time to a certified answer",
        "",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, numpy {np.__version__}.",
        f"Goal: relative gap <= {GOAL:g}. BLAS threads: {options.threads}.",
        "Written by `python benchmarks/allocation.py`; `n actions or graphs x requests` in the names.",
        "",
        "| problem | solver | wall (s) | CPU (s) | peak (MB) | certified relative gap | target (s) | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (target, peers) in PROBLEMS.items():
        if options.quick and name not in QUICK:
            continue
        for solver in ("fairlane", *peers):
            lines.append(_line(name, solver, target, options.threads))
            print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


def _line(name: str, solver: str, target: float, threads: int) -> str:
    command = [sys.executable, __file__, "--row", name, solver]
    try:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return f"| {name} | {solver} | > {LIMIT_S} | | | | | |"
    if result.returncode:
        return f"| {name} | {solver} | failed | | | {result.stderr.strip().splitlines()[-1][:60]} | | |"
    row = json.loads(result.stdout)
    if "failure" in row:
        return f"| {name} | {solver} | failed | | | {row['failure']} | | |"
    met = row["relative_gap"] <= GOAL
    ours = solver == "fairlane"
    verdict = ("yes" if met and row["wall_s"] <= target else "no") if ours else ("gap" if met else "gap missed")
    return (
        f"| {name} | {solver} | {row['wall_s']:.4g} | {row['cpu_s']:.4g} | {row['peak_mb']:.0f} "
        f"| {row['relative_gap']:.1e} | {target if ours else ''} | {verdict} |"
    )


if __name__ == "__main__":
    main()
