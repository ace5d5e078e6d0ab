"""More random numbers: see drawing.py. What is drawn here has no derivative by its parameters."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
import random

import numpy as np

from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.random.drawing import draw, np_random, np_standard_exponential, py_random, py_standard_gauss

# What is drawn


@draw
def np_geometric(p):
    """np.random.geometric."""
    return np.random.geometric(p)


@draw
def np_geometric_of(p, size):
    """Several of them."""
    return np.random.geometric(p, size)


@draw
def np_hypergeometric(ngood, nbad, nsample):
    """np.random.hypergeometric."""
    return np.random.hypergeometric(ngood, nbad, nsample)


@draw
def np_hypergeometric_of(ngood, nbad, nsample, size):
    """Several of them."""
    return np.random.hypergeometric(ngood, nbad, nsample, size)


@draw
def np_negative_binomial(n, p):
    """np.random.negative_binomial."""
    return np.random.negative_binomial(n, p)


@draw
def np_negative_binomial_of(n, p, size):
    """Several of them."""
    return np.random.negative_binomial(n, p, size)


@draw
def np_logseries(p):
    """np.random.logseries."""
    return np.random.logseries(p)


@draw
def np_logseries_of(p, size):
    """Several of them."""
    return np.random.logseries(p, size)


@draw
def np_zipf(a):
    """np.random.zipf."""
    return np.random.zipf(a)


@draw
def np_zipf_of(a, size):
    """Several of them."""
    return np.random.zipf(a, size)


@draw
def np_vonmises(mu, kappa):
    """np.random.vonmises."""
    return np.random.vonmises(mu, kappa)


@draw
def np_vonmises_of(mu, kappa, size):
    """Several of them."""
    return np.random.vonmises(mu, kappa, size)


@draw
def np_wald(mean, scale):
    """np.random.wald."""
    return np.random.wald(mean, scale)


@draw
def np_wald_of(mean, scale, size):
    """Several of them."""
    return np.random.wald(mean, scale, size)


@draw
def np_f(dfnum, dfden):
    """np.random.f."""
    return np.random.f(dfnum, dfden)


@draw
def np_f_of(dfnum, dfden, size):
    """Several of them."""
    return np.random.f(dfnum, dfden, size)


@draw
def np_standard_gamma(shape):
    """np.random.standard_gamma."""
    return np.random.standard_gamma(shape)


@draw
def np_standard_gamma_of(shape, size):
    """Several of them."""
    return np.random.standard_gamma(shape, size)


@draw
def np_standard_t(df):
    """np.random.standard_t."""
    return np.random.standard_t(df)


@draw
def np_standard_t_of(df, size):
    """Several of them."""
    return np.random.standard_t(df, size)


@draw
def np_standard_cauchy():
    """np.random.standard_cauchy."""
    return np.random.standard_cauchy()


@draw
def np_standard_cauchy_of(size):
    """Several of them."""
    return np.random.standard_cauchy(size)


@draw
def np_noncentral_chisquare(df, nonc):
    """np.random.noncentral_chisquare."""
    return np.random.noncentral_chisquare(df, nonc)


@draw
def np_noncentral_chisquare_of(df, nonc, size):
    """Several of them."""
    return np.random.noncentral_chisquare(df, nonc, size)


@draw
def np_multinomial(n, pvals):
    """np.random.multinomial."""
    return np.random.multinomial(n, pvals)


@draw
def np_multinomial_of(n, pvals, size):
    """Several of them."""
    return np.random.multinomial(n, pvals, size)


@draw
def np_dirichlet(alpha):
    """np.random.dirichlet."""
    return np.random.dirichlet(alpha)


@draw
def np_dirichlet_of(alpha, size):
    """Several of them."""
    return np.random.dirichlet(alpha, size)


@draw
def py_betavariate(alpha, beta):
    """random.betavariate."""
    return random.betavariate(alpha, beta)


@draw
def py_gammavariate(alpha, beta):
    """random.gammavariate."""
    return random.gammavariate(alpha, beta)


@draw
def py_vonmisesvariate(mu, kappa):
    """random.vonmisesvariate."""
    return random.vonmisesvariate(mu, kappa)


@draw
def py_randrange(start, stop, step):
    """random.randrange."""
    return random.randrange(start, stop, step)


@draw
def py_permutation(n):
    """The places of n elements, as random.shuffle moves them."""
    places = np.arange(n)
    random.shuffle(places)  # type: ignore[arg-type]
    return places


# Samples


@inner
def np_gumbel(loc, scale):
    """np.random.gumbel."""
    return loc - scale * math.log(-math.log(1.0 - np_random()))


@inner
def np_gumbel_of(loc, scale, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_gumbel(loc, scale)
    return made


@inner
def np_power(a):
    """np.random.power."""
    if a <= 0.0:
        raise ValueError("power(): a <= 0")
    return math.pow(1 - math.exp(-np_standard_exponential()), 1.0 / a)


@inner
def np_power_of(a, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_power(a)
    return made


@inner
def np_rayleigh(scale):
    """np.random.rayleigh."""
    if scale <= 0.0:
        raise ValueError("rayleigh(): scale <= 0")
    return scale * math.sqrt(-2.0 * math.log(1.0 - np_random()))


@inner
def np_rayleigh_of(scale, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_rayleigh(scale)
    return made


@inner
def np_weibull(a):
    """np.random.weibull."""
    return (-math.log(1.0 - np_random())) ** (1.0 / a)


@inner
def np_weibull_of(a, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_weibull(a)
    return made


@inner
def np_pareto(a):
    """np.random.pareto."""
    return 1.0 / (1.0 - np_random()) ** (1.0 / a) - 1


@inner
def np_pareto_of(a, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_pareto(a)
    return made


@inner
def np_triangular(left, mode, right):
    """np.random.triangular."""
    return _triangular(left, mode, right, np_random() if right != left else 0.0)


@inner
def np_triangular_of(left, mode, right, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_triangular(left, mode, right)
    return made


@inner
def np_laplace(loc, scale):
    """np.random.laplace."""
    u = np_random()
    if u < 0.5:
        return loc + scale * math.log(u + u)
    return loc - scale * math.log(2.0 - u - u)


@inner
def np_laplace_of(loc, scale, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_laplace(loc, scale)
    return made


@inner
def np_logistic(loc, scale):
    """np.random.logistic."""
    u = np_random()
    return loc + scale * math.log(u / (1.0 - u))


@inner
def np_logistic_of(loc, scale, size):
    """Several of them."""
    made = np.empty(size)
    each = made.reshape(made.size)
    for k in range(len(each)):
        each[k] = np_logistic(loc, scale)
    return made


@inner
def _triangular(left, mode, right, u):
    """The number below which a triangular one is with probability u."""
    if right == left:
        return left * 1.0
    c = (mode - left) / (right - left)
    if u > c:
        return right + (left - right) * math.sqrt((1.0 - u) * (1.0 - c))
    return left + (right - left) * math.sqrt(u * c)


@inner
def py_triangular(low, high, mode):
    """random.triangular."""
    return _triangular(low, mode, high, py_random() if high != low else 0.0)


@inner
def py_lognormvariate(mu, sigma):
    """random.lognormvariate."""
    return math.exp(mu + sigma * py_standard_gauss())


@inner
def py_paretovariate(alpha):
    """random.paretovariate."""
    return 1.0 / (1.0 - py_random()) ** (1.0 / alpha)


@inner
def py_weibullvariate(alpha, beta):
    """random.weibullvariate."""
    return alpha * (-math.log(1.0 - py_random())) ** (1.0 / beta)


@inner
def py_shuffle(x):
    """random.shuffle."""
    x[:] = x[py_permutation(len(x))]
    return 0


__all__ = [name for name in list(globals()) if name.startswith(("np_", "py_"))]
