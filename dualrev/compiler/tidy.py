"""Emitted code -> shorter code that means the same: names that are used once give way to what they stand for.

A generated name (`_3`, `d_7`) that is assigned once and read once, later in the same block, is replaced by its
expression, unless something in between changes a variable or memory that the expression reads. Generated names that
nothing reads go. What numba compiles is the same; what people read is closer to what they wrote.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

from dualrev.compiler import syntax
from dualrev.compiler.code import Assign, Code, Pop, Push, Suite

__all__ = ["tidy"]

_GENERATED = re.compile(r"_(\d+|t\d+|d\d*|\d+_\d+_?)|d_t?\d+_*|d_\d+_\d+_*|_(break|continue)\d+")
_PURE = re.compile(
    r"math\.\w+|np\.(?!empty|zeros|ones|dot)\w+|abs|min|max|int|float|bool|len|runtime\.(range_length|bits|whole)"
)
_WIDE = 88


def tidy(code: list[Any]) -> list[Any]:
    """The shorter code; the statements are changed in place."""
    while _round(code):
        pass
    return code


def _round(code: list[Any]) -> bool:
    reads: Counter[str] = Counter()
    writes: Counter[str] = Counter()
    for s in _all(code):
        reads.update(_reads(s))
        writes.update(_writes(s))
    return _block(code, reads, writes)


def _all(code: list[Any]) -> Any:
    for s in code:
        yield s
        if isinstance(s, Suite):
            yield from _all(s.body)
            yield from _all(s.orelse)


def _names(tree: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]


def _header(s: Suite) -> ast.stmt:
    return ast.parse(f"{s.header} pass").body[0]


def _reads(s: Any) -> list[str]:
    """The names that a statement itself reads."""
    if isinstance(s, Assign):
        found = _names(s.value)
        if isinstance(s.target, ast.Name):
            return found + ([s.target.id] if s.op != "=" else [])
        return found + (_names(s.target) if isinstance(s.target, ast.Subscript) else [])
    if isinstance(s, Push):
        return [x for word in s.words for x in _names(word)]
    if isinstance(s, Pop):
        return [x for target, _ in s.targets if isinstance(target, ast.Subscript) for x in _names(target)]
    if isinstance(s, Suite):
        header = _header(s)
        if isinstance(header, ast.For):
            return _names(header.iter)
        return _names(header.test) if isinstance(header, (ast.If, ast.While)) else []
    return _names(ast.parse(s.text))


def _writes(s: Any) -> list[str]:
    """The names that a statement itself assigns."""
    if isinstance(s, Assign):
        return re.findall(r"\w+", s.target.id) if isinstance(s.target, ast.Name) else []
    if isinstance(s, Pop):
        return [*(target.id for target, _ in s.targets if isinstance(target, ast.Name)), "top"]
    if isinstance(s, Push):
        return ["top"]
    if isinstance(s, Suite):
        header = _header(s)
        return _names(header.target) if isinstance(header, ast.For) else []
    return [n.id for n in ast.walk(ast.parse(s.text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _changes_memory(s: Any) -> bool:
    if isinstance(s, Assign):
        return isinstance(s.target, ast.Subscript) or not _is_pure(s.value)
    return isinstance(s, (Code, Pop, Suite))


def _is_pure(value: ast.expr) -> bool:
    """Whether an expression has no effects: no calls but of arithmetic."""
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(_PURE.fullmatch(ast.unparse(c.func)) for c in calls)


def _reads_memory(value: ast.expr) -> bool:
    return any(isinstance(n, (ast.Subscript, ast.Call)) for n in ast.walk(value))


def _block(code: list[Any], reads: Counter[str], writes: Counter[str]) -> bool:
    changed = False
    for s in code:
        if isinstance(s, Suite):
            changed |= _block(s.body, reads, writes)
            changed |= _block(s.orelse, reads, writes)
    k = 0
    while k < len(code):
        s = code[k]
        if (
            isinstance(s, Assign)
            and s.op == "="
            and isinstance(s.target, ast.Name)
            and _GENERATED.fullmatch(s.target.id)
        ):
            name = s.target.id
            dead = reads[name] == 0 and _is_pure(s.value)
            if not dead and writes[name] == 1 and _same(code, k, s, reads, writes):
                del code[k]
                changed = True
                continue
            if dead or (reads[name] == 1 and writes[name] == 1 and _inline(code, k, s)):
                if dead:
                    reads.subtract(_names(s.value))
                del code[k]
                changed = True
                continue
        k += 1
    return changed


def _same(code: list[Any], k: int, s: Assign, reads: Counter[str], writes: Counter[str]) -> bool:
    """Use the other name, or the constant, for a name that stands for it; whether that was possible."""
    assert isinstance(s.target, ast.Name)
    name = s.target.id
    if not isinstance(s.value, (ast.Name, ast.Constant)):
        return False
    rest = list(_all(code[k + 1 :]))
    if sum(_reads(t).count(name) for t in rest) != reads[name]:
        return False  # it is read elsewhere, too
    if isinstance(s.value, ast.Name):
        other = s.value.id
        if writes[other] > 1 or any(other in _writes(t) for t in rest):
            return False
        reads[other] += reads[name] - 1
    if not all(_can_put(t) for t in rest if name in _reads(t)):
        return False
    for t in rest:
        if name in _reads(t):
            _put(t, name, s.value)
    return True


def _can_put(t: Any) -> bool:
    return isinstance(t, (Assign, Push)) or (isinstance(t, Suite) and not t.header.startswith("while"))


def _inline(code: list[Any], k: int, s: Assign) -> bool:
    """Put the value of code[k] where its name is read; whether that was possible."""
    assert isinstance(s.target, ast.Name)
    name, inputs, memory = s.target.id, set(_names(s.value)), _reads_memory(s.value)
    if not _is_pure(s.value) and (k + 1 >= len(code) or name not in _reads(code[k + 1])):
        return False
    for t in code[k + 1 :]:
        if name in _reads(t):
            return _in_order(t, s.value) and _put(t, name, s.value)
        inner = [t, *_all([t])]
        if any(inputs & set(_writes(u)) for u in inner) or (memory and any(_changes_memory(u) for u in inner)):
            return False
        if any(name in _reads(u) for u in inner):
            return False
    return False


def _in_order(t: Any, value: ast.expr) -> bool:
    """Whether a call keeps its place: before what the statement reads from memory, after what was read before it.

    `d[0] += g(d)` reads d[0] before it calls g, and `g(d) + d[0]` after that.
    """
    if not isinstance(t, (Assign, Push, Suite)):
        return False
    parts: list[Any] = [t.value] if isinstance(t, Assign) else t.words if isinstance(t, Push) else [_header(t)]
    if _acts(value):
        updates = isinstance(t, Assign) and isinstance(t.target, ast.Subscript) and t.op != "="
        return not updates and not any(map(_reads_memory, parts))
    return not _reads_memory(value) or not any(map(_acts, parts))


def _acts(value: ast.expr) -> bool:
    """Whether an expression calls what may change memory."""
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return any(
        not _PURE.fullmatch(f) and not re.fullmatch(r"np\.\w+|\w+\.copy", f)
        for f in [ast.unparse(c.func) for c in calls]
    )


def _put(t: Any, name: str, value: ast.expr) -> bool:
    """Replace a name in a statement, unless it becomes too wide."""
    short = isinstance(value, (ast.Name, ast.Constant))

    def sub(x: str) -> ast.expr | None:
        return value if x == name else None

    if isinstance(t, Assign):
        if isinstance(t.target, ast.Name) and t.target.id == name:
            return False
        made = syntax.substitute(t.value, sub)
        target = syntax.substitute(t.target, sub) if isinstance(t.target, ast.Subscript) else t.target
        if not short and len(ast.unparse(made)) + len(ast.unparse(target)) > _WIDE:
            return False
        t.value, t.target = made, target
        return True
    if isinstance(t, Push):
        t.words = [syntax.substitute(word, sub) for word in t.words]
        return True
    if isinstance(t, Suite):
        header = _header(t)
        if isinstance(header, ast.For) and _is_pure(value):
            made = syntax.substitute(header.iter, sub)
            text = f"for {ast.unparse(header.target)} in {ast.unparse(made)}:"
        elif isinstance(header, ast.If) and _is_pure(value):
            text = f"if {ast.unparse(syntax.substitute(header.test, sub))}:"
        else:
            return False
        if not short and len(text) > _WIDE:
            return False
        t.header = text
        return True
    return False
