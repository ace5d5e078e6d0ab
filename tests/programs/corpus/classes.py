"""Classes: overloaded operators, dataclasses, namedtuples, properties, inheritance, state machines."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualrev import math
from programs.corpus.case import case


@dataclass(frozen=True)
class Vec3:
    """A vector with operators."""

    x: float
    y: float
    z: float

    def __add__(self, other):
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return self + -1 * other

    def __rmul__(self, k):
        return Vec3(k * self.x, k * self.y, k * self.z)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def __xor__(self, other):
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def __abs__(self):
        return math.sqrt(self @ self)


@case(Vec3(1.0, 0.2, -0.5), Vec3(0.3, 2.0, 0.7), Vec3(-0.6, 0.4, 1.5))
def volume_and_angle(u, v, w):
    """The volume of a parallelepiped, and the angle between two of its edges."""
    return abs((u ^ v) @ w), math.acos(u @ v / (abs(u) * abs(v)))


@case(Vec3(1.0, 2.0, 0.5), Vec3(0.0, 0.6, 0.8), 0.7)
def rodrigues_rotation(v, axis, angle):
    """The rotation of a vector about an axis, as a dataclass in and out."""
    k = 1 / abs(axis) * axis
    return math.cos(angle) * v + math.sin(angle) * (k ^ v) + ((k @ v) * (1 - math.cos(angle))) * k


class Complex:
    """A complex number by hand."""

    def __init__(self, re, im=0.0):
        self.re, self.im = re, im

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, other):
        size = abs(other) ** 2
        return self * Complex(other.re / size, -other.im / size)

    def __abs__(self):
        return math.hypot(self.re, self.im)

    @property
    def phase(self):
        """The angle."""
        return math.atan2(self.im, self.re)


@case(0.3, 0.4, 6)
def mandelbrot_orbit(x, y, steps):
    """The size of z after some steps of z * z + c."""
    c = z = Complex(x, y)
    for _ in range(steps):
        z = z * z + c
    return abs(z)


@case([1.0, 0.5, -0.3, 0.2], 0.8)
def transfer_function(coefficients, omega):
    """Gain and phase of a filter at a frequency, in complex arithmetic."""
    z, power, top, bottom = Complex(math.cos(omega), math.sin(omega)), Complex(1.0), Complex(0.0), Complex(1.0)
    for k, c in enumerate(coefficients):
        top = top + Complex(c) * power
        bottom = bottom + Complex(c / (k + 3)) * power
        power = power * z
    response = top / bottom
    return {"gain": 20 * math.log10(abs(response)), "phase": response.phase}


class Matrix:
    """A small matrix as a list of rows."""

    def __init__(self, rows):
        self.rows = [list(row) for row in rows]

    @classmethod
    def identity(cls, n):
        """The identity matrix."""
        return cls([[float(i == j) for j in range(n)] for i in range(n)])

    @property
    def transposed(self):
        """Rows and columns exchanged."""
        return Matrix(zip(*self.rows, strict=True))

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def __add__(self, other):
        return Matrix([[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(self.rows, other.rows, strict=True)])

    def __mul__(self, k):
        return Matrix([[k * a for a in row] for row in self.rows])

    def __matmul__(self, other):
        columns = other.transposed.rows
        return Matrix([[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in self.rows])


@case([[0.1, 0.5], [-0.4, 0.2]], 8)
def matrix_exponential(rows, terms):
    """The exponential of a matrix, by its series."""
    a = Matrix(rows)
    total = term = Matrix.identity(len(rows))
    for k in range(1, terms):
        term = (term @ a) * (1 / k)
        total = total + term
    return (total @ total.transposed)[0, 1] + total[1, 1]


class Quaternion(namedtuple("Quaternion", "w x y z")):
    """A quaternion, as a namedtuple with operators."""

    def __mul__(self, q):
        return Quaternion(
            self.w * q.w - self.x * q.x - self.y * q.y - self.z * q.z,
            self.w * q.x + self.x * q.w + self.y * q.z - self.z * q.y,
            self.w * q.y - self.x * q.z + self.y * q.w + self.z * q.x,
            self.w * q.z + self.x * q.y - self.y * q.x + self.z * q.w,
        )

    def conjugate(self):
        """The rotation back."""
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def normalized(self):
        """The same rotation with norm 1."""
        size = math.sqrt(sum(c * c for c in self))
        return Quaternion(*(c / size for c in self))


@case(Quaternion(0.9, 0.1, -0.3, 0.2), [1.0, 0.5, -0.7])
def rotate_by_quaternion(q, point):
    """A rotation q p q*, with a namedtuple in the arguments."""
    q = q.normalized()
    _, *rotated = q * Quaternion(0.0, *point) * q.conjugate()
    return rotated


class Polynomial:
    """A polynomial: callable, with arithmetic, derivative and composition."""

    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        value = 0.0
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    def __mul__(self, other):
        product = [0.0] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Polynomial(*product)

    def __pow__(self, n):
        return self if n == 1 else self * self ** (n - 1)

    def derivative(self):
        """The derivative."""
        return Polynomial(*(k * c for k, c in enumerate(self.coefficients) if k))


@case([0.5, -1.0, 0.3], [1.2, 0.4], 0.9)
def polynomial_algebra(p, q, x):
    """The derivative of p**2 * q at x."""
    p, q = Polynomial(*p), Polynomial(*q)
    return (p**2 * q).derivative()(x) + p(q(x))


class Shape:
    """The base of the shapes."""

    def area(self):
        """The area."""
        raise NotImplementedError

    def cost(self, price):
        """The price of paint and of a frame."""
        return price * self.area() + self.perimeter() ** 1.5


class Circle(Shape):
    """A circle."""

    def __init__(self, r):
        self.r = r

    def area(self):
        return math.pi * self.r**2

    def perimeter(self):
        """The length around."""
        return math.tau * self.r


class Rectangle(Shape):
    """A rectangle."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def area(self):
        return self.a * self.b

    def perimeter(self):
        """The length around."""
        return 2 * (self.a + self.b)


class Square(Rectangle):
    """A rectangle that calls its base class."""

    def __init__(self, a):
        super().__init__(a, a)

    def cost(self, price):
        return 0.9 * super().cost(price)


@case(0.8, 1.5, 2.0, 0.7)
def cost_of_shapes(r, a, b, price):
    """Inheritance, overriding and super."""
    return sum(shape.cost(price) for shape in (Circle(r), Rectangle(a, b), Square(a)))


@dataclass
class Account:
    """A mutable dataclass with a history."""

    balance: float
    rate: float = 0.05
    history: list[float] = field(default_factory=list)

    def pay(self, amount):
        """Add an amount, and the interest."""
        self.balance = self.balance * (1 + self.rate) + amount
        self.history.append(self.balance)
        return self


@case(Account(2.0, 0.1), [0.5, -1.0, 2.0])
def account_history(account, amounts):
    """A dataclass that changes its own fields; the argument itself stays as it was."""
    copy = replace(account, history=[])
    for amount in amounts:
        copy.pay(amount)
    return copy


class TrafficLight:
    """A state machine with a method for each state."""

    def __init__(self, demand):
        self.state, self.demand, self.cost = self.green, demand, 0.0

    def green(self, flow):
        """Cars pass."""
        self.demand -= 0.5 * flow
        return self.yellow if self.demand < 1.5 else self.green

    def yellow(self, flow):
        """One step between the others."""
        self.cost += flow**2
        return self.red

    def red(self, flow):
        """Cars wait."""
        self.demand += flow
        self.cost += self.demand * flow
        return self.green if self.demand > 3.0 else self.red

    def run(self, flows):
        """All steps."""
        for flow in flows:
            self.state = self.state(flow)
        return self.cost + self.demand**2


@case(3.0, [0.6, 4.0, 0.8, 0.6, 9.0, 0.6])
def traffic_light(demand, flows):
    """The cost of a run of a state machine."""
    return TrafficLight(demand).run(flows)


class Body(NamedTuple):
    """A mass with a position and a velocity, both arrays."""

    mass: float
    position: np.ndarray
    velocity: np.ndarray


@case([Body(1.0, np.array([0.5, 0.1]), np.array([1.0, -0.3])), Body(2.5, np.array([-1.0, 2.0]), np.array([0.2, 0.4]))])
def energy_and_momentum(bodies):
    """Namedtuples that hold arrays, in and out."""
    momentum = sum(body.mass * body.velocity for body in bodies)
    energy = sum(body.mass * (body.velocity @ body.velocity) / 2 + 9.81 * body.position[1] for body in bodies)
    return {"momentum": momentum, "energy": energy}


class Thermometer:
    """Properties, setters, cached properties and class attributes."""

    offset = 273.15

    def __init__(self, kelvin):
        self.kelvin = kelvin

    @property
    def celsius(self):
        """The temperature in degrees Celsius."""
        return self.kelvin - self.offset

    @celsius.setter
    def celsius(self, degrees):
        self.kelvin = degrees + self.offset

    @cached_property
    def radiation(self):
        """Stefan and Boltzmann's law."""
        return 5.67e-8 * self.kelvin**4


@case(30.0, 1.2)
def thermometer(degrees, factor):
    """The radiation of a warmed body, through a setter."""
    t = Thermometer(0.0)
    t.celsius = degrees * factor
    t.celsius += t.radiation / 100
    return t.celsius * factor + t.radiation


class Expression:
    """An expression that is built by operators first, and evaluated later."""

    def __init__(self, evaluate):
        self.evaluate = evaluate

    def __add__(self, other):
        return Expression(lambda env: self.evaluate(env) + lift(other).evaluate(env))

    def __mul__(self, other):
        return Expression(lambda env: self.evaluate(env) * lift(other).evaluate(env))

    __radd__, __rmul__ = __add__, __mul__


def lift(x):
    """An expression for a number, and an expression as it is."""
    return x if isinstance(x, Expression) else Expression(lambda env: x)


@case({"x": 1.5, "y": -0.5}, 0.8)
def deferred_expression(env, a):
    """Numbers captured in an expression that is evaluated afterwards, in an environment."""
    x, y = (Expression(lambda env, name=name: env[name]) for name in ("x", "y"))
    return (a * x * x + y * (x + a) + 3).evaluate(env)
