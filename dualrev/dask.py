"""Sums over partitioned data on many machines, with gradients, by Dask: docs/many_machines.md, extra `dask`.

    f(params, partition, *args)  summed over the partitions:  value, grad, value_and_grad, hvp

The data are a Dask array, dataframe or bag, or a list of Delayed or of Futures. A tuple of them, with the same number
of partitions each, gives f as many arguments. Parameters are any nested data. One task for each partition computes its
value, gradient or product; the tasks' results are added in a tree, always in the same order.

    graph     data 0   data 1   ...        params    derivative            each of the latter two stands there once
                 task 0    task 1    ...
                      sum of 8    ...
                            sum

The derivative of a numba function is pickled as the function and the source that the compiler emits, as far as it has
been emitted. A worker that lacks the source for some types names them; they are compiled here, and the tasks run again.

>>> import dask.array as da
>>> import numpy as np
>>> def loss(w, x):
...     return np.sum((x @ w - 1.0) ** 2)
>>> x = da.from_array(np.arange(8.0).reshape(4, 2), chunks=(2, 2))
>>> value_and_grad(loss, x)(np.zeros(2))
(4.0, array([-24., -32.]))
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask.callbacks import Callback
from numba import typeof

from dualrev.api import derivatives
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.diagnostics.progress import progress
from dualrev.errors import UnsupportedError
from dualrev.transformed import name_of
from dualrev.tree import map as mapped

__all__ = ["Sum", "grad", "hvp", "value", "value_and_grad"]


def __dir__() -> list[str]:
    return __all__


_BRANCHES = 8


def value(f: Callable[..., Any], data: Any, client: Any = None) -> Sum:
    """Sum of f(params, partition, *args) over the partitions.

    Args:
        f: Function of the parameters and of one partition, a Python or a numba function. It returns nested data.
        data: Dask array, dataframe or bag, a list of Delayed or of Futures, or a tuple of these.
        client: Client of dask.distributed. None: Dask's default scheduler.

    Returns:
        A `Sum`, a function of (params, *args) that returns the sum, with the structure and the shapes of f's value.

    Raises:
        TypeError: data is something else.
        ValueError: The collections of a tuple have different numbers of partitions, or none.

    An exception of f in a worker is raised here, too.

    >>> import dask
    >>> value(lambda a, x: a * x, [dask.delayed(2.0), dask.delayed(3.0)])(10.0)
    50.0
    """
    return Sum(f, data, 1, client, f"value of {name_of(f)}")


def value_and_grad(f: Callable[..., Any], data: Any, client: Any = None) -> Sum:
    """Sum of f over the partitions and its gradient with respect to the parameters.

    Args:
        f: Function of the parameters and of one partition. It returns one real number.
        data: Partitioned data: see `value`.
        client: Client of dask.distributed. None: Dask's default scheduler.

    Returns:
        A `Sum`, a function of (params, *args) that returns (sum, gradient). The gradient has the structure of params.

    Raises:
        TypeError, ValueError: As in `value`.

    >>> import dask
    >>> value_and_grad(lambda p, x: p["a"] * p["a"] * x, [dask.delayed(2.0), dask.delayed(3.0)])({"a": 10.0})
    (500.0, {'a': 100.0})
    """
    return Sum(derivatives.value_and_grad(f), data, 1, client, f"value_and_grad of {name_of(f)}")


def grad(f: Callable[..., Any], data: Any, client: Any = None) -> Sum:
    """Gradient of the sum of f over the partitions, with respect to the parameters.

    Args:
        f: Function of the parameters and of one partition. It returns one real number.
        data: Partitioned data: see `value`.
        client: Client of dask.distributed. None: Dask's default scheduler.

    Returns:
        A `Sum`, a function of (params, *args) that returns the gradient, with the structure of params.

    Raises:
        TypeError, ValueError: As in `value`.

    >>> import dask
    >>> grad(lambda a, x: a * a * x, [dask.delayed(2.0), dask.delayed(3.0)])(10.0)
    100.0
    """
    return Sum(derivatives.grad(f), data, 1, client, f"grad of {name_of(f)}")


def hvp(f: Callable[..., Any], data: Any, client: Any = None) -> Sum:
    """Hessian-vector product of the sum of f over the partitions.

    Args:
        f: Function of the parameters and of one partition. It returns one real number.
        data: Partitioned data: see `value`.
        client: Client of dask.distributed. None: Dask's default scheduler.

    Returns:
        A `Sum`, a function of (params, vector, *args), the order of SciPy's `hessp`, that returns the Hessian with
        respect to the parameters times the vector. Vector and product have the structure of params.

    Raises:
        TypeError, ValueError: As in `value`.

    >>> import dask
    >>> hvp(lambda a, x: a * a * x, [dask.delayed(2.0), dask.delayed(3.0)])(10.0, 0.5)
    5.0
    """
    return Sum(derivatives.hvp(f), data, 2, client, f"hvp of {name_of(f)}")


class Sum:
    """Function of the parameters that adds up a function of each partition: what `value` and the others return."""

    def __init__(self, compute: Callable[..., Any], data: Any, leading: int, client: Any, name: str) -> None:
        self._compute, self._leading, self._client, self._name = compute, leading, client, name
        columns = list(map(_partitions, data if isinstance(data, tuple) else (data,)))
        counts = [len(column) for column in columns]
        if not all(counts) or len(set(counts)) > 1:
            raise ValueError(f"the data have {' and '.join(map(str, counts))} partitions: as many each, at least one")
        self._partitions = list(zip(*columns, strict=True))

    def __repr__(self) -> str:
        return f"<dualrev.dask.{self._name} over {len(self._partitions)} partitions>"

    def __call__(self, *args: Any) -> Any:
        """Return the sum for these parameters; further arguments follow the partition in the calls of f."""
        if len(args) < self._leading:
            raise TypeError(f"expected {self._leading} arguments at least, the parameters first; got {len(args)}")
        given: set[Any] = set()
        while isinstance(found := self._run(args), _Missing):
            kinds = set(found.errors)
            if again := kinds & given:
                raise found.errors[again.pop()]
            for kind in kinds:
                self._compute.emit(kind)  # type: ignore[attr-defined]  # _Missing is of derivatives only
            given |= kinds
        return found

    def _run(self, args: tuple[Any, ...]) -> Any:
        """The result of the graph."""
        given = _Given(self._compute, args[: self._leading], args[self._leading :])
        once = dask.delayed(given, pure=False, traverse=False)
        task, total = dask.delayed(_of_partition, pure=False), dask.delayed(_total, pure=False)
        level = [task(once, *parts) for parts in self._partitions]
        while len(level) > 1:
            level = [total(level[k : k + _BRANCHES]) for k in range(0, len(level), _BRANCHES)]
        done = _Count()
        note = (lambda: f"{done.partitions:,} done") if self._client is None else (lambda: "see the client's dashboard")
        with progress(f"adding up the {self._name} over {len(self._partitions):,} partitions", note):
            if self._client is None:
                with done:
                    return level[0].compute()
            return self._client.compute(level[0]).result()


class _Count(Callback):
    """Number of partitions that a scheduler of this process has done; a client's dashboard shows its own."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions = 0

    def _posttask(self, key: Any, *_: Any) -> None:
        self.partitions += str(key).startswith(_of_partition.__name__)


def _partitions(data: Any) -> list[Any]:
    """The partitions of a collection as Dask's references to them."""
    if hasattr(data, "to_delayed"):
        found = data.to_delayed()
        return list(found.ravel() if hasattr(found, "ravel") else found)
    if isinstance(data, list) and all(map(_is_reference, data)):
        return data
    raise TypeError(
        f"expected a Dask array, dataframe or bag, or a list of Delayed or of Futures, got {type(data).__name__}. Data"
        " that are here go to the workers once by client.scatter(parts), which gives a list of Futures."
    )


def _is_reference(x: Any) -> bool:
    """Whether x is a Delayed or a Future."""
    return dask.is_dask_collection(x) or (hasattr(x, "key") and hasattr(x, "result"))


@dataclass
class _Given:
    """Arguments that all partitions share."""

    compute: Callable[..., Any]
    params: tuple[Any, ...]
    args: tuple[Any, ...]


class _Missing:
    """The types of arguments for which a worker cannot make a derivative, each with its reason."""

    def __init__(self, errors: dict[Any, UnsupportedError]) -> None:
        self.errors = errors


def _of_partition(given: _Given, *parts: Any) -> Any:
    """Compute the result of one partition, in a worker."""
    args = *given.params, *parts, *given.args
    try:
        made = given.compute(*args)
        return float(made) if isinstance(made, (int, np.integer)) else made  # a constant, as None in a gradient is one
    except UnsupportedError as error:
        if not isinstance(given.compute, Derivative):
            raise
        return _Missing({tuple(map(typeof, args)): error})


def _total(found: Sequence[Any]) -> Any:
    """Return the sum of a few results."""
    missing = [x.errors for x in found if isinstance(x, _Missing)]
    if missing:
        return _Missing(reduce(operator.or_, missing))
    return mapped(lambda *xs: reduce(operator.add, xs), found[0], *found[1:])
