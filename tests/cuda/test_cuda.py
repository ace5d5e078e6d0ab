"""Adjoints of CUDA kernels: in the simulator, lowered for a device, and what is refused."""

import importlib.util
import inspect
import os
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from numba import cuda
from programs import refused_kernels, shared_kernels
from programs.cuda_kernels import CASES
from programs.refused_kernels import REFUSED, A, imported_names

import dualrev as dr
from dualrev.errors import UnsupportedError

HERE = Path(__file__).resolve().parent


def ran(*args, **environment):
    path = os.pathsep.join([str(HERE.parent), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    both = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, *args], env=both, cwd=HERE.parents[1], capture_output=True, text=True)
    assert not done.returncode, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:benchmark", "-q"]
FILES = "adjoints", "tuples", "records", "extremes", "launches", "refused_launches", "applications"
ADJOINTS = [*PYTEST, *(str(HERE / f"{name}.py") for name in FILES)]


def test_adjoints_in_the_simulator():
    assert "100%" in ran(*ADJOINTS, NUMBA_ENABLE_CUDASIM="1")


@pytest.mark.skipif(not cuda.is_available(), reason="there is no GPU")
def test_adjoints_on_a_gpu():
    assert "100%" in ran(*ADJOINTS, NUMBA_ENABLE_CUDASIM="0")


def test_numba_compiles_adjoints_for_a_device_as_far_as_that_goes_without_one():
    assert ran(str(HERE / "lowered.py"), NUMBA_ENABLE_CUDASIM="0").split()[-1] == "lowered"


@pytest.mark.skipif(
    not (importlib.util.find_spec("numba_cuda") and list(metadata.distributions(name="nvidia-cuda-nvcc-cu12"))),
    reason='pip install "numba-cuda[cu12]" brings NVIDIA\'s compilers',
)
def test_adjoints_become_machine_code_for_a_device():
    assert ran(str(HERE / "assembled.py"), NUMBA_ENABLE_CUDASIM="0").split()[-1] == "assembled"


@pytest.mark.parametrize(
    ("kernel", "args", "line", "why", "cure"), REFUSED, ids=[r[0].py_func.__name__ for r in REFUSED]
)
def test_refused_kernels_with_line_reason_and_cure(kernel, args, line, why, cure):
    with pytest.raises(UnsupportedError) as caught:
        dr.cuda.adjoint(kernel).source(*args)
    message = str(caught.value)
    print(message)
    assert Path(refused_kernels.__file__).name in message.partition("`")[0]
    assert line in message.split("`")[1]
    assert why in message
    assert cure in message.partition("Write ")[2]


TEXT = Path(shared_kernels.__file__).read_text(encoding="utf-8")
BARRIERS = [k for k, line in enumerate(TEXT.split("\n")) if line.strip() == "cuda.syncthreads()"]


@pytest.mark.parametrize("at", BARRIERS)
def test_a_kernel_without_one_of_its_barriers_is_refused(at, tmp_path):
    lines = TEXT.split("\n")
    name = [line for line in lines[:at] if line.startswith("def ")][-1].partition("(")[0].removeprefix("def ")
    lines[at] = lines[at].replace("cuda.syncthreads()", "pass")
    file = tmp_path / "kernels.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    space = runpy.run_path(str(file))
    name = {"added_up": "softmax_of_rows", "neighbour": "exchanged"}.get(name, name)  # device functions
    cases = [c for c in space["SHARED"].values() if c.kernel.py_func.__name__ == name]
    assert cases
    for case in cases:
        with pytest.raises(
            UnsupportedError, match=r"another thread may access the same element.*cuda\.syncthreads\(\) between"
        ):
            dr.cuda.adjoint(case.kernel).source(*case.args)


def test_the_library_imports_its_adjoints_of_kernels_when_they_are_asked_for():
    ran("-c", "import sys, dualrev; assert 'dualrev.cuda' not in sys.modules; dualrev.cuda.adjoint")


def test_the_page_shows_the_kernel_and_its_adjoint():
    page = (HERE.parents[1] / "docs" / "cuda.md").read_text(encoding="utf-8")
    case = CASES["stencil"]
    text = dr.cuda.adjoint(case.kernel).source(*case.args)
    assert inspect.getsource(case.kernel.py_func) in page
    assert text.partition("from numba import cuda\n")[2].strip() in page


def test_parts_of_numba_cuda_may_be_imported_by_name():
    text = dr.cuda.adjoint(imported_names).source(A, A)
    for line in ("grid_x = cuda.grid(1)", "thread_x = np.int64(cuda.threadIdx.x)", "cuda.atomic.add(d_x, i, d_1)"):
        assert line in text
