"""Five hundred functions of one odd line: each has a derivative or is refused, and the refusal itself does not fail."""

import linecache
import math
from collections import Counter
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError
from programs import odd_things

import dualrev as dr
from dualrev.errors import DualrevError, UnsupportedError

LINES = (Path(__file__).parents[2] / "programs" / "odd_lines.txt").read_text(encoding="utf-8").splitlines()
PARTS = 8
SPACE = {"np": np, "math": math, "numba": numba, "dr": dr, **vars(odd_things)}


def function_of(line):
    """`x, n: n = n + 1; return x * n` as a numba function, and its arguments."""
    head, body = line.split(":", 1)
    statements = "\n".join(f"    {part.strip()}" for part in body.split("; "))
    text, file = f"def f({head}):\n{statements}\n", f"<{line}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = dict(SPACE)
    exec(compile(text, file, "exec"), space)
    return njit(space["f"]), [odd_things.ARGUMENTS[name.strip()] for name in head.split(",")]


def is_real(x):
    return isinstance(x, float | complex | tuple) or (isinstance(x, np.ndarray) and x.dtype.kind in "fcV")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_line_has_a_derivative_or_is_refused(part):
    found, said = Counter(), {}
    for line in LINES[part::PARTS]:
        f, args = function_of(line)
        chosen = tuple(k for k, x in enumerate(args) if is_real(x)) or 0
        try:
            dr.derivative_source(f, *args, argnums=chosen, transform="value_and_grad")
            found["derivative"] += 1
        except NumbaError:  # numba's own, of a function that numba does not compile
            found["numba"] += 1
        except DualrevError as error:
            found["refused"] += 1
            if isinstance(error, UnsupportedError):
                said[line] = str(error)
        except Exception as error:
            error.add_note(line)
            raise
    assert min(found.values()) > 0
    assert not [line for line, text in said.items() if "Write " not in text or "None" in text.split("Write ")[-1]]
