"""Which functions draw random numbers, and what the compiler knows them as: the table, without code.

Of every function the parameters with their defaults, as numba has them. It is drawn by a function of
library/drawing.py of these and, where a `size` is given, of that: np_normal, np_normal_of.
"""

from __future__ import annotations

import operator
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DRAWING", "Drawing", "drawing_name"]

_NOTHING = object()


@dataclass(frozen=True)
class Drawing:
    """A function that draws: what draws for it, its parameters, their defaults, and whether it takes a size."""

    name: str
    parameters: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()
    sized: bool = False


def _numpy(name: str, parameters: str = "", defaults: tuple[Any, ...] = (), sized: bool = True) -> Drawing:
    return Drawing(f"np_{name}", tuple(parameters.split()), defaults, sized)


def _python(name: str, parameters: str = "", defaults: tuple[Any, ...] = ()) -> Drawing:
    return Drawing(f"py_{name}", tuple(parameters.split()), defaults)


#: By the names in emitted code. rand and randn take the lengths of the axes one by one.
DRAWING: dict[str, Drawing] = {
    **{f"np.random.{n}": _numpy("random") for n in ["random", "random_sample", "ranf", "sample", "rand"]},
    **{f"np.random.{n}": _numpy("standard_normal") for n in ["standard_normal", "randn"]},
    "np.random.standard_exponential": _numpy("standard_exponential"),
    "np.random.normal": _numpy("normal", "loc scale", (0.0, 1.0)),
    "np.random.lognormal": _numpy("lognormal", "mean sigma", (0.0, 1.0)),
    "np.random.uniform": _numpy("uniform", "low high", (0.0, 1.0)),
    "np.random.exponential": _numpy("exponential", "scale", (1.0,)),
    "np.random.gamma": _numpy("gamma", "shape scale", (1.0,)),
    "np.random.beta": _numpy("beta", "a b"),
    "np.random.chisquare": _numpy("chisquare", "df"),
    "np.random.poisson": _numpy("poisson", "lam", (1.0,)),
    "np.random.binomial": _numpy("binomial", "n p"),
    "np.random.randint": _numpy("randint", "low high", (None,)),
    "np.random.choice": _numpy("choice", "a"),
    "np.random.permutation": _numpy("permutation", "x", sized=False),
    "np.random.shuffle": _numpy("shuffle", "x", sized=False),
    "np.random.seed": _numpy("seed", "seed", sized=False),
    "runtime.python_random.random": _python("random"),
    "runtime.python_random.gauss": _python("gauss", "mu sigma", (0.0, 1.0)),
    "runtime.python_random.normalvariate": _python("normalvariate", "mu sigma", (0.0, 1.0)),
    "runtime.python_random.uniform": _python("uniform", "a b"),
    "runtime.python_random.expovariate": _python("expovariate", "lambd", (1.0,)),
    "runtime.python_random.randint": _python("randint", "a b"),
    "runtime.python_random.seed": _python("seed", "a"),
}


def drawing_name(f: Any) -> str | None:
    """The name of a function that draws, in emitted code; None for others."""
    return _NAMES.get(id(f))


def _function(text: str) -> Any:
    module, _, name = text.rpartition(".")
    return operator.attrgetter(name)(np.random if module == "np.random" else random)


_NAMES = {id(_function(text)): text for text in DRAWING}
