"""Numerical methods: root finding, quadrature, differential equations, series, recurrences, iterations."""

from itertools import count, pairwise

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case


@case(2.0, 3)
def newton_root(a, n):
    """The n-th root by Newton's iteration, until the step is small."""
    x, step = a, 1.0
    while abs(step) > 1e-12:
        step = (x**n - a) / (n * x ** (n - 1))
        x -= step
    return x


@case(0.8, 0.5)
def dottie_like_fixed_point(x, a):
    """The fixed point of a * cos(x), by iteration."""
    for _ in range(200):
        previous, x = x, a * math.cos(x)
        if abs(x - previous) < 1e-15:
            break
    return x + a


@case(0.3, 1.2)
def secant_method(a, b):
    """The solution of x + a * exp(x) = b, by secants."""

    def f(x):
        return x + a * math.exp(x) - b

    x0, x1 = 0.0, 1.0
    while abs(x1 - x0) > 1e-9:
        x0, x1 = x1, x1 - f(x1) * (x1 - x0) / (f(x1) - f(x0))
    return x1


@case(1.5, 0.4)
def newton_in_two_dimensions(a, b):
    """The sides of a rectangle with diagonal a and area b, by Newton's iteration with Cramer's rule."""
    x, y = 1.4, 0.3
    for _ in range(8):
        f, g = x * x + y * y - a * a, x * y - b
        det = 2 * x * x - 2 * y * y
        x, y = x - (x * f - 2 * y * g) / det, y - (2 * x * g - y * f) / det
    return x, y


@case(0.2, 1.7, 0.9)
def gauss_legendre(a, b, k):
    """Quadrature with five Gauss points."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    middle, half = (a + b) / 2, (b - a) / 2
    return half * sum(w * math.sin(k * (middle + half * x) ** 2) for x, w in zip(nodes, weights, strict=True))


@case(0.1, 2.0, 0.5)
def simpson(a, b, rate):
    """Simpson's rule on eight intervals."""
    n = 8
    h = (b - a) / n
    ys = [math.exp(-rate * (a + k * h)) / (1 + (a + k * h) ** 2) for k in range(n + 1)]
    return h / 3 * (ys[0] + 4 * sum(ys[1:-1:2]) + 2 * sum(ys[2:-1:2]) + ys[-1])


@case(0.5, 1.8)
def richardson(x, a):
    """A derivative by Richardson's extrapolation."""

    def slope(h):
        return (math.log(x + a * h) - math.log(x - a * h)) / (2 * h)

    d1, d2, d3 = slope(0.1), slope(0.05), slope(0.025)
    e1, e2 = (4 * d2 - d1) / 3, (4 * d3 - d2) / 3
    return (16 * e2 - e1) / 15


@case(1.0, 0.3, 10)
def euler_steps(y, rate, n):
    """Explicit Euler for a logistic equation, with all values."""
    path = [y]
    for _ in range(n):
        path.append(path[-1] + 0.2 * rate * path[-1] * (3 - path[-1]))
    return path


@case([1.0, 0.0], 0.7, 0.1)
def runge_kutta(y, mu, h):
    """Van der Pol's oscillator by the classical Runge-Kutta method, on lists."""

    def f(y):
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    def move(y, k, h):
        return [a + h * b for a, b in zip(y, k, strict=True)]

    for _ in range(5):
        k1 = f(y)
        k2 = f(move(y, k1, h / 2))
        k3 = f(move(y, k2, h / 2))
        k4 = f(move(y, k3, h))
        y = [v + h / 6 * (a + 2 * b + 2 * c + d) for v, a, b, c, d in zip(y, k1, k2, k3, k4, strict=True)]
    return y


@case(1.0, 0.2, 1.5)
def leapfrog(q, p, k):
    """The leapfrog method for a quartic oscillator; the energy at the end."""
    h = 0.15
    for _ in range(10):
        p -= h / 2 * (k * q + q**3)
        q += h * p
        p -= h / 2 * (k * q + q**3)
    return p**2 / 2 + k * q**2 / 2 + q**4 / 4, q


@case(0.9, 4.0)
def implicit_euler(y, rate):
    """Implicit Euler, with Newton's iteration in every step."""
    h = 0.2
    for _ in range(4):
        z = y
        for _ in range(5):
            z = z - (z + h * rate * z**3 - y) / (1 + 3 * h * rate * z**2)
        y = z
    return y


@case(np.array([1.0, -0.5, 0.3, 2.0]), 0.7)
def horner(coefficients, x):
    """Horner's scheme for the value and the first derivative, over an array."""
    value = slope = 0.0
    for c in coefficients[::-1]:
        slope = slope * x + value
        value = value * x + c
    return value, slope


@case([0.5, 1.0, -0.3, 0.2, 0.1], 0.6)
def clenshaw(coefficients, x):
    """A Chebyshev series by Clenshaw's recurrence."""
    b1 = b2 = 0.0
    for c in coefficients[:0:-1]:
        b1, b2 = c + 2 * x * b1 - b2, b1
    return coefficients[0] + x * b1 - b2


@case(0.8)
def lentz_continued_fraction(x):
    """The continued fraction of tan(x), by Lentz's method until it stands still."""
    f = c = 1e-30
    d = 0.0
    for k in count(1):
        a, b = (x if k == 1 else -x * x), 2 * k - 1
        d = 1 / (b + a * d)
        c = b + a / c
        f *= c * d
        if k > 1 and abs(c * d - 1) < 1e-15:
            return f
    return None


@case(1.0, 0.6)
def arithmetic_geometric_mean(a, b):
    """Gauss's mean of two numbers, which gives an elliptic integral."""
    while abs(a - b) > 1e-7:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return math.pi / (a + b)


@case(1.7)
@case(-0.6)
def exponential_series(x):
    """The series of exp with a while loop and a tolerance."""
    total, term, k = 1.0, 1.0, 0
    while abs(term) > 1e-17 * abs(total):
        k += 1
        term = term * x / k
        total = total + term
    return total


@case(0.9, 1.5)
def bessel_series(x, order):
    """A Bessel function of real order, by its series."""
    total, term = 0.0, (x / 2) ** order / math.gamma(order + 1)
    for k in range(12):
        total += term
        term *= -(x**2) / 4 / ((k + 1) * (k + 1 + order))
    return total


@case(np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, 0.5, 2.0, 1.5]), 1.9)
def natural_cubic_spline(knots, values, x):
    """A natural spline: the tridiagonal equations for its curvatures, then its value at x."""
    n, h = len(knots), np.diff(knots)
    system, right = dnp.eye(n), dnp.zeros(n)
    for i in range(1, n - 1):
        system[i, i - 1 : i + 2] = [h[i - 1], 2 * (h[i - 1] + h[i]), h[i]]
        right[i] = 6 * ((values[i + 1] - values[i]) / h[i] - (values[i] - values[i - 1]) / h[i - 1])
    m = np.linalg.solve(system, right)
    i = next(k for k in range(n - 1) if x < knots[k + 1])
    t, s = knots[i + 1] - x, x - knots[i]
    cubic = (m[i] * t**3 + m[i + 1] * s**3) / (6 * h[i])
    return cubic + (values[i] / h[i] - m[i] * h[i] / 6) * t + (values[i + 1] / h[i] - m[i + 1] * h[i] / 6) * s


@case(0.0, 1.2)
def romberg(a, b):
    """Romberg's table for an integral, a list of lists."""

    def f(x):
        return math.exp(-x * x) * (1 + a)

    table = [[(b - a) * (f(a) + f(b)) / 2]]
    for k in range(1, 5):
        h = (b - a) / 2**k
        row = [table[-1][0] / 2 + h * sum(f(a + (2 * i + 1) * h) for i in range(2 ** (k - 1)))]
        for j, above in enumerate(table[-1], 1):
            row.append(row[-1] + (row[-1] - above) / (4**j - 1))
        table.append(row)
    return table[-1][-1]


@case(np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 0.5]]))
def power_iteration(matrix):
    """The largest eigenvalue by power iteration, and Rayleigh's quotient."""
    v = np.ones(3) / math.sqrt(3)
    for _ in range(40):
        v = matrix @ v
        v = v / np.linalg.norm(v)
    return v @ matrix @ v


@case(np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]]), np.array([1.0, 2.0, 1.5]))
def conjugate_gradients(matrix, right):
    """Conjugate gradients, with one step less than the size."""
    x, r = np.zeros(3), right
    p = r
    for _ in range(2):
        alpha = (r @ r) / (p @ matrix @ p)
        x = x + alpha * p
        new = r - alpha * (matrix @ p)
        p = new + (new @ new) / (r @ r) * p
        r = new
    return x


@case([0.5, 1.5], 0.1, 12)
def gradient_descent(start, rate, steps):
    """Rosenbrock's function after steps of gradient descent with momentum."""
    x, y = start
    vx = vy = 0.0
    for _ in range(steps):
        gx, gy = -2 * (1 - x) - 4 * x * (y - x * x), 2 * (y - x * x)
        vx, vy = 0.5 * vx - rate * gx, 0.5 * vy - rate * gy
        x, y = x + vx, y + vy
    return (1 - x) ** 2 + (y - x * x) ** 2


@case([0.0, 1.0, 2.0, 3.5], [1.0, 2.0, 0.5, 1.5], 1.3)
def lagrange_interpolation(xs, ys, x):
    """The polynomial through points, in Neville's scheme."""
    p = list(ys)
    for gap in range(1, len(xs)):
        for i in range(len(xs) - gap):
            p[i] = ((x - xs[i + gap]) * p[i] + (xs[i] - x) * p[i + 1]) / (xs[i] - xs[i + gap])
    return p[0]


@case([0.9, 0.3, 1.4], 0.4)
def arc_length(coefficients, step):
    """The length of a curve as a sum of chords between neighbours."""
    a, b, c = coefficients
    points = [(a * math.cos(t * step), b * math.sin(t * step) + c * t * step) for t in range(9)]
    return sum(math.hypot(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in pairwise(points))
