"""Adjoints of CUDA kernels that numba compiles: `dualrev.cuda.adjoint`, and `dualrev.cuda.vjp` for several launches.

arguments.py           arguments of a kernel: tuples of arrays
thread_function.py     a kernel, as a numba function of one thread
accesses.py            the elements that a thread touches
indices.py             their indices as linear forms
conditions.py          path conditions: what the tests around them say
divergence.py          what differs between threads
one_thread.py          tests that one thread passes
races.py               data races: elements that several threads touch
phases.py              data races between two barriers
distinct_indices.py    indices that tell threads apart
disjoint_accesses.py   proofs that threads touch different elements
readers.py             elements that only one thread loads
derive_kernel.py       both sweeps of a thread
forward_slice.py       what a thread needs of the forward sweep
winners.py             which thread gets the cotangent of a maximum
emit_kernel.py         the text of the adjoint kernel, for numba.cuda
launch.py              the launch of it
handles.py             arrays of several launches
record.py              launches of several kernels, and their reversal
"""

from dualrev.cuda.handles import Handle
from dualrev.cuda.launch import Adjoint, adjoint
from dualrev.cuda.record import Record, vjp

__all__ = ["Adjoint", "Handle", "Record", "adjoint", "vjp"]
