"""Many instances at once: optima and policy values of suites and sweeps through any executor."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import gcd

from fairlane.oracle.batch.in_order import in_order
from fairlane.oracle.certificate import confirm
from fairlane.oracle.policy_value.evaluate import MAX_SITUATIONS
from fairlane.oracle.policy_value.verify import VerifyRow, verify_instance
from fairlane.oracle.problem import MAX_BYTES
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.solve import Solution, solve
from fairlane.reference.errors import CertificateRejected, PolicyError, TooLarge
from fairlane.reference.model.instance import Instance

Load = Callable[[str], object]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """An optimum without its tables, small enough to travel; see :class:`fairlane.oracle.Solution`.

    ``seconds`` is how long it took where it was computed, and does not count when two are compared.
    """

    value: Fraction | None
    lower: float
    upper: float
    states: int | None
    canonical_states: int | None
    method: str
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What verification says of one instance: its rows, its size, and why its certificate was rejected, if it was.

    The certificate of an optimum found in rationals is every value in rationals; of one found by a compiled sweep it is
    the table of costs, which an independent program recomputes.
    """

    rows: tuple[VerifyRow, ...]
    states: int | None
    rejected: str | None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A policy on its way to a worker: as a name to be loaded there, pickled, or as it is."""

    label: str
    form: str | bytes | object
    load: Load | None


def estimated_states(instance: Instance) -> int:
    """About how many states an instance has, at once: the product of its requests' local states, ages left out."""
    shares = [g.prefill_capacity for g in instance.graphs if g.prefill_capacity]
    stride = 1 if any(g.prefill_lanes > 1 for g in instance.graphs) else max(1, gcd(*shares))
    total = 1
    for request in instance.requests:
        outputs = request.limit - max(request.generated, 1 if request.prompt else 0)
        total *= -(-request.prompt // stride) + outputs + 1
    return total


def solve_many(
    instances: Iterable[Instance],
    *,
    executor: Executor | None = None,
    exact: bool = True,
    sense: Sense | str = Sense.MAX,
    max_bytes: int = MAX_BYTES,
    threads: int | None = None,
    on_progress: Progress | None = None,
) -> tuple[Optimum, ...]:
    """Optima of many instances.

    Parameters
    ----------
    instances : iterable of Instance
        Any number, of any sizes.
    executor : Executor or None
        Any ``concurrent.futures`` executor; None works in this process. It stays open.
    exact, sense, max_bytes, threads
        As of :func:`fairlane.oracle.solve`, for every instance.
    on_progress : callable or None
        Called with (instances done, instances).

    Returns
    -------
    tuple of Optimum
        One an instance, in the order of the instances; equal whatever the executor.

    Raises
    ------
    TooLarge
        An instance beyond the limits; the first one in input order is named.
    Unsupported
        A worker died.
    """
    rows = tuple(instances)
    task = partial(_optimum, exact=exact, sense=Sense(sense), max_bytes=max_bytes, threads=threads)
    return tuple(
        in_order(
            task,
            rows,
            costs=[estimated_states(row) for row in rows],
            names=_names(rows),
            executor=executor,
            on_progress=on_progress,
        )
    )


def verify_many(
    instances: Iterable[Instance],
    policies: Mapping[str, object] | Sequence[str],
    *,
    load: Load | None = None,
    executor: Executor | None = None,
    only: Sequence[Sequence[str]] | None = None,
    max_states: int | None = None,
    on_progress: Progress | None = None,
    on_result: Callable[[int, Verdict], None] | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Iterator[Verdict]:
    """Exact values of policies on many instances beside the certified optima.

    Parameters
    ----------
    instances : iterable of Instance
        Any number, of any sizes.
    policies : mapping of str to policy, or sequence of str
        Labels and policies. A string stands for ``load(string)``, loaded where the work is done; any other policy
        travels pickled.
    load : callable or None
        Turns a string into a policy: ``fairlane.policies.load_policy`` for built-in names and ``module:attribute``.
    executor : Executor or None
        Any ``concurrent.futures`` executor; None works in this process. It stays open.
    only : sequence of sequence of str, or None
        Labels to evaluate on each instance, in its order; None means all of them everywhere.
    max_states : int or None
        An instance of more states, or a policy that reaches more situations, is answered as too large; the limits of
        the methods without it.
    on_progress : callable or None
        Called with (instances done, instances).
    on_result : callable or None
        Called with (index, verdict) as soon as an instance is done, with an executor in no certain order.
    on_step : callable or None
        Without an executor, called with (what is done, how much, of how much) inside an instance.

    Yields
    ------
    Verdict
        One an instance, in the order of the instances; equal whatever the executor. An instance beyond the limits
        has rows that say so.

    Raises
    ------
    PolicyError
        A policy that cannot be loaded, or that cannot travel to other processes.
    Unsupported
        A worker died.
    """
    rows = tuple(instances)
    named = policies if isinstance(policies, Mapping) else {name: name for name in policies}
    pickles = executor is not None and not isinstance(executor, ThreadPoolExecutor)
    sent = {label: _send(label, policy, load, pickles) for label, policy in named.items()}
    wanted = [tuple(sent) if only is None else tuple(only[i]) for i in range(len(rows))]
    items = [(row, tuple(sent[label] for label in labels)) for row, labels in zip(rows, wanted, strict=True)]
    return in_order(
        partial(_verdict, max_states=max_states, on_step=on_step if executor is None else None),
        items,
        costs=[estimated_states(row) * (1 + len(labels)) for row, labels in zip(rows, wanted, strict=True)],
        names=_names(rows),
        executor=executor,
        on_progress=on_progress,
        on_result=on_result,
    )


def _names(instances: Sequence[Instance]) -> list[str]:
    return [f"instances[{i}] ({instance.name!r})" for i, instance in enumerate(instances)]


def _optimum(instance: Instance, *, exact: bool, sense: Sense, max_bytes: int, threads: int | None) -> Optimum:
    solution = solve(instance, exact=exact, sense=sense, max_bytes=max_bytes, threads=threads)
    return Optimum(
        value=solution.value,
        lower=solution.lower,
        upper=solution.upper,
        states=solution.states,
        canonical_states=solution.canonical_states,
        method=solution.method,
        seconds=solution.seconds,
    )


def _verdict(
    item: tuple[Instance, tuple[_Sent, ...]],
    *,
    max_states: int | None,
    on_step: Callable[[str, int, int], None] | None,
) -> Verdict:
    instance, sent = item

    def within(what: str) -> Progress | None:
        return None if on_step is None else partial(on_step, f"{what} {instance.name}")

    policies = {policy.label: _receive(policy) for policy in sent}
    try:
        solution = solve(instance, max_states=max_states, on_progress=within("solving"))
        if solution.value is None:
            raise TooLarge(
                f"instance {instance.name!r} has {solution.states:,} states; its exact optimum takes too many "
                f"rationals, it lies in [{solution.lower!r}, {solution.upper!r}], and verification asks for it exactly"
            )
        rejected = _rejection(solution, max_states, within("certifying"))
    except TooLarge as error:
        rows = tuple(VerifyRow.beyond(instance, label, error) for label in policies)
        return Verdict(rows=rows, states=None, rejected=None)
    worst: Fraction | None = None
    try:
        least = solve(instance, sense=Sense.MIN, max_states=max_states, on_progress=within("solving for the worst of"))
        refused = _rejection(least, max_states, within("certifying the worst of"))
    except TooLarge:
        pass  # without the worst value there is no place between best and worst, and the rest stands
    else:
        worst = least.value if refused is None else None
        rejected = rejected if refused is None else f"{refused} (of the worst value)"
    rows = tuple(
        verify_instance(
            instance,
            policies,
            solution=solution,
            worst=worst,
            max_situations=MAX_SITUATIONS if max_states is None else max_states,
            on_progress=within("evaluating"),
        )
    )
    return Verdict(rows=rows, states=solution.states, rejected=rejected)


def _rejection(solution: Solution, max_states: int | None, on_progress: Progress | None) -> str | None:
    """Why the independent checker rejects a solution, None where it accepts."""
    try:
        confirm(solution, max_states=max_states, on_progress=on_progress)
    except CertificateRejected as error:
        return str(error)
    return None


def _send(label: str, policy: object, load: Load | None, pickles: bool) -> _Sent:
    if isinstance(policy, str):
        if load is None:
            raise PolicyError(f"policy {label!r} is given by name; need load=, such as fairlane.policies.load_policy")
        return _Sent(label, policy, load)
    if not pickles:
        return _Sent(label, policy, None)
    try:
        return _Sent(label, pickle.dumps(policy), None)
    except Exception as error:
        # pickling runs the policy's own code, which may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PolicyError(
            f"policy {label!r} cannot be sent to other processes ({reason}); need a built-in name, "
            "module:attribute, or an object that pickles"
        ) from None


def _receive(sent: _Sent) -> object:
    if isinstance(sent.form, str):
        assert sent.load is not None, "a name travels with what loads it"
        return sent.load(sent.form)
    return _unpickled(sent.label, sent.form) if isinstance(sent.form, bytes) else sent.form


@lru_cache(maxsize=64)
def _unpickled(label: str, pickled: bytes) -> object:
    # one object a process, so that what a policy has worked out for one instance serves the next
    try:
        return pickle.loads(pickled)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PolicyError(
            f"policy {label!r} cannot be read by a worker ({reason}); need it in a module that workers can import"
        ) from None
