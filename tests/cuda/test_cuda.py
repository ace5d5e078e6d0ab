"""Adjoints of CUDA kernels: in the simulator, lowered for a device, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import cuda

import dualrev as dr
from dualrev.errors import UnsupportedError

HERE = Path(__file__).resolve().parent


def ran(*args, **environment):
    path = os.pathsep.join([str(HERE), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    both = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, *args], env=both, cwd=HERE.parents[1], capture_output=True, text=True)
    assert not done.returncode, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def test_adjoints_in_the_simulator():
    given = ["-p", "no:cacheprovider", "-p", "no:benchmark", "-q", str(HERE / "simulated.py")]
    assert " passed" in ran("-m", "pytest", *given, NUMBA_ENABLE_CUDASIM="1")


def test_numba_compiles_adjoints_for_a_device_as_far_as_that_goes_without_one():
    assert ran(str(HERE / "lowered.py"), NUMBA_ENABLE_CUDASIM="0").split()[-1] == "lowered"
