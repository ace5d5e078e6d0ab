"""Compile adjoint kernels to machine code, with NVIDIA's compilers and without a GPU; test_cuda.py runs it.

NVVM translates numba's LLVM IR to PTX, and ptxas the PTX to machine code: `pip install "numba-cuda[cu12]"` has both.
"""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from numba import cuda
from programs.typed_kernels import typed_kernels

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
    """Compile the adjoints of all test kernels."""
    for typed in typed_kernels():
        print(f"{typed.name}: {assembled(typed.adjoint, typed.adjoint_kinds, folder)}")
    print("assembled")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(made))
