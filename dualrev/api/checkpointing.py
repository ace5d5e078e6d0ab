"""`checkpoint`: functions that are run again in the reverse pass, so that their tape need not be kept.

The derivative of a checkpointed call is a rule of its own (eager/custom.py): one more run of the function gives it. A
numba function runs compiled, so this module stands above both engines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, overload

from numba.core.dispatcher import Dispatcher

from dualrev.eager.arrays.memory.storage import holds_duals, innermost, own, plain, strip
from dualrev.eager.checking.plain_run import PlainRun
from dualrev.eager.custom import _Call, _equal, _Rule
from dualrev.eager.numba_rules import Owner
from dualrev.eager.py_func_globals import numeric
from dualrev.eager.tape import engine
from dualrev.eager.tape.checkpointed_loop import looped
from dualrev.eager.tape.tape import Tape
from dualrev.errors import ClosureError, CustomRuleError
from dualrev.transformed import Transformed
from dualrev.tree import flatten_leaves

__all__ = ["checkpoint"]


P = ParamSpec("P")
Y = TypeVar("Y")


@overload
def checkpoint(f: Callable[P, Y], *, loop: Literal[0] = 0) -> Callable[P, Y]: ...


@overload
def checkpoint(f: Callable[..., Y], *, loop: int) -> Callable[..., Y]: ...


def checkpoint(f: Callable[..., Any], *, loop: int = 0) -> Callable[..., Any]:
    """Checkpointed function: the reverse pass runs f again, so that its tape is not kept. Less memory, more time.

    Args:
        f: Function to checkpoint. Every traced number that it uses has to be an argument, and it has to give the same
            value each time. f may be a numba function; then other numba functions can call the result.
        loop: 0 for f itself. m > 0 for a loop of steps f(k, state, *args), see below.

    Returns:
        A function that computes what f does, and keeps only its arguments and its value. With loop=m, a function
        run(n, state, *args) that returns the state after

            for k in range(n):
                state = f(k, state, *args)

        Its derivative runs each step m + 1 times, and keeps about m n^(1/m) states and the tape of n^(1/m) steps.

    Raises:
        ClosureError: f uses a traced number that is not an argument.
        CustomRuleError: f gives another value when it is run again, as with fresh random numbers.
        CheckError: f gives another value while it is differentiated than on plain numbers, which the first run takes.
        LoopError: f cannot be the step of a loop, or loop is not an int of at least 0.

    A stage of the paper as engine calls f without a checkpoint.

    >>> import dualrev as dr
    >>> @dr.checkpoint
    ... def block(x):
    ...     for _ in range(10):
    ...         x = x + 0.1 * x * x
    ...     return x
    >>> dr.grad(block)(0.1) == dr.grad(block.__wrapped__)(0.1)
    True
    >>> run = dr.checkpoint(lambda k, x, rate: x + rate * x * x, loop=2)
    >>> dr.grad(lambda x: run(1000, x, 0.001))(0.5)
    3.99247...
    """
    if loop:
        return looped(f, loop, checkpoint)
    if isinstance(f, Dispatcher) and not hasattr(f, "derivative_of"):
        return _Checkpointed(f)
    return Transformed(_checkpoint, f)


class _Checkpointed(Owner):
    """Checkpointed numba function. `lift` keeps only the arguments, too, so that it serves for the first derivative."""

    kind = "checkpoint"
    made_by = "checkpoint"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = flatten_leaves((args, kwargs))[0]
        run = innermost(leaves)
        if run is not None and any(holds_duals(strip(leaf, run)) for leaf in leaves):
            return _checkpoint(
                self.py_func, args, kwargs, numeric(self._f)
            )  # lifted functions have first derivatives only
        from dualrev.compiler.bridge.tape_block import lift  # it takes time to import

        return lift(self._f)(*args, **kwargs)


def _checkpoint(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], called: Any = None) -> Any:
    """A call of f, by `called` if f is the Python function of a numba function."""
    call = _Call(f, (args, kwargs))
    if not isinstance(call.run, Tape):
        return f(*args, **kwargs)

    called = called or numeric(f)

    def again(args: Any, kwargs: Any) -> Any:
        """Run f on positional and keyword arguments that are one primal each."""
        return called(*args, **kwargs)

    primals, y = call.stripped, call.value(again)
    leaves, structure = flatten_leaves(y)
    before = [own(plain(x)) for x in leaves]

    def linearize() -> Any:
        """Run f again and return its derivative; raise if the value is not that of the first run."""
        now, derivative = engine.linearize(again, *primals)
        after = [plain(x) for x in flatten_leaves(now)[0]]
        if len(after) != len(before) or not all(map(_equal, after, before)):
            args, kwargs = primals
            once_more, expected = PlainRun(f, args, kwargs), structure.rebuild_leaves(before)
            if not once_more.agrees(now, expected):
                if not once_more.is_repeatable(expected):
                    needed = "to give the same value when it is run again: pass random numbers and state to it"
                    raise CustomRuleError(f, needed)
                raise once_more.error(now, expected, lambda: engine.linearize(again, *primals)[0])
        return derivative

    rule = _Rule(f, lambda ct: linearize().pull(ct), lambda *tangents: linearize().push(*tangents))
    return call.record(y, rule, ClosureError(f))
