"""Unit of the front end: a numba function for argument types, and the passes that lower it to core.

    prune-branches ... infer-types          read      a syntax tree becomes statements of ANF with types
    remove-optionals ... to-core            lower     arrays, tuples, lists, records, complex numbers become scalars
    fold-constants ... inline               optimise  core that has no derivatives yet

Each pass here says what of the unit it takes; what it does stands in the file that driver/passes.py names.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Protocol

from numba.core import types

from dualrev.compiler.ad.custom.custom_rules import is_checkpoint
from dualrev.compiler.ad.function_table import Caller, FunctionTable, Origin
from dualrev.compiler.analysis.values.finiteness import holds_wild
from dualrev.compiler.driver.complex_arguments import ComplexCalls
from dualrev.compiler.frontend.lowering import to_anf
from dualrev.compiler.frontend.lowering.dead_flags import drop_unread
from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.reading import prune_branches as branches
from dualrev.compiler.frontend.reading.ast_purity import looks_at_layout
from dualrev.compiler.frontend.reading.njit_options import alike, declared, is_checked_for
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.frontend.typing import infer
from dualrev.compiler.frontend.typing.dtype_constants import fold_dtypes
from dualrev.compiler.frontend.typing.infer_callees import Uncompiled
from dualrev.compiler.frontend.typing.optional import without_optionals
from dualrev.compiler.frontend.typing.unreachable import without_unreached
from dualrev.compiler.frontend.typing.write_truth import write_truth
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.printer import show_lowered
from dualrev.compiler.ir.anf_to_core import typed
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import Function, Statement
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.optimize.constant_folding import with_folded_branches
from dualrev.compiler.optimize.initial_values import with_initial_values
from dualrev.compiler.optimize.recognize_accumulation import with_accumulations
from dualrev.compiler.parallel.outline import outlined
from dualrev.compiler.scalarize.lists.dicts import by_places
from dualrev.compiler.scalarize.lists.handles import by_handles
from dualrev.compiler.scalarize.lists.legalize import Lists, check_unpacked, check_unpacked_dicts, lists_in
from dualrev.compiler.scalarize.lists.struct_of_lists import by_leaves
from dualrev.compiler.scalarize.lists.to_tuples import as_tuples
from dualrev.compiler.scalarize.lower import Expanded, Expansion
from dualrev.compiler.scalarize.numpy.finfo import with_limits
from dualrev.compiler.scalarize.opaque.opaque_statements import without_listed
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.complex_parts import in_parts

__all__ = ["Origin", "Reading"]


class ReadContext(FunctionTable, Protocol):
    """Interface of the module for the passes of the front end; driver/context.py implements it."""

    complexes: ComplexCalls
    uncompiled: Uncompiled

    def inlined(self, f: Dispatcher, core: Function) -> Function:
        """Inline small functions into the core of a function."""


@dataclass(eq=False)
class Reading:
    """Unit of the front end: a numba function for argument types, as far as passes have lowered it.

    path        the way to the function, if it is called
    functions   its parameters that stand for functions
    caller      what it takes from its callers
    apart       whether arrays of different parameters never share memory, which is checked
    listed      whether loops may go over what has no places: frontend/lowering/iterables.py
    in_haste    whether type inference fails with numba's error, without a compilation: frontend/typing/infer.py
    """

    front: ReadContext
    f: Dispatcher
    argtypes: NumbaTypes
    path: AccessPath
    functions: dict[str, Static]
    caller: Caller
    apart: bool = True
    listed: bool = False
    in_haste: bool = False
    holds: set[str] = field(default_factory=set)

    source: Source = field(init=False)
    scope: to_anf.Lowering = field(init=False)
    lowered: Lowered = field(init=False)
    typed: infer.Typed = field(init=False)
    of: dict[str, NumbaType] = field(init=False)  # the types of variables, in parts where they are complex
    converts: NumbaType = None  # the type that a declared signature converts the value to
    returned: NumbaType = None  # the type of the value
    tuples: set[str] = field(default_factory=set)  # the lists that have become tuples
    unchecked: set[str] = field(default_factory=set)  # the lists of a heap, whose indices are never out of range
    lists: Lists = field(init=False)
    expanded: Expanded = field(init=False)
    core: Function = field(init=False)

    @property
    def dispatcher(self) -> Dispatcher:
        """User's numba function."""
        return self.f

    def shown(self) -> str:
        """Text of the function in its present form: source, ANF, or core."""
        if "core" in self.holds:
            return show(self.core)
        if "anf" not in self.holds:
            return ast.unparse(self.source.tree) + "\n"
        name, made, names = self.source.tree.name, self.lowered, self.front.names
        if "scalars" in self.holds:
            flat = self.expanded
            parameters = [x for p in flat.parameters for x in anf.leaves(p) if isinstance(x, str)]
            results = anf.leaves(flat.result)
            return show_lowered(name, parameters, flat.body, results, flat.types.get, names)
        kind = self.typed if "types" in self.holds else lambda _: None
        return show_lowered(name, made.parameters, made.body, [made.result], kind, names)

    def verify(self) -> None:
        """Verify core, and definite assignment from set-initial-values on; raise AssertionError."""

        def refuse(s: Statement, why: str) -> None:
            """Raise AssertionError for an ill-formed statement."""
            raise AssertionError(f"{self.core.name}, line {s.line}: {type(s).__name__}: {why}")

        if "core" in self.holds:
            check(self.core, None if "assigned" in self.holds else refuse)


# Read: the syntax tree, and ANF with types


def prune_branches(r: Reading) -> None:
    """Prune the branches that argument types decide."""
    r.source = branches.prune(r.front.source(r.f), r.argtypes)


def desugar(r: Reading) -> None:
    """Desugar the syntax tree to the subset of Python that lowering accepts."""
    r.scope = to_anf.Lowering(r.source, r.path, r.functions, r.front.refs, r.front.names, r.listed)
    r.scope.desugar()
    r.source = r.scope.source


def lower_to_anf(r: Reading) -> None:
    """Lower to A-normal form: name each intermediate value, and replace jumps by flags."""
    r.lowered = r.scope.lowered()


def drop_dead_flags(r: Reading) -> None:
    """Eliminate dead code: flags that nothing reads."""
    r.lowered = replace(r.lowered, body=drop_unread(r.lowered.body, r.lowered.result))


def infer_types(r: Reading) -> None:
    """Infer types with numba; split names of several types (web splitting)."""
    options, uncompiled = r.f.targetoptions, r.front.uncompiled
    itself = None if r.in_haste else lambda: r.f.compile(r.argtypes)
    r.lowered, r.typed = infer.infer(r.lowered, r.argtypes, options, uncompiled, itself)


# Lower: ANF of scalars, and core


def fold_dtype_constants(r: Reading) -> None:
    """Fold dtypes that type inference knows."""
    r.lowered = replace(r.lowered, body=fold_dtypes(r.lowered.body, r.typed))


def write_truth_values(r: Reading) -> None:
    """Lower the truth of a condition, of a container whether it is empty, to a bool."""
    r.lowered = replace(r.lowered, body=write_truth(r.lowered, r.typed))


def remove_optionals(r: Reading) -> None:
    """Replace a variable that may be None by a value and a flag."""
    signature = declared(r.f, r.argtypes)
    if signature is not None and not alike(signature.return_type, r.typed.result):
        r.converts = signature.return_type
    r.returned = r.typed.result if r.converts is None else r.converts
    converts = r.converts is not None
    r.lowered = without_optionals(r.lowered, r.typed, not (r.apart or converts), converts)
    r.of = {x: in_parts(kind) for x, kind in r.typed.of.items()}


def remove_unreachable(r: Reading) -> None:
    """Eliminate dead code: statements that numba never types."""
    r.lowered = replace(r.lowered, body=without_unreached(r.lowered.body, r.of))


def index_iterated(r: Reading) -> None:
    """Replace iterables without indices, in loops, by lists of their items."""
    r.lowered = replace(r.lowered, body=without_listed(r.lowered, r.of))


def fold_limits(r: Reading) -> None:
    """Fold the attributes of `np.finfo` and `np.iinfo` to constants."""
    r.lowered = replace(r.lowered, body=with_limits(r.lowered, r.of))


def split_dicts(r: Reading) -> None:
    """Replace a dict of floats by a dict of indices and a list of values."""
    check_unpacked_dicts(r.lowered, r.of)
    r.lowered = by_places(r.lowered, r.of)


def lists_to_tuples(r: Reading) -> None:
    """Replace lists of known length by tuples."""
    body, r.tuples = as_tuples(r.lowered, r.of)
    r.lowered = replace(r.lowered, body=body)


def containers_to_heap(r: Reading) -> None:
    """Replace containers of arrays and of lists by containers of handles, with a heap for their items."""
    r.lowered, r.unchecked = by_handles(r.lowered, r.of, r.apart)
    check_unpacked(r.lowered, r.of)


def split_lists_of_tuples(r: Reading) -> None:
    """Replace a list of tuples by one list per tuple component (struct of arrays)."""
    r.lowered = by_leaves(r.lowered, r.of)


def lists_to_arrays(r: Reading) -> None:
    """Legalise lists of numbers: they get array types."""
    r.lists = lists_in(r.lowered, r.of)
    r.lists.unchecked |= r.unchecked


def scalarize(r: Reading) -> None:
    """Scalarise whole-array operations, tuples, records and complex numbers."""
    expansion = Expansion(r.lowered, r.of, r.apart, r.typed.returned, r.tuples, r.lists)
    r.expanded = expansion.run(r.argtypes, r.converts)


def to_core(r: Reading) -> None:
    """Translate ANF of scalars to core, in which variables are typed objects; refuse ill-formed statements."""
    front, f, source = r.front, r.f, r.lowered.source
    looks = r.expanded.asks_for_layout or looks_at_layout(source.tree)
    origin = Origin(f, source, r.lowered.parameters, r.expanded.asks_for_layout, looks, r.returned)
    checked = is_checked_for(f, r.argtypes, r.caller.root or f)
    core = typed(r.expanded, origin, checked, lambda s: front.complexes.symbol(s, source, r.caller))

    def refuse(s: Statement, why: str) -> None:  # it would be a constant, without a word
        """Refuse a statement for which the compiler has no rule."""
        why = f"the compiler has no rule for it ({why}). Please report it"
        source.refuse(s.line, "this statement", why, "it with numbers, or with elements of arrays")

    check(core, refuse)
    infinite = [
        x
        for p, kind in zip(core.parameters, r.argtypes, strict=True)
        for x in leaves(p)
        if isinstance(x, Var) and isinstance(kind, types.Omitted) and holds_wild(kind.value)
    ]
    r.core = replace(core, again=is_checkpoint(f), wild=tuple(infinite))


# Optimise: core


def recognise_accumulation(r: Reading) -> None:
    """Recognise accumulation: write `t = x + y; x = t` as one sum, by which later passes know it."""
    r.core = with_accumulations(r.core, r.front.memory)


def fold_constants(r: Reading) -> None:
    """Fold constants, and drop the branches that they decide."""
    r.core = with_folded_branches(r.core)


def set_initial_values(r: Reading) -> None:
    """Assign initial values where a loop may read a variable before a branch assigns it (definite assignment)."""
    r.core = with_initial_values(r.core)


def outline_parallel_loops(r: Reading) -> None:
    """Outline each loop over prange to a function of its own."""
    r.core = outlined(r.core, r.front.program, r.front.memory)


def inline_small_functions(r: Reading) -> None:
    """Inline small functions."""
    r.core = r.front.inlined(r.f, r.core)
