"""Wang et al. 2019, section 4: shift and reset that generate code; docs/shift_reset.md has the paper's own examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from stages import count
from stages.programs import PROGRAMS
from stages.relatives import global_tape, tagged_forward
from stages.relatives.continuations import lantern, shift_reset
from stages.relatives.continuations.lantern import FUN, IF, TREE, WHILE
from stages.relatives.staging.staged import REAL, TREE_OF_REALS, StagingError, flatten, stage

TREES = [
    None,
    (None, None, 1.5),
    (((None, None, 0.7), (None, None, -0.4), 1.1), ((None, (None, None, 2.0), 0.3), None, -0.9), 0.5),
]


def slope(f, x, h=1e-5):
    """The derivative by central differences, extrapolated."""
    wide, narrow = ((f(x + step) - f(x - step)) / (2 * step) for step in (h, h / 2))
    return (4 * narrow - wide) / 3


# ---- a program with all of it ----------------------------------------------------------------------------------------


def whole(x, tree):
    """A recursion over a tree, with a branch and a loop in each node."""

    def at(left, right, value):
        y = IF(value > 0.0, lambda: left * value + right, lambda: dm.sin(left) - value * right)
        return WHILE(y, lambda t: t * t > 2.0, lambda t: t * 0.5)

    return TREE(x, tree, at) * x


def in_python(x, tree):
    """The same, as Python."""

    def at(node):
        if node is None:
            return x
        left, right, value = at(node[0]), at(node[1]), node[2]
        y = left * value + right if value > 0.0 else dm.sin(left) - value * right
        while y * y > 2.0:
            y = y * 0.5
        return y

    return at(tree) * x


@pytest.fixture(scope="module")
def program():
    return stage(whole, REAL, TREE_OF_REALS)


def arrays(tree):
    return ([-1], [-1], [0.0]) if tree is None else flatten(tree)


@pytest.mark.parametrize("tree", TREES[1:], ids=["leaf", "tree"])
def test_a_branch_and_a_loop_in_a_recursion_over_a_tree(program, tree):
    for x in (0.8, -1.3):
        y, pullback = shift_reset.vjp(lambda x: in_python(x, tree), x)
        found = program.in_python(x, arrays(tree))
        assert_same(found, (y, pullback(1.0)[0]), rtol=1e-14)
        assert found[1] == pytest.approx(slope(lambda x: in_python(x, tree), x), rel=1e-7)


def test_compiled_it_gives_the_same(program):
    for tree in TREES[1:]:
        assert_same(program(0.8, arrays(tree)), program.in_python(0.8, arrays(tree)), rtol=1e-15)
    assert program.compiled is program.compiled  # compiled once


def test_a_tree_of_any_depth_takes_memory_that_grows(program):
    tree = None
    for _ in range(700):
        tree = (tree, None, 0.9)
    y, dy = program(0.8, flatten(tree))
    expected, pullback = shift_reset.vjp(lambda x: in_python(x, tree), 0.8)
    assert_same((y, dy), (expected, pullback(1.0)[0]), rtol=1e-12)


def test_second_derivatives(program):
    """Forward over reverse: Fig. 4 on generated code; second differences agree."""
    twice = program.tangent()
    for tree in TREES[1:]:
        y, dy, moved, second = twice.in_python(0.8, arrays(tree), 2.0)
        assert (y, dy) == program.in_python(0.8, arrays(tree))
        assert moved == pytest.approx(2.0 * dy, rel=1e-13)
        assert second == pytest.approx(2.0 * slope(lambda x: program.in_python(x, arrays(tree))[1], 0.8), rel=1e-6)  # noqa: B023
    x = 0.6
    quotient = stage(lambda x: dm.exp(x) / (1.0 + x * x), REAL).tangent()
    *_, found = quotient.in_python(x, 1.0)
    q = 1.0 + x * x
    assert found == pytest.approx(math.exp(x) * ((q - 2 * x) ** 2 / q**3 + (2 * x * x - 2) / q**3), rel=1e-12)


def test_second_derivatives_by_reverse_over_reverse(program):
    """Section 3.7, on generated code: differences, and forward over reverse, agree."""
    twice, along = program.cotangent(), program.tangent()
    for tree in TREES[1:]:
        for x in (0.8, -1.3):
            y, dy, found = twice.in_python(x, arrays(tree), 0.0, 2.0)
            assert (y, dy) == program.in_python(x, arrays(tree))
            assert found == pytest.approx(along.in_python(x, arrays(tree), 2.0)[-1], rel=1e-13)
            assert found == pytest.approx(2.0 * slope(lambda x: program.in_python(x, arrays(tree))[1], x), rel=1e-6)  # noqa: B023
            assert twice.in_python(x, arrays(tree), 3.0, 0.0)[-1] == pytest.approx(3.0 * dy, rel=1e-13)


def test_third_derivatives_in_every_order_of_modes(program):
    tree, x = arrays(TREES[2]), 0.8
    along, back = program.tangent(), program.cotangent()
    found = [
        along.tangent().in_python(x, tree, 1.0, 1.0, 0.0)[-1],
        along.cotangent().in_python(x, tree, 1.0, 0.0, 0.0, 0.0, 1.0)[-2],
        back.tangent().in_python(x, tree, 0.0, 1.0, 1.0, 0.0, 0.0)[-1],
        back.cotangent().in_python(x, tree, 0.0, 1.0, 0.0, 0.0, 1.0)[-3],
    ]
    assert found == pytest.approx([slope(lambda x: along.in_python(x, tree, 1.0)[-1], x)] * 4, rel=1e-6)
    assert found == pytest.approx([found[0]] * 4, rel=1e-12)


def test_straight_line_code_differentiated_twice_is_straight_line_code():
    assert (
        stage(lambda x: x * x, REAL).cotangent().paper
        == """\
def snippet(x0, ct0, ct1) = {
    d0 = ref 0
    d1 = ref 0
    d2 = ref 0
    v0 = x0 * x0
    d3 = ref 0
    v1 = x0 + x0
    d4 = ref 0
    d1 += v0
    d2 += v1
    d3 += ct0
    d4 += ct1
    d0 += ! d4
    d0 += ! d4
    d0 += x0 * ! d3
    d0 += x0 * ! d3
    ! d1, ! d2, ! d0
}
"""
    )


def test_choices_in_partial_derivatives_are_staged_too():
    """tanh has one, which `tangent` refuses; pow, logaddexp and abs have."""
    for f, g in (
        (dm.tanh, math.tanh),
        (lambda x: x**3.0, lambda x: x**3.0),
        (lambda x: dm.logaddexp(x, 1.0), lambda x: math.log(math.exp(x) + math.e)),
        (lambda x: abs(x) * x, lambda x: abs(x) * x),
    ):
        twice = stage(f, REAL).cotangent()
        for x in (0.4, 2.0):
            y, dy, found = twice.in_python(x, 0.0, 1.0)
            assert (y, dy) == pytest.approx((g(x), slope(g, x)), rel=1e-7)
            assert found == pytest.approx(slope(lambda x: slope(g, x, 1e-3), x, 1e-3), rel=1e-4)  # noqa: B023
    with pytest.raises(StagingError, match=r"the derivative of mod is -\(a // b\), and has no derivative that is"):
        stage(lambda x: x % 0.7 + 0.7 % x, REAL).cotangent()


# ---- derivatives inside of programs ----------------------------------------------------------------------------------


def grad(f, by=lantern):
    return lambda x: by.vjp(f, x)[1](1.0)[0]


def inner(x, y, choose, repeat):
    """A branch and a loop on y, with x from the outer function."""
    t = choose(y > 0.5, lambda: x * y * y, lambda: dm.tanh(y * x))
    return repeat(t, lambda t: t > 2.0, lambda t: t * t * 0.1)


def now(c, yes, no):
    return yes() if c else no()


def repeated(t, c, step):
    while c(t):
        t = step(t)
    return t


def test_derivatives_nest_in_a_program_that_is_staged():
    """grad in grad, with a branch and a loop in the inner function, which has captured the outer number."""
    program = stage(lambda x: grad(lambda y: inner(x, y, IF, WHILE))(x) * x, REAL)

    def plain(x):
        return grad(lambda y: inner(x, y, now, repeated), shift_reset)(x) * x

    for x in (0.3, 0.9, 1.7):
        assert_same(program.in_python(x), (plain(x), grad(plain, shift_reset)(x)), rtol=1e-13)
        assert program.in_python(x)[1] == pytest.approx(slope(plain, x), rel=1e-6)


def test_a_derivative_nests_over_a_recursion_over_a_tree():
    def f(x, tree):
        return grad(lambda y: TREE(x * y, tree, lambda left, right, value: left * right * value))(x * 2.0)

    def plain(x):
        def at(node, y):
            return x * y if node is None else at(node[0], y) * at(node[1], y) * node[2]

        return grad(lambda y: at(TREES[2], y), shift_reset)(x * 2.0)

    program, tree = stage(f, REAL, TREE_OF_REALS), flatten(TREES[2])
    expected = plain(0.7), grad(plain, shift_reset)(0.7)
    assert_same(program.in_python(0.7, tree), expected, rtol=1e-13)


def test_derivatives_within_control_flow_and_over_nodes_that_are_captured_or_arguments():
    tree = flatten(((None, None, 3.0), None, 5.0))

    def product(left, right, value):
        return left * right * value

    def branch(x, tree):  # the pullback is called in a branch; of the left child, 3 (x y)^2 at y = x
        y, pullback = lantern.vjp(lambda y: TREE(x * y, tree.left, product), x)
        return IF(x > 0.0, lambda: pullback(x)[0], lambda: y)

    program = stage(branch, REAL, TREE_OF_REALS)
    assert program.in_python(0.5, tree) == (6.0 * 0.5**4, 24.0 * 0.5**3)
    assert program.in_python(-0.5, tree) == (3.0 * 0.5**4, -12.0 * 0.5**3)
    program = stage(
        lambda x, tree: lantern.vjp(lambda y, t: TREE(y, t, product), x, tree)[1](1.0)[0], REAL, TREE_OF_REALS
    )
    assert program.in_python(0.5, tree) == (45.0 * 0.5**2, 90.0 * 0.5)
    cube = grad(lambda y: y * y * y)
    program = stage(lambda x: WHILE(x, lambda t: t < 10.0, cube), REAL)
    found = program.in_python(0.5)
    assert found == (repeated(0.5, lambda t: t < 10.0, cube), pytest.approx(2**4 * found[0] / 0.5))


def test_what_is_differentiated_twice_is_compiled():
    """A loop that is differentiated twice is compiled, with its values in boxes, and equals Python's."""
    twice = stage(lambda x: WHILE(x, lambda t: t > 1.0, lambda t: t * t * 0.1), REAL).cotangent()
    for x in (9.0, 0.5):
        assert_same(twice(x, 0.5, 2.0), twice.in_python(x, 0.5, 2.0), rtol=1e-15)
    y = 9.0**32 / 1e31
    assert twice(9.0, 0.0, 1.0) == pytest.approx((y, 32.0 * y / 9.0, 32.0 * 31.0 * y / 81.0), rel=1e-13)


def test_nested_three_times_and_only_where_a_branch_goes():
    g = grad(grad(grad(lambda x: dm.exp(2.0 * x))))
    assert stage(g, REAL).in_python(0.5) == pytest.approx((8.0 * math.e, 16.0 * math.e), rel=1e-14)

    def roots(x):  # sqrt of a negative number, in a branch that is not taken, is not computed
        return grad(lambda y: IF(y > 0.0, lambda: y * y, lambda: dm.sqrt(x) * y))(1.0) + x

    assert stage(roots, REAL).in_python(-1.0) == (1.0, 1.0)


@pytest.mark.parametrize("other", [shift_reset, tagged_forward, global_tape, dr], ids=lambda m: m.__name__)
def test_other_algorithms_nest_in_generated_code_and_refuse_it_around_what_it_cannot_name(other):
    assert grad(grad(lambda x: 2.0 * x + x * x * x, other))(3.0) == 18.0
    assert grad(grad(lambda x: 2.0 * x + x * x * x), other)(3.0) == 18.0
    assert grad(lambda x: x * grad(lambda y: x * y * y, other)(2.0))(3.0) == 24.0
    with pytest.raises(StagingError, match=r"outer derivative by another algorithm have to be arguments"):
        grad(lambda x: x * grad(lambda y: x * y * y)(2.0), other)(3.0)
    with pytest.raises(StagingError, match=r"a derivative by another algorithm.* an argument"):
        grad(lambda x: x * grad(lambda y: y * x * y)(2.0), other)(3.0)
    y, pullback = other.vjp(lambda x: x * lantern.vjp(lambda y, x: y * x * y, 2.0, x)[1](1.0)[0], 3.0)
    assert (y, pullback(1.0)) == (36.0, (24.0,))  # the cure


# ---- operators -------------------------------------------------------------------------------------------------------


def test_a_branch_writes_what_follows_once():
    def chain(n):
        def f(x):
            for _ in range(n):
                x = IF(x > 1.0, lambda: x * 0.5, lambda: x * 1.5)  # noqa: B023
            return x

        return stage(f, REAL).python

    lines = [len(chain(n).splitlines()) for n in (2, 4, 8)]
    assert lines[2] - lines[1] == 2 * (lines[1] - lines[0])  # not twice as many for each branch
    y, pullback = lantern.vjp(lambda x: IF(x > 1.0, lambda: x * x, lambda: 3.0 * x) + x, 2.0)
    assert (y, pullback(1.0)) == (6.0, (5.0,))


def test_loops_over_tuples_and_functions_with_results_that_are_constants():
    power = stage(lambda x: WHILE((x, x * 0.0), lambda t: t[1] < 2.5, lambda t: (t[0] * x, t[1] + 1.0))[0], REAL)
    assert power.in_python(2.0) == (16.0, 32.0)

    def f(x):
        double = FUN(x, lambda self, t: IF(t > 10.0, lambda: 7.0, lambda: self(t * 2.0) + t))
        return double(x) * 1.0

    assert stage(f, REAL).in_python(3.0) == (7.0 + 6.0 + 3.0, 3.0)  # 3 + 6 + 7, where 7 is a constant


def test_gradients_of_ordinary_programs_and_what_is_counted():
    program = PROGRAMS["dot"]
    primals = program.make(5, 0)
    y, pullback = lantern.vjp(program.function, *primals)
    expected, again = shift_reset.vjp(program.function, *primals)
    assert_same(y, expected)
    assert_same(pullback(y), again(y), rtol=1e-14)
    doublings = PROGRAMS["doublings"]
    assert count("lantern", doublings.function, *doublings.make(10, 0)).created == 11


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x if x > 0.0 else -x, r"a condition on numbers at .*test_relatives_lantern.py:\d+.* write IF\("),
        (lambda x: max(x, 1.0), r"WHILE\(x, condition, body\) for a loop"),
        (lambda x: [1.0, 2.0][int(x)] * x, r"the value of a number at .* make what depends on it an argument"),
        (lambda x: math.sin(x), "the value of a number at .* take shift_reset"),
        (
            lambda x: IF(True, lambda: x, lambda: x),
            "take a comparison of generated numbers.* can be decided by Python's",
        ),
        (lambda x: WHILE(1.0, lambda t: t < x, lambda t: t * 2.0), "start from a number of the program"),
    ],
)
def test_what_depends_on_numbers_in_python_is_refused_with_place_and_cure(f, said):
    with pytest.raises(StagingError, match=said):
        lantern.vjp(f, 2.0)


def test_other_refusals(program):
    with pytest.raises(StagingError, match=r"has to return a number, not .*: return a sum, for example"):
        stage(lambda x: (x, x), REAL)
    with pytest.raises(StagingError, match="REAL or TREE_OF_REALS, and not 'array'"):
        stage(lambda x: x, "array")
    with pytest.raises(StagingError, match=r"derivative of tanh is a choice.* take cotangent\(\)"):
        stage(dm.tanh, REAL).tangent()
    with pytest.raises(StagingError, match="numba compiles no logaddexp: run the code in Python"):
        stage(lambda x: dm.logaddexp(x, 1.0), REAL)(1.0)
    with pytest.raises(StagingError, match="another program that is being generated: stage one after the other"):
        stage(lambda x: stage(lambda y: x * y, REAL).in_python(1.0)[0] * x, REAL)
    with pytest.raises(StagingError, match=r"a function of another program .* make its own FUN there"):
        stage(lambda x: (lambda f: grad(lambda y: f(y) * x)(x))(FUN(x, lambda f, t: t * t)), REAL)
    kept = []
    lantern.vjp(lambda x: kept.append(x) or x * x, 2.0)
    with pytest.raises(StagingError, match="used after its program had been generated"):
        kept[0] * 2.0
    tree = None
    for _ in range(8000):
        tree = (tree, None, 1.0)
    with pytest.raises(RecursionError, match=r"8,000 calls of generated code wait .* Take dualrev.value_and_grad"):
        program(1.0, flatten(tree))
    with pytest.raises(RecursionError, match=r"wait for the reverse pass\. Compile it"):
        lantern.vjp(lambda x: WHILE(x, lambda t: t < 1e300, lambda t: t * 1.01), 1.0)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (([1, -1], [-1, -1], [1.0]), "three arrays of one length"),
        (([2, -1], [-1, -1], [1.0, 2.0]), "node 0 has the child 2: children are later nodes, up to 1"),
        (([0], [-1], [1.0]), "node 0 has the child 0"),
        (([], [], []), "at least 1"),
    ],
)
def test_a_tree_that_is_none_is_an_error(program, tree, said):
    with pytest.raises(ValueError, match=said):
        program.in_python(1.0, tree)


def test_wrong_numbers_of_arguments(program):
    with pytest.raises(TypeError, match="takes 2 arguments, and got 1"):
        program(1.0)


def test_flatten():
    left, right, value = flatten(TREES[2])
    assert value.tolist() == [0.5, 1.1, 0.7, -0.4, -0.9, 0.3, 2.0]
    assert left.tolist() == [1, 2, -1, -1, 5, -1, -1]
    assert right.tolist() == [4, 3, -1, -1, -1, 6, -1]
    assert all(isinstance(a, np.ndarray) for a in (left, right, value))
