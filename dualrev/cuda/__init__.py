"""Adjoints of CUDA kernels that numba compiles: `dualrev.cuda.adjoint`.

thread_function.py   a kernel, as a numba function of one thread
races.py             which elements several threads touch
derive_kernel.py     both sweeps of a thread
emit_kernel.py       their text, for numba.cuda
launch.py            the launch of it
"""

from dualrev.cuda.launch import Adjoint, adjoint

__all__ = ["Adjoint", "adjoint"]
