r"""Fig. 8's Deinterleave as it is printed, beside that of section 4, which stages the calls of the output.

Deinterleave_R (x, (i, d)) = (x, d)                          Fig. 8
Deinterleave_R (x, u)      = (x, \_(z : R). SCall u z)       section 4, stages/calculus/transformations/d2.py
"""

import pytest

from stages.calculus import Machine, check, parse_program
from stages.calculus.language import terms as t
from stages.calculus.language.sugar import let
from stages.calculus.transformations.d2 import D2


class AsPrinted(D2):
    """D2 with Fig. 8's Deinterleave."""

    def output(self, x):
        """let (x, u) = x in (x, snd(u))"""
        v, u = self.fresh("x"), self.fresh("u")
        return let((v, u), x, t.Tuple(t.Var(v), t.Snd(t.Var(u))))


def run(transformation, text, x, ct):
    """The value, the cotangent, and how often backpropagators of operations are called."""
    program = transformation.wrap(parse_program(text))
    check(program, "D2")
    calls = []
    machine = Machine(program, called=lambda f, _: calls.append(f.made_by))
    y, pullback = machine.apply(machine.value(), x)
    return y, machine.apply(pullback, ct), calls.count("D[op]")


@pytest.mark.parametrize(
    ("text", "x", "ct", "printed", "staged"),
    [
        (r"\(x : R). sin(x) * x", 0.7, 2.0, 2, 2),
        (r"\(x : R). let y = sin(x) in (y, y)", 0.7, (2.0, 3.0), 2, 1),  # an output that occurs twice is called twice
        (r"\(x : R). let y = x * x in (y, sin(y))", 0.7, (2.0, 3.0), 3, 2),  # the output is needed for another one, too
        (r"\(x : (R, R)). (snd(x), fst(x))", (0.7, 1.1), (2.0, 3.0), 0, 0),
    ],
)
def test_both_give_the_cotangent_and_only_staged_calls_are_made_once(text, x, ct, printed, staged):
    y, found, calls = run(AsPrinted, text, x, ct)
    assert calls == printed
    same, expected, fewer = run(D2, text, x, ct)
    assert fewer == staged
    assert y == same
    assert found == pytest.approx(expected, rel=1e-15) if isinstance(found, float) else found == expected
