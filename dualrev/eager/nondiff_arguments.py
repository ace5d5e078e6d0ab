"""Arguments without a derivative, `nondiff_argnums` of custom_vjp and custom_jvp, which a rule takes first, as in JAX.

For compiled code a rule becomes one without them, in numba code that a user would write. Of f(a, x) with a fixed:

    fwd(a, x)                      y, residuals = fwd(a, x); return y, (residuals, a)
    bwd(a, residuals, ct)          bwd((residuals, a), ct): return None, *bwd(a, residuals, ct)
    rule(a, (x,), (t,))            rule((a, x), (None, t))
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from numba.core.dispatcher import Dispatcher

from dualrev.diagnostics.quoting import execute, remember
from dualrev.diagnostics.signatures import signature
from dualrev.eager.arguments import Argnums, argument_numbers, several
from dualrev.errors import ArgumentNumberError, CustomRuleError
from dualrev.rules.library.njit_internal import WITHOUT_WRAPPERS, Inner

__all__ = ["check_nondiff", "compiled_jvp", "compiled_vjp", "merged", "others"]


def check_nondiff(f: Callable[..., Any], argnums: Argnums) -> tuple[int, ...]:
    """The numbers of the arguments without a derivative; ArgumentNumberError if they do not name parameters of f."""
    given: Any = tuple(argnums) if several(argnums) else (argnums,)  # type: ignore[arg-type]
    if not given:
        return ()
    try:
        parameters = signature(f).parameters.values()
    except ValueError:  # a function in C may have none
        raise CustomRuleError(f, "a signature for nondiff_argnums: wrap the function in a `def`") from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise CustomRuleError(f, "a parameter for every argument, and no *args, where nondiff_argnums is given")
    count = len(parameters)
    try:
        numbers = argument_numbers(given, count)
    except ArgumentNumberError:
        numbers = list(range(count))
    if len(numbers) == count:
        raise ArgumentNumberError.of_nondiff(argnums, count)
    return tuple(sorted(numbers))


def others(numbers: Sequence[int], items: Sequence[Any]) -> tuple[Any, ...]:
    """The items at all other positions than these."""
    return tuple(x for k, x in enumerate(items) if k not in numbers)


def merged(numbers: Sequence[int], rest: Sequence[Any]) -> tuple[Any, ...]:
    """Tuple with None at these positions, and the items of `rest` at the others."""
    left = iter(rest)
    return tuple(None if k in numbers else next(left) for k in range(len(numbers) + len(rest)))


def compiled_vjp(f: Dispatcher, numbers: Sequence[int], fwd: Any, bwd: Any) -> tuple[Any, Any]:
    """The rule of a numba function f as fwd and bwd of all arguments, which are numba functions."""
    names = list(inspect.signature(f.py_func).parameters)
    args = [f"a{k}" for k in range(len(names))]
    fixed = [args[k] for k in numbers]
    cts = [f"ct{k}" for k in range(len(names) - len(numbers))]
    forward = [
        f"def fwd({', '.join(args)}):",
        f"    y, residuals = rule({', '.join(args)})",
        f"    return y, {_tuple(['residuals', *fixed])}",
    ]
    backward = [
        "def bwd(kept, ct):",
        f"    {_tuple(['residuals', *fixed])} = kept",
        f"    {_tuple(cts)} = rule({', '.join([*fixed, 'residuals', 'ct'])})",
        f"    return {_tuple(map(str, merged(numbers, cts)))}",
    ]
    return _numba_function("fwd", forward, fwd), _numba_function("bwd", backward, bwd)


def compiled_jvp(f: Dispatcher, numbers: Sequence[int], rule: Any) -> Any:
    """The rule of a numba function f as a rule of all arguments, which is a numba function."""
    count = len(inspect.signature(f.py_func).parameters)
    fixed = [f"primals[{k}]" for k in numbers]
    primals, tangents = (
        _tuple(f"{name}[{k}]" for k in others(numbers, range(count))) for name in ("primals", "tangents")
    )
    text = ["def jvp(primals, tangents):", f"    return rule({', '.join([*fixed, primals, tangents])})"]
    return _numba_function("jvp", text, rule)


def _tuple(items: Any) -> str:
    return f"({''.join(f'{x}, ' for x in items).strip()})"


def _numba_function(name: str, lines: list[str], rule: Any) -> Any:
    """The numba function of this text, which calls a function of a rule; that function if it is none of numba's."""
    if not isinstance(rule, Dispatcher):
        return rule
    text, file = "\n".join(lines) + "\n", f"<{name} of all arguments {uuid.uuid4().hex}>"
    space = {"rule": rule, "__name__": rule.py_func.__module__}
    execute(text, space, file)
    made = Inner(space[name], {}, {"nopython": True, **WITHOUT_WRAPPERS})
    remember(text, file, made)
    return made
