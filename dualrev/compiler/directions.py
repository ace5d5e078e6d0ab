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
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.code import Code, Suite
from dualrev.compiler.core import Const, Node, leaves, terms, walk
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array
from dualrev.compiler.plain import Plain
from dualrev.compiler.plan import changed
from dualrev.errors import ScalarError, TangentError

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Emitted, _Module

__all__ = ["TRANSFORMS", "root"]

TRANSFORMS = ("jvp", "product", "hvp", "hessian")


def root(module: _Module, transform: str, argnums: Any, argtypes: tuple[Any, ...], count: int) -> Emitted:
    """The module for one of the transforms, of a function with so many parameters."""
    if transform == "jvp":
        return _jvp(module, argtypes[:count], argtypes[count:] or argtypes[:count])
    primals, kinds = argtypes[:count], argtypes[count:]
    if transform == "hvp":
        primals, kinds = (argtypes[0], *argtypes[2:]), argtypes[1:2]
    return _Second(module, argnums, primals).emit(transform, kinds)


# Forward mode


def _jvp(module: _Module, primals: tuple[Any, ...], kinds: tuple[Any, ...]) -> Emitted:
    """jvp_f(arguments..., tangents...) -> (value, tangent of the value)."""
    e = module.entered(primals)
    f = module.typed(module.f, e)
    moving = [x for p in f.parameters for x in terms.leaves(p) if _is_moving(x)]
    whole = module.untyped(module.forward.function(f, moving).function)
    writing = _writing(module, whole)
    body: list[Any] = []
    count = len(e.parameters)
    _take_apart(module, e.lowered.parameters, whole.parameters[:count], body)
    _check_arrays(writing, [x for p in whole.parameters[:count] for x in leaves(p)], body)
    reading = _Reading(module, writing, whole.parameters[:count], whole.parameters[count:])
    given = []
    for x, tree, kind in zip(e.lowered.parameters, whole.parameters, kinds, strict=False):
        given.append(reading.name(x, tree))
        reading.read(tree, given[-1], kind)
    body += [Code(f"{t} = {text}", 0) for t, text in reading.found if t != text]
    body += writing.forward()
    body.append(Code(f"return {syntax.text(writing.tree(whole.result, syntax.atom))}", 0))
    name = module.names.fresh(f"jvp_{e.lowered.source.tree.name}")
    doc = module.describe("jvp", None, e.lowered.source.tree.name)
    module.function(name, [*e.lowered.parameters, *given], doc, body, whole, module.f)
    return module.finish(name, f"{doc} Made by dualrev from {e.lowered.source.file}.")


def _writing(module: _Module, e: Expanded) -> Plain:
    from dualrev.compiler.pipeline import is_checked  # it imports this

    return Plain(e, lambda s: module.effects(s, e), is_checked(module.f))


def _moves(kind: Any) -> bool:
    return is_real(kind) or is_real_array(kind)


def _take_apart(module: _Module, names: list[str], trees: list[Any], body: list[Any]) -> None:
    """The parts of arguments that are tuples."""
    for x, tree in zip(names, trees, strict=True):
        if isinstance(tree, Node):
            module.unpack(x, tree, body)


def _written(writing: Plain) -> set[str]:
    """The classes of arrays that a function writes."""
    return {writing.classes.find(x) for s in walk(writing.e.body) for x in changed(s, writing.effects)}


def _check_arrays(writing: Plain, inputs: list[Any], body: list[Any]) -> None:
    """Arrays that are written do not overlap themselves or one another."""
    written, e = _written(writing), writing.e
    arrays = [x for x in inputs if is_array(e.types.get(x))]
    for x in arrays:
        if writing.classes.find(x) in written and e.types[x].layout == "A":
            body.append(Code(f"runtime.check_spread({x})", 0))
    for k, x in enumerate(arrays):
        for y in arrays[k + 1 :]:
            if writing.classes.find(x) in written or writing.classes.find(y) in written:
                body.append(Code(f"runtime.check_apart({x}, {y})", 0))


class _Reading:
    """The tangents of the leaves of arguments, from what is given for the arguments."""

    def __init__(self, module: _Module, writing: Plain, parameters: list[Any], tangents: list[str]) -> None:
        self.module, self.writing, self.e = module, writing, writing.e
        inputs = [x for p in parameters for x in leaves(p) if _moves(writing.e.types.get(x))]
        self.tangent = dict(zip(inputs, tangents, strict=False))
        results = {writing.classes.find(x) for x in leaves(self.e.result) if is_array(self.e.types.get(x))}
        self.kept = _written(writing) | results  # what the caller has must not be these
        arrays = [x for x in inputs if is_array(self.e.types[x])]
        asks = module.asks_for_layout(self.e)
        self.strided = {x for x in arrays if self.e.types[x].layout == "A" and asks}
        self.found: list[tuple[str, str]] = []  # the tangent of a leaf, and what it is

    def name(self, x: str, tree: Any) -> str:
        """What the tangent of an argument is called as a parameter."""
        return self.tangent.get(tree) or self.module.names.fresh("t_{}", x)

    def read(self, tree: Any, text: str, kind: Any) -> None:
        """The tangents of an argument's leaves, from the tangent `text` of numba type `kind`."""
        if isinstance(tree, Node):
            kinds: Any = getattr(kind, "types", ())
            if not isinstance(kind, types.BaseTuple) or len(kinds) != len(tree.parts):
                raise TangentError.of(str(kind), f"a tuple with {len(tree.parts)} entries")
            for k, part in enumerate(tree.parts):
                self.read(part, f"{text}[{k}]", kinds[k])
            return
        of: Any = self.e.types.get(tree)
        if is_real(of):
            if not isinstance(kind, (types.Float, types.Integer, types.Boolean)):
                raise TangentError.of(str(kind), "a real scalar")
            self.found.append((self.tangent[tree], text if is_real(kind) else f"float({text})"))
        elif is_real_array(of):
            if not is_array(kind) or kind.ndim != of.ndim:
                raise TangentError.of(str(kind), f"an array with {of.ndim} axes")
            t = self.tangent[tree]
            fits = (kind.dtype, kind.layout) == (of.dtype, of.layout) and self.writing.classes.find(t) not in self.kept
            made = "strided_tangent" if tree in self.strided else "tangent" if fits else "new_tangent"
            self.found.append((t, f"runtime.{made}({tree}, {text})"))


# Reverse mode of forward mode


class _Second:
    """Products with the Hessian of a function by the chosen arguments."""

    def __init__(self, module: _Module, argnums: Any, primals: tuple[Any, ...]) -> None:
        self.module, self.primals = module, primals
        self.e = module.entered(primals)
        self.argnums = argnums
        self.chosen = module.chosen("grad", argnums, self.e, primals)
        self.called = self.e.lowered.source.tree.name
        source, result = self.e.lowered.source, self.e.result
        if not (isinstance(result, str) and is_real(self.e.types.get(result))) and not _is_float(result):
            raise ScalarError.of(str(module.typed_result(self.e)), f"{source.file}:{source.tree.lineno}")
        f = module.typed(module.f, self.e)
        moving = [x for k in self.chosen for x in terms.leaves(f.parameters[k]) if _is_moving(x)]
        made = module.forward.function(f, moving)
        result = made.function.result
        assert isinstance(result, terms.Node)
        self.whole = module.untyped(replace(made.function, result=result.parts[1]))
        self.count = len(primals)
        self.names = self.e.lowered.parameters

    def emit(self, transform: str, kinds: tuple[Any, ...]) -> Emitted:
        """The module."""
        module = self.module
        product = module.names.fresh(f"grad_slope_{self.called}")
        tangents = tuple(self.whole.types[t] for t in self.whole.parameters[self.count :])
        numbers = tuple(self.chosen) if isinstance(self.argnums, (tuple, list)) else self.chosen[0]
        slope = f"the slope of {self.called}"
        module.entry(product, "grad", numbers, self.whole, (*self.primals, *tangents), slope)
        entry = module.names.fresh(f"{transform}_{self.called}")
        if transform == "hessian":
            given, body = self.columns(product)
            doc = f"The Hessian of {self.called} with respect to argument {self.argnums}."
        else:
            given, body = self.product(product, transform, kinds)
            doc = f"The Hessian of {self.called} with respect to argument {self.argnums}, times a vector."
        module.function(entry, given, doc, body, self.e, module.f)
        return module.finish(entry, f"{doc} Made by dualrev.")

    def product(self, product: str, transform: str, kinds: tuple[Any, ...]) -> tuple[list[str], list[Any]]:
        """The parameters and the statements of a product."""
        writing = _writing(self.module, self.whole)
        parameters, tangents = self.whole.parameters[: self.count], self.whole.parameters[self.count :]
        chosen = [parameters[k] for k in self.chosen]
        reading = _Reading(self.module, writing, [parameters[k] for k in sorted(self.chosen)], tangents)
        given, body = [], [Code("tape = runtime.new_tape(0)", 0)]
        _take_apart(self.module, [self.names[k] for k in self.chosen], chosen, body)
        for k, kind in zip(self.chosen, kinds, strict=True):
            given.append(reading.name(self.names[k], parameters[k]))
            reading.read(parameters[k], given[-1], kind)
        for t, text in reading.found:
            if text.startswith("runtime."):
                text = text.replace("(", ", ", 1)
                body.append(Code(f"{t} = runtime.attempt(tape, {text}", 0))
            elif t != text:
                body.append(Code(f"{t} = {text}", 0))
        made = self.module.names.fresh("made")
        returned = self.module.names.fresh("returned")
        body.append(Code(f"{made} = runtime.attempt(tape, {product}, {', '.join([*self.names, *tangents])})", 0))
        body += [Code(f"{returned} = runtime.unless_failed(tape, {made})", 0), Code("runtime.close(tape)", 0)]
        body.append(Code(f"return {returned}", 0))
        if transform == "hvp":
            return [self.names[0], *given, *self.names[1:]], body
        return [*self.names, *given], body

    def columns(self, product: str) -> tuple[list[str], list[Any]]:
        """The parameters and the statements of the Hessian: the products with the unit vectors, one after another.

        The second derivatives by two leaves are columns of a matrix, which gets its shape at the end.
        """
        module, e = self.module, self.whole
        writing = _writing(module, e)
        parameters, tangents = e.parameters[: self.count], e.parameters[self.count :]
        moving = [x for k in self.chosen for x in leaves(parameters[k]) if _moves(e.types.get(x))]
        arrays = [x for x in moving if is_array(e.types[x])]
        in_order = [x for k in sorted(self.chosen) for x in leaves(parameters[k]) if x in moving]
        tangent = dict(zip(in_order, tangents, strict=True))
        classes = _written(writing)
        written = [
            x for p in parameters for x in leaves(p) if is_array(e.types.get(x)) and writing.classes.find(x) in classes
        ]
        fresh = module.names.fresh
        kept = {x: fresh("{}_given", x) for x in written}
        blocks = {(x, y): fresh("block_{k}") for x in moving for y in moving}
        before: list[Any] = []
        _take_apart(module, self.names, parameters, before)
        steps: list[Any] = [Code(f"{t} = 0.0", 0) for x, t in tangent.items() if x not in arrays]
        for x in moving:
            steps += self.steps(x, product, tangent, blocks, kept)
        columns = fresh(f"hessian{{n}}_columns_{self.called}")
        given = [*self.names, *(tangent[x] for x in arrays), *blocks.values(), *kept.values()]
        doc = f"The products of the Hessian of {self.called} and the unit vectors."
        module.function(columns, given, doc, [*before, *steps, Code("return", 0)], self.e, module.f)
        body = [Code("tape = runtime.new_tape(0)", 0), *before]
        body += [Code(f"{tangent[x]} = runtime.attempt(tape, runtime.zeros_like, {x})", 0) for x in arrays]
        body += [Code(f"{copy} = runtime.attempt(tape, runtime.copy, {x})", 0) for x, copy in kept.items()]
        for (x, y), block in blocks.items():
            sizes = ", ".join(f"{z}.size" if z in arrays else "1" for z in (x, y))
            body.append(Code(f"{block} = runtime.attempt(tape, runtime.block, {sizes})", 0))
        body.append(Code(f"runtime.attempt(tape, {columns}, {', '.join(given)})", 0))
        returned = fresh("returned")
        made = self.nested(lambda x: self.nested(lambda y: self.shaped(x, y, blocks[x, y])))
        body += [Code(f"{returned} = runtime.unless_failed(tape, {syntax.text(made)})", 0)]
        body += [Code("runtime.close(tape)", 0), Code(f"return {returned}", 0)]
        return list(self.names), body

    def steps(self, x: str, product: str, tangent: dict[str, str], blocks: Any, kept: dict[str, str]) -> list[Any]:
        """The columns for the leaf x of the arguments."""
        fresh, types_of = self.module.names.fresh, self.whole.types
        k = fresh("k") if is_array(types_of[x]) else "0"
        place = f"{tangent[x]}.flat[{k}]" if is_array(types_of[x]) else tangent[x]
        made = fresh("made")
        lines = [Code(f"{t}[...] = 0.0", 0) for y, t in tangent.items() if kept and is_array(types_of[y])]
        lines.append(Code(f"{place} = 1.0", 0))  # the tangents of arrays that are written have been written, too
        lines += [Code(f"{y}[...] = {copy}", 0) for y, copy in kept.items()]
        lines.append(Code(f"{made} = {product}({', '.join([*self.names, *tangent.values()])})", 0))
        for y, path in self.paths():
            text = made + "".join(f"[{j}]" for j in path)
            lines.append(
                Code(f"{blocks[y, x]}[:, {k}] = {text}.ravel()", 0)
                if is_array(types_of[y])
                else Code(f"{blocks[y, x]}[0, {k}] = {text}", 0)
            )
        lines.append(Code(f"{place} = 0.0", 0))
        return [Suite(f"for {k} in range({x}.size):", lines, 0, loop=True)] if is_array(types_of[x]) else lines

    def paths(self) -> list[tuple[str, tuple[int, ...]]]:
        """The leaves of interest, and where they are in a gradient."""
        found: list[tuple[str, tuple[int, ...]]] = []

        def visit(tree: Any, path: tuple[int, ...]) -> None:
            if isinstance(tree, Node):
                for k, part in enumerate(tree.parts):
                    visit(part, (*path, k))
            elif _moves(self.whole.types.get(tree)):
                found.append((tree, path))

        several = isinstance(self.argnums, (tuple, list))
        for k, number in enumerate(self.chosen):
            visit(self.whole.parameters[number], (k,) if several else ())
        return found

    def nested(self, of: Any) -> ast.expr:
        """The structure of a gradient, with something for every leaf."""
        writing = _writing(self.module, self.whole)

        def part(x: Any) -> ast.expr:
            return of(x) if _moves(self.whole.types.get(x)) else ast.Constant(None)

        trees = [writing.tree(self.whole.parameters[k], part) for k in self.chosen]
        return ast.Tuple(trees, ast.Load()) if isinstance(self.argnums, (tuple, list)) else trees[0]

    def shaped(self, x: str, y: str, block: str) -> ast.expr:
        """The second derivatives by two leaves, in their shape and in the dtype of the second."""
        kinds = self.whole.types[x], self.whole.types[y]
        shapes = [f"{z}.shape" for z, kind in zip((x, y), kinds, strict=True) if is_array(kind)]
        if not shapes:
            text = f"{block}[0, 0]"
            return syntax.name(f"np.float32({text})" if kinds[1] == types.float32 else text)
        text = f"{block}.reshape({' + '.join(shapes)})"
        single = (kinds[1].dtype if is_array(kinds[1]) else kinds[1]) == types.float32
        return syntax.name(f"{text}.astype(np.float32)" if single else text)


def _is_float(x: Any) -> bool:
    return isinstance(x, Const) and isinstance(x.value, float)


def _is_moving(x: Any) -> bool:
    return isinstance(x, terms.Var) and _moves(x.type)
