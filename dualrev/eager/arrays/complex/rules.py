"""Rules for whole arrays, of complex arguments and values: by the real and the imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import as_parts, imag_part, is_complex, join, real_part
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import innermost, real_array
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["by_rule_of_parts"]


def by_rule_of_parts(
    compute: Callable[..., Any],
    pull: Callable[..., Sequence[Any]],
    push: Callable[..., Sequence[Any]],
    *args: Any,
) -> Any:
    """`by_rule` of complex arguments and values, which are two real ones each on the tape.

    A cotangent's parts are those of the two: a tangent dy changes the result by Re sum(conj(g) dy).
    """
    of_args = [is_complex(u) for u in args]
    of_values: list[bool] = []

    def of_parts(*xs: Any) -> Any:
        """Compute with complex arguments, given by their parts, and return the parts of the results."""
        y = compute(*_joined(xs, of_args))
        whole = y if isinstance(y, tuple) else (y,)
        of_values[:] = map(is_complex, whole)
        return tuple(_parts(whole, of_values))

    def pull_parts(xs: Any, ys: Any, gs: Any) -> list[Any]:
        """Return the cotangents of the arguments' parts."""
        made = pull(_joined(xs, of_args), _joined(ys, of_values), _joined(gs, of_values))
        return _parts(made, of_args)

    def push_parts(xs: Any, ys: Any, ts: Any) -> list[Any]:
        """Return the tangents of the results' parts."""
        whole = _joined(xs, of_args)
        tangents = _joined(_parts(ts, [False] * len(ts)), of_args)
        return _parts(push(whole, _joined(ys, of_values), tangents), of_values)

    given = _parts([as_parts(u) for u in args], of_args)
    run = innermost([real_array(u) for u in given])
    if run is not None and not isinstance(run, Tape):
        raise UnsupportedError("numpy.linalg in a stage of the paper", "it as loops, or use the default engine")
    made = _joined(by_rule(of_parts, pull_parts, push_parts, *given), of_values)
    return tuple(made) if len(made) > 1 else made[0]


def _parts(whole: Sequence[Any], of_complex: Sequence[bool]) -> list[Any]:
    """The real and the imaginary parts of those that have two."""
    made: list[Any] = []
    for u, two in zip(whole, of_complex, strict=True):
        made += [real_part(u), imag_part(u)] if two else [real_part(u)]
    return made


def _joined(parts: Sequence[Any], of_complex: Sequence[bool]) -> list[Any]:
    """The complex ones of these parts; None, of no tangents, stays; of one, the other is zero."""
    rest, made = iter(parts), []
    for two in of_complex:
        re = next(rest)
        im: Any = next(rest) if two else None
        if two and (re is not None or im is not None):
            re = join(np.zeros(np.shape(im)) if re is None else re, np.zeros(np.shape(re)) if im is None else im)
        made.append(re)
    return made
