"""Refusals of the tape that other tests do not reach: the message names the user's line, and the cure works."""

import pickle

import numba
import numpy as np
import pytest
import scipy.special

import dualrev as dr
import stages.d2_staged
from dualrev.errors import (
    ConversionError,
    CotangentError,
    CustomRuleError,
    LeafError,
    UnsupportedError,
)

V, M = np.array([1.5, 2.0, 3.0]), np.array([[2.0, 0.3], [0.3, 1.0]])


def into(v, u):
    v += u
    return v[0] * v[1]


def copied(v, u):
    np.copyto(v, u)
    return v[0]


#: What is refused, words of the message, and the function with the cure, if there is one in so many words.
REFUSED = {
    "a view of a number": (lambda x: x[0].view(int), "a view as", None),
    "a view of an array": (lambda x: x.view(np.int64)[0] * x[0], "ndarray.view as", None),
    "pad with several constants": (
        lambda x: np.pad(x, 1, constant_values=(x[0], x[1])).sum(),
        "numpy.concatenate of the pieces",
        lambda x: np.concatenate((x[:1], x, x[1:2])).sum(),
    ),
    "a mode of pad": (lambda x: np.pad(x, 1, mode="linear_ramp").sum(), "one of the modes constant", None),
    "geomspace of both signs": (lambda x: np.geomspace(x[0], -x[1], 3)[1], "numpy.linspace", None),
    "nan_to_num in place": (
        lambda x: np.nan_to_num(x, copy=False).sum(),
        "x[...] = numpy.nan_to_num(x)",
        lambda x: np.nan_to_num(x).sum() * x[0],
    ),
    "cross of two elements": (lambda x: np.cross(x[:2], x[:2]), "the components", None),
    "a method of quantile": (
        lambda x: np.quantile(x, 0.4, method="median_unbiased"),
        "it with the default method, 'linear'",
        lambda x: np.quantile(x, 0.4, method="linear"),
    ),
    "several nanquantiles": (
        lambda x: np.nanquantile(x, [0.1, 0.2]).sum(),
        "one q at a time",
        lambda x: np.nanquantile(x, 0.1) + np.nanquantile(x, 0.2),
    ),
    "the axes of matmul": (
        lambda x: np.matmul(x, x, axes=[0, 0, ()]),
        "numpy.einsum, or numpy.moveaxis before it",
        lambda x: np.einsum("i,i", x, x),
    ),
    "the order of a result": (
        lambda x: np.add(x, x, order="F").sum(),
        "it without, or a copy with that order",
        lambda x: np.add(x, x).copy(order="F").sum() * x[0],
    ),
    "a reduction of complex numbers to a bool": (
        lambda x: x[0] * np.logical_and.reduce(x * 1j),
        "it with numpy's functions on whole arrays",
        lambda x: x[0] * x[1] * np.all(x * 1j),
    ),
    "the order of a Bessel function": (
        lambda x: scipy.special.jv(x, x).sum(),
        "dualrev.value(...) for that argument",
        lambda x: scipy.special.jv(2.0, x).sum(),
    ),
    "an element chosen twice": (lambda x: np.multiply.at(x, [0, 0], x[1]) or x.sum(), "Write a loop", None),
    "where without out": (
        lambda x: np.multiply(x, x, where=x > 1.7).sum(),
        "np.where(condition, result, other)",
        lambda x: np.where(x > 1.7, x * x, 0.0).sum(),
    ),
    "a function without a rule": (lambda x: np.packbits(x)[0], "docs/numpy.md lists them", None),
    "a dtype of ints": (lambda x: np.mean(x, dtype=int), "it without a dtype", lambda x: np.mean(x) * x[0]),
    "a masked array": (
        lambda x: (x * np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])).sum(),
        "np.where with the mask",
        lambda x: np.where([True, False, True], x * np.array([1.0, 2.0, 3.0]), 0.0).sum(),
    ),
    "a dtype of complex sums": (
        lambda x: np.add(x * 1j, 1.0, dtype=float).real.sum(),
        "numpy.add with dtype=",
        None,
    ),
    "the memory of complex sums": (lambda x: np.add(x * 1j, 1.0, order="F").imag.sum(), "numpy.add with order", None),
    "quotients of complex numbers": (
        lambda x: np.divide.accumulate(x * 1j).real.sum(),
        "numpy.divide.accumulate of complex numbers",
        None,
    ),
    "a view of complex numbers": (
        lambda x: (x * 1j).view(float)[1],
        "np.stack((z.real, z.imag), axis=-1).reshape(-1)",
        lambda x: np.stack(((x * 1j).real, (x * 1j).imag), axis=-1).reshape(-1)[1] * x[0],
    ),
    "iteration by nditer": (
        lambda x: sum(u for u in np.nditer(x)),
        "for i in np.ndindex(a.shape)",
        lambda x: sum(x[i] * x[i] for i in np.ndindex(x.shape)),
    ),
    "an array of objects in np.nditer": (
        lambda x: sum(u * u for u in np.nditer(np.array([x[0], 1.0]))),
        "Write a loop over a.flat, or for i in np.ndindex(a.shape)",
        lambda x: sum(u * u for u in np.array([x[0], 1.0]).flat),
    ),
    "objects are added to plain numbers": (
        lambda x: into(np.ones(3), np.array(x[0])),
        "Write dualrev.numpy.array(u) for a constant array u",
        lambda x: into(dr.numpy.array(np.ones(3)), np.array(x[0])),
    ),
    "objects are copied to plain numbers": (
        lambda x: copied(np.zeros(3), np.array(x[0] * x[0])),
        "dualrev.numpy.zeros(n) for np.zeros(n)",
        lambda x: copied(dr.numpy.zeros(3), np.array(x[0] * x[0])),
    ),
    "the order of complex numbers": (lambda x: np.sort(x * 1j)[0].real, "z.real and z.imag", None),
    "a real sum of complex numbers": (lambda x: np.sum(x * 1j, dtype=float).real, "z.real and z.imag", None),
}
OF_MATRICES = {
    "a mode of qr": (lambda m: np.linalg.qr(m, mode="raw")[0][0, 0], "mode='reduced' or mode='r'"),
    "poly of a matrix": (lambda m: np.poly(m)[1], "numpy.poly(numpy.linalg.eigvalsh(a)), if it is symmetric"),
    "a Bessel function": (lambda m: np.i0(m)[0, 0], "docs/numpy.md lists them"),
}
CONVERTED = {
    "pickle": (lambda x: pickle.dumps(x) and x[0], "pickling"),
    "pickle of complex numbers": (lambda x: pickle.dumps(x * 1j) and x[0], "pickling"),
    "a ratio of ints": (lambda x: x[0].as_integer_ratio()[0], "as_integer_ratio()"),
    "a float of an array": (lambda x: float(x[:1]), "float()"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line_and_a_cure(name):
    f, words, cured = REFUSED[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(V)
    assert words in str(refused.value)
    assert "test_refusals_of_the_tape.py:" in str(refused.value)
    if cured is not None:
        dr.check_grads(cured, (V,), order=1)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_a_refusal_of_a_matrix_names_a_cure(name):
    f, words = OF_MATRICES[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(M)
    assert words in str(refused.value)


def test_the_cure_of_poly_works():
    dr.check_grads(lambda m: np.poly(np.linalg.eigvalsh((m + m.T) / 2.0))[1] ** 2, (M,), order=1)


@pytest.mark.parametrize("name", CONVERTED)
def test_what_would_lose_a_derivative_is_refused(name):
    f, words = CONVERTED[name]
    with pytest.raises(ConversionError) as refused:
        dr.grad(f)(V)
    assert words in str(refused.value)


#: What numpy itself refuses: the tape raises an error of the same class.
AS_NUMPY = {
    "choices that are not there": lambda x: np.choose([5, 5], [x[:2], x[1:]]).sum(),
    "a norm of three axes": lambda x: np.linalg.norm(x.reshape(1, 3, 1), ord="fro"),
    "an unknown norm of a matrix": lambda x: np.linalg.norm(x.reshape(1, 3), ord=7),
    "an unknown norm of a vector": lambda x: np.linalg.norm(x, ord="fro"),
    "outer of matrices": lambda x: np.linalg.outer(x.reshape(1, 3), x).sum(),
    "matmul of a number": lambda x: x @ x[0],
    "matmul of two lengths": lambda x: x @ x[:2],
    "a negative order": lambda x: np.diff(x, -1).sum(),
    "diff of a number": lambda x: np.diff(x[0]),
    "distances of gradient": lambda x: np.gradient(x, 1, 2)[0],
    "gradient of one element": lambda x: np.gradient(x[:1])[0],
    "the order of gradient's edges": lambda x: np.gradient(x, edge_order=3)[0],
    "interp of nothing": lambda x: np.interp(0.5, x[:0], x[:0]),
    "weights of a histogram": lambda x: np.histogram([1.0, 2.0], weights=x)[0].sum(),
    "a function along no axis": lambda x: np.apply_along_axis(np.sum, 0, x.reshape(3, 1)[:, :0]).sum(),
    "take of nothing": lambda x: np.take(x[:0], [0]).sum(),
    "polyfit of two lengths": lambda x: np.polyfit(x, x[:2], 1)[0],
    "polyfit of nothing": lambda x: np.polyfit(x[:0], x[:0], 1)[0],
    "vander of a matrix": lambda x: np.vander(x.reshape(1, 3)).sum(),
    "vecdot of two lengths": lambda x: np.vecdot(x, x[:2]),
    "vdot of two lengths": lambda x: np.vdot(x, x[:2]),
    "tensordot of two lengths": lambda x: np.tensordot(x, x[:2], 1),
    "two lengths of a letter": lambda x: np.einsum("ii", x.reshape(1, 3)),
    "an operand too few": lambda x: np.einsum("i,j", x),
    "an axis that is not there": lambda x: np.sum(x, axis=3),
    "max of perhaps nothing": lambda x: np.max(x, where=x > 1.0),
    "weights without an axis": lambda x: np.average(x.reshape(1, 3), weights=np.ones(2)),
    "weights of another length": lambda x: np.average(x.reshape(1, 3), axis=1, weights=np.ones(2)),
    "weights of zero": lambda x: np.average(x, weights=np.zeros(3)),
    "a quantile above 1": lambda x: np.quantile(x, 1.5),
    "an item of many": lambda x: x.item(),
    "accumulate along all axes": lambda x: np.add.accumulate(x.reshape(3, 1), axis=None).sum(),
    "a high order of gradient's edges": lambda x: np.gradient(np.append(x, x), edge_order=3)[0],
    "distances of another length": lambda x: np.gradient(x, np.array([1.0, 2.0]))[0],
    "interp in a matrix": lambda x: np.interp(0.5, x.reshape(1, 3), x),
    "interp of two lengths": lambda x: np.interp(0.5, x, x[:2]),
    "interp of x alone": lambda x: np.interp(x[0], [], []),
    "cov of three axes": lambda x: np.cov(x.reshape(1, 1, 3)).sum(),
    "place of nothing": lambda x: np.place(x, x > 1.0, x[:0]),
    "correlate with a number": lambda x: np.correlate(x[0], x),
    "a product of polynomials in a matrix": lambda x: np.polymul(x.reshape(1, 3), x),
    "polyfit in a matrix": lambda x: np.polyfit(x.reshape(1, 3), x, 1)[0],
    "polyfit of three axes": lambda x: np.polyfit(x, x.reshape(3, 1, 1), 1)[0],
    "a vector times a number": lambda x: np.matvec(x, x).sum(),
    "sums of sums without an axis": lambda x: np.cumulative_sum(x.reshape(1, 3)).sum(),
    "iteration over no axes": lambda x: list(x[0, ...]),
    "a result that is too small": lambda x: np.add(x.reshape(3, 1), x, out=dr.numpy.zeros(3)).sum(),
    "one element for several": lambda x: np.add.at(x, [0, 1], x),
    "out of another shape": lambda x: np.add(x, x, out=x[:2]).sum(),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_what_numpy_refuses_the_tape_refuses(name):
    f = AS_NUMPY[name]
    with pytest.raises(Exception) as numpys:  # noqa: PT011 - its class is what is compared
        f(V.copy())
    with pytest.raises(Exception) as tapes:  # noqa: PT011
        dr.grad(f)(V.copy())
    assert isinstance(tapes.value, (type(numpys.value), UnsupportedError))
    assert str(tapes.value)


def test_a_view_of_complex_numbers_is_one():
    def f(x):
        z = x * 1j
        z.view()[1] = z.view(complex)[0] * 2.0
        return z[1].imag * x[2]

    dr.check_grads(f, (V,), order=1)


def test_what_is_no_number_among_numbers():
    with pytest.raises(LeafError, match=r"there is None .type NoneType. among its numbers"):
        dr.grad(lambda x: np.stack([np.array([x[0], None]), x[:2]])[0, 0])(V)


def test_a_plain_array_of_complex_numbers_is_a_copy():
    with pytest.raises(ValueError, match="is a copy: numbers that are stored later are not in it"):
        dr.grad(lambda x: np.array(dr.numpy.zeros(3, complex), copy=False)[0].real + x[0])(V)


def test_only_a_numba_function_is_compiled_anew():
    with pytest.raises(AttributeError, match="recompile"):
        dr.custom_jvp(lambda x: x).recompile()


def test_a_cotangent_that_is_too_large():
    for x, ct in ((1.5, 10**400), (V, np.array([10**400, 1, 1], dtype=object))):
        with pytest.raises(CotangentError, match="a real scalar, of double precision"):
            dr.vjp(lambda u: u * 2.0, x)[1](ct)


def test_a_ufunc_without_a_rule_has_its_full_name():
    own = numba.vectorize(["float64(float64)"])(lambda x: x * x)
    for f, name in ((scipy.special.kolmogorov, "^scipy.special.kolmogorov of"), (own, "^the ufunc '<lambda>' of")):
        with pytest.raises(UnsupportedError, match=name):
            dr.grad(lambda x, f=f: np.sum(f(x)))(V)


def test_a_rule_of_a_function_in_c_takes_no_names():
    smallest = dr.custom_jvp(min)
    smallest.defjvp(lambda p, t: (min(*p), t[0]))
    with pytest.raises(CustomRuleError, match="its arguments by position"):
        dr.grad(lambda x: smallest(x, default=3.0))(V)


def test_a_number_by_a_complex_zero_is_an_error():
    with pytest.raises(ZeroDivisionError):
        dr.grad(lambda x: abs(1j / (x[0] * 0.0)))(V)


#: In a stage of the paper, which is another engine: what it has no arrays for.
OF_STAGES = {
    "a matrix": lambda x: np.linalg.pinv(x * np.ones((2, 2)))[0, 0],
    "a matrix of ours": lambda x: np.linalg.det(dr.numpy.array([[x, 1.0], [1.0, x]])),
    "a complex matrix": lambda x: np.linalg.det(dr.numpy.array([[x, 1.0], [1.0, x]]) * 1j).real,
    "complex numbers": lambda x: np.exp(dr.numpy.array([x]) * 1j).real[0],
    "a special function": lambda x: scipy.special.erfinv(dr.numpy.array([x]))[0],
}


@pytest.mark.parametrize("name", OF_STAGES)
def test_a_stage_names_the_default_engine(name):
    with pytest.raises(UnsupportedError, match="the default engine"):
        dr.grad(OF_STAGES[name], engine=stages.d2_staged)(0.3)
