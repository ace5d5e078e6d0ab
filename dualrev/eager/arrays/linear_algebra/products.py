"""Products of numpy other than matmul.py's: dot, tensordot, outer and the like, and einsum, a block of its own."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.arrays.linear_algebra.matmul import matmul, transposed
from dualrev.eager.arrays.memory.record import holding, record_rule, stripped
from dualrev.eager.arrays.memory.storage import RealArray, plain, real_array, to_objects
from dualrev.eager.tape.blocks import sum_to
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["HANDLERS", "matmul", "matvec", "sum_to", "transposed", "vecdot", "vecmat"]


def vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    """numpy.vecdot."""
    a, b = (np.moveaxis(real_array(u), axis, -1) for u in (a, b))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"vecdot: vectors of {a.shape[-1]} and {b.shape[-1]} elements")
    return np.sum(a * b, axis=-1)


def matvec(a: Any, b: Any) -> Any:
    """numpy.matvec."""
    _check_axes("matvec", a, 2, b, 1)
    return matmul(a, real_array(b)[..., None])[..., 0]


def vecmat(a: Any, b: Any) -> Any:
    """numpy.vecmat."""
    _check_axes("vecmat", a, 1, b, 2)
    return matmul(real_array(a)[..., None, :], b)[..., 0, :]


def _check_axes(name: str, a: Any, of_a: int, b: Any, of_b: int) -> None:
    for k, (u, least) in enumerate(((a, of_a), (b, of_b))):
        if np.ndim(u) < least:
            raise ValueError(f"{name}: operand {k} has {np.ndim(u)} axes, and needs {least}")


def _dot(a: Any, b: Any) -> Any:
    a, b = real_array(a), real_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return matmul(a, b) if b.ndim <= 2 else _tensordot(a, b, ([-1], [-2]))


def _inner(a: Any, b: Any) -> Any:
    a, b = real_array(a), real_array(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else _tensordot(a, b, ([-1], [-1]))[()]


def _outer(a: Any, b: Any) -> Any:
    return np.reshape(real_array(a), (-1, 1)) * np.reshape(real_array(b), (1, -1))


def _vdot(a: Any, b: Any) -> Any:
    return matmul(np.ravel(real_array(a)), np.ravel(real_array(b)))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = real_array(a), real_array(b)
    if np.ndim(axes) == 0:
        axes = (list(range(-int(axes), 0)), list(range(int(axes))))
    of_a, of_b = (np.atleast_1d(ks).astype(int).tolist() for ks in axes)
    if len(of_a) != len(of_b) or any(a.shape[k] != b.shape[m] for k, m in zip(of_a, of_b, strict=True)):
        raise ValueError("tensordot: the axes that are summed over differ in length")
    of_a, of_b = ([k % x.ndim for k in ks] for ks, x in ((of_a, a), (of_b, b)))
    rest_a = [k for k in range(a.ndim) if k not in of_a]
    rest_b = [k for k in range(b.ndim) if k not in of_b]
    inner = math.prod(a.shape[k] for k in of_a)
    made = matmul(
        np.transpose(a, rest_a + of_a).reshape(math.prod(a.shape[k] for k in rest_a), inner),
        np.transpose(b, of_b + rest_b).reshape(inner, math.prod(b.shape[k] for k in rest_b)),
    )
    return made.reshape([a.shape[k] for k in rest_a] + [b.shape[k] for k in rest_b])


def _kron(a: Any, b: Any) -> Any:
    a, b = real_array(a), real_array(b)
    if a.ndim == b.ndim == 0:
        return a * b
    ndim = max(a.ndim, b.ndim)
    a, b = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (a, b))
    left = a.reshape([n for k in a.shape for n in (k, 1)])
    right = b.reshape([n for k in b.shape for n in (1, k)])
    return (left * right).reshape([m * n for m, n in zip(a.shape, b.shape, strict=True)])


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(np.diagonal(real_array(a), offset, axis1, axis2), axis=-1)


def _einsum(*operands: Any, optimize: Any = False) -> Any:
    """Einstein's sum. Each operand's derivative is one too: of the others and the result's cotangent."""
    if not isinstance(operands[0], str):
        operands = _spelled_out(operands)
    arrays = [real_array(u) for u in operands[1:]]
    plan = _plan(operands[0], tuple([a.shape for a in arrays]))
    if plan.view and isinstance(arrays[0], RealArray):
        return arrays[0].derived(lambda x: np.einsum(plan.view, x))[()]
    for k, (diagonals, alone) in enumerate(plan.before):
        for first, second in diagonals:
            arrays[k] = np.diagonal(arrays[k], 0, first, second)
        if alone:
            arrays[k] = real_array(np.sum(arrays[k], axis=alone))
    return _einsum_of(plan, arrays)


class _Plan(NamedTuple):
    """How einsum goes about it, for operands of certain shapes."""

    view: str  # what takes the result as a view of the only operand, if it is one
    before: list[
        tuple[list[tuple[int, int]], tuple[int, ...]]
    ]  # for each operand: diagonals, and axes to be summed over
    value: str  # the sum of what is left: letters of one operand differ, and each is in another one or in the result
    cotangents: list[str]  # the same of an operand's cotangent, of those of the result and of the other operands
    shapes: list[tuple[int, ...]]  # of these, if an axis of length one is as long as that of the others
    large: bool  # whether to ask numpy for a way to sum


@functools.lru_cache(1000)
def _plan(text: str, shapes: tuple[tuple[int, ...], ...]) -> _Plan:
    names, result = _subscripts(text, [len(shape) for shape in shapes])
    lengths = _lengths(names, shapes)
    view = f"{names[0]}->{result}" if len(names) == 1 and set(names[0]) == set(result) else ""
    before = []
    everywhere = [set(name) for name in names]
    for k, name in enumerate(names):
        diagonals = []
        for letter in sorted(set(name)):
            while name.count(letter) > 1:
                first = name.index(letter)
                second = name.index(letter, first + 1)
                diagonals.append((first, second))
                name = name[:first] + name[first + 1 : second] + name[second + 1 :] + letter
        others = set(result).union(*everywhere[:k], *everywhere[k + 1 :])
        alone = tuple(place for place, letter in enumerate(name) if letter not in others)
        names[k] = "".join(letter for letter in name if letter in others)
        everywhere[k] = set(names[k])
        before.append((diagonals, alone))
    products = math.prod(lengths[letter] for letter in set().union(*everywhere))
    large = len(names) > 2 or (len(names) == 2 and products > _WORTH_A_PLAN)
    cotangents = [f"{','.join([result, *names[:k], *names[k + 1 :]])}->{name}" for k, name in enumerate(names)]
    full = [tuple([lengths[letter] for letter in name]) for name in names]
    return _Plan(view, before, f"{','.join(names)}->{result}", cotangents, full, large)


def _lengths(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The length of each letter's axes. ValueError if they differ, but for those of length one in another operand."""
    lengths: dict[str, int] = {}
    for name, shape in zip(names, shapes, strict=True):
        own: dict[str, int] = {}
        for letter, n in zip(name, shape, strict=True):
            if own.setdefault(letter, n) != n:
                raise ValueError(f"einsum: axes {letter!r} of one operand have {own[letter]} and {n} elements")
            if lengths.get(letter, 1) == 1:
                lengths[letter] = n
    return lengths


def _spelled_out(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """einsum's other form, with a list of axes after every operand, in the form with letters."""
    pairs = len(operands) // 2
    lists = [*operands[1 : 2 * pairs : 2], *operands[2 * pairs :]]
    names = ["".join("..." if k is Ellipsis else string.ascii_letters[k] for k in axes) for axes in lists]
    text = ",".join(names[:pairs]) + (f"->{names[pairs]}" if len(names) > pairs else "")
    return (text, *operands[: 2 * pairs : 2])


def _einsum_of(plan: _Plan, arrays: list[Any]) -> Any:
    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of each operand: an einsum of the others with g."""
        made: list[Any] = []
        for k, active in enumerate(known):
            others = [*xs[:k], *xs[k + 1 :]]
            g = np.einsum(plan.cotangents[k], gs[0], *others, optimize=plan.large) if active else None
            if g is not None and np.shape(g) != plan.shapes[k]:
                g = np.broadcast_to(g, plan.shapes[k])
            made.append(g if g is None else sum_to(real_array(g), xs[k].shape))
        return made

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the sum of einsums with one operand replaced by its tangent."""
        total: Any = 0.0
        for k, t in enumerate(ts):
            if t is not None:
                total = total + np.einsum(plan.value, *xs[:k], t, *xs[k + 1 :], optimize=plan.large)
        return [total]

    def compute(*xs: Any) -> Any:
        """Compute the einsum."""
        return np.einsum(plan.value, *xs, optimize=plan.large)

    run, ids, xs = stripped(arrays)
    if run is None:
        return holding(compute(*map(plain, arrays)), arrays)
    if not isinstance(run, Tape):
        return np.einsum(plan.value, *map(to_objects, arrays))
    known = [i is not None for i in ids]
    needs = [any(known[:k] + known[k + 1 :]) for k in range(len(known))]
    return record_rule(run, compute, pull, push, arrays, ids, xs, keeps_value=False, needs=needs)


_WORTH_A_PLAN = 20_000  # products of two: for fewer, numpy takes longer to find a way to sum them than to do it


def _subscripts(text: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; `...` is spelled out in capitals that are free."""
    text = text.replace(" ", "")
    left, arrow, result = text.partition("->")
    names = left.split(",")
    if len(names) != len(ndims):
        raise ValueError(f"einsum: {len(names)} operands in {text!r}, {len(ndims)} given")
    free = [letter for letter in string.ascii_uppercase if letter not in text]
    dots = [n - len(name.replace("...", "")) if "..." in name else 0 for name, n in zip(names, ndims, strict=True)]
    rest = free[: max(dots)]
    names = [name.replace("...", "".join(rest[len(rest) - n :])) for name, n in zip(names, dots, strict=True)]
    if not arrow:
        letters = "".join(names)
        result = "".join(rest) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in rest))
    return names, result.replace("...", "".join(rest))


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = np.moveaxis(real_array(a), axisa, -1), np.moveaxis(real_array(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise UnsupportedError(
            "numpy.cross of other vectors than those of 3 elements", "a[0] * b[1] - a[1] * b[0] for those of 2"
        )
    (a0, a1, a2), (b0, b1, b2) = ([x[..., k] for k in range(3)] for x in (a, b))
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axisc)


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.dot: _dot,
    np.inner: _inner,
    np.outer: _outer,
    np.vdot: _vdot,
    np.tensordot: _tensordot,
    np.kron: _kron,
    np.trace: _trace,
    np.einsum: _einsum,
    np.cross: _cross,
}
