"""The code on the page: a stage's file against its predecessor, and the program, highlighted by pygments."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from dualrev.diagnostics.signatures import unwarned
from stages.order import STAGES

__all__ = ["Line", "changes", "program", "whole"]

CONTEXT = 2  # lines that stayed, around those that changed


class Line(NamedTuple):
    """A line of code: its sign (+, -, a space, or ... for omitted lines), line numbers and highlighted text."""

    sign: str
    old: int | None
    new: int | None
    html: str


def changes(stage: str) -> list[Line]:
    """The diff of a stage against its predecessor, without module docstrings; the whole code of the first stage."""
    names = list(STAGES)
    at = names.index(stage)
    new, after = _body(stage)
    if at == 0:
        return [Line(" ", None, k, html) for k, (_, html) in enumerate(new, start=after)]
    old, before = _body(names[at - 1])
    matcher = difflib.SequenceMatcher(None, [text for text, _ in old], [text for text, _ in new], autojunk=False)
    lines: list[Line] = []
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first = group[0]
        if lines or first[1] or first[3]:
            lines.append(Line("...", None, None, ""))
        hunk = [line for op in group for line in _hunk(old, new, before, after, *op[1:])]
        lines += _trimmed(hunk)
    return lines


_Body = list[tuple[str, str]]


def _hunk(old: _Body, new: _Body, before: int, after: int, a0: int, a1: int, b0: int, b1: int) -> list[Line]:
    if [text for text, _ in old[a0:a1]] == [text for text, _ in new[b0:b1]]:
        return [Line(" ", before + a, after + b, new[b][1]) for a, b in zip(range(a0, a1), range(b0, b1), strict=True)]
    removed = [Line("-", before + a, None, old[a][1]) for a in range(a0, a1)]
    return removed + [Line("+", None, after + b, new[b][1]) for b in range(b0, b1)]


def _trimmed(hunk: list[Line]) -> list[Line]:
    """Remove the empty lines around a change."""
    kept = [k for k, line in enumerate(hunk) if line.sign != " " or line.html.strip()]
    return hunk[kept[0] : kept[-1] + 1]


def _body(stage: str) -> tuple[_Body, int]:
    """The lines of a stage's file after its docstring, plain and highlighted, and the number of the first."""
    text = Path(str(STAGES[stage].__file__)).read_text(encoding="utf-8")
    start = ast.parse(text).body[0].end_lineno or 0
    plain, marked = text.splitlines(), _highlighted(text)
    while not plain[start].strip():
        start += 1
    return list(zip(plain[start:], marked[start:], strict=True)), start + 1


def whole(path: Path) -> list[str]:
    """The lines of a file after its docstring, highlighted."""
    text = path.read_text(encoding="utf-8")
    start = ast.parse(text).body[0].end_lineno or 0
    return _highlighted(text)[start:]


def program(f: Callable[..., Any]) -> list[tuple[int, str]]:
    """The lines of a function, highlighted, with their numbers, without decorators and docstring; [] if unknown."""
    inner = inspect.unwrap(f)
    if getattr(getattr(inner, "__code__", None), "co_filename", "") == "<string>":
        return []  # from exec or eval: from Python 3.13 on, inspect may have the source of `python -c` for it
    try:
        lines, start = inspect.getsourcelines(inner)
    except (OSError, TypeError):
        return []
    text = _dedented(lines)
    numbered = list(enumerate(_highlighted(text), start=start))
    try:
        with unwarned():
            (node,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # a lambda in the middle of something
        return numbered
    if not isinstance(node, ast.FunctionDef):
        return numbered
    first = node.body[0]
    left_out = set(range(node.lineno - 1))
    if ast.get_docstring(node) is not None and len(node.body) > 1:
        left_out |= set(range(first.lineno - 1, first.end_lineno or first.lineno))
    return [line for k, line in enumerate(numbered) if k not in left_out]


def _dedented(lines: list[str]) -> str:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] if not line[:indent].strip() else line for line in lines)


def _highlighted(text: str) -> list[str]:
    """A line of HTML for each line; pygments closes what it opens within a line."""
    count = len(text.splitlines())
    html = highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).split("\n")
    return html[:count]
