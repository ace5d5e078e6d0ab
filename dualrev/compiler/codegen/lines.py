"""Statements of emitted code, and their text, each beside the source line that it comes from."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from dualrev.diagnostics.quoting import comment

__all__ = ["Assign", "Code", "CodeStatement", "Pop", "Push", "Row", "Suite", "lines_of", "rows_of", "text_of"]


@dataclass(eq=False)
class Assign:
    """Assignment `target op value`, where op is `=` or `+=`."""

    target: ast.expr
    value: ast.expr
    line: int
    op: str = "="


@dataclass(eq=False)
class Code:
    """Statement as text."""

    text: str
    line: int


@dataclass(eq=False)
class Push:
    """Push of words onto the tape; `room` says whether to check that they fit."""

    words: list[ast.expr]
    line: int
    room: bool = True


@dataclass(eq=False)
class Pop:
    """Pop of words from the tape: assignments from `words[top]`, `words[top + 1]`, ..."""

    targets: list[tuple[ast.expr, Callable[[ast.expr], ast.expr]]]
    line: int


@dataclass(eq=False)
class Suite:
    """Compound statement: a header and its block; `orelse` is the else-branch of an `if`."""

    header: str
    body: list[CodeStatement]
    line: int
    orelse: list[CodeStatement] = field(default_factory=list)
    loop: bool = False


CodeStatement: TypeAlias = Assign | Code | Push | Pop | Suite


@dataclass(frozen=True)
class Row:
    """Line of text, with its source line (0: none) and its depth of indentation."""

    text: str
    line: int
    depth: int


WIDTH = 120


def word(k: int) -> ast.expr:
    """Syntax of the k-th word of a group on the tape."""
    return ast.parse("words[top]" if k == 0 else f"words[top + {k}]", mode="eval").body


def text_of(value: ast.expr) -> str:
    """Unparse an expression; a power of literals that is complex in Python becomes NaN, as numba's floats have it.

    Python computes the power of two literals when it compiles, and `(-0.5) ** 1.5` is complex: then numba has another
    type for what a variable of core holds.
    """
    text = ast.unparse(value)
    if "**" in text and any(map(_is_complex, ast.walk(value))):
        text = ast.unparse(_Powers().visit(copy.deepcopy(value)))
    return text


def _is_complex(node: ast.AST) -> bool:
    """Whether Python evaluates a power of two real literals to a complex number."""
    match node:
        case ast.BinOp(ast.UnaryOp(ast.USub(), ast.Constant(x)), ast.Pow(), exponent):
            y = exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent
            whole = isinstance(y, ast.Constant) and isinstance(y.value, int | float) and float(y.value).is_integer()
            return isinstance(x, int | float) and x != 0 and isinstance(y, ast.Constant) and not whole
    return False


class _Powers(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace a power of literals that is complex in Python by NaN."""
        self.generic_visit(node)
        return ast.Attribute(ast.Name("math"), "nan", ast.Load()) if _is_complex(node) else node


def rows_of(code: list[CodeStatement]) -> list[Row]:
    """Lines of the code, each with its source line and its depth."""
    return _Printer().block(code, 1)


def lines_of(rows: list[Row], source: Callable[[int], str]) -> list[str]:
    """Text of the rows, with each source line as a comment beside the first line that is emitted for it."""
    lines: list[str] = []
    last = 0
    for row in rows:
        margin = "    " * row.depth
        text = margin + row.text
        if row.line in (last, 0):
            lines.append(text)
            continue
        last = row.line
        said = comment(source(row.line))
        if len(text) + 2 + len(said) <= WIDTH:
            lines.append(f"{text}  {said}")
        else:
            lines += [margin + said[: WIDTH - len(margin)], text]
    return lines


class _Printer:
    def block(self, code: list[CodeStatement], depth: int) -> list[Row]:
        """Rows of a block at a depth; `pass` for an empty one."""
        return [row for s in code for row in self.statement(s, depth)] or [Row("pass", 0, depth)]

    def statement(self, s: CodeStatement, depth: int) -> list[Row]:
        """Rows of a statement and of its blocks."""
        if isinstance(s, Suite):
            text = self.put(s.header, s.line, depth) + self.block(s.body, depth + 1)
            if s.orelse:
                text += [Row("else:", 0, depth), *self.block(s.orelse, depth + 1)]
            return text
        if isinstance(s, Assign):
            op, value = s.op, s.value
            same = isinstance(s.target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name)
            if op == "=" and same and value.left.id == s.target.id and isinstance(value.op, (ast.Add, ast.Sub)):  # type: ignore[attr-defined]
                op, value = ("+=" if isinstance(value.op, ast.Add) else "-="), value.right  # type: ignore[attr-defined]
            return self.put(f"{ast.unparse(s.target)} {op} {text_of(value)}", s.line, depth)
        if isinstance(s, Push):
            text = []
            if s.room:
                text += self.put(f"if top + {len(s.words)} > words.size:", s.line, depth)
                text += self.put(f"words = runtime.grow(tape, top + {len(s.words)})", s.line, depth + 1)
            for k, value in enumerate(s.words):
                text += self.put(f"{ast.unparse(word(k))} = {text_of(value)}", s.line, depth)
            return text + self.put(f"top += {len(s.words)}", s.line, depth)
        if isinstance(s, Pop):
            text = self.put(f"top -= {len(s.targets)}", s.line, depth)
            for k, (target, made) in enumerate(s.targets):
                text += self.put(f"{ast.unparse(target)} = {ast.unparse(made(word(k)))}", s.line, depth)
            return text
        return self.put(s.text, s.line, depth)

    def put(self, text: str, line: int, depth: int) -> list[Row]:
        """Rows of a text, whose lines keep their relative indentation."""
        rows: list[Row] = []
        for part in text.split("\n"):  # statements that the user wrote may have blocks
            inner = part.lstrip()
            rows.append(Row(inner, line if not rows else 0, depth + (len(part) - len(inner)) // 4))
        return rows
