"""A Python function's source: its syntax tree, the values of its names, and the place of a construct for errors."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any, NoReturn

from dualrev.diagnostics.signatures import unwarned
from stages.calculus.language.errors import NotTranslated
from stages.calculus.text.tokens import RESERVED

__all__ = [
    "Source",
    "Untyped",
    "assigned",
    "circle",
    "clean",
    "grown",
    "is_endless",
    "leaves",
    "loaded",
    "locate",
    "nodes",
    "surely",
]

FunctionNode = ast.FunctionDef | ast.Lambda


class Untyped(NotTranslated):
    """A type is unknown at this place, but another place may determine it."""


@dataclass(frozen=True)
class Source:
    """A global function: its place, its syntax tree, the values of its names, and the objects of its annotations."""

    file: str
    node: FunctionNode
    names: Mapping[str, Any]
    annotations: Mapping[str, Any]
    name: str

    def refuse(self, node: ast.AST, why: str, instead: str, kind: type[NotTranslated] = NotTranslated) -> NoReturn:
        """NotTranslated: file, line, the construct, why, and what to write instead."""
        text = ast.unparse(node).split("\n")[0]
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise kind(f"{self.file}:{getattr(node, 'lineno', self.node.lineno)}: `{shown}`: {why}; {instead}")


def locate(f: Any) -> Source:
    """The source of a Python function; NotTranslated if it has none, or an ambiguous one."""
    if not isinstance(f, FunctionType):
        raise NotTranslated(f"{f!r} is no Python function; pass one made by `def` or `lambda`")
    code = f.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}: {f.__name__}"
    try:
        text = "".join(inspect.findsource(f)[0])
    except (OSError, TypeError):
        raise NotTranslated(f"{place}: its source is not to be found; put the function in a file") from None
    found = [node for node in _functions(text) if _begins(node) == code.co_firstlineno and _is(node, f)]
    if len(found) != 1:
        many = f"{len(found)} lambdas with these parameters begin on one line; put each on a line of its own"
        raise NotTranslated(f"{place}: {many if found else 'its source is not to be found; put it in a file'}")
    cells = zip(code.co_freevars, f.__closure__ or (), strict=True)
    closure = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    names = {**vars(builtins), **f.__globals__, **closure}
    name = "f" if isinstance(found[0], ast.Lambda) else f.__name__
    return Source(code.co_filename, found[0], names, _annotations(f), name)


def _annotations(f: FunctionType) -> Mapping[str, Any]:
    """The annotations of f; as text if Python 3.14 cannot evaluate them."""
    try:
        return f.__annotations__
    except Exception:  # whatever evaluating them raises: who needs one says what is wrong with it
        if sys.version_info >= (3, 14):
            from annotationlib import Format, get_annotations

            return get_annotations(f, format=Format.STRING)
        raise


@lru_cache(maxsize=16)
def _functions(text: str) -> list[FunctionNode]:
    with unwarned():
        tree = ast.parse(text)
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _begins(node: FunctionNode) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _is(node: FunctionNode, f: FunctionType) -> bool:
    names = tuple(a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
    code = f.__code__
    same = names == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return same and code.co_name == ("<lambda>" if isinstance(node, ast.Lambda) else node.name)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


# Names


def nodes(body: Iterable[ast.AST], *, into_functions: bool = False) -> Iterator[ast.AST]:
    """All nodes in the order of the text; bodies of inner functions only if wanted."""
    for node in body:
        yield node
        if into_functions or not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from nodes(ast.iter_child_nodes(node), into_functions=into_functions)


def assigned(body: Iterable[ast.AST]) -> dict[str, list[ast.AST]]:
    """The names that a body assigns, in the order of the text, with the assigning nodes."""
    found: dict[str, list[ast.AST]] = {}
    for node in nodes(body):
        match node:
            case ast.Name(name, ast.Store()) | ast.FunctionDef(name=name):
                found.setdefault(name, []).append(node)
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) if name is not None:
                found.setdefault(name, []).append(node)
            case ast.Expr() if (name := grown(node)) is not None:
                found.setdefault(name, []).append(node)
    return found


def grown(node: ast.AST) -> str | None:
    """The name of the list that `xs.append(x)` or `xs.extend(ys)` changes; None for other nodes."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append" | "extend"), [_], [])):
            return name
    return None


def loaded(body: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """The names that a body reads, also in inner functions; `x += 1` reads x."""
    for node in nodes(body, into_functions=True):
        match node:
            case ast.Name(_, ast.Load()) | ast.AugAssign(target=ast.Name()):
                yield node if isinstance(node, ast.Name) else node.target  # type: ignore[misc]


def leaves(body: list[ast.stmt]) -> str:
    """Whether a block returns, or leaves its loop: "always", "sometimes" or "never"."""
    found = "never"
    for statement in body:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return "always"
            case ast.For() | ast.While():
                returns = any(isinstance(node, ast.Return) for node in nodes([statement]))
                arms = {"always" if is_endless(statement) else "sometimes" if returns else "never"}
            case ast.If(_, yes, no):
                arms = {leaves(yes), leaves(no)}
            case ast.Match(_, cases):
                arms = {leaves(case.body) for case in cases}
            case _:
                continue
        if arms == {"always"}:
            return "always"
        found = found if arms == {"never"} else "sometimes"
    return found


def surely(body: Sequence[ast.stmt]) -> set[str]:
    """The names that a block assigns on every path."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ast.If(_, yes, no):
                found |= surely(yes) & surely(no)
            case ast.Match(_, cases):
                found |= set.intersection(*[set(assigned([case.pattern])) | surely(case.body) for case in cases])
            case ast.For() | ast.While():
                pass
            case _:
                found |= set(assigned([statement]))
    return found


def circle(neighbours: list[ast.FunctionDef]) -> tuple[list[ast.FunctionDef], bool]:
    """The first function with the following ones that it needs, and whether they are recursive."""
    uses = [{read.id for read in loaded(node.body)} for node in neighbours]
    last, i, recursive = 0, 0, False
    while i <= last:
        needed = [j for j, node in enumerate(neighbours) if node.name in uses[i]]
        recursive = recursive or bool(needed)
        last = max([last, *needed])
        i += 1
    return neighbours[: last + 1], recursive


def is_endless(loop: ast.For | ast.While) -> bool:
    """Whether a loop is `while True` without a break of its own: only a return ends it."""

    def breaks(body: Iterable[ast.AST]) -> bool:
        """Whether a body has a break that is not in an inner loop or function."""
        inner = (one for one in body if not isinstance(one, ast.For | ast.While | ast.FunctionDef | ast.Lambda))
        return any(isinstance(one, ast.Break) or breaks(ast.iter_child_nodes(one)) for one in inner)

    constant = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value is True
    return constant and not breaks(loop.body)


def clean(name: str) -> str:
    """A Python name as a variable of the calculus: size is size_, _x is x_ (hidden names begin so), N is n_."""
    bare = name.lstrip("_") or "unused"
    if bare != name or bare in RESERVED or bare[0].isupper() or bare[0].isdigit():
        return f"{'n' if bare[0].isdigit() else ''}{bare[0].lower()}{bare[1:]}_"
    return name
