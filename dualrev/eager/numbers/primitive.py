"""A line that a user adds to the table of primitives: a function of a few numbers, and its partial derivatives."""

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
    """A new line of the table of primitives: a function of 1 to 3 real numbers, and its partial derivatives.

    The value and the partials are text in the arguments, x or a, b, c, and, in partials, the value y; they use
    operators, conditional expressions and the functions of the table. Or they are functions of the arguments, floats;
    what the partials call must be differentiable, if second derivatives are asked for. Returns the function; it takes
    plain numbers, numbers under differentiation, and arrays.

    `ufunc` is the name of a ufunc of NumPy or SciPy that the line holds for, too: with ufunc="expit", the line is that
    of scipy.special.expit. The names of the table's own lines are taken; a line added before is replaced.
    PrimitiveError for a name that is taken, and for text that is no expression. See dualrev/rules/primitives.py for the
    rest.

    >>> from dualrev import grad
    >>> softplus = primitive("softplus", "log1p(exp(x))", "1.0 / (1.0 + exp(-x))")
    >>> grad(softplus)(0.0), grad(grad(softplus))(0.0)
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
