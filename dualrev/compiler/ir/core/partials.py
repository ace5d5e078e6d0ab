"""Partial derivatives as operations of their own, with the table's second partials (rules/derived.py).

    y = x / b       ~>      p = [1.0 / b]        with dp/db = -1.0 / b / b, as one statement
                            q = [y * (1.0 / b)]       ...
                            t_y = p * t_x - q * t_b

Forward mode writes them where the table has second partials: reverse mode then takes these, which have their limits at
poles and at infinity. The code that is emitted for such an operation is its text (`spelled`), as if each operator were
a statement.
"""

from __future__ import annotations

import ast
import functools
import math

from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Real
from dualrev.rules.derived import Derived, row, with_partials
from dualrev.rules.primitives import FUNCTIONS, Primitive

__all__ = ["NAMES", "slope_of", "spelled", "text_of"]

#: What the functions in the table's text are called in emitted code.
NAMES = {
    **{f: f"math.{f}" for f in FUNCTIONS if hasattr(math, f)},
    "abs": "abs",
    "cbrt": "np.cbrt",
    "exp2": "np.exp2",
    "sign": "np.sign",
    "round": "np.rint",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "trunc": "np.trunc",
    "maximum": "np.maximum",
    "minimum": "np.minimum",
    "logaddexp": "np.logaddexp",
    "digamma": "runtime.digamma",
    "polygamma": "runtime.polygamma",
}


#: Those of a quotient, with the reciprocal as a factor: see text_of.
_SECOND_OF_QUOTIENT = (
    ("0.0", "-((1.0 / b) * (1.0 / b))"),
    ("-((1.0 / b) * (1.0 / b))", "2.0 * (y * (1.0 / b)) * (1.0 / b)"),
)


def text_of(s: Real, k: int) -> str:
    """Expression of the k-th partial derivative, in the names of the table.

    Both of a quotient have the reciprocal as a factor: it is one division, which does not wait for the cotangent. That
    of a root has it too: roots are often divided by.
    """
    if s.rule.name == "sqrt":
        return "0.5 * abs(1.0 / y)"
    if s.rule.name == "div" and k == 1:
        return "-(y * (1.0 / b))"
    exponent = _exponent(s)
    return s.rule.partials[k] if k or exponent is None else _power(exponent)


def slope_of(s: Real, k: int) -> Derived | None:
    """The k-th partial (or the operand of its negation) as a primitive; None without second partials in the table."""
    exponent = _exponent(s)
    if not s.rule.second or exponent in (0, 1, 2):
        return None
    return _slope(s.rule, k, text_of(s, k), exponent)


@functools.cache
def _slope(rule: Primitive, k: int, text: str, exponent: float | None) -> Derived | None:
    partials = tuple(row(rule, k)) if exponent is None else (_second_of_power(exponent), "0.0")
    if rule.name == "div":
        partials = _SECOND_OF_QUOTIENT[k]
    if isinstance(ast.parse(text, mode="eval").body, ast.UnaryOp):
        text, partials = text[1:], tuple("0.0" if p == "0.0" else f"-({p})" for p in partials)
    return with_partials(rule, k, text, partials)


def _exponent(s: Real) -> float | None:
    """Constant exponent of a power; None for another operation."""
    return s.args[1].value if s.rule.name == "pow" and isinstance(s.args[1], Constant) else None


def _power(n: float) -> str:
    """Derivative of `a ** n` by `a`, for a constant `n`, as text of the table."""
    if n in (0, 1, 2):
        return ("0.0", "1.0", "2.0 * a")[int(n)]
    if n == 0.5:
        return "0.5 / y"
    if isinstance(n, int) and n < 0:  # a quotient: numba's x ** -2 raises where x * x is too small for a float
        return f"-{-float(n)} / power(a, {1 - n})"
    return f"{float(n)} * power(a, {n - 1})" if n >= 0 else f"-{-float(n)} * power(a, -{1 - n})"


def _second_of_power(n: float) -> str:
    """Second derivative of `a ** n` by `a`, as text of the table."""
    factor = float(n * (n - 1))
    if n == 3:
        return f"{factor} * a"
    if n >= 2:
        return f"{factor} * power(a, {n - 2})"
    return f"{factor} / power(a, {2 - n})"


@functools.cache
def spelled(text: str) -> str:
    """Emitted code for an expression of the table."""
    return ast.unparse(_Spelled().visit(ast.parse(text, mode="eval")))


class _Spelled(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Spell a function of the table; `power(a, b)` is `a ** b`."""
        assert isinstance(node.func, ast.Name)
        args: list[ast.expr] = [self.visit(u) for u in node.args]
        if node.func.id == "power":
            return ast.BinOp(args[0], ast.Pow(), args[1])
        return ast.Call(ast.Name(NAMES[node.func.id], ast.Load()), args, [])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Spell `inf` and `nan` as `math.inf` and `math.nan`."""
        return ast.Name(f"math.{node.id}", ast.Load()) if node.id in ("inf", "nan") else node
