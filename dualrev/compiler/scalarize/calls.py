"""Lower calls of other numba functions; their arguments and results are trees.

Takes the writer, what has been put off, tuples, the lists, numbers, and `expand`, which writes an operation. Guarantees
that every array that is passed has been made, and that the arguments have the types that the callee declares. A list is
an array here, and so it is in the callee, which is made for a list: it may only read it (legalize.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from numba.core import types

from dualrev.compiler.frontend.reading.njit_options import alike, declared
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.scalarize.numpy.scalar_functions import Numbers
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.complex_parts import holds_complex, joined
from dualrev.eager.numba_rules import Ruled

__all__ = ["Calls"]


class Calls:
    """Lowering of `g(x)` and `g(x, *t)`."""

    def __init__(
        self,
        code: ScalarBuilder,
        lazy: Lazy,
        tuples: Tuples,
        lists: Lists,
        numbers: Numbers,
        expand: Callable[[anf.Let], None],
        returned: Callable[[Dispatcher, NumbaTypes], NumbaType],
    ) -> None:
        """Keep the collaborators; `returned` gives the inferred return type of a numba function, if numba knows it."""
        self.code, self.lazy, self.tuples, self.lists, self.numbers = code, lazy, tuples, lists, numbers
        self.expand, self.returned = expand, returned

    def call(self, s: anf.CallUser, kind: NumbaType) -> None:
        """Lower `target = g(x)`."""
        self.lazy.flush()
        code = self.code
        result = code.tree(s.target)
        kinds = tuple(self.lists.kind(x, code.of[x]) if x in self.lists else joined(code.kind(x)) for x in s.args)
        others = any(map(holds_complex, (kind, *kinds))) or any(x in self.lists for x in s.args)
        others |= s.target in code.lowered.paired
        args = [code.tree(x) for x in self._converted(s, kinds)]
        own = self.returned(s.function.value, kinds) if isinstance(s.function.value, Ruled) and not others else None
        if own in (None, kind):
            code.call(result, s.function, args, s.line, kinds if others else None)
            return
        made = code.temp(types.unliteral(own))  # a rule is compiled for the types of what the function itself returns
        code.call(code.tree(made), s.function, args, s.line)
        self.expand(anf.Copy(s.target, made, s.line))

    def _converted(self, s: anf.CallUser, kinds: NumbaTypes) -> list[anf.Atom]:
        """Arguments of a call, converted to the types of the callee's declared signature."""
        code = self.code
        signature = declared(s.function.value, kinds)
        if signature is None:
            return list(s.args)
        made: list[anf.Atom] = []
        for x, kind, wanted in zip(s.args, kinds, signature.args, strict=True):
            fitting = x if alike(kind, wanted) else self.numbers.converted(x, wanted, s.line)
            if fitting is None:
                what = f"the call of {describe(s.function.value)} with {kind}"
                instead = f"np.{wanted}(...) of it" if isinstance(wanted, types.Number) else "arguments of that type"
                code.refuse(s.line, what, f"its signature says {wanted}, and numba converts that", instead)
            made.append(fitting)
        return made

    def star(self, s: anf.CallStarred, kind: NumbaType) -> None:
        """Lower `g(x, *t)`, after the length of `t` is known."""
        star: anf.Star = s.star
        count = len(star.stars)
        args: list[anf.Atom] = []
        for x, starred in zip(s.args, star.stars, strict=False):
            args += self.tuples.items(x, s.line) if starred else [x]
        args += s.args[count:]
        if star.makes is anf.CallKnown:
            self.expand(star.call(s.target, tuple(args), s.line))
            return

        def wrong(why: str) -> NoReturn:
            """Raise for arguments that do not fit: numba has bound them."""
            raise AssertionError(f"numba has bound these arguments: {why}")

        bound = star.bound(args, wrong, lambda rest: self.tuples.packed(rest, s.line))
        self.expand(star.call(s.target, tuple(bound), s.line))
