"""The two sweeps of the call of a checkpointed function.

    y = g(x)            forward: g itself; of arrays that it writes, a copy goes to the tape
    d_x += ...          reverse: the forward sweep of g, which records, and then its reverse sweep

So the tape holds no more than the arguments of such a call, and what g records only while the call is reversed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dualrev.compiler import syntax
from dualrev.compiler.code import Code
from dualrev.compiler.core import Call, Node, leaves
from dualrev.compiler.expand import Expanded, is_array, is_real
from dualrev.compiler.plain import Plain
from dualrev.compiler.source import describe

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Unit, _Module
    from dualrev.compiler.reverse import Reverse

__all__ = ["checkpoint_sweeps"]


def checkpoint_sweeps(
    module: _Module, unit: Unit, inner: Unit, s: Call, e: Expanded, f: Any, flags: tuple[bool, ...], caller: Reverse
) -> None:
    """Write the functions for both sweeps of the call s of the function e; `inner` has those that record."""
    effects = module.effects(s, caller.e)
    wanted = [caller.has_shadow(t) for t in s.targets]

    def refuse(why: str, instead: str) -> None:
        what = f"the call of {describe(f.py_func)}, a checkpoint,"
        caller.e.lowered.source.refuse(s.line, what, why, instead)

    if unit.recursive:
        refuse("it calls itself, and numba finds no types for its derivative", "a loop: dr.checkpoint(step, loop=2)")
    shares = any(aliases and want for aliases, want in zip(effects.aliases, wanted, strict=True))
    if shares or (effects.shared and any(wanted)):
        why = "an array that it returns may share memory with an argument or another result"
        refuse(why, "a copy in its `return`, or nothing where it changes an argument")
    every = set(range(len(flags)))
    primal = not any(wanted) and not any(effects.writes)
    unit.finish(inner.uses_tape or any(effects.writes), primal, every, every, set(), set())
    writing = _Writing(module, unit, inner, s, e, f, flags, effects.writes, wanted, caller)
    if not unit.primal_suffices:
        writing.forward()
    writing.reverse()


@dataclass
class _Writing:
    module: _Module
    unit: Unit
    inner: Unit
    s: Call
    e: Expanded
    f: Any
    flags: tuple[bool, ...]
    writes: list[bool]
    wanted: list[bool]  # the results that have shadows
    caller: Reverse

    def __post_init__(self) -> None:
        names, e = self.module.names, self.e
        self.inputs = [x for p in e.parameters for x in leaves(p)]
        flagged = [x for x, flag in zip(self.inputs, self.flags, strict=True) if flag]
        self.shadows = {x: names.fresh("d_{}", x) for x in flagged if is_array(e.types.get(x))}
        self.back = [x for x in flagged if is_real(e.types.get(x))]
        self.written = [x for x, wrote in zip(self.inputs, self.writes, strict=True) if wrote]
        self.tape = ["tape"] if self.unit.uses_tape else []
        self.results = [names.shared(f"result_{k}") for k in range(len(self.s.targets))]

    def forward(self) -> None:
        """The function itself."""
        unit, e, s = self.unit, self.e, self.s
        body: list[Any] = [Code(f"runtime.keep(tape, {x}.copy())", 0) for x in self.written]
        tree = Plain(e, lambda call: self.module.effects(call, e), True).tree
        call = f"{s.function.name}({', '.join(syntax.text(tree(p, syntax.atom)) for p in e.parameters)})"
        made = self.module.names.fresh("made")
        body.append(Code(f"{made} = {call}" if s.targets else call, 0))
        found = [made + path for path in _paths(s.result)]
        found += [f"np.zeros_like({x})" for x, want in zip(found, self.wanted, strict=True) if want]
        body.append(Code(f"return {', '.join(found)}" if found else "return", 0))
        given = [*self.inputs, *self.shadows.values(), *self.tape]
        self.module.function(unit.forward_name, given, f"{self.name}, and nothing on the tape.", body, e, self.f)

    def reverse(self) -> None:
        """The function once more, with what its reverse sweep needs, and that sweep."""
        module, inner, e = self.module, self.inner, self.e
        shared, body = module.names.shared, []
        copies = {x: module.names.fresh("{}_given", x) for x in self.written}
        for x, copy in reversed(copies.items()):
            kind = e.types[x]
            body.append(Code(f"{copy} = runtime.kept(tape, {str(kind.dtype)!r}, {kind.ndim}, {_copied(kind)!r})", 0))
        body += [Code(f"{x}[...] = {copy}", 0) for x, copy in copies.items()]
        tape = ["tape"] if inner.uses_tape else []
        again = {k: shared(f"again_{k}") for k in range(len(self.results))}
        shadow = {k: shared(f"d_again_{k}") for k, want in enumerate(self.wanted) if want}
        if not inner.primal_suffices:
            names = ", ".join([*again.values(), *shadow.values()])
            call = f"{inner.forward_name}({', '.join([*self.inputs, *self.shadows.values(), *tape])})"
            body.append(Code(f"{names} = {call}" if names else call, 0))
        given = [*self.inputs, *self.shadows.values()]
        args = [x for k, x in enumerate(self.inputs) if inner.needs(k)] + [*self.shadows.values()]
        for k in shadow:
            given.append(shared(f"_d_result_{k}"))
            body.append(Code(f"runtime.add_to({shadow[k]}, {given[-1]})", 0))
            args += [*([again[k]] if inner.needs_result(k) else []), shadow[k]]
        cts = [shared(f"d_result_{k}") for k, t in enumerate(self.s.targets) if self.caller.is_scalar(t)]
        call = f"{inner.reverse_name}({', '.join([*args, *cts, *tape])})"
        back = [module.names.fresh("d_{}", x) for x in self.back]
        body.append(Code(f"{', '.join(back)} = {call}" if back else call, 0))
        body += [Code(f"{x}[...] = {copy}", 0) for x, copy in copies.items()]
        body.append(Code(f"return {', '.join(back)}" if back else "return", 0))
        doc = f"{self.name} again, on the tape, and what its arguments contribute to its results, backwards."
        module.function(self.unit.reverse_name, [*given, *cts, *self.tape], doc, body, e, self.f)

    @property
    def name(self) -> str:
        """What people call the function."""
        return str(self.e.lowered.source.tree.name)


def _copied(kind: Any) -> str:
    """The layout of a copy."""
    return kind.layout if kind.layout in ("C", "F") else "C"


def _paths(tree: Any) -> list[str]:
    """Where the leaves of a result are, as far as they have a name."""
    if isinstance(tree, Node):
        return [f"[{k}]{path}" for k, part in enumerate(tree.parts) for path in _paths(part)]
    return [""] if isinstance(tree, str) else []
