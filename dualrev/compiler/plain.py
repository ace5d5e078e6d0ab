"""A function of expanded core as it is: the forward sweep on which nothing is recorded."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dualrev.compiler import syntax
from dualrev.compiler.core import Call, Store
from dualrev.compiler.expand import Expanded
from dualrev.compiler.flow import Value
from dualrev.compiler.reverse import Reverse

__all__ = ["Plain", "plain"]


class Plain(Reverse):
    """A function that is written without derivatives."""

    def __init__(self, e: Expanded, effects: Callable[[Call], Any], checked: bool) -> None:
        super().__init__(e, effects, lambda s, caller: None, set(), {}, set(), True, checked)

    def _plan(self) -> None:
        """Nothing is recorded."""
        self.names, self.hold, self.recorded_in = {}, set(), {}
        self.own_tape = self.calls_tape = self.uses_tape = False

    def must_restore(self, s: Store) -> bool:
        """Nothing is undone."""
        return False

    def held(self, v: Value, value: ast.expr) -> ast.expr:
        """There is no tape."""
        return value


def plain(e: Expanded, effects: Callable[[Call], Any], checked: bool) -> tuple[list[Any], ast.expr]:
    """The statements of a function, and its result; `checked` says that divisions of ints by zero raise."""
    writing = Plain(e, effects, checked)
    return writing.forward(), writing.tree(e.result, syntax.atom)
