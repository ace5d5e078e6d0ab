"""Section 9's extensions of the source language, by every transformation: values, and gradients by differences.

Mutually recursive functions, sums, and the paper's pair of recursive polymorphic types; inputs without scalars.
"""

import pytest

from stages.calculus import TRANSFORMATIONS, Machine, check, parse_program
from stages.calculus.language.values import Made

REVERSE = [name for name in TRANSFORMATIONS if name != "forward"]

EVEN_ODD = r"""
letrec even : (R, Int) -> R = \(x : R, n : Int). if n <# 1 then x else odd (x * x, n -# 1)
and odd : (R, Int) -> R = \(x : R, n : Int). if n <# 1 then sin(x) else even (3.0 * x, n -# 1)
in \(x : R). even (x, 3)
"""
SUM = r"\(s : R + (R, R)). case s of {inl(x) -> x * x; inr(p) -> fst(p) * snd(p) + sin(fst(p))}"
T1_T2 = r"""
data T1 a = C1 a (T2 a) | C2 R;
data T2 a = C3 Int (T1 a) (T2 a) | C4 a;
letrec first : T1 R -> R = \(t : T1 R). case t of {C1(x, u) -> x * second u; C2(x) -> sin(x)}
and second : T2 R -> R = \(u : T2 R). case u of {C3(n, t, v) -> real(n) * first t + second v; C4(x) -> x * x}
in \(t : T1 R). first t
"""


def tree(a, b, c):
    return Made("C1", (a, Made("C3", (2, Made("C2", (b,)), Made("C4", (c,))))))


#: The program, its argument made of scalars, the scalars of a value of this type, and a point.
CASES = {
    "mutual recursion": (EVEN_ODD, lambda x: x, lambda z: [z], (0.4,)),
    "inl": (SUM, lambda x: Made("inl", (x,)), lambda z: list(z.fields), (0.7,)),
    "inr": (SUM, lambda x, y: Made("inr", ((x, y),)), lambda z: list(z.fields[0]), (0.7, -1.2)),
    "T1 and T2": (
        T1_T2,
        tree,
        lambda z: [z.fields[0], z.fields[1].fields[1].fields[0], z.fields[1].fields[2].fields[0]],
        (0.7, 0.3, -1.1),
    ),
}


@pytest.mark.parametrize("name", REVERSE)
@pytest.mark.parametrize(("text", "made", "scalars", "point"), CASES.values(), ids=CASES)
def test_the_gradient_is_that_of_differences(text, made, scalars, point, name):
    program = parse_program(text)
    plain = Machine(program)
    f = plain.value()
    derivative = TRANSFORMATIONS[name].wrap(program)
    check(derivative, TRANSFORMATIONS[name].language)
    machine = Machine(derivative)
    y, back = machine.apply(machine.value(), made(*point))
    assert y == plain.apply(f, made(*point))
    h, expected = 1e-6, []
    for k in range(len(point)):
        up, down = (plain.apply(f, made(*(x + d * (j == k) for j, x in enumerate(point)))) for d in (h, -h))
        expected.append((up - down) / (2 * h))
    assert scalars(machine.apply(back, 1.0)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", REVERSE)
def test_an_input_without_scalars(name):
    program = parse_program(r"\(n : Int). real(n) * 2.0")
    derivative = TRANSFORMATIONS[name].wrap(program)
    check(derivative, TRANSFORMATIONS[name].language)
    machine = Machine(derivative)
    y, back = machine.apply(machine.value(), 3)
    assert y == 6.0
    assert machine.apply(back, 1.0) in (0, 3)  # the cotangent of an Int means nothing
