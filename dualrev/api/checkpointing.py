"""What to compute again in the reverse pass, in place of saving it: `checkpoint`.

The derivative of a checkpointed call is known as a whole, as that of a function with a rule (eager/custom.py): it is
what one more run gives. A numba function runs compiled, so this stands above both engines.
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
    """f, which will be run again in the reverse pass in place of keeping its tape: memory for time.

    Only the arguments and the value are kept. Of a numba function, it is one that other numba functions can call.

    With loop=m it is a loop of such steps: `run = checkpoint(step, loop=m)` makes run(n, state, *args) do

        for k in range(n):
            state = step(k, state, *args)

    and return the state. Its derivative runs each step m + 1 times, and keeps about m times the m-th root of n states,
    and the tape of as many steps as that root: with m = 2, the square root of n.

    Whatever f depends on and is being differentiated has to be among its arguments (ClosureError if it is not). It has
    to give the same value each time: CustomRuleError if it does not, as with fresh random numbers. CheckError if it
    gives another one under differentiation than on plain numbers, which the first run takes. In a stage of the paper, f
    is simply called.

    >>> from dualrev import grad
    >>> @checkpoint
    ... def block(x):
    ...     for _ in range(10):
    ...         x = x + 0.1 * x * x
    ...     return x
    >>> grad(block)(0.1) == grad(block.__wrapped__)(0.1)
    True
    >>> run = checkpoint(lambda k, x, rate: x + rate * x * x, loop=2)
    >>> grad(lambda x: run(1000, x, 0.001))(0.5)
    3.99247...
    """
    if loop:
        return looped(f, loop, checkpoint)
    if isinstance(f, Dispatcher) and not hasattr(f, "derivative_of"):
        return _Checkpointed(f)
    return Transformed(_checkpoint, f)


class _Checkpointed(Owner):
    """What `checkpoint` makes of a numba function: the derivative that `lift` has keeps the arguments alone, too."""

    kind = "checkpoint"

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
        return called(*args, **kwargs)

    primals, y = call.stripped, call.value(again)
    leaves, structure = flatten_leaves(y)
    before = [own(plain(x)) for x in leaves]

    def linearize() -> Any:
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
