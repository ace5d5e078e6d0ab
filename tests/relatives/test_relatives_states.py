"""Pearlmutter and Siskind 2008, section 2, Figs. 1 to 4, and Fig. 5: machine states, with all cases of L, R and S."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, direction

from stages import STAGES, count
from stages.programs import PROGRAMS
from stages.relatives.states import fanout, modes, recording, straight_line
from stages.relatives.states import transitions as fig
from stages.relatives.states.transitions import Assignment, Constant
from stages.relatives.vlad import evaluate, show

X = [0.7, 1.3, -0.4, 2.1]
CT = [1.5, -0.5, 0.25, 3.0]
DX = [-1.0, 0.5, 2.0, 0.75]
UNARY = [Assignment(L, "sin", (R,)) for L, R in itertools.product(range(3), repeat=2)]
BINARY = [Assignment(L, "mul", (R, S)) for L, R, S in itertools.product(range(3), repeat=3)]
EVERY_CASE = pytest.mark.parametrize("a", [*UNARY, *BINARY], ids=lambda a: f"L{a.target}<-{a.operands}")

# ---- the paper's formulas, case by case ------------------------------------------------------------------------------


def partials(a):
    """u' = D u x[R]; or b1' and b2'."""
    if a.op == "sin":
        return (math.cos(X[a.operands[0]]),)
    return X[a.operands[1]], X[a.operands[0]]


def papers_jacobian(a, j, k):
    L, R, *rest = a.target, *a.operands  # noqa: N806 - the paper's letters
    if not rest:
        (u,) = partials(a)
        if j == L and k == R:
            return u
        return 1.0 if j != L and j == k else 0.0
    (S,), (b1, b2) = rest, partials(a)  # noqa: N806
    if j == L and k == R and R != S:
        return b1
    if j == L and k == S and R != S:
        return b2
    if j == L and k == R == S:
        return b1 + b2
    return 1.0 if j != L and j == k else 0.0


def papers_forward(a, j):
    L, R, *rest = a.target, *a.operands  # noqa: N806
    if j != L:
        return DX[j]
    if not rest:
        return partials(a)[0] * DX[R]
    return partials(a)[0] * DX[R] + partials(a)[1] * DX[rest[0]]


def papers_reverse(a, k):
    """The four cases of a unary, and the eight cases of a binary function, as they are printed."""
    L, R, *rest = a.target, *a.operands  # noqa: N806
    if not rest:
        (u,) = partials(a)
        if k == R and R != L:
            return CT[k] + u * CT[L]
        if k == R == L:
            return u * CT[k]
        return 0.0 if k not in (R,) and k == L else CT[k]
    (S,), (b1, b2) = rest, partials(a)  # noqa: N806
    if k == R and R not in (S, L):
        return CT[k] + b1 * CT[L]
    if k == S and R != S and S != L:
        return CT[k] + b2 * CT[L]
    if k == R == L and R != S:
        return b1 * CT[k]
    if k == S == L and R != S:
        return b2 * CT[k]
    if k == R == S and k != L:
        return CT[k] + (b1 + b2) * CT[L]
    if k == R == S == L:
        return (b1 + b2) * CT[k]
    return 0.0 if k not in (R, S) and k == L else CT[k]


@EVERY_CASE
def test_fig_1_one_element_changes(a):
    xs = [X[i] for i in a.operands]
    expected = math.sin(xs[0]) if a.op == "sin" else xs[0] * xs[1]
    assert fig.step(a, X) == [expected if j == a.target else x for j, x in enumerate(X)]


@EVERY_CASE
def test_fig_2_the_jacobian_differs_from_the_identity_in_one_row(a):
    assert fig.jacobian(a, X) == [[papers_jacobian(a, j, k) for k in range(4)] for j in range(4)]


@EVERY_CASE
def test_fig_3_forward_mode(a):
    found = fig.forward(a, X, DX)
    assert found == pytest.approx([papers_forward(a, j) for j in range(4)], rel=1e-15)
    assert found == pytest.approx(np.array(fig.jacobian(a, X)) @ DX, rel=1e-14)


@EVERY_CASE
def test_fig_4_reverse_mode_accumulates_and_zeroes(a):
    found = fig.reverse(a, X, CT)
    assert found == pytest.approx([papers_reverse(a, k) for k in range(4)], rel=1e-15)
    assert found == pytest.approx(np.array(fig.jacobian(a, X)).T @ CT, rel=1e-14)


@pytest.mark.parametrize(
    ("a", "expected"),
    [
        (Assignment(0, "mul", (1, 2)), [0.0, 24.0, 20.0]),  # distinct: L is zeroed
        (Assignment(0, "mul", (0, 1)), [15.0, 14.0, 5.0]),  # L = R
        (Assignment(0, "mul", (1, 1)), [0.0, 34.0, 5.0]),  # R = S
        (Assignment(0, "mul", (0, 0)), [20.0, 4.0, 5.0]),  # L = R = S
    ],
)
def test_the_cases_by_hand(a, expected):
    """x = (2, 3, 4), ct = (5, 4, 5): without zeroing, x[0], which was overwritten, would keep its 5."""
    x = [2.0, 3.0, 4.0]
    assert fig.reverse(a, x, [5.0, 4.0, 5.0]) == expected


# ---- programs --------------------------------------------------------------------------------------------------------


def random_program(seed, length=12, size=4):
    """Assignments with any indices, also equal ones, and constants."""
    rng = random.Random(seed)
    program = []
    for _ in range(length):
        operand = lambda: Constant(rng.uniform(0.5, 1.5)) if rng.random() < 0.1 else rng.randrange(size)  # noqa: E731
        op, count = rng.choice([("sin", 1), ("cos", 1), ("atan", 1), ("mul", 2), ("add", 2), ("sub", 2)])
        program.append(Assignment(rng.randrange(size), op, tuple(operand() for _ in range(count))))
    return program


def differences(program, x):
    """The Jacobian of the program by central differences."""
    h = 1e-6
    columns = []
    for k in range(len(x)):
        ends = [modes.states(program, [v + s * h * (i == k) for i, v in enumerate(x)])[-1] for s in (1.0, -1.0)]
        columns.append([(p - q) / (2 * h) for p, q in zip(*ends, strict=True)])
    return np.array(columns).T


SEEDS = pytest.mark.parametrize("seed", range(8))


@SEEDS
def test_the_chain_of_jacobians_in_both_orders(seed):
    program = random_program(seed)
    found = np.array(modes.forward_jacobian(program, X))
    np.testing.assert_allclose(found, differences(program, X), atol=1e-7)
    np.testing.assert_allclose(found, np.array(modes.reverse_jacobian(program, X)).T, rtol=1e-12, atol=1e-14)


@SEEDS
def test_forward_and_reverse_mode_are_products_with_the_jacobian(seed):
    """A row by a basis vector, a column by another; and the value is the program's."""
    program = random_program(seed)
    jacobian = np.array(modes.forward_jacobian(program, X))
    y, dy = modes.forward_mode(program, X, DX)
    same, back = modes.reverse_mode(program, X, CT)
    assert y == same == modes.states(program, X)[-1]
    np.testing.assert_allclose(dy, jacobian @ DX, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(back, jacobian.T @ CT, rtol=1e-12, atol=1e-14)
    unit = [0.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(modes.forward_mode(program, X, unit)[1], jacobian[:, 1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(modes.reverse_mode(program, X, unit)[1], jacobian[1], rtol=1e-12, atol=1e-14)


@SEEDS
def test_a_backpropagator_for_the_whole_state_and_one_by_side_effects(seed):
    """Both local transformations, also where indices are equal, which the paper leaves to the reader."""
    program = random_program(seed)
    y, expected = modes.reverse_mode(program, X, CT)
    found, back = modes.local(program, X)
    assert (found, back(CT)) == (y, expected)
    assert back(CT) == expected  # it may be called again
    x, ct = list(X), list(CT)
    begin = modes.side_effects(program, x)
    begin(ct)
    assert (x, ct) == (y, expected)
    again = list(CT)
    begin(again)
    assert again == expected


@SEEDS
def test_straight_line_code_needs_no_tape(seed):
    """The reverse phase is put after the program, and the result is a program: it can be differentiated again."""
    program = random_program(seed, 6)
    made = straight_line.postpended(program, 4)
    y, back = made.run(X, CT)
    expected_y, expected = modes.reverse_mode(program, X, CT)
    assert y == expected_y
    np.testing.assert_allclose(back, expected, rtol=1e-12, atol=1e-14)

    def gradient(x):
        return np.array(modes.reverse_mode(program, list(x), CT)[1])

    h = 1e-6
    hessian = np.array([(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(4)])
    # forward over reverse: forward mode on the program with its reverse phase
    state = made.start(X, CT)
    tangent = [*DX, *[0.0] * (made.size - 4)]
    _, after = modes.forward_mode(made.program, state, tangent)
    np.testing.assert_allclose([after[i] for i in made.sensitivities], hessian @ DX, atol=1e-6)
    # reverse over reverse: another reverse phase after it
    twice = straight_line.postpended(made.program, made.size)
    given = [0.0] * made.size
    for i, v in zip(made.sensitivities, DX, strict=True):
        given[i] = v
    _, found = twice.run(state, given)
    np.testing.assert_allclose(found[:4], hessian @ DX, atol=1e-6)


def test_a_program_with_its_reverse_phase_as_text():
    """x[0] := x[0] x[1]: L is an operand, so its sensitivity is taken out and zeroed before it accumulates."""
    made = straight_line.postpended([Assignment(0, "mul", (0, 1))], 2)
    assert straight_line.text(made.program).splitlines() == [
        "x4 := mul(x0, x1)",
        "x5 := mul(x2, 1.0)",
        "x2 := mul(0.0, 1.0)",
        "x6 := mul(x1, x5)",
        "x2 := add(x2, x6)",
        "x7 := mul(x0, x5)",
        "x3 := add(x3, x7)",
    ]
    assert made.run([3.0, 2.0], [1.0, 10.0]) == ([6.0, 2.0], [2.0, 13.0])


def test_a_partial_derivative_with_a_branch_is_refused():
    with pytest.raises(
        ValueError, match="maximum: a partial derivative has a branch, which straight-line code has not"
    ):
        straight_line.postpended([Assignment(0, "maximum", (0, 1))], 2)


def test_zeroing_is_needed():
    """Without it, a sensitivity of an overwritten element reaches operations before the assignment."""
    program = [Assignment(1, "sin", (0,)), Assignment(1, "cos", (2,))]  # the first result is overwritten
    x, ct = [0.7, 0.0, 0.3], [0.0, 1.0, 0.0]
    assert modes.reverse_mode(program, x, ct)[1] == [0.0, 0.0, -math.sin(0.3)]
    wrong = list(ct)
    for a, before in zip(reversed(program), reversed(modes.states(program, x)[:-1]), strict=True):
        for i, p in fig.partials(a, before):
            wrong[i] += p * wrong[a.target]
    assert wrong[0] == math.cos(0.7)  # not 0


# ---- Python functions ------------------------------------------------------------------------------------------------

SIZES = dict.fromkeys(PROGRAMS, 4) | {"neural": 2, "particles": 2, "newton": 2}
TAKEN = {name: program for name, program in PROGRAMS.items() if name != "section4"}  # which has its own primitives


def small(program):
    primals = program.make(SIZES[program.name], 0)
    return (*primals[:-1], 3) if program.name == "particles" else primals


@pytest.mark.parametrize("program", TAKEN.values(), ids=TAKEN)
def test_every_program_has_the_value_and_the_gradient_of_the_tape_by_machine_states(program):
    primals = small(program)
    y, pullback = recording.vjp(program.function, *primals)
    expected_y, expected = STAGES["tape"].vjp(program.function, *primals)
    assert_same(y, expected_y, rtol=0.0, floor=0.0)
    ct = direction(y, seed=1)
    assert_same(pullback(ct), expected(ct), rtol=1e-11, floor=1e-12)


def test_differences_to_order_2():
    def f(x, y):
        for _ in range(3):
            x, y = x * y + 0.5, y - x * 0.25
        return x * y, y

    check_vjp(recording.vjp, f, 0.7, 1.2)
    check_order_2(recording.vjp, f, 0.7, 1.2)


def test_elements_are_used_again_as_registers_are():
    """So all cases of equal indices occur, and a chain of any length needs few elements."""
    found = set()
    for program in TAKEN.values():
        made = recording.recorded(program.function, *small(program))
        for target, _, operands in made.program:
            found.add((target in operands, len(set(operands)) < len(operands)))
    assert found == {(False, False), (True, False), (False, True), (True, True)}

    def chain(x):
        for _ in range(1000):
            x = x * 1.001 + x
        return x

    assert len(recording.recorded(chain, 1.0).state) == 2


def test_inputs_unused_and_results_that_are_constants_or_inputs():
    y, pullback = recording.vjp(lambda x, y, z: (2.0, x, x * 3.0, x, [1]), 5.0, 6.0, 7.0)
    assert y == (2.0, 5.0, 15.0, 5.0, [1])
    assert pullback((1.0, 1.0, 10.0, 100.0, [None])) == (131.0, 0.0, 0.0)


def test_a_primitive_of_the_users_is_refused():
    with pytest.raises(ValueError, match="is known by its value and derivatives only"):
        recording.vjp(PROGRAMS["section4"].function, 1.0)


# ---- Fig. 5 ----------------------------------------------------------------------------------------------------------

FIG_5 = [  # x1 = f1 x0; x2 = f2 x1; x3 = f3 x1; b (x2, x3)
    Assignment(1, "sin", (0,)),
    Assignment(2, "exp", (1,)),
    Assignment(3, "cos", (1,)),
    Assignment(4, "mul", (2, 3)),
]


def test_fig_5_the_adjoint_graph_exchanges_additions_and_fanouts():
    graph = fanout.linearized(FIG_5, [0.7, 0.0, 0.0, 0.0, 0.0], [4])
    assert [name for name, kind in graph.nodes.items() if kind == "fanout"] == ["y1.uses"]
    back = fanout.adjoint(graph)
    assert back.nodes["y1.uses"] == "sum"
    assert back.nodes["y4"] == "fanout"
    assert {(e.source, e.target) for e in back.edges} == {(e.target, e.source) for e in graph.edges}
    assert fanout.adjoint(back) == graph
    into = [e for e in back.edges if e.target == "y1.uses"]
    assert {e.source for e in into} == {"y2", "y3"}  # ct1.2 + ct1.3
    assert len([e for e in back.edges if e.source == "y1"]) == 1  # f1's backpropagator is used once
    found = fanout.run(back, {"out1": 1.0})["x0"]
    assert found == pytest.approx(modes.reverse_mode(FIG_5, [0.7, 0, 0, 0, 0], [0, 0, 0, 0, 1.0])[1][0], rel=1e-14)


@SEEDS
def test_graphs_compute_products_with_the_jacobian_and_its_transpose(seed):
    program = random_program(seed)
    graph = fanout.linearized(program, X, range(4))
    dy = fanout.run(graph, {f"x{k}": v for k, v in enumerate(DX)})
    np.testing.assert_allclose([*dy.values()], modes.forward_mode(program, X, DX)[1], rtol=1e-12, atol=1e-14)
    back = fanout.run(fanout.adjoint(graph), {f"out{k + 1}": z for k, z in enumerate(CT)})
    expected = modes.reverse_mode(program, X, CT)[1]
    np.testing.assert_allclose([back[f"x{k}"] for k in range(4)], expected, rtol=1e-12, atol=1e-14)


def test_fig_5_in_vlad_the_backpropagator_of_f1_is_called_once():
    """f1 x = x^2 at 3, f2 x1 = 2 x1, f3 x1 = 5 x1, b = +: ct1 = 2 + 5, and f1's backpropagator makes 6 * 7 of it."""
    text = """((cdr ((J (lambda (x0) (let ((x1 (f1 x0))) (+ (f2 x1) (f3 x1))))) (J 3))) 1)"""
    for name, body in {"f1": "(* x x)", "f2": "(* 2 x)", "f3": "(* 5 x)"}.items():
        text = text.replace(f"({name} ", f"((lambda (x) {body}) ")
    assert show(evaluate(text)).endswith(" 42)")

    def f(x0):
        x1 = x0 * x0
        return 2.0 * x1 + 5.0 * x1

    in_vlad, by_naive = count("vlad", f, 3.0), count("naive", f, 3.0)
    assert in_vlad.calls == in_vlad.created  # each once, f1's too
    assert by_naive.calls == 1 + 2 * (1 + 1 + 1 + 2)  # b's; f2's or f3's, its constant's, f1's, and x0's twice
