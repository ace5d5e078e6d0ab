"""Arguments that are tuples of arrays; test_cuda.py runs this in the simulator, and on a GPU if any."""

import math

import numpy as np
import pytest
from numba import cuda
from programs.cuda_kernels import elementwise
from programs.tuple_kernels import TUPLES, Model, State, nested, swing, swing_in_place

import dualrev as dr
from dualrev.errors import LaunchError

rng = np.random.default_rng(3)


def rebuilt(x, f):
    """Return a tuple with other members, or another member."""
    if not isinstance(x, tuple):
        return f(x)
    parts = [rebuilt(part, f) for part in x]
    return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)


def flat(x):
    return [y for part in x for y in flat(part)] if isinstance(x, tuple) else [x]


def is_real(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def copied(args):
    return rebuilt(args, lambda x: x.copy() if isinstance(x, np.ndarray) else x)


def random_shadows(args):
    made = rebuilt(args, lambda x: rng.standard_normal(x.shape).astype(x.dtype) if is_real(x) else None)
    return tuple(x for x in made if any(y is not None for y in flat(x)))


def reals(args):
    return [x for x in flat(args) if is_real(x)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", TUPLES.values(), ids=TUPLES)
def test_adjoint_agrees_with_differences(case, dtype):
    adjoint = dr.cuda.adjoint(case.kernel)
    args = rebuilt(case.args, lambda x: x.astype(dtype) if is_real(x) else x)
    assert adjoint.before(*args) == case.before
    shadows = random_shadows(args)
    cts = [x.astype(float) for x in flat(shadows) if x is not None]
    given = copied(args)
    adjoint[case.grid](*given, *shadows)
    for x, kept in zip(flat(given), flat(args), strict=True):
        np.testing.assert_array_equal(x, kept)
    along = [rng.standard_normal(x.shape) for x in cts]
    ends = []
    for h in (1e-6, -1e-6):
        directions = iter(along)
        moved = rebuilt(case.args, lambda x, h=h, d=directions: x + h * next(d) if is_real(x) else x)
        moved = copied(moved)
        case.kernel[case.grid](*moved)
        ends.append(math.fsum(np.sum(ct * y) for ct, y in zip(cts, reals(moved), strict=True)))
    found = [x for x in flat(shadows) if x is not None]
    assert {x.dtype for x in found} == {np.dtype(dtype)}
    actual = math.fsum(np.sum(d * x) for d, x in zip(along, found, strict=True))
    rel = 1e-7 if dtype == np.float64 else 1e-4
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=rel, abs=rel)


@pytest.mark.parametrize(
    "case", [c for c in TUPLES.values() if c.second], ids=[k for k, c in TUPLES.items() if c.second]
)
def test_second_derivatives_of_the_kernel_of_members(case):
    """The compiled adjoint takes the members; its own adjoint agrees with differences."""
    first = dr.cuda.adjoint(case.kernel).compiled(*case.args)
    args = (*flat(case.args), *(rng.standard_normal(x.shape) for x in reals(case.args)))
    arrays = [k for k, x in enumerate(args) if is_real(x)]
    cts, along = ([rng.standard_normal(args[k].shape) for k in arrays] for _ in range(2))
    shadows = copied(tuple(cts))
    dr.cuda.adjoint(first)[case.grid](*copied(args), *shadows)
    ends = []
    for h in (1e-6, -1e-6):
        moved = [*copied(args)]
        for k, d in zip(arrays, along, strict=True):
            moved[k] = moved[k] + h * d
        first[case.grid](*moved)
        ends.append(math.fsum(np.sum(ct * moved[k]) for k, ct in zip(arrays, cts, strict=True)))
    actual = math.fsum(np.sum(d * x) for d, x in zip(along, shadows, strict=True))
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def several_steps(record, x, v, stiffness):
    keys = record.to_device(np.arange(8) % 4)
    for _ in range(3):
        record[swing_in_place, 2, 4](State(x, v), Model(stiffness, 0.8, keys, 0.25))
        after = State(record.zeros(8), record.zeros(8))
        record[swing, 2, 4](State(x, v), Model(stiffness, 0.8, keys, 0.25), after)
        x, v = after
    return x, v


def test_tuples_of_handles_in_several_launches():
    args = *rng.random((2, 8)), rng.random(4)
    y, pull = dr.cuda.vjp(several_steps, *args)
    cts = tuple(rng.standard_normal(a.shape) for a in y)
    along = [rng.standard_normal(a.shape) for a in args]

    def value(h):
        found = dr.cuda.vjp(several_steps, *(a + h * d for a, d in zip(args, along, strict=True)))[0]
        return math.fsum(np.sum(a * ct) for a, ct in zip(found, cts, strict=True))

    expected = (value(1e-6) - value(-1e-6)) / 2e-6
    for _ in range(2):
        actual = math.fsum(np.sum(a * d) for a, d in zip(pull(cts), along, strict=True))
        assert actual == pytest.approx(expected, rel=1e-7)


def test_members_on_the_device():
    case = TUPLES["swing"]
    shadows = random_shadows(case.args)
    expected = copied(shadows)
    dr.cuda.adjoint(swing)[case.grid](*case.args, *expected)

    def moved(x):
        return cuda.to_device(x) if isinstance(x, np.ndarray) else x

    given = rebuilt(shadows, moved)
    dr.cuda.adjoint(swing)[case.grid](*rebuilt(case.args, moved), *given)
    for x, y in zip(flat(given), flat(expected), strict=True):
        if y is not None:
            np.testing.assert_allclose(x.copy_to_host(), y, rtol=1e-12)


A, B, C = np.ones((3, 4))
K = np.arange(4)
STATE, MODEL = State(A, B), Model(np.ones(4), 1.0, K, 0.5)
D_STATE, D_MODEL = State(C, C.copy()), Model(np.zeros(4), None, None, None)

#: Shadows of the arguments STATE and MODEL of swing_in_place that do not fit, and what the error says.
MISFITS = {
    "no shadow of a tuple": ((D_STATE,), r"it takes 2 shadows \(d_state, d_model\), got 1"),
    "an array": ((C, D_MODEL), r"the shadow of state is a tuple .*got ndarray. Write State\(d_x, d_v\)"),
    "only the arrays of floats": (
        (D_STATE, (np.zeros(4),)),
        r"None for any other member, got 1 members. Write Model\(d_stiffness, None, None, None\)",
    ),
    "a shadow of a number": ((D_STATE, D_MODEL._replace(dt=np.zeros(1))), r"model.dt has no shadow.*got ndarray"),
    "a shadow of integers": ((D_STATE, D_MODEL._replace(keys=K)), r"model.keys has no shadow.* Write None"),
    "no shadow of an array": ((State(None, C), D_MODEL), r"the shadow of state.x has shape None"),
    "another shape": (
        (State(C, np.ones(3)), D_MODEL),
        r"the shadow of state.v has shape \(3,\).*zeros_like\(state.v\)",
    ),
    "a shadow that is an argument": ((State(C, B), D_MODEL), "state.v and d_state.v share memory"),
    "one shadow for two": ((State(C, C), D_MODEL), "d_state.x and d_state.v share memory"),
}


@pytest.mark.parametrize(("shadows", "said"), MISFITS.values(), ids=MISFITS)
def test_shadows_that_do_not_fit(shadows, said):
    with pytest.raises(LaunchError, match=said):
        dr.cuda.adjoint(swing_in_place)[1, 4](STATE, MODEL, *shadows)


def test_arguments_that_do_not_fit():
    with pytest.raises(LaunchError, match=r"numba has no type for state\.v, of class object.*np\.asarray\(state\.v\)"):
        dr.cuda.adjoint(swing_in_place)[1, 4](State(A, object()), MODEL, D_STATE, D_MODEL)
    with pytest.raises(LaunchError, match=r"state\.x and state\.v share memory"):
        dr.cuda.adjoint(swing_in_place)[1, 4](State(A, A), MODEL, D_STATE, D_MODEL)
    with pytest.raises(LaunchError, match=r"the shadow of parts\[1\] is a tuple .*Write \(None, \(d_0,\)\)"):
        dr.cuda.adjoint(nested)[1, 4](((A, B), (K, (C,)), 3), A + 0, B + 0, ((A, B), A, None), A, B)

    def launch(record, x):
        record[swing_in_place, 1, 4](State(x, np.ones(4)), MODEL)
        return x

    with pytest.raises(LaunchError, match=r"state\.v is an array that .*record\.to_device\(state\.v\)"):
        dr.cuda.vjp(launch, A)


def test_an_argument_of_numbers_and_an_empty_one_have_no_shadows():
    @cuda.jit
    def scaled(x, numbers, nothing, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] * numbers[0] * numbers[1]

    d_x = np.zeros(4)
    dr.cuda.adjoint(scaled)[1, 4](A, (2.0, 3), (), np.zeros(4), d_x, np.ones(4))
    np.testing.assert_array_equal(d_x, 6.0)
    assert "numbers_0" in dr.cuda.adjoint(scaled).source(A, (2.0, 3), (), B)
    assert "x" in dr.cuda.adjoint(elementwise).parameters
