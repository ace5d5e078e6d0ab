"""Compiled gradients of every construct: against the eager tape on the same source, and against differences.

The first test compares the two references with each other; it needs no compiler.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit
from programs.constructs.collected import CASES, RAISES
from programs.constructs.numbers.constructs_functions import NOT_IN_NUMBA
from support.case import fresh, holds_reals
from support.later import LEFT_OUT
from support.oracle import assert_same, differences, flat, rebuild
from support.references import (
    check_value,
    in_dtypes_of,
    is_single,
    leaf_map,
    none,
    reference,
    smooth_function,
    tolerance,
    unboxed,
)
from support.twin import twin

import dualrev as dr
from dualrev.rules.primitives import PRIMITIVES

pytestmark = pytest.mark.usefixtures("checked")


#: Cases that numba compiles for three to ten seconds each, and what compiles their kind in less.
LONG = {
    "arrays.constructors": "its product with the Hessian, in test_compiled_second.py",
    "collections.dicts_of_floats": "test_dicts_by_pairs in test_compiled_wild.py, and a product of dicts and sets",
    "lists.lists_that_are_passed": "its product with the Hessian, in test_compiled_second.py",
}


def some() -> Any:
    """Parametrise by all cases: `make test` compiles a twelfth of them, as each takes seconds, `make campaign` all.

    Forward mode takes others. test_forward_mode.py and test_reverse_mode.py run more of them in the evaluator of core,
    without numba.
    """
    parameters = []
    for k, case in enumerate(CASES):
        marks: list[Any] = [pytest.mark.xfail(reason=case.differs)] * bool(case.differs)
        if k % 12 != 0 or case.name in LONG or re.match(r"functions\..*-\d+$", case.name):
            marks.append(pytest.mark.slow)
        parameters.append(pytest.param(k, id=case.name, marks=marks))
    return pytest.mark.parametrize("number", parameters)


compiled = pytest.mark.skipif(not hasattr(dr, "derivative_source"), reason="the compiler does not exist yet")
every_error = pytest.mark.parametrize("case", RAISES, ids=[case.name for case in RAISES])


def test_numba_takes_every_case():
    """An older one does not take all: this one is the newest that the cases were written with."""
    assert not LEFT_OUT or numba.version_info.short < (0, 68)


@some()
def test_the_references_agree(number):
    """The twin has the function's value, and the tape has the derivative of differences."""
    ref = reference(number)
    size = tolerance(ref.case, ref.y, double=1e-11, single=3e-5)
    assert_same(unboxed(leaf_map(plain, ref.eager)), unboxed(ref.y), **size, types=False)
    if ref.case.smooth:
        f, chosen = smooth_function(ref.case)
        slopes = differences(f, chosen, ref.v).tolist()
        for ct, gradient in zip(ref.cts, ref.gradients, strict=True):
            check_along(ref.case, ct, slopes, gradient, ref.v)


def plain(u: Any) -> Any:
    return u.x if isinstance(u, dr.RealArray) else u


def check_along(case: Any, ct: Any, slopes: list[float], gradient: Any, v: Any) -> None:
    """<ct, f'(x) v> = <gradient, v>"""
    terms = [c * d for c, d in zip(flat(ct), slopes, strict=True)]
    mirror = [c * d for c, d in zip(flat(gradient), flat(v), strict=True)]
    size = max(map(abs, [*terms, *mirror]), default=0.0)
    share = 3e-5 if is_single(case.primals) else 1e-7
    assert_same(math.fsum(mirror), math.fsum(terms), rtol=share, floor=share * size)


@compiled
@some()
def test_the_gradient_is_that_of_the_tape(number):
    """With the function's value and its changes of the arguments; twice, because the first call may leave something."""
    ref = reference(number)
    case, again = ref.case, []
    for _ in range(2):
        args = case.arguments()
        if isinstance(ref.y, float):
            y, gradient = dr.value_and_grad(case.function, case.argnums)(*args)
            found = [gradient]
        else:
            y, pullback = dr.vjp(case.function, *args)
            found = [pullback(ct) for ct in ref.cts]
            assert_same(found, [pullback(ct) for ct in ref.cts], rtol=0.0, floor=0.0)
            for cts in found:
                assert all(ct is None for k, ct in enumerate(cts) if not holds_reals(case.primals[k]))
            found = [tuple(cts[k] for k in case.argnums) for cts in found]
        check_value(case, fresh(y), ref.y)
        check_value(case, args, ref.after)
        for gradient, expected in zip(found, ref.gradients, strict=True):
            assert_same(unboxed(gradient), unboxed(expected), **tolerance(case, expected, double=1e-10, single=3e-5))
            assert not shared(gradient, args)
        again.append((fresh(y), args, found))
    assert_same(again[0], again[1], rtol=0.0, floor=0.0)


def shared(gradient: Any, args: Any) -> bool:
    """Whether a gradient has memory in common with an argument."""
    if isinstance(gradient, tuple):
        return any(shared(u, args) for u in gradient)
    if isinstance(args, tuple):
        return any(shared(gradient, u) for u in args)
    both = isinstance(gradient, np.ndarray) and isinstance(args, np.ndarray)
    return both and np.may_share_memory(gradient, args)


@compiled
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(k, id=case.name, marks=[] if k % 4 == 1 and case.name not in LONG else [pytest.mark.slow])
        for k, case in enumerate(CASES)
        if case.forward
    ],
)
def test_forward_mode_is_that_of_the_tape(number):
    """The tape's tangents are the transpose of its gradients: <ct, jvp(v)> = <vjp(ct), v>"""
    ref = reference(number)
    case, args = ref.case, ref.case.arguments()
    zeros = rebuild(args, [0.0] * len(flat(args)), none)
    tangents = list(in_dtypes_of(args, zeros))
    for k, v in zip(case.argnums, ref.v, strict=True):
        tangents[k] = v
    y, dy = dr.jvp(case.function, args, tuple(tangents))
    check_value(case, fresh(y), ref.y)
    check_value(case, args, ref.after)
    expected = unboxed(ref.tangent)
    assert_same(unboxed(dy), expected, **tolerance(case, expected, double=1e-10, single=3e-5), types=False)
    if case.smooth:
        for ct, gradient in zip(ref.cts, ref.gradients, strict=True):
            check_along(case, ct, flat(dy), gradient, ref.v)


def outcome(f: Any, args: Any) -> tuple[Any, ...]:
    """The error that f raises, and its arguments."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - it is compared below
        f(*args)
    return type(caught.value), caught.value.args


@every_error
def test_the_functions_raise(case):
    kind, _ = outcome(case.function, case.arguments())
    assert kind is case.error
    assert outcome(twin(case.function), case.arguments())[0] is case.error


@compiled
@every_error
def test_a_gradient_raises_what_the_function_raises(case):
    """And leaves the arrays as the function leaves them; the next call finds nothing left over."""
    args = case.arguments()
    expected = outcome(case.function, args)
    gradient = dr.value_and_grad(case.function, case.argnums)
    for _ in range(2):
        mine = case.arguments()
        assert outcome(gradient, mine) == expected
        assert_same(mine, args, rtol=0.0, floor=0.0)


def test_every_line_of_the_table_is_in_a_case():
    """By its name in math, by numpy's name or by its operator."""
    path = (Path(__file__).parents[2] / "programs/constructs/numbers/constructs_functions.py").read_text()
    operators = {"add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "pow": "** y", "neg": "= -x"}
    operators |= {"pos": "= +x", "abs": "= abs(x)", "mod": "x % y", "floordiv": "x // y", "round": "round(x)"}
    for name, line in PRIMITIVES.items():
        if name not in NOT_IN_NUMBA:
            assert not line.ufunc or f"np.{line.ufunc}(" in path, name
            assert not hasattr(math, name) or name in {"cbrt", "fmod"} or f"math.{name}(" in path, name
            assert name not in operators or operators[name] in path, name


# Arguments that share memory


@njit
def reads(a, b):
    return np.sum(a * b) + a[0] * b[1]


@njit
def writes(a, b):
    for i in range(len(a)):
        a[i] = a[i] * b[-1 - i] + b[0]
    return np.sum(a * b)


@njit
def writes_a_part(pair, b):
    pair[0][1] *= b[0] * pair[1]
    return pair[0][1] * b[1]


def both_of(z):
    return z, z


def one_reversed(z):
    return z, z[::-1]


def neighbours(z):
    return z[:3], z[1:]


def interleaved(z):
    return z[::2], z[1::2]


def in_a_tuple(z):
    return (z, 0.7), z


def arrays_in(x):
    return [a for u in x for a in arrays_in(u)] if isinstance(x, tuple) else [x] if isinstance(x, np.ndarray) else []


@compiled
@pytest.mark.parametrize("share", [both_of, one_reversed, neighbours, interleaved])
def test_arguments_that_share_memory_and_are_read_have_separate_gradients(share):
    args = share(np.array([0.5, -1.2, 0.8, 2.0]))
    expected = dr.value_and_grad(twin(reads), (0, 1))(*args)
    assert_same(dr.value_and_grad(reads, (0, 1))(*args), expected, types=False, rtol=1e-12)


@compiled
@pytest.mark.parametrize(
    ("f", "share"),
    [*((writes, share) for share in (both_of, one_reversed, neighbours, interleaved)), (writes_a_part, in_a_tuple)],
)
def test_arguments_that_share_memory_and_are_written_are_refused_or_right(f, share):
    """Right is: the value, the array, and gradients whose sum over what is shared is the array's gradient."""
    z, mine = np.array([0.5, -1.2, 0.8, 2.0]), np.array([0.5, -1.2, 0.8, 2.0])
    expected = dr.grad(lambda z: twin(f)(*share(z)))(z)
    y = f(*share(z))
    try:
        found, gradient = dr.value_and_grad(f, (0, 1))(*share(mine))
    except (ValueError, dr.errors.UnsupportedError) as error:
        assert any(word in str(error) for word in ("overlap", "memory"))  # noqa: PT017
        return
    total = np.zeros(4)
    for part, g in zip(arrays_in(share(total)), arrays_in(gradient), strict=True):
        part += g
    assert_same(found, y, rtol=1e-14)
    assert_same(mine, z, rtol=1e-14)
    assert_same(total, expected, rtol=1e-12)


@compiled
def test_overlapping_arguments_of_a_callee_are_refused_or_right():
    @njit
    def outer(z):
        return writes(z[:3], z[1:]) * z[0]

    z, mine = np.array([0.5, -1.2, 0.8, 2.0]), np.array([0.5, -1.2, 0.8, 2.0])
    expected = dr.value_and_grad(twin(outer))(z)
    outer(z)
    try:
        found = dr.value_and_grad(outer)(mine)
    except (ValueError, dr.errors.UnsupportedError):
        return
    assert_same(found, expected, rtol=1e-12, types=False)
    assert_same(mine, z, rtol=1e-14)


# What the tape has not


@njit
def ranges(x, y):
    a, b, c = np.arange(x, y, 0.25), np.linspace(x, y, 5), np.linspace(0, y, 3)
    return np.sum(a * a) + b[2] * b[4] + c[1] * x + np.linspace(x, y, 1)[0] * np.arange(y)[1]


def ranges_by_loops(x, y):
    s = sum((x + 0.25 * k) ** 2 for k in range(7))
    return s + (x + (y - x) / 2.0) * y + y / 2.0 * x + x


@compiled
def test_ranges_of_variables():
    found, expected = dr.value_and_grad(ranges, (0, 1))(0.3, 2.0), dr.value_and_grad(ranges_by_loops, (0, 1))(0.3, 2.0)
    assert_same(found, expected, rtol=1e-13)


# Options, and what is made of gradients


@compiled
def test_the_error_model_carries_over():
    @njit(error_model="numpy")
    def inverse(x):
        return 1.0 / x

    assert dr.value_and_grad(inverse)(0.0) == (math.inf, -math.inf)


@compiled
def test_a_gradient_is_called_from_numba():
    @njit
    def bowl(p, centre, scale=1.5):
        return scale * (p[0] - centre[0]) ** 2 + (p[1] + centre[1]) ** 2

    slope, both = dr.grad(bowl), dr.value_and_grad(bowl, (0, 1))

    @njit
    def descent(p, centre, n):
        for _ in range(n):
            p = p - 0.2 * slope(p, centre)
        y, (by_p, by_centre) = both(p, centre)
        return p, y, by_p[0] + by_centre[0]

    p, y, total = descent(np.zeros(2), (0.5, -0.25), 60)
    assert_same((p, y, total), (np.array([0.5, 0.25]), 0.0, 0.0), floor=1e-9)


@njit
def waves(x, n):
    out = np.empty((n, 2))
    for k in range(n):
        out[k, 0] = math.sin(x[k % len(x)] * x[0])
        out[k, 1] = out[k, 0] * x[-1]
    return out


@compiled
@pytest.mark.parametrize("n", [1, 4])  # fewer results than arguments, and more
def test_a_jacobian_is_that_of_the_tape(n):
    x = np.array([0.5, -1.2, 0.8])
    assert_same(dr.jacobian(waves)(x, n), dr.jacobian(twin(waves))(x, n), rtol=1e-12)
