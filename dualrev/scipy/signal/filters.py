"""Recursive filters: differentiated by the signal, the coefficients and the initial state.

    a * y = b * x        push: a * dy = db * x + b * dx - da * y        pull: s = g filtered by 1 / a, backwards in time

A filter with a state is one without, of a signal that the state continues. The others are compositions of lfilter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import signal as _signal

from dualrev.eager.arrays.complex.pairs import values
from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices, rule
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import is_plain, valued

__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfiltfilt"]


def _filtered(b: Any, a: Any, x: Any) -> Any:
    """Return the signal filtered along its last axis, from a state of zeros."""
    if is_plain(b, a, x):
        return _signal.lfilter(values(b), values(a), values(x))
    return rule(_filtered, _pull, _push, b, a, x)


def _backwards(b: Any, a: Any, g: Any) -> Any:
    return np.flip(_filtered(conjugated(b), conjugated(a), np.flip(g, -1)), -1)


def _pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
    b, a, x = xs
    s, n = _backwards(np.ones(1), a, gs[0]), x.shape[-1]

    def against(u: Any, count: int) -> Any:
        """Return the sums of products of s and a delayed u."""
        u = conjugated(u)
        sums = [np.sum(s[..., k:] * u[..., : n - k]) if k < n else 0.0 * np.sum(s) for k in range(count)]
        return np.stack(sums)

    return [against(x, len(b)), -against(ys[0], len(a)), _backwards(b, a, gs[0])]


def _push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
    b, a, x = xs
    db, da, dx = ts
    terms = [] if db is None else [_filtered(db, a, x)]
    terms += [] if dx is None else [_filtered(b, a, dx)]
    terms += [] if da is None else [-_filtered(da, a, ys[0])]
    return [sum(terms[1:], terms[0])]


def _with_state(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """Return the filtered signal and the final state, along the last axis."""
    n, states = x.shape[-1], zi.shape[-1]
    shape = x.shape[:-1]
    zeros = np.zeros((*shape, states))
    zi = zi + np.zeros((*shape, states))
    state = np.concatenate([zi, np.zeros((*shape, n))], -1)
    whole = _filtered(b, a, np.concatenate([x, zeros], -1)) + _filtered(a[:1], a, state)
    tail = whole[..., n:]
    # what the state becomes, if nothing follows: a times the tail
    return whole[..., :n], _filtered(a / a[0], np.ones(1), tail)


@valued(_signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Signal filtered with the numerator b and the denominator a; with a state zi, (signal, final state).

    >>> lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    b, a, x = (np.atleast_1d(of_matrices(u)) for u in (b, a, x))
    x = np.moveaxis(x, axis, -1)
    if zi is None:
        return np.moveaxis(_filtered(b, a, x), -1, axis)
    made = _with_state(b, a, x, np.moveaxis(of_matrices(zi), axis, -1))
    return tuple(np.moveaxis(u, -1, axis) for u in made)


def _steady(b: Any, a: Any) -> Any:
    b, a = (np.atleast_1d(of_matrices(u)) for u in (b, a))
    n = max(len(b), len(a))
    b, a = (np.concatenate([u, np.zeros(n - len(u))]) / a[0] for u in (b, a))
    if n == 1:
        return np.zeros(0)
    shifted = np.concatenate([-a[1:, None], np.eye(n - 1, n - 2)], axis=1)
    return np.linalg.solve(np.eye(n - 1) - shifted, b[1:] - a[1:] * b[0])


@valued(_signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """State of a filter whose response to a step is steady.

    >>> lfilter_zi([1.0], [1.0, -0.5])
    array([1.])
    """
    return _steady(b, a)


def _extended(x: Any, padtype: Any, padlen: int) -> Any:
    """Return a signal that is continued at both ends of its last axis."""
    if padtype is None or not padlen:
        return x
    first, last = x[..., :1], x[..., -1:]
    before, after = x[..., padlen:0:-1], x[..., -2 : -2 - padlen : -1]
    if padtype == "odd":
        before, after = 2.0 * first - before, 2.0 * last - after
    elif padtype == "constant":
        before, after = first + 0.0 * before, last + 0.0 * after
    return np.concatenate([before, x, after], -1)


def _both_ways(x: Any, padtype: Any, padlen: int, run: Any) -> Any:
    """Filter a continued signal forwards and backwards; run(x, first) starts from the steady state of `first`."""
    x = _extended(x, padtype, padlen)
    y = run(x, x[..., :1])
    y = np.flip(run(np.flip(y, -1), y[..., -1:]), -1)
    return y[..., padlen:-padlen] if padtype is not None and padlen else y


@valued(_signal.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """Signal filtered forwards and backwards.

    >>> filtfilt([0.5, 0.5], [1.0], [1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 1.0]).round(3)
    array([1. , 2. , 2.5, 2. , 1. , 0.5, 1. ])
    """
    if method != "pad":
        raise UnsupportedError(f"scipy.signal.filtfilt with method={method!r}", "it with method='pad'")
    b, a, x = (np.atleast_1d(of_matrices(u)) for u in (b, a, x))
    zi = _steady(b, a)
    width = 0 if padtype is None else 3 * max(len(a), len(b)) if padlen is None else padlen
    made = _both_ways(np.moveaxis(x, axis, -1), padtype, width, lambda x, first: _with_state(b, a, x, zi * first)[0])
    return np.moveaxis(made, -1, axis)


@valued(_signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Signal filtered with second-order sections, of shape (sections, 6).

    >>> sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    sos, y = of_matrices(sos), np.moveaxis(of_matrices(x), axis, -1)
    if zi is None:
        for section in sos:
            y = _filtered(section[:3], section[3:], y)
        return np.moveaxis(y, -1, axis)
    states = np.moveaxis(of_matrices(zi), axis % y.ndim + 1, -1)
    ends = []
    for section, state in zip(sos, states, strict=True):
        y, end = _with_state(section[:3], section[3:], y, state)
        ends.append(end)
    return np.moveaxis(y, -1, axis), np.moveaxis(np.stack(ends), -1, axis % y.ndim + 1)


@valued(_signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Any:
    """Signal filtered forwards and backwards with second-order sections.

    >>> sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], [1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 1.0]).round(3)
    array([1. , 2. , 2.5, 2. , 1. , 0.5, 1. ])
    """
    sos, x = of_matrices(sos), of_matrices(x)
    known = values(sos)
    taps = 2 * len(known) + 1 - min(np.sum(known[:, 2] == 0.0), np.sum(known[:, 5] == 0.0))
    width = 0 if padtype is None else 3 * int(taps) if padlen is None else padlen
    states, scale = [], 1.0
    for section in sos:
        states.append(scale * _steady(section[:3], section[3:]))
        scale = scale * np.sum(section[:3]) / np.sum(section[3:])

    def run(y: Any, first: Any) -> Any:
        """Filter with all sections."""
        for section, state in zip(sos, states, strict=True):
            y = _with_state(section[:3], section[3:], y, state * first)[0]
        return y

    return np.moveaxis(_both_ways(np.moveaxis(x, axis, -1), padtype, width, run), -1, axis)
