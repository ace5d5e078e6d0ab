"""Checks of arguments and results: argument numbers that have tangents, and a result that is one scalar."""

from __future__ import annotations

from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.ir.core.atom_types import is_real, type_of
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes
from dualrev.errors import ArgumentError, ArgumentNumberError, ScalarError

__all__ = ["check_scalar", "chosen_numbers"]


def chosen_numbers(argnums: ArgNums, f: Function, primals: NumbaTypes) -> list[int]:
    """Indices of the differentiated arguments, after checks of argnums and types."""
    count = len(primals)
    given = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
    numbers = [k % count for k in given if isinstance(k, int) and not isinstance(k, bool) and -count <= k < count]
    if not numbers or len(set(numbers)) < len(given):
        raise ArgumentNumberError(argnums, count)
    for k in numbers:
        if not any(map(carries, leaves(f.parameters[k]))):
            raise ArgumentError.of(str(primals[k]), "choose other arguments by argnums")
    return numbers


def check_scalar(f: Function) -> None:
    """Raise ScalarError for a function that does not return one real scalar."""
    x, source = f.result, f.origin.source
    if not (is_real(x) or (isinstance(x, Constant) and isinstance(x.value, float))):
        raise ScalarError.of(str(type_of(x)), f"{source.file}:{source.tree.lineno}")
