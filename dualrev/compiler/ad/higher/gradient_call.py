"""Reverse mode of gradient calls (core -> core): a Hessian-vector product, by gradients alone.

    g = grad(f)(x)          forward: the gradient itself
    d_x += (d_g)^T H        reverse: the Hessian of f is symmetric, so that is the gradient of the slope of f in the
                            direction d_g, by all arguments of interest

So no tape is needed, and nothing but the arguments has to be there in the reverse sweep.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.adjoint import zeros_like
from dualrev.compiler.ad.reverse.call_pair import SweepPair
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Node, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Accumulate, Block, Call
from dualrev.compiler.ir.core.program import Gradient, Program
from dualrev.compiler.ir.core.traverse import leaves, renewed, several

__all__ = ["CalledGradient"]


class CalledGradient:
    """Forward/reverse pair for the call of a gradient."""

    def __init__(
        self,
        program: Program,
        forward: Forward,
        g: Gradient,
        s: Call,
        flags: tuple[bool, ...],
        wanted: tuple[bool, ...],
        unit: SweepPair,
    ) -> None:
        self.program, self.g, self.s, self.unit = program, g, s, unit
        self.inputs = [x for p in g.of.parameters for x in leaves(p)]
        self.flagged = [k for k, flag in enumerate(flags) if flag]
        self.shadows = {k: Var("d_{}", x.type, x) for k, x in enumerate(self.inputs) if flags[k] and is_array(x)}
        self.chosen = [x for k in g.numbers for x in leaves(g.of.parameters[k]) if carries(x)]
        results = leaves(s.result)
        places = [k for k, x in enumerate(results) if isinstance(x, Var)]
        self.place = dict(zip(self.chosen, places, strict=True))  # of the gradient by each of them, in the result
        self.cotangents = {
            k: Var(f"d_result_{k}", x.type if is_array(x) else types.float64)
            for k, x in enumerate(results)
            if wanted[k]
        }
        self.arrays = [k for k in self.cotangents if is_array(results[k])]
        self.slope = forward.slope(g.of, self.chosen)

    def define(self) -> None:
        """Define both functions and set the unit's calling convention."""
        if self.arrays:
            self._define_forward()
        self._define_reverse()
        every = range(len(self.inputs))
        self.unit.finish(False, not self.arrays, every, every)

    def _define_forward(self) -> None:
        writing = CoreBuilder()
        made = renewed(self.s.result)
        targets = tuple(x for x in leaves(made) if isinstance(x, Var))
        writing.write(Call(targets, self.s.function, self.g.of.parameters, made, 0))
        shadows = [zeros_like(writing, leaves(made)[k], 0) for k in self.arrays]
        given = (*self.inputs, *self.shadows.values())
        doc = f"The gradient of {self.g.of.name}."
        self._define(self.unit.forward, given, tuple(writing.out), several([*leaves(made), *shadows]), doc)

    def _define_reverse(self) -> None:
        order = [x for p in self.g.of.parameters for x in leaves(p)]
        flat = replace(self.slope, parameters=(*order, *self.slope.parameters[len(self.g.of.parameters) :]))
        second = Symbol(f"grad_{self.slope.name}")
        self.program.define(second, Gradient(flat, tuple(self.flagged), True))
        writing = CoreBuilder()
        direction: list[Atom] = []  # the cotangents of the gradient, as the directions of the slope
        for x in order:
            if x in self.place:
                ct = self.cotangents.get(self.place[x])
                direction.append(ct if ct is not None else zeros_like(writing, x, 0) if is_array(x) else ZERO)
        made = [Var("_", x.type if is_array(x) else types.float64) for k, x in enumerate(order) if k in self.flagged]
        writing.write(Call(tuple(made), second, (*order, *direction), Node(tuple(made)), 0))
        for k, x in zip(self.flagged, made, strict=True):
            if k in self.shadows:
                writing.write(Accumulate(self.shadows[k], "runtime.add_to", (x,), 0))
        back = [x for x in made if not is_array(x)]
        arrays = [ct for k, ct in self.cotangents.items() if k in self.arrays]
        numbers = [ct for k, ct in self.cotangents.items() if k not in self.arrays]
        given = (*self.inputs, *self.shadows.values(), *arrays, *numbers)
        doc = f"Add what the arguments contribute to the gradient of {self.g.of.name}."
        self._define(self.unit.reverse, given, tuple(writing.out), several(back), doc)

    def _define(self, symbol: Symbol, given: tuple[Tree, ...], body: Block, result: Tree, doc: str) -> None:
        f = self.g.of
        self.program.define(symbol, replace(f, name=symbol.name, parameters=given, body=body, result=result, doc=doc))
