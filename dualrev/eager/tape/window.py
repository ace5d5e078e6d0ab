"""Window of a tape: what has been written since a mark, as a linear map of the ids that it read.

    y = f(x), where f reads traced numbers with ids i       partials(y) = the derivatives of y by the numbers i

The rows and blocks stay on the tape. So a function's derivatives by the traced numbers that it captures are known while
the tape is written.
"""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np

from dualrev.eager.tape.dependence import written_out
from dualrev.eager.tape.linear import FewRows, Linear
from dualrev.eager.tape.tape import ROW, Tape

__all__ = ["Window"]


class Window:
    """Rows and blocks that a tape gets from now on."""

    def __init__(self, run: Tape) -> None:
        self._run, self._start, self._blocks = run, run.buffer.tell(), len(run.blocks)

    def partials(self, outputs: list[int]) -> tuple[list[int], list[list[Any]]]:
        """Return the ids that were read, and the partial derivatives of each output by them, in a list each."""
        run = self._run
        with run.buffer.getbuffer() as view:  # getvalue() would copy the whole tape
            written = bytes(view[self._start :])
        blocks = run.blocks[self._blocks :]
        ids = self._read(written, blocks, outputs)
        linear: Any
        if blocks or min(ids, default=0) < 0 or min(outputs, default=0) < 0:
            linear = Linear(_part(run, written, blocks))
        else:
            linear = FewRows(written, run.nested)
        ends: list[Any] = [np.array([i]) if i < 0 else i for i in ids]
        made = []
        for i in outputs:
            seed = [np.ones(1)] if i < 0 else [1.0]
            found = linear.pull([np.array([i]) if i < 0 else i], seed, ends)
            made.append([u[0] if np.ndim(u) else u for u in found])
        return ids, made

    @staticmethod
    def _read(written: bytes, blocks: list[Any], outputs: list[int]) -> list[int]:
        rows = np.frombuffer(written, dtype=ROW)
        read, made = [rows["i"], rows["j"], np.array(outputs, int)], [rows["id"]]
        for block in blocks:
            results, operands = block.ends()
            read.append(written_out(operands))
            made.append(written_out(results))
        found = np.setdiff1d(np.concatenate(read), np.concatenate(made))
        return [i for i in found.tolist() if i]


def _part(run: Tape, written: bytes, blocks: list[Any]) -> Any:
    """Return what `Linear` reads of a tape, with some of its rows and blocks."""
    return SimpleNamespace(
        buffer=io.BytesIO(written), blocks=blocks, nested=run.nested, elements=run.elements, sizes=run.sizes
    )
