r"""The translation of Python's lists to terms: lists.py has the data type, and the functions that are called here.

    [a, b]                     Cons(a, Cons(b, Nil))
    [e for x in xs]            letrec each : List s -> List t = \rest. case rest of {Nil -> Nil;
                                   Cons(x, rest) -> Cons(e, each rest)} in each xs
    .. for y in ys if c        in place of Cons(e, each rest): the same over ys, with each rest in place of Nil;
                                   if c then .. else each rest
    .. for i in range(n)       \i. if i <# n then .. else Nil
    xs[i], xs[-1], xs[2:]      element, dropped;  xs + ys, xs * n: followed, repeated
    len(xs), sum(xs)           length, total
    zip, enumerate, reversed   lists of pairs and lists; sum and list treat a generator as a list

An index beyond the end is an IndexError in Python. Here it is 1.0 / 0.0, an undefined operation, bound to a name that
says so; likewise lists of different lengths in zip with strict=True.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.types import BOOL, INT, REAL, Arrow, Named, Parameter, Sum, Type
from stages.calculus.python import lists
from stages.calculus.python.calls import Calls
from stages.calculus.python.source import Untyped
from stages.calculus.python.terms import Scope, Typed, tuple_of
from stages.calculus.python.types import Callables, Tuples, is_known, is_list, learn, list_of, lower, spoken

__all__ = ["Sequences"]

#: What comes of a list that is made: the rest of it, as a term.
Rest = t.Term


class Sequences(Calls):
    """The translation of lists, which extends the translation of calls."""

    def target(self, target: ast.expr, type_: Type, scope: Scope) -> tuple[Scope, sugar.Pattern]:
        """Add the names of an assignment's target to the scope; the scope, and the target's pattern."""
        raise NotImplementedError

    def list_type(self, element: Type) -> Named:
        """The type List of these elements, which the program declares from now on."""
        self.shared.unions.add_lists()
        return list_of(element)

    def nil(self, type_: Type) -> t.Term:
        """[]"""
        return t.Con(lower(type_), lists.NIL, ())

    def cons(self, type_: Type, head: t.Term, tail: t.Term) -> t.Term:
        """[head, *tail]"""
        return t.Con(lower(type_), lists.CONS, (head, tail))

    def library(self, f: Any, *arguments: Typed) -> Typed:
        """A call of a function of lists.py."""
        self.shared.unions.add_lists()
        function = self.shared.instance(f, [one.type for one in arguments])
        assert isinstance(function.type, Callables)
        return Typed(t.Apply(function.term, tuple_of([one.term for one in arguments])), function.type.result)

    def failing(self, name: str, type_: Type) -> Typed:
        r"""\(). let name = 1.0 / 0.0 in .., a function of this type that has no value"""
        undefined = t.Operation("div", (t.Literal(1.0), t.Literal(0.0)))
        body = t.Let(name, undefined, self._any(type_))
        return Typed(t.Lambda("unit_", lower(Tuples(())), body), Callables((), type_))

    def _any(self, type_: Type) -> t.Term:
        """An arbitrary value of a type."""
        match type_:
            case Parameter(name):
                raise Untyped(name)  # the element type of a list that is still being learnt
            case Tuples(elements):
                return tuple_of([self._any(one) for one in elements])
            case Callables(parameters, result):
                return t.Lambda("unused_", lower(Tuples(parameters) if len(parameters) != 1 else parameters[0]),
                                self._any(result))  # fmt: skip
            case Named():
                constructors = self.shared.unions.constructors(type_) or []
                for cls, fields in sorted(constructors, key=lambda one: len(one[1])):
                    if type_ not in fields:
                        return t.Con(lower(type_), cls.__name__, tuple([self._any(field) for field in fields]))
            case Sum(left, _) if type_ != BOOL:
                return t.Con(lower(type_), "inl", (self._any(left),))
        return {REAL: t.Literal(0.0), INT: t.Integer(0), BOOL: sugar.TRUE}[type_]

    # Lists that are written down

    def display(self, node: ast.List, scope: Scope, expected: Type | None) -> Typed:
        """[a, b]"""
        hint = expected.arguments[0] if isinstance(expected, Named) and is_list(expected) else None
        hint = hint if hint is not None and is_known(hint) else None
        if not node.elts and hint is None:
            self.refuse(node, "the type of its elements is not known here", "annotate: xs: list[float] = []", Untyped)
        terms: list[t.Term] = []
        if node.elts:
            makers = [lambda s, one=one: self._one(one, scope, s) for one in node.elts]
            terms, hint = self.agree(node, makers, hint)
        assert hint is not None
        type_ = self.list_type(hint)
        made: t.Term | None = None
        for one, term in zip(reversed(node.elts), reversed(terms), strict=True):
            if isinstance(one, ast.Starred):
                whole = self.expression(one.value, scope, type_)
                made = whole.term if made is None else self.library(lists.followed, whole, Typed(made, type_)).term
            else:
                made = self.cons(type_, term, made or self.nil(type_))
        return Typed(made or self.nil(type_), type_)

    def _one(self, node: ast.expr, scope: Scope, expected: Type | None) -> Typed:
        """An element of a display, to find its type; for *xs, an element of xs."""
        if not isinstance(node, ast.Starred):
            return self.expression(node, scope, expected)
        made = self.expression(node.value, scope, list_of(expected) if expected is not None else None)
        if not isinstance(made.type, Named) or not is_list(made.type):
            self.refuse(node, f"* of {spoken(made.type)}", "write * before a list")
        return Typed(self._any(made.type.arguments[0]), made.type.arguments[0])

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope, expected: Type | None) -> Typed:
        """[e for x in xs if c]"""
        hint = expected.arguments[0] if isinstance(expected, Named) and is_list(expected) else None
        return self._each(node, node.generators, scope, hint if hint is not None and is_known(hint) else None, None)

    def _each(
        self, node: ast.ListComp | ast.GeneratorExp, generators: Sequence[ast.comprehension], scope: Scope,
        hint: Type | None, rest: Rest | None,
    ) -> Typed:  # fmt: skip
        """The list that the generators produce, followed by `rest`, or by the empty list."""
        if not generators:
            made = self.expression(node.elt, scope, hint)
            type_ = self.list_type(made.type)
            return Typed(self.cons(type_, made.term, rest or self.nil(type_)), type_)
        first, *more = generators
        if first.is_async:
            self.refuse(node, "an asynchronous generator", "write for")
        scope, name = self.fresh(scope, "each", INT)
        if (bounds := self.counted(first.iter, scope)) is not None:
            begin, end, step = bounds
            scope, first_one, around = self.named(scope, "start", Typed(begin, INT))
            scope, stop = self.fresh(scope, "stop", INT)
            inner, counter = self._counter(node, first.target, scope)
            here, last = t.Var(counter), t.Var(stop)
            test = t.Discrete("<#", (here, last) if step > 0 else (last, here))
            again = t.Apply(t.Var(name), t.Discrete("+#", (here, t.Integer(step))))
            made = self._element_of(node, first, more, inner, hint, again)
            over, start = counter, first_one.term
            argument: Type = INT
            body: t.Term = sugar.if_(test, made.term, rest or self.nil(made.type))
        else:
            whole = self.iterated(first.iter, scope)
            stop, end = "", t.Star()
            inner, over = self.fresh(scope, "rest", whole.type)
            inner, pattern, head, tail = self.taken(first.target, whole.type, inner)
            made = self._element_of(node, first, more, inner, hint, t.Apply(t.Var(name), t.Var(tail)))
            argument, start = lower(whole.type), whole.term
            body = self.split(over, head, tail, pattern, made.term, rest or self.nil(made.type))
        function = t.Function(name, Arrow(argument, lower(made.type)), over, body)
        term: t.Term = t.Letrec((function,), t.Apply(t.Var(name), start))
        return Typed(around(t.Let(stop, end, term)) if stop else term, made.type)

    def _counter(self, node: ast.AST, target: ast.expr, scope: Scope) -> tuple[Scope, str]:
        if not isinstance(target, ast.Name):
            self.refuse(node, "a loop variable that is no name", "write for i in range(n)")
        return self.bind({**scope, target.id: ""}, target.id, INT)

    def _element_of(
        self, node: Any, generator: ast.comprehension, more: Sequence[ast.comprehension], scope: Scope,
        hint: Type | None, rest: Rest,
    ) -> Typed:  # fmt: skip
        conditions = [self.condition(one, scope) for one in generator.ifs]
        made = self._each(node, more, scope, hint, rest)
        term = made.term
        for one in reversed(conditions):
            term = sugar.if_(one, term, rest)
        return Typed(term, made.type)

    # What loops and comprehensions share

    def iterated(self, node: ast.expr, scope: Scope) -> Typed:
        """The list that a loop iterates over. NotTranslated for other values."""
        made = self.expression(node, scope)
        if not is_list(made.type):
            self.refuse(node, f"a loop over {spoken(made.type)}", "loop over range(..) or a list")
        return made

    def taken(self, target: ast.expr, type_: Type, scope: Scope) -> tuple[Scope, sugar.Pattern, str, str]:
        """Bind a loop's target to the first element; the scope, the target's pattern, names for element and rest."""
        assert isinstance(type_, Named)
        scope, tail = self.fresh(scope, "tail", type_)
        if isinstance(target, ast.Name):
            scope, head = self.bind({**scope, target.id: ""}, target.id, type_.arguments[0])
            return scope, head, head, tail
        for name in (one.id for one in ast.walk(target) if isinstance(one, ast.Name)):
            scope = {**scope, name: ""}
        scope, pattern = self.target(target, type_.arguments[0], scope)
        return scope, pattern, sugar.hidden(pattern), tail

    def split(self, over: str, head: str, tail: str, pattern: sugar.Pattern, more: t.Term, end: t.Term) -> t.Term:
        """case over of {Nil -> end; Cons(head, tail) -> more}, with a pattern for the head"""
        branches = (
            t.Branch(lists.NIL, (), end),
            t.Branch(lists.CONS, (head, tail), sugar.bind(pattern, more)),
        )
        return t.Case(t.Var(over), branches)

    def counted(self, node: ast.expr, scope: Scope) -> tuple[t.Term, t.Term, int] | None:
        """The start, stop and step of range(..); None for other expressions."""
        match node:
            case ast.Call(ast.Name() as name, [_, *_] as bounds, []) if self.static(name, scope) is range:
                pass
            case _:
                return None
        step: Any = 1
        if len(bounds) == 3:
            try:
                step = ast.literal_eval(bounds[2])
            except ValueError:
                step = 0
            if type(step) is not int or step == 0:
                self.refuse(bounds[2], "a step that is no literal int", "write 1, 2, -1, ..")
        made = [self.expression(bound, scope) for bound in bounds[:2]]
        for bound, one in zip(bounds, made, strict=False):
            if one.type != INT:
                self.refuse(bound, f"a bound that is {spoken(one.type)}", "pass an int")
        return (t.Integer(0) if len(made) == 1 else made[0].term), made[-1].term, step

    # What is done with lists

    def element(self, node: ast.Subscript, made: Typed, scope: Scope) -> Typed:
        """xs[i], xs[n:]"""
        assert isinstance(made.type, Named)
        match node.slice:
            case ast.Slice(ast.Constant(int() as n), None, None):
                return self.library(lists.dropped, made, Typed(t.Integer(n), INT))
            case ast.Slice():
                self.refuse(node, "of the slices there is xs[2:]", "write a loop or a comprehension")
        index = self.expression(node.slice, scope)
        if index.type != INT:
            self.refuse(node, f"an index that is {spoken(index.type)}", "pass an int")
        missing = self.failing("list_index_out_of_range", made.type.arguments[0])
        if isinstance(index.term, t.Integer) and index.term.value >= 0:
            return self.library(lists.element, made, index, missing)
        scope, whole, around = self.named(scope, "whole", made)
        scope, i, within = self.named(scope, "index", index)
        from_end = t.Discrete("+#", (self.library(lists.length, whole).term, i.term))
        place = sugar.if_(t.Discrete("<#", (i.term, t.Integer(0))), from_end, i.term)
        found = self.library(lists.element, whole, Typed(place, INT), missing)
        return Typed(around(within(found.term)), found.type)

    def list_operation(self, node: ast.AST, operator: ast.operator, left: Typed, right: Typed) -> Typed:
        """xs + ys, xs * n"""
        learn(left.type, right.type)
        learn(right.type, left.type)
        if isinstance(operator, ast.Add) and left.type == right.type:
            return self.library(lists.followed, left, right)
        if isinstance(operator, ast.Mult) and INT in (left.type, right.type):
            whole, n = (left, right) if right.type == INT else (right, left)
            if whole is right and not isinstance(left.term, (t.Var, t.Integer)):
                self.refuse(node, "an int times a list", "write xs * n")
            return self.library(lists.repeated, whole, n)
        types = f"{spoken(left.type)} and {spoken(right.type)}"
        return self.refuse(node, f"an operation on {types}", "of lists there are xs + ys, of one type, and xs * n")

    def list_call(self, node: ast.Call, f: Any, scope: Scope, expected: Type | None) -> Typed | None:
        """A call of one of Python's functions on lists; None for other calls."""
        known: dict[Any, Callable[..., Typed]] = {
            len: self._len, sum: self._sum, list: self._list, zip: self._zip,
            enumerate: self._enumerate, reversed: self._reversed,
        }  # fmt: skip
        make = next((made for function, made in known.items() if f is function), None)
        if make is None:
            return None
        strict = [one for one in node.keywords if f is zip and one.arg == "strict"]
        if len(node.keywords) != len(strict) or any(isinstance(one, ast.Starred) for one in node.args):
            self.refuse(node, "an argument with a keyword or *", "pass every argument by its position")
        counts = {zip: (2,), enumerate: (1, 2)}.get(f, (1,))
        if len(node.args) not in counts:
            instead = "write zip(xs, zip(ys, zs)), of pairs with pairs in them" if f is zip else "pass as many"
            self.refuse(node, f"it takes {counts[0]} arguments here, not {len(node.args)}", instead)
        return make(node, scope, expected)

    def _argument_list(self, node: ast.expr, scope: Scope, expected: Type | None = None) -> Typed:
        """An argument that is a list, also given as range(..) or a generator."""
        if isinstance(node, ast.GeneratorExp):
            return self.comprehension(node, scope, expected)
        if self.counted(node, scope) is not None:
            i = ast.copy_location(ast.Name("i", ast.Store()), node)
            generator = ast.comprehension(i, node, [], 0)
            element = ast.copy_location(ast.Name("i", ast.Load()), node)
            return self.comprehension(ast.copy_location(ast.ListComp(element, [generator]), node), scope, expected)
        made = self.expression(node, scope, expected if isinstance(node, ast.List) else None)
        if not is_list(made.type):
            self.refuse(node, f"{spoken(made.type)} is no list", "pass a list")
        return made

    def _len(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        return self.library(lists.length, self._argument_list(node.args[0], scope))

    def _sum(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        made = self._argument_list(node.args[0], scope)
        if made.type not in (list_of(REAL), list_of(INT)):
            self.refuse(node, f"the sum of a {spoken(made.type)}", "sum floats or ints")
        return self.library(lists.total if made.type == list_of(REAL) else lists.count, made)

    def _list(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        return self._argument_list(node.args[0], scope, expected)

    def _zip(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        xs, ys = [self._argument_list(one, scope) for one in node.args]
        assert isinstance(xs.type, Named)
        assert isinstance(ys.type, Named)
        type_ = self.list_type(Tuples((xs.type.arguments[0], ys.type.arguments[0])))
        strict = [one.value for one in node.keywords]
        if any(not isinstance(one, ast.Constant) for one in strict):
            self.refuse(node, "strict that is no literal", "write strict=True")
        if any(isinstance(one, ast.Constant) and one.value for one in strict):
            return self.library(lists.zipped, xs, ys, self.failing("zip_of_lists_of_different_lengths", type_))
        end = t.Lambda("unit_", lower(Tuples(())), self.nil(type_))
        return self.library(lists.zipped, xs, ys, Typed(end, Callables((), type_)))

    def _enumerate(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        xs = self._argument_list(node.args[0], scope)
        start = self.expression(node.args[1], scope, INT) if len(node.args) == 2 else Typed(t.Integer(0), INT)
        return self.library(lists.enumerated, xs, start)

    def _reversed(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        xs = self._argument_list(node.args[0], scope)
        return self.library(lists.turned, xs, Typed(self.nil(xs.type), xs.type))
