"""What a user can say about derivatives: rules of one's own, constants, and what to recompute in place of saving it.

All but `primitive` work in the same way. A function is called with what the outer runs know of its arguments, so that
nothing of it is written on the innermost tape; a block is written there in its place, which knows how to take
cotangents of its results to its arguments. Where a rule goes one way only, the other way is its transpose: linear maps
can be differentiated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev import engine
from dualrev.arrays.record import attach, ids_of
from dualrev.arrays.storage import RealArray, holds_duals, innermost, plain, strip
from dualrev.arrays.ufuncs import on_arrays
from dualrev.errors import ClosureError, CustomRuleError, PrimitiveError
from dualrev.overload import DualNumber, contribute, function
from dualrev.overload import value as value_of_number
from dualrev.primitives import FUNCTIONS, PRIMITIVES, Primitive
from dualrev.tape import Rule, Tape
from dualrev.tree import Structure, flatten, flatten_leaves

__all__ = ["checkpoint", "custom_jvp", "custom_vjp", "primitive", "stop_gradient", "value"]


def value(x: Any) -> Any:
    """The plain number inside a number under differentiation, or the plain array inside an array; else x unchanged.

    An array is a copy. For nested data, see `stop_gradient`.

    >>> value(2.5)
    2.5
    """
    if isinstance(x, RealArray):
        return x.x.copy()
    return plain(x) if isinstance(x, np.ndarray) and holds_duals(x) else value_of_number(x)


def stop_gradient(x: Any) -> Any:
    """The same nested data as a constant: its derivatives, of every order, are 0.

    >>> from dualrev import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    leaves, structure = flatten_leaves(x)
    return structure.rebuild_leaves([value(leaf) for leaf in leaves])


class custom_vjp:  # noqa: N801 - JAX's name
    """A function with a reverse-mode rule of its own, given by `defvjp(fwd, bwd)`, as in JAX.

    fwd(*args) returns (y, residuals), where y is what the function returns; bwd(residuals, ct) returns a tuple with a
    cotangent for every argument, None for one that is discrete or has none. Derivatives of higher order are those of
    fwd and bwd. Forward mode uses the transpose of bwd, for which bwd has to be made of what dualrev can differentiate.

    >>> from dualrev import grad
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (min(max(ct, -1.0), 1.0),))
    >>> grad(lambda x: 100.0 * clipped(x))(3.0)
    1.0
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._rule: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule."""
        self._rule = fwd, bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - that is f
        args = _positional(self._f, args, kwargs)
        call = _Call(args)
        if call.run is None:
            return self._f(*args)
        if self._rule is None:
            raise CustomRuleError(self._f, "defvjp(fwd, bwd)")
        fwd, bwd = self._rule
        made = fwd(*call.stripped)
        if not isinstance(made, tuple) or len(made) != 2:
            raise CustomRuleError(self._f, "a fwd that returns a pair (y, residuals)")
        y, residuals = made

        def pull(ct: Any) -> tuple[Any, ...]:
            cts = bwd(residuals, ct)
            if not isinstance(cts, (tuple, list)) or len(cts) != len(args):
                raise CustomRuleError(self._f, f"a bwd that returns a tuple of {len(args)}, one cotangent per argument")
            return tuple(cts)

        return call.record(y, pull, None)


class custom_jvp:  # noqa: N801 - JAX's name
    """A function with a forward-mode rule of its own, given by `defjvp(rule)`, as in JAX.

    rule(primals, tangents) takes two tuples and returns (y, dy); tangents of discrete arguments are None. Reverse mode
    uses the transpose of the rule, so dy has to be linear in the tangents, and made of what dualrev can differentiate.

    >>> from dualrev import grad
    >>> @custom_jvp
    ... def square(x):
    ...     return x * x
    >>> @square.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return square(x), 2.0 * x * t
    >>> grad(square)(3.0), grad(grad(square))(3.0)
    (6.0, 2.0)
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; it can be used as a decorator."""
        self._rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - that is f
        args = _positional(self._f, args, kwargs)
        call = _Call(args)
        if call.run is None:
            return self._f(*args)
        if self._rule is None:
            raise CustomRuleError(self._f, "defjvp(rule)")
        rule = self._rule

        def push(*tangents: Any) -> Any:
            made = rule(call.stripped, tangents)
            if not isinstance(made, tuple) or len(made) != 2:
                raise CustomRuleError(self._f, "a rule that returns a pair (y, dy)")
            return made[1]

        return call.record(self(*call.stripped), None, push)


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, which will be run again in the reverse pass in place of keeping its tape: memory for time.

    Only the arguments and the value are kept. A loop of n steps, done in blocks of k steps each of which is a
    checkpoint, needs the memory of n / k states and of the tape of k steps.

    Whatever f depends on and is being differentiated has to be among its arguments (ClosureError if it is not). In a
    stage of the paper, f is simply called.

    >>> from dualrev import grad
    >>> @checkpoint
    ... def block(x):
    ...     for _ in range(10):
    ...         x = x + 0.1 * x * x
    ...     return x
    >>> grad(block)(0.1) == grad(block.__wrapped__)(0.1)
    True
    """

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        call = _Call((args, kwargs))
        if not isinstance(call.run, Tape):
            return f(*args, **kwargs)

        def again(args: Any, kwargs: Any) -> Any:
            return f(*args, **kwargs)

        y = again(*call.stripped)
        found = innermost(flatten_leaves(y)[0])
        if found is not None and found.level >= call.run.level:
            raise ClosureError(f)
        return call.record(
            y,
            lambda ct: engine.vjp(again, *call.stripped)[1](ct),
            lambda *tangents: engine.linearize(again, *call.stripped)[1].push(*tangents),
        )

    return checkpointed


def primitive(
    name: str,
    value: str | Callable[..., Any],
    *partials: str | Callable[..., Any],
    ufunc: str = "",
    domain: Sequence[tuple[float, float]] | None = None,
    kink: str = "",
    note: str = "",
) -> Callable[..., Any]:
    """A new line of the table of primitives: a function of 1 to 3 real numbers, and its partial derivatives.

    The value and the partials are text in the arguments, x or a, b, c, and, in partials, the value y; they use
    operators, conditional expressions and the functions of the table. Or they are functions of the arguments, floats;
    what the partials call must be differentiable, if second derivatives are asked for. Returns the function; it takes
    plain numbers, numbers under differentiation, and arrays.

    `ufunc` is the name of a ufunc of NumPy or SciPy that the line holds for, too: with ufunc="expit", the line is that
    of scipy.special.expit. The names of the table's own lines are taken; a line added before is replaced.
    PrimitiveError for a name that is taken, and for text that is no expression. See dualrev/primitives.py for the rest.

    >>> from dualrev import grad
    >>> softplus = primitive("softplus", "log1p(exp(x))", "1.0 / (1.0 + exp(-x))")
    >>> grad(softplus)(0.0), grad(grad(softplus))(0.0)
    (0.5, 0.25)
    """
    if name in _BUILT_IN or not name.isidentifier():
        raise PrimitiveError(name, "the name is taken, or is no name; choose another one")
    functions: dict[str, Callable[..., Any]] = {}
    texts = []
    parameters = ("x",) if len(partials) == 1 else ("a", "b", "c")[: len(partials)]
    for k, given in enumerate((value, *partials)):
        if callable(given):
            functions[f"{name}_{k}"] = given
            given = f"{name}_{k}({', '.join(parameters)})"
        try:
            found = compile(given, f"<dualrev {name}>", "eval").co_names
        except SyntaxError:
            raise PrimitiveError(name, f"{given!r} is no expression of Python") from None
        known = {*FUNCTIONS, *functions, *parameters, "nan", "inf", *(("y",) if k else ())}
        if unknown := [n for n in found if n not in known]:
            raise PrimitiveError(name, f"{given!r} names {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        texts.append(given)
    if not 1 <= len(partials) <= 3:
        raise PrimitiveError(name, "it has as many partial derivatives as arguments, 1 to 3")
    domain = tuple(domain) if domain else ((-3.0, 3.0),) * len(partials)
    line = Primitive(name, texts[0], tuple(texts[1:]), domain, kink, note=note, ufunc=ufunc, functions=functions)
    of_numbers, of_arrays = function(line), on_arrays(line)
    PRIMITIVES[name] = line  # type: ignore[index]  # a dict; the type says that nobody else writes to it

    def made(*args: Any) -> Any:
        if any(isinstance(u, (RealArray, np.ndarray)) for u in args):
            return of_arrays(*args)
        return of_numbers(*args)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = of_numbers.__doc__
    made.primitive = line  # type: ignore[attr-defined]
    return made


class _Call:
    """A call of a function whose derivative is known as a whole: what the outer runs see of its arguments."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.leaves, self.structure = flatten_leaves(args)
        self.run = innermost(self.leaves)
        if self.run is not None:
            run = self.run
            xs = [_own(strip(leaf, run)) for leaf in self.leaves]
            self.stripped: Any = self.structure.rebuild_leaves(xs)
            self._nested = any(holds_duals(x) for x in xs)
            self._parts = [flatten_leaves(x) for x in args]

    def record(self, y: Any, pull: Callable[..., Any] | None, push: Callable[..., Any] | None) -> Any:
        """The value y as a result of this call; `pull` takes its cotangent, `push` tangents of the arguments."""
        ys, output = flatten_leaves(y)
        shapes = [np.shape(leaf) for leaf in ys]

        def pulled(gs: Sequence[Any]) -> list[Any]:
            ct = output.cotangent_leaves([_shaped(g, shape) for g, shape in zip(gs, shapes, strict=True)])
            cts = pull(ct) if pull else self._transpose(push, gs=ct)
            return self._read(cts)

        def pushed(ts: Sequence[Any]) -> list[Any]:
            zeros = [np.zeros(np.shape(x)) if np.ndim(x) else 0.0 for x in self.leaves]
            full = [z if t is None else _shaped(t, np.shape(z)) for z, t in zip(zeros, ts, strict=True)]
            tangents = self.structure.map_leaves(full)
            dy = push(*tangents) if push else self._transpose(pull, ts=tangents, output=output, shapes=shapes)
            return output.read_leaves(dy)

        if not isinstance(self.run, Tape):
            return self._by_entries(ys, output, pulled)
        run = self.run
        outs = [run.allocate(int(np.size(leaf))) for leaf in ys]
        nested = self._nested or any(holds_duals(leaf) for leaf in ys)
        ids = [ids_of(leaf, run) for leaf in self.leaves]
        run.blocks.append(Rule(run.fresh(), outs, shapes, ids, pulled, pushed, nested))
        return output.rebuild_leaves([attach(run, leaf, out) for leaf, out in zip(ys, outs, strict=True)])

    def _read(self, cts: Sequence[Any]) -> list[Any]:
        """The cotangents leaf by leaf; None for an argument stands for zeros."""
        made: list[Any] = []
        for (leaves, structure), ct in zip(self._parts, cts, strict=True):
            made += [None] * len(leaves) if ct is None else structure.read_leaves(ct)
        return made

    def _transpose(
        self,
        linear: Any,
        gs: Any = None,
        ts: Any = None,
        output: Structure | None = None,
        shapes: Sequence[tuple[int, ...]] = (),
    ) -> Any:
        """The other direction of a linear map, by differentiating it."""
        if ts is None:
            zeros = [np.zeros(np.shape(x)) if np.ndim(x) else 0.0 for x in self.leaves]
            return engine.vjp(linear, *self.structure.map_leaves(zeros))[1](gs)
        assert output is not None

        def of_leaves(ct: Any) -> list[Any]:
            return [0.0 if x is None else x for x in self._read(linear(ct))]

        leaves = flatten_leaves(ts)[0]
        zero = output.cotangent_leaves([np.zeros(shape) if shape else 0.0 for shape in shapes])
        return engine.vjp(of_leaves, zero)[1](leaves)[0]

    def _by_entries(self, ys: Sequence[Any], output: Structure, pulled: Callable[..., Any]) -> Any:
        """For a run that writes no tape: each number of y as an operation on all numbers of the arguments."""
        run = self.run
        assert run is not None
        scalars = flatten(self.leaves)[0]
        kind = next(type(u) for u in scalars if isinstance(u, DualNumber) and u.run is run)
        made = []
        numbers = flatten(list(ys))[0]
        for k, x in enumerate(numbers):
            units = flatten(list(ys))[1].rebuild([float(j == k) for j in range(len(numbers))])
            cts = [np.zeros(np.shape(x)) if c is None else c for c, x in zip(pulled(units), self.leaves, strict=True)]
            made.append(contribute(run, kind, x, scalars, flatten(cts)[0]))
        return output.rebuild(made)


def _shaped(g: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent as its leaf: a number where that has no axes."""
    if shape:
        return g
    return g if isinstance(g, DualNumber) else g[()] if isinstance(g, RealArray) else float(g)


def _own(x: Any) -> Any:
    return x.copy() if isinstance(x, (RealArray, np.ndarray)) else x


def _positional(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in their order, as a rule takes them."""
    if not kwargs:
        return args
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise CustomRuleError(f, "parameters that can be passed by position: a rule takes them so")
    return bound.args


_BUILT_IN = frozenset(PRIMITIVES) | frozenset(FUNCTIONS)
