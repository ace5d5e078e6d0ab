r"""The translation of Python's loops to recursive functions; x are the variables that the body assigns, of type s.

while c: body              letrec loop : s -> s = \x. if c then (body in loop x) else x in let x = loop x in rest
for i in range(a, b):      let start = a in let stop = b in letrec loop : (Int, s) -> s = \(i, x).
    body                       if i <# stop then (body in loop (i +# 1, x)) else x in let x = loop (start, x) in rest
for y in ys: body              letrec loop : (List t, s) -> s = \(left, x). case left of {Nil -> x;
                                   Cons(y, tail) -> body in loop (tail, x)} in let x = loop (ys, x) in rest
continue                   loop x, or loop (i +# 1, x), in place of the rest of the body
break                      x, in place of the rest of the body
return t                   loop : s -> t + s returns inl(t) for a return, inr(x) at its end:
                           case loop x of {inl(t) -> t; inr(x) -> rest}
while True: body           letrec loop : s -> t = \x. (body in loop x) in loop x, if only a return ends it

A variable without a value before the loop is local to the body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stages.calculus.language import sugar
from stages.calculus.language import terms as t
from stages.calculus.language.types import INT, Arrow, Sum, Type
from stages.calculus.python.sequences import Sequences
from stages.calculus.python.source import assigned, is_endless, nodes
from stages.calculus.python.terms import Scope, Typed, Variable, pattern_of, tuple_of
from stages.calculus.python.types import Tuples, learn, lower, spoken

__all__ = ["Finish", "Loops"]

Finish = Callable[[Scope], Typed]


class Leaving(NamedTuple):
    """The translations of continue, break and return in a loop's body."""

    again: Finish
    stop: Finish
    give: Callable[[Typed], Typed]


class Walk(NamedTuple):
    """The additional loop variable of a for loop: a counter, or the rest of a list."""

    name: str
    type: Type
    start: t.Term
    following: t.Term


class Loops(Sequences):
    """The translation of loops, which extends the translation of lists. `leaving` has the enclosing loops."""

    leaving: list[Leaving]

    def give(self, made: Typed) -> Typed:
        """Return this value from the function, or from the innermost loop."""
        return self.leaving[-1].give(made) if self.leaving else made

    def block(self, body: Sequence[ast.stmt], scope: Scope, finish: Finish) -> Typed:
        """The statements of a block, and the code after them."""
        raise NotImplementedError

    def loop(self, node: ast.For | ast.While, scope: Scope, go_on: Finish) -> Typed:
        """A loop, and the code after it."""
        returns = self._check_loop(node)
        changed = assigned(ast.iter_child_nodes(node))
        own = (
            {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)} if isinstance(node, ast.For) else ()
        )
        state = {name: one for name in changed if isinstance(one := scope.get(name), Variable) and name not in own}
        if not state and not returns:
            self.refuse(node, "the loop assigns no variable that has a value before it", "assign it before the loop")
        inner, name = self.fresh(scope, "loop", INT)
        self.loops.append(set(changed))
        depth = len(self.leaving)
        try:
            if isinstance(node, ast.For):
                run = self._for(node, inner, name, state)
            else:
                test = self.condition(node.test, inner)
                run = self._run(node, lambda body, end: sugar.if_(test, body, end), inner, name, state)
        finally:
            self.loops.pop()
            del self.leaving[depth:]
        if is_endless(node):
            return self._given(inner, run)
        after: Scope = {**scope, **dict.fromkeys(changed.keys() - state.keys(), "it is assigned in the loop only")}
        rest = go_on(after)
        if not returns:
            return Typed(sugar.let(_pattern(state), run, rest.term), rest.type)
        inner, left = self.fresh(inner, "left", INT)
        inner, given = self.fresh(inner, "given", self._result())
        branches = (
            t.Branch("inl", (given,), self.give(Typed(t.Var(given), self._result())).term),
            t.Branch("inr", (left,), sugar.let(_pattern(state), t.Var(left), rest.term)),
        )
        return Typed(t.Case(run, branches), rest.type)

    def _result(self) -> Type:
        assert self.result is not None
        return self.result

    def _given(self, scope: Scope, run: t.Term) -> Typed:
        """let given = run in return given"""
        if not self.leaving:
            return Typed(run, self._result())
        _, name = self.fresh(scope, "given", self._result())
        made = self.give(Typed(t.Var(name), self._result()))
        return Typed(t.Let(name, run, made.term), made.type)

    def _for(self, node: ast.For, scope: Scope, loop: str, state: dict[str, Variable]) -> t.Term:
        if (bounds := self.counted(node.iter, scope)) is None:
            return self._over(node, scope, loop, state)
        begin, end, step = bounds
        if not isinstance(node.target, ast.Name):
            self.refuse(node.target, "a loop variable that is no name", "write for i in range(n)")
        scope, start, around = self.named(scope, "start", Typed(begin, INT))
        scope, stop = self.fresh(scope, "stop", INT)
        name, seen = node.target.id, ""
        if name in assigned(node.body):  # the counter goes on from where it was
            scope, counter = self.fresh(scope, "counter", INT)
            scope, seen = self.bind({**scope, name: ""}, name, INT)
        else:
            scope, counter = self.bind({**scope, name: ""}, name, INT)
        here, last = t.Var(counter), t.Var(stop)
        test = t.Discrete("<#", (here, last) if step > 0 else (last, here))
        following = t.Discrete("+#", (here, t.Integer(step)))

        def choose(body: t.Term, end: t.Term) -> t.Term:
            """Run the body while the counter is in the range; otherwise end."""
            return sugar.if_(test, t.Let(seen, t.Var(counter), body) if seen else body, end)

        run = self._run(node, choose, scope, loop, state, Walk(counter, INT, start.term, following))
        return around(t.Let(stop, end, run))

    def _over(self, node: ast.For, scope: Scope, loop: str, state: dict[str, Variable]) -> t.Term:
        """A loop over a list."""
        whole = self.iterated(node.iter, scope)
        scope, left = self.fresh(scope, "left", whole.type)
        scope, pattern, head, tail = self.taken(node.target, whole.type, scope)

        def choose(body: t.Term, end: t.Term) -> t.Term:
            """Run the body for the list's first element; end at the empty list."""
            return self.split(left, head, tail, pattern, body, end)

        return self._run(node, choose, scope, loop, state, Walk(left, whole.type, whole.term, t.Var(tail)))

    def _run(
        self, node: ast.For | ast.While, choose: Callable[[t.Term, t.Term], t.Term], scope: Scope, loop: str,
        state: dict[str, Variable], walk: Walk | None = None,
    ) -> t.Term:  # fmt: skip
        """The recursive function and its call; `choose` selects the body or the end."""
        types = [one.type for one in state.values()]
        whole = types[0] if len(types) == 1 else Tuples(tuple(types))
        now = tuple_of([t.Var(one.name) for one in state.values()])
        kind: Type = whole
        if returns := any(isinstance(one, ast.Return) for one in nodes(node.body)):
            kind = self._result() if is_endless(node) else Sum(lower(self._result()), lower(whole))

        def values(end: Scope) -> t.Term:
            """The values of the loop's variables at the end of a block."""
            return tuple_of([self._kept(node, name, one, end[name]) for name, one in state.items()])

        def again(end: Scope) -> Typed:
            """Call the loop for the next iteration."""
            following = values(end)
            return Typed(t.Apply(t.Var(loop), t.Tuple(walk.following, following) if walk else following), kind)

        def ended(term: t.Term) -> t.Term:
            """The result of a loop that ends without a return: inr if a return is possible."""
            return t.Con(kind, "inr", (term,)) if isinstance(kind, Sum) and returns else term

        def give(made: Typed) -> Typed:
            """The result of a return in the loop: inl unless only a return ends the loop."""
            return made if is_endless(node) else Typed(t.Con(kind, "inl", (made.term,)), kind)

        self.leaving.append(Leaving(again, lambda end: Typed(ended(values(end)), kind), give))
        body = self.block(node.body, scope, again).term
        pattern, argument, first = _pattern(state), lower(whole), now
        if walk is not None:
            pattern, argument = (walk.name, pattern), lower(Tuples((walk.type, whole)))
            first = t.Tuple(walk.start, now)
        term = sugar.bind(pattern, body if is_endless(node) else choose(body, ended(now)))
        function = t.Function(loop, Arrow(argument, lower(kind)), sugar.hidden(pattern), term)
        return t.Letrec((function,), t.Apply(t.Var(loop), first))

    def _kept(self, node: ast.AST, name: str, before: Variable, after: Variable | str) -> t.Term:
        if isinstance(after, str):
            self.refuse(node, f"{name}: {after}", "assign it on every path")
        if after.type != before.type:
            learn(before.type, after.type)
            types = f"{spoken(before.type)} before the loop and {spoken(after.type)} after its body"
            self.refuse(node, f"{name} is {types}", f"begin with a {spoken(after.type)}")
        return t.Var(after.name)

    def _check_loop(self, node: ast.For | ast.While) -> bool:
        """Whether a return may end the loop; refuses unsupported loops."""
        if node.orelse:
            self.refuse(node, "else after a loop", "write the statements after it")
        returns = [one for one in nodes(node.body) if isinstance(one, ast.Return)]
        if returns and self.result is None:
            self.refuse(returns[0], "return inside of a loop, of a type that is not known", "annotate: -> float")
        if is_endless(node) and not returns:
            self.refuse(node, "a loop that nothing ends", "write break or return")
        return bool(returns)


def _pattern(state: dict[str, Variable]) -> sugar.Pattern:
    return pattern_of([one.name for one in state.values()])
