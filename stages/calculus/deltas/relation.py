r"""The logical relation of Krawiec et al. 2022, Fig. 13, as an executable check of Theorem 8.

    Theorem 8: if G |- e : A, and environments (g, g') are in V_G(C), then (g; [[e]], g'; [[D{e}]]) is in E_A(C)

The figure relates families f : R^a -> [[A]] to families of what Fig. 9's D{e} computes. At a point x of R^a, the
relation uses two things of a family of numbers: f x, and the Jacobian J f x. Fig. 5 computes these two. So here a
value v of D_S[A] (vectorised.py) stands for f at x, and v ~ w at A in C reads as follows:

    (x, ds) ~ (x, Var y) at R      if [[get C (Var y)]] phi = ds              (x, zero) ~ (x, Zero)
    n ~ n at Int                   (v1, v2) ~ (w1, w2) at A * B      if v1 ~ w1 and v2 ~ w2; data and vectors likewise
    f ~ f' at A -> B               if f v ~ f' w at M B in C', for v ~ w at A in C', C' an extension of C
    v ~ m at M A in C              if m C = (w, C'), C' an extension of C, and v ~ w at A in C'

world.py has worlds C and phi; [[u]] is the meaning of a Delta (stages/relatives/deltas/meaning.py).
"For all v ~ w in all C'" cannot be run: functions are tried at some arguments, each in a world with a new binding
(`argument`). The check is exact: both sides compute the same numbers in the same order. Kripke monotonicity (Lemma 7)
is the same check, in an extended world.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stages.calculus.deltas.terms import Pure
from stages.calculus.deltas.world import World, delta, numbers, require, same_number, shaped
from stages.calculus.evaluate import Machine
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, Declarations
from stages.calculus.language.kinds import same
from stages.calculus.language.terms import Var
from stages.calculus.language.types import Type
from stages.calculus.language.values import Closure, Elements, Made, is_function
from stages.calculus.text.printer import show_type
from stages.relatives.deltas.meaning import meaning

__all__ = ["Relation"]


@dataclass
class Relation:
    """V and E of Fig. 13 for two machines, which run D_S[e] and D[e] of one program.

    zero        the value of zero : S
    tries       the number of arguments at which a function is tried
    functions   related functions, v ~ w at their type in all worlds, which are arguments beside constant functions
    """

    known: Declarations
    whole: Machine
    monadic: Machine
    zero: Any
    tries: int = 2
    functions: Sequence[tuple[Type, Any, Any]] = ()
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def values(self, kind: Type, v: Any, w: Any, world: World) -> None:
        """v ~ w at the type in the world: V. Unrelated if not."""
        match self.known.expose(kind):
            case ty.Real():
                (x, ds), (y, u) = v, w
                require(same_number(x, y), f"the value {y} for {x}")
                require(u.name in ("Zero", "Var"), f"a number carries Zero or Var, not {u.name}")
                means = meaning(delta(u), world.phi, world.a)
                require(all(map(same_number, numbers(ds), means)), f"a Delta means {means}, the derivatives are {ds}")
            case ty.Pair(first, second):
                self.values(first, v[0], w[0], world)
                self.values(second, v[1], w[1], world)
            case ty.Arrow(argument, result):
                require(is_function(v) and is_function(w), f"no functions: {v}, {w}")
                for _ in range(self.tries):
                    x, y, later = self.argument(argument, world)
                    computed = self.monadic.apply(w, y)
                    self.computations(result, self.whole.apply(v, x), computed, later)
            case ty.Vector(element):
                require(len(v.elements) == len(w.elements), "vectors of different lengths")
                for x, y in zip(v.elements, w.elements, strict=True):
                    self.values(element, x, y, world)
            case exposed if (constructors := self.known.constructors(exposed)) is not None:
                require(v.name == w.name, f"the constructor {w.name} for {v.name}")
                fields = next(c.fields for c in constructors if _image(exposed, c) == v.name)
                for part, x, y in zip(fields, v.fields, w.fields, strict=True):
                    self.values(part, x, y, world)
            case _:
                require(v == w, f"{w} for {v}")

    def computations(self, kind: Type, v: Any, m: Any, world: World) -> World:
        """v ~ m at M of the type: E. Return the world in which the computation ends."""
        w, state = self.monadic.apply(m, world.state)
        later = world.after(state)
        self.values(kind, v, w, later)
        return later

    def argument(self, kind: Type, world: World) -> tuple[Any, Any, World]:
        """Related values of the type, in a world with new bindings for their numbers."""
        match self.known.expose(kind):
            case ty.Real():
                return self.number(world)
            case ty.Pair(first, second):
                v1, w1, world = self.argument(first, world)
                v2, w2, world = self.argument(second, world)
                return (v1, v2), (w1, w2), world
            case ty.Arrow(_, result) as arrow:
                known = [(v, w) for type_, v, w in self.functions if same(type_, arrow, self.known)]
                if known and self.rng.randrange(2):
                    return *self.rng.choice(known), world
                v, w, world = self.argument(result, world)
                return Closure("_", Var("v"), {"v": v}), Closure("_", Pure(Var("v")), {"v": w}), world
            case ty.Int():
                n = self.rng.randrange(3)
                return n, n, world
            case ty.Unit():
                return (), (), world
            case ty.Vector(element):
                parts = []
                for _ in range(self.rng.randrange(3)):
                    v, w, world = self.argument(element, world)
                    parts.append((v, w))
                return Elements(tuple([v for v, _ in parts])), Elements(tuple([w for _, w in parts])), world
            case exposed if (constructors := self.known.constructors(exposed)) is not None:
                c = min(constructors, key=lambda c: len(c.fields))
                vs, ws = [], []
                for part in c.fields:
                    v, w, world = self.argument(part, world)
                    vs.append(v)
                    ws.append(w)
                return Made(_image(exposed, c), tuple(vs)), Made(_image(exposed, c), tuple(ws)), world
        raise TypeError(f"no argument of type {show_type(kind)}")

    def number(self, world: World) -> tuple[Any, Any, World]:
        """A number, and its Delta: a constant's, or a combination of two ids, which is bound to a new one."""
        x = self.rng.uniform(0.5, 2.0)
        if not self.rng.randrange(4):
            return (x, self.zero), (x, Made("Zero", ())), world
        ids = [Made("Var", (self.rng.choice([*world.phi]),)) for _ in range(2)] if world.phi else [Made("Zero", ())] * 2
        sums = Made("Add", (Made("Scale", (self.rng.uniform(-1.0, 1.0), ids[0])), ids[1]))
        i, world = world.binding(sums)
        return (x, shaped(self.zero, iter(world.phi[i]))), (x, Made("Var", (i,))), world


def _image(type_: Type, c: Constructor) -> str:
    """The name of the constructor's image: D[inl] = inl, and D[C] = DC."""
    return f"D{c.name}" if isinstance(type_, ty.Named) else c.name
