"""Derivatives of parallel loops under each of numba's threading layers, with other numbers of threads, and nested."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import threading
import numba
import numpy as np
from numba import njit, prange
import dualrev as dr

@njit(parallel=True)
def energy(x, q):
    e = 0.0
    for i in prange(len(x)):
        for j in range(len(x)):
            if i != j:
                e += q * q / (0.1 + (x[i] - x[j]) ** 2)
    return e

@njit(parallel=True)
def nested(x, q):
    s = 0.0
    for i in prange(3):
        s += energy(x * (1.0 + i), q) * q
    return s

layer, nests = {layer!r}, {nests!r}
x, q = np.linspace(0.0, 3.0, 40), 0.7
single = dr.grad(energy.py_func)(x, q)
found = {{}}
whole = sum((1 + i) * q * dr.grad(energy.py_func)(x * (1 + i), q) for i in range(3))
for f, expected in (energy, single), (nested, whole):
    if f is nested and not nests:
        continue
    gradient = dr.grad(f)
    for count in (2, 1, 2):
        numba.set_num_threads(count)
        again = gradient(x, q)
        assert np.allclose(again, expected, rtol=1e-10, atol=1e-12), (layer, count)
        assert numba.get_num_threads() == count
        assert f is nested or np.array_equal(found.setdefault(f, again), again)
if nests:
    calls = [threading.Thread(target=lambda k=k: found.update({{k: dr.grad(energy)(x, q)}})) for k in range(3)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert all(np.array_equal(found[k], found[energy]) for k in range(3))
assert numba.threading_layer() == layer, numba.threading_layer()
print("right")
"""


@pytest.mark.parametrize(
    ("layer", "nests"),
    [
        ("workqueue", False),  # numba ends the process where its parallel loops nest, or are called by several threads
        pytest.param("omp", True, marks=pytest.mark.slow),
        pytest.param("tbb", True, marks=pytest.mark.slow),
    ],
)
def test_each_threading_layer_gives_the_gradient(layer, nests, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(layer=layer, nests=nests))
    given = {**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, str(file)], env=given, capture_output=True, text=True, check=False)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"numba's layer {layer} is not installed here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "right"
