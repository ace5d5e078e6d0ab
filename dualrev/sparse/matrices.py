"""`sparse_jacobian` and `sparse_hessian`: a pattern, its compression, and a check of the result."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, ParamSpec

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev.api.derivatives import compiled
from dualrev.diagnostics.keywords import answered
from dualrev.errors import DualrevError, SolutionError, SparsityError
from dualrev.outputs import Outputs, writing
from dualrev.sparse import matrix_products as of_passes
from dualrev.sparse import missing_entries
from dualrev.sparse.compressed import Compression, compression, star_compression
from dualrev.sparse.patterns import find, symmetric
from dualrev.transformed import Transformed

__all__ = ["sparse_hessian", "sparse_jacobian"]

P = ParamSpec("P")


@answered
def sparse_jacobian(
    f: Callable[P, Any],
    sparsity: Any = None,
    argnums: int = 0,
    *,
    mode: str | None = None,
    check: bool = True,
    outputs: Outputs | None = None,
) -> Callable[P, Any]:
    """Jacobian as a SciPy sparse array, computed by as many products as its pattern has colors.

    Args:
        f: Function to differentiate. A numba function takes the argument as one array of floats.
        sparsity: Pattern of the Jacobian: a SciPy sparse array or matrix, whose stored entries count, or an array,
            whose nonzeros count. It may be too large. None: the first call finds the pattern, by products with NaN; it
            is kept for arguments and values of the same sizes, and extended when a check finds more entries.
        argnums: Position of the argument to differentiate with respect to, from 0.
        mode: "fwd" computes columns without a common row together, in forward mode; "rev" rows without a common column,
            in reverse mode. None: whichever takes fewer products.
        check: Whether each call compares the product of the Jacobian and one more direction with that of the sparse
            array. Entries below rounding errors are not noticed: see docs/sparse.md.
        outputs: Numbers of the arguments into which f writes its results: see `vjp`.

    Returns:
        A function of the arguments of f that returns a scipy.sparse.csr_array of shape (m, n), for m numbers of the
        value by n numbers of the argument, both in the order of `dr.tree.ravel`. It stores all entries of the pattern,
        zeros too, so that it can be the `sparsity` of another call. For a numba function, products are compiled, four
        at a time.

    Raises:
        SparsityError: The pattern has another shape, or lacks an entry that is not zero (a ValueError).
        ImportError: SciPy is not installed.
        ArgumentError, OutputError, UnsupportedError: As in `jacobian`.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> J = dr.sparse_jacobian(lambda x: x[1:] - x[:-1] ** 2)(np.array([1.0, 2.0, 3.0, 4.0]))
    >>> J.toarray()
    array([[-2.,  1.,  0.,  0.],
           [ 0., -4.,  1.,  0.],
           [ 0.,  0., -6.,  1.]])
    """
    if mode not in (None, "fwd", "rev"):
        raise ValueError(f"mode is 'fwd', 'rev' or None, and not {mode!r}")
    if outputs is not None:
        f = compiled().written(f, outputs) if isinstance(f, Dispatcher) else writing(f, outputs)
    patterns = _patterns(sparsity, argnums)
    return Transformed(_sparse_jacobian, f, argnums=argnums, mode=mode, check=check, patterns=patterns)


@answered
def sparse_hessian(
    f: Callable[P, Any], sparsity: Any = None, argnums: int = 0, *, check: bool = True
) -> Callable[P, Any]:
    """Hessian of a function that returns one real number, as a SciPy sparse array.

    Args:
        f: Function to differentiate. It returns one real number.
        sparsity: Pattern of the Hessian, as in `sparse_jacobian`; one half of it is enough.
        argnums: Position of the argument to differentiate with respect to, from 0.
        check: Whether each call checks the result, as in `sparse_jacobian`.

    Returns:
        A function of the arguments of f that returns a scipy.sparse.csr_array of shape (n, n), symmetric to the last
        bit. It takes as many Hessian-vector products as a star coloring of the pattern has colors; for a numba
        function, two to four are computed at once.

    Raises:
        ScalarError: f returns something else than one real number.
        SparsityError, ImportError, ArgumentError, UnsupportedError: As in `sparse_jacobian`.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> H = dr.sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))(np.array([1.0, 2.0, 3.0]))
    >>> H.toarray()
    array([[ 4., -4.,  0.],
           [-4., 38., -8.],
           [ 0., -8.,  2.]])
    """
    return Transformed(_sparse_hessian, f, argnums=argnums, check=check, patterns=_patterns(sparsity, argnums))


def _sparse_jacobian(
    f: Any, args: tuple[Any, ...], kwargs: Any, *, argnums: int, mode: str | None, check: bool, patterns: Patterns
) -> Any:
    """Return the Jacobian of one call."""
    passes = of_passes.made(f, args, kwargs, argnums, 1)
    return patterns.matrix(
        f, passes, check, lambda: find(passes, mode), lambda pattern: compression(pattern, mode, passes.weight)
    )


def _sparse_hessian(
    f: Any, args: tuple[Any, ...], kwargs: Any, *, argnums: int, check: bool, patterns: Patterns
) -> Any:
    """Return the Hessian of one call."""
    passes = of_passes.made(f, args, kwargs, argnums, 2)
    return patterns.matrix(
        f, passes, check, lambda: symmetric(find(passes, "fwd")), lambda p: star_compression(symmetric(p))
    )


class Patterns:
    """Compressions of the pattern that was given, or of those that were found, by shape."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self._kept: dict[tuple[int, int], Compression] = {}
        self._recent: dict[int, Compression] = {}  # by the number of columns: to ask for the other takes a run of f

    def matrix(
        self,
        f: Any,
        passes: Any,
        check: bool,
        find: Callable[[], Any],
        compress: Callable[[Any], Compression],
    ) -> Any:
        """Return the matrix; if the pattern has changed, the matrix of a new one."""
        found, is_here = self._recent.get(passes.columns), False
        made = found and _evaluated(passes, found, check)
        if not made:  # nothing is known, or the value has another size
            found, is_here = self._compression(f, passes, find, compress)
            made = _evaluated(passes, found, check)
        assert found
        assert made
        matrix, gaps = made
        doubt = missing_entries.doubtful(gaps, found.tolerance(passes.epsilon))
        if not len(doubt):
            return matrix
        if is_here:  # what is not finite is complete, too
            _refuse_hidden(f, passes, found, matrix, gaps)
            return matrix
        if len(doubt) <= missing_entries.FEW and not missing_entries.lacking(passes, found, matrix, doubt):
            found.allow(gaps, passes.epsilon)
            return matrix
        if self._given is not None:
            self._refuse_missing(f, passes, found, find, compress)
            return matrix  # it was rounding
        fresh = compress(_joined(found.pattern, _found(f, find)))
        fresh.rounding = found.rounding
        larger = _evaluated(passes, fresh, check)
        assert larger
        _refuse_hidden(f, passes, fresh, *larger)
        self._keep(passes, fresh)
        return larger[0]

    def _refuse_missing(self, f: Any, passes: Any, given: Compression, find: Any, compress: Any) -> None:
        """SparsityError if the pattern that was given lacks an entry that is not zero."""
        try:
            fresh, by_nan = compress(_joined(given.pattern, _found(f, find))), True
        except SparsityError:  # NaN finds nothing
            fresh, by_nan = given, False
        larger = _evaluated(passes, fresh, True)
        assert larger
        _refuse_outside(f, passes, larger[0], given)
        _refuse_hidden(f, passes, fresh, *larger, by_nan=by_nan, is_given=True)
        given.rounding = fresh.rounding

    def _keep(self, passes: Any, found: Compression) -> None:
        self._kept[passes.shape] = self._recent[passes.columns] = found

    def _compression(self, f: Any, passes: Any, find: Any, compress: Any) -> tuple[Compression, bool]:
        """Return the compression for this shape, and whether its pattern was found just now, at this point."""
        kept, is_here = self._kept.get(passes.shape), False
        if kept is None:
            pattern = self._given
            if pattern is None:
                pattern, is_here = _found(f, find), True
            elif pattern.shape != passes.shape:
                raise SparsityError(
                    f"the sparsity of {_name(f)} is of shape {pattern.shape}",
                    f"the derivative is of shape {passes.shape}",
                    "a pattern of this shape, or no sparsity",
                )
            kept = compress(pattern)
        self._keep(passes, kept)
        return kept, is_here


def _patterns(sparsity: Any, argnums: Any) -> Patterns:
    """The pattern that is given as a csr_array of ones, or none yet."""
    if isinstance(argnums, Sequence):
        raise TypeError(
            f"argnums={argnums!r}: a sparse derivative is by one argument, which may be nested data; an int"
        )
    if importlib.util.find_spec("scipy") is None:
        raise ImportError(
            "sparse derivatives are SciPy's sparse arrays, and SciPy is not installed:"
            " write pip install scipy, or use dualrev.jacobian or dualrev.hvp"
        )
    if sparsity is None:
        return Patterns(None)
    from scipy import sparse

    if not sparse.issparse(sparsity):
        sparsity = np.asarray(sparsity) != 0
    if sparsity.ndim != 2:
        what, why = f"a sparsity has {sparsity.ndim} axes", "it is the pattern of a matrix"
        raise SparsityError(what, why, "an array with two, a row for each number of the value")
    coordinates = sparse.coo_array(sparsity)
    ones = np.ones(len(coordinates.row), np.int8)
    made = sparse.csr_array((ones, (coordinates.row, coordinates.col)), shape=sparsity.shape)
    made.sum_duplicates()
    made.data[:] = 1
    return Patterns(made)


def _found(f: Any, find: Callable[[], Any]) -> Any:
    """The pattern, unless NaN cannot find it."""
    fast = getattr(f, "targetoptions", {}).get("fastmath", False)
    if fast is True or (fast and {"fast", "nnan"} & set(fast)):
        what, why = f"the sparsity of {_name(f)} cannot be found", "its fastmath says that there is no NaN"
        raise SparsityError(what, why, "the pattern as `sparsity`, or njit without fastmath")
    try:
        return find()
    except (ArithmeticError, AssertionError, RuntimeError, ValueError) as error:
        if isinstance(error, DualrevError) and not isinstance(error, SolutionError):
            raise
        what = f"the sparsity of {_name(f)} cannot be found"
        why = f"its derivative in the direction of NaN raises {type(error).__name__}: {error}"
        raise SparsityError(what, why, "the pattern as `sparsity`") from error


def _joined(pattern: Any, other: Any) -> Any:
    """Both patterns as one, in order, with ones."""
    made = (pattern + other).tocsr()
    made.sum_duplicates()
    made.data[:] = 1
    return made


def _evaluated(passes: Any, compression: Compression, check: bool) -> tuple[Any, np.ndarray] | None:
    """The matrix, and the gaps of its lines, if they are asked for; None if it is of another shape."""
    if compression.transposed and passes.shape != compression.pattern.shape:
        return None
    products = (passes.pull if compression.transposed else passes.push)(compression.directions(check))
    if products.shape[1] != compression.pattern.shape[compression.transposed]:
        return None
    return compression.matrix(products, passes.dtype)


def _refuse_outside(f: Any, passes: Any, matrix: Any, given: Compression) -> None:
    """SparsityError if the matrix has an entry, not zero, that is not in the pattern that was given."""
    outside = matrix.tocoo(copy=True)
    inside = given.pattern.tocoo()
    columns = matrix.shape[1]
    have = inside.row.astype(np.int64) * columns + inside.col
    absolute = np.abs(outside.data.astype(float))
    sizes = np.bincount(outside.row, np.where(np.isfinite(absolute), absolute, 0.0), matrix.shape[0])
    lacking = ~np.isin(outside.row.astype(np.int64) * columns + outside.col, have)
    lacking &= missing_entries.tells(passes, absolute, given.tolerance(passes.epsilon) * sizes[outside.row])
    if lacking.any():
        k = int(np.argmax(lacking))
        more = f", and {lacking.sum()} of such entries are not zero"
        _refuse_entry(f, (int(outside.row[k]), int(outside.col[k])), outside.data[k], more, is_given=True)


def _refuse_hidden(
    f: Any,
    passes: Any,
    compression: Compression,
    matrix: Any,
    gaps: np.ndarray,
    *,
    by_nan: bool = True,
    is_given: bool = False,
) -> None:
    """SparsityError for an entry outside of the pattern in one of the lines with the largest gaps; else allow the gaps.

    A pattern that has been found by NaN at this point is complete where the matrix is not finite.
    """
    gaps = np.where(np.isnan(gaps), 0.0 if by_nan else np.inf, gaps)
    doubt = missing_entries.doubtful(gaps, compression.tolerance(passes.epsilon))
    worst = doubt[np.argsort(-gaps[doubt], kind="stable")[: missing_entries.FEW]]
    for line, direction, least in missing_entries.lacking(passes, compression, matrix, worst) if len(worst) else ():
        place, value = missing_entries.entry(passes, compression, line, direction, least)
        if not (np.isnan(value) and (by_nan or not passes.known_zeros)):  # NaN would have found it
            _refuse_entry(f, place, value, is_given=is_given)
    compression.allow(gaps, passes.epsilon)


def _refuse_entry(f: Any, place: tuple[int, int], value: float, more: str = "", *, is_given: bool) -> NoReturn:
    """SparsityError for an entry that is not in the pattern."""
    what = f"the sparsity {'of' if is_given else 'that NaN finds for'} {_name(f)} lacks the entry {place}"
    instead = "the pattern as `sparsity`: a rule that drops NaN hides the entry"
    if is_given:
        instead = "a pattern with all of them, or no sparsity: it is found"
    raise SparsityError(what, f"the derivative there is {value:.6g}{more}", instead)


def _name(f: Any) -> str:
    return repr(getattr(f, "__name__", "the function"))
