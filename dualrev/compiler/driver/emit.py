"""Emission of a module of derivatives, from a numba function and its argument types.

    context.py -> core -> ad/ -> core -> codegen/ -> text

`emit` is the whole of it. A function that is called by another one is differentiated once for every combination of
argument types, active arguments and arguments that may share memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from types import MappingProxyType

from numba.core.compiler_lock import global_compiler_lock

from dualrev.compiler.ad.reverse.sweeps import has_words
from dualrev.compiler.analysis.memory.escape import handed_on, only_borrows
from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.codegen.count_tape import TapeCounter
from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.codegen.module_builder import Emitted, described
from dualrev.compiler.codegen.module_text import ModuleText, Writing
from dualrev.compiler.codegen.parallel_loops import write_loop
from dualrev.compiler.codegen.statements import Emission, Lending
from dualrev.compiler.driver.checks import check_reruns
from dualrev.compiler.driver.context import Front
from dualrev.compiler.driver.passes import FORWARD, LINK, LISTS, OPTIMISE, READ, REVERSE
from dualrev.compiler.driver.transforms import TRANSFORMS
from dualrev.compiler.entrypoints.vjp import Entry
from dualrev.compiler.entrypoints.wrap_complex import Around
from dualrev.compiler.entrypoints.wrap_lists import check_lists, inside, takes_lists, with_lists
from dualrev.compiler.entrypoints.wrap_objects import opening
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.core.atom_types import type_of
from dualrev.compiler.ir.core.atoms import Node, Symbol, Var
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Gradient, Program
from dualrev.compiler.ir.core.traverse import variables
from dualrev.compiler.ir.pass_manager import LoopUnit, Pass, PassManager, Unit
from dualrev.compiler.parallel.dependence import sharing
from dualrev.compiler.parallel.outline import loop_of
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, NumbaTypes
from dualrev.compiler.types.complex_parts import holds_complex
from dualrev.compiler.types.leaves import holds_structured
from dualrev.errors import DualrevError, UnsupportedError

__all__ = ["STAGES", "Emitted", "Module", "core_program", "emit", "expanded_function", "shown"]


def emit(
    f: Dispatcher, transform: str, argnums: ArgNums, argtypes: NumbaTypes, counter: TapeCounter | None = None
) -> Emitted:
    """Emit a derivative of a numba function for these argument types; see dispatcher.py for the transforms.

    With a counter, the emitted code counts what is put on the tape.
    """
    with global_compiler_lock:  # Python 3.11 fails where two threads parse at the same time
        return Module(f, counter=counter).root(transform, argnums, argtypes)


def expanded_function(f: Dispatcher, argtypes: NumbaTypes) -> Function:
    """Core of a numba function for these argument types, before differentiation."""
    return core_program(f, argtypes)[0]


def core_program(f: Dispatcher, argtypes: NumbaTypes, passes: PassManager | None = None) -> tuple[Function, Program]:
    """Core of a numba function for these argument types, and the program with its callees."""
    front = Front(passes=passes)
    return front.entered(f, argtypes), front.program


#: Names of stages that are passes.
STAGES = {
    "lowered": READ[-1].name,
    "expanded": OPTIMISE[-1].name,
    "forward": FORWARD[-1].name,
    "reverse": REVERSE[-1].name,
    "emitted": LINK[-1].name,
}


def shown(f: Dispatcher, stage: str, transform: str, argnums: ArgNums, argtypes: NumbaTypes) -> str:
    """Text of the program after a pass, as it is compiled for a derivative: f first, then its callees."""
    stage = STAGES.get(stage, stage)
    found: list[tuple[bool, str]] = []

    def watch(p: Pass, unit: Unit | LoopUnit) -> None:
        """Keep the text of each unit of the pass."""
        if p.name == stage:
            found.append((getattr(unit, "dispatcher", None) is not f, unit.shown()))

    with global_compiler_lock:
        try:
            Module(f, PassManager(LISTS, watch=watch)).root(transform, argnums, argtypes)
        except DualrevError:  # perhaps later than after the pass
            if not found:
                raise
    return "\n".join(text for _, text in sorted(found, key=lambda pair: pair[0]))


class Module:
    """Module under construction: functions of core under names, and the entry points of derivatives."""

    def __init__(self, f: Dispatcher, passes: PassManager | None = None, counter: TapeCounter | None = None) -> None:
        self.f, self.front, self.counter = f, Front(passes=passes), counter
        self.names, self.program, self.passes = self.front.names, self.front.program, self.front.passes
        self.text = ModuleText(self.names, self.front.refs)
        self.natural = Natural()
        self._made: dict[Symbol, str] = {}
        self._leaves: dict[Hashable, Symbol] = {}  # numba functions that core stands for, by their keys
        self._opened: tuple[str, ArgNums] | None = None  # the transform, and its arguments, if f itself takes objects
        self._around: Around | None = None  # of a derivative by complex numbers
        self._open: list[Symbol] = []  # the functions that are being written, ...
        self._recursive: set[Symbol] = set()  # ... those among them that are called while they are, ...
        self._circles: set[Symbol] = set()  # ... and those that are written between

    def root(self, transform: str, argnums: ArgNums, argtypes: NumbaTypes) -> Emitted:
        """Emit the derivative of f for a transform, with a wrapper for lists."""
        count = len(self.front.source(self.f).parameters)
        if not takes_lists(argtypes[:count]):
            return self._root(transform, argnums, argtypes, count)
        check_lists(self.f, self.front.source(self.f), transform, argtypes[:count])
        more = tuple(map(inside, argtypes[count:]))
        made = self._root(transform, argnums, (*argtypes[:count], *more), count)
        source = with_lists(made.source, made.entry, transform, argnums, argtypes, count)
        return replace(made, source=source, entry=f"{made.entry}_of_lists")

    def _root(self, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int) -> Emitted:
        if any(map(holds_structured, argtypes)):
            if transform.endswith("_aux"):
                source = self.front.source(self.f)
                what, why = "has_aux for records or instances as arguments", "only vjp and jvp return aux for these"
                source.refuse(source.tree, what, why, "dr.vjp(f, *args, has_aux=True)")
            if transform in ("pushes", "products"):
                source = self.front.source(self.f)
                why = "they are not taken apart for several directions"
                source.refuse(source.tree, "records or instances as arguments", why, "arrays and numbers")
            self._opened = transform, argnums
        if any(map(holds_complex, argtypes)):
            if self._opened:
                what, why = "complex numbers beside records or instances", "only one of them is taken apart"
                source = self.front.source(self.f)
                source.refuse(source.tree, what, why, "real and imaginary parts")
            self._around = Around(self, transform, argnums, argtypes, count)
            argtypes = self._around.inner
        asked = TRANSFORMS[transform]
        if not asked.reruns:
            return asked.root(self, transform, argnums, argtypes, count)
        core = self.front.entered(self.f, argtypes[:count])
        try:
            check_reruns(core, self.program, f"its {asked.reruns}", asked.later)
        except UnsupportedError:
            asked.root(self, transform, argnums, argtypes, count)  # what no derivative is known of is said first
            raise
        return asked.root(self, transform, argnums, argtypes, count)

    @property
    def is_plain(self) -> bool:
        """Whether f takes numbers and arrays only, so that it is differentiated as it is."""
        return not self._opened and self._around is None

    # Functions that transformations have made

    def refer(self, of: Symbol | Call) -> str:
        """Name of the function behind a symbol or a call, which is emitted on first use.

        Of a call of a numba function that takes objects: the name of the same function of their leaves, and of one that
        checks what the user's function does not, that of the former. Any other is called itself: no name.
        """
        if isinstance(of, Call) and not self._is_of_core(of):
            return ""
        symbol = of if isinstance(of, Symbol) else self._of_core(of)
        if symbol not in self._made:
            made = self.program.made(symbol)
            self._made[symbol] = self.names.fresh(f"{made.name}{{n}}")
            self._open.append(symbol)
            self._write_made(symbol, self._made[symbol])
            self._open.pop()
        elif symbol in self._open:
            self._recursive.add(symbol)
            self._circles.update(self._open[self._open.index(symbol) :])
        return self._made[symbol]

    def _is_of_core(self, s: Call) -> bool:
        """Whether a function of core is called in place of the user's."""
        return any(holds_structured(type_of(x)) for x in (*s.args, s.result)) or self.program.is_checking(s)

    def _of_core(self, s: Call) -> Symbol:
        key = self.program.key(s)
        if key not in self._leaves:
            f = self.program.function(s)
            self._leaves[key] = Symbol(f.name)
            self.program.define(self._leaves[key], f)
        return self._leaves[key]

    def _write_made(self, symbol: Symbol, name: str) -> None:
        made = self.program.made(symbol)
        if isinstance(made, Gradient):
            entry = Entry(self, "grad", list(made.numbers), made.of, made.of.origin.dispatcher)
            entry.write(name, made.several, described("grad", made.numbers, made.of.name))
            return
        loop = loop_of(made)
        if loop is not None and (shared := sharing(made, loop, self.front.memory)) is not None:
            write_loop(self, name, made, loop, shared)
            return
        self.passes.run(
            "emit", Writing(made, made.body, self.natural, lambda: self._emit_made(symbol, name, made), self.text)
        )

    def _emit_made(self, symbol: Symbol, name: str, made: Function) -> None:
        origin = made.origin
        emission = Emission(self.names, self.refer, made.checked, has_words(made.body), self.natural)
        places = handed_on(made, symbol, self.program)
        if places and only_borrows(made, self.program):
            emission.lending = Lending(symbol, self.names.fresh("{}_lent{n}", name), places, self.names.fresh("lent"))
        emission.introduce(variables(made))
        parameters, before = [], []
        for x in made.parameters:
            parameters.append(emission.var(x) if isinstance(x, Var) else self.names.fresh("arg_{k}"))
            if isinstance(x, Node):
                before += emission.parts(parameters[-1], x)
        enter, leave = [], []
        if has_words(made.body):
            enter = [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)]
            leave = [Code("tape[1] = top", 0)]
        code = emission.block(made.body)
        guard, options = [], {}
        if symbol in self._recursive:  # its frames are larger than those of the user's function
            guard = [Code(f"runtime.need_stack({origin.source.tree.name!r})", 0)]
        if symbol in self._circles:
            options = {"_nrt": False} if only_borrows(made, self.program) else {}
        elif not kept(origin.dispatcher).get("forceinline"):
            self.text.copiable.add(name)
        returned = Code(f"return {emission.returned(made.result)}".strip(), 0)
        body = [*guard, *enter, *before, *code, *leave, returned]
        doc = made.doc or f"{made.name}, as derivatives call it."
        parameters += ["tape"] * made.tape
        if emission.lending is not None:
            body = self._write_lent(name, emission.lending, parameters, body, made, options)
        self.function(name, parameters, doc, body, origin.source, origin.dispatcher, options)

    def _write_lent(
        self,
        name: str,
        lending: Lending,
        parameters: list[str],
        body: list[CodeStatement],
        f: Function,
        options: Mapping[str, object],
    ) -> list[CodeStatement]:
        """Emit a recursive function whose arrays are passed by address; return the body of its trampoline."""
        names = [parameters[k] for k in lending.places]
        arrays = ", ".join(names) + "," * (len(names) == 1)
        others = [lending.address, *lending.others(parameters)]
        body = [Code(f"{arrays} = runtime.borrow({lending.address})", 0), *body]
        doc = f"{name}, of arrays that lie at an address."
        self.function(lending.name, others, doc, body, f.origin.source, f.origin.dispatcher, options)
        lend = Code(f"{lending.address} = runtime.lend(({arrays}))", 0)
        return [lend, Code(f"return {lending.name}({', '.join(others)})", 0)]

    # Text

    def function(
        self,
        name: str,
        parameters: list[str],
        doc: str,
        body: list[CodeStatement],
        source: Source,
        f: Dispatcher,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Add a function with the options of numba function `f`, and the options in `more`."""
        options = kept(f) | {"error_model": "numpy"} | dict(more)
        words = ", ".join(f"{k}={v!r}" for k, v in sorted(options.items()))
        if self.counter is not None:
            body = self.counter.instrumented(body, source)
        self.text.add(name, parameters, words, doc, body, source)

    def finish(self, entry: str, doc: str) -> Emitted:
        """Wrap the entry point for objects or complex numbers, link the module, and return its text."""
        if self._opened:
            entry = opening(self, entry, *self._opened, doc)
        if self._around is not None:
            entry = self._around.write(entry, doc)
        self.passes.run("link", self.text)
        text, printed = self.text.printed(doc)
        refs = {printed[name]: ref for name, ref in self.front.refs.items() if name in printed}
        paths, values = {n: r.path for n, r in refs.items()}, {n: r.value for n, r in refs.items()}
        chosen = any(("overload", ref.value) in ref.path for ref in self.front.refs.values())
        return Emitted(text, printed[entry], paths, values, "the implementation of an overload" if chosen else "")
