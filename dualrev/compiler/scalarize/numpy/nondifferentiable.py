"""Non-differentiable functions, emitted unchanged; and `stop_gradient`, which makes constants of active values.

Takes the writer, and what has been put off. Guarantees that no view of a real array is written as such.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array, is_real, is_real_array

__all__ = ["Inactive"]


class Inactive:
    """Lowering of functions without derivative, and of `dualrev.stop_gradient`."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy) -> None:
        self.code, self.lazy = code, lazy

    def write(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Emit a function unchanged; a tuple of results component by component."""
        code = self.code
        for x in s.args:
            self.lazy.materialise(x)
        target = code.tree(s.target)
        if not isinstance(target, anf.Node):
            code.alloc(s) if is_array(kind) else code.as_written(s)
            return
        made = code.expression(s)
        names = code.names_in(s.args)
        fresh = [code.temp(part) for part in _parts_of(kind)]  # a part of the target may be an argument, too
        for k, (x, part) in enumerate(zip(fresh, _parts_of(kind), strict=True)):
            item = to_python.subscript(made, (anf.Const(k),), to_python.atom)
            code.emit((anf.Alloc if is_array(part) else anf.Discrete)(x, names, item, s.line))
        for t, x in zip(target.parts, fresh, strict=True):
            code.copy_tree(t, x, s.line)

    def without_rule(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Emit a function that has no rule unchanged, if its result is discrete; refuse it otherwise."""
        if is_real(kind) or isinstance(kind, types.BaseTuple) or is_real_array(kind):
            self.code.refuse(s.line, f"{s.function} of these arguments", "", "a loop")
        self.write(s, kind)

    def elements(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower a piecewise constant function of elements: `np.around`, `np.angle`."""
        code, (x, *rest) = self.code, s.args
        if not is_real_array(kind) or len(rest) > 1 or any(is_array(code.kind(y)) for y in rest):
            code.refuse(s.line, f"{s.function} of these arguments", "", "a loop")
        self.lazy.materialise(x)
        made = s.target if s.target != x else code.temp(kind)
        code.empty_like(made, named(x), s.line)
        text = f"{s.function}(x, k)" if rest else f"{s.function}(x)"

        def one(i: tuple[str, ...]) -> None:
            """Store the function of the element at index `i`."""
            value = code.pick(x, i, s.line)
            names = {"x": value, **({"k": rest[0]} if rest else {})}
            code.put(made, i, code.plain(text, s.line, kind.dtype, **names), s.line)

        code.over(made, kind.ndim, s.line, one)
        code.copy(s.target, made, s.line)

    def has_no_derivative(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Whether a result is inactive by its types: discrete, or computed from discrete values only."""
        code = self.code
        known = all(is_array(x) or isinstance(x, (types.Number, types.Boolean)) for x in _parts_of(kind))
        of_reals = any(_has_reals(code.kind(x)) for a in s.args for x in anf.leaves(code.tree(a)) if x is not None)
        return known and not (of_reals and any(map(_has_reals, _parts_of(kind))))

    def stopped(self, s: anf.CallKnown) -> None:
        """Lower `dualrev.stop_gradient` to a constant, or to a copy of a real array."""
        (x,) = s.args
        self.lazy.materialise(x)
        self._stopped_tree(self.code.tree(s.target), self.code.tree(x), s.line)

    def _stopped_tree(self, target: anf.Tree, source: anf.Tree, line: int) -> None:
        """Copy the leaves of a tree by expressions that have no derivative."""
        code = self.code
        if isinstance(target, anf.Node):
            assert isinstance(source, anf.Node), source
            for t, x in zip(target.parts, source.parts, strict=True):
                self._stopped_tree(t, x, line)
            return
        assert isinstance(target, str), target
        assert not isinstance(source, anf.Node), source
        kind = code.kind(target)
        if is_real_array(kind):
            made = target if target != source else code.temp(kind)
            code.empty_like(made, named(source), line)

            def one(i: tuple[str, ...]) -> None:
                """Store the element at index `i`, as a constant."""
                code.put(made, i, self._constant(code.pick(source, i, line), line), line)

            code.over(made, kind.ndim, line, one)
            code.copy(target, made, line)
        else:
            code.copy(target, self._constant(source, line) if is_real(kind) else source, line)

    def _constant(self, x: anf.Atom, line: int) -> str:
        """Emit the value of a real number as a constant."""
        return self.code.plain("x", line, self.code.kind(x), x=x)


def _has_reals(kind: NumbaType) -> bool:
    """Whether a value of this type may be active: real or complex numbers, or a list."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_has_reals, kind.types))
    return is_real(kind) or is_real_array(kind) or isinstance(kind, (types.List, types.Complex))


def _parts_of(kind: NumbaType) -> list[NumbaType]:
    """Component types of a tuple type; any other type by itself."""
    return list(kind.types) if isinstance(kind, types.BaseTuple) else [kind]
