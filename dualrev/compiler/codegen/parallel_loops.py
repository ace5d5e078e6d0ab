"""Emission of parallel loops: a function of core that holds one becomes three.

f_rounds          the function that is called: the chunks of the loop in several threads, and what they come to; it
                  raises what has failed in one
f_rounds_chunk    a chunk, with a tape of its own
f_rounds_some     the iterations of a chunk: core, as any function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.reverse.sweeps import has_words, uses_tape
from dualrev.compiler.codegen.lines import Code, CodeStatement, Suite
from dualrev.compiler.codegen.module_builder import ModuleBuilder
from dualrev.compiler.codegen.statements import Emission
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Constant, Symbol, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, Hold
from dualrev.compiler.ir.core.traverse import leaves, reads, several, statements, writes
from dualrev.compiler.parallel.chunk_reductions import MOST, neutral
from dualrev.compiler.parallel.dependence import Group, Sharing
from dualrev.compiler.parallel.recognize_reductions import SYMBOLS

__all__ = ["write_loop"]

FEW = 16  # chunks with arrays of their own
ENOUGH = 1024  # elements of arrays, for a chunk


def write_loop(module: ModuleBuilder, name: str, f: Function, loop: For, shared: Sharing) -> None:
    """Emit function `f`, whose loop `loop` runs in parallel, as three functions."""
    _Running(module, name, f, loop, shared).write()


class _Running:
    def __init__(self, module: ModuleBuilder, name: str, f: Function, loop: For, shared: Sharing) -> None:
        self.module, self.name, self.f, self.loop, self.shared = module, name, f, loop, shared
        self.names, self.origin = module.names, f.origin
        wrote = {x for t in statements(loop.body) for x in writes(t)} | {loop.target}
        read = [x for t in statements(loop.body) for x in reads(t) if isinstance(x, Var)]
        self.given = tuple(dict.fromkeys(x for x in read if x not in wrote))
        self.slots = 1 + max((t.slot for t in statements(loop.body) if isinstance(t, Hold)), default=-1)
        self.tape = uses_tape(loop.body) or self.slots > 0
        self.columns = has_words(tuple(s for s in f.body if s is not loop))
        self.emission = self.emission_of(f, self.columns)

    def emission_of(self, f: Function, words: bool = False) -> Emission:
        """Emitter for one more function, which names the parameters first."""
        made = Emission(self.names, self.module.refer, f.checked, words)
        made.introduce([x for p in f.parameters for x in leaves(p) if isinstance(x, Var)])
        return made

    def write(self) -> None:
        """Emit all three functions."""
        self.whole(self.chunk(self.some()))

    def function(self, name: str, parameters: list[str], doc: str, body: list[CodeStatement]) -> None:
        """Add a function to the module, with the source and the options of the user's function."""
        self.module.function(name, parameters, doc, body, self.origin.source, self.origin.dispatcher)

    def some(self) -> str:
        """Emit the sequential loop over a chunk's iterations, whose reductions begin with neutral elements."""
        loop = self.loop
        first, last = Var("first", types.int64), Var("last", types.int64)
        before = tuple(Copy(x, neutral(kind, x.type), loop.line) for x, kind in self.shared.totals.items())
        rounds = replace(loop, start=first, stop=last, parallel=False)
        if isinstance(loop.start, Constant) and loop.start.value >= 0:  # with it, LLVM knows that of all indices
            counter = Var("_", types.int64)
            counted = Discrete(loop.target, Applied("runtime.natural", (counter,)), loop.line)
            rounds = replace(rounds, target=counter, body=(counted, *loop.body))
        body: Block = (*before, rounds)
        doc = f"The rounds of {self.f.name} from `first` to `last`."
        made = replace(self.f, name=f"{self.f.name}_some", parameters=(first, last, *self.given), body=body)
        made = replace(made, result=several(list(self.shared.totals)), tape=self.tape, doc=doc, together=())
        symbol = Symbol(made.name)
        self.module.program.define(symbol, made)
        return self.module.refer(symbol)

    def chunk(self, some: str) -> str:
        """Emit the k-th chunk, which stores its partial reductions and its failure at index `k`."""
        fresh, name = self.names.fresh, self.names.fresh(f"{self.f.name}_chunk{{n}}")
        k, count, start, stop, failed, made = map(fresh, ("k", "count", "start", "stop", "failed", "made"))
        emission = self.emission_of(self.f)
        given = [emission.var(x) for x in self.given]
        private = {x: fresh("{}_parts", emission.var(x)) for x in self.shared.private}
        taken = [private.get(x, emission.var(x)) for x in self.given]
        results = [fresh("{}_parts", emission.var(x)) for x in self.shared.totals]
        first, last = (f"runtime.bound({start}, {stop}, {count}, {at})" for at in (k, f"{k} + 1"))
        args = ", ".join(["tape", some, first, last, *given, *["tape"] * self.tape])
        body: list[CodeStatement] = [Code(f"tape = runtime.new_tape({self.slots})", 0)]
        for x, of in private.items():
            body.append(Code(f"{emission.var(x)} = {of}[{k}]", 0))
            body.append(Code(f"{emission.var(x)}[...] = 0", 0))  # here, where it is needed next
        body.append(Code(f"{made} = runtime.attempt({args})" if results else f"runtime.attempt({args})", 0))
        places = [made] if len(results) == 1 else [f"{made}[{j}]" for j in range(len(results))]
        body += [Code(f"{parts}[{k}] = {x}", 0) for parts, x in zip(results, places, strict=True)]
        body.append(Code(f"{failed}[{k}, 0], {failed}[{k}, 1] = runtime.released(tape)", 0))
        parameters = [k, count, start, stop, *taken, *results, failed]
        self.function(name, parameters, f"A chunk of {self.f.name}: the rounds from its bound to the next.", body)
        return name

    def threads(self, chunk: str) -> list[CodeStatement]:
        """Code that runs all chunks in threads, and combines their partial reductions."""
        fresh, shared, loop, text = self.names.fresh, self.shared, self.loop, self.emission.var
        count, failed, k = map(fresh, ("count", "failed", "k"))
        start, stop = (to_python.text(self.emission.atom(x)) for x in (loop.start, loop.stop))
        sizes = " + ".join(f"{text(x)}.size" for x in shared.private) or "0"
        spread = " + ".join([str(shared.spread), *(self.seen(group, text) for group in shared.looked_at)])
        bounds = f"{start}, {stop}, {shared.low}, {spread}, {self.most(text)}, {sizes}, {shared.works}"
        body: list[CodeStatement] = [Code(f"{count} = runtime.chunks({bounds})", loop.line)]
        body.append(Code(f"{failed} = runtime.nothing_failed({count})", 0))
        parts = {x: fresh("{}_parts", text(x)) for x in [*shared.totals, *shared.private]}
        for x, of in parts.items():
            if is_array(x):
                made = f"runtime.private({count}, {text(x)})"
            else:
                made = f"np.empty({count}, {to_python.dtype_name(x.type)})"
            body.append(Code(f"{of} = {made}", 0))
        given = [parts[x] if x in shared.private else text(x) for x in self.given]
        given_to = [count, start, stop, *given, *(parts[x] for x in shared.totals), failed]
        body += self.loops(chunk, given_to, count)
        for x in shared.totals:
            body.append(Suite(f"for {k} in range({count}):", [self.together(text(x), f"{parts[x]}[{k}]", x)], 0))
        body += [Code(f"runtime.add_parts({text(x)}, {parts[x]})", 0) for x in shared.private]
        body.append(Code(f"runtime.raise_failed(runtime.first_failed({failed}))", 0))
        return body

    def most(self, text: Callable[[Var], str]) -> str:
        """Text of the largest number of chunks; few elements of arrays make one, and no thread starts for them."""
        most = FEW if self.shared.private else MOST * (1 + self.shared.near)
        if not self.loop.elements:
            return str(most)
        sizes = ", ".join(f"{text(x)}.size" for x in self.given if is_array(x))
        return f"min({most}, 1 + max(0, {sizes}) // {ENOUGH})" if sizes else str(most)

    def loops(self, chunk: str, given: list[str], count: str) -> list[CodeStatement]:
        """Code that runs all chunks: even ones before odd ones, if neighbours share elements."""
        more = ", ".join([chunk, *given])
        if not self.shared.near:
            return [Code(f"runtime.in_threads(0, {count}, 1, {more})", 0)]
        odd = self.names.fresh("odd")
        return [Suite(f"for {odd} in range(2):", [Code(f"runtime.in_threads({odd}, {count}, 2, {more})", 0)], 0)]

    def seen(self, group: Group, text: Callable[[Var], str]) -> str:
        """Runtime test of overlap between iterations, for arrays that may share memory."""
        spans = ", ".join(f"runtime.span({text(x)}, {group.axis})" for x in group.arrays)
        return f"runtime.{'overlap' if group.near else 'no_overlap'}(({spans},))"

    def together(self, total: str, part: str, x: Var) -> Code:
        """Combine a chunk's partial reduction with the total."""
        kind = self.shared.totals[x]
        if kind in SYMBOLS:
            both = f"{part}, {total}" if kind.endswith(" of") else f"{total}, {part}"
            return Code(f"{total} = {kind[:3]}({both})", 0)
        return Code(f"{total} {'+' if kind == 'add' else '*'}= {part}", 0)

    def doc(self, text: Callable[[Var], str]) -> str:
        """Docstring of the function: how its threads share arrays and reductions."""
        shared = self.shared
        said = [f"{self.f.doc or f'{self.f.name}, as derivatives call it.'} Its rounds run in several threads."]
        if shared.totals:
            said.append(f"Of each chunk, and put together in order: {', '.join(map(text, shared.totals))}.")
        if shared.private:
            said.append(f"With an array for each chunk: {', '.join(map(text, shared.private))}.")
        if shared.direct:
            how = "chunks that are not next to one another" if shared.near else "each round writes its own elements"
            said.append(f"Written directly, {how}: {', '.join(map(text, shared.direct))}.")
        return "\n\n".join([said[0], *([" ".join(said[1:])] if said[1:] else [])])

    def whole(self, chunk: str) -> None:
        """Emit the function itself: the code before the loop, the threads, and the code after the loop."""
        f, loop, emission = self.f, self.loop, self.emission
        at = f.body.index(loop)
        parameters: list[str] = []
        body: list[CodeStatement] = []
        for x in f.parameters:
            assert isinstance(x, (Var, Constant)), "the function was made for the loop"
            parameters.append(emission.var(x) if isinstance(x, Var) else self.names.fresh("arg_{k}"))
        if self.columns:
            body += [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)]
        body += emission.block(f.body[:at]) + self.threads(chunk) + emission.block(f.body[at + 1 :])
        if self.columns:
            body.append(Code("tape[1] = top", 0))
        body.append(Code(f"return {emission.returned(f.result)}".strip(), 0))
        self.function(self.name, [*parameters, *["tape"] * f.tape], self.doc(emission.var), body)
