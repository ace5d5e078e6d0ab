"""Derivative operators (gradient, Hessian, Jacobian, JVP, VJP) as functions of core, which can be differentiated.

    grad(x)         the gradient (program.py)                    value_and_grad(x)    a call of f, and the gradient
    hvp(x, t)       the gradient of the slope of f in the direction t
    jvp(x, t)       f with tangents (ad/forward)                 vjp(x, c)    f, and the gradient of the sum of c * f
    keep(x)         f, and a copy of x: what a pullback is made of
    hessian(x)      hvp for all unit vectors, in a loop          jacfwd(x), jacrev(x), jacobian(x)    jvp for all
                    (of a function that returns several numbers: the Jacobian of its Jacobian)

So whatever asks for the derivative of a derivative, in either mode, finds gradients and what forward mode has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NoReturn

from numba.core import types

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Constant,
    Expr,
    Field,
    Global,
    Node,
    Operator,
    Symbol,
    Tree,
    Var,
)
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Call, Copy, Discrete, Function, Load, Make, Store, View
from dualrev.compiler.ir.core.program import Gradient
from dualrev.compiler.ir.core.traverse import leaves, mapped
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes
from dualrev.errors import CotangentError, TangentError

__all__ = ["derivative_in_core"]

_ONE = Constant(1.0, types.float64)
_NONE = Constant(None, types.none)


def derivative_in_core(
    forward: Forward,
    transform: str,
    f: Function,
    numbers: tuple[int, ...],
    several: bool,
    kinds: NumbaTypes,
    strided: bool,
    refuse: Callable[[str, str], NoReturn],
) -> Function:
    """The derivative operator `transform` of `f`, as a function of core.

    `numbers` are the indices of the chosen parameters; the result is a tuple if there are `several`. `f` must not
    change its arguments.

    kinds are the types of tangents or cotangents, which are parameters, too; `strided` says that their strides matter.
    `refuse` raises for a reason, with what to write instead.
    """
    if forward.memory.written(f):
        refuse("the function changes its arguments, or may do so", "a function of a copy")
    apart = any(is_array(x) and x.type.layout == "A" for p in f.parameters for x in leaves(p))
    if strided and apart and transform not in ("grad", "value_and_grad"):
        refuse("the function looks at the layout of an array that is not contiguous", "np.ascontiguousarray(x)")
    if transform == "hessian" and not (is_real(f.result) or isinstance(f.result, Constant)):
        made_once = derivative_in_core(forward, "jacobian", f, numbers, several, kinds, strided, refuse)
        twice = derivative_in_core(forward, "jacobian", made_once, numbers, several, kinds, strided, refuse)
        return replace(twice, name=f"hessian_{f.name}")
    made = _DerivativeBuilder(forward, f, numbers, several)
    work: dict[str, Callable[[], tuple[tuple[Tree, ...], Tree]]] = {
        "grad": lambda: (f.parameters, made.gradient(made.of(f), f.parameters)),
        "value_and_grad": made.value_and_gradient,
        "product": lambda: made.products(kinds),
        "hvp": lambda: made.hessian_product(kinds),
        "jvp": lambda: made.tangent(kinds),
        "vjp": lambda: made.cotangents(kinds[0]),
        "keep": lambda: (f.parameters, made.kept()),
        "hessian": lambda: (f.parameters, made.hessian()),
        **dict.fromkeys(("jacfwd", "jacrev", "jacobian"), lambda: (f.parameters, made.jacobian())),
    }
    parameters, result = work[transform]()
    return replace(f, name=f"{transform}_{f.name}", parameters=parameters, body=tuple(made.out), result=result)


class _DerivativeBuilder(CoreBuilder):
    def __init__(self, forward: Forward, f: Function, numbers: tuple[int, ...], several: bool) -> None:
        super().__init__()
        self.forward, self.f, self.numbers, self.several = forward, f, numbers, several
        self.symbols: dict[Function | Gradient, Symbol] = {}
        self.inputs = [x for k in numbers for x in leaves(f.parameters[k]) if carries(x)]
        self.ordered = [x for k in sorted(numbers) for x in leaves(f.parameters[k]) if carries(x)]

    # Calls

    def call(self, function: Function | Gradient, args: tuple[Tree, ...], result: Tree) -> Tree:
        """Emit the call of a function that is made here, and defined on first use; return its result."""
        if function not in self.symbols:
            self.symbols[function] = Symbol(function.name)
            self.forward.program.define(self.symbols[function], function)
        targets = tuple(x for x in leaves(result) if isinstance(x, Var))
        self.write(Call(targets, self.symbols[function], args, result, 0))
        return result

    def run(self) -> Tree:
        """Emit the call of `f`; return its value."""
        return self.call(self.f, self.f.parameters, _fresh(self.f.result))

    def of(self, f: Function) -> Gradient:
        """The gradient, by the chosen parameters, of a function whose first parameters are the same as for `f`."""
        return Gradient(f, self.numbers, self.several)

    def gradient(self, g: Gradient, args: tuple[Tree, ...]) -> Tree:
        """Emit the call of a gradient; return its result."""
        parts = tuple(_shadow(self.f.parameters[k]) for k in self.numbers)
        return self.call(g, args, Node(parts) if self.several else parts[0])

    def with_tangents(self, alone: bool) -> Function:
        """The pushforward of `f`: its value and tangent, or the tangent `alone`."""
        made = self.forward.function(self.f, self.ordered, again=True).function
        assert isinstance(made.result, Node)
        name = f"slope_{self.f.name}" if alone else f"{self.f.name}_tangent"
        inner = _DerivativeBuilder(self.forward, self.f, self.numbers, self.several)
        result = inner.filled(made.result.parts[1] if alone else made.result)
        return replace(made, name=name, body=(*made.body, *inner.out), result=result)

    def filled(self, tree: Tree) -> Tree:
        """Replace None leaves of a tree by variables that hold None, as the results of calls have them."""
        if isinstance(tree, Node):
            return Node(tuple(map(self.filled, tree.parts)), tree.cls)
        if not isinstance(tree, Constant) or tree.value is not None:
            return tree
        target = Var("_", types.none)
        self.write(Copy(target, tree, 0))
        return target

    # Derivatives in a direction

    def value_and_gradient(self) -> tuple[tuple[Tree, ...], Tree]:
        """Parameters and result of `value_and_grad`: the value and the gradient."""
        y = self.run()
        return self.f.parameters, Node((y, self.gradient(self.of(self.f), self.f.parameters)))

    def products(self, kinds: NumbaTypes) -> tuple[tuple[Tree, ...], Tree]:
        """Parameters and result of the Hessian-vector product; the tangents of the chosen arguments come last."""
        parameters = self.f.parameters
        given = [_given(parameters[k], kind) for k, kind in zip(self.numbers, kinds, strict=True)]
        read: dict[int, tuple[Var, ...]] = {}
        for k, t, kind in zip(self.numbers, given, kinds, strict=True):
            read[k] = tuple(self.read(parameters[k], t, kind, TangentError))
        directions = tuple(t for k in sorted(self.numbers) for t in read[k])
        slope = self.forward.slope(self.f, self.ordered)
        return (*parameters, *given), self.gradient(self.of(slope), (*parameters, *directions))

    def hessian_product(self, kinds: NumbaTypes) -> tuple[tuple[Tree, ...], Tree]:
        """Parameters and result of `hvp`: the product, with the tangent as second parameter."""
        (first, *rest, given), made = self.products(kinds)
        return (first, given, *rest), made

    def tangent(self, kinds: NumbaTypes) -> tuple[tuple[Tree, ...], Tree]:
        """Parameters and result of `jvp`: the value and its tangent."""
        parameters = self.f.parameters
        given = tuple(map(_given, parameters, kinds))
        read = (self.read(parameters[k], given[k], kinds[k], TangentError) for k in sorted(self.numbers))
        directions = tuple(t for found in read for t in found)
        made = self.with_tangents(alone=False)
        return (*parameters, *given), self.call(made, (*parameters, *directions), _fresh(made.result))

    def cotangents(self, kind: NumbaType) -> tuple[tuple[Tree, ...], Tree]:
        """Parameters and result of `vjp`: the value and the cotangents of the arguments."""
        given = _given(self.f.result, kind)
        y = self.run()
        cts = tuple(self.read(y, given, kind, CotangentError))
        inner = _DerivativeBuilder(self.forward, self.f, self.numbers, True)
        inner.symbols = self.symbols
        again = inner.run()
        weights = [Var("_", x.type) for x in cts]
        total = inner.inner([x for x in leaves(again) if carries(x)], weights)
        parameters = (*self.f.parameters, *weights)
        of = replace(self.f, name=f"{self.f.name}_times", parameters=parameters, body=tuple(inner.out), result=total)
        made = self.gradient(self.of(of), (*self.f.parameters, *cts))
        assert isinstance(made, Node)
        parts = iter(made.parts)
        every = [next(parts) if k in self.numbers else _mapped(p, _same) for k, p in enumerate(self.f.parameters)]
        return (*self.f.parameters, given), Node((y, self.filled(Node(tuple(every)))))

    def kept(self) -> Tree:
        """Result of `keep`: the value and copies of the arguments, which may be overwritten before the pullback."""

        def copied(x: Var) -> Tree:
            """Copy an array; other leaves stay."""
            if not is_array(x):
                return x
            target = Var("_", _contiguous(x.type))
            self.write(Make(target, Applied("np.empty_like", (x,)), 0))
            self.loop(target, lambda index: self.write(Store(target, index, self.load(x, index), 0)), 0)
            return target

        copies = Node(tuple(mapped(p, copied) for p in self.f.parameters))
        return self.filled(Node((self.run(), copies)))

    def inner(self, values: list[Var], weights: list[Var]) -> Var:
        """Emit the inner product of values and weights, scalars and arrays."""
        total = self.temporary()
        self.write(Copy(total, ZERO, 0))

        def add(x: Var, w: Var) -> None:
            """Accumulate one product into the sum."""
            self.write(Copy(total, self.real("add", "+", total, self.real("mul", "*", x, w, line=0), line=0), 0))

        for x, w in zip(values, weights, strict=True):
            if is_array(x):
                self.loop(x, lambda index, x=x, w=w: add(self.load(x, index), self.load(w, index)), 0)  # type: ignore[misc]
            else:
                add(x, w)
        return total

    def load(self, array: Var, index: tuple[Var, ...]) -> Var:
        """Emit the load of `array[index]`."""
        target = Var("_", array.type.dtype)
        self.write(Load(target, array, index, 0))
        return target

    # What is given for a direction

    def read(
        self, tree: Tree, given: Tree, kind: NumbaType, error: type[TangentError | CotangentError]
    ) -> Iterator[Var]:
        """Emit the tangents of a tree's leaves from the given ones, with checks and casts.

        As `_Reading` does in entrypoints/jvp.py.
        """
        if isinstance(tree, Node):
            kinds: NumbaTypes = getattr(kind, "types", ())
            if not isinstance(given, Node) or len(kinds) != len(tree.parts):
                raise error.of(str(kind), f"a tuple with {len(tree.parts)} entries")
            for x, t, inner in zip(tree.parts, given.parts, kinds, strict=True):
                yield from self.read(x, t, inner, error)
        elif is_real(tree):
            if not isinstance(kind, (types.Float, types.Integer, types.Boolean)):
                raise error.of(str(kind), "a real scalar")
            assert isinstance(given, Var)
            target = self.temporary()
            floats = isinstance(kind, types.Float)
            self.write(Copy(target, given, 0) if floats else Discrete(target, Applied("float", (given,)), 0))
            yield target
        elif isinstance(tree, Var) and is_real_array(tree):
            if not isinstance(kind, types.Array) or kind.ndim != tree.type.ndim:
                raise error.of(str(kind), f"an array with {tree.type.ndim} axes")
            assert isinstance(given, Var)
            yield self.array(tree, given)

    def array(self, x: Var, given: Var) -> Var:
        """A contiguous copy of a given tangent array, whose shape is checked against `x`."""
        target, checked = Var("_", _contiguous(x.type)), Var("_", given.type)
        self.write(Make(target, Applied("np.zeros_like", (x,)), 0))
        self.write(View(checked, given, Applied("runtime.tangent", (x, given)), 0))
        self.loop(target, lambda index: self.write(Store(target, index, self.load(checked, index), 0)), 0)
        return target

    # Matrices, column by column

    def hessian(self) -> Tree:
        """The Hessian, by products with the unit vectors, in the structure of the arguments twice."""
        products = self.of(self.forward.slope(self.f, self.ordered))

        def column(directions: tuple[Atom, ...]) -> Tree:
            """The Hessian-vector product in a direction."""
            return self.gradient(products, (*self.f.parameters, *directions))

        parts = tuple(self.f.parameters[k] for k in self.numbers)
        return self.matrix(Node(parts) if self.several else parts[0], column)

    def jacobian(self) -> Tree:
        """The Jacobian, by tangents in the directions of the unit vectors."""
        slope = self.with_tangents(alone=True)

        def column(directions: tuple[Atom, ...]) -> Tree:
            """The tangent in a direction."""
            return self.call(slope, (*self.f.parameters, *directions), _fresh(slope.result))

        return self.matrix(self.run(), column)

    def matrix(self, rows: Tree, column: Callable[[tuple[Atom, ...]], Tree]) -> Tree:
        """Assemble a matrix of derivatives column by column; `column` emits one, `rows` is its structure."""
        found = [x for x in leaves(rows) if carries(x)]
        directions = {x: Var("_", _contiguous(x.type) if is_array(x) else types.float64) for x in self.inputs}
        for x, t in directions.items():
            self.write(Make(t, Applied("np.zeros_like", (x,)), 0) if is_array(x) else Copy(t, ZERO, 0))
        blocks = {(y, x): self.block(y, x) for y in found for x in self.inputs}
        for x, t in directions.items():
            if is_array(x):
                self.loop(x, lambda index, x=x: self.column(x, index, found, directions, blocks, column), 0)  # type: ignore[misc]
            else:
                self.write(Copy(t, _ONE, 0))
                self.column(x, (), found, directions, blocks, column)
                self.write(Copy(t, ZERO, 0))
        parts = [self.f.parameters[k] for k in self.numbers]

        def inside(y: Var) -> Tree:
            """The blocks of one leaf of the rows, in the structure of the chosen arguments."""
            made = tuple(_mapped(p, lambda x: blocks[y, x]) for p in parts)
            return Node(made) if self.several else made[0]

        return self.filled(_mapped(rows, inside))

    def block(self, y: Var, x: Var) -> Var:
        """Allocate the block of derivatives of one leaf by another."""
        dtype = types.float32 if getattr(x.type, "dtype", x.type) == types.float32 else types.float64
        shapes: list[Expr] = [Field(a, "shape") for a in (y, x) if is_array(a)]
        if not shapes:
            return Var("_", dtype)
        made = Var("_", types.Array(dtype, sum(a.type.ndim for a in (y, x) if is_array(a)), "C"))
        shape = shapes[0] if len(shapes) == 1 else Operator("+", tuple(shapes))
        self.write(Make(made, Applied("np.zeros", (shape, Global(f"np.{dtype}", None, ()))), 0))
        return made

    def column(
        self,
        x: Var,
        index: tuple[Var, ...],
        found: list[Var],
        directions: dict[Var, Var],
        blocks: dict[tuple[Var, Var], Var],
        work: Callable[[tuple[Atom, ...]], Tree],
    ) -> None:
        """Emit one column: the derivatives by one scalar of an argument, stored into the blocks."""
        if is_array(x):
            self.write(Store(directions[x], index, _ONE, 0))
        made = work(tuple(directions[u] for u in self.ordered))
        if is_array(x):
            self.write(Store(directions[x], index, ZERO, 0))
        for y, t in zip(found, (t for t in leaves(made) if carries(t)), strict=True):
            block = blocks[y, x]

            def put(inner: tuple[Var, ...], t: Var = t, block: Var = block) -> None:
                """Store one element of the column into its block."""
                value = self.load(t, inner) if inner or is_array(t) else t
                if is_array(block):
                    self.write(Store(block, (*inner, *index), value, 0))
                else:
                    self.write(Copy(block, value, 0))

            if is_array(y):
                self.loop(t, put, 0)
            else:
                put(())


def _contiguous(kind: NumbaType) -> NumbaType:
    return kind.copy(layout="C") if kind.layout == "A" else kind


def _mapped(tree: Tree, leaf: Callable[[Var], Tree]) -> Tree:
    """Map the real leaves of a tree; the other leaves become None."""
    return mapped(tree, lambda x: leaf(x) if carries(x) else _NONE)


def _shadow(tree: Tree) -> Tree:
    """Fresh variables for the gradient by an argument."""
    return _fresh(_mapped(tree, lambda x: Var("_", _contiguous(x.type) if is_array(x) else x.type)))


def _same(x: Var) -> Var:
    return x


def _given(tree: Tree, kind: NumbaType) -> Tree:
    """The parameter for a tangent of type `kind`: a tree of variables."""
    if isinstance(kind, types.BaseTuple):
        parts = tree.parts if isinstance(tree, Node) else ()
        inner: NumbaTypes = kind.types
        named = [*parts, *(_NONE for _ in inner[len(parts) :])]
        return Node(tuple(_given(x, t) for x, t in zip(named, inner, strict=False)))
    return Var("t_{}", kind, tree) if isinstance(tree, Var) else Var("_", kind)


def _fresh(tree: Tree) -> Tree:
    """Fresh variables for all leaves of a result."""
    return mapped(tree, lambda x: Var("_", types.unliteral(x.type)))
