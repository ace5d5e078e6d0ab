"""Random small functions, which become a part of those that call them (optimize/inline.py), by the evaluator."""

import random
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import about, load
from support.incore import gradient
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.nodes import Call
from dualrev.compiler.ir.core.traverse import statements


class Program:
    """The lines of a function f(x, y, a, k), and of small ones that it calls, which assign to what they are given."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.helpers: list[tuple[str, int, bool]] = []  # names, how many results, and whether it takes the array

    def text(self) -> str:
        made = ["import math", "from numba import njit", ""]
        for n in range(self.rng.randint(1, 3)):
            made += self.helper(f"h{n}")
        self.names, self.ints, self.has_array = ["x", "y"], ["k"], True
        made += ["@njit", "def f(x, y, a, k):"]
        for _ in range(self.rng.randint(1, 4)):
            made += self.statement("    ", loops=1)
        return "\n".join([*made, f"    return {self.float(2)} + 0.3 * x + 0.7 * y + a[0] * a[1]", ""])

    def helper(self, name: str) -> list[str]:
        results, takes = self.rng.choice([1, 1, 2]), self.rng.random() < 0.4
        self.names, self.ints, self.has_array = ["x", "y"], ["k"], takes
        made = ["@njit", f"def {name}(x, y, {'a, ' * takes}k):"]
        for _ in range(self.rng.randint(0, 3)):
            made += self.statement("    ", loops=int(self.rng.random() < 0.2), results=results)
        made.append(f"    return {self.results(results)}")
        self.helpers.append((name, results, takes))
        return [*made, ""]

    def results(self, count: int) -> str:
        return ", ".join(self.rng.choice([*self.names, self.float(1)]) for _ in range(count))

    def statement(self, indent: str, loops: int = 0, results: int = 0) -> list[str]:
        pick = self.rng.randrange(11)
        name = self.rng.choice(self.names)
        match pick:
            case 0 | 1:
                return [f"{indent}{name} {self.rng.choice(['=', '+=', '*='])} {self.float(2)}"]
            case 2:
                line = f"{indent}z{len(self.names)} = {self.rng.choice([name, self.float(1)])}"
                self.names.append(f"z{len(self.names)}")
                return [line]
            case 3:
                return [f"{indent}x, y = {self.rng.choice(['y, x', 'y, x * y', 'x + y, x'])}"]
            case 4:
                return [f"{indent}{self.rng.choice(['k += 1', 'k = 2 - k', 'k = 1'])}"]
            case 5 | 6 | 7:
                before = list(self.names)
                made = [f"{indent}if {self.test()}:", *self.statement(indent + "    ", 0, results)]
                if results and self.rng.random() < 0.3:
                    made.append(f"{indent}    return {self.results(results)}")
                self.names = list(before)
                if self.rng.random() < 0.4:
                    made += [f"{indent}else:", *self.statement(indent + "    ", 0, results)]
                self.names = before
                return made
            case 8 if loops:
                before = list(self.names)
                made = [f"{indent}for i in range(2):"]
                for _ in range(self.rng.randint(1, 2)):
                    made += self.statement(indent + "    ", 0)
                if self.rng.random() < 0.4:  # what was copied in a round, and is read after the loop
                    kept = f"z{len(self.names)}"
                    made += [
                        f"{indent}    t = {self.float(1)}",
                        f"{indent}    if i == 0:",
                        f"{indent}        {kept} = t",
                    ]
                    before.append(kept)
                self.names = before
                return made
            case 9 if self.has_array:
                return [
                    f"{indent}a[{self.rng.choice(['0', '1', 'k % 2'])}] {self.rng.choice(['=', '+='])} {self.float(1)}"
                ]
            case _ if self.pairs():
                return [f"{indent}{self.rng.choice(['x, y', 'y, x'])} = {self.call(self.rng.choice(self.pairs()))}"]
        return [f"{indent}{name} = {self.float(2)}"]

    def pairs(self) -> list[tuple[str, int, bool]]:
        return [h for h in self.helpers if h[1] == 2 and (self.has_array or not h[2])]

    def call(self, helper: tuple[str, int, bool]) -> str:
        return (
            f"{helper[0]}({self.float(1)}, {self.float(1)}, {'a, ' * helper[2]}{self.rng.choice(['k', '1', 'k + 1'])})"
        )

    def test(self) -> str:
        return self.rng.choice([f"{self.float(0)} > {self.float(0)}", "k > 0", f"{self.float(1)} < 0.4"])

    def float(self, depth: int) -> str:
        atoms = [*self.names, *self.names, "0.5", *["a[1]", "a[k % 2]"] * self.has_array]
        singles = [h for h in self.helpers if h[1] == 1 and (self.has_array or not h[2])]
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice(atoms)
        if singles and self.rng.random() < 0.5:
            return self.call(self.rng.choice(singles))
        left, right = self.float(depth - 1), self.float(depth - 1)
        return self.rng.choice([f"({left} + {right})", f"{left} * {right}", f"math.sin({left})", f"({left} - 0.5 * k)"])


def arguments(seed: int) -> tuple[float, float, np.ndarray, int]:
    return 0.7, -0.3, np.array([0.6, 1.1]), seed % 2


def agrees(seed: int, folder: Path) -> int:
    """Assert that the gradient equals the tape's, and count the functions that were inlined."""
    text = Program(seed).text()
    f = load(text, str(folder)).f
    try:
        expected = dr.value_and_grad(twin(f), (0, 1, 2))(*arguments(seed))
    except (ValueError, OverflowError):  # sin(inf)
        return 0
    function, found = gradient(f, arguments(seed), (0, 1, 2))
    with about(f"seed {seed}:\n{text}"):
        for got, wanted in zip(found, expected[1], strict=True):
            assert_same(got, wanted)
    left = {s.function.name for s in statements(function.body) if isinstance(s, Call)}
    return text.count("def h") - len([x for x in left if x.startswith("h")])


def test_random_small_functions(tmp_path):
    """With some that are no calls any more, so that it is a test of something."""
    assert sum(agrees(seed, tmp_path) for seed in range(30)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30, 3000, 60))
def test_more_random_small_functions(first, tmp_path):
    for seed in range(first, first + 60):
        agrees(seed, tmp_path)
