"""Random programs with loops over prange, as source text with arguments: a third generator.

Rounds are made of what numba lets rounds share: sums, products, least and largest numbers, elements at the loop's own
index, rows, gathers and scatters, with branches, inner loops, calls and new arrays among it. Some loops stand in
another loop, and some are longer than there are chunks. Values stay small. Nothing is added to a whole array: numba
itself loses its memory with that in a loop around the parallel one.
"""

from __future__ import annotations

import math
import random
import textwrap
from collections import Counter

from programs.generators.language import Program

__all__ = ["program"]

_HEADER = """
import math
import numpy as np
from numba import njit, prange

@njit
def helper(u, v):
    return np.sin(u) * v + 0.3 * u

@njit
def change(row, u):
    for j in range(len(row)):
        row[j] = 0.5 * row[j] + np.cos(u) * (j + 1)
"""
_BEFORE = """
out, new, w, h = np.zeros(len(a)), np.empty(len(a)), u.copy(), np.zeros(len(a))
grid = m.copy()
s, p, lo, hi, n = 0.1, 1.0, 9.0, -9.0, 0
"""
_AFTER = "s + p * x + lo * hi + n + np.sum(out * w) + np.sum(h * h) + np.sum(grid * grid)"

#: By what they are called in the counts: statements of a round, with {e} for an expression, {c} for a constant.
_STATEMENTS = {
    "sum": "s += {e}",
    "product": "p *= 1.0 + 0.01 * {e}",
    "least": "lo = min(lo, {e})",
    "largest": "hi = max({e}, hi)",
    "count": "n += 1",
    "element": "out[i] = {e}",
    "element added to": "out[i] += {e}",
    "in place": "w[i] = np.sin(w[i]) + {e}",
    "element of a row": "grid[i, 0] = {e} * grid[i, 1]",
    "row": "row = grid[i]\nrow[1] = {c} * row[1] + {e}",
    "row of a call": "change(grid[i], {e})",
    "scatter": "h[q[i]] += {e}",
    "scatter of a call": "h[(i + 2) % len(a)] -= helper(t, {e})",
    "inner loop": "for j in range(3):\n    t = np.sin(t) + {c} * {e}",
    "branch": "if {e} > {c}:\n    t = t * {c}\nelse:\n    s += {e}",
    "call": "t = helper(t, {e})",
    "new array": "made = np.zeros(3)\nfor j in range(3):\n    made[j] = t * j + {e}\ns += np.sum(made * made)",
    "stencil": "s += {c} * (a[i - 1] - 2.0 * a[i]) * u[i]",
    "uncertain": "new[i] = {e}\ns += new[i]",
}
_ATOMS = ["x", "t", "a[i]", "a[i - 1]", "u[q[i]]", "m[i, 1]", "{c}", "i * 0.01"]
_OPERATIONS = ["np.sin({e})", "{e} * {c}", "{e} * x", "({e} - {e})", "np.exp(-{e} * {e})"]


class _Round:
    """The statements of a loop."""

    def __init__(self, choices: random.Random) -> None:
        self.choices, self.uses = choices, Counter[str]()

    def filled(self, text: str, depth: int = 0) -> str:
        """A template with expressions for its holes."""
        while "{e}" in text or "{c}" in text:
            hole = min(x for x in ("{e}", "{c}") if x in text)
            text = text.replace(hole, self.constant() if hole == "{c}" else self.expression(depth + 1), 1)
        return text

    def constant(self) -> str:
        return f"{self.choices.uniform(0.15, 0.85):.3f}"

    def expression(self, depth: int) -> str:
        deeper = depth < 3 and self.choices.random() < 0.5
        return self.filled(self.choices.choice(_OPERATIONS if deeper else _ATOMS), depth)

    def statements(self, count: int) -> str:
        """Return the statements of an iteration."""
        lines = ["t = x * a[i]"]
        chosen = self.choices.sample(sorted(_STATEMENTS), count)
        if "scatter" in chosen and "scatter of a call" in chosen:  # two threads would add to one element at once
            chosen.remove("scatter")
        for name in chosen:
            self.uses[name] += 1
            lines.append(self.filled(_STATEMENTS[name]))
        return "\n".join(lines)


def program(seed: int | str, size: int = 12, numba: bool = False) -> Program:
    """The program of this seed; `numba` makes no difference."""
    choices = random.Random(f"parallel {seed}")
    made, loops = _Round(choices), []
    for _ in range(choices.randint(1, 2)):
        head = choices.choice(["prange(len(a))", "prange(1, len(a))", "prange(1, len(a) - 1)"])
        text = f"for i in {head}:\n" + textwrap.indent(made.statements(max(1, size // 3)), "    ")
        if choices.random() < 0.25:
            made.uses["loop around it"] += 1
            text = "for _ in range(2):\n" + textwrap.indent(text, "    ")
        loops.append(text)
    body = "\n".join([_BEFORE.strip(), *loops, f"return {_AFTER}"])
    source = f"{_HEADER}\n@njit(parallel=True)\ndef f(x, a, u, m, q):\n{textwrap.indent(body, '    ')}\n"
    n = choices.choice([5, 7, 70, 130])
    starts = [choices.uniform(0.1, 3.0) for _ in range(3)]
    vectors = [f"np.sin(np.arange({n}) * 0.37 + {start:.3f})" for start in starts]
    step = choices.choice([k for k in range(1, 10) if math.gcd(k, n) == 1])  # each place once, or threads would race
    places = f"np.arange({n}) * {step} % {n}"
    arguments = (f"{choices.uniform(-1.0, 1.0):.3f}", *vectors[:2], f"{vectors[2]}.repeat(3).reshape({n}, 3)", places)
    return Program(source.lstrip(), arguments, made.uses)
