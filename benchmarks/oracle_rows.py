"""One measurement of `oracle.py`, in a process of its own.

A method is prepared outside the clock (files written, stored transitions built), run once on a small member of the
same family so that nothing is compiled inside it, and then run several times.
"""

from __future__ import annotations

import gc
import importlib.util
import math
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from families import family

# the smallest member that takes the compiled path of larger ones
WARM_UP = {"m": "m5", "s": "s4", "u": "u4", "w": "w3", "a": "a1"}
OURS = ("bounds", "exact", "unmerged")
# a short run is repeated until it has taken this long, at least and at most so many times
SHORT_S, LEAST_RUNS, MOST_RUNS = 1.0, 5, 100
LONG_S = 4.0

Answer = dict[str, Any]


def ours(method: str, name: str, threads: int) -> Callable[[], Answer]:
    """The package's solver: certified bounds, exact value, or bounds of the sweep without merging."""
    from fairlane.oracle.solve import solve

    instance = family(name)
    most = 9 * 2**30

    def run() -> Answer:
        found = solve(instance, exact=method == "exact", threads=threads, max_bytes=most)
        return {
            "exact": None if found.value is None else str(found.value),
            "lower": found.lower,
            "upper": found.upper,
            "states": found.states,
            "how": found.method,
        }

    def without_merging() -> Answer:
        from fairlane.oracle.encoding.packing import pack
        from fairlane.oracle.sweeps.compiled import sweep
        from fairlane.reference.model.state import initial_state

        packed = pack(instance)
        swept = sweep(packed, threads=threads)
        least, most = swept.bounds(swept.number_of(packed.digits_of(initial_state(instance))))
        lower = math.nextafter(float(packed.earned - most), -math.inf)
        upper = math.nextafter(float(packed.earned - least), math.inf)
        return {"exact": None, "lower": lower, "upper": upper, "how": "compiled_sweep"}

    return without_merging if method == "unmerged" else run


def rational(name: str) -> Callable[[], Answer]:
    """The package's uncompiled sweep in rationals, asked for directly."""
    from fairlane.oracle.backends.backward_induction import MAX_STATES
    from fairlane.oracle.rational.backward_induction import Sweep
    from fairlane.oracle.rational.plain import Sense
    from fairlane.reference.model.state import initial_state

    instance = family(name)
    root = initial_state(instance)

    def run() -> Answer:
        table = Sweep(instance, Sense.MAX, MAX_STATES)
        table.solve(table.number_of(root))
        return {"exact": str(table.value_at(root))}

    return run


def plain(name: str) -> Callable[[], Answer]:
    """The package's readable yardstick."""
    from fairlane.oracle.rational.plain import solve_plain

    instance = family(name)

    def run() -> Answer:
        found = solve_plain(instance)
        return {"exact": str(found.value), "states": found.states}

    return run


def recursion(name: str, *, merge: bool) -> Callable[[], Answer]:
    """The plain prototype."""
    from oracle_peers import prototype

    instance = family(name)

    def run() -> Answer:
        value, states = prototype(instance, merge=merge)
        return {"value": value, "states": states}

    return run


def stored(method: str, name: str) -> Callable[[], Answer]:
    """A solver of stored transitions, given them as arrays."""
    from explicit_arrays import arrays
    from oracle_peers import by_quantecon, by_scipy

    model = arrays(family(name))
    solver = by_scipy if method == "scipy" else by_quantecon

    def run() -> Answer:
        value, parts = solver(model)
        return {"value": value, "parts": parts}

    return run


def write_model(name: str, file: Path, *, exact: bool) -> None:
    """The file Storm reads: the package's export in rationals, or the arrays in doubles."""
    from explicit_arrays import arrays, write_umb
    from oracle_peers import export

    if exact:
        export(family(name), file)
    else:
        write_umb(arrays(family(name)), file)


def storm(method: str, name: str, folder: Path) -> Callable[[], Answer]:
    """Storm on a file: sound in doubles, or exact on the package's export."""
    from oracle_peers import by_storm

    file = folder / f"{name}{'.drn' if method == 'storm-drn' else '.umb'}"
    exact = method != "storm"
    # written by another process, so that Storm finds none of its memory here
    writer = multiprocessing.get_context("spawn").Process(
        target=write_model, args=(name, file), kwargs={"exact": exact}
    )
    writer.start()
    writer.join()
    if writer.exitcode:
        raise RuntimeError(f"the model's file could not be written: exit {writer.exitcode}")

    def run() -> Answer:
        value, parts = by_storm(file, exact=exact)
        parts["file_mb"] = file.stat().st_size / 2**20
        return {"exact" if exact else "value": value, "parts": parts}

    return run


def prepare(method: str, name: str, threads: int, folder: Path) -> Callable[[], Answer]:
    """A method with everything it is given."""
    if method in OURS:
        return ours(method, name, threads)
    if method == "rational":
        return rational(name)
    if method == "plain":
        return plain(name)
    if method.startswith("prototype"):
        return recursion(name, merge=method == "prototype-merged")
    if method.startswith("storm"):
        return storm(method, name, folder)
    return stored(method, name)


def warm_up(method: str, name: str, folder: Path) -> None:
    """Run a method on small members of the family; nothing of it is compiled in the measured run then."""
    from fairlane.oracle.backends import state_sweeps
    from fairlane.oracle.backends.backward_induction import SMALL_STATES
    from fairlane.oracle.encoding.packing import count_canonical, count_states

    if method not in OURS:
        prepare(method, name[0] + "1", 1, folder)()
        return
    instance = family(name)
    states = count_states(instance)
    merged = 2 * count_canonical(instance) <= states
    if states <= SMALL_STATES or instance.objective.age_price:
        member = name[0] + "1"
    else:
        member = WARM_UP[name[0]] if merged or method == "unmerged" else "u4"
    # the exact root has kernels of its own
    prepare("exact" if method == "bounds" else method, member, 2, folder)()
    if states > state_sweeps.MAX_DOUBLE_STATES and not merged:
        # kernels of single precision, on a small member
        state_sweeps.MAX_DOUBLE_STATES, kept = SMALL_STATES, state_sweeps.MAX_DOUBLE_STATES
        prepare("bounds", member, 2, folder)()
        state_sweeps.MAX_DOUBLE_STATES = kept


def status_mb(field: str) -> float | None:
    """A line of this process's memory report in MiB, None where the system has none."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    except OSError:
        return None
    return None


def start_peak() -> float:
    """Forget the peak of memory so far where the system can, and return the memory now, MiB."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return status_mb("VmRSS") or 0.0


def peak_mb() -> float:
    """Peak of memory since `start_peak`, MiB."""
    return status_mb("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(method: str, name: str, threads: int, limit_s: int) -> dict[str, Any]:
    """One row: seconds, memory and the answer; `failure` where a tool is absent or a size is refused.

    The process is ended by the system after ``limit_s`` seconds of CPU.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    from fairlane.reference.errors import FairlaneError

    needed = {"scipy": "scipy", "quantecon": "quantecon"}.get(method, "stormpy" if method.startswith("storm") else None)
    if needed is not None and importlib.util.find_spec(needed) is None:
        return {"failure": f"{needed} is not installed"}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        warm_up(method, name, folder)
        # stored transitions count as memory of those who need them in this process
        before = start_peak()
        begun, cpu = time.perf_counter(), time.process_time()
        run = prepare(method, name, threads, folder)
        prepared = time.process_time() - cpu
        now = start_peak()
        base = before if method in ("scipy", "quantecon") else now
        walls, cpus, parts = [], [], []
        answer: Answer = {}
        while True:
            begun, cpu = time.perf_counter(), time.process_time()
            try:
                answer = run()
            except FairlaneError as error:
                return {"failure": f"refused: {error}", "wall": time.perf_counter() - begun}
            walls.append(time.perf_counter() - begun)
            cpus.append(time.process_time() - cpu)
            parts.append(answer.get("parts", {}))
            spent, runs = sum(walls), len(walls)
            if runs >= MOST_RUNS or spent > LONG_S or (runs >= LEAST_RUNS and spent > SHORT_S):
                break
        if parts[0]:
            answer["parts"] = {key: statistics.median(p[key] for p in parts) for key in parts[0]}
        return {
            **answer,
            "wall": statistics.median(walls),
            "wall_min": min(walls),
            "cpu": statistics.median(cpus),
            "cpu_min": min(cpus),
            "runs": len(walls),
            "prepared": prepared,
            "peak": peak_mb() - base,
            "base": base,
        }


def first_use(name: str) -> dict[str, Any]:
    """Seconds of the import and of the first call in this process."""
    instance = family(name)
    begun, cpu = time.perf_counter(), time.process_time()
    from fairlane.oracle.solve import solve

    imported = time.perf_counter() - begun
    begun = time.perf_counter()
    found = solve(instance, threads=os.cpu_count())
    return {
        "imported": imported,
        "wall": time.perf_counter() - begun,
        "cpu": time.process_time() - cpu,
        "lower": found.lower,
        "upper": found.upper,
    }
