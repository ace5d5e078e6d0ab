"""Value and gradient of the same functions under dualrev and other AD libraries.

Each program (bench/peers/programs/) is a page that holds a version for every library, written as its users would write
it. What all versions of a library share is in libraries.py: how inputs become the library's, how a gradient is taken.
"""

from bench.peers.libraries import LIBRARIES, Library
from bench.peers.program import Program, Version
from bench.peers.programs import PROGRAMS

__all__ = ["LIBRARIES", "PROGRAMS", "Library", "Program", "Version"]
