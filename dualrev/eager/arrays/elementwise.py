"""The table's lines on whole arrays: values by numpy, partial derivatives by the table's text.

    y = f(a, b)  ~>  y, with ids of its own; a block of terms (ids of a, df/da), (ids of b, df/db)

The partials of the table are text with conditional expressions, `p if x > 0.0 else q`. For arrays the text becomes
what np.where(x > 0.0, p, q) gives, and the functions in it numpy's: on arrays of an outer run these come back here.
Where all values are plain, a partial is computed when it is asked for, of the values that it needs; these are kept.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.record import alone, attach_array, by_terms, ids_of, kept_on
from dualrev.eager.arrays.memory.storage import (
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
from dualrev.eager.arrays.special import MANY, ArrayFunction, compiled_loop, of_scipy
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.numbers.primitive_functions import function
from dualrev.eager.numbers.ufuncs import apply_ufunc as apply_to_objects
from dualrev.eager.tape.blocks import Partial, Terms
from dualrev.eager.tape.ids import Range, saved
from dualrev.eager.tape.tape import Real, Tape
from dualrev.rules.derived import derived
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["as_real_array", "elementwise", "in_general", "of_one_run", "on_arrays"]


def elementwise(
    line: Primitive, args: Sequence[Any], compute: Callable[..., Any], later: list[Partial] | None = None
) -> Any:
    """A line of the table on arrays and numbers, which broadcast; `compute` is the function of their values.

    The list is given the partials that are computed when they are asked for.
    """
    made = of_one_run(line, args, compute, later)
    return in_general(line, args, compute, later) if made is None else made


def of_one_run(
    line: Primitive, args: Sequence[Any], compute: Callable[..., Any], later: list[Partial] | None = None
) -> Any:
    """The same where all that is known are arrays of one run, plain ones and floats; None in another case."""
    run, ids, xs = alone(args)
    if run is None or line.functions:
        return None
    if line.name == "pow" and args[1].__class__ in (float, int) and args[1] == 2:
        line, args, compute, ids, xs = PRIMITIVES["mul"], (args[0],) * 2, np.multiply, ids[:1] * 2, xs[:1] * 2
    y = compute(*xs)
    if y.__class__ is not np.ndarray or y.dtype != float or not y.ndim:
        return None
    made, out = attach_array(run, y)
    operands: list[tuple[Any, Any]] = []
    for place, (constant, needs, f) in enumerate(_array_partials_later(line)):  # zip(..., strict=True) takes longer
        mine = ids[place]
        if mine is None or constant == 0.0:
            continue
        p: Any = constant
        if f is not None:
            kepts = []
            for k in needs:
                u: Any = args[k] if k >= 0 else made
                kepts.append(u.keep() if u.__class__ is RealArray else _kept(run, u))
            p = Partial(f, kepts)
            if later is not None:
                later.append(p)
        elif needs:
            u = args[needs[0]] if needs[0] >= 0 else made
            p = float(u) if u.__class__ in _NUMBERS else _kept(run, u)
        operands.append((mine if mine.__class__ is Range else saved(mine), p))
    if not operands:
        return as_real_array(y)
    run.blocks.append(Terms(run.fresh(), out, operands, out.shape, out.shape))
    return made


def in_general(
    line: Primitive, args: Sequence[Any], compute: Callable[..., Any], later: list[Partial] | None = None
) -> Any:
    """The same in all other cases."""
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
    later = [] if later is None else later
    y = elementwise(line, xs, compute, later) if RealArray in map(type, xs) else compute(*xs)
    shape = np.shape(y)
    terms = []
    at_once = y.__class__ is not np.ndarray or bool(line.functions) or y.dtype != float
    for k, u in enumerate(args):
        ids = ids_of(u, run)
        if ids is not None and line.partials[k] != "0.0":
            p = _partial(run, line, k, args, xs, y, later) if at_once else functools.partial(_later, line, k, args, run)
            terms.append((ids, p))
    if not terms:
        return as_real_array(y)
    if line.name == "mul" and args[0] is args[1]:
        terms = terms[:1] * 2  # one partial for both
    return by_terms(run, y, terms, shape)


_NUMBERS: Any = frozenset((float, int, np.float64))


def _kept(run: Tape, u: Any) -> Any:
    if u.__class__ is RealArray:
        return u.keep()
    return kept(u.x) if u.__class__ is Real else kept_on(run, u)


def _partial(
    run: Tape, line: Primitive, k: int, args: Sequence[Any], xs: Sequence[Any], y: Any, later: list[Partial]
) -> Any:
    """The partial derivative with respect to argument k: a number, or an array that nobody else can change.

    `later` has those of the same operation as the outer runs know it.
    """
    constant, needs, f = _array_partials_later(line)[k]
    if not needs:
        return constant
    if f is None and needs[0] >= 0:
        x = xs[needs[0]]
        if x.__class__ is RealArray and x.ndim and x.layers():
            return x.keep_layers()
        if x.__class__ is np.ndarray and x.ndim:
            return _kept(run, args[needs[0]])
    # Python's numbers would raise at the edge of a domain where numpy's have a limit
    xs = [np.float64(x) if x.__class__ is float else real_array(x) if isinstance(x, DualNumber) else x for x in xs]
    with np.errstate(all="ignore"):
        operation = _as_operation(line, k) if isinstance(innermost(xs), Tape) else None
        p = operation(*xs, y, later) if operation else _array_partials(line)[k](*xs, y)
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
        return p.keep_layers() if of_others else p
    return np.array(p, dtype=float) if of_others or p.dtype != float else p


@functools.cache
def _as_operation(line: Primitive, k: int) -> Callable[..., Any] | None:
    """The k-th partial as one operation on arrays of an outer run, in place of one for each operator of its text."""
    made = derived(line, k)
    if made is None:
        return None
    whole = _array_partials(line)[k]

    def operation(*args: Any) -> Any:
        """Record a partial derivative of a line, as an elementwise operation of its own."""
        *known, later = args
        compute = _Slope(made.line, whole, known, later if len(line.partials) == 1 else [])
        return elementwise(made.line, [known[j] for j in made.places], compute)

    return operation


class _Slope:
    """The values of a partial, of the arguments and the value that are `known`: an object, as it knows no cycle."""

    def __init__(self, line: Primitive, whole: Callable[..., Any], known: list[Any], later: list[Partial]) -> None:
        self._line, self._whole, self._known, self._later = line, whole, known, later

    def __call__(self, *given: Any) -> Any:
        if any(map(holds_duals, given)):
            return elementwise(self._line, given, self)
        if self._later:
            return self._later[0].shared()
        p = np.asarray(self._whole(*map(plain, self._known)))  # 0.0 where one side of a condition holds everywhere
        return np.array(np.broadcast_to(p, np.broadcast_shapes(*map(np.shape, given))), dtype=float)[()]


def _later(line: Primitive, k: int, args: Sequence[Any], run: Tape, y: Any) -> Any:
    """The same where there are plain values only, computed when it is asked for: a number, or what has a `value`."""
    constant, needs, f = _array_partials_later(line)[k]
    if not needs:
        return constant
    kepts = [_kept(run, y if k < 0 else args[k]) for k in needs]
    return kepts[0] if f is None else Partial(f, kepts)


@functools.cache
def _array_partials_later(line: Primitive) -> list[tuple[float | None, tuple[int, ...], Any]]:
    """Each partial as a number, or as a function of the arguments that it needs: their places, -1 for the value."""
    made: list[tuple[float | None, tuple[int, ...], Any]] = []
    places = {**{name: k for k, name in enumerate(line.parameters)}, "y": -1}
    for text in line.partials:
        tree = ast.parse(text, mode="eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names = [name for name in places if name in used]
        f = _of_arrays(line, text, names, plain=True)
        if names:
            itself = isinstance(tree.body, ast.Name)
            made.append((None, tuple(places[name] for name in names), None if itself else f))
        else:
            made.append((float(f()), (), None))
    return made


@functools.cache
def _array_partials(line: Primitive) -> list[Callable[..., Any]]:
    """The partials as functions of arrays: x or a, b, c, and the value y."""
    return [_of_arrays(line, text, (*line.parameters, "y")) for text in line.partials]


def _of_arrays(line: Primitive, text: str, parameters: Sequence[str], plain: bool = False) -> Callable[..., Any]:
    """Text of the table as a function of these arrays: one of their own, if it is more than a name."""
    reading = _ForArrays(parameters, plain)
    tree = reading.visit(ast.parse(text, mode="eval"))
    source = f"lambda {', '.join(parameters)}: {ast.unparse(ast.fix_missing_locations(tree))}"
    of_arrays = (np.ufunc, ArrayFunction)
    own = {name: f if isinstance(f, of_arrays) else _by_elements(f) for name, f in line.functions.items()}
    names = {**_numpy_names(), **own, **reading.constants}
    made: Callable[..., Any] = eval(compile(source, f"<dualrev {line.name}>", "eval"), names)
    return made


class _ForArrays(ast.NodeTransformer):
    """Conditional expressions and logic become functions that numpy has for arrays.

    Beside `plain` arrays, constants become arrays without axes, which numpy takes faster than Python's floats.
    """

    def __init__(self, parameters: Sequence[str], plain: bool) -> None:
        self._parameters, self._plain = parameters, plain
        self.constants: dict[str, np.ndarray] = {}

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Make constants of both operands arrays, except for powers."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            node.left, node.right = self._constant(node.left), self._constant(node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Make constants of the comparands arrays."""
        self.generic_visit(node)
        node.comparators = [self._constant(u) for u in node.comparators]
        return node

    def _constant(self, node: ast.expr) -> ast.expr:
        number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        if not self._plain or not isinstance(number, ast.Constant):
            return node
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.array(float(ast.literal_eval(node)))
        return ast.Name(name, ast.Load())

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Replace a conditional expression by `either`, whose sides are functions of the selected elements."""
        bounded = _everywhere(node.test)
        self.generic_visit(node)
        # +x is a copy of x
        sides = [ast.UnaryOp(ast.UAdd(), u) if isinstance(u, ast.Name) else u for u in (node.body, node.orelse)]
        used = {u.id for side in sides for u in ast.walk(side) if isinstance(u, ast.Name)}
        names = [name for name in self._parameters if name in used]
        given = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        arguments = [ast.Name(name, ast.Load()) for name in names]
        made = [ast.Lambda(given, side) for side in sides]
        chosen = ast.Call(ast.Name("either", ast.Load()), [node.test, *made, *arguments], [])
        return ast.IfExp(bounded, sides[0], chosen) if bounded else chosen

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Replace `and` and `or` by numpy's elementwise functions."""
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        made, *rest = node.values
        for operand in rest:
            made = ast.Call(ast.Name(name, ast.Load()), [made, operand], [])
        return made


def _either(test: Any, one: Callable[..., Any], other: Callable[..., Any], *xs: Any) -> Any:
    """np.where(test, one(*xs), other(*xs)); the other one is computed only where it is needed."""
    test = np.asarray(test)
    if not test.size or test.item(test.argmin()):  # np.all, but faster
        return one(*xs)
    if not test.item(test.argmax()):
        return other(*xs)
    made = one(*xs)
    if not all(u.__class__ is np.ndarray and u.shape == test.shape for u in (made, *xs)):
        return np.where(test, made, other(*xs))
    made, rest = np.ascontiguousarray(made), np.flatnonzero(~test)
    made.reshape(-1)[rest] = other(*[x.reshape(-1)[rest] for x in xs])
    return made


def _everywhere(test: ast.expr) -> ast.expr | None:
    """Text that says whether abs(x) < a number holds everywhere; None for another test."""
    match test:
        case ast.Compare(ast.Call(ast.Name("abs"), [ast.Name() as x]), [ast.Lt()], [ast.Constant() as limit]):
            return ast.Call(ast.Name("bounded", ast.Load()), [x, limit], [])
    return None


def _bounded(x: Any, limit: float) -> bool:
    """Whether all of abs(x) < limit, without an array of abs(x); not where there is a NaN."""
    if x.__class__ is not np.ndarray or not x.size:
        return False
    return bool(-limit < x.item(x.argmin()) and x.item(x.argmax()) < limit)


@functools.cache
def _numpy_names() -> dict[str, Any]:
    """Return numpy's function for each name in the table's formulas, which are text."""
    made: dict[str, Any] = {name: getattr(np, name) for name in ("logical_and", "logical_or", "nan", "inf")}
    made |= {"either": _either, "bounded": _bounded}
    for name in FUNCTIONS:
        line = PRIMITIVES["pow" if name == "power" else name]
        made[name] = getattr(np, line.ufunc) if line.ufunc else on_arrays(line)
    return made


def on_arrays(line: Primitive) -> Callable[..., Any]:
    """A line that numpy has no function for, as a function of arrays and numbers."""
    compute = _by_elements(function(line), compiled_loop(line.name), line.name)
    return lambda *args: elementwise(line, args, compute)


def _by_elements(f: Callable[..., Any], many: Callable[..., Any] | None = None, name: str = "") -> Callable[..., Any]:
    """A function of numbers on arrays, too; `many` is the same for many plain numbers, `name` that in the table."""

    def apply(*args: Any) -> Any:
        """Compute a line on plain arrays: by SciPy's ufunc, by compiled code for many elements, or one by one."""
        if many is not None and any(map(np.ndim, args)) and not any(map(holds_duals, args)):
            made = of_scipy(name, tuple(map(plain, args)))
            if made is not None:
                return made
        if many is not None and max(map(np.size, args)) >= MANY and not any(map(holds_duals, args)):
            return many(*map(plain, args))
        args = tuple(to_objects(u) for u in args)
        if not any(np.ndim(u) for u in args if isinstance(u, np.ndarray)):
            return f(*(u[()] if isinstance(u, np.ndarray) else u for u in args))
        made = np.frompyfunc(f, len(args), 1)(*(u.view(np.ndarray) if isinstance(u, np.ndarray) else u for u in args))
        return real_array(made) if holds_duals(made) else made.astype(float)

    return apply


def as_real_array(y: Any) -> Any:
    """A result without numbers under differentiation: it can hold some, as the arrays that it was made of."""
    return RealArray(np.array(y)) if isinstance(y, np.ndarray) and y.ndim and y.dtype == float else y
