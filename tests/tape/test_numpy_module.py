"""Every function and ufunc of numpy on arrays under differentiation: right, about values, or refused by name.

And `dualrev.numpy`, a drop-in numpy whose arrays can hold numbers under differentiation.
"""

import inspect

import numpy as np
import pytest
from support.oracle import assert_same, check_vjp, differences, direction, flat

import dualrev as dr
from dualrev import RealArray
from dualrev import numpy as dn
from dualrev.eager.arrays.functions import HANDLERS
from dualrev.eager.arrays.signatures import TOLD
from dualrev.errors import ConversionError, OutputError, UnsupportedError

X = np.array([0.63, 1.31, 2.12, 0.74])
M = np.array([[2.53, 0.3, 0.2], [0.31, 1.9, 0.4], [0.21, 0.41, 3.1]])

# numpy 2.5 deprecates np.fix; np.in1d was deprecated until numpy 2.4
pytestmark = [
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`in1d` is deprecated:DeprecationWarning"),
]
DISPATCHER = type(np.sum)
MODULES = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}
FUNCTIONS = {
    f"{module}.{name}": getattr(where, name)
    for module, where in MODULES.items()
    for name in dir(where)
    if not name.startswith("_") and isinstance(getattr(where, name), (DISPATCHER, np.ufunc))
}

#: What is tried with every function f; where numpy itself refuses, the next.
GENERIC = [
    *("f(x)", "f(x, x)", "f(m)", "f(m, m)", "f([x, x])", "f(x, 2)", "f(m, 1)", "f(x, [0, 2, 1, 3])", "f(x, 0.3)"),
    *("f(m, 0, 1)", "f(x, x > 1)", "f(x, -1.0, 1.0)", "f(x, x, 2 * x)", "f(x[0])", "f(x[0], 2.0)"),
    *("f(1.0 + x)", "f((3, 4), x)", "f(m, 9)", "f(x, [0.0, 1.0])", "f(x, (1, 4))"),
]
#: What needs other arguments.
SPECIAL = {
    "numpy.apply_along_axis": "f(np.sum, 0, m)",
    "numpy.apply_over_axes": "f(np.sum, m, [0])",
    "numpy.astype": "f(x, float)",
    "numpy.bincount": "f([0, 1, 1, 0], weights=x)",
    "numpy.choose": "f([0, 1, 1, 0], [x, x])",
    "numpy.copyto": "f(x, x[::-1])",
    "numpy.polydiv": "f(x, x[:2])",
    "numpy.cross": "f(x[:3], x[1:])",
    "numpy.dsplit": "f(m[None], 3)",
    "numpy.einsum": "f('i,i', x, x)",
    "numpy.einsum_path": "f('i,i', x, x)",
    "numpy.fill_diagonal": "f(m, 1.0)",
    "numpy.fix": ["f(x)", "f(x[0])", "f(1.0 + x, x)"],  # until numpy 2.3, f(x, x) reads x after it was written to
    "numpy.compress": "f(x > 1, x)",
    "numpy.corrcoef": "f(x, x**2)",
    "numpy.extract": "f(x > 1, x)",
    "numpy.gradient": "f(x**2)",
    "numpy.histogramdd": "f(m)",
    "numpy.round": "f(x)",
    "numpy.around": "f(x)",
    "numpy.insert": "f(x, 1, 2.0)",
    "numpy.linalg.cross": "f(x[:3], x[1:])",
    "numpy.linalg.tensorinv": "f(m, ind=1)",
    "numpy.linalg.tensorsolve": "f(m, x[:3])",
    "numpy.linalg.solve": "f(m, x[:3])",
    "numpy.std": "f(x)",  # of equal numbers it has no derivative
    "numpy.nanstd": "f(x)",
    "numpy.moveaxis": "f(m, 0, 1)",
    "numpy.piecewise": "f(x, [x > 1], [np.sin])",
    "numpy.place": "f(x, x > 1, 2 * x)",
    "numpy.polyfit": "f(x, x**2, 1)",
    "numpy.put": "f(x, [1], x[0])",
    "numpy.put_along_axis": "f(x, np.array([1]), x[0], 0)",
    "numpy.putmask": "f(x, x > 1, x)",
    "numpy.rollaxis": "f(m, 1)",
    "numpy.save": None,
    "numpy.savetxt": None,
    "numpy.savez": None,
    "numpy.savez_compressed": None,
    "numpy.select": "f([x > 1], [x])",
    "numpy.swapaxes": "f(m, 0, 1)",
    "numpy.take_along_axis": "f(x, np.array([0, 1]), 0)",
    "numpy.tensordot": "f(x, x, 1)",
    "numpy.vecmat": "f(x[:3], m)",
}
#: Of dates and of whole numbers: they have nothing to do with derivatives.
ELSEWHERE = {"busday_count", "busday_offset", "is_busday", "datetime_as_string", "isnat", "packbits", "unpackbits"}
ELSEWHERE |= {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_count", "invert", "left_shift", "right_shift"}
ELSEWHERE |= {"bitwise_not", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"}
ELSEWHERE |= {"ravel_multi_index", "unravel_index", "can_cast"}
#: What is refused whatever the arguments are.
REFUSED = {"histogram2d", "histogram_bin_edges", "histogramdd"}
REFUSED |= {"unique_all", "unique_counts", "unique_inverse", "unique_values", "in1d", "intersect1d", "setdiff1d"}
REFUSED |= {"setxor1d", "i0", "sort_complex", "ix_", "busday_offset", "is_busday"}


def outcome(name, text):
    """Return the outcome of an expression: 'right', 'values', 'refused', or None if numpy refuses plain arrays."""
    made = eval(f"lambda f, x, m: {text}", {"np": np})

    def f(x, m):
        x, m = x * 1.0, m * 1.0
        y = made(FUNCTIONS[name], x, m)
        return (x, m) if y is None else y[()] if isinstance(y, (RealArray, np.ndarray)) else y

    try:
        plain = f(X, M)
    except Exception:
        return None
    try:
        y, _ = dr.vjp(f, X, M)
    except OutputError:
        assert not flat(plain) or not differences(f, (X, M), direction((X, M))).any(), f"{name}: a silent constant"
        return "values"
    except ConversionError:
        return "refused"
    except UnsupportedError as error:
        return "refused" if name.rpartition(".")[2] in str(error) else "refused without its name"
    parts = y if isinstance(y, (tuple, list)) else [y]
    assert not any(isinstance(part, np.ndarray) and part.dtype == object for part in parts)
    if name.startswith("numpy.empty") or not flat(plain):
        return "values"
    check_vjp(dr.vjp, f, X, M, rtol=1e-6)
    return "right"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_right_or_about_values_or_refused_by_name(name):
    text = SPECIAL.get(name, GENERIC)
    if text is None:
        with pytest.raises(UnsupportedError, match=name):
            dr.vjp(lambda x: FUNCTIONS[name]("never written", x), X)
        return
    found = {outcome(name, t) for t in (text if isinstance(text, list) else [text])} - {None}
    assert found <= {"right", "values", "refused"}
    assert (name.removeprefix("numpy.") in REFUSED) == (found == {"refused"})
    if not found:
        assert name.rpartition(".")[2] in ELSEWHERE
        with pytest.raises(TypeError):
            dr.vjp(lambda x: FUNCTIONS[name](*[x] * getattr(FUNCTIONS[name], "nin", 1)), X)


# dualrev.numpy

CONSTRUCTED = {
    "arange(3.0)": True,
    "arange(3)": False,
    "array([1.0, 2.0])": True,
    "array([1, 2])": False,
    "array([True])": False,
    "array(2.5)": True,
    "array([[1.0, 2], [3, 4]])": True,
    "array([1, 2], float)": True,
    "array([1.5, 2], dtype=int)": False,
    "array([1.5, 2], dtype=np.float32)": True,
    "array([1.5], ndmin=2)": True,
    "array((1.5, 2), copy=True)": True,
    "array(['a'])": False,
    "array([1j])": False,
    "array(range(3), float)": True,
    "array([])": True,
    "asarray([1.0])": True,
    "asarray([1])": False,
    "asanyarray([1.0])": True,
    "ascontiguousarray([1.0])": True,
    "asfortranarray([[1.0, 2.0]])": True,
    "asarray_chkfinite([1.0])": True,
    "copy(np.ones(2))": True,
    "diag([1.0, 2.0])": True,
    "empty_like(np.ones(2)) * 0": True,
    "empty(2) * 0": True,
    "eye(2)": True,
    "eye(2, 3, k=1)": True,
    "eye(2, dtype=int)": False,
    "frombuffer(np.ones(2))": True,
    "fromfunction(lambda i, j: i + 0.5 * j, (2, 2))": True,
    "fromiter([1.0, 2.0], float)": True,
    "fromstring('1 2', sep=' ')": True,
    "full((2,), 1.5)": True,
    "full(2, 1)": False,
    "full((), 2.0)": True,
    "full(2, [1.0, 2.0])": True,
    "full(2, 1, dtype=float)": True,
    "full_like(np.ones(2), 3)": True,
    "geomspace(1, 8, 4)": True,
    "identity(2)": True,
    "linspace(0, 1, 3)": True,
    "logspace(0, 1, 3)": True,
    "ones((2, 3))": True,
    "ones(2, int)": False,
    "ones_like(np.ones(2))": True,
    "ones_like([1, 2])": False,
    "tri(3)": True,
    "vander([1.0, 2.0])": True,
    "zeros(3)": True,
    "zeros(shape=3, dtype=bool)": False,
    "zeros(3, order='F')": True,
    "zeros_like(np.arange(3))": False,
    "zeros_like(np.arange(3), dtype=float)": True,
}


@pytest.mark.parametrize("text", CONSTRUCTED)
def test_constructors_make_numpy_s_arrays_that_can_hold_duals(text):
    made = eval(f"dn.{text}", {"dn": dn, "np": np})
    expected = eval(f"np.{text}", {"np": np})
    assert isinstance(made, RealArray) == CONSTRUCTED[text]
    assert made.shape == expected.shape
    assert made.dtype == (float if CONSTRUCTED[text] else expected.dtype)
    assert np.array_equal(np.asarray(made), expected)


def test_the_rest_of_numpy_is_numpy_s_own():
    assert set(dir(np)) <= set(dir(dn))
    for name in dir(np):
        if not name.startswith("_") and name not in dn.__all__:
            assert getattr(dn, name) is getattr(np, name)
    for name in dn.__all__:
        assert callable(getattr(np, name)) or name in ("r_", "c_", "polynomial")
        assert getattr(dn, name).__doc__


def test_a_copy_is_one_and_asarray_of_a_real_array_is_none():
    a = dn.zeros(3)
    assert dn.asarray(a) is a
    assert dn.asarray(a, float) is a
    assert dn.array(a, copy=False) is a
    for b in (dn.array(a), dn.copy(a), a.copy(), dn.array(a, float), np.copy(a)):
        b[0] = 1.0
        assert a[0] == 0.0
    plain = np.zeros(3)
    dn.asarray(plain)[0] = 1.0
    assert plain[0] == 0.0
    assert np.asarray(a).dtype == float
    assert dn.array(a, ndmin=2).shape == (1, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda np, x: np.ascontiguousarray(x),
        lambda np, x: np.ascontiguousarray(x[:, ::2]),
        lambda np, x: np.ascontiguousarray(x.T),
        lambda np, x: np.asfortranarray(x),
        lambda np, x: np.asfortranarray(x.T),
        lambda np, x: np.asarray(x, order="F"),
        lambda np, x: np.array(x.T).reshape(-1),
        lambda np, x: np.array(x, order="F").T.reshape(-1),
        lambda np, x: x.astype(float, copy=False),
        lambda np, x: x.astype(float, order="F", copy=False),
        lambda np, x: x.astype(float),
        lambda np, x: x.T.astype(float, order="C").reshape(-1),
        lambda np, x: np.astype(x, float, copy=False),
        lambda np, x: x.reshape(-1),
        lambda np, x: x.reshape(-1, copy=True),
        lambda np, x: x.T.reshape(-1),
        lambda np, x: np.reshape(x, -1, copy=True),
        lambda np, x: np.diff(x, 0),
        lambda np, x: np.diff(x, 1),
    ],
)
def test_what_is_a_view_in_numpy_is_one_and_a_copy_is_one(make):
    """A store to a result is seen in the array exactly if numpy's result shares its memory."""

    def f(np, x):
        x = np.array(x * 1.0)
        made = make(np, x)
        made[0] = 7.0
        made[-1] *= x[0, 1]
        return x * made.ravel()[-1]

    at = np.arange(1.0, 7.0).reshape(2, 3)
    assert_same(dr.vjp(lambda x: f(dn, x), at)[0], f(np, at))
    check_vjp(dr.vjp, lambda x: f(dn, x), at)


def test_ndenumerate_gives_what_numpy_s_gives():
    def f(np, x):
        return sum(v * v * (i + 2 * j) for (i, j), v in np.ndenumerate(x.T))

    x = np.arange(6.0).reshape(2, 3) + 0.5
    assert list(dn.ndenumerate(x)) == list(np.ndenumerate(x))
    assert dr.vjp(lambda x: f(dn, x), x)[0] == f(np, x)
    check_vjp(dr.vjp, lambda x: f(dn, x), x)


def test_a_view_that_cannot_be_had_is_an_error():
    with pytest.raises(ValueError, match="copy"):
        dn.zeros((2, 3)).T.reshape(-1, copy=False)
    with pytest.raises(ValueError, match="non-negative"):
        dr.grad(lambda x: np.diff(x, -1)[0])(np.ones(2))
    a = dn.zeros(2)
    assert a.reshape(1, 2, copy=False).base is a


def test_numbers_under_differentiation_can_be_stored_and_made_arrays_of():
    def f(x, v):
        a = dn.zeros((2, 2))
        a[0] = v
        a[1, 0] = x
        b = dn.array([[x, 1], [2.0, v[0]]])
        c = dn.full(2, x) + dn.full((2,), v) + dn.full_like(v, x) + dn.asarray([x, 1.0]) + dn.linspace(x, 1.0, 2)
        return a @ b + c + dn.array(x, ndmin=1) + dn.array(v, dtype=float, ndmin=2) + dn.array([v, [x, x]])

    check_vjp(dr.vjp, f, 0.7, np.array([1.5, -0.3]))


@pytest.mark.parametrize(
    "store",
    [
        lambda a, x: a.__setitem__(0, x[0]),
        lambda a, x: a.__setitem__(slice(None), x),
        lambda a, x: np.add(x, 1.0, out=a),
        lambda a, x: np.sum(x[:, None], axis=1, out=a),
        lambda a, x: np.sum(x[:, None], 1, None, a),
        lambda a, x: np.take(x, [0, 1, 2], 0, a),
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put(a, [0], x[0]),
        lambda a, x: np.add.at(a, [0, 0], x[:2]),
        lambda a, x: np.fill_diagonal(a.reshape(3, 1), x[0]),
        lambda a, x: a.__iadd__(x),
    ],
)
def test_storing_into_a_plain_array_is_refused(store):
    with pytest.raises(ConversionError, match=r"(?s)test_numpy_module\.py:\d+.*dualrev"):
        dr.grad(lambda x: store(np.zeros(3), x) or x[0])(np.arange(3.0))


def test_options_that_are_not_covered_are_refused_by_name():
    for f, name in (
        (lambda x: np.quantile(x, 0.5, weights=[1, 1, 2], method="inverted_cdf"), "quantile"),
        (lambda x: np.sum(x, dtype=int), r"sum with dtype=.*int"),
        (lambda x: np.sum(x, None, int), r"sum with dtype=.*int"),
        (lambda x: np.add(x, x, dtype=int), r"add with dtype=.*int"),
        (lambda x: np.concatenate([x, x], dtype=int), r"concatenate with dtype"),
        (lambda x: np.unique(x, return_counts=True)[0], "unique with return_counts="),
        (lambda x: np.unique(x, True)[0], "unique with return_index="),
        (lambda x: np.vecdot(x, x, keepdims=True), "vecdot with keepdims"),
        (lambda x: np.pad(x, 1, mode="mean"), "pad with mode='mean'"),
        (lambda x: np.add(x, x, signature="ff->f"), "add with signature="),
        (lambda x: np.add(x, x, order="F"), "add with order="),
        (lambda x: np.subtract.reduce(x, dtype=int), "subtract.reduce"),
    ):
        with pytest.raises(UnsupportedError, match=name):
            dr.vjp(f, np.arange(3.0))


def parameters(f):
    """Return the names of parameters that may be positional, before dtype and out."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [p.name for p in inspect.signature(f).parameters.values() if p.kind in kinds]
    return names[: min([names.index(name) for name in ("dtype", "out") if name in names] + [len(names)])]


def test_every_handler_takes_numpy_s_parameters_in_numpy_s_order():
    """One of another name is given numpy's by position; one of numpy's names has to stand where numpy has it."""
    for function, handler in HANDLERS.items():
        names = parameters(TOLD.get(function, function))
        for theirs, mine in zip(names, parameters(handler), strict=False):
            assert theirs == mine or mine not in names, function


def test_what_an_older_numpy_does_not_tell_is_what_a_later_one_tells():
    """The parameters of numpy's functions in C."""
    for function, stated in TOLD.items():
        try:
            signature = inspect.signature(function)
        except ValueError:
            continue
        assert signature == inspect.signature(stated), function
    for function in HANDLERS:
        assert function in TOLD or inspect.signature(function), function


@pytest.mark.parametrize(
    "text",
    [
        "np.dot(m, x, out)",
        "np.dot(m, x, out=out)",
        "np.matmul(m, x, out)",
        "np.concatenate([x, x[:1]], 0, out[:4])",
        "np.concatenate([x, x[:2] ** 2], 0, out)",
        "np.sum(m * x, 1, None, out)",
        "np.take(x, [0, 1, 1, 2, 0], None, out)",
        "np.copyto(out, np.dot(m, x), 'no')",
    ],
)
def test_what_numpy_writes_to_may_be_given_by_position(text):
    m = np.linspace(0.2, 2.1, 15).reshape(5, 3)

    def f(x):
        out = np.zeros_like(m[:, 0] * x[0])
        eval(text, {"np": np, "m": m, "x": x, "out": out})
        return out

    x = np.array([0.5, -1.5, 2.0])
    assert f(x).any()
    assert_same(dr.vjp(f, x)[0], f(x), rtol=1e-12)
    check_vjp(dr.vjp, f, x)


@pytest.mark.parametrize(
    "text",
    [
        "np.flip(m=x)",
        "np.tile(A=x, reps=2)",
        "np.broadcast_to(array=x, shape=(2, 3))",
        "np.delete(arr=x, obj=1)",
        "np.take_along_axis(arr=x, indices=np.array([1, 0]), axis=0)",
        "np.diag(v=x, k=1)",
        "np.split(ary=x, indices_or_sections=3)[1]",
        "np.vstack(tup=[x, x])",
        "np.triu(m=x[:, None] * x, k=1)",
        "np.zeros_like(a=x) + x",
        "np.empty_like(prototype=x).size * x",
        "np.empty_like(x, float, 'F', True, (2,)).size * x",
        "np.bincount([0, 1, 1], x, 4)",
        "np.polyfit(np.arange(3.0), x, 1, None, False)",
        "np.polyfit(np.arange(3.0), x, 1, None, False, np.array([1.0, 2.0, 1.0]))",
        "np.reshape(x, -1, copy=True)",
        "x.reshape(3, 1, copy=True)",
    ],
)
def test_arguments_by_numpy_s_names_and_places(text):
    f = eval(f"lambda x: {text}", {"np": np})
    x = np.array([0.5, -1.5, 2.0])
    assert_same(dr.vjp(f, x)[0], f(x), rtol=1e-12)
    check_vjp(dr.vjp, f, x)


#: What ndarray has and a RealArray has not: memory, other types, and functions that numpy has too.
ABSENT = {
    "byteswap",
    "ctypes",
    "data",
    "device",
    "dump",
    "dumps",
    "flags",
    "getfield",
    "setfield",
    "setflags",
    "strides",
}
ABSENT |= {"to_device", "tobytes", "tofile", "view", "resize"}
ABSENT |= {
    "itemset",
    "newbyteorder",
    "ptp",
    "tostring",
}  # in older versions, to say that they are gone


@pytest.mark.parametrize("name", [n for n in dir(np.ndarray) if not n.startswith("_") and n not in ABSENT])
def test_a_real_array_has_numpy_s_methods(name):
    a = dn.array([[1.5, -0.5], [0.25, 2.0]])
    plain = np.asarray(a).copy()
    found, expected = getattr(a, name), getattr(plain, name)
    if not callable(expected):
        if name not in ("base", "flat"):
            assert np.array_equal(np.asarray(found), np.asarray(expected))
        return
    for args in ((), (0,), (1,), (0, 1), (2,), (1.0, 2.0), ([0, 1],), ("float64",)):
        try:
            value = expected(*args)
        except (TypeError, ValueError, IndexError):
            continue
        made = found(*args)
        assert type(made) is type(value) or isinstance(made, (RealArray, float)) or np.ndim(value) == 0
        assert np.array_equal(np.asarray(made), np.asarray(value)) if value is not None else made is None
        assert np.array_equal(np.asarray(a), plain)


@pytest.mark.parametrize(
    "f",
    [
        lambda np, a, s: np.arange(a, 3.0, s),
        lambda np, a, s: np.arange(a) * s,
        lambda np, a, s: np.arange(a, step=s),
        lambda np, a, s: np.arange(start=a, stop=4, step=s),
        lambda np, a, s: np.arange(5, a, -s),
        lambda np, a, s: np.arange(a, 3.0, s, dtype=int) * s,
        lambda np, a, s: np.fromiter((a * s**k for k in range(4)), float),
        lambda np, a, s: np.fromiter(iter([a, 1.0, s]), float, 2),
        lambda np, a, s: np.fromiter([3.0 * a, s], dtype=int, count=2) * s,
    ],
)
def test_ranges_and_iterators_of_numbers_under_differentiation(f):
    a, s = np.array(0.7), np.array(0.4)
    made, slopes = dr.jvp(lambda a, s: f(dn, a, s), (0.7, 0.4), (0.5, -2.0))
    assert_same(made, f(np, a, s), rtol=0.0)
    h = 1e-6
    assert_same(slopes, (f(np, a + 0.5 * h, s - 2.0 * h) - f(np, a - 0.5 * h, s + 2.0 * h)) / (2.0 * h), rtol=1e-8)
    total = lambda a: np.sum(f(dn, a * a, 0.4 * a) ** 3)  # noqa: E731
    dr.check_grads(total, (0.83,), order=2)


def test_an_iterator_that_is_too_short_is_numpy_s_error():
    with pytest.raises(ValueError, match="iterator too short"):
        dr.grad(lambda a: np.sum(dn.fromiter([a, a], float, 3)))(0.5)
