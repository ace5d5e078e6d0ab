r"""The translation of Python's calls and global names to terms.

    f(a, b)                    f (a, b);  f() is f ()
    math.sin(x), max(a, b)     sin(x), maximum(a, b): operations of the table of primitives, by their Python names
    float(n)                   real(n)
    Node(l, r)                 Node(l, r), a constructor of a registered union
    t.left                     case t of {Node(left, right) -> left}, if the union has no other constructor
    a global function          a function of the program, for the types of its arguments at this call
    a global constant          a literal

The results of math.floor, ceil, trunc and round are reals here.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from dualrev import math as our_math
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES
from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.types import INT, REAL, Named, Parameter, Type
from stages.calculus.python.expressions import MISSING, Expressions
from stages.calculus.python.source import Untyped, clean, locate
from stages.calculus.python.terms import Scope, Typed, convert, pattern_of, tuple_of
from stages.calculus.python.types import (
    Callables,
    Tuples,
    at,
    holds_function,
    is_known,
    lower,
    match_type,
    spoken,
)

__all__ = ["Calls"]


def _operations() -> dict[Any, str]:
    """Python's functions that are operations of the table of primitives."""
    found: dict[Any, str] = {abs: "abs", max: "maximum", min: "minimum", round: "round"}
    found |= {math.fabs: "abs", our_math.fabs: "abs", math.pow: "pow", our_math.pow: "pow"}
    found |= {f: name for name, f in FUNCTIONS.items() if name in PRIMITIVES}
    for module in (math, our_math):
        found |= {getattr(module, name): name for name in PRIMITIVES if hasattr(module, name)}
    return found


_OPERATIONS = _operations()


class Calls(Expressions):
    """The translation of calls, which extends the translation of other expressions."""

    def call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        """f(a, b)"""
        f = self.static(node.func, scope)
        if (made := self.list_call(node, f, scope, expected)) is not None:
            return made
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            self.refuse(node, "an argument with a keyword or *", "pass every argument by its position")
        if f is MISSING:
            return self._call_local(node, scope)
        if f is float:
            (made,) = self._numbers(node, scope, 1)
            return Typed(convert(made, REAL), REAL)
        if (operation := _operation_of(f)) is not None:
            return self._operation(node, operation, scope)
        if isinstance(f, type) and "__union__" in vars(f):
            return self._construct(node, f, scope, expected)
        if isinstance(f, FunctionType):
            return self._call_global(node, f, scope)
        return self.refuse(node, "the function has no translation", "call functions written in Python, or of math")

    def list_call(self, node: ast.Call, f: Any, scope: Scope, expected: Type | None) -> Typed | None:
        """A call of one of Python's functions on lists; None for other calls."""
        raise NotImplementedError

    def _numbers(self, node: ast.Call, scope: Scope, count: int) -> list[Typed]:
        if len(node.args) != count:
            instead = "write a loop over the list" if len(node.args) == 1 else "write it with operators"
            self.refuse(node, f"it takes {count} arguments here, not {len(node.args)}", instead)
        made = [self.expression(argument, scope) for argument in node.args]
        for one in made:
            if one.type not in (REAL, INT):
                self.refuse(node, f"an argument is {spoken(one.type)}, not float", "pass numbers")
        return made

    def _operation(self, node: ast.Call, name: str, scope: Scope) -> Typed:
        made = self._numbers(node, scope, len(PRIMITIVES[name].partials))
        if name in ("maximum", "minimum", "abs") and all(one.type == INT for one in made):
            self.refuse(node, f"{name} of ints is an int, which the calculus has not", "write a if a > b else b")
        return Typed(t.Operation(name, tuple([convert(one, REAL) for one in made])), REAL)

    # Functions

    def _call_local(self, node: ast.Call, scope: Scope) -> Typed:
        if isinstance(node.func, ast.Lambda):
            made = [self.expression(argument, scope) for argument in node.args]
            function = self.lambda_(node.func, scope, [one.type for one in made], None, escapes=False)
            terms = [one.term for one in made]
        else:
            function = self.expression(node.func, scope)
            if not isinstance(function.type, Callables):
                self.refuse(node, f"a call of what is {spoken(function.type)}", "call functions")
            terms = self._arguments(node, function.type.parameters, scope, {}, function.type.result)
        assert isinstance(function.type, Callables)
        return Typed(t.Apply(function.term, tuple_of(terms)), function.type.result)

    def _call_global(self, node: ast.Call, f: Any, scope: Scope) -> Typed:
        declared = self.shared.signature(locate(f))
        known: dict[str, Type] = {}
        terms = self._arguments(node, declared, scope, known)
        function = self.shared.instance(f, [at(type_, known) for type_ in declared])
        assert isinstance(function.type, Callables)
        if holds_function(function.type.result):
            self._check_arguments(node)
        return Typed(t.Apply(function.term, tuple_of(terms)), function.type.result)

    def _arguments(
        self, node: ast.Call, patterns: Sequence[Type], scope: Scope, known: dict[str, Type], result: Type | None = None
    ) -> list[t.Term]:
        """The arguments, with the types of the patterns; the arguments determine the patterns' parameters."""
        if len(node.args) != len(patterns):
            self.refuse(node, f"it takes {len(patterns)} arguments, not {len(node.args)}", "pass as many")
        if result is not None and holds_function(result):
            self._check_arguments(node)
        made: dict[int, Typed] = {}
        while len(made) < len(patterns):
            before, problem = len(made), None
            for i, (argument, pattern) in enumerate(zip(node.args, patterns, strict=True)):
                if i in made:
                    continue
                try:
                    made[i] = self._argument(argument, scope, at(pattern, known))
                except Untyped as unknown:
                    problem = problem or unknown
                    continue
                match_type(pattern, made[i].type, known)
            if problem is not None and len(made) == before:
                raise problem
        types = [at(pattern, known) for pattern in patterns]
        return [self.coerce(node.args[i], made[i], type_).term for i, type_ in enumerate(types)]

    def _argument(self, node: ast.expr, scope: Scope, expected: Type) -> Typed:
        if isinstance(node, ast.Lambda):
            made = self._lambda(node, scope, expected, escapes=False)
            return self.coerce(node, made, expected) if is_known(expected) else made
        return self.expression(node, scope, expected)

    def _check_arguments(self, node: ast.Call) -> None:
        """Refuse arguments of a call whose result may keep functions that change later."""
        for argument in node.args:
            if isinstance(argument, ast.Lambda):
                self.check_captured(argument)

    def global_value(self, node: ast.expr, value: Any, expected: Type | None) -> Typed:
        """The value of a global name, as a term."""
        if (operation := _operation_of(value)) is not None:
            names = ["x", "y", "z"][: len(PRIMITIVES[operation].partials)]
            types: tuple[Type, ...] = (REAL,) * len(names)
            argument = lower(Tuples(types)) if len(types) > 1 else REAL
            body = t.Operation(operation, tuple(map(t.Var, names)))
            return Typed(sugar.lambda_(pattern_of(names), argument, body), Callables(types, REAL))
        if isinstance(value, FunctionType):
            known: dict[str, Type] = {}
            declared = self.shared.signature(locate(value))
            if isinstance(expected, Callables) and len(expected.parameters) == len(declared):
                match_type(Tuples(tuple(declared)), Tuples(expected.parameters), known)
            types = tuple([at(type_, known) for type_ in declared])
            if not all(map(is_known, types)):
                self.refuse(node, "the types of its parameters are not known here", "annotate them", Untyped)
            return self.shared.instance(value, types)
        if isinstance(value, tuple) and len(value) != 1:
            made = [self.global_value(node, one, None) for one in value]
            return Typed(tuple_of([one.term for one in made]), Tuples(tuple([one.type for one in made])))
        if isinstance(value, type) and "__union__" in vars(value):
            self.refuse(node, "a constructor that is not called", "write lambda x: ..., which calls it")
        return self.constant(node, value)

    # Unions

    def _construct(self, node: ast.Call, cls: Any, scope: Scope, expected: Type | None) -> Typed:
        try:
            self.shared.unions.add(cls.__union__)
        except (TypeError, NameError) as problem:
            self.refuse(node, str(problem), "write another class")
        whole = cls.__union__.whole()
        known: dict[str, Type] = {}
        if expected is not None:
            match_type(whole, expected, known)
        fields = self.shared.unions.fields[cls.__name__]
        terms = self._arguments(node, fields, scope, known)
        self._check_arguments(node)
        type_ = at(whole, known)
        if not is_known(type_):
            missing = ", ".join(p.name for p in whole.arguments if isinstance(p, Parameter) and p.name not in known)
            example = (
                f"annotate: x: {whole.name}[float] = {node.func.id if isinstance(node.func, ast.Name) else ''}(..)"
            )
            self.refuse(node, f"its parameter {missing} is not known here", example, Untyped)
        return Typed(t.Con(lower(type_), cls.__name__, tuple(terms)), type_)

    def field(self, node: ast.Attribute, scope: Scope) -> Typed:
        """t.name, for a union with one constructor."""
        made = self.expression(node.value, scope)
        constructors = self.shared.unions.constructors(made.type) or []
        if len(constructors) != 1:
            instead = "use match" if isinstance(made.type, Named) else "use indices of tuples, or a union"
            self.refuse(node, f"an attribute of {spoken(made.type)}", instead)
        ((cls, types),) = constructors
        names = [field.name for field in dataclasses.fields(cls)]
        if node.attr not in names:
            self.refuse(node, f"{cls.__name__} has no field {node.attr}", f"write one of {', '.join(names)}")
        variables = tuple(map(clean, names))
        branch = t.Branch(cls.__name__, variables, t.Var(clean(node.attr)))
        return Typed(t.Case(made.term, (branch,)), types[names.index(node.attr)])


def _operation_of(f: Any) -> str | None:
    try:
        return _OPERATIONS.get(f)
    except TypeError:  # what has no hash is no function of ours
        return None
