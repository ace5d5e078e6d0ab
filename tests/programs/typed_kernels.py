"""All kernels of the tests with numba's types for their arguments, and their adjoints as functions to compile."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import types

import dualrev as dr
from dualrev.cuda.derive_kernel import kernel_text
from dualrev.cuda.thread_function import thread_function
from programs.block_kernels import BLOCKS
from programs.constant_kernels import CONSTANT
from programs.cuda_kernels import CASES, Case
from programs.extreme_kernels import EXTREME
from programs.record_kernels import RECORDS
from programs.shared_kernels import SHARED
from programs.timed_kernels import timed
from programs.tuple_kernels import TUPLES


class Typed(NamedTuple):
    """A kernel and its adjoint, each with numba's types for its arguments."""

    name: str
    case: Case
    kinds: tuple[Any, ...]
    adjoint: Callable[..., None]
    adjoint_kinds: tuple[Any, ...]


def typed_kernels(single: bool = True) -> Iterator[Typed]:
    """Derive the adjoints of all kernels, those of NumPy's arrays alone for float64 and for float32.

    Without `single`, only those that are timed, for float32.
    """
    for dtype, number in ((np.float64, types.float64), (np.float32, types.float32)):
        many = CASES | SHARED | BLOCKS | EXTREME if single or dtype is np.float64 else {}
        for name, case in (many | timed(dtype)).items():
            yield _typed(f"{name}, {number}", case, number)
    for name, case in (CONSTANT | TUPLES | RECORDS).items():
        yield _typed(name, case, types.float64)


def _typed(name: str, case: Case, number: Any) -> Typed:
    kinds = tuple(_retyped(x, number) for x in dr.cuda.adjoint(case.kernel).types_of(case.args))
    made = kernel_text(thread_function(case.kernel), kinds, 64)
    space = dict(made.refs)
    exec(made.text.replace("@cuda.jit()", ""), space)
    members = [member.kind for member in made.members]
    best = [members[k].copy(layout="C") for k in made.extreme]
    scratch = [kind for x in best for kind in (x, x.copy(dtype=types.int32))]
    flags = [types.boolean] * bool(scratch) + [types.int64[::1]] * (made.limit is not None)
    adjoint_kinds = (*members, *(members[k] for k in made.active), *scratch, *flags)
    return Typed(name, case, kinds, space[made.name], adjoint_kinds)


def _retyped(kind: Any, number: Any) -> Any:
    """Return a type with this dtype for all arrays of floats."""
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types([_retyped(x, number) for x in kind], getattr(kind, "instance_class", None))
    return kind.copy(dtype=number) if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float) else kind
