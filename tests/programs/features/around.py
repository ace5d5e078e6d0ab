"""The surroundings of features: values of every type for their parameters, and functions that they call.

A parameter has the value that its name has in ARGUMENTS. Real numbers are without pattern, so that none is at a kink.
"""

from __future__ import annotations

import enum
import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numba import cfunc, float64, guvectorize, int64, njit, stencil, types, vectorize
from numba.experimental import jitclass, structref
from numba.extending import intrinsic, overload, overload_method, register_jitable
from numba.typed import Dict, List

__all__ = [
    *["ARGUMENTS", "Box", "COLOURS", "Colour", "FLAGS", "Level", "NUMBER", "Pair", "Point", "Pull", "TABLE"],
    *["add_rest", "area", "by_name", "clamped", "cubed", "cumulative", "doubled", "factorial", "first_or_none"],
    *["made_adder", "many", "registered", "rise", "smoothed", "spread", "swapped", "triangle", "with_default"],
]

NUMBER, FLAGS, TABLE = 1.5, (True, False), np.array([0.31, -0.62, 0.77])
COLOURS = ("red", "green")


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Pair(NamedTuple):
    v: np.ndarray
    u: float
    n: int


Point = namedtuple("Point", "x y")


@njit
def doubled(u):
    return 2.0 * u


@njit
def add_rest(u, *rest):
    s = u
    for r in rest:
        s += r * u
    return s


@njit
def with_default(u, v=0.5, w=None):
    return u * v if w is None else u * w


@njit
def factorial(u, depth):
    return u if depth == 0 else u * factorial(u, depth - 1)


@njit
def first_or_none(u, places):
    if places[0] > 100:
        return None
    return u * u


@njit
def swapped(pair):
    return pair[1], pair[0]


@njit
def by_name(u, mode):
    if mode == "twice":
        return 2.0 * u
    return u


@njit
def rise(u, steps):
    for k in range(steps):
        yield u * k


@njit
def made_adder(c):
    def add(u):
        return u + c

    return add(2.0)


@vectorize
def clamped(u, v):
    return u if u * u < v else v


@guvectorize([(float64[:], float64[:])], "(n)->(n)")
def cumulative(u, made):
    s = 0.0
    for k in range(len(u)):
        s += u[k] * u[k]
        made[k] = s


@guvectorize([(float64[:], float64, float64[:])], "(n),()->()")
def spread(u, by, made):
    made[0] = by * (u[-1] - u[0] * u[1])


@cfunc("float64(float64, float64)")
def area(u, v):
    return u * v


@stencil
def smoothed(u):
    return 0.25 * u[-1] + 0.5 * u[0] + 0.25 * u[1]


@register_jitable
def registered(u):
    return u * math.sin(u)


def cubed(u):
    """A function for which `overload` gives numba an implementation."""
    return u**3


@overload(cubed)
def _cubed(u):
    return lambda u: u * u * u


@intrinsic
def many(context, u):
    def build(context, builder, signature, args):
        return builder.fmul(args[0], args[0])

    return types.float64(types.float64), build


@overload_method(types.Float, "overloaded")
def _overloaded(u):
    return lambda u: u * 3.0


@njit
def triangle(n):
    return n * (n + 1) // 2


@jitclass([("value", float64), ("places", float64[:]), ("count", int64)])
class Box:
    def __init__(self, value, places):
        self.value = value
        self.places = places
        self.count = 2

    def total(self):
        return self.value * self.places.sum()

    @property
    def size(self):
        return len(self.places)

    @staticmethod
    def scale(u):
        return u * 2.0


@structref.register
class _PullType(types.StructRef):
    pass


class Pull(structref.StructRefProxy):
    def __new__(cls, force, n):
        return structref.StructRefProxy.__new__(cls, force, n)


structref.define_proxy(Pull, _PullType, ["force", "n"])


def _typed_list():
    made = List()
    made.extend([0.5, 1.2])
    return made


def _typed_dict():
    made = Dict.empty(types.int64, types.float64)
    made[1], made[4] = 0.6, 1.7
    return made


def _records():
    made = np.zeros(3, dtype=[("mass", np.float64), ("at", np.float64), ("kind", np.int64)])
    made["mass"], made["at"], made["kind"] = [1.1, 0.7, 1.9], [0.2, -0.4, 0.3], [1, 0, 2]
    return made


#: The value of a parameter, made anew for every call.
ARGUMENTS = {
    "x": lambda: 0.7,
    "y": lambda: 1.3,
    "x32": lambda: np.float32(0.75),
    "k": lambda: 3,
    "n": lambda: 2,
    "u8": lambda: np.uint8(5),
    "flag": lambda: True,
    "a": lambda: np.array([0.5, 1.2, -0.8, 2.1, 0.3]),
    "c": lambda: np.array([1.4, 0.6, 0.9, -0.2, 1.1]),
    "a32": lambda: np.array([0.5, 1.25, 0.75], dtype=np.float32),
    "strided": lambda: np.arange(1.0, 9.0)[::2] * 0.37,
    "m": lambda: np.array([[2.0, 0.3, 0.1], [0.4, 1.7, -0.2], [-0.3, 0.6, 1.5]]),
    "w": lambda: np.array([[0.5, 1.1, -0.4], [0.9, -0.7, 0.2]]),
    "fortran": lambda: np.asfortranarray([[0.5, 1.1, -0.4], [0.9, -0.7, 0.2]]),
    "cube": lambda: np.arange(8.0).reshape(2, 2, 2) * 0.13 + 0.2,
    "point": lambda: np.array(0.7),
    "places": lambda: np.array([2, 0, 3]),
    "counts": lambda: np.array([3, 1, 2, 1]),
    "mask": lambda: np.array([True, False, True, True, False]),
    "t": lambda: (0.7, 1.2),
    "mixed": lambda: (0.7, 3, np.array([0.4, 0.9])),
    "p": lambda: Pair(np.array([0.4, 0.9]), 0.7, 3),
    "word": lambda: "twice",
    "nothing": lambda: None,
    "z": lambda: 0.7 + 0.4j,
    "za": lambda: np.array([0.7 + 0.4j, 1.1 - 0.2j]),
    "typed": _typed_list,
    "reflected": lambda: [0.5, 1.2],
    "table": _typed_dict,
    "records": _records,
    "record": lambda: _records()[1],
    "box": lambda: Box(0.7, np.array([0.4, 0.9])),
    "pull": lambda: Pull(0.7, 3),
    "colour": lambda: Colour.GREEN,
    "times": lambda: np.array(["2020-01-01", "2020-01-04"], dtype="datetime64[D]"),
    "raw": lambda: np.array([1, 2, 3], dtype=np.uint8),
    "g": lambda: doubled,
    "generator": lambda: np.random.default_rng(7),
}
