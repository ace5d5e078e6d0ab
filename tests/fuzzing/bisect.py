"""Find the compiler pass that makes a derivative wrong. In the folder tests:

python -m fuzzing.bisect module:function "0.7, np.ones(3)"                   names the first pass that is wrong
python -m fuzzing.bisect module:function "0.7, np.ones(3)" --argnums 0,1

After each pass that returns core, the reference interpreter's result is compared with Python's. Then it runs both
passes of reverse mode without optional compiler passes, and with one more at a time, and compares the gradient with the
tape's. The passes that write text are tested in the same way, by numba.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
from support.incore import gradient
from support.oracle import flat

import dualrev as dr
from dualrev.compiler.driver.context import Front
from dualrev.compiler.driver.passes import EMIT, LINK, LISTS, LOOPS, OPTIMISE, REVERSE
from dualrev.compiler.ir.pass_manager import Pass, PassManager, Settings

__all__ = ["OPTIONAL", "culprit", "settings"]

#: The optional passes of reverse mode, which the reference interpreter runs, and those of text.
OPTIONAL = [p.name for p in (*OPTIMISE, *REVERSE, *LOOPS) if p.optional]
OF_TEXT = [p.name for p in (*EMIT, *LINK) if p.optional]


def settings(names: Sequence[str]) -> Settings:
    """Leave these passes out."""
    return Settings(left_out=frozenset(names))


def culprit(f: Any, args: tuple[Any, ...], argnums: tuple[int, ...] = (0,), lists: Any = LISTS) -> str:
    """The first pass of `lists` after which a numba function of real arguments has another value or gradient; or ""."""
    value, gradients = dr.value_and_grad(f.py_func, argnums=argnums)(*copy.deepcopy(args))
    if found := _wrong_value(f, args, value, lists):
        return found

    def in_core(left_out: Sequence[str]) -> bool:
        made = gradient(f, copy.deepcopy(args), argnums, PassManager(lists, settings(left_out)))[1]
        return _agree([y for x in made for y in np.ravel(x)], flat(gradients))

    def compiled(left_out: Sequence[str]) -> bool:
        with patch.dict(os.environ, DUALREV_PASSES=",".join(f"-{name}" for name in left_out)):
            again = numba.njit(**{k: v for k, v in f.targetoptions.items() if k != "nopython"})(f.py_func)
            found = dr.value_and_grad(again, argnums=argnums)(*copy.deepcopy(args))
        return _agree(flat(found), flat((value, gradients)))

    return _first(in_core, OPTIONAL, "reverse") or _first(compiled, OF_TEXT, "emit")


def _wrong_value(f: Any, args: tuple[Any, ...], value: Any, lists: Any) -> str:
    found: list[str] = []

    def watch(p: Pass, unit: Any) -> None:
        if unit.dispatcher is f and "core" in unit.holds and not found:
            made = unit.front.program.run(unit.core, copy.deepcopy(args))
            found.extend([p.name] * (not _agree([float(made)], [float(value)])))

    front = Front(passes=PassManager(lists, watch=watch))
    front.entered(f, tuple(map(numba.typeof, args)))
    return next(iter(found), "")


def _first(agrees: Callable[[Sequence[str]], bool], optional: Sequence[str], others: str) -> str:
    """The first of some optional passes with which a result is wrong; the list of the others if it is without them."""
    if agrees(()):
        return ""
    if not agrees(optional):
        return f"one of {others} that is not optional"
    return next(name for k, name in enumerate(optional) if not agrees(optional[k + 1 :]))


def _agree(found: Sequence[float], expected: Sequence[float]) -> bool:
    return bool(np.allclose(found, expected, rtol=1e-8, atol=1e-10, equal_nan=True))


def main() -> None:
    """Bisect for a function that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", help="module:function")
    parser.add_argument("args", help="its arguments, as Python; np is numpy")
    parser.add_argument("--argnums", default="0")
    options = parser.parse_args()
    module, _, name = options.function.partition(":")
    args = eval(f"({options.args},)", {"np": np})
    argnums = tuple(map(int, options.argnums.split(",")))
    print(culprit(getattr(importlib.import_module(module), name), args, argnums) or "no pass: all agree with the tape")


if __name__ == "__main__":
    main()
