r"""Syntactic sugar: longer forms that the paper writes, as combinations of smaller terms.

let (x, y) = s in t       let p = s in let x = fst(p) in let y = snd(p) in t        p is `hidden("x", "y")`
\(x : s, y : t). u        \(p : (s, t)). let x = fst(p) in let y = snd(p) in u      patterns nest: \((x, d), i). ..
if s then t else u        case s of {inl(_) -> t; inr(_) -> u}
true, false               inl(()), inr(()) of type () + ()
"""

from __future__ import annotations

from stages.calculus.language.terms import Branch, Case, Con, Fst, Lambda, Let, LinearLambda, Snd, Star, Term, Var
from stages.calculus.language.types import BOOL, Type

__all__ = ["FALSE", "TRUE", "Pattern", "bind", "hidden", "if_", "lambda_", "let", "linear_lambda"]

#: A variable, or a pair of patterns.
Pattern = str | tuple["Pattern", "Pattern"]

TRUE, FALSE = Con(BOOL, "inl", (Star(),)), Con(BOOL, "inr", (Star(),))


def hidden(pattern: Pattern) -> str:
    """The variable that a pattern takes apart: ("x", ("y", "z")) has `_x_y_z`. A variable stands for itself."""
    return pattern if isinstance(pattern, str) else "".join(f"_{name.lstrip('_')}" for name in _names(pattern))


def _names(pattern: Pattern) -> list[str]:
    return [pattern] if isinstance(pattern, str) else [*_names(pattern[0]), *_names(pattern[1])]


def bind(pattern: Pattern, body: Term) -> Term:
    """Bind a pattern's variables in the body, as parts of the pattern's hidden variable."""
    if isinstance(pattern, str):
        return body
    whole, (first, second) = Var(hidden(pattern)), pattern
    inner = Let(hidden(second), Snd(whole), bind(second, body))
    return Let(hidden(first), Fst(whole), bind(first, inner))


def let(pattern: Pattern, value: Term, body: Term) -> Term:
    """let pattern = value in body"""
    return Let(hidden(pattern), value, bind(pattern, body))


def lambda_(pattern: Pattern, type_: Type, body: Term) -> Lambda:
    r"""\(pattern : type). body"""
    return Lambda(hidden(pattern), type_, bind(pattern, body))


def linear_lambda(name: str, type_: Type, body: Term, made_by: str = "") -> LinearLambda:
    r"""\_(z : type). body"""
    return LinearLambda(name, type_, body, made_by)


def if_(condition: Term, yes: Term, no: Term) -> Case:
    """if condition then yes else no"""
    return Case(condition, (Branch("inl", ("_",), yes), Branch("inr", ("_",), no)))
