"""Value and gradient of the same functions in dualrev and in other AD libraries.

Each file of bench/peers/programs/ holds one program, with a version for every library, written as its users would write
it. libraries.py holds the code that all versions of a library share: how to convert the inputs and take the gradient.
"""

from bench.peers.libraries import LIBRARIES, Library
from bench.peers.program import Program, Version
from bench.peers.programs import PROGRAMS

__all__ = ["LIBRARIES", "PROGRAMS", "Library", "Program", "Version"]
