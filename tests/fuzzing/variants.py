"""The ways in which a random program is checked: which one is said by the program itself.

plain     value, gradient and arguments against the tape, which differences check; where
          numba's value is another than plain Python's, against differences of f          differences.py
special   at NaN, infinities, zeros, subnormal and huge numbers, with singular functions   special.py
raise     with exits that happen in the middle: the same errors, and nothing left over     exits.py
names     with the names of emitted code for the user's variables                          renaming.py
cache     once more in a fresh process, which has to find the derivatives in the cache     cached.py
numba     with what only numba has, against differences of f itself                        differences.py

Every second program of each is differentiated in forward mode as well. Of second derivatives:

product   `hvp` by one of the arguments                                                    second.py
hessian   `hessian` by all real arguments                                                  second.py
called    the derivatives of a function that calls a compiled gradient                     second.py
curved    `hvp` with what only numba has, against differences of the gradient              differences.py

Every second program of the first two is also run in core with tangents, once and twice. Of third ones:

third     `hvp` of a function that calls a compiled gradient                               second.py

And, if it is asked for:

core      both sweeps in core, run by its evaluator: no derivative is compiled             incore.py
"""

from __future__ import annotations

import dataclasses
import linecache
import os
import random
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from programs.generators.carried import program as program_of_carried_names
from programs.generators.exits import check_exits, with_exits
from programs.generators.generator import Program, program
from programs.generators.idioms import program as program_of_idioms
from programs.generators.parallel import program as program_of_parallel_loops
from support.incore import check_core

import dualrev as dr
from fuzzing.agreeing import Engine, check_plain
from fuzzing.cached import check_cached
from fuzzing.differences import (
    check_by_differences,
    check_by_tape_or_differences,
    check_product_by_differences,
)
from fuzzing.renaming import with_hostile_names
from fuzzing.running import Discarded, Failed
from fuzzing.second import (
    check_called,
    check_hessian,
    check_product,
    check_third,
    with_a_called_gradient,
    with_another_first_argument,
)
from fuzzing.special import check_special, with_singular_functions

__all__ = ["GENERATORS", "VARIANTS", "check", "numbered", "of_order"]


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a program is changed, by random numbers, and how it is checked then."""

    change: Callable[[Program, random.Random], Program]
    check: Callable[[Program, Engine, str], None]
    order: int = 1  # of the derivatives
    share: float = 1.0  # of a program's size: what is differentiated more often takes longer to compile, ...
    among: int = 1  # ... and the shortest of so many programs is taken
    numba: bool = False  # whether programs may have what only numba has


def _unchanged(of: Program, _: random.Random) -> Program:
    return of


VARIANTS = {
    "plain": Variant(_unchanged, check_by_tape_or_differences),
    "special": Variant(with_singular_functions, check_special),
    "raise": Variant(with_exits, check_exits),
    "names": Variant(with_hostile_names, check_plain),
    "cache": Variant(_unchanged, check_cached),
    "numba": Variant(_unchanged, check_by_differences, numba=True),
    "product": Variant(with_another_first_argument, check_product, order=2, share=0.5, among=3),
    "hessian": Variant(_unchanged, check_hessian, order=2, share=0.5, among=3),
    "called": Variant(with_a_called_gradient, check_called, order=2, share=0.25, among=4),
    "curved": Variant(
        with_another_first_argument, check_product_by_differences, order=2, share=0.5, among=3, numba=True
    ),
    "third": Variant(with_a_called_gradient, check_third, order=3, share=0.25, among=4),
    "core": Variant(_unchanged, check_core, order=0),
}


def of_order(order: int) -> list[str]:
    """The variants for derivatives of this order."""
    return [name for name, variant in VARIANTS.items() if variant.order == order]


#: What makes programs of a seed and a size.
GENERATORS = {
    "grammar": program,
    "idioms": program_of_idioms,
    "parallel": program_of_parallel_loops,
    "carried": program_of_carried_names,
}


def numbered(seed: str, number: int, size: int, variants: Sequence[str], generator: str = "grammar") -> Program:
    """The program of this number, in the variant whose turn it is; a plain one where it cannot be changed so."""
    program = GENERATORS[generator]
    turn, place = divmod(number, len(variants))
    variant = VARIANTS[variants[place]]
    seeds = [f"{seed}-{number}", *(f"{seed}-{number}-{k}" for k in range(1, variant.among))]
    made = (program(one, round(size * variant.share), variant.numba) for one in seeds)
    of = min(made, key=lambda one: len(one.source))
    of = dataclasses.replace(of, forward=turn % 2 == 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed = VARIANTS[variants[place]].change(of, random.Random(f"{seed}-{number}"))
    except Exception:  # it is refused, or numba does not compile it: the plain check says so
        return of
    return dataclasses.replace(changed, variant=variants[place])


def check(
    of: Program,
    value_and_grad: Callable[..., Any] | None = dr.value_and_grad,
    jvp: Callable[..., Any] = dr.jvp,
    **others: Callable[..., Any],
) -> None:
    """Failed, unless all agree; Discarded, if nothing can be said; dualrev.errors.UnsupportedError, if refused.

    value_and_grad=None checks the program only: that numba compiles it, and that values and the tape are right.
    `others` are fields of the engine.
    """
    checked = patch.dict(os.environ, DUALREV_CHECK="1")  # every derivative compares its value with that of f
    with warnings.catch_warnings(), np.errstate(all="ignore"), tempfile.TemporaryDirectory() as folder, checked:
        warnings.simplefilter("ignore")  # numba warns of slow products
        try:
            VARIANTS[of.variant].check(of, Engine(value_and_grad, jvp, **others), folder)
        except (Discarded, Failed, dr.errors.UnsupportedError):
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            if isinstance(error, UnboundLocalError) and place.filename == "<string>":
                # of the program, at other arguments than those that it was made with
                raise Discarded("a name without a value") from error
            kind = f"{type(error).__name__} at {Path(place.filename).name} line {place.lineno}"
            raise Failed(kind, str(error)) from error
        finally:
            linecache.checkcache()
