"""Pullback type of numba: `y, pull = dr.vjp(f, *x)` inside of njit code gives a value that can be called.

All that it holds are copies of x. pull(ct) runs f again, forwards and backwards: nothing that a sweep records outlives
the call that records it. So it may be called any number of times, and what becomes of x does not matter.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import box, intrinsic, models, overload, register_model

from dualrev.compiler import runtime
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.entrypoints.vjp import check_cotangent
from dualrev.compiler.runtime.arrays import copies
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes, Signature, TypingContext
from dualrev.compiler.types.leaves import is_structured, members
from dualrev.diagnostics.quoting import execute
from dualrev.errors import CotangentError, DualrevError

__all__ = ["Pullback", "closed", "holds_reals", "refused", "within"]


def refused(error: DualrevError) -> TypingError:
    """Convert an error of ours to numba's TypingError."""
    return TypingError(f"{type(error).__name__}: {error}")


def within(function: Any) -> Any:
    """Compile a function that only numba functions call, without wrappers for Python and C."""
    return njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def holds_reals(kind: NumbaType) -> bool:
    """Whether a numba type holds real numbers."""
    if isinstance(kind, types.BaseTuple):
        return any(map(holds_reals, kind.types))
    if is_structured(kind):
        return any(map(holds_reals, members(kind).values()))
    return isinstance(getattr(kind, "dtype", kind), types.Float)


class Pullback(types.Callable):
    """Numba type of a pullback: of its function, all arguments, the number of given ones, and the value."""

    def __init__(self, function: Any, kept: Any, count: int, value: Any) -> None:
        self.function, self.kept, self.count, self.value = function, kept, count, value
        super().__init__(f"Pullback({function}, {kept}, {count}, {value})")

    @property
    def key(self) -> Any:
        """Identity of the type among numba's types."""
        return self.function, self.kept, self.count, self.value

    def get_call_type(self, context: TypingContext, args: NumbaTypes, kws: dict[str, NumbaType]) -> Signature:
        """Type a call with a cotangent: see numba."""
        if len(args) != 1 or kws:
            raise TypingError("a pullback takes one cotangent, that of the value: pull(ct)")
        try:
            check_cotangent(self.value, args[0])
        except CotangentError as e:
            raise refused(e) from None
        found = self._called().get_call_type(context, (self, *args), {})
        return signature(found.return_type, *found.args[1:], recvr=self)

    def _called(self) -> Any:
        """Dispatcher type of the function that a call runs."""
        return types.Dispatcher(_pull(self.function.dispatcher, len(self.kept.types), self.count))

    def get_call_signatures(self) -> Any:
        """Signatures that are known without arguments: none."""
        return (), False

    def get_impl_key(self, sig: Signature) -> Any:
        """Key of a call's implementation: see numba."""
        return self._called().get_impl_key(sig)


# Its representation


@register_model(Pullback)
class _PullbackModel(models.StructModel):
    def __init__(self, manager: Any, kind: NumbaType) -> None:
        super().__init__(manager, kind, [("kept", kind.kept)])


@box(Pullback)
def _box(kind: NumbaType, value: Any, c: Any) -> Any:
    raise TypingError("a pullback is known inside of njit code only: call it there, and return what it gives")


@intrinsic(prefer_literal=True)
def closed(typingctx, function, count, value, kept):
    """Make a pullback of a function; `value` has the type of the value, `kept` are all arguments.

    `count` of the arguments were given.
    """
    made = Pullback(function, kept, count.literal_value, value)

    def codegen(context, builder, sig, args):
        """Store the arguments in the pullback, with one more reference."""
        struct = cgutils.create_struct_proxy(made)(context, builder)
        struct.kept = args[3]
        context.nrt.incref(builder, kept, args[3])
        return struct._getvalue()

    return made(function, count, value, kept), codegen


@intrinsic
def _opened(typingctx, pullback):
    """Load the arguments that a pullback holds."""

    def codegen(context, builder, sig, args):
        """Load the arguments, with one more reference."""
        kept = cgutils.create_struct_proxy(pullback)(context, builder, args[0]).kept
        context.nrt.incref(builder, pullback.kept, kept)
        return kept

    return pullback.kept(pullback), codegen


# Its call


def _copy(x):
    raise NotImplementedError


@overload(_copy)
def _overload_copy(x):
    if isinstance(x, types.Array):  # what a pullback holds is contiguous, unless strides matter
        return (lambda x: copies.strided_copy(x)) if x.layout == "A" else (lambda x: copies.copy(x))
    if isinstance(x, types.BaseTuple) and x.types:
        space: dict[str, object] = {"copy": _copy, "made": getattr(x, "instance_class", None)}
        parts = "".join(f"copy(x[{k}]), " for k in range(len(x.types)))
        text = f"({parts})" if space["made"] is None else f"made({parts})"
        execute(f"def copied(x): return {text}", space)
        return space["copied"]
    return lambda x: x


_copied = within(lambda x: _copy(x))


def _pull(f: Dispatcher, parameters: int, count: int) -> Any:
    """Numba function that a call of a pullback of f runs; f has so many parameters.

    f may write to its arguments, so that it gets copies of what the pullback holds. See runtime/tape/memory.py for
    `attempt`.
    """
    vjp = derivative(f, "vjp")
    if count not in vjp.written:
        given = [f"x_{k}" for k in range(parameters)]
        cts = "".join(f"made[1][{k}], " for k in range(count))
        again: dict[str, object] = {"vjp": vjp}  # `attempt` knows for ever what it has called: not vjp itself
        execute(f"def again({', '.join(given)}, ct): return vjp({', '.join(given)}, ct)", again)
        space = {"opened": _opened, "runtime": runtime, "copied": _copied, "again": within(again["again"])}
        lines = [
            "def pull(pullback, ct):",
            "kept = opened(pullback)",
            "tape = runtime.new_tape(0)",
            *(f"{x} = runtime.attempt(tape, copied, kept[{k}])" for k, x in enumerate(given)),
            f"made = runtime.attempt(tape, again, {', '.join(given)}, ct)",
            f"returned = runtime.unless_failed(tape, ({cts}))",
            "runtime.close(tape)",
            "return returned",
        ]
        execute("\n    ".join(lines), space)
        vjp.written[count] = within(space["pull"])
    return vjp.written[count]
