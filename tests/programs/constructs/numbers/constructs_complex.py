"""Numba functions with complex numbers: a real value, and real or complex arguments.

The tape has no complex numbers: these are compared with differences (test_compiled_complex.py), and are not in `CASES`.
"""

import cmath
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

__all__ = ["COMPLEX", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A function with arguments; the gradient is by all of them that are no ints."""

    function: Any
    args: tuple[Any, ...]

    @property
    def argnums(self) -> tuple[int, ...]:
        """The arguments that are differentiated."""
        return tuple(k for k, x in enumerate(self.args) if not isinstance(x, int))


COMPLEX: list[Entry] = []


def entry(*args: Any) -> Any:
    """Put the function into `COMPLEX`, with these arguments."""

    def enter(function: Any) -> Any:
        COMPLEX.append(Entry(function, args))
        return function

    return enter


A = np.array([0.5, -1.2, 0.8, 2.0, -0.3, 0.1, 1.1, -0.7])
Z = np.array([0.5 + 1.0j, -1.2j, 0.8 - 0.4j])
M = np.array([[0.5 + 1.0j, -1.2j, 0.3], [0.8, 0.1 - 0.6j, 2.0 + 0.5j]])
ROOTS = np.array([1.0, 1.0j, -1.0])
UNIT = 1j
PAIR = (2.0, 0.5 - 1.0j)
Wave = namedtuple("Wave", "amplitude number")


# Programs


@njit
def fft(x):
    """Radix 2, in place after a permutation."""
    n = len(x)
    out = np.zeros(n, np.complex128)
    bits = int(math.log2(n))
    for k in range(n):
        place = 0
        for b in range(bits):
            place |= ((k >> b) & 1) << (bits - 1 - b)
        out[place] = x[k]
    size = 2
    while size <= n:
        turn = cmath.exp(-2j * cmath.pi / size)
        for start in range(0, n, size):
            w = 1.0 + 0.0j
            for k in range(size // 2):
                even, odd = out[start + k], out[start + k + size // 2] * w
                out[start + k] = even + odd
                out[start + k + size // 2] = even - odd
                w *= turn
        size *= 2
    return out


@entry(A)
@njit
def power_spectrum(x):
    """A loss of the spectrum of a real signal."""
    spectrum = np.abs(fft(x)) ** 2
    return np.sum(spectrum * np.arange(8.0)) / np.sum(spectrum)


@entry(A[:5], 0.3)
@njit
def transform_by_loops(x, shift):
    n, loss = len(x), 0.0
    for k in range(n):
        s = 0j
        for m in range(n):
            s += x[m] * np.exp(-2j * np.pi * k * (m + shift) / n)
        loss += k * abs(s) + s.real * s.imag + np.angle(s + 3.0)
    return loss


@entry(1.5, 0.3, 2.0)
@njit
def oscillator(mass, damping, stiffness):
    """The largest gain of a transfer function over a range of frequencies, and its phase there."""
    best, phase = 0.0, 0.0
    for k in range(1, 20):
        s = 1j * (0.1 * k)
        h = 1 / (mass * s**2 + damping * s + stiffness)
        if abs(h) > best:
            best, phase = abs(h), cmath.phase(h)
    return best + 0.1 * phase


@njit
def characteristic(u, t, v0, kappa, theta, sigma, rho, r):
    """Characteristic function of the log price in Heston's model, in the form that crosses no branch cut."""
    i = 1j
    d = cmath.sqrt((rho * sigma * i * u - kappa) ** 2 + sigma**2 * (i * u + u**2))
    g = (kappa - rho * sigma * i * u - d) / (kappa - rho * sigma * i * u + d)
    e = cmath.exp(-d * t)
    c = r * i * u * t + kappa * theta / sigma**2 * (
        (kappa - rho * sigma * i * u - d) * t - 2.0 * cmath.log((1.0 - g * e) / (1.0 - g))
    )
    return cmath.exp(c + v0 / sigma**2 * (kappa - rho * sigma * i * u - d) * (1.0 - e) / (1.0 - g * e))


@entry(1.0, 1.1, 0.04, 1.5, 0.05, 0.4, -0.6)
@njit
def heston(s, k, v0, kappa, theta, sigma, rho):
    """A call option, by Lewis's integral."""
    total, step = 0.0, 0.8
    for n in range(12):
        u = (n + 0.5) * step
        phi = characteristic(u - 0.5j, 1.0, v0, kappa, theta, sigma, rho, 0.02)
        total += (cmath.exp(1j * u * math.log(s / k)) * phi).real / (u * u + 0.25) * step
    return s - math.sqrt(s * k) * math.exp(-0.02) / math.pi * total


@entry(0.3 + 0.5j, 0.2)
@entry(-0.4 - 0.1j, 0.9)
@njit
def escape(c, bias):
    """The iteration of Mandelbrot's set, with an early return."""
    z = bias
    for k in range(30):
        z = z * z + c
        if abs(z) > 2.0:
            return k + abs(z) + z.real
    return z.real * z.imag - abs(z - c)


@entry(np.array([1.45 + 0.01j, 2.1 + 0.05j]), np.array([0.9, 0.6]), 5.5)
@njit
def reflectance(index, thickness, wavelength):
    """A stack of thin films: the product of their transfer matrices."""
    m = np.eye(2).astype(np.complex128)
    for k in range(len(index)):
        delta = 2 * np.pi * index[k] * thickness[k] / wavelength
        layer = np.array(
            [[np.cos(delta), 1j * np.sin(delta) / index[k]], [1j * index[k] * np.sin(delta), np.cos(delta)]]
        )
        m = m @ layer
    b, c = m[0, 0] + 1.52 * m[0, 1], m[1, 0] + 1.52 * m[1, 1]
    r = (b - c) / (b + c)
    return (r * r.conjugate()).real


@entry(-0.1 + 0.1j, 0.2, np.array([1.3 + 0.4j, -0.6 + 1.2j]))
@njit
def joukowski(centre, attack, points):
    """The potential around a cylinder, seen through Joukowski's map."""
    radius = abs(1.0 - centre)
    circulation = 4 * np.pi * radius * np.sin(attack + np.arcsin(centre.imag / radius))
    total = 0.0
    for w in points:
        z = (w - centre) * np.exp(-1j * attack)
        speed = 1.0 - (radius / z) ** 2 + 1j * circulation / (2 * np.pi * z)
        total += abs(speed * np.exp(-1j * attack) / (1.0 - 1.0 / w**2)) ** 2
    return total


# Constructs


@entry(0.6 + 0.4j, 1.3, 2)
@entry(-0.6 - 0.4j, 0.4, -3)
@njit
def functions_of_numbers(z, x, n):
    """Each function that is known, of cmath and of numpy; powers of every kind."""
    s = (
        cmath.exp(z)
        + cmath.log(z) * cmath.log10(z)
        + cmath.log(z, 2.0 + x)
        + np.log(z * z)
        + cmath.sqrt(z) * np.sqrt(-z)
    )
    s += cmath.sin(z) * cmath.cos(z) + cmath.tan(z) + np.sinh(z) * cmath.cosh(z) * np.tanh(z)
    s += z**2 + z**-2 + z**3.0 + z**x + x**z + z**z + pow(z, 0.5) + z**n
    s += -z + (+z) * z.conjugate() + np.conj(z) * np.square(z) + complex(x) * complex(1, x)
    r, phi = cmath.polar(z)
    s += cmath.rect(r, phi * x) * UNIT + PAIR[1] * PAIR[0] / (x + z) + x / z - z / x + (x - z) + (z - x)
    s = s / 1j if z.real > 0.0 and not np.isnan(z) else s * np.complex128(x)
    return s.real + 0.5 * s.imag + cmath.phase(z) * np.angle(z) + np.real(s) * np.imag(z) + abs(z) + np.abs(s) ** 0.5


@entry(Z, M, A[:3], 0.7)
@njit
def elements_of_arrays(z, m, x, s):
    """Arithmetic of elements, with numbers, real arrays, frozen ones and other shapes; in place, too."""
    w = np.exp(1j * s * x) * z + ROOTS / (z + 3.0) - (2.0 - 1j) * x
    w[1:] += z[:-1] * s
    w *= x + 0.5j
    w[0] -= s
    w[-1] *= 1j
    v = (m * w + m[:, ::-1] ** 2).conj() / (w.real - 2j)
    t = np.where(x > 0.0, w, s) + np.sqrt(np.abs(z) + 0j) + np.angle(w)
    v.real[0, 1] = s
    v[1] = t
    v[0, :2] = s * 1j
    u = -v if s > 0.5 else v
    return np.sum(np.abs(u) ** 2) + np.sum(u.imag * u.real) + np.sum(np.log(t)).real + abs(v.mean()) + v.sum().imag


@entry(Z, 0.7)
@njit
def arrays_that_are_made(z, s):
    a = np.full(3, 1j * s) + np.ones(3, np.complex128) + np.zeros_like(z) + np.full_like(z, 2.0)
    b = np.array([s, 1j * s, z[0]]) + np.array([k * s for k in range(3)]) * z.astype(np.complex128)
    c = np.empty(3, np.complex128)
    c.fill(s)
    c[:2] = np.array([1.0, s])
    c[2] += np.eye(2, dtype=np.complex128)[1, 1] * z[1]
    d = np.concatenate((a, b[::-1], np.array([s, 2.0])))
    return np.sum(d * d).real + abs(np.sum(c)) * (len(d) + d.size + d.ndim)


@entry(Z, M, 0.7)
@njit
def moved(z, m, s):
    a = np.zeros((2, 3), np.complex128)
    a[:] = m.T.copy().T * s
    b = np.ascontiguousarray(a.T)[:2, 0] + np.asfortranarray(m)[1, :2] + np.flip(z)[:2] * np.roll(z, 1)[0]
    c = np.vstack((b, b * s)).reshape(4).copy() * np.arange(4) + np.cumsum(m.ravel()[:4])
    d = np.sum(m, 0) + np.transpose(a)[:, 1]
    return np.sum(np.abs(c)) + abs(np.trace(m[:, :2])) * s + np.sum(d * d).imag


@entry(Z, M, 0.7)
@njit
def multiplied(z, m, s):
    a = m @ np.conj(z) + np.dot(m, z * s) * np.vdot(z, m[0]) + np.outer(z, m[1])[1, :2]
    return np.dot(z, z).imag + a[0].real * a[1].imag


@njit
def scaled(z, s):
    if z.real > 0.4:
        return z * s, s
    return z, 1j * s


@njit
def fill(out, z, k):
    out[k] = z
    if k > 0:
        fill(out, z * z, k - 1)


@njit
def passed_on(waves, by=0.5j):
    return waves[0].amplitude * by, waves


@entry((Wave(0.3 - 1j, 0.5), Z), 0.7 + 0.3j, 0.8)
@njit
def calls_and_tuples(given, z, x):
    """Tuples, named ones, callees that return or write, a recursive one, and variables that are real at first."""
    wave, zs = given
    w, s = scaled(z, 1.0 + x)
    total = 0.0
    for k in range(len(zs)):
        u, t = scaled(zs[k], x)
        total = total + u * t * wave.amplitude**k
    out = np.zeros(3, np.complex128)
    fill(out, z * x, 2)
    p, (again, r) = passed_on((wave, x))
    chosen = (w, p, again.amplitude)
    for k in range(3):
        if k == 1:
            continue
        total += chosen[k] * out[k]
    return abs(total) + np.sum(np.abs(out)) + (s + again.number + r).real + wave.number * total.imag


@entry(Z.astype(np.complex64), np.float32(0.7))
@njit
def single_precision(z, s):
    w = z * s + z.conj() * np.complex64(1j) - z[::-1] / z
    t = w[0] * w[1] + np.complex64(0.5)
    return np.sum(np.abs(w)) + abs(t * t) + t.real * t.imag + np.sum(np.exp(w)).real
