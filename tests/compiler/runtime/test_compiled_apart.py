"""A derivative is compiled once; what has machine code before is called by its name (runtime/link.py)."""

import gc
import itertools

import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba import njit, uint64
from numba.core.registry import cpu_target
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.runtime import rounds
from dualrev.compiler.runtime.link import _Caller


@njit
def energy(x):
    s = 0.0
    for i in range(len(x)):
        s = np.sin(s + x[i])
    return s


X = np.linspace(0.1, 1.0, 7)


def libraries(f):
    """The code of the gradient's functions that Python calls."""
    gradient = derivative(f, "grad", 0)
    gradient(X)
    (entry,) = gradient._entries.values()
    return [made.library for made in entry.overloads.values()]


def visible(library):
    """Names of the functions that other machine code can call."""
    functions = library._final_module.functions
    return [f.name for f in functions if not f.is_declaration and f.linkage is Linkage.external]


def test_only_what_python_calls_is_visible():
    (library,) = libraries(energy)
    assert library.closed
    assert not library.apart
    assert len(visible(library)) == 3  # for numba code, for Python, for C
    assert all("grad_energy" in name for name in visible(library))


def test_hidden_functions_are_not_called_by_pointers():
    """Their address is not known: a recursion that took it would call null."""

    @njit
    def solved(x):
        return np.linalg.solve(np.diag(x), x).sum()

    known = cpu_target.target_context.codegen()._rtlinker._defined
    before = set(known)
    (library,) = libraries(solved)
    hidden = {f.name for f in library._final_module.functions if f.linkage is Linkage.private}
    assert any("solve" in name for name in hidden)
    assert hidden & known <= before


@njit
def swapped(x, y, z, n):
    return x[0] * z[0] if n == 0 else np.exp(-swapped(y, x, z, n - 1)) * y[n] + z[n]


@njit
def of_swapped(x):
    """Other arguments are one array in every second call: two functions, which call each other."""
    return swapped(x, x * 0.5, x, 4)


def test_recursive_sweeps_are_called_apart():
    """They have machine code before, as they call each other by pointers."""
    (library,) = libraries(of_swapped)
    assert isinstance(library, _Caller)
    (called,) = library.apart
    (sweeps,) = [f for f in library._final_module.functions if "swapped_sweeps" in f.name and "cpython" not in f.name]
    assert sweeps.is_declaration
    assert sweeps.name in visible(called)
    whole = library._get_module_for_linking()
    assert not whole.get_function(sweeps.name).is_declaration
    assert sweeps.name in library.get_llvm_str()


def test_a_function_that_links_a_gradient_has_all_of_it():
    """It goes on when the gradient has gone."""

    @njit
    def local(x):
        s = 0.0
        for i in range(len(x)):
            s = np.cos(s + x[i] * x[i])
        return s

    def descent_of(gradient):
        @njit
        def descent(x, n):
            for _ in range(n):
                x = x - 0.1 * gradient(x)
            return x

        assert_same(descent(X, 1), X - 0.1 * gradient(X))
        return descent

    descent = descent_of(dr.grad(local))
    found = descent(X, 5)
    del local
    gc.collect()
    assert_same(descent(X, 5), found, rtol=0.0)


def test_shadows_that_do_not_fit_into_memory_are_an_error():
    @njit
    def corner(x):
        return x[0, 0] * x[1, 1]

    huge = np.broadcast_to(np.array(2.0), (2**22, 2**22))
    gradient = dr.grad(corner)
    for _ in range(3):
        with pytest.raises(MemoryError, match="Allocation failed"):
            gradient(huge)
        np.testing.assert_array_equal(gradient(np.full((2, 3), 2.0)), [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_shadows_have_the_order_of_the_array(order):
    @njit
    def weighted(x):
        return np.sum(x * x * x.shape[0])

    x = np.array(np.arange(24.0).reshape(2, 3, 4), order=order)
    found = dr.grad(weighted)(x)
    assert found.strides == x.strides
    np.testing.assert_array_equal(found, 4.0 * x)
    np.testing.assert_array_equal(dr.grad(weighted)(x[:, :, 1:]), 4.0 * x[:, :, 1:])
    assert dr.grad(weighted)(x[:, :0]).shape == (2, 0, 4)


def test_how_many_rounds_a_loop_has():
    counted = njit(lambda *given: rounds(*given))
    largest = 2**63
    ends = [0, 1, -1, 2, 3, -7, 10, largest - 1, -largest, largest - 2, 1 - largest, 2**41, -(2**41)]
    for start, stop, step in itertools.product(ends, ends, [1, -1, 2, -2, 7, largest - 1, -largest]):
        many = (stop - start - 1) // step + 1 if step > 0 else (start - stop - 1) // -step + 1
        assert counted(start, stop, step) == min(max(many, 0), 2**40), (start, stop, step)
    assert counted(uint64(3), uint64(10), uint64(2)) == 4
    assert counted(uint64(3), uint64(2**64 - 1), uint64(1)) == 2**40
    assert counted(np.int32(3), np.int32(-4), np.int8(-2)) == 4


def test_how_many_rounds_are_told_apart():
    """The length of a range from 0 by 1 has its own code, which numba must not confuse with that for other ranges."""

    @njit
    def one(a, n):
        return rounds(0, n, 1), rounds(a, n, 1), rounds(1, n, 1), rounds(0, n, 2), rounds(0, n, -1)

    @njit
    def other(a, n):
        return rounds(a, n, -1), rounds(1, n, 1), rounds(0, n, 1)

    for n in (5, 0, -3):
        assert one(2, n) == tuple(map(len, (range(n), range(2, n), range(1, n), range(0, n, 2), range(0, n, -1))))
        assert other(2, n) == tuple(map(len, (range(2, n, -1), range(1, n), range(n))))
