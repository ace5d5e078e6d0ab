"""AD operators inside of njit code (`dr.grad(f)`, `dr.jvp(f, ...)` and the like): the dispatchers that they stand for.

    dr.grad(f), ... dr.hvp(f)      the dispatcher that they are outside, for a function f that numba knows by its type
    dr.jvp(f, x, t)                a call of the dispatcher for jvp
    y, pull = dr.vjp(f, *x)        a call of the dispatcher "keep": the value, and copies of x for the pullback
    pull(ct)                       see pullback_type.py

frontend/desugar/nested_ad.py makes the same of them where the njit code is differentiated itself. register.py calls
this when numba first asks.
"""

from __future__ import annotations

import inspect
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

from dualrev.compiler.bridge.bind_arguments import zeros
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.bridge.numba_ext.pullback_type import closed, holds_reals, refused, within
from dualrev.compiler.bridge.variadic import of_count
from dualrev.compiler.types.aliases import ArgNums, NumbaType, NumbaTypes, TypingContext, UserValue
from dualrev.diagnostics.quoting import execute
from dualrev.eager.numba_rules import Ruled
from dualrev.errors import ArgumentError, DualrevError, OutputError, TangentError

__all__ = ["at_a_point", "derivative", "making", "numbers", "product"]


def _api() -> Any:
    from dualrev.compiler.bridge import api  # it takes time to import, and most programs do without

    return api


def numbers(f: NumbaType, argnums: ArgNums) -> Any:
    """Normalise argnums."""
    return _api().numbers(f, argnums)


def _function(f: NumbaType, name: str) -> Dispatcher:
    """Numba function of a dispatcher type; TypingError for another type."""
    if isinstance(f, types.Dispatcher) and isinstance(f.dispatcher, Ruled):
        raise TypingError(
            f"dr.{name} of {f.dispatcher.py_func.__name__}, which has a rule of its own: the rule counts where the "
            "function is called; write a numba function that calls it, and differentiate that one"
        )
    if isinstance(f, types.Dispatcher) and isinstance(f.dispatcher, Dispatcher):
        return f.dispatcher
    raise TypingError(
        f"dr.{name} of {f}: inside of njit code its function is one of numba.njit, a global, an argument or a "
        "variable of the function around it; write @njit above its definition, outside of this function"
    )


def _check_options(name: str, has_aux: UserValue = False, engine: UserValue = None) -> None:
    """Raise TypingError for options that compiled derivatives do not have."""
    aux = getattr(has_aux, "literal_value", getattr(has_aux, "value", has_aux))
    if aux is not False or not (engine is None or isinstance(engine, (types.NoneType, types.Omitted))):
        raise TypingError(
            f"dr.{name} inside of njit code has no has_aux and no engine: leave them out, or make the derivative"
            f" outside of it, as in g = dr.{name}(f, has_aux=True), and call g"
        )


# Transformations that give a function


def _number(argnums: ArgNums) -> Any:
    """Constant argnums, from their literal type."""
    if isinstance(argnums, types.BaseTuple):
        return tuple(map(_number, argnums.types))
    if isinstance(argnums, types.Omitted):
        return argnums.value
    if isinstance(argnums, int):
        return argnums
    if not isinstance(argnums, types.IntegerLiteral):
        raise TypingError(f"argnums of type {argnums}: inside of njit code it is a constant, such as 1 or (0, 1)")
    return argnums.literal_value


def making(name: str, f: NumbaType, argnums: ArgNums, has_aux: UserValue, engine: UserValue) -> Any:
    """Dispatcher that `dr.grad(f)` and the like stand for, given the types of their arguments."""
    _check_options(name, has_aux, engine)
    try:
        return _api().gradient(_function(f, name), name, _number(argnums))
    except DualrevError as error:
        raise refused(error) from error


def product(f: NumbaType, engine: UserValue) -> Any:
    """Dispatcher that `dr.hvp(f)` stands for."""
    _check_options("hvp", False, engine)
    return derivative(_function(f, "hvp"), "hvp")


# Derivatives at a point


def at_a_point(context: TypingContext, of: NumbaType, args: NumbaTypes, kws: dict[str, NumbaType]) -> types.Dispatcher:
    """Dispatcher type that a call of `dr.jvp` or `dr.vjp` stands for, given the types of its arguments."""
    try:
        given = inspect.signature(of).bind(*args, **kws)
    except TypeError as error:
        raise TypingError(f"dr.{of.__name__}: {error}") from None
    given.apply_defaults()
    _check_options(of.__name__, given.arguments["has_aux"], given.arguments["engine"])
    f = _function(given.arguments["f"], of.__name__)
    primals = given.arguments["primals"]
    kinds = tuple(map(types.unliteral, primals)) if isinstance(primals, (tuple, types.BaseTuple)) else ()
    f = of_count(f, len(kinds))
    called = types.Dispatcher(_jvp(f, kinds, given.arguments) if of.__name__ == "jvp" else _vjp(f, kinds))
    if not any(map(holds_reals, kinds)):
        raise refused(ArgumentError.of(", ".join(map(str, kinds)) or "none"))
    found = types.Dispatcher(f).get_call_type(context, kinds, {})
    if found is None:
        raise TypingError(f"{f.py_func.__name__} has no signature for {', '.join(map(str, kinds))}")
    if not holds_reals(found.return_type):
        raise refused(OutputError.of(str(found.return_type)))
    return called


def _jvp(f: NumbaType, kinds: NumbaTypes, given: dict[str, NumbaType]) -> Any:
    for x in (given["primals"], given["tangents"]):
        if not isinstance(x, types.BaseTuple):
            raise TypingError(f"dr.jvp takes tuples inside of njit code, and not {x}: dr.jvp(f, (x,), (t,))")
    count = len(kinds)
    if len(given["tangents"]) != count:
        raise refused(TangentError.of(str(given["tangents"]), f"a tuple with {count} entries"))
    made = derivative(f, "jvp")
    if count not in made.written:
        space: dict[str, object] = {"made": made}
        primals = [f"primals[{k}]" for k in range(count)]
        tangents = [f"tangents[{k}]" for k in range(count)]
        for k, (default, zero) in enumerate(_defaults(f, count)):
            space |= {f"default_{k}": default, f"zero_{k}": zero}
            primals.append(f"default_{k}")
            tangents.append(f"zero_{k}")
        head = "def jvp(f, primals, tangents, has_aux=False, engine=None):"
        execute(f"{head}\n    return made({', '.join(primals + tangents)})", space)
        made.written[count] = within(space["jvp"])
    return made.written[count]


def _defaults(f: Dispatcher, count: int) -> list[tuple[str, UserValue]]:
    """Default values of the parameters after the first `count`, with zero tangents."""
    rest = list(inspect.signature(f.py_func).parameters.values())[count:]
    if any(p.default is p.empty for p in rest):
        raise TypingError(f"dr.jvp of {f.py_func.__name__}: the argument {rest[0].name} is missing")
    values = tuple(p.default for p in rest)
    return list(zip(values, zeros(values), strict=True))


def _vjp(f: NumbaType, kinds: NumbaTypes) -> Any:
    made, count = derivative(f, "keep"), len(kinds)
    if count not in made.written:
        names = ", ".join(f"x_{k}" for k in range(count))
        space = {"keep": made, "closed": closed, "of": f}
        lines = [f"def vjp(f, {names}):", f"made = keep({names})"]
        execute("\n    ".join([*lines, f"return made[0], closed(of, {count}, made[0], made[1])"]), space)
        made.written[count] = within(space["vjp"])
    return made.written[count]
