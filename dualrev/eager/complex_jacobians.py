"""Jacobians with complex numbers, from the Jacobians of real and imaginary parts.

y = u + i v by a real x           du/dx + i dv/dx
a real f by z = x + i y           df/dx - i df/dy, as the gradient
a complex one by a complex one    f'(z) = du/dx + i dv/dx = dv/dy - i du/dy, if f is holomorphic
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import join
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError

__all__ = ["check", "entries", "folded"]


def check(output: Any, structure: Any, holomorphic: bool) -> None:
    """Raise UnsupportedError for a complex value of complex arguments, unless f is said to be holomorphic."""
    if holomorphic:
        _check_all(output, "value")
        _check_all(structure, "argument")
    elif output.has_complex and structure.has_complex:
        raise UnsupportedError.call(
            "a Jacobian of complex values by complex arguments",
            "an entry is one number only if the function is holomorphic (and the gradient of a real function is not)",
            "holomorphic=True if it is, the function in the real and imaginary parts, or dualrev.vjp and dualrev.jvp",
        )


def entries(blocks: Sequence[Sequence[Any]], output: Any, structure: Any) -> list[list[Any]]:
    """Combine blocks of real and imaginary parts into complex blocks, at the positions of the real parts."""
    made = [list(row) for row in blocks]
    rows, columns = output.complex_places(), structure.complex_places()
    for j in rows:
        for k in columns:
            (du_dx, du_dy), (dv_dx, dv_dy) = (row[k : k + 2] for row in blocks[j : j + 2])
            _check_cauchy_riemann(du_dx, du_dy, dv_dx, dv_dy)
            made[j][k] = join(du_dx, dv_dx)
    for j in [] if columns else rows:
        made[j] = [join(u, v) for u, v in zip(*blocks[j : j + 2], strict=True)]
    for k in [] if rows else columns:
        for row in made:
            row[k] = join(row[k], 0.0 - row[k + 1])
    return made


def folded(structure: Any, leaves: Sequence[Any]) -> Any:
    """Data of this structure, where a complex number is the leaf at the place of its real part."""
    return structure.fold(
        leaves,
        node=lambda part, children: children[0] if part.cls is complex else part.build(children),
        discrete=lambda x: None,
    )


def _check_all(structure: Any, what: str) -> None:
    if 2 * len(structure.complex_places()) != len(structure.leaf_parts()):
        raise UnsupportedError.call(
            "a Jacobian with holomorphic=True",
            f"a holomorphic function has complex arguments and values, and here is a real {what}",
            "it without holomorphic, or make this complex",
        )


def _check_cauchy_riemann(du_dx: Any, du_dy: Any, dv_dx: Any, dv_dy: Any) -> None:
    """Raise UnsupportedError if the entries do not satisfy the Cauchy-Riemann equations; NaN is ignored.

    Each entry is measured by its own size; the largest one says what a rounding error can be.
    """
    a, b, c, d = (plain(real_array(x)) for x in (du_dx, du_dy, dv_dx, dv_dy))
    size = np.abs(a) + np.abs(b) + np.abs(c) + np.abs(d)
    rounding = 1e-10 * np.max(size, initial=0.0, where=np.isfinite(size))
    if np.any(np.abs(a - d) + np.abs(b + c) > np.maximum(1e-6 * size, rounding)):
        raise UnsupportedError.call(
            "a Jacobian with holomorphic=True",
            "the function is not holomorphic here (conj, abs, real and imag are not): du/dx = dv/dy and du/dy = -dv/dx"
            " do not hold",
            "the function in the real and imaginary parts, or dualrev.vjp and dualrev.jvp",
        )
