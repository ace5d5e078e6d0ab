r"""The complexity criterion of section 4.1, measured.

    there is a c > 0 such that for all programs P : s -> t, x : s, dy : t:
    cost (snd (Wrap[P] x) dy) <= c (cost (P x) + size x)

Costs are the evaluator's steps, size x the number of constructors and scalars of x. `measure` gives both sides. D1, D2
and D3 break the criterion, each on the family that shows its problem; the sparse version meets it up to a logarithm;
D4 and the versions of section 8 meet it. `kept` measures space: the words that the forward pass keeps (space.py).

    doublings   x1 = x0 + x0, .., xn = x(n-1) + x(n-1): every backpropagator is called twice (Fig. 2): D1
    wide        n scalars in a balanced tree of pairs: 0 and + of whole cotangents (section 4.1, A): D1, D2
    deep        n scalars in a list: scalars far from the root (section 5.2): D1, D2, D3
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.calculus.evaluate import Machine
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.sugar import let
from stages.calculus.language.types import Type
from stages.calculus.language.values import Made
from stages.calculus.space import reachable
from stages.calculus.text.parser import parse_program
from stages.calculus.transformations.transform import Transformation

__all__ = ["FAMILIES", "Family", "Measured", "kept", "measure", "size"]


@dataclass(frozen=True, slots=True)
class Measured:
    """Both sides of the criterion: cost (snd (Wrap[P] x) dy), cost (P x) and size x."""

    gradient: int
    primal: int
    size: int

    @property
    def ratio(self) -> float:
        """cost (snd (Wrap[P] x) dy) / (cost (P x) + size x)"""
        return self.gradient / (self.primal + self.size)


def measure(D: type[Transformation], program: Program, x: Any, dy: Any, limit: float = float("inf")) -> Measured:  # noqa: N803
    """Evaluate P x and snd (Wrap[P] x) dy. StepLimit after `limit` steps of the latter."""
    source = Machine(program)
    source.apply(source.value(), x)
    derivative = Machine(D.wrap(program), limit)
    _, pullback = derivative.apply(derivative.value(), x)
    derivative.apply(pullback, dy)
    return Measured(derivative.steps, source.steps, size(x))


def kept(D: type[Transformation], program: Program, x: Any) -> int:  # noqa: N803
    """The words that Wrap[P] x keeps for the pullback."""
    derivative = Machine(D.wrap(program))
    _, pullback = derivative.apply(derivative.value(), x)
    return reachable(pullback)


def size(x: Any) -> int:
    """The number of scalars, units, pairs and constructors in a value: the time to read it."""
    count, todo = 0, [x]
    while todo:
        v = todo.pop()
        count += 1
        todo.extend(v.fields if isinstance(v, Made) else v if isinstance(v, tuple) else ())
    return count


@dataclass(frozen=True, slots=True)
class Family:
    """Programs of growing size; `broken` names the transformations whose ratio grows without bound on them."""

    name: str
    about: str
    make: Callable[[int], tuple[Program, Any]]  # n -> P, x
    broken: frozenset[str]


def doublings(n: int) -> tuple[Program, Any]:
    """A chain of n doublings: each adds a number to itself."""
    text = r"letrec f : (Int, R) -> R = \(n : Int, x : R). if n <# 1 then x else f (n -# 1, x + x) in f"
    return parse_program(text), (n, 1e-3)


def wide(n: int) -> tuple[Program, Any]:
    """The sum of the squares of n scalars in a balanced tree of pairs."""

    def tree(k: int) -> Type:
        """The type of a balanced tree of k scalars."""
        return ty.REAL if k == 1 else ty.Pair(tree(k // 2), tree(k - k // 2))

    def total(k: int, x: t.Term, depth: int) -> t.Term:
        """The sum of the squares of the tree x."""
        if k == 1:
            return t.Operation("mul", (x, x))
        left, right = f"l{depth}", f"r{depth}"
        parts = total(k // 2, t.Var(left), depth + 1), total(k - k // 2, t.Var(right), depth + 1)
        return let((left, right), x, t.Operation("add", parts))

    def value(k: int, first: int) -> Any:
        """A balanced tree of k numbers, the first one with the index `first`."""
        return 0.1 * (first % 7 + 1) if k == 1 else (value(k // 2, first), value(k - k // 2, first + k // 2))

    return Program(t.Lambda("x", tree(n), total(n, t.Var("x"), 0))), value(n, 0)


def deep(n: int) -> tuple[Program, Any]:
    """The sum of the squares of a list of n scalars."""
    text = r"""
        data List a = Nil | Cons a (List a);
        letrec f : List R -> R = \(l : List R). case l of {Nil -> 0.0; Cons(x, rest) -> x * x + f rest} in f
    """
    x = Made("Nil", ())
    for k in range(n):
        x = Made("Cons", (0.1 * (k % 7 + 1), x))
    return parse_program(text), x


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("doublings", "sharing: every backpropagator is used twice", doublings, frozenset({"D1"})),
        Family("wide", "many inputs: 0 and + of whole cotangents", wide, frozenset({"D1", "D2"})),
        Family("deep", "inputs far from the root of the input", deep, frozenset({"D1", "D2", "D3"})),
    )
}
