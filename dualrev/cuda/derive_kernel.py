"""Adjoint kernel of a kernel for argument types, as text: from its thread function to both sweeps of a thread.

    thread function -> core -> races.py -> both sweeps -> forward_slice.py -> emit_kernel.py

Each thread runs the forward sweep of its own iteration again, and then its reverse sweep. So nothing is saved between
the launch of the kernel and that of its adjoint. The shadows hold the cotangents of the arrays after the launch, and
then of the arrays before it: what the kernel stores, it takes out of the shadow, and what it loads, it adds.

The stores of the kernel are not repeated, as long as no thread reads again what it has stored. If it does, the reverse
sweep restores the old elements. So the arrays are as they were after the adjoint.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from numba.core import types
from numba.core.compiler_lock import global_compiler_lock

from dualrev.compiler.ad.reverse.sweeps import Sweeps
from dualrev.compiler.analysis.memory.alias import Classes, Memory, contents
from dualrev.compiler.codegen.lines import Code, CodeStatement, Suite
from dualrev.compiler.codegen.module_text import FunctionText
from dualrev.compiler.driver.context import Front
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.ir.core.atom_types import is_array, is_real_array
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import (
    Call,
    Function,
    Store,
)
from dualrev.compiler.ir.core.traverse import (
    leaves,
    reads,
    statements,
    variables,
)
from dualrev.compiler.ir.pass_manager import PassManager, Settings
from dualrev.compiler.optimize.cse import without_repetition
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes, UserValue
from dualrev.cuda.arguments import Member, members
from dualrev.cuda.emit_kernel import KernelEmission, Tape
from dualrev.cuda.forward_slice import BETWEEN, Needed
from dualrev.cuda.prepare import prepared, without_barriers
from dualrev.cuda.races import check_races
from dualrev.cuda.thread_function import INDICES, ThreadFunction
from dualrev.cuda.winners import Scratch, with_claims

__all__ = ["KernelText", "kernel_text"]

#: Passes over loops that keep an element of a shadow in a register, or move it: other threads may add to it meanwhile.
_ALONE = {"split-loop", "sink-stores", "replace-by-scalars", "elide-rezeroing", "elide-zeroing", "fuse-sweeps"}

#: Functions of math that numba has on a device, and others that a thread may call.
_MATH = """
acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc exp expm1 fabs floor fmod gamma hypot isfinite
isinf isnan lgamma log log10 log1p log2 pow sin sinh sqrt tan tanh trunc
"""
_DTYPES = """
bool_ float32 float64 int8 int16 int32 int64 intp uint8 uint16 uint32 uint64 uintp
"""
_DEVICE = {"abs", "bool", "float", "int", "len", "max", "min", "pow", "range", "round"}
_DEVICE |= {f"math.{x}" for x in _MATH.split()} | {f"np.{x}" for x in _DTYPES.split()}
_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
_WORDS = {"if", "while", "and", "or", "not", "in", "else", "return"}


@dataclass(frozen=True)
class KernelText:
    """Adjoint kernel as text.

    text      the module
    name      the kernel in it
    refs      what it refers to, by name
    members   members of the kernel's arguments, which are its first parameters
    active    numbers of the members that have shadows
    written   numbers of the members that are written to
    loaded    numbers of the members whose elements the adjoint reads
    before    numbers of those that are written to and read: their elements from before the launch are read
    restored  numbers of those whose elements change while the adjoint runs
    alone     numbers of those with a shadow whose elements one thread adds to, without atomics: readers.py
    extreme   numbers of the members of which the kernel takes maxima or minima: winners.py
    limit     words of tape of a thread, if threads look for room; else None
    threads   coordinates by which threads have to differ: those that the kernel asks for, if it stores anything
    """

    text: str
    name: str
    refs: dict[str, UserValue]
    members: tuple[Member, ...]
    active: tuple[int, ...]
    written: tuple[int, ...]
    loaded: tuple[int, ...]
    before: tuple[int, ...]
    restored: tuple[int, ...]
    alone: tuple[int, ...]
    extreme: tuple[int, ...]
    limit: int | None
    threads: frozenset[str] | None


def kernel_text(
    thread: ThreadFunction, argtypes: NumbaTypes, tape: int, options: str = "", atomic: bool = False
) -> KernelText:
    """Emit the adjoint kernel for these types of the kernel's arguments; `tape` words for each thread.

    With `atomic`, all additions to shadows of arrays that the kernel only reads are atomic: they may share memory.
    """
    with global_compiler_lock:
        return _Derivation(thread, argtypes, tape, options, atomic).made()


class _Derivation:
    def __init__(self, thread: ThreadFunction, argtypes: NumbaTypes, tape: int, options: str, atomic: bool) -> None:
        self.thread, self.limit, self.options, self.source = thread, tape, options, thread.source
        self.atomic = atomic
        settings = Settings.of(os.environ)
        settings = replace(settings, left_out=settings.left_out | _ALONE)
        self.front = Front(thread.sources, PassManager(LISTS, settings), inlines_all=True)
        self.members = members(thread.parameters, argtypes)
        for member in self.members:
            self._check_type(member)
        given = (*argtypes, *(types.int64 for _ in thread.indices), *(x.type for x in thread.shared))
        core = self.front.entered(thread.dispatcher, given)
        core = replace(core, parameters=tuple(x for tree in core.parameters for x in leaves(tree)))
        parameters = iter([x for x in core.parameters if isinstance(x, Var)])
        self.leaves = [leaf for member in self.members for leaf in member.leaves()]
        self.parameters = [*itertools.islice(parameters, len(self.leaves))]
        self.owners = [k for k, member in enumerate(self.members) for _ in member.leaves()]
        self.indices = dict(zip(thread.indices, parameters, strict=False))
        self.shared = dict(zip(parameters, thread.shared, strict=True))
        self.arrays = [x for x in self.parameters if is_array(x)]
        self.core = prepared(core, tuple(self.shared))
        self._check_core()

    @property
    def memory(self) -> Memory:
        """Effects of what is called on memory."""
        return self.front.memory

    def _check_type(self, member: Member) -> None:
        if isinstance(member.kind, types.Array) and member.kind.ndim > 0:
            for name, _, kind, field in member.leaves():
                if not kind.aligned and field is not None:
                    why = "a device adds to numbers at addresses that are multiples of their sizes"
                    what = f"{name}, a field of records without padding,"
                    self.source.refuse(self.source.tree, what, why, "np.dtype(fields, align=True)")
                self._check_number(name, kind, kind.dtype)
        if not member.leaves() or not isinstance(member.kind, types.Array) or member.kind.ndim == 0:
            self._check_number(member.name, member.kind, member.kind)

    def _check_number(self, name: str, kind: NumbaType, number: NumbaType) -> None:
        if isinstance(number, types.Integer | types.Boolean) or number in (types.float32, types.float64):
            return
        why = "kernels take numbers, arrays of these, arrays of records, and tuples, here"
        what = f"{name}, an argument of numba type {kind}"
        self.source.refuse(self.source.tree, what, why, "an array of float64, or float32, for each part of it")

    def _check_core(self) -> None:
        for s in statements(self.core.body):
            if isinstance(s, Call):
                what, why = "this call", "a kernel is differentiated with all that it calls inside"
                self.source.refuse(s.line, what, why, "@cuda.jit(device=True) above the function, without recursion")

    def made(self) -> KernelText:
        """Emit the kernel."""
        core = without_repetition(self.core, self.memory, ())
        self.stored, self.added, alone, extreme = check_races(core, self.memory, self.indices, self.shared)
        self.alone = {x for x in alone if is_real_array(x) and not self.atomic}
        self.scratch = {
            x: Scratch.of(self.front.names, leaf.parameter)
            for x, leaf in zip(self.parameters, self.leaves, strict=True)
            if x in extreme and is_real_array(x) and leaf.field is None
        }
        if not self.shared:  # no thread waits for what another one stores
            self.core = replace(self.core, body=without_barriers(self.core.body))
        self.core = with_claims(self.core, self.scratch, self._refuse)
        active = [x for x in (*self.arrays, *self.shared) if is_real_array(x)]
        back: list[Var] = []
        needed = Needed(self.memory, self.parameters, self.shared, self.added)
        while True:
            # threads add to these in any order, so no thread could restore an element
            sweeps = self.front.reverse.of_arrays(self.core, active, back, [*self.added & self.shared.keys()])
            whole = needed.of(sweeps, active)
            changed = needed.stored(whole)
            if {*changed} <= {*back}:
                break
            back = [x for x in self.arrays if x in back or x in changed]
        return self._emitted(sweeps, whole, active)

    # Text

    def _refuse(self, line: int, what: str, why: str, instead: str) -> NoReturn:
        self.source.refuse(line, what, why, instead)

    def _emitted(self, sweeps: Sweeps, whole: Function, active: list[Var]) -> KernelText:
        names, facts = self.front.names, sweeps.facts
        tape = Tape(names, whole.body, self.limit)
        own = [facts.cotangent(x) for x in active if x in self.stored | self.alone and x not in self.shared]
        emission = KernelEmission(names, whole.body, tape, own, self._refuse)
        for x, leaf in zip(self.parameters, self.leaves, strict=True):
            own_name = names.fresh(leaf.parameter) if leaf.field is not None else names.user(leaf.parameter)
            emission.call_it(x, own_name)
        for x, array in self.shared.items():
            emission.call_it(x, names.user(self.thread.shared[array]))
        emission.introduce(variables(self.core))
        count = whole.body.index(BETWEEN)
        used = {x for s in statements(whole.body) for x in reads(s)}
        code: list[CodeStatement] = [
            Code(f"{emission.var(x)} = {INDICES[name][0]}", 0) for name, x in self.indices.items() if x in used
        ]
        whole_names = [names.user(member.parameter) for member in self.members]
        for name in whole_names:
            emission.call_it(Var("_", types.none), name)  # no variable gets the name of an array of records
        parameters, views = self._given(emission, [*self.parameters], whole_names, used)
        cotangents = [facts.cotangent(x) if x in active else None for x in self.parameters]
        shadowed = [names.fresh(f"d_{member.parameter}") for member in self.members]
        more, shadow_views = self._given(emission, cotangents, shadowed, used)
        code += [*views, *shadow_views, *tape.declared()]
        shared = {x: of for x, of in self.shared.items() if x in used}
        shadows = {facts.cotangent(x): of for x, of in self.shared.items() if is_real_array(x)}
        axes = "".join(axis for axis in "xyz" if any(f"thread_{axis}" in INDICES[name][1] for name in self.indices))
        code += emission.shared_arrays(shared)
        code += emission.shared_shadows({x: of for x, of in shadows.items() if x in used}, axes)
        code += emission.block(whole.body[:count])
        code += tape.checked()
        first = names.shared("first")
        code += [Suite(f"if {first}:", [Code("return", 0)], 0)] if self.scratch else []
        code.append(Code("# the reverse sweep", 0))
        emission.in_reverse = True
        code += emission.block(whole.body[count + 1 :])
        parameters += more
        parameters += [name for x in self.scratch.values() for name in (x.best, x.claims)]
        parameters += [first] * bool(self.scratch) + [tape.needed] * tape.is_checked
        return self._text(code, parameters, whole, tape)

    def _given(
        self, emission: KernelEmission, variables: list[Var | None], members: list[str], used: set[Atom]
    ) -> tuple[list[str], list[CodeStatement]]:
        """Parameters for the members that have a variable among those of the leaves; and code for fields of records."""
        found: dict[str, None] = {}
        code: list[CodeStatement] = []
        for x, k, leaf in zip(variables, self.owners, self.leaves, strict=True):
            if x is None:
                continue
            if leaf.field is None:
                found[emission.var(x)] = None
            else:
                found[members[k]] = None
                code += [Code(f"{emission.var(x)} = {members[k]}[{leaf.field!r}]", 0)] if x in used else []
        return [*found], code

    def _members(self, some: Iterable[int]) -> tuple[int, ...]:
        """Numbers of the members that have these leaves."""
        return tuple(dict.fromkeys(self.owners[k] for k in some))

    def _text(self, code: list[CodeStatement], parameters: list[str], whole: Function, tape: Tape) -> KernelText:
        names, word = self.front.names, self.source.tree.name
        doc = f"Add to the shadows what the arguments of kernel {word} contribute to its results, backwards."
        made = FunctionText(f"{word}_adjoint", parameters, self.options, doc, code, self.source)
        made.decorator = "cuda.jit"
        made.fold(names.is_temporary)
        for row in made.rows:
            for name in _CALL.findall(row.text.partition("#")[0]):
                known = name in _DEVICE | _WORDS or name.startswith("cuda.")
                if not known:
                    what, why = f"{name} in the derivative of this line", "numba has no such function on a device"
                    self.source.refuse(
                        row.line or self.source.tree, what, why, "functions whose derivatives are elementary"
                    )
        found = made.words()
        refs = {name: ref.value for name, ref in self.front.refs.items() if name in found}
        printed = names.chosen([x for x in found if x in refs], {made.name, *found})
        local = names.chosen([x for x in found if x not in printed], [*printed.values(), made.name, *found])
        text = made.text(lambda x: (local | printed).get(x, x))
        head = "import math\n\nimport numpy as np\nfrom numba import cuda\n\n\n"
        numbers = range(len(self.leaves))
        core = Classes(self.core, self.memory)
        written = {core.find(s.array) for s in statements(self.core.body) if isinstance(s, Store)}
        known = Classes(whole, self.memory)
        keys = {known.find(x) for s in statements(whole.body) if not isinstance(s, Store) for x in contents(s)}
        extreme = tuple(k for k in numbers if self.parameters[k] in self.scratch)
        loaded = tuple(k for k in numbers if known.find(self.parameters[k]) in keys or k in extreme)
        restored = {known.find(s.array) for s in statements(whole.body) if isinstance(s, Store)}
        asked = frozenset(c for name in self.indices for c in INDICES[name][1])
        if not self.stored - self.shared.keys():
            asked |= {"block_x", "block_y", "block_z"}  # each block has its own
        return KernelText(
            head + text + "\n",
            made.name,
            {printed.get(name, name): value for name, value in refs.items()},
            tuple(self.members),
            self._members(k for k in numbers if is_real_array(self.parameters[k])),
            self._members(k for k in numbers if core.find(self.parameters[k]) in written),
            self._members(loaded),
            self._members(k for k in loaded if core.find(self.parameters[k]) in written),
            self._members(k for k in numbers if known.find(self.parameters[k]) in restored),
            self._members(k for k in numbers if self.parameters[k] in self.alone),
            self._members(extreme),
            tape.limit if tape.is_checked else None,
            asked if self.stored else None,
        )
