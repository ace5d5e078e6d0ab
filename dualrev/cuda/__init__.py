"""Adjoints of CUDA kernels that numba compiles: `dualrev.cuda.adjoint`, and `dualrev.cuda.vjp` for several launches.

arguments.py         arguments of a kernel: tuples of arrays
thread_function.py   a kernel, as a numba function of one thread
accesses.py          the elements that a thread touches
indices.py           their indices as linear forms; conditions.py: what the tests around them say
varying.py           what differs between threads; identity.py: tests that one thread passes
races.py             elements that several threads touch: data races
phases.py            data races between two barriers
telling.py, apart.py proofs that threads touch different elements
readers.py           elements that only one thread loads
derive_kernel.py     both sweeps of a thread
needed.py            what a thread needs of the forward sweep
emit_kernel.py       their text, for numba.cuda
launch.py            the launch of it
handles.py           arrays of several launches
record.py            launches of several kernels, and their reversal
"""

from dualrev.cuda.handles import Handle
from dualrev.cuda.launch import Adjoint, adjoint
from dualrev.cuda.record import Record, vjp

__all__ = ["Adjoint", "Handle", "Record", "adjoint", "vjp"]
