r"""Forward mode of the array language, and the gradient by forward mode: one run for each element of the input.

    T[x]                    = dx; 0 for a variable without a tangent
    T[op(t1, .., tn)]       = p1 * T[t1] + .. + pn * T[tn]                          partial derivatives from the table
    T[let x = s in t]       = let x = s in let dx = T[s] in T[t]
    T[build n (\i. t)], T[sum t], T[t[js]]      build n (\i. T[t]), sum T[t], T[t][js]
    gradient (\xs. t)       = \xs. build n (\g. let dxs = build n (\h. [h = g]) in T[t])        [h = g] is 1 or 0

The paper's dual numbers are pairs; here the two halves of each pair are separate terms from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.relatives.bulk.binding import check, rewritten
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.shapes import Shapes, shape
from stages.relatives.bulk.terms import OPERATIONS, Build, Index, Let, Num, Op, Sum, Term, Var

__all__ = ["Same", "gradient", "terms"]

_FUNCTIONS: dict[str, Callable[[Term], Term]] = {
    **{name: lambda u, name=name: Op(name, (u,)) for name in ("sin", "cos", "exp", "log", "sqrt")},  # type: ignore[misc]
    "abs": lambda u: u,  # in the table only of a square root
}
ZERO = Num(0.0)


@dataclass(frozen=True)
class Same(Term):
    """[i = j]: 1 if two indices are the same, else 0."""

    left: Term
    right: Term

    def text(self) -> tuple[str, int]:
        """As a bracket."""
        return f"[{self.left} = {self.right}]", 4

    def evaluated(self, evaluate: Callable[[Term], Any]) -> float:
        """1.0 or 0.0"""
        return float(evaluate(self.left) == evaluate(self.right))


def gradient(program: Program, argument: str, shapes: Mapping[str, tuple[int, ...]]) -> Program:
    """The gradient with respect to an argument, by forward mode.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> print(gradient(program(lambda xs: sum_of(build(3, lambda i: xs[i]))), "xs", {"xs": (3,)}))
    \\xs. build 3 (\\g. let dxs = build 3 (\\h. [h = g]) in sum (build 3 (\\i. dxs[i])))
    """
    check(program.body, frozenset(program.arguments))
    if shape(program.body, shapes) != ():
        raise ValueError(f"the value of the program has shape {shape(program.body, shapes)}; a gradient is of a number")
    _supported(program.body, shapes, {})
    sizes = shapes[argument]
    gs, hs = ([f"{letter}{k or ''}" for k in range(len(sizes))] for letter in "gh")
    taken = {x for t in terms(program.body) for x in t.binds()} | set(program.arguments)
    for x in sorted(taken):
        if x.startswith("d") or x in (*gs, *hs):
            raise ValueError(f"{x} is a name that the gradient uses: rename it")
    hot: Term = Num(1.0)
    for g, h in zip(gs, hs, strict=True):
        hot = Same(Var(h), Var(g)) if hot == Num(1.0) else hot * Same(Var(h), Var(g))
    for n, h in zip(sizes[::-1], hs[::-1], strict=True):
        hot = Build(n, h, hot)
    body: Term = Let(f"d{argument}", hot, tangent(program.body, frozenset((argument,))))
    for n, g in zip(sizes[::-1], gs[::-1], strict=True):
        body = Build(n, g, body)
    return Program(program.arguments, body)


def tangent(t: Term, active: frozenset[str]) -> Term:
    """T[t], for the variables that have a tangent."""
    match t:
        case Var(x):
            return Var(f"d{x}") if x in active else ZERO
        case Num():
            return ZERO
        case Op(name, args):
            known = {**_FUNCTIONS, **dict(zip(OPERATIONS[name].parameters, args, strict=True)), "y": t}
            found = [eval(p, dict(known)) for p in OPERATIONS[name].partials]
            first, *others = [p * tangent(u, active) for p, u in zip(found, args, strict=True)]
            return first + others[0] if others else first
        case Let(x, bound, body):
            return Let(x, bound, Let(f"d{x}", tangent(bound, active), tangent(body, active | {x})))
        case Build(n, i, body):
            return Build(n, i, tangent(body, active))
        case Sum(array):
            made = tangent(array, active)
            return made if made == ZERO else Sum(made)
        case Index(array, at):
            made = tangent(array, active)
            return made if made == ZERO else Index(made, at)
    raise TypeError(f"the rules are for build, sum and scalar operations: {t}")


def terms(t: Term) -> list[Term]:
    """The term and all of its subterms."""
    found = [t]
    rewritten(lambda u: (found.extend(terms(u)), u)[1], t)  # type: ignore[func-returns-value]
    return found


def _supported(t: Term, shapes: Shapes, sizes: Mapping[str, int]) -> None:
    """ValueError for what the rules do not know: indices that may be out of bounds, operations on whole arrays."""
    match t:
        case Op() if shape(t, shapes) != ():
            raise ValueError(f"an operation on arrays: write it as a build of one on numbers: {t}")
        case Index(array, at):
            for n, j in zip(shape(array, shapes), at, strict=False):
                inside = (
                    sizes.get(j.name, n + 1) <= n if isinstance(j, Var) else isinstance(j, Num) and 0 <= j.value < n
                )
                if not inside:
                    raise ValueError(
                        f"an index has to be one of a build that is not longer than the axis, got {j}: {t}"
                    )
        case Sum(array) if not isinstance(array, Build) or shape(t, shapes) != ():
            raise ValueError(f"a sum of numbers, written as the sum of a build, is expected: {t}")
        case Build(n, i, body):
            return _supported(body, {**shapes, i: ()}, {**sizes, i: n})
        case Let(x, bound, body):
            _supported(bound, shapes, sizes)
            return _supported(body, {**shapes, x: shape(bound, shapes)}, sizes)
    rewritten(lambda u: (_supported(u, shapes, sizes), u)[1], t)  # type: ignore[func-returns-value]
    return None
