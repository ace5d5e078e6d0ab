r"""Python functions as programs: `translate(f, *types)`.

    def f(x: float, n: int) -> float: ..         \(x : R, n : Int). ..      a closed term of type (R, Int) -> R
    def f() -> float: ..                         \(unit_ : ()). ..

The subset, case by case: expressions.py, calls.py, sequences.py, statements.py; tagged unions: unions.py. The functions
that a function calls are translated with it: each global function once for all types that it is called at, around the
body, after the functions that it calls itself; mutually recursive functions are one letrec. Everything else raises
NotTranslated: file, line, the construct, why, and what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import NotTranslated
from stages.calculus.language.types import Arrow, Parameter, Type
from stages.calculus.python.source import Source, Untyped, clean, locate
from stages.calculus.python.statements import Statements
from stages.calculus.python.terms import Typed
from stages.calculus.python.types import Callables, at, is_known, lower, match_type
from stages.calculus.python.union import union
from stages.calculus.python.unions import Unions, from_value, to_value

__all__ = ["from_value", "to_value", "translate", "union"]


def translate(f: Callable[..., Any], *types: Any) -> Program:
    r"""Translate a Python function to a program. `types` are the parameters' types, if it has no annotations.

    They are annotations (float, tuple[float, int], Tree) or types of the calculus. NotTranslated if the function is
    outside of the subset.

    >>> from stages.calculus.language.types import REAL
    >>> translate(lambda x: x * 2, REAL).term.body
    Operation(name='mul', arguments=(Var(name='x'), Literal(value=2.0)))
    """
    translation = _Translation()
    source = locate(f)
    declared = translation.signature(source)
    if types:
        if len(types) != len(declared):
            source.refuse(
                source.node, f"it has {len(declared)} parameters, and {len(types)} types are given", "give all"
            )
        declared = [translation.annotation(source, annotation) for annotation in types]
    for argument, type_ in zip(source.node.args.posonlyargs + source.node.args.args, declared, strict=True):
        if not is_known(type_):
            instead = f"annotate: {argument.arg}: float, or pass the type to translate"
            source.refuse(argument, "a parameter whose type is not known", instead)
    translation.instance(f, declared)
    return Program(translation.term(), translation.unions.declarations())


@dataclass(eq=False)
class _Instance:
    """A global function at certain types; `low` is the first unfinished instance that it leads to (Tarjan)."""

    name: str
    parameters: tuple[Type, ...]
    result: Type | None
    index: int
    low: int
    recursive: bool = False
    pattern: sugar.Pattern = ""
    body: t.Term = t.Star()  # noqa: RUF009

    @property
    def arrow(self) -> Arrow:
        """The function's type in the calculus."""
        assert self.result is not None
        arrow = lower(Callables(self.parameters, self.result))
        assert isinstance(arrow, Arrow)
        return arrow

    def around(self, rest: t.Term) -> t.Term:
        r"""let f = \.. in rest"""
        return t.Let(self.name, sugar.lambda_(self.pattern, self.arrow.argument, self.body), rest)

    def function(self) -> t.Function:
        """A part of a letrec."""
        return t.Function(self.name, self.arrow, sugar.hidden(self.pattern), sugar.bind(self.pattern, self.body))


class _Translation:
    """The state shared by the functions of one program."""

    def __init__(self) -> None:
        self.unions = Unions()
        self.used: set[str] = set()
        self.hoisted: set[str] = {"unit_"}  # names that local variables keep free
        self.instances: dict[tuple[Any, ...], _Instance] = {}
        self.unfinished: list[_Instance] = []
        self.active: list[_Instance] = []
        self.groups: list[list[_Instance]] = []  # what calls each other in a circle; a group comes after what it uses

    def annotation(self, source: Source, annotation: Any) -> Type:
        """The type of an annotation of a global function."""
        try:
            return self.unions.meaning(annotation, {**source.names, **self.unions.by_name})
        except (TypeError, NameError, AttributeError, SyntaxError) as problem:
            raise NotTranslated(f"{source.file}:{source.node.lineno}: `{annotation}`: {problem}") from None

    def signature(self, source: Source) -> list[Type]:
        """The types of a global function's parameters; a `Parameter` for an undeclared one or a type variable."""
        arguments = source.node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            source.refuse(
                source.node, "a parameter with *, ** or a default", "write plain parameters, and pass them all"
            )
        names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
        return [
            self.annotation(source, source.annotations[name]) if name in source.annotations else Parameter(f"?{name}")
            for name in names
        ]

    def instance(self, f: Any, parameters: Sequence[Type]) -> Typed:
        """A global function at these argument types."""
        if not all(map(is_known, parameters)):
            source = locate(f)
            source.refuse(source.node, "the types of its arguments are not known here", "annotate them", Untyped)
        key = (f, *parameters)
        if key not in self.instances:
            self._begin(key, locate(f), tuple(parameters))
        made = self.instances[key]
        if made in self.unfinished and self.active:
            self.active[-1].low = min(self.active[-1].low, made.index)
            made.recursive = True
        if made.result is None:
            source = locate(f)
            source.refuse(source.node, "a recursive function without the type of its result", "annotate: -> float")
        return Typed(t.Var(made.name), Callables(made.parameters, made.result))

    def _begin(self, key: tuple[Any, ...], source: Source, parameters: tuple[Type, ...]) -> None:
        result = None
        if "return" in source.annotations:
            known: dict[str, Type] = {}
            for declared, given in zip(self.signature(source), parameters, strict=True):
                match_type(declared, given, known)
            result = at(self.annotation(source, source.annotations["return"]), known)
        index = len(self.instances)
        made = _Instance(self._name(clean(source.name)), parameters, result, index, index)
        self.instances[key] = made
        self.unfinished.append(made)
        self.active.append(made)
        try:
            made.pattern, (made.body, made.result) = Statements(source, self, source.node, result).function(
                parameters, {}
            )
        except Untyped as problem:  # no caller can know more
            raise NotTranslated(str(problem)) from None
        self.active.pop()
        if made.low == index:
            at_ = self.unfinished.index(made)
            self.groups.append(self.unfinished[at_:])
            del self.unfinished[at_:]
        elif self.active:
            self.active[-1].low = min(self.active[-1].low, made.low)

    def _name(self, wanted: str) -> str:
        first, count = wanted, 0
        while wanted in self.used or wanted in self.hoisted:
            count += 1
            wanted = f"{first}_{count}"
        self.hoisted.add(wanted)
        return wanted

    def term(self) -> t.Term:
        """The program: the first function, with all others around its body."""
        *others, (main, *circle) = self.groups
        if main.recursive or circle:
            others = self.groups
            parameter = "argument"
            body: t.Term = t.Apply(t.Var(main.name), t.Var(self._name(parameter)))
            pattern: sugar.Pattern = body.argument.name  # type: ignore[attr-defined]
        else:
            pattern, body = main.pattern, main.body
        for group in reversed(others):
            if len(group) > 1 or group[0].recursive:
                body = t.Letrec(tuple([one.function() for one in group]), body)
            else:
                body = group[0].around(body)
        return sugar.lambda_(pattern, main.arrow.argument, body)
