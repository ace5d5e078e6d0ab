r"""D2 in its monad: a term is a computation Int -> (value, next id), and ids come from no counter.

Paper:   Smeding and Vákár 2023, section 4, Figs. 3 and 8
D[R] =   (R, (Int, R -o Staged c)), as in stages/d2_staged.py; a term of type t is a computation Int -> (D[t], Int)
Changed: the stage draws ids from a counter of the run, which Python changes in place. Here the next id is the state
         that a computation gets and returns, as in the figures. Every evaluation of a literal is a computation, too: it
         draws an id and makes a backpropagator, \z. 0. Wrap takes inputs without real numbers (section 10).
Needs:   the user's function in monadic style: x * y is a Computation, and bind (the monad's let) names its value.
Cost:    as the stage: O(size(c)) for every operation. A Computation that is used twice runs twice; bind it once.

    pure x        = \i. (x, i)
    bind m k      = \i. let (x, i') = m i in k x i'             let x = m in k x
    literal r     = \i. ((r, (i, \z. 0)), i + 1)                 D[r]
    op(x1, .., xn) = \i. ((op(x1..xn), (i, \z. SCall d1 (z*p1) + .. + SCall dn (z*pn))), i + 1)
    Interleave_R (x, d) = \i. ((x, (i, d)), i + 1)
    Wrap[f] x     = let (x', i) = Interleave (x, SCotan) 0 in let (y, i') = f x' i in .., as in the stage

    x * (x + y)   = bind (x + y) (\z. x * z)                    for example
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import flatten_scalars, outputs
from stages import pairs
from stages.d2_staged import Staged, call, one_hot, plus, resolve, zero

__all__ = ["Computation", "MonadError", "bind", "ids", "literal", "pure", "vjp"]


#: The innermost run of vjp.
RUNNING: contextvars.ContextVar[Any] = contextvars.ContextVar("RUNNING", default=None)


class MonadError(TypeError):
    """A function that is not in monadic style."""


class Computation:
    """Int -> (value, Int): `step`, or a bind of a computation with what follows."""

    def __init__(self, step: Any, then: Callable[[Any], Any] | None = None) -> None:
        self.step, self.then = step, then

    def _refuse(self, *_: Any) -> Any:
        raise MonadError("a computation is no number yet: write bind(x + y, lambda z: x * z), and use z")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
    __pow__ = __rpow__ = __abs__ = __bool__ = __float__ = __iter__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def pure(x: Any) -> Computation:
    r"""\i. (x, i)"""
    return Computation(lambda i: (x, i))


def bind(m: Computation, k: Callable[[Any], Computation]) -> Computation:
    r"""\i. let (x, i') = m i in k x i'"""
    return Computation(m, k)


def run_from(m: Any, i: int) -> tuple[Any, int]:
    """m i, in a loop, so that a chain of binds does not grow Python's stack."""
    waits: list[Callable[[Any], Any]] = []
    while True:
        if not isinstance(m, Computation):
            raise MonadError(f"a function in monadic style returned a {type(m).__name__}: write pure(x) for a value x")
        if m.then is not None:
            waits.append(m.then)
            m = m.step
            continue
        x, i = m.step(i)
        if not waits:
            return x, i
        m = waits.pop()(x)


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the backpropagator d of that id. A literal in an operation has no id yet."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, i, d):
        self.run, self.x, self.i, self.d = run, x, i, d


def constant(run, r):
    r"""D[r] in an operation, which draws the id: ((r, (i, \z. 0)), i + 1)"""
    return Dual(run, r, None, lambda z: zero(run))


def literal(r: float) -> Computation:
    r"""D[r] = \i. ((r, (i, \z. 0)), i + 1), for the program whose function is running."""
    run = RUNNING.get()
    if run is None:
        raise MonadError("literal(r) outside of a function that vjp runs")
    return drawn(constant(run, float(r)))


@contextlib.contextmanager
def running(run: Run) -> Iterator[None]:
    """The run to which literals belong inside of this context."""
    token = RUNNING.set(run)
    try:
        yield
    finally:
        RUNNING.reset(token)


def drawn(u: Dual) -> Computation:
    """A backpropagator gets the next id."""
    return Computation(lambda i: (Dual(u.run, u.x, i, u.d), i + 1))


def op(run, y, args, partials):
    """D[op(x1..xn)]; the ids of literals among the arguments come before the operation's."""
    if isinstance(y, Computation):
        raise MonadError("a derivative by id_monad inside of another one: its operations are no numbers yet")

    def step(i):
        """Draw the ids, and make the backpropagator."""
        us = []
        for u in args:
            us.append(Dual(run, u.x, i, u.d) if u.i is None else u)
            i += u.i is None
        d = lambda z: plus(*[call(u, z * p) for u, p in zip(us, partials(), strict=True)])  # noqa: E731
        return Dual(run, y, i, d), i + 1

    return Computation(step)


overload(Dual, constant, op, late=True)


def all_of(computations: list[Computation], k: Callable[[list[Any]], Computation]) -> Computation:
    """Bind the values of all computations, from left to right."""
    found: list[Any] = []

    def step(i: int) -> tuple[Any, int]:
        """Run them in turn."""
        for m in computations:
            x, i = run_from(m, i)
            found.append(x)
        return found, i

    return bind(Computation(step), k)


def wrapped(f: Callable[..., Any], primals: tuple[Any, ...]) -> tuple[Any, Callable[[Any], Any], int]:
    """Wrap[f] primals: the value, its pullback, and the next id."""
    scalars, structure = flatten_scalars(primals)
    with Run(c=pairs.of(structure, scalars)) as run, running(run):
        one_hots = [Dual(run, x, None, lambda z, path=path: one_hot(path, z)) for x, path in pairs.paths(run.c)]
        program = all_of([drawn(u) for u in one_hots], lambda xs: f(*structure.rebuild(xs)))
        y, i = run_from(program, 0)
        leaves, output = outputs(y)
        mine = [isinstance(u, Dual) and u.run is run for u in leaves]
        duals, i = run_from(
            all_of([pure(u) if own else drawn(constant(run, u)) for u, own in zip(leaves, mine, strict=True)], pure), i
        )

    def pullback(ct: Any) -> Any:
        """SResolve of the output's backpropagator: a sum with one delayed call for each scalar of the output."""
        s: Staged = plus(*[call(u, z) for u, z in zip(duals, output.read(ct), strict=True)])
        return structure.cotangent(pairs.scalars(resolve(s)))

    return output.rebuild([u.x for u in duals]), pullback, i


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    MonadError if f is not in monadic style.

    >>> y, pullback = vjp(lambda x, y: bind(x + y, lambda z: x * z), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    >>> y, pullback = vjp(lambda n: literal(0.5 * n), 3)  # no real input
    >>> y, pullback(1.0)
    (1.5, (None,))
    """
    y, pullback, _ = wrapped(f, primals)
    return y, pullback


def ids(f, *primals):
    """How many ids the forward pass draws: the state at its end.

    >>> ids(lambda x: bind(2.0 * x, lambda y: 2.0 * y), 3.0)  # x, two literals, two operations
    5
    """
    return wrapped(f, primals)[2]
