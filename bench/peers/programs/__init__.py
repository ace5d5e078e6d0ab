"""All programs, in the order of the report: loops over scalars, then operations on arrays."""

from bench.peers.programs.dot import dot_array, dot_loop
from bench.peers.programs.garch import garch
from bench.peers.programs.lstm import lstm
from bench.peers.programs.matvec import matvec_array, matvec_loop
from bench.peers.programs.mixture import mixture
from bench.peers.programs.network import network
from bench.peers.programs.newton import newton
from bench.peers.programs.oscillator import oscillator
from bench.peers.programs.rotate import rotate
from bench.peers.programs.tree import tree

_SCALARS = [oscillator, newton, tree, garch, rotate, lstm, mixture, dot_loop, matvec_loop]
_ARRAYS = [dot_array, matvec_array, network]

PROGRAMS = {program.name: program for program in [*_SCALARS, *_ARRAYS]}
