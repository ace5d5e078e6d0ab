"""Checks of arguments and results: argument numbers that have tangents, a result that is one scalar, or a pair."""

from __future__ import annotations

from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.ir.core.atom_types import is_real, type_of
from dualrev.compiler.ir.core.atoms import Constant, Node, Tree
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes
from dualrev.errors import ArgumentError, ArgumentNumberError, AuxiliaryError, ScalarError

__all__ = ["check_pair", "check_scalar", "chosen_numbers"]


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
    _check(f, f.result)


def check_pair(f: Function) -> None:
    """Raise AuxiliaryError for a function that returns no pair (y, aux), and ScalarError if y is not a real scalar."""
    if not isinstance(f.result, Node) or len(f.result.parts) != 2:
        raise AuxiliaryError.of(str(type_of(f.result)), _place(f))
    _check(f, f.result.parts[0])


def _check(f: Function, y: Tree) -> None:
    if not (is_real(y) or (isinstance(y, Constant) and isinstance(y.value, float))):
        raise ScalarError.of(str(type_of(y)), _place(f))


def _place(f: Function) -> str:
    source = f.origin.source
    return f"{source.file}:{source.tree.lineno}"
