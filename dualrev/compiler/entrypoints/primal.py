"""Primal function as emitted text: a function of core with its names there, for the code around it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias

from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.codegen.module_builder import ModuleBuilder
from dualrev.compiler.codegen.statements import Emission
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Node, Tree, Var
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves, statements, variables
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import apart

__all__ = ["NameTree", "NumberTree", "Plain", "rebuilt"]

#: A tree of core with names in the text in place of its variables; or with the numbers of its leaves, and None where
#: there is no derivative. (What Node says of its parts is true of core only.)
NameTree: TypeAlias = Any
NumberTree: TypeAlias = Any


class Plain:
    """Primal function with the names of its variables in the text.

    parameters    trees of names, a Constant where there is none, and `result`, which is one, too
    types         the numba types of these names
    """

    def __init__(self, module: ModuleBuilder, f: Function) -> None:
        self.module, self.f = module, f
        self.types: dict[str, NumbaType] = {}
        self._emission = Emission(module.names, module.refer, f.checked)
        for word, x in zip(f.origin.parameters, f.parameters, strict=False):  # tangents come after these
            if isinstance(x, Var):
                self._emission.call_it(x, word)
        self._emission.introduce(variables(f))
        self._variables: dict[str, Var] = {}
        memory = module.front.memory
        self._classes = Classes(f, memory)
        self._written = {self._classes.find(x) for s in statements(f.body) for x in memory.changed(s)}
        self._returned = {self._classes.find(x) for x in leaves(f.result) if is_array(x)}
        self.parameters = [self._named(p) for p in f.parameters]
        self.result = self._named(f.result)

    def _named(self, tree: Tree) -> NameTree:
        if isinstance(tree, Node):
            return Node(tuple(map(self._named, tree.parts)), tree.cls, tree.kind)
        if not isinstance(tree, Var):
            return tree
        name = self._emission.var(tree)
        self._variables[name], self.types[name] = tree, tree.type
        return name

    # What is known of a name

    def moves(self, x: object) -> bool:
        """Whether a leaf can have a tangent."""
        return isinstance(x, str) and carries(self._variables[x])

    def is_array(self, x: object) -> bool:
        """Whether a leaf is an array."""
        return isinstance(x, str) and is_array(self._variables[x])

    def is_written(self, x: str) -> bool:
        """Whether the function may write to the memory of an array."""
        return self._classes.find(self._variables[x]) in self._written

    def is_returned(self, x: str) -> bool:
        """Whether the function may return the memory of an array."""
        return self._classes.find(self._variables[x]) in self._returned

    # Text

    def take_apart(self, names: list[str], trees: list[NameTree]) -> list[CodeStatement]:
        """Code that unpacks tuple arguments into their leaves."""
        code: list[CodeStatement] = []

        def visit(name: str, tree: Node) -> None:
            """Unpack a tuple, and the tuples inside."""
            for k, part in enumerate(tree.parts):
                if isinstance(part, Node):
                    inner = self.module.names.fresh(f"{{}}_{k}", name)
                    code.append(Code(f"{inner} = {name}[{k}]", 0))
                    visit(inner, part)
                else:
                    code.append(Code(f"{part if isinstance(part, str) else '_'} = {name}[{k}]", 0))

        for name, tree in zip(names, trees, strict=True):
            if isinstance(tree, Node):
                visit(name, tree)
        return code

    def check_arrays(self, trees: list[NameTree]) -> list[CodeStatement]:
        """Code that checks that written arrays overlap neither themselves nor one another."""
        arrays, never = [x for tree in trees for x in leaves(tree) if self.is_array(x)], apart(trees)
        strided = [x for x in arrays if self.is_written(x) and self._is_strided(x)]
        code: list[CodeStatement] = [Code(f"runtime.check_spread({x})", 0) for x in strided]
        for k, x in enumerate(arrays):
            for y in arrays[k + 1 :]:
                if (self.is_written(x) or self.is_written(y)) and frozenset((x, y)) not in never:
                    code.append(Code(f"runtime.check_apart({x}, {y})", 0))
        return code

    def _is_strided(self, x: str) -> bool:
        return bool(self.types[x].layout == "A")

    def body(self) -> list[CodeStatement]:
        """Code of the function, with its `return`."""
        code = self._emission.block(self.f.body)
        return [*code, Code(f"return {self._emission.returned(self.f.result)}".strip(), 0)]


def rebuilt(tree: NameTree | NumberTree, leaf: Callable[[str], ast.expr] | Callable[[int], ast.expr]) -> ast.expr:
    """Syntax of a tree, given the syntax of its leaves."""
    if isinstance(tree, Node):
        parts = [rebuilt(x, leaf) for x in tree.parts]
        return ast.Tuple(parts, ast.Load()) if tree.cls is None else to_python.call(tree.cls.name, *parts)
    return to_python.number(tree.value) if isinstance(tree, Constant) else leaf(tree)
