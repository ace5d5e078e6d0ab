r"""Section 9: polymorphic functions, and their monomorphic instances.

    letrec f : forall a b. s -> t = \(x : s). u in v      likewise in definitions; a and b are types in u
    f[R, (R, R)]                                          f at these types for a and b, in u and in v

D[a] = a, so D only needs D[f[s]] = f[D[s]]: the transformed function is polymorphic, too. Types are erased at run time,
so one function serves all of them.

    substituted     a term with types in place of parameters
    instantiated    a program without polymorphic functions: a copy of each, f, f', .., for each type that it is used at

Transformations of programs with cells (continuations/) need `instantiated` programs. Otherwise D commutes with
`instantiated`, except for programs in which a function uses itself at ever larger types: D transforms them directly,
but no finite number of copies covers them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from stages.calculus.language.declarations import Declarations, Definition, Program, substitute
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.terms import Branch, Case, Function, Instance, Lambda, Letrec, Term, Var
from stages.calculus.language.types import Arrow, ForAll, Type, parts

__all__ = ["as_function", "instantiated", "scheme", "substituted"]

_LARGER = 500  # parts that types have more than those that are written: then they are taken for ever larger ones

_Node = TypeVar("_Node")


def scheme(f: Function) -> Type:
    """The type of one of letrec's functions: forall a. s -> t, or s -> t."""
    return ForAll(f.parameters, f.type) if f.parameters else f.type


def substituted(node: _Node, at: Mapping[str, Type]) -> _Node:
    """Substitute types for parameters in a term, or in part of one."""
    return _rebuilt(node, lambda part: substitute(part, at) if isinstance(part, Type) else substituted(part, at))


def instantiated(program: Program) -> Program:
    """Replace polymorphic functions by copies. The result is well typed, with its definitions in a letrec.

    IllTyped for a function that uses itself at ever larger types.
    """
    assert not program.definitions
    if not any(isinstance(node, Function) and node.parameters for node in _nodes(program.term)):
        return program
    names = {name for node in _nodes(program.term) for name in _strings(node)}
    written = [s for node in _nodes(program.term) if isinstance(node, Instance) for s in node.types]
    largest = _LARGER + max([_size(s, math.inf) for s in written], default=0)
    try:
        return Program(_Copier(names, largest).term(program.term, {}), program.declarations)
    except RecursionError:
        raise IllTyped(
            program.term, "the term is nested too deeply to copy functions: put parts in functions"
        ) from None


def as_function(definition: Definition, known: Declarations) -> Function:
    """A definition of a function as one of letrec's."""
    parameters, kind = definition.scheme
    arrow = known.expose(kind)
    assert isinstance(arrow, Arrow)
    assert isinstance(definition.term, Lambda)
    return Function(definition.name, arrow, definition.term.name, definition.term.body, parameters)


class _Copies:
    """The copies of a polymorphic function, by their types; those in `todo` have no body yet."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names: dict[tuple[Type, ...], str] = {}
        self.todo: list[tuple[Type, ...]] = []


class _Copier:
    """Copies functions for one program, whose names are `taken`, at types of a limited number of parts."""

    def __init__(self, taken: set[str], largest: float) -> None:
        self.taken, self.largest = taken, largest

    def term(self, term: Any, known: Mapping[str, _Copies]) -> Any:
        """Rewrite a term; `known` are the polymorphic functions in scope."""
        match term:
            case Instance(Var(name), types):
                return Var(self.copy(term, known[name], types))
            case Letrec():
                return self.letrec(term, known)
            case Case(scrutinee, branches):
                made = [Branch(b.name, b.variables, self.term(b.body, _without(known, *b.variables))) for b in branches]
                return Case(self.term(scrutinee, known), tuple(made))
        if "body" not in term.__slots__ or not hasattr(term, "name"):
            return _rebuilt(term, lambda part: self.term(part, known) if isinstance(part, Term) else part)
        inner = _without(known, term.name)  # a binder: all else in it is outside of its scope
        body = self.term(term.body, inner)
        outer = _rebuilt(
            term, lambda part: self.term(part, known) if isinstance(part, Term) and part is not term.body else part
        )
        return dataclasses.replace(outer, body=body)

    def copy(self, at: Term, copies: _Copies, types: tuple[Type, ...]) -> str:
        """The name of the copy for these types, which is made if needed."""
        name = copies.function.name
        if any(_size(s, self.largest) > self.largest for s in types):  # first: what is so large takes long to compare
            raise IllTyped(at, f"{name} uses itself at ever larger types, so that no number of copies is enough")
        if types not in copies.names:
            while name in self.taken and copies.names:
                name += "'"
            self.taken.add(name)
            copies.names[types] = name
            copies.todo.append(types)
        return copies.names[types]

    def letrec(self, term: Letrec, known: Mapping[str, _Copies]) -> Term:
        """Replace polymorphic functions by their copies; unused ones disappear."""
        known = _without(known, *(f.name for f in term.functions))
        own = {f.name: _Copies(f) for f in term.functions if f.parameters}
        known = {**known, **own}
        body = self.term(term.body, known)
        made = [self.function(f, known) for f in term.functions if not f.parameters]
        while waiting := next((copies for copies in own.values() if copies.todo), None):
            types = waiting.todo.pop()
            f = waiting.function
            at = substituted(f, dict(zip(f.parameters, types, strict=True)))
            made.append(self.function(dataclasses.replace(at, name=waiting.names[types], parameters=()), known))
        return Letrec(tuple(made), body) if made else body

    def function(self, f: Function, known: Mapping[str, _Copies]) -> Function:
        """One of letrec's functions, without parameters."""
        return dataclasses.replace(f, body=self.term(f.body, _without(known, f.parameter)))


def _without(known: Mapping[str, _Copies], *names: str) -> Mapping[str, _Copies]:
    return {name: copies for name, copies in known.items() if name not in names}


def _size(type_: Type, most: float) -> int:
    """The number of parts of a type; counting stops above `most`."""
    count, todo = 0, [type_]
    while todo and count <= most:
        count += 1
        todo.extend(parts(todo.pop()))
    return count


# Terms and their parts, whatever they are


def _rebuilt(node: Any, change: Any) -> Any:
    """A node of the syntax with `change` applied to its child nodes and types."""
    fields = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if dataclasses.is_dataclass(value):
            fields[field.name] = change(value)
        elif isinstance(value, tuple):
            fields[field.name] = tuple([change(part) if dataclasses.is_dataclass(part) else part for part in value])
    return dataclasses.replace(node, **fields) if fields else node


def _nodes(node: Any) -> Iterator[Any]:
    """All nodes of the syntax, without types."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        for field in dataclasses.fields(node):
            value = getattr(node, field.name)
            parts = value if isinstance(value, tuple) else (value,)
            todo.extend(part for part in parts if dataclasses.is_dataclass(part) and not isinstance(part, Type))


def _strings(node: Any) -> Iterator[str]:
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, str))
