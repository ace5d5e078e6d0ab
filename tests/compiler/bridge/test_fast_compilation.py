"""Compilation of derivatives: numba's functions in their faster versions, and machine code that is made once."""

from __future__ import annotations

import math
import re

import numba
import numpy as np
import pytest
from numba import cfunc, njit
from numba.core import compiler
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler import Flags
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig
from numba.extending import overload
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from bench.programs.first_call_programs import EVERY
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.bridge.numba_ext import faster_numba
from dualrev.compiler.bridge.numba_ext.emitted_functions import own_functions
from dualrev.compiler.frontend.typing.infer_callees import inferred
from dualrev.compiler.runtime.link import DeferredLibrary
from dualrev.diagnostics.quoting import execute, remember

# Functions of numba


def typed(f, args):
    """Numba's typed IR of a function, in SSA form, as text; and the types of its variables."""
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, f.targetoptions)
    flags.nrt = True
    ir, types, result = inferred(f.py_func, tuple(map(numba.typeof, args)), flags, {})
    text = [_text(statement) for label in sorted(ir.blocks) for statement in ir.blocks[label].body]
    lifetimes = ir.variable_lifetime.deadmaps.combined
    return (
        text,
        {_text(x): _text(t) for x, t in types.items()},
        str(result),
        _text(sorted(map(sorted, lifetimes.values()))),
    )


def _text(x):
    """Text without the numbers that numba counts inlined functions by, and without addresses."""
    return re.sub(r"_v\d+|0x[0-9a-f]+", "", str(x))


@pytest.mark.parametrize("name", ["mie", "hllc_tube", "bates", "lstm", "soft_time_warping", "implied_volatility"])
def test_numba_types_the_same_program(name):
    f, args = EVERY[name].function, EVERY[name].make()
    f(*args)  # compiles what it calls
    expected = typed(f, args)
    with fast_compilation():
        assert typed(f, args) == expected


@njit
def odd_numbers(n):
    for k in range(n):
        if k % 2:
            yield 1.0 * k


@njit
def of_many_kinds(x, n, flag):
    """A generator, a closure, an exception, a variable of two types, and loops that assign the same names."""

    def twice(y):
        return y + x

    total = 0
    for k in odd_numbers(n):
        total += k
        x = twice(x) if flag else x - 1
    while total > 10.0:
        total, x = x, total / 2
        if math.isnan(total):
            raise ValueError("not a number")
    return total, x, flag and n > 2


def test_numba_types_the_same_program_with_closures_and_generators():
    args = 0.5, 7, True
    of_many_kinds(*args)
    expected = typed(of_many_kinds, args)
    with fast_compilation():
        assert typed(of_many_kinds, args) == expected


def some_flags():
    """Flags with options that are set, and set to what they are by default."""
    for options in ({}, {"nrt": False}, {"nrt": True}, {"nrt": True, "fastmath": True}, {"error_model": "numpy"}):
        made = Flags()
        for name, value in options.items():
            setattr(made, name, value)
        yield made


def test_flags_are_equal_where_they_are_to_numba():
    expected = [[one == two for one in some_flags()] for two in some_flags()]
    hashes = [*map(hash, some_flags())]
    assert expected[0] == [True, True, False, False, False]
    with fast_compilation():
        assert [[one == two for one in some_flags()] for two in some_flags()] == expected
        assert [*map(hash, some_flags())] == hashes
        assert Flags() != 0
        assert Flags() != TargetConfig()


def replaced():
    """What is replaced, as it is now."""
    known = [(owner, name) for owner, name, _ in faster_numba._REPLACED]
    known += [(JITCPUCodegen, "_library_class"), (JITCPUCodegen, "set_env")]
    return [vars(owner)[name] if name in vars(owner) else getattr(owner, name) for owner, name in known]


def test_numba_gets_its_functions_back():
    before = replaced()
    with fast_compilation():
        now = replaced()
        with pytest.raises(ZeroDivisionError), fast_compilation():
            raise ZeroDivisionError
        assert replaced() == now
    assert all(new is not old for new, old in zip(now, before, strict=True))
    assert replaced() == before


def test_numba_gets_its_functions_back_after_a_refusal():
    @njit
    def f(x):
        return x + np.random.beta(x, 1.0)

    before = replaced()
    with pytest.raises(dr.errors.UnsupportedError):
        dr.grad(f)(0.5)
    assert replaced() == before


# Machine code


@pytest.fixture
def compiled(monkeypatch):
    """Names of the libraries that get machine code."""
    names, own = [], DeferredLibrary._finalize_final_module

    def finalize(self):
        names.append(self.name.rpartition(".")[2])
        own(self)

    monkeypatch.setattr(DeferredLibrary, "_finalize_final_module", finalize)
    return names


def test_a_derivative_has_machine_code_once(compiled):
    @njit
    def inner(a, y):
        return np.linalg.solve(a, y)[0] * np.median(y)

    @njit
    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += inner(np.diag(x), x) * k
        return total

    x = np.array([1.0, 2.0, 4.0])
    _, slope = dr.value_and_grad(f)(x)
    assert compiled == ["value_and_grad_f"]
    assert_same(slope, dr.jacrev(f)(x))

    (entry,) = (e for d in f._dualrev_derivatives.values() for e in d._entries.values() if "value" in e.__name__)
    parts = [x for x in own_functions(entry.py_func.__globals__) if x is not entry and x.overloads]
    assert parts
    for part in parts:
        with pytest.raises(RuntimeError, match=r"\w+ is a part of a derivative and has no code of its own"):
            part.inspect_llvm()
    assert "f_" in str(entry.inspect_llvm())


def test_mutual_recursion_has_machine_code_before():
    """A function that is called by a pointer needs it. What follows must not be bound to hidden functions."""

    @njit
    def down(x, y, z, n):
        return x[0] * z[1] if n == 0 else math.sin(down(y, x, z, n - 1)) * x[n] + z[n]

    @njit
    def first(x):
        return down(x, x * 0.5, x * 2.0, 2)

    @njit
    def second(x):
        return down(x, x * 0.5, x, 3)  # other arguments are one array in every second call: two functions

    x = np.array([0.3, 0.5, 0.7, 0.9])
    for f in (first, second, first):
        assert_same(dr.grad(f)(x), dr.grad(twin(f))(x))
        assert_same(dr.hvp(f)(x, x), dr.hvp(twin(f))(x, x))


def test_code_of_a_derivative_can_be_linked_by_others():
    """What a derivative has compiled first, users' functions take from it: here, implementations of numba's."""

    @njit
    def f(x):
        return np.linalg.cond(np.outer(x, x) + np.eye(3)) + np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1]

    @njit
    def g(x, rows):
        return dr.grad(h)(x)[0] + np.linalg.slogdet(np.ones((rows, 3)) + np.eye(3))[1]

    @njit
    def h(x):
        return np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1]

    x = np.array([1.0, 2.0, 3.0])
    slope = dr.grad(h)(x)
    assert f(x) == pytest.approx(f.py_func(x))
    assert g(x, 3) == pytest.approx(slope[0] + np.log(4.0))
    with pytest.raises(ValueError, match=r"[Ii]ncompatible|broadcast|dimensions"):
        g(x, 2)
    assert_same(dr.grad(h)(x), slope)


def two():
    """A constant; its implementation makes a callback for C."""
    return 2.0


def test_a_callback_can_be_compiled_within_a_derivative():
    """C calls a function that Python does not: it lacked the wrapper, and its address was zero."""
    callbacks = []

    @overload(two)
    def _two():
        @cfunc("float64(float64)")
        def thrice(x):
            return 3.0 * x

        callbacks.append(thrice)
        return lambda: 2.0

    @njit
    def f(x):
        return x * x * two()

    assert dr.grad(f)(0.5) == 2.0
    assert callbacks
    assert callbacks[0].ctypes(0.5) == 1.5


# Exceptions


def test_failures_share_the_release_of_references(monkeypatch):
    """Each check released all arrays: the calls grew with the product of both."""
    found, own = [], DeferredLibrary.add_ir_module

    def add(self, module):
        if self.name.endswith("f_sweeps"):
            found.append(str(module).count('call void @"NRT_decref"'))
        own(self, module)

    monkeypatch.setattr(DeferredLibrary, "add_ir_module", add)

    def released(count):
        """Releases in the derivative of a function that makes arrays, each by a system that may be singular."""
        lines = [f"    y{k + 1} = np.linalg.solve(np.diag(x), y{k})" for k in range(count)]
        total = " + ".join(f"y{k + 1}.sum()" for k in range(count))
        space = {"np": np}
        text = "\n".join(["def f(x):", "    y0 = x * 1.0", *lines, f"    return {total}"])
        execute(text, space, f"<test {count}>")
        remember(text, f"<test {count}>", space["f"])
        found.clear()
        dr.grad(njit(space["f"]))(np.array([1.0, 2.0, 3.0]))
        return max(found)

    short, long = released(2), released(6)
    assert 3 < short < long < 5 * short
