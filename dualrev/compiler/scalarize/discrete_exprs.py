"""Conditions and other non-differentiable expressions, emitted unchanged.

Takes the writer. Guarantees that no tuple is left in them, and that what numba may know when it compiles
is hidden from it.
"""

from __future__ import annotations

import ast

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.indices import check_index, is_gathered
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array

__all__ = ["Conditions"]


class Conditions:
    """Lowering of non-differentiable expressions."""

    def __init__(self, code: ScalarBuilder) -> None:
        self.code = code

    def write(self, s: anf.Discrete, kind: NumbaType) -> None:
        """Lower `target` = a non-differentiable expression."""
        code, tree = self.code, s.tree
        inside = any(isinstance(x, (ast.In, ast.NotIn)) for x in ast.walk(tree))
        if inside or any(map(code.is_tuple, s.args)):
            tree = _TupleParts(code).visit(to_python.copied(tree))
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in code.of]
        self._check(tree, names, s.line)
        if isinstance(kind, types.Boolean) and self._may_be_known(tree):
            tree = to_python.call("bool", tree)  # numba cannot compile some programs that branch on it twice
        args = tuple(dict.fromkeys(names))
        code.emit((anf.Alloc if is_array(kind) else anf.Discrete)(s.target, args, tree, s.line))

    def _check(self, tree: ast.expr, names: list[str], line: int) -> None:
        """Refuse tuples, `in`, and unsupported indices."""
        code = self.code
        if any(map(code.is_tuple, names)):
            code.refuse(line, "this use of a tuple", "only its parts can be compared", "t[0], t[1], ...")
        for sub in ast.walk(tree):
            if isinstance(sub, ast.Subscript) and isinstance(sub.value, ast.Name):
                index = sub.slice.elts if isinstance(sub.slice, ast.Tuple) else [sub.slice]
                inside = tuple(x.id for x in index if isinstance(x, ast.Name))
                if not is_gathered(code, inside):
                    check_index(code, inside, line)
            if isinstance(sub, ast.Compare) and isinstance(sub.ops[0], (ast.In, ast.NotIn)) and not self._has_text(sub):
                code.refuse(line, "`in`", "only that of tuples, real arrays and strings is known", "a loop")

    def _has_text(self, node: ast.Compare) -> bool:
        """Whether the right operand of a comparison is a string."""
        right = node.comparators[0]
        return isinstance(right, ast.Name) and isinstance(self.code.of.get(right.id), types.UnicodeType)

    def _may_be_known(self, tree: ast.expr) -> bool:
        """Whether numba may fold a condition in the expression at compile time, and prune branches."""
        values = [v for node in ast.walk(tree) if isinstance(node, ast.BoolOp) for v in node.values]
        conditions = [*values, *(node for node in ast.walk(tree) if isinstance(node, ast.Compare))]
        return any(all(self._is_fixed(x) for x in ast.walk(value)) for value in conditions)

    def _is_fixed(self, node: ast.AST) -> bool:
        """Whether a node depends on no argument, so that numba may know its value at compile time."""
        if isinstance(node, ast.Name):
            made = [t for t in anf.walk(self.code.lowered.body) if node.id in anf.writes(t)]
            return len(made) == 1 and all(
                isinstance(t, anf.Let) and not any(isinstance(x, str) for x in t.args) for t in made
            )
        return not isinstance(node, (ast.Subscript, ast.Call))


class _TupleParts(ast.NodeTransformer):
    """Scalar replacement of tuples in an expression: `t[0]` -> `t_0`, `t[i]` -> `(t_0, t_1)[i]`."""

    def __init__(self, code: ScalarBuilder) -> None:
        self.code = code

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace a component of a tuple, or a tuple that is an index."""
        base = self.tree(node.value)
        if isinstance(base, anf.Node):
            part = _part(base, node.slice)
            if part is None:
                return ast.Subscript(self.code.syntax_tree(base), self.visit(node.slice), ast.Load())
            return node if isinstance(part, anf.Node) else to_python.atom(part)
        place = self.tree(node.slice)
        if isinstance(place, anf.Node):
            node.slice = ast.Tuple([to_python.atom(x) for x in anf.leaves(place)], ast.Load())
            node.value = self.visit(node.value)
            return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace compared tuples; expand `in` of tuples and arrays to comparisons."""
        node.left = self.spelled(node.left)
        if not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            node.comparators = [self.spelled(x) for x in node.comparators]
        elif is_array(self.code.of.get(ast.unparse(node.comparators[0]))):
            equal_to = ast.Compare(node.comparators[0], [ast.Eq()], [self.visit(node.left)])
            found = to_python.call(ast.Attribute(equal_to, "any", ast.Load()))
            return found if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), found)
        right = self.tree(node.comparators[0])
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(right, anf.Node):
            left = self.visit(node.left)
            items = [x for x in right.parts if not isinstance(x, anf.Node)]
            if len(items) < len(right.parts):
                return node
            inside = isinstance(node.ops[0], ast.In)
            equal: ast.cmpop = ast.Eq() if inside else ast.NotEq()
            tests: list[ast.expr] = [ast.Compare(left, [equal], [to_python.atom(x)]) for x in items]
            if len(tests) < 2:
                return tests[0] if tests else ast.Constant(not inside)
            return ast.BoolOp(ast.Or() if inside else ast.And(), tests)
        return self.generic_visit(node)

    def spelled(self, node: ast.expr) -> ast.expr:
        """Rebuild a tuple of numbers from its components, which Python compares."""
        tree = self.tree(node)
        if not isinstance(tree, anf.Node) or tree.cls is not None or any(isinstance(x, anf.Node) for x in tree.parts):
            return node
        return self.code.syntax_tree(tree)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Fold `len` of a tuple; visit any other arguments."""
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            tree = self.tree(node.args[0])
            if isinstance(tree, anf.Node):
                return ast.Constant(len(tree.parts))
        node.args = [self.visit(x) for x in node.args]
        return node

    def tree(self, node: ast.expr) -> anf.Tree | None:
        """Tree of a tuple; an atom for any other variable, None for any other expression."""
        if isinstance(node, ast.Name):
            return self.code.tree(node.id) if node.id in self.code.of else None
        if isinstance(node, ast.Subscript):
            base = self.tree(node.value)
            if isinstance(base, anf.Node):
                return _part(base, node.slice)
        return None


def _part(base: anf.Node, index: ast.expr) -> anf.Tree | None:
    """Component of a tuple at a constant index; None if the index is known at run time only, or out of range."""
    try:
        k = ast.literal_eval(index)
    except ValueError:
        return None
    return base.parts[k] if isinstance(k, int) and -len(base.parts) <= k < len(base.parts) else None
