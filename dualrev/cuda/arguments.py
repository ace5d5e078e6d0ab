"""Arguments of a kernel: a tuple, or a named tuple, stands for the arrays and numbers in it.

    argument                    members                               shadow
    State(x, v, 0.1)            state.x, state.v, state.dt            State(d_x, d_v, None)
    (x, (k, y))                 pair[0], pair[1][0], pair[1][1]       (d_x, (None, d_y))

An adjoint kernel takes the members, each as an argument of its own. In the shadow of a tuple, None stands for what has
no shadow. An argument without arrays of floats has no shadow at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from numba.core import types

from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_records
from dualrev.compiler.types.leaves import members as fields_of
from dualrev.compiler.types.predicates import is_real_array
from dualrev.diagnostics.quoting import unused

__all__ = ["Leaf", "Member", "flat", "has_shadow", "mapped", "members", "shadows_in", "shadows_of", "type_of"]


class Member(NamedTuple):
    """Array or number of an argument: how the user calls it, its name in the adjoint kernel, and its numba type."""

    name: str
    parameter: str
    kind: NumbaType

    def leaves(self) -> list[Leaf]:
        """The array or number itself; of an array of records, an array for each field."""
        if not is_records(self.kind):
            return [Leaf(self.name, self.parameter, self.kind, None)]
        return [
            Leaf(f"{self.name}[{field!r}]", f"{self.parameter}_{field if field.isidentifier() else k}", kind, field)
            for k, (field, kind) in enumerate(fields_of(self.kind).items())
        ]


class Leaf(NamedTuple):
    """What the compiler knows of a member: an array, or a number; `field` is None unless it is a part of records."""

    name: str
    parameter: str
    kind: NumbaType
    field: str | None


def has_shadow(kind: NumbaType) -> bool:
    """Whether an argument of this type has a shadow: an array of floats or of records with floats, or a tuple."""
    if isinstance(kind, types.BaseTuple):
        return any(map(has_shadow, kind.types))
    return any(map(is_real_array, fields_of(kind).values())) if is_records(kind) else bool(is_real_array(kind))


def members(names: Sequence[str], kinds: Sequence[NumbaType]) -> list[Member]:
    """Return the members of arguments, in order."""
    taken = {*names}
    found: list[Member] = []

    def visit(name: str, parameter: str, kind: NumbaType) -> None:
        """Visit a part of an argument."""
        if not isinstance(kind, types.BaseTuple):
            found.append(Member(name, parameter, kind))
            return
        for (part, key), t in zip(_parts(name, kind), kind.types, strict=True):
            own = unused(f"{parameter}_{key}", taken)
            taken.add(own)
            visit(part, own, t)

    for name, kind in zip(names, kinds, strict=True):
        visit(name, name, kind)
    return found


def _parts(name: str, x: Any) -> Iterator[tuple[str, object]]:
    """How the parts of a tuple, or of the type of one, are called; and their keys."""
    fields = getattr(x, "_fields", None) or getattr(x, "fields", None)
    if fields:
        yield from ((f"{name}.{key}", key) for key in fields)
    else:
        yield from ((f"{name}[{k}]", k) for k in range(len(x)))


def flat(args: Sequence[Any]) -> list[Any]:
    """Return the members of the values of arguments."""
    return [y for x in args for y in (flat(x) if isinstance(x, tuple) else [x])]


def mapped(name: str, x: Any, f: Callable[[str, Any], Any]) -> Any:
    """Return an argument with other members: `f(name, member)`."""
    if not isinstance(x, tuple):
        return f(name, x)
    found = [mapped(part, y, f) for (part, _), y in zip(_parts(name, x), x, strict=True)]
    return type(x)(*found) if hasattr(x, "_fields") else tuple(found)


def type_of(name: str, x: Any, f: Callable[[str, Any], NumbaType]) -> NumbaType:
    """Return numba's type of an argument, whose members have the types `f(name, member)`."""
    if not isinstance(x, tuple):
        return f(name, x)
    kinds = tuple(type_of(part, y, f) for (part, _), y in zip(_parts(name, x), x, strict=True))
    return types.BaseTuple.from_types(kinds, type(x) if hasattr(x, "_fields") else None)


def shadows_in(name: str, kind: NumbaType, shadow: Any, misfit: Callable[[str, str], Exception]) -> Iterator[Any]:
    """Return the shadows in the shadow of an argument; raise `misfit(why, cure)` if it has another structure."""
    if not isinstance(kind, types.BaseTuple):
        yield shadow
        return
    parts = list(_parts(name, kind))
    if not isinstance(shadow, tuple) or len(shadow) != len(parts):
        found = f"{len(shadow)} members" if isinstance(shadow, tuple) else type(shadow).__name__
        why = f"the shadow of {name} is a tuple with a shadow for each array of floats, and None for any other member"
        raise misfit(f"{why}, got {found}", _written(kind))
    for (part, _), of, given in zip(parts, kind.types, shadow, strict=True):
        if has_shadow(of):
            yield from shadows_in(part, of, given, misfit)
        elif given is not None:
            raise misfit(f"{part} has no shadow, as it is no array of floats, got {type(given).__name__}", "None")


def _written(kind: NumbaType) -> str:
    """The shadow of a tuple, as the user may write it."""
    parts = [
        "None" if not has_shadow(of) else _written(of) if isinstance(of, types.BaseTuple) else f"d_{key}"
        for (_, key), of in zip(_parts("", kind), kind.types, strict=True)
    ]
    cls = getattr(kind, "instance_class", None)
    if cls is not None:
        return f"{cls.__name__}({', '.join(parts)})"
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def shadows_of(args: Sequence[Any], active: Collection[int], made: Callable[[Any], Any]) -> list[Any]:
    """Return a shadow for each argument that has one: `made` of the members at the numbers `active`."""
    numbers = itertools.count()

    def shadow(x: Any) -> Any:
        """Shadow of an argument, or None."""
        if not isinstance(x, tuple):
            return made(x) if next(numbers) in active else None
        parts = tuple(map(shadow, x))
        return None if all(part is None for part in parts) else parts

    return [y for y in map(shadow, args) if y is not None]
