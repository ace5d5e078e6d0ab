"""Count the words that gradients of the programs have on the tape at most: `python -m bench.words`.

The reference evaluator of the compiler's core runs the forward and the reverse pass, and counts. A word has 8 bytes: it
is a number, or up to 32 flags that are recorded together (8 in loops whose iterations are counted). Arrays are recorded
by reference, so their elements are not counted. If the number of words grows linearly with the size of the program, the
last column has the bytes for one unit more: a step, a point, a node.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from bench.programs.array_programs import ARRAYS
from bench.programs.compiled_programs import PROGRAMS, Program
from dualrev.compiler.ad.reverse.joint import joint
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.driver.context import Front
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.interpret import Tape

__all__ = ["most", "per_step"]


class _Counted(list[Any]):
    """A list that remembers how many words it had at most."""

    def __init__(self) -> None:
        super().__init__()
        self.words = self.most = 0

    def append(self, values: Any) -> None:
        """Push, and count the values."""
        super().append(values)
        self.words += _words(values)
        self.most = max(self.most, self.words)

    def pop(self, index: Any = -1) -> Any:
        """Pop, and count the values."""
        values = super().pop(index)
        self.words -= _words(values)
        return values


def _words(values: Any) -> int:
    """Count the words of one push: numbers or columns; an array counts one, for its reference."""
    if not isinstance(values, tuple):
        return 1
    flags = [np.size(x) for x in values if np.asarray(x).dtype == np.bool_]
    share = 8 if any(np.ndim(x) for x in values) else 32
    return sum(int(np.size(x)) for x in values) - sum(flags) + sum(flags[::share])


def _leaves(x: Any) -> list[Any]:
    return [y for part in x for y in _leaves(part)] if isinstance(x, tuple) else [x]


def most(program: Program, size: int) -> tuple[int, int]:
    """Return how many words and arrays a gradient has on the tape at most, at this size."""
    args = program.make(size)
    front = Front()
    core = front.entered(program.function, tuple(map(numba.typeof, args)))
    numbers = (program.argnums,) if isinstance(program.argnums, int) else program.argnums
    varied = [x for k in numbers for x in traverse.leaves(core.parameters[k]) if carries(x)]
    made = joint(front.reverse, core, varied, ())
    given = zip([x for p in core.parameters for x in traverse.leaves(p)], _leaves(args), strict=True)
    shadows = [np.zeros_like(y) for x, y in given if x in made.shadows]
    tape = Tape(_Counted(), _Counted())
    front.program.run(made.function, (*args, *shadows), tape)
    return tape.numbers.most, tape.arrays.most


def per_step(program: Program) -> tuple[tuple[int, int], int | None]:
    """Return words and arrays at the small size, and the bytes for one unit more; None if that is not constant."""
    n = program.small
    counts = [most(program, k) for k in (n, n + 1, n + 2)]
    steps = {8 * (after[0] - before[0]) for before, after in itertools.pairwise(counts)}
    return counts[0], steps.pop() if len(steps) == 1 else None


def main(names: Sequence[str]) -> int:
    """Print the table of all programs, or of those with these names."""
    rows = [["program", "size", "words", "arrays", "bytes for one more"]]
    for name, program in (PROGRAMS | ARRAYS).items():
        if not names or name in names:
            (words, arrays), more = per_step(program)
            rows.append([name, str(program.small), str(words), str(arrays), "-" if more is None else str(more)])
    rows.insert(1, ["---", *["---:"] * 4])
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
