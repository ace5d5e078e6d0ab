"""Opaque calls: a function that cannot be differentiated, as core with one opaque statement for its call.

    c = np.copy(a)          for each array that it may write to
    y = g(c, n)             Opaque: analysis/opaque_flows.py looks at what flows in and out
    a[i] = c[i]             for all elements

So a numba function stays whole where nothing that is differentiated goes through it, whatever it does inside: what it
changes is changed by stores, which the sweeps know how to undo. Where something does go through, what was said when the
function was read is said then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from numba.core import types

from dualrev.compiler.ad.function_table import FunctionTable, Origin
from dualrev.compiler.frontend.reading.ast_purity import Look
from dualrev.compiler.frontend.reading.njit_options import is_checked
from dualrev.compiler.frontend.reading.source import describe, is_derivative, name_of
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atom_types import is_array, type_of
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Global, Node, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Call, Copy, Function, Load, Make, Opaque, Store
from dualrev.compiler.ir.core.traverse import leaves, mapped
from dualrev.compiler.types.leaves import is_linked
from dualrev.compiler.types.opaque_types import holds_memory
from dualrev.errors import UnsupportedError

__all__ = ["underived"]


def underived(front: FunctionTable, s: Call, why: UnsupportedError) -> Function:
    """Wrap a callee that could not be lowered as an opaque function; raise `why` again if that is unsound."""
    assert isinstance(s.function, Global)
    f = s.function.value
    if is_derivative(f):
        raise why
    try:
        source = front.source(f)
    except UnsupportedError:
        raise why from None
    look = Look(source)
    if look.asks_for_layout() or any(map(_is_strange, (*s.args, s.result))):
        raise why
    parameters = tuple(mapped(a, lambda x: Var("_", type_of(x))) for a in s.args)
    result = mapped(s.result, lambda x: x if isinstance(x, Constant) else Var("_", type_of(x)))
    named = zip(source.parameters, parameters, s.args, strict=True)
    read = {p for name, p, a in named if isinstance(a, Global) or _only_reads(look, name, p)}
    w = _Writing(s.function, why, source.tree.lineno)
    w.whole(parameters, result, read, not look.does_the_same())
    checking = any(isinstance(t, Opaque) and "check_new" in ast.dump(t.code[-1]) for t in w.out)
    origin = Origin.of_opaque(f, source)
    return Function(name_of(f), parameters, tuple(w.out), result, is_checked(f), origin, checking=checking)


def _only_reads(look: Look, name: str, x: Tree) -> bool:
    return isinstance(x, Var) and is_array(x) and look.only_reads(name, x.type.ndim)


def _is_strange(tree: Tree) -> bool:
    """Whether a tree has objects, nodes, functions, slices or containers of arrays among its leaves."""
    if isinstance(tree, Node):
        return tree.kind is not None or any(map(_is_strange, tree.parts))
    kind = type_of(tree)
    return holds_memory(kind) or is_linked(kind) or isinstance(kind, (types.Dispatcher, types.SliceType))


#: A copy in the layout of the array, on which the order of np.nditer depends.
_COPY = {"C": "np.copy({})", "F": "np.copy({}.T).T"}


def _copied(kind: types.Array) -> types.Array:
    return types.Array(kind.dtype, kind.ndim, "F" if kind.layout == "F" and kind.ndim > 1 else "C")


class _Writing(CoreBuilder):
    """Writer of the statements of an opaque function."""

    def __init__(self, function: Global, why: UnsupportedError, line: int) -> None:
        super().__init__()
        self.function, self.why, self.line = function, why, line
        self.names: dict[Atom, str] = {}

    def whole(self, parameters: tuple[Tree, ...], result: Tree, reads: set[Tree], unknown: bool) -> None:
        """Emit the opaque call, with arrays that it may write copied in before it and out after it."""
        given: list[Var] = [x for p in parameters for x in leaves(p)]
        arrays = [x for x in given if is_array(x) and x not in reads]
        copies = {x: Var("_", _copied(x.type)) for x in arrays if x.type.mutable}
        made = {x: Var("_", x.type) for x in leaves(result) if isinstance(x, Var)}
        code = [f"{self.name(c)} = {_COPY[c.type.layout].format(self.name(x))}" for x, c in copies.items()]
        code += [f"runtime.check_apart({self.name(a)}, {self.name(b)})" for a, b in self.pairs(given, copies)]
        args = [self.tree(p, copies) for p in parameters]
        self.name(self.function)
        call = to_python.text(to_python.applied(self.function, args))
        target = self.target(result, made)
        code.append(f"{target} = {call}" if made else call)
        new = [y for x, y in made.items() if is_array(x)]
        code += [f"runtime.check_new({self.name(y)}, {self.name(copies.get(x, x))})" for y in new for x in arrays]
        code += [f"runtime.check_new({self.name(a)}, {self.name(b)})" for k, a in enumerate(new) for b in new[:k]]
        self.write(self.opaque(code, given, [*copies.values(), *made.values()], unknown))
        for x, y in made.items():
            self.write(Make(x, Applied("np.copy", (y,)), self.line) if is_array(x) else Copy(x, y, self.line))
        for x, c in copies.items():
            self.loop(x, lambda index, x=x, c=c: self.back(x, c, index), self.line)  # type: ignore[misc]

    def opaque(self, code: list[str], given: list[Var], outputs: list[Var], unknown: bool) -> Opaque:
        """The opaque statement, with its named inputs and outputs."""
        said = f"the call of {describe(self.function.value.py_func)}", "its derivative is not known", "loops"
        inputs: list[tuple[str, Atom]] = [(self.names[x], x) for x in given if x in self.names]
        inputs += [(name, x) for x, name in self.names.items() if isinstance(x, Global)]
        changes = any(not is_array(x) for x in given)
        tree = tuple(ast.parse("\n".join(code)).body)
        named = tuple((self.name(x), x) for x in outputs)
        return Opaque(named, tuple(inputs), tree, changes, unknown, said, self.line, self.why)

    def back(self, x: Var, c: Var, index: tuple[Var, ...]) -> None:
        """Emit `x[index] = c[index]`: copy one element out."""
        value = Var("_", x.type.dtype)
        self.write(Load(value, c, index, self.line))
        self.write(Store(x, index, value, self.line))

    def pairs(self, given: list[Var], copies: dict[Var, Var]) -> Iterator[tuple[Var, Var]]:
        """Pairs of array arguments that must not alias: the call may write to one of them."""
        arrays = [x for x in given if is_array(x)]
        for k, a in enumerate(arrays):
            for b in arrays[:k]:
                if a in copies or b in copies:
                    yield a, b

    def name(self, x: Atom) -> str:
        """The name of a variable, or a class, in the emitted Python code."""
        return self.names.setdefault(x, x.name if isinstance(x, Global) else f"x_{len(self.names)}")

    def tree(self, x: Tree, copies: dict[Var, Var]) -> ast.expr:
        """An argument as a Python expression."""
        if not isinstance(x, Node):
            return ast.Name(self.name(copies.get(x, x) if isinstance(x, Var) else x))
        parts = [self.tree(part, copies) for part in x.parts]
        return ast.Tuple(parts, ast.Load()) if x.cls is None else to_python.call(self.name(x.cls), *parts)

    def target(self, x: Tree, made: dict[Var, Var]) -> str:
        """The assignment target that destructures a result."""
        if isinstance(x, Node):
            return "(" + "".join(f"{self.target(part, made)}, " for part in x.parts) + ")"
        return self.name(made[x]) if isinstance(x, Var) and x in made else "_"
