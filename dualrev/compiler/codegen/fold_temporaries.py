"""Forward substitution of temporaries in emitted code: names that are read once give way to their values.

A generated name (`_3`, `d_7`) that is assigned once and read once, later in the same block, is replaced by its
expression, unless something in between changes a variable or memory that the expression reads. Generated names that
nothing reads go. What numba compiles is the same; what people read is closer to what they wrote.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement, Pop, Push, Suite
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.names import readable, words_of

__all__ = ["tidy"]

_PURE = re.compile(
    r"math\.\w+|np\.(?!empty|zeros|ones|dot)\w+|abs|min|max|int|float|bool|len|runtime\.(range_length|rising|falling|scaled|known|along|along_both|bits|whole|room|rounds|natural)"
)
_PRODUCTS = ("runtime.scaled", "runtime.known", "runtime.along", "runtime.along_both")
_WIDE = 88


def tidy(code: list[CodeStatement], is_temporary: Callable[[str], bool]) -> list[CodeStatement]:
    """Substitute temporaries forward until a fixpoint, in place; return the code."""
    while _Round(code, is_temporary).block(code):
        pass
    return code


class _Round:
    """Definitions and uses of names in the code, for one iteration of forward substitution."""

    def __init__(self, code: list[CodeStatement], is_temporary: Callable[[str], bool]) -> None:
        self.is_temporary = is_temporary
        self.readers: dict[str, Counter[CodeStatement]] = defaultdict(Counter)
        self.written: dict[str, list[int]] = defaultdict(list)  # positions, in order
        self.at: dict[CodeStatement, int] = {}
        self.last: dict[CodeStatement, int] = {}  # the position of the last statement inside
        self.block_of: dict[CodeStatement, list[CodeStatement]] = {}
        self.memory: list[int] = []  # where memory may change
        self.number(code)

    def number(self, code: list[CodeStatement]) -> None:
        """Number the statements in program order, and record the names that each reads and writes."""
        for s in code:
            self.at[s], self.block_of[s] = len(self.at), code
            self.enter(s)
            for name in _writes(s):
                self.written[name].append(self.at[s])
            if isinstance(s, Suite):
                self.number(s.body)
                self.number(s.orelse)
            self.last[s] = len(self.at) - 1

    def enter(self, s: CodeStatement) -> None:
        """Record what a statement reads, and whether it changes memory."""
        for name in _reads(s):
            self.readers[name][s] += 1
        if _changes_memory(s) and not self.between(self.memory, self.at[s] - 1, self.at[s]):
            bisect.insort(self.memory, self.at[s])

    def leave(self, s: CodeStatement) -> None:
        """Forget what a statement reads."""
        for name in set(_reads(s)):
            del self.readers[name][s]

    def drop(self, code: list[CodeStatement], k: int, name: str) -> None:
        """Delete the assignment `code[k]` to a name, with its records."""
        s = code.pop(k)
        self.leave(s)
        self.written[name].remove(self.at[s])

    def between(self, positions: list[int], first: int, last: int) -> bool:
        """Whether one of the positions lies after `first` and not after `last`."""
        return bisect.bisect_right(positions, first) < bisect.bisect_right(positions, last)

    def block(self, code: list[CodeStatement]) -> bool:
        """Substitute in a block and in the blocks inside; return whether anything has changed."""
        changed = False
        for s in code:
            if isinstance(s, Suite):
                changed |= self.block(s.body)
                changed |= self.block(s.orelse)
        end = self.last[code[-1]] if code else 0
        k = 0
        while k < len(code):
            s = code[k]
            if isinstance(s, Assign) and s.op == "=" and isinstance(s.target, ast.Name):
                name = s.target.id
                if self.is_temporary(name) and self.can_go(code, k, s, name, end):
                    self.drop(code, k, name)
                    changed = True
                    continue
            k += 1
        return changed

    def can_go(self, code: list[CodeStatement], k: int, s: Assign, name: str, end: int) -> bool:
        """Whether the assignment of a temporary can be deleted: it is dead, or its value was substituted, here."""
        count = self.readers[name].total()
        if count == 0:
            return _is_pure(s.value)
        if len(self.written[name]) != 1:
            return False
        return self.same(s, name, end) or (count == 1 and self.inline(code, k, s, name))

    def same(self, s: Assign, name: str, end: int) -> bool:
        """Copy propagation of a name or a constant; return whether it was possible."""
        if not isinstance(s.value, (ast.Name, ast.Constant)):
            return False
        here, readers = self.at[s], list(self.readers[name])
        if not all(here < self.at[t] <= end and _can_put(t) for t in readers):
            return False  # it is read elsewhere, too
        if isinstance(s.value, ast.Name):
            written = self.written[s.value.id]
            if len(written) > 1 or self.between(written, here, end):
                return False
        for t in readers:
            self.put(t, name, s.value)
        return True

    def inline(self, code: list[CodeStatement], k: int, s: Assign, name: str) -> bool:
        """Substitute the value of `code[k]` into its only reader; return whether it was possible."""
        (t,) = self.readers[name]
        here, there = self.at[s], self.at[t]
        if self.block_of[t] is not code or there < here:
            return False
        if not _is_pure(s.value) and t is not code[k + 1]:
            return False
        if any(self.between(self.written[x], here, there - 1) for x in _names(s.value)):
            return False
        if _reads_memory(s.value) and self.between(self.memory, here, there - 1):
            return False
        return _in_order(t, s.value) and self.put(t, name, s.value)

    def put(self, t: CodeStatement, name: str, value: ast.expr) -> bool:
        """Substitute a value for a name in a statement, and update the records; return whether it was possible."""
        self.leave(t)
        done = _put(t, name, value)
        self.enter(t)
        return done


def _names(tree: ast.AST) -> list[str]:
    """Names in a tree, in no order: `ast.walk` would take three times as long."""
    found: list[str] = []
    todo: list[object] = [tree]
    while todo:
        x = todo.pop()
        if isinstance(x, ast.Name):
            found.append(x.id)
        elif isinstance(x, list):
            todo += x
        elif isinstance(x, ast.AST):
            todo += vars(x).values()
    return found


def _header(s: Suite) -> ast.stmt:
    return ast.parse(f"{s.header} pass").body[0]


def _reads(s: CodeStatement) -> list[str]:
    """Names that a statement reads, without the blocks inside."""
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


def _writes(s: CodeStatement) -> list[str]:
    """Names that a statement assigns, without the blocks inside."""
    if isinstance(s, Assign):
        return words_of(s.target.id) if isinstance(s.target, ast.Name) else []
    if isinstance(s, Pop):
        return [*(target.id for target, _ in s.targets if isinstance(target, ast.Name)), "top"]
    if isinstance(s, Push):
        return ["top"]
    if isinstance(s, Suite):
        header = _header(s)
        return _names(header.target) if isinstance(header, ast.For) else []
    return [n.id for n in ast.walk(ast.parse(s.text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _changes_memory(s: CodeStatement) -> bool:
    if isinstance(s, Assign):
        return isinstance(s.target, ast.Subscript) or not _is_pure(s.value)
    return isinstance(s, (Code, Pop, Suite))


def _is_pure(value: ast.expr) -> bool:
    """Whether an expression is free of effects: its only calls are arithmetic."""
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(_PURE.fullmatch(ast.unparse(c.func)) for c in calls)


def _reads_memory(value: ast.AST) -> bool:
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call) and ast.unparse(n.func) not in _PRODUCTS]
    return bool(calls) or any(isinstance(n, ast.Subscript) for n in ast.walk(value))


def _can_put(t: CodeStatement) -> bool:
    return isinstance(t, (Assign, Push)) or (isinstance(t, Suite) and not t.header.startswith("while"))


def _in_order(t: CodeStatement, value: ast.expr) -> bool:
    """Whether substitution of a value keeps the order of its calls and the memory reads of the statement.

    `d[0] += g(d)` reads d[0] before it calls g, and `g(d) + d[0]` after that.
    """
    if not isinstance(t, (Assign, Push, Suite)):
        return False
    parts: Sequence[ast.AST] = [t.value] if isinstance(t, Assign) else t.words if isinstance(t, Push) else [_header(t)]
    if _acts(value):
        updates = isinstance(t, Assign) and isinstance(t.target, ast.Subscript) and t.op != "="
        return not updates and not any(map(_reads_memory, parts))
    return not _reads_memory(value) or not any(map(_acts, parts))


def _acts(value: ast.AST) -> bool:
    """Whether an expression has a call that may change memory."""
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return any(
        not _PURE.fullmatch(f) and not re.fullmatch(r"np\.\w+|\w+\.copy", f)
        for f in [ast.unparse(c.func) for c in calls]
    )


def _put(t: CodeStatement, name: str, value: ast.expr) -> bool:
    """Substitute a value for a name in a statement, unless the line becomes too wide; return whether it was done."""
    short = isinstance(value, (ast.Name, ast.Constant))

    def sub(x: str) -> ast.expr | None:
        """Map the name to its value, other names to None."""
        return value if x == name else None

    if isinstance(t, Assign):
        if isinstance(t.target, ast.Name) and t.target.id == name:
            return False
        made = to_python.substitute(t.value, sub)
        target = to_python.substitute(t.target, sub) if isinstance(t.target, ast.Subscript) else t.target
        if not short and len(readable(ast.unparse(made) + ast.unparse(target))) > _WIDE:
            return False
        t.value, t.target = made, target
        return True
    if isinstance(t, Push):
        t.words = [to_python.substitute(word, sub) for word in t.words]
        return True
    if isinstance(t, Suite):
        header = _header(t)
        if isinstance(header, ast.For) and _is_pure(value):
            made = to_python.substitute(header.iter, sub)
            text = f"for {ast.unparse(header.target)} in {ast.unparse(made)}:"
        elif isinstance(header, ast.If) and _is_pure(value):
            text = f"if {ast.unparse(to_python.substitute(header.test, sub))}:"
        else:
            return False
        if not short and len(readable(text)) > _WIDE:
            return False
        t.header = text
        return True
    return False
