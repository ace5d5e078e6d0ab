"""numpy's elementwise functions on arrays of dual numbers: the table's lines, over whole arrays.

The partials of the table are text with conditional expressions, `p if x > 0.0 else q`. For arrays the text becomes
what np.where(x > 0.0, p, q) gives, and the functions in it numpy's: on arrays of an outer run these come back here.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays import places, products, reductions
from dualrev.eager.arrays.record import alone, attach, by_terms, ids_of, kept_on, sum_of_rows
from dualrev.eager.arrays.special import MANY, compiled_loop
from dualrev.eager.arrays.storage import (
    RealArray,
    holds_duals,
    innermost,
    kept,
    plain,
    real_array,
    refuse_foreign,
    strip,
    to_objects,
)
from dualrev.eager.blocks import Partial, Terms
from dualrev.eager.dual import DualNumber
from dualrev.eager.lines import function
from dualrev.eager.tape import Real, Tape
from dualrev.eager.ufuncs import apply_ufunc as apply_to_objects
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import TABLE
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["apply_ufunc", "as_real_array", "elementwise", "into", "on_arrays", "table_by_ufunc"]


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A numpy ufunc, or a method of it, on arrays and numbers, some under differentiation: what numpy calls.

    UnsupportedError for what has no rule. ConversionError if the result is to go into a plain array.
    """
    name = ufunc.__name__
    if method == "__call__" and not kwargs and all(map(_is_usual, inputs)):
        line = table_by_ufunc().get(name)  # the common case, without what the others need
        if line is not None:
            return elementwise(line, inputs, ufunc)
        if name in _PRODUCTS:
            return getattr(products, name)(*inputs)
    if method == "at":
        return _at(ufunc, *inputs)
    args = tuple(u if isinstance(u, DualNumber) else real_array(u) for u in inputs)
    out, where = kwargs.pop("out", (None,)), plain(kwargs.pop("where", True))
    if method == "__call__":
        made = _call(ufunc, name, args, kwargs, where)
    elif method in ("reduce", "accumulate", "reduceat") and name not in _OF_VALUES:
        if where is not True:
            kwargs["where"] = where
        made = _along(ufunc, method, *args, **{"axis": 0, **kwargs})
        return into(out[0], as_real_array(made), True)
    elif method == "outer":
        a, b = (real_array(u) for u in args)
        made = ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)
    elif name in _OF_VALUES:
        made = getattr(ufunc, method)(*map(plain, args), **kwargs, **({} if where is True else {"where": where}))
        where = True
    else:
        raise UnsupportedError(f"numpy.{name}.{method}", "it with numpy's functions on whole arrays, or as a loop")
    if isinstance(made, tuple):
        outs = out if len(out) == len(made) else (None,) * len(made)
        return tuple(into(o, m, where) for o, m in zip(outs, made, strict=True))
    return into(out[0], made, where)


def _is_usual(u: Any) -> bool:
    if u.__class__ is np.ndarray:
        return bool(u.dtype == float)
    return isinstance(u, (RealArray, DualNumber, float))


def _call(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], where: Any) -> Any:
    if name in _OF_VALUES:
        return ufunc(*map(plain, args), **kwargs)
    dtype = kwargs.pop("dtype", None)
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise UnsupportedError(
            f"numpy.{name} with dtype={dtype}", "it without a dtype: derivatives are of real numbers"
        )
    if name in _PRODUCTS:
        if kwargs.keys() & {"axes", "keepdims"}:
            raise UnsupportedError(
                f"numpy.{name} with {', '.join(kwargs)}", "numpy.einsum, or numpy.moveaxis before it"
            )
        return getattr(products, name)(*args, **{key: u for key, u in kwargs.items() if key == "axis"})
    line = table_by_ufunc().get(name)
    if line is None and name not in _COMPOSED:
        if any(map(holds_duals, args)):
            raise UnsupportedError(
                f"numpy.{name}", "it with functions that have a rule, or give it one with dualrev.primitive"
            )
        return as_real_array(ufunc(*map(plain, args), **kwargs))
    for key in kwargs.keys() - {"casting", "subok"}:  # those say nothing about arrays of floats
        if kwargs[key] not in (None, "K"):
            raise UnsupportedError(f"numpy.{name} with {key}=", f"it without, or a copy with that {key}")
    if where is not True:
        with np.errstate(all="ignore"):  # the elements that are left out may lie outside of the domain
            return _call(ufunc, name, args, kwargs, True)
    return _COMPOSED[name](*args) if line is None else elementwise(line, args, ufunc)


def _along(ufunc: Any, method: str, a: Any, *at: Any, axis: Any, **kwargs: Any) -> Any:
    """reduce, accumulate and reduceat: by the function of numpy that does the same, or slice by slice."""
    name = ufunc.__name__
    known = _METHODS.get(method, {}).get(name)
    if known is not None:
        return known(a, axis=axis, **{key: u for key, u in kwargs.items() if u is not None})
    if not any(map(holds_duals, (a, *kwargs.values()))):
        return getattr(ufunc, method)(plain(a), *at, axis=axis, **kwargs)
    dtype = kwargs.pop("dtype", None)
    of_others = kwargs or (dtype is not None and np.dtype(dtype).kind != "f")
    if ufunc.nin != 2 or ufunc.nout != 1 or np.ndim(axis) or axis is None or of_others:
        raise UnsupportedError(f"numpy.{name}.{method}", "it with numpy's functions on whole arrays, or as a loop")
    if method == "accumulate":
        return reductions.accumulate(ufunc, a, axis)
    if method == "reduce":
        return reductions.accumulate(ufunc, a, axis).take(-1, axis)
    slices = np.moveaxis(a, axis, 0)
    ends = [*at[0][1:], len(slices)]
    made = [ufunc.reduce(slices[i:j]) if i < j else slices[i] for i, j in zip(at[0], ends, strict=True)]
    return np.moveaxis(np.stack(made), 0, axis)


def elementwise(line: Primitive, args: Sequence[Any], compute: Callable[..., Any]) -> Any:
    """A line of the table on arrays and numbers, which broadcast; `compute` is the function of their values."""
    tape, ids, xs = alone(args)
    if tape is not None and not line.functions:
        if line.name == "pow" and args[1].__class__ in (float, int) and args[1] == 2:
            line, args, compute, ids, xs = PRIMITIVES["mul"], (args[0],) * 2, np.multiply, ids[:1] * 2, xs[:1] * 2
        y = compute(*xs)
        if y.__class__ is np.ndarray and y.dtype == float and y.ndim:
            return _recorded(line, args, ids, tape, y)
    for u in args:
        refuse_foreign(u)
    for u in args:
        if isinstance(u, (RealArray, np.ndarray)) and u.ndim:
            break
    else:
        numbers = [u[()] if isinstance(u, (RealArray, np.ndarray)) else u for u in args]
        try:
            return function(line)(*numbers)
        except (ArithmeticError, ValueError):  # numpy's functions give infinities and NaN
            return elementwise(line, [real_array(numbers[0]).reshape(1), *numbers[1:]], compute)[0]
    run = innermost(args)
    if run is None:
        return as_real_array(compute(*map(plain, args)))
    if not isinstance(run, Tape):
        objects = [to_objects(u) for u in args]
        return apply_to_objects(compute, "__call__", tuple(objects), {})
    if line.name == "pow" and args[1].__class__ in (int, float, np.ndarray) and np.ndim(args[1]) == 0 and args[1] == 2:
        line, args, compute = PRIMITIVES["mul"], (args[0], args[0]), np.multiply
    xs = [strip(u, run) for u in args]
    y = compute(*xs)
    shape = np.shape(y)
    terms = []
    later = y.__class__ is np.ndarray and not line.functions and y.dtype == float
    for k, u in enumerate(args):
        ids = ids_of(u, run)
        if ids is not None and line.partials[k] != "0.0":
            p = functools.partial(_later, line, k, args, run) if later else _partial(line, k, xs, y)
            terms.append((ids, p))
    if not terms:
        return as_real_array(y)
    return by_terms(run, y, terms, shape)


def _recorded(line: Primitive, args: Sequence[Any], ids: Sequence[Any], run: Tape, y: np.ndarray) -> Any:
    """The value y as the result of a line, on arrays of one run and floats."""
    made, out = attach(run, y)
    operands: list[tuple[Any, Any]] = []
    for mine, (constant, needs, f) in zip(ids, _array_partials_later(line), strict=True):
        if mine is None or constant == 0.0:
            continue
        if not needs:
            operands.append((mine, constant))
        elif f is None:
            operands.append((mine, _kept(run, args[needs[0]] if needs[0] >= 0 else made)))
        else:
            operands.append((mine, Partial(f, tuple([_kept(run, args[i] if i >= 0 else made) for i in needs]))))
    if not operands:
        return as_real_array(y)
    run.blocks.append(Terms(run.fresh(), out, operands, y.shape, y.shape))
    return made


def _kept(run: Tape, u: Any) -> Any:
    if u.__class__ is RealArray:
        return u.keep()
    return kept(u.x) if u.__class__ is Real else kept_on(run, u)


def _partial(line: Primitive, k: int, xs: Sequence[Any], y: Any) -> Any:
    """The partial derivative with respect to argument k: a number, or an array that nobody else can change."""
    # Python's numbers would raise at the edge of a domain where numpy's have a limit
    xs = [np.float64(x) if x.__class__ is float else real_array(x) if isinstance(x, DualNumber) else x for x in xs]
    with np.errstate(all="ignore"):
        p = _array_partials(line)[k](*xs, y)
    if isinstance(p, DualNumber):
        return p
    if not isinstance(p, (np.ndarray, RealArray)):
        return float(p)
    if not p.ndim:
        p = p[()]
        return p if isinstance(p, DualNumber) else float(p)
    of_others = any(p is x for x in (*xs, y))
    p = real_array(p)
    if isinstance(p, RealArray) and not p.layers():  # no constant takes the way of numbers of an outer run
        p = p.x
    if isinstance(p, RealArray):
        return p.copy() if of_others else p
    return np.array(p, dtype=float) if of_others or p.dtype != float else p


def _later(line: Primitive, k: int, args: Sequence[Any], run: Tape, y: Any) -> Any:
    """The same where there are plain values only, computed when it is asked for: a number, or what has a `value`."""
    constant, needs, f = _array_partials_later(line)[k]
    if not needs:
        return constant
    kepts = tuple([_kept(run, y if i < 0 else args[i]) for i in needs])
    return kepts[0] if f is None else Partial(f, kepts)


@functools.cache
def _array_partials_later(line: Primitive) -> list[tuple[float | None, tuple[int, ...], Any]]:
    """Each partial as a number, or as a function of the arguments that it needs: their places, -1 for the value."""
    made: list[tuple[float | None, tuple[int, ...], Any]] = []
    places = {**{name: k for k, name in enumerate(line.parameters)}, "y": -1}
    for text, whole in zip(line.partials, _array_partials(line), strict=True):
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        names = [name for name in places if name in used]
        if not names:
            made.append((float(whole(*([np.float64(1.0)] * len(places)))), (), None))
            continue
        f = None if names == [text] else _of_names(whole, list(places), names)
        made.append((None, tuple(places[name] for name in names), f))
    return made


def _of_names(whole: Callable[..., Any], places: list[str], names: list[str]) -> Callable[..., Any]:
    """A function of all arguments and the value as one of those that it needs."""
    arguments = ", ".join(name if name in names else "None" for name in places)
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: whole({arguments})", {"whole": whole})
    return made


@functools.cache
def _array_partials(line: Primitive) -> list[Callable[..., Any]]:
    """The partials as functions of arrays: x or a, b, c, and the value y."""
    names = {**_numpy_names(), **{name: _by_elements(f) for name, f in line.functions.items()}}
    made = []
    for text in line.partials:
        tree = _ForArrays().visit(ast.parse(text, mode="eval"))
        parameters = ", ".join((*line.parameters, "y"))
        source = ast.unparse(ast.fix_missing_locations(tree))
        made.append(eval(compile(f"lambda {parameters}: {source}", f"<dualrev {line.name}>", "eval"), names))
    return made


class _ForArrays(ast.NodeTransformer):
    """Conditional expressions and logic become functions that numpy has for arrays."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        sides: list[ast.expr] = [ast.Lambda(nothing, side) for side in (node.body, node.orelse)]
        return ast.Call(ast.Name("either", ast.Load()), [node.test, *sides], [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        made, *rest = node.values
        for operand in rest:
            made = ast.Call(ast.Name(name, ast.Load()), [made, operand], [])
        return made


def _either(test: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """np.where, which computes nothing that no element needs."""
    if np.all(test):
        return one()
    return np.where(test, one(), other()) if np.any(test) else other()


@functools.cache
def _numpy_names() -> dict[str, Any]:
    """What the functions of the table's text are on arrays."""
    made: dict[str, Any] = {name: getattr(np, name) for name in ("logical_and", "logical_or", "nan", "inf")}
    made["either"] = _either
    for name in FUNCTIONS:
        line = PRIMITIVES["pow" if name == "power" else name]
        made[name] = getattr(np, line.ufunc) if line.ufunc else on_arrays(line)
    return made


def on_arrays(line: Primitive) -> Callable[..., Any]:
    """A line that numpy has no function for, as a function of arrays and numbers."""
    compute = _by_elements(function(line), compiled_loop(line.name))
    return lambda *args: elementwise(line, args, compute)


def _by_elements(f: Callable[..., Any], many: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of numbers on arrays, too; `many` is the same for many plain numbers."""

    def apply(*args: Any) -> Any:
        if many is not None and max(map(np.size, args)) >= MANY and not any(map(holds_duals, args)):
            return many(*map(plain, args))
        args = tuple(to_objects(u) for u in args)
        if not any(np.ndim(u) for u in args if isinstance(u, np.ndarray)):
            return f(*args)
        made = np.frompyfunc(f, len(args), 1)(*(u.view(np.ndarray) if isinstance(u, np.ndarray) else u for u in args))
        return real_array(made) if holds_duals(made) else made.astype(float)

    return apply


def as_real_array(y: Any) -> Any:
    """A result without numbers under differentiation: it can hold some, as the arrays that it was made of."""
    return RealArray(np.array(y)) if isinstance(y, np.ndarray) and y.ndim and y.dtype == float else y


def into(out: Any, made: Any, where: Any) -> Any:
    """What was made, in the array `out` if there is one, where `where` is true."""
    if out is None:
        if where is not True:
            raise UnsupportedError(
                "a numpy function with where= but without out=", "np.where(condition, result, other)"
            )
        return made
    if np.shape(made) != np.shape(out) and np.broadcast_shapes(np.shape(made), np.shape(out)) != np.shape(out):
        raise ValueError(
            f"non-broadcastable output operand with shape {np.shape(out)} for a result of {np.shape(made)}"
        )
    places.copyto(out, made, where=where)
    return out


def _at(ufunc: Any, a: Any, key: Any, b: Any = None) -> None:
    """a[key] = ufunc(a[key], b), where an element may be chosen more than once."""
    name = ufunc.__name__
    chosen = np.arange(a.size).reshape(a.shape)[key]
    if np.unique(chosen).size == chosen.size:
        places.assign(a, key, ufunc(a[key]) if ufunc.nin == 1 else ufunc(a[key], b))
    elif name in ("add", "subtract"):
        b = np.broadcast_to(real_array(b), chosen.shape).reshape(-1)
        total = sum_of_rows(b, chosen.reshape(-1), a.size)
        places.assign(a, ..., ufunc(a, real_array(total).reshape(a.shape)))
    else:
        raise UnsupportedError(f"numpy.{name}.at with an element chosen more than once", "a loop")


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return np.floor_divide(a, b), np.remainder(a, b)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = np.trunc(plain(x))
    return x - whole, whole


def _nan_to(x: Any, other: Any, pick: Any) -> Any:
    """fmax and fmin: the number, where the other is NaN."""
    a, b = np.where(np.isnan(x), other, x), np.where(np.isnan(other), x, other)
    return pick(a, b)


def _heaviside(x: Any, h: Any) -> Any:
    x = plain(x)
    return real_array(np.where(np.isnan(x), math.nan, np.where(x == 0, h, 1.0 * (x > 0))))[()]


def _product(how: tuple[str, float | None], x: Any) -> Any:
    """What the table of functions says is a product or a quotient."""
    symbol, other = how
    return other / x if symbol == "/" else x * (x if other is None else other)


@functools.cache
def table_by_ufunc() -> dict[str, Primitive]:
    """The table's lines by the names that numpy and SciPy have for ufuncs; `cache_clear` when a line is added."""
    lines = {getattr(np, line.ufunc).__name__: line for line in PRIMITIVES.values() if hasattr(np, line.ufunc or "-")}
    of_scipy = {"gammaln": "lgamma", **{name: name for name in ("erf", "erfc", "gamma", "expit")}}
    lines |= {name: PRIMITIVES[line] for name, line in of_scipy.items()}
    lines |= {line.ufunc: line for line in PRIMITIVES.values() if line.ufunc and not hasattr(np, line.ufunc)}
    return lines


_OF_VALUES = {f.name[3:] for f in TABLE.values() if f.discrete and isinstance(f.function, np.ufunc)}
_PRODUCTS = {"matmul", "vecdot", "matvec", "vecmat"}
_COMPOSED: dict[str, Callable[..., Any]] = {
    "conjugate": lambda x: real_array(x)[()],
    "frexp": lambda x: (x * np.exp2(-1.0 * np.frexp(plain(x))[1]), np.frexp(plain(x))[1]),
    "divmod": _divmod,
    "modf": _modf,
    "fabs": np.abs,
    "float_power": np.power,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "fmax": lambda a, b: _nan_to(a, b, np.maximum),
    "fmin": lambda a, b: _nan_to(a, b, np.minimum),
    "logaddexp2": lambda a, b: np.logaddexp(a * math.log(2.0), b * math.log(2.0)) / math.log(2.0),
    "ldexp": lambda x, n: x * np.exp2(1.0 * n),
    "heaviside": _heaviside,
    "psi": lambda x: on_arrays(PRIMITIVES["polygamma"])(0.0, x),
    "nextafter": lambda x, other: x + (np.nextafter(plain(x), plain(other)) - plain(x)),
    **{f.name[3:]: functools.partial(_product, f.product) for f in TABLE.values() if f.product and f.topic},
}
_METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "reduce": {
        "add": np.sum,
        "multiply": np.prod,
        "maximum": np.max,
        "minimum": np.min,
        "logical_and": np.all,
        "logical_or": np.any,
        "logaddexp": reductions.logsumexp,
    },
    "accumulate": {"add": np.cumsum, "multiply": np.cumprod},
}
