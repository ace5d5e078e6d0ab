"""Lower methods, properties and construction of jitclass instances to calls.

Takes the writer, and `expand`, which writes an operation. A method is a numba function whose first argument is the
instance. The leaves of an instance (types/leaves.py) are made where it is constructed; `__init__` gets them, and
returns those that are bound to a field:

    box = Box(x, v)     box_mass = np.zeros(()); box_at = np.empty(0); box_at = Box.__init__((box_mass, box_at), x, v)

Elsewhere, no array and no instance is bound to a field anew: what another name for the instance stands for would
depend on what has run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import Dispatcher, NumbaType
from dualrev.compiler.types.leaves import is_bound, members

__all__ = ["Objects"]


class Objects:
    """Calls of methods of jitclasses; `made` is the instance that the function constructs, if it is `__init__`."""

    def __init__(self, code: ScalarBuilder, expand: Callable[[anf.Let], None]) -> None:
        self.code, self.expand = code, expand
        self.made: str | None = None
        dispatcher, parameters = code.lowered.source.dispatcher, code.lowered.parameters
        kind = code.of.get(parameters[0]) if parameters else None
        if isinstance(kind, types.ClassInstanceType) and kind.jit_methods.get("__init__") is dispatcher:
            self.made = parameters[0]

    def check_use(self, s: anf.Let) -> None:
        """Refuse an alias of an instance that is being constructed: its fields are not bound yet."""
        if isinstance(s, (anf.Copy, anf.MakeTuple, anf.MakeObject)) and self.made in s.args:
            what, why = "a second name for `self` in __init__", "its fields may be bound afterwards"
            self.code.refuse(s.line, what, why, "`self`")

    # Methods and properties

    def method(self, s: anf.CallMethod) -> None:
        """Lower `x.name(y)`."""
        kind, (name, keywords) = self.code.kind(s.args[0]), (s.method, s.keywords)
        methods, static = getattr(kind, "jit_methods", {}), getattr(kind, "jit_static_methods", {})
        if name not in methods and name not in static:
            why, instead = "only those of jitclasses are known", "a numba function of the object"
            self.code.refuse(s.line, f"the method .{name}", why, instead)
        f = methods.get(name) or static[name]
        args = s.args if name in methods else s.args[1:]
        self._call(s.target, f, self._ordered(f, args, keywords, s.line), s.line)

    def property(self, s: anf.Let, kind: NumbaType, name: str) -> bool:
        """Lower `x.name` to a call, if it is a property; False otherwise."""
        getter = getattr(kind, "jit_props", {}).get(name, {}).get("get")
        if getter is not None:
            self._call(s.target, getter, s.args, s.line)
        return getter is not None

    def set_property(self, s: anf.Store, name: str) -> bool:
        """Lower `x.name = value` to a call, if it is a property with a setter; False otherwise."""
        setter = getattr(self.code.kind(s.array), "jit_props", {}).get(name, {}).get("set")
        if setter is not None:
            self._call(self.code.temp(types.none), setter, (s.array, s.value), s.line)
        return setter is not None

    def _call(self, target: str, f: Dispatcher, args: tuple[anf.Atom, ...], line: int) -> None:
        self.expand(anf.CallUser(target, self._ref(f, line), args, line))

    def _ref(self, f: Dispatcher, line: int) -> anf.Ref:
        """Reference to a function of a class."""
        found = next((ref for ref in self.code.lowered.refs.values() if ref.value is f), None)
        if found is None:
            why = "no argument, and no name in the function, leads to its class"
            self.code.refuse(line, f"the call of {f.py_func.__qualname__}", why, "the class as a global of the module")
        assert found is not None
        return found

    def _ordered(
        self, f: Dispatcher, args: tuple[anf.Atom, ...], keywords: tuple[str, ...], line: int
    ) -> tuple[anf.Atom, ...]:
        """Arguments in the order of the parameters, with constant defaults."""
        parameters = list(inspect.signature(f.py_func).parameters.values())
        count = len(args) - len(keywords)
        given = dict(zip((p.name for p in parameters), args[:count], strict=False))
        given |= dict(zip(keywords, args[count:], strict=True))
        for p in parameters:
            if p.name not in given and isinstance(p.default, (bool, int, float)):
                given[p.name] = anf.Const(p.default)
        if (
            [p.name for p in parameters if p.name not in given]
            or len(given) < len(args)
            or len(given) > len(parameters)
        ):
            what, why = (
                f"the call of {f.py_func.__qualname__}",
                "it has other parameters, or a default that is no number",
            )
            self.code.refuse(line, what, why, "its arguments")
        return tuple(given[p.name] for p in parameters)

    # Construction

    def construct(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `target = Box(x, y)`: initialise the leaves, and call `__init__`."""
        code = self.code
        instance = code.temp(kind)
        for leaf in code.parts(instance):
            self._start(leaf, s.line)
        init = self._ref(kind.jit_methods["__init__"], s.line)
        for x in s.args:
            if isinstance(x, str):
                code.alias.join(instance, x)
        code.alias.join(instance, s.target)
        code.call(self.bound(instance), init, [code.tree(instance), *map(code.tree, s.args)], s.line)
        code.copy_tree(code.tree(s.target), code.tree(instance), s.line)

    def bound(self, x: str) -> anf.Node:
        """Leaves of an instance that are bound to its fields: arrays and objects, not scalars."""
        leaves = members(self.code.kind(x)).values()
        parts = zip(self.code.parts(x), leaves, strict=True)
        return anf.Node(tuple(part for part, leaf in parts if is_bound(leaf)))

    def _start(self, leaf: anf.Tree, line: int) -> None:
        """Initialise leaves: a scalar is 0, and an array has no elements, until something is assigned."""
        if isinstance(leaf, anf.Node):
            for part in leaf.parts:
                self._start(part, line)
            return
        assert isinstance(leaf, str), leaf
        kind = self.code.of[leaf]
        text = f"np.{'empty' if kind.ndim else 'zeros'}({(0,) * kind.ndim}, {dtype_name(kind.dtype)})"
        text += ".T" if kind.layout == "F" else ""
        self.code.emit(anf.Alloc(leaf, (), to_python.name(text), line))
