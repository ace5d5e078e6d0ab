"""Random programs of tables under differentiation, against the plain run: right, or refused with line and cure."""

import warnings

import numpy as np
import pytest

import dualrev as dr

pd = pytest.importorskip("pandas")

from programs.table_programs import Program, copy  # noqa: E402 - it imports pandas

PROGRAMS = 300
STEP = 1e-6


def same(found, expected):
    """Assert that class, labels and numbers equal the plain run's; numpy's numbers may be Python's floats."""
    if isinstance(expected, pd.Series):
        assert type(found) is pd.Series
        expected = expected.astype(float) if expected.dtype.kind == "O" and found.dtype.kind == "f" else expected
        pd.testing.assert_series_equal(found, expected, rtol=1e-12)
    elif isinstance(expected, pd.DataFrame):
        assert type(found) is pd.DataFrame
        expected = expected.copy()
        for k in range(expected.shape[1]):  # a column of floats may be one of objects for pandas, not the other way
            if expected.dtypes.iloc[k].kind == "O" and found.dtypes.iloc[k].kind == "f":
                expected.isetitem(k, expected.iloc[:, k].astype(float))
        pd.testing.assert_frame_equal(found, expected, rtol=1e-12)
    elif isinstance(expected, np.ndarray):
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-12)
    else:
        assert isinstance(found, float)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def numbers(y):
    """All floats in a value."""
    if isinstance(y, pd.DataFrame):
        return np.concatenate([np.zeros(0), *(numbers(y.iloc[:, k]) for k in range(y.shape[1]))])
    dtype = getattr(y, "dtype", np.dtype(float))
    if not isinstance(dtype, np.dtype) or dtype.kind != "f":
        return np.ravel(y).astype(float) if isinstance(y, np.ndarray) else np.zeros(0)
    return np.ravel(np.asarray(y, dtype=float))


def moved(x, by):
    """x with each number a little further."""
    return x + by


def slope(f, x, direction):
    """Central differences of all numbers of f's value, NaN where they are, and where a branch changes."""
    behind, here, ahead = (numbers(f(moved(copy(x), k * STEP * direction))) for k in (-1.0, 0.0, 1.0))
    if not len(behind) == len(here) == len(ahead):
        return np.full(len(here), np.nan)
    made = (ahead - behind) / (2.0 * STEP)
    smooth = np.abs(ahead - 2.0 * here + behind) <= 1e-3 * STEP * (1.0 + np.abs(made))
    return np.where(smooth, made, np.nan)


def direction_of(x, rng):
    if isinstance(x, float):
        return 1.0
    made = rng.uniform(0.5, 1.5, np.shape(x))
    return made if isinstance(x, np.ndarray) else x * 0.0 + made


def tangent_of(direction):
    """NaN is a number, too, whose tangent is anything."""
    return direction.fillna(0.0) if isinstance(direction, (pd.Series, pd.DataFrame)) else direction


def outcome(seed):
    """'right' or 'refused'; an assertion fails otherwise."""
    program = Program(seed)
    f, x = program.function(), program.argument
    expected = f(copy(x))
    direction = direction_of(x, program.rng)
    try:
        y, found = dr.jvp(f, (x,), (tangent_of(direction),))
        gradient = dr.grad(f)(x) if isinstance(y, float) else None
    except dr.errors.OutputError:
        wanted = slope(f, x, direction)
        assert not np.any(wanted[np.isfinite(wanted)]), "the value depends on the argument"
        return "refused"
    except dr.errors.DualrevError as error:
        refusal = str(error) + ("<program: returned>" if isinstance(error, dr.errors.LeafError) else "")
    else:
        refusal = ""
    if refusal:
        assert "<program" in refusal, f"no line: {refusal}"
        assert "rite " in refusal or "Take " in refusal, f"no cure: {refusal}"
        return "refused"
    same(y, expected)
    wanted = slope(f, x, direction)
    found = numbers(found)
    there = np.isfinite(wanted)
    if any(name in program.source for name in ("std", "sem", "describe", "corr")):  # a deviation of 0 has no derivative
        there &= ~np.isnan(found)
    np.testing.assert_allclose(found[there], wanted[there], rtol=2e-5, atol=2e-5)
    if gradient is not None:
        along = np.nansum(numbers(gradient) * numbers(tangent_of(direction)))
        np.testing.assert_allclose([along][: there.sum()], wanted[there], rtol=2e-5, atol=2e-5)
    return "right"


def test_random_programs_are_right_or_refused():
    outcomes = []
    for seed in range(PROGRAMS):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                outcomes.append(outcome(seed))
            except Exception as error:
                raise AssertionError(f"seed {seed}:\n{Program(seed).source}") from error
    assert outcomes.count("right") > 0.85 * PROGRAMS
