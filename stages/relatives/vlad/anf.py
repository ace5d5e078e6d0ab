r"""A-normal form and alpha conversion: terms with patterns become Lambdas, in which every value has a name.

    (e1 e2)                  let x1 = e1; x2 = e2; x = x1 x2 in x
    (p1 ,n p2) = e           let x = J^-1 .. J^-1 e; p1 = J .. J (CAR x); p2 = J .. J (CDR x)        n times each
    J p = e                  let p = J^-1 e
    x (+)= e                 let x' = (+) (x, e), and from there on x' in place of x

A bound variable keeps its name if no other in the whole term has had it, and gets a number otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

from stages.relatives.vlad.terms import (
    EMPTY,
    Abs,
    Apply,
    Binding,
    Call,
    Cons,
    Copy,
    Expression,
    Join,
    Lambda,
    Let,
    Term,
    Var,
    VladError,
    without_recursion,
)

__all__ = ["normal"]

Steps = Generator[Any, Any, Any]
Undo = list[tuple[str, str | None]]
Bindings = list[tuple[str, Expression]]


def normal(term: Abs, is_global: Callable[[str], bool], known: Iterable[str] = ()) -> Lambda:
    """The unit of an abstraction whose free variables are global or known; VladError for any other."""
    made: Lambda = without_recursion(_Conversion(is_global, known).unit(term))
    return made


class _Conversion:
    """One conversion: the names in use, and the current name of each variable."""

    def __init__(self, is_global: Callable[[str], bool], known: Iterable[str]) -> None:
        self.is_global = is_global
        self.scope = {x: x for x in known}
        self.numbers = dict.fromkeys(self.scope, 0)

    def fresh(self, wanted: str) -> str:
        """The wanted name, or the name with a number if it is in use."""
        wanted = wanted.replace(" ", "")
        name = wanted
        while name in self.numbers:
            self.numbers[wanted] += 1
            name = f"{wanted}.{self.numbers[wanted]}"
        self.numbers[name] = 0
        return name

    def bind(self, x: str, name: str, undo: Undo) -> None:
        """Rename x within the current scope; `undo` notes how to restore the old name."""
        if self.is_global(x):
            raise VladError(f"{x} is a name of the language; take another for the variable")
        undo.append((x, self.scope.get(x)))
        self.scope[x] = name

    def leave(self, undo: Undo) -> None:
        """Leave a scope: restore the old names."""
        for x, before in reversed(undo):
            if before is None:
                del self.scope[x]
            else:
                self.scope[x] = before

    def unit(self, term: Abs) -> Steps:
        r"""\x e"""
        undo: Undo = []
        bindings: Bindings = []
        parameter = self.fresh(term.parameter)
        self.bind(term.parameter, parameter, undo)
        result = yield self.named(term.body, bindings)
        if not bindings or bindings[-1][0] != result:
            bindings.append((self.fresh("t"), Copy(result)))
        self.leave(undo)
        return Lambda(parameter, bindings, term)

    def named(self, term: Term, bindings: Bindings, wanted: str = "t") -> Steps:
        """The variable that holds the term's value, after adding the bindings that compute it."""
        match term:
            case Var(x):
                return self.variable(x)
            case Let(parts, body):
                undo: Undo = []
                for part in parts:
                    yield self.part(part, bindings, undo)
                result = yield self.named(body, bindings, wanted)
                self.leave(undo)
                return result
            case Apply(f, argument):
                e: Any = Call(*(yield self.both(f, argument, bindings)))
            case Cons(n, first, second):
                e = Join(n, *(yield self.both(first, second, bindings)))
            case Abs():
                e = yield self.unit(term)
            case _:
                assert isinstance(term, Lambda)
                assert all(self.scope.get(x, x) == x for x in term.free), "variables of a unit keep their names"
                e = term
        return self.add(e, bindings, wanted)

    def both(self, first: Term, second: Term, bindings: Bindings) -> Steps:
        """The variables of two terms; a variable needs no binding, which is the common case."""
        x = self.variable(first.name) if isinstance(first, Var) else (yield self.named(first, bindings))
        y = self.variable(second.name) if isinstance(second, Var) else (yield self.named(second, bindings))
        return x, y

    def variable(self, x: str) -> str:
        """The current name of a variable. VladError for an unbound one."""
        if x in self.scope:
            return self.scope[x]
        if not self.is_global(x):
            raise VladError(f"{x} is bound nowhere around its use; define it before, or put both in one letrec")
        return x

    def part(self, part: Binding, bindings: Bindings, undo: Undo) -> Steps:
        """p = e, p (+)= e"""
        if isinstance(part.pattern, Var) and part.pattern != EMPTY and not part.adds:
            x = part.pattern.name
            if isinstance(part.term, Var):  # a copy: the units inside know this variable by its own name
                name = self.add(Copy(self.variable(part.term.name)), bindings, x)
            else:
                name = yield self.named(part.term, bindings, x)
            self.bind(x, name, undo)
        else:
            value = yield self.named(part.term, bindings)
            self.take(part.pattern, Copy(value), part.adds, bindings, undo)

    def take(self, pattern: Term, e: Copy | Call, adds: bool, bindings: Bindings, undo: Undo) -> None:
        """Bind the variables of the pattern to the parts of e, or add the parts to them."""
        todo = [(pattern, e)]
        while todo:
            pattern, e = todo.pop()
            if isinstance(pattern, Var) and not adds:
                if pattern != EMPTY:
                    self.bind(pattern.name, self.add(e, bindings, pattern.name), undo)
                continue
            value = e.name if isinstance(e, Copy) else self.add(e, bindings)
            match pattern:
                case Var(x) if pattern != EMPTY:
                    both = self.add(Join(0, self.scope[x], value), bindings)
                    self.bind(x, self.add(Call("plus", both), bindings, x), undo)
                case Apply(Var("J"), inner):
                    todo.append((inner, Call("J-inverse", value)))
                case Cons(n, first, second):
                    value = self.times("J-inverse", n, value, bindings)
                    for half, part in (("cdr", second), ("car", first)):  # the first one ends up on top
                        if n and _binds(part):
                            todo.append(
                                (part, Copy(self.times("J", n, self.add(Call(half, value), bindings), bindings)))
                            )
                        elif _binds(part):
                            todo.append((part, Call(half, value)))

    def times(self, f: str, n: int, x: str, bindings: Bindings) -> str:
        """F (f (.. x)), n times"""
        for _ in range(n):
            x = self.add(Call(f, x), bindings)
        return x

    def add(self, e: Expression, bindings: Bindings, wanted: str = "t") -> str:
        """Add one binding, and return its variable."""
        name = self.fresh(wanted)
        bindings.append((name, e))
        return name


def _binds(pattern: Term) -> bool:
    """Whether the pattern contains a variable."""
    while isinstance(pattern, Apply):
        pattern = pattern.argument
    return pattern != EMPTY
