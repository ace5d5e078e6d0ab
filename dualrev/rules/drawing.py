"""Table of functions that draw random numbers, and their names in the compiler, without code.

Each line has the parameters with their defaults, as numba has them. A function of library/drawing.py with these
parameters draws a number; where a `size` is given, another one takes it, too: np_normal, np_normal_of.
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
    "np.random.laplace": _numpy("laplace", "loc scale", (0.0, 1.0)),
    "np.random.logistic": _numpy("logistic", "loc scale", (0.0, 1.0)),
    "np.random.gumbel": _numpy("gumbel", "loc scale", (0.0, 1.0)),
    "np.random.rayleigh": _numpy("rayleigh", "scale", (1.0,)),
    "np.random.triangular": _numpy("triangular", "left mode right"),
    **{f"np.random.{n}": _numpy(n, "a") for n in ["weibull", "pareto", "power", "zipf"]},
    **{f"np.random.{n}": _numpy(n, "p") for n in ["geometric", "logseries"]},
    "np.random.hypergeometric": _numpy("hypergeometric", "ngood nbad nsample"),
    "np.random.negative_binomial": _numpy("negative_binomial", "n p"),
    "np.random.vonmises": _numpy("vonmises", "mu kappa"),
    "np.random.wald": _numpy("wald", "mean scale"),
    "np.random.f": _numpy("f", "dfnum dfden"),
    "np.random.noncentral_chisquare": _numpy("noncentral_chisquare", "df nonc"),
    "np.random.standard_gamma": _numpy("standard_gamma", "shape"),
    "np.random.standard_t": _numpy("standard_t", "df"),
    "np.random.standard_cauchy": _numpy("standard_cauchy"),
    "np.random.multinomial": _numpy("multinomial", "n pvals"),
    "np.random.dirichlet": _numpy("dirichlet", "alpha"),
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
    "runtime.python_random.triangular": _python("triangular", "low high mode"),
    "runtime.python_random.lognormvariate": _python("lognormvariate", "mu sigma"),
    "runtime.python_random.paretovariate": _python("paretovariate", "alpha"),
    "runtime.python_random.weibullvariate": _python("weibullvariate", "alpha beta"),
    "runtime.python_random.betavariate": _python("betavariate", "alpha beta"),
    "runtime.python_random.gammavariate": _python("gammavariate", "alpha beta"),
    "runtime.python_random.vonmisesvariate": _python("vonmisesvariate", "mu kappa"),
    "runtime.python_random.randrange": _python("randrange", "start stop step", (1,)),
    "runtime.python_random.shuffle": _python("shuffle", "x"),
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
