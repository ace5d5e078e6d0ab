"""Entry points by lists of numbers: wrappers that take and return lists, around derivatives by arrays.

    def grad_f(ys, x):                         around the function that the module is made for
        return as_list(ys, grad_f_(elements(ys), x))

A function may not change such a list: so nothing has to be written back.
"""

from __future__ import annotations

from collections.abc import Sequence

from numba.core import types

from dualrev.compiler.frontend.reading.source import Source, is_derivative
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.predicates import is_list
from dualrev.diagnostics.quoting import docstring

__all__ = ["check_lists", "inside", "takes_lists", "with_lists"]

_TRANSFORMS = ("grad", "value_and_grad", "vjp", "jvp")


def takes_lists(kinds: Sequence[NumbaType]) -> bool:
    """Whether one of the arguments is a list of numbers."""
    return any(map(_is_list_of_numbers, kinds))


def _is_list_of_numbers(kind: NumbaType) -> bool:
    return is_list(kind) and isinstance(kind.dtype, (types.Number, types.Boolean))


def inside(kind: NumbaType) -> NumbaType:
    """Type of a tangent or a cotangent inside of the wrapper: an array for a list of numbers, None for another list."""
    if isinstance(kind, types.List):
        return types.Array(kind.dtype, 1, "C") if _is_list_of_numbers(kind) else types.none
    return kind


def _passed(name: str, kind: NumbaType) -> str:
    if isinstance(kind, types.List) and inside(kind) == types.none:
        return "None"
    return f"runtime.elements({name})" if _is_list_of_numbers(kind) else name


def check_lists(f: Dispatcher, source: Source, transform: str, kinds: Sequence[NumbaType]) -> None:
    """Raise UnsupportedError for a transform that has no form for lists."""
    typed = any(isinstance(kind, types.ListType) for kind in kinds)
    known = _TRANSFORMS[:2] if typed else _TRANSFORMS
    if transform not in known or is_derivative(f):
        what, why = f"the {transform} by a list as an argument", f"of lists, only {', '.join(known)} are known"
        if transform.endswith("_aux"):
            what = "has_aux for a list as an argument"
        source.refuse(source.tree, what, why, "np.array of it")


def with_lists(text: str, entry: str, transform: str, argnums: ArgNums, kinds: NumbaTypes, count: int) -> str:
    """Append the wrapper `<entry>_of_lists` to the text of a module."""
    names = [f"a{k}" for k in range(len(kinds))]
    given = map(_passed, names, kinds)
    lines = [f"made = {entry}({', '.join(given)})"]
    numbers = list(range(count)) if transform == "vjp" else argnums
    if transform == "grad":
        lines.append(f"return {_gradient('made', numbers, kinds)}")
    elif transform == "jvp":
        lines.append("return made")
    else:
        lines.append(f"return made[0], {_gradient('made[1]', numbers, kinds)}")
    doc = f"    {docstring(f'{entry} of lists.')}"
    head = ["", "", "@njit(error_model='numpy')", f"def {entry}_of_lists({', '.join(names)}):", doc]
    return text + "\n".join([*head, *(f"    {line}" for line in lines)]) + "\n"


def _gradient(made: str, numbers: ArgNums, kinds: NumbaTypes) -> str:
    """Text of the gradient, with lists in place of arrays."""
    if not isinstance(numbers, (list, tuple)):
        return f"runtime.as_list(a{numbers}, {made})" if _is_list_of_numbers(kinds[numbers]) else made
    parts = []
    for place, k in enumerate(numbers):
        part = f"{made}[{place}]"
        real = _is_list_of_numbers(kinds[k]) and isinstance(kinds[k].dtype, types.Float)
        parts.append(f"runtime.as_list(a{k}, {part})" if real else part)
    return f"({', '.join(parts)},)"
