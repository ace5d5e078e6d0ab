"""Emission of an adjoint kernel: both sweeps of a thread (core) as the text of a kernel for numba.cuda.

Text for a processor and text for CUDA differ in these places:

    d_x[i] += v             cuda.atomic.add(d_x, i, v)       several threads may read x[i], and so add to d_x[i]
    runtime.scaled(a, b)    a * b if b != 0.0 else 0.0       there is no runtime library on a device
    np.empty(3)             cuda.local.array(3, ...)         a thread has no heap
    words, grown on demand  floats = cuda.local.array(n)     the tape of a thread has a fixed size

No two threads access one element of an array that the kernel stores into (races.py), so no addition to its shadow is
atomic.

The arrays that a block shares have shadows, which it shares, too. A barrier is one in both sweeps.

A thread that runs out of tape goes on counting, but saves nothing. Before its reverse sweep it reports how many words
it would have needed, and stops: the launch raises an error then. If the number of words is known when the kernel is
compiled, the tape has this size, and no thread looks.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from numba.core import types

from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement, Suite
from dualrev.compiler.codegen.statements import Emission
from dualrev.compiler.codegen.tape_access import from_word
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core import nodes
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import SCALED, Applied, Atom, Constant, Expr, Global, Pack, Var
from dualrev.compiler.ir.core.nodes import Block
from dualrev.compiler.ir.core.traverse import blocks, statements, writes
from dualrev.compiler.ir.names import Names
from dualrev.cuda.accesses import is_mark
from dualrev.cuda.shared import Shared
from dualrev.cuda.winners import is_claim

__all__ = ["KernelEmission", "Tape"]

_TEMPLATES = {
    "scaled": "a * b if b != 0.0 else 0.0",
    "range_length": "-((a - b) // c) if (b - a) * c > 0 else 0",
    "rounds": "-((a - b) // c) if (b - a) * c > 0 else 0",
}

#: Words: 4 KiB of local memory, which a device reserves for each thread that may run at one time.
_UNASKED = 512

Refuse = Callable[[int, str, str, str], NoReturn]


class Tape:
    """Tape of a thread: an array of floats, one of ints beside it if ints are saved, and how many words each has.

    size     words, if it is known when the kernel is compiled, and no more than a thread may have unasked; else None
    limit    words that the thread has
    """

    def __init__(self, names: Names, body: Block, limit: int) -> None:
        size = _size(body)
        self.size = size if size is None or size <= max(limit, _UNASKED) else None
        self.limit = limit if self.size is None else max(1, self.size)
        every = list(statements(body))
        self.waits = any(isinstance(s, nodes.Barrier) for s in every)  # then all threads of a block go on, or none
        saved: list[Atom] = [x for s in every if isinstance(s, nodes.Push) for x in s.values]
        columns = [x for s in every if isinstance(s, nodes.Columns) for x in s.targets]
        kinds = [x.type for x in saved] + [x.type.dtype for x in columns]
        self.used, self.ints = bool(kinds), any(isinstance(kind, types.Integer) for kind in kinds)
        self.words, self.whole, self.top = names.shared("floats"), names.shared("ints"), names.shared("height")
        self.needed = names.shared("needed")

    @property
    def is_checked(self) -> bool:
        """Whether threads look for room on the tape."""
        return self.used and self.size is None

    def of(self, kind: types.Type) -> str:
        """The array that has values of a type."""
        return self.whole if isinstance(kind, types.Integer) else self.words

    def declared(self) -> list[CodeStatement]:
        """Code that allocates the tape."""
        if not self.used:
            return []
        code: list[CodeStatement] = [Code(f"{self.words} = cuda.local.array({self.limit}, np.float64)", 0)]
        if self.ints:
            code.append(Code(f"{self.whole} = cuda.local.array({self.limit}, np.int64)", 0))
        return [*code, Code(f"{self.top} = 0", 0)]

    def checked(self) -> list[CodeStatement]:
        """Code that stops a thread whose tape is too short, between its sweeps."""
        if not self.is_checked:
            return []
        is_short, report = f"{self.top} > {self.limit}", Code(f"cuda.atomic.max({self.needed}, 0, {self.top})", 0)
        if not self.waits:
            return [Suite(f"if {is_short}:", [report, Code("return", 0)], 0)]
        stop = Suite(f"if {is_short}:", [report], 0)
        return [Suite(f"if cuda.syncthreads_or(np.int32({is_short})):", [stop, Code("return", 0)], 0)]


def _size(body: Block) -> int | None:
    """Words that statements put on the tape, if that is known when they are compiled."""
    total = 0
    for s in body:
        some: int | None = 0
        match s:
            case nodes.Push():
                some = len(s.values)
            case nodes.Columns(taken=False):
                rounds = _rounds(s)
                some = None if rounds is None else rounds * len(s.targets)
            case nodes.If() | nodes.For() | nodes.While():
                parts = [_size(inner) for inner in blocks(s)]
                some = None if None in parts else sum(n for n in parts if n is not None)
                if some and not isinstance(s, nodes.If):
                    rounds = _rounds(s) if isinstance(s, nodes.For) else None
                    some = None if rounds is None else rounds * some
        if some is None:
            return None
        total += some
    return total


def _rounds(s: nodes.For | nodes.Columns) -> int | None:
    """Iterations of a loop, if its bounds are constants."""
    bounds = [x.value for x in (s.start, s.stop, s.step) if isinstance(x, Constant)]
    return len(range(*bounds)) if len(bounds) == 3 and bounds[2] else None


class KernelEmission(Emission):
    """Emitter of the text of a kernel; `refuse` raises for what a device cannot do.

    No two threads access one element of the arrays in `own`.
    """

    def __init__(self, names: Names, body: Block, tape: Tape, own: Iterable[Var], refuse: Refuse) -> None:
        super().__init__(names, self._refuse_call, checked=False)
        self.rebound = {x for s in statements(body) for x in writes(s)}
        self.device_tape, self.refuse = tape, refuse
        self.local = {*own}  # and arrays of the thread
        self.views: set[Var] = set()  # to which the kernel adds atomically
        self.columns: dict[Var, tuple[str, str]] = {}  # where a column begins
        self.shapes: dict[Var, ast.expr] = {}  # of these
        self.in_reverse = False
        self.line = 0

    def _refuse_call(self, s: object) -> NoReturn:
        self._unsupported(getattr(s, "line", 0), "a call of a function that cannot be inlined")

    def _unsupported(self, line: int, what: str) -> NoReturn:
        self.refuse(line, what, "a thread cannot do it on a device", "loops over elements, and functions of math")

    # Expressions

    def atom(self, x: Atom) -> ast.expr:
        """Syntax of an atom; a global array is in constant memory."""
        made = super().atom(x)
        return to_python.call("cuda.const.array_like", made) if isinstance(x, Global) and is_array(x) else made

    def expr(self, e: Expr) -> ast.expr:
        """Syntax of an expression; functions of the runtime library are written out."""
        if isinstance(e, Applied) and isinstance(e.function, str) and e.function.startswith("runtime."):
            return self._written_out(e.function.removeprefix("runtime."), [self.expr(x) for x in e.args])
        return super().expr(e)

    def _row(self, s: nodes.View, places: Expr) -> ast.expr:
        """View of a field of a record: of one element, as a device has no arrays without axes."""
        assert isinstance(places, Pack)
        parts = [self.expr(x) for x in places.args]
        if not s.target.type.ndim:
            parts[-1] = ast.Slice(parts[-1], None, None)
        row = ast.Subscript(
            self.atom(s.base), parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()), ast.Load()
        )
        first = ast.Slice(None, ast.Constant(1), None)
        return row if s.target.type.ndim else ast.Subscript(row, first, ast.Load())

    def _place(self, s: nodes.Load | nodes.Store) -> ast.expr:
        """Syntax of an element; the only one of an array without axes is the first of one with an axis."""
        return super()._place(s) if s.index else ast.Subscript(self.atom(s.array), ast.Constant(0), ast.Load())

    def _written_out(self, name: str, args: list[ast.expr]) -> ast.expr:
        if name not in _TEMPLATES:
            self._unsupported(self.line, f"what numba's {name} does")
        known = dict(zip("abc", args, strict=False))
        return to_python.substitute(ast.parse(_TEMPLATES[name], mode="eval").body, known.get)

    def _real(self, s: nodes.Real) -> ast.expr:
        if s.rule is SCALED:
            return self._written_out("scaled", [self.atom(x) for x in s.args])
        function = s.rule.value.partition("(")[0]
        if s.spelling.startswith("np.") and hasattr(math, function):
            return to_python.call(f"math.{function}", *map(self.atom, s.args))
        return super()._real(s)

    # Statements

    def block(self, body: Block) -> list[CodeStatement]:
        """Code of a block."""
        code: list[CodeStatement] = []
        for s, after in zip(body, [*body[1:], None], strict=False):
            self.line = s.line or self.line
            if isinstance(s, nodes.Make) and isinstance(after, nodes.Hold) and after.source is s.target:
                self.call_it(s.target, self.var(after.target))
            code += self._statement(s)
        return code

    def _statement(self, s: nodes.Statement) -> list[CodeStatement]:
        match s:
            case nodes.Copy() if isinstance(s.target.type, types.NoneType):
                return []
            case nodes.Copy(target, source) | nodes.Hold(target, source) if is_array(target):
                if isinstance(source, Var) and source in self.shapes:
                    self.shapes[target] = self.shapes[source]
                self.local |= {target} if source in self.local else set()
                if self.var(target) == to_python.text(self.atom(source)):
                    return []
                return [self._assign(target, self.atom(source), s.line)]
            case nodes.View():
                if (made := self._view(s)) is not None:
                    return [*made]
            case nodes.Make():
                return self._make(s)
            case nodes.Load(target, array) if array in self.columns:
                word = self._column(array, s.index[0])
                return [self._assign(target, _value(target.type, word), s.line)]
            case nodes.Store(array, index, value) if array in self.columns:
                return self._saved(self._column(array, index[0]), self.atom(value), s.line)
            case nodes.Store(value=value) if is_array(value):
                self._unsupported(s.line, "an assignment of a whole array")
            case nodes.Store() if s.op != "=" and s.array in self.views and not self.in_reverse:
                return [self._atomic(s)]
            case nodes.Store() if s.op != "=" and self.in_reverse and s.array not in self.local:
                return [self._atomic(s)]
            case nodes.Push():
                return self._push(s)
            case nodes.Pop():
                return self._pop(s)
            case nodes.Reserve():
                return []
            case nodes.Barrier():
                return [Code("cuda.syncthreads()", s.line)]
            case nodes.Columns():
                return self._columns(s)
            case nodes.Effect(raises=False):
                return []  # the primal has printed
            case nodes.Effect():
                self.refuse(s.line, "raise", "a kernel raises nothing on a device", "return, to end a thread")
            case nodes.Opaque() if is_claim(s):
                return super()._statement(s)
            case nodes.Keep() | nodes.Kept():
                what, why = "this access to an array that a loop chooses", "the tape of a thread holds numbers only"
                self.refuse(s.line, what, why, "the arrays by their names, such as state.x, without the loop")
            case nodes.Opaque() | nodes.Whole() | nodes.Accumulate():
                self._unsupported(s.line, "this line")
        return super()._statement(s)

    def _view(self, s: nodes.View) -> list[CodeStatement] | None:
        """Code for a view that a device writes in another way; None for other views."""
        self.local |= {s.target} if s.base in self.local else set()
        if isinstance(s.value, Applied) and s.value.function == "runtime.row":
            return [self._assign(s.target, self._row(s, s.value.args[1]), s.line)]
        if not is_mark(s):
            return None
        self.views.add(s.target)
        if isinstance(s.base, Var) and s.base not in self.rebound:
            self.call_it(s.target, self.var(s.base))
            return []
        return [self._assign(s.target, self.atom(s.base), s.line)]

    def shared_arrays(self, arrays: Mapping[Var, Shared]) -> list[CodeStatement]:
        """Declare arrays that the threads of a block share."""
        return [
            Code(f"{self.var(x)} = cuda.shared.array({of.extents}, {to_python.dtype_name(x.type.dtype)})", 0)
            for x, of in arrays.items()
        ]

    def shared_shadows(self, arrays: Mapping[Var, Shared], axes: str) -> list[CodeStatement]:
        """Declare the shadows of such arrays, which threads of the kernel clear together; they differ along `axes`."""
        code = self.shared_arrays(arrays)
        for x, of in arrays.items():
            counters = [self.names.fresh("_k{k}") for _ in of.shape]
            body: list[CodeStatement] = [Code(f"{self.var(x)}[{', '.join(counters)}] = 0", 0)]
            rounds = itertools.zip_longest(counters, of.shape, axes[: len(of.shape)])
            for k, n, axis in reversed([*rounds]):
                bounds = f"cuda.threadIdx.{axis}, {n}, cuda.blockDim.{axis}" if axis else f"{n}"
                body = [Suite(f"for {k} in range({bounds}):", body, 0, loop=True)]
            first = " and ".join(f"cuda.threadIdx.{axis} == 0" for axis in axes[len(of.shape) :])
            code += [Suite(f"if {first}:", body, 0)] if first else body
        return [*code, Code("cuda.syncthreads()", 0)] if arrays else []

    def _make(self, s: nodes.Make) -> list[CodeStatement]:
        """Allocate an array of the thread: a local one, whose size is known."""
        match s.value:
            case Applied("np.empty" | "np.zeros" as function, (shape, *_)):
                made = self.expr(shape)
            case Applied("np.zeros_like" | "np.empty_like" as function, (Var() as of,)) if of in self.shapes:
                made = self.shapes[of]
            case Applied("np.zeros_like", _) if not s.target.type.mutable:
                what, why = "an array that is a global one or another", "constant memory has no shadow"
                self.refuse(s.line, what, why, "an array that the kernel is given for the global one")
            case _:
                self._unsupported(s.line, "a new array")
        extents = made.elts if isinstance(made, ast.Tuple) else [made]
        if not all(isinstance(n, ast.Constant) for n in extents):
            self._unsupported(s.line, "an array whose size is not a constant")
        self.local.add(s.target)
        self.shapes[s.target] = made
        dtype = to_python.dtype_name(s.target.type.dtype)
        name = self.var(s.target)
        code: list[CodeStatement] = [Code(f"{name} = cuda.local.array({to_python.text(made)}, {dtype})", s.line)]
        if "zeros" in function:
            counters = [self.names.fresh("_k{k}") for _ in extents]
            body: list[CodeStatement] = [Code(f"{name}[{', '.join(counters)}] = 0", s.line)]
            for k, n in reversed([*zip(counters, extents, strict=True)]):
                body = [Suite(f"for {k} in range({to_python.text(n)}):", body, s.line, loop=True)]
            code += body
        return code

    def _atomic(self, s: nodes.Store) -> Code:
        """Addition to a shadow, which other threads may add to."""
        place = [self._entry(i) for i in s.index]
        index = place[0] if len(place) == 1 else ast.Tuple(place, ast.Load()) if place else ast.Constant(0)
        value = self.atom(s.value)
        value = ast.UnaryOp(ast.USub(), value) if s.op == "-=" else value
        return Code(to_python.text(to_python.call("cuda.atomic.add", self.atom(s.array), index, value)), s.line)

    # Tape

    def _saved(self, word: ast.expr, value: ast.expr, line: int) -> list[CodeStatement]:
        """Save a value, if there is room."""
        store = Assign(word, value, line)
        if not self.device_tape.is_checked:
            return [store]
        assert isinstance(word, ast.Subscript)
        return [Suite(f"if {to_python.text(word.slice)} < {self.device_tape.limit}:", [store], line)]

    def _word(self, kind: types.Type, place: str) -> ast.expr:
        return to_python.name(f"{self.device_tape.of(kind)}[{place}]")

    def _push(self, s: nodes.Push) -> list[CodeStatement]:
        top = self.device_tape.top
        code: list[CodeStatement] = []
        for k, x in enumerate(s.values):
            code += self._saved(self._word(x.type, f"{top} + {k}" if k else top), self.atom(x), s.line)
        return [*code, Code(f"{top} += {len(s.values)}", s.line)]

    def _pop(self, s: nodes.Pop) -> list[CodeStatement]:
        top = self.device_tape.top
        code: list[CodeStatement] = [Code(f"{top} -= {len(s.targets)}", s.line)]
        for k, x in enumerate(s.targets):
            word = self._word(x.type, f"{top} + {k}" if k else top)
            code.append(self._assign(x, _value(x.type, word), s.line))
        return code

    def _columns(self, s: nodes.Columns) -> list[CodeStatement]:
        """Columns of the tape, one after the other: each begins at a place of its own."""
        top, count, base = self.device_tape.top, self.names.fresh("_n{k}"), self.names.fresh("_base{k}")
        trips = self._written_out("rounds", [self.atom(x) for x in (s.start, s.stop, s.step)])
        code: list[CodeStatement] = [Code(f"{count} = {to_python.text(trips)}", s.line)]
        for k, x in enumerate(s.targets):
            self.columns[x] = base, f"{base} + {k} * {count}" if k else base
        total = f"{len(s.targets)} * {count}"
        if s.taken:
            return [*code, Code(f"{top} -= {total}", s.line), Code(f"{base} = {top}", s.line)]
        return [*code, Code(f"{base} = {top}", s.line), Code(f"{top} += {total}", s.line)]

    def _column(self, x: Var, index: object) -> ast.expr:
        """Word of a column for an iteration."""
        entry = to_python.text(self._entry(index))  # type: ignore[arg-type]
        return self._word(x.type.dtype, f"{self.columns[x][1]} + ({entry})")


def _value(kind: types.Type, word: ast.expr) -> ast.expr:
    """Value of a type from its word."""
    if isinstance(kind, types.Integer):
        return word if kind == types.int64 else to_python.call(f"np.{kind}", word)
    return from_word(kind)(word)
