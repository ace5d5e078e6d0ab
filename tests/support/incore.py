"""Reverse mode of a numba function in core, run by the reference evaluator: nothing is compiled, so it is quick."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from fuzzing.agreeing import RTOL, Engine, coarse
from fuzzing.running import Discarded, Failed, arguments, eager, load, same
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from programs.generators.generator import Program

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.joint import joint
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.analysis.values.nonzero_cotangents import Known
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.driver.emit import core_program
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.program import Program as CoreProgram
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.elide_zeroing import Storing
from support.oracle import flat

__all__ = ["check_core", "core_of", "gradient", "gradient_by_stores", "pullback", "reverse_mode"]


def core_of(f: Any, kinds: tuple[Any, ...], passes: PassManager | None = None) -> tuple[Function, CoreProgram]:
    """A numba function in core, with its program: by numba's inference as derivatives have it, which is faster."""
    with global_compiler_lock, fast_compilation():
        return core_program(f, kinds, passes)


def reverse_mode(program: CoreProgram, passes: PassManager | None = None) -> Reverse:
    """Reverse mode for the functions of a program."""
    memory, passes = Memory(program), passes or PassManager(LISTS)
    return Reverse(program, memory, Forward(program, memory, passes), passes)


@global_compiler_lock
@fast_compilation()
def pullback(f: Any, args: tuple[Any, ...], numbers: Sequence[int]) -> Any:
    """The pullback of a numba function in core by some parameters, checked; its program, and what it is by."""
    defaults = tuple(p.default for p in inspect.signature(f.py_func).parameters.values())[len(args) :]
    core, program = core_of(f, (*map(numba.typeof, args), *map(types.Omitted, defaults)))
    varied = [x for k in numbers for x in traverse.leaves(core.parameters[k]) if carries(x)]
    reached = Known(tuple(True for _ in traverse.leaves(core.result)))  # the cotangents are not 0
    made = reverse_mode(program).pullback(core, varied, reached)
    for g in [made, *program.made_functions()]:
        check(g)
    return made, program, varied, defaults


@global_compiler_lock
@fast_compilation()
def gradient(f: Any, args: tuple[Any, ...], numbers: Sequence[int], passes: PassManager | None = None) -> Any:
    """The gradient in core of a numba function with a real result, checked; and what it is for these arguments."""
    core, program = core_of(f, tuple(map(numba.typeof, args)), passes)
    varied = [x for k in numbers for x in traverse.leaves(core.parameters[k]) if carries(x)]
    made = joint(reverse_mode(program, passes), core, varied, ())
    for g in [made.function, *program.made_functions()]:
        check(g)
    inputs = [x for p in core.parameters for x in traverse.leaves(p)]
    values = [y for x in args for y in walks_through(x)]
    shadows = {x: np.zeros_like(y) for x, y in zip(inputs, values, strict=True) if x in made.shadows}
    numbers_back = iter(program.run(made.function, (*args, *shadows.values())))
    return made.function, [shadows[x] if is_array(x) else next(numbers_back) for x in varied]


@global_compiler_lock
@fast_compilation()
def gradient_by_stores(f: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], set[Any]]:
    """The gradient by arrays, whose first contributions are stored, and the shadows that need not be zeros.

    These are full of NaN before the sweeps run.
    """
    core, program = core_of(f, tuple(map(numba.typeof, args)))
    inputs = [x for p in core.parameters for x in traverse.leaves(p)]
    made = joint(reverse_mode(program), core, inputs, ())
    storing = Storing(made.shadows.values())
    (body,) = storing.blocks(made.function.body)
    function = replace(made.function, body=body)
    check(function)
    shadows = tuple(
        np.full_like(x, np.nan if d in storing.covered else 0.0)
        for x, d in zip(args, made.shadows.values(), strict=True)
    )
    program.run(function, (*args, *shadows))
    return shadows, storing.covered


def walks_through(x: Any) -> list[Any]:
    """The leaves of an argument."""
    return [y for part in x for y in walks_through(part)] if isinstance(x, tuple) else [x]


def check_core(of: Program, engine: Engine, folder: str) -> None:
    """Value and gradient in core, as the tape has them."""
    taped = eager(of)
    try:
        made, program, varied, _ = pullback(load(of.source, folder).f, arguments(of), taped.argnums)
    except NumbaError as error:
        raise Discarded(f"numba raises {type(error).__name__}") from error
    given = arguments(of)
    real = [x for k in taped.argnums for x in _leaves(given[k])]
    shadows = [np.zeros_like(x) for v, x in zip(varied, real, strict=True) if is_array(v)]
    value, back = program.run(made, (*given, *shadows, 1.0))
    arrays, numbers = iter(shadows), iter(back)
    found = [x for v in varied for x in np.ravel(next(arrays) if is_array(v) else next(numbers))]
    expected = flat(taped.gradients)
    share = coarse(of) * RTOL
    try:
        same("value in core", float(value), taped.value, share, max(1.0, abs(taped.value)))
    except Failed as error:
        if math.isclose(float(value), float(load(of.source, folder).f(*arguments(of))), rel_tol=share):
            raise Discarded("numba differs from the tape") from error
        raise
    same("gradient in core", list(map(float, found)), expected, share, max([1.0, *map(abs, expected)]))
    _, parts = gradient(load(of.source, folder).f, arguments(of), taped.argnums)
    found = [x for part in parts for x in np.ravel(part)]
    same("gradient by one function in core", list(map(float, found)), expected, share, max([1.0, *map(abs, expected)]))


def _leaves(x: Any) -> list[Any]:
    """The real numbers and arrays of an argument."""
    if isinstance(x, tuple):
        return [y for part in x for y in _leaves(part)]
    real = isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
    return [x] if real else []
