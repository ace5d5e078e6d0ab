"""Random programs of whole arrays, in core: variables for parts of expressions, writes in place, views, branches.

And sums over nested loops that read what these have made.
"""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import about, load
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr

HEAD = """import numpy as np
from numba import njit

@njit
def write(u, k):
    u[k] = u[k] * 0.5 + 0.1
    return u[k] + 1.0

@njit
def f(x, y):
    s = 0.5
    a = x * y
    b = x + 1.0
    c = np.sin(y)
    d = a * b
    p = np.cos(x)[:, None] * y
    q = p - np.exp(y)
    total = 0.0"""


class Arrays:
    """The lines of a random function of two vectors."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = ["a", "b", "c", "d", "x", "y"]

    def text(self) -> str:
        lines = [line for _ in range(self.rng.randint(4, 9)) for line in self.statement("    ", 0)]
        end = f"    return s + 0.5 * total + np.sum({self.name()} * {self.name()}) + np.sum({self.matrix()})"
        return "\n".join([HEAD, *lines, *self.sums(), end, ""])

    def name(self) -> str:
        return self.rng.choice(self.names)

    def matrix(self) -> str:
        """Elementwise arithmetic of matrices, with vectors that are broadcast."""
        u, v, m = self.name(), self.name(), self.rng.choice(["p", "q", "q.T", "p[::-1]"])
        return self.rng.choice(
            [
                f"np.sin({m}) * {u}",
                f"{m} - {u}[:, None]",
                f"np.exp(0.1 * {u})[:, None] * {v}",
                f"np.exp(0.1 * {u}[:, None]) * {m} + {v}",
                f"(1.0 / (2.0 + {u} ** 2)).reshape(-1, 1) * {m}",
                f"np.where({m} > {u}, {m}, np.cos({v}))",
                f"{m} * {self.rng.choice('pq')}",
            ]
        )

    def sums(self) -> Iterator[str]:
        """Loops in which sums are made, one in the other."""
        rng, u, v, m = self.rng, self.name(), self.name(), self.rng.choice("pq")
        for _ in range(rng.randint(0, 2)):
            inner = rng.choice(["3", "i + 1", "len(x)"])
            yield f"    for i in range({rng.choice(['3', 'len(y)'])}):"
            yield f"        r = {rng.choice([f'{u}[i]', f's * {v}[i]', 'np.sum(' + m + '[i])'])}"
            if rng.random() < 0.5:
                yield f"        total {rng.choice(['+=', '-='])} r * {u}[i]"
            yield f"        for k in range({inner}):"
            yield f"            t = {rng.choice([f'r * {m}[i, k]', f'np.sin(r) - {m}[k, i]', f'{v}[k] - r'])}"
            if rng.random() < 0.3:
                yield "            if t > 0.1:"
                yield "                total += t"
            yield f"            total += {rng.choice(['t * t', 'np.exp(0.1 * t)', 't * r', f't * {u}[k]'])}"
            if rng.random() < 0.2:
                yield "            if k > i:"
                yield "                break"
            if rng.random() < 0.3:
                yield f"        {rng.choice(['s = s + 0.1 * r', 'total += r * r', 's = 0.5 * total'])}"

    def expression(self, depth: int = 0) -> str:
        """Elementwise arithmetic."""
        match self.rng.randrange(11):
            case 0:
                return f"np.sin({self.name()})"
            case 1:
                return f"np.where({self.name()} > 0.2, {self.name()}, {self.name()} * {self.name()})"
            case 2:
                return f"{self.name()} * s"
            case 3 if depth < 2:
                return f"({self.expression(depth + 1)}) * {self.name()}"
            case 4:
                u = self.name()
                return f"{u} * {u}"
            case 5:
                return f"{self.name()}[::-1] - {self.name()}"
            case 6:
                return f"np.sum({self.matrix()}, axis={self.rng.randint(0, 1)})"
            case 7:
                return f"{self.rng.choice(['p[1]', 'q[:, 2]', 'p.T[0]'])} + {self.name()}"
            case _:
                return f"{self.name()} {self.rng.choice('+-*')} {self.name()}"

    def statement(self, indent: str, depth: int) -> Iterator[str]:
        rng, target = self.rng, self.rng.choice("abcd")
        match rng.randrange(20):
            case 0:
                yield f"{indent}{self.name()}[{rng.randrange(3)}] = s * 0.3"
            case 1:
                yield f"{indent}{self.name()}[:] = {self.expression()}"
            case 2:
                yield f"{indent}{self.name()}[1:] = {self.name()}[:-1]"
            case 3:
                yield f"{indent}{self.name()} += {self.expression()}"
            case 4:
                yield f"{indent}{target} = {self.name()}"
            case 5:
                yield f"{indent}a, b = b, a"
            case 6:
                yield f"{indent}s = s * 0.5 + write({self.name()}, {rng.randrange(3)})"
            case 7 if depth < 2:
                yield f"{indent}for k in range({rng.randint(0, 3)}):"
                for _ in range(rng.randint(1, 3)):
                    yield from self.statement(indent + "    ", depth + 1)
            case 8 if depth < 2:
                yield f"{indent}if s {rng.choice('<>')} {rng.choice(['0.5', '1.5'])}:"
                for _ in range(rng.randint(1, 3)):
                    yield from self.statement(indent + "    ", depth + 1)
            case 9 | 10:
                yield f"{indent}s = 0.5 * s + np.sum({self.expression()})"
            case 11:
                yield f"{indent}s += {self.name()}[{rng.randrange(3)}]"
            case 12 | 13:
                yield f"{indent}{rng.choice('pq')} = {self.matrix()}"
            case 14:
                yield f"{indent}{rng.choice(['p[:]', 'q[1]', 'p[:, 0]', 'q[:, 1:]', 'p[0, 1]'])} = s * 0.1"
            case 15:
                yield f"{indent}{rng.choice(['q[:]', 'p[1:]', 'p'])} {rng.choice(['+', '*', '-'])}= {self.name()}"
            case _:
                yield f"{indent}{target} = {self.expression()}"


def arguments() -> tuple[np.ndarray, np.ndarray]:
    return np.array([0.3, -0.4, 0.7]), np.array([0.9, 0.5, -0.2])


def holds(seed: int, folder: Path) -> bool:
    """Assert that the gradient in core equals the tape's; return False if the values are too large to compare."""
    text = Arrays(seed).text()
    f = load(text, str(folder)).f
    expected = dr.value_and_grad(plain(text), (0, 1))(*arguments())
    if not math.isfinite(expected[0]) or max(abs(expected[0]), *(np.max(np.abs(g)) for g in expected[1])) > 1e6:
        return False
    _, found = gradient(f, arguments(), (0, 1))
    with about(f"seed {seed}:\n{text}"):
        assert_same(tuple(found), expected[1], rtol=1e-9, floor=1e-9)
    return True


def plain(text: str):
    """The function as Python has it."""
    namespace: dict[str, object] = {"np": np, "njit": lambda f: f}
    exec(text[text.index("@njit") :], namespace)
    return namespace["f"]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_gradient_in_core_is_that_of_the_tape(first, tmp_path):
    assert sum(holds(seed, tmp_path) for seed in range(first, first + 20)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 200))
def test_the_gradient_in_core_is_that_of_the_tape_many(first, tmp_path):
    assert sum(holds(seed, tmp_path) for seed in range(first, first + 200)) > 100
