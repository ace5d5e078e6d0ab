r"""Generated code that runs on numbers of another program being generated: reverse over reverse, by staging twice.

Section 3.7 of Wang et al. 2019 embeds a layer of shift and reset in another one (Fig. 13, shift2). In generated code,
the inner layer is finished: continuations are functions, which return, and the statements after their call are the
reverse pass. So the outer layer captures the reverse pass, too: the continuation m of a call is everything after it.

    D[R], D[Ref R]           (R, Ref R), a box: Ref (R, Ref R)
    v = op(a1, .., an)       as lantern.op
    d = ref 0                b = ref (0, d'), d' = ref 0
    d += p * !d'             let z = !d + p * !d' in d := z
                             if only this block uses d, no box is written: its content is known here
    f = (x, d, ..) => s      f = (D[x], D[d], .., m) => reset (s; m ())
    f(a, ..)                 shift (\m. f(D[a], .., fun m))
    if (c) s1 else s2        shift (\m. let m1 = fun m in if (c) {reset (s1; m1 ())} else {reset (s2; m1 ())})
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dualrev.diagnostics.user_lines import where
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES
from stages.relatives.continuations.control import reset, shift
from stages.relatives.staging.code import (
    Add,
    Atom,
    Block,
    Box,
    Call,
    Called,
    Cell,
    Code,
    Fun,
    If,
    Item,
    Let,
    Load,
    Name,
    Scaled,
    StagingError,
    Store,
    free,
    inner,
)
from stages.relatives.staging.number import Condition, Index, atom, here
from stages.relatives.staging.running import ieee_divide, ieee_power

__all__ = ["Language", "again"]


class Language(NamedTuple):
    """The numbers of a program that is being generated, and the functions of lantern.py that write it."""

    Dual: type
    op: Callable[[str, tuple[Any, ...], bool], Any]
    IF: Callable[..., Any]
    flat: Callable[[Code, Any], list[Atom]]
    fresh: Callable[[Code, Any], tuple[Any, tuple[Name, ...]]]
    reified: Callable[[Code, Callable[[Any], Any], Any], Name]


def again(language: Language, block: Block, given: Mapping[Name, Any], results: Sequence[Name]) -> list[Any]:
    """Run generated code on numbers of the program that is being generated here, and return its results."""
    running = _Running(language, given)
    running.block(block)
    return [running.read(result) for result in results]


class _Running:
    """`at` maps each name to a number, an index, a box or a function; `held` has the content of known cells."""

    def __init__(self, language: Language, at: Mapping[Name, Any]) -> None:
        self.language = language
        self.at, self.code = dict(at), here()
        self.held: dict[Name, Any] = {}

    def value(self, a: Atom) -> Any:
        """The value of an atom."""
        if isinstance(a, Name):
            return self.at[a]
        return Index(self.code, a) if isinstance(a, int) else a

    def block(self, block: Block) -> None:
        """Run the statements in order."""
        self.held |= dict.fromkeys(own_cells(block), 0.0)
        for s in unasked(block):
            self.statement(s)

    def ended(self, block: Block, m: Callable[[], None]) -> Block:
        """The block that these statements write, with the call of its continuation at the end."""

        def whole() -> None:
            """Run the block, and then its continuation."""
            self.block(block)
            m()

        return self.code.within(lambda: reset(whole, self.code))

    def statement(self, s: object) -> None:
        """Run a statement on numbers of this program."""
        match s:
            case Let(name, which, arguments, limit):
                self.at[name] = self.language.op(which, tuple(map(self.value, arguments)), limit)
            case Item(name, array, index):
                self.at[name] = self.item(name, array, index)
            case Cell(name):
                if name not in self.held:
                    self.box(name, (0.0,))
            case Box(name, held):
                self.box(name, held)
            case Load(names, box):
                self.code.write(Load(self.taken(names), self.at[box]))
            case Store(box, held):
                self.code.write(Store(self.at[box], tuple(self.handed(held))))
            case Scaled(cell, which, k, arguments, y, source):
                p = partial(self.language, which, k, tuple(map(self.value, arguments)), self.value(y))
                self.add(cell, _times(p, self.read(source)))
            case Add(cell, a, times):
                added = self.read(a) if isinstance(a, Name) and a.kind == "cell" else self.value(a)
                self.add(cell, added if times is None else _times(added, self.read(times)))
            case Fun(name, parameters, body):
                self.function(name, parameters, body)
            case Call(function, arguments):
                call = lambda m: Call(self.at[function], (*self.handed(arguments), m))  # noqa: E731
                shift(lambda k: self.code.write(call(self.language.reified(self.code, k, ()))), self.code)
            case If(left, symbol, right, yes, no):
                self.branch(Condition(self.value(left), symbol, self.value(right)), yes, no)

    def item(self, name: Name, array: str, index: Atom) -> Any:
        """array[index], an index or a constant number."""
        t = self.code.name("t" if name.kind == "int" else "v", name.kind)
        self.code.write(Item(t, array, atom(self.code, self.value(index))))
        return Index(self.code, t) if name.kind == "int" else self.language.Dual(self.code, t, None)

    def box(self, name: Name, held: Sequence[Atom]) -> None:
        """Write a box of numbers with their cells, or of boxes."""
        inside = tuple(self.handed(held))
        self.at[name] = self.code.name("b", "box")
        self.code.write(Box(self.at[name], inside))

    def read(self, box: Name) -> Any:
        """!d"""
        if box in self.held:
            return self.held[box]
        u, names = self.language.fresh(self.code, 0.0)
        self.code.write(Load(names, self.at[box]))
        return u

    def add(self, box: Name, z: Any) -> None:
        """d := !d + z"""
        if box in self.held:
            self.held[box] = z if _is(self.held[box], 0.0) else self.held[box] + z
        else:
            z = self.read(box) + z
            self.code.write(Store(self.at[box], tuple(self.language.flat(self.code, z))))

    def flat(self, u: Any) -> list[Atom]:
        """The atoms that pass a value to a call."""
        if isinstance(u, Name):
            return [u]
        return [atom(self.code, u)] if isinstance(u, Index) else self.language.flat(self.code, u)

    def handed(self, atoms: Sequence[Atom]) -> list[Atom]:
        """The atoms that pass these atoms' values to a call."""
        return [a for one in atoms for a in self.flat(self.value(one))]

    def taken(self, names: Sequence[Name]) -> tuple[Name, ...]:
        """Fresh parameters for these names, which from here on stand for them."""
        found: list[Name] = []
        for name in names:
            if name.kind == "float":
                self.at[name], made = self.language.fresh(self.code, 0.0)
                found += made
                continue
            letter, kind = {"cell": ("b", "box"), "box": ("b", "box"), "int": ("t", "int")}.get(
                name.kind, ("k", name.kind)
            )
            one = self.code.name(letter, kind)
            self.at[name] = Index(self.code, one) if kind == "int" else one
            found.append(one)
        return tuple(found)

    def function(self, name: Name, parameters: Sequence[Name], body: Block) -> None:
        """f = (D[x], .., m) => reset (s; m ())"""
        f = self.at[name] = self.code.name("f", "function")
        names, m = self.taken(parameters), self.code.name("k", "function")
        self.code.write(Fun(f, (*names, m), self.ended(body, lambda: self.code.write(Call(m, ())))))

    def branch(self, c: Condition, yes: Block, no: Block) -> None:
        """if (c) s1 else s2"""

        def body(k: Any) -> None:
            """Write the conditional; both branches call one function, the continuation."""
            m = self.language.reified(self.code, k, ())
            first, second = (self.ended(block, lambda: self.code.write(Call(m, ()))) for block in (yes, no))
            self.code.write(If(atom(self.code, c.left), c.symbol, atom(self.code, c.right), first, second))

        shift(body, self.code)


# ---- lines of the table on numbers of a program ----------------------------------------------------------------------

_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.USub: "neg"}
_COMPARISONS: dict[type, Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLED = {"power": "pow"}  # functions that have another name in the table
_PLAIN: dict[str, Callable[..., Any]] = {  # of known numbers
    **FUNCTIONS,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": ieee_divide,
    "neg": operator.neg,
    "pow": ieee_power,
}


def _is(u: Any, number: float) -> bool:
    return isinstance(u, float) and u == number


def _times(p: Any, z: Any) -> Any:
    return z if _is(p, 1.0) else p if _is(z, 1.0) else p * z


def unasked(block: Block) -> Iterator[object]:
    """The statements of a block, without the questions whether a cell was added to."""
    for s in block.statements:
        yield from unasked(s.body) if isinstance(s, Called) else (s,)


def own_cells(block: Block) -> set[Name]:
    """The cells of a block that no function, call or box refers to."""
    made: set[Name] = set()
    given: set[Atom] = set()
    for s in unasked(block):
        match s:
            case Cell(name):
                made.add(name)
            case Call(_, atoms) | Box(_, atoms) | Store(_, atoms):
                given.update(atoms)
        for part in inner(s):
            given.update(free(part))
    return made.difference(given)


def partial(language: Language, name: str, k: int, arguments: tuple[Any, ...], y: Any) -> Any:
    """The partial derivative of op with respect to argument k, from 0; a choice in it becomes an IF."""
    line = PRIMITIVES[name]
    at = {**dict(zip(line.parameters, arguments, strict=True)), "y": y, "inf": math.inf, "nan": math.nan}

    def operation(op: str, *given: Any) -> Any:
        """Write an operation of the partial derivative, or do it on known numbers."""
        written = any(isinstance(u, language.Dual) for u in given)
        return language.op(op, given, True) if written else _PLAIN[op](*given)

    def of(node: ast.expr) -> Any:
        """Evaluate a node of the expression's syntax tree."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(which):
                return at[which]
            case ast.UnaryOp(symbol, operand) if type(symbol) in _OPERATIONS:
                return operation(_OPERATIONS[type(symbol)], of(operand))
            case ast.BinOp(left, symbol, right) if type(symbol) in _OPERATIONS:
                return operation(_OPERATIONS[type(symbol)], of(left), of(right))
            case ast.Compare(left, [symbol], [right]) if type(symbol) in _COMPARISONS:
                return _COMPARISONS[type(symbol)](of(left), of(right))
            case ast.IfExp(test, yes, no):
                c = of(test)
                if isinstance(c, Condition):
                    return language.IF(c, lambda: of(yes), lambda: of(no))
                return of(yes) if c else of(no)
            case ast.Call(ast.Name(which), given) if (op := _CALLED.get(which, which)) in PRIMITIVES:
                return operation(op, *map(of, given))
        raise StagingError(
            f"the derivative of {name} is {line.partials[k]}, and has no derivative that is generated{where()}: write"
            " the operation by others"
        )

    return of(ast.parse(line.partials[k], mode="eval").body)
