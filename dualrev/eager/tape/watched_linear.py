"""The linear map of a watched tape: it finds the operation that makes a result NaN or infinite.

    value         walk back from the elements that are not finite, to operands that are not finite: the origin is the
                  first operation whose operands are all finite
    pull, push    row by row, block by block: the first one that makes a number of finite ones that is not finite, and
                  that the result depends on; the origin of its operands, if these are not finite

An operation on infinite operands that makes NaN, as inf - inf, is the origin if there is no other. Else it is one that
takes a constant that is NaN, and is no argument. If all begins with arguments that are not finite, there is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from dualrev.diagnostics.nonfinite import BY_CONSTANT, Operation, cure_of
from dualrev.eager.arrays.memory.storage import holds_duals, plain
from dualrev.eager.numbers.dual import value
from dualrev.eager.tape.blocks import Block
from dualrev.eager.tape.cotangent_flow import Flow
from dualrev.eager.tape.dependence import BlockDependence, Dependence, RowDependence, written_out
from dualrev.eager.tape.linear import Linear
from dualrev.eager.tape.watched_tape import WatchedTape, resolving
from dualrev.errors import NonFiniteError

__all__ = ["WatchedLinear"]


class _Note(NamedTuple):
    """The row or block of this id made cotangents or tangents that are not finite, at these ids."""

    id: int
    ids: np.ndarray
    number: float  # the first of them
    shape: tuple[int, ...]  # of the array that has it, and where it is there
    place: tuple[int, ...]


_NOTES: ContextVar[list[_Note] | None] = ContextVar("dualrev_nonfinite_notes", default=None)


class WatchedLinear(Linear):
    """Rows and blocks of a watched tape; NonFiniteError for results that they make NaN or infinite."""

    def __init__(self, run: WatchedTape) -> None:
        super().__init__(run)
        self._operations, self._call = run.operations, run.call
        self._steps: list[Dependence] = [
            *(RowDependence(int(row["id"]), (int(row["i"]), int(row["j"]))) for row in self.rows),
            *(BlockDependence(block) for block in self.blocks),
        ]
        self._steps.sort(key=lambda step: step.id)
        self.blocks: list[Block] = [_WatchedBlock(block, run.operations[block.id]) for block in self.blocks]
        self._values = np.zeros(max(run.operations, default=0) + 1 + run.elements)
        for ids, x in run.values:
            self._values[np.asarray(ids)] = x

    def check(self, ids: Sequence[Any], values: Sequence[Any]) -> None:
        """NonFiniteError for a value that an operation has made NaN or infinite; `ids` are those of its leaves."""
        if self._call.is_of_value and not _is_finite(values) and (origin := self._origin(written_out(ids))) is not None:
            raise self._error_of_value(origin)

    def pull(self, outputs: list[Any], cts: Sequence[Any], inputs: list[Any]) -> list[Any]:
        """Return the cotangents of the inputs, given the cotangents of the outputs."""
        return self._checked(super().pull, (outputs, cts, inputs), lambda: self._dependent(inputs))

    def push(self, inputs: list[Any], tangents: Sequence[Any], outputs: list[Any]) -> list[Any]:
        """Return the tangents of the outputs, given the tangents of the inputs."""
        return self._checked(super().push, (inputs, tangents, outputs), lambda: self._needed(outputs))

    def _checked(self, resolve: Callable[..., list[Any]], given: Any, used: Callable[[], np.ndarray]) -> list[Any]:
        """The results of a sweep; `used` is the mask of the ids that say something about them."""
        before, notes = _NOTES.get(), list[_Note]()
        _NOTES.set(notes)
        try:
            found = resolve(*given)
        finally:
            _NOTES.set(before)
        if notes and not _is_finite(found):
            mask = used()
            for note in notes:
                if mask[note.ids].any() and (error := self._error(note)) is not None:
                    raise error
        return found

    def _pull_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        for k in range(end - 1, start - 1, -1):
            _, i, _, j, id = self.rows[k].item()
            with resolving(self._operations[id]), _noting(flow, id, [id], [i, j]):
                super()._pull_rows(flow, rows, k, k + 1)

    def _push_rows(self, flow: Any, rows: Any, start: int, end: int) -> None:
        for k in range(start, end):
            _, i, _, j, id = self.rows[k].item()
            with resolving(self._operations[id]), _noting(flow, id, [i, j], [id]):
                super()._push_rows(flow, rows, k, k + 1)

    # What depends on what

    def _dependent(self, inputs: Sequence[Any]) -> np.ndarray:
        """Mask of the ids that depend on the inputs."""
        mask = self._mask(written_out(inputs))
        for step in self._steps:
            mask[step.results_of(mask)] = True
        return mask

    def _needed(self, outputs: Sequence[Any]) -> np.ndarray:
        """Mask of the ids that the outputs depend on."""
        mask = self._mask(written_out(outputs))
        for step in reversed(self._steps):
            mask[step.operands_of(mask)] = True
        return mask

    def _mask(self, ids: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(self._values), bool)
        mask[ids] = True
        return mask

    # The origin

    def _origin(self, ids: np.ndarray) -> _Origin | None:
        """The first operation that makes values at these ids NaN or infinite, and its results."""
        bad, nan = ~np.isfinite(self._values), np.isnan(self._values)
        wanted = self._mask(ids) & bad
        of_finite, of_infinite, of_constants = None, None, None
        for step in reversed(self._steps):
            shape, results = step.results()
            if not wanted[results].any():
                continue
            operands = step.operands_of(wanted)
            wanted[operands[bad[operands]]] = True
            bad_operand, nan_operand = self._mask(step.results_of(bad)), self._mask(step.results_of(nan))
            traced = bad_operand.copy()
            for x in self._operations[step.id].operands:
                bad_operand[results] |= _spread(~np.isfinite(x), shape, len(results))
                nan_operand[results] |= _spread(np.isnan(x), shape, len(results))
            mine = results[wanted[results]]
            if (made := mine[~bad_operand[mine]]).size:
                of_finite = _Origin(step, made)
            if (made := mine[nan[mine] & ~nan_operand[mine]]).size:
                of_infinite = _Origin(step, made)
            if self._call.has_finite_arguments and (made := mine[nan[mine] & ~traced[mine]]).size:
                of_constants = _Origin(step, made, by_constant=True)
        return of_finite or of_infinite or of_constants

    def _error_of_value(self, origin: _Origin) -> NonFiniteError:
        operation, (shape, results) = self._operations[origin.step.id], origin.step.results()
        index = _first(np.isin(results, origin.results).reshape(shape))
        what = f"{operation.quoted()} is {_text(self._values[origin.results[0]])}"
        return _error(operation, what, shape, index, BY_CONSTANT if origin.by_constant else cure_of(operation))

    def _error(self, note: _Note) -> NonFiniteError | None:
        """Return the error for the operation of a note, or for the origin of its operands; None if these have none."""
        steps, noted = [step for step in self._steps if step.id == note.id], self._mask(note.ids)
        results = noted.copy()
        for step in steps:
            results[step.results_of(noted)] = True
        involved = np.concatenate([np.flatnonzero(results), *(step.operands_of(results) for step in steps)])
        origin = self._origin(involved)
        if origin is not None:
            return self._error_of_value(origin)
        operation = self._operations[note.id]
        shape, ids = steps[0].results()
        known = [_where(x, shape, results[ids]) for x in operation.operands]
        known.append(self._values[involved])
        if any(np.isnan(x).any() for x in known) or not (
            np.isnan(note.number) or all(np.isfinite(x).all() for x in known)
        ):
            return None
        what = f"the derivative through {operation.quoted()} is {_text(note.number)}"
        return _error(operation, what, note.shape, note.place, cure_of(operation))


class _Origin(NamedTuple):
    """The step that makes these results NaN or infinite; or that takes a constant that is NaN already."""

    step: Dependence
    results: np.ndarray
    by_constant: bool = False


class _WatchedBlock:
    """A block that notes what it makes NaN or infinite."""

    def __init__(self, block: Block, operation: Operation) -> None:
        self.id, self.nested, self._block, self._operation = block.id, block.nested, block, operation

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents."""
        results, operands = self._block.ends()
        with resolving(self._operation), _noting(flow, self.id, results, operands):
            self._block.pull(flow)

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the results, and of the operands that are no constants."""
        return self._block.ends()

    def push(self, flow: Any) -> None:
        """Add to the results' tangents."""
        results, operands = self._block.ends()
        with resolving(self._operation), _noting(flow, self.id, operands, results):
            self._block.push(flow)


@contextlib.contextmanager
def _noting(flow: Any, id: int, sources: Sequence[Any], targets: Sequence[Any]) -> Iterator[None]:
    """Context of a step that adds to the numbers at the targets what follows from those at the sources."""
    finite = all(np.isfinite(_numbers(flow, ids)).all() for ids in sources)
    before = [np.isfinite(_numbers(flow, ids)) for ids in targets] if finite else []
    yield
    for ids, was_finite in zip(targets, before, strict=False):
        numbers, places = _numbers(flow, ids), np.asarray(ids)
        made = was_finite & ~np.isfinite(numbers) & (places != 0)
        notes = _NOTES.get()
        if notes is not None and made.any():
            index = _first(made)
            notes.append(_Note(id, places[made], float(numbers[index]), places.shape, index))


def _numbers(flow: Any, ids: Any) -> np.ndarray:
    """The plain cotangents or tangents at these ids, 0 where nothing contributed."""
    if not isinstance(ids, int):
        return np.asarray(plain(flow.get(ids)), dtype=float)
    if ids == 0:
        return np.zeros(())
    if isinstance(flow, Flow):
        return flow.buffer[ids, ...]
    return np.asarray(value(flow.number(ids)) if flow.has(ids) else 0.0)


def _spread(mask: Any, shape: tuple[int, ...], size: int) -> np.ndarray:
    """The mask of an operand for each result: element by element, or one for all where the shapes do not broadcast."""
    try:
        return np.broadcast_to(mask, shape).reshape(-1)
    except ValueError:
        return np.full(size, np.any(mask))


def _where(x: Any, shape: tuple[int, ...], chosen: np.ndarray) -> np.ndarray:
    """The elements of an operand at the chosen results; all where the shapes do not broadcast."""
    try:
        return np.broadcast_to(x, shape).reshape(-1)[chosen]
    except ValueError:
        return np.asarray(x)


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(int(np.argmax(mask)), mask.shape))) if mask.shape else ()


def _is_finite(leaves: Sequence[Any]) -> bool:
    """Whether numbers and arrays are finite, or under differentiation: the derivatives of outer runs follow."""
    return all(holds_duals(x) or np.isfinite(plain(x)).all() for x in leaves)


def _error(
    operation: Operation, what: str, shape: tuple[int, ...], index: tuple[int, ...], cure: str
) -> NonFiniteError:
    operands = operation.at(shape, index)
    return NonFiniteError(operation.place, f"{what}{f' at {operands}' if operands else ''}", cure)


def _text(x: float) -> str:
    return "NaN" if np.isnan(x) else repr(float(x))
