"""Compiled derivatives as functions of expanded core, for derivatives of them: see transforms/derivatives.py.

A derivative has no source of its own. It stands in the place of the function that it is of, with its own parameters.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from dualrev.compiler.core import leaves
from dualrev.compiler.expand import Expanded
from dualrev.compiler.options import alike, is_checked
from dualrev.compiler.source import Source, Static, describe
from dualrev.compiler.transforms.derivatives import derivative_in_core

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Module

__all__ = ["expanded", "source_of"]

#: The way from a derivative to its function.
_FUNCTION = (("attr", "derivative_of"), ("item", 0))


def source_of(derivative: Any, of: Source) -> Source:
    """A source for a derivative: that of its function, with its own name and parameters."""
    names = list(inspect.signature(derivative.py_func).parameters)
    text = f"def {derivative.py_func.__name__}({', '.join(names)}): pass"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.arg)):
            node.lineno = node.end_lineno = of.tree.lineno
    return replace(of, dispatcher=derivative, tree=tree)


def expanded(
    module: Module, derivative: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static]
) -> Expanded:
    """A derivative for these types of arguments; UnsupportedError if it has no derivatives itself."""
    f, transform, argnums = derivative.derivative_of
    source = module.source(derivative)
    place, line = module.place or (source, source.tree.lineno)

    def refuse(why: str, instead: str) -> NoReturn:
        place.refuse(line, f"a derivative of the {transform} of {describe(f.py_func)}", why, instead)

    if not all(map(alike, derivative._declared(argtypes), argtypes)):
        refuse("numba converts its arguments to those of a declared signature", "arguments of these types")
    names, own = ([a.arg for a in module.source(g).tree.args.args] for g in (derivative, f))
    places = derivative._places
    passed = {x: functions[names[k]] for x, k in zip(own, places, strict=False) if names[k] in functions}
    primals = derivative._primals(argtypes)
    e = module.expanded(f, primals, (*path, *_FUNCTION), passed, apart=False)
    several = isinstance(argnums, tuple)
    if transform in ("jvp", "vjp"):
        real = [k for k, p in enumerate(e.parameters) if any(module.differentiable(x, e) for x in leaves(p))]
        numbers, several = tuple(real), True
    else:
        numbers = tuple(module.chosen("grad", argnums, e, primals))
    if transform in ("grad", "value_and_grad", "product", "hvp", "hessian"):
        module.check_scalar(e)
    kinds = tuple(t for k, t in enumerate(argtypes) if k not in places)
    core = module.typed(f, e)
    strided = module.asks_for_layout(core)
    made = derivative_in_core(module.forward, transform, core, numbers, several, kinds, strided, refuse)
    origin = replace(e, lowered=replace(e.lowered, source=source))
    made = replace(
        made, checked=is_checked(derivative), origin=replace(core.origin, dispatcher=derivative, expanded=origin)
    )
    return module.untyped(made)
