"""Numba functions of records, jitclass instances and structrefs; `OBJECTS` has each with what makes its arguments."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import float64, int64, njit, types
from numba.experimental import jitclass, structref

__all__ = ["OBJECTS", "Box", "Outer", "Pull", "bodies", "box"]

#: A function, what makes its arguments, and the numbers of those by which it is differentiated.
OBJECTS: list[tuple[Any, Callable[[], tuple[Any, ...]], tuple[int, ...]]] = []

BODY = np.dtype([("x", "f8"), ("n", "i4"), ("pos", "f8", (2,)), ("y", "f4"), ("name", "S5"), ("on", "?")])
PLAIN = np.dtype([("x", "f8"), ("v", "f8", (2,)), ("k", "i8")])
Pair = namedtuple("Pair", "box rest")


def bodies(dtype: np.dtype = BODY, shape: Any = 4) -> np.ndarray:
    """Records with different numbers in all fields."""
    made = np.zeros(shape, dtype)
    for k, name in enumerate(dtype.names or ()):
        if made[name].dtype.kind in "fi":
            count = made[name].size
            made[name] = (np.arange(1, count + 1) * (0.3 + 0.1 * k) % 1.3 + 0.2).reshape(made[name].shape)
    if "on" in (dtype.names or ()):
        made["n"], made["on"].flat[::2] = 2, True
    return made


def objects(make: Callable[[], tuple[Any, ...]], *argnums: int) -> Callable[[Any], Any]:
    """A decorator that appends the function to `OBJECTS`."""

    def enter(function: Any) -> Any:
        OBJECTS.append((function, make, argnums))
        return function

    return enter


# Records


@njit
def energy(r, k):
    return r.x * r.pos[k] * r["x"] * r.n


@njit
def pushed(a, i, v):
    """An element that is written, a part that is, and an early return."""
    if i > 2:
        return a[i].x * v
    a[i].x += v * a[i].x
    a["pos"][i] *= v
    a.x[i] += v
    return v


@njit
def bumped(r, v):
    r.x = r.x * v
    r.pos[:] = r.pos[0] * v
    r["n"] = 5


@objects(lambda: (bodies(), 0.7), 0, 1)
@njit
def records_in_loops(a, y):
    """Fields are read and written in every spelling, here and in callees; the loop may end early."""
    s = np.sum(a["x"] * a.x) + a.pos[1, 1] * y + np.sum(a.pos[::2])
    for i in range(len(a)):
        s += pushed(a, i, y) * energy(a[i], 1)
        bumped(a[i], y)
        if a[i].n > 4 and i == 2:
            break
    for k, r in enumerate(a):
        if r["on"]:
            s += r.x**3 + r.y * r["pos"].sum() * k
    last = a[-1]
    return s + last.x * last["pos"][0]


@objects(lambda: (bodies(PLAIN, (2, 3))[:, ::-1], bodies(PLAIN)[1], 0.7), 0, 1, 2)
@njit
def grids_of_records(a, r, y):
    """Two axes, strides, views of views, records that are assigned, and a record as an argument."""
    b = a[:, 1:]
    b[0, 0] = b[1, 1]
    b[..., -1]["x"][0] = y
    row = a[1]
    row[0].k += 1
    r.x *= row[0].x
    s = 0.0
    for i in range(a.shape[0]):
        chosen = a[i, 1] if i == 0 else row[2]
        chosen.v[1] *= y * r.x
        s += chosen.v[0] * chosen.v[1] + a[i, 0].k * r.v[1]
    return s * r.x + b.size + b.ndim + a["v"][0, 0, 1] * y


# Instances of jitclasses


@jitclass([("value", float64), ("places", float64[:]), ("count", int64)])
class Box:
    def __init__(self, value, places, by):
        self.value = value * by
        self.places = places
        self.count = 2
        if value < 0.0:
            self.places = places * value
        self.grow(by)

    def total(self, k=2):
        return self.value * self.places.sum() * k

    def grow(self, by):
        self.value *= by
        self.count += 1
        self.places[0] += by

    @property
    def double(self):
        return self.value * 2

    @double.setter
    def double(self, v):
        self.value = v / 2

    @staticmethod
    def scale(u):
        return u * 3.0


@jitclass([("box", Box.class_type.instance_type), ("weight", float64)])
class Outer:
    def __init__(self, box, weight):
        self.box = box
        self.weight = weight * box.value


def box() -> Any:
    """An instance."""
    return Box(0.7, np.array([0.4, 0.9]), 2.0)


@njit
def twice(b, x):
    c = b
    c.value *= x
    return b.total(k=3)


@objects(lambda: (box(), 0.6), 0, 1)
@njit
def instances(b, x):
    """Fields of all kinds, methods, properties; two names for one object, and a callee that writes."""
    s = b.total() + b.scale(x) + len(b.places) * b.value
    b.double = b.double * x
    for k in range(2):
        b.value += b.places[k] * x
        b.grow(x)
        if b.count > 4 and b.value > 0.1:
            s += b.double + twice(b, x)
    b.places += x
    return s * b.value + b.places[0]


@njit
def picked(b, c, first):
    if first:
        return b
    return c


@objects(lambda: (0.6, np.array([0.4, 0.9]), box()), 0, 1, 2)
@njit
def instances_that_are_made(x, v, b):
    """Here, in loops, in branches, in other instances; returned by callees, and kept in place of others."""
    c = picked(b, Box(-x, v, x), x > 1.0)
    c.value *= x
    d = Box(x, v[::-1], x)
    for k in range(3):
        if k == 1:
            d = Box(d.value * c.value, d.places * x, 0.9)
        else:
            d = Box(d.value * v[0], d.places, v[1])
    o = Outer(d, x)
    o.weight *= x
    inner = o.box
    inner.places[1] *= x
    return twice(c, x) * v[1] + d.value * d.places[1] + o.weight * o.box.total() + b.value


# Tuples of objects, and structrefs


@structref.register
class PullType(types.StructRef):
    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


@njit
def _force(pull):
    return pull.force


@njit
def _n(pull):
    return pull.n


@njit
def _at(pull):
    return pull.at


class Pull(structref.StructRefProxy):
    def __new__(cls, force: float, n: int, at: np.ndarray) -> Any:
        return structref.StructRefProxy.__new__(cls, force, n, at)

    force = property(lambda self: _force(self))
    n = property(lambda self: _n(self))
    at = property(lambda self: _at(self))


structref.define_proxy(Pull, PullType, ["force", "n", "at"])


@njit
def drawn(pull, x):
    pull.force *= x
    return pull.force * pull.n


@objects(lambda: (Pair(box(), (bodies(PLAIN), 0.8)), Pull(0.7, 3, np.array([0.4, 0.9]))), 0, 1)
@njit
def objects_in_tuples(pair, pull):
    """Tuples of instances and records, which a callee takes and writes."""
    b, (a, c) = pair.box, pair.rest
    pull.at[0] += pull.force * drawn(pull, c)
    a[0].x = b.value * c
    s = 0.0
    for q in (b, b):
        s += twice(q, c)
    return s * a[0].x * a["x"][1] + pull.at[0] * pull.force + pair.rest[0].v[1, 1]
