r"""The translation of Python's expressions to terms, with their types.

    x, 1.5, 2                  x, 1.5, 2;  an int in place of a real: 2.0, real(n)
    a + b, a ** b, -a          add(a, b), pow(a, b), neg(a);  on ints  a +# b, a //# b
    a < b, a >= b, m != n      a < b, b <= a, if m ==# n then false else true
    a < b < c                  let middle = b in if a < middle then middle < c else false
    a and b, a or b, not a     if a then b else false, ..
    s if c else t              if c then s else t
    (a, b, c), t[1], t[-1]     (a, (b, c)), fst(snd(t)), snd(snd(t));  of lists: sequences.py
    lambda x, y: s             \(x : .., y : ..). s

Evaluation order is as in Python: from left to right, and every expression once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.types import BOOL, INT, REAL, Type
from stages.calculus.python.source import Source, Untyped, assigned, clean, loaded
from stages.calculus.python.terms import Global, Scope, Typed, Variable, convert, pattern_of, tuple_of
from stages.calculus.python.types import Callables, Tuples, is_known, is_list, join, learn, lower, spoken

__all__ = ["MISSING", "Expressions"]

MISSING: Any = object()  #: the static value of what has none


_REAL = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "mod",
         ast.FloorDiv: "floordiv"}  # fmt: skip
_INT = {ast.Add: "+#", ast.Sub: "-#", ast.Mult: "*#", ast.FloorDiv: "//#", ast.Mod: "%#"}
_COMPARED = {ast.Lt: ("<", False), ast.LtE: ("<=", False), ast.Gt: ("<", True), ast.GtE: ("<=", True),
             ast.Eq: ("==", False), ast.NotEq: ("==", False)}  # fmt: skip

_REFUSED: Mapping[type[ast.expr], tuple[str, str]] = {
    ast.Dict: ("a dict is no value of the calculus", "write a tuple, or register a union"),
    ast.Set: ("a set is no value of the calculus", "write a tuple, or register a union"),
    ast.GeneratorExp: (
        "a generator has no value before something goes over it",
        "write [.. for ..], or sum(.. for ..)",
    ),
    ast.NamedExpr: (":= is outside the subset", "write an assignment on a line of its own"),
    ast.JoinedStr: ("a string is no value of the calculus", "write numbers, tuples and unions"),
    ast.Starred: ("* is outside the subset", "write the elements one by one"),
    ast.Await: ("await is outside the subset", "write an ordinary call"),
    ast.Yield: ("a generator is outside the subset", "return a tuple or a union List"),
}


class Expressions:
    """The translation of the expressions of one function."""

    def __init__(self, source: Source, shared: Global, body: Sequence[ast.AST]) -> None:
        self.source, self.shared = source, shared
        self.refuse = source.refuse
        self.bindings = assigned(body)
        self.reads = list(loaded(body))
        self.result: Type | None = None  # of the function
        self.loops: list[set[str]] = []  # the names that the loops around this place assign

    # Names

    def bind(self, scope: Scope, name: str, type_: Type, wanted: str = "") -> tuple[Scope, str]:
        """Add a variable to the scope; the scope, and the variable's name, which captures no other name."""
        prior = scope.get(name)
        if isinstance(prior, Variable):
            wanted = prior.name
        else:
            taken = {v.name for v in scope.values() if isinstance(v, Variable)} | self.shared.hoisted
            first = wanted = wanted or clean(name)
            count = 0
            while wanted in taken:
                count += 1
                wanted = f"{first}_{count}"
        self.shared.used.add(wanted)
        return {**scope, name: Variable(wanted, type_)}, wanted

    def fresh(self, scope: Scope, name: str, type_: Type) -> tuple[Scope, str]:
        """Add a variable of the translation's own to the scope, which no Python name refers to."""
        key = f"{name} "
        while key in scope:
            key += " "
        return self.bind(scope, key, type_, clean(name))

    def named(self, scope: Scope, name: str, made: Typed) -> tuple[Scope, Typed, Callable[[t.Term], t.Term]]:
        """A term that is evaluated here and used later: as a variable, with the let around it if it needs one."""
        if isinstance(made.term, _ATOMS):
            return scope, made, lambda term: term
        scope, variable = self.fresh(scope, name, made.type)
        return scope, Typed(t.Var(variable), made.type), lambda term: t.Let(variable, made.term, term)

    # Expressions

    def expression(self, node: ast.expr, scope: Scope, expected: Type | None = None) -> Typed:
        """Translate an expression, at the expected type if that is known."""
        made = self._expression(node, scope, expected)
        return self.coerce(node, made, expected) if expected is not None and is_known(expected) else made

    def _expression(self, node: ast.expr, scope: Scope, expected: Type | None) -> Typed:
        match node:
            case ast.Constant(value):
                return self.constant(node, value)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)) if not isinstance(value, bool):
                return self.constant(node, -value)
            case ast.UnaryOp(operator, operand):
                return self._unary(node, operator, operand, scope)
            case ast.BinOp(left, operator, right):
                return self.binary(node, operator, self.expression(left, scope), self.expression(right, scope))
            case ast.BoolOp(operator, values):
                return self._boolean(isinstance(operator, ast.And), values, scope)
            case ast.Compare(left, operators, right):
                return self._chain(node, self.expression(left, scope), operators, right, scope)
            case ast.IfExp(test, yes, no):
                condition = self.condition(test, scope)
                arms = [lambda s, arm=arm: self.expression(arm, scope, s) for arm in (yes, no)]
                (then, otherwise), type_ = self.agree(node, arms, expected)
                return Typed(sugar.if_(condition, then, otherwise), type_)
            case ast.Tuple(elements):
                return self._tuple(node, elements, scope, expected)
            case ast.List():
                return self.display(node, scope, expected)
            case ast.ListComp():
                return self.comprehension(node, scope, expected)
            case ast.Subscript(value, index):
                made = self.expression(value, scope)
                return self.element(node, made, scope) if is_list(made.type) else self._element(node, made, index)
            case ast.Lambda():
                return self._lambda(node, scope, expected)
            case ast.Name() | ast.Attribute():
                return self._reference(node, scope, expected)
            case ast.Call():
                return self.call(node, scope, expected)
        why, instead = _REFUSED.get(type(node), (f"{type(node).__name__} is outside the subset", "write it with calls"))
        return self.refuse(node, why, instead)

    def call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        """f(a, b)"""
        raise NotImplementedError

    def display(self, node: ast.List, scope: Scope, expected: Type | None) -> Typed:
        """[a, b]"""
        raise NotImplementedError

    def comprehension(self, node: ast.ListComp, scope: Scope, expected: Type | None) -> Typed:
        """[e for x in xs]"""
        raise NotImplementedError

    def element(self, node: ast.Subscript, made: Typed, scope: Scope) -> Typed:
        """xs[i], for a list"""
        raise NotImplementedError

    def list_operation(self, node: ast.AST, operator: ast.operator, left: Typed, right: Typed) -> Typed:
        """xs + ys, and other operators on a list"""
        raise NotImplementedError

    def global_value(self, node: ast.expr, value: Any, expected: Type | None) -> Typed:
        """The value of a global name, as a term."""
        raise NotImplementedError

    def field(self, node: ast.Attribute, scope: Scope) -> Typed:
        """t.name, for a union with one constructor."""
        raise NotImplementedError

    def constant(self, node: ast.expr, value: Any) -> Typed:
        """A literal, or a global constant."""
        match value:
            case bool():
                return Typed(sugar.TRUE if value else sugar.FALSE, BOOL)
            case int():
                return Typed(t.Integer(value), INT)
            case float():
                return Typed(t.Literal(value), REAL)
        return self.refuse(node, f"{type(value).__name__} is no type of the calculus", "write floats, ints and tuples")

    def static(self, node: ast.expr, scope: Scope) -> Any:
        """The Python object of a global name, or of an attribute of one; MISSING for other expressions."""
        match node:
            case ast.Name(name) if name not in scope:
                return self.source.names.get(name, MISSING)
            case ast.Attribute(value, name):
                owner = self.static(value, scope)
                return MISSING if owner is MISSING else getattr(owner, name, MISSING)
        return MISSING

    def _reference(self, node: ast.Name | ast.Attribute, scope: Scope, expected: Type | None) -> Typed:
        if (value := self.static(node, scope)) is not MISSING:
            return self.global_value(node, value, expected)
        if isinstance(node, ast.Attribute):
            return self.field(node, scope)
        found = scope.get(node.id)
        if isinstance(found, Variable):
            return Typed(t.Var(found.name), found.type)
        return self.refuse(node, found or "nothing has this name", "assign it before, on every path")

    def _unary(self, node: ast.expr, operator: ast.unaryop, operand: ast.expr, scope: Scope) -> Typed:
        if isinstance(operator, ast.Not):
            return Typed(sugar.if_(self.condition(operand, scope), sugar.FALSE, sugar.TRUE), BOOL)
        made = self.expression(operand, scope)
        if isinstance(operator, ast.Invert) or made.type not in (REAL, INT):
            return self.refuse(node, f"no operation of the calculus on {spoken(made.type)}", "write it with + - * /")
        if isinstance(operator, ast.UAdd):
            return made
        if made.type == INT:
            return Typed(t.Discrete("-#", (t.Integer(0), made.term)), INT)
        return Typed(t.Operation("neg", (made.term,)), REAL)

    def binary(self, node: ast.AST, operator: ast.operator, left: Typed, right: Typed) -> Typed:
        """s + t, and other operators, on reals, ints and lists."""
        if is_list(left.type) or is_list(right.type):
            return self.list_operation(node, operator, left, right)
        if not {left.type, right.type} <= {REAL, INT}:
            types = f"{spoken(left.type)} and {spoken(right.type)}"
            return self.refuse(node, f"an operation on {types}", "operate on the numbers inside")
        if left.type == right.type == INT and not isinstance(operator, ast.Div):
            if (name := _INT.get(type(operator))) is None:
                self.refuse(node, "of the operations on ints there are + - * // %", "write float(n), or a loop")
            return Typed(t.Discrete(name, (left.term, right.term)), INT)
        if (name := _REAL.get(type(operator))) is None:
            self.refuse(node, "no operation of the calculus", "write it with + - * / ** % //")
        return Typed(t.Operation(name, (convert(left, REAL), convert(right, REAL))), REAL)

    def condition(self, node: ast.expr, scope: Scope) -> t.Term:
        """An expression of type bool."""
        made = self.expression(node, scope)
        if made.type != BOOL:
            instead = f"{'len(xs) > 0' if is_list(made.type) else 'a comparison, as n != 0'}"
            self.refuse(node, f"a condition that is {spoken(made.type)}, not bool", f"write {instead}")
        return made.term

    def _boolean(self, is_and: bool, values: list[ast.expr], scope: Scope) -> Typed:
        *conditions, found = [self.condition(value, scope) for value in values]
        for one in reversed(conditions):
            found = sugar.if_(one, found, sugar.FALSE) if is_and else sugar.if_(one, sugar.TRUE, found)
        return Typed(found, BOOL)

    def _chain(
        self, node: ast.expr, left: Typed, operators: list[ast.cmpop], rest: list[ast.expr], scope: Scope
    ) -> Typed:
        right = self.expression(rest[0], scope)
        if len(rest) == 1:
            return self._compare(node, operators[0], left, right, scope)
        scope, first, around_left = self.named(scope, "left", left)
        scope, middle, around_middle = self.named(scope, "middle", right)
        test = self._compare(node, operators[0], first, middle, scope)
        later = self._chain(node, middle, operators[1:], rest[1:], scope)
        return Typed(around_left(around_middle(sugar.if_(test.term, later.term, sugar.FALSE))), BOOL)

    def _compare(self, node: ast.expr, operator: ast.cmpop, left: Typed, right: Typed, scope: Scope) -> Typed:
        if type(operator) not in _COMPARED or not {left.type, right.type} <= {REAL, INT}:
            types = f"{spoken(left.type)} and {spoken(right.type)}"
            self.refuse(node, f"a comparison of {types} by {_sign(operator)}", "compare numbers with < <= > >= == !=")
        name, swapped = _COMPARED[type(operator)]
        if left.type == right.type == INT:
            operands, name = (left.term, right.term), f"{name}#"
        elif name == "==":
            self.refuse(node, "reals are not compared for equality", "write a <= b and b <= a, or abs(a - b) < 1e-9")
        else:
            operands = convert(left, REAL), convert(right, REAL)
        if not swapped or isinstance(operands[0], _ATOMS) or isinstance(operands[1], _ATOMS):
            found: t.Term = t.Discrete(name, operands[::-1] if swapped else operands)
        else:  # the left one is evaluated first
            _, first = self.fresh(scope, "left", left.type)
            found = t.Let(first, operands[0], t.Discrete(name, (operands[1], t.Var(first))))
        return Typed(sugar.if_(found, sugar.FALSE, sugar.TRUE) if isinstance(operator, ast.NotEq) else found, BOOL)

    def _tuple(self, node: ast.expr, elements: list[ast.expr], scope: Scope, expected: Type | None) -> Typed:
        if len(elements) == 1:
            self.refuse(node, "a tuple of one", "write the element itself")
        hints: Sequence[Type | None] = [None] * len(elements)
        if isinstance(expected, Tuples) and len(expected.elements) == len(elements):
            hints = expected.elements
        made = [self.expression(one, scope, hint) for one, hint in zip(elements, hints, strict=True)]
        return Typed(tuple_of([one.term for one in made]), Tuples(tuple([one.type for one in made])))

    def _element(self, node: ast.expr, made: Typed, index: ast.expr) -> Typed:
        if not isinstance(made.type, Tuples):
            return self.refuse(
                node, f"an index into {spoken(made.type)}", "index tuples and lists; use match on unions"
            )
        try:
            i = ast.literal_eval(index)
            types = made.type.elements
            if type(i) is not int:
                raise ValueError
        except ValueError:
            return self.refuse(node, "an index that is no literal int", "write t[0], t[1], ..")
        if not -len(types) <= i < len(types):
            self.refuse(node, f"the tuple has {len(types)} elements", "write an index within")
        i %= len(types)
        term = made.term
        for _ in range(i):
            term = t.Snd(term)
        return Typed(term if i == len(types) - 1 else t.Fst(term), types[i])

    # Functions

    def _lambda(self, node: ast.Lambda, scope: Scope, expected: Type | None, *, escapes: bool = True) -> Typed:
        if not isinstance(expected, Callables) or not all(map(is_known, expected.parameters)):
            self.refuse(node, "the types of its parameters are not known here",
                        "annotate: f: Callable[[float], float] = lambda ..", Untyped)  # fmt: skip
        result = expected.result if is_known(expected.result) else None
        return self.lambda_(node, scope, expected.parameters, result, escapes=escapes)

    def lambda_(
        self, node: ast.Lambda, scope: Scope, types: Sequence[Type], result: Type | None, *, escapes: bool = True
    ) -> Typed:
        """A lambda, with the types of its parameters."""
        names = self.parameters(node, node.args)
        if len(names) != len(types):
            self.refuse(node, f"it has {len(names)} parameters, and {len(types)} are passed", "write as many")
        if escapes:
            self.check_captured(node)
        inner: Scope = scope
        variables = []
        for name, type_ in zip(names, types, strict=True):
            inner, variable = self.bind(inner, name, type_)
            variables.append(variable)
        body = self.expression(node.body, inner, result)
        made = Callables(tuple(types), body.type)
        argument = lower(Tuples(made.parameters)) if len(types) != 1 else lower(types[0])
        return Typed(sugar.lambda_(pattern_of(variables), argument, body.term), made)

    def parameters(self, node: ast.AST, arguments: ast.arguments) -> list[str]:
        """The names of a function's parameters: plain ones only."""
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            self.refuse(node, "a parameter with *, ** or a default", "write plain parameters, and pass all of them")
        return [argument.arg for argument in arguments.posonlyargs + arguments.args]

    def check_captured(self, node: ast.Lambda | ast.FunctionDef, neighbours: Sequence[str] = ()) -> None:
        """Refuse a function that reads a variable which is assigned again later, as Python would see the new value."""
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        own = {a.arg for a in node.args.posonlyargs + node.args.args} | set(assigned(body))
        for name in sorted({read.id for read in loaded(body)} - own - set(neighbours)):
            later = [one for one in self.bindings.get(name, ()) if _at(one) > _at(node)]
            if later or any(name in names for names in self.loops):
                line = f"on line {later[0].lineno}" if later else "by the loop around it"  # type: ignore[attr-defined]
                self.refuse(node, f"{name}, which it reads, is assigned again {line}", "use another name there")

    # Types

    def coerce(self, node: ast.AST, made: Typed, expected: Type) -> Typed:
        """Convert a term to the expected type, or refuse it."""
        if made.type == expected:
            return made
        learn(made.type, expected)
        if join(made.type, expected) == expected and (term := convert(made, expected)) is not None:
            return Typed(term, expected)
        return self.refuse(node, f"this is {spoken(made.type)}, not {spoken(expected)}", "make the types equal")

    def agree(
        self, node: ast.AST, makers: Sequence[Callable[[Type | None], Typed]], expected: Type | None
    ) -> tuple[list[t.Term], Type]:
        """Convert the terms of several branches to a common type; the terms and the type."""
        made: list[Typed | None] = []
        for make in makers:
            try:
                made.append(make(expected))
            except Untyped as unknown:
                made.append(None)
                problem = unknown
        common = None
        for one in made:
            joined = one.type if one and common is None else join(one.type, common) if one and common else common
            if joined is None and one is not None and common is not None:
                learn(one.type, common)
                learn(common, one.type)
                self.refuse(node, f"its branches are {spoken(common)} and {spoken(one.type)}", "make the types equal")
            common = joined
        if common is None:
            raise problem
        whole = [one or make(common) for one, make in zip(made, makers, strict=True)]
        return [self.coerce(node, one, common).term for one in whole], common


_ATOMS = (t.Var, t.Literal, t.Integer)


def _sign(operator: ast.cmpop) -> str:
    one, other = ast.Name("a", ast.Load()), ast.Name("b", ast.Load())
    return ast.unparse(ast.Compare(one, [operator], [other]))[1:-1].strip()


def _at(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset
