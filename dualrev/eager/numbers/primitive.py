"""`primitive`: a user's line in the table of primitives, a function of a few numbers with its partial derivatives."""

from __future__ import annotations

import ast
import keyword
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, plain, real_array
from dualrev.eager.arrays.ufuncs import on_arrays, table_by_ufunc
from dualrev.eager.numbers.primitive_functions import function
from dualrev.errors import PrimitiveError
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["primitive"]


def primitive(
    name: str,
    value: str | Callable[..., Any],
    *partials: str | Callable[..., Any],
    ufunc: str = "",
    domain: Sequence[tuple[float, float]] | None = None,
    kink: str = "",
    note: str = "",
) -> Callable[..., Any]:
    """Elementwise function with its partial derivatives, added to the table of primitives of the tape.

    Args:
        name: Name of the line, a new identifier. A line that was added before is replaced.
        value: The function of 1 to 3 real numbers: an expression as text, in x or in a, b, c, with operators,
            conditional expressions and functions of the table; or a Python function of floats.
        *partials: A partial derivative for each argument, as text (which may use y, the value) or as a function.
            Functions have to be differentiable where second derivatives are needed.
        ufunc: Name of a ufunc of NumPy or SciPy that the line is for, too, such as "expit".
        domain: A pair (low, high) for each argument, from which tests draw numbers; (-3, 3) by default.
        kink: Where the function is not differentiable, and what its derivative is there, in words.
        note: Anything else worth knowing.

    Returns:
        A function of numbers, traced numbers and arrays, which broadcast.

    Raises:
        PrimitiveError: The name is taken, text is not an expression of the table, or the number of partials is not 1 to
            3 (a ValueError).

    >>> import dualrev as dr
    >>> softplus = dr.primitive("softplus", "log1p(exp(x))", "1.0 / (1.0 + exp(-x))")
    >>> dr.grad(softplus)(0.0), dr.grad(dr.grad(softplus))(0.0)
    (0.5, 0.25)
    """
    _check_names(name, ufunc)
    if not 1 <= len(partials) <= 3:
        raise PrimitiveError(name, "it has as many partial derivatives as arguments, 1 to 3")
    texts, functions = _texts(name, (value, *partials))
    domain = tuple(domain) if domain else ((-3.0, 3.0),) * len(partials)
    line = Primitive(name, texts[0], tuple(texts[1:]), domain, kink, note=note, ufunc=ufunc, functions=functions)
    of_numbers, of_arrays = function(line), on_arrays(line)
    PRIMITIVES[name] = line  # type: ignore[index]  # a dict; the type says that nobody else writes to it
    table_by_ufunc.cache_clear()

    def made(*args: Any) -> Any:
        """Apply the line to numbers, or elementwise to arrays."""
        if not any(isinstance(u, (RealArray, np.ndarray)) for u in args):
            return of_numbers(*args)
        arrays = [real_array(u) for u in args]
        y = of_arrays(*arrays)
        return y if any(isinstance(u, RealArray) for u in arrays) else plain(y)

    made.__name__ = made.__qualname__ = name
    made.__module__ = sys._getframe(1).f_globals.get("__name__", "__main__")  # so that it pickles, as a namedtuple does
    made.__doc__ = of_numbers.__doc__
    made.primitive = line  # type: ignore[attr-defined]
    return made


def _check_names(name: Any, ufunc: Any) -> None:
    """PrimitiveError for names that are taken, or are none."""
    if not isinstance(name, str) or name in _BUILT_IN or not name.isidentifier() or keyword.iskeyword(name):
        raise PrimitiveError(name, "the name is taken, or is no name; choose another one")
    if not isinstance(ufunc, str):
        raise PrimitiveError(name, f"ufunc is the name of one, such as 'expit', and not {ufunc!r}")
    if ufunc in _BUILT_IN_UFUNCS:
        raise PrimitiveError(name, f"numpy.{ufunc} has a line in the table; choose another ufunc, or none")


def _texts(name: str, given: Sequence[Any]) -> tuple[list[str], dict[str, Callable[..., Any]]]:
    """The value and the partials as text, and the functions that it calls by names of their own."""
    functions: dict[str, Callable[..., Any]] = {}
    texts = []
    parameters = ("x",) if len(given) == 2 else ("a", "b", "c")[: len(given) - 1]
    for k, part in enumerate(given):
        text = part
        if callable(part):
            functions[f"{name}_{k}"] = part
            text = f"{name}_{k}({', '.join(parameters)})"
        _check(name, text, {*FUNCTIONS, *functions, *parameters, "nan", "inf", *(("y",) if k else ())})
        texts.append(text)
    return texts, functions


def _check(name: str, text: Any, known: set[str]) -> None:
    """PrimitiveError for text that is no expression of the table."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, TypeError):
        raise PrimitiveError(name, f"{text!r} is no expression of Python") from None
    if unknown := sorted({node.id for node in nodes if isinstance(node, ast.Name)} - known):
        raise PrimitiveError(name, f"{text!r} names {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    if not all(isinstance(node, _EXPRESSIONS) for node in nodes):
        raise PrimitiveError(name, f"{text!r} is made of more than operators, conditional expressions and calls")


_EXPRESSIONS = (
    *(ast.Expression, ast.Name, ast.expr_context, ast.Constant, ast.Call, ast.IfExp),
    *(ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop),
)

_BUILT_IN = frozenset(PRIMITIVES) | frozenset(FUNCTIONS)
_BUILT_IN_UFUNCS = frozenset(line.ufunc for line in PRIMITIVES.values() if line.ufunc)
