r"""The translation of Python's statements to terms: a block becomes the term of its return value.

x = s; rest                    let x = s in rest;  x, y = s is let (x, y) = s in rest; so is x += s
def f(x: float): ..; rest      let f = \(x : R). .. in rest;  letrec where it is recursive
if c: return s                 if c then s else rest
if c: x = s                    let x = if c then s else x in rest, for the variables that rest reads
match t: case Leaf(v): ..      case t of {Leaf(v) -> ..; ..}, as with if
match xs: case [x, *rest]: ..  case xs of {Cons(x, rest) -> ..; ..}, for a list; case []: is Nil
xs = []                        a list whose element type the following code determines
xs.append(s), xs += ys         xs = xs + [s], xs = xs + ys, for a list without other references: owned.py
for, while                     a recursive function: loops.py; break, continue and return in them
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.errors import NotTranslated
from stages.calculus.language.types import Arrow, Parameter, Type
from stages.calculus.python.lists import Cons, Nil
from stages.calculus.python.loops import Finish, Loops
from stages.calculus.python.owned import check_owned
from stages.calculus.python.source import Source, Untyped, assigned, circle, grown, leaves, surely
from stages.calculus.python.terms import Scope, Typed, Variable, pattern_of, tuple_of
from stages.calculus.python.types import Callables, Learnt, Tuples, is_list, learn, list_of, lower, spoken

__all__ = ["Statements"]

_REFUSED: Mapping[type[ast.stmt], tuple[str, str]] = {
    ast.Assert: ("an assertion is outside the subset", "leave it out, or return a value for that case"),
    ast.Raise: ("an exception is outside the subset", "return a value for that case"),
    ast.Try: ("an exception is outside the subset", "test for the case before"),
    ast.With: ("a context is outside the subset", "write the statements alone"),
    ast.Delete: ("variables are not deleted", "leave it out"),
    ast.Global: ("a function changes no global variable", "pass it, and return its new value"),
    ast.Nonlocal: ("a function changes no variable outside of it", "pass it, and return its new value"),
    ast.Import: ("an import inside of a function is outside the subset", "import at the top of the file"),
    ast.ImportFrom: ("an import inside of a function is outside the subset", "import at the top of the file"),
    ast.ClassDef: ("a class inside of a function is outside the subset", "define it outside, and register a union"),
    ast.Expr: ("its value is not used, and it has no other effect", "assign it or return it"),
}


class Statements(Loops):
    """The translation of one function."""

    def __init__(self, source: Source, shared: Any, node: ast.FunctionDef | ast.Lambda, result: Type | None) -> None:
        self.statements = node.body if isinstance(node, ast.FunctionDef) else []
        super().__init__(source, shared, self.statements)
        self.node, self.result, self.leaving = node, result, []

    def function(self, parameters: Sequence[Type], scope: Scope) -> tuple[sugar.Pattern, Typed]:
        """The pattern of the function's parameter, and its body."""
        names = self.parameters(self.node, self.node.args)
        inner: Scope = {**scope, **dict.fromkeys(self.bindings, "it has no value yet at this place")}
        variables = []
        for name, type_ in zip(names, parameters, strict=True):
            inner, variable = self.bind(inner, name, type_)
            variables.append(variable)
        if isinstance(self.node, ast.Lambda):
            return pattern_of(variables), self.expression(self.node.body, inner, self.result)
        return pattern_of(variables), self.block(self.statements, inner, self._no_return)

    def _no_return(self, scope: Scope) -> Typed:
        assert isinstance(self.node, ast.FunctionDef)
        return self.refuse(self.statements[-1], f"{self.node.name} may end here without a value", "end with return")

    def block(self, body: Sequence[ast.stmt], scope: Scope, finish: Finish) -> Typed:
        """The statements of a block, and the code after them."""
        if not body:
            return finish(scope)
        first, rest = body[0], body[1:]

        def go_on(inner: Scope) -> Typed:
            """Translate the rest of the block."""
            return self.block(rest, inner, finish)

        match first:
            case ast.Return(ast.expr() as value):
                return self.give(self.expression(value, scope, self.result))
            case ast.Break():
                return self.leaving[-1].stop(scope)
            case ast.Continue():
                return self.leaving[-1].again(scope)
            case ast.Return():
                return self.refuse(first, "it returns None", "return a value; () is the empty one")
            case ast.Pass() | ast.Expr(ast.Constant(str())):
                return go_on(scope)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name() as target, method), [value])) if grown(first) is not None:
                return self._assign(target, self._grown(first, target, method, value, scope), scope, go_on)
            case ast.Assign([ast.Name() as target], ast.List([]) as value):
                return self._empty(target, value, scope, go_on)
            case ast.Assign([target], value):
                return self._assign(target, self._value(target, value, scope), scope, go_on)
            case ast.AnnAssign(ast.Name() as target, annotation, ast.expr() as value):
                made = self.expression(value, scope, self.annotation(annotation))
                return self._assign(target, made, scope, go_on)
            case ast.AugAssign(ast.Name(name) as target, operator, value):
                old = self.expression(ast.copy_location(ast.Name(name, ast.Load()), target), scope)
                if is_list(old.type):
                    check_owned(self.source, self.statements, first, name)
                made = self.binary(first, operator, old, self.expression(value, scope))
                return self._assign(target, made, scope, go_on)
            case ast.FunctionDef():
                return self._functions(body, scope, finish)
            case ast.If(test, yes, no):
                return self._if(first, self.condition(test, scope), (yes, no), scope, rest, finish)
            case ast.Match(subject, cases):
                return self._match(first, self.expression(subject, scope), cases, scope, rest, finish)
            case ast.For() | ast.While():
                return self.loop(first, scope, go_on)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                return self.refuse(first, "an assignment to no single name or tuple of names", "write x = ..")
        why, instead = _REFUSED.get(
            type(first), (f"{type(first).__name__} is outside the subset", "write it otherwise")
        )
        return self.refuse(first, why, instead)

    # Assignments

    def _value(self, target: ast.expr, value: ast.expr, scope: Scope) -> Typed:
        try:
            return self.expression(value, scope)
        except Untyped:  # x has had a type before
            prior = scope.get(target.id) if isinstance(target, ast.Name) else None
            if not isinstance(prior, Variable):
                raise
            return self.expression(value, scope, prior.type)

    def _empty(self, target: ast.Name, value: ast.List, scope: Scope, go_on: Finish) -> Typed:
        """xs = []: translate the following code until it determines the element type, and then once more."""
        prior = scope.get(target.id)
        if isinstance(prior, Variable) and is_list(prior.type):
            return self._assign(target, self._value(target, value, scope), scope, go_on)
        hole = Parameter(f"?{target.id} {target.lineno}")
        try:
            go_on(self.bind(scope, target.id, list_of(hole))[0])
        except Learnt as learnt:
            if learnt.hole != hole:
                raise
            return self._assign(target, self.expression(value, scope, list_of(learnt.element)), scope, go_on)
        except NotTranslated as problem:
            if not isinstance(problem, Untyped) and hole.name not in str(problem):
                raise
        return self._assign(target, self.expression(value, scope), scope, go_on)  # refused: nothing says it

    def _grown(self, node: ast.stmt, target: ast.Name, method: str, value: ast.expr, scope: Scope) -> Typed:
        """xs.append(x), xs.extend(ys)"""
        old = self.expression(ast.copy_location(ast.Name(target.id, ast.Load()), target), scope)
        if not is_list(old.type):
            self.refuse(node, f"{method} of {spoken(old.type)}", "append to lists")
        check_owned(self.source, self.statements, node, target.id)
        more = value if method == "extend" else ast.copy_location(ast.List([value], ast.Load()), value)
        made = self.expression(more, scope, old.type)
        learn(old.type, made.type)
        return self.binary(node, ast.Add(), old, made)

    def _assign(self, target: ast.expr, made: Typed, scope: Scope, go_on: Finish) -> Typed:
        inner, pattern = self.target(target, made.type, scope)
        body = go_on(inner)
        return Typed(sugar.let(pattern, made.term, body.term), body.type)

    def target(self, target: ast.expr, type_: Type, scope: Scope) -> tuple[Scope, sugar.Pattern]:
        """Add the names of an assignment's target to the scope; the scope, and the target's pattern."""
        match target:
            case ast.Name(name):
                return self.bind(scope, name, type_)
            case ast.Tuple(elements):
                if not isinstance(type_, Tuples) or len(type_.elements) != len(elements):
                    self.refuse(target, f"{spoken(type_)} is no tuple of {len(elements)}", "take apart what is there")
                patterns: list[Any] = []
                for element, one in zip(elements, type_.elements, strict=True):
                    scope, pattern = self.target(element, one, scope)
                    patterns.append(pattern)
                return scope, pattern_of(patterns)
        return self.refuse(
            target, "values are never changed", "make a new tuple, list or constructor, and assign it to a name"
        )

    def annotation(self, node: ast.expr) -> Type:
        """The type of an annotation inside of the function."""
        names = {**self.source.names, **self.shared.unions.by_name}
        try:
            return self.shared.unions.meaning(eval(compile(ast.Expression(node), "", "eval"), names), names)
        except (TypeError, NameError, AttributeError) as problem:
            return self.refuse(node, f"as an annotation: {problem}", "annotate with a type of the calculus")

    # Local functions

    def _functions(self, body: Sequence[ast.stmt], scope: Scope, finish: Finish) -> Typed:
        neighbours: list[ast.FunctionDef] = []
        for statement in body:
            if not isinstance(statement, ast.FunctionDef):
                break
            neighbours.append(statement)
        group, recursive = circle(neighbours)
        rest = body[len(group) :]
        if not recursive:
            parameter, argument, term, type_ = self._local(group[0], scope)
            scope, name = self.bind(scope, group[0].name, type_)
            body_ = self.block(rest, scope, finish)
            return Typed(t.Let(name, sugar.lambda_(parameter, argument, term), body_.term), body_.type)
        names = []
        for node in group:
            if node.returns is None:
                self.refuse(node, "a recursive function without the type of its result", "annotate: def f(..) -> float")
            scope, name = self.bind(scope, node.name, Callables(self._declared(node), self.annotation(node.returns)))
            names.append(name)
        functions = []
        for node, name in zip(group, names, strict=True):
            parameter, argument, term, type_ = self._local(node, scope, [one.name for one in group])
            arrow = Arrow(argument, lower(type_.result))
            functions.append(t.Function(name, arrow, sugar.hidden(parameter), sugar.bind(parameter, term)))
        whole = self.block(rest, scope, finish)
        return Typed(t.Letrec(tuple(functions), whole.term), whole.type)

    def _declared(self, node: ast.FunctionDef) -> tuple[Type, ...]:
        self.parameters(node, node.args)
        types = []
        for argument in node.args.posonlyargs + node.args.args:
            if argument.annotation is None:
                self.refuse(argument, f"a parameter of the local function {node.name} without a type",
                            f"annotate: {argument.arg}: float")  # fmt: skip
            types.append(self.annotation(argument.annotation))
        return tuple(types)

    def _local(
        self, node: ast.FunctionDef, scope: Scope, neighbours: Sequence[str] = ()
    ) -> tuple[sugar.Pattern, Type, t.Term, Callables]:
        if node.decorator_list:
            self.refuse(node, "a decorator", "leave it out")
        self.check_captured(node, neighbours)
        types = self._declared(node)
        result = None if node.returns is None else self.annotation(node.returns)
        pattern, made = Statements(self.source, self.shared, node, result).function(types, scope)
        type_ = Callables(types, made.type)
        argument = lower(type_)
        assert isinstance(argument, Arrow)
        return pattern, argument.argument, made.term, type_

    # Branches

    def _if(
        self, node: ast.If, condition: t.Term, arms: tuple[list[ast.stmt], ...], scope: Scope,
        rest: Sequence[ast.stmt], finish: Finish,
    ) -> Typed:  # fmt: skip
        def build(terms: list[t.Term]) -> t.Term:
            """The conditional with these branches."""
            return sugar.if_(condition, *terms)

        return self._fork(node, [(scope, arm) for arm in arms], build, scope, rest, finish)

    def _match(
        self, node: ast.Match, subject: Typed, cases: list[ast.match_case], scope: Scope,
        rest: Sequence[ast.stmt], finish: Finish,
    ) -> Typed:  # fmt: skip
        constructors = self.shared.unions.constructors(subject.type)
        if constructors is None:
            self.refuse(node.subject, f"match on {spoken(subject.type)}", "match on a union; use if for numbers")
        outer, whole = self.fresh(scope, "subject", subject.type)
        arms: list[tuple[Scope, list[ast.stmt]]] = []
        heads: list[tuple[str, tuple[str, ...]]] = []
        for cls, fields in constructors:
            case = next((one for one in cases if self._covers(one, cls, [c for c, _ in constructors])), None)
            if case is None:
                missing = {Nil: "[]", Cons: "[x, *rest]"}.get(cls, f"{cls.__name__}(..)")
                self.refuse(node, f"no case for {missing.partition('(')[0]}", f"write case {missing}: or case _:")
            inner, names = self._fields(case.pattern, cls, fields, outer)
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
                inner = {**inner, case.pattern.name: Variable(whole, subject.type)}
            arms.append((inner, case.body))
            heads.append((cls.__name__, names))
        captured = any(isinstance(case.pattern, ast.MatchAs) and case.pattern.name for case in cases)

        def build(terms: list[t.Term]) -> t.Term:
            """The case with these branches."""
            branches = [t.Branch(*head, term) for head, term in zip(heads, terms, strict=True)]
            return t.Case(t.Var(whole) if captured else subject.term, tuple(branches))

        made = self._fork(node, arms, build, outer if captured else scope, rest, finish)
        return Typed(t.Let(whole, subject.term, made.term), made.type) if captured else made

    def _covers(self, case: ast.match_case, cls: type, union: list[type]) -> bool:
        """Whether a case matches the constructor."""
        if case.guard is not None:
            self.refuse(case.guard, "a case with a condition", "write if inside of the case")
        match case.pattern:
            case ast.MatchAs(None):
                return True
            case ast.MatchSequence([]) | ast.MatchSequence([ast.MatchAs(None), ast.MatchStar()]) if union[0] is Nil:
                return cls is (Cons if case.pattern.patterns else Nil)
            case ast.MatchClass(name, patterns, [], []) if union[0] is not Nil:
                if any(not isinstance(one, ast.MatchAs) or one.pattern is not None for one in patterns):
                    self.refuse(case.pattern, "a pattern in a pattern", "match the field in a match of its own")
                found = self.static(name, {})
                if found not in union:
                    self.refuse(case.pattern, "no constructor of this union", f"write {union[0].__name__}(..)")
                return found is cls
        instead = "case [x, *rest]:, case []:" if union[0] is Nil else "case C(x, y):"
        return self.refuse(case.pattern, "a pattern outside the subset", f"write {instead} or case _:")

    def _fields(
        self, pattern: ast.pattern, cls: Any, types: Sequence[Type], scope: Scope
    ) -> tuple[Scope, tuple[str, ...]]:
        given = pattern.patterns if isinstance(pattern, ast.MatchClass | ast.MatchSequence) else []
        if len(given) > len(types):
            self.refuse(pattern, f"{cls.__name__} has {len(types)} fields", "write as many names")
        names = []
        for i, (field, type_) in enumerate(zip(dataclasses.fields(cls), types, strict=True)):
            one = given[i] if i < len(given) else None
            if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name is not None:
                scope, name = self.bind(scope, one.name, type_)
            else:
                scope, name = self.fresh(scope, field.name, type_)
            names.append(name)
        return scope, tuple(names)

    def _fork(
        self, node: ast.stmt, arms: list[tuple[Scope, list[ast.stmt]]], build: Callable[[list[t.Term]], t.Term],
        scope: Scope, rest: Sequence[ast.stmt], finish: Finish,
    ) -> Typed:  # fmt: skip
        """Branches, and the code after them: in the only branch that goes on, or after their assigned variables."""
        ends = [leaves(body) for _, body in arms]
        if set(ends) == {"never"}:
            return self._joined(node, arms, build, scope, lambda inner: self.block(rest, inner, finish))
        if sum(end != "always" for end in ends) > 1:
            self.refuse(node, "some branches return, and several go on", "let all return, or all but one, or none")

        def whole(arm: tuple[Scope, list[ast.stmt]]) -> Typed:
            """A branch, with the code after it inside."""
            inner, body = arm
            return self.block(body, inner, lambda end: self.block(rest, end, finish))

        makers = [lambda _, arm=arm: whole(arm) for arm in arms]
        terms, type_ = self.agree(node, makers, None if self.leaving else self.result)
        return Typed(build(terms), type_)

    def _joined(
        self, node: ast.stmt, arms: list[tuple[Scope, list[ast.stmt]]], build: Callable[[list[t.Term]], t.Term],
        scope: Scope, go_on: Finish,
    ) -> Typed:  # fmt: skip
        changed = list(assigned(ast.iter_child_nodes(node)))
        needed = [name for name in changed if self._is_read_after(name, node)]
        kept = [name for name in needed if all(_has(name, inner, body) for inner, body in arms)]

        def values(inner: Scope) -> Typed:
            """The values of the assigned variables at the end of a branch."""
            made = [self._reference(ast.copy_location(ast.Name(name, ast.Load()), node), inner, None) for name in kept]
            types = tuple([one.type for one in made])
            return Typed(tuple_of([one.term for one in made]), types[0] if len(types) == 1 else Tuples(types))

        makers = [lambda _, inner=inner, body=body: self.block(body, inner, values) for inner, body in arms]
        terms, type_ = self.agree(node, makers, None)
        types = (type_,) if len(kept) == 1 else type_.elements if isinstance(type_, Tuples) else ()
        after: Scope = {
            **scope,
            **dict.fromkeys([n for n in changed if n not in kept], "it is assigned in one branch only"),
        }
        names = []
        for name, one in zip(kept, types, strict=True):
            after, variable = self.bind(after, name, one)
            names.append(variable)
        rest = go_on(after)
        return Typed(sugar.let(pattern_of(names), build(terms), rest.term), rest.type)

    def _is_read_after(self, name: str, node: ast.stmt) -> bool:
        end = node.end_lineno or 0, node.end_col_offset or 0
        return any(name in names for names in self.loops) or any(
            read.id == name and (read.lineno, read.col_offset) >= end for read in self.reads
        )


def _has(name: str, scope: Scope, body: Sequence[ast.stmt]) -> bool:
    """Whether a name surely has a value after a block."""
    return isinstance(scope.get(name), Variable) or name in surely(body)
