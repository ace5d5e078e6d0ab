"""Names for the values of a program: its input's scalars, and the operations on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from dualrev import tree
from dualrev.diagnostics.signatures import signature
from dualrev.eager.numbers import overload
from dualrev.rules.primitives import Primitive

__all__ = ["input_names", "named_inputs", "operation", "primitive_of"]


def input_names(f: Callable[..., Any], primals: Sequence[Any]) -> list[str]:
    """A name for every real scalar of the primals: its parameter, and its position in it.

    >>> input_names(lambda x, ys, n: None, (1.0, [2.0, (3.0, 4.0)], 5))
    ['x', 'ys[0]', 'ys[1][0]', 'ys[1][1]']
    """
    return [name for _, names in named_inputs(f, primals) for name in names]


def named_inputs(f: Callable[..., Any], primals: Sequence[Any]) -> list[tuple[str, list[str]]]:
    """Return the name of every parameter, and the names of its real scalars.

    >>> named_inputs(lambda x, ys, n: None, (1.0, [2.0, 3.0], 5))
    [('x', ['x']), ('ys', ['ys[0]', 'ys[1]']), ('n', [])]
    """
    named = []
    for parameter, primal in zip(_parameters(f, len(primals)), primals, strict=True):
        places = list(_places(primal, parameter))
        scalars, _ = tree.inputs((primal,)) if _holds_scalars(primal) else ([], None)
        if len(places) != len(scalars):  # a class of the user's
            places = [f"{parameter}#{k}" for k in range(len(scalars))]
        named.append((parameter, places))
    return named


def _parameters(f: Callable[..., Any], n: int) -> list[str]:
    try:
        parameters = signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[k] if k < len(names) else f"x{k}" for k in range(n)]


def _holds_scalars(primal: Any) -> bool:
    try:
        return bool(tree.outputs(primal)[0])
    except (TypeError, ValueError):
        return False


def _places(x: Any, name: str) -> list[str]:
    """The scalars of a value of a known data type, as expressions: x, x[0], x.w; in the order of dualrev.tree."""
    if isinstance(x, float):
        return [name]
    if isinstance(x, dict):
        return [place for key in x for place in _places(x[key], f"{name}[{key!r}]")]
    if hasattr(x, "_fields"):
        return [place for key in x._fields for place in _places(getattr(x, key), f"{name}.{key}")]
    if isinstance(x, (list, tuple)):
        return [place for k, y in enumerate(x) for place in _places(y, f"{name}[{k}]")]
    if hasattr(x, "__dataclass_fields__"):
        return [place for key in x.__dataclass_fields__ for place in _places(getattr(x, key), f"{name}.{key}")]
    if hasattr(x, "shape") and getattr(x, "dtype", None) is not None and x.dtype.kind == "f":
        return [f"{name}{list(k) if k else ''}" for k in _indices(x.shape)]
    return []


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    indices: list[tuple[int, ...]] = [()]
    for n in shape:
        indices = [(*index, k) for index in indices for k in range(n)]
    return indices


def operation(frame: FrameType | None, run: overload.Run, number: Callable[[Any], int]) -> str:
    """The operation that a frame, or one around it, executes, as text: v0 * v2, where the scalar v0 has the number 0.

    It is found from the entry in the table of primitives that the frame, one of the library's, works on.
    """
    primitive, frame = primitive_of(frame)
    if primitive is None or frame is None:
        return "an operation"
    seen = frame.f_locals
    if "args" in seen:
        operands = list(seen["args"])
    else:  # a method: __radd__ has its operands the other way round
        operands = [seen[name] for name in ("u", "v") if name in seen]
        operands.reverse() if f".__r{primitive.symbol}__" in frame.f_code.co_filename else None
    texts = dict(zip(primitive.parameters, (_operand(u, run, number) for u in operands), strict=True))
    text = re.sub(r"\b(?:x|a|b|c)\b(?!\()", lambda found: texts.get(found[0], found[0]), primitive.value)
    return text if len(text) <= 40 else f"{primitive.name}({', '.join(texts.values())})"


def primitive_of(frame: FrameType | None) -> tuple[Primitive | None, FrameType | None]:
    """The entry of the table of primitives that a frame or one around it works on, and that frame."""
    while frame is not None:
        primitive = frame.f_locals.get("primitive") or frame.f_globals.get("primitive")
        if primitive is not None:
            return primitive, frame
        frame = frame.f_back
    return None, None


def _operand(u: Any, run: overload.Run, number: Callable[[Any], int]) -> str:
    if isinstance(u, overload.DualNumber) and u.run is run:
        return f"v{number(u)}"
    return f"{overload.value(u):.6g}"
