"""The entries of the table of primitives, as functions of the page's script.

>>> from dualrev.rules.primitives import PRIMITIVES
>>> print(rule(PRIMITIVES["div"]))
{ value: (a, b) => a / b, partials: [(y, a, b) => 1.0 / b, (y, a, b) => -y / b] }
>>> rule(PRIMITIVES["erf"]) is None  # the script has no such function
True
"""

from __future__ import annotations

import ast

from dualrev.rules.primitives import Primitive

__all__ = ["rule"]

#: What JavaScript has under the same name; and what it says in another way.
_SAME = (
    *("abs", "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "atan2", "hypot", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "sign"),
)
_OTHER = {"power": "Math.pow", "maximum": "Math.max", "minimum": "Math.min"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "===", ast.NotEq: "!=="}
_NAMES = {"inf": "Infinity", "nan": "NaN"}


def rule(primitive: Primitive) -> str | None:
    """The value and the partial derivatives as text of the script; None if the script has no function for them."""
    arguments = ", ".join(primitive.parameters)
    try:
        value, *partials = (_text(ast.parse(text, mode="eval").body) for text in (primitive.value, *primitive.partials))
    except KeyError:
        return None
    slopes = ", ".join(f"(y, {arguments}) => {partial}" for partial in partials)
    return f"{{ value: ({arguments}) => {value}, partials: [{slopes}] }}"


def _text(node: ast.expr, inner: bool = False) -> str:
    """An expression as text, in brackets inside another one. KeyError for an expression without a text."""
    match node:
        case ast.Constant(float(x)):
            return repr(x)
        case ast.Name(name):
            return _NAMES.get(name, name)
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, operand):
            text = f"{'-' if isinstance(sign, ast.USub) else '+'}{_text(operand, True)}"
            return f"({text})" if inner and not isinstance(operand, ast.Name) else text
        case ast.BinOp(left, operator, right):
            text = f"{_text(left, True)} {_OPERATORS[type(operator)]} {_text(right, True)}"
        case ast.Compare(left, [operator], [right]):
            text = f"{_text(left, True)} {_COMPARISONS[type(operator)]} {_text(right, True)}"
        case ast.IfExp(test, body, other):
            text = f"{_text(test)} ? {_text(body, True)} : {_text(other, True)}"
        case ast.Call(ast.Name(name), arguments):
            function = f"Math.{name}" if name in _SAME else _OTHER[name]
            return f"{function}({', '.join(map(_text, arguments))})"
        case _:
            raise KeyError(type(node).__name__)
    return f"({text})" if inner else text
