"""Scalarisation of typed ANF: afterwards only scalars, elements of arrays and calls are left to differentiate.

    tuples          become their parts: `t` of two floats is `t_0` and `t_1`; an index chosen at run time is a branch
    array arithmetic, slice assignment, copies, sums
                    become loops over elements (one loop for a whole expression: no temporary arrays)
    min, max        become a comparison and a branch, so that a tie goes to the argument that Python returns
    ints, bools     stay as they are written (Discrete): nothing in them is differentiated

Afterwards an operation is one of the second half of ir/anf/operations.py: Copy, Discrete, Prim, Load, View, ViewExpr,
Alloc or WholeArray.

Each kind of construct has a file of its own in this folder, whose head says what it takes and what it guarantees. Here
stands which construct goes where: `Expansion` has a table for operations, and one for the rules of functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.typing.unreachable import is_unreached
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.scalarize.alias_anf import changes_nothing, sharing
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.elementwise import Elementwise
from dualrev.compiler.scalarize.arrays.fancy_indexing import Gathering
from dualrev.compiler.scalarize.arrays.getitem import Items
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.arrays.strided_views import Windows
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.calls import Calls
from dualrev.compiler.scalarize.check_types import check_types
from dualrev.compiler.scalarize.complex.lower_complex import Complexes
from dualrev.compiler.scalarize.discrete_exprs import Conditions
from dualrev.compiler.scalarize.lists.growable import Growing
from dualrev.compiler.scalarize.lists.legalize import Lists, check_places, refuse_unpacked
from dualrev.compiler.scalarize.numpy.composed import Composed
from dualrev.compiler.scalarize.numpy.concatenate import Joining
from dualrev.compiler.scalarize.numpy.creation import Making
from dualrev.compiler.scalarize.numpy.dispatch import Functions, TableRules, Ways
from dualrev.compiler.scalarize.numpy.in_place import InPlace
from dualrev.compiler.scalarize.numpy.library_calls import Definitions
from dualrev.compiler.scalarize.numpy.nondifferentiable import Inactive
from dualrev.compiler.scalarize.numpy.overloads import Overloads
from dualrev.compiler.scalarize.numpy.reductions import Reductions
from dualrev.compiler.scalarize.numpy.scalar_functions import Numbers
from dualrev.compiler.scalarize.numpy.split_arrays import Splitting
from dualrev.compiler.scalarize.numpy.ufuncs import Ufuncs
from dualrev.compiler.scalarize.opaque.opaque_statements import Opaques
from dualrev.compiler.scalarize.random.draw_functions import Drawings
from dualrev.compiler.scalarize.random.generator_methods import GeneratorDraws
from dualrev.compiler.scalarize.records.lower_records import Structures
from dualrev.compiler.scalarize.scalar_ops import arithmetic
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.complex_parts import Parts
from dualrev.compiler.types.predicates import is_array, is_list, is_real

__all__ = ["Expanded", "Expansion"]


@dataclass(eq=False)
class Expanded:
    """Function in expanded core, with the types of its variables."""

    lowered: Lowered
    parameters: list[anf.Tree]  # a tree for every parameter
    body: list[anf.Stmt]
    result: anf.Tree  # a tree of atoms
    types: dict[str, NumbaType]
    argtypes: NumbaTypes
    classes: dict[type, anf.Ref]  # named tuples' classes
    asks_for_layout: bool  # whether it asks, while it runs, if an array is contiguous


class Expansion:
    """Scalarisation of one function. Each collaborator takes only collaborators that are created before it.

    Some have to expand what they make of a construct: these take `operation`.
    """

    def __init__(
        self,
        lowered: Lowered,
        of: dict[str, NumbaType],
        apart: bool,
        returned: Callable[[Dispatcher, NumbaTypes], NumbaType],
        tuples: set[str],
        lists: Lists,
    ) -> None:
        """Create the collaborators; `of` are the types of variables, `returned` gives the return type of a call.

        `apart` says that arrays of different parameters never share memory; `tuples` are lists that have become tuples,
        `lists` those that have become arrays.
        """
        self.returned, self.lists = returned, lists
        self.code = code = ScalarBuilder(lowered, of, sharing(lowered, of, apart))
        self.lazy = lazy = Lazy(code)
        self.tuples = Tuples(code, tuples)
        self.opaques = Opaques(code, lazy, self.lists)
        self.draws = GeneratorDraws(code, self.opaques)
        self.gathering = Gathering(code, lazy)
        self.layouts = layouts = Layouts(code, lazy)
        self.assignments = Assignments(code, self.lists, lazy, self.gathering)
        self.elementwise = Elementwise(code, lazy, self.assignments, self.operation)
        self.growing = Growing(code, self.lists, lazy, self.assignments, layouts, self.operation)
        self.making = Making(code, layouts)
        self.items = Items(code, lazy, self.tuples, self.gathering, layouts)
        self.composed = Composed(code, lazy, layouts, self.operation)
        self.in_place = InPlace(code, lazy, self.assignments, self.operation)
        self.numbers = Numbers(code, lazy, self.tuples)
        self.structures = Structures(code, lazy, self.assignments, self.operation)
        self.definitions = Definitions(code, lazy, self.gathering, layouts)
        store, call = self.assignments.store, self.definitions.call
        self.complexes = Complexes(code, lazy, self.elementwise, self.operation, store, call)
        self.overloads = Overloads(code, self.operation)
        self.rules = self._rules()
        self.operations = self._operations()

    def _operations(self) -> Mapping[type[anf.Let], Callable[[Any, NumbaType], None]]:
        """Handlers of operations, by their classes; elementwise.py handles arithmetic of arrays."""
        code, lazy, tuples = self.code, self.lazy, self.tuples
        drawings, inactive = Drawings(code, lazy, tuples), Inactive(code, lazy)
        windows = Windows(code, lazy, self.layouts)
        ways = Ways(drawings, self.definitions, self.in_place, inactive, self.numbers, self.layouts, windows)
        functions = Functions(code, lazy, tuples, self.lists, ways, self.rules)
        calls = Calls(code, lazy, tuples, self.lists, self.numbers, self.operation, self.returned)
        return {
            anf.Copy: self._copy,
            anf.Discrete: Conditions(code).write,
            anf.BinOp: self._binary,
            anf.InplaceOp: self._binary,
            anf.UnaryOp: self._unary,
            anf.CallKnown: functions.write,
            anf.CallMethod: functions.method,
            anf.CallUser: calls.call,
            anf.CallStarred: calls.star,
            anf.CallUfunc: Ufuncs(code, lazy).call,
            anf.GetItem: self.items.getitem,
            anf.GetAttr: self.items.attribute,
            anf.MakeObject: self.structures.objects.construct,
            anf.MakeTuple: tuples.make,
            anf.MakeList: self.making.list_of,
            anf.AllocList: self.making.list_of,
            anf.MakeArray: self.making.literal,
        }

    def _rules(self) -> TableRules:
        """Handlers of functions, by the rule names in the table of functions (`rules/functions`)."""
        joining = Joining(self.code, self.lazy, self.layouts, self.assignments)
        reductions = Reductions(self.code, self.lazy, self.tuples)
        constant, windows = Inactive(self.code, self.lazy), Windows(self.code, self.lazy, self.layouts)
        splitting = Splitting(self.code, self.lazy)
        core: dict[str, Callable[[anf.CallKnown, NumbaType], None]] = {
            "alloc": self.making.alloc,
            "append": joining.append,
            "broadcast_arrays": splitting.broadcast,
            "array": self.making.array,
            "clip": self.composed.clip,
            "concatenate": joining.concatenate,
            "diff": self.composed.diff,
            "dot": self.composed.dot,
            "extreme": reductions.extreme,
            "fill_diagonal": self.in_place.fill_diagonal,
            "full": self.making.full,
            "imag": self.items.imag,
            "kaiser": self.making.kaiser,
            "len": self.items.length,
            "outer": self.composed.outer,
            "range": self.making.steps,
            "real": self.items.real,
            "same_elements": self.layouts.same_elements,
            "shape": self.items.shape,
            "sliding": windows.sliding,
            "sorted": self.growing.methods.sorted,
            "split": splitting.split,
            "spread": reductions.spread,
            "stack": joining.stack,
            "stacked": joining.stacked,
            "steps": constant.elements,
            "trimmed": self.composed.trimmed,
            "strided": windows.strided,
            "sum": reductions.sum,
        }
        scalar: dict[str, Callable[[anf.CallKnown, NumbaType], bool]] = {
            "divmod": self.numbers.divmod,
            "extremum": self.numbers.extremum,
            "float": self.numbers.to_float,
            "frexp": self.numbers.frexp,
            "itself": self.numbers.itself,
            "ldexp": self.numbers.ldexp,
            "nothing": self.numbers.nothing,
            "round": self.numbers.round,
            "zero": self.numbers.zero,
        }
        return TableRules(core, scalar)

    def run(self, argtypes: NumbaTypes, returns: NumbaType | None) -> Expanded:
        """Scalarise the whole function; `returns` is the type that its result is converted to, None if unchanged."""
        code, lowered = self.code, self.code.lowered
        check_types(lowered, code.of)
        parameters = [code.tree(p) for p in lowered.parameters]
        if lowered.result == lowered.exit_value:
            self._undefined(code.tree(lowered.exit_value))
        self._block_into(lowered.body)
        result = lowered.result
        made = self.structures.objects.made
        if isinstance(result, str) and result not in code.of:
            result = anf.Const(None)
        self.lazy.materialise(result)
        if returns is not None:
            result = self._declared(result, returns)
        kinds = {x: k for x, k in code.of.items() if not isinstance(k, types.BaseTuple)}
        tree = code.tree(result) if made is None else self.structures.objects.bound(made)
        asks = self.layouts.asks_for_layout
        return Expanded(lowered, parameters, code.out, tree, kinds, argtypes, code.classes, asks)

    def _declared(self, result: anf.Atom, wanted: NumbaType) -> anf.Atom:
        """Convert the result to the return type of the signature."""
        code, line = self.code, self.code.lowered.source.tree.lineno
        made = self.numbers.converted(result, wanted, line)
        if made is None:
            why = f"the function computes {code.kind(result)}, and numba converts that"
            instead = "the conversion into the function, or no signature"
            code.refuse(line, f"the signature `{wanted}(...)`", why, instead)
        return made

    def _undefined(self, tree: anf.Tree) -> None:
        """Give the leaves of the result dummy values, for numba: they are never read."""
        code = self.code
        line = code.lowered.source.tree.lineno
        for x in anf.variables(tree):
            kind = code.of[x]
            if is_array(kind):
                shape = ast.Tuple([ast.Constant(0)] * kind.ndim, ast.Load())
                empty = to_python.call("np.empty", shape, to_python.name(dtype_name(kind.dtype)))
                code.emit(anf.Alloc(x, (), empty, line))
            elif not isinstance(kind, types.NoneType):
                zero = 0.0 if is_real(kind) else False if isinstance(kind, types.Boolean) else 0
                code.emit(anf.Copy(x, anf.Const(zero), line))

    # Statements

    def _block(self, body: list[anf.Stmt]) -> list[anf.Stmt]:
        return self.code.collect(lambda: self._block_into(body))

    def _block_into(self, body: list[anf.Stmt]) -> None:
        for s in body:
            self._statement(s)
        self.lazy.flush()

    def _statement(self, s: anf.Stmt) -> None:
        if is_unreached(s, self.code.of):
            return
        if isinstance(s, anf.GetItem) and s.unpacked is not None and s.index == (anf.Const(0),):
            self._check_count(s.base, s.unpacked, s.line)
        if isinstance(s, anf.Let):
            self.lazy.settle(s)
        if isinstance(s, anf.Store) or (isinstance(s, anf.Let) and not changes_nothing(s, self.code.of)):
            self.lazy.flush_variables(s)
        if self.growing.takes(s) or self.structures.takes(s):
            return
        check_places(self.code, self.lists, s)
        s = self.opaques.without_slices(s)
        if isinstance(s, anf.Let):
            changed = self.overloads.lowered(s)
            if changed is None or self.draws.takes(changed):
                return
            s = changed
        if self.opaques.takes(s):
            return
        self.complexes.check(s)
        match s:
            case anf.Let():
                self.operation(s)
            case anf.Store():
                if not (self.complexes.store(s) or self.items.stores(s)):
                    self.assignments.store(s)
            case anf.If() | anf.For() | anf.While() | anf.Effect():
                for x in anf.reads(s):
                    self.lazy.materialise(x)
                self.lazy.flush()
                self.code.add(self._compound(s))
            case _:
                raise AssertionError(s)

    def _check_count(self, x: anf.Atom, count: int, line: int) -> None:
        """Emit numba's ValueError for `u, v = x`, where an array or a list has another number of items."""
        code = self.code
        kind = code.kind(x)
        if is_list(kind):
            refuse_unpacked(code.lowered, line)
        self.lazy.materialise(x)
        if isinstance(kind, Parts):
            x, kind = anf.leaves(code.tree(x))[0], kind.dtype
        if is_array(kind):
            length = {"n": self.lists.lengths[x]} if x in self.lists.lengths else {"a": x}
            test = code.plain(f"{'n' if 'n' in length else 'a.shape[0]'} != {count}", line, types.boolean, **length)
            code.add(anf.If(test, [anf.Effect("raise ValueError()", (), line, True)], [], line))

    def _compound(self, s: anf.If | anf.For | anf.While | anf.Effect) -> anf.Stmt:
        """Scalarise the blocks of a compound statement."""
        code = self.code
        match s:
            case anf.If():
                test = self.complexes.truth(s.test, s.line)
                return anf.If(test, self._block(s.then), self._block(s.orelse), s.line)
            case anf.For():
                outside, code.in_rounds = code.in_rounds, code.in_rounds or s.parallel
                body, code.in_rounds = self._block(s.body), outside
                return anf.For(s.target, s.start, s.stop, s.step, body, s.exits, s.line, s.parallel, s.elements)
            case anf.While():
                tests: list[anf.Atom] = []
                test_block = self._block(s.test_block)
                test_block += code.collect(lambda: tests.append(self.complexes.truth(s.test, s.line)))
                return self.opaques.in_body(anf.While(test_block, tests[0], self._block(s.body), s.exits, s.line))
            case anf.Effect():
                return self._effect(s)

    def _effect(self, s: anf.Effect) -> anf.Effect:
        """Lower a `raise` or `print`: tuples in it are rebuilt from their components."""
        told = [_told(self.code.tree(x)) for x in s.args]
        texts, atoms = [text for text, _ in told], [x for _, atoms in told for x in atoms]
        return anf.Effect(s.text.format(*texts), tuple(atoms), s.line, s.raises) if told else s

    # Operations

    def operation(self, s: anf.Let) -> None:
        """Lower an operation of core."""
        kind = self.code.of[s.target]
        self.lazy.settle(s)
        left = self.complexes.lowered(s, kind)
        if left is None or self.elementwise.takes(left, kind):
            return
        s = left
        for x in anf.reads(s):
            if not isinstance(s, (anf.CallKnown, anf.CallMethod)):  # these may make better use of what has been put off
                self.lazy.materialise(x)
        self.operations[type(s)](s, kind)

    def _copy(self, s: anf.Let, kind: NumbaType) -> None:
        self.code.copy_tree(self.code.tree(s.target), self.code.tree(s.args[0]), s.line)

    def _binary(self, s: anf.BinOp | anf.InplaceOp, kind: NumbaType) -> None:
        if s.symbol == "@":
            self.composed.dot(s, kind)
        elif isinstance(kind, types.BaseTuple):
            self.tuples.join(s)
        else:
            arithmetic(self.code, s.binop() if isinstance(s, anf.InplaceOp) else s, kind)

    def _unary(self, s: anf.UnaryOp, kind: NumbaType) -> None:
        arithmetic(self.code, s, kind)


def _told(tree: anf.Tree) -> tuple[str, list[anf.Atom]]:
    """Format string and atoms of a tree; the class of a named tuple is one of the atoms."""
    if not isinstance(tree, anf.Node):
        return "{}", [tree]
    parts = [_told(x) for x in tree.parts]
    text = ", ".join(text for text, _ in parts) + "," * (len(parts) == 1 and tree.cls is None)
    atoms = [x for _, atoms in parts for x in atoms]
    return ("{}" if tree.cls else "") + f"({text})", [tree.cls, *atoms] if tree.cls else atoms
