"""Index range analysis: indices that are certainly nonnegative, so that numba's wraparound check is not needed.

A negative index counts from the end, and the code that numba emits tests for one, unless LLVM proves that the index is
none.

LLVM sees it of the counters of loops that go up from a constant, or down to one in no other loop, and of little else:
where an index is a product, comes out of a division or is counted in a variable, every access asks. Here the code of a
function is followed from its start to its end, with a linear form (linear_bounds.py) for every whole number:

    range(a, b)      its counter is not below a, and below b; a < b holds in the iterations
    len, shape       not below 0
    x * y, x // y    not below 0 if neither of x and y is; x % y neither if y is not, and then below y
    if               not below 0 if it is so on both sides
    a loop           of what its iterations change, not below 0 if it is so before them, and at the end of an iteration
                     if it is at its start: this is assumed until it is refuted, and then all is looked at once more
    a column         nothing below 0 in it if that is so of all that is stored there

Numba's whole numbers wrap around at 2**63. So nothing is said of an operation that may come so far. For this, lengths,
numbers of iterations and arguments are taken to be below 2**31, and what is counted up in loops at most 2**62. Of
numbers that come from elsewhere (arrays of whole numbers, conversions, calls) no size is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numba.core import types

from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    magnitude,
    minus,
    plus,
    scaled,
    single,
)
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Choice, Constant, Expr, Field, Item, Operator, Var
from dualrev.compiler.ir.core.nodes import Block, Columns, Copy, Discrete, For, If, Load, Statement, Store, While
from dualrev.compiler.ir.core.traverse import atoms_of, statements, writes

__all__ = ["Natural"]

_LARGEST = 2**63  # what no whole number of numba's reaches
_COUNT = 2**31 - 1  # of iterations, and of elements along an axis
_SUM = 2**62  # what loops count up
_WALKS = 8  # after so many, nothing is said
_ZERO = constant(0)


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


class _Walk:
    """One pass of abstract interpretation; `refuted`: loop-carried variables that may be negative."""

    def __init__(self, columns: dict[Var, int], refuted: set[tuple[Statement, Var]]) -> None:
        self.columns, self.refuted = dict(columns), set(refuted)
        self.natural: set[tuple[Statement, int]] = set()
        self.other: set[tuple[Statement, int]] = set()
        self.counters: set[For] = set()
        self.read: set[Var] = set()  # columns that it has relied on
        self.filled: set[Var] = set()  # columns that are made here, until something below 0 is stored
        self.known: dict[Any, Form] = {}  # of variables, and of axes of arrays
        self.seen: set[Number] = set()  # counters of which LLVM sees it
        self.told: dict[Number, For] = {}  # those of which it can be told
        self.count, self.depth = 0, 0  # of numbers, and of loops around

    # Numbers

    def number(self, most: int | None = None, lower: Iterable[Form] = (), upper: Iterable[Form] = ()) -> Form:
        """A fresh integer with these bounds."""
        self.count += 1
        return single(Number(self.count, most, [*lower], [*upper]))

    def look_up(self, key: Any, lower: Iterable[Form] = ()) -> Form:
        """The form of a key; an unassigned one is an argument, or the extent of an axis."""
        if key not in self.known:
            self.known[key] = self.number(_COUNT, lower)
        return self.known[key]

    def value(self, e: Any) -> Form:
        """The linear form of an expression."""
        match e:
            case Constant(value=c) if type(c) is int:
                return constant(c)
            case Var() if _is_whole(e):
                return self.look_up(e)
            case Operator(symbol, (x, y)):
                return self.operation(symbol, self.value(x), self.value(y))
            case Operator("-", (x,)):
                return self.bounded(scaled(-1, self.value(x)))
            case Choice(_, x, y):
                return self.either(self.value(x), self.value(y))
            case Applied(("max" | "min") as f, (x, y)):
                return self.extreme(f, self.value(x), self.value(y))
            case Applied("runtime.range_length"):
                return self.number(_COUNT, [_ZERO])
            case Applied("runtime.rising" | "runtime.falling"):
                return self.number(_SUM, [_ZERO])
            case Applied("len", (x,)) if is_array(x):
                return self.look_up((x, 0), [_ZERO])
            case Item(Field(x, "shape"), (Constant(value=axis),)) if is_array(x) and axis >= 0:
                return self.look_up((x, axis), [_ZERO])
            case Field(x, "size") if is_array(x):
                return self.look_up((x, "size"), [_ZERO])
        return self.number()

    def bounded(self, a: Form) -> Form:
        """A linear form, or a fresh integer if it may overflow."""
        most = magnitude(a)
        return a if most is not None and most < _LARGEST else self.number()

    def operation(self, symbol: str, x: Form, y: Form) -> Form:
        """The form of `x symbol y`."""
        mx, my = magnitude(x), magnitude(y)
        natural = is_natural(x) and is_natural(y)
        match symbol:
            case "+":
                return self.bounded(plus(x, y))
            case "-":
                return self.bounded(minus(x, y))
            case "*" if not x.factors:
                return self.bounded(scaled(x.constant, y))
            case "*" if not y.factors:
                return self.bounded(scaled(y.constant, x))
            case "*" if natural and mx is not None and my is not None and mx * my < _LARGEST:
                return self.number(mx * my, [_ZERO])
            case "//" | ">>" if natural:
                return self.number(mx, [_ZERO], [x])
            case "%" if is_natural(y):
                below = minus(y, constant(1))
                return self.number(my, [_ZERO], [below] if is_natural(below) else ())
            case "&" if is_natural(y):
                return self.number(my, [_ZERO], [y])
        return self.number()

    def either(self, x: Form, y: Form) -> Form:
        """Join of two forms."""
        if x == y:
            return x
        return self.number(_larger(magnitude(x), magnitude(y)), [_ZERO] if is_natural(x) and is_natural(y) else ())

    def extreme(self, f: str, x: Form, y: Form) -> Form:
        """The form of `max(x, y)` or `min(x, y)`."""
        most = _larger(magnitude(x), magnitude(y))
        if f == "max":
            return self.number(most, [x, y])
        return self.number(most, [_ZERO] if is_natural(x) and is_natural(y) else (), [x, y])

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
            case Discrete(target, value) if _is_whole(target):
                self.known[target] = self.value(value)
            case Copy(target, source) if _is_whole(target):
                self.known[target] = self.value(source)
            case Load(target, array) if array in self.columns:
                self.read.add(array)
                self.known[target] = self.number(self.columns[array], [_ZERO])
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
                self.known[key] = self.number(_COUNT, [_ZERO])
        elif _is_whole(x):
            self.known[x] = self.number()

    def access(self, s: Load | Store) -> None:
        """Record which indices of an access are nonnegative; an access outside of all loops is not worth it."""
        for k, i in enumerate(s.index):
            if isinstance(i, Constant) or not _is_whole(i):
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
        up = step > 0
        low, high = (start, minus(stop, constant(1))) if up else (plus(stop, constant(1)), start)
        sizes = [magnitude(x) for x in (start, stop)]
        most = _COUNT if None in sizes or sizes[0] == 0 else max(sizes)  # type: ignore[type-var]
        counter = self.number(most, [low], [high]) if step else self.number()
        (x,) = counter.factors
        end = start if step == 1 else stop
        if is_natural(counter) and not end.factors and (step == 1 or (step == -1 and self.depth == 0)):
            self.seen.add(x)
        elif is_natural(counter):
            self.told[x] = s

        def once() -> None:
            """Interpret one iteration, with the loop known to be entered."""
            self.known[s.target] = counter
            with_round = self.held(minus(high, low)) if step else None
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
            assumed = _is_whole(x) and (s, x) not in self.refuted and x in self.known and is_natural(self.known[x])
            self.forget(x)
            if assumed:
                starts[x] = self.known[x] = self.number(_SUM, [_ZERO])
        self.depth += 1
        once()
        self.depth -= 1
        for x, start in starts.items():
            if not self.stays(start, self.known[x]):
                self.refuted.add((s, x))
        for x in changed:
            self.forget(x)
            if x in starts:
                self.known[x] = self.number(_SUM, [_ZERO])
        if isinstance(s, For):
            self.forget(s.target)

    def stays(self, start: Form, end: Form) -> bool:
        """Whether a nonnegative loop-carried value is so after the iteration, and grows by a bounded amount."""
        by = minus(end, start)
        most = magnitude(by)
        if most is not None and most <= _COUNT:
            return is_natural(by) or is_natural(end)
        most = magnitude(end)
        return most is not None and most <= _SUM and is_natural(end)


def _larger(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else max(x, y)


def _is_whole(e: Expr | Any) -> bool:
    """Whether an expression has numba's default integer type, int64."""
    some = list(atoms_of(e)) if isinstance(e, (Var, Operator)) else []
    return bool(some) and all(types.unliteral(x.type) == types.int64 for x in some if isinstance(x, Var))
