"""The functions that are called for derivatives in a direction: forward mode, alone and with reverse mode over it.

    jvp_f(x, y, t_x, t_y)       the value of f, and its tangent                             forward mode
    product_f(x, y, t_x)        the gradient of the tangent: the Hessian of f times t_x     reverse mode of forward mode
    hvp_f(x, t_x, y)            the same, with the tangent after the first argument
    hessian_f(x, y)             the products with all unit vectors

The gradient of a tangent is that of a function which forward mode has made (transforms/forward.py): no tape of a tape
is needed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numba.core import types

from dualrev.compiler.analyses.activity import carries
from dualrev.compiler.core import syntax, walks
from dualrev.compiler.core.atoms import Constant, Node
from dualrev.compiler.core.terms import Function
from dualrev.compiler.core.walks import leaves
from dualrev.compiler.emission.code import Code, Suite
from dualrev.compiler.entries.gradients import Entry
from dualrev.compiler.entries.plain import Plain, rebuilt
from dualrev.errors import TangentError

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Emitted, Module

__all__ = ["TRANSFORMS", "Chosen", "Leaf", "is_single", "root"]

TRANSFORMS = ("jvp", "product", "hvp", "hessian")


def root(module: Module, transform: str, argnums: Any, argtypes: tuple[Any, ...], count: int) -> Emitted:
    """The module for one of the transforms, of a function with so many parameters."""
    if transform == "jvp":
        return _jvp(module, argtypes[:count], argtypes[count:] or argtypes[:count])
    primals, kinds = argtypes[:count], argtypes[count:]
    if transform == "hvp":
        primals, kinds = (argtypes[0], *argtypes[2:]), argtypes[1:2]
    made = Chosen(module, argnums, primals)
    if transform == "hessian":
        return made.hessian()
    return made.product(transform, kinds)


# Forward mode


def _jvp(module: Module, primals: tuple[Any, ...], kinds: tuple[Any, ...]) -> Emitted:
    """jvp_f(arguments..., tangents...) -> (value, tangent of the value)."""
    f = module.front.entered(module.f, primals)
    moving = [x for p in f.parameters for x in walks.leaves(p) if carries(x)]
    whole, names, count = (
        Plain(module, module.front.forward.function(f, moving).function),
        f.origin.parameters,
        len(primals),
    )
    body = whole.take_apart(names, whole.parameters[:count])
    body += whole.check_arrays(whole.parameters[:count])
    reading = _Reading(whole, whole.parameters[:count], whole.parameters[count:])
    given = []
    for x, tree, kind in zip(names, whole.parameters[:count], kinds, strict=True):
        given.append(reading.name(x, tree))
        reading.read(tree, given[-1], kind)
    body += [Code(f"{t} = {text}", 0) for t, text in reading.found if t != text]
    body += whole.body()
    name, doc = module.names.fresh(f"jvp_{f.name}"), module.describe("jvp", None, f.name)
    module.function(name, [*names, *given], doc, body, f.origin.source, module.f)
    return module.finish(name, f"{doc} Made by dualrev from {f.origin.source.file}.")


class _Reading:
    """The tangents of the leaves of arguments, from what is given for the arguments."""

    def __init__(self, plain: Plain, parameters: list[Any], tangents: list[str]) -> None:
        self.plain = plain
        inputs = [x for p in parameters for x in leaves(p) if plain.moves(x)]
        self.tangent = dict(zip(inputs, tangents, strict=True))
        asks = plain.module.front.asks_for_layout(plain.f)
        self.strided = {x for x in inputs if plain.is_array(x) and plain.types[x].layout == "A" and asks}
        self.found: list[tuple[str, str]] = []  # the tangent of a leaf, and what it is

    def name(self, x: str, tree: Any) -> str:
        """What the tangent of an argument is called as a parameter."""
        return (isinstance(tree, str) and self.tangent.get(tree)) or self.plain.module.names.fresh("t_{}", x)

    def read(self, tree: Any, text: str, kind: Any) -> None:
        """The tangents of an argument's leaves, from the tangent `text` of numba type `kind`."""
        if isinstance(tree, Node):
            kinds: Any = getattr(kind, "types", ())
            if not isinstance(kind, types.BaseTuple) or len(kinds) != len(tree.parts):
                raise TangentError.of(str(kind), f"a tuple with {len(tree.parts)} entries")
            for k, part in enumerate(tree.parts):
                self.read(part, f"{text}[{k}]", kinds[k])
            return
        of: Any = self.plain.types.get(tree) if isinstance(tree, str) else None
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


# Products with the Hessian, and matrices column by column


@dataclass(frozen=True)
class Leaf:
    """A number or an array in what a function of a direction returns."""

    path: tuple[int, ...]
    kind: Any
    like: str  # an array with the shape of this one; empty if that is known from a call only

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return isinstance(self.kind, types.Array)


class Chosen:
    """A function that gives a derivative in a direction of the chosen arguments, and what is made with it.

    `whole` is core whose last parameters are the directions.
    """

    def __init__(self, module: Module, argnums: Any, primals: tuple[Any, ...]) -> None:
        self.module, self.primals, self.argnums = module, primals, argnums
        self.f = f = module.front.entered(module.f, primals)
        self.names, self.called = f.origin.parameters, f.name
        self.several = isinstance(argnums, (tuple, list))
        self.chosen = module.front.chosen_numbers(argnums, f, primals)
        moving = [x for k in self.chosen for x in walks.leaves(f.parameters[k]) if carries(x)]
        made = module.front.forward.function(f, moving).function
        assert isinstance(made.result, Node)
        self.core = replace(made, result=made.result.parts[1])
        self.take(self.core)
        self.tangent = dict(zip(self.ordered, self.tangents, strict=True))

    def take(self, core: Function) -> None:
        """Take this for the tangent of f: its names and its types."""
        self.whole, count = Plain(self.module, core), len(self.primals)
        self.parameters = self.whole.parameters[:count]
        self.tangents = self.whole.parameters[count:]
        self.moving = [x for k in self.chosen for x in leaves(self.parameters[k]) if self.whole.moves(x)]
        self.ordered = [x for k in sorted(self.chosen) for x in leaves(self.parameters[k]) if self.whole.moves(x)]

    def moves(self, x: Any) -> bool:
        """Whether a leaf has a tangent."""
        return self.whole.moves(x)

    def is_array(self, x: str) -> bool:
        """Whether a leaf is an array."""
        return self.whole.is_array(x)

    # The functions of a direction

    def gradient(self) -> str:
        """Write the gradient of the tangent of f, and tell its name: the product of the Hessian and the direction."""
        module = self.module
        module.front.check_scalar(self.f)
        name = module.names.fresh(f"grad_slope_{self.called}")
        entry = Entry(module, "grad", self.chosen, self.core, module.f, [*self.names, *self.tangents])
        entry.write(name, self.several, module.describe("grad", self.argnums, f"the slope of {self.called}"))
        return name

    def slope(self) -> str:
        """Write the tangent of f, and tell its name."""
        whole = self.whole
        body = [*whole.take_apart(self.names, self.parameters), *whole.check_arrays(self.parameters), *whole.body()]
        name = self.module.names.fresh(f"slope_{self.called}")
        doc = f"The derivative of {self.called} in the direction of the tangents."
        self.function(name, [*self.names, *self.tangents], doc, body)
        return name

    def function(self, name: str, parameters: list[str], doc: str, body: list[Any]) -> None:
        """Write a function with the options of f."""
        self.module.function(name, parameters, doc, body, self.f.origin.source, self.module.f)

    # What is called for them

    def product(self, transform: str, kinds: tuple[Any, ...]) -> Emitted:
        """The product of the Hessian and what is given for a direction."""
        module, gradient = self.module, self.gradient()
        reading = _Reading(self.whole, [self.parameters[k] for k in sorted(self.chosen)], self.tangents)
        given, body = [], [Code("tape = runtime.new_tape(0)", 0)]
        chosen = [self.parameters[k] for k in self.chosen]
        body += self.whole.take_apart([self.names[k] for k in self.chosen], chosen)
        for k, kind in zip(self.chosen, kinds, strict=True):
            given.append(reading.name(self.names[k], self.parameters[k]))
            reading.read(self.parameters[k], given[-1], kind)
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

    def finish(self, transform: str, parameters: list[str], doc: str, body: list[Any]) -> Emitted:
        """Write the function that is called."""
        name = self.module.names.fresh(f"{transform}_{self.called}")
        self.function(name, parameters, doc, body)
        return self.module.finish(name, f"{doc} Made by dualrev.")

    def hessian(self) -> Emitted:
        """The products of the Hessian and the unit vectors."""
        found: list[Leaf] = []

        def tree(x: Any, path: tuple[int, ...]) -> Any:
            if isinstance(x, Node):
                return Node(tuple(tree(part, (*path, k)) for k, part in enumerate(x.parts)), x.cls)
            if not self.moves(x):
                return Constant(None)
            found.append(Leaf(path, self.whole.types[x], x if self.is_array(x) else ""))
            return len(found) - 1

        parts = [tree(self.parameters[k], (j,) if self.several else ()) for j, k in enumerate(self.chosen)]
        doc = f"The Hessian of {self.called} with respect to argument {self.argnums}."
        made = Node(tuple(parts)) if self.several else parts[0]
        return self.matrix("hessian", self.gradient(), found, made, doc)

    # Column by column

    def matrix(self, transform: str, function: str, found: list[Leaf], result: Any, doc: str) -> Emitted:
        """The derivatives of every leaf of a result by every leaf of the arguments, of which each is a matrix at first.

        The matrices belong to the function that is called; what fills them, column by column, is called by it.
        """
        fresh = self.module.names.fresh
        arrays = [x for x in self.moving if self.is_array(x)]
        inputs = [x for p in self.parameters for x in leaves(p) if self.is_array(x)]
        kept = {x: fresh("{}_given", x) for x in inputs if self.whole.is_written(x)}
        blocks = {(j, x): fresh("block_{k}") for j in range(len(found)) for x in self.moving}
        body: list[Any] = [Code("tape = runtime.new_tape(0)", 0)]
        body += self.whole.take_apart(self.names, self.parameters)
        body += [Code(f"{self.tangent[x]} = runtime.attempt(tape, runtime.zeros_like, {x})", 0) for x in arrays]
        body += [Code(f"{copy} = runtime.attempt(tape, runtime.copy, {x})", 0) for x, copy in kept.items()]
        likes = [leaf.like for leaf in found]
        for (j, x), block in blocks.items():
            rows = f"{likes[j]}.size" if found[j].is_array else "1"
            columns = f"{x}.size" if x in arrays else "1"
            body.append(Code(f"{block} = runtime.attempt(tape, runtime.block, {rows}, {columns})", 0))
        given = [*self.names, *(self.tangent[x] for x in arrays), *blocks.values(), *kept.values()]
        filling = self.columns(function, found, blocks, kept, given)
        body.append(Code(f"runtime.attempt(tape, {filling}, {', '.join(given)})", 0))
        shaped = {}
        for (j, x), block in blocks.items():
            like = [likes[j]] if found[j].is_array else []
            like += [x] if x in arrays else []
            what = f"runtime.shaped_{len(like)}{'_single' if is_single(self.whole.types[x]) else ''}"
            shaped[j, x] = fresh("part_{k}")
            body.append(Code(f"{shaped[j, x]} = runtime.attempt(tape, {', '.join([what, block, *like])})", 0))
        text = syntax.text(rebuilt(result, lambda j: self.inner(j, shaped)))
        returned = fresh("returned")
        body += [Code(f"{returned} = runtime.unless_failed(tape, {text})", 0), Code("runtime.close(tape)", 0)]
        body.append(Code(f"return {returned}", 0))
        return self.finish(transform, list(self.names), doc, body)

    def inner(self, j: Any, shaped: dict[tuple[int, str], str]) -> ast.expr:
        """In place of a leaf of the result, its derivatives in the structure of the arguments."""

        def part(x: str) -> ast.expr:
            return ast.Name(shaped[j, x]) if self.moves(x) else ast.Constant(None)

        trees = [rebuilt(self.parameters[k], part) for k in self.chosen]
        return ast.Tuple(trees, ast.Load()) if self.several else trees[0]

    def columns(self, function: str, found: list[Leaf], blocks: Any, kept: dict[str, str], given: list[str]) -> str:
        """Write what fills the matrices."""
        fresh = self.module.names.fresh
        body: list[Any] = self.whole.take_apart(self.names, self.parameters)
        body += [Code(f"{t} = 0.0", 0) for x, t in self.tangent.items() if not self.is_array(x)]
        for x in self.moving:
            k = fresh("k") if self.is_array(x) else "0"
            place = f"{self.tangent[x]}.flat[{k}]" if self.is_array(x) else self.tangent[x]
            made = fresh("made")
            lines = [Code(f"{t}[...] = 0.0", 0) for y, t in self.tangent.items() if kept and self.is_array(y)]
            lines.append(Code(f"{place} = 1.0", 0))  # the tangents of arrays that are written have been written, too
            lines += [Code(f"{y}[...] = {copy}", 0) for y, copy in kept.items()]
            lines.append(Code(f"{made} = {function}({', '.join([*self.names, *self.tangent.values()])})", 0))
            for j, leaf in enumerate(found):
                text = made + "".join(f"[{n}]" for n in leaf.path)
                column = f"[:, {k}] = {text}.ravel()" if leaf.is_array else f"[0, {k}] = {text}"
                lines.append(Code(blocks[j, x] + column, 0))
            lines.append(Code(f"{place} = 0.0", 0))
            body += [Suite(f"for {k} in range({x}.size):", lines, 0, loop=True)] if self.is_array(x) else lines
        name = fresh(f"columns_{self.called}")
        doc = f"{self.called} in the directions of the unit vectors, a column for each."
        self.function(name, given, doc, [*body, Code("return", 0)])
        return name


def is_single(kind: Any) -> bool:
    """Whether a number, or each number of an array, is a float32."""
    return bool((kind.dtype if isinstance(kind, types.Array) else kind) == types.float32)
