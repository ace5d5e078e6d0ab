"""dualrev.ode.continuous: gradients by the adjoint equations agree with those of the steps."""

import numpy as np
import pytest
from numba import njit
from numba.core import event

import dualrev as dr
from dualrev import ode
from dualrev.errors import UnsupportedError
from dualrev.ode import continuous

TOLERANCE = 1e-9


@njit
def both(t, y, rates, damping, more):
    """Lotka-Volterra, and a damped pendulum; one function, which compiles once."""
    decay, (force, twice) = more
    f = np.empty(4)
    f[0] = rates[0] * y[0] - rates[1] * y[0] * y[1]
    f[1] = rates[2] * y[0] * y[1] - decay * y[1]
    f[2] = y[3]
    f[3] = -force * np.sin(y[2]) - twice * damping * y[3]
    return f


@njit
def by_steps(y0, rates, damping, decay, times, weights):
    args = rates, damping, (decay, (1.5, 2))
    return np.sum(weights * ode.rk45(both, (0.0, times[-1]), y0, times, args, TOLERANCE, TOLERANCE).y)


@njit
def by_adjoint(y0, rates, damping, decay, times, weights):
    args = rates, damping, (decay, (1.5, 2))
    return np.sum(weights * continuous.rk45(both, (0.0, times[-1]), y0, times, args, TOLERANCE, TOLERANCE))


@pytest.mark.slow  # numba compiles the two gradients for half a minute
@pytest.mark.parametrize("times", [np.array([0.0, 0.7, 2.0]), np.array([15.0])])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_gradients_agree_with_those_of_the_steps(times, scale):
    """At the start, in short intervals, in one that is divided, and with small cotangents."""
    weights = scale * np.random.default_rng(0).normal(size=(4, len(times)))
    given = np.array([1.0, 0.5, 1.2, 0.0]), np.array([1.1, 0.4, 0.1]), 0.05, 0.4, times, weights
    assert by_adjoint(*given) == by_steps(*given)
    expected = dr.grad(by_steps, (0, 1, 2, 3))(*given)
    for a, b in zip(dr.grad(by_adjoint, (0, 1, 2, 3))(*given), expected, strict=True):
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6 * scale)


@njit
def at_time(t):
    return continuous.rk45(both, (0.0, t), np.ones(4), np.ones(1), (np.ones(3), 0.1, (0.4, (1.5, 2))), 1e-6, 1e-6)[0, 0]


def test_times_are_refused():
    with pytest.raises(UnsupportedError, match=r"argument 't_span', which nondiff_argnums names, is differentiated"):
        dr.grad(at_time)(1.0)


class Compilations(event.Listener):
    """Names of the functions that numba compiles."""

    def __init__(self):
        self.names = set()

    def on_start(self, event):
        """Add the name of a function."""
        self.names.add(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        """Do nothing."""


@pytest.mark.parametrize("transform", [dr.jacfwd, dr.hessian])
def test_forward_mode_and_second_derivatives_are_refused(transform):
    """At the line of the call, before numba compiles a solver."""
    given = np.ones(4), np.array([1.1, 0.4, 0.1]), 0.05, 0.4, np.array([1.0]), np.ones((4, 1))
    why = r"test_ode_continuous\.py:\d+: `return .* only first derivatives, in reverse mode\. Write ode\.rk45"
    compiled = Compilations()
    with event.install_listener("numba:compile", compiled), pytest.raises(UnsupportedError, match=why):
        transform(by_adjoint)(*given)
    assert compiled.names.isdisjoint({"solve", "checked", "advance", "stage", "forward", "backward"})


@njit
def changes_its_state(t, y, rate):
    y[0] *= 0.5
    return -rate * y


@njit
def changes_its_rate(t, y, rate):
    rate += 0.01
    return -rate * y


@pytest.mark.parametrize("fun", [changes_its_state, changes_its_rate], ids=lambda f: f.__name__)
def test_a_right_hand_side_that_changes_its_arguments_is_refused(fun):
    """Its adjoint equations would be those of another function."""

    @njit
    def last(rate):
        args = (rate.copy(),)
        return continuous.rk23(fun, (0.0, 1.0), np.ones(1), np.ones(1), args, 1e-6, 1e-6)[0, 0]

    why = (
        rf"{fun.__name__}, which it is given, changes an array among its arguments, or may do so. Write x = x.copy\(\)"
    )
    with pytest.raises(UnsupportedError, match=why):
        dr.grad(last)(np.ones(1))
