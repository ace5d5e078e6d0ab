"""Lower adjoint kernels to LLVM IR for a device, which numba can without a driver; test_cuda.py runs it.

Numba asks the driver for the device, and libNVVM for the layout of data. Both have fixed answers here. What libNVVM
makes of the IR is not tested.
"""

from types import SimpleNamespace

import numba.cuda.compiler
import numba.cuda.dispatcher
from numba import types
from numba.cuda.cudadrv import nvvm
from programs.constant_kernels import CONSTANT
from programs.typed_kernels import typed_kernels

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


def main():
    """Lower all kernels and their adjoints; global arrays are in constant memory."""
    nvvm.NVVM = Layout
    for module in (numba.cuda.compiler, numba.cuda.dispatcher):
        module.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)
    for typed in typed_kernels(single=False):  # assembled.py does the rest
        if typed.case.device:
            assert "define" in lowered(typed.case.kernel.py_func, typed.kinds)
        text = lowered(typed.adjoint, typed.adjoint_kinds)
        assert "define" in text
        assert ("_cudapy_cmem" in text) == (typed.name in CONSTANT)
    print("lowered")


if __name__ == "__main__":
    main()
