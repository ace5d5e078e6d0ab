"""Arguments that are arrays of records; test_cuda.py runs this in the simulator, and on a GPU if any."""

import math

import numpy as np
import pytest
from numba import cuda
from programs.record_kernels import PARTICLE, RECORDS, deposited, moved, particles

import dualrev as dr
from dualrev.errors import LaunchError, UnsupportedError

rng = np.random.default_rng(3)


def parts(x):
    """Arrays of floats in an argument: views of fields."""
    if not isinstance(x, np.ndarray):
        return []
    found = [x] if x.dtype.names is None else [x[name] for name in x.dtype.names]
    return [a for a in found if a.dtype.kind == "f"]


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def filled(args):
    """Shadows with random numbers, and integers that nothing may change."""
    made = [np.zeros_like(x) for x in args if parts(x)]
    for x in made:
        for a in parts(x):
            a[...] = rng.standard_normal(a.shape)
        if x.dtype.names:
            x["k"] = 7
    return made


def product(some, others):
    return math.fsum(float(np.sum(a.astype(float) * b)) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("case", RECORDS.values(), ids=RECORDS)
def test_adjoint_agrees_with_differences(case):
    adjoint = dr.cuda.adjoint(case.kernel)
    assert adjoint.before(*case.args) == case.before
    shadows = filled(case.args)
    cts = [a.astype(float) for x in shadows for a in parts(x)]
    given = copied(case.args)
    adjoint[case.grid](*given, *shadows)
    for x, kept in zip(given, case.args, strict=True):
        np.testing.assert_array_equal(x, kept)
    along = [rng.standard_normal(ct.shape) for ct in cts]
    ends = []
    for h in (1e-3, -1e-3):
        args = copied(case.args)
        for a, d in zip([a for x in args for a in parts(x)], along, strict=True):
            a += h * d
        case.kernel[case.grid](*args)
        ends.append(product([a for x in args for a in parts(x)], cts))
    actual = product([a for x in shadows for a in parts(x)], along)
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-3, abs=1e-3)  # one field has single precision
    for x in shadows:
        assert x.dtype.names is None or set(x["k"].tolist()) == {7}


def test_arrays_of_the_fields_have_the_same_derivatives():
    @cuda.jit
    def separate(x, y, dt):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] = y[i] + dt * x[i] * x[i]
            x[i] += dt * y[i]

    p, d_p = particles(10), np.zeros(10, PARTICLE)
    d_p["x"], d_p["y"] = rng.standard_normal((2, 10))
    d_x, d_y = d_p["x"].copy(), d_p["y"].copy()
    dr.cuda.adjoint(moved)[3, 4](p, 0.3, d_p)
    dr.cuda.adjoint(separate)[3, 4](p["x"].copy(), p["y"].copy(), 0.3, d_x, d_y)
    np.testing.assert_array_equal(d_p["x"], d_x)
    np.testing.assert_array_equal(d_p["y"], d_y)


def test_second_derivatives():
    case = RECORDS["fields"]
    first = dr.cuda.adjoint(case.kernel).compiled(*case.args)
    args = (*case.args, *filled(case.args))
    shadows = filled(args)
    cts = [a.astype(float) for x in shadows for a in parts(x)]
    dr.cuda.adjoint(first)[case.grid](*copied(args), *shadows)
    along = [rng.standard_normal(ct.shape) for ct in cts]
    ends = []
    for h in (1e-3, -1e-3):
        moving = copied(args)
        for a, d in zip([a for x in moving for a in parts(x)], along, strict=True):
            a += h * d
        first[case.grid](*moving)
        ends.append(product([a for x in moving for a in parts(x)], cts))
    actual = product([a for x in shadows for a in parts(x)], along)
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=2e-3, abs=2e-3)


@cuda.jit
def of_rows(p, out):
    """Records with two indices, some of them with a name."""
    i, j = cuda.grid(2)
    if i < p.shape[0] and j < p.shape[1]:
        r = p[i, j]
        out[i, j] = r.x * p[i, -1].y * p[i, j].k


def test_records_with_several_indices_and_in_several_launches():
    p, ct, along = particles(6).reshape(2, 3), *rng.standard_normal((2, 2, 3))
    d_p = np.zeros_like(p)
    dr.cuda.adjoint(of_rows)[1, (2, 4)](p, np.zeros((2, 3)), d_p, ct.copy())
    np.testing.assert_allclose(d_p["x"], ct * p["k"] * p["y"][:, -1:], rtol=1e-6)

    def launch(record, x):
        cells = record.to_device(np.zeros(4, PARTICLE))
        out = record.zeros(x.shape)
        for _ in range(2):
            record[deposited, 3, 4](x, record.to_device(np.arange(6) % 4), cells)
            record[gathered, 3, 4](cells, x, out)
        return out

    x, along = p["x"].ravel().copy(), along.ravel()
    _, pull = dr.cuda.vjp(launch, x)
    ends = [np.sum(dr.cuda.vjp(launch, x + h * along)[0] * ct.ravel()) for h in (1e-6, -1e-6)]
    assert pull(ct.ravel())[0] @ along == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


@cuda.jit
def gathered(cells, x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] += cells[i % cells.size].x * x[i]
        if i < cells.size:
            cells[i].y = 1.0


def test_names_of_fields_may_be_any_text():
    @cuda.jit
    def summed(p, p_0, out):
        i = cuda.grid(1)
        if i < p.size:
            p_x = p[i]["it's {x}"] * p[i]["x"]
            out[i] = p_x * p_0[i]

    p = np.ones(4, [("it's {x}", "f8"), ("x", "f8")])
    d_p, d_0 = np.zeros_like(p), np.zeros(4)
    p["x"] = 3.0
    dr.cuda.adjoint(summed)[1, 4](p, 2 * np.ones(4), np.zeros(4), d_p, d_0, np.ones(4))
    assert d_p["it's {x}"].tolist() == [6.0] * 4
    assert d_p["x"].tolist() == [2.0] * 4
    assert d_0.tolist() == [3.0] * 4


def test_what_does_not_fit():
    p = particles(4)
    with pytest.raises(LaunchError, match=r"the shadow of p has shape \(4,\) and dtype float64.*np.zeros_like\(p\)"):
        dr.cuda.adjoint(moved)[1, 4](p, 0.1, np.zeros(4))
    with pytest.raises(LaunchError, match="p and d_p share memory"):
        dr.cuda.adjoint(moved)[1, 4](p, 0.1, p)
    packed = np.zeros(4, [("x", "f8"), ("y", "f4")])
    with pytest.raises(UnsupportedError, match=r"p\['x'\], a field of records without padding.*align=True"):
        dr.cuda.adjoint(moved).source(packed, 0.1)
    half = np.zeros(4, [("x", "f2"), ("y", "f2")])
    with pytest.raises(UnsupportedError, match=r"p\['x'\], an argument of numba type array\(float16"):
        dr.cuda.adjoint(moved).source(half, 0.1)
