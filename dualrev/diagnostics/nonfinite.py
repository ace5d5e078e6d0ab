"""Where NaN and infinity come from, in words: an operation as the user wrote it, its operands, and the usual cure."""

from __future__ import annotations

import ast
import itertools
import linecache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from dualrev.diagnostics.user_lines import line_of

__all__ = ["BY_CONSTANT", "Operation", "cure_of"]

_LONGEST = 60  # characters of an expression that a message quotes


class Operation(NamedTuple):
    """An operation in the user's code: where it is, and the plain values of its operands."""

    code: CodeType
    instruction: int
    line: int
    operands: tuple[Any, ...] = ()

    @property
    def place(self) -> str:
        """`file.py:3`, with the text of the line."""
        return line_of(self.code.co_filename, self.line)

    @property
    def text(self) -> str:
        """The expression, as it stands in the line: "np.sqrt(x * x)"; "" if it is not known."""
        positions = next(itertools.islice(self.code.co_positions(), self.instruction // 2, None), None)
        if positions is None or None in positions:
            return ""
        first, last, start, end = (k or 0 for k in positions)
        lines = [linecache.getline(self.code.co_filename, k).encode() for k in range(first, last + 1)]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return " ".join(b" ".join(line.strip() for line in lines).decode(errors="replace").split())

    @property
    def name(self) -> str:
        """The name of the function without its module, or the symbol of the operator; "" for another expression."""
        try:
            node: Any = ast.parse(self.text).body[0]
        except (SyntaxError, ValueError, IndexError):
            return ""
        node = getattr(node, "value", node) if isinstance(node, ast.Expr) else node
        match node:
            case ast.Call(ast.Attribute(attr=name)) | ast.Call(ast.Name(id=name)):
                return str(name)
            case ast.BinOp(op=op) | ast.AugAssign(op=op):
                return _SYMBOLS.get(type(op), "")
        return ""

    def at(self, shape: tuple[int, ...], index: tuple[int, ...]) -> str:
        """The operands, where an array of this shape is not finite at this index: "0.0 and 2.0 (index 3)"."""
        chosen, found = False, []
        for x in self.operands:
            if index and isinstance(x, np.ndarray) and _broadcasts(x.shape, shape):
                x, chosen = np.broadcast_to(x, shape)[index], True
            text = repr(x.item() if isinstance(x, np.generic) else x)
            if len(text) > _LONGEST or "\n" in text:
                text = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else text[: _LONGEST - 3] + "..."
            found.append(text)
        where = f" (index {index[0] if len(index) == 1 else index})" if chosen else ""
        return " and ".join(found) + where

    def quoted(self) -> str:
        """The expression in backquotes, shortened; "an operation" if it is not known."""
        text = self.text
        if not text:
            return "an operation"
        return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'}`"


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(shape[::-1], to[::-1], strict=False))


_SYMBOLS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def cure_of(operation: Operation) -> str:
    """Code to write instead of an operation that makes NaN or infinity."""
    return next((cure for names, cure in _CURES.items() if operation.name in names), _OTHER)


#: The same for an operation that takes a constant that is NaN.
BY_CONSTANT = (
    "A constant operand is NaN already. Find the line that computes it, as inf - inf or 0.0 * inf; write a large finite"
    " number, such as 1e30, in place of inf."
)
_OTHER = "Write np.where(test, value, constant), or an `if`, to take another value at that point."
_CURES: dict[tuple[str, ...], str] = {
    ("sqrt", "cbrt"): "Write np.where(s > 0.0, np.sqrt(s), 0.0), or `np.sqrt(s) if s > 0.0 else 0.0` for a number s.",
    ("log", "log2", "log10", "log1p"): (
        "Write np.where(x > 0.0, np.log(x), 0.0), or test x before you take the logarithm; do not multiply it by 0."
    ),
    ("norm", "hypot", "abs", "absolute"): (
        "Write s = np.sum(x * x), and `np.sqrt(s) if s > 0.0 else 0.0`; or use the square s itself."
    ),
    ("std", "nanstd"): "Use the variance, or test that it is positive before you take its root.",
    ("/", "divide", "true_divide", "reciprocal"): (
        "Write np.where(b != 0.0, a / b, 0.0), or `a / b if b != 0.0 else 0.0` for numbers."
    ),
    ("**", "power", "pow", "float_power"): (
        "Write np.where(x > 0.0, x**y, 0.0), or `x**y if x > 0.0 else 0.0` for a number x."
    ),
    ("arccos", "arcsin", "acos", "asin", "arccosh", "acosh", "arctanh", "atanh"): (
        "Keep the operand inside of the domain: np.clip(x, -1.0 + 1e-12, 1.0 - 1e-12)."
    ),
    ("eigh", "eig", "svd", "qr"): (
        "Vectors of repeated eigenvalues have no derivative: use the eigenvalues, or expm and sqrtm of"
        " dualrev.scipy.linalg."
    ),
    ("arctan2", "atan2"): "Test that one of the operands is not 0, and take a constant angle where both are.",
    ("exp", "exp2", "expm1", "sinh", "cosh"): (
        "Bound the operand, as in np.minimum(x, 700.0), or compute with logarithms: np.logaddexp for sums."
    ),
    ("logsumexp", "logaddexp", "logaddexp2", "softmax", "log_softmax"): (
        "Write -1e30 in place of -inf for masked entries, or leave out the slices in which all are masked."
    ),
    ("*", "multiply", "prod", "@", "dot", "matmul"): (
        "Write np.where(mask, x, 0.0) in place of mask * x, and a large finite number, such as 1e30, in place of inf."
    ),
    ("+", "-", "subtract", "add", "sum", "mean"): (
        "Write a large finite number, such as 1e30, in place of inf, or select the finite elements with np.where."
    ),
}
