"""Usual mistakes of users, and the whole text of each message."""

import copy
import importlib
import pickle
import re
import subprocess
import sys
from functools import partial

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.spatial.transform
import scipy.stats

import dualrev as dr
import dualrev.scipy
from dualrev.diagnostics import user_lines


def total(x):
    return x.sum()


@numba.njit
def square(x):
    return x * x


MORE = " dr.errors.explain() says more."

CONSTANT = f"Where a constant is meant, write dualrev.value(x).{MORE}"


def unknown(transform, name, cure):
    return f"{transform}() got an unexpected keyword argument {name!r}. {cure}"


MISTAKES = {
    "grad of f and x": (
        lambda: dr.grad(total, np.ones(3)),
        "argnums must be an int or a tuple of ints, got an array; did you mean dr.grad(f)(x)?",
    ),
    "grad of f and a number": (
        lambda: dr.value_and_grad(total, 2.0),
        "argnums must be an int or a tuple of ints, got 2.0; did you mean dr.value_and_grad(f)(x)?",
    ),
    "hessian of a numba function and x": (
        lambda: dr.hessian(square, [1.0, 2.0]),
        "argnums must be an int or a tuple of ints, got [1.0, 2.0]; did you mean dr.hessian(f)(x)?",
    ),
    "jacobian of a numba function and x": (
        lambda: dr.jacobian(square, np.ones(2)),
        "argnums must be an int or a tuple of ints, got an array; did you mean dr.jacobian(f)(x)?",
    ),
    "argnums by name": (
        lambda: dr.grad(total, "x"),
        "argnums must be an int or a tuple of ints, got 'x'",
    ),
    "argnums that count too far": (
        lambda: dr.grad(lambda x, y: x * y, 2)(1.0, 2.0),
        "argnums must be an int or distinct ints in 0..1, got 2. They count the positional arguments of the call;"
        " what is passed by keyword is not differentiated.",
    ),
    "jit": (
        lambda: dr.jit,
        "module 'dualrev' has no attribute 'jit'. In its place: put @numba.njit above f:"
        " then dr.grad(f) is compiled, too",
    ),
    "tree_map": (
        lambda: dr.tree_map,
        "module 'dualrev' has no attribute 'tree_map'. In its place: dr.tree.map",
    ),
    "a slip": (
        lambda: dr.value_and_gard,
        "module 'dualrev' has no attribute 'value_and_gard'. Did you mean 'value_and_grad'?",
    ),
    "a name of nothing": (
        lambda: dr.qqqq,
        "module 'dualrev' has no attribute 'qqqq'",
    ),
    "an int": (
        lambda: dr.grad(lambda x: x * x)(2),
        "there is nothing to differentiate with respect to: the arguments (types: int) hold no real scalar."
        f" Write 2.0 where you wrote 2.{MORE}",
    ),
    "an array of ints": (
        lambda: dr.grad(total)(np.arange(3)),
        "there is nothing to differentiate with respect to: the arguments (types: ndarray) hold no real scalar."
        f" Write x.astype(float) for the array x.{MORE}",
    ),
    "an array for a number": (
        lambda: dr.grad(lambda x: 2.0 * x)(np.ones(3)),
        "grad needs a scalar-valued function, but the function returned an array of shape (3,)."
        f" Return one number, such as the sum; or use dualrev.jacobian.{MORE}",
    ),
}


VECTOR = f"Give p the structure of x.{MORE}"
MISTAKES |= {
    "a vector of another shape": (
        lambda: dr.hvp(total)(np.ones(3), np.ones(2)),
        f"the vector p of hvp(f)(x, p) is array([1., 1.]) (type ndarray) where x has an array of shape (3,). {VECTOR}",
    ),
    "a number for a vector": (
        lambda: dr.hvp(total)(np.ones(3), 1.0),
        f"the vector p of hvp(f)(x, p) is 1.0 (type float) where x has an array of shape (3,). {VECTOR}",
    ),
    "no vector": (
        lambda: dr.hvp(total)(np.ones(3)),
        "hvp(f) takes x and p, and then whatever else f takes: hvp(f)(x, p, *args)",
    ),
    "a tangent of another shape": (
        lambda: dr.jvp(total, (np.ones(3),), (np.ones(2),)),
        f"a tangent is array([1., 1.]) (type ndarray) where the primals have an array of shape (3,).{MORE}",
    ),
    "jvp of no tuples": (
        lambda: dr.jvp(total, np.ones(3), np.ones(3)),
        "jvp takes a tuple of primals, got ndarray: write jvp(f, (x,), (t,))",
    ),
    "a cotangent of another shape": (
        lambda: dr.vjp(lambda x: 2.0 * x, np.ones(3))[1](np.ones(2)),
        "the pullback was given array([1., 1.]) (type ndarray) where the function's value has an array of shape (3,)."
        f"{MORE}",
    ),
    "a Hessian by ints": (
        lambda: dr.hessian(total)(np.arange(3)),
        "there is nothing to differentiate with respect to: the arguments (types: ndarray) hold no real scalar."
        f" Write x.astype(float) for the array x.{MORE}",
    ),
    "no return": (
        lambda: dr.grad(lambda x: None)(1.0),
        "the function returned None (type NoneType), which holds no real scalar, so it has no derivative."
        " Write `return y` at its end, or dualrev.vjp(f, *args, outputs=(k,)) if it writes its results into argument k."
        f"{MORE}",
    ),
}
OPTIONS = {
    "argnum of grad": (lambda: dr.grad(total, argnum=0), unknown("grad", "argnum", "Did you mean 'argnums'?")),
    "argnum of hessian": (lambda: dr.hessian(total, argnum=0), unknown("hessian", "argnum", "Did you mean 'argnums'?")),
    "argnum of check_grads": (
        lambda: dr.check_grads(total, (1.0,), argnum=0),
        unknown("check_grads", "argnum", "Did you mean 'argnums'?"),
    ),
    "argnum of a sparse Jacobian": (
        lambda: dr.sparse_jacobian(total, argnum=0),
        unknown("sparse_jacobian", "argnum", "Did you mean 'argnums'?"),
    ),
    "argnum of a numba function": (
        lambda: dr.value_and_grad(square, argnum=0),
        unknown("value_and_grad", "argnum", "Did you mean 'argnums'?"),
    ),
    "hasaux": (lambda: dr.jacobian(total, hasaux=True), unknown("jacobian", "hasaux", "Did you mean 'has_aux'?")),
    "holomorph": (
        lambda: dr.jacrev(total, holomorph=True),
        unknown("jacrev", "holomorph", "Did you mean 'holomorphic'?"),
    ),
    "holomorphic of grad": (
        lambda: dr.grad(total, holomorphic=True),
        unknown("grad", "holomorphic", "In its place: dr.jacobian(f, holomorphic=True)"),
    ),
    "allow_int": (
        lambda: dr.grad(total, allow_int=True),
        unknown("grad", "allow_int", "Leave it out: ints are constants"),
    ),
    "create_graph": (
        lambda: dr.grad(total, create_graph=True),
        unknown(
            "grad", "create_graph", "Leave it out: a derivative can be differentiated again, as in dr.grad(dr.grad(f))"
        ),
    ),
    "in_dims": (lambda: dr.vmap(total, in_dims=1), unknown("vmap", "in_dims", "In its place: in_axes")),
    "a parameter of f": (
        lambda: dr.grad(lambda x, y: x * y, y=2.0),
        "grad() got an unexpected keyword argument 'y', a parameter of f. Write dr.grad(f)(x, y=y)",
    ),
    "a parameter of f for vjp": (
        lambda: dr.vjp(lambda x, y: x * y, 1.0, y=2.0),
        "vjp() got an unexpected keyword argument 'y', a parameter of f. Write dr.vjp(lambda x: f(x, y=y), ...)",
    ),
    "an option of nobody": (
        lambda: dr.jvp(total, (1.0,), (1.0,), qqqq=1),
        unknown("jvp", "qqqq", "It takes engine, has_aux, outputs, primals, tangents"),
    ),
}


@pytest.mark.parametrize(("mistake", "text"), [*MISTAKES.values(), *OPTIONS.values()], ids=[*MISTAKES, *OPTIONS])
def test_a_mistake_is_answered_with_what_to_write(mistake, text):
    with pytest.raises((dr.DualrevError, AttributeError, TypeError)) as caught:
        mistake()
    assert str(caught.value) == text


ARRAY, NUMBER = np.ones(3), 1.5
ATTRIBUTES = {
    "at": "In its place: x = x.copy(), then x[i] = y, or x[i] += y: assignments are differentiated",
    "requires_grad": "Leave it out: the arguments of f that argnums names are differentiated,"
    " as in dr.grad(f, argnums=0)",
    "backward": "In its place: return the number from a function f; its gradient is dr.grad(f)(x)",
    "grad": "In its place: return the number from a function f; its gradient is dr.grad(f)(x)",
    "detach": "In its place: dr.stop_gradient(x), which is x as a constant",
    "numpy": "In its place: dr.value(x), a plain array: its derivative is lost",
    "clone": "In its place: x.copy()",
    "device": "Leave it out: numbers are in the memory of the CPU, in double precision",
    "unsqueeze": "In its place: np.expand_dims(x, axis)",
    "outer": "In its place: np.outer(x)",
}


@pytest.mark.parametrize("x", [ARRAY, NUMBER], ids=["array", "number"])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_another_library_is_answered_with_what_to_write(name, x):
    def f(x):
        return np.sum(getattr(x, name) * x)

    kind = "RealArray" if x is ARRAY else "Real"
    with pytest.raises(AttributeError) as caught:
        dr.grad(f)(x)
    assert str(caught.value) == f"{kind!r} object has no attribute {name!r}. {ATTRIBUTES[name]}"
    assert caught.value.name == name


def test_attributes_that_nobody_has_stay_as_they_are():
    """hasattr, copy and the user's own except clauses see Python's AttributeError."""

    def f(x):
        assert not hasattr(x, "at")
        assert not hasattr(x, "__array_interface__")
        with pytest.raises(AttributeError, match=r"has no attribute 'detach'$"):
            x.detach()
        return np.sum(copy.copy(x) * copy.deepcopy(x))

    np.testing.assert_array_equal(dr.grad(f)(ARRAY), 2.0 * ARRAY)
    assert dr.grad(f)(NUMBER) == 3.0
    with pytest.raises(AttributeError, match=r"^'Real(Array)?' object has no attribute 'qqqq'$"):
        dr.grad(lambda x: x.qqqq)(ARRAY)
    with pytest.raises(AttributeError, match=r"^'float' object has no attribute 'backward'$"):
        dr.grad(lambda x: dr.value(x).backward())(NUMBER)


# Functions of libraries


def plain_array(mistake):
    return f"making a plain array of one that holds numbers that are being differentiated at {mistake}"


def no_float(mistake):
    return f"float() of a number that is being differentiated at {mistake}"


OWN_RULE = "give a function f that calls it a rule: `@dualrev.custom_vjp` above f, `f.defvjp(fwd, bwd)` below it"
TABLE = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 0.25]})
LIBRARIES = {
    "logpdf": (
        lambda m: scipy.stats.norm.logpdf(0.5, m, 1),
        0.0,
        no_float,
        "scipy.stats.norm.logpdf",
        "Write `from dualrev.scipy import stats`: stats.norm.logpdf takes these numbers.",
    ),
    "frozen": (
        lambda m: scipy.stats.norm(m, 1).logpdf(0.5),
        0.0,
        no_float,
        "scipy.stats.norm.logpdf",
        "Write `from dualrev.scipy import stats`: stats.norm.logpdf takes these numbers.",
    ),
    "a decorated function": (
        lambda a: scipy.linalg.solve(a, np.ones(2))[0],
        np.eye(2),
        plain_array,
        "scipy.linalg.solve",
        "Write `from dualrev.scipy import linalg`: linalg.solve takes these numbers.",
    ),
    "brentq": (
        lambda a: scipy.optimize.brentq(lambda x: x - a, 0.0, 3.0),
        1.0,
        no_float,
        "scipy.optimize.brentq",
        "Write `from dualrev.scipy import optimize`: optimize.brentq takes these numbers.",
    ),
    "a minimum": (
        lambda a: scipy.optimize.basinhopping(lambda x: (x - a) ** 2, 0.0).x[0],
        1.0,
        plain_array,
        "scipy.optimize.basinhopping",
        "dualrev.scipy.optimize has no rule for basinhopping: find x with dualrev.value(a) for every number a that is"
        " differentiated, then write x = dualrev.implicit.attach(dualrev.grad(f), x) with these numbers in f.",
    ),
    "an integral": (
        lambda a: scipy.integrate.nquad(lambda t: t * a, [(0.0, 1.0)])[0],
        1.0,
        no_float,
        "scipy.integrate.nquad",
        "Write `from dualrev.scipy import integrate`: integrate.nquad takes these numbers.",
    ),
    "a class": (
        lambda y: scipy.interpolate.RBFInterpolator(np.eye(3), y)(np.eye(3))[0],
        np.ones(3),
        plain_array,
        "scipy.interpolate.RBFInterpolator",
        "Write `from dualrev.scipy import interpolate`: interpolate.RBFInterpolator takes these numbers.",
    ),
    "a function without a drop-in": (
        lambda y: scipy.interpolate.KroghInterpolator([0.0, 1.0, 2.0], y)(0.5),
        np.ones(3),
        plain_array,
        "scipy.interpolate.KroghInterpolator",
        "dualrev.scipy.interpolate has no rule for KroghInterpolator: write it with functions of numpy."
        f" Or {OWN_RULE}.",
    ),
    "a class in C": (
        lambda x: scipy.spatial.cKDTree(x[:, None]).query([0.0])[0],
        np.ones(3),
        plain_array,
        "scipy.spatial.cKDTree",
        f"dualrev.scipy.spatial has no rule for cKDTree: write it with functions of numpy. Or {OWN_RULE}.",
    ),
    "a method of a class in C": (
        lambda x: scipy.spatial.transform.Rotation.from_rotvec(x).as_matrix()[0, 0],
        np.ones(3),
        plain_array,
        "scipy.spatial.transform.Rotation.from_rotvec",
        "dualrev.scipy.spatial.transform has no rule for Rotation.from_rotvec: write it with functions of numpy."
        f" Or {OWN_RULE}.",
    ),
    "SciPy's own, by dualrev.scipy": (
        lambda a: dualrev.scipy.linalg.hessenberg(a)[0, 0],
        np.eye(2),
        plain_array,
        "scipy.linalg.hessenberg",
        f"dualrev.scipy.linalg has no rule for hessenberg: write it with functions of numpy. Or {OWN_RULE}.",
    ),
    "a function that numpy has": (
        lambda x: scipy.fft.rfft2(x).real[0, 0],
        np.eye(2),
        plain_array,
        "scipy.fft.rfft2",
        "Write np.fft.rfft2, which takes these numbers.",
    ),
    "a fit": (
        lambda x: scipy.stats.norm.fit(x)[0],
        np.ones(3),
        plain_array,
        "scipy.stats.norm.fit",
        "dualrev.scipy.stats has no rule for norm.fit: write it with functions of scipy.special, as ndtri(p) for"
        f" norm.ppf(p). Or {OWN_RULE}.",
    ),
    "a table": (
        lambda b: np.asarray(TABLE * b).sum(),
        np.ones((2, 2)),
        plain_array,
        "pandas",
        "Write t.to_numpy() for the table t that the array meets there, as in t.to_numpy() @ x.",
    ),
}


@pytest.mark.parametrize(("f", "x", "what", "function", "cure"), LIBRARIES.values(), ids=LIBRARIES)
def test_a_function_of_a_library_is_answered_with_the_drop_in(f, x, what, function, cure, request):
    with pytest.raises(dr.ConversionError) as caught:
        dr.grad(f)(x)
    file, line = re.escape(__file__), r"\d+: `.*`"
    first = re.escape(what("@")).replace("@", f"{file}:{line}") + re.escape(f" (inside {function}).")
    cure = cure.pattern if isinstance(cure, re.Pattern) else re.escape(cure)
    assert re.fullmatch(f"{first}\n{cure} {re.escape(CONSTANT)}", str(caught.value))
    if "in C" not in request.node.callspec.id:  # the line of the library
        assert "The plain number is made (inside " in caught.value.more


TABLES = {
    "groupby": (lambda b: TABLE.groupby(b)["a"].sum().sum(), "DataFrame.groupby"),
    "value_counts": (lambda b: TABLE["a"].value_counts(bins=b).sum(), "Series.value_counts"),
}


@pytest.mark.parametrize(("f", "function"), TABLES.values(), ids=TABLES)
def test_a_table_that_meets_an_array_is_answered_with_to_numpy(f, function):
    with pytest.raises(dr.UnsupportedError) as caught:
        dr.grad(f)(np.ones(2))
    text = re.sub(r" at /.*?: `.*`", " here", str(caught.value))
    assert text == (
        f"a method of a table of numbers that are being differentiated here (inside pandas.{function}):"
        " pandas would take them for objects, and computes with these otherwise than with floats. Write numpy's"
        f" function of t.to_numpy() for a table t, as in t.to_numpy() @ x.{MORE}"
    )


def test_the_drop_ins_that_are_named_are_there():
    """Following the messages above works."""
    from dualrev.scipy import integrate, interpolate, linalg, optimize, stats

    assert dr.grad(lambda t: integrate.quad(lambda x: x * t, 0.0, 1.0)[0])(1.0) == 0.5
    assert dr.grad(lambda y: interpolate.CubicSpline([0.0, 1.0], y)(0.5))(np.ones(2)).tolist() == [0.5, 0.5]
    assert dr.grad(lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, 0.0).x[0])(1.0) == pytest.approx(1.0)
    assert dr.grad(lambda m: stats.norm.logpdf(0.5, m, 1))(0.0) == 0.5
    np.testing.assert_allclose(dr.grad(lambda a: linalg.solve(a, np.ones(2))[0])(np.eye(2)), [[-1.0, -1.0], [0.0, 0.0]])
    assert dr.grad(lambda a: optimize.brentq(lambda x: x - a, 0.0, 3.0))(1.0) == pytest.approx(1.0)
    np.testing.assert_array_equal(dr.grad(lambda b: (TABLE.to_numpy() @ b).sum())(np.ones(2)), [3.0, 0.75])


@dr.custom_vjp
def corner(a):
    """The lower left entry of the Hessenberg form of a symmetric matrix, up to its sign."""
    return abs(dualrev.scipy.linalg.hessenberg(a)[1, 0])


corner.defvjp(
    lambda a: (corner(a), a), lambda a, ct: (ct * np.outer([0, *a[1:, 0]], np.eye(3)[0]) / np.hypot(*a[1:, 0]),)
)


def test_a_function_of_scipy_has_the_rule_that_the_message_names():
    """The entry is the length of the first column below the diagonal."""
    a = np.array([[2.0, 0.3, 0.4], [0.3, 1.0, 0.1], [0.4, 0.1, 3.0]])
    g = dr.grad(lambda a: corner(a) ** 2)(a)
    np.testing.assert_allclose(g[:, 0], [0.0, 0.6, 0.8])
    np.testing.assert_allclose(dr.grad(lambda x: abs(np.fft.rfft2(x).real[0, 0]))(np.eye(2)), np.ones((2, 2)))


def minimum(a):
    x = scipy.optimize.minimize_scalar(lambda x: (x - dr.value(a)) ** 2).x
    return dr.implicit.attach(dr.grad(lambda x: (x - a) ** 2), x)


def test_a_minimum_has_the_derivative_that_the_message_names():
    assert dr.grad(minimum)(1.0) == pytest.approx(1.0)


def test_a_drop_in_that_refuses_is_not_named():
    """dualrev.scipy.optimize.basinhopping is there, and refuses: it would be a circle."""
    called = dr.diagnostics.library_calls.Called("scipy", "scipy.optimize", "basinhopping", False)
    assert dr.diagnostics.library_calls.cure(called) == (
        "dualrev.scipy.optimize has no rule for basinhopping: find x with dualrev.value(a) for every number a that"
        " is differentiated, then write x = dualrev.implicit.attach(dualrev.grad(f), x) with these numbers in f."
    )


def test_a_table_in_another_library_is_answered_with_to_numpy(tmp_path, monkeypatch):
    """As in statsmodels' OLS, which makes plain arrays of what it is given."""
    (tmp_path / "fitting.py").write_text("import numpy as np\ndef ols(y, x):\n    return np.asarray(y, float)\n")
    monkeypatch.setattr(user_lines, "_PACKAGES", (f"{tmp_path}/",))
    monkeypatch.setattr(user_lines, "_INSTALLED", (*user_lines._INSTALLED, f"{tmp_path}/"))
    monkeypatch.syspath_prepend(tmp_path)
    fitting = importlib.import_module("fitting")
    with pytest.raises(dr.ConversionError) as caught:
        dr.grad(lambda y: fitting.ols(y, TABLE)[0])(np.ones(2))
    assert str(caught.value).partition("\n")[2] == (
        f"G{OWN_RULE[1:]}, or compute it with numpy, with t.to_numpy() for a table t. {CONSTANT}"
    )


def without_scipy(code):
    """Output of a program where SciPy is not installed."""
    program = f"import sys\nsys.modules['scipy'] = None\n{code}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("statement", ["from dualrev.scipy import stats", "import dualrev.scipy.linalg"])
def test_without_scipy_the_extra_is_named(statement):
    code = f"try:\n    {statement}\nexcept ModuleNotFoundError as error:\n    print(error.name, error)"
    assert without_scipy(code) == ("scipy dualrev.scipy needs SciPy, which is not installed. Write pip install scipy\n")


def test_a_compiled_product_without_scipy_names_the_extra(tmp_path):
    (tmp_path / "products.py").write_text(
        "from numba import njit\n\n@njit\ndef product(a, x):\n    return (a @ x).sum()\n"
    )
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np, dualrev as dr
from products import product
try:
    dr.grad(product)(np.eye(2), np.ones(2))
except ImportError as error:
    print(error)
"""
    assert without_scipy(code) == (
        f"'product' at {tmp_path}/products.py:3 uses @, np.dot or np.linalg: in compiled code they need SciPy, which is"
        " not installed. Write pip install scipy\n"
    )


# Dicts in numba functions


def clearing(x):
    d = {"a": (x, 2.0 * x), "b": (x, x)}
    d.clear()
    d["a"] = (x, x)
    return d["a"][0]


def popping(x):
    d = {"a": {"p": x}, "b": {"p": x}}
    y = d.pop("a")
    return y["p"]


def deleting(x):
    d = {"a": {"p": x}, "b": {"p": x}}
    del d["b"]
    return d["a"]["p"]


def updating(x):
    d = {"a": (x, 2.0 * x), "b": (x, x)}
    d.update({"c": d["a"]})
    return d["c"][0]


def taking(x):
    d = {"a": (x, 2.0 * x), "b": (x, x)}
    _key, value = d.popitem()
    return value[0]


def adding(x):
    d = {"a": (x, 2.0 * x)}
    y = d.setdefault("b", d["a"])
    return y[0]


def storing(x):
    d = {"a": (x, 2.0 * x)}
    d["b"] = d["a"]
    return d["b"][0]


DICTS = {
    clearing: ("d.clear()", ".clear() of a dict of tuples"),
    popping: ('y = d.pop("a")', ".pop() of a dict of dicts"),
    deleting: ('del d["b"]', ".pop() of a dict of dicts"),
    updating: ('d.update({"c": d["a"]})', ".update() of a dict of tuples"),
    taking: ("_key, value = d.popitem()", ".popitem() of a dict of tuples"),
    adding: ('y = d.setdefault("b", d["a"])', ".setdefault() of a dict of tuples"),
    storing: ('d["b"] = d["a"]', "an assignment to an item of a dict of tuples"),
}


@pytest.mark.parametrize("f", DICTS)
def test_a_dict_that_changes_is_refused_where_it_changes(f):
    """Not at the line that makes it: dicts of tuples that do not change are known."""
    text, what = DICTS[f]
    with pytest.raises(dr.UnsupportedError) as caught:
        dr.grad(numba.njit(f))(1.5)
    assert str(caught.value) == (
        f"{__file__}:{f.__code__.co_firstlineno + 2}: `{text}`: {what} cannot be differentiated: only a dict of floats,"
        " arrays or lists may change or be copied. Write such a dict for each item."
    )


# Rules of the user's


def test_check_grads_names_the_function_the_argument_and_the_rule():
    @dr.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3.1 * x * x * ct,))

    def loss(n, x, y):
        return x * n + cube(y)

    with pytest.raises(dr.CheckError) as caught:
        dr.check_grads(loss, (2, 1.0, 2.0), modes=("rev",))
    name = f"{test_check_grads_names_the_function_the_argument_and_the_rule.__name__}.<locals>"
    assert re.fullmatch(
        rf"vjp of '{name}\.loss' with respect to argument 2, order 1: found -?[\d.]+, expected -?[\d.]+ by central"
        rf" differences, within [\d.e-]+\. The rule of '{name}\.cube' takes part: compare it with the formula\."
        + re.escape(MORE),
        str(caught.value),
    )
    with pytest.raises(dr.CheckError, match=r"argument 1, order 1: found"):
        dr.check_grads(lambda x, y: x * cube(y), (0.5, 2.0), argnums=1)
    with pytest.raises(dr.CheckError, match=r"arguments 0, 1, order 1: found"):
        dr.check_grads(lambda x, y: cube(x) * cube(y), (0.5, 2.0))


@dr.custom_vjp
@numba.njit
def compiled_cube(x):
    return x**3


compiled_cube.defvjp(numba.njit(lambda x: (x**3, x)), numba.njit(lambda x, ct: (3.1 * x * x * ct,)))


@numba.njit
def of_a_cube(x):
    return 2.0 * compiled_cube(x)


def test_check_grads_of_a_numba_function_names_the_rule():
    with pytest.raises(dr.CheckError, match=r"^vjp of 'of_a_cube' .*The rule of 'compiled_cube' takes part"):
        dr.check_grads(of_a_cube, (2.0,), order=1, modes=("rev",))


def test_without_a_rule_none_is_blamed():
    with pytest.raises(dr.CheckError) as caught:
        dr.check_grads(abs, (0.0,))
    assert "rule" not in str(caught.value)


RULES = {
    "two for one": (lambda x, ct: (ct, ct), "(1.0, 1.0) (type tuple, of length 2)"),
    "no tuple": (lambda x, ct: 2.0 * ct, "2.0 (type float)"),
    "nothing": (lambda x, ct: None, "None (type NoneType)"),
}


@pytest.mark.parametrize(("bwd", "shown"), RULES.values(), ids=RULES)
def test_a_bwd_of_wrong_length_says_what_it_returned(bwd, shown):
    f = dr.custom_vjp(total)
    f.defvjp(lambda x: (x, x), bwd)
    with pytest.raises(dr.errors.CustomRuleError) as caught:
        dr.grad(f)(1.0)
    text = re.sub(r" at .*?: `.*`;", ";", str(caught.value))
    assert text == (
        "the derivative of 'total' was asked for; it needs a bwd that returns a tuple of 1, one cotangent per argument,"
        f" and it returned {shown}."
    )


# The rest of a message


def explained(capsys, error=None):
    dr.errors.explain(error)
    return capsys.readouterr().out


def failing(x):
    return dr.grad(lambda x: x * x)(x)


LONG = (
    "there is nothing to differentiate with respect to: the arguments (types: int) hold no real scalar. Write 2.0 where"
    " you wrote 2.\n\n"
    "Floats, numpy floating scalars and the elements of floating arrays are differentiated; ints, bools, strings, None"
    " and objects of unregistered classes are constants. For an object of a class of yours, register the class with"
    " dualrev.register_node.\n\n"
    "Page: docs/sharp_bits.md\n"
)


def test_explain_prints_the_rest_of_an_error(capsys):
    """It explains the error that is being handled, one that is given, and one that led to another."""
    try:
        failing(2)
    except dr.DualrevError as error:
        assert explained(capsys) == LONG
        kept = error
    assert explained(capsys, kept) == LONG
    assert explained(capsys, pickle.loads(pickle.dumps(kept))) == LONG
    try:
        try:
            failing(2)
        except TypeError:
            raise KeyError("mine") from None
    except KeyError:
        assert explained(capsys) == LONG


@pytest.mark.parametrize("name", ["last_value", "last_exc"])
def test_explain_at_the_prompt(name, capsys, monkeypatch):
    """Python's prompt and IPython keep the error that they have shown there."""
    for other in ("last_value", "last_exc"):
        monkeypatch.delattr(sys, other, raising=False)
    with pytest.raises(dr.DualrevError) as caught:
        failing(2)
    monkeypatch.setattr(sys, name, caught.value, raising=False)
    assert explained(capsys) == LONG


def test_explain_in_an_interactive_session():
    lines = "import dualrev as dr\ndr.grad(lambda x: x * x)(2)\n\ndr.errors.explain()\n"
    command = [sys.executable, "-i", "-q"]
    found = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert found.stdout == LONG


def test_explain_without_an_error_of_dualrev(capsys, monkeypatch):
    for name in ("last_value", "last_exc"):
        monkeypatch.delattr(sys, name, raising=False)
    assert explained(capsys) == (
        "No error of dualrev is known here. Write dualrev.errors.explain(error) with the error that was caught.\n"
    )
    assert explained(capsys, KeyError("mine")) == (
        "KeyError is no error of dualrev: its message says all that is known.\n"
    )
    assert partial(explained, capsys)(dr.errors.LoopError(total, "it is none")) == (
        "'total' as the step of a loop: it is none.\n\nPage: docs/sharp_bits.md\n"
    )


def test_what_other_libraries_have_is_not_here():
    """The answers are for names that the library does not have, and what they name is there."""
    for name, instead in dr._ELSEWHERE.items():
        assert name not in dr.__all__
        named = re.match(r"dr\.(\w+)", instead)
        assert named is None or hasattr(dr, named[1])


def test_a_draw_says_how_to_write_it():
    """The parameters of a distribution are plain numbers in numpy: what is drawn is scaled afterwards."""
    rng = np.random.default_rng(0)

    def drawn(s):
        return rng.normal(0.0, s)

    with pytest.raises(dr.ConversionError) as caught:
        dr.grad(drawn)(1.0)
    assert "draw z, and compute with it, as in `z = rng.normal()` and `mean + s * z`." in str(caught.value)
    assert "math" not in str(caught.value)


def test_explain_names_the_page_for_what_was_refused(capsys):
    """On the tape, and in a numba function, whose other lines `check` finds, too."""

    @numba.njit
    def refused(x):
        return len({x, x * x}) * x

    every = "dualrev.check(f, *args) lists all lines of f that cannot be differentiated, and what to write in each."
    for f, x, page in (
        (refused, 2.0, "docs/numba/limits.md"),
        (lambda x: np.i0(x).sum(), np.ones(3), "docs/tape.md"),
    ):
        with pytest.raises(dr.UnsupportedError) as caught:
            dr.grad(f)(x)
        said = explained(capsys, caught.value)
        assert said.startswith(str(caught.value).removesuffix(" dr.errors.explain() says more."))
        assert said.endswith(f"\n\nPage: {page}\n")
        assert every in said
