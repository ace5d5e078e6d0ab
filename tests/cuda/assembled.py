"""Compile adjoint kernels to machine code, with NVIDIA's compilers and without a GPU; test_cuda.py runs it.

NVVM translates numba's LLVM IR to PTX, and ptxas the PTX to machine code: `pip install "numba-cuda[cu12]"` has both.
"""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numba
import numpy as np
from numba import cuda, types
from programs.block_kernels import BLOCKS
from programs.cuda_kernels import CASES, Case
from programs.shared_kernels import SHARED

from bench.programs.kernel_programs import PROGRAMS
from dualrev.cuda.derive_kernel import kernel_text
from dualrev.cuda.thread_function import thread_function

CAPABILITY = (9, 0)


def assembler():
    """Return the path of ptxas."""
    files = metadata.files("nvidia-cuda-nvcc-cu12") or ()
    (found,) = [file.locate() for file in files if file.name in ("ptxas", "ptxas.exe")]
    return found


def assembled(function, kinds, folder):
    """Compile a kernel; return what ptxas says of its registers and its memory."""
    text = cuda.compile_ptx(function, kinds, cc=CAPABILITY)[0]
    file = Path(folder, "kernel.ptx")
    file.write_text(text, encoding="utf-8")
    made = [str(assembler()), "-v", f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}", "-o", str(file.with_suffix(".cubin"))]
    done = subprocess.run([*made, str(file)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return " ".join(line.partition("Used ")[2] for line in done.stderr.split("\n") if "Used " in line)


def main(folder):
    """Compile the adjoints of all test kernels, for float64 and for float32."""
    timed = {p.name: Case(p.kernel, grid, args) for p in PROGRAMS for args, grid in [p.make(p.tiny, np.float64, 4)]}
    for name, case in (CASES | SHARED | BLOCKS | timed).items():
        for number in (types.float64, types.float32):
            kinds = [numba.typeof(x) for x in case.args]
            for k in case.arrays:
                kinds[k] = kinds[k].copy(dtype=number)
            made = kernel_text(thread_function(case.kernel), tuple(kinds), 64)
            space = dict(made.refs)
            exec(made.text.replace("@cuda.jit()", ""), space)
            given = (*kinds, *(kinds[k] for k in made.active), *[types.int64[::1]] * (made.limit is not None))
            print(f"{name}, {number}: {assembled(space[made.name], given, folder)}")
    print("assembled")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(made))
