"""Forward mode (core -> core): pushforwards, functions with a tangent for each active value.

    f(x, n)         f(x, n, t_x) = y, t_y       jvp_rules.py has what becomes of statements

What comes out is core: it can be differentiated again, in either mode. The function for a call is made once for every
choice of active arguments and results, and of arguments that may share memory; so recursion needs nothing special.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dualrev.compiler.ad.forward.jvp_rules import WithTangents
from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.analysis.values.infinite_partials import Steep, is_steep
from dualrev.compiler.ir.core.atom_types import is_real_array
from dualrev.compiler.ir.core.atoms import Node, Symbol, Tree, Var
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.program import Gradient, Program
from dualrev.compiler.ir.core.traverse import leaves, renewed, variables
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.dead_code import without_dead_code
from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["Forward", "Pushforward", "Ruled", "Tangents", "add_tangents", "eliminate_dead_code", "keep_known_zeros"]

Ruled: TypeAlias = Callable[[Call, tuple[bool, ...], tuple[bool, ...]], Symbol | None]


@dataclass(frozen=True)
class Tangents:
    """A pushforward: a function with tangents.

    Its parameters are those of the function, and then the tangents; its result is a pair: that of the function, and
    its tangent. Or it is the tangent alone.
    """

    function: Function
    given: tuple[Var, ...]  # the tangents of the leaves of interest, in their order


class _Differentiable(WithTangents):
    """Pushforward that may be differentiated again: its partials are operations of their own."""

    whole_partials = True


@dataclass(eq=False)
class Pushforward:
    """Unit of forward mode: a function, and its pushforward as far as passes have made it.

    chosen      the leaves of its parameters that have tangents
    useful      the leaves whose tangents are asked for, or that its caller sees
    wanted      the leaves of its result whose tangents are returned, if it is called; None: it is not, and all are
    together    arrays that may share memory
    wild        parameters that may be infinite or NaN
    marks       whether known zeros are marked
    alone       whether its result is the tangent alone, without the value
    """

    forward: Forward
    f: Function
    chosen: list[Var]
    useful: Iterable[Var]
    wanted: tuple[bool, ...] | None = None
    together: tuple[tuple[Var, ...], ...] = ()
    wild: Iterable[Var] = ()
    marks: bool = False
    alone: bool = False
    name: str = ""  # of the function with tangents; that of the function, if it is not called
    holds: set[str] = field(default_factory=lambda: {"core"})
    tangents: tuple[Var, ...] = ()
    made: Function = field(init=False)

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher of the user's function."""
        return self.f.origin.dispatcher

    def shown(self) -> str:
        """The printed text of the pushforward."""
        return show(self.made)

    def verify(self) -> None:
        """Verify the pushforward: AssertionError if it is not well formed."""
        check(self.made)


def add_tangents(u: Pushforward) -> None:
    """Emit the pushforward: the function with a tangent beside each active value."""
    f, is_called = u.f, u.wanted is not None
    writing = _Differentiable(u.forward, f, u.chosen, u.useful, u.together, u.wild, u.marks, is_called)
    u.tangents = tuple(map(writing.tangent if is_called else writing.given, u.chosen))
    writing.block(f.body)
    if u.wanted is None:
        parameters: tuple[Tree, ...] = f.parameters
        tangent = writing.result_tangent(f.result)
        result = tangent if u.alone else Node((f.result, tangent))
    else:
        parameters, outputs = tuple(x for p in f.parameters for x in leaves(p)), leaves(f.result)
        made = [writing.result_tangent(x) for x, want in zip(outputs, u.wanted, strict=True) if want]
        result = Node((*outputs, *made))
    whole = (*parameters, *u.tangents)
    name, body = u.name or f.name, tuple(writing.out)
    u.made = replace(f, name=name, parameters=whole, body=body, result=result, marked=u.marks)


def eliminate_dead_code(u: Pushforward) -> None:
    """Eliminate what only the value needs, if the tangent alone is asked for."""
    if u.alone:
        u.made = without_dead_code(u.made, u.forward.memory)


def keep_known_zeros(u: Pushforward) -> None:
    """Record the variables whose cotangents need no marks of known zeros: see analysis/values/infinite_partials.py."""
    if u.marks and u.wanted is None:
        steep = Steep(u.made, u.forward.memory, Classes(u.made, u.forward.memory))
        u.made = replace(u.made, apart=frozenset(x for x in variables(u.made) if not steep.after(x)))


class Forward:
    """Forward mode for the functions of a program."""

    def __init__(self, program: Program, memory: Memory, passes: PassManager, ruled: Ruled | None = None) -> None:
        """`ruled` gives the pushforward for a call of a function with a rule, and None for other calls."""
        self.program, self.memory, self.passes, self._ruled = program, memory, passes, ruled
        self._symbols: dict[Hashable, Symbol] = {}
        self.marking: set[Symbol] = set()  # functions for calls that mark known zeros

    def function(self, f: Function, varied: Iterable[Var], again: bool = False, alone: bool = False) -> Tangents:
        """The pushforward of `f` by the leaves `varied` of its parameters; `again`: it is differentiated once more.

        Its result is the tangent `alone`, or that of f and its tangent.
        """
        inputs = [x for p in f.parameters for x in leaves(p)]
        chosen = [x for x in inputs if x in set(varied)]
        useful = [x for x in [*leaves(f.result), *inputs] if isinstance(x, Var)]
        marks = f.marked or (again and is_steep(f, self.program))
        unit = Pushforward(self, f, chosen, useful, marks=marks, alone=alone)
        self.passes.run("forward", unit)
        return Tangents(unit.made, unit.tangents)

    def called(
        self,
        s: Call,
        active: tuple[bool, ...],
        wanted: tuple[bool, ...],
        pattern: tuple[int | None, ...],
        wild: tuple[bool, ...] = (),
        marks: bool = False,
    ) -> Symbol:
        """The pushforward for a call, memoised: leaves of arguments and tangents -> leaves of results and tangents.

        `wild`: arguments that may be infinite or NaN; `marks`: whether known zeros are marked.
        """
        key = self.program.key(s), active, wanted, pattern, wild, marks
        if key in self._symbols:
            return self._symbols[key]
        gradient = self.program.gradient(s)
        if gradient is not None:
            return self._symbols.setdefault(key, self.of_gradient(gradient, s, active, wanted))
        if self._ruled is not None and (made_by_rule := self._ruled(s, active, wanted)) is not None:
            return self._symbols.setdefault(key, made_by_rule)
        f = self.program.function(s)
        symbol = self._symbols[key] = Symbol(f"{f.name}_tangent")  # first: it may call itself
        if marks:
            self.marking.add(symbol)
        inputs = [x for p in f.parameters for x in leaves(p)]
        outputs = leaves(f.result)
        chosen = [x for x, flag in zip(inputs, active, strict=True) if flag]
        useful = {x for x, want in zip(outputs, wanted, strict=True) if want} | {x for x in inputs if is_real_array(x)}
        groups: dict[int, list[Var]] = {}
        for x, number in zip(inputs, pattern, strict=True):
            if number is not None:
                groups.setdefault(number, []).append(x)
        infinite = [x for x, flag in zip(inputs, wild, strict=False) if flag]
        unit = Pushforward(self, f, chosen, useful, wanted, tuple(map(tuple, groups.values())), infinite, marks)
        unit.name = symbol.name
        self.passes.run("forward", unit)
        self.program.define(symbol, unit.made)
        return symbol

    def slope(self, f: Function, chosen: Iterable[Var]) -> Function:
        """The directional derivative of a scalar function: its tangent alone.

        The tangents of the chosen leaves are its last parameters.
        """
        made = self.function(f, chosen, again=True, alone=True).function
        return replace(made, name=f"slope_{f.name}")

    def of_gradient(self, g: Gradient, s: Call, active: tuple[bool, ...], wanted: tuple[bool, ...]) -> Symbol:
        """The pushforward for the call of a gradient: the gradient, and the gradient of the directional derivative."""
        f = g.of
        inputs = [x for p in f.parameters for x in leaves(p)]
        slope = self.slope(f, [x for x, flag in zip(inputs, active, strict=True) if flag])
        second, symbol = Symbol(f"grad_{slope.name}"), Symbol(f"{g.name}_tangent")
        self.program.define(second, Gradient(slope, g.numbers, g.several))
        body, results = [], []
        for function, args in ((s.function, f.parameters), (second, slope.parameters)):
            result = renewed(s.result)
            results.append(leaves(result))
            targets = tuple(x for x in results[-1] if isinstance(x, Var))
            body.append(Call(targets, function, args, result, 0))
        made = [t for t, want in zip(results[1], wanted, strict=True) if want]
        parameters = (*inputs, *slope.parameters[len(f.parameters) :])
        whole = replace(f, name=symbol.name, parameters=parameters, body=tuple(body), result=Node((*results[0], *made)))
        self.program.define(symbol, whole)
        return symbol
