"""Machine learning: cells, layers, attention, and losses."""

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case

RNG = np.random.default_rng(11)


def normal(*shape):
    """Numbers for weights."""
    return RNG.normal(size=shape).round(3)


def sigmoid(x):
    """1 / (1 + exp(-x)), on numbers and arrays."""
    return 1 / (1 + np.exp(-x))


@case(normal(2, 2), normal(2, 2), normal(2), normal(4, 2))
def recurrent_network(recurrent, inputs, bias, sequence):
    """A plain recurrent network over a sequence."""
    h = np.zeros(2)
    for x in sequence:
        h = np.tanh(recurrent @ h + inputs @ x + bias)
    return (h**2).sum() + h[0]


GATES = {"i": (0.5, -0.3, 0.1), "f": (0.8, 0.2, 1.0), "o": (-0.4, 0.6, 0.0), "g": (1.1, 0.7, -0.2)}


@case(GATES, [0.5, -1.0, 1.5])
def lstm_by_scalars(gates, xs):
    """A long short-term memory of one unit, with its weights in a dict."""
    h = c = 0.0

    def gate(name, squash, x, h):
        wx, wh, b = gates[name]
        return squash(wx * x + wh * h + b)

    def logistic(z):
        return 1 / (1 + math.exp(-z))

    for x in xs:
        c = gate("f", logistic, x, h) * c + gate("i", logistic, x, h) * gate("g", math.tanh, x, h)
        h = gate("o", logistic, x, h) * math.tanh(c)
    return h, c


@case(normal(8, 4), normal(8), normal(3, 2))
def lstm_vectorised(weights, bias, sequence):
    """The same with two units, and all gates in one matrix product."""
    h, c = np.zeros(2), np.zeros(2)
    for x in sequence:
        i, f, o, g = np.split(weights @ np.concatenate([x, h]) + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h @ c


@case({"z": normal(2, 3), "r": normal(2, 3), "n": normal(2, 3)}, normal(3, 1))
def gated_recurrent_unit(weights, sequence):
    """A gated recurrent unit with its matrices in a dict."""
    h = np.full(2, 0.1)
    for x in sequence:
        z = sigmoid(weights["z"] @ np.concatenate([x, h]))
        r = sigmoid(weights["r"] @ np.concatenate([x, h]))
        new = np.tanh(weights["n"] @ np.concatenate([x, r * h]))
        h = (1 - z) * h + z * new
    return h


@case([(normal(3, 2), normal(3)), (normal(1, 3), normal(1))], normal(4, 2), normal(4))
def two_layer_network(layers, inputs, targets):
    """The mean squared error of a network whose layers are pairs in a list."""
    *hidden, (last, bias) = layers
    h = inputs
    for w, b in hidden:
        h = np.tanh(h @ w.T + b)
    return ((h @ last.T + bias - targets[:, None]) ** 2).mean()


@case(normal(3, 2), normal(4, 2), normal(4, 2))
def attention(queries, keys, values):
    """Scaled dot-product attention."""
    scores = queries @ keys.T / np.sqrt(keys.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values


@case(normal(3, 4), normal(4, 4))
def causal_two_head_attention(x, w):
    """Two heads by reshape and transpose, with a mask for the future."""
    n, d = x.shape
    heads = (x @ w).reshape(n, 2, d // 2).transpose(1, 0, 2)
    scores = heads @ heads.transpose(0, 2, 1)
    scores = np.where(np.tril(np.ones((n, n))) > 0, scores, -1e9)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ heads
    return mixed.transpose(1, 0, 2).reshape(n, d).sum(axis=1)


@case(normal(2, 4), normal(4), normal(4))
def layer_norm(x, gain, bias):
    """Layer normalisation with gain and bias."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-2) * gain + bias


@case(normal(8), normal(3), 0.2)
def convolution_by_slices(signal, kernel, bias):
    """A one-dimensional convolution, a rectifier and max pooling."""
    n = len(signal) - len(kernel) + 1
    out = sum(kernel[k] * signal[k : k + n] for k in range(len(kernel))) + bias
    out = np.maximum(out, 0.1 * out)
    return out.reshape(-1, 2).max(axis=1)


@case(normal(4, 4), normal(2, 2))
def convolution_of_an_image(image, kernel):
    """A two-dimensional convolution, stored pixel by pixel, and the mean over its rows."""
    out = dnp.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = (image[i : i + 2, j : j + 2] * kernel).sum()
    return np.tanh(out).mean(axis=0)


@case(normal(5, 2), normal(2), normal(2))
def batch_norm_with_running_mean(x, gamma, beta):
    """Batch normalisation, in training and by running statistics."""
    running_mean, running_variance = np.zeros(2), np.ones(2)
    for batch in (x[:3], x[2:]):
        mean, variance = batch.mean(axis=0), batch.var(axis=0)
        running_mean = 0.9 * running_mean + 0.1 * mean
        running_variance = 0.9 * running_variance + 0.1 * variance
        y = gamma * (batch - mean) / np.sqrt(variance + 0.1) + beta
    return (y**2).sum() + ((x - running_mean) / np.sqrt(running_variance)).std()


@case(normal(5, 3), [3, 0, 3, 1], normal(3))
def embedding_lookup(table, tokens, query):
    """Rows of a table by a list of ints, one of them twice, averaged by their likeness to a query."""
    rows = table[tokens]
    likeness = np.exp(rows @ query)
    return (likeness / likeness.sum()) @ rows


@case(np.array([2.0, -0.5, 1.2, -3.1]), np.array([0.1, 0.2, 0.5, 1.0]))
def sorted_l1(x, weights):
    """The sorted L1 norm: the largest entry has the largest weight."""
    return np.sort(np.abs(x)) @ weights


@case(np.array([0.5, 2.0, 1.1, 3.3]), np.array([1.5, 0.2, 2.9, 0.8]))
def wasserstein_distance(xs, ys):
    """The transport distance of two samples on the line, of order 2."""
    return np.sqrt(((np.sort(xs) - np.sort(ys)) ** 2).mean())


@case([0.9, 0.2, 1.7, 0.5], [3, 0, 2, 1], 0.4)
def soft_ranking_gain(scores, relevance, temperature):
    """The discounted gain of a ranking whose ranks are sums of sigmoids."""
    gain = 0.0
    for i, (s, rel) in enumerate(zip(scores, relevance, strict=True)):
        rank = 1 + sum(1 / (1 + math.exp((s - t) / temperature)) for j, t in enumerate(scores) if j != i)
        gain += (2**rel - 1) / math.log2(1 + rank)
    return gain


@case(np.array([2.0, 0.3, 1.1, 4.0, 0.8]), 0.6)
def quantile_by_sorting(x, q):
    """A quantile between two order statistics."""
    x = np.sort(x)
    place = q * (len(x) - 1) + 0.1
    k = int(place)
    return x[k] + (place - k) * (x[k + 1] - x[k])


@case(np.array([0.5, 1.0]), np.array([[0.6, 0.8], [-0.3, 1.9]]), np.array([[0.7, 1.2], [-2.5, 0.4]]), 0.5)
def triplet_loss(anchor, positives, negatives, margin):
    """Anchors close to positives, and away from negatives."""
    near = ((anchor - positives) ** 2).sum(axis=1)
    far = ((anchor - negatives) ** 2).sum(axis=1)
    return np.maximum(near[:, None] - far + margin, 0.0).sum()


@case(normal(3, 2), normal(3, 2), 0.5)
def contrastive_loss(a, b, temperature):
    """Pairs of unit vectors against all others in the batch, in both directions."""
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    logits = a @ b.T / temperature
    rows = np.log(np.exp(logits).sum(axis=1)) - np.diag(logits)
    columns = np.log(np.exp(logits).sum(axis=0)) - np.diag(logits)
    return (rows + columns).mean() / 2


@case([0.5, -0.8], 0.1, [([1.0, 0.3], 1), ([-2.5, 2.0], -1), ([-0.2, -2.0], -1)])
def hinge_loss(weights, bias, data):
    """A support vector machine: the mean hinge loss and a penalty."""
    total = 0.0
    for x, label in data:
        score = sum(w * v for w, v in zip(weights, x, strict=True)) + bias
        total += max(0.0, 1 - label * score)
    return total / len(data) + 0.1 * sum(w**2 for w in weights)


@case([0.2, -3.0, 1.5, 0.6], 1.0)
def huber_loss(residuals, delta):
    """Squares for small residuals, absolute values for large ones."""
    return sum(r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2) for r in residuals)


@case(np.array([1.2, -0.7, 0.3]), np.array([1, 0, 0]), 2.0)
def focal_loss(logits, labels, gamma):
    """Cross-entropy that weights easy examples less."""
    p = 1 / (1 + np.exp(-logits))
    right = np.where(labels == 1, p, 1 - p)
    return -((1 - right) ** gamma * np.log(right)).sum()


@case([0.7, -0.2, 0.4], [0.3, 0.5, -1.5], 3)
def adam_steps(start, slopes, steps):
    """Some steps of Adam on a quadratic function with these slopes."""
    x, m, v = list(start), [0.0] * 3, [0.0] * 3
    for t in range(1, steps + 1):
        for k, slope in enumerate(slopes):
            g = x[k] + slope
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.99 * v[k] + 0.01 * g * g
            x[k] -= 0.1 * (m[k] / (1 - 0.9**t)) / (math.sqrt(v[k] / (1 - 0.99**t)) + 0.01)
    return x


@case(normal(4, 3), normal(2, 3))
def soft_k_means(points, centres):
    """Two iterations of soft k-means."""
    for _ in range(2):
        squares = ((points[:, None] - centres) ** 2).sum(axis=-1)
        share = np.exp(-squares)
        share = share / share.sum(axis=1, keepdims=True)
        centres = share.T @ points / share.sum(axis=0)[:, None]
    return centres
