"""Lower calls of `numba.vectorize` ufuncs to calls of their kernels, for each element.

Takes the writer, and what has been put off.
"""

from __future__ import annotations

from numba.core import types
from numba.np.numpy_support import ufunc_find_matching_loop

from dualrev.compiler.frontend.reading.callables import is_generalized, jitted
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.numpy.gufuncs import generalized
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array

__all__ = ["Ufuncs"]


class Ufuncs:
    """Lowering of the user's ufuncs."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy) -> None:
        self.code, self.lazy = code, lazy

    def call(self, s: anf.CallUfunc, kind: NumbaType) -> None:
        """Lower `target = ufunc(x, y)` of numbers or arrays."""
        code = self.code
        if is_generalized(s.function.value):
            generalized(code, self.lazy, s, self._kernel(s.function))
            return
        self.lazy.flush()
        kernel, wanted = self._kernel(s.function), self._loop(s)
        if not is_array(kind):
            code.call(s.target, kernel, self._cast(s.args, wanted, s.line), s.line)
            return
        arrays = [x for x in s.args if is_array(code.kind(x))]
        names = tuple(dict.fromkeys(map(named, arrays)))
        made = s.target if s.target not in names else code.temp(kind)
        code.empty_for(made, names, s.line)
        views = {}
        for x in arrays:
            views[x] = code.spread(x, made, kind.ndim, s.line)

        def one(i: tuple[str, ...]) -> None:
            """Call the kernel with the elements at index `i`."""
            elements = tuple(code.pick(views[x], i, s.line) if x in views else x for x in s.args)
            args = self._cast(elements, wanted, s.line)
            value = code.temp(kind.dtype)
            code.call(value, kernel, args, s.line)
            code.put(made, i, value, s.line)

        code.over(made, kind.ndim, s.line, one)
        code.copy(s.target, made, s.line)

    def _kernel(self, ufunc: anf.Ref) -> anf.Ref:
        """Reference to the ufunc's scalar kernel, a numba function."""
        refs = self.code.lowered.refs
        path = (*ufunc.path, ("jitted", ""))
        found = next((r for r in refs.values() if r.path == path), None)
        if found is None:
            name = self.code.names.fresh(ufunc.name)
            found = refs[name] = anf.Ref(name, jitted(ufunc.value), path)
        return found

    def _loop(self, s: anf.CallUfunc) -> list[NumbaType]:
        """Types of the scalars that numba's loop for these arguments takes."""
        kinds = [types.unliteral(self.code.kind(x)) for x in s.args]
        if len(kinds) > s.function.value.nin:
            why, instead = "only a call with its inputs is known", "the assignment out[...] = of such a call"
            self.code.refuse(s.line, "a ufunc that writes to an array", why, instead)
        if any(is_array(k) and not k.ndim for k in kinds):
            why = "only numbers and arrays with axes are known"
            self.code.refuse(s.line, "a ufunc of an array without axes", why, "its number: a[()]")
        found = ufunc_find_matching_loop(s.function.value, tuple(k.dtype if is_array(k) else k for k in kinds))
        assert found is not None, "numba has typed the call"
        return list(found.inputs)

    def _cast(self, args: tuple[anf.Atom, ...], wanted: list[NumbaType], line: int) -> list[anf.Tree]:
        """Convert scalars to the types that the loop takes."""
        return [self._cast_one(x, w, line) for x, w in zip(args, wanted, strict=True)]

    def _cast_one(self, x: anf.Atom, wanted: NumbaType, line: int) -> anf.Atom:
        kind = types.unliteral(self.code.kind(x))
        if kind == wanted:
            return x
        if isinstance(kind, (types.Integer, types.Boolean)) and isinstance(wanted, (types.Integer, types.Float)):
            return self.code.plain(f"np.{wanted}(_)", line, wanted, _=x)
        return self.code.refuse(line, f"a ufunc of {kind}", f"numba converts it to {wanted}", f"np.{wanted}(...) of it")
