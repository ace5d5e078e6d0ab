"""The kernels that bench/kernels.py times, as cases for tests, with the blocks of its tables."""

from bench.programs.kernel_programs import PROGRAMS
from programs.cuda_kernels import Case

__all__ = ["timed"]


def timed(dtype):
    """Return the kernels for a dtype, by name."""
    made = [(program, *program.make(256, dtype, 256)) for program in PROGRAMS]
    return {program.name: Case(program.kernel(dtype, 256), grid, args) for program, args, grid in made}
