"""Core -> core, in reverse mode: the two sweeps of a function.

A function that another one calls becomes two: `f_forward`, which records, and `f_reverse`, which takes from the tape in
the opposite order. So recursion needs nothing special. The outermost function has both sweeps in one. They are made in
three steps, each of which the next one reads:

    adjoint.py    the reverse sweep, as if every value of the forward sweep were there
    needs.py      what it reads of them, and how that gets there: plan.py
    sweeps.py     both sweeps

The functions for a call are made once for every choice of active arguments and results, of arguments that may share
memory, and of what is known of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from numba.core import types

from dualrev.compiler.analyses.activity import Activity, carries
from dualrev.compiler.analyses.cost import Cost
from dualrev.compiler.analyses.finite import Wild
from dualrev.compiler.analyses.memory import Classes, Memory, given, is_array, is_real
from dualrev.compiler.analyses.reached import NOTHING, Known, Reached
from dualrev.compiler.analyses.versions import Value, Versions
from dualrev.compiler.core.program import Gradient, Program
from dualrev.compiler.core.terms import (
    Accumulate,
    Applied,
    Atom,
    Block,
    Call,
    Constant,
    Copy,
    Function,
    Keep,
    Kept,
    Make,
    Node,
    Pop,
    Push,
    Store,
    Symbol,
    Tree,
    Var,
    leaves,
    statements,
)
from dualrev.compiler.transforms.adjoint import Adjoint, Facts, zeros_like
from dualrev.compiler.transforms.checkpoint import Checkpoint
from dualrev.compiler.transforms.forward import Forward
from dualrev.compiler.transforms.plan import Subject
from dualrev.compiler.transforms.sweeps import Crossing, ForwardSweep, ReverseSweep
from dualrev.compiler.transforms.writing import ZERO, Writer

__all__ = ["Reverse", "Sweeps", "Unit", "has_words", "several"]


def uses_tape(body: Block) -> bool:
    """Whether statements use the tape, themselves or by calls."""
    return has_words(body) or any(
        isinstance(s, (Keep, Kept)) or (isinstance(s, Call) and s.tape) for s in statements(body)
    )


Ruled: TypeAlias = Callable[[Call, Facts, tuple[bool, ...], tuple[bool, ...]], "Unit | None"]


def has_words(body: Block) -> bool:
    """Whether statements put numbers on the tape, or take them."""
    return any(isinstance(s, (Push, Pop)) for s in statements(body))


class Unit:
    """The derivative of a function that another one calls: `forward` and `reverse`."""

    def __init__(self, name: str, leaf_count: int) -> None:
        self.forward, self.reverse = Symbol(f"{name}_forward"), Symbol(f"{name}_reverse")
        self.done, self.recursive = False, False
        self._tape, self._primal = True, False
        self._needs: frozenset[int] = frozenset(range(leaf_count))
        self._content: frozenset[int] = self._needs
        self._results: frozenset[int] | None = None
        self._result_content: frozenset[int] | None = None

    def finish(
        self,
        tape: bool,
        primal: bool,
        needs: Iterable[int],
        content: Iterable[int],
        results: Iterable[int] = (),
        result_content: Iterable[int] = (),
    ) -> None:
        """What turned out; a recursive function keeps to what was promised to its calls."""
        self.done = True
        if not self.recursive:
            self._tape, self._primal, self._needs, self._content = tape, primal, frozenset(needs), frozenset(content)
            self._results, self._result_content = frozenset(results), frozenset(result_content)

    @property
    def uses_tape(self) -> bool:
        """Whether the functions take the tape."""
        return self._tape

    @property
    def primal_suffices(self) -> bool:
        """Whether the forward sweep may call the function itself."""
        return self._primal

    def needs(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the arguments."""
        return k in self._needs

    def needs_result(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the results, an array."""
        return self._results is None or k in self._results

    def reads_content(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf."""
        return k in self._content

    def reads_result(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the results as they were at the return."""
        return self._result_content is None or k in self._result_content


@dataclass
class Sweeps:
    """Both sweeps of a function, and what is known of them."""

    facts: Facts
    crossing: Crossing
    forward: ForwardSweep
    reverse: ReverseSweep

    @property
    def undone_classes(self) -> set[Any]:
        """The classes of arrays whose old elements come back, or that calls have changed."""
        found = set()
        for s in statements(self.facts.f.body):
            if s in self.crossing.needs.undone or not isinstance(s, Store):
                found |= {self.facts.classes.find(x) for x in self.facts.memory.changed(s)}
        return found

    @property
    def uses_tape(self) -> bool:
        """Whether one of the sweeps uses the tape."""
        return uses_tape(self.forward.body) or uses_tape(self.reverse.body)

    @property
    def own_tape(self) -> bool:
        """Whether numbers of the function's own are on the tape."""
        return has_words(self.forward.body) or has_words(self.reverse.body)


@dataclass(frozen=True)
class _Signature:
    """A call as its callee sees it, by leaves of arguments and results."""

    flags: tuple[bool, ...]  # arguments that may carry a derivative
    wanted: tuple[bool, ...]  # results that do
    pattern: tuple[int | None, ...]  # arrays with one number may share memory
    known: Known


class Reverse:
    """Reverse mode for the functions of a program."""

    def __init__(self, program: Program, memory: Memory, forward: Forward, ruled: Ruled | None = None) -> None:
        """`ruled` makes the unit for a call of a function that has a rule, and None for others."""
        self.program, self.memory, self.forward, self._ruled = program, memory, forward, ruled
        self._cost = Cost(program)
        self._units: dict[Hashable, Unit] = {}

    def joint(self, f: Function, varied: Iterable[Var], seeds: dict[int, Atom], known: Known = NOTHING) -> Sweeps:
        """Both sweeps of a function, as one; `seeds` are the cotangents of the leaves of its result."""
        useful = [x for x in leaves(f.result) if isinstance(x, Var)]
        facts = self._facts(f, varied, useful, (), (), frozenset(range(len(leaves(f.result)))), known)
        return self._sweeps(facts, seeds, joint=True)

    def pullback(self, f: Function, varied: Iterable[Var], known: Known = NOTHING) -> Function:
        """Both sweeps of a function by these leaves of its parameters, as one function of core.

        It takes the arguments, the shadows of arrays among the leaves, to which it adds, and cotangents of the real
        leaves of the result. It returns the result, and the cotangents of the numbers among the leaves.
        """
        varied = list(varied)
        results = [(k, x) for k, x in enumerate(leaves(f.result)) if carries(x) or _is_float(x)]
        cts = {k: Var(f"ct_{k}", x.type if is_array(x) else types.float64) for k, x in results}
        sweeps = self.joint(f, varied, {k: ct for k, ct in cts.items() if not is_array(ct)}, known)
        facts, writing = sweeps.facts, Writer()
        kept = {x: Var("result_{k}", x.type) for x in facts.results if isinstance(x, Var)}
        for x, target in kept.items():
            writing.write(Make(target, Applied("np.copy", (x,)), 0) if is_array(x) else Copy(target, x, 0))
        for k, x in results:
            if facts.has_shadow(x):
                writing.write(Accumulate(facts.cotangent(x), "runtime.add_to", (cts[k],), 0))
        body = (*sweeps.forward.body, *writing.out, *sweeps.reverse.body)
        shadows = [facts.cotangent(x) for x in varied if is_array(x)]
        back = tuple(facts.cotangent(x) if facts.is_scalar(x) else ZERO for x in varied if is_real(x))
        parameters = (*f.parameters, *shadows, *cts.values())
        result = Node((_renamed(f.result, kept), Node(back)))
        return replace(f, name=f"{f.name}_pullback", parameters=parameters, body=body, result=result)

    def unit(self, s: Call, caller: Facts) -> Unit | None:
        """The derivative of what a call calls; None if it has nothing to do with derivatives and changes nothing."""
        inputs = given(s)
        flags = tuple(caller.activity.has(x) or caller.shares(x) for x in inputs)
        wanted = tuple(caller.activity.has(x) for x in leaves(s.result))
        if not any(self.memory.effects(s).writes) and not any(wanted):
            return None
        gradient = self.program.gradient(s)
        if gradient is not None:
            return self._gradient(gradient, s, flags, wanted)
        if self._ruled is not None and (unit := self._ruled(s, caller, flags, wanted)) is not None:
            return unit
        numbers: dict[Any, int] = {}
        pattern = tuple(
            numbers.setdefault(caller.classes.find(x), len(numbers)) if isinstance(x, Var) and is_array(x) else None
            for x in inputs
        )
        call = _Signature(flags, wanted, pattern, caller.known_of(s))
        f, key = self.program.function(s), (self.program.key(s), call)

        def recorded(unit: Unit) -> None:
            _Called(self, f, call, unit).define()

        if not f.again:
            return self._known(key, f.name, len(inputs), recorded)

        def again(unit: Unit) -> None:
            inner = self._known((key, "recorded"), f.name, len(inputs), recorded)
            Checkpoint(self.program, self.memory, s, flags, unit, inner, caller).define()

        return self._known(key, f"{f.name}_again", len(inputs), again)

    def _known(self, key: Hashable, name: str, count: int, define: Callable[[Unit], None]) -> Unit:
        """The unit that is known by a key, defined when it is asked for first."""
        if key in self._units:
            unit = self._units[key]
            unit.recursive = unit.recursive or not unit.done
            return unit
        unit = self._units[key] = Unit(name, count)
        define(unit)
        return unit

    def _facts(
        self,
        f: Function,
        varied: Iterable[Var],
        useful: Iterable[Var],
        together: Iterable[tuple[Var, ...]],
        without: Iterable[Var],
        wanted: frozenset[int],
        known: Known,
    ) -> Facts:
        inputs = [x for p in f.parameters for x in leaves(p)]
        results = leaves(f.result)
        classes = Classes(f, self.memory, together)
        activity = Activity(f, self.memory, classes, varied, useful, without)
        wild = Wild(f, self.memory, classes, [x for x, is_so in zip(inputs, known.wild, strict=False) if is_so])
        reached = {x for x, is_so in zip(results, known.reached, strict=False) if is_so and isinstance(x, Var)}
        return Facts(
            f,
            self.memory,
            classes,
            activity,
            Versions(f),
            wild,
            Reached(f, reached, activity),
            wanted,
            self.unit,
        )

    def _sweeps(self, facts: Facts, seeds: dict[int, Atom], joint: bool) -> Sweeps:
        result = {
            facts.versions.result[x] for k, x in enumerate(facts.results) if k in facts.wanted and facts.has_shadow(x)
        }
        given = frozenset[Value]() if joint else frozenset(v for v in result if v.kind != "param")
        subject = Subject(facts.f, facts.versions, facts.classes, self.memory, self._cost, joint, given)
        crossing = Crossing(facts, Adjoint(facts, seeds), subject)
        return Sweeps(facts, crossing, ForwardSweep(crossing), ReverseSweep(crossing))

    def called(self, f: Function, call: _Signature) -> tuple[Sweeps, dict[int, Var]]:
        """The sweeps of a function for a call, and the cotangents of its results that are numbers."""
        inputs, results = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
        flagged = [x for x, flag in zip(inputs, call.flags, strict=True) if flag]
        arrays = [x for x in inputs if is_array(x)]
        without = [x for x, flag, n in zip(inputs, call.flags, call.pattern, strict=True) if n is not None and not flag]
        wanted = frozenset(k for k, w in enumerate(call.wanted) if w)
        useful = [x for k, x in enumerate(results) if isinstance(x, Var) and k in wanted] + arrays
        together: dict[int, list[Var]] = {}
        for x, number in zip(inputs, call.pattern, strict=True):
            if number is not None:
                together.setdefault(number, []).append(x)
        groups = map(tuple, together.values())
        facts = self._facts(f, flagged, useful, groups, without, wanted, call.known)
        seeds = {k: Var(f"d_result_{k}", types.float64) for k in sorted(wanted) if not is_array(results[k])}
        return self._sweeps(facts, dict(seeds), joint=False), seeds

    # A gradient that is called

    def _gradient(self, g: Gradient, s: Call, flags: tuple[bool, ...], wanted: tuple[bool, ...]) -> Unit:
        """The derivative of the call of a gradient: it is differentiated by gradients alone.

            g = grad(f)(x)          forward: the gradient itself
            d_x += (d_g)^T H        reverse: the Hessian of f is symmetric, so that is the gradient of the slope of f in
                                    the direction d_g, by all arguments of interest

        So no tape is needed, and nothing but the arguments has to be there in the reverse sweep.
        """
        key = s.function, flags, wanted
        if key not in self._units:
            unit = self._units[key] = Unit(g.name, len(flags))
            _CalledGradient(self, g, s, flags, wanted, unit).define()
        return self._units[key]


class _Called:
    """The two functions for a call."""

    def __init__(self, reverse: Reverse, f: Function, call: _Signature, unit: Unit) -> None:
        self.program, self.f, self.call, self.unit = reverse.program, f, call, unit
        self.inputs, self.results = [x for p in f.parameters for x in leaves(p)], leaves(f.result)
        self.sweeps, self.seeds = reverse.called(f, call)
        self.facts, self.crossing = self.sweeps.facts, self.sweeps.crossing
        flagged = zip(self.inputs, call.flags, strict=True)
        self.moving = [x for x, flag in flagged if flag]
        self.arrays = [k for k, (x, w) in enumerate(zip(self.results, call.wanted, strict=True)) if w and is_array(x)]

    def define(self) -> None:
        """Define both functions, and say of the unit what turned out."""
        self._finish()
        if not self.unit.primal_suffices:
            self._define_forward()
        self._define_reverse()

    def _finish(self) -> None:
        facts, sweeps, used = self.facts, self.sweeps, self.sweeps.reverse.used
        content = self.crossing.needs.content
        parameters = {v.variable for v in used if v.kind == "param"}

        def is_read(x: Any) -> bool:
            return is_array(x) and facts.classes.find(x) in content

        final = {k: facts.versions.result[x] for k, x in enumerate(self.results) if isinstance(x, Var)}
        self.unit.finish(
            sweeps.uses_tape,
            not sweeps.uses_tape and not self.arrays,
            {k for k, x in enumerate(self.inputs) if x in parameters},
            {k for k, x in enumerate(self.inputs) if is_read(x)},
            {k for k, v in final.items() if (v in used and v in self.crossing.given) or v.variable in parameters},
            {k for k, x in enumerate(self.results) if is_read(x)},
        )

    def _define_forward(self) -> None:
        writing = Writer()
        shadows: list[Tree] = []
        for k in self.arrays:
            x = self.results[k]
            shadows.append(self.facts.cotangent(x) if self.facts.has_shadow(x) else zeros_like(writing, x, 0))
        given = (*self.inputs, *(self.facts.cotangent(x) for x in self.moving if is_array(x)))
        doc = f"{self.f.name}, and on the tape what {self.unit.reverse.name} needs."
        body = (*self.sweeps.forward.body, *writing.out)
        result = several([*self.results, *shadows])
        self._define(self.unit.forward, given, body, result, doc)

    def _define_reverse(self) -> None:
        facts, crossing = self.facts, self.crossing
        names = {x: crossing.name(facts.versions.parameters[x]) for x in self.inputs if isinstance(x, Var)}
        given = [names[x] for k, x in enumerate(self.inputs) if self.unit.needs(k)]
        given += [facts.cotangent(names[x]) for x in self.moving if is_array(x)]
        seen: set[Value] = set()
        for k in self.arrays:
            v = facts.versions.result[self.results[k]]
            mine = v in crossing.given and v not in seen
            seen.add(v)
            array, shadow = crossing.name(v), crossing.shadow(v)
            if not mine:
                array, shadow = Var(f"_result_{k}", array.type), Var(f"_d_result_{k}", array.type)
            given += [array, shadow] if self.unit.needs_result(k) else [shadow]
        given += self.seeds.values()
        back = [facts.cotangent(x) if facts.is_scalar(x) else ZERO for x in self.moving if is_real(x)]
        doc = f"Add what the arguments of {self.f.name} contribute to its results, backwards."
        self._define(self.unit.reverse, tuple(given), self.sweeps.reverse.body, several(back), doc)

    def _define(self, symbol: Symbol, given: tuple[Any, ...], body: Block, result: Tree, doc: str) -> None:
        made = replace(
            self.f,
            name=symbol.name,
            parameters=given,
            body=body,
            result=result,
            tape=self.unit.uses_tape,
            doc=doc,
        )
        self.program.define(symbol, made)


class _CalledGradient:
    """The two functions for the call of a gradient."""

    def __init__(
        self,
        reverse: Reverse,
        g: Gradient,
        s: Call,
        flags: tuple[bool, ...],
        wanted: tuple[bool, ...],
        unit: Unit,
    ) -> None:
        self.program, self.g, self.s, self.unit = reverse.program, g, s, unit
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
        self.slope = reverse.forward.slope(g.of, self.chosen)

    def define(self) -> None:
        """Define both functions, and say of the unit what turned out."""
        if self.arrays:
            self._define_forward()
        self._define_reverse()
        every = range(len(self.inputs))
        self.unit.finish(False, not self.arrays, every, every)

    def _define_forward(self) -> None:
        writing = Writer()
        made = _renewed(self.s.result)
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
        writing = Writer()
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

    def _define(self, symbol: Symbol, given: tuple[Any, ...], body: Block, result: Tree, doc: str) -> None:
        f = self.g.of
        self.program.define(symbol, replace(f, name=symbol.name, parameters=given, body=body, result=result, doc=doc))


def several(parts: list[Any]) -> Tree:
    """One result, or a tuple of several."""
    return parts[0] if len(parts) == 1 else Node(tuple(parts))


def _is_float(x: Any) -> bool:
    return isinstance(x, Constant) and isinstance(x.value, float)


def _renamed(tree: Tree, names: dict[Var, Var]) -> Tree:
    if isinstance(tree, Node):
        return Node(tuple(_renamed(x, names) for x in tree.parts), tree.cls)
    return names[tree] if isinstance(tree, Var) else tree


def _renewed(tree: Tree) -> Tree:
    """A tree with new variables."""
    if isinstance(tree, Node):
        return Node(tuple(map(_renewed, tree.parts)), tree.cls)
    return Var("_", tree.type) if isinstance(tree, Var) else tree
