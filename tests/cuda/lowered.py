"""Lower adjoint kernels to LLVM IR for a device, which numba can without a driver; test_cuda.py runs it.

Numba asks the driver for the device, and libNVVM for the layout of data. Both have fixed answers here. What libNVVM
makes of the IR is not tested.
"""

from types import SimpleNamespace

import numba.cuda.compiler
import numba.cuda.dispatcher
import numpy as np
from numba import types
from numba.cuda.cudadrv import nvvm
from programs.constant_kernels import CONSTANT
from programs.cuda_kernels import CASES, Case
from programs.extreme_kernels import EXTREME
from programs.record_kernels import RECORDS
from programs.shared_kernels import SHARED
from programs.tuple_kernels import TUPLES

import dualrev as dr
from bench.programs.kernel_programs import PROGRAMS
from dualrev.cuda.derive_kernel import kernel_text
from dualrev.cuda.thread_function import thread_function

CAPABILITY = (7, 5)


class Layout:
    """Stand-in for libNVVM."""

    data_layout = (
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32"
        "-v64:64:64-v128:128:128-n16:32:64"
    )
    supported_ccs = (CAPABILITY,)

    def get_ir_version(self):
        """Return the versions of NVVM IR and of its debug metadata."""
        return 2, 0, 3, 2


def lowered(function, kinds):
    """Return LLVM IR of a kernel for a device."""
    return numba.cuda.compiler.compile_cuda(function, types.void, kinds, cc=CAPABILITY).library.get_llvm_str()


def retyped(kind, number):
    """Return a type with this dtype for all arrays of floats."""
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types([retyped(x, number) for x in kind], getattr(kind, "instance_class", None))
    return kind.copy(dtype=number) if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float) else kind


def check(case, number):
    """Lower a kernel and its adjoint, of arrays with this dtype; return the IR of the adjoint."""
    kinds = tuple(retyped(x, number) for x in dr.cuda.adjoint(case.kernel).types_of(case.args))
    if case.device:
        assert "define" in lowered(case.kernel.py_func, kinds)
    made = kernel_text(thread_function(case.kernel), kinds, 64)
    space = dict(made.refs)
    exec(made.text.replace("@cuda.jit()", ""), space)
    flat = [member.kind for member in made.members]
    best = [flat[k].copy(layout="C") for k in made.extreme]
    scratch = [kind for x in best for kind in (x, x.copy(dtype=types.int32))]
    flags = [types.boolean] * bool(scratch) + [types.int64[::1]] * (made.limit is not None)
    text = lowered(space[made.name], (*flat, *(flat[k] for k in made.active), *scratch, *flags))
    assert "define" in text
    return text


def main():
    """Lower all cases, in both precisions."""
    nvvm.NVVM = Layout
    for module in (numba.cuda.compiler, numba.cuda.dispatcher):
        module.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)
    timed = [Case(p.kernel, grid, args) for p in PROGRAMS for args, grid in [p.make(p.tiny, np.float64, 4)]]
    for case in (*CASES.values(), *SHARED.values(), *EXTREME.values(), *timed):
        for number in (types.float64, types.float32):
            check(case, number)
    for case in CONSTANT.values():
        assert "_cudapy_cmem" in check(case, types.float64)  # an array in constant memory
    for case in (*TUPLES.values(), *RECORDS.values()):
        check(case, types.float64)
    print("lowered")


if __name__ == "__main__":
    main()
