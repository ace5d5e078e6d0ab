"""AD operators (derivative_operators.py) on numba functions: results, and how Python calls the dispatchers."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Sequence

import numba
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from dualrev.compiler.bridge import plain_arguments
from dualrev.compiler.bridge.bind_arguments import bound, parameters_of, real_leaves, zeros
from dualrev.compiler.bridge.check_arguments import check_taken
from dualrev.compiler.bridge.check_mode import check_compiled as check
from dualrev.compiler.bridge.complex_values import alike, apart, holds_complex
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.bridge.linear_map import Linear, linearize, linearize_at
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.bridge.object_values import taken_apart, tangent_of
from dualrev.compiler.bridge.output_arguments import written
from dualrev.compiler.bridge.ufunc_calls import callable_of
from dualrev.compiler.bridge.variadic import called, is_variadic, of_count
from dualrev.compiler.frontend.reading.source import describe, is_numba_function
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes, UserValue
from dualrev.eager.arguments import argument_numbers, several
from dualrev.eager.transforms import with_zeros
from dualrev.errors import (
    ArgumentError,
    ArgumentNumberError,
    AuxiliaryError,
    CotangentError,
    OutputError,
    TangentError,
    UnsupportedError,
)
from dualrev.tree import flatten_leaves

__all__ = [
    "Linear",
    "bound",
    "check",
    "derivative_source",
    "directional",
    "gradient",
    "is_numba_function",
    "jvp",
    "linearize",
    "numbers",
    "of_count",
    "pushforward",
    "real_leaves",
    "vjp",
    "vjp_with_aux",
    "without_aux",
    "written",
    "zeros",
]


#: The derivatives with the arguments of the function, defaults included.
_LIKE_F = ("grad", "value_and_grad", "hessian", "jacfwd", "jacrev", "jacobian")


def gradient(f: Dispatcher, transform: str, argnums: int | Sequence[int], has_aux: bool = False) -> Derivative:
    """Dispatcher of `grad` or `value_and_grad` of a numba function, which returns (y, aux) with has_aux."""
    return derivative(f, f"{transform}_aux" if has_aux else transform, numbers(f, argnums))


def directional(f: Dispatcher, transform: str, argnums: int | Sequence[int]) -> Derivative:
    """Dispatcher of `hvp`, `hessian`, `jacfwd`, `jacrev` or `jacobian` of a numba function."""
    return derivative(f, transform, numbers(f, argnums))


def numbers(f: Dispatcher, argnums: int | Sequence[int]) -> int | tuple[int, ...]:
    """Normalise argnums, by which the derivatives are memoised: 1.0 and True are equal to 1."""
    count = len(parameters_of(f))
    if argnums.__class__ is int and 0 <= argnums < count:  # the usual case, and the next one
        return argnums
    if argnums.__class__ is tuple:
        found = [k for k in argnums if k.__class__ is int and 0 <= k < count]
        if found and len(argnums) == len(found) == len(set(found)):
            return argnums
    if is_variadic(f):  # how many there are, a call says
        try:
            argument_numbers(argnums, sys.maxsize)
        except ArgumentNumberError as error:
            raise ArgumentNumberError(argnums) from error
        return tuple(map(operator.index, argnums)) if isinstance(argnums, Sequence) else operator.index(argnums)
    found = argument_numbers(argnums, count)
    return tuple(found) if several(argnums) else found[0]


def jvp(f: Dispatcher, primals: NumbaTypes, tangents: tuple[UserValue, ...]) -> tuple[UserValue, UserValue]:
    """JVP of a numba function: its value, and its derivative in the direction of the tangents."""
    f, args = called(f, primals)
    if len(tangents) == len(primals) and (moved := plain_arguments.tangents(args, tangents)) is not None:
        y, dy = derivative(f, "jvp")(*args, *moved)
        return (y, dy) if plain_arguments.is_usual(y) else _with_tangent(y, dy)
    if any(map(holds_complex, primals)):
        check_taken(f, args)
        y, dy = derivative(f, "jvp")(*args, *alike(args, bound(f, with_zeros(primals, tangents), {})))
        return y, dy
    leaves, structure = real_leaves(f, taken_apart(primals))
    still = {k for k, t in enumerate(tangents) if t is None}
    tangents = tangent_of(primals, with_zeros(primals, tangents))
    real_leaves(f, tangents)
    given = structure.cotangent_leaves(structure.read_leaves(tangents, TangentError))
    if not leaves:
        raise ArgumentError(primals)
    check_taken(f, args)
    if any(flatten_leaves(part)[0] for k, part in enumerate(given) if k not in still):
        given = tuple(None if k in still else part for k, part in enumerate(given))
    return _with_tangent(*derivative(f, "jvp")(*args, *given, *zeros(taken_apart(args[len(primals) :]))))


def _with_tangent(y: UserValue, dy: UserValue) -> tuple[UserValue, UserValue]:
    """Value and its tangent, in the structure of the value."""
    outputs, output = flatten_leaves(y)
    if not outputs:
        raise OutputError(y)
    return y, output.cotangent_leaves(flatten_leaves(dy)[0])


def vjp(f: Dispatcher, primals: NumbaTypes) -> tuple[UserValue, Callable[[UserValue], tuple[UserValue, ...]]]:
    """VJP of a numba function: its value and its pullback; refusals come before f runs."""
    f, whole = called(f, primals)
    kinds, known = (len(primals), plain_arguments.key(whole)), derivative(f, "vjp").pullbacks
    usual = kinds in known
    if not usual:
        _compile_pullback(f, whole)
        if any(map(holds_complex, primals)):
            return _complex_vjp(f, primals)
        if kinds[1] is not None and any(map(plain_arguments.has_real, primals)):
            usual = True
            known.add(kinds)
    y, linear = linearize_at(f, whole, range(len(primals)), usual)
    return y, linear.pull


def vjp_with_aux(
    f: Dispatcher, primals: NumbaTypes
) -> tuple[UserValue, Callable[[UserValue], tuple[UserValue, ...]], UserValue]:
    """VJP of a numba function that returns (y, aux): y, its pullback, and aux."""
    both, pull = vjp(f, primals)
    y, aux = without_aux(both)
    (still,) = zeros((aux,))
    return y, lambda ct: pull((ct, still)), aux


def without_aux(both: UserValue) -> tuple[UserValue, UserValue]:
    """Split the value (y, aux) of a function; AuxiliaryError for another value, OutputError if y has no real number."""
    if not isinstance(both, tuple) or len(both) != 2:
        raise AuxiliaryError(both)
    y, aux = both
    if not flatten_leaves(y)[0]:
        raise OutputError(y)
    return y, aux


def pushforward(
    f: Dispatcher, primals: NumbaTypes, has_aux: bool
) -> tuple[UserValue, Callable[..., UserValue], UserValue]:
    """Value of a numba function, its derivative there, which runs the compiled JVP in each call, and aux or None."""
    push: Callable[..., UserValue]
    if any(map(holds_complex, primals)):
        kept, y = apart(primals), f(*primals)
        push = lambda *tangents: jvp(f, apart(kept), tangents)[1]  # noqa: E731
    else:
        y, linear = linearize(f, primals, range(len(primals)))
        push = linear.push
    if not has_aux:
        return y, push, None
    y, aux = without_aux(y)
    return y, lambda *tangents: push(*tangents)[0], aux


def _complex_vjp(f: Dispatcher, primals: NumbaTypes) -> tuple[UserValue, Callable[[UserValue], tuple[UserValue, ...]]]:
    """VJP of a numba function with complex numbers among its arguments."""
    kept = apart(bound(f, primals, {}))
    y = f(*bound(f, primals, {}))
    leaves, output = flatten_leaves(y)
    if not leaves:
        raise OutputError(y)

    def pull(ct: UserValue) -> tuple[UserValue, ...]:
        """Pull a cotangent of the value back to the arguments."""
        given = output.cotangent_leaves(output.read_leaves(ct, CotangentError))
        return tuple(derivative(f, "vjp")(*apart(kept), given)[1][: len(primals)])

    return y, pull


def _compile_pullback(f: Dispatcher, args: tuple[UserValue, ...]) -> None:
    """Compile the pullback for these arguments, once."""
    check_taken(f, args)
    argtypes = tuple(map(numba.typeof, args))
    pullback = derivative(f, "vjp")
    if argtypes in pullback.pullbacks or not f._can_compile:
        return
    try:
        f.compile(argtypes)
    except (NumbaError, UnsupportedBytecodeError):
        from dualrev.compiler.driver.emit import emit

        emit(f, "vjp", 0, argtypes)  # we can say better what cannot be done
        raise
    returned = f.overloads[argtypes].signature.return_type
    pullback.compile((*argtypes, _cotangent_type(returned)))
    pullback.pullbacks.add(argtypes)


def _cotangent_type(kind: NumbaType) -> NumbaType:
    """Numba type of a value's cotangent, as `Linear.pull` passes it."""
    if isinstance(kind, types.Optional):  # what np.linalg.matrix_power returns
        return _cotangent_type(kind.type)
    if isinstance(kind, types.Float):
        return types.float64
    if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float):
        return types.Array(kind.dtype, kind.ndim, "C")
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(
            [_cotangent_type(t) for t in kind.types], getattr(kind, "instance_class", None)
        )
    return types.none


def derivative_source(
    f: Dispatcher,
    *args: UserValue,
    argnums: int | Sequence[int] = 0,
    transform: str = "value_and_grad",
    stage: str = "emitted",
) -> str:
    """Text of a compiled derivative, or of the program after a pass: see tape_block.py."""
    from dualrev.compiler.driver.emit import STAGES, emit, shown  # what is found in the cache does not need the passes
    from dualrev.compiler.driver.passes import PASSES

    f = callable_of(f)
    if not is_numba_function(f):
        raise UnsupportedError.at(describe(f), "derivative_source", "this is no numba function", "@njit above it")
    if transform not in (*_LIKE_F, "vjp", "jvp", "hvp"):
        raise ValueError(f"transform is one of {', '.join(_LIKE_F)}, vjp, jvp and hvp, and not {transform!r}")
    if stage not in STAGES and all(stage != p.name for p in PASSES):
        several = ", ".join([*map(repr, STAGES), *(repr(p.name) for p in PASSES)])
        raise ValueError(f"stage is one of {several}, and not {stage!r}")
    if stage == "forward":
        transform = "jvp"
    f = of_count(f, len(args))
    chosen = numbers(f, argnums)
    if transform == "hvp" and chosen != 0:
        raise ValueError(f"hvp is by the first argument: leave out argnums, which is {argnums!r}")
    kinds = list(map(numba.typeof, args))
    inspect.signature(f.py_func).bind(*args)  # raises Python's error for a missing argument
    defaults = [p.default for p in inspect.signature(f.py_func).parameters.values()][len(args) :]
    if transform == "hvp":
        kinds.insert(1, kinds[0])
    if transform in (*_LIKE_F, "hvp"):
        kinds += [types.Omitted(x) for x in defaults]
    else:
        kinds += map(numba.typeof, defaults)
    with global_compiler_lock, fast_compilation():
        if stage == "emitted":
            return emit(f, transform, chosen, tuple(kinds)).source
        return shown(f, stage, transform, chosen, tuple(kinds))
