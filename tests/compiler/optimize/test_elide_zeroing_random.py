"""Random nests of loops whose shadows need no zeroing (optimize/elide_zeroing.py): memory starts as NaN."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import about, load
from support.incore import gradient_by_stores
from support.oracle import assert_same

import dualrev as dr

RANGES = 16 * ["range(n)"] + ["range(x.shape[2])", "range(len(z))", "range(2)", "range(1, n)", "range(m)"]
RANGES += ["range(n - 1, -1, -1)", "range({outer})", "range({outer}, n)"]
ARRAYS = {"x": "2nn", "y": "nn", "z": "n"}  # the sizes of their axes, n = 3


class Nest:
    """The lines of a random function of x, y and z, which reads their elements in loops."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.is_plain = self.rng.random() < 0.6  # whole axes of one array, and nothing else
        self.arrays = self.rng.choice(["x", "x", "y"] if self.is_plain else ["xxxyz", "xyyyz", "xyz"])
        self.strange = 0.0 if self.is_plain else self.rng.choice([0.0, 0.1, 0.5])  # how often it does not just read
        self.count = 0

    def lines(self) -> list[str]:
        made = ["def f(x, y, z):", "    n, m, t = len(z), 2, 0.5"]
        for _ in range(self.rng.choice([1, 1, 2])):
            made += self.loop([], "    ")
        return [*made, "    return t * t"]

    def loop(self, counters: list[str], indent: str) -> Iterator[str]:
        """A loop, with what it reads before and after the loops inside of it."""
        i = f"i{self.count}"
        self.count += 1
        outer = self.rng.choice([*counters, "n"])
        where = "range(n)" if self.is_plain else self.rng.choice(RANGES).format(outer=outer)
        yield f"{indent}for {i} in {where}:"
        counters, indent = [*counters, i], indent + "    "
        bodies = [["read"], ["read", "read"], ["read", "loop"], ["loop", "read"], ["read", "loop", "read"]]
        parts = self.rng.choice(bodies[::2] if self.is_plain else bodies)
        for part in parts:
            if part == "loop" and len(counters) < 3:
                yield from self.loop(counters, indent)
            else:
                yield from self.statement(counters, indent)

    def statement(self, counters: list[str], indent: str) -> Iterator[str]:
        element = self.element(counters)
        if self.rng.random() >= self.strange:
            yield f"{indent}t += {element}" + self.rng.choice(["", "", f" * {element}", f" + {self.element(counters)}"])
            return
        match self.rng.randrange(6):
            case 0:
                yield f"{indent}if {element} > 0.0:"
                yield f"{indent}    t += {self.element(counters)}"
            case 1:
                yield f"{indent}r = y[{self.rng.choice(counters)}]"
                yield f"{indent}t += r[{self.rng.choice([*counters, '0'])}] * {element}"
            case 2:
                yield f"{indent}m = {self.rng.choice(['n', '1', counters[-1]])}"
            case 3:
                yield f"{indent}a = np.sin(y[{self.rng.choice(counters)}])"
                yield f"{indent}for k in {self.rng.choice(['range(len(a))', 'range(n)', 'range(2)', 'range(m)'])}:"
                yield f"{indent}    t += a[k] * {element}"
            case 4:
                yield f"{indent}t = 0.5 * t * {element} + {element}"
            case 5:
                yield f"{indent}t += {self.element(counters)} * {element}"

    def element(self, counters: list[str]) -> str:
        """An element of one of the arrays: by counters, some of them twice, and constants."""
        array = self.rng.choice(self.arrays)
        last = iter(counters[-2:])  # often the axes in their order
        in_order = self.rng.random() < 0.6
        index = [
            self.index(size, counters, next(last, None) if in_order and size == "n" else None) for size in ARRAYS[array]
        ]
        return f"{array}[{', '.join(index)}]"

    def index(self, size: str, counters: list[str], usual: str | None) -> str:
        if size == "2":
            return self.rng.choice("01")
        constants = [] if self.is_plain else ["0", "1", "-1"]
        return usual or self.rng.choice([*counters, *counters, counters[-1], *constants])


def arguments() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)


def holds(seed: int, folder: Path) -> int:
    """Assert that the gradient with stores equals the tape's, and count the shadows that need no zeroing."""
    text = "\n".join(["import numpy as np", "from numba import njit", "", "@njit", *Nest(seed).lines()])
    f = load(text, str(folder)).f
    expected = dr.grad(f.py_func, (0, 1, 2))(*arguments())
    found, covered = gradient_by_stores(f, arguments())
    with about(f"seed {seed}:\n{text}"):
        assert_same(found, expected)
    return len(covered)


@pytest.fixture
def new_memory_is_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "empty_like", lambda x: np.full_like(x, np.nan))


@pytest.mark.usefixtures("new_memory_is_nan")
@pytest.mark.parametrize("first", [0, pytest.param(60, marks=pytest.mark.slow)])
def test_what_is_stored_is_all_there_is(first, tmp_path):
    """With some shadows covered, so that it is a test of something."""
    assert sum(holds(seed, tmp_path) for seed in range(first, first + 60)) > 0


@pytest.mark.slow
@pytest.mark.usefixtures("new_memory_is_nan")
@pytest.mark.parametrize("first", range(1000, 5000, 200))
def test_what_is_stored_is_all_there_is_many(first, tmp_path):
    assert sum(holds(seed, tmp_path) for seed in range(first, first + 200)) > 0
