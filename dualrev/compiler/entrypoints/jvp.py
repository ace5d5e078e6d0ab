"""Entry points of directional derivatives: forward mode, alone and with reverse mode over it.

    jvp_f(x, y, t_x, t_y)       the value of f, and its tangent                             forward mode
    product_f(x, y, t_x)        the gradient of the tangent: the Hessian of f times t_x     reverse mode of forward mode
    hvp_f(x, t_x, y)            the same, with the tangent after the first argument

The gradient of a tangent is that of a function which forward mode has made (ad/forward/forward_driver.py): no tape of a
tape is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from numba.core import types

from dualrev.compiler.ad.differentiated import check_scalar, chosen_numbers
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.layout import asks_for_layout
from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder, described
from dualrev.compiler.entrypoints.primal import NameTree, Plain
from dualrev.compiler.entrypoints.vjp import Entry
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.atoms import Node
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaType, NumbaTypes
from dualrev.compiler.types.leaves import tangent_type
from dualrev.errors import ArgumentError, TangentError

__all__ = ["Chosen", "Leaf", "is_single", "root"]


def root(module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int) -> Emitted:
    """Emit the module of a `jvp`, or of the product of a Hessian and a vector."""
    if transform == "jvp":
        given = tuple(map(tangent_type, argtypes, argtypes[count:] or argtypes[:count]))
        return _jvp(module, argtypes[:count], given)
    primals, kinds = argtypes[:count], argtypes[count:]
    if transform == "hvp":
        primals, kinds = (argtypes[0], *argtypes[2:]), argtypes[1:2]
    return Chosen(module, argnums, primals).product(transform, kinds)


# Forward mode


def _jvp(module: ModuleBuilder, primals: NumbaTypes, kinds: NumbaTypes) -> Emitted:
    """Emit `jvp_f(arguments..., tangents...) -> (value, tangent)`; an argument with tangent None is constant."""
    f, count = module.front.entered(module.f, primals), len(primals)
    moving = [x for p, kind in zip(f.parameters, kinds, strict=True) if not _is_none(kind) for x in traverse.leaves(p)]
    moving = [x for x in moving if carries(x)]
    if not moving:
        raise ArgumentError.of(", ".join(map(str, primals)))
    whole, names = Plain(module, module.front.forward.function(f, moving).function), f.origin.parameters
    body = whole.take_apart(names, whole.parameters[:count])
    body += whole.check_arrays(whole.parameters[:count])
    moved = [p for p, kind in zip(whole.parameters[:count], kinds, strict=True) if not _is_none(kind)]
    reading = _GivenTangents(whole, moved, whole.parameters[count:])
    given = []
    for x, tree, kind in zip(names, whole.parameters[:count], kinds, strict=True):
        given.append(reading.name(x, tree))
        if not _is_none(kind):
            reading.read(tree, given[-1], kind)
    body += [Code(f"{t} = {text}", 0) for t, text in reading.found if t != text]
    body += whole.body()
    name, doc = module.names.fresh(f"jvp_{f.name}"), described("jvp", None, f.name)
    module.function(name, [*names, *given], doc, body, f.origin.source, module.f)
    return module.finish(name, f"{doc} Made by dualrev.")


class _GivenTangents:
    """Unpacking of the tangents that are given for arguments into the tangents of their leaves."""

    def __init__(self, plain: Plain, parameters: list[NameTree], tangents: list[str]) -> None:
        self.plain = plain
        inputs = [x for p in parameters for x in leaves(p) if plain.moves(x)]
        self.tangent = dict(zip(inputs, tangents, strict=True))
        asks = asks_for_layout(plain.f, plain.module.front.program)
        self.strided = {x for x in inputs if plain.is_array(x) and plain.types[x].layout == "A" and asks}
        self.found: list[tuple[str, str]] = []  # the tangent of a leaf, and what it is

    def name(self, x: str, tree: NameTree) -> str:
        """Name of an argument's tangent as a parameter."""
        return (isinstance(tree, str) and self.tangent.get(tree)) or self.plain.module.names.fresh("t_{}", x)

    def read(self, tree: NameTree, text: str, kind: NumbaType) -> None:
        """Collect the tangents of an argument's leaves, from the tangent `text` of numba type `kind`."""
        if isinstance(tree, Node):
            kinds: NumbaTypes = getattr(kind, "types", ())
            if not isinstance(kind, types.BaseTuple) or len(kinds) != len(tree.parts):
                raise TangentError.of(str(kind), f"a tuple with {len(tree.parts)} entries")
            for k, part in enumerate(tree.parts):
                self.read(part, f"{text}[{k}]", kinds[k])
            return
        of: NumbaType = self.plain.types.get(tree) if isinstance(tree, str) else None
        if isinstance(of, types.Float):
            if not isinstance(kind, (types.Float, types.Integer, types.Boolean)):
                raise TangentError.of(str(kind), "a real scalar")
            self.found.append((self.tangent[tree], text if isinstance(kind, types.Float) else f"float({text})"))
        elif self.plain.moves(tree):
            if not isinstance(kind, types.Array) or kind.ndim != of.ndim:
                raise TangentError.of(str(kind), f"an array with {of.ndim} axes")
            t = self.tangent[tree]
            lent = self.plain.is_written(t) or self.plain.is_returned(t)  # what the caller has must not be these
            fits = (kind.dtype, kind.layout) == (of.dtype, of.layout) and not lent
            made = "strided_tangent" if tree in self.strided else "tangent" if fits else "new_tangent"
            self.found.append((t, f"runtime.{made}({tree}, {text})"))


# Products with the Hessian


@dataclass(frozen=True)
class Leaf:
    """Scalar or array in the result of a directional derivative."""

    path: tuple[int, ...]
    kind: NumbaType
    like: str  # an array with the shape of this one; empty if that is known from a call only

    @property
    def is_array(self) -> bool:
        """Whether the leaf is an array."""
        return isinstance(self.kind, types.Array)


class Chosen:
    """Directional derivative by the chosen arguments, and the functions that are emitted from it.

    `whole` is core whose last parameters are the directions; `again` says that it is differentiated once more.
    """

    again = True

    def __init__(
        self, module: ModuleBuilder, argnums: ArgNums, primals: NumbaTypes, of: Function | None = None
    ) -> None:
        """Build the tangent function; `of` is another function with the module's arguments, such as a derivative."""
        self.module, self.primals, self.argnums = module, primals, argnums
        self.f = f = of or module.front.entered(module.f, primals)
        self.names, self.called = f.origin.parameters, f.name
        self.several = isinstance(argnums, (tuple, list))
        self.chosen = chosen_numbers(argnums, f, primals)
        moving = [x for k in self.chosen for x in traverse.leaves(f.parameters[k]) if carries(x)]
        self.core = module.front.forward.function(f, moving, again=self.again, alone=True).function
        self.take(self.core)
        self.tangent = dict(zip(self.ordered, self.tangents, strict=True))

    def take(self, core: Function) -> None:
        """Use `core` as the tangent of f: its names and its types."""
        self.whole, count = Plain(self.module, core), len(self.primals)
        self.parameters = self.whole.parameters[:count]
        self.tangents = self.whole.parameters[count:]
        self.moving = [x for k in self.chosen for x in leaves(self.parameters[k]) if self.whole.moves(x)]
        self.ordered = [x for k in sorted(self.chosen) for x in leaves(self.parameters[k]) if self.whole.moves(x)]

    def moves(self, x: object) -> bool:
        """Whether a leaf has a tangent."""
        return self.whole.moves(x)

    def is_array(self, x: str) -> bool:
        """Whether a leaf is an array."""
        return self.whole.is_array(x)

    # The functions of a direction

    def gradient(self) -> str:
        """Emit the gradient of the tangent of f, which is the Hessian-vector product; return its name."""
        module = self.module
        check_scalar(self.f)
        name = module.names.fresh(f"grad_slope_{self.called}")
        entry = Entry(module, "grad", self.chosen, self.core, module.f, [*self.names, *self.tangents])
        entry.write(name, self.several, described("grad", self.argnums, f"the slope of {self.called}"))
        return name

    def slope(self) -> str:
        """Emit the tangent of f; return its name."""
        whole = self.whole
        body = [*whole.take_apart(self.names, self.parameters), *whole.check_arrays(self.parameters), *whole.body()]
        name = self.module.names.fresh(f"slope_{self.called}")
        doc = f"The derivative of {self.called} in the direction of the tangents."
        self.function(name, [*self.names, *self.tangents], doc, body)
        return name

    def function(self, name: str, parameters: list[str], doc: str, body: list[CodeStatement]) -> None:
        """Add a function with the options of f."""
        self.module.function(name, parameters, doc, body, self.f.origin.source, self.module.f)

    # What is called for them

    def product(self, transform: str, kinds: NumbaTypes) -> Emitted:
        """Emit the entry point of the Hessian-vector product."""
        module, gradient = self.module, self.gradient()
        reading = _GivenTangents(self.whole, [self.parameters[k] for k in sorted(self.chosen)], self.tangents)
        given: list[str] = []
        body: list[CodeStatement] = [Code("tape = runtime.new_tape(0)", 0)]
        chosen = [self.parameters[k] for k in self.chosen]
        body += self.whole.take_apart([self.names[k] for k in self.chosen], chosen)
        for k, kind in zip(self.chosen, kinds, strict=True):
            given.append(reading.name(self.names[k], self.parameters[k]))
            reading.read(self.parameters[k], given[-1], tangent_type(self.primals[k], kind))
        for t, text in reading.found:
            if text.startswith("runtime."):
                body.append(Code(f"{t} = runtime.attempt(tape, {text.replace('(', ', ', 1)}", 0))
            elif t != text:
                body.append(Code(f"{t} = {text}", 0))
        made, returned = module.names.fresh("made"), module.names.fresh("returned")
        body.append(Code(f"{made} = runtime.attempt(tape, {gradient}, {', '.join([*self.names, *self.tangents])})", 0))
        body += [Code(f"{returned} = runtime.unless_failed(tape, {made})", 0), Code("runtime.close(tape)", 0)]
        body.append(Code(f"return {returned}", 0))
        parameters = [*self.names, *given] if transform == "product" else [self.names[0], *given, *self.names[1:]]
        doc = f"The Hessian of {self.called} with respect to argument {self.argnums}, times a vector."
        return self.finish(transform, parameters, doc, body)

    def finish(self, transform: str, parameters: list[str], doc: str, body: list[CodeStatement]) -> Emitted:
        """Emit the entry point with this body, and finish the module."""
        name = self.module.names.fresh(f"{transform}_{self.called}")
        self.function(name, parameters, doc, body)
        return self.module.finish(name, f"{doc} Made by dualrev.")


def _is_none(kind: NumbaType) -> bool:
    """Whether a numba type is the type of None."""
    return isinstance(kind, types.NoneType)


def is_single(kind: NumbaType) -> bool:
    """Whether the type of a scalar, or of an array's elements, is float32."""
    return bool((kind.dtype if isinstance(kind, types.Array) else kind) == types.float32)
