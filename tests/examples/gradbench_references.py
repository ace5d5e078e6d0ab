"""GradBench's evals once more, in plain numpy and from the formulas, to test the programs of bench/gradbench by."""

import itertools

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.special import logsumexp, multigammaln

__all__ = ["ba", "differences", "gmm", "ht", "landing", "lstm", "ode"]


def differences(f, x, step=1e-6):
    """Central ones of a function of an array: the derivative by each entry, along the last axes."""
    x = np.asarray(x, float)
    made = []
    for index in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[index] = step
        made.append((np.asarray(f(x + moved)) - np.asarray(f(x - moved))) / (2.0 * step))
    return np.moveaxis(np.array(made), 0, -1).reshape(*np.shape(made[0]), *x.shape)


def ode(x, s):
    x, y, h = np.asarray(x), np.zeros(len(x)), 2.0 / s

    def slope(y):
        return x * np.concatenate(([1.0], y[:-1]))

    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h * k1 / 2.0)
        k3 = slope(y + h * k2 / 2.0)
        y = y + h * (k1 + 2.0 * k2 + 2.0 * k3 + slope(y + h * k3)) / 6.0
    return y


def gmm(given, alpha, mu, q, lower):
    """The log density of the data, and Wishart's of the inverse covariances, as the definitions have them."""
    d, k, gamma = given["d"], given["k"], given["gamma"]
    freedom, x = d + given["m"] + 1, np.asarray(given["x"])
    terms, prior = np.empty((len(x), k)), 0.0
    for c in range(k):
        factor = np.diag(np.exp(q[c]))
        factor[np.triu_indices(d, 1)[::-1]] = lower[c]
        inverse = factor.T @ factor
        away = (x - mu[c]) @ factor.T
        log_root = np.sum(q[c])
        terms[:, c] = alpha[c] - logsumexp(alpha) + log_root - 0.5 * np.sum(away**2, 1) - 0.5 * d * np.log(2.0 * np.pi)
        prior += (freedom - d - 1) * log_root - 0.5 * gamma**2 * np.trace(inverse)
        prior += freedom * d * (np.log(gamma) - 0.5 * np.log(2.0)) - multigammaln(freedom / 2.0, d)
    return np.sum(logsumexp(terms, axis=1)) + prior


def lstm(given, main, extra):
    state, sequence = np.array(given["state"]), np.asarray(given["sequence"])
    b, total = sequence.shape[1], 0.0
    for old, new in itertools.pairwise(sequence):
        y = old * extra[0]
        for layer in range(len(main) // 2):
            hidden, inner = state[2 * layer], state[2 * layer + 1]
            w, bias = main[2 * layer].reshape(4, b), main[2 * layer + 1].reshape(4, b)
            forget, ingate, outgate, change = np.stack([y, hidden, y, hidden]) * w + bias
            forget, ingate, outgate = (1.0 / (1.0 + np.exp(-gate)) for gate in (forget, ingate, outgate))
            state[2 * layer + 1] = inner * forget + ingate * np.tanh(change)
            y = state[2 * layer] = outgate * np.tanh(state[2 * layer + 1])
        y = y * extra[1] + extra[2]
        total += np.sum(new * (y - np.log(2.0 + np.sum(np.exp(y)))))
    return -total / ((len(sequence) - 1) * b)


def ba(block, feature):
    """Two errors of an observation: `block` has a camera, a point and a weight."""
    camera, point, weight = block[:11], block[11:14], block[14]
    seen = Rotation.from_rotvec(camera[:3]).apply(point - camera[3:6])
    flat = seen[:2] / seen[2]
    square = np.sum(flat**2)
    flat = flat * (1.0 + camera[9] * square + camera[10] * square**2)
    return weight * (flat * camera[6] + camera[7:9] - feature)


def ht(given, us, theta):
    model, data = given["data"]["model"], given["data"]
    bones, t = np.zeros((22, 3)), 6
    for finger in range(5):
        for joint in range(3):
            bones[2 + 4 * finger + joint, 0], t = theta[t], t + 1
            if joint == 0:
                bones[2 + 4 * finger, 1], t = theta[t], t + 1
    absolute, positions = [], np.zeros((len(model["base_positions"]), 3))
    for bone, parent in enumerate(model["parents"]):
        turned = np.eye(4)
        x, z, y = bones[bone]
        turned[:3, :3] = Rotation.from_euler("xyz", [x, y, z]).as_matrix()
        local = np.asarray(model["base_relatives"][bone]) @ turned
        absolute.append(local if parent == -1 else absolute[parent] @ local)
        moved = np.asarray(model["base_positions"]) @ (absolute[bone] @ model["inverse_base_absolutes"][bone]).T
        positions += np.asarray(model["weights"])[:, [bone]] * moved[:, :3]
    if model["is_mirrored"]:
        positions[:, 0] *= -1.0
    positions = Rotation.from_rotvec(theta[:3]).apply(positions) + theta[3:6]
    chosen = np.asarray(data["correspondences"])
    if not len(us):
        found = positions[chosen]
    else:
        corners = positions[np.asarray(model["triangles"])[chosen]]
        shares = np.column_stack((us, 1.0 - np.sum(us, axis=1)))
        found = np.einsum("ic,icx->ix", shares, corners)
    return (np.asarray(data["points"]) - found).ravel()


def landing(w):
    """Where the particle of `particle` meets the x-axis: the force of a charge is that of Coulomb."""
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while x[1] + 0.1 * v[1] > 0.0:
        away = [x - charge for charge in (np.array([10.0, 10.0 - w]), np.array([10.0, 0.0]))]
        force = sum(r / np.linalg.norm(r) ** 3 for r in away)
        x, v = x + 0.1 * v, v + 0.1 * force
    return x[0] - x[1] / v[1] * v[0]
