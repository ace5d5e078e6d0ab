"""numpy.matmul: one block for each product, resolved by two products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.record import attach, by_terms, holding, kept_as_is, kept_on, stripped
from dualrev.eager.arrays.memory.storage import RealArray, plain, real_array, to_objects
from dualrev.eager.tape.blocks import Products, sum_to
from dualrev.eager.tape.ids import Range, saved
from dualrev.eager.tape.tape import Tape

__all__ = ["matmul", "transposed"]


def transposed(a: Any) -> Any:
    """The matrices of the last two axes, transposed."""
    return a.mT


def matmul(a: Any, b: Any) -> Any:
    """numpy.matmul: vectors, matrices, and stacks of them that broadcast."""
    a, b = real_array(a), real_array(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: an operand has no axes; write a * b")
    run, ids, xs = stripped((a, b))
    if run is None:
        return holding(np.matmul(plain(a), plain(b)), (a, b))
    if not isinstance(run, Tape):
        return np.matmul(to_objects(a), to_objects(b))
    if a.ndim == b.ndim == 1:
        if a.shape != b.shape:
            raise ValueError(f"matmul: vectors of {len(a)} and {len(b)} elements")
        if xs[0].__class__ is xs[1].__class__ is np.ndarray:
            terms = [(i, kept_on(run, other)) for i, other in zip(ids, (b, a), strict=True) if i is not None]
            return by_terms(run, np.dot(*xs), terms, a.shape, ())
    y = np.matmul(*xs)
    nested = RealArray in map(type, xs)
    sums = _sums(run, ids) if a.ndim <= 2 and b.ndim <= 2 else (None, None)
    # what is kept does not change when the user's function assigns to an element later
    factors = [
        kept_as_is(run, u, x) if i is not None else None for u, x, i in zip((a, b), xs, reversed(ids), strict=True)
    ]
    made, out = attach(run, y)
    run.blocks.append(Product(run.fresh(), out, ids, factors, (a.shape, b.shape), sums, nested))
    return made


class Product:
    """A product of two factors, stacks of matrices or vectors, of these shapes.

    A factor is None where the other one is a constant. Where there are `sums`, contributions to a factor's cotangent go
    there.
    """

    __slots__ = ("_factors", "_ids", "_out", "_shapes", "_sums", "id", "nested")

    def __init__(
        self,
        id: int,
        out: Range,
        ids: Sequence[Any],
        factors: Sequence[Any],
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        sums: Sequence[Products | None],
        nested: bool,
    ) -> None:
        self.id, self._out, self._factors, self._shapes, self._sums = id, out, factors, shapes, sums
        self._ids: list[Any] = [None if i is None else saved(i) for i in ids]
        self.nested = nested

    def pull(self, flow: Any) -> None:
        """Add g b^T to the cotangent of a, and a^T g to the cotangent of b."""
        g, _ = flow.take(self._out)
        if g is None:
            if not flow.touched(self._out):
                return
            g = flow.get(self._out)
        a, b = self._factors
        left, right = shapes = self._as_matrices()
        if shapes is not self._shapes:
            g = np.reshape(g, (*self._out.shape[: max(map(len, self._shapes)) - 2], left[-2], right[-1]))
        if b is not None:
            self._add(flow, 0, g, transposed(b.x.reshape(right)), left)
        if a is not None:
            self._add(flow, 1, transposed(a.x.reshape(left)), g, right)

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the product, and of the factors that are no constants."""
        return [self._out], [i for i in self._ids if i is not None]

    def _add(self, flow: Any, k: int, u: Any, v: Any, shape: tuple[int, ...]) -> None:
        """Add the product of u and v to the cotangent of factor k, whose matrices have this shape."""
        ids, total = self._ids[k], self._sums[k]
        if total is not None and u.size + v.size <= total.size:  # the product would be more to add than it is to wait
            total.add(flow, u, v)
            return
        ct = np.matmul(u, v)
        if ct.shape != ids.shape:
            ct = sum_to(ct, shape).reshape(ids.shape)
        flow.add(ids, ct, True)

    def push(self, flow: Any) -> None:
        """Add ta b and a tb to the tangent, for the tangents of the factors."""
        for k, (ids, other) in enumerate(zip(self._ids, reversed(self._factors), strict=True)):
            if ids is not None and flow.touched(ids):
                t = flow.get(ids)
                made = np.matmul(t, other.x) if k == 0 else np.matmul(other.x, t)
                flow.add(self._out, flow.shaped(made, self._out.shape), made.shape == self._out.shape)

    def _as_matrices(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the factors as matrices: a vector on the left is a row, one on the right a column."""
        left, right = self._shapes
        if len(left) > 1 and len(right) > 1:
            return self._shapes
        return (1, *left) if len(left) == 1 else left, (*right, 1) if len(right) == 1 else right


def _sums(run: Tape, ids: Sequence[Any]) -> list[Products | None]:
    """For each factor, where contributions to its cotangent come together: for a matrix, from its second product on."""
    made: list[Products | None] = []
    matrices = []
    for mine in ids:
        found = None
        if mine.__class__ is Range and len(mine.shape) == 2:
            key = mine.start, mine.shape, mine.steps
            matrices.append(key)
            found = run.multiplied.get(key)
            if found is None and key in run.multiplied:
                found = run.multiplied[key] = Products(run.fresh(), mine)
                run.blocks.append(found)
        made.append(found)
    for key in matrices:
        run.multiplied.setdefault(key)
    return made
