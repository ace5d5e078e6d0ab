"""Typed core -> expanded core: what is left to differentiate are scalars, elements of arrays, and calls.

    tuples          become their parts: `t` of two floats is `t_0` and `t_1`; an index chosen at run time is a branch
    array arithmetic, slice assignment, copies, sums
                    become loops over elements (one loop for a whole expression: no temporary arrays)
    min, max        become a comparison and a branch, so that a tie goes to the argument that Python returns
    ints, bools     stay as they are written (`plain`): nothing in them is differentiated

Afterwards an operation is one of

    copy   target = atom                        plain  target = an expression without derivative
    prim   target = a line of the table         load   target = array[index], a scalar
    view   target = a view of an array          alloc  target = a new array
    array  target = dot, min or max of arrays   and the statements of core.py
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import (
    Call,
    Const,
    Effect,
    For,
    If,
    Let,
    Node,
    Ref,
    Slice,
    Store,
    While,
    ends,
    leaves,
    reads,
    walk,
    writes,
)
from dualrev.compiler.expansion.drawing import Drawings
from dualrev.compiler.expansion.statements import dtype_name, is_array, is_real, is_real_array
from dualrev.compiler.frontend.inference import Typed
from dualrev.compiler.frontend.lower import Lowered
from dualrev.compiler.frontend.options import alike, declared
from dualrev.compiler.frontend.source import describe
from dualrev.rules.names import line_of

__all__ = ["Expanded", "expand", "is_array", "is_real", "is_real_array"]


@dataclass(eq=False)
class Expanded:
    """A function in expanded core, with the types of its variables."""

    lowered: Lowered
    parameters: list[Any]  # a tree for every parameter
    body: list[Any]
    result: Any  # a tree of atoms
    types: dict[str, Any]
    argtypes: tuple[Any, ...]
    classes: dict[Any, Ref]  # named tuples' classes
    asks_for_layout: bool  # whether it asks, while it runs, if an array is contiguous


def expand(lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...], apart: bool) -> Expanded:
    """The function in expanded core; `apart` says that arrays of different parameters never share memory."""
    return _Expanding(lowered, typed, argtypes, apart).run()


class _Expanding(Drawings):
    """Statements, tuples and elements."""

    def run(self) -> Expanded:
        for x, kind in list(self.of.items()):
            self.check(x, kind)
        parameters = [self.tree(p) for p in self.lowered.parameters]
        if self.lowered.result == self.lowered.exit_value:
            self.undefined(self.tree(self.lowered.exit_value))
        self.block_into(self.lowered.body)
        result = self.lowered.result
        if isinstance(result, str) and result not in self.of:
            result = Const(None)
        self.materialise(result)
        kinds = {x: k for x, k in self.of.items() if not isinstance(k, types.BaseTuple)}
        tree, asks = self.tree(result), self.asks_for_layout
        return Expanded(self.lowered, parameters, self.out, tree, kinds, self.argtypes, self.classes, asks)

    def undefined(self, tree: Any) -> None:
        """Give the parts of the result a value, for numba: it is never used."""
        line = self.source.tree.lineno
        for x in leaves(tree):
            kind = self.of[x]
            if is_array(kind):
                shape = ast.Tuple([ast.Constant(0)] * kind.ndim, ast.Load())
                empty = syntax.call("np.empty", shape, syntax.name(dtype_name(kind.dtype)))
                self.let("alloc", (), empty, line, target=x)
            elif not isinstance(kind, types.NoneType):
                zero: Any = 0.0 if is_real(kind) else False if isinstance(kind, types.Boolean) else 0
                self.let("copy", (Const(zero),), None, line, target=x)

    def block(self, body: list[Any]) -> list[Any]:
        return self.collect(lambda: self.block_into(body))

    def block_into(self, body: list[Any]) -> None:
        for s in body:
            self.statement(s)
        self.flush()

    # Statements

    def statement(self, s: Any) -> None:
        if any(isinstance(x, str) and x not in self.of for x in [*reads(s), *ends(s), *writes(s)]):
            return  # numba has found that this is never reached
        if self.grows(s):
            return
        self.check_lists(s)
        if isinstance(s, Let):
            self.operation(s)
            return
        if isinstance(s, Store):
            self.store(s)
            return
        for x in reads(s):
            self.materialise(x)
        self.flush()
        if isinstance(s, If):
            self.out.append(If(s.test, self.block(s.then), self.block(s.orelse), s.line))
        elif isinstance(s, For):
            self.out.append(For(s.target, s.start, s.stop, s.step, self.block(s.body), s.exits, s.line))
        elif isinstance(s, While):
            self.out.append(While(self.block(s.test_block), s.test, self.block(s.body), s.exits, s.line))
        elif isinstance(s, Effect):
            self.out.append(s)

    def operation(self, s: Let) -> None:
        kind = self.of[s.target]
        self.settle(s)
        if isinstance(kind, types.UnicodeType) and s.op != "copy":
            self.refuse(s.line, "a string that is computed", "strings have no derivative", "a constant string")
        if s.op in ("binop", "unary", "func", "method", "iop") and self.elementwise(s, kind):
            return
        for x in reads(s):
            if not (s.op in ("func", "method") and isinstance(x, str) and x in self.lazy):
                self.materialise(x)
        getattr(self, f"_{s.op}")(s, kind)

    def _copy(self, s: Let, kind: Any) -> None:
        self.copy_tree(self.tree(s.target), self.tree(s.args[0]), s.line)

    def _tuple(self, s: Let, kind: Any) -> None:
        sources = [self.tree(x) for x in s.args]
        for t, x in zip(self.tree(s.target).parts, sources, strict=True):
            self.copy_tree(t, x, s.line)

    def _attr(self, s: Let, kind: Any) -> None:
        base, name = s.args[0], s.info
        of = self.kind(base)
        if isinstance(of, types.BaseNamedTuple):
            part = self.tree(base).parts[of.fields.index(name)]
            self.copy_tree(self.tree(s.target), part, s.line)
        elif is_array(of) and name == "shape":
            for k, t in enumerate(self.tree(s.target).parts):
                self.plain(f"a.shape[{k}]", s.line, target=t, a=base)
        elif is_array(of) and name in ("size", "ndim", "itemsize", "nbytes"):
            self.plain(f"a.{name}", s.line, target=s.target, a=base)
        elif name == "real" and (is_real(of) or is_real_array(of)):
            self.let("copy", (base,), None, s.line, target=s.target)
        elif name == "imag" and is_real(of):
            self.let("copy", (Const(0.0),), None, s.line, target=s.target)
        elif is_array(of) and name == "T":
            self.let("view", (base,), syntax.name("BASE.T"), s.line, target=s.target)
        elif is_array(of) and name == "flat" and self.names.is_temporary(s.target):
            self.flats[s.target] = self.named(base, s.line)
        elif is_array(of) and name == "dtype":
            pass  # the type of the variable says it
        else:
            self.refuse(s.line, f"the attribute .{name}", "it is not known", "shape, size, ndim or T")

    def _getitem(self, s: Let, kind: Any) -> None:
        base = s.args[0]
        of = self.kind(base)
        if isinstance(of, types.BaseTuple):
            self.item(s, self.tree(base), kind)
        elif base in self.flats:
            self.flat_item(s)
        elif is_array(of) and self.is_gathered(s.info):
            self.gather(s, kind)
        elif is_array(of):
            index = self.index(s.info, of.ndim, s.line)
            self.let("view" if is_array(kind) else "load", (base,), index, s.line, target=s.target)
        else:
            self.refuse(s.line, f"an index of a value of numba type {of}", "it is no array or tuple", "an array")

    def flat_item(self, s: Let) -> None:
        """a.flat[k]."""
        (k,), base = s.info, self.flats[s.args[0]]
        self.let("load", (base,), self.unravelled(base, k, s.line), s.line, target=s.target)

    def item(self, s: Let, tree: Any, kind: Any) -> None:
        """t[k] and t[i:j] of a tuple."""
        (entry,) = s.info
        if isinstance(entry, Slice):
            if not all(isinstance(x, Const) for x in entry.atoms()):
                self.refuse(s.line, "a slice of a tuple", "its bounds are not constant", "constants")
            bounds = [x.value if isinstance(x, Const) else None for x in (entry.lower, entry.upper, entry.step)]
            for t, x in zip(self.tree(s.target).parts, tree.parts[slice(*bounds)], strict=True):
                self.copy_tree(t, x, s.line)
        elif isinstance(entry, Const):
            self.copy_tree(self.tree(s.target), tree.parts[entry.value], s.line)
        else:
            n = len(tree.parts)
            k = self.plain("i + n if i < 0 else i", s.line, i=entry, n=Const(n))
            target = self.tree(s.target)
            rest: list[Any] = [Effect('raise IndexError("tuple index out of range")', (), s.line, True)]
            for number, part in reversed(list(enumerate(tree.parts))):
                test = self.temp(types.boolean)
                equal = ast.Compare(ast.Name(k), [ast.Eq()], [ast.Constant(number)])
                then = self.collect(functools.partial(self.copy_tree, target, part, s.line))
                self.out.append(Let(test, "plain", (k,), equal, s.line))  # all before the first branch: numba is not
                rest = [If(test, then, rest, s.line)]  # good at names that are bound in some branches only
            self.out.extend(rest)

    def _plain(self, s: Let, kind: Any) -> None:
        tree = s.info
        if isinstance(tree, ast.BoolOp) and is_array(kind):
            self.refuse(s.line, "`and` or `or` of arrays", "its value is one of them", "a conditional expression")
        if isinstance(tree, ast.BoolOp) and is_real(kind):  # in a condition: desugar.py has seen to all others
            tree, kind = syntax.call("bool", tree), types.boolean
            self.of[s.target] = kind
        if is_real(kind) or is_real_array(kind) or isinstance(kind, types.BaseTuple):
            self.refuse(s.line, "this condition", "its value is no bool", "a comparison")
        inside = any(isinstance(x, (ast.In, ast.NotIn)) for x in ast.walk(tree))
        if inside or any(isinstance(self.of.get(x), types.BaseTuple) for x in s.args):
            tree = _TupleParts(self).visit(syntax.substitute(tree, lambda x: None))
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in self.of]
        if any(self.is_tuple(x) for x in names):
            self.refuse(s.line, "this use of a tuple", "only its parts can be compared", "t[0], t[1], ...")
        for sub in ast.walk(tree):
            if isinstance(sub, ast.Subscript) and isinstance(sub.value, ast.Name):
                index = sub.slice.elts if isinstance(sub.slice, ast.Tuple) else [sub.slice]
                names_in = [x.id for x in index if isinstance(x, ast.Name)]
                if not self.is_gathered(tuple(names_in)):
                    self.check_index(tuple(names_in), s.line)
            if isinstance(sub, ast.Compare) and isinstance(sub.ops[0], (ast.In, ast.NotIn)) and not self.has_text(sub):
                self.refuse(s.line, "`in`", "only that of tuples, arrays and strings is known", "a loop")
        if isinstance(kind, types.Boolean) and self.is_known(tree):
            tree = syntax.call("bool", tree)  # numba cannot compile some programs that branch on it twice
        args = tuple(dict.fromkeys(names))
        self.let("alloc" if is_array(kind) else "plain", args, tree, s.line, target=s.target)

    def has_text(self, node: ast.Compare) -> bool:
        """Whether a comparison is one of strings."""
        right = node.comparators[0]
        return isinstance(right, ast.Name) and isinstance(self.of.get(right.id), types.UnicodeType)

    def is_known(self, tree: ast.expr) -> bool:
        """Whether numba may know a condition in the expression when it compiles it, and leave branches out."""
        values = [v for node in ast.walk(tree) if isinstance(node, ast.BoolOp) for v in node.values]
        conditions = [*values, *(node for node in ast.walk(tree) if isinstance(node, ast.Compare))]
        return any(all(self.is_fixed(x) for x in ast.walk(value)) for value in conditions)

    def is_fixed(self, node: ast.AST) -> bool:
        """Whether a part of an expression is nothing that is computed from arguments."""
        if isinstance(node, ast.Name):
            made = [t for t in walk(self.lowered.body) if node.id in writes(t)]
            return len(made) == 1 and all(
                isinstance(t, Let) and not any(isinstance(x, str) for x in t.args) for t in made
            )
        return not isinstance(node, (ast.Subscript, ast.Call))

    def _iop(self, s: Let, kind: Any) -> None:
        self._binop(Let(s.target, "binop", s.args, s.info, s.line), kind)

    def _binop(self, s: Let, kind: Any) -> None:
        if s.info == "@":
            self.dot(s, kind)
        elif isinstance(kind, types.BaseTuple):
            both = [*self.tree(s.args[0]).parts, *self.tree(s.args[1]).parts]
            for t, x in zip(self.tree(s.target).parts, both, strict=True):
                self.copy_tree(t, x, s.line)
        elif is_real(kind) and line_of(s.info) is not None:
            self.let("prim", s.args, (line_of(s.info), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def _unary(self, s: Let, kind: Any) -> None:
        if is_real(kind):
            self.let("prim", s.args, (line_of(f"{s.info}x"), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def _call(self, s: Let, kind: Any) -> None:
        self.flush()
        result = self.tree(s.target)
        args = [self.tree(x) for x in self.converted(s)]
        self.out.append(Call([x for x in leaves(result) if isinstance(x, str)], s.info, args, result, s.line))

    def converted(self, s: Let) -> list[Any]:
        """The arguments of a call, of the types that the signatures of the function declare."""
        kinds = tuple(map(self.kind, s.args))
        signature = declared(s.info.value, kinds)
        if signature is None:
            return list(s.args)
        made = []
        for x, kind, wanted in zip(s.args, kinds, signature.args, strict=True):
            if alike(kind, wanted):
                made.append(x)
            elif isinstance(kind, (types.Integer, types.Boolean)) and isinstance(wanted, (types.Integer, types.Float)):
                made.append(self.plain(f"np.{wanted}(_)", s.line, wanted, _=x))
            else:
                what = f"the call of {describe(s.info.value)} with {kind}"
                self.refuse(s.line, what, f"its signature says {wanted}, and numba converts that", "the conversion")
        return made


class _TupleParts(ast.NodeTransformer):
    """t[0] and t.field in an expression -> t_0."""

    def __init__(self, expansion: _Expanding) -> None:
        self.expansion = expansion

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        base = self.tree(node.value)
        if isinstance(base, Node):
            try:
                part = base.parts[ast.literal_eval(node.slice)]
            except (ValueError, TypeError, IndexError):
                return node
            return node if isinstance(part, Node) else syntax.atom(part)
        place = self.tree(node.slice)
        if isinstance(place, Node):
            node.slice = ast.Tuple([syntax.atom(x) for x in leaves(place)], ast.Load())
            node.value = self.visit(node.value)
            return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node.left = self.spelled(node.left)
        if not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            node.comparators = [self.spelled(x) for x in node.comparators]
        elif is_array(self.expansion.of.get(ast.unparse(node.comparators[0]))):
            equal_to = ast.Compare(node.comparators[0], [ast.Eq()], [self.visit(node.left)])
            found = syntax.call(ast.Attribute(equal_to, "any", ast.Load()))
            return found if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), found)
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(self.tree(node.comparators[0]), Node):
            left, parts = self.visit(node.left), self.tree(node.comparators[0]).parts
            if any(isinstance(x, Node) for x in parts):
                return node
            inside = isinstance(node.ops[0], ast.In)
            equal: ast.cmpop = ast.Eq() if inside else ast.NotEq()
            tests: list[ast.expr] = [ast.Compare(left, [equal], [syntax.atom(x)]) for x in parts]
            if len(tests) < 2:
                return tests[0] if tests else ast.Constant(not inside)
            return ast.BoolOp(ast.Or() if inside else ast.And(), tests)
        return self.generic_visit(node)

    def spelled(self, node: ast.expr) -> ast.expr:
        """A tuple of numbers with its parts: Python compares them."""
        tree = self.tree(node)
        numbers = isinstance(tree, Node) and tree.cls is None and not any(isinstance(x, Node) for x in tree.parts)
        return self.expansion.syntax_tree(tree) if numbers else node

    def tree(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.expansion.tree(node.id) if node.id in self.expansion.of else None
        if isinstance(node, ast.Subscript):
            base = self.tree(node.value)
            if isinstance(base, Node):
                return base.parts[ast.literal_eval(node.slice)]
        return None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(self.tree(node.args[0]), Node):
            return ast.Constant(len(self.tree(node.args[0]).parts))
        node.args = [self.visit(x) for x in node.args]
        return node
