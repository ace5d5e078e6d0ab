"""Desugar `match` on numbers and strings to `if` and `elif`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from dualrev.compiler.frontend.desugar.closures import Inlined
from dualrev.compiler.frontend.desugar.ndindex import assigned, located, read
from dualrev.compiler.frontend.lowering.scope import Scope

__all__ = ["Matching"]


class Matching:
    """Desugaring of `match` statements; `local` allocates a fresh name."""

    def __init__(self, scope: Scope, local: Callable[[str], str]) -> None:
        self.scope, self.local = scope, local

    def statement(self, node: ast.Match) -> list[ast.stmt]:
        """Desugar a `match` statement to branches."""
        subject = self.local("subject")
        made: list[ast.stmt] = []
        for case in reversed(node.cases):
            test, binding = self.pattern(case.pattern, subject)
            if binding:
                made_test: ast.expr = Inlined.of(binding, case.guard or ast.Constant(True))
                test = made_test if test is None else ast.BoolOp(ast.And(), [test, made_test])
            elif case.guard is not None:
                test = case.guard if test is None else ast.BoolOp(ast.And(), [test, case.guard])
            made = list(case.body) if test is None else [ast.If(test, case.body, made)]
            for s in made:
                located(s, case.pattern)
        return [assigned(subject, node.subject, node), *made]

    def pattern(self, p: ast.pattern, subject: str) -> tuple[ast.expr | None, list[ast.stmt]]:
        """Return the test of a pattern (None if it always matches), and the assignments of its names."""
        match p:
            case ast.MatchValue(value):
                return ast.Compare(read(subject), [ast.Eq()], [value]), []
            case ast.MatchSingleton(value):
                return ast.Compare(read(subject), [ast.Is()], [ast.Constant(value)]), []
            case ast.MatchOr(patterns):
                parts = [self.pattern(x, subject) for x in patterns]
                tests = [test for test, _ in parts if test is not None]
                if not any(binding for _, binding in parts):
                    return (ast.BoolOp(ast.Or(), tests) if len(tests) == len(parts) else None), []
            case ast.MatchAs(None, name):
                return None, [] if name is None else [assigned(name, read(subject), p)]
            case ast.MatchAs(inner, name) if inner is not None and name is not None:
                test, binding = self.pattern(inner, subject)
                return test, [*binding, assigned(name, read(subject), p)]
        return self.scope.refuse(p, "this pattern", "only numbers, `|`, names and `_` are known", "if and elif")
