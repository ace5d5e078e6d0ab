r"""Reverse mode by shift and reset that generates code: operations write their forward and their reverse code.

Paper:   Wang et al. 2019, section 4, Fig. 14
D[R] =   (R, Ref R)                                 of generated code: the names of a number and of its cell
Changed: in Fig. 8 (shift_reset.py) an operation computes, calls its continuation, and adds. Here it writes a line that
         computes, calls its continuation, which writes the rest of the program, and writes the lines that add. The
         value of a condition on numbers is unknown then, so branches, loops and recursion are IF, WHILE, FUN and TREE.
         They take their continuation by shift, too, and write it as a function. If no code adds to a cell, the lines
         that would read it are not written: 0 times an infinite partial derivative would be NaN. If only code of a
         branch or function adds to it, the lines ask whether that has run; in second derivatives they do not ask.
Needs:   overloading, delimited continuations (one-shot ones: greenlets, control.py), with a level for each generated
         program; for `stage`, numba
Cost:    O(1) lines for an operation; each call of the pullback runs the code. f runs once. Python's control flow, a
         loop over a list or a recursive function, is unrolled. A derivative inside of a program is written for its
         value, and again for each call of its pullback: 2^n times at order n.

    D[op(t1..tn)] = shift (\k. write z = op(x1..xn); d = ref 0;  k (z, d);  write d1 += p1 * !d; ..; dn += pn * !d)
    fun k         = write f = (x, d) => {..}, where k (x, d) writes what is in the braces
    IF c a b      = shift (\k. let k1 = fun k in write if (c) {reset (k1 a)} else {reset (k1 b)})
    WHILE x c b   = shift (\k. letrec loop = fun (\x. write if (c x) {reset (loop (b x))} else {reset (k x)}) in loop x)
    FUN f         = letrec f1 = fun (\(t, k1). reset (k1 (f t))) in \y. shift (\k. f1 (y, fun k))
    TREE init t b = let f = FUN (\t. IF (not empty t) (b (f (left t)) (f (right t))) init) in f t
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dualrev.diagnostics.user_lines import where
from dualrev.eager.numbers.overload import method_name
from dualrev.rules.primitives import PRIMITIVES
from dualrev.tree import inputs, outputs
from stages.relatives.continuations.control import reset, shift
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
from stages.relatives.staging.number import Condition, Index, Number, atom, here, is_active
from stages.relatives.staging.running import in_python
from stages.relatives.staging.tensors import TensorR
from stages.relatives.staging.texts import python
from stages.relatives.staging.twice import Language, again

__all__ = ["FUN", "IF", "TREE", "WHILE", "Condition", "Dual", "Node", "StagingError", "vjp"]


#: What a condition in the program's own Python raises here (StagingError is one), and a function of numbers of a name.
REFUSALS = (TypeError,)


class Dual(Number):
    """D[R]: the name x of a number, and of its cell d; d is None for a constant of the program."""

    __slots__ = ()


zero = None  # a constant has no cell


def op(name: str, arguments: tuple[Any, ...], limit: bool = False) -> Dual:
    """D[op(t1..tn)] = shift (\\k. write z = ..; d = ref 0; k (z, d); write d1 += ..)

    `limit`: the operation is part of a partial derivative, which has IEEE's limits.
    """
    code = here()
    atoms = tuple(atom(code, u) for u in arguments)
    y = code.name("v", "float")
    code.write(Let(y, name, atoms, limit))
    moving = [k for k, p in enumerate(PRIMITIVES[name].partials) if is_active(code, arguments[k]) and p != "0.0"]
    if not moving or code.plain:
        return Dual(code, y, zero)

    def body(k: Any) -> Any:
        """Call the continuation, which writes the rest of the program, and then write the reverse step."""
        z = Dual(code, y, code.cell())
        k(z)
        if z.d in code.reached:
            code.called(z.d, lambda: steps(z))

    def steps(z: Dual) -> None:
        """Write the reverse step of each argument."""
        for i in moving:
            visit(z, name, i, atoms, arguments[i])

    return shift(body, code)


def visit(z: Dual, name: str, i: int, atoms: tuple[Atom, ...], u: Dual) -> None:
    """Write the reverse step: di += pi * !d"""
    z.run.write(Scaled(u.d, name, i, atoms, z.x, z.d))


def _methods() -> None:
    """Give Dual a method for every entry of the table of primitives."""
    for name, line in PRIMITIVES.items():

        def method(self: Dual, *others: Any, name: str = name) -> Any:
            """Write the operation, unless another class has to handle it."""
            return op(name, (self, *others)) if all(map(self.goes_with, others)) else NotImplemented

        def reflected(self: Dual, other: Any, name: str = name) -> Any:
            """Write the operation with swapped operands, unless another class has to handle it."""
            return op(name, (other, self)) if self.goes_with(other) else NotImplemented

        setattr(Dual, method_name(line), method)
        if line.symbol:
            setattr(Dual, f"__{line.symbol}__", method)
            setattr(Dual, f"__r{line.symbol}__", reflected)


_methods()


# ---- control flow ----------------------------------------------------------------------------------------------------


class Node(NamedTuple):
    """A node of a tree argument of the generated code: arrays of child indices (-1: none) and of values."""

    t: Index
    arrays: tuple[str, str, str]  # left, right, value

    @property
    def not_empty(self) -> Condition:
        """Whether the node exists."""
        return Condition(self.t, ">=", Index(self.t.run, 0))

    @property
    def left(self) -> Node:
        """The left child."""
        return self._replace(t=Index.of(self.arrays[0], self.t))

    @property
    def right(self) -> Node:
        """The right child."""
        return self._replace(t=Index.of(self.arrays[1], self.t))

    @property
    def value(self) -> Dual:
        """The number at the node, as a constant."""
        code = here()
        v = code.name("v", "float")
        code.write(Item(v, self.arrays[2], atom(code, self.t)))
        return Dual(code, v, zero)


def flat(code: Code, u: Any) -> list[Atom]:
    """The atoms that pass a number, a tensor, a node or a tuple of them to a call."""
    if isinstance(u, Node):
        return [atom(code, u.t)]
    if isinstance(u, TensorR):
        return u.atoms(code)
    if isinstance(u, tuple):
        return [a for part in u for a in flat(code, part)]
    if is_active(code, u):
        return [u.x, u.d]
    x = atom(code, u)  # a constant has a cell that nobody reads
    return [x, code.cell()]


def fresh(code: Code, like: Any) -> tuple[Any, tuple[Name, ...]]:
    """A number, a tensor, a node or a tuple of them with fresh names, and the names."""
    if isinstance(like, Node):
        t = code.name("t", "int")
        return like._replace(t=Index(code, t)), (t,)
    if isinstance(like, TensorR):
        return like.renamed(code)
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
    """k as a function of generated code; if k only passes its arguments to a function, that function."""
    u, names = fresh(code, like)
    f = code.fun("k", names, lambda _: k(u))
    match code.block.statements[-1]:
        case Fun(_, _, Block([Call(g, arguments)])) if arguments == names:
            code.block.statements.pop()
            return g
    return f


def IF(condition: Condition, yes: Callable[[], Any], no: Callable[[], Any], like: Any = 0.0) -> Any:  # noqa: N802
    """shift (\\k. let k1 = fun k in write if (c) {reset (k1 a)} else {reset (k1 b)})

    `like` is a number or a tuple of numbers, as an example of what the branches return; its values do not matter.
    """
    left, symbol, right = _checked(condition)
    code = here()

    def body(k: Any) -> None:
        """Write the conditional; both branches call one function, the continuation."""
        k1 = fun(code, k, like)
        first = code.within(lambda: reset(lambda: k1(yes()), code))
        second = code.within(lambda: reset(lambda: k1(no()), code))
        code.write(If(atom(code, left), symbol, atom(code, right), first, second))

    return shift(body, code)


def WHILE(init: Any, condition: Callable[[Any], Condition], step: Callable[[Any], Any]) -> Any:  # noqa: N802
    """shift (\\k. letrec loop = fun (\\x. write if (c x) {reset (loop (b x))} else {reset (k x)}) in loop x)"""
    code = _started(init)

    def body(k: Any) -> None:
        """Write the loop as a recursive function, and call it."""
        x, names = fresh(code, init)

        def turn(loop: Name) -> None:
            """Write one iteration: if the condition holds, the step and the next call; otherwise the continuation."""
            c = code.without_cells(lambda: _checked(condition(x)))
            again = lambda: code.write(Call(loop, tuple(flat(code, step(x)))))  # noqa: E731
            yes, no = code.within(lambda: reset(again, code)), code.within(lambda: reset(lambda: k(x), code))
            code.write(If(atom(code, c.left), c.symbol, atom(code, c.right), yes, no))

        loop = code.fun("f", names, turn)
        code.write(Call(loop, tuple(flat(code, init))))

    return shift(body, code)


def FUN(like: Any, f: Callable[[Any, Any], Any], result: Any = 0.0) -> Callable[[Any], Any]:  # noqa: N802
    """A recursive function of generated code: f(itself, t), with examples of its argument and result."""
    code = _started(like)
    name = code.name("f", "function")

    def call(y: Any) -> Any:
        """Write a call of the function. StagingError inside of another program."""
        if here() is not code:
            raise StagingError(
                f"a function of another program that is being generated{where()}: make its own FUN there"
            )

        def body(k: Any) -> None:
            """Write the call, with the continuation as the last argument."""
            k1 = reified(code, k, result)
            code.write(Call(name, (*flat(code, y), k1)))

        return shift(body, code)

    t, names = fresh(code, like)
    k1 = code.name("k", "function")
    returned = lambda: code.write(Call(k1, tuple(flat(code, f(call, t)))))  # noqa: E731
    code.write(Fun(name, (*names, k1), code.within(lambda: reset(returned, code))))
    return call


def TREE(init: Any, tree: Node, b: Callable[[Any, Any, Dual], Any]) -> Any:  # noqa: N802
    """let f = FUN (\\t. IF (not empty t) (b (f (left t)) (f (right t))) init) in f t; b also gets t's value."""
    fold = FUN(tree, lambda f, t: IF(t.not_empty, lambda: b(f(t.left), f(t.right), t.value), lambda: init, init), init)
    return fold(tree)


def _checked(condition: Any) -> Condition:
    if not isinstance(condition, Condition):
        raise StagingError(
            f"IF and WHILE{where()} take a comparison of generated numbers, such as x > 0.0, and not {condition!r}:"
            " what Python knows already can be decided by Python's own if"
        )
    return condition


def _started(u: Any) -> Code:
    """The program that a loop or a function starts in, from a number or a node of it."""
    if any(isinstance(part, (Dual, Node, TensorR)) for part in (u if isinstance(u, tuple) else (u,))) or isinstance(
        u, Node
    ):
        return here()
    raise StagingError(
        f"WHILE and FUN{where()} start from a number of the program, and {u!r} is none: multiply the program's input by"
        " 0.0 and add it, or use Python's own loop"
    )


#: For generated code that runs on numbers of a program that is being generated (twice.py).
LANGUAGE = Language(Dual, op, IF, flat, fresh, reified)


# ---- programs in Python ----------------------------------------------------------------------------------------------


def ended(code: Code, values: Sequence[Any], results: Sequence[Name], cts: Sequence[Atom]) -> None:
    """Write the end of the program: the values, and the cotangents that seed the reverse pass."""
    for result, u in zip(results, values, strict=True):
        code.write(Add(result, atom(code, u)))
    for u, ct in zip(values, cts, strict=True):
        if is_active(code, u):
            code.write(Add(u.d, ct))


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    f runs once, on names; the code that it has written runs for the value, and in each call of the pullback. Inside of
    another program that is being generated, the code runs on that program's numbers (twice.py). StagingError if f
    needs the value of a number, ImportError without greenlet.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    code = Code()
    found: list[Any] = []
    names = [Name(f"x{i}", "float") for i in range(len(scalars))]
    xs = [Dual(code, name, code.cell()) for name in names]

    def whole() -> None:
        """Run f on names, and write the end of the program."""
        leaves, output = outputs(f(*structure.rebuild(list(xs))))
        places = [i for i, u in enumerate(leaves) if isinstance(u, Dual)]
        results = [code.name("d", "cell") for _ in places]
        cts = [Name(f"ct{i}", "float") for i in places]
        ended(code, [leaves[i] for i in places], results, cts)
        found.extend((leaves, places, results, output))

    with code:
        reset(whole, code)
    leaves, places, results, output = found
    code.block.statements[:0] = map(Cell, results)  # where all of the code can see them
    names += [Name(f"ct{i}", "float") for i in range(len(leaves))]
    wanted = [*results, *(u.d for u in xs)]
    run = in_python(python("generated", [name.text for name in names], code.block, wanted), "generated")

    def evaluate(cts: list[Any]) -> tuple[list[Any], list[Any]]:
        """Run the generated code, or run it on numbers of an outer program, and split values from cotangents."""
        given = [*scalars, *cts]
        outer = code.captured or any(isinstance(u, Dual) for u in given)
        at = {**code.captured, **dict(zip(names, given, strict=True))}
        made = again(LANGUAGE, code.block, at, wanted) if outer else run(*given)
        return made[: len(results)], made[len(results) :]

    values, _ = evaluate([0.0] * len(leaves))
    for i, y in zip(places, values, strict=True):
        leaves[i] = y
    return output.rebuild(leaves), lambda ct: structure.cotangent(evaluate(list(output.read(ct)))[1])
