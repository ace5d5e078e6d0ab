"""The oracle for derivatives in the tests: central differences, and a comparison that tolerates only their errors.

Nothing here uses the library's own idea of nested data (dualrev.tree): that is one of the things to be checked.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optree

from dualrev import RealArray
from dualrev.eager.numbers.overload import DualNumber

__all__ = [
    "assert_same",
    "check_order_2",
    "check_vjp",
    "differences",
    "direction",
    "flat",
    "inner",
    "jacobian",
    "printed",
    "rebuild",
    "widen",
]

SMALL = 64  # up to so many entries, the whole Jacobian is compared
ROUND = 2.0**-52


# Nested data: one level at a time, and lists in place of recursion, since linked lists are ordinary inputs.


def _unpack(x: Any) -> tuple[Any, list[str], list[Any], Callable[[list[Any]], Any]] | None:
    """Split a node into a part to compare, the names of its children, the children, and a rebuilder; None for a leaf.

    An array of floats is a leaf, an array of objects a node.
    """
    if isinstance(x, np.ndarray):
        if x.dtype != object:
            return None
        names = [str(list(index)) for index in np.ndindex(x.shape)]
        return (np.ndarray, x.shape), names, x.ravel().tolist(), lambda children: _object_array(x.shape, children)
    if not optree.tree_is_leaf(x, none_is_leaf=True, namespace="dualrev"):
        level = optree.tree_flatten_one_level(x, none_is_leaf=True, namespace="dualrev")
        children, rest, entries, build = level
        return (type(x), rest), [f"[{entry!r}]" for entry in entries], list(children), lambda new: build(rest, new)
    if dataclasses.is_dataclass(x) and not isinstance(x, (type, enum.Enum)):
        names = [f.name for f in dataclasses.fields(x)]
        return (
            type(x),
            [f".{name}" for name in names],
            [getattr(x, n) for n in names],
            lambda new: _fields(x, names, new),
        )
    return None


def _object_array(shape: tuple[int, ...], children: list[Any]) -> np.ndarray:
    made = np.empty(len(children), dtype=object)
    made[:] = children
    return made.reshape(shape)


def _fields(x: Any, names: list[str], children: list[Any]) -> Any:
    made = type(x).__new__(type(x))
    for name, child in zip(names, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def _leaves(x: Any) -> Iterator[Any]:
    todo = [x]
    while todo:
        x = todo.pop()
        unpacked = _unpack(x)
        if unpacked is None:
            yield x
        else:
            todo.extend(reversed(unpacked[2]))


def _is_real(x: Any) -> bool:
    return isinstance(x, (float, np.floating, DualNumber)) and not isinstance(x, enum.Enum)


def _is_real_array(x: Any) -> bool:
    return isinstance(x, RealArray) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def flat(x: Any) -> list[Any]:
    """The real scalars of nested data, from left to right; discrete leaves and None are left out.

    >>> flat({"b": [1.0, None], "a": np.array([2.0, 3.0]), "n": 4})
    [2.0, 3.0, 1.0]
    """
    scalars: list[Any] = []
    for leaf in _leaves(x):
        if isinstance(leaf, RealArray):
            scalars.extend(leaf.ravel().tolist())
        elif _is_real_array(leaf):
            scalars.extend(leaf.ravel().astype(float).tolist())
        elif _is_real(leaf):
            scalars.append(float(leaf) if isinstance(leaf, np.floating) else leaf)
    return scalars


def rebuild(x: Any, scalars: list[Any], discrete: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """Nested data like x, with these real scalars; arrays become float64. `discrete` makes the other leaves.

    >>> rebuild((1.0, [2.0, 3]), [10.0, 20.0])
    (10.0, [20.0, 3])
    """
    order, todo = [], [x]
    while todo:
        node = todo.pop()
        unpacked = _unpack(node)
        order.append((node, unpacked))
        if unpacked is not None:
            todo.extend(reversed(unpacked[2]))
    end, done = len(scalars), []
    for node, unpacked in reversed(order):  # children before their node, the first child on top of the stack
        if unpacked is not None:
            size = len(unpacked[2])
            children = [done.pop() for _ in range(size)]
            done.append(unpacked[3](children))
        elif _is_real_array(node):
            done.append(np.array(scalars[end - node.size : end], dtype=float).reshape(node.shape))
            end -= node.size
        elif _is_real(node):
            end -= 1
            done.append(scalars[end])
        else:
            done.append(discrete(node))
    assert end == 0, "as many scalars as the data has"
    return done.pop()


def widen(x: Any) -> Any:
    """The same data in double precision: differences need all the digits there are."""
    return rebuild(x, flat(x))


def inner(ct: Any, v: Any) -> Any:
    """The inner product of nested data of one structure; the sum of products, so it can be differentiated."""
    cts, vs = flat(ct), flat(v)
    assert len(cts) == len(vs), f"{len(cts)} scalars against {len(vs)}"
    return sum((c * w for c, w in zip(cts, vs, strict=True)), 0.0)


# The strict comparison


def assert_same(
    found: Any,
    expected: Any,
    rtol: float = 1e-12,
    floor: float | None = None,
    types: bool = True,
) -> None:
    """AssertionError unless both are the same nested data, and their real scalars agree.

    The types of nodes, lengths, keys, shapes and dtypes are equal, as are discrete leaves; None, NaN and infinities
    (with their signs) stand in the same places. A real scalar may differ from the expected one by `rtol` of it, or by
    `floor`: by default one rounding of the largest number expected anywhere, because numbers of that size may have
    cancelled. The sign of zero is not compared. With types=False, real scalars and arrays of any precision agree.
    """
    if floor is None:
        finite = [abs(x) for x in flat(expected) if math.isfinite(x)]
        floor = ROUND * max(finite, default=0.0)
    todo = [("", found, expected)]
    while todo:
        path, a, b = todo.pop()
        a_node, b_node = _unpack(a), _unpack(b)
        if not types and {type(a), type(b)} == {np.ndarray} and a.shape == b.shape:
            a_node, b_node = (_unpack(x.astype(object)) for x in (a, b))
        if a_node is None or b_node is None:
            if a_node is not None or b_node is not None:
                raise _difference(path, a, b, "one is a node")
            _same_leaf(path, a, b, rtol, floor, types)
            continue
        if a_node[0] != b_node[0] or a_node[1] != b_node[1]:
            raise _difference(path, a, b, "different nodes")
        children = zip(b_node[1], a_node[2], b_node[2], strict=True)
        todo.extend(reversed([(path + name, x, y) for name, x, y in children]))


def _same_leaf(path: str, a: Any, b: Any, rtol: float, floor: float, types: bool) -> None:
    if isinstance(a, (DualNumber, RealArray)) or isinstance(b, (DualNumber, RealArray)):
        raise _difference(path, a, b, "a dual number has escaped")
    if not types and _is_real(a) and _is_real(b):
        a, b = float(a), float(b)
    if type(a) is not type(b):
        raise _difference(path, a, b, f"types {type(a).__name__} and {type(b).__name__}")
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise _difference(path, a, b, f"{a.dtype}{a.shape} and {b.dtype}{b.shape}")
        if a.dtype.kind != "f":
            if not np.array_equal(a, b):
                raise _difference(path, a, b, "discrete arrays")
            return
        for index in np.ndindex(a.shape):
            if why := _why_not_close(float(a[index]), float(b[index]), rtol, floor):
                raise _difference(f"{path}{list(index)}", a[index], b[index], why)
    elif _is_real(a):
        if why := _why_not_close(float(a), float(b), rtol, floor):
            raise _difference(path, a, b, why)
    elif a is not b and a != b:
        raise _difference(path, a, b, "discrete values")


def _why_not_close(a: float, b: float, rtol: float, floor: float) -> str:
    if math.isnan(a) or math.isnan(b):
        return "" if math.isnan(a) and math.isnan(b) else "NaN in one only"
    if math.isinf(a) or math.isinf(b):
        return "" if a == b else "infinite"
    error, allowed = abs(a - b), max(rtol * abs(b), floor)
    return "" if error <= allowed else f"they differ by {error:.3g}, {allowed:.3g} is allowed"


def _difference(path: str, found: Any, expected: Any, why: str) -> AssertionError:
    return AssertionError(f"at {path or 'the top'}: {why}\n   found    {found!r:.300}\n   expected {expected!r:.300}")


# Differences

_STEPS = [2.0**-k for k in range(3, 19)]


def differences(f: Callable[..., Any], primals: tuple[Any, ...], v: tuple[Any, ...]) -> np.ndarray:
    """d/dt f(primals + t v) at t = 0, as the flat real scalars of f's value.

    Central differences, with Richardson's extrapolation to the step 0 (Ridders' table: the entry that agrees best with
    its neighbours). The steps begin at 1/8, so v should have the size of the primals; see `direction`. A step that
    leaves the domain of f is left out.
    """
    xs, vs = flat(primals), flat(v)

    def at(t: float) -> np.ndarray:
        return np.array(flat(f(*rebuild(primals, [x + t * w for x, w in zip(xs, vs, strict=True)]))), dtype=float)

    best, error, column = None, None, []
    for k, step in enumerate(_STEPS):
        try:
            entry = (at(step) - at(-step)) / (2.0 * step)
        except (ArithmeticError, ValueError):
            column = []
            continue
        row = [entry]
        for power, above in zip(itertools.count(1), column, strict=False):
            row.append(row[-1] + (row[-1] - above) / (4.0**power - 1.0))
            spread = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - above))
            if best is None:
                best, error = row[-1], spread
            else:
                better = ~(spread >= error)
                best, error = np.where(better, row[-1], best), np.where(better, spread, error)
        column = row
        if k >= 7 and error is not None and np.all(error <= 1e-13 * np.abs(best)):
            break
    assert best is not None, "f has no two steps inside its domain"
    assert np.all(np.isfinite(best)), "f is not differentiable here: differences are not finite"
    return best


def printed(cell: str) -> float:
    """The number in a cell of a printed table, which has commas from 1,000 on."""
    return float(cell.replace(",", ""))


def _scale(x: float) -> float:
    """The size of a step for x: a share of x, and for a small one what moves exp(x) visibly."""
    return max(abs(x), 0.1)


def direction(primals: tuple[Any, ...], seed: int = 0) -> tuple[Any, ...]:
    """A random direction, each entry of the size of its scalar; None at discrete leaves."""
    rng = random.Random(seed)
    return rebuild(primals, [_scale(x) * rng.choice([-1, 1]) * rng.uniform(0.5, 1.0) for x in flat(primals)], _none)


def _none(leaf: Any) -> None:
    return None


def jacobian(f: Callable[..., Any], primals: tuple[Any, ...]) -> np.ndarray:
    """The matrix of df_i/dx_j, over the flat scalars of f's value and of the primals."""
    xs = flat(primals)
    columns = []
    for j, x in enumerate(xs):
        v = [0.0] * len(xs)
        v[j] = _scale(x)
        columns.append(differences(f, primals, rebuild(primals, v, _none)) / v[j])
    return np.array(columns).T


# The two checks that tests call

RTOL = 1e-8  # of a derivative against differences; Ridders' table is mostly good to 1e-10


def check_vjp(vjp: Callable[..., Any], f: Callable[..., Any], *primals: Any, rtol: float = RTOL, seed: int = 0) -> None:
    """The value, the structure of cotangents, and <ct, f'(x) v> = <pullback(ct), v>; every entry where there are few.

    `floor` of the comparison is rtol of the largest number involved: differences cannot do better.
    """
    y, pullback = vjp(f, *primals)
    wide = widen(primals)
    expected = widen(f(*wide))  # arrays of dualrev.numpy are numpy's outside of a derivative
    assert_same(y, expected, types=False)
    rng = random.Random(seed)
    for trial in range(2):
        ct = rebuild(y, [rng.uniform(-2.0, 2.0) for _ in flat(y)], _none)
        found = pullback(ct)
        _check_structure(found, primals)
        v = direction(wide, seed=1 + trial + seed)
        terms = [c * d for c, d in zip(flat(ct), differences(f, wide, v).tolist(), strict=True)]
        mirror = [c * d for c, d in zip(flat(found), flat(v), strict=True)]
        size = max(map(abs, [*terms, *mirror]), default=0.0)
        assert_same(math.fsum(mirror), math.fsum(terms), rtol=rtol, floor=rtol * size)
    if len(flat(y)) * len(flat(wide)) <= SMALL:
        matrix = jacobian(f, wide)
        rows = []
        for i in range(len(matrix)):
            found = pullback(rebuild(y, [float(i == k) for k in range(len(matrix))], _none))
            _check_structure(found, primals)
            rows.append(flat(found))
        assert_same(np.array(rows, dtype=float), matrix, rtol=rtol, floor=rtol * float(np.abs(matrix).max()))


def check_order_2(
    vjp: Callable[..., Any], f: Callable[..., Any], *primals: Any, rtol: float = RTOL, seed: int = 0
) -> None:
    """The gradient of <pullback(ct), v> against differences of the gradient: f''(x) v, twice."""
    wide = widen(primals)
    rng = random.Random(seed)
    ct = rebuild(f(*wide), [rng.uniform(-2.0, 2.0) for _ in flat(f(*wide))], _none)
    v = direction(wide, seed=1 + seed)

    def gradient(*xs: Any) -> Any:
        return vjp(f, *xs)[1](ct)

    slope, pullback = vjp(lambda *xs: inner(gradient(*xs), v), *wide)
    terms = [c * d for c, d in zip(flat(gradient(*wide)), flat(v), strict=True)]
    assert_same(slope, math.fsum(terms), floor=1e-12 * max(map(abs, terms), default=0.0))
    found = pullback(1.0)
    _check_structure(found, wide)
    curvature = differences(gradient, wide, v)
    assert_same(np.array(flat(found)), curvature, rtol=rtol, floor=rtol * float(np.abs(curvature).max(initial=0.0)))


def _check_structure(cotangents: Any, primals: tuple[Any, ...]) -> None:
    """Cotangents look like the primals, dtypes included, with None at discrete leaves."""
    zeros, expected = [], []
    for data, discrete, collected in ((cotangents, False, zeros), (primals, True, expected)):
        todo = [data]
        while todo:
            x = todo.pop()
            unpacked = _unpack(x)
            if unpacked is not None:
                collected.append((unpacked[0], unpacked[1]))
                todo.extend(reversed(unpacked[2]))
            elif _is_real_array(x):
                collected.append((x.dtype, x.shape))
            elif _is_real(x):
                collected.append(type(x))
            else:
                collected.append(None if discrete else x)
    assert zeros == expected, f"cotangents\n   {cotangents!r:.300}\nof primals\n   {primals!r:.300}"
