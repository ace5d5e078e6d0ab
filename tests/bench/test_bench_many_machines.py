"""The benchmark of sums over partitions: it compares before it times."""

import numpy as np
import pytest

import bench.many_machines as benchmark
import dualrev as dr


@pytest.mark.slow
def test_the_program_has_the_gradient_of_differences():
    params, points = benchmark.make(50)
    dr.check_grads(benchmark.likelihood, (params, points), modes=("rev",), argnums=0)


@pytest.mark.slow
def test_the_sum_over_partitions_is_that_of_the_whole():
    first, call = benchmark.measured(1, 1_000, 3, 1)
    assert first > 0.0
    assert call > 0.0


def test_another_sum_is_found(monkeypatch):
    class Wrong:
        def scatter(self, parts):
            return parts

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(benchmark, "likelihood", lambda params, points: np.sum(params[0]) * np.sum(points))
    monkeypatch.setattr(benchmark, "_client", lambda workers: Wrong())
    monkeypatch.setattr(benchmark.partitions, "value_and_grad", lambda *_: lambda params: (0.0, params))
    with np.testing.assert_raises_regex(AssertionError, "another one"):
        benchmark.measured(2, 50, 5, 1)
