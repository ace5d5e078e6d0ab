"""Entry points by complex numbers: wrappers of derivatives that take and return real and imaginary parts.

    grad_f(z) = d/dx f(x + i y) - i d/dy f(x + i y)         the convention of JAX, for a real-valued f

A tangent is a complex number as it is. Arrays are copied: in core their parts are arrays of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from numba.core import types

from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.codegen.module_builder import ModuleBuilder
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaType, NumbaTypes
from dualrev.compiler.types.complex_parts import holds_complex, in_parts

__all__ = ["Around"]

_TRANSFORMS = ("grad", "value_and_grad", "vjp", "jvp")


class Around:
    """Wrapper of a derivative, for these argument types; the first `count` are the function's own."""

    def __init__(
        self, module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: Sequence[NumbaType], count: int
    ) -> None:
        self.module, self.transform, self.argnums = module, transform, argnums
        self.argtypes, self.count = tuple(argtypes), count
        if transform not in _TRANSFORMS:
            source = module.front.source(module.f)
            why = "of complex arguments only grad, value_and_grad, vjp and jvp are known"
            what, instead = f"the {transform} of {source.tree.name}", "real and imaginary parts"
            if transform.endswith("_aux"):
                what, instead = f"has_aux of {source.tree.name}", "dr.vjp(f, *args, has_aux=True)"
            source.refuse(source.tree, what, why, instead)

    @property
    def inner(self) -> NumbaTypes:
        """Argument types of the wrapped derivative; core itself splits the function's own arguments."""
        return (*self.argtypes[: self.count], *map(in_parts, self.argtypes[self.count :]))

    def write(self, entry: str, doc: str) -> str:
        """Emit the wrapper; return its name."""
        module = self.module
        (inside,) = (f for f in module.text.functions if f.name == entry)
        name = module.names.fresh(f"{self.transform}_{inside.source.tree.name}_of_complex")
        made = module.names.fresh("made")
        given = [self.parts(x, kind) for x, kind in zip(inside.parameters, self.argtypes, strict=True)]
        body: list[CodeStatement] = [
            Code(f"runtime.check_apart({z}, {x})", 0) for z, x in self.kept_apart(inside.parameters)
        ]
        body += [Code(f"{made} = {entry}({', '.join(given)})", 0), Code(f"return {self.returned(made)}", 0)]
        module.function(name, inside.parameters, doc, body, inside.source, module.f)
        return name

    def kept_apart(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of a complex and a written array that must not alias, since the parts are copies."""
        front, own = self.module.front, list(zip(names, self.argtypes[: self.count], strict=False))
        core = front.entered(self.module.f, self.argtypes[: self.count])
        written = front.memory.written(core)
        wrote = [any(x in written for x in leaves(tree)) for tree in core.parameters]
        every = [list(self._arrays(x, kind)) for x, kind in own]
        read = [z for some in every for z, kind in some if holds_complex(kind)]
        changed = [x for some, w in zip(every, wrote, strict=True) if w for x, kind in some if not holds_complex(kind)]
        return [(z, x) for z in read for x in changed]

    def _arrays(self, x: str, kind: NumbaType) -> Iterator[tuple[str, NumbaType]]:
        if isinstance(kind, types.Array):
            yield x, kind
        elif isinstance(kind, types.BaseTuple):
            for k, of in enumerate(kind.types):
                yield from self._arrays(f"{x}[{k}]", of)

    def returned(self, made: str) -> str:
        """Text of the wrapper's result, from the result of the wrapped derivative."""
        if self.transform == "jvp":
            return made
        argnums = tuple(range(self.count)) if self.transform == "vjp" else self.argnums
        several = isinstance(argnums, (tuple, list))
        numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        kinds = [self.argtypes[k % self.count] for k in numbers]
        of = made if self.transform == "grad" else f"{made}[1]"
        gradients = [self.whole(f"{of}[{k}]" if several else of, kind) for k, kind in enumerate(kinds)]
        gradient = f"({', '.join(gradients)},)" if several else gradients[0]
        return gradient if self.transform == "grad" else f"({made}[0], {gradient})"

    def parts(self, x: str, kind: NumbaType) -> str:
        """Text of an argument, with its complex numbers split into their parts."""

        def leaf(text: str, of: NumbaType) -> str:
            """Text of the real and the imaginary part of a leaf."""
            if isinstance(of, types.Omitted):
                return f"({of.value.real!r}, {of.value.imag!r})"
            if not isinstance(of, types.Array) or of.layout == "A":
                return f"({text}.real, {text}.imag)"
            if of.layout == "F":
                return f"(np.asfortranarray({text}.real), np.asfortranarray({text}.imag))"
            return f"({text}.real.copy(), {text}.imag.copy())"

        return self._mapped(x, kind, leaf)

    def whole(self, x: str, kind: NumbaType) -> str:
        """Text of a complex gradient, from the gradients by the parts."""

        def leaf(text: str, of: NumbaType) -> str:
            """Text of a leaf's complex gradient, conjugated."""
            if isinstance(of, types.Array):
                return f"runtime.conjugate({text}[0], {text}[1])"
            return f"complex({text}[0], -{text}[1])"

        return self._mapped(x, kind, leaf)

    def _mapped(self, x: str, kind: NumbaType, leaf: Callable[[str, NumbaType], str]) -> str:
        if not holds_complex(kind):
            return x
        if not isinstance(kind, types.BaseTuple):
            return leaf(x, kind)
        items = [self._mapped(f"{x}[{k}]", of, leaf) for k, of in enumerate(kind.types)]
        if not isinstance(kind, types.BaseNamedTuple):
            return f"({', '.join(items)},)"
        refs = self.module.front.refs.values()
        return f"{next(r.name for r in refs if r.value is kind.instance_class)}({', '.join(items)})"
