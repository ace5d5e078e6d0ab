"""Regressions: programs that the compiler once differentiated wrongly, compared with the tape (twin.py)."""

import ast
import gc
import importlib
import linecache
import math
import os
import subprocess
import sys
import warnings

import numba
import numpy as np
import pytest
from numba import njit
from support.checks import agrees
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.bridge.cache.key import fingerprint
from dualrev.compiler.runtime import store

ALWAYS = True
VECTOR = np.array([0.3, 0.5, 0.9, -0.2])


# Arrays that change hands


@njit
def made(x):
    a = np.empty(3)
    a[0] = x
    a[1] = a[0] * a[0]
    a[2] = np.sin(a[1]) * a[0]
    return a


@njit
def changed_by_the_caller(x):
    """The reverse of `made` reads elements that stand here again when it runs."""
    a = made(x)
    a[0] = 5.0 * x * x
    a[1] *= a[0]
    return a[0] * a[1] + a[2] ** 2


@njit
def swapping(a, b, n):
    """It returns a parameter's name, for another array."""
    for i in range(n):
        a, b = b, a
        a[i % 3] = b[0] * a[1]
    return a


@njit
def swapped_by_the_callee(x, a):
    b = a * 0.7
    s = 0.0
    for i in range(4):
        c = swapping(a, b, i)
        c[0] = x * c[1]
        s += c[0] * a[0] * b[2]
        d = swapping(c, a, i)
        d[2] *= x
    return s + np.sum(a * b)


@njit
def kept_over_rounds(x, a):
    w = np.zeros(4)
    s = 0.0
    for i in range(4):
        v = a * s
        w[0] = x * s + 0.3
        v[1] += x * a[i % 3]
        s += np.dot(v, v) + x
        w = v
    return s


@njit
def arrays(x, a):
    return changed_by_the_caller(x) + swapped_by_the_callee(x, a.copy()) + kept_over_rounds(x, a)


def test_arrays_that_callers_and_callees_change():
    """In reverse mode: there the arrays of an earlier time are read."""
    agrees(arrays, 0.7, VECTOR, forward=False)


# Loops whose rounds were taken in another order


@njit
def moving_view(x, a):
    for i in range(3):
        v = a[2 - i :]
        v[i] = x * (i + 1)
    return a[2] * a[2] + a[0]


@njit
def kept_views(x, a):
    u = a
    v = a * 2.0
    for i in range(4):
        u, v = v, u
        u[i] = x * (i + 1)
    return np.sum(u * u) + np.sum(v * u)


@njit
def negative_indices(x, a):
    for i in range(-2, 4):
        a[i] = x * (i + 5)
    return np.sum(a * a)


@njit
def loops(x, a):
    return moving_view(x, a.copy()) + kept_views(x, a.copy()) + negative_indices(x, a.copy())


def test_order_of_rounds():
    agrees(loops, 0.7, VECTOR, forward=False)


# What numba leaves out


@njit
def unreachable(x, a):
    for i in range(3):
        if 1 < 0:
            left = 2 % 5
            while left > 0:
                left -= 1
            continue
        a[1:] += 0.3 * a[:-1]
        known = ALWAYS or x > 1.0
        if known:
            y = x * a[i]
        else:
            for j in range(len(a)):
                a[j] = a[j] * x
            y = a[0]
        x += y
    return x * a[2]


def test_conditions_that_numba_knows():
    agrees(unreachable, 0.7, VECTOR)


# Other things that went wrong


@njit
def square_of_first(a, b):
    b[1] = a[0] * a[0]
    return b[1] * a[2]


@njit
def product_of_two(a, b):
    return a[0] * b[0] * b[1]


def test_one_array_for_two_arguments_is_refused_if_it_is_written():
    a = VECTOR.copy()
    with pytest.raises(ValueError, match="share memory"):
        dr.grad(square_of_first, (0, 1))(a, a)
    with pytest.raises(ValueError, match="share memory"):
        dr.jvp(square_of_first, (a, a[::-1]), (a, a))
    found = dr.grad(square_of_first, 0)(a[:3], np.zeros(2))
    assert_same(found, np.array([2.0 * a[0] * a[2], 0.0, a[0] * a[0]]))
    assert_same(a, VECTOR)
    one, other = dr.grad(product_of_two, (0, 1))(a, a)
    assert_same(one[:2], np.array([a[0] * a[1], 0.0]))
    assert_same(other[:2], np.array([a[0] * a[1], a[0] * a[0]]))


@njit
def slow_products(m, v):
    return np.dot(m[:, 0], v) + np.sum(m.T @ v[::-1])


def test_numba_s_warnings_of_slow_products_do_not_come_from_emitted_code():
    m, v = np.arange(9.0).reshape(3, 3), np.array([0.3, 0.5, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = dr.value_and_grad(slow_products, (0, 1))(m, v)[0]
        assert dr.jvp(slow_products, (m, v), (m, v))[0] == value


@njit
def quotient(x, y):
    return x / y


@njit(error_model="numpy")
def with_infinities(x, y):
    return quotient(x, y) * x


@njit
def other_quotient(x, y):
    return x / y


@njit
def with_errors(x, y):
    return other_quotient(x, y) * x


def test_called_functions_keep_their_error_model():
    """Numba compiles them while the derivative is made: with the options of the function, not of the derivative."""
    assert_same(dr.grad(with_infinities)(1.0, 2.0), 1.0)
    assert with_infinities(1.0, 0.0) == np.inf
    assert_same(dr.grad(with_errors)(1.0, 2.0), 1.0)
    with pytest.raises(ZeroDivisionError):
        other_quotient(1.0, 0.0)


def test_functions_without_an_error_model_have_that_of_their_first_caller():
    """Numba gives it to them when it compiles them; jvp and hessian raised where f had infinities."""

    def made(**options):
        inverse = njit(lambda x: 1.0 / x)
        one = njit(**options)(lambda x: inverse(x) * 2.0)
        return inverse, one

    derivatives = [
        lambda f, x: dr.value_and_grad(f)(x),
        lambda f, x: dr.jvp(f, (x,), (1.0,)),
        lambda f, x: dr.hessian(f)(x),
        lambda f, x: dr.vjp(f, x)[1](1.0),
    ]
    _, f = made(error_model="numpy")
    assert dr.value_and_grad(f)(0.0) == (np.inf, -np.inf)
    assert dr.jvp(f, (0.0,), (1.0,)) == (np.inf, -np.inf)
    assert dr.hessian(f)(0.0) == np.inf
    assert dr.vjp(f, 0.0)[1](1.0) == (-np.inf,)
    assert dr.grad(dr.grad(f))(0.0) == np.inf
    assert f(0.0) == np.inf
    _, strict = made()
    inverse, caller = made(error_model="numpy")
    before = fingerprint(caller, "grad", 0, (numba.float64,))
    inverse(1.0)  # compiled by itself
    assert fingerprint(caller, "grad", 0, (numba.float64,)) != before
    for run in [lambda f, x: f(x), *derivatives]:
        for f in (strict, caller):
            with pytest.raises(ZeroDivisionError):
                run(f, 0.0)


def test_a_variable_called_d_is_not_mixed_up_with_cotangents():
    """The copy of `d` was called d_1, and so was the cotangent of the first intermediate value."""

    @njit
    def f(d, n):
        y = d * d * d
        for _ in range(n):
            d = d * y
            y = y + d * d
        return y

    def plain(d):
        return f.py_func(d, 2)

    assert dr.grad(f)(0.7, 2) == pytest.approx(dr.grad(plain)(0.7), rel=1e-13)


# What random programs found


@njit
def changes_its_argument(x, a):
    for i in range(len(a)):
        a[i] = a[i] * a[0]
    return a[0] * a[1]


@njit
def element_and_array(a):
    return changes_its_argument(a[0], a)


@njit
def constant(x, y):
    return 1.13


@njit
def of_a_constant(x, y):
    return constant(x * y, x) * y


@njit
def repeated_by_a_constant(x, a):
    for _ in range(len(a)):
        a[1 % len(a)] += 0.83
    return a[0] * x


@njit
def swapped_after_continue(x, a, b):
    v = np.empty_like(a)
    for i in range(len(a)):
        v[i] = x * a[i] * b[0]
    if x < 5.0:
        for t in b:
            if (x < t and 2 == 1) or 2 == 0:
                w = 0  # noqa: F841
                continue
            a, v = v, a
            v *= a
        y = v.sum()
    else:
        v = a[::-1]  # of another layout: another variable to the compiler
        y = x
    return y


def test_a_call_keeps_its_place_among_reads_of_memory():
    """`d_a[0] += reverse(..., d_a)` read d_a[0] before the call changed it."""
    agrees(element_and_array, np.array([0.43, 0.5]))


def test_a_function_whose_result_is_a_constant():
    agrees(of_a_constant, 0.7, 0.3)


def test_a_loop_that_adds_constants_to_elements():
    agrees(repeated_by_a_constant, 0.64, np.array([0.06, 0.26]))


def test_arrays_that_are_swapped_after_a_condition_that_numba_decides():
    """Numba writes a phi with one incoming version as a copy; the variable was split there."""
    agrees(swapped_after_continue, 0.7, np.array([0.8, 0.6]), np.array([0.9, 0.4, 0.7]))


@njit
def same(u):
    return u


@njit
def known_condition(x, a):
    known = 0.37 > 0.0 or a > same(x)
    if known and (known and known):
        return 1.0
    return abs(max(x, a))


def test_a_condition_that_numba_knows_is_kept_in_both_sweeps():
    """Numba left the branch out in the first sweep, and not what used it in the second one."""
    agrees(known_condition, 0.3, 0.5)


@njit
def reversed_into(a, b):
    a[:] = np.minimum(b[::-1], 0.31)
    return a[0] * a[1] + a[2]


@njit
def one_array_twice(d):
    return reversed_into(d, d) + d[0]


def test_a_function_that_is_given_one_array_twice():
    """The right-hand side is complete before the first element is stored, though the names differ."""
    agrees(one_array_twice, np.array([0.6, 0.3, -1.1]))


CHANGES = {
    "another body": ("x * x * x", "5.0 * x"),
    "another constant": ("x * x * x", "x * x * 2.0"),
    "lines above it": ("@njit", "@njit\ndef g(x):\n    return x\n\n\n@njit"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_was_changed_after_its_import_is_refused(tmp_path, monkeypatch, change):
    """The derivative is made from the source: it was that of the new one, silently, beside the old value."""
    file = tmp_path / f"changed_{abs(hash(change))}.py"
    before = "from numba import njit\n\n\n@njit\ndef f(x):\n    return x * x * x\n"
    file.write_text(before, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    f = importlib.import_module(file.stem).f
    assert dr.value_and_grad(f)(3.0) == (27.0, 27.0)
    f = importlib.reload(sys.modules[file.stem]).f
    file.write_text(before.replace(*CHANGES[change]), encoding="utf-8")
    os.utime(file, (2e9, 2e9))
    with pytest.raises(dr.UnsupportedError, match=r"import the module anew|with `def`"):
        dr.value_and_grad(f)(3.0)
    f = importlib.reload(sys.modules[file.stem]).f
    assert dr.value_and_grad(f)(3.0)[0] == f(3.0)


def test_a_comment_that_was_changed_after_the_import_is_none(tmp_path, monkeypatch):
    file = tmp_path / "commented.py"
    before = 'from numba import njit\n\n\n@njit\ndef f(x):\n    """Cube."""\n    # now\n    return x * x * x\n'
    file.write_text(before, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    f = importlib.import_module("commented").f
    file.write_text(before.replace("# now", "# then"), encoding="utf-8")
    os.utime(file, (2e9, 2e9))
    assert dr.value_and_grad(f)(3.0) == (27.0, 27.0)


def test_functions_in_functions_are_known_by_their_source():
    scale, shift = 2.0, 1.0

    @njit
    def inner_one(x):
        """Of a closure, indented,

        with a docstring of lines.
        """
        return scale * x * x + shift

    @njit
    def outer_one(x):
        return inner_one(x) * scale

    assert dr.value_and_grad(outer_one)(3.0) == (38.0, 24.0)


def test_code_from_exec_is_not_taken_for_another_of_its_name():
    """From Python 3.13 on, inspect has a source for it: what python -c was given."""
    program = (
        "import numba, dualrev\n"
        "@numba.njit\n"
        "def f(x):\n"
        "    return 5.0 * x\n"
        "names = {}\n"
        "exec('import numba\\n@numba.njit\\ndef f(x):\\n    return x * x * x\\n', names)\n"
        "try:\n"
        "    print(dualrev.grad(names['f'])(3.0))\n"
        "except dualrev.UnsupportedError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_a_cell_of_a_notebook_is_compiled_statement_by_statement():
    """There, np is no imported name to the compiler, and calls of its functions have other code."""
    cell = (
        "import numpy as np\nfrom numba import njit\n\n\n@njit\ndef f(x):\n    return np.maximum(x, 0.0) * np.exp(x)\n"
    )
    name, names = "/tmp/ipykernel_1/1.py", {}
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    try:
        for statement in ast.parse(cell).body:
            exec(compile(ast.Module([statement], []), name, "exec"), names)
        y, slope = dr.value_and_grad(names["f"])(1.0)
    finally:
        del linecache.cache[name]
    assert_same((y, slope), (np.e, 2.0 * np.e), rtol=1e-14, types=False)


# Divisions of arrays: numba refuses to divide numbers by zero, and divides arrays as numpy does


@njit
def chosen_by_quotients(a, b):
    total = np.sum(np.where(a / b > 1.0 + a // b, a * b, 2.0 * a))
    return total * np.sum(np.where(a % b / b[1] > 0.4, a, b * b))


def test_a_choice_by_the_quotient_of_arrays():
    agrees(chosen_by_quotients, np.array([1.0, 2.2, 3.1]), np.array([2.0, 0.9, 1.3]))


@njit
def quotients(a, b, i, j, z, n):
    """Every one of them divides by zero somewhere; what comes of it is cut off."""
    total = np.sum(np.minimum(a / b, 7.0)) + np.sum(np.minimum(a // b, 7.0) + np.minimum(a / z, 3.0))
    total += np.sum(a * (i // j)) + np.sum(a * (i % n)) + np.sum(np.where(b / z > 1.0, a, 2.0 * a))
    c = b.copy()
    c /= z
    return total + np.sum(np.where(np.isnan(a % b), 5.0, np.minimum(c, 4.0)))


@njit
def sum_of_quotients(a, b):
    return np.sum(a / b)


@njit
def quotient_of_numbers(a, z):
    return np.sum(a) / z


@njit
def mean_of_nothing(a):
    return a[0] * np.isnan(np.mean(a[:0])) + np.isnan(np.var(a[:0]))


def test_the_mean_of_no_elements_is_what_numba_makes_of_it():
    """NaN, or in an older numba a division by zero."""
    args = (np.array([1.0, 2.0]),)
    try:
        y = mean_of_nothing(*args)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            dr.grad(mean_of_nothing)(*args)
    else:
        assert_same(dr.value_and_grad(mean_of_nothing)(*args), (y, np.array([1.0, 0.0])), rtol=0.0)


def test_arrays_are_divided_by_zero_as_f_divides_them():
    args = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 1.3]), np.arange(1, 4), np.array([2, 0, 1]), 0.0, 0
    y = quotients(*args)
    assert np.isfinite(y)
    assert dr.value_and_grad(quotients)(*args)[0] == y
    found = dr.value_and_grad(sum_of_quotients)(*args[:2])
    assert_same(found, (np.inf, np.array([0.5, np.inf, 1.0 / 1.3])), rtol=1e-15)
    assert dr.jvp(sum_of_quotients, args[:2], (np.ones(3), np.zeros(3)))[0] == np.inf
    with pytest.raises(ZeroDivisionError):
        dr.grad(quotient_of_numbers)(args[0], 0.0)


# Copies of arrays


GRID = np.arange(60.0).reshape(3, 4, 5)
COPIES = {
    "C": (np.zeros((3, 4)), GRID[0, :3, :4].copy()),
    "F": (np.zeros((4, 3)).T, GRID[0, :4, :3].copy().T),
    "from a part": (np.zeros((3, 4)), GRID[::-1, ::1, 2]),
    "to a vector's part": (np.zeros(8)[::2], GRID[0, :, 1]),
    "to a part of three axes": (np.zeros((6, 4, 5))[::2], GRID),
    "empty": (np.zeros((3, 0)), np.zeros((3, 0))),
}


@pytest.mark.parametrize("kind", COPIES)
def test_emitted_code_copies_arrays_of_every_layout(kind):
    array, x = COPIES[kind]
    store(array, x)
    assert_same(array, x, rtol=0.0, floor=0.0)


@njit
def running_products(a):
    """The reverse sweep brings back what `a` held, and then what it holds at the end."""
    for i in range(1, len(a)):
        a[i] = a[i] * a[i - 1] * a[i]
    return a[-1]


def test_numba_compiles_no_text_about_shapes_for_a_copy_of_the_compiler_s():
    """It does for array[...] = other: seconds, in every derivative of a function that writes an argument."""
    text = dr.derivative_source(running_products, VECTOR.copy())
    assert "runtime.store(" in text
    assert "[...] =" not in text


# Assignments to several names, of what has more or fewer items


@njit
def product_of_both(a):
    u, v = a
    return u * v


@njit
def products_of_rows(m):
    total = 0.0
    for u, v in m:
        total += u * v
    return total


@njit
def product_of_a_list(x, n):
    u, v = [x] * n
    return u * v


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (product_of_both, lambda n: (np.arange(1.0, n + 1),)),
        (products_of_rows, lambda n: (np.ones((2, n)),)),
        (product_of_a_list, lambda n: (2.0, n)),
    ],
    ids=["array", "rows", "list"],
)
def test_as_many_names_as_items(f, args):
    """It was read beyond the end of an array with too few, and the rest of one with too many was ignored."""
    np.testing.assert_allclose(dr.grad(f)(*args(2)), dr.grad(f.py_func)(*args(2)), rtol=1e-15)
    for n in (1, 3):
        for call in (f, dr.value_and_grad(f), dr.grad(f)):
            with pytest.raises(ValueError) as caught:  # noqa: PT011 - numba's has no text
                call(*args(n))
            assert str(caught.value) == ""


@njit
def always_the_same(x):
    return 0.71


def test_the_hessian_of_a_constant():
    """Its sweeps have no statement: the length of the text was divided by."""
    assert dr.hessian(always_the_same)(0.3) == 0.0


# What a function that runs once more would read anew


@dr.checkpoint
@njit
def looked_up(x, table):
    return math.sin(x * table[0])


@njit
def looked_up_and_changed(x):
    table = {0: 1}
    y = looked_up(x, table)
    table[0] = 3
    return y


@njit
def plainly_looked_up(x, table):
    return math.sin(x * table[0])


def test_a_container_may_have_changed_before_a_function_runs_again():
    """A checkpoint and a pullback run the function later: they read what the dict held then."""
    table = numba.typed.Dict.empty(numba.int64, numba.float64)
    table[0] = 1.5
    assert dr.grad(plainly_looked_up)(0.7, table) == 1.5 * math.cos(0.7 * 1.5)
    with pytest.raises(dr.UnsupportedError, match="the container may have changed"):
        dr.grad(looked_up_and_changed)(0.7)
    with pytest.raises(dr.UnsupportedError, match="the container may have changed"):
        dr.vjp(plainly_looked_up, 0.7, table)


@njit
def through_an_array_in_a_dict(x, places):
    some = places[0]
    some[1] = 3
    return x[places[0][1]] ** 2


@njit
def through_a_list_in_a_tuple(pair):
    ys, x = pair
    return ys[0] * x * x


def test_arrays_in_containers_and_lists_in_tuples_are_refused():
    """An array that came out of a dict was a copy, so that what was written to it was lost."""
    places = numba.typed.Dict.empty(numba.int64, numba.int64[::1])
    places[0] = np.array([1, 2])
    with pytest.raises(dr.UnsupportedError, match="the dict places"):
        dr.grad(through_an_array_in_a_dict)(np.array([0.7, 1.3, -0.4, 2.1]), places)
    with pytest.raises(dr.UnsupportedError, match="in a tuple"):
        dr.grad(through_a_list_in_a_tuple)(([0.7, 1.3], 2.0))


# Loops whose rounds depend on one another through an earlier value of a variable


@njit
def mirrored_and_squared(z):
    w = z.copy()
    w -= w[::-1]
    for _ in range(2):
        w = w * w + z[0]
    return np.sum(w * w)


def test_the_reverse_of_what_overlaps_runs_downwards_under_an_older_name():
    """A view and its base share memory under the name before the loop, too: the reversed loop runs downwards."""
    z = np.array(
        [0.5, 0.7, -0.4]
    )  # differences of f itself: numpy reads all of w[::-1] before it writes, numba does not
    _, gradient = dr.value_and_grad(mirrored_and_squared)(z)
    for k in range(3):
        d = 1e-5 * (np.arange(3) == k)
        slope = (mirrored_and_squared(z + d) - mirrored_and_squared(z - d)) / 2e-5
        assert abs(gradient[k] - slope) < 1e-7 * abs(gradient).max()


def test_the_garbage_collector_works_again_after_a_first_call():
    """It rests while numba compiles, and so it is after an error."""

    @njit
    def refused(x):
        return float(str(x))

    assert gc.isenabled()
    with pytest.raises(TypeError):
        dr.grad(refused)(1.0)
    assert gc.isenabled()
    gc.disable()
    try:
        assert dr.grad(njit(lambda x: x * x))(3.0) == 6.0
        assert not gc.isenabled()
    finally:
        gc.enable()


@njit
def named(x):
    def bend(t, by=0.5):
        return by * t

    return bend(x, by=0.767)


def test_a_default_that_numba_takes_in_place_of_what_is_given_is_refused():
    """A named argument that numba replaces by its default is refused: numba computes f with by=0.5."""
    with pytest.raises(dr.errors.UnsupportedError, match="numba takes its default there"):
        dr.grad(named)(1.0)


@njit
def of_types_of_numba(x):
    a, b = np.zeros(3, dtype=numba.float64), np.empty(2, numba.int64)
    positive, c = np.zeros(2, dtype=numba.boolean), np.ones((2, 2), dtype=numba.types.float64)
    a[1], b[0], positive[1], c[0, 1] = x * x, 3, x > 0.5, x
    d = np.array([x, a[1]], dtype=numba.types.float64) + np.full(2, x, numba.types.float64)
    e = np.zeros(2, numba.complex128)
    e[0] = 1j * x
    return a[1] * b[0] * positive[1] + np.sum(c * c) + np.sum(d.astype(numba.float64)) + (e[0] * e[0] * x).real


@njit
def in_single_precision(x):
    a = np.zeros(2, dtype=numba.float32)
    a[0] = x
    return a[0] * x


def test_a_dtype_may_be_a_type_of_numba():
    """Python cannot run these: differences of the numba functions are what is right."""
    slope = (of_types_of_numba(0.7 + 1e-5) - of_types_of_numba(0.7 - 1e-5)) / 2e-5
    value, gradient = dr.value_and_grad(of_types_of_numba)(0.7)
    assert value == of_types_of_numba(0.7)
    assert abs(gradient - slope) < 1e-8
    assert abs(dr.jvp(of_types_of_numba, (0.7,), (1.0,))[1] - slope) < 1e-8
    value, gradient = dr.value_and_grad(in_single_precision)(0.7)
    assert value == in_single_precision(0.7)
    assert abs(gradient - 1.4) < 1e-6
