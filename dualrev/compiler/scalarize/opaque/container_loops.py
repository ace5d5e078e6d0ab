"""Loops over containers that change in them: numba's loop sees the change, and a list of the items of now does not.

A loop over the keys of a dict may give its keys other values: it raises what numba raises if the dict has another
length by then. Dicts with names of their own are different dicts. Everything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import with_blocks
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.types.aliases import NumbaType
from dualrev.diagnostics.quoting import raising

__all__ = ["READING", "with_checked_loops"]

#: Methods of sets, dicts and lists that change nothing.
READING = {"get", "keys", "values", "items", "copy", "count", "index", "union", "intersection", "difference"}
READING |= {"symmetric_difference", "issubset", "issuperset", "isdisjoint", "indices"}
_WHAT = "a container that changes in a loop over one like it", "the loop may see the change"
_INSTEAD = "a loop over a list of it, or a change after the loop"


def with_checked_loops(body: list[anf.Stmt], lowered: Lowered, of: dict[str, NumbaType]) -> list[anf.Stmt]:
    """Refuse changes that a loop may see; return the body, where one over keys raises if a dict has another length."""
    every = list(anf.walk(body))
    if not any(isinstance(s, anf.AsList) for s in every):
        return body
    made = {s.target: s for s in every if isinstance(s, (anf.AsList, anf.CallMethod, anf.CallKnown))}
    apart = _Apart(lowered, of, every)
    tests: dict[anf.For, list[anf.Stmt]] = {}
    for loop in (s for s in every if isinstance(s, anf.For)):
        inside = list(anf.walk(loop.body))
        items = {s.base for s in inside if isinstance(s, anf.GetItem) and loop.target in s.index}
        watched = set[str]()
        for source in (made[x] for x in sorted(items, key=str) if x in made and isinstance(made[x], anf.AsList)):
            for s, x in _changed(inside, of, source.args[0]):
                if not apart.are_different(x, _base(source, made)):
                    if not _leaves_keys(s, x, source, loop, of, made):
                        lowered.source.refuse(s.line, *_WHAT, _INSTEAD)
                    watched.add(x)
        tests[loop] = [t for x in sorted(watched) for t in _raise_if_longer(lowered, of, loop, x)]

    def with_tests(block: list[anf.Stmt]) -> list[anf.Stmt]:
        """Return a block whose loops end with their tests."""
        made: list[anf.Stmt] = []
        for s in block:
            new = with_blocks(s, [with_tests(b) for b in inner]) if (inner := anf.blocks(s)) else s
            if isinstance(s, anf.For) and isinstance(new, anf.For):
                new = replace(new, body=[*new.body, *tests[s]])
            made.append(new)
        return made

    return with_tests(body) if any(tests.values()) else body


def _changed(inside: list[anf.Stmt], of: Mapping[str, NumbaType], over: str) -> list[tuple[anf.Stmt, str]]:
    """Statements that may mutate a container of the same type as the iterable, with the name of the container."""
    found: list[tuple[anf.Stmt, str]] = []
    for s in inside:
        changed = [s.array] if isinstance(s, anf.Store) else s.args if isinstance(s, anf.Let) and _may_change(s) else ()
        found += [(s, x) for x in changed if isinstance(x, str) and _container(of.get(x)) == _container(of[over])]
    return found


def _base(source: anf.Let, made: Mapping[str, anf.Let]) -> str:
    """Container behind the iterable of a loop, which may be a view of it."""
    view = made.get(source.args[0])
    return str(view.args[0] if view is not None and isinstance(view, anf.CallMethod) else source.args[0])


def _leaves_keys(
    s: anf.Stmt, x: str, source: anf.Let, loop: anf.For, of: Mapping[str, NumbaType], made: Mapping[str, anf.Let]
) -> bool:
    """Whether a statement gives a key of a dict a value, in a loop over the keys of this dict alone."""
    view = made.get(source.args[0])
    over_keys = view is None or (isinstance(view, anf.CallMethod) and view.method == "keys")
    length = made.get(loop.stop) if isinstance(loop.stop, str) else None
    alone = length is not None and isinstance(length, anf.CallKnown) and length.args == (source.target,)
    stored = isinstance(s, anf.Store) and isinstance(of[x], types.DictType)
    return stored and over_keys and alone and x == _base(source, made)


def _raise_if_longer(lowered: Lowered, of: dict[str, NumbaType], loop: anf.For, x: str) -> list[anf.Stmt]:
    """Raise an error at the end of an iteration that has given a dict new keys, unless the loop ends there."""
    n, test = lowered.names.temporary(), lowered.names.temporary()
    of.update({n: types.int64, test: types.boolean})
    tree = to_python.name(f"n != m{''.join(f' and not {flag}' for flag in loop.exits)}")
    tree = to_python.substitute(tree, lambda name: to_python.name({"n": n, "m": str(loop.stop)}.get(name, name)))
    text = "a dict has got new keys in a loop over it, which cannot be differentiated: go over list(d.keys())"
    return [
        anf.CallKnown(n, "len", (x,), loop.line),
        anf.Discrete(test, (n, str(loop.stop), *loop.exits), tree, loop.line),
        anf.If(test, [anf.Effect(raising("RuntimeError", text), (), loop.line, True)], [], loop.line),
    ]


class _Apart:
    """Dicts that are different objects: they are made here, and have no other names."""

    def __init__(self, lowered: Lowered, of: Mapping[str, NumbaType], every: list[anf.Stmt]) -> None:
        self.names = Sets[str]()
        dicts = {x for x, kind in of.items() if isinstance(kind, types.DictType)}
        shared = dicts & {*lowered.parameters, lowered.result}
        for s in every:
            if not isinstance(s, anf.Let):
                shared |= dicts & {str(s.value)} if isinstance(s, anf.Store) else set()
                shared |= dicts & {*s.targets, *s.args} if isinstance(s, anf.Opaque) else set()
            elif isinstance(s, anf.Copy) and s.target in dicts:
                self.names.join(s.target, str(s.args[0]))
            elif s.target in dicts and not (
                isinstance(s, anf.OpaqueExpr) or (isinstance(s, anf.CallMethod) and s.method == "copy")
            ):
                shared.add(s.target)
            if isinstance(s, anf.Let) and not isinstance(
                s, (anf.Copy, anf.CallMethod, anf.GetItem, anf.Discrete, anf.AsList, anf.CallKnown)
            ):
                shared |= {x for x in s.args if isinstance(x, str)} & dicts
        self.shared = {self.names.find(x) for x in shared}
        self.dicts = dicts

    def are_different(self, x: str, y: str) -> bool:
        """Whether two variables never hold the same dict."""
        one, two = self.names.find(x), self.names.find(y)
        return {x, y} <= self.dicts and one != two and not {one, two} & self.shared


def _may_change(s: anf.Stmt) -> bool:
    """Whether a statement may change a container among its arguments."""
    if not isinstance(s, anf.Let) or isinstance(s, (anf.CallUser, anf.CallStarred)):
        return isinstance(s, (anf.Let, anf.Opaque))
    return (isinstance(s, anf.CallMethod) and s.method not in READING) or (isinstance(s, anf.OpaqueExpr) and not s.pure)


def _container(kind: NumbaType) -> str:
    """Type of the container behind a view, such as a dict's items; without what numba knows of its content."""
    return str(getattr(kind, "parent", kind)).split("<iv")[0]
