"""Whatever the user's names are, the derivative is the same: generated names cannot meet them."""

import math
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest
from fuzzing.renaming import hostile_names, renamed
from fuzzing.running import arguments, load
from numba import njit
from programs.generators.generator import Program, program
from support.checks import agrees
from support.oracle import assert_same, direction

import dualrev as dr
from dualrev.compiler.ir.names import MARK, Names, readable, words_of

Pair = namedtuple("Pair", "first second")


# What was wrong once


@njit
def tuple_called_result(x, y):
    result = (math.exp(x), math.sqrt(x))
    y = math.sin(y * result[0]) + result[1]
    return y * 1.0


@njit
def parameter_called_result(result, final):
    y = math.sin(result[0] * result[1]) + final.first[0] * final.second
    result = (result[1] * 2.0, y)
    return y * result[0]


@njit
def arrays_called_result_and_final(a, b):
    result, final = (a * 2.0, b), (b * b, a)
    result[0][0] = final[0][1] * b[0]
    final[1][1] *= 3.0
    return np.sum(result[0] * final[0]) + final[1][1]


@njit
def rebound_beside_given(a, a_given):
    a_given[0] *= a[1]
    a = a * a_given
    a[0] += a_given[1]
    return np.sum(a)


@njit
def cube(x):
    return x * x * x


@njit
def scale(x, a):
    for i in range(len(a)):
        a[i] *= x
    return a[0]


@njit
def locals_beside_callees(x):
    cube_forward = x * 2.0
    cube_reverse = cube(cube_forward) + cube(x)
    cube_tangent = cube(cube_reverse)
    cube_2_reverse = cube_tangent + 1.0
    value_and_grad_locals_beside_callees = jvp_locals_beside_callees = _cube = cube_2_reverse
    return value_and_grad_locals_beside_callees * jvp_locals_beside_callees * _cube


@njit
def locals_beside_a_tape(x, words, top):
    tape = np.empty(3)
    kept_float64_1c = tape
    for k in range(3):
        tape[k] = words[k] * x
        top = top * tape[k] + scale(x, words)
    runtime = top + kept_float64_1c[1] * x
    return runtime * 2.0


@njit
def underscores(_, __, _1, d_x):
    for _ in range(3):
        __ = __ * _1 + d_x
    _2, _return, _result = __ * 2.0, d_x * __, _1
    if _2 > 0.0:
        return _return * _2
    return _result


@njit
def digits(_71, _2):
    _3 = [_4 * _71 for _4 in _2]
    return sum([_4 * _4 for _4 in _3 if _4 > 0.0])


@pytest.mark.parametrize(
    ("f", "primals"),
    [
        (tuple_called_result, (1.3, 0.7)),
        (parameter_called_result, ((1.3, 0.7), Pair((0.4, 0.2), 1.1))),
        (locals_beside_callees, (0.6,)),
        (underscores, (0.1, 0.2, 0.3, 0.4)),
        (digits, (0.7, np.array([1.0, -2.0]))),
        (arrays_called_result_and_final, (np.array([1.0, 2.0]), np.array([3.0, 4.0]))),
        (rebound_beside_given, (np.array([1.0, 2.0]), np.array([3.0, 4.0]))),
        (locals_beside_a_tape, (0.7, np.array([1.0, 2.0, 3.0]), 0.3)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_names_of_the_user_s_that_emitted_code_might_have(f, primals):
    agrees(f, *primals)


def test_a_message_keeps_every_word_of_the_user_s():
    @njit
    def fails(x, a):
        a[0] = x
        if a[0] > 0.0:
            raise ValueError("none LOST, KEPT all, tape KEPT_LISTS")
        return a[0]

    with pytest.raises(ValueError, match=r"^none LOST, KEPT all, tape KEPT_LISTS$"):
        dr.grad(fails)(1.0, np.ones(2))


# Every name that emitted code has is given to the user's variables

CALLS = Program(
    """
import math
import numpy as np
from numba import njit

@njit
def walk(a, x, n):
    if n == 0:
        return x
    a[n] = a[n - 1] * x + math.sin(x)
    y = walk(a, a[n] * 0.7, n - 1)
    return y * a[0] + x

@njit
def both(a, b):
    t = (a[0], a * b)
    u, v = t
    return u, v

@njit
def f(a, b, x, n):
    total = 0.0
    p = (x, b)
    for i in range(n):
        u, v = both(a, p[1])
        if u > 0.4:
            b = v
            continue
        total += u * v[i % 3] + walk(a, x, 2)
        while x < 3.0:
            x = x * 1.7 + 0.1
        if total > 40.0:
            break
    return total + np.sum(b) * p[0]
""",
    ("np.array([0.31, 0.7, -0.2])", "np.array([0.5, -0.4, 0.9])", "0.83", "4"),
)


def results(of, folder):
    """Return value and gradient, the final arguments, a directional derivative, and the final arguments of its call."""
    f = load(of.source, folder).f
    primals = arguments(of)
    argnums = tuple(k for k, x in enumerate(primals) if not isinstance(x, (int, np.integer)) or isinstance(x, float))
    argnums = tuple(k for k in argnums if any(isinstance(v, (float, np.floating)) for v in _scalars(primals[k])))
    given = arguments(of)
    both = dr.value_and_grad(f, argnums)(*given)
    moved = arguments(of)
    return both, given, dr.jvp(f, moved, direction(moved)), moved


def _scalars(x):
    if isinstance(x, tuple):
        return [y for part in x for y in _scalars(part)]
    return [x.flat[0]] if isinstance(x, np.ndarray) else [x]


def emitted(of, folder):
    f = load(of.source, folder).f
    primals = arguments(of)
    sources = []
    for transform in ("value_and_grad", "jvp"):
        given = primals if transform == "value_and_grad" else ()
        sources.append(dr.derivative_source(f, *(given or primals), transform=transform))
    return "\n".join(sources)


@pytest.mark.parametrize("seed", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_program_whose_variables_have_the_names_of_emitted_code(tmp_path, seed):
    names = hostile_names(emitted(CALLS, tmp_path))
    other = Program(renamed(CALLS.source, names, seed), CALLS.arguments)
    assert_same(results(other, tmp_path), results(CALLS, tmp_path), rtol=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_whose_variables_have_the_names_of_emitted_code(tmp_path, seed):
    of = program(f"names-{seed}", 10)
    try:
        expected = results(of, tmp_path)
    except (dr.errors.DualrevError, ArithmeticError, numba.core.errors.NumbaError):
        pytest.skip("it says nothing")
    names = hostile_names(emitted(of, tmp_path))
    for k in range(2):
        other = Program(renamed(of.source, names, f"{seed}-{k}"), of.arguments)
        assert_same(results(other, tmp_path), expected, rtol=0.0)


# The allocator


def test_generated_names_differ_from_all_others():
    names = Names()
    made = [names.fresh("d_{}", "x") for _ in range(3)] + [names.temporary(), names.shared("result_0")]
    assert len(set(made)) == 5
    assert names.shared("result_0") == made[-1]
    assert names.user("x") == "x"
    assert names.user("tape") == names.user("tape") != "tape"
    assert names.user(f"a{MARK}3") not in (f"a{MARK}3", "a3", *made)
    assert names.user(f"_{MARK}3").isidentifier()


def test_printed_names_are_the_next_that_are_free():
    names = Names()
    first, second = names.temporary(), names.temporary()
    of_first, of_x = names.fresh("d_{}", first), names.fresh("d_{}", "x")
    versions = [names.fresh("{}_{k}", "x") for _ in range(2)]
    chosen = names.chosen([second, of_first, of_x, *versions], ["_1", "x_1", "d_x"])
    assert chosen == {second: "_2", first: "_3", of_first: "d_3", of_x: "d_x_", versions[0]: "x_2", versions[1]: "x_3"}


def test_words_are_not_looked_for_in_strings_and_attributes():
    assert words_of("raise ValueError('it\\'s a \"word\"', a.shape, x1)") == ["raise", "ValueError", "a", "x1"]
    assert readable(Names().fresh("d_{}", "x")) == "d_x"


def test_no_compiler_file_reads_a_name_s_underscore():
    """A generated name is known by the allocator, never by how it is spelled."""
    folder = Path(dr.__file__).parent / "compiler"
    assert not [f.name for f in folder.glob("**/*.py") if 'startswith("_")' in f.read_text() and f.name != "build.py"]
