"""Random numbers: what is drawn, and samples as smooth functions of their parameters and of what is drawn.

What is drawn has no derivative; it is computed once, in the forward sweep. `is_draw` tells these functions; the
compiler knows their types only. A sample that is a smooth function of its parameters (normal: loc + scale * z) is made
of them, with the bits that numba's own functions give; of the others, parameters cannot be differentiated.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import random
from typing import Any

import numpy as np
from numba import njit

from dualrev.rules.library.njit_internal import inner

_DRAWS: dict[int, tuple[Any, str]] = {}


def draw(f):
    """A numba function that draws: from numpy's generator, or from that of Python's random."""
    made = njit(f)
    _DRAWS[id(made)] = made, f.__name__.partition("_")[0]
    return made


def is_draw(f: Any) -> bool:
    """Whether a numba function is one of those here that draw."""
    return id(f) in _DRAWS


def generator_of(f: Any) -> str:
    """The generator that a function draws from: np or py."""
    return _DRAWS[id(f)][1]


# What is drawn


@draw
def np_seed(seed):
    """np.random.seed."""
    np.random.seed(seed)
    return 0


@draw
def np_random():
    """A number from [0, 1)."""
    return np.random.random()


@draw
def np_random_of(size):
    """Numbers from [0, 1)."""
    return np.random.random(size)


@draw
def np_standard_normal():
    """A normal number."""
    return np.random.standard_normal()


@draw
def np_standard_normal_of(size):
    """Normal numbers."""
    return np.random.standard_normal(size)


@draw
def np_standard_exponential():
    """An exponential number."""
    return np.random.standard_exponential()


@draw
def np_standard_exponential_of(size):
    """Exponential numbers."""
    return np.random.standard_exponential(size)


@draw
def np_gamma(shape, scale):
    """np.random.gamma."""
    return np.random.gamma(shape, scale)


@draw
def np_gamma_of(shape, scale, size):
    """Several of them."""
    return np.random.gamma(shape, scale, size)


@draw
def np_beta(a, b):
    """np.random.beta."""
    return np.random.beta(a, b)


@draw
def np_beta_of(a, b, size):
    """Several of them."""
    return np.random.beta(a, b, size)


@draw
def np_chisquare(df):
    """np.random.chisquare."""
    return np.random.chisquare(df)


@draw
def np_chisquare_of(df, size):
    """Several of them."""
    return np.random.chisquare(df, size)


@draw
def np_poisson(lam):
    """np.random.poisson."""
    return np.random.poisson(lam)


@draw
def np_poisson_of(lam, size):
    """Several of them."""
    return np.random.poisson(lam, size)


@draw
def np_binomial(n, p):
    """np.random.binomial."""
    return np.random.binomial(n, p)


@draw
def np_binomial_of(n, p, size):
    """Several of them."""
    return np.random.binomial(n, p, size)


@draw
def np_randint(low, high):
    """np.random.randint."""
    return np.random.randint(low, high)


@draw
def np_randint_of(low, high, size):
    """Several of them."""
    return np.random.randint(low, high, size)


@draw
def np_permutation(n):
    """np.random.permutation of an int."""
    return np.random.permutation(n)


@draw
def py_seed(a):
    """random.seed."""
    random.seed(a)
    return 0


@draw
def py_random():
    """A number from [0, 1)."""
    return random.random()


@draw
def py_randint(a, b):
    """random.randint."""
    return random.randint(a, b)


@draw
def py_standard_gauss():
    """A normal number."""
    return random.gauss(0.0, 1.0)


@draw
def py_standard_normalvariate():
    """A normal number."""
    return random.normalvariate(0.0, 1.0)


@draw
def py_standard_expovariate():
    """An exponential number."""
    return random.expovariate(1.0)


# Samples, of one standard sample or an array of them


@inner
def sample_normal(z, loc, scale):
    """Normal numbers of standard normal ones."""
    return loc + scale * z


@inner
def sample_lognormal(z, mean, sigma):
    """Numbers with normal logarithms, of standard normal ones."""
    return np.exp(mean + sigma * z)


@inner
def sample_uniform(u, low, high):
    """Numbers from [low, high), of those from [0, 1)."""
    return low + (high - low) * u


@inner
def sample_scaled(e, scale):
    """Exponential numbers of standard ones."""
    return scale * e


@inner
def sample_rayleigh(e, scale):
    """Rayleigh's distribution, of standard exponential numbers."""
    return scale * np.sqrt(2.0 * e)


@inner
def sample_weibull(e, a):
    """Weibull's distribution, of standard exponential numbers."""
    return e ** (1.0 / a)


@inner
def sample_pareto(e, a):
    """Lomax's distribution (numpy's pareto), of standard exponential numbers."""
    return np.expm1(e / a)


@inner
def np_normal(loc, scale):
    """np.random.normal."""
    return sample_normal(np_standard_normal(), loc, scale)


@inner
def np_normal_of(loc, scale, size):
    """Several of them."""
    return sample_normal(np_standard_normal_of(size), loc, scale)


@inner
def np_lognormal(mean, sigma):
    """np.random.lognormal."""
    return sample_lognormal(np_standard_normal(), mean, sigma)


@inner
def np_lognormal_of(mean, sigma, size):
    """Several of them."""
    return sample_lognormal(np_standard_normal_of(size), mean, sigma)


@inner
def np_uniform(low, high):
    """np.random.uniform."""
    return sample_uniform(np_random(), low, high)


@inner
def np_uniform_of(low, high, size):
    """Several of them."""
    return sample_uniform(np_random_of(size), low, high)


@inner
def np_exponential(scale):
    """np.random.exponential."""
    return sample_scaled(np_standard_exponential(), scale)


@inner
def np_exponential_of(scale, size):
    """Several of them."""
    return sample_scaled(np_standard_exponential_of(size), scale)


@inner
def py_gauss(mu, sigma):
    """random.gauss."""
    return mu + sigma * py_standard_gauss()


@inner
def py_normalvariate(mu, sigma):
    """random.normalvariate."""
    return mu + sigma * py_standard_normalvariate()


@inner
def py_uniform(a, b):
    """random.uniform."""
    return a + (b - a) * py_random()


@inner
def py_expovariate(lambd):
    """random.expovariate."""
    return py_standard_expovariate() / lambd


# Elements of arrays


@inner
def np_choice(a):
    """np.random.choice of an array."""
    return a[np_randint(0, len(a))]


@inner
def np_choice_of(a, size):
    """Several elements, with replacement."""
    return a[np_randint_of(0, len(a), size)]


@inner
def np_permuted(x):
    """np.random.permutation of an array."""
    return x[np_permutation(len(x))]


@inner
def np_shuffle(x):
    """np.random.shuffle."""
    x[:] = x[np_permutation(len(x))]
    return 0


#: The definitions; what tells of them is imported by its name.
__all__ = [name for name in list(globals()) if name.startswith(("np_", "py_", "sample_"))]
