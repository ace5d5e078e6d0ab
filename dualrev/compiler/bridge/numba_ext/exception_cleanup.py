"""Release of references at exceptions: emitted functions that raise free what they hold.

An exception in numba code is a status that a function returns at once; nobody unwinds, and what its variables refer to
is lost. So before each return of a failure the function gives back the references of the variables that may have one:
those that were assigned and not deleted since. Numba deletes a variable after its last use.

    return failure      ->      jump to the block that gives back what y and z refer to, and returns the failure

A variable that has not been assigned on the way refers to nothing, as numba begins with zeros. All failures that hold
y and z share a block, which gives z back and goes on to the block of those that hold y. Functions that cannot raise
stay as numba makes them.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection
from typing import Any

from llvmlite import ir
from numba.core import compiler
from numba.core import ir as numba_ir
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["release_at_exceptions"]

_Lower: Any = Lower  # numba has no type information
_CHECKS = {  # of the runtime: they raise; where only shapes are compared, nearly all that has arrays would be longer
    *["divide", "floor_divide", "power", "remainder"],
    *["add_cotangent", "check_apart", "check_new", "check_spread", "contribute"],
    *["need_stack", "new_tangent", "strided_tangent", "tangent"],
}
_FINE = 0, -2  # numba's status of a value, and of None


def release_at_exceptions(own: list[Any], called: Collection[str]) -> None:
    """Have functions of a module that may raise release their references; `called` are outer functions."""
    raising = {f.py_func.__name__ for f in own if _raises(f)} | set(called) | _CHECKS
    names = {f.py_func.__name__: f for f in own}
    todo = set(names) - raising
    while found := {name for name in todo if raising.intersection(names[name].py_func.__code__.co_names)}:
        raising |= found
        todo -= found
    for name, f in names.items():
        if name in raising:
            f._compiler.pipeline_class = _Releasing


def _raises(f: Dispatcher) -> bool:
    """Whether a function raises by itself: by a statement, a check of the runtime, or a bounds check."""
    if f.targetoptions.get("boundscheck"):
        return True
    code = f.py_func.__code__
    return bool(_CHECKS.intersection(code.co_names)) or any(
        i.opname == "RAISE_VARARGS" for i in dis.get_instructions(code)
    )


class _ReleasingLower(_Lower):
    """Numba's lowering, with a release of references before each returned failure."""

    _blk_local_varmap: dict[str, ir.Value]  # the variables of one block, which are not in the stack frame

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables in the stack frame, as numba does, and the references held at the start of each block."""
        super()._find_singly_assigned_variable()
        self._starts = _held(self.blocks, self._counts)
        self._order: dict[str, int] = {}  # of the variables that have held references, oldest first
        self._releases: dict[tuple[str, ...], ir.PhiInstr] = {}  # status that is returned, by what is held

    def _counts(self, name: str) -> bool:
        model = self.context.data_model_manager[self.typeof(name)]
        return bool(self.context.enable_nrt and model.contains_nrt_meminfo())

    def pre_block(self, block: ir.Block) -> None:
        """Begin a block, with the references that are held at its start."""
        super().pre_block(block)
        self._now = set(self._starts[id(block)])

    def lower_inst(self, inst: ir.Stmt) -> None:
        """Lower a statement, whose failures release the references that are held before it."""
        made, here = len(self.function.blocks), self.builder.block
        super().lower_inst(inst)
        failing = [block for block in (here, *self.function.blocks[made:]) if self._now and _fails(block)]
        if failing:
            for name in sorted(self._now):
                self._order.setdefault(name, len(self._order))
            held = tuple(sorted(self._now, key=self._order.__getitem__))
            for block in failing:
                self._release(block, held)
        _follow(inst, self._now, self._counts)

    def _release(self, block: ir.Block, held: tuple[str, ...]) -> None:
        """Replace the return of a failure by a jump to the block that releases what is held."""
        (status,) = block.terminator.operands
        block.instructions.remove(block.terminator)
        block.terminator = None
        releasing = self._releasing(held, status.type)
        ir.IRBuilder(block).branch(releasing.parent)
        releasing.add_incoming(status, block)

    def _releasing(self, held: tuple[str, ...], kind: ir.Type) -> ir.PhiInstr:
        """Status (phi) of the block that releases variables, the newest first, and then returns it."""
        if held not in self._releases:
            builder = ir.IRBuilder(self.function.append_basic_block("release"))
            self._releases[held] = status = builder.phi(kind)
            if held:
                older = self._releasing(held[:-1], kind)
                self.context.nrt.decref(builder, self.typeof(held[-1]), self._held_value(builder, held[-1]))
                builder.branch(older.parent)
                older.add_incoming(status, builder.block)
            else:
                builder.ret(status)
        return self._releases[held]

    def _held_value(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        """Value of a variable that is held. One of a single block is defined before all failures that hold it."""
        if name in self._blk_local_varmap and not self._disable_sroa_like_opt:
            return self._blk_local_varmap[name]
        return builder.load(self.getvar(name))


def _held(blocks: dict[int, ir.Block], counts: Callable[[str], bool]) -> dict[int, set[str]]:
    """Dataflow analysis: variables that may hold a reference at the start of each block, by the block's identity."""
    starts: dict[int, set[str]] = {k: set() for k in blocks}
    todo = list(blocks)
    while todo:
        k = todo.pop()
        held = set(starts[k])
        for statement in blocks[k].body:
            _follow(statement, held, counts)
        for target in blocks[k].terminator.get_targets():
            if not held <= starts[target]:
                starts[target] |= held
                todo.append(target)
    return {id(block): starts[k] for k, block in blocks.items()}


def _follow(statement: ir.Stmt, held: set[str], counts: Callable[[str], bool]) -> None:
    """Update the held references by a statement (transfer function)."""
    if isinstance(statement, numba_ir.Assign) and counts(statement.target.name):
        held.add(statement.target.name)
    elif isinstance(statement, numba_ir.Del):
        held.discard(statement.value)


def _fails(block: ir.Block) -> bool:
    """Whether a block returns a status that is, or may be, a failure."""
    if not isinstance(block.terminator, ir.Ret):
        return False
    (status,) = block.terminator.operands
    return not (isinstance(status, ir.Constant) and status.constant in _FINE)


@register_pass(mutates_CFG=True, analysis_only=False)
class _ReleasingLowering(BaseNativeLowering):
    """Lowering pass that releases references at exceptions."""

    _name = "dualrev_releasing_lowering"

    @property
    def lowering_class(self) -> Any:
        """Lowering that the pass runs."""
        return _ReleasingLower


class _Releasing(compiler.Compiler):
    """Numba's compiler with the releasing lowering."""

    def define_pipelines(self) -> list[Any]:
        """Numba's pipelines, with the releasing lowering in place of numba's own."""
        made = super().define_pipelines()
        for passes in made:
            passes.passes = [(_ReleasingLowering if x is NativeLowering else x, text) for x, text in passes.passes]
            passes._finalized = False
            passes.finalize()
        return made
