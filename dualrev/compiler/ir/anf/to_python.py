"""ANF -> Python syntax trees: one expression per operation.

Precedence and parentheses are left to `ast.unparse`.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.atoms import Global
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, UserValue

__all__ = [
    *[
        "applied",
        "atom",
        "binary",
        "call",
        "dtype_name",
        "effect",
        "expression",
        "copied",
        "flattened",
        "left_of",
        "name",
        "names_in",
    ],
    *["number", "opaque", "renamed", "subscript", "substitute", "takes_rest", "text"],
    "SYMBOLS",
]

Sub = Callable[[anf.Atom], ast.expr]

#: Python's operators as they are written.
SYMBOLS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
}


def name(text: str) -> ast.expr:
    """Syntax tree of a name, of a dotted one, or of any expression."""
    if text.isidentifier():
        return ast.Name(text)
    return ast.parse(text, mode="eval").body


def dtype_name(kind: NumbaType) -> str:
    """Dotted name of a dtype: `np.float64` for numba's float64."""
    assert isinstance(kind, (types.Number, types.Boolean)), kind  # the text of other types has names of the user's
    return "np.bool_" if isinstance(kind, types.Boolean) else f"np.{kind}"


def number(x: UserValue) -> ast.expr:
    """Syntax tree of a constant; infinities and NaN get names, negative numbers a sign."""
    if isinstance(x, float) and not math.isfinite(x):
        return name("math.nan" if x != x else "math.inf" if x > 0 else "-math.inf")
    if type(x) in (int, float) and math.copysign(1.0, x) < 0.0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-x))
    return ast.Constant(x)


def atom(x: anf.Atom) -> ast.expr:
    """Syntax tree of an atom under its source name."""
    if isinstance(x, anf.Const):
        return number(x.value)
    return name(x.name if isinstance(x, anf.Ref) else x)


def call(function: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """Syntax tree of `function(*args, **keywords)`."""
    f = name(function) if isinstance(function, str) else function
    return ast.Call(f, list(args), [ast.keyword(k, v) for k, v in keywords.items()])


def applied(function: anf.Ref | Global, args: list[ast.expr]) -> ast.Call:
    """Syntax tree of a call of a user's function, whose last parameter may be `*rest`."""
    if takes_rest(function.value):
        args = [*args[:-1], ast.Starred(args[-1], ast.Load())]
    return call(function.name, *args)


def takes_rest(f: Dispatcher) -> bool:
    """Whether a numba function has a `*args` parameter."""
    return bool(getattr(f, "py_func", None) and f.py_func.__code__.co_flags & inspect.CO_VARARGS)


def binary(symbol: str, a: ast.expr, b: ast.expr) -> ast.expr:
    """Syntax tree of `a symbol b`."""
    made = ast.parse(f"a {symbol} b", mode="eval").body
    assert isinstance(made, ast.BinOp)
    return ast.BinOp(a, made.op, b)


def index(entries: anf.Index, sub: Sub) -> ast.expr:
    """Syntax tree of an index, without the brackets."""
    parts: list[ast.expr] = []
    for entry in entries:
        if isinstance(entry, anf.Slice):
            lower, upper, step = (None if x is None else sub(x) for x in (entry.lower, entry.upper, entry.step))
            parts.append(ast.Slice(lower, upper, step))
        elif entry is None or isinstance(entry, EllipsisType):
            parts.append(ast.Constant(entry))
        else:
            parts.append(sub(entry))
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())


def subscript(base: ast.expr, entries: anf.Index, sub: Sub) -> ast.expr:
    """Syntax tree of `base[entries]`, or of `base.field`."""
    if isinstance(first := entries[0] if entries else None, anf.Member):
        return ast.Attribute(base, str(first.value), ast.Load())
    return ast.Subscript(base, index(entries, sub), ast.Load())


class _Replace(ast.NodeTransformer):
    def __init__(self, sub: Callable[[str], ast.expr | None]) -> None:
        self.sub = sub

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a variable."""
        found = self.sub(node.id)
        return node if found is None else found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace in the base of an attribute, unless it is a module."""
        if isinstance(node.value, ast.Name) and node.value.id in ("math", "cmath", "np", "runtime"):
            return node
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace in the arguments of a call, and in the object of a method."""
        node.func = self.visit(node.func) if isinstance(node.func, ast.Attribute) else node.func
        node.args = [self.visit(x) for x in node.args]
        for k in node.keywords:
            k.value = self.visit(k.value)
        return node


def substitute(tree: ast.expr, sub: Callable[[str], ast.expr | None]) -> ast.expr:
    """Substitute expressions for the variables of an expression; a copy."""
    copied = ast.parse(ast.unparse(tree), mode="eval").body
    made = _Replace(sub).visit(copied)
    assert isinstance(made, ast.expr)
    return made


def copied(tree: ast.expr) -> ast.expr:
    """Copy an expression, to change it in place."""
    return substitute(tree, lambda _: None)


def renamed(tree: ast.expr, names: Mapping[str, str]) -> ast.expr:
    """Rename variables of an expression; a copy."""
    return substitute(tree, lambda x: name(names[x]) if x in names else None)


def expression(s: anf.Let, sub: Sub) -> ast.expr:
    """Syntax tree of the value of an operation; `sub` gives the expression for an atom."""
    match s:
        case anf.Copy(source=x):
            return sub(x)
        case anf.Discrete() | anf.OpaqueExpr():
            inside = set(s.names)
            return substitute(s.tree, lambda x: sub(x) if x in inside else None)
        case anf.AsList(iterable=x):
            return call("runtime.listed", sub(x))
        case anf.BinOp() | anf.InplaceOp():
            return binary(s.symbol, sub(s.left), sub(s.right))
        case anf.UnaryOp(symbol=symbol, operand=x):
            return ast.UnaryOp({"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert()}[symbol], sub(x))
        case anf.CallKnown(function=f):
            return _call(name(f), list(map(sub, s.args)), s.keywords)
        case anf.CallMethod(base=x, method=method):
            return _call(ast.Attribute(sub(x), method, ast.Load()), list(map(sub, s.arguments)), s.keywords)
        case anf.GetItem(base=x, index=places) | anf.Load(array=x, index=places) | anf.View(array=x, index=places):
            return subscript(sub(x), places, sub)
        case anf.GetAttr(base=x, name=attribute):
            return ast.Attribute(sub(x), attribute, ast.Load())
        case anf.MakeTuple(items=items, cls=cls):
            return ast.Tuple(list(map(sub, items)), ast.Load()) if cls is None else call(cls.name, *map(sub, items))
        case anf.MakeObject(cls=cls):
            return call(cls.name, *map(sub, s.args))
        case anf.CallUser(function=f) | anf.CallUfunc(function=f):
            return applied(f, list(map(sub, s.args)))
        case anf.CallStarred(star=star):
            return _starred(star, s.args, sub)
        case anf.AllocList(typed=typed):
            return call("runtime.List") if typed else ast.List([], ast.Load())
        case anf.MakeList(items=items):
            return ast.List(list(map(sub, items)), ast.Load())
        case anf.MakeArray(items=items, places=places, dtype=dtype):
            values = nested(places, lambda k: sub(items[k]))
            return _call(name("np.array"), [values, *map(sub, dtype)], ("dtype",) if dtype else ())
    raise AssertionError(s)


def _starred(star: anf.Star, args: tuple[anf.Atom, ...], sub: Sub) -> ast.expr:
    """Syntax tree of `g(x, *t, k=y)`."""
    made = [
        ast.Starred(sub(x), ast.Load()) if starred else sub(x) for x, starred in zip(args, star.stars, strict=False)
    ]
    made += [sub(x) for x in args[len(made) :]]
    callee = star.callee if isinstance(star.callee, str) else star.callee.name
    return _call(name(callee), made, star.keywords)


def nested(places: anf.Places | int, sub: Callable[[int], ast.expr]) -> ast.expr:
    """Syntax tree of a nested list, whose leaves `sub` gives."""
    return ast.List([nested(x, sub) for x in places], ast.Load()) if isinstance(places, list) else sub(places)


def flattened(places: anf.Places) -> Iterator[int]:
    """Leaves of a nested list of indices, in order."""
    for x in places:
        if isinstance(x, list):
            yield from flattened(x)
        else:
            yield x


def _call(f: ast.expr, args: list[ast.expr], keywords: tuple[str, ...]) -> ast.expr:
    first = len(args) - len(keywords)
    return ast.Call(f, args[:first], [ast.keyword(k, v) for k, v in zip(keywords, args[first:], strict=True)])


def effect(s: anf.Effect, sub: Sub) -> str:
    """Python text of a `raise` or a `print`."""
    return s.text.format(*(text(sub(x)) for x in s.args))


def left_of(names: Iterable[str], tree: ast.expr) -> tuple[str, ...]:
    """Names among these that stand in an expression."""
    inside = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    return tuple(x for x in names if x in inside)


def names_in(code: Iterable[ast.AST]) -> list[str]:
    """Names in statements, each once."""
    return list(dict.fromkeys(x.id for s in code for x in ast.walk(s) if isinstance(x, ast.Name)))


class _Renaming(_Replace):
    """Substitution of expressions for variables in statements; `objmode(x="int64")` names a variable, too."""

    def visit_With(self, node: ast.With) -> ast.With:
        """Rename in a `with` statement, keywords of `objmode` included."""
        for item in node.items:
            for k in item.context_expr.keywords if isinstance(item.context_expr, ast.Call) else ():
                found = self.sub(str(k.arg))
                k.arg = found.id if isinstance(found, ast.Name) else k.arg
        self.generic_visit(node)
        return node


def opaque(code: Iterable[ast.stmt], names: Mapping[str, ast.expr]) -> str:
    """Print opaque statements, with these expressions for the names in them."""
    copied = ast.parse(ast.unparse(ast.Module([*code], [])))
    return ast.unparse(_Renaming(names.get).visit(copied))


def text(tree: ast.expr) -> str:
    """Print an expression."""
    return ast.unparse(tree)
