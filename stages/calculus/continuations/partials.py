"""Partial derivatives as terms: the Python expressions of dualrev.rules.primitives, in the source language.

Other transformations leave partial derivatives to the evaluator (terms.Partial). The transformations of this folder
write them out, so that their results are programs of the same language, which can be transformed again. If Python
refuses an operation for which the table uses IEEE's limit (sqrt at 0), evaluating the term fails.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Sequence

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.continuations.distinct import replaced
from stages.calculus.language.sugar import FALSE, if_
from stages.calculus.language.terms import Discrete, Literal, Operation, Term, Var, subterms

__all__ = ["mentions", "partial", "times"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.FloorDiv: "floordiv"}
_CALLS = {"power": "pow"}


def partial(op: str, k: int, arguments: Sequence[Term], y: Term) -> Term:
    """The partial derivative of op with respect to argument k, from 0, at these variables; y is op's value.

    >>> partial("mul", 0, (Var("u"), Var("v")), Var("y"))
    Var(name='v')
    """
    line = PRIMITIVES[op]
    return replaced(_written(op, k), {**dict(zip(line.parameters, arguments, strict=True)), "y": y})


def times(z: Term, p: Term) -> Term:
    """z * p, or z if p is 1."""
    return z if p == Literal(1.0) else Operation("mul", (z, p))


@functools.cache
def _written(op: str, k: int) -> Term:
    return _term(ast.parse(PRIMITIVES[op].partials[k], mode="eval").body)


def _term(node: ast.expr) -> Term:
    """An expression of the table, as a term."""
    match node:
        case ast.Constant(value):
            assert isinstance(value, (int, float))
            return Literal(float(value))
        case ast.Name("inf" | "nan" as name):
            return Literal(getattr(math, name))
        case ast.Name(name):
            return Var(name)
        case ast.UnaryOp(ast.USub(), ast.Constant(value)):
            assert isinstance(value, (int, float))
            return Literal(-float(value))
        case ast.UnaryOp(ast.USub(), operand):
            return Operation("neg", (_term(operand),))
        case ast.BinOp(left, symbol, right):
            return Operation(_BINARY[type(symbol)], (_term(left), _term(right)))
        case ast.Call(ast.Name(name), arguments):
            return Operation(_CALLS.get(name, name), tuple([_term(a) for a in arguments]))
        case ast.IfExp(ast.Compare(left, [symbol], [right]), yes, no):
            return _branch(_term(left), symbol, _term(right), _term(yes), _term(no))
    raise AssertionError(ast.dump(node))


def _branch(a: Term, symbol: ast.cmpop, b: Term, yes: Term, no: Term) -> Term:
    """A conditional expression, with the comparisons of the calculus."""
    match symbol:
        case ast.Lt():
            return if_(Discrete("<", (a, b)), yes, no)
        case ast.LtE():
            return if_(Discrete("<=", (a, b)), yes, no)
        case ast.Gt():
            return if_(Discrete("<", (b, a)), yes, no)
        case ast.GtE():
            return if_(Discrete("<=", (b, a)), yes, no)
        case ast.Eq():
            return if_(if_(Discrete("<=", (a, b)), Discrete("<=", (b, a)), FALSE), yes, no)
    assert isinstance(symbol, ast.NotEq)
    return _branch(a, ast.Eq(), b, no, yes)


def mentions(term: Term, name: str) -> bool:
    """Whether a variable of this name occurs in a term."""
    return term == Var(name) or any(mentions(part, name) for part in subterms(term))
