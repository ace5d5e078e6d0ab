"""Globals of the functions of odd_lines.txt: arguments, and what stands around a numba function."""

import enum
from collections import namedtuple

import numba
import numpy as np
from numba import float64, guvectorize, int64, njit, stencil, vectorize
from numba.experimental import jitclass

import dualrev as dr

P = namedtuple("P", "a b")
ARGUMENTS = {
    "x": 0.7,
    "v": np.array([1.0, 2.0, 3.0]),
    "m": np.eye(3) + 0.1,
    "z": 1.0 + 2.0j,
    "zv": np.array([1.0 + 1.0j, 2.0 + 2.0j, 3.0 + 3.0j]),
    "r": np.zeros(2, [("a", float), ("k", int)]),
    "n": 2,
    "t": (1.0, 2.0),
    "iv": np.array([0, 1, 2]),
}


class EN(enum.Enum):
    A = 1


class EI(enum.IntEnum):
    A = 1


@njit
def sq(x):
    return x * x


@njit
def star(x, *rest):
    return x * x


@njit
def many(x, y, z=2.0):
    return x * y * z


@njit
def sqv(v):
    return v * v


@njit
def sumv(v):
    return np.sum(v * v)


gsq, gmany = dr.grad(sq), dr.grad(many)


@njit(float64(float64))
def decl(x):
    return x * x


dgrad = dr.grad(decl)


@vectorize([float64(float64, float64)])
def uf(a, b):
    return a * b


@vectorize
def ufd(a):
    return a * a


@guvectorize([(float64[:], float64[:])], "(n)->(n)")
def guf(a, o):
    for i in range(len(a)):
        o[i] = a[i] * 2


@stencil
def st(a):
    return a[0] * 2


@stencil
def st2(a):
    return a[0, 0] * 2


@stencil(neighborhood=((-1, 1),))
def st3(a):
    s = 0.0
    for i in range(-1, 2):
        s += a[i]
    return s


@stencil(cval=1j)
def st4(a):
    return a[1] * 2


@stencil
def st5(a):
    k = 1
    return a[k] * 2 + a.sum()


@njit
def gen(b):
    yield b
    yield 2 * b


@njit
def gen2(b, c):
    for _ in range(2):
        yield b * c


@njit
def gens(*b):
    yield b[0]


@njit
def genself(b, n):
    yield b
    if n > 0:
        for y in genself(b, n - 1):  # noqa: UP028 - numba knows no other way
            yield y


@jitclass([("a", float64), ("n", int64)])
class box:  # noqa: N801 - it is called as a function
    def __init__(self, a):
        self.a = a
        self.n = 1

    def area(self):
        return self.a * self.a

    def __len__(self):
        return 3

    def __add__(self, other):
        return box(self.a + other.a)

    def __getitem__(self, i):
        return self.a

    @staticmethod
    def static(x):
        return x * 2


@njit
def takes(b):
    return b.a * 2


@njit
def gives(a):
    return box(a)


def _local():
    return namedtuple("L", "a")


L = _local()
frozen_array, frozen_records = np.array([1.0, 2.0]), np.zeros(2, [("a", float)])
frozen_tuple, frozen_dict, frozen_list = (1.0, 2.0), {"a": 1.0}, [1.0]
frozen_c64, frozen_str, frozen_obj = np.complex64(1), "s", object()


@njit
def inner2(x):
    def g(y):
        return y * x

    return g(x) + g(2 * x)


@njit
def inner3(x):
    def g(*a):
        return a[0]

    return g(x)


@njit
def kwargs(a=1.0, b=2.0):
    return a * b


@njit
def defaults(a, b=2.0, c=3.0):
    return a * b * c


@numba.cfunc(float64(float64))
def cb(x):
    return x * x


def pyf(x):
    return x * x


class Cls:
    def f(self, x):
        return x


@njit
def csq(z):
    return z * z


@njit
def _fwd(z):
    return z * z, z


@njit
def _bwd(z, ct):
    return (2 * z * ct,)


ccustom = dr.custom_vjp(csq)
ccustom.defvjp(_fwd, _bwd)
