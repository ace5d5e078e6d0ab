"""Index range analysis: indices that are certainly nonnegative, so that numba's wraparound check is not needed.

A negative index counts from the end, and the code that numba emits tests for one, unless LLVM proves that the index is
none.

LLVM sees it of the counters of loops that go up from a constant, or down to one in no other loop, and of little else:
where an index is a product, comes out of a division or is counted in a variable, every access asks. Here the code of a
function is followed from its start to its end, with a linear form (linear_forms.py) for every whole number:

    range(a, b)      its counter is not below a, and below b; a < b holds in the iterations
    if               not below 0 if it is so on both sides
    a loop           of what its iterations change, not below 0 if it is so before them, and at the end of an iteration
                     if it is at its start: this is assumed until it is refuted, and then all is looked at once more
    a column         nothing below 0 in it if that is so of all that is stored there
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import EllipsisType

from numba.core import types

from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    magnitude,
    minus,
    scaled,
)
from dualrev.compiler.analysis.values.linear_forms import COUNT, SUM, ZERO, Axis, LinearForms, is_whole
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Span, Var
from dualrev.compiler.ir.core.nodes import Block, Columns, Copy, Discrete, For, If, Load, Statement, Store, While
from dualrev.compiler.ir.core.traverse import statements, writes

__all__ = ["Natural"]

_WALKS = 8  # after so many, nothing is said


class Natural:
    """Nonnegative indices in emitted code that LLVM cannot prove so. Functions are analysed in their order."""

    def __init__(self) -> None:
        self._columns: dict[Var, int] = {}  # columns with nothing below 0 in them, and what nothing in them exceeds
        self.indices: set[tuple[Statement, int]] = set()  # a Load or Store, and the place among its indices
        self.counters: set[For] = set()  # loops whose counters are indices

    def look(self, body: Block) -> None:
        """Analyse the code of a function, until no assumption is refuted."""
        refuted: set[tuple[Statement, Var]] = set()
        for _ in range(_WALKS):
            walk = _Walk(self._columns, refuted)
            walk.block(body)
            if refuted == walk.refuted and walk.columns.keys() >= walk.read:
                self.indices |= walk.natural - walk.other
                self.counters |= walk.counters
                self._columns = walk.columns
                return
            refuted = walk.refuted


class _Walk(LinearForms):
    """One pass of abstract interpretation; `refuted`: loop-carried variables that may be negative."""

    def __init__(self, columns: dict[Var, int], refuted: set[tuple[Statement, Var]]) -> None:
        super().__init__()
        self.columns, self.refuted = dict(columns), set(refuted)
        self.natural: set[tuple[Statement, int]] = set()
        self.other: set[tuple[Statement, int]] = set()
        self.counters: set[For] = set()
        self.read: set[Var] = set()  # columns that it has relied on
        self.filled: set[Var] = set()  # columns that are made here, until something below 0 is stored
        self.known: dict[Var | Axis, Form] = {}  # of variables, and of axes of arrays
        self.seen: set[Number] = set()  # counters of which LLVM sees it
        self.told: dict[Number, For] = {}  # those of which it can be told
        self.depth = 0  # of loops around

    def look_up(self, key: Var | Axis, lower: Iterable[Form] = ()) -> Form:
        """The form of a key; an unassigned one is an argument, or the extent of an axis."""
        if key not in self.known:
            self.known[key] = self.number(COUNT, lower)
        return self.known[key]

    # Statements

    def block(self, body: Block) -> None:
        """Interpret statements one after the other."""
        for s in body:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        """Interpret a statement."""
        if isinstance(s, (Load, Store)):
            self.access(s)
        match s:
            case Discrete(target, value) if is_whole(target):
                self.known[target] = self.value(value)
            case Copy(target, source) if is_whole(target):
                self.known[target] = self.value(source)
            case Load(target, array) if array in self.columns:
                self.read.add(array)
                self.known[target] = self.number(self.columns[array], [ZERO])
            case Store():
                self.store(s)
            case If():
                self.branch(s)
            case For():
                self.counted(s)
            case While():
                self.rounds(s, (*s.before, *s.body), lambda: self.block((*s.before, *s.body)))
            case _:
                if isinstance(s, Columns) and not s.taken:
                    self.filled |= {x for x in s.targets if x.type.dtype == types.int64}
                for x in writes(s):
                    self.forget(x)

    def forget(self, x: Var) -> None:
        """Invalidate the form of a variable, or of the extents of an array."""
        if is_array(x):
            for key in [key for key in self.known if isinstance(key, tuple) and key[0] is x]:
                self.known[key] = self.number(COUNT, [ZERO])
        elif is_whole(x):
            self.known[x] = self.number()

    def access(self, s: Load | Store) -> None:
        """Record which indices of an access are nonnegative; an access outside of all loops is not worth it."""
        for k, i in enumerate(s.index):
            if isinstance(i, (Constant, Span, EllipsisType)) or i is None or not is_whole(i):
                continue
            form = self.value(i)
            if not is_natural(form):
                self.other.add((s, k))
            elif not self.is_seen(form) and self.depth:
                self.natural.add((s, k))

    def is_seen(self, a: Form) -> bool:
        """Whether LLVM proves a form nonnegative, given an assumption about a loop counter if need be."""
        if len(a.factors) != 1:
            return False
        ((x, k),) = a.factors.items()
        if k == 1 and a.constant >= 0 and x in self.told:
            self.counters.add(self.told[x])
            return True
        return k == 1 and x in self.seen

    def store(self, s: Store) -> None:
        """Record the bound of a value stored in a tape column; drop the column if it may be negative."""
        if s.array not in self.filled:
            return
        form = self.value(s.value)
        most = magnitude(form)
        if s.op == "=" and most is not None and is_natural(form):
            self.columns[s.array] = max(most, self.columns.get(s.array, 0))
        else:
            self.filled.discard(s.array)
            self.columns.pop(s.array, None)

    def branch(self, s: If) -> None:
        """Interpret both sides of an `if`, and join."""
        before = dict(self.known)
        self.block(s.then)
        then, self.known = self.known, before
        self.block(s.orelse)
        some = {x for t in statements((*s.then, *s.orelse)) for x in writes(t)}
        for x in {key for key in {*then, *self.known} if key in some or (isinstance(key, tuple) and key[0] in some)}:
            both = x in then and x in self.known
            self.known[x] = self.either(then[x], self.known[x]) if both else self.number()

    def counted(self, s: For) -> None:
        """Interpret a loop over `range`."""
        start, stop = self.value(s.start), self.value(s.stop)
        step = s.step.value if isinstance(s.step, Constant) else 0
        counter = self.counter(start, stop, s.step)
        (x,) = counter.factors
        end = start if step == 1 else stop
        if is_natural(counter) and not end.factors and (step == 1 or (step == -1 and self.depth == 0)):
            self.seen.add(x)
        elif is_natural(counter):
            self.told[x] = s

        def once() -> None:
            """Interpret one iteration, with the loop known to be entered."""
            self.known[s.target] = counter
            length = minus(stop, start) if step > 0 else minus(start, stop)
            with_round = self.held(minus(length, constant(1))) if step else None
            self.block(s.body)
            if with_round is not None:
                with_round()

        self.rounds(s, s.body, once)

    def held(self, fact: Form) -> Callable[[], None] | None:
        """Assume a form nonnegative, as a bound of its newest integer; a function that withdraws the assumption."""
        if not fact.factors:
            return None
        x = max(fact.factors, key=lambda x: x.age)
        if abs(fact.factors[x]) != 1:
            return None
        rest = Form(fact.constant, {y: k for y, k in fact.factors.items() if y is not x})
        bounds, bound = (x.lower, scaled(-1, rest)) if fact.factors[x] == 1 else (x.upper, rest)
        bounds.append(bound)
        return lambda: bounds.remove(bound)

    def rounds(self, s: For | While, body: Block, once: Callable[[], None]) -> None:
        """Interpret a loop: `once` interprets one iteration from assumed loop-carried values."""
        changed = dict.fromkeys(x for t in statements(body) for x in writes(t))
        starts: dict[Var, Form] = {}
        for x in changed:
            assumed = is_whole(x) and (s, x) not in self.refuted and x in self.known and is_natural(self.known[x])
            self.forget(x)
            if assumed:
                starts[x] = self.known[x] = self.number(SUM, [ZERO])
        self.depth += 1
        once()
        self.depth -= 1
        for x, start in starts.items():
            if not self.stays(start, self.known[x]):
                self.refuted.add((s, x))
        for x in changed:
            self.forget(x)
            if x in starts:
                self.known[x] = self.number(SUM, [ZERO])
        if isinstance(s, For):
            self.forget(s.target)

    def stays(self, start: Form, end: Form) -> bool:
        """Whether a nonnegative loop-carried value is so after the iteration, and grows by a bounded amount."""
        by = minus(end, start)
        most = magnitude(by)
        if most is not None and most <= COUNT:
            return is_natural(by) or is_natural(end)
        most = magnitude(end)
        return most is not None and most <= SUM and is_natural(end)
