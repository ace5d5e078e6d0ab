"""Refusals that no other test reaches: a program for each, the line that it names, its reason, and its cure.

A row is a function of x in the variables of `SPACE`. The line that begins with `!` is the one that the message quotes.
"""

import functools
import linecache
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest
from numba import float64, njit, stencil, vectorize
from numba.experimental import jitclass
from support.incore import gradient
from support.twin import twin

import dualrev as dr
from dualrev.errors import UnsupportedError

V, M = np.array([1.5, 2.0, 3.0]), np.array([[1.0, 0.3], [0.2, 2.0]])
KIND = np.dtype([("a", np.float64), ("v", np.float64, (2,))])
RECORDS = np.zeros(3, KIND)
Pair = namedtuple("Pair", "first second")


@njit
def two(a, b=2.0):
    return a * b


@njit
def of_tuple(y, k=(1.0, 2.0)):
    return y * y * k[0]


@njit("float64(complex128)")
def declared(u):
    return u.real * u.real + u.imag


@njit("float64(Tuple((float64, float64)))")
def declared_tuple(t):
    return t[0] * t[1]


@njit
def cube(y):
    return y * y * y


@njit
def counts(n):
    for i in range(n):
        yield i * 1.0


@njit
def of_dict(d):
    return d[0][0] * d[1][1]


@njit
def of_items(a, b):
    return a[0] * b[1]


@njit
def of_all(*some):
    for k in range(len(some)):
        yield some[k]


@njit
def of_itself(n):
    if n > 0:
        for k in of_itself(n - 1):  # noqa: UP028 - numba has no `yield from`
            yield k
    yield n * 1.0


@njit
def ends_early(n):
    for i in range(n):
        if i == 2:
            return
        yield i * 1.0


@vectorize(["float64(float64, float64)"])
def product(a, b):
    return a * b


@stencil
def scaled(a, k):
    return a[0] * k


@stencil(neighborhood=((1, 2),))
def ahead(a):
    s = 0.0
    for i in range(1, 3):
        s += a[i]
    return s


@stencil
def by_variable(a):
    s = 0.0
    for i in range(-1, 2):
        s += a[i]
    return s


@stencil
def of_slice(a):
    return a[0:2].sum()


@stencil
def from_else(a):
    for _ in range(2):
        if a[0] > 100.0:
            break
    else:
        return a[0] * 2.0
    return a[1]


@jitclass([("a", float64)])
class Renamed:
    def __init__(self, a):
        me = self
        me.a = a


@jitclass([("a", float64)])
class Box:
    def __init__(self, a):
        self.a = a


@dr.custom_jvp
@njit
def ruled(b):
    return b.a * b.a


@ruled.defjvp
@njit
def _rule(p, t):
    return p[0].a * p[0].a, 1.0


def builder():
    @jitclass([("a", float64)])
    class Local:
        def __init__(self, a):
            self.a = a

        def square(self):
            return self.a * self.a

    @njit
    def build(a):
        return Local(a)

    return build


SPACE = {
    "Box": Box,
    "ruled": ruled,
    "build": builder(),
    **{f.py_func.__name__: f for f in (two, of_tuple, declared, declared_tuple, cube)},
    **{f.py_func.__name__: f for f in (counts, of_all, of_itself, ends_early, of_dict, of_items)},
    "product": product,
    "scaled": scaled,
    "ahead": ahead,
    "by_variable": by_variable,
    "of_slice": of_slice,
    "from_else": from_else,
    "Renamed": Renamed,
    "KIND": KIND,
    "FROZEN": np.arange(4.0),
    "Pair": Pair,
    "np": np,
    "njit": njit,
    "numba": numba,
    "dr": dr,
}


@dataclass(frozen=True)
class Row:
    """A refusal: the refused body, words of the message, and the body with the cure, if the message has code for it."""

    body: str
    words: tuple[str, ...]
    cured: str = ""
    args: tuple[Any, ...] = (V,)
    parameters: str = "x"


def row(body, *words, cured="", args=(V,), parameters="x"):
    return Row(body, words, cured, args, parameters)


ROWS = {
    # functions inside of functions
    "decorated": row(
        "@njit\n!def g(y):\n    return y * y\nreturn g(x[0])",
        "a decorated function inside of a numba function",
        "outside",
    ),
    "stars": row("!def g(*a):\n    return a[0]\nreturn g(x[0])", "*args or **kwargs of g", "Write arguments"),
    "a default": row(
        "!def g(y, k=x[1]):\n    return y * k\nreturn g(x[0])",
        "a default of g",
        "it is no constant",
        cured="def g(y, k):\n    return y * k\nreturn g(x[0], x[1])",
    ),
    "a function as a value": row(
        "def g(y):\n    return y * y\n!h = [g]\nreturn h[0](x[0])",
        "the function g as a value",
        "a numba function outside",
    ),
    "recursion inside": row(
        "def g(y, n):\n    if n == 0:\n        return y\n!    return g(y * 2.0, n - 1)\nreturn g(x[0], 2)",
        "the recursion of g",
    ),
    "other parameters": row(
        "def g(y, n):\n    return y\n!return g(x[0])", "the call of g", "its arguments, one by one"
    ),
    # calls
    "two stars": row("d = {'b': 3.0}\n!return two(x[0], **d)", "a call with **", "every argument"),
    "a star in a list": row(
        "t = (1.0, 2.0)\n!u = [x[0], *t]\nreturn u[0] * u[2]",
        "a starred expression in a list",
        "an array (np.empty)",
        cured="t = (1.0, 2.0)\nu = np.empty(3)\nu[0], u[1], u[2] = x[0], t[0], t[1]\nreturn u[0] * u[2]",
    ),
    "a star in an index": row(
        "t = (0, 1)\n!return x[*t]",
        "a starred index",
        "every index",
        cured="t = (0, 1)\nreturn x[t[0], t[1]]",
        args=(M,),
    ),
    "a variable is called": row(
        "s = 0.0\nfor f in (two, two):\n!    s += f(x[0])\nreturn s", "a call of a variable", "a numba function"
    ),
    "a declared number": row(
        "!return declared(x[0])",
        "its signature says complex128",
        "np.complex128(...) of it",
        cured="return declared(np.complex128(x[0]))",
    ),
    "a declared tuple": row(
        "!return declared_tuple((x[0], 2))", "arguments of that type", cured="return declared_tuple((x[0], 2.0))"
    ),
    "a ufunc's loop": row(
        "!return product(x, np.float32(2.0))[1]",
        "numba converts it to float64",
        "np.float64(...) of it",
        cured="return product(x, np.float64(np.float32(2.0)))[1]",
    ),
    # generators
    "a generator of itself": row(
        "s = 0.0\n!for k in of_itself(2):\n    s += k * x[0]\nreturn s", "it goes over itself"
    ),
    "a starred generator": row(
        "t = (3,)\ns = 0.0\n!for k in counts(*t):\n    s += k * x[0]\nreturn s",
        "every argument",
        cured="t = (3,)\ns = 0.0\nfor k in counts(t[0]):\n    s += k * x[0]\nreturn s",
    ),
    "a generator's stars": row("s = 0.0\n!for y in of_all(x[0], 2.0):\n    s += y * y\nreturn s", "it has *args"),
    "a generator's arguments": row(
        "s = 0.0\n!for k in counts():\n    s += k\nreturn s * x[0]", "missing a required argument"
    ),
    "a generator that returns": row("s = 0.0\n!for k in ends_early(4):\n    s += k * x[0]\nreturn s", "or it returns"),
    # derivatives inside
    "dr.jvp without tangents": row("!return dr.jvp(cube, (x[0],))[1]", "dr.jvp(f, (x, y), (dx, dy))"),
    "a default of dr.jvp": row(
        "!return dr.jvp(of_tuple, (x[0],), (1.0,))[1]",
        "the default of k is no number",
        "every argument, and its tangent",
    ),
    "a pullback in a list": row("l = [0]\n!y, l[0] = dr.vjp(cube, x[0])\nreturn y", "with a name for each pullback"),
    "two pullbacks": row(
        "!y, pull = dr.vjp(cube, x[0])\ny, pull = dr.vjp(two, x[0], x[1])\nreturn pull(1.0)[0]",
        "with a name for each pullback",
        cured="y, pull = dr.vjp(cube, x[0])\nz, push = dr.vjp(two, x[0], x[1])\nreturn push(1.0)[0] * pull(1.0)[0]",
    ),
    # statements
    "a pattern": row(
        "match len(x):\n!    case int():\n        return x[0]\nreturn x[1]", "this pattern", "if and elif"
    ),
    "a try that returns": row(
        "!try:\n    return x[0] * x[1]\nexcept Exception:\n    return 0.0", "try/except", "a test before the operation"
    ),
    "None in a condition": row(
        "n = None\nif len(x) > 2:\n    n = 3\ns = x[0]\n!while n > 0:\n    s *= x[0]\n    n -= 1\nreturn s",
        "`is not None and` before it",
        cured="n = None\nif len(x) > 2:\n    n = 3\ns = x[0]\n"
        "while n is not None and n > 0:\n    s *= x[0]\n    n -= 1\nreturn s",
    ),
    # lists and tuples
    "a part of a list is set": row(
        "l = [x[0]]\nl.append(x[1])\n!l[0:1] = [x[2]]\nreturn l[0]",
        "this use of a list that grows",
        "an array (np.empty) and its length",
    ),
    "an argument in a dict of arrays": row(
        "d = {}\n!d[0] = x\nd[0][1] = x[0] * x[0]\nreturn d[0][1] * d[0][2]",
        *("this array in a dict of arrays", "y = x.copy() above"),
        cured="d = {}\ny = x.copy()\nd[0] = y\nd[0][1] = x[0] * x[0]\nreturn d[0][1] * d[0][2]",
    ),
    "a view in a list of arrays": row(
        "l, y = [], x * x\n!l.append(y[1:])\ny[1] = x[0]\nreturn l[0][0] * l[0][1]",
        *("this array in a list of arrays", "one that may share its memory is written to", ".copy() behind it"),
        cured="l, y = [], x * x\nl.append(y[1:].copy())\ny[1] = x[0]\nreturn l[0][0] * l[0][1]",
    ),
    "an old view of an array in a dict": row(
        "d = {0: x * x}\n!v = d[0][1:]\nd[1] = x * 3.0\nv[0] = x[0]\nreturn d[0][1] * d[1][0]",
        *("this view of an array in a dict", "when its memory has moved", "the view again"),
        cured="d = {0: x * x}\nd[1] = x * 3.0\nv = d[0][1:]\nv[0] = x[0]\nreturn d[0][1] * d[1][0]",
    ),
    "a dict of arrays for a function": row(
        "d = {0: x * x}\nd[1] = x * 3.0\n!return of_dict(d)",
        *("this use of a dict of arrays", "the items as arguments"),
        cured="d = {0: x * x}\nd[1] = x * 3.0\nreturn of_items(d[0], d[1])",
    ),
    "a part of a list in a list is set": row(
        "l = [[x[0], x[1]]]\nl[0].append(x[2])\n!l[0][0:1] = [x[2]]\nreturn l[0][0] * l[0][1]",
        *("this use of an item of a list", "of a list, items, append"),
        cured="l = [[x[0], x[1]]]\nl[0].append(x[2])\nl[0][0] = x[2]\nreturn l[0][0] * l[0][1]",
    ),
    "a list in a list loses an item": row(
        "l = [[x[0], x[1]]]\nl.append([x[2]])\n!del l[0][1]\nreturn l[0][0] * l[1][0]",
        *("this use of a list of lists", "items, append, insert, pop"),
        cured="l = [[x[0], x[1]]]\nl.append([x[2]])\nl[0].pop(1)\nreturn l[0][0] * l[1][0]",
    ),
    "a list of lists is searched": row(
        "l = [[x[0], x[1]]]\nl.append([x[2]])\n!k = l.index([x[2]])\nreturn l[k][0]", "this use of a list of lists"
    ),
    "strings are unpacked": row(
        "l = ['a', 'b']\n!a, b = l\nreturn x[0] * len(a)",
        "this assignment to several names",
        "ys[0]",
        cured="l = ['a', 'b']\na, b = l[0], l[1]\nreturn x[0] * len(a)",
    ),
    "a place behind a list": row(
        "l = [x, x * 2.0]\n!return l[5][0]", "it has 2 items", cured="l = [x, x * 2.0]\nreturn l[1][0]"
    ),
    "the largest tuple": row(
        "t = ((x[0], x[1]), (x[2], 1.0))\n!return max(t)[0]", "max of this tuple", "its items are no numbers"
    ),
    "tuples as an array": row(
        "t = ((x[0], x[1]), (x[1], x[2]))\n!return np.array(t)[1, 0]", "np.array of these arguments"
    ),
    "a slice of a list": row(
        "t = [x[0], x[1], x[2]]\ns = slice(0, 2)\n!return t[s][0]",
        "a slice that is a value",
        "a[i:j]",
        cured="t = [x[0], x[1], x[2]]\nreturn t[0:2][0]",
    ),
    "a slice with a step": row(
        "s = slice(0, 3, 2)\n!return x[s].sum()", "a slice that is a value", cured="return x[0:3:2].sum()"
    ),
    # arrays
    "an iterator of a.flat": row(
        "y = x * 1.0\n!g = y.flat\ng[1] = x[0]\nreturn y[1] * y[0]",
        "the attribute .flat under a name",
        "a.flat[k], a.ravel()",
        cured="y = x * 1.0\ny.flat[1] = x[0]\nreturn y[1] * y[0]",
    ),
    "nditer of a number": row(
        "s = 0.0\n!for a in np.nditer(x[0]):\n    s += a.item()\nreturn s", "the call of numpy.nditer"
    ),
    "out of outer": row("o = np.empty((3, 3))\n!np.outer(x, x, o)\nreturn o[0, 1]", "np.outer of these arguments"),
    "out of clip": row("o = np.empty(3)\n!np.clip(x, 0.0, 2.0, o)\nreturn o[0]", "np.clip of these arguments"),
    "out of around": row("o = np.empty(3)\n!np.around(x, 1, o)\nreturn o[0] * x[0]", "np.around of these arguments"),
    "four axes of dstack": row(
        "!return np.dstack((x.reshape(1, 3, 1, 1), x.reshape(1, 3, 1, 1)))[0, 1, 0, 0]",
        "the number of their axes is not known",
    ),
    "a tuple as an axis": row(  # numba 0.65 takes the sum for an array, so the reason is another
        "!return np.sum(x, axis=(0, 1))", "sum with", "is known", cured="return np.sum(x)", args=(M,)
    ),
    "the dtype of arange": row(
        "!return np.arange(0.0, x[0], 0.5, np.float64)[1] + x[0]", "np.arange with these arguments"
    ),
    "new records": row(
        "!y = np.zeros(3, dtype=KIND)\ny[0].a = x[0]\nreturn y[0].a * x[1]",
        "an array for each field",
        cured="y = np.zeros(3)\ny[0] = x[0]\nreturn y[0] * x[1]",
    ),
    "a view of what is frozen": row(
        "!return np.lib.stride_tricks.as_strided(FROZEN, (2,), (8,))[1] * x[0]",
        "a view of a frozen array",
        "a copy of it",
        cured="own = FROZEN.copy()\nreturn np.lib.stride_tricks.as_strided(own, (2,), (8,))[1] * x[0]",
    ),
    # objects
    "a name for self": row("return Renamed(x[0]).a", "a second name for `self` in __init__", args=(V,)),
    "bytes of records": row(
        "!return x[0] * r.nbytes", "of these, only ndim, size and shape are known", args=(V, RECORDS), parameters="x, r"
    ),
    "records of text": row(
        "!return x[0] * len(r)",
        "records without a field of numbers",
        args=(V, np.zeros(3, dtype=[("n", "U4")])),
        parameters="x, r",
    ),
    "a field of text": row(
        "!return x[0] * len(r[0].n)",
        "the field .n",
        "another field, or an argument",
        args=(V, np.zeros(3, dtype=[("a", float), ("n", "U4")])),
        parameters="x, r",
    ),
    "a rule of an object": row("b = Box(x[0])\n!return ruled(b)", "with an object", "the fields as arguments"),
    "a class that nothing names": row("!return build(x[0]).square()", "the class as a global of the module"),
    "a variable of two types in try": row(
        "k = 1\ny = k * x[0]\n!try:\n    k = 2.5\nexcept Exception:\n    pass\nreturn y * k",
        "a variable of it has several types",
        "a name for each of them",
    ),
    # stencils
    "a stencil's arguments": row(
        "!return scaled(x).sum()", "its kernel has 2 parameters", cured="return scaled(x, 2.0).sum()"
    ),
    "a neighborhood ahead": row("!return ahead(x).sum()", "its neighborhood is not one of constants"),
    "a stencil's variable": row(
        "!return by_variable(x).sum()", "an index of its kernel is no constant", "a neighborhood"
    ),
    "a stencil's slice": row("!return of_slice(x).sum()", "indices that are no numbers"),
    "a stencil's else": row("!return from_else(x).sum()", "returns from the `else` of a loop"),
    # complex numbers
    "the text of a complex number": row(
        "z = complex(x[0], 1.0)\n!return x[0] * len(str(z))",
        "the call of str with a complex number",
        "z.real and z.imag",
    ),
    "the class of a complex number": row(
        "!return x[0] * isinstance(z[0], complex)", "only its parts are known", args=(V, V + 1j), parameters="x, z"
    ),
    "bytes of complex numbers": row(
        "z = x * (1 + 2j)\n!return z.nbytes * x[0]", "the attribute .nbytes", "real and imaginary parts"
    ),
}


@functools.cache
def function_of(body, name, parameters="x"):
    """The function, and the line with the mark."""
    lines = [line.removeprefix("!") for line in body.split("\n")]
    text = f"def f({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = dict(SPACE)
    exec(compile(text, file, "exec"), space)
    marked = next((k for k, line in enumerate(body.split("\n"), 2) if line.startswith("!")), 0)
    return njit(space["f"]), f"{file}:{marked}: `{text.splitlines()[marked - 1].strip()}`"


@pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning", "ignore::numba.NumbaTypeSafetyWarning")
@pytest.mark.parametrize("name", ROWS)
def test_a_refusal_names_its_line_its_reason_and_a_cure(name):
    given = ROWS[name]
    f, place = function_of(given.body, name, given.parameters)
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(*given.args)
    text = str(refused.value)
    assert place in text or "!" not in given.body
    assert "Write " in text
    for words in given.words:
        assert words in text


CURED = [name for name, given in ROWS.items() if given.cured]

#: Cures whose derivative is compiled at every run: the evaluator of core does not run the derivatives that they call.
NOT_IN_CORE = {"two pullbacks"}


def slopes(f, args):
    """Central differences by the first argument."""
    x, found = args[0], np.zeros(args[0].shape)
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[k] = 1e-6
        found[k] = (f(x + e, *args[1:]) - f(x - e, *args[1:])) / 2e-6
    return found


def check_in_core(f, args):
    """The gradient by the first argument in core, by its evaluator, beside differences of f in plain Python."""
    given = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)
    _, (found,) = gradient(f, given, (0,))
    assert found == pytest.approx(slopes(twin(f), args), rel=1e-7, abs=1e-8)


def check_compiled(f, args):
    """The compiled gradient by the first argument beside differences of f."""
    assert dr.grad(f)(*args) == pytest.approx(slopes(f, args), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in CURED if name not in NOT_IN_CORE])
def test_the_cure_has_a_derivative_in_core(name):
    given = ROWS[name]
    check_in_core(function_of(given.cured, f"cured: {name}", given.parameters)[0], given.args)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in NOT_IN_CORE else [pytest.mark.slow]) for name in CURED]
)
def test_the_cure_has_a_derivative(name):
    given = ROWS[name]
    check_compiled(function_of(given.cured, f"cured: {name}", given.parameters)[0], given.args)


#: What ended in an error of the compiler's own, or in another value, and has its derivative now.
MENDED = {
    "a tuple and a keyword": "t = (x[0],)\nreturn two(*t, b=x[1])",
    "a tuple or another": "t = (x[0], 1.0)\ny = t or (2.0, 3.0)\nz = t and (x[1], x[0])\nreturn y[0] * z[0] * z[1]",
    "an empty tuple": "t = ()\nassert x[0] > 0.0\nreturn x[0] if t else x[1] * x[1]",
    "a negative default": "def g(y, k=-2.0):\n    return y * y * k\nreturn g(x[0])",
    "a list twice in a list": "l = [x[0]]\nl.append(x[1])\nq = [l, l]\nq[1][0] *= x[2]\nreturn q[0][0] * q[1][1]",
    "a loop over a copy": "l = [[x[0], x[1]]]\nfor v in l[0].copy():\n    l[0].append(v * x[2])\nreturn sum(l[0])",
    "a loop over a list of keys": (
        "d = {0: x * x}\nfor k in list(d.keys()):\n    d[k + 1] = d[k] * x\nreturn np.sum(d[1])"
    ),
    "an array of a tuple": "t = (x[0], 2, x[1])\na = np.array(t)\nreturn np.prod(a * a)",
}


@pytest.mark.parametrize("name", MENDED)
def test_what_has_a_derivative_now_in_core(name):
    check_in_core(function_of(MENDED[name], name)[0], (V,))


@pytest.mark.slow
@pytest.mark.parametrize("name", MENDED)
def test_what_has_a_derivative_now(name):
    check_compiled(function_of(MENDED[name], name)[0], (V,))
