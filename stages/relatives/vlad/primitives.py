r"""The primitives and their transforms: the top-level environment (section 4).

    ↼u  = \(J x) ((J (u x)), (\↽y ([], ((D u x) * ↽y))))                         sin, exp, ..
    ↼b  = \(J (a, b)) ((J (b (a, b))), (\↽y ([], (((D1 b (a, b)) * ↽y), ((D2 b (a, b)) * ↽y)))))     +, *, ..
    ↼p  = \(J x) ((J (p x)), (\↽y ([], (0 x))))                                  null?, real?, ..
    ↼q  = \(J (a, b)) ((J (q (a, b))), (\↽y ([], ((0 a), (0 b)))))               <, =, ..
    ↼0  = \(J x) ((J (0 x)), (\↽y ([], (0 x))))
    ↼(+) = \(J (a, b)) ((J (a (+) b)), (\↽y ([], (↽y, ↽y))))
    ↼J  = \(J x) ((J (J x)), (\↽y ([], (J^-1 ↽y))))
    ↼J^-1 = \(J x) ((J (J^-1 x)), (\↽y ([], (J ↽y))))
    ↼CAR = \(J (a, b)) ((J a), (\↽y ([], (↽y, (0 b)))))                          CDR likewise; #t and #f are these two

D u, D1 b and D2 b are VLAD expressions, read from the Python text of the partial derivatives in
dualrev.rules.primitives, the project's only list of them. Numbers follow IEEE, as there: (/ 1 0) is inf, (log -1) is
nan.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualrev.eager.numbers.overload import EDGE, DualNumber, contribute, value
from dualrev.eager.numbers.overload import function as on_numbers
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES
from dualrev.rules.primitives import Primitive as Line
from stages.relatives.vlad.anf import normal
from stages.relatives.vlad.syntax import expand, function, pattern_of, read
from stages.relatives.vlad.terms import Abs, VladError, is_number
from stages.relatives.vlad.values import (
    NIL,
    STANDARD,
    Closure,
    J,
    J_inverse,
    Meter,
    Pair,
    Primitive,
    Value,
    describe,
    is_pair,
    is_real,
    opened,
    plus,
    zero,
)

__all__ = ["FALSE", "SYMBOLS", "TRUE", "closure", "given", "is_global", "top"]

#: How VLAD calls the lines of the table that have a symbol in Scheme; the others have their names.
SYMBOLS: Mapping[str, str] = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_FROM_TABLE = {text: SYMBOLS.get(name, name) for text in FUNCTIONS for name in [{"power": "pow"}.get(text, text)]}


def is_global(x: str) -> bool:
    """Whether the top-level environment has the variable."""
    return x in STANDARD or is_number(x)


def top(x: str) -> Value:
    """The value of a variable in the top-level environment."""
    return STANDARD[x] if x in STANDARD else float(x)


def closure(term: Abs, known: Mapping[str, Value] | None = None) -> Closure:
    """The value of an abstraction whose free variables are known or global."""
    known = known or {}
    unit = normal(term, is_global, known)
    return Closure(unit, {x: known[x] if x in known else top(x) for x in unit.free})


# Transforms


def _rule(text: str, known: Mapping[str, Value] | None = None, **parts: Any) -> Callable[[Primitive], Closure]:
    """The transform that a text describes; t is the primitive in it."""

    def transform(primitive: Primitive) -> Closure:
        """The transform of this primitive, as a closure."""
        made = closure(_read(text, {"t": primitive.name, **parts}), {primitive.name: primitive, **(known or {})})
        made.unit.primitive, made.unit.base_free = primitive, ()
        return made

    return transform


def _read(text: str, parts: Mapping[str, Any]) -> Abs:
    """The lambda of a text; its parameter has a tag, since its arguments are transformed."""
    _, (pattern,), body = _replaced(read(text)[0], parts)
    return function(pattern_of(pattern), expand(body), "↼ p")


def _replaced(form: Any, parts: Mapping[str, Any]) -> Any:
    return [_replaced(one, parts) for one in form] if isinstance(form, list) else parts.get(form, form)


_UNARY = "(lambda ((J x)) (let ((y (t x))) (cons (J y) (lambda (↽y) (cons () (* D ↽y))))))"
_BINARY = (
    "(lambda ((J (cons a b))) (let ((y (t a b))) (cons (J y) (lambda (↽y) (cons () (cons (* D1 ↽y) (* D2 ↽y)))))))"
)
_RULES = {
    "p": _rule("(lambda ((J x)) (cons (J (t x)) (lambda (↽y) (cons () (zero x)))))"),
    "q": _rule("(lambda ((J (cons a b))) (cons (J (t a b)) (lambda (↽y) (cons () (cons (zero a) (zero b))))))"),
    "zero": _rule("(lambda ((J x)) (cons (J (zero x)) (lambda (↽y) (cons () (zero x)))))"),
    "plus": _rule("(lambda ((J (cons a b))) (cons (J (plus a b)) (lambda (↽y) (cons () (cons ↽y ↽y)))))"),
    "J": _rule("(lambda ((J x)) (cons (J (J x)) (lambda (↽y) (cons () (J-inverse ↽y)))))"),
    "J-inverse": _rule("(lambda ((J x)) (cons (J (J-inverse x)) (lambda (↽y) (cons () (J ↽y)))))"),
    "car": _rule("(lambda ((J (cons a b))) (cons (J a) (lambda (↽y) (cons () (cons ↽y (zero b))))))"),
    "cdr": _rule("(lambda ((J (cons a b))) (cons (J b) (lambda (↽y) (cons () (cons (zero a) ↽y)))))"),
}


def given(name: str, y: Value, partials: Sequence[Value]) -> Primitive:
    """A primitive that is known only by its value and partial derivatives at the point of its one call."""
    known = {f"{name}.d{i}": p for i, p in enumerate(partials)}
    products: Any = [["*", p, "↽y"] for p in known]
    made = products.pop()
    while products:
        made = ["cons", products.pop(), made]
    rule = _rule("(lambda ((J x)) (cons (J (t x)) (lambda (↽y) (cons () D))))", known, D=made)
    return Primitive(name, lambda v, meter: y, rule)


# The table's text as VLAD

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=", ast.And: "and", ast.Or: "or",
}  # fmt: skip


def _form(node: ast.AST) -> Any:
    """The s-expression of a partial derivative."""
    match node:
        case ast.Constant(float(number)):
            return repr(number)
        case ast.Name(name):
            return name
        case ast.BinOp(left, operator, right):
            return [_OPERATORS[type(operator)], _form(left), _form(right)]
        case ast.UnaryOp(ast.USub(), operand):
            return ["neg", _form(operand)]
        case ast.Call(ast.Name(name), arguments):
            return [_FROM_TABLE[name], *map(_form, arguments)]
        case ast.IfExp(test, body, otherwise):
            return ["if", _form(test), _form(body), _form(otherwise)]
        case ast.BoolOp(operator, values):
            return [_OPERATORS[type(operator)], *map(_form, values)]
        case ast.Compare(left, [ast.NotEq()], [right]):
            return ["not", ["=", _form(left), _form(right)]]
        case ast.Compare(left, [operator], [right]):
            return [_OPERATORS[type(operator)], _form(left), _form(right)]
    raise AssertionError(f"the table has a construct that VLAD is not told about: {ast.dump(node)}")


def _operation(line: Line) -> Primitive:
    """A primitive u or b from an entry of the table of primitives."""
    forms = [_form(ast.parse(text, mode="eval").body) for text in line.partials]
    compute, name = _ieee(line), SYMBOLS.get(line.name, line.name)
    if len(forms) == 1:

        def unary(v: Value, meter: Meter) -> Value:
            """Apply the operation to a number, and count it."""
            meter.arithmetic += 1
            return compute(_real(name, v))

        return Primitive(name, unary, _rule(_UNARY, D=forms[0]))

    def binary(v: Value, meter: Meter) -> Value:
        """Apply the operation to a pair of numbers, and count it."""
        meter.arithmetic += 1
        pair = _two(name, v, meter)
        return compute(_real(name, pair.car), _real(name, pair.cdr))

    return Primitive(name, binary, _rule(_BINARY, D1=forms[0], D2=forms[1]))


def _ieee(line: Line) -> Callable[..., Value]:
    """The operation on numbers, with IEEE's result where Python raises an error."""
    compute, limit = on_numbers(line), getattr(np, line.ufunc, None)

    def total(*xs: Value) -> Value:
        """The operation's result, also outside of its domain; the partial derivatives are nan there."""
        try:
            return compute(*xs)
        except EDGE:
            with np.errstate(all="ignore"):
                y: Value = float(limit(*(np.float64(value(x)) for x in xs))) if limit else math.nan
        duals = sorted((x for x in xs if isinstance(x, DualNumber)), key=lambda x: x.run.level)
        for _, group in itertools.groupby(duals, key=lambda x: x.run.level):  # to those around us: no derivative there
            us = tuple(group)
            y = contribute(us[0].run, type(us[0]), y, us, (math.nan,) * len(us))
        return y

    return total


def _two(name: str, v: Value, meter: Meter) -> Pair:
    if v.__class__ is Pair:
        return v
    if not is_pair(v):
        raise VladError(f"{name} takes two arguments, got {describe(v)}")
    return opened(v, meter)


def _real(name: str, v: Value) -> Value:
    if v.__class__ is float or is_real(v):
        return v
    raise VladError(f"{name} takes numbers, got {describe(v)}")


def _boolean(holds: bool) -> Primitive:
    return TRUE if holds else FALSE


def _of_one(name: str, test: Callable[[Value], bool]) -> Primitive:
    return Primitive(name, lambda v, meter: _boolean(test(v)), _RULES["p"])


def _of_two(name: str, test: Callable[[Value, Value], bool]) -> Primitive:
    def compare(v: Value, meter: Meter) -> Value:
        """The comparison of a pair of numbers, as a VLAD boolean."""
        pair = _two(name, v, meter)
        return _boolean(test(_real(name, pair.car), _real(name, pair.cdr)))

    return Primitive(name, compare, _RULES["q"])


def _of_ad(name: str, f: Callable[[Value], Value]) -> Primitive:
    return Primitive(name, lambda v, meter: f(v), _RULES[name])


def _half(name: str, rule: str) -> Primitive:
    def car(v: Value, meter: Meter) -> Value:
        """The first half of a pair."""
        return v.car if v.__class__ is Pair else opened(v, meter).car

    def cdr(v: Value, meter: Meter) -> Value:
        """The second half of a pair."""
        return v.cdr if v.__class__ is Pair else opened(v, meter).cdr

    return Primitive(name, car if rule == "car" else cdr, _RULES[rule])


def _plus(v: Value, meter: Meter) -> Value:
    pair = _two("plus", v, meter)
    return plus(pair.car, pair.cdr, meter)


TRUE, FALSE = _half("#t", "car"), _half("#f", "cdr")

STANDARD.update(
    {
        made.name: made
        for made in (
            TRUE,
            FALSE,
            _half("car", "car"),
            _half("cdr", "cdr"),
            *(_of_ad(name, f) for name, f in {"zero": zero, "J": J, "J-inverse": J_inverse}.items()),
            Primitive("plus", _plus, _RULES["plus"]),
            *map(_operation, PRIMITIVES.values()),
            _of_one("null?", lambda v: v is NIL),
            _of_one("pair?", is_pair),
            _of_one("real?", is_real),
            _of_one("procedure?", lambda v: isinstance(v, (Closure, Primitive))),
            _of_two("<", lambda a, b: a < b),
            _of_two("<=", lambda a, b: a <= b),
            _of_two(">", lambda a, b: a > b),
            _of_two(">=", lambda a, b: a >= b),
            _of_two("=", lambda a, b: a == b),
        )
    }
)
_Y = "(lambda (f) ((lambda (x) (f (lambda (y) ((x x) y)))) (lambda (x) (f (lambda (y) ((x x) y))))))"
STANDARD["Y"] = closure(_read(_Y, {}))
