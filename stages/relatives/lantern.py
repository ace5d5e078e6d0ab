r"""Reverse mode by shift and reset that generates code: run once, an operation writes what computes, there and back.

Paper:   Wang et al. 2019, section 4, Fig. 14
D[R] =   (R, Ref R)                                 of generated code: the name of a number, and that of a cell
Changed: in Fig. 8 (shift_reset.py) an operation computes, calls its continuation, and adds. Here it writes a line that
         computes, calls its continuation, which writes all that follows, and writes the lines that add. A condition on
         numbers is not known while that runs, so branches, loops and recursion are IF, WHILE, FUN and TREE. They take
         their continuation by shift, too, and write it as a function.
Needs:   overloading, delimited continuations (one-shot ones: greenlets, control.py); for `stage`, numba
Cost:    O(1) for an operation, in lines; the code is run for each call of the pullback. f runs once. What Python itself
         decides, a loop over a list or a recursion of Python, is unrolled.

    D[op(t1..tn)] = shift (\k. write z = op(x1..xn); d = ref 0;  k (z, d);  write d1 += p1 * !d; ..; dn += pn * !d)
    fun k         = write f = (x, d) => {..}, where k (x, d) writes what is in the braces
    IF c a b      = shift (\k. let k1 = fun k in write if (c) {reset (k1 a)} else {reset (k1 b)})
    WHILE x c b   = shift (\k. letrec loop = fun (\x. write if (c x) {reset (loop (b x))} else {reset (k x)}) in loop x)
    FUN f         = letrec f1 = fun (\(t, k1). reset (k1 (f t))) in \y. shift (\k. f1 (y, fun k))
    TREE init t b = let f = FUN (\t. IF (not empty t) (b (f (left t)) (f (right t))) init) in f t
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

from dualrev.eager.overload import DualNumber, method_name
from dualrev.places import where
from dualrev.rules.primitives import PRIMITIVES
from dualrev.tree import inputs, outputs
from stages.relatives.control import reset, shift
from stages.relatives.staging.code import (
    Add,
    Atom,
    Block,
    Call,
    Cell,
    Code,
    Fun,
    If,
    Item,
    Let,
    Name,
    Scaled,
    StagingError,
)
from stages.relatives.staging.running import in_python
from stages.relatives.staging.texts import python

__all__ = ["FUN", "IF", "TREE", "WHILE", "Condition", "Dual", "Node", "StagingError", "vjp"]


#: What a condition in the program's own Python raises here (StagingError is one), and a function of numbers of a name.
REFUSALS = (TypeError,)


class Condition(NamedTuple):
    """A comparison of numbers, for IF and WHILE."""

    code: Code
    left: Atom
    symbol: str
    right: Atom

    def __bool__(self) -> bool:
        raise StagingError(
            f"a condition on numbers{where()} is not known while code is generated: write IF(condition, lambda: ..,"
            " lambda: ..), or WHILE(x, condition, body) for a loop (stages.relatives.lantern)"
        )


class Dual(DualNumber):
    """D[R]: the name x of a number, and of its cell d; None where it is a constant to the program."""

    __slots__ = ("d", "run", "x")
    run: Any

    def __init__(self, run: Any, x: Any, d: Any) -> None:
        self.run, self.x, self.d = run, x, d

    def compare(self, symbol: str, that: Any) -> Any:
        """x < y, and so on"""
        return Condition(self.run, self.x, symbol, atom(self.run, that))

    def __lt__(self, that: Any) -> Any:
        return self.compare("<", that)

    def __le__(self, that: Any) -> Any:
        return self.compare("<=", that)

    def __gt__(self, that: Any) -> Any:
        return self.compare(">", that)

    def __ge__(self, that: Any) -> Any:
        return self.compare(">=", that)

    def __eq__(self, that: object) -> Any:
        return self.compare("==", that)

    def __ne__(self, that: object) -> Any:
        return self.compare("!=", that)

    __hash__ = None  # type: ignore[assignment]

    def unknown(self, *_: Any) -> Any:
        """The error that the number is not known yet."""
        return Name.unknown(self.x)

    __bool__ = __float__ = __int__ = __trunc__ = __floor__ = __ceil__ = __index__ = unknown
    __round__ = unknown  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"the generated number {self.x.text}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


zero = None  # a constant has no cell


def atom(code: Code, u: Any) -> Atom:
    """What stands for a number in the code."""
    if not isinstance(u, Dual):
        return float(u)
    if u.run is not code:
        raise StagingError(f"a number of another program that is being generated{where()}: stage one after the other")
    return u.x


def op(code: Code, name: str, arguments: tuple[Any, ...]) -> Dual:
    """D[op(t1..tn)] = shift (\\k. write z = ..; d = ref 0; k (z, d); write d1 += ..)"""
    if code.over:
        raise StagingError(f"a number was kept after its program had been generated{where()}")
    atoms = tuple(atom(code, u) for u in arguments)
    y = code.name("v", "float")
    code.write(Let(y, name, atoms))
    moving = [k for k, p in enumerate(PRIMITIVES[name].partials) if is_active(arguments[k]) and p != "0.0"]
    if not moving or code.plain:
        return Dual(code, y, zero)

    def body(k: Any) -> Any:
        z = Dual(code, y, code.cell())
        k(z)
        for i in moving:
            visit(z, name, i, atoms, arguments[i])

    return shift(body, code)


def visit(z: Dual, name: str, i: int, atoms: tuple[Atom, ...], u: Dual) -> None:
    """On the way back: write di += pi * !d"""
    z.run.write(Scaled(u.d, name, i, atoms, z.x, z.d))


def is_active(u: Any) -> bool:
    """Whether a number has a cell."""
    return isinstance(u, Dual) and u.d is not zero


def _methods() -> None:
    """A method of Dual for every line of the table."""
    for name, line in PRIMITIVES.items():

        def method(self: Dual, *others: Any, name: str = name) -> Any:
            return op(self.run, name, (self, *others)) if all(map(_is_number, others)) else NotImplemented

        def reflected(self: Dual, other: Any, name: str = name) -> Any:
            return op(self.run, name, (other, self)) if _is_number(other) else NotImplemented

        setattr(Dual, method_name(line), method)
        if line.symbol:
            setattr(Dual, f"__{line.symbol}__", method)
            setattr(Dual, f"__r{line.symbol}__", reflected)


def _is_number(u: Any) -> bool:
    return isinstance(u, numbers.Real)


_methods()


# ---- control flow ----------------------------------------------------------------------------------------------------


class Node(NamedTuple):
    """A node of a tree that the generated code is given: arrays of the numbers of children (-1: none) and of values."""

    code: Code
    t: Atom
    arrays: tuple[str, str, str]  # left, right, value

    @property
    def not_empty(self) -> Condition:
        """Whether there is such a node."""
        return Condition(self.code, self.t, ">=", 0)

    @property
    def left(self) -> Node:
        """The left child."""
        return self._child(self.arrays[0])

    @property
    def right(self) -> Node:
        """The right child."""
        return self._child(self.arrays[1])

    @property
    def value(self) -> Dual:
        """The number at the node, a constant."""
        v = self.code.name("v", "float")
        self.code.write(Item(v, self.arrays[2], self.t))
        return Dual(self.code, v, zero)

    def _child(self, array: str) -> Node:
        t = self.code.name("t", "int")
        self.code.write(Item(t, array, self.t))
        return Node(self.code, t, self.arrays)


def flat(code: Code, u: Any) -> list[Atom]:
    """What a call hands over of a number, a node, or a tuple of them."""
    if isinstance(u, Node):
        return [u.t]
    if isinstance(u, tuple):
        return [a for part in u for a in flat(code, part)]
    if is_active(u):
        return [u.x, u.d]
    x = atom(code, u)  # a constant has a cell that nobody reads
    return [x, code.cell()]


def fresh(code: Code, like: Any) -> tuple[Any, tuple[Name, ...]]:
    """A number, a node or a tuple of them with names of its own, and the names."""
    if isinstance(like, Node):
        t = code.name("t", "int")
        return Node(code, t, like.arrays), (t,)
    if isinstance(like, tuple):
        parts = [fresh(code, part) for part in like]
        return tuple(part for part, _ in parts), tuple(name for _, names in parts for name in names)
    x, d = code.name("v", "float"), code.name("d", "cell")
    return Dual(code, x, d), (x, d)


def fun(code: Code, k: Callable[[Any], Any], like: Any) -> Callable[[Any], None]:
    """fun k, which is called with something like `like`."""
    f = reified(code, k, like)
    return lambda v: code.write(Call(f, tuple(flat(code, v))))


def reified(code: Code, k: Callable[[Any], Any], like: Any) -> Name:
    """The function of generated code that k is: if k only calls one, as it is called, it is that one."""
    u, names = fresh(code, like)
    f = code.fun("k", names, lambda _: k(u))
    match code.block.statements[-1]:
        case Fun(_, _, Block([Call(g, arguments)])) if arguments == names:
            code.block.statements.pop()
            return g
    return f


def IF(condition: Condition, yes: Callable[[], Any], no: Callable[[], Any], like: Any = 0.0) -> Any:  # noqa: N802
    """shift (\\k. let k1 = fun k in write if (c) {reset (k1 a)} else {reset (k1 b)})

    `like` is a number or a tuple of them, whatever they are, for what the branches give.
    """
    code = _of(condition)

    def body(k: Any) -> None:
        k1 = fun(code, k, like)
        first = code.within(lambda: reset(lambda: k1(yes()), code))
        second = code.within(lambda: reset(lambda: k1(no()), code))
        code.write(If(condition.left, condition.symbol, condition.right, first, second))

    return shift(body, code)


def WHILE(init: Any, condition: Callable[[Any], Condition], step: Callable[[Any], Any]) -> Any:  # noqa: N802
    """shift (\\k. letrec loop = fun (\\x. write if (c x) {reset (loop (b x))} else {reset (k x)}) in loop x)"""
    code = _code(init)

    def body(k: Any) -> None:
        x, names = fresh(code, init)

        def turn(loop: Name) -> None:
            c = code.without_cells(lambda: _checked(condition(x)))
            again = lambda: code.write(Call(loop, tuple(flat(code, step(x)))))  # noqa: E731
            yes, no = code.within(lambda: reset(again, code)), code.within(lambda: reset(lambda: k(x), code))
            code.write(If(c.left, c.symbol, c.right, yes, no))

        loop = code.fun("f", names, turn)
        code.write(Call(loop, tuple(flat(code, init))))

    return shift(body, code)


def FUN(like: Any, f: Callable[[Any, Any], Any], result: Any = 0.0) -> Callable[[Any], Any]:  # noqa: N802
    """A function of generated code: f (itself, t), where t is like `like`, and what f gives like `result`."""
    code = _code(like)
    name = code.name("f", "function")

    def call(y: Any) -> Any:
        def body(k: Any) -> None:
            k1 = reified(code, k, result)
            code.write(Call(name, (*flat(code, y), k1)))

        return shift(body, code)

    t, names = fresh(code, like)
    k1 = code.name("k", "function")
    returned = lambda: code.write(Call(k1, tuple(flat(code, f(call, t)))))  # noqa: E731
    code.write(Fun(name, (*names, k1), code.within(lambda: reset(returned, code))))
    return call


def TREE(init: Any, tree: Node, b: Callable[[Any, Any, Dual], Any]) -> Any:  # noqa: N802
    """let f = FUN (\\t. IF (not empty t) (b (f (left t)) (f (right t))) init) in f t, where b has t's value, too."""
    fold = FUN(tree, lambda f, t: IF(t.not_empty, lambda: b(f(t.left), f(t.right), t.value), lambda: init, init), init)
    return fold(tree)


def _of(condition: Any) -> Code:
    return _checked(condition).code


def _checked(condition: Any) -> Condition:
    if not isinstance(condition, Condition):
        raise StagingError(
            f"IF and WHILE{where()} take a comparison of generated numbers, such as x > 0.0, and not {condition!r}:"
            " what Python knows already can be decided by Python's own if"
        )
    return condition


def _code(u: Any) -> Code:
    """The code that a number or a node belongs to."""
    for part in u if isinstance(u, tuple) and not isinstance(u, Node) else (u,):
        if isinstance(part, Node):
            return part.code
        if isinstance(part, Dual):
            return part.run
    raise StagingError(
        f"WHILE and FUN{where()} start from a number of the program, and {u!r} is none: multiply the program's input by"
        " 0.0 and add it, or use Python's own loop"
    )


# ---- programs in Python ----------------------------------------------------------------------------------------------


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    f runs once, on names; what it has written runs for the value, and in each call of the pullback. StagingError if f
    asks for the value of a number, ImportError without greenlet.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    code, found = Code(), []
    xs = [Dual(code, Name(f"x{i}", "float"), code.cell()) for i in range(len(scalars))]

    def whole() -> None:
        leaves, output = outputs(f(*structure.rebuild(list(xs))))
        duals = [(i, u) for i, u in enumerate(leaves) if isinstance(u, Dual)]
        results = [code.name("d", "cell") for _ in duals]
        for result, (_, u) in zip(results, duals, strict=True):
            code.write(Add(result, u.x))
        for i, u in duals:
            if is_active(u):
                code.write(Add(u.d, Name(f"ct{i}", "float")))
        found.append((leaves, duals, results, output))

    try:
        reset(whole, code)
    finally:
        code.over = True
    ((leaves, duals, results, output),) = found
    code.block.statements[:0] = map(Cell, results)  # where all of the code can see them
    names = [f"x{i}" for i in range(len(xs))] + [f"ct{i}" for i in range(len(leaves))]
    run = in_python(python("generated", names, code.block, [*results, *(u.d for u in xs)]), "generated")

    def evaluate(cts: list[Any]) -> tuple[list[Any], list[Any]]:
        made = run(*scalars, *cts)
        return made[: len(results)], made[len(results) :]

    values, _ = evaluate([0.0] * len(leaves))
    for (i, _), y in zip(duals, values, strict=True):
        leaves[i] = y
    return output.rebuild(leaves), lambda ct: structure.cotangent(evaluate(list(output.read(ct)))[1])
