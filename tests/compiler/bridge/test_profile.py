"""`dr.tape_info` and `dr.compile_info`: what is on the tape, of which line, and how long compiling took."""

import inspect

import numpy as np
import pytest
from numba import njit, prange

import dualrev as dr
from bench.programs.array_programs import ARRAYS
from bench.programs.compiled_programs import PROGRAMS
from bench.words import most

SMALL = ("newton", "thomas", "alignment")


@njit
def settle(x, n):
    while x > 1.0:
        x = np.sqrt(x) * 0.9
    for _ in range(n):
        x = x * np.sin(x)
    return x


@njit
def filtered(p, signal):
    total, state = 0.0, np.zeros(3)
    for k in range(len(signal)):
        if signal[k] > 0.0:
            total = total * settle(signal[k] + p[0], 4)
        state = np.tanh(state * p) + signal[k]
        total += state[1] * state[2]
        signal[k] = total
    return total


@njit(parallel=True)
def apart(p, n):
    total = 0.0
    for i in prange(n):
        x = p[0] * i
        for _ in range(10):
            x = np.sin(x) * p[1]
        total += x
    return total


@njit
def scaled(x, *factors):
    for _ in range(5):
        x = np.sin(x) * factors[0]
    return x


def number_of(f, text):
    """Number of the line with this text in the file of f."""
    lines, first = inspect.getsourcelines(f.py_func)
    return first + next(k for k, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def info():
    signal = np.array([0.5, -1.0, 2.0, 0.25])
    made = dr.tape_info(dr.grad(filtered), np.full(3, 0.7), signal)
    assert signal.tolist() == [0.5, -1.0, 2.0, 0.25]  # f writes to a copy
    return made


@pytest.mark.parametrize("name", SMALL)
def test_the_words_are_those_that_the_reference_interpreter_counts(name):
    program = (PROGRAMS | ARRAYS)[name]
    made = dr.tape_info(dr.grad(program.function, program.argnums), *program.make(program.small))
    assert made.words == most(program, program.small)[0]
    assert sum(x.words for x in made.lines) >= made.words > 0


def test_each_row_has_the_line_the_count_and_the_values(info):
    inner = [x for x in info.lines if x.function == "settle"]
    assert {x.line for x in inner} <= {number_of(settle, text) for text in ("while", "0.9", "for _", "sin")}
    steps = next(x for x in inner if "np.sin(x)" in x.values)
    assert (steps.times, steps.words, steps.bytes, steps.arrays) == (3 * 4, 3 * 4 * 2, 3 * 4 * 16, 0)
    assert next(x for x in inner if "number of iterations" in x.values).times == 3
    assert all(x.file == __file__ and x.text in inspect.getsource(inspect.getmodule(number_of)) for x in info.lines)


def test_arrays_count_once_each_and_your_own_not(info):
    rows = [x for x in info.lines if x.arrays]
    assert {x.function for x in rows} == {"filtered"}
    assert 0 < info.array_bytes <= 24 * info.arrays <= sum(x.array_bytes for x in rows)
    assert info.bytes == 8 * info.words + info.array_bytes
    assert sum(x.bytes for x in info.lines) >= info.bytes


def test_the_table_says_it_all(info):
    head, names, *rows = str(info).splitlines()
    assert head.startswith("at most ")
    assert f"{info.words} words" in head
    assert f"{info.arrays} arrays" in head
    assert names.split()[:2] == ["bytes", "times"]
    assert len(rows) == len(info.lines)
    assert [row for row in rows if f"settle:{number_of(settle, 'for _')}: for _ in range(n):" in row]


def test_threads_share_the_counters():
    made = dr.tape_info(dr.grad(apart), np.array([0.1, 0.9]), 50)
    assert sum(x.words for x in made.lines) == 50 * 10 * 2
    assert 10 * 2 <= made.words <= 50 * 10 * 2


def test_defaults_keywords_several_arguments_and_second_order():
    assert dr.tape_info(dr.grad(scaled), 0.5, 2.0, 3.0).words == 5
    assert dr.tape_info(dr.grad(settle), 0.5, n=7).words == dr.tape_info(dr.grad(settle), 0.5, 7).words
    assert dr.tape_info(dr.hessian(settle), 0.5, 7).words > dr.tape_info(dr.grad(settle), 0.5, 7).words
    assert dr.tape_info(dr.jacfwd(settle), 0.5, 7).bytes == 0


def test_other_functions_are_refused():
    for g in (dr.grad(lambda x: x * x), settle, 3.0):
        with pytest.raises(TypeError, match="derivative of a numba function"):
            dr.tape_info(g, 2.0)
    for g in (dr.grad(lambda x: x * x), 3.0):
        with pytest.raises(TypeError, match="derivative of a numba function"):
            dr.compile_info(g)


def test_a_compilation_has_a_record():
    slope = dr.grad(settle)
    before = len(dr.compile_info(slope))
    slope(0.5, 3)
    slope(np.float32(0.5), 3)
    records = dr.compile_info(slope)
    assert len(records) == before + 2
    assert [x.types for x in records[before:]] == ["float64, int64", "float32, int64"]
    assert all(x in dr.compile_info(settle) for x in records)
    for x in records:
        parts = x.passes_seconds + x.numba_seconds + x.llvm_seconds
        assert 0.0 < parts == pytest.approx(sum(x.steps.values()))
        assert {"make-adjoint", "numba: type inference", "LLVM"} <= set(x.steps)
        assert (x.functions, x.cached, x.transform) == (x.functions or None, False, "grad")
        head, *rows = x.table().splitlines()
        assert head == str(x)
        assert sum(float(row.split()[0]) for row in rows) == pytest.approx(parts, abs=0.0006 * len(rows))
    slope._reset_overloads()
    assert dr.compile_info(slope) == []


def test_several_numbers_of_arguments_have_records():
    slope = dr.grad(scaled)
    slope(0.5, 2.0)
    slope(0.5, 2.0, 3.0)
    found = {x.types for x in dr.compile_info(slope)}
    assert {"float64, float64", "float64, float64, float64"} <= found
    assert found <= {x.types for x in dr.compile_info(scaled)}
