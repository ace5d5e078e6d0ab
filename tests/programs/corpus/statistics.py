"""Statistics: log-likelihoods, filters, kernels and regressions."""

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case

RNG = np.random.default_rng(7)
DESIGN = np.column_stack([np.ones(8), RNG.normal(size=(8, 2))]).round(3)
RESPONSE = RNG.normal(size=8).round(3)
LABELS = np.array([0, 1, 1, 0, 1, 0, 1, 1])


@case(0.4, 1.3, [0.1, 1.5, -0.7, 2.0])
def normal_log_likelihood(mu, sigma, xs):
    """Independent normal observations."""
    n = len(xs)
    return -n * math.log(sigma * math.sqrt(2 * math.pi)) - sum((x - mu) ** 2 for x in xs) / (2 * sigma**2)


@case([(0.3, -1.0, 0.5), (0.7, 1.2, 0.8)], [-1.2, 0.4, 1.9])
def mixture_by_loops(components, xs):
    """A Gaussian mixture, in loops."""
    total = 0.0
    for x in xs:
        density = 0.0
        for weight, mu, sigma in components:
            density += weight * math.exp(-0.5 * ((x - mu) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
        total += math.log(density)
    return total


@case(
    np.array([0.2, -0.4]), np.array([[-1.0, 0.5], [1.2, -0.3]]), np.array([0.1, -0.2]), RNG.normal(size=(3, 2)).round(3)
)
def mixture_vectorised(logits, means, log_sigmas, xs):
    """A Gaussian mixture of plane clusters, with logsumexp over an axis."""
    log_weights = logits - np.log(np.exp(logits).sum())
    squares = ((xs[:, None, :] - means) ** 2).sum(axis=-1) / np.exp(2 * log_sigmas)
    scores = log_weights - squares / 2 - 2 * log_sigmas
    top = scores.max(axis=1)
    return (top + np.log(np.exp(scores - top[:, None]).sum(axis=1))).mean()


@case(np.array([0.3, -0.8, 0.5]), DESIGN, LABELS)
def logistic_regression(beta, design, labels):
    """The log-likelihood of labels 0 and 1, with a ridge penalty."""
    eta = design @ beta
    return (labels * eta - np.logaddexp(0.0, eta)).sum() - 0.1 * beta @ beta


@case([0.5, 0.3], [0.2, 1.0, 1.5], [1, 3, 2])
def poisson_regression(beta, xs, counts):
    """Counts whose rate is an exponential of a linear function."""
    total = 0.0
    for x, n in zip(xs, counts, strict=True):
        eta = beta[0] + beta[1] * x
        total += n * eta - math.exp(eta) - math.lgamma(n + 1.0)
    return total


@case(0.1, 0.2, 0.7, [0.5, -1.0, 0.3, 2.0, -0.4])
def garch(omega, alpha, beta, returns):
    """GARCH(1, 1): the variance follows its own past and the squared returns."""
    variance, total = omega / (1 - alpha - beta / 2), 0.0
    for r in returns:
        total -= 0.5 * (math.log(2 * math.pi * variance) + r * r / variance)
        variance = omega + alpha * r**2 + beta * variance
    return total


@case(np.array([0.6, -0.3]), 0.8, np.array([0.5, 1.2, -0.3, 0.8, 0.1, -1.0]))
def autoregression(phi, sigma, series):
    """The conditional likelihood of AR(2), by slices."""
    residuals = series[2:] - phi[0] * series[1:-1] - phi[1] * series[:-2]
    return -len(residuals) * np.log(sigma) - (residuals**2).sum() / (2 * sigma**2)


@case(0.9, 0.3, 0.5, [1.0, 0.8, 1.3, 0.2])
def kalman_filter_scalar(a, q, r, seen):
    """A local level: the log-likelihood by the Kalman filter on numbers."""
    mean, variance, total = 0.0, 1.0, 0.0
    for y in seen:
        mean, variance = a * mean, a * a * variance + q
        s = variance + r
        gain, error = variance / s, y - mean
        total -= 0.5 * (math.log(s) + error**2 / s)
        mean, variance = mean + gain * error, (1 - gain) * variance
    return total, mean


@case(np.array([[1.0, 0.5], [-0.1, 0.9]]), np.array([[0.2, 0.05], [0.05, 0.1]]), 0.4, np.array([0.9, 1.7, 2.1]))
def kalman_filter_matrix(f, q, r, seen):
    """Kalman filter of position and velocity, with observations of the position."""
    x, p, h, total = np.zeros(2), np.eye(2), np.array([[1.0, 0.0]]), 0.0
    for y in seen:
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        error = y - h @ x
        total -= 0.5 * (np.linalg.slogdet(s)[1] + error @ np.linalg.solve(s, error))
        x, p = x + gain @ error, (np.eye(2) - gain @ h) @ p
    return total + x[1]


@case(
    np.array([0.2, -0.5]), np.array([[0.8, 0.1], [-0.3, 0.6]]), np.array([-1.0, 1.0]), 0.7, np.array([0.9, 1.1, -0.8])
)
def hidden_markov_scaled(start, logits, means, sigma, seen):
    """A hidden Markov model with normal emissions, by scaled forward probabilities."""
    alpha = np.exp(start) / np.exp(start).sum()
    move = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total = 0.0
    for y in seen:
        alpha = (alpha @ move) * np.exp(-(((y - means) / sigma) ** 2) / 2) / sigma
        scale = alpha.sum()
        total += np.log(scale)
        alpha = alpha / scale
    return total


@case(1.5, 2.5, [(8, 10), (9, 12), (5, 6)])
def beta_binomial(a, b, trials):
    """Successes with a random probability, by lgamma."""

    def log_beta(x, y):
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return sum(log_beta(k + a, n - k + b) - log_beta(a, b) for k, n in trials)


@case(4.5, 0.3, 1.2, [0.1, 2.5, -1.0])
def student_t(nu, mu, scale, xs):
    """Student's t with location, scale and degrees of freedom."""
    constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - math.log(scale)
    return sum(constant - (nu + 1) / 2 * math.log1p(((x - mu) / scale) ** 2 / nu) for x in xs)


@case([0.5, -0.8], [[0.2, 1.0], [1.5, 0.3], [-0.7, 0.6], [0.9, -1.1]], [2, 5, 3, 8], [True, False, True, True])
def cox_partial_likelihood(beta, covariates, times, died):
    """Survival: each death against those who were still at risk."""
    scores = [sum(b * x for b, x in zip(beta, row, strict=True)) for row in covariates]
    total = 0.0
    for score, time, event in zip(scores, times, died, strict=True):
        if event:
            total += score - math.log(sum(math.exp(s) for s, t in zip(scores, times, strict=True) if t >= time))
    return total


@case(0.6, np.array([-0.5, 0.1, 1.4, 2.0]), np.array([0.0, 1.0]))
def kernel_density(width, sample, points):
    """A kernel density estimate at some points."""
    z = (points[:, None] - sample) / width
    return np.log(np.exp(-(z**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


@case(0.8, 1.3, 0.2, np.array([0.0, 0.7, 1.5, 2.6]), np.array([0.3, 1.1, 0.4, -0.9]))
def gaussian_process(length, scale, noise, x, y):
    """The marginal likelihood of a Gaussian process, by Cholesky and two solves."""
    k = scale**2 * np.exp(-((x[:, None] - x) ** 2) / (2 * length**2)) + noise**2 * np.eye(len(x))
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return -0.5 * y @ alpha - np.log(np.diag(factor)).sum() - len(x) / 2 * np.log(2 * np.pi)


@case(DESIGN[:5], RESPONSE[:5], 0.3)
def ridge_regression(design, response, penalty):
    """The closed form of ridge regression."""
    gram = design.T @ design + penalty * np.eye(design.shape[1])
    return np.linalg.solve(gram, design.T @ response)


@case(np.array([0.6, -0.2, 0.9]), DESIGN[:5])
def explained_variance(direction, data):
    """Rayleigh's quotient: the share of the variance along a direction."""
    centred = data - data.mean(axis=0)
    covariance = centred.T @ centred / (len(data) - 1)
    return direction @ covariance @ direction / (direction @ direction) / np.trace(covariance + np.eye(3) / 10)


@case([[1.0, 0.2, -0.5], [0.3, 0.8, 0.1]], [2, 0])
def softmax_cross_entropy(rows, labels):
    """The cross entropy of labels, row by row with a list of scores."""
    losses = []
    for scores, label in zip(rows, labels, strict=True):
        top = max(scores)
        losses.append(math.log(sum(math.exp(s - top) for s in scores)) + top - scores[label])
    return sum(losses) / len(losses)


@case([2.0, 0.7, 1.4], [0.2, 0.5, 0.3])
def dirichlet_log_density(alpha, p):
    """A Dirichlet density, and the divergence of its mean from p."""
    total = sum(alpha)
    density = math.lgamma(total) + sum((a - 1) * math.log(x) - math.lgamma(a) for a, x in zip(alpha, p, strict=True))
    return density + sum(x * math.log(x * total / a) for a, x in zip(alpha, p, strict=True))


@case(np.array([[1.0, 0.2], [0.4, 1.5], [-0.3, 0.9], [2.0, -0.6]]))
def correlations(data):
    """A matrix of correlations, filled entry by entry."""
    n = data.shape[1]
    result = dnp.eye(n)
    z = (data - data.mean(axis=0)) / data.std(axis=0)
    for i in range(n):
        for j in range(i):
            result[i, j] = result[j, i] = (z[:, i] * z[:, j]).mean()
    return result[0, 1], np.log(1.5 - result[0, 1] ** 2)


@case([0.2, 1.5, 3.0], [0.5, 0.9, 2.2, 4.0], 0.7)
def weibull_with_censoring(ends, deaths, rate):
    """Some lifetimes are known, of others only that they were longer."""
    shape = 1 + rate**2
    known = sum(math.log(shape * rate) + (shape - 1) * math.log(rate * t) - (rate * t) ** shape for t in deaths)
    return known - sum((rate * t) ** shape for t in ends)


@case([0.4, -0.9], 1.1, [(1.2, True), (0.3, False), (-0.8, False)])
def probit_with_erf(beta, sigma, observations):
    """A probit model: normal probabilities by erf, and by erfc where they are small."""
    total = 0.0
    for x, positive in observations:
        z = (beta[0] + beta[1] * x) / sigma / math.sqrt(2)
        total += math.log(0.5 * (1 + math.erf(z)) if positive else 0.5 * math.erfc(z))
    return total
