"""Mistakes of users that a type checker reports: at these lines, and at no others."""

import dualrev as dr


def power(x: float, n: int = 2) -> float:
    return x**n


def nothing(x: float) -> None:
    print(x)


def pair(x: float) -> tuple[float, float]:
    return x, x * x


dr.grad(power)("3")  # wrong
dr.grad(power)(3.0, 2, 1)  # wrong
dr.grad(3)  # wrong
dr.grad(nothing)  # wrong
dr.value_and_grad(pair)  # wrong
dr.grad(power, argnum=1)  # wrong
dr.vjp(power, "3")  # wrong
dr.linearize(power, 3.0)[1]("3")  # wrong
dr.jacobian(power)("3")  # wrong
dr.hessian(power)(3.0).upper()  # wrong
dr.vmap(power)(3.0).upper()  # wrong
dr.grad(power)(3.0).upper()  # wrong
dr.grad(power)(3.0).real
