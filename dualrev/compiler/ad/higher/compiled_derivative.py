"""Lowering of compiled derivatives to core, for higher orders: see ad/higher/derivative_operators.py.

A derivative has no source of its own. It stands in the place of the function that it is of, with its own parameters.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import NoReturn

from numba.core import types

from dualrev.compiler.ad.differentiated import check_scalar, chosen_numbers
from dualrev.compiler.ad.function_table import Caller, FunctionTable
from dualrev.compiler.ad.higher.derivative_operators import derivative_in_core
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.layout import asks_for_layout, looks_at_layout, with_callees
from dualrev.compiler.frontend.reading.njit_options import alike, is_checked
from dualrev.compiler.frontend.reading.source import Source, Static, describe
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaTypes
from dualrev.errors import ArgumentError

__all__ = ["core", "source_of"]

#: The way from a derivative to its function.
_FUNCTION = (("attr", "derivative_of"), ("item", 0))


def source_of(derivative: Dispatcher, of: Source) -> Source:
    """A synthetic source for a derivative: its function's, with the derivative's own name and parameters."""
    names = list(inspect.signature(derivative.py_func).parameters)
    text = f"def {derivative.py_func.__name__}({', '.join(names)}): pass"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.arg)):
            node.lineno = node.end_lineno = of.tree.lineno
    return replace(of, dispatcher=derivative, tree=tree)


def core(
    front: FunctionTable,
    derivative: Dispatcher,
    argtypes: NumbaTypes,
    path: AccessPath,
    functions: dict[str, Static],
    caller: Caller,
) -> Function:
    """Lower a derivative to core for these argument types; UnsupportedError if it cannot be differentiated."""
    f, transform, argnums = derivative.derivative_of
    source = front.source(derivative)
    place, line = caller.place or (source, source.tree.lineno)

    def refuse(why: str, instead: str) -> NoReturn:
        """Refuse at the user's line that calls the derivative."""
        name = {"keep": "vjp", "product": "hvp"}.get(transform, transform.removesuffix("_aux"))
        place.refuse(line, f"a derivative of the {name} of {describe(f.py_func)}", why, instead)

    if transform.endswith("_aux"):
        refuse("it was made with has_aux=True", "a function that returns the value only, and dr.grad of it")
    if not all(map(alike, derivative._declared(argtypes), argtypes)):
        refuse("numba converts its arguments to those of a declared signature", "arguments of these types")
    names, own = source.parameters, front.source(f).parameters
    places = derivative._places
    passed = {x: functions[names[k]] for x, k in zip(own, places, strict=False) if names[k] in functions}
    primals = derivative._primals(argtypes)
    of = front.core(f, primals, (*path, *_FUNCTION), passed, apart=False, caller=Caller(f, (place, line)))
    for _ in with_callees(of, front.program):  # all that it calls is read: numba compiles a derivative by itself
        pass
    several = isinstance(argnums, tuple)
    kinds = tuple(t for k, t in enumerate(argtypes) if k not in places)
    if transform in ("jvp", "vjp", "keep"):
        numbers, several = tuple(k for k, p in enumerate(of.parameters) if any(map(carries, leaves(p)))), True
        if transform == "jvp":
            numbers = tuple(k for k in numbers if not isinstance(kinds[k], types.NoneType))
        if not numbers:
            raise ArgumentError.of(", ".join(map(str, primals)))
    else:
        numbers = tuple(chosen_numbers(argnums, of, primals))
    several_numbers = transform == "hessian" and any(map(carries, leaves(of.result)))
    if transform in ("grad", "value_and_grad", "product", "hvp", "hessian") and not several_numbers:
        check_scalar(of)
    strided = looks_at_layout(of, front.program) if transform == "keep" else asks_for_layout(of, front.program)
    made = derivative_in_core(front.forward, transform, of, numbers, several, kinds, strided, refuse)
    origin = replace(of.origin, dispatcher=derivative, source=source, parameters=names)
    return replace(made, checked=is_checked(derivative), origin=origin)
