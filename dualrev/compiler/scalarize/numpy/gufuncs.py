"""Lower calls of `numba.guvectorize` ufuncs to calls of their kernels, in loops over the leading axes.

f(a, b, made) with the signature (n),()->(n): of every argument the last axes go to the kernel, as many as the signature
says, and the loops go over the others. Numba knows such calls with all results among the arguments. Arguments without
axes in front are the same in every iteration; all others have the same lengths there. Numba would
stretch a length of 1.
"""

from __future__ import annotations

from numba.core import types
from numba.np.ufunc.sigparse import parse_signature

from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["generalized"]

_WHOLE = anf.Slice(None, None, None)


def generalized(code: ScalarBuilder, lazy: Lazy, s: anf.CallUfunc, kernel: anf.Ref) -> None:
    """Lower the call of a generalized ufunc, whose kernel is a numba function."""
    f, count = s.function.value, len(s.args)
    inputs, outputs = parse_signature(f.gufunc_builder.signature)
    core = [*inputs, *outputs]
    kinds = [types.unliteral(code.kind(x)) for x in s.args]
    wanted = f.find_ewise_function(tuple(k.dtype if is_array(k) else k for k in kinds))[0]
    ranks = [k.ndim if is_array(k) else 0 for k in kinds]
    front = [rank - len(dims) for rank, dims in zip(ranks, core, strict=False)]
    depth = max(front)
    if count != len(core) or wanted is None or any(x not in (0, depth) for x in front):
        why = "only that of arguments of declared types is known, results included, with the same axes in front or none"
        code.refuse(s.line, f"this call of {describe(f)}", why, "a loop that calls a numba function")
    for x in s.args:
        lazy.materialise(x)
    lazy.flush()
    _check_lengths(code, s, core, front, depth)
    places = {x: named(x) for x in s.args if is_array(code.kind(x))}

    def one(i: tuple[str, ...]) -> None:
        """Call the kernel at one index of the leading axes."""
        args = []
        for x, dims, before, kind in zip(s.args, core, front, wanted.args, strict=True):
            index = i if before else ()
            args.append(_part(code, places.get(x, x), index, len(dims), kind, s.line) if is_array(code.kind(x)) else x)
        done = code.temp(types.none)
        code.call(done, kernel, args, s.line)

    first = next((places[x] for x, k in zip(s.args, front, strict=True) if k), None)
    code.over(first, depth, s.line, one) if first is not None else one(())


def _part(code: ScalarBuilder, array: str, index: tuple[str, ...], rank: int, kind: NumbaType, line: int) -> anf.Atom:
    """Argument of the kernel from an array: a scalar, or a view of its last axes."""
    of = code.kind(array)
    if not is_array(kind):
        return code.pick(array, index, line)
    if rank == 0:  # a result without axes is an array of one number
        *front, last = index
        end = code.plain("k + 1", line, k=last)
        view = code.temp(types.Array(of.dtype, 1, "A"))
        return code.emit(anf.View(view, array, (*front, anf.Slice(last, end, None)), line))
    if not index:
        return array
    view = code.temp(types.Array(of.dtype, rank, "A"))
    return code.emit(anf.View(view, array, (*index, *[_WHOLE] * rank), line))


def _check_lengths(code: ScalarBuilder, s: anf.Let, core: list[str], front: list[int], depth: int) -> None:
    """Emit a ValueError for axis lengths that have to be equal and are not."""
    seen: dict[str, tuple[str, int]] = {}
    for x, dims, before in zip(s.args, core, front, strict=True):
        axes = [*range(depth)] if before else []
        for axis, length in enumerate([*axes, *dims]):
            name = named(x)
            other, place = seen.setdefault(length, (name, axis))
            if (other, place) == (name, axis):
                continue
            wrong = code.plain(f"a.shape[{axis}] != b.shape[{place}]", s.line, types.boolean, a=name, b=other)
            error = anf.Effect(raising("ValueError", "Loop and array shapes are incompatible"), (), s.line, True)
            code.add(anf.If(wrong, [error], [], s.line))
