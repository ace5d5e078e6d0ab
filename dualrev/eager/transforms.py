"""Gradients, Jacobians and products with Hessians of Python functions: each from one run of the function.

What dualrev/api/derivatives.py offers, for one call: f, its arguments, and the options. `engine` is a module or an
object with `linearize`, as dualrev.eager.tape.engine has it, or with `vjp`, as the stages of the paper do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.diagnostics import nans
from dualrev.eager.arguments import Argnums, choose, several
from dualrev.eager.arrays.memory.storage import RealArray, innermost, own, plain, strip, zero
from dualrev.eager.checking.explanations import explained
from dualrev.eager.checking.plain_run import PlainRun, wanted
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.py_func_globals import as_python
from dualrev.eager.tables.pandas_xarray import with_labels
from dualrev.eager.tape import engine as default_engine
from dualrev.errors import AuxiliaryError, ConversionError, LeafError, ScalarError, TangentError
from dualrev.transformed import Transformed
from dualrev.tree import flatten_leaves

__all__ = ["grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "linearize", "value_and_grad", "with_zeros"]


class _ByPullback:
    """The derivative of an engine that has no forward mode: the transpose of its transpose."""

    def __init__(self, engine: Any, primals: tuple[Any, ...], y: Any, pull: Callable[[Any], tuple[Any, ...]]) -> None:
        self._engine, self._primals, self._y, self.pull = engine, primals, y, pull

    def push(self, *tangents: Any) -> Any:
        """Return the tangent of the value: the transpose of the pullback."""
        flatten_leaves(self._primals)[1].read_leaves(tangents, TangentError)
        leaves, structure = flatten_leaves(self._y)
        _, transpose = self._engine.vjp(self.pull, structure.cotangent_leaves([zero(x) for x in leaves]))
        return transpose(tangents)[0]


def with_zeros(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The tangents, with zeros for arguments whose tangent is None: they do not move."""
    made = list(tangents)
    for k, (x, t) in enumerate(zip(primals, tangents, strict=False)):
        if t is None:
            leaves, structure = flatten_leaves((x,))
            (made[k],) = structure.cotangent_leaves([zero(leaf) for leaf in leaves]) if leaves else (None,)
    return tuple(made)


def linearize(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    engine: Any,
    call: Any = None,
    check: bool = False,
    of_value: bool = True,
) -> tuple[Any, Any, Any]:
    """The value of f, its derivative (with `pull` and `push`), and what else it returned.

    If the user's function has other arguments, too, `call` is that function and its (args, kwargs). With `check`, or if
    the environment says so, the value is compared with that on plain numbers. Under `debug_nans`, the value may be
    infinite or NaN if it is not `of_value`: a derivative that nobody asked for.
    """
    run = default_engine.linearize if engine is None else _linearize_of(engine)
    aux: list[Any] = []
    f = as_python(f)
    function = _without_aux(f, aux) if has_aux else f
    plain = None
    if check or wanted():
        called, args, kwargs = call or (f, primals, {})
        plain = PlainRun(called, args, kwargs, has_aux)
    if nans.active and nans.debugging():
        run = functools.partial(_watched, run, (primals, call and call[1:]), of_value)
    with ConversionError.remembered():
        try:
            y, derivative = run(function, *primals)
        except Exception as error:
            if (ours := explained(error)) is None:
                raise
            raise ours from (None if ours is error.__cause__ else error)
    if plain is not None:
        plain.compare(y, functools.partial(_value_by, run, function, primals))
    return y, derivative, aux[0] if has_aux else None


def _watched(run: Callable[..., Any], given: Any, of_value: bool, *args: Any) -> Any:
    """Linearize under `debug_nans`, which needs facts about the call."""
    try:
        is_finite = all(np.isfinite(plain(x)).all() for x in flatten_leaves(given)[0])
    except LeafError:  # an argument that is a constant may be anything
        is_finite = False
    with nans.within(nans.Call(is_finite, of_value)):
        return run(*args)


def _linearize_of(engine: Any) -> Callable[..., tuple[Any, Any]]:
    """`linearize` of an engine; TypeError if it is none."""
    if hasattr(engine, "linearize"):
        of_engine: Callable[..., tuple[Any, Any]] = engine.linearize
        return of_engine
    if not hasattr(engine, "vjp"):
        raise TypeError(f"an engine has vjp(f, *primals) -> (y, pullback), and engine={engine!r} has none")

    def by_pullback(function: Callable[..., Any], *primals: Any) -> tuple[Any, Any]:
        """Return the value and the derivative of a function, from the engine's vjp."""
        y, pull = engine.vjp(function, *primals)
        return y, _ByPullback(engine, primals, y, pull)

    return by_pullback


def _value_by(run: Callable[..., tuple[Any, Any]], function: Callable[..., Any], primals: tuple[Any, ...]) -> Any:
    return run(function, *primals)[0]


def _without_aux(f: Callable[..., Any], aux: list[Any]) -> Callable[..., Any]:
    """f without its second result, which goes to the list, as the values that the caller's own level sees."""

    def function(*duals: Any) -> Any:
        """Return the first result, and keep the second one."""
        run = innermost(flatten_leaves(duals)[0])
        assert run is not None
        made = f(*duals)
        if not isinstance(made, tuple) or len(made) != 2:
            raise AuxiliaryError(made)
        leaves, structure = flatten_leaves(made[1])
        for leaf in leaves:
            innermost([leaf])  # is it left over from a call that has ended?
        aux[:] = [structure.rebuild_leaves([own(strip(leaf, run)) for leaf in leaves])]
        return made[0]

    return function


def value_and_grad(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    argnums: Argnums,
    has_aux: bool,
    engine: Any,
) -> Any:
    """(y, gradient), or ((y, aux), gradient) with has_aux; ScalarError if y is not one real number."""
    function, chosen = choose(f, argnums, args, kwargs)
    y, derivative, aux = linearize(function, chosen, has_aux, engine, (f, args, kwargs))
    gradient = derivative.pull(_one_like(y))
    gradient = gradient if several(argnums) else gradient[0]
    return ((y, aux) if has_aux else y), gradient


def _one_like(y: Any) -> Any:
    """The number 1 as a cotangent of y: a number, or an array without axes, which may have a label."""
    if y.__class__ is float or isinstance(y, (np.floating, DualNumber)):
        return 1.0
    if isinstance(y, (np.ndarray, RealArray)) and not y.ndim:
        return np.ones(())
    table = with_labels(y)
    if table is None or y.ndim:
        raise ScalarError(y)
    return table.build([np.ones(())])


def grad(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    argnums: Argnums,
    has_aux: bool,
    engine: Any,
) -> Any:
    """The gradient, or (gradient, aux)."""
    y, gradient = value_and_grad(f, args, kwargs, argnums=argnums, has_aux=has_aux, engine=engine)
    return (gradient, y[1]) if has_aux else gradient


def hvp(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, engine: Any) -> Any:
    """The product of the Hessian at x with p; both are in args, before what else f takes."""
    if len(args) < 2:
        raise TypeError("hvp(f) takes x and p, and then whatever else f takes: hvp(f)(x, p, *args)")
    x, p, *rest = args
    flatten_leaves(x)[1].read_leaves(p, TangentError.of_vector)

    def gradient(x: Any) -> Any:
        """Return the gradient at x."""
        return grad(f, (x, *rest), kwargs, argnums=0, has_aux=False, engine=engine)

    product = linearize(gradient, (x,), False, engine, of_value=False)[1].push(p)
    return flatten_leaves(x)[1].cotangent_leaves(flatten_leaves(product)[0])


def jacobian(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    argnums: Argnums,
    has_aux: bool,
    engine: Any,
    mode: str | None = None,
    holomorphic: bool = False,
) -> Any:
    """The Jacobian by rows, mode "rev", by columns, "fwd", or by whichever is fewer, None; or (jacobian, aux)."""
    function, chosen = choose(f, argnums, args, kwargs)
    of_value = not isinstance(f, Transformed)
    y, derivative, aux = linearize(function, chosen, has_aux, engine, (f, args, kwargs), of_value=of_value)
    outputs, output = flatten_leaves(y)
    inputs, structure = flatten_leaves(chosen)
    has_complex = holomorphic or output.has_complex or structure.has_complex
    if has_complex:
        from dualrev.eager import complex_jacobians  # real code has no need of it

        complex_jacobians.check(output, structure, holomorphic)
    if mode is None:
        mode = "rev" if sum(map(_size, outputs)) <= sum(map(_size, inputs)) else "fwd"
    if mode == "rev":
        cts = (output.cotangent_leaves(output.conjugated(one)) for one in _basis(outputs))
        rows = [structure.conjugated(flatten_leaves(derivative.pull(ct))[0]) for ct in cts]
        blocks = _blocks(outputs, inputs, rows)
    else:
        columns = [
            flatten_leaves(derivative.push(*tangents))[0]
            for tangents in map(structure.cotangent_leaves, _basis(inputs))
        ]
        transposed = _blocks(inputs, outputs, columns)
        firsts = [len(_shape(x)) for x in inputs]
        blocks = [[_transpose(transposed[k][j], n) for k, n in enumerate(firsts)] for j in range(len(outputs))]
    parts = structure.leaf_parts()
    blocks = [list(map(_in_dtype, row, parts)) for row in blocks]
    nest: Any = type(structure).map_leaves
    if has_complex:
        blocks, nest = complex_jacobians.entries(blocks, output, structure), complex_jacobians.folded
    nested = [nest(structure, row) for row in blocks]
    made = nest(output, nested if several(argnums) else [row[0] for row in nested])
    return (made, aux) if has_aux else made


def jacrev(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
    """The Jacobian by rows; options as in `jacobian`."""
    return jacobian(f, args, kwargs, mode="rev", **options)


def jacfwd(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
    """The Jacobian by columns; options as in `jacobian`."""
    return jacobian(f, args, kwargs, mode="fwd", **options)


def hessian(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
    """The Jacobian of the Jacobian by rows; options as in `jacobian`."""
    return jacobian(Transformed(jacrev, f, **options), args, kwargs, **options)


def _in_dtype(block: Any, part: Any) -> Any:
    """A block of a Jacobian in the dtype of its argument."""
    kind = getattr(part, "dtype", None) or part.kind
    if isinstance(block, (np.ndarray, RealArray)) and not block.ndim and not isinstance(kind, np.dtype):
        block = block.item()  # the derivative of an array without axes by a number
    if isinstance(block, np.ndarray):
        return block.astype(kind, copy=False) if block.dtype != object and isinstance(kind, (type, np.dtype)) else block
    if block.__class__ is not float:
        return block
    return np.array(block, kind) if isinstance(kind, np.dtype) else kind(block)


def _basis(leaves: Sequence[Any]) -> Any:
    """The leaves of every unit vector of nested data with these leaves."""
    zeros = [zero(x) for x in leaves]
    for k, x in enumerate(leaves):
        for place in range(_size(x)):
            one: Any = zero(x)
            if isinstance(one, np.ndarray):
                one.reshape(-1)[place] = 1.0
            else:
                one = 1.0
            yield [*zeros[:k], one, *zeros[k + 1 :]]


def _shape(x: Any) -> tuple[int, ...]:
    """np.shape of a leaf, but faster."""
    return getattr(x, "shape", ())


def _size(x: Any) -> int:
    return math.prod(_shape(x))


def _blocks(of: Sequence[Any], by: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """For every leaf of the one side and of the other, their part of the matrix: shape of the one + of the other."""
    blocks, start = [], 0
    for x in of:
        mine = rows[start : start + _size(x)]
        start += _size(x)
        if _shape(x):
            blocks.append([_stack([row[k] for row in mine], _shape(x), u) for k, u in enumerate(by)])
        else:
            blocks.append(list(mine[0]))
    return blocks


def _stack(rows: list[Any], shape: tuple[int, ...], u: Any) -> Any:
    if not rows:
        return np.zeros(shape + _shape(u))
    return np.reshape(np.stack(rows), shape + _shape(u))


def _transpose(block: Any, first: int) -> Any:
    """The first axes behind the others."""
    if not first:
        return block
    return np.transpose(block, [*range(first, np.ndim(block)), *range(first)])
