"""The log-likelihood of a mixture of Gaussians: one expression over arrays of all points, or loops over scalars."""

import numpy as np

from bench.peers.program import Program


def make_mixture(points, dimensions=2, components=5):
    """Return logits, means, logarithms of scales, and points, as nested lists."""
    rng = np.random.default_rng(0)
    means, log_scales = rng.normal(0, 2, (components, dimensions)), rng.normal(0, 0.3, (components, dimensions))
    logits = rng.normal(0, 1, components)
    return logits.tolist(), means.tolist(), log_scales.tolist(), rng.normal(0, 2, (points, dimensions)).tolist()


def arrays(*inputs):
    """Convert all inputs to arrays."""
    return tuple(map(np.array, inputs))


mixture = Program(
    "mixture",
    "Mixture of Gaussians",
    "The log-likelihood of points in the plane under five Gaussians with diagonal covariances, up to a constant.",
    make=make_mixture,
    argnums=(0, 1, 2),
    size=1000,
    unit="points",
    quick=100,
    small=4,
)


@mixture.version("plain", "dualrev", "micrograd")
def _(math):
    def log_sum_exp(xs):
        """Logarithm of a sum of exponentials, shifted by the maximum."""
        largest = max(xs)
        return largest + math.log(sum([math.exp(x - largest) for x in xs]))

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in plain Python, a loop over points, components and axes."""
        log_total = log_sum_exp(logits)
        heights = [logit - log_total - sum(row) for logit, row in zip(logits, log_scales, strict=True)]
        widths = [[math.exp(-log_scale) for log_scale in row] for row in log_scales]
        total = 0.0
        for point in points:
            scores = []
            for height, mean, width in zip(heights, means, widths, strict=True):
                squares = 0.0
                for x, m, w in zip(point, mean, width, strict=True):
                    z = (x - m) * w
                    squares = squares + z * z
                scores.append(height - 0.5 * squares)
            total = total + log_sum_exp(scores)
        return total

    return log_likelihood


@mixture.version("plain", "dualrev", form="numpy", inputs=arrays, arrays=True)
def _(np):
    def log_sum_exp(x):
        """Logarithm of a sum of exponentials along the last axis, shifted by the maximum."""
        largest = np.max(x, axis=-1, keepdims=True)
        return largest[..., 0] + np.log(np.sum(np.exp(x - largest), axis=-1))

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in NumPy, one expression over an array (points, components, axes)."""
        z = (points[:, None, :] - means) * np.exp(-log_scales)
        heights = logits - log_sum_exp(logits) - np.sum(log_scales, axis=1)
        return np.sum(log_sum_exp(heights - 0.5 * np.sum(z * z, axis=2)))

    return log_likelihood


@mixture.version("njit", "compiled", inputs=arrays)
def _():
    import math

    import numpy as np
    from numba import njit

    @njit
    def log_sum_exp(x):
        """Logarithm of a sum of exponentials, shifted by the maximum."""
        largest = x.max()
        total = 0.0
        for i in range(len(x)):
            total += math.exp(x[i] - largest)
        return largest + math.log(total)

    @njit
    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in numba, a loop over points, components and axes."""
        components, dimensions = means.shape
        heights = logits - log_sum_exp(logits) - log_scales.sum(axis=1)
        widths = np.exp(-log_scales)
        scores = np.empty(components)
        total = 0.0
        for i in range(len(points)):
            for k in range(components):
                squares = 0.0
                for d in range(dimensions):
                    z = (points[i, d] - means[k, d]) * widths[k, d]
                    squares += z * z
                scores[k] = heights[k] - 0.5 * squares
            total += log_sum_exp(scores)
        return total

    return log_likelihood


@mixture.version("jax", inputs=arrays)
def _():
    import jax.numpy as jnp
    from jax.nn import logsumexp

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in JAX, one expression over an array (points, components, axes)."""
        z = (points[:, None, :] - means) * jnp.exp(-log_scales)
        heights = logits - logsumexp(logits) - jnp.sum(log_scales, axis=1)
        return jnp.sum(logsumexp(heights - 0.5 * jnp.sum(z * z, axis=2), axis=1))

    return log_likelihood


@mixture.version("torch", inputs=arrays)
def _():
    import torch

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in PyTorch, one expression over a tensor (points, components, axes)."""
        z = (points[:, None, :] - means) * torch.exp(-log_scales)
        heights = torch.log_softmax(logits, dim=0) - log_scales.sum(dim=1)
        return torch.logsumexp(heights - 0.5 * (z * z).sum(dim=2), dim=1).sum()

    return log_likelihood


@mixture.version("autograd", inputs=arrays)
def _():
    import autograd.numpy as np
    from autograd.scipy.special import logsumexp

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in autograd, one expression over an array (points, components, axes)."""
        z = (points[:, None, :] - means) * np.exp(-log_scales)
        heights = logits - logsumexp(logits) - np.sum(log_scales, axis=1)
        return np.sum(logsumexp(heights - 0.5 * np.sum(z * z, axis=2), axis=1))

    return log_likelihood


@mixture.version("casadi", form="SX", inputs=arrays, note="the loop is unrolled, into operations of scalars")
def _():
    import casadi as ca

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in CasADi: the loop over points is unrolled into scalar operations."""
        heights, widths = logits - ca.logsumexp(logits) - ca.sum2(log_scales), ca.exp(-log_scales)
        total = 0.0
        for point in points:
            z = (ca.repmat(ca.DM(point).T, means.shape[0], 1) - means) * widths
            total += ca.logsumexp(heights - 0.5 * ca.sum2(z * z))
        return total

    return log_likelihood


@mixture.version("casadi", form="map", inputs=arrays, note="a function of a point, and Function.map", symbols="MX")
def _():
    import casadi as ca

    def log_likelihood(logits, means, log_scales, points):
        """Log-likelihood in CasADi: `Function.map` applies the expression for one point to all points."""
        heights = logits - ca.logsumexp(logits) - ca.sum2(log_scales)
        point, height = ca.SX.sym("point", 1, points.shape[1]), ca.SX.sym("height", heights.shape[0])
        mean, width = ca.SX.sym("mean", *means.shape), ca.SX.sym("width", *means.shape)
        z = (ca.repmat(point, means.shape[0], 1) - mean) * width
        score = ca.logsumexp(height - 0.5 * ca.sum2(z * z))
        of_a_point = ca.Function("of_a_point", [point, height, mean, width], [score])
        total = of_a_point.map("total", "serial", len(points), [1, 2, 3], [0])
        return total(ca.vec(ca.DM(points.T)).T, heights, means, ca.exp(-log_scales))

    return log_likelihood
