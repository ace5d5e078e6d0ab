"""Random CUDA kernels, whose threads share arrays and wait for one another; some of them race."""

import random

import numpy as np

__all__ = ["arguments", "kernel", "launches"]

LAUNCHES = ((1, 4), (2, 3), (3, 2), (2, 4))
OF_TWO_AXES = ((1, (2, 2)), (2, (2, 2)), (1, (3, 1)), (1, (1, 4)))
ELEMENTS = 48

_HEAD = """\
import math
import numba
from numba import cuda


@cuda.jit
def kernel(x, y, z, k, n):
    part = cuda.shared.array(48, numba.float64)
    rows = cuda.shared.array((2, 48), numba.float64)
    keys = cuda.shared.array(48, numba.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    d = cuda.blockDim.x
    v = x[i]
    w = 1.0
    p = 0
    part[t] = x[i + 3]
    part[t + d] = v
    rows[0, t] = x[2 * i]
    rows[1, t] = 0.5
    keys[t] = t
    cuda.syncthreads()
"""
_TAIL = """\
    cuda.syncthreads()
    y[i] = v * w + part[t] * part[d - 1 - t] + rows[0, t] * rows[1, d - 1 - t] + part[t + d]
"""
_NUMBER = {
    "t = cuda.threadIdx.x": "t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x",
    "i = cuda.grid(1)": "i = cuda.blockIdx.x * cuda.blockDim.x * cuda.blockDim.y + t",
    "d = cuda.blockDim.x": "d = cuda.blockDim.x * cuda.blockDim.y",
}
_SCALARS = ("v", "w")
_INDICES = [
    *("t", "t", "t", "t + 1", "t - 1", "t + d", "t + 2", "d - 1 - t", "2 * t", "2 * t + 1", "(t + 1) % d"),
    *(
        "t ^ 1",
        "0",
        "1",
        "3",
        "p",
        "t + p",
        "1 - p",
        "d * 2 + t",
        "3 - t",
        "t * 4 + p",
        "p * d + t",
        "d",
        "(t + 2) % 4",
    ),
]
_TESTS = [
    *("t == 0", "t == 1", "t == d - 1", "t < 2", "t > 0", "t < d - 1", "t % 2 == 0", "n > 2", "n > 3", "t >= p"),
    *("t < p", "t == p", "p == 1", "i == 0", "t < n", "i < 5", "t != 1", "keys[t] < 2", "k[0] > 1", "x.size > t"),
]
_VALUES = ("math.sin({0} * {1})", "{0} * 0.5 + {1}", "{0} - 0.3 * {1}", "{0} * 0.9", "math.exp(-{0} * {0})", "0.4")
_INTEGERS = ("p + 1", "1 - p", "0", "1", "t", "(t + 1) % d", "n", "k[1]", "keys[t]", "keys[0]", "(t + p) % d", "p * 2")


class _Writer:
    def __init__(self, seed):
        self.random, self.counters, self.lines = random.Random(seed), [], []
        self.apart = False  # whether threads may have gone different ways
        self.waits = self.random.choice((0.0, 0.5, 0.8, 1.0))  # how often a barrier follows a statement

    def index(self, counters=True):
        found = [*_INDICES]
        if counters:
            for c in self.counters:
                found += [
                    c,
                    f"t + {c}",
                    f"{c} + 1",
                    f"(t + {c}) % d",
                    f"{c} * d + t",
                    f"2 * t + {c}",
                    f"4 * t + {c}",
                    f"t ^ {c}",
                ]
        return self.random.choice(found)

    def element(self):
        name = self.random.choice(("part", "part", "part", "rows"))
        if name == "part":
            return f"part[{self.index()}]"
        row = self.random.choice(["0", "1", "p % 2", "1 - p % 2", *(f"{c} % 2" for c in self.counters)])
        return f"rows[{row}, {self.index()}]"

    def value(self):
        some = [self.random.choice([*_SCALARS, self.element(), self.element(), "x[i]"]) for _ in range(2)]
        return self.random.choice(_VALUES).format(*some)

    def block(self, depth, size):
        margin = "    " * depth
        for _ in range(size):
            kind = self.random.choices(
                ("store", "add", "load", "atomic", "result", "barrier", "if", "loop", "while", "integer", "key"),
                (6, 2, 4, 1, 1, 1, 3 if depth < 4 else 0, 3 if depth < 3 else 0, depth < 3, 2, 1),
            )[0]
            getattr(self, f"_{kind}")(margin, depth)
            if not self.apart and self.random.random() < self.waits:
                self._barrier(margin, depth)

    def _store(self, margin, depth):
        self.lines.append(f"{margin}{self.element()} = {self.value()}")

    def _add(self, margin, depth):
        self.lines.append(f"{margin}{self.element()} {self.random.choice('+-*')}= {self.value()}")

    def _load(self, margin, depth):
        self.lines.append(f"{margin}{self.random.choice(_SCALARS)} = {self.value()}")

    def _atomic(self, margin, depth):
        array = self.random.choice(("part", "part", "z"))
        self.lines.append(f"{margin}cuda.atomic.add({array}, {self.index()}, {self.value()})")

    def _result(self, margin, depth):
        self.lines.append(f"{margin}y[i + {self.random.choice((0, 32))}] = {self.value()}")

    def _barrier(self, margin, depth):
        self.lines.append(f"{margin}cuda.syncthreads()")

    def _if(self, margin, depth):
        test, before = self.random.choice(_TESTS), self.apart
        self.apart = before or "t " in test or "i " in test or "p" in test
        self.lines.append(f"{margin}if {test}:")
        self.block(depth + 1, self.random.randint(1, 3))
        if self.random.random() < 0.4:
            self.lines.append(f"{margin}else:")
            self.block(depth + 1, self.random.randint(1, 2))
        self.apart = before

    def _loop(self, margin, depth):
        c = f"j{len(self.counters)}"
        bounds = self.random.choice(("2", "3", "1, 3", "n", "0, n, 2", "t, 8, d", "k[0]", "t"))
        self.lines.append(f"{margin}for {c} in range({bounds}):")
        self.counters.append(c)
        before, self.apart = self.apart, self.apart or "t" in bounds
        self.block(depth + 1, self.random.randint(1, 4))
        self.counters.pop()
        self.apart = before

    def _while(self, margin, depth):
        c = f"s{depth}"
        start, test, step = self.random.choice(
            (("d // 2", "{0} > 0", "{0} //= 2"), ("1", "{0} < d", "{0} *= 2"), ("d >> 1", "{0} > 0", "{0} >>= 1"))
        )
        self.lines += [f"{margin}{c} = {start}", f"{margin}while {test.format(c)}:"]
        if self.random.random() < 0.6:
            guard = self.random.choice(("t < {0}", "t % (2 * {0}) == 0", "t >= {0}", "t + {0} < d")).format(c)
            other = self.random.choice(("t + {0}", "t - {0}", "t ^ {0}")).format(c)
            self.lines += [f"{margin}    if {guard}:", f"{margin}        part[t] += part[{other}]"]
            if not self.apart and self.random.random() < self.waits:
                self._barrier(margin + "    ", depth)
        self.counters.append(c)
        self.block(depth + 1, self.random.randint(1, 3))
        self.counters.pop()
        self.lines.append(f"{margin}    {step.format(c)}")

    def _integer(self, margin, depth):
        made = self.random.choice([*_INTEGERS, *self.counters])
        self.lines.append(f"{margin}p = {made}")

    def _key(self, margin, depth):
        self.lines.append(f"{margin}keys[{self.index()}] = {self.random.choice(('p', 't', 'keys[t] + 1', '1'))}")


def kernel(seed):
    """Return the text of a kernel; if the seed is odd, of a block of two axes, whose threads it numbers."""
    writer, head = _Writer(seed), _HEAD
    writer.block(1, writer.random.randint(2, 6))
    for line, other in _NUMBER.items() if seed % 2 else ():
        head = head.replace(f"    {line}\n", f"    {other}\n")
    return head + "\n".join(writer.lines) + "\n" + _TAIL


def launches(seed):
    """Return grids for a kernel."""
    return OF_TWO_AXES if seed % 2 else LAUNCHES


def arguments(seed):
    """Return arguments for a kernel."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(0.2, 1.2, (3, ELEMENTS))
    return x, y, z, np.array([2, 1, 0, 3]), 3
