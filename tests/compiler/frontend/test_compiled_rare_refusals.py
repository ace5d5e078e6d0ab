"""Refusals of rarer programs, as in test_compiled_each_refusal.py: the line, the reason, and a cure that works."""

from collections import namedtuple

import numpy as np
import pytest
from numba import float64, njit, stencil, types, vectorize
from numba.core.errors import TypingError
from numba.experimental import jitclass, structref
from numba.extending import overload, overload_attribute, overload_method
from numba.typed import Dict
from test_compiled_each_refusal import SPACE, V, check_compiled, check_in_core, function_of, row

import dualrev as dr
from dualrev.errors import ArgumentError, CotangentError, UnsupportedError

KIND = np.dtype([("a", np.float64), ("v", np.float64, (2,))])
RECORDS = np.zeros(3, KIND)
STEPS = np.arange(8.0)[::2]
Residual = namedtuple("Residual", "x")


@jitclass([("a", float64)])
class Shifted:
    def __init__(self, a):
        self.a = a

    def by(self, k=(1.0, 2.0)):
        return self.a * k[0]


@structref.register
class CellType(types.StructRef):
    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class Cell(structref.StructRefProxy):
    def __new__(cls, a):
        return structref.StructRefProxy.__new__(cls, a)


structref.define_proxy(Cell, CellType, ["a"])


@overload_method(CellType, "square")
def _square_of_cell(self):
    return lambda self: self.a * self.a


@overload_attribute(types.Array, "twice")
def _twice(x):
    return lambda x: x * 2.0


@overload_method(types.Array, "by_literal")
def _by_literal(x, k):
    if not isinstance(k, types.Literal):
        raise TypingError("a constant")
    return lambda x, k: x.sum() * k


@njit
def keywords(y, **k):
    return y * y


@njit
def rest(*a):
    return a[0] * a[1]


@njit
def maybe(x):
    return x[0] * 2.0 if x[0] > 1.0 else None


@njit
def maybe_pair(x):
    return (x[0], 1.0) if x[0] > 1.0 else None


@njit
def two_ints(n):
    return [n, n + 1]


@njit
def square(x):
    return x * x


@njit
def flags(x):
    return (x * x).sum() if x.flags.c_contiguous else x.sum()


@njit
def writes(x):
    x[0] *= 2.0
    return x.sum()


@njit("Tuple((float32, float64))(float64[::1])")
def converts(x):
    return x[0], x[1]


FACTOR = 2.0


@stencil
def with_factor(a):
    return FACTOR * a[0]


@stencil
def by_factor(a, factor):
    return factor * a[0]


@njit
def says(text):
    print(text)


@njit
def shows(x):
    print(str(x))


@dr.custom_jvp
@njit
def by_item(x, d):
    return x * x * d[0]


@by_item.defjvp
@njit
def _by_item(p, t):
    return p[0] * p[0] * p[1][0], 2.0 * p[0] * t[0] * p[1][0]


@njit
def total(x, d):
    s = 0.0
    for k in d:
        s += d[k]
    return s * x * x * x


@njit
def keeps(x, d):
    d[1] = x
    return x * x


@njit
def of_ints(n):
    return n * 2


@njit
def pair(x):
    return x * x, x * 2.0


@njit
def counting(n):
    for k in range(n):
        yield k * 1.0


@njit
def counting_by_a_call(n):
    return counting(n)


@njit
def sum_of_counting(n):
    s = 0.0
    for k in counting_by_a_call(n):
        s += k
    return s


def two_floats(n):
    """Stub of an overload that returns a list."""


@overload(two_floats)
def _two_floats(n):
    return lambda n: [n * 1.0, 2.0]


@vectorize(["complex128(complex128)"])
def of_complex(a):
    return a * a


def hiding(x):
    """Stub of an overload that returns a named tuple whose class no function names."""


@overload(hiding)
def _hiding(x):
    cls = namedtuple("Hidden", "x")
    return lambda x: cls(x)


@dr.custom_vjp
@njit
def hidden(x):
    return x * x


hidden.defvjp(njit(lambda x: (x * x, hiding(x))), njit(lambda residual, ct: (2.0 * residual.x * ct,)))


@dr.custom_vjp
@njit
def with_residual(x):
    return x * x


def _fwd(x):
    return x * x, Residual(x)


with_residual.defvjp(njit(_fwd), njit(lambda residual, ct: (2.0 * residual.x * ct,)))

SPACE |= {f.py_func.__name__: f for f in (keywords, rest, maybe, maybe_pair, two_ints, square, flags, writes, converts)}
SPACE |= {f.py_func.__name__: f for f in (total, keeps, of_ints, pair, sum_of_counting)}
SPACE |= {"by_item": by_item, "two_floats": two_floats}
SPACE |= {"says": says, "shows": shows, "with_factor": with_factor, "by_factor": by_factor}
SPACE |= {"Shifted": Shifted, "Cell": Cell, "Dict": Dict, "types": types, "of_complex": of_complex}
SPACE |= {
    "DERIVATIVE": dr.grad(rest),
    "FIVE": 5,
    "GLOBAL": np.zeros(2, KIND),
    "with_residual": with_residual,
    "hidden": hidden,
}

ROWS = {
    # expressions and statements
    "a lambda in a list": row(
        "!l = [lambda y: y * y]\nreturn l[0](x[0])", "a lambda that is passed on", "a numba function outside"
    ),
    "a default by its name": row(
        "def g(y, k=2.0):\n    return y * k\n!return g(x[0], k=x[1])",
        "numba takes its default there",
        "the argument at its place",
        cured="def g(y, k=2.0):\n    return y * k\nreturn g(x[0], x[1])",
    ),
    "an index of a number": row(
        "!return x[0] * FIVE[0]", "an index of a constant", "the value itself", cured="return x[0] * FIVE"
    ),
    "del of an attribute": row("!del x.a\nreturn x[0]", "a `del` statement", "variables may stay"),
    "a class": row("!class A:\n    pass\nreturn x[0]", "a class inside of a numba function", "tuples or arrays"),
    "a numba type": row("!k = types.float64\nreturn x[0]", "the numba type float64 as a value", "as an argument"),
    "keys of a dict": row(
        "d = {0: 5.0, 1: 7.0}\n!a, b = d\nreturn x[0] * (a + b)",
        "they are the keys of the dict",
        "list(d)",
        cured="d = {0: 5.0, 1: 7.0}\na, b = list(d)\nreturn x[0] * (a + b)",
    ),
    "keys of a dict with derivatives": row(
        "d = {0: x[0], 1: x[1]}\n!a, b = d\nreturn x[0] * (a + b)", "they are the keys of the dict"
    ),
    "items of a set": row(
        "!a, b = {1, 2}\nreturn x[0] * (a + b)", "only items of tuples, lists and arrays are known", "a loop over it"
    ),
    "items of a range": row("!a, b = range(2)\nreturn x[0] * (a + b)", "only items of tuples, lists and arrays"),
    "a list that a call gives": row(
        "!a, b = two_ints(2)\nreturn x[0] * a * b",
        "how many items the list has is not known before",
        "ys[0]",
        cured="ys = two_ints(2)\na, b = ys[0], ys[1]\nreturn x[0] * a * b",
    ),
    # calls
    "keywords of f": row(
        "return x[0]", "**kwargs", "the names of the arguments are not known", args=(V, 1.0), parameters="x, **k"
    ),
    "keywords of a callee": row("!return keywords(x[0])", "it has **kwargs", "named parameters"),
    "a starred derivative": row(
        "t = (x[0], x[1])\n!return DERIVATIVE(*t)",
        "how many arguments it gets, is not said here",
        "every argument, by position",
        cured="t = (x[0], x[1])\nreturn DERIVATIVE(t[0], t[1])",
    ),
    "a starred ufunc": row(
        "t = (x[0], x[1])\n!return product(*t)",
        "only plain arguments are known",
        "its inputs",
        cured="t = (x[0], x[1])\nreturn product(t[0], t[1])",
    ),
    "a copy of a literal": row(
        "!return np.array([x[0], x[1]], copy=True)[0]",
        "only dtype is known",
        "np.array(values, dtype)",
    ),
    "too few arguments": row("!return two()", "the argument a is missing", "its arguments"),
    "too many arguments": row("!return two(x[0], x[1], x[2])", "it has other parameters"),
    "a signature of another tuple": row("return converts(x)[0]", "numba converts that", "no signature"),
    # derivatives inside
    "the order of an array": row(
        "!_, pull = dr.vjp(flags, x)\nreturn pull(1.0)[0][1]",
        "a derivative of the vjp of ",
        "looks at the layout of an array that is not contiguous",
        args=(STEPS,),
    ),
    "a function that writes": row(
        "!return dr.grad(writes)(x)[0]",
        "a derivative of the grad of ",
        "changes its arguments, or may do so",
        "a function of a copy",
    ),
    "a residual of a hidden class": row(
        "!return hidden(x[0])", "a named tuple whose class, Hidden, no function of the rule names", "a tuple"
    ),
    # values that may be None
    "None in a tuple": row("!t = (maybe(x), 1.0)\nreturn x[0] * t[1]", "the value of t[0]", "None on some paths"),
    "None in a list": row("!t = [maybe(x)]\nreturn x[0] * len(t)", "a part of this line", "None on some paths"),
    "a pair or None": row(
        "!t = maybe_pair(x)\nif t is not None:\n    return t[0]\nreturn x[1]", "the value of t", "None on some paths"
    ),
    # arrays and tuples
    "a flat iterator": row(
        "y = x * 1.0\nfor g in (y.flat,):\n!    g[1] = x[0]\nreturn y[1]",
        "an assignment to a.flat",
        "a.ravel()[k] = x",
        cured="y = x * 1.0\ny.ravel()[1] = x[0]\nreturn y[1]",
    ),
    "None as an index in a condition": row(
        "n = None\n!if (x[n] > 1.0).any():\n    return x[0]\nreturn x[1]", "an index that is a value of numba type none"
    ),
    "a product of vectors in an array": row(
        "!return np.dot(x, x, np.zeros(1))[0]", "this dot product", "numba has it for two arrays"
    ),
    "outer of a tuple": row(
        "t = (x[0], x[1])\n!return np.outer(t, x)[0, 0]",
        "it is no array or number",
        "an array",
    ),
    "differences of a tuple": row(
        "!return np.ediff1d((x[0], x[1]))[0]",
        "only that of an array is known",
    ),
    "an array of named tuples": row(
        "t = (x[0], x[1])\n!return np.array([t, t])[0, 0]", "its elements are no numbers", "an array of numbers"
    ),
    "var of ints": row("!return np.var(np.arange(3)) * x[0]", "np.var of these arguments", "no derivative here"),
    "a variable slice": row(
        "t = (x[0], x[1], x[2])\nn = 2\n!return t[0:n][1]",
        "its bounds are not constant",
        "constants",
        cured="t = (x[0], x[1], x[2])\nreturn t[0:2][1]",
    ),
    "nested tuples are compared": row(
        "t = ((x[0], x[1]), 1.0)\n!return x[0] if t == t else x[1]",
        "only its parts can be compared",
        "t[0], t[1]",
        cured="t = ((x[0], x[1]), 1.0)\nreturn x[0] if t[0] == t[0] and t[1] == t[1] else x[1]",
    ),
    "the class of elements": row("!return x.dtype.type(3.0) * x[0]", "the method .type", "a function"),
    "a float of another size in a list": row(
        "l = [np.float32(x[0])]\nl.append(np.float32(1.0))\nl.append(x[1])\nreturn l[2]",
        "a value of numba type float32 in a list of float64",
        "values of one type",
        cured="l = [x[0]]\nl.append(1.0)\nl.append(x[1])\nreturn l[2]",
    ),
    # what the user has taught numba
    "an attribute of the user's": row(
        "!return x.twice[0]",
        "the attribute .twice",
        "a numba function of its object",
    ),
    "a method for constants": row(
        "!return x.by_literal(3)", "raises TypingError for these types", "types that it is for"
    ),
    "a method of a structref": row(
        "n = Cell(x[0])\n!return n.square()", "only those of jitclasses are known", "a numba function of the object"
    ),
    "a default that is a tuple": row(
        "b = Shifted(x[0])\n!return b.by()",
        "a default that is no number",
        "its arguments",
        cured="b = Shifted(x[0])\nreturn b.by((1.0, 2.0))",
    ),
    # records
    "records are copied": row(
        "!q = r.copy()\nreturn q[0].a * x[0]", "this use of the object r", args=(V, RECORDS), parameters="x, r"
    ),
    "a record is printed": row(
        "!print(r[0])\nreturn x[0]", "this use of an object", args=(V, RECORDS), parameters="x, r"
    ),
    "a record in a field": row(
        "!r[0].a = r[1]\nreturn x[0]", "this use of an object", args=(V, RECORDS), parameters="x, r"
    ),
    "records are compared": row(
        "!return x[0] if r[0] is r[1] else x[1]", "this use of", args=(V, RECORDS), parameters="x, r"
    ),
    "a field of frozen records": row("!return x[0] * GLOBAL.a[0]", "this use of a frozen record", "as an argument"),
    # complex numbers
    "a ufunc of complex numbers": row(
        "z = x * 1j\n!return of_complex(x).real.sum() * abs(z[0])", "this use of complex numbers"
    ),
    "a ufunc's result for questions": row(
        "z = x * 1j\n!return x[0] * np.isnan(z, out=np.zeros(3, np.bool_))[0]", "it is not known of complex numbers"
    ),
    # strings and blocks
    "an array in try": row(
        "!try:\n    y = x * 2.0\nexcept Exception:\n    y = x\nreturn y[0]", "try/except", "a test before the operation"
    ),
    "a stencil with a frozen global": row(
        "!return with_factor(x)[1]",
        "numba has frozen the global FACTOR in it",
        "Write FACTOR as an argument",
        cured="return by_factor(x, 2.0)[1]",
    ),
    "a list of an overload": row(
        "!b = two_floats(2)\nreturn x[0] * b[0] * x[1] * b[1]",
        "a list that a call returns",
        "Write an array",
        cured="b = np.array([2.0, 2.0])\nreturn x[0] * b[0] * x[1] * b[1]",
    ),
    "a list of an overload grows": row(
        "!b = two_floats(2)\nb.append(x[0])\nreturn b[0] * b[2]",
        "a list that a call returns",
        "Write an array",
        cured="b = np.empty(3)\nb[0], b[1], b[2] = 2.0, 2.0, x[0]\nreturn b[0] * b[2]",
    ),
    "a rule with a dict": row(
        "d = {0: 2.0}\n!return by_item(x[0], d)",
        "the call with a container",
        "floats that are differentiated might get into it",
        "Write an array",
        cured="d = np.array([2.0])\nreturn by_item(x[0], d)",
    ),
    "a method of numba's own": row(
        "y = x * 1.0\n!y._zero_fill()\nreturn (y[0] + x[0]) * x[0]",
        "the method ._zero_fill",
        "of an array, only numpy's methods are known",
        "Write a loop",
        cured="y = x * 1.0\nfor k in range(len(y)):\n    y[k] = 0.0\nreturn (y[0] + x[0]) * x[0]",
    ),
    "`in` of complex numbers": row(
        "z = x * 1j\n!return x[0] * x[0] if 5j in z else x[1] * x[1]",
        "only that of tuples, real arrays and strings is known",
        "Write a loop",
        cured="z = x * 1j\nfound = False\nfor u in z:\n    if u == 5j:\n        found = True\n"
        "return x[0] * x[0] if found else x[1] * x[1]",
    ),
    "`in` of a.flat": row(
        "!return x[0] * x[0] if 1.0 in x.flat else x[1] * x[1]",
        "only that of tuples, real arrays and strings is known",
        "Write a loop",
        cured="found = False\nfor u in x.flat:\n    if u == 1.0:\n        found = True\n"
        "return x[0] * x[0] if found else x[1] * x[1]",
    ),
    "out of a ufunc": row(
        "o = np.empty(3)\n!product(x, x, o)\nreturn o[0]",
        "a ufunc that writes to an array",
        "only a call with its inputs is known",
        "Write the assignment out[...] = of such a call",
        cured="o = np.empty(3)\no[...] = product(x, x)\nreturn o[0]",
    ),
    "a ufunc of an array without axes": row(
        "a = np.asarray(x[0])\n!return product(a, x)[1]",
        "only numbers and arrays with axes are known",
        "Write its number: a[()]",
        cured="a = np.asarray(x[0])\nreturn product(a[()], x)[1]",
    ),
    "a sum along a variable axis": row(
        "n = len(x) - 1\n!return np.sum(x * x, n)[0]",
        "np.sum with this axis or dtype",
        "only an int that is a constant is known",
        "Write a loop",
        cured="n = len(x) - 1\ns = 0.0\nfor k in range(2):\n    y = x[0, k] if n == 1 else x[k, 0]\n"
        "    s += y * y\nreturn s",
        args=(np.array([[1.0, 0.3], [0.2, 2.0]]),),
    ),
    "the dtype of a sum": row(
        "!return np.sum(x * x, None, np.float64)",
        "sum with these arguments",
        "only that of all elements is known",
        "Write a loop",
        cured="s = 0.0\nfor u in x:\n    s += u * u\nreturn s",
    ),
    "a list that grows is compared": row(
        "a = [x[0]]\na.append(x[1])\nb = a + a\n!return b[3] * (a == b)",
        "this use of a list that grows",
        "Write an array (np.empty) and its length",
        cured="a = np.empty(2)\na[0] = x[0]\na[1] = x[1]\nb = np.append(a, a)\nreturn b[3] * (len(a) == len(b))",
    ),
    "a string for a function": row(
        "s = str(x[0])\n!says(s)\nreturn x[0]",
        "the call with a string",
        "the string is made of what is differentiated",
        "Write str(x) inside of the called function, and x as its argument",
        cured="shows(x[0])\nreturn x[0]",
    ),
    "a number from a string": row("s = str(x[0])\n!return float(s)", "the string depends on what is differentiated"),
}


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

#: Programs whose derivative is compiled at every run: the evaluator of core runs neither rules nor derivatives inside.
NOT_IN_CORE = {
    "a starred derivative",
    "a rule with a dict",
    "a residual with a name",
    "a gradient with a dict",
    "a Hessian with a dict",
}


def compiled(names):
    """A test of compiled derivatives, slow where another one runs them in core."""
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=[] if name in NOT_IN_CORE else [pytest.mark.slow]) for name in names]
    )


@pytest.mark.parametrize("name", [name for name in CURED if name not in NOT_IN_CORE])
def test_the_cure_has_a_derivative_in_core(name):
    given = ROWS[name]
    check_in_core(function_of(given.cured, f"cured: {name}", given.parameters)[0], given.args)


@compiled(CURED)
def test_the_cure_has_a_derivative(name):
    given = ROWS[name]
    check_compiled(function_of(given.cured, f"cured: {name}", given.parameters)[0], given.args)


#: What ended in an error of the compiler's own, or in a refusal without need, and has its derivative now.
MENDED = {
    "the kind of a dtype": "return x[0] if x.dtype.kind == 'f' else x[1]",
    "dtypes are compared": "d = x.dtype\nif d == y.dtype and x[0] > 0.0:\n    return x[0] * x[0]\nreturn x[1]",
    "None under a name as an index": "n = None\ny = np.zeros((1, 3))\ny[n, 0] = x * x\nreturn x[n, 1][0] * y[0, 2]",
    "a residual with a name": "return with_residual(x[0])",
    "a gradient with a dict": "d = {0: 2.0, 1: 0.5}\nreturn dr.grad(total)(x[0], d) * y[0] + x[1] * d[1]",
    "a Hessian with a dict": "d = {0: 2.0, 1: 0.5}\nreturn dr.hessian(total)(x[0], d)",
    "a function that hands a generator on": "n = len(x)\nreturn sum_of_counting(n) * x[0] * x[0]",
}


@pytest.mark.parametrize("name", [name for name in MENDED if name not in NOT_IN_CORE])
def test_what_has_a_derivative_now_in_core(name):
    check_in_core(function_of(MENDED[name], name, "x, y")[0], (V, V))


@compiled(MENDED)
def test_what_has_a_derivative_now(name):
    check_compiled(function_of(MENDED[name], name, "x, y")[0], (V, V))


def test_a_cotangent_with_other_axes_is_refused_where_it_is_differentiated():
    f, _ = function_of("y, pull = dr.vjp(square, x)\nreturn pull(np.ones((3, 1)))[0][0]", "another cotangent")
    with pytest.raises(CotangentError, match="where the function's value has an array with 1 axes"):
        dr.grad(f)(V)


@pytest.mark.parametrize(
    ("of", "given", "there", "cured"),
    [("pair", "(1.0, 2.0, 3.0)", "a tuple with 2 entries", "(1.0, 2.0)"), ("square", "x", "a real scalar", "1.0")],
)
def test_a_cotangent_of_another_structure_is_refused_where_it_is_differentiated(of, given, there, cured):
    f, _ = function_of(f"y, pull = dr.vjp({of}, x[0])\nreturn pull({given})[0]", f"the cotangent {given}")
    with pytest.raises(CotangentError, match=f"where the function's value has {there}"):
        dr.grad(f)(V)
    g, _ = function_of(f"y, pull = dr.vjp({of}, x[0])\nreturn pull({cured})[0]", f"the cotangent {cured}")
    assert dr.grad(g)(V) == pytest.approx([2.0, 0.0, 0.0])


def test_a_vjp_of_ints_is_refused_where_it_is_differentiated():
    f, _ = function_of("y, pull = dr.vjp(of_ints, len(x))\nreturn y * x[0]", "a vjp of ints")
    words = "numba type int64 holds no real scalar. Write 2.0 where you wrote 2, or the function itself"
    with pytest.raises(ArgumentError, match=words):
        dr.grad(f)(V)
    for cure in ("y, pull = dr.vjp(of_ints, len(x) * 1.0)", "y = of_ints(len(x))"):
        g, _ = function_of(f"{cure}\nreturn y * x[0]", cure)
        assert dr.grad(g)(V) == pytest.approx([6.0, 0.0, 0.0])


def test_a_float_that_gets_into_a_dict_of_a_derivative_is_refused():
    f, _ = function_of("return dr.grad(keeps)(x[0], d)", "a gradient that keeps x", "x, d")
    d = Dict.empty(types.int64, types.float64)
    with pytest.raises(Exception, match="the dict d cannot be differentiated"):
        dr.grad(f)(V, d)


def test_a_call_that_the_compiler_has_made_names_the_line_of_its_function():
    f, _ = function_of("return dr.grad(total)(x[0], d)", "a Hessian of a gradient with a dict", "x, d")
    d = Dict.empty(types.int64, types.float64)
    line = r"test_compiled_rare_refusals.py:\d+: `def total\(x, d\):`: this call in its hessian"
    with pytest.raises(UnsupportedError, match=line):
        dr.hessian(f)(V, d)


def test_a_value_that_may_be_no_pair_is_refused():
    f, _ = function_of("if x[0] > 1.0:\n    return x[0], 1.0\nreturn None", "a pair or None as the value")
    with pytest.raises(UnsupportedError, match="the value of this function cannot be differentiated: it is None"):
        dr.jacobian(f)(V)


def test_a_function_for_another_device_is_refused():
    device = pytest.importorskip("numba.cuda").jit(lambda x: x[0])
    with pytest.raises(UnsupportedError, match=r"a numba function for another device.*Write @njit"):
        dr.grad(device)(V)
