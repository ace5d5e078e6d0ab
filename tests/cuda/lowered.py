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
from programs.block_kernels import BLOCKS
from programs.cuda_kernels import CASES, Case
from programs.shared_kernels import SHARED

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


def check(case, number):
    """Lower a kernel and its adjoint, of arrays with this dtype."""
    kinds = [numba.typeof(x) for x in case.args]
    for k in case.arrays:
        kinds[k] = kinds[k].copy(dtype=number)
    if case.device:
        assert "define" in lowered(case.kernel.py_func, tuple(kinds))
    made = kernel_text(thread_function(case.kernel), tuple(kinds), 64)
    space = dict(made.refs)
    exec(made.text.replace("@cuda.jit()", ""), space)
    given = (*kinds, *(kinds[k] for k in made.active), *[types.int64[::1]] * (made.limit is not None))
    assert "define" in lowered(space[made.name], given)


def main():
    """Lower all cases, in both precisions."""
    nvvm.NVVM = Layout
    for module in (numba.cuda.compiler, numba.cuda.dispatcher):
        module.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)
    timed = [Case(p.kernel, grid, args) for p in PROGRAMS for args, grid in [p.make(p.tiny, np.float64, 4)]]
    for case in (*CASES.values(), *SHARED.values(), *BLOCKS.values(), *timed):
        for number in (types.float64, types.float32):
            check(case, number)
    print("lowered")


if __name__ == "__main__":
    main()
