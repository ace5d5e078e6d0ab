"""`dr.tape_info`: what a compiled derivative puts on the tape, by the line of the user's functions.

The derivative is emitted once more with counters (codegen/count_tape.py), compiled, and run.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dualrev.compiler.bridge.check_arguments import check_taken
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.variadic import Variadic
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.runtime.tape import counts
from dualrev.compiler.types.aliases import UserValue
from dualrev.eager.copies import copied
from dualrev.tree import flatten_leaves

if TYPE_CHECKING:
    from dualrev.compiler.codegen.count_tape import TapeCounter

__all__ = ["TapeInfo", "TapeLine", "tape_info"]

WORD = 8  # bytes


@dataclass(frozen=True)
class TapeLine:
    """Line of a function, and its records on the tape; numbers and arrays have a TapeLine each.

    function, file, line, text   the line
    values                       what is recorded there: names of variables, or expressions
    times                        how often something was put there, that is, iterations that reached the line
    words                        numbers of 8 bytes, in all
    arrays, array_bytes          arrays that were recorded in all, and their bytes; an array of your own has none
    """

    function: str
    file: str
    line: int
    text: str
    values: tuple[str, ...]
    times: int
    words: int
    arrays: int
    array_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of the words and the arrays, in all."""
        return WORD * self.words + self.array_bytes

    def __add__(self, other: TapeLine) -> TapeLine:
        """Add the numbers of the same line in other emitted code."""
        numbers = ("times", "words", "arrays", "array_bytes")
        return replace(self, **{x: getattr(self, x) + getattr(other, x) for x in numbers})


@dataclass(frozen=True)
class TapeInfo:
    """Records of a derivative on the tape, for given arguments; `print(info)` shows a table.

    lines                what each line puts there, those with the most bytes first
    words                most words that are on the tape at once
    array_bytes          most bytes of arrays that the tape refers to at once, each array counted once
    arrays               most arrays that the tape refers to at once
    result_bytes         bytes of the arrays that the derivative returns
    """

    lines: list[TapeLine]
    words: int
    arrays: int
    array_bytes: int
    result_bytes: int

    @property
    def bytes(self) -> int:
        """Most bytes of words and arrays at once."""
        return WORD * self.words + self.array_bytes

    def __str__(self) -> str:
        said = f"at most {_size(self.bytes)} at once: {self.words:,} words"
        said += f" and {self.arrays:,} arrays of {_size(self.array_bytes)}" if self.arrays else ""
        rows = [f"{said}; the result has {_size(self.result_bytes)}" if self.result_bytes else said]
        table = [["bytes", "times", "words each time", "arrays", "line"]]
        for x in self.lines:
            each = f"{x.words / x.times:.3g}" if x.words else ""
            table.append([_size(x.bytes), f"{x.times:,}", each, f"{x.arrays:,}" if x.arrays else "", _place(x)])
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        rows += ["  ".join([*(f"{x:>{n}}" for x, n in zip(row, widths, strict=False)), row[4]]) for row in table]
        return "\n".join(rows)


def tape_info(g: Any, *args: Any, **kwargs: Any) -> TapeInfo:
    """Count what a compiled derivative puts on the tape for these arguments, by the line that puts it there.

    The derivative is compiled once more, with counters, and runs once: this takes as long as its first call, and needs
    as much memory. Your arrays are not changed.

    Args:
        g: Derivative of a numba function that runs backwards, such as dr.grad(f), dr.hessian(f) or dr.jacrev(f).
        *args: Its arguments.
        **kwargs: Its keyword arguments.

    Returns:
        A TapeInfo: `bytes`, most bytes at once; `words`, most numbers of 8 bytes at once; `arrays` and `array_bytes`,
        most arrays that the tape keeps alive at once; and `lines`, which says for each line what it puts there in all.
        `result_bytes` are those of the arrays that the derivative returns. Not counted: arrays that f makes, and their
        cotangents, where the tape does not refer to them.

    Raises:
        TypeError: g is no derivative of a numba function.

    >>> import numba, numpy as np
    >>> import dualrev as dr
    >>> @numba.njit
    ... def logistic(r, n):
    ...     x = 0.5
    ...     for k in range(n):
    ...         x = r * x * (1.0 - x)
    ...     return x
    >>> info = dr.tape_info(dr.grad(logistic), 3.7, 1000)
    >>> info.words, info.bytes, info.lines[0].text, info.lines[0].values
    (1000, 8000, 'for k in range(n):', ('x',))
    """
    from dualrev.compiler.codegen.count_tape import TapeCounter  # with the whole compiler

    if not isinstance(g, Derivative):
        raise TypeError(
            f"expected a derivative of a numba function, such as dr.grad(f), got {describe(g)}: for Python functions, "
            "the tape has 40 bytes for each operation on numbers, and the operands of each one on arrays"
        )
    bound = inspect.signature(g).bind(*args, **kwargs)
    bound.apply_defaults()
    given = copied(bound.args)
    derivative = g[len(given)] if isinstance(g, Variadic) else g
    check_taken(derivative.derivative_of[0], given)
    counter = TapeCounter()
    entry = derivative.counted(tuple(map(derivative.typeof_pyval, given)), counter)
    result = entry(*given)
    return _read(counter, given, sum(x.nbytes for x in flatten_leaves(result)[0] if isinstance(x, np.ndarray)))


def _read(counter: TapeCounter, args: tuple[UserValue, ...], result_bytes: int) -> TapeInfo:
    """Read the counters."""
    made = int(counter.counters[counts.EVENTS])
    if made > counts.CAPACITY:
        raise MemoryError(
            f"{made:,} arrays are recorded and taken, of which dr.tape_info can count {counts.CAPACITY:,}: "
            "give it smaller arguments"
        )
    arrays = _Arrays(args)
    for row in counter.events[:made].tolist():
        arrays.event(*row[:4])
    pairs = counter.counters[counts.SITES :].reshape(-1, 2).tolist()
    lines: dict[tuple[str, int, tuple[str, ...], bool], TapeLine] = {}
    for k, (site, (times, words)) in enumerate(zip(counter.sites, pairs, strict=False)):
        count = arrays.counts[k]
        if times or count:
            function, file, text = site.source.tree.name, site.source.file, site.source.line(site.line)
            sizes = max(times, count), words, count, arrays.sizes[k]
            line = TapeLine(function, file, site.line, text, site.values, *sizes)
            key = file, site.line, site.values, count > 0
            lines[key] = line + lines[key] if key in lines else line
    ordered = sorted(lines.values(), key=lambda x: (-x.bytes, x.file, x.line))
    return TapeInfo(ordered, int(counter.counters[counts.MOST]), arrays.most, arrays.most_bytes, result_bytes)


class _Arrays:
    """Replay of the events: arrays and bytes by site, and most at once, each array counted once."""

    def __init__(self, args: tuple[UserValue, ...]) -> None:
        leaves = [x for x in flatten_leaves(args)[0] if isinstance(x, np.ndarray) and x.size]
        self._own = [np.lib.array_utils.byte_bounds(x) for x in leaves]
        self._stacks: dict[int, list[tuple[int, int]]] = {}  # of each tape: addresses and sizes
        self._live = Counter[tuple[int, int]]()
        self._bytes = self.most = self.most_bytes = 0
        self.counts, self.sizes = Counter[int](), Counter[int]()

    def event(self, tape: int, site: int, address: int, size: int) -> None:
        """Record an array of so many bytes at an address, or take the last one of a tape."""
        if site == counts.TAKEN:
            array = self._stacks[tape].pop()
            self._live[array] -= 1
            if not self._live[array]:
                del self._live[array]
                self._bytes -= array[1]
            return
        if any(low <= address < high for low, high in self._own):
            size = 0
        array = address, size
        self._stacks.setdefault(tape, []).append(array)
        self._live[array] += 1
        self._bytes += size if self._live[array] == 1 else 0
        self.counts[site] += 1
        self.sizes[site] += size
        self.most, self.most_bytes = max(self.most, len(self._live)), max(self.most_bytes, self._bytes)


def _place(x: TapeLine) -> str:
    place = f"{x.function}:{x.line}: {x.text}"
    return f"{place}    ({', '.join(x.values)})" if x.values else place


def _size(n: float) -> str:
    """Bytes in the unit that fits, as "7.6 MB"."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"
