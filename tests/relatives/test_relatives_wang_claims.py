"""Wang et al. 2019: what section 2.4 says that a first-class gradient can do."""

import pytest
from test_relatives_wang import derivative, in_all


@in_all
def test_section_2_4_min_max_by_gradients_within_gradients(algorithm):
    """min over x of max over y of (x - 1)^2 + x y - y^2: y = x / 2, so x = 0.8."""
    grad = derivative(algorithm)

    def payoff(x, y):
        return (x - 1.0) * (x - 1.0) + x * y - y * y

    def best(x):
        y = 0.0
        for _ in range(12):
            y = y + 0.4 * grad(lambda y: payoff(x, y))(y)
        return y

    x = 3.0
    for _ in range(12):
        x = x - 0.35 * grad(lambda x: payoff(x, best(x)))(x)
    assert x == pytest.approx(0.8, abs=1e-6)
    assert best(x) == pytest.approx(0.4, abs=1e-6)
