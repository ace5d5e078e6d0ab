"""Entry points of Hessians: reverse mode over forward mode, in the directions of all unit vectors.

    hessian_f(x, y)         several directions at a time, where ad/vector_mode.py can do so
    products_f(x, y, ts)    the same in the directions of the rows of a matrix, for an array x: the Hessian times each

What does not depend on the direction is computed once for them: the function, and its gradient. The Hessians of all
numbers that a function returns are the Jacobian of its Jacobian, which is a function of core.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from dualrev.compiler.ad.differentiated import check_scalar, chosen_numbers
from dualrev.compiler.ad.higher.derivative_operators import derivative_in_core
from dualrev.compiler.ad.reverse.joint import Joint, joint
from dualrev.compiler.ad.vector_mode import Directions, Laned
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.layout import asks_for_layout
from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder
from dualrev.compiler.entrypoints import jacobian
from dualrev.compiler.entrypoints.jvp import Leaf
from dualrev.compiler.entrypoints.matrix_columns import WIDTH, Matrices, Part
from dualrev.compiler.entrypoints.primal import NameTree, NumberTree
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.atom_types import is_real
from dualrev.compiler.ir.core.atoms import Constant, Node, Symbol, Var
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes

__all__ = ["root"]

#: So many statements are there for all lanes, at most: a long function would take long to compile, and its lanes have
#: no room in the registers (measured: bench/second.py).
_LENGTH = 500


def root(module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int) -> Emitted:
    """Emit the module of a Hessian, or of its products with several vectors."""
    front, primals = module.front, argtypes[:count]
    f = front.entered(module.f, primals)
    if transform == "products" or not any(map(carries, leaves(f.result))):
        check_scalar(f)
    if is_real(f.result) or isinstance(f.result, Constant):
        return _Hessian(module, argnums, primals).emitted(transform)
    source: Source = f.origin.source
    numbers = tuple(chosen_numbers(argnums, f, primals))

    def refuse(why: str, instead: str) -> NoReturn:
        """Refuse the Hessian, with a reason and a remedy."""
        source.refuse(source.tree, "the Hessian of this function, which returns several numbers,", why, instead)

    several, strided = isinstance(argnums, (tuple, list)), asks_for_layout(f, front.program)
    made = derivative_in_core(front.forward, "jacobian", f, numbers, several, (), strided, refuse)
    return jacobian.root(module, "jacobian", argnums, argtypes, count, made)


class _Hessian(Matrices):
    def emitted(self, transform: str) -> Emitted:
        """Emit the entry point."""
        self.found = []
        parts = [self.leaves_of(self.parameters[k], (n,)) for n, k in enumerate(self.chosen)]
        self.likes = [leaf.like for leaf in self.found]
        if transform == "products":
            self.take_directions()
        self.prepare(self.whole)
        self.differentiate()
        body: list[CodeStatement] = self.whole.take_apart(self.names, self.parameters)
        body += self.whole.check_arrays(self.parameters)
        body += [*self.opened(self.slots), *self.directions(), *self.room, *self.copied(), *self.allocated()]
        given = [*self.names, *self.taken(), *(t for x in self.arrays for t in self.lane[x])]
        given += [*(d for some in self.shadows.values() for d in some), *self.finals.values()]
        given += [*self.blocks.values(), *self.kept.values(), *["tape"] * self.uses_tape]
        body += self.fill(self.filling(given), given)
        body += self.shaped(Node(tuple(parts)) if self.several else parts[0])
        doc = f"The Hessian of {self.called} with respect to argument {self.argnums}"
        doc += ", times the directions." if self.given else "."
        return self.finish(transform, [*self.names, *self.taken()], doc, body)

    def leaves_of(self, x: NameTree, path: tuple[int, ...]) -> NumberTree:
        """Structure of an argument with indices for its leaves, which are appended to `found`."""
        if isinstance(x, Node):
            return Node(tuple(self.leaves_of(part, (*path, k)) for k, part in enumerate(x.parts)), x.cls)
        if not self.moves(x):
            return Constant(None)
        self.found.append(Leaf(path, self.whole.types[x], x if self.is_array(x) else ""))
        return len(self.found) - 1

    @property
    def owns(self) -> bool:
        """Whether the entry point owns memory: matrices, arrays on the tape, shadows, or final values."""
        return super().owns or bool(self.slots or self.uses_tape or self.room)

    # The sweeps

    def differentiate(self) -> None:
        """Generate both sweeps, in vector mode if possible."""
        module, count = self.module, len(self.names)
        primals = [x for p in self.core.parameters[:count] for x in traverse.leaves(p)]
        tangents = [x for p in self.core.parameters[count:] for x in traverse.leaves(p)]
        text = dict(zip(primals, (x for p in self.parameters for x in leaves(p)), strict=True))
        by_text = {name: x for x, name in text.items()}
        made = joint(module.front.reverse, self.core, [by_text[x] for x in self.moving], primals)
        length = len(list(traverse.statements(made.function.body)))
        width = max(2, min(WIDTH, _LENGTH // max(1, length)))
        width = width if self.arrays else min(width, len(self.moving))
        memory = module.front.memory
        unit = Directions(module.program, memory, made.function, tangents, made.shadows.values(), width)
        module.passes.run("directions", unit)
        laned, function, self.width = unit.laned, unit.made, unit.width
        self.slots, self.uses_tape = made.slots * self.width, function.tape
        self.name({**text, **dict(zip(tangents, self.tangents, strict=True))}, made, laned)
        self.returned_numbers = [x for x in self.moving if not self.is_array(x)]
        if not self.returned_numbers:
            function = replace(function, result=Node(()))
        symbol = Symbol(function.name)
        module.program.define(symbol, function)
        self.sweeps = module.refer(symbol)

    def name(self, text: dict[Var, str], made: Joint, laned: Laned | None) -> None:
        """Name the parameters of the sweeps: directions, shadows, and buffers for final values of arguments."""
        fresh, lanes = self.module.names.fresh, {} if laned is None else laned.parameters
        self.lane = {x: [fresh("t_{}_{k}", x) for _ in range(self.width)] for x in self.ordered}
        of_tangent = {self.tangent[x]: self.lane[x][0] for x in self.ordered}
        asks = asks_for_layout(self.f, self.module.front.program)
        self.shadows: dict[str, list[str]] = {}
        self.room: list[CodeStatement] = []
        for x, d in made.shadows.items():
            like = of_tangent.get(text[x], text[x])
            zeros = "strided_zeros" if asks and x.type.layout == "A" and like == text[x] else "zeros_like"
            self.shadows[text[x]] = some = [fresh("d_{}_{k}", like) for _ in lanes.get(d, (d,))]
            self.room += [Code(f"{name} = runtime.attempt(tape, runtime.{zeros}, {like})", 0) for name in some]
        self.finals = {text[x]: fresh("final_{}", text[x]) for x in made.finals}
        self.room += [Code(f"{f} = runtime.attempt(tape, runtime.empty_like, {x})", 0) for x, f in self.finals.items()]

    def run(self) -> tuple[list[CodeStatement], Part]:
        """Call of both sweeps, for some directions."""
        shadows = [d for some in self.shadows.values() for d in some]
        lines: list[CodeStatement] = [Code(f"runtime.clear({d})", 0) for d in shadows]
        directions = [t for x in self.ordered for t in self.lane[x]]
        given = [*self.names, *directions, *shadows, *self.finals.values(), *["tape"] * self.uses_tape]
        call, made = f"{self.sweeps}({', '.join(given)})", self.module.names.fresh("made")
        lines.append(Code(f"{made} = {call}" if self.returned_numbers else call, 0))

        def part(j: int, lane: int) -> str:
            """Text of the derivative by leaf `j` in a lane."""
            x = self.moving[j]
            if self.is_array(x):
                return self.shadows[x][lane % len(self.shadows[x])]
            back = f"{made}[{lane}]" if self.width > 1 else made
            return f"{back}[{self.returned_numbers.index(x)}]"

        return lines, part
