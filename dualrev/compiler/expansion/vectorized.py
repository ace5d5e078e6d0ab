"""Calls of ufuncs that numba.vectorize has made -> calls of their kernels, for each element."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.np.numpy_support import ufunc_find_matching_loop

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Call, Let, Ref
from dualrev.compiler.expansion.generalized import generalized
from dualrev.compiler.expansion.inactive import Inactive
from dualrev.compiler.expansion.statements import is_array
from dualrev.compiler.frontend.jitted import is_generalized, jitted

__all__ = ["Vectorized"]


class Vectorized(Inactive):
    """Ufuncs of the user's."""

    def _ufunc(self, s: Let, kind: Any) -> None:
        if is_generalized(s.info.value):
            generalized(self, s)
            return
        self.flush()
        kernel, wanted = self.kernel(s.info), self.loop(s)
        if not is_array(kind):
            self.apply(s.target, kernel, [self.cast(x, w, s.line) for x, w in zip(s.args, wanted, strict=True)], s.line)
            return
        arrays = [x for x in s.args if is_array(self.kind(x))]
        names = tuple(dict.fromkeys(self.named(x, s.line) for x in arrays))
        made = s.target if s.target not in names else self.temp(kind)
        self.empty(made, f"np.broadcast_shapes({', '.join(f'{x}.shape' for x in names)},)", names, s.line)
        views: dict[Any, Any] = {}
        for x in arrays:
            views[x] = self.temp(types.Array(self.kind(x).dtype, kind.ndim, "A"))
            self.let("view", (x, made), syntax.name(f"runtime.spread(BASE, {made}.shape)"), s.line, target=views[x])

        def one(i: tuple[str, ...]) -> None:
            elements = [self.pick(views[x], i, s.line) if x in views else x for x in s.args]
            args = [self.cast(x, w, s.line) for x, w in zip(elements, wanted, strict=True)]
            value = self.temp(kind.dtype)
            self.apply(value, kernel, args, s.line)
            self.put(made, i, value, s.line)

        self.over(made, kind.ndim, s.line, one)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def kernel(self, ufunc: Ref) -> Ref:
        """The name of the numba function of scalars."""
        path = (*ufunc.path, ("jitted", ""))
        found = next((r for r in self.lowered.refs.values() if r.path == path), None)
        if found is None:
            name = self.names.fresh(ufunc.name)
            found = self.lowered.refs[name] = Ref(name, jitted(ufunc.value), path)
        return found

    def loop(self, s: Let) -> list[Any]:
        """The types of the scalars that numba's loop for these arguments takes."""
        kinds = [types.unliteral(self.kind(x)) for x in s.args]
        found = None
        if len(kinds) == s.info.value.nin and not any(is_array(k) and not k.ndim for k in kinds):
            kinds = [k.dtype if is_array(k) else k for k in kinds]
            found = ufunc_find_matching_loop(s.info.value, tuple(kinds))
        if found is None:
            self.refuse(s.line, "this call of a ufunc", "only that of its inputs is known", "its inputs")
        return list(found.inputs)  # type: ignore[union-attr]

    def cast(self, x: Any, wanted: Any, line: int) -> Any:
        """A scalar in the type that the loop takes."""
        kind = types.unliteral(self.kind(x))
        if kind == wanted:
            return x
        if isinstance(kind, (types.Integer, types.Boolean)) and isinstance(wanted, (types.Integer, types.Float)):
            return self.plain(f"np.{wanted}(_)", line, wanted, _=x)
        return self.refuse(line, f"a ufunc of {kind}", f"numba converts it to {wanted}", "the conversion")

    def apply(self, target: str, kernel: Ref, args: list[Any], line: int) -> None:
        self.out.append(Call([target], kernel, args, target, line))
