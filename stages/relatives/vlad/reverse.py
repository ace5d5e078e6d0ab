r"""The reverse transform of a Lambda (section 4): phi makes the forward phase, rho the reverse phase.

    phi {xi = xj}      =  ↼xi = ↼xj                    rho {xi = xj}      =  ↽xj (+)= ↽xi
    phi {xi = xj xk}   =  (↼xi, ¯xi) = ↼xj ↼xk         rho {xi = xj xk}   =  (↽xj, ↽xk) (+)= ¯xi ↽xi
    phi {xi = (xj,xk)} =  ↼xi = (↼xj ,1 ↼xk)           rho {xi = (xj,xk)} =  (↽xj, ↽xk) (+)= ↽xi
    phi {xi = \x e}    =  ↼xi = ↼(\x e)                rho {xi = \x e}    =  [↽x1', .. ↽xl']_x (+)= ↽xi

    ↼(\x0 let x1 = e1; ..; xn = en in xn end) =
        \↼x0 let phi {x1 = e1}; ..; phi {xn = en}
             in (↼xn, (\↽xn let ↽x1' = 0 (J^-1 ↼x1'); ..; ↽xl' = 0 (J^-1 ↼xl');
                                ↽x0 = 0 (J^-1 ↼x0); ..; ↽xn-1 = 0 (J^-1 ↼xn-1);
                                rho {xn = en}; ..; rho {x1 = e1}
                            in ([↽x1', .. ↽xl']_x0, ↽x0) end)) end

x1' .. xl' are the base free variables of the Lambda: the free variables of the untransformed one, with as many tags.
The line for pairs follows from the paper's, in which a pair is a closure. The other free variables, which this
transform itself has introduced, have no sensitivities: the reverse phase adds nothing to them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from stages.relatives.vlad.anf import normal
from stages.relatives.vlad.terms import (
    EMPTY,
    Abs,
    Apply,
    Binding,
    Call,
    Cons,
    Copy,
    Expression,
    Join,
    Lambda,
    Let,
    Term,
    Var,
    level,
    without_recursion,
)

__all__ = ["GENERATED", "reverse"]

#: The names of the top-level environment that the transform refers to.
GENERATED = frozenset(["car", "cdr", "plus", "zero", "J", "J-inverse", "[]"])


def reverse(e: Lambda) -> Lambda:
    """↼e in A-normal form; made once for every Lambda."""
    made: Lambda = without_recursion(_reverse(e))
    return made


def _reverse(e: Lambda) -> Generator[Any, Any, Lambda]:
    if e.reverse is None:
        inner = {}
        for x, part in e.bindings:
            if isinstance(part, Lambda):
                inner[x] = yield _reverse(part)
        made = normal(_figure(e, inner), GENERATED.__contains__, known=["↼" + x for x in e.free])
        made.origin, made.base_free = e, tuple("↼" + x for x in e.base_free)
        e.reverse = made
    return e.reverse


def _figure(e: Lambda, inner: dict[str, Lambda]) -> Abs:
    """↼e, as above."""
    bound = [x for x, _ in e.bindings]
    kept = {*e.base_free, e.parameter, *bound}
    backpropagator = Abs(
        "↽" + e.result,
        Let(
            [
                *(_zero(x) for x in (*e.base_free, e.parameter, *bound[:-1])),
                *(_rho(x, part, kept) for x, part in reversed(e.bindings)),
            ],
            Cons(0, _list(e.base_free, e.parameter, kept), Var("↽" + e.parameter)),
        ),
    )
    forward = [_phi(x, part, inner) for x, part in e.bindings]
    return Abs("↼" + e.parameter, Let(forward, Cons(0, Var("↼" + e.result), backpropagator)))


def _phi(x: str, e: Expression, inner: dict[str, Lambda]) -> Binding:
    match e:
        case Copy(xj):
            return Binding(Var("↼" + x), Var("↼" + xj))
        case Call(xj, xk):
            return Binding(Cons(0, Var("↼" + x), Var("¯" + x)), Apply(Var("↼" + xj), Var("↼" + xk)))
        case Join(n, xj, xk):
            return Binding(Var("↼" + x), Cons(n + 1, Var("↼" + xj), Var("↼" + xk)))
        case Lambda():
            return Binding(Var("↼" + x), inner[x])


def _rho(x: str, e: Expression, kept: set[str]) -> Binding:
    match e:
        case Copy(xj):
            return Binding(_sensitivity(xj, kept), Var("↽" + x), adds=True)
        case Call(xj, xk):
            both = Cons(0, _sensitivity(xj, kept), _sensitivity(xk, kept))
            return Binding(both, Apply(Var("¯" + x), Var("↽" + x)), adds=True)
        case Join(n, xj, xk):
            return Binding(Cons(n, _sensitivity(xj, kept), _sensitivity(xk, kept)), Var("↽" + x), adds=True)
        case Lambda(base_free=frees, parameter=parameter):
            return Binding(_list(frees, parameter, kept), Var("↽" + x), adds=True)


def _sensitivity(x: str, kept: set[str]) -> Term:
    """↽x; as a pattern, [] takes nothing."""
    return Var("↽" + x) if x in kept else EMPTY


def _zero(x: str) -> Binding:
    """↽x = 0 (J^-1 ↼x)"""
    return Binding(Var("↽" + x), Apply(Var("zero"), Apply(Var("J-inverse"), Var("↼" + x))))


def _list(xs: Sequence[str], x0: str, kept: set[str]) -> Term:
    """[↽x1, .. ↽xl]_x0, with as many reverse tags as x0 has"""
    n = level(x0)
    made: Term = EMPTY
    for _ in range(n):
        made = Apply(Var("J"), made)
    for x in reversed(xs):
        made = Cons(n, _sensitivity(x, kept), made)
    return made
