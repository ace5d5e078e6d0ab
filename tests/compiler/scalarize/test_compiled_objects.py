"""Derivatives by records, jitclass instances and structrefs, against differences in a random direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import float64, njit
from numba.core.errors import TypingError
from numba.experimental import jitclass
from programs.objects import OBJECTS, Box, Pull, bodies, box, instances, records_in_loops

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")

FIELDS = {"Box": ("value", "places", "count"), "Outer": ("box", "weight"), "Pull": ("force", "n", "at")}
LONG = ("instances_that_are_made", "grids_of_records")  # half a minute of numba's compilation each
every = pytest.mark.parametrize(
    ("f", "make", "argnums"),
    [pytest.param(*x, id=x[0].__name__, marks=[pytest.mark.slow] * (x[0].__name__ in LONG)) for x in OBJECTS],
)


def parts(x: Any) -> list[Any]:
    """The items of a tuple, the fields of an object; nothing of a number or an array."""
    if isinstance(x, tuple):
        return list(x)
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        return [x[name] for name in x.dtype.names]
    return [getattr(x, name) for name in FIELDS.get(type(x).__name__, ())]


def reals(x: Any) -> list[float]:
    """All floats in an argument, or in its gradient."""
    if parts(x):
        return [u for part in parts(x) for u in reals(part)]
    flat = np.ravel(x) if x is not None else np.zeros(0, int)
    return flat.tolist() if flat.dtype.kind == "f" else []


def doubles(x: Any) -> list[float]:
    """The same, with zeros for single precision: a step of 1e-6 is none there."""
    if parts(x):
        return [u for part in parts(x) for u in doubles(part)]
    return [0.0] * np.size(x) if getattr(x, "dtype", None) == np.float32 else reals(x)


def everything(x: Any) -> list[Any]:
    """All numbers in an argument."""
    return [u for part in parts(x) for u in everything(part)] if parts(x) else np.ravel(x).tolist()


def moved(x: Any, steps: Iterator[float], single: bool = False) -> Any:
    """An argument with steps added to its floats, of single precision if asked; objects are changed themselves."""
    if isinstance(x, float):
        return x + next(steps)
    if isinstance(x, tuple):
        made = [moved(part, steps) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        for name in x.dtype.names:
            if x.dtype[name].base.kind == "f":
                step = np.reshape([next(steps) for _ in range(x[name].size)], x[name].shape)
                x[name] += step if single or x[name].dtype == float else 0.0
    elif isinstance(x, np.ndarray) and x.dtype.kind == "f":
        x += np.reshape([next(steps) for _ in range(x.size)], x.shape)
    elif isinstance(x, Pull):
        return Pull(moved(x.force, steps), x.n, moved(x.at, steps))
    else:
        for name in FIELDS.get(type(x).__name__, ()):
            part = moved(getattr(x, name), steps)
            if isinstance(part, float):
                setattr(x, name, part)
    return x


def tangent(x: Any, v: Iterator[float]) -> Any:
    """A tangent: records for records, a tuple for an instance."""
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        return moved(np.zeros_like(x), v, single=True)
    if isinstance(x, np.ndarray):
        return np.reshape([next(v) for _ in range(x.size)], x.shape)
    if parts(x):
        made = [tangent(part, v) for part in parts(x)]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    return next(v) if isinstance(x, float) else None


@every
def test_both_modes_are_differences(f, make, argnums):
    """Value, final arguments, gradient and tangent equal those of the function and of differences."""
    args, mine, also = make(), make(), make()
    y = f(*args)
    v = np.random.default_rng(5).uniform(-1.0, 1.0, len(reals(make())))
    h = 1e-6
    up, down = (f(*moved(make(), iter(step * v))) for step in (h, -h))
    value, gradient = dr.value_and_grad(f, argnums)(*mine)
    np.testing.assert_allclose(value, y, rtol=1e-14)
    assert everything(mine) == everything(args)
    slope = float(np.dot(reals(gradient), v))
    np.testing.assert_allclose(np.dot(doubles(gradient), v), (up - down) / (2 * h), rtol=1e-7)
    again, dy = dr.jvp(f, also, tangent(make(), iter(v)))
    assert everything(also) == everything(args)
    np.testing.assert_allclose([again, dy], [y, slope], rtol=1e-6)


def test_the_gradient_has_the_form_of_the_argument():
    """The gradient of records has their dtype, with zeros except for floats; for an instance it is a named tuple."""
    _, (gradient, _) = dr.value_and_grad(records_in_loops, (0, 1))(bodies(), 0.7)  # compiled already
    assert gradient.dtype == bodies().dtype
    assert not gradient["n"].any()
    assert not gradient["on"].any()
    _, (found, _) = dr.value_and_grad(instances, (0, 1))(box(), 0.6)
    assert (type(found).__name__, found._fields, found.count) == ("Box", ("value", "places", "count"), None)


def test_records_in_all_transforms():
    @njit
    def f(a, x):
        return a["x"] * a[1].x * x + a["pos"][:, 1] * x * x

    def at(u):
        a = bodies()
        a["x"] = u
        return f(a, 0.7)

    a = bodies()
    pull = dr.vjp(f, a, 0.7)[1]
    ct = np.arange(1.0, 5.0)
    d_a, d_x = pull(ct)
    slopes = np.array([(at(a["x"] + e) - at(a["x"] - e)) / 2e-6 for e in np.eye(4) * 1e-6]).T
    np.testing.assert_allclose(d_a["x"], ct @ slopes, rtol=1e-8)
    np.testing.assert_allclose(dr.jacobian(f)(a, 0.7)[0], slopes, rtol=1e-8)
    np.testing.assert_allclose(dr.jacfwd(f, 1)(a, 0.7) @ ct, d_x)

    @njit
    def outer(a, x):
        return dr.grad(sums)(a, x)[0].x + x

    np.testing.assert_allclose(outer(a, 0.7), dr.grad(sums)(a, 0.7)["x"][0] + 0.7)
    t = np.zeros_like(a)
    t["x"] = ct
    hvp = dr.hvp(sums)(a, t, 0.7)
    np.testing.assert_allclose(hvp["x"], [6 * a["x"][0] * 0.7 + 0.7**2 * 2, 0.7**2, 0, 0], rtol=1e-12)


@njit
def sums(a, x):
    return a[0].x ** 3 * x + a[0].x * a[1].x * x**2


def test_one_object_under_two_names():
    """It is refused if it is written, and has two gradients if not."""

    @njit
    def read(b, c, x):
        return b.value * c.value * x

    @njit
    def written(b, c, x):
        b.value *= x
        return b.value * c.value

    b = box()
    d_b, d_c = dr.grad(read, (0, 1))(b, b, 2.0)
    assert d_b.value == d_c.value == 2.0 * b.value
    with pytest.raises(ValueError, match="share memory"):
        dr.grad(written, (0, 1))(b, b, 2.0)
    a = bodies()
    with pytest.raises(ValueError, match="share memory"):
        dr.grad(shifted_records, (0, 1))(a[1:], a[:-1])


@njit
def shifted_records(a, b):
    a[0].x *= 2.0
    return a[0].x * b[1].x


def test_an_error_leaves_the_objects_as_the_function_does():
    @njit
    def f(b, a, x):
        b.value *= x
        a[0].x *= x
        if x > 1.0:
            raise ValueError("too large")
        return b.value * a[0].x

    b, a = box(), bodies()
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            dr.grad(f, (0, 1, 2))(b, a, 2.0)
    assert b.value == box().value * 4
    assert a["x"][0] == bodies()["x"][0] * 4


def test_a_pullback_of_an_instance_runs_on_the_instance_itself():
    """So its fields have to stay what they are: there is no copy of it."""
    pull = Pull(0.7, 2, np.ones(2))
    value, pullback = dr.vjp(pulled, pull, 3.0)
    assert value == pulled(pull, 3.0)
    by_pull, by_x = dr.grad(pulled, (0, 1))(pull, 3.0)
    assert pullback(2.0)[1] == 2.0 * by_x
    assert pullback(2.0)[0].force == 2.0 * by_pull.force
    pull.at[1] = 5.0
    with pytest.raises(dr.errors.UnsupportedError, match=r"instance whose fields change.*Write dr\.value_and_grad"):
        pullback(2.0)
    with pytest.raises(dr.errors.UnsupportedError, match="instance whose fields change"):
        dr.vjp(instances, Box(0.7, np.ones(2), 2.0), 0.6)


@njit
def pulled(pull, x):
    return pull.force * x * x + pull.at[1]


@njit
def of_any_name(a, b):
    a[0].x = b[()].size * a[0]["1 x"]
    s = 0.0
    for i in range(a.size):
        s += a[i].size * a[i].shape[1] * a[i].x + a["size"][i] ** 2 * a[i]["größe"]
    if b[()]["x"] > 0.0:
        b[()].x *= s
    return s * b[()].x * len(a.shape)


def test_fields_of_any_name():
    """Names that arrays have too, and such as variables cannot have; of one record in an array of no axes, too."""
    kind = np.dtype([("size", "f8"), ("shape", "f8", (2,)), ("1 x", "f8"), ("größe", "f8"), ("x", "f8")])

    def make() -> Any:
        a = bodies(kind, 2)
        a.flags.writeable = False  # numba writes to a field of read-only records all the same
        return a, bodies(kind, ())

    v = np.random.default_rng(3).uniform(-1.0, 1.0, len(reals(make())))
    up, down = (of_any_name(*moved((bodies(kind, 2), bodies(kind, ())), iter(h * v))) for h in (1e-6, -1e-6))
    mine, args = make(), make()
    value, gradient = dr.value_and_grad(of_any_name, (0, 1))(*mine)
    np.testing.assert_allclose(value, of_any_name(*args), rtol=1e-14)
    assert everything(mine) == everything(args)
    np.testing.assert_allclose(np.dot(reals(gradient), v), (up - down) / 2e-6, rtol=1e-7)


@jitclass([("__m", float64), ("_k", float64), ("k", float64), ("v", float64[:])])
class Operand:
    def __init__(self, m, v):
        self.__m = m
        self._k = 2 * m
        self.k = m * m
        self.v = v

    def __half(self):
        return self._k / 2

    def get(self):
        return self.__m * self.__half()

    def __getitem__(self, i):
        return self.v[i] * self.__m

    def __setitem__(self, i, y):
        self.v[i] = y

    def __len__(self):
        return len(self.v)

    def __add__(self, other):
        return self.__m + other._k

    def __iadd__(self, x):
        self._k += x
        return self

    def __mul__(self, x):
        return Operand(self._k * x, self.v)

    def __neg__(self):
        return -self._k

    def __eq__(self, other):
        return self._k == other._k

    def __lt__(self, other):
        return self._k < other._k

    def __contains__(self, x):
        return x < self.k

    def __float__(self):
        return self._k


@njit
def operators(x):
    b, c = Operand(x[0], x.copy()), Operand(x[1], x * 2)
    b[0] = x[1] ** 2
    b[1] += x[0]
    s = b + c + b[0] * b[1] * len(b) - (-c) * float(c)
    d = b * x[0]
    if d < b:
        s += d.get()
    if b < d:
        s += 2 * d.get()
    if b[1] > 1.0 and x[0] > 0.0:
        s *= x[0]
    if b != c and (d == c or 100.0 not in b):
        s *= x[1]
    b += x[1]
    return s * b.get() * b._k


@njit
def private(b):
    return b.get() * b._k + b[0]


def test_private_names_and_operators():
    """Names that Python changes in a class, and methods that operators call."""
    x = np.array([1.3, 2.0])
    slopes = [(operators(x + e) - operators(x - e)) / 2e-6 for e in np.eye(2) * 1e-6]
    value, gradient = dr.value_and_grad(operators)(x)
    np.testing.assert_allclose(value, operators(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7)
    found = dr.grad(private)(Operand(2.0, np.ones(2)))
    assert (found.m, found.k_, found.k, found.v.tolist()) == (9.0, 8.0, 0.0, [2.0, 0.0])


def test_check_takes_records():
    dr.check(sums, bodies(), 0.7)
    with pytest.raises(dr.errors.ArgumentError):
        dr.check(sums, bodies(np.dtype([("n", "i4")])), 1)


def test_a_pullback_of_records_inside_is_refused():
    @njit
    def outer(a):
        return dr.vjp(sums, a, 0.7)[1](1.0)[1]

    with pytest.raises(TypingError, match=r"an object with fields.*dr.value_and_grad"):
        outer(bodies())


def _own_their_memory(x: Any) -> bool:
    if isinstance(x, tuple):
        return all(map(_own_their_memory, x))
    return not isinstance(x, np.ndarray) or x.flags.owndata or x.base is not None


def test_what_is_returned_owns_its_memory():
    """Gradients by arrays that stand beside objects, those by arrays in instances, and values that are arguments."""

    @njit
    def f(a, rows, c):
        return np.sum(a * a) + rows[0].x + c.places[1]

    @njit
    def tail(a, rows):
        rows[0].x *= 2.0
        return a[1:], rows[0].x

    a = np.ones(3)
    value, by = dr.value_and_grad(f, (0, 1, 2))(a, bodies(), box())
    assert value == f(a, bodies(), box())
    assert (by[0].tolist(), by[2].places.tolist()) == ([2.0, 2.0, 2.0], [0.0, 1.0])
    tangent = dr.jvp(tail, (a, bodies()), (a, np.zeros_like(bodies())))
    assert _own_their_memory((by, tangent))
    a[:] = 0.0
    assert tangent[0][0].tolist() == [1.0, 1.0]
