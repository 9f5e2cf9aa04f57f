"""Explicit action vectors: reading and checking a table of rates with its values and weights.

A row is an action, a column a request; entry y_i(a) is the useful tokens per millisecond of request i in action a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fairlane.reference.allocation.arrays import LEAST_SIZE, MOST_SIZE, FloatArray, frozen
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, found

# one number a request
NumbersLike = (
    npt.NDArray[np.generic]
    | Sequence[Real | str | Decimal]
    | Sequence[Fraction]
    | Sequence[float]
    | Mapping[str, Real | str | Decimal]
)

# they can be iterated over, but have no order of requests
NO_SEQUENCE = (str, bytes, Mapping, AbstractSet)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateTable:
    """Checked explicit problem.

    Parameters
    ----------
    rates : ndarray or scipy csr_array of float64, shape (n_actions, n_requests)
        Tokens per millisecond, finite, >= 0; every column has a positive entry.
    token_values, fairness_weights : ndarray of float64, shape (n_requests,)
        v >= 0 per token, f > 0.
    """

    rates: Any  # numpy has no type for "dense or sparse"; both offer `@`, `shape` and row indexing
    token_values: FloatArray
    fairness_weights: FloatArray

    @property
    def is_sparse(self) -> bool:
        """Whether the rates are held as a sparse matrix."""
        return not isinstance(self.rates, np.ndarray)


def read_table(
    rates: object, *, token_values: NumbersLike | None = None, fairness_weights: NumbersLike | None = None
) -> RateTable:
    """An explicit problem from a table and optional values and weights (0 and 1 where left out).

    Raises
    ------
    InvalidInstance
        No action, no request, a ragged or misshapen table, an entry that is NaN, infinite or negative, a request
        that no action serves, v < 0, or f <= 0. The message names the action and the request.
    """
    matrix = _read_matrix(rates)
    n_requests = matrix.shape[1]
    best = matrix.max(axis=0)
    best = best if isinstance(best, np.ndarray) else best.toarray().ravel()
    if not best.min() > 0:
        request = int(np.flatnonzero(best == 0)[0])
        raise InvalidInstance(
            f"requests[{request}] is served by no action: rates[:, {request}] is 0 throughout; need a positive rate"
        )
    if best.min() < LEAST_SIZE:
        request = int(best.argmin())
        raise InvalidInstance(
            f"requests[{request}] has no rate above {best[request]:g}; need one of at least {LEAST_SIZE:g}"
        )
    return RateTable(
        rates=matrix,
        token_values=read_numbers(token_values, "token_values", n_requests, default=0.0),
        fairness_weights=read_numbers(fairness_weights, "fairness_weights", n_requests, default=1.0, positive=True),
    )


def _read_matrix(rates: object) -> Any:
    if isinstance(rates, RateTable):
        return rates.rates
    to_csr = getattr(rates, "tocsr", None)
    if to_csr is not None:
        # scipy loads slowly, and most calls come by without it
        from scipy.sparse import csr_array

        given: Any = to_csr()
        if given.dtype.kind not in "fiub":
            raise InvalidInstance(f"rates has numbers of type {given.dtype}; need real numbers")
        # what follows works in place, and the caller's matrix is the caller's
        sparse: Any = csr_array(given, dtype=np.float64, copy=True)
        sparse.sum_duplicates()
        _check_shape(sparse.shape)
        bad = ~((sparse.data >= 0) & (sparse.data <= MOST_SIZE))
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            action = int(np.searchsorted(sparse.indptr, at, side="right")) - 1
            _refuse_entry(action, int(sparse.indices[at]), sparse.data[at])
        sparse.eliminate_zeros()
        return sparse
    dense = _as_floats(rates)
    _check_shape(dense.shape)
    # two passes say that all is well; a NaN fails them
    if not (dense.min() >= 0 and dense.max() <= MOST_SIZE):
        action, request = (int(k) for k in np.argwhere(~((dense >= 0) & (dense <= MOST_SIZE)))[0])
        _refuse_entry(action, request, dense[action, request])
    return dense


def _as_floats(rates: object) -> FloatArray:
    if isinstance(rates, np.ma.MaskedArray):
        raise InvalidInstance("rates is a masked array; need every rate, such as `rates.filled(0)`")
    if isinstance(rates, np.ndarray) and rates.dtype.kind in "fiu":
        return np.ascontiguousarray(rates, dtype=np.float64)
    if isinstance(rates, NO_SEQUENCE) or not isinstance(rates, Iterable):
        raise InvalidInstance(f"rates is {found(rates)}; need one row an action and one column a request")
    rows: list[list[float]] = []
    width = -1
    for action, row in enumerate(rates):
        if isinstance(row, NO_SEQUENCE) or not isinstance(row, Iterable):
            raise InvalidInstance(f"rates[{action}] is {found(row)}; need a list with one rate a request")
        values = [_one_float(value, f"rates[{action}][{request}]") for request, value in enumerate(row)]
        if width not in (-1, len(values)):
            raise InvalidInstance(f"rates[{action}] has {len(values)} rates; need {width}, as in rates[0]")
        width = len(values)
        rows.append(values)
    if not rows:
        raise InvalidInstance("rates is empty; need at least one action")
    return np.array(rows, dtype=np.float64)


def _one_float(value: object, where: str) -> float:
    if isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise InvalidInstance(f"{where} is beyond the range of doubles; need a finite number") from None
    try:
        return float(as_fraction(value, where))
    except OverflowError:
        raise InvalidInstance(f"{where} is beyond the range of doubles; need a finite number") from None


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise InvalidInstance(f"rates has {len(shape)} dimensions; need 2, one row an action and one column a request")
    for count, what in zip(shape, ("action", "request"), strict=True):
        if count == 0:
            raise InvalidInstance(f"rates has the shape {shape}; need at least one {what}")


def _refuse_entry(action: int, request: int, value: float) -> None:
    need = f"need a rate <= {MOST_SIZE:g}" if np.isfinite(value) and value > 0 else "need a finite rate >= 0"
    raise InvalidInstance(f"rates[{action}][{request}] is {value:g} (action {action}, request {request}); {need}")


def read_numbers(
    numbers: NumbersLike | None,
    name: str,
    n_requests: int,
    *,
    default: float,
    positive: bool = False,
    ids: Sequence[str] | None = None,
) -> FloatArray:
    """One number a request, from a sequence, from a mapping by id, or the default throughout.

    Raises
    ------
    InvalidInstance
        A wrong count, an unknown id, a value that is not finite, or one below its bound.
    """
    if numbers is None:
        return frozen(np.full(n_requests, default))
    if isinstance(numbers, Mapping):
        if ids is None:
            raise InvalidInstance(f"{name} is an object; need a list, requests have no ids here")
        place = {request_id: i for i, request_id in enumerate(ids)}
        values = np.full(n_requests, default)
        for key, value in numbers.items():
            if key not in place:
                raise InvalidInstance(f"{name} has the key {found(key)}; need ids of requests")
            values[place[key]] = _one_float(value, f"{name}[{key!r}]")
    elif isinstance(numbers, np.ma.MaskedArray):
        raise InvalidInstance(f"{name} is a masked array; need one number a request")
    elif isinstance(numbers, np.ndarray) and numbers.dtype.kind in "fiu" and numbers.ndim:
        values = np.array(numbers, dtype=np.float64)
    elif isinstance(numbers, NO_SEQUENCE) or not isinstance(numbers, Iterable) or getattr(numbers, "ndim", 1) == 0:
        raise InvalidInstance(f"{name} is {found(numbers)}; need one number a request")
    else:
        values = np.array([_one_float(value, f"{name}[{i}]") for i, value in enumerate(numbers)], dtype=np.float64)
    if values.shape != (n_requests,):
        shape = "x".join(str(n) for n in values.shape)
        raise InvalidInstance(f"{name} has {shape} numbers; need {n_requests}, one a request")
    least = LEAST_SIZE if positive else 0.0
    if not (values.min() >= least and values.max() <= MOST_SIZE):
        request = int(np.flatnonzero(~((values >= least) & (values <= MOST_SIZE)))[0])
        label = f" (request {ids[request]!r})" if ids is not None else ""
        value = float(values[request])
        need = f"a finite number {'> 0' if positive else '>= 0'}"
        if 0 < value < np.inf:
            need = f"one from {LEAST_SIZE:g} to {MOST_SIZE:g}"
        raise InvalidInstance(f"{name}[{request}]{label} is {value:g}; need {need}")
    return frozen(values)
