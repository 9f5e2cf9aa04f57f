"""Where ``--workers`` and ``--cluster`` send the work."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairlane.reference.errors import DataError, InvalidInstance, Unsupported

# how long a scheduler and its workers may take to answer, seconds
ANSWER_S = 3
DEFAULT_WORKERS = 2
# fewer instances than this are done before worker processes would have started
FEW_INSTANCES = 4


@contextmanager
def executor(
    workers: int | None, cluster: str | None, *, pieces: int, policies: Sequence[str] = ()
) -> Iterator[Executor | None]:
    """What to work with for the length of a block; None is this process.

    Parameters
    ----------
    workers : int or None
        Processes asked for; two when None, and none where the pieces are few.
    cluster : str or None
        Address of a Dask scheduler.
    pieces : int
        How many pieces of work there are.
    policies : sequence of str
        Policies by name; modules of the current folder are sent to the cluster.

    Yields
    ------
    Executor or None
        It is shut down with the block; by an error, an interrupt included, at once.

    Raises
    ------
    InvalidInstance
        Both options.
    DataError
        No scheduler there, or one without workers.
    Unsupported
        The extra is not installed, or a worker runs another version.
    """
    if cluster is not None:
        if workers is not None:
            raise InvalidInstance("--workers and --cluster are given together; need one of them")
        with _cluster(cluster, policies) as pool:
            yield pool
        return
    asked = DEFAULT_WORKERS if workers is None else workers
    if asked == 1 or pieces < (FEW_INSTANCES if workers is None else 2):
        yield None
        return
    from fairlane.oracle.batch.process_pool import process_pool
    from fairlane.policies.current_folder import current_folder_first

    # a worker that does not begin as a copy of this process imports the user's policies itself
    with current_folder_first(), process_pool(min(asked, pieces)) as pool:
        yield pool


@contextmanager
def _cluster(address: str, policies: Sequence[str]) -> Iterator[Executor]:
    try:
        import distributed
        from distributed.comm.core import CommClosedError
    except ImportError:
        raise Unsupported("--cluster needs Dask; install the extra: pip install 'fairlane[cluster]'") from None
    # what goes wrong is told in one line of ours
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in {"distributed", "tornado", "asyncio"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    _check_scheduler(address)
    client: Any = distributed.Client(address, timeout=f"{ANSWER_S}s", set_as_default=False)
    try:
        _check_workers(client, address)
        for file in _modules_here(policies):
            client.upload_file(str(file))
        yield client.get_executor(pure=False)
    except (distributed.KilledWorker, CommClosedError) as error:
        raise Unsupported(f"the cluster at {address} lost the work: {' '.join(str(error).split())}") from None
    finally:
        client.close(timeout=2)


def _check_scheduler(address: str) -> None:
    """Refuse an address where no scheduler with workers answers; a client would try for long, and noisily."""
    # an extra, and the slowest module of the standard library
    import asyncio

    import distributed

    async def ask() -> object:
        async with distributed.rpc(address, timeout=ANSWER_S) as there:
            return await asyncio.wait_for(there.identity(), ANSWER_S)

    try:
        found = asyncio.run(ask())
    except Exception as error:
        # what answers may be anything, so reading it may raise anything
        wrong = isinstance(error, ValueError) and "address" in str(error)
        reason = " ".join(str(error).split()) if wrong else "no scheduler answers there"
    else:
        if isinstance(found, dict) and found.get("type") == "Scheduler":
            if found.get("n_workers", len(found["workers"])):
                return
            reason = "its scheduler has no workers"
        else:
            reason = "what answers there is no scheduler"
    raise DataError(
        f"--cluster is {address!r}: {reason}; need the address of a running Dask scheduler with workers, "
        "such as tcp://127.0.0.1:8786"
    )


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster whose workers would not compute what this process does."""
    mine = version()
    try:
        found = client.run(version)
    except Exception as error:
        # whatever an unpickling on another machine raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise Unsupported(f"a worker of {address} cannot run fairlane ({reason}); need fairlane {mine} there") from None
    for worker, theirs in found.items():
        if theirs != mine:
            raise Unsupported(f"worker {worker} runs fairlane {theirs}; need {mine}, as here")


def version() -> str:
    """The version of this package where it is called."""
    # slow to load, and only a cluster or a journal asks
    from importlib.metadata import version as installed

    return installed("fairlane")


def _modules_here(policies: Sequence[str]) -> Iterator[Path]:
    """Single-file modules of the current folder that policies are named in; workers have no such folder."""
    here = Path(os.getcwd())
    for module in sorted({name.partition(":")[0] for name in policies if ":" in name}):
        if "." in module:
            continue
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None and Path(spec.origin) == here / f"{module}.py":
            yield Path(spec.origin)
