"""Methods, properties and static methods of jitclasses: their numba functions, and access paths to them."""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.frontend.reading.source import Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import AccessPath, UserValue

__all__ = ["constructor", "functions_of", "is_jitclass", "refer_methods"]


def is_jitclass(x: UserValue) -> bool:
    """Whether `x` is a jitclass, and not an instance of one."""
    return isinstance(getattr(x, "class_type", None), types.ClassType)


def functions_of(kind: types.ClassType) -> list[UserValue]:
    """Return the numba functions of a jitclass, and of the jitclasses of its fields."""
    found = [*kind.jit_methods.values(), *kind.jit_static_methods.values()]
    found += [f for both in kind.jit_props.values() for f in both.values()]
    inner = (x.class_type for x in kind.struct.values() if isinstance(x, types.ClassInstanceType))
    return found + [f for cls in inner for f in functions_of(cls)]


def refer_methods(refs: dict[str, anf.Ref], names: Names, kind: types.ClassType, path: AccessPath) -> None:
    """Bind names to the methods of a jitclass, and of its fields' classes; `path` is the access path to the class."""
    known = {id(ref.value) for ref in refs.values()}
    found: list[tuple[str, UserValue, tuple[str, ...]]]
    found = [(name, f, ("jit_methods", name)) for name, f in kind.jit_methods.items()]
    found += [(name, f, ("jit_static_methods", name)) for name, f in kind.jit_static_methods.items()]
    found += [(name, f, ("jit_props", name, how)) for name, both in kind.jit_props.items() for how, f in both.items()]
    if all(id(f) in known for _, f, _ in found):
        return
    for name, f, (table, *items) in found:
        made = names.fresh(f"_{kind.class_name}_{name.strip('_')}")
        refs[made] = anf.Ref(made, f, (*path, ("attr", table), *(("item", x) for x in items)))
    for name, field in kind.struct.items():
        if isinstance(field, types.ClassInstanceType):
            refer_methods(refs, names, field.class_type, (*path, ("attr", "struct"), ("item", name), _CLASS))


def constructor(refs: dict[str, anf.Ref], names: Names, cls: Static) -> Static:
    """Return the `__init__` of a jitclass, after binding names to its methods."""
    path = (*cls.path, _CLASS)
    refer_methods(refs, names, cls.value.class_type, path)
    return Static(cls.value.class_type.jit_methods["__init__"], (*path, ("attr", "jit_methods"), ("item", "__init__")))


_CLASS = ("attr", "class_type")
