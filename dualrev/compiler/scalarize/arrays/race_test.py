"""Race test of array statements: whether numba runs one in threads that read elements which others write.

With parallel=True numba runs `a[i:j] = b` and `a += b` as parallel loops over elements, and copies nothing first. If b
is another view of the same memory, the value is left to chance: neither numpy's order nor numba's own is that of f.
(`ConvertSetItemPass` and `ConvertInplaceBinop` in numba/parfors/parfor.py.) So the code looks when it runs, and raises.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.frontend.reading.njit_options import is_parallel
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["raise_for_race", "raise_for_race_of_part"]


def raise_for_race(code: ScalarBuilder, array: str, value: anf.Atom, line: int, part: str = "inplace_binop") -> None:
    """Emit a ValueError for `array[...] (op)= value` whose parallel loop in numba has a data race."""
    if code.in_rounds or value == array or not is_parallel(code.lowered.source.dispatcher, part):
        return
    if not is_array(code.kind(value)) or not code.alias.same(array, named(value)):
        return
    source = code.lowered.source
    text = (
        f"{source.function.__name__}: `{source.line(line)}`: with parallel=True numba runs this in threads, which read"
        " elements that others write: the result is left to chance. Write a copy of the array that is read: a.copy()."
    )
    spread = code.spread(value, array, code.kind(array).ndim, line)
    test = code.plain("runtime.races(a, b)", line, types.boolean, a=array, b=spread)
    code.add(anf.If(test, [anf.Effect(raising("ValueError", text), (), line, True)], [], line))


def raise_for_race_of_part(code: ScalarBuilder, view: str, index: anf.Index, value: anf.Atom, line: int) -> None:
    """Emit the race test for `array[index] = value`, where numba runs it in threads: slices without a step."""
    slices = [x for x in index if isinstance(x, anf.Slice)]
    steps = {None, *(x.step for x in slices)} - {None, anf.Const(None), anf.Const(1)}
    if not steps and is_array(code.kind(value)) and len(slices) == code.kind(value).ndim:
        raise_for_race(code, view, value, line, "setitem")
