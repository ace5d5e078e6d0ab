"""Blocks: records of operations on whole arrays on the tape.

A block is a linear map from the tangents of its operands to those of its results. `Terms` are contributions one by one,
as the rows of scalars are; a `Rule` treats operands as a whole. cotangent_flow.py sends cotangents and tangents through
them; tape.py and ids.py explain ids.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dualrev.eager.tape import row_kernels
from dualrev.eager.tape.cotangent_flow import Flow
from dualrev.eager.tape.ids import Range, saved

__all__ = ["PLAIN", "Block", "Kept", "Partial", "Products", "Rule", "Terms", "spread", "sum_to"]


class Block(Protocol):
    """Record of an operation on arrays: a linear map from the tangents of its operands to those of its results."""

    id: int
    nested: bool

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents what the results' cotangents contribute."""

    def push(self, flow: Any) -> None:
        """Set the results' tangents from the operands'."""

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the results, and of the operands that are no constants."""


class Partial:
    """A partial derivative that is computed when it is asked for, of values that are kept until then.

    The function makes an array of its own. Who asks once, as a gradient does, gets that; from the second time on it is
    kept, and from the first on if it is `shared`.
    """

    __slots__ = ("_asked", "_f", "_kept", "_made")

    def __init__(self, f: Callable[..., Any], kept: Sequence[Any]) -> None:
        self._f, self._kept, self._asked = f, kept, False
        self._made: Any = None

    def value(self) -> Any:
        """The array, which is not to be changed."""
        made, _ = self.fresh()
        return made

    def shared(self) -> Any:
        """Return the array, which others may use, too."""
        self._asked = True
        return self.value()

    def fresh(self) -> tuple[Any, bool]:
        """The array, and whether nobody else knows it."""
        made = self._made
        if made is not None:
            return made, False
        made = self._f(*map(_array, self._kept))
        if made.__class__ is not np.ndarray or made.dtype != float:
            made = np.asarray(made, dtype=float)
        if not self._asked:
            self._asked = True
            return made, True
        self._made, self._kept = made, ()
        return made, False


_array = operator.attrgetter("x")


class Kept:
    """Values that a derivative needs later: x is an array's own memory until somebody stores something there."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def value(self) -> Any:
        """The same."""
        return self.x


#: The classes of partials that are no numbers of an outer run.
PLAIN = frozenset((float, np.ndarray, Partial, Kept))


class Terms:
    """Contributions one by one: at each place, the tangent of the result has the term p times that of an operand.

    The places have the shape `domain`. The operands broadcast to it, and so does the result in the shape `kept`: where
    it is smaller, a result is the sum of terms. `rows` says for each place to which element of the result the term is,
    if that does not follow from the shapes. An operand is (ids, p), with p a number, an array, or what has one as its
    `value()`, a Partial or a Kept; the ids are `saved`. Two equal operands, as x * x has them, contribute `_twice` what
    one does: that is computed once and doubled, which does not round.
    """

    __slots__ = ("_domain", "_kept", "_operands", "_out", "_rows", "_twice", "id", "nested")

    def __init__(
        self,
        id: int,
        out: Range,
        operands: Sequence[tuple[Any, Any]],
        domain: tuple[int, ...],
        kept: tuple[int, ...],
        rows: np.ndarray | None = None,
        nested: bool = False,
    ) -> None:
        self.id, self._out, self._domain, self._kept, self._rows, self.nested = id, out, domain, kept, rows, nested
        self._operands, self._twice = operands, False
        if len(operands) == 2:
            (ids, p), (others, q) = operands
            if ids is others and p is q:
                self._operands, self._twice = operands[:1], True

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents."""
        out = self._out
        g, spare = flow.take(out) if self._rows is None else (None, False)
        if g is None:
            if flow.touched(out):
                for ids, p in self._operands:
                    self._some(flow, ids, p, pull=True)
            return
        if self._kept != out.shape and out.shape:
            g = np.reshape(g, self._kept)
        left = len(self._operands)
        for ids, p in self._operands:
            left -= 1
            ct, fresh = _times(g, p, spare and not left)
            spare = spare and ct is not g
            if self._twice:
                ct, fresh = _times(ct, 2.0, fresh and flow.reuses and ct.__class__ is np.ndarray)
            if getattr(ct, "shape", ()) != ids.shape:
                ct, fresh = _fit(flow, ct, fresh, self._domain, ids.shape)
            flow.add(ids, ct, fresh)

    def push(self, flow: Any) -> None:
        """Add to the results' tangents."""
        for ids, p in self._operands:
            t = flow.look(ids) if self._rows is None else None
            if t is not None:
                t, fresh = _times(t, p, False)
                if self._twice:
                    t, fresh = _times(t, 2.0, fresh and flow.reuses and t.__class__ is np.ndarray)
                if getattr(t, "shape", ()) != self._kept:
                    t, fresh = _fit(flow, t, fresh, self._domain, self._kept)
                if self._kept != self._out.shape:
                    t = np.reshape(t, self._out.shape)
                flow.add(self._out, t, fresh)
            elif flow.touched(ids):
                self._some(flow, ids, p, pull=False)

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the result, and of the operands."""
        return [self._out], [ids for ids, _ in self._operands]

    def edges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each operand, the ids of the results and of the operand's elements, place by place."""
        found = [self._one_by_one(ids, 1.0) for ids, _ in self._operands]
        return [(results, operand) for results, _, operand in found]

    def _some(self, flow: Any, ids: Any, p: Any, pull: bool) -> None:
        """The same one by one, from those ids that have been reached."""
        if isinstance(p, (Partial, Kept)):
            p = p.value()
        for _ in range(2 if self._twice else 1):
            self._each(flow, ids, p, pull)

    def _each(self, flow: Any, ids: Any, p: Any, pull: bool) -> None:
        flow.open(ids)
        flow.open(self._out)
        if flow.__class__ is Flow and self._is_in_order(ids, p):
            sources = self._out.start, ids.start
            source, target = sources if pull else sources[::-1]
            p = np.array([p]) if p.__class__ is float else p.reshape(-1)
            row_kernels.flow_on(flow.buffer, source, target, p, ids.size)
            return
        results, p, operand = self._one_by_one(ids, p)
        if flow.__class__ is Flow:
            sweep = row_kernels.pull_terms if pull else row_kernels.push_terms
            sweep(flow.buffer, results, p, operand)
            return
        reached = flow.reached(results if pull else operand)
        if not reached.all():
            results, operand, p = results[reached], operand[reached], p if p.size == 1 else p[reached]
        if pull:
            flow.add(operand, flow.get(results) * p)
        else:
            flow.add(results, flow.get(operand) * p)

    def _is_in_order(self, ids: Any, p: Any) -> bool:
        """Whether element k of the result and of the operand have the k-th ids of their ranges."""
        ranges = ids.__class__ is Range and ids.steps is None and self._out.steps is None and self._rows is None
        whole = self._kept == self._domain == ids.shape and ids.size > 0
        return ranges and whole and (p.__class__ is float or p.shape in ((), self._domain))

    def _one_by_one(self, ids: Any, p: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """For each place the id of the result, the partial (or one for all), and the id of the operand."""
        out, shape = np.asarray(self._out), self._domain
        results = spread(out.reshape(self._kept), shape) if self._rows is None else out.reshape(-1)[self._rows]
        if np.ndim(p):
            p = spread(p, shape) if isinstance(p, np.ndarray) else np.broadcast_to(p, shape)
        elif p.__class__ is float:
            p = np.array(p)
        return results.reshape(-1), np.reshape(p, -1), spread(np.asarray(ids), shape).reshape(-1)


class Rule:
    """A rule for whole operands: `pull` maps cotangents of the results to those of the operands, `push` tangents.

    Both take and return lists of arrays, of the shapes of the results and the operands, and change none that they are
    given. Ids of operands are None for a constant, whose cotangent is not asked for and whose tangent is None. In place
    of a cotangent there may be a function that adds it to the flow.
    """

    __slots__ = ("_pull", "_push", "id", "ids", "nested", "outs")

    def __init__(
        self,
        id: int,
        outs: Sequence[Range],
        ids: Sequence[Any],
        pull: Callable[[list[Any]], Sequence[Any]],
        push: Callable[[list[Any]], Sequence[Any]],
        nested: bool,
    ) -> None:
        self.id, self.outs, self.nested = id, outs, nested
        self.ids = [None if i is None else saved(i) for i in ids]
        self._pull, self._push = pull, push

    def pull(self, flow: Any) -> None:
        """Add to the operands' cotangents."""
        gs = [flow.take(out)[0] for out in self.outs]
        missing = [k for k, g in enumerate(gs) if g is None]
        if len(missing) == len(gs) and not any(map(flow.touched, self.outs)):
            return
        for k in missing:
            gs[k] = flow.get(self.outs[k])
        for ids, ct in zip(self.ids, self._pull(gs), strict=True):
            if ids is not None and ct is not None:
                if callable(ct):
                    ct(flow)
                else:
                    flow.add(ids, flow.shaped(ct, ids.shape))

    def push(self, flow: Any) -> None:
        """Add to the results' tangents."""
        if not any(flow.touched(i) for i in self.ids if i is not None):
            return
        tangents = self._push([None if i is None else flow.get(i) for i in self.ids])
        for out, t in zip(self.outs, tangents, strict=True):
            flow.add(out, flow.shaped(t, out.shape))

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the results, and of the operands that are no constants."""
        return list(self.outs), [i for i in self.ids if i is not None]


class Products:
    """Where the products of matrices that add up to the cotangent of one matrix come together.

    It stands on the tape before the operations that contribute. The products are formed as one, when it is pulled:
    u1 v1 + u2 v2 + ... is a product of two matrices, those of all columns of u and of all rows of v. What waits takes
    no more memory than the matrix.
    """

    __slots__ = ("_ids", "_most", "id", "size")
    nested = False

    def __init__(self, id: int, ids: Range) -> None:
        self.id, self._ids, self.size = id, ids, ids.size
        self._most = max(ids.size, _FEW_NUMBERS)

    def add(self, flow: Any, u: Any, v: Any) -> None:
        """Have the product of u and v in the sum."""
        waiting, size = flow.waiting.get(self, ([], 0))
        waiting.append((u, v))
        size += u.size + v.size
        flow.waiting[self] = waiting, size
        if size >= self._most:
            self.pull(flow)

    def pull(self, flow: Any) -> None:
        """Add to the matrix's cotangent."""
        waiting, _ = flow.waiting.pop(self, ([], 0))
        if waiting:
            us, vs = waiting[0]
            if len(waiting) > 1:
                us, vs = np.concatenate([u for u, _ in waiting], 1), np.concatenate([v for _, v in waiting])
            flow.add(self._ids, flow.shaped(np.matmul(us, vs), self._ids.shape), True)

    def push(self, flow: Any) -> None:
        """Nothing: who contributes to the cotangent reads the tangent of the matrix itself."""

    def ends(self) -> tuple[list[Any], list[Any]]:
        """Return the ids of the matrix as those of an operand."""
        return [], [self._ids]


_FEW_NUMBERS = 4096  # take no memory to speak of
_SHORT = 8  # numbers: in so few a sum in another order is as good


def spread(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """np.broadcast_to, as an array of its own; faster."""
    made = np.empty(shape, np.int64 if a.dtype == np.int64 else float)
    made[...] = a
    return made


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The sum over what broadcasting repeated: the transpose of broadcasting to the shape of x."""
    if x.shape == shape:
        return x
    extra = x.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + k for k, n in enumerate(shape) if n == 1 and x.shape[extra + k] != 1)
    if not axes:
        return x
    if x.__class__ is not np.ndarray:
        made = np.sum(x, axis=axes, keepdims=True)
    elif axes == (x.ndim - 1,) and x.shape[-1] <= _SHORT and x.size > _FEW_NUMBERS:
        made = np.einsum("...k->...", x)  # a quarter of the time
    else:
        made = np.add.reduce(x, axis=axes, keepdims=True)
    return np.reshape(made, shape)


def _times(g: Any, p: Any, spare: bool) -> tuple[Any, bool]:
    """Contributions, and whether nobody else knows their array. If g is `spare`, they may be written there."""
    if p.__class__ is float:
        if p == 1.0:
            return g, spare
        if p == -1.0 and g.__class__ is np.ndarray:
            return np.negative(g, g if spare else None), True
        return (np.multiply(g, p, g) if spare else g * p), True
    made, mine = p.fresh() if p.__class__ is Partial else (p.x if isinstance(p, Kept) else p, False)
    if mine and g.__class__ is np.ndarray and made.shape == g.shape and made.size > 1:
        return np.multiply(g, made, made), True
    if spare and getattr(made, "shape", ()) in ((), g.shape):
        return np.multiply(g, made, g), True
    return g * made, True


def _fit(flow: Any, ct: Any, fresh: bool, domain: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, bool]:
    """Contributions that are equal along some axes, as one of this shape; and whether nobody else knows their array."""
    if getattr(ct, "shape", ()) != domain:
        fresh = False
        if ct.__class__ is np.float64:
            ct = np.ndarray(domain, float, np.array(ct), 0, (0,) * len(domain))  # as np.broadcast_to, but faster
        else:
            ct = flow.shaped(ct, domain)
    return (ct, fresh) if shape == domain else (sum_to(ct, shape), True)
