"""Every exception that dualrev raises. Each message says what happened, where, why, and what to write instead.

Each error derives from `DualrevError` and from the built-in class that Python raises in the like case, so that
`except dr.DualrevError` and, for example, `except TypeError` both catch it. A message says what happened, where (the
file and the line of the user's code), and what to write; `explain()` prints the reason and other possible fixes.
tests/diagnostics/test_errors.py tests the wording.

>>> import dualrev as dr
>>> try:
...     dr.grad(lambda x: x * x)(2)
... except dr.DualrevError as error:
...     print(type(error).__name__)
ArgumentError
"""

from __future__ import annotations

import contextlib
import difflib
import numbers
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Self

from dualrev._version import __version__
from dualrev.diagnostics import conversions, library_calls
from dualrev.diagnostics.user_lines import library, where

__all__ = [
    "ArgumentError",
    "ArgumentNumberError",
    "AuxiliaryError",
    "BatchError",
    "BridgeError",
    "CheckError",
    "ClosureError",
    "ConversionError",
    "CotangentError",
    "CustomRuleError",
    "DualrevError",
    "HashError",
    "LaunchError",
    "LeafError",
    "LeakError",
    "LiftError",
    "LoopError",
    "NonFiniteError",
    "OutputError",
    "OutputNumberError",
    "PrimitiveError",
    "ScalarError",
    "SolutionError",
    "SparsityError",
    "TangentError",
    "TreeError",
    "UnsupportedError",
    "UntestedVersionWarning",
    "explain",
]


_HINT = " dr.errors.explain() says more."


def __dir__() -> list[str]:
    return __all__


class DualrevError(Exception):
    """Base class of all exceptions of dualrev.

    str(error) says what happened, where, and what to write. `explain` prints `more`, too: the reason and other possible
    fixes.
    """

    more: str = ""

    def __init__(self, message: str, more: str = "") -> None:
        super().__init__(message + (_HINT if more else ""))
        if more:
            self.more = more

    @property
    def page(self) -> str:
        """Page of the documentation that says what to write."""
        return "docs/sharp_bits.md"

    @property
    def explanation(self) -> str:
        """The message, and below it the reason and other possible fixes."""
        return "\n\n".join(filter(None, [str(self).removesuffix(_HINT), self.more]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._saying, (str(self), self.more)  # pickle would pass the finished message to __init__

    @classmethod
    def _saying(cls, message: str, more: str = "") -> Self:
        error = cls.__new__(cls)
        error.args = (message,)
        if more:
            error.more = more
        return error

    def among(self, name: str, places: Sequence[str], unseen: str) -> Self:
        """Return one error that lists all places of a function where the tape raises this one."""
        listed = "".join(f"\n{k}. {' '.join(text.split(chr(10)))}" for k, text in enumerate(places, 1))
        return self._saying(f"{len(places)} places of {name!r} cannot be differentiated:{listed}\n{unseen}")


class ArgumentError(DualrevError, TypeError):
    """Arguments without a real number: nothing to differentiate with respect to.

    All derivatives raise it when no chosen argument holds a float. The usual cause is an int: 2 in place of 2.0.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: x * x)(2)
    Traceback (most recent call last):
    dualrev.errors.ArgumentError: there is nothing to differentiate with respect to: the arguments (types: int) ...
    """

    def __init__(self, primals: tuple[Any, ...]) -> None:
        kinds = ", ".join(type(x).__name__ for x in primals) or "none"
        arrays = [x for x in primals if hasattr(x, "__array__")]
        others = [type(x) for x in arrays if type(x).__module__ != "numpy"]
        cure = "2.0 where you wrote 2"
        if others and others[0].__name__ == "Dataset":  # its sums leave out what is under differentiation
            cure = "dict(x.data_vars) for a Dataset: a gradient has an array with labels for each variable"
        elif others:
            cure = f"np.asarray(x) for an array of {others[0].__module__.partition('.')[0]}"
        elif any(hasattr(x, "astype") and x.dtype.kind in "iub" for x in arrays):
            cure = "x.astype(float) for the array x"
        super().__init__(
            f"there is nothing to differentiate with respect to: the arguments (types: {kinds}) hold no real scalar."
            f" Write {cure}.",
            "Floats, numpy floating scalars and the elements of floating arrays are differentiated; ints, bools,"
            " strings, None and objects of unregistered classes are constants. For an object of a class of yours,"
            " register the class with dualrev.register_node.",
        )

    @classmethod
    def of(cls, kind: str, other: str = "the function itself, whose value has no derivative") -> ArgumentError:
        """Return the error for an argument of a numba type, such as int64; `other` is one more cure to name."""
        return cls._saying(
            f"there is nothing to differentiate with respect to: an argument of numba type {kind} holds no real"
            f" scalar. Write 2.0 where you wrote 2, or {other}.",
        )


class LeafError(DualrevError, TypeError):
    """Nested data with a value that is neither a real number nor safe to treat as a constant.

    Examples are masked arrays, sets, structured arrays, and lists that contain themselves.

    >>> import dualrev as dr
    >>> dr.grad(lambda s: 1.0)({1.0, 2.0})
    Traceback (most recent call last):
    dualrev.errors.LeafError: a value of type set cannot be differentiated: its members have no order and would ...
    """

    def __init__(self, x: Any, why: str, instead: str) -> None:
        super().__init__(f"a value of type {type(x).__name__} cannot be differentiated: {why}. {instead}.")


_UNRETURNED = (
    "Write `return y` at its end, or dualrev.vjp(f, *args, outputs=(k,)) if it writes its results into argument k."
)


class OutputError(DualrevError, TypeError):
    """Function value without a real number: there is no derivative of it.

    All derivatives raise it. The usual causes are a function without `return`, and one that writes its result into an
    argument: see `outputs` of `dualrev.vjp`.

    >>> import dualrev as dr
    >>> dr.jacobian(lambda x: None)(2.0)
    Traceback (most recent call last):
    dualrev.errors.OutputError: the function returned None (type NoneType), which holds no real scalar, so it has ...
    """

    def __init__(self, y: Any) -> None:
        super().__init__(
            f"the function returned {_short(y)} (type {type(y).__name__}), which holds no real scalar, so it has no"
            f" derivative. {_UNRETURNED if y is None else 'Return a float.'}",
            "Return a float, or nested data with floats in it; a function that returns None may lack its `return`, or"
            " writes its results into an argument: dualrev.vjp(f, *args, outputs=(k,)) takes these for the value, with"
            " k the number of that argument.",
        )

    @classmethod
    def of(cls, kind: str) -> OutputError:
        """Return the error for the value of a numba function, which has a numba type."""
        return cls._saying(
            f"the function returned a value of numba type {kind}, which holds no real scalar, so it has no derivative."
            " Return a float, or tuples and arrays of floats.",
        )


_WRITTEN = (
    ". If it writes its results into argument k, dualrev.vjp and dualrev.jacobian with outputs=(k,) take these for the"
    " value; a function that calls it, and returns a number made of them, has a gradient."
)


class ScalarError(DualrevError, TypeError):
    """Function value that is not one real number, where a gradient needs one.

    `grad`, `value_and_grad`, `hvp` and `sparse_hessian` raise it. Return a number, such as a sum, or use `jacobian`.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: [x, x])(2.0)
    Traceback (most recent call last):
    dualrev.errors.ScalarError: grad needs a scalar-valued function, but the function returned [2.0, 2.0] (type ...
    """

    def __init__(self, y: Any) -> None:
        what = f"an array of shape {y.shape}" if hasattr(y, "shape") else f"{_short(y)} (type {type(y).__name__})"
        super().__init__(
            f"grad needs a scalar-valued function, but the function returned {what}."
            + (
                " Return z.real, z.imag or abs(z) for the complex number z."
                if isinstance(y, numbers.Complex)
                else " Return one number, such as the sum; or use dualrev.jacobian."
            ),
            f"dualrev.vjp takes a cotangent of the value's structure{'.' if y is not None else _WRITTEN}",
        )

    @classmethod
    def of(cls, kind: str, place: str) -> ScalarError:
        """Return the error for the value of a numba function, which is defined at `file:line`."""
        return cls._saying(
            f"{place}: grad needs a scalar-valued function, but the function returns a value of numba type {kind}."
            f" Return one number, such as the sum; or use dualrev.jacobian.{_HINT}",
            f"dualrev.vjp takes a cotangent of the value's structure{'.' if kind != 'none' else _WRITTEN}",
        )


class AuxiliaryError(DualrevError, TypeError):
    """Function value that is not a pair (y, aux), with `has_aux=True`.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: x * x, has_aux=True)(2.0)
    Traceback (most recent call last):
    dualrev.errors.AuxiliaryError: with has_aux=True the function returns a pair (value, aux), but it returned ...
    """

    def __init__(self, y: Any) -> None:
        super().__init__(
            f"with has_aux=True the function returns a pair (value, aux), but it returned {_short(y)}"
            f" (type {type(y).__name__})."
        )

    @classmethod
    def of(cls, kind: str, place: str) -> AuxiliaryError:
        """Return the error for the value of a numba function, which is defined at `file:line`."""
        return cls._saying(
            f"{place}: with has_aux=True the function returns a pair (value, aux), but it returns a value of numba"
            f" type {kind}."
        )


class ArgumentNumberError(DualrevError, ValueError):
    """`argnums` that does not name positional arguments of the call.

    All functions with `argnums` raise it.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: x * x, argnums=1)(2.0)
    Traceback (most recent call last):
    dualrev.errors.ArgumentNumberError: argnums must be 0, got 1. They count the positional arguments of the call; ...
    """

    def __init__(self, argnums: Any, count: int | None = None) -> None:
        wanted = "an int or distinct ints" + ("" if count is None else f" in 0..{count - 1}")
        super().__init__(
            f"argnums must be {'0' if count == 1 else wanted}, got {argnums!r}."
            " They count the positional arguments of the call; what is passed by keyword is not differentiated."
        )

    @classmethod
    def no_ints(cls, argnums: Any, transform: str) -> ArgumentNumberError:
        """Return the error for an `argnums` that is no int, most likely an argument of f: `dr.grad(f, x)`."""
        got = "an array" if hasattr(argnums, "shape") and argnums.shape else _short(argnums)
        meant = "" if isinstance(argnums, (str, bool, type(None))) else f"; did you mean dr.{transform}(f)(x)?"
        return cls._saying(f"argnums must be an int or a tuple of ints, got {got}{meant}")

    @classmethod
    def of_both(cls, argnums: Any, argnames: Any) -> ArgumentNumberError:
        """Return the error for `argnums` and `argnames` together."""
        return cls._saying(f"give argnums={argnums!r} or argnames={argnames!r}, not both")

    @classmethod
    def no_names(cls, argnames: Any) -> ArgumentNumberError:
        """Return the error for `argnames` that is neither a name nor a sequence of distinct names."""
        return cls._saying(f"argnames must be a name or a tuple of distinct names, got {argnames!r}")

    @classmethod
    def of_name(cls, name: str, known: list[str]) -> ArgumentNumberError:
        """Return the error for a name in `argnames` that no parameter of f has."""
        near = difflib.get_close_matches(name, known, 1)
        instead = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(map(repr, known)) or 'none'}."
        return cls._saying(f"argnames names {name!r}, and f has no parameter of that name. {instead}")

    @classmethod
    def no_signature(cls, argnames: Any) -> ArgumentNumberError:
        """Return the error for `argnames` of a function that does not say its parameters."""
        return cls._saying(f"argnames={argnames!r}: f does not say the names of its parameters. Write argnums")

    @classmethod
    def not_passed(cls, name: str) -> ArgumentNumberError:
        """Return the error for a name in `argnames` that a call has no argument for."""
        return cls._saying(f"argnames names {name!r}, and the call passes no such argument")

    @classmethod
    def of_nondiff(cls, argnums: Any, count: int) -> ArgumentNumberError:
        """Return the error for `nondiff_argnums` of a function with so many parameters."""
        wanted = f"distinct ints in 0..{count - 1}, and leave an argument to differentiate"
        return cls._saying(f"nondiff_argnums must be {wanted}, got {argnums!r}")


class OutputNumberError(DualrevError, ValueError):
    """`outputs` that does not name arguments to which a function can write.

    `vjp`, `jvp` and the Jacobians raise it.

    >>> import dualrev as dr
    >>> dr.vjp(lambda x: None, 2.0, outputs=0)
    Traceback (most recent call last):
    dualrev.errors.OutputNumberError: outputs names argument 0, which is 2.0 (type float), and no function can ...
    """

    def __init__(self, outputs: Any, count: int) -> None:
        super().__init__(
            f"outputs={outputs!r} does not name different ones of the {count} positional arguments. It is an int or a"
            " tuple of ints, counted from 0: the arguments into which the function writes its results."
        )

    @classmethod
    def of_value(cls, k: int, x: Any) -> OutputNumberError:
        """Return the error for argument k, whose value x cannot be written to."""
        return cls._of(k, f"which is {_short(x)} (type {type(x).__name__})")

    @classmethod
    def of_type(cls, k: int, kind: str) -> OutputNumberError:
        """Return the error for argument k of a compiled function, whose numba type is known."""
        return cls._of(k, f"which has numba type {kind}")

    @classmethod
    def _of(cls, k: int, which: str) -> OutputNumberError:
        return cls._saying(f"outputs names argument {k}, {which}, and no function can write to that. Name an array.")


class CustomRuleError(DualrevError, TypeError):
    """Custom derivative rule that is missing or does not fit its function.

    `custom_vjp`, `custom_jvp`, `checkpoint` and `dualrev.implicit` raise it: no `defvjp`, a `bwd` that returns too few
    cotangents, a function that changes its arguments.

    >>> import dualrev as dr
    >>> dr.grad(dr.custom_vjp(lambda x: x * x))(2.0)
    Traceback (most recent call last):
    dualrev.errors.CustomRuleError: the derivative of '<lambda>' was asked for at ...
    """

    def __init__(self, f: Any, needed: str) -> None:
        super().__init__(
            f"the derivative of {getattr(f, '__qualname__', f)!r} was asked for{where()}; it needs {needed}."
        )


class SolutionError(DualrevError, RuntimeError):
    """Solution without a derivative: it is inaccurate, or its Jacobian is singular.

    `dualrev.implicit` and the solvers of `dualrev.scipy` raise it while the function is differentiated.

    >>> import dualrev as dr
    >>> dr.grad(lambda a: dr.implicit.attach(lambda x: x * x - a, 1.0))(2.0)
    Traceback (most recent call last):
    dualrev.errors.SolutionError: the solution of '<lambda>.<locals>.<lambda>' has no derivative at ...
    """

    def __init__(self, f: Any, why: str) -> None:
        name = f if isinstance(f, str) else getattr(f, "__qualname__", _short(f))
        super().__init__(
            f"the solution of {name!r} has no derivative{where()}: {why}. The implicit function theorem holds where a"
            " solution has been found to some digits, and moves smoothly: let the solver go on, or change its start."
        )


class NonFiniteError(DualrevError, FloatingPointError):
    """Derivative that is NaN or infinite, with the operation that makes it so.

    Derivatives raise it inside of `with dr.debug_nans():`.

    >>> import dualrev as dr
    >>> with dr.debug_nans():
    ...     dr.grad(dr.math.sqrt)(0.0)
    Traceback (most recent call last):
    dualrev.errors.NonFiniteError: ...
    """

    @property
    def page(self) -> str:
        """Page of the documentation that says what to write."""
        return "docs/nan.md"

    def __init__(self, place: str, what: str, cure: str) -> None:
        super().__init__(f"{place}: {what}.\n{cure}", _NONFINITE)

    @classmethod
    def unknown(cls, f: Any, what: str, why: str) -> NonFiniteError:
        """Return the error for the derivative of a numba function whose line is not known; `why` gives the reason."""
        text = f"the derivative of {getattr(f, '__qualname__', _short(f))!r} is not finite: {what}. {why}."
        return cls._saying(f"{text}{_HINT}", _NONFINITE)


_NONFINITE = (
    "This operation is the first one that makes NaN or infinity of finite operands, or NaN of infinite ones, and on"
    " which the result depends: as its value, as its partial derivative, or as the product of that with a finite"
    " cotangent or tangent. A value that is not used, or that np.where does not select, contributes nothing."
)


class LoopError(DualrevError, TypeError):
    """Function that cannot be the step of `checkpoint(step, loop=m)`.

    >>> import dualrev as dr
    >>> dr.checkpoint(lambda k, x: x, loop=-1)
    Traceback (most recent call last):
    dualrev.errors.LoopError: '<lambda>' as the step of a loop: loop is the number of levels, a whole number above ...
    """

    def __init__(self, f: Any, why: str) -> None:
        super().__init__(f"{getattr(f, '__qualname__', f)!r} as the step of a loop: {why}.")


class PrimitiveError(DualrevError, ValueError):
    """Name or formula that `dualrev.primitive` cannot add to the table.

    >>> import dualrev as dr
    >>> dr.primitive("sin", "x", "1.0")
    Traceback (most recent call last):
    dualrev.errors.PrimitiveError: primitive 'sin': the name is taken, or is no name; choose another one.
    """

    def __init__(self, name: Any, why: str) -> None:
        super().__init__(f"primitive {name!r}: {why}.")


class ClosureError(DualrevError, TypeError):
    """Traced number that a checkpointed or lifted function uses, but does not take as an argument.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: dr.checkpoint(lambda y: x * y)(x))(2.0)
    Traceback (most recent call last):
    dualrev.errors.ClosureError: the checkpointed function '<lambda>.<locals>.<lambda>' at ...
    """

    def __init__(self, f: Any) -> None:
        super().__init__(
            f"the checkpointed function {getattr(f, '__qualname__', f)!r}{where()} uses a number under differentiation"
            " that is not among its arguments; it will be run again with its arguments only. Pass the number to it."
        )


class CheckError(DualrevError, AssertionError):
    """Derivative that differs from finite differences, or value that differs from the undifferentiated function's.

    `check` and `check_grads` raise it, and every derivative does where the environment has DUALREV_CHECK=1.

    >>> import dualrev as dr
    >>> dr.check(lambda x: 3.0 if isinstance(x, float) else x, 2.0)
    Traceback (most recent call last):
    dualrev.errors.CheckError: '<lambda>' returned 2.0 while differentiated but 3.0 normally. The two runs part at ...
    """

    def __init__(self, what: str, found: Any, expected: Any, tolerance: str, rules: Sequence[str] = ()) -> None:
        by = (
            f" The rule of {' and of '.join(map(repr, rules))} takes part: compare it with the formula."
            if rules
            else ""
        )
        super().__init__(
            f"{what}: found {found!r}, expected {expected!r} by central differences, {tolerance}.{by}",
            "Both are derivatives in one random direction. They differ where a rule is wrong, where f has a kink or"
            " a jump at these arguments, where f gives another value each time, and where its values are so large that"
            " differences lose their digits: compare with other arguments, and with another eps.",
        )

    @classmethod
    def of_value(cls, f: Any, what: str, why: str) -> CheckError:
        """Return the error for the value of f when it is differentiated, or for what f leaves in its arguments."""
        name = getattr(f, "__qualname__", None) or _short(f)
        return cls._saying(f"{name!r} {what}. {why}".strip())


_COTANGENTS = (
    "A cotangent has the structure of the value: a number for every real scalar, an array of the same shape for an"
    " array, None for every discrete value."
)


class CotangentError(DualrevError, ValueError):
    """Cotangent without the structure of the function's value, given to a pullback.

    Compiled code cannot print the value that it was given: it raises this without arguments.

    >>> import dualrev as dr
    >>> dr.vjp(lambda x: [x, x], 2.0)[1](1.0)
    Traceback (most recent call last):
    dualrev.errors.CotangentError: the pullback was given 1.0 (type float) where the function's value has a list ...
    """

    def __init__(self, found: Any = None, expected: str = "") -> None:
        what = f"the pullback was given {_short(found)} (type {type(found).__name__}) where the function's value has"
        super().__init__(
            (f"{what} {expected}" if expected else "a cotangent has another shape than the array that it belongs to")
            + ".",
            _COTANGENTS,
        )

    @classmethod
    def of(cls, kind: str, expected: str) -> CotangentError:
        """Return the error for a cotangent of a numba type."""
        text = f"a cotangent of numba type {kind} was given where the function's value has {expected}."
        return cls._saying(text)


class TangentError(DualrevError, ValueError):
    """Tangent without the structure of the primals, given to `jvp` or `hvp`.

    Compiled code cannot print the value that it was given: it raises this without arguments.

    >>> import dualrev as dr
    >>> dr.jvp(lambda x: x * x, (2.0,), ([1.0],))
    Traceback (most recent call last):
    dualrev.errors.TangentError: a tangent is [1.0] (type list) where the primals have a real scalar. ...
    """

    def __init__(self, found: Any = None, expected: str = "") -> None:
        given = f"{_short(found)} (type {type(found).__name__})"
        other = "a tangent has another shape than the array that it belongs to"
        super().__init__(
            f"{f'a tangent is {given} where the primals have {expected}' if expected else other}.",
            "Tangents are a tuple with an entry for every primal: a number for every real scalar, an array of the same"
            " shape for an array, None for every discrete value. hvp(f)(x, p) takes a vector p of the structure of x.",
        )

    @classmethod
    def of_vector(cls, found: Any, expected: str) -> TangentError:
        """The same for the vector of hvp."""
        given = f"{_short(found)} (type {type(found).__name__})"
        text = f"the vector p of hvp(f)(x, p) is {given} where x has {expected}. Give p the structure of x.{_HINT}"
        return cls._saying(text, cls().more)

    @classmethod
    def of(cls, kind: str, expected: str) -> TangentError:
        """Return the error for a tangent of a numba type."""
        return cls._saying(f"a tangent of numba type {kind} was given where the primals have {expected}.")


class TreeError(DualrevError, ValueError):
    """Nested data whose structure differs from the first data's in the same call.

    `dualrev.tree.map` and the inverse that `dualrev.tree.ravel` returns raise it.

    >>> import dualrev as dr
    >>> dr.tree.map(lambda a, b: a + b, [1.0, 2.0], [1.0])
    Traceback (most recent call last):
    dualrev.errors.TreeError: nested data has [1.0] (type list) where the first one has a list with 2 entries. Data ...
    """

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(
            f"nested data has {_short(found)} (type {type(found).__name__}) where the first one has {expected}. Data"
            " that is taken together has one structure, with the same discrete values or None in their place."
        )


class _MisfitError(DualrevError, ValueError):
    def __init__(self, what: str, why: str, instead: str) -> None:
        super().__init__(f"{what}{where()}: {why}. Write {instead}.")


class BatchError(_MisfitError):
    """Axes, arguments or results that do not fit `vmap`.

    >>> import dualrev as dr
    >>> dr.vmap(lambda x: x)(2.0)
    Traceback (most recent call last):
    dualrev.errors.BatchError: axis 0 of argument 0 at ...
    """


class BridgeError(_MisfitError):
    """Function or start that a bridge of `dualrev.interop` cannot use.

    Examples are a third derivative in PyTensor, and a start of the chains in nutpie where the density is not finite.
    """


class LaunchError(_MisfitError):
    """Arguments of an adjoint of a CUDA kernel that do not fit, or too short a tape for its threads.

    `dualrev.cuda.adjoint` raises it, and so does the launch of an adjoint.

    >>> import dualrev as dr
    >>> dr.cuda.adjoint(len)
    Traceback (most recent call last):
    dualrev.errors.LaunchError: dr.cuda.adjoint at ...
    """


class SparsityError(_MisfitError):
    """Sparsity pattern that has another shape, or lacks an entry that is not zero.

    `sparse_jacobian` and `sparse_hessian` raise it, also where no pattern can be found.

    >>> import dualrev as dr
    >>> dr.sparse_jacobian(lambda x: [x[0], x[0] + x[1]], sparsity=[[1.0]])([1.0, 2.0])
    Traceback (most recent call last):
    dualrev.errors.SparsityError: the sparsity of '<lambda>' is of shape (1, 1) at ...
    """


_LATEST: ContextVar[tuple[str, ConversionError] | None] = ContextVar(
    "the line of a library, and the latest ConversionError", default=None
)


class ConversionError(DualrevError, TypeError):
    """Traced number that code converts to a plain float, which would lose its derivative.

    `float(x)`, the functions of `math`, and writes to arrays of plain floats convert. Use `dualrev.math` and
    `dualrev.numpy`, or `dualrev.value(x)` where a constant is meant.

    >>> import math
    >>> import dualrev as dr
    >>> dr.grad(lambda x: math.sin(x))(2.0)
    Traceback (most recent call last):
    dualrev.errors.ConversionError: float() of a number that is being differentiated at ...
    """

    def __init__(self, conversion: str) -> None:
        inside, place = library(), where()
        text, more = conversions.said(conversion, inside, place)
        super().__init__(text, more)
        _LATEST.set((inside, self))

    @classmethod
    @contextlib.contextmanager
    def remembered(cls) -> Iterator[None]:
        """Return a context in which `lost` and `latest` know only the errors raised inside of it."""
        token = _LATEST.set(None)
        try:
            yield
        finally:
            _LATEST.reset(token)

    @classmethod
    def lost(cls, file: str, line: int) -> Self | None:
        """Return the latest error of this call again, if that line of a package made the conversion, else None.

        C code that ignores errors goes on with one set, and raises another one or loses it: SciPy's brentq takes the
        number for -1.0, and says that the signs are wrong.
        """
        inside, error = _LATEST.get() or ("", None)
        return cls._again(error) if inside.endswith(f", at {file}:{line})") else None

    @classmethod
    def latest(cls, place: str) -> Self | None:
        """Return the latest error of this call again, if it names this place, else None.

        Numpy may raise an error of its own in its stead.
        """
        _, error = _LATEST.get() or ("", None)
        return cls._again(error) if place and f" at {place}" in str(error) else None

    @classmethod
    def _again(cls, error: ConversionError | None) -> Self | None:
        return None if error is None else cls._saying(str(error), error.more)


class HashError(DualrevError, TypeError):
    """Traced number as a key of a dict, a set or a cache.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: {x: 1.0}[x] * x)(2.0)
    Traceback (most recent call last):
    dualrev.errors.HashError: a number that is being differentiated was used as a key at ...
    """

    def __init__(self) -> None:
        super().__init__(
            f"a number that is being differentiated was used as a key{where()}.\n"
            "Use dualrev.value(x) for the key, or a key that is not computed from the arguments.",
            "Two such numbers may be equal and have different derivatives, so a dict or a cache would mix them up.",
        )


class LeakError(DualrevError, RuntimeError):
    """Traced number that is used after the call of the derivative that made it.

    >>> import dualrev as dr
    >>> kept = []
    >>> slope = dr.grad(lambda x: kept.append(x) or x * x)(2.0)
    >>> kept[0] + 1.0
    Traceback (most recent call last):
    dualrev.errors.LeakError: a number from a differentiation that has ended was used at ...
    """

    def __init__(self) -> None:
        super().__init__(
            f"a number from a differentiation that has ended was used{where()}.\n"
            "It was kept in a global, a cache, a closure or a generator: keep dualrev.value(x) there, or compute it"
            " in each call.",
            "A number has a derivative only during the call of the derivative in which it was made: after that, nobody"
            " would collect what it contributes. Its plain value can be kept.",
        )


class LiftError(DualrevError, TypeError):
    """Argument of `dualrev.lift` that is not a numba function.

    >>> import dualrev as dr
    >>> dr.lift(lambda x: x * x)
    Traceback (most recent call last):
    dualrev.errors.LiftError: dualrev.lift takes a numba function, but got ...
    """

    def __init__(self, f: Any) -> None:
        super().__init__(
            f"dualrev.lift takes a numba function, but got {_short(f)} (type {type(f).__name__}){where()}. A Python"
            " function is differentiated as it is: leave dualrev.lift out, or write @numba.njit below it."
        )


class UnsupportedError(DualrevError, TypeError):
    """Function or construct that dualrev cannot differentiate.

    The tape raises it for a function without a derivative rule; the compiler for a construct of a numba function, with
    its file and line.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.grad(lambda x: np.i0(x).sum())(np.ones(3))
    Traceback (most recent call last):
    dualrev.errors.UnsupportedError: numpy.i0 of numbers that are being differentiated at ...
    """

    place: tuple[str, int] | None = None  # in a numba function: file and line

    @property
    def page(self) -> str:
        """Page of the documentation that says what to write."""
        return "docs/tape.md" if self.place is None else "docs/numba/limits.md"

    @property
    def explanation(self) -> str:
        """The message, and below it the reason, other possible fixes, and how to find all such lines."""
        every = "dualrev.check(f, *args) lists all lines of f that cannot be differentiated, and what to write in each."
        return f"{super().explanation}\n\n{every}"

    def __init__(
        self, name: str, instead: str, why: str = "there is no derivative rule for it", more: str = ""
    ) -> None:
        inside = library()
        function = library_calls.called() if inside else None
        super().__init__(
            f"{name} of numbers that are being differentiated{where()}{f' (inside {function})' if function else ''}:"
            f" {why}. Write {instead}.",
            f"{f'It is called{inside}. ' if inside else ''}{more}".strip(),
        )

    @classmethod
    def at(cls, place: str, what: str, why: str, instead: str) -> UnsupportedError:
        """Return the error for a construct of a numba function.

        `place` is `file:line`, followed by the line's text if that is known.

        Without a reason `why`, the message says that the construct is not supported.

        >>> raise UnsupportedError.at("f.py:3", "a `with` statement", "it has no derivative", "the body alone")
        Traceback (most recent call last):
        dualrev.errors.UnsupportedError: f.py:3: a `with` statement cannot be differentiated: it has no derivative. \
Write the body alone.
        """
        reason = f"cannot be differentiated: {why}" if why else "is not supported here"
        return cls._saying(f"{place}: {what} {reason}. Write {instead}.")

    @classmethod
    def because(cls, place: str, what: str, why: str, cure: str) -> UnsupportedError:
        """The same with the cure as a sentence."""
        return cls._saying(f"{place}: {what} cannot be differentiated: {why}. {cure}")

    @classmethod
    def call(cls, what: str, why: str, instead: str) -> UnsupportedError:
        """Return the error for a call in the user's code; `what` names the function and the argument."""
        return cls._saying(f"{what}{where()}: {why}. Write {instead}.")

    @classmethod
    def in_file(cls, place: str, what: str, why: str, instead: str) -> UnsupportedError:
        """Return the error for a derivative whose source cannot be written to a file of its own (dualrev.warm).

        >>> raise UnsupportedError.in_file("f.py:3", "`table`", "it is a value of the enclosing function", "a global")
        Traceback (most recent call last):
        dualrev.errors.UnsupportedError: f.py:3: the derivative cannot be written to a file: `table`: it is a value \
of the enclosing function. Write a global.
        """
        return cls._saying(f"{place}: the derivative cannot be written to a file: {what}: {why}. Write {instead}.")


class UntestedVersionWarning(UserWarning):
    """Version of numba that is newer than those that this version of dualrev was tested with.

    The first derivative that a process compiles warns. To silence it, install a tested version of numba, or filter the
    class:

    >>> import warnings
    >>> import dualrev as dr
    >>> warnings.filterwarnings("ignore", category=dr.errors.UntestedVersionWarning)
    """

    def __init__(self, found: str, newest: str) -> None:
        major, _, minor = newest.partition(".")
        super().__init__(found, newest)
        self._cap = f"{major}.{int(minor) + 1}"

    def __str__(self) -> str:
        found, newest = self.args
        return (
            f"numba {found} is newer than {newest}, the newest version that dualrev {__version__} was tested with:"
            " compiled derivatives may fail, or be wrong."
            f' Run `pip install "numba<{self._cap}"`, or install a newer dualrev.'
            " To stay with this numba, check derivatives by dr.check_grads(f, args), and silence the warning:"
            " warnings.filterwarnings('ignore', category=dr.errors.UntestedVersionWarning)"
        )


def explain(error: BaseException | None = None) -> None:
    """Print what an error of this library means: its message, the reason, other fixes and the page of the docs.

    By default it is the error that an `except` block handles, or the last one that Python's prompt, IPython or a
    notebook has shown; one of ours that has led to another error is found, too.

    >>> import dualrev as dr
    >>> try:
    ...     dr.grad(lambda x: x * x)(2)
    ... except dr.DualrevError:
    ...     dr.errors.explain()
    there is nothing to differentiate with respect to: the arguments (types: int) hold no real scalar. Write 2.0 ...
    <BLANKLINE>
    Floats, numpy floating scalars and the elements of floating arrays are differentiated; ints, bools, ...
    <BLANKLINE>
    Page: docs/sharp_bits.md
    """
    shown = (sys.exception(), getattr(sys, "last_exc", None), getattr(sys, "last_value", None))
    for given in [error] if error is not None else shown:
        seen: set[int] = set()
        while given is not None and id(given) not in seen:
            if isinstance(given, DualrevError):
                print(f"{given.explanation}\n\nPage: {given.page}")
                return
            seen.add(id(given))
            given = given.__cause__ or given.__context__
    if error is not None:
        print(f"{type(error).__name__} is no error of dualrev: its message says all that is known.")
    else:
        print("No error of dualrev is known here. Write dualrev.errors.explain(error) with the error that was caught.")


def _short(x: Any) -> str:
    try:
        text = repr(x)
    except Exception:  # the user's __repr__, or one that recurses too deeply: the message matters more
        text = object.__repr__(x)
    return text if len(text) <= 60 else text[:57] + "..."
