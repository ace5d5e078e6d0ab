"""numpy's functions through numpy's own protocols: every one that is covered, with its options.

A case is an expression in x, y, z, and their values. Its value is that of plain numpy, its derivatives those of
differences, to order 2 and in both modes.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import assert_same, check_order_2, check_vjp, direction, flat

import dualrev as dr
from dualrev.eager.tape import engine

X = np.array([0.6, 1.3, -2.1, 0.7])
Y = np.array([1.1, -0.4, 0.9, 1.7])
POSITIVE = np.array([0.5, 1.3, 2.1, 0.7])
UNIT = np.array([0.5, -0.3, 0.8, 0.1])
M = np.array([[0.5, -1.0, 0.2], [2.0, 0.3, 1.4]])
N = np.array([[1.5, -0.6, 0.4], [0.7, -1.3, 0.9]])
Q = np.array([[0.5, -1.0, 0.2], [2.0, 0.3, 1.4], [-0.7, 0.6, 1.1]])
SPD = np.array([[2.5, 0.3, 0.2], [0.3, 1.9, 0.4], [0.2, 0.4, 3.1]])
T = np.array([0.5, -1.1, 0.2, 2.0, 0.3, 1.4, -0.7, 0.6, 1.2, 0.9, -0.4, 0.8]).reshape(2, 2, 3)
BATCH = np.stack([Q, SPD])

REDUCTIONS = {
    "{f}(x)": X,
    "{f}(x.reshape(2, 2) ** 2, axis=0)": X,
    "{f}(x, axis=-1, keepdims=True)": M,
    "{f}(x, axis=(0, -1))": T,
    "{f}(x, axis=(2, 0), keepdims=True)": T,
    "{f}(x, axis=None, keepdims=True)": M,
    "{f}(x**2, 1)": T,
    "{f}(x.T[::-1, 1:], axis=0)": M,
    "{f}(np.reshape(x, ())) * x": X[:1],
    "{f}([x, 0.25, y])": (1.5, 0.7),
}

CASES: list[tuple[str, tuple]] = []


def cases(*primals, texts):
    CASES.extend((text, primals) for text in texts)


for f in ("np.sum", "np.prod", "np.mean", "np.max", "np.min", "np.amax", "np.amin", "np.ptp", "np.median"):
    for text, at in REDUCTIONS.items():
        CASES.append((text.format(f=f), at if isinstance(at, tuple) else (at,)))
for f in ("np.var", "np.std", "np.nanvar", "np.nanstd", "np.nansum", "np.nanmean", "np.nanmax", "np.nanmedian"):
    for text, at in list(REDUCTIONS.items())[:7]:
        CASES.append((text.format(f=f), (at,)))

cases(
    X,
    texts=[
        "np.sum(x, initial=2)",
        "np.sum(x, dtype=float)",
        "np.sum(x, where=[True, False, True, True])",
        "np.sum(x, where=x > 0, initial=1.5)",
        "np.prod(x, where=x > 0)",
        "np.prod(x, initial=3.0)",
        "np.max(x, initial=5.0) + x",
        "np.max(x, initial=-7)",
        "np.min(x, initial=0.6)",
        "np.max(x, where=x < 1, initial=-9.0)",
        "np.min(x, where=x > 0, initial=9.0)",
        "np.mean(x, where=x > 0)",
        "np.var(x, ddof=1)",
        "np.var(x, correction=1)",
        "np.std(x, ddof=2)",
        "np.var(x, where=x > 0)",
        "np.std(x, where=x > 0, ddof=1)",
        "np.var(x, mean=np.mean(x, keepdims=True))",
        "np.sum(x[:0]) + x",
        "np.prod(x[:0]) * x",
        "np.sum(x.reshape(2, 2)[:, :0], axis=1) + x[:2]",
        "np.concatenate([x[:0], x]) * x",
        "np.cumsum(x)",
        "np.cumprod(x)",
        "np.cumsum(x[:0]).size * x",
        "np.cumsum(x.reshape(2, 2), axis=-2)",
        "np.cumsum(x.reshape(2, 2))",
        "np.cumprod(x.reshape(2, 2), axis=1)",
        "np.cumprod(x.reshape(2, 2))",
        "np.nancumsum(x) * np.nancumprod(x)",
        "np.nanprod(x) * np.nanmin(x)",
        "np.cumulative_sum(x) * x",
        "np.cumulative_prod(x, include_initial=True)",
        "np.average(x)",
        "np.average(x, weights=[1, 2, 3, 4])",
        "np.average(x, weights=x**2)",
        "np.average(x, weights=x**2, returned=True)[1] * x",
        "np.average(x.reshape(2, 2), axis=1, weights=[1.0, 3.0])",
        "np.average(x.reshape(2, 2), axis=0, keepdims=True)",
        "np.median(x[:3])",
        "np.quantile(x, 0.3)",
        "np.quantile(x, [0.0, 0.3, 1.0])",
        "np.quantile(x.reshape(2, 2), 0.3, axis=0, keepdims=True)",
        "np.percentile(x, 25)",
        "np.percentile(x.reshape(2, 2), [25, 60], axis=1)",
        "np.nanquantile(x, 0.3) + np.nanpercentile(x, 70)",
        "np.trim_zeros(np.concatenate([[0.0, 0.0], x * [1.0, 0.0, 1.0, 1.0], [0.0]])) * x",
        "np.trim_zeros(np.concatenate([np.zeros(2), x, [0.0]])[::-1]) * x",
        "np.union1d(x, x[:2] ** 2) * np.arange(6.0)",
        "np.trapezoid(x)",
        "np.trapezoid(x, dx=0.5)",
        "np.trapezoid(x**2, [0.0, 1.0, 1.5, 3])",
        "np.trapezoid(x**2, np.cumsum(x**2))",
        "np.trapezoid(x.reshape(2, 2), axis=0)",
        "np.add.reduce(x)",
        "np.add.reduce(x.reshape(2, 2))",
        "np.add.reduce(x.reshape(2, 2), axis=None, keepdims=True)",
        "np.multiply.reduce(x)",
        "np.maximum.reduce(x.reshape(2, 2), axis=1) * np.minimum.reduce(x.reshape(2, 2), axis=-1)",
        "np.logaddexp.reduce(x)",
        "np.logaddexp.reduce(x.reshape(2, 2), axis=1)",
        "np.subtract.outer(x, x)",
        "np.multiply.outer(x, [1, 2])",
        "np.add.accumulate(x) * np.multiply.accumulate(x)",
        "np.maximum.accumulate(x) * np.minimum.accumulate(x)",
        "np.add.reduceat(x**2, [0, 2]) * x[:2]",
        "x.sum() + x.mean(axis=0) * x.prod() + x.max() * x.min() - x.var() + x.std(ddof=1)",
        "x.reshape(2, 2).sum(0).cumsum() + x.reshape(2, 2).prod(axis=1, keepdims=True)",
    ],
)

UNARY = {
    "sin cos arctan sinh cosh tanh arcsinh exp exp2 expm1 abs absolute fabs square negative positive sign cbrt": X,
    "sinc degrees radians deg2rad rad2deg conj conjugate real": X,
    "floor ceil trunc rint fix round around imag": X,
    "sqrt log log2 log10 log1p reciprocal tan": POSITIVE,
    "arcsin arccos arctanh": UNIT,
    "arccosh": POSITIVE + 1.0,
    "nan_to_num": X,
}
for names, at in UNARY.items():
    for name in names.split():
        CASES.append((f"np.{name}(x) * (x + 0.1)", (at,)))
        CASES.append((f"np.{name}(np.reshape(x, ())) + x", (at[:1],)))

for name in [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
]:
    CASES.append((f"np.{name}(x, y) * x", (X, Y)))
    CASES.append((f"np.{name}(x, y[:, None])", (M[0], np.array([1.7, -0.9]))))
    CASES.append((f"np.{name}(x, [2, -1, 0.25, 4]) + np.{name}(3, x) * x**3", (X,)))
    CASES.append((f"np.{name}([1, 2], x) - np.{name}(x, np.array([1, 3])) * x", (0.6,)))
    CASES.append((f"np.{name}(x, y)", (0.6, np.array([[0.7, -1.1]]))))
for name in ["power", "float_power"]:
    CASES.append((f"np.{name}(x, y)", (POSITIVE, Y)))
    CASES.append((f"np.{name}(x[:, None], y)", (POSITIVE, 0.7)))
for name in ["remainder", "mod", "fmod", "floor_divide", "copysign", "heaviside", "nextafter"]:
    CASES.append((f"np.{name}(x, y) * x", (X, Y)))
    CASES.append((f"np.{name}(x, 0.37) * x", (X,)))
cases(
    X,
    texts=[
        "x**2 + x**3 + 2.0**x + x**np.array([1, 2, 3, 0])",
        "np.divmod(x, 0.8)[1] + divmod(x, 0.8)[0] * x",
        "np.modf(x)[0] * np.modf(x)[1]",
        "np.ldexp(x, 3)",
        "np.frexp(x + 0.01)[0] * np.frexp(x + 0.01)[1]",
        "-x + +x * abs(x) // 0.37 % 0.77",
        "1 - x / 2 + 3 / x",
        "True * x + np.array([True, False, True, True]) * x",
        "np.clip(x, -1, 1) * x",
        "np.clip(x, None, 1.0) * np.clip(x, -1.0, None)",
        "np.clip(x, x[0], x[1]) * x",
        "np.clip(x, min=-1, max=1.0) * x",
        "x.clip(-1.0, 1.0) * x",
        "np.clip(x, [-1, 0, -3, 0], 1.0)",
        "np.where(x > 0, x, 0)",
        "np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 2 * x)",
        "np.where(x[:, None] > 0, x, [[1]])",
        "np.where([True, False], x[0], x[1])",
        "np.where(True, x, 0.0)",
        "np.select([x > 1, x > 0], [x, x**2], 5)",
        "np.select([x > 1, x > 0], [x, x**2])",
        "np.choose([0, 1, 0, 1], [x, x**2])",
        "np.piecewise(x, [x < 0, x >= 1], [lambda u: u**2, 4.0, lambda u: -u])",
        "np.add(x, x**2, out=np.zeros_like(x))",
        "np.multiply(x, 2, out=np.zeros_like(x), where=x > 0)",
        "np.log(x, out=np.zeros_like(x), where=x > 0)",
        "np.sin(x, out=np.zeros_like(x)[...])",
        "np.sum(x.reshape(2, 2), axis=0, out=np.zeros_like(x)[:2])",
        "np.cumsum(x, out=np.zeros_like(x))",
        "np.dot(x, x.reshape(2, 2)[0, 0], out=np.zeros_like(x))",
        "np.clip(x, -1, 1, out=np.zeros_like(x))",
        "np.interp([0.1, 0.5, 5.0], [0, 1, 2, 3], x)",
        "np.interp(x, [-1.0, 0.0, 1.0], [1, 2, 7])",
        "np.interp(x[0], [-1.0, 0.0, 1.0], [1, 2, 7])",
        "np.interp([0.2, 0.6], np.cumsum(x**2), x)",
        "np.interp(x, [-1.0, 0.0, 1.0], [1.0, 2.0, 7.0], left=-3, right=x[0])",
        "np.isnan(x) * x + np.isfinite(x) + np.signbit(x) * x",
        "(x > 0) * x + (x == x[0]) * x",
        "np.logical_and(x > 0, x < 1) * x",
        "np.argmax(x) * x + np.argmin(x)",
        "x[np.argsort(x)] * np.arange(4)",
        "np.searchsorted(np.sort(x), 0.65) * x",
    ],
)

# What moves elements
cases(
    X,
    texts=[
        "np.reshape(x, (2, -1))",
        "x.reshape(2, 2, order='F')",
        "x.reshape((4, 1)) * x.reshape(1, 4)",
        "np.expand_dims(x, (0, 2))",
        "np.repeat(x, 2)",
        "np.repeat(x, [1, 0, 2, 1])",
        "np.tile(x, 2)",
        "np.tile(x, (2, 1))",
        "np.roll(x, 1) * x",
        "np.roll(x.reshape(2, 2), (1, 1), axis=(0, 1))",
        "np.flip(x) * x",
        "np.diag(x)",
        "np.diag(x, -1)",
        "np.diagflat(x.reshape(2, 2), 1)",
        "np.resize(x, (2, 3))",
        "np.broadcast_to(x, (2, 4))",
        "np.broadcast_arrays(x, [[1.0], [2.0]])[0]",
        "np.concatenate([x, 2 * x, [1, 2]])",
        "np.concatenate((x.reshape(2, 2), np.ones((2, 1))), axis=1)",
        "np.concatenate((x.reshape(2, 2), x), axis=None)",
        "np.concat([x, [True, False]])",
        "np.stack([x, np.ones(4)], axis=-1)",
        "np.stack([x[0], 1, x[1]])",
        "np.hstack([x, x[0], 3])",
        "np.vstack([x, np.arange(4)])",
        "np.dstack([x, x**2])",
        "np.column_stack([x, x**2])",
        "np.block([[x.reshape(2, 2), np.ones((2, 1))], [np.zeros((1, 2)), x[0]]])",
        "np.append(x, x[0])",
        "np.append(x.reshape(2, 2), [[1, 2]], axis=0)",
        "np.insert(x, 1, x[0] ** 2)",
        "np.insert(x.reshape(2, 2), 1, 3.0, axis=1)",
        "np.insert(x, -1, 7)",
        "np.insert(x, [1, 3], [5.0, 6])",
        "np.delete(x, 1)",
        "np.delete(x, [0, 2])",
        "np.delete(x, slice(1, 3))",
        "np.split(x, 2)[1] * np.split(x, [1, 3])[1]",
        "np.array_split(x, 3)[0]",
        "np.hsplit(x, 2)[0]",
        "np.vsplit(x.reshape(2, 2), 2)[1]",
        "np.pad(x, 1)",
        "np.pad(x, (1, 2), constant_values=(3, 4.5))",
        "np.pad(x.reshape(2, 2), ((1, 0), (0, 2)))",
        "np.pad(x, 2, mode='edge')",
        "np.pad(x, 2, 'reflect') + np.pad(x, 2, 'symmetric') * np.pad(x, 2, 'wrap')",
        "np.pad(x, 1, constant_values=x[0])",
        "np.take(x, [0, -1, 0])",
        "np.take(x, 2)",
        "np.take(x, [[1, 5]], mode='wrap')",
        "x.take([1, 2]) * x.repeat(2)[:2]",
        "np.take_along_axis(x, np.array([3, 0]), axis=0)",
        "np.compress([True, False, True], x)",
        "np.extract(x > 0, x)",
        "np.sort(x)",
        "np.sort(x.reshape(2, 2), axis=0)",
        "np.sort(x.reshape(2, 2), axis=None)",
        "np.sort(x.reshape(2, 2), 1, kind='stable')",
        "np.partition(x, 2)",
        "np.diff(x)",
        "np.diff(x, n=2)",
        "np.diff(x.reshape(2, 2), axis=0)",
        "np.diff(x, prepend=0, append=[x[0], 1])",
        "np.ediff1d(x, to_begin=1.0, to_end=[2, 3])",
        "np.gradient(x)",
        "np.gradient(x, 0.5)",
        "np.gradient(x, [0.0, 1.0, 1.5, 3])",
        "np.gradient(x, 2.0, edge_order=2)",
        "np.gradient(x, [0.0, 1.0, 1.5, 3], edge_order=2)",
        "np.gradient(np.outer(x, x), axis=1)",
        "np.gradient(np.outer(x, x), 2.0, [0.0, 1.0, 1.5, 3])[1]",
        "np.linspace(x[0], x[1], 5)",
        "np.linspace(x[0], 2, 5, endpoint=False)",
        "np.linspace(x[:2], x[2:], 3, axis=1)",
        "np.linspace(x[0], x[1], 5, retstep=True)[1]",
        "np.geomspace(x[0] ** 2, 3.0, 4) + np.logspace(x[0], x[1], 4)",
        "np.meshgrid(x, [1, 2])[0]",
        "np.meshgrid(x, x**2, indexing='ij')[1]",
        "np.meshgrid(x, [1, 2], sparse=True)[0]",
        "np.unique(x)",
        "np.vander(x[:3])",
        "np.vander(x, 3, increasing=True)",
        "np.array([x, x**2]) if False else np.stack(list(x))",
        "np.sum(list(x)) * x",
        "np.sum([list(x), [1, 2, 3, 4]], axis=0)",
        "np.apply_along_axis(lambda u: u * np.sum(u), 0, x.reshape(2, 2))",
        "np.apply_along_axis(np.sum, 1, x.reshape(2, 2))",
        "np.apply_over_axes(np.sum, x.reshape(2, 2), [0, 1])",
        "np.nan_to_num(x * x)",
        "np.astype(x, float)",
        "np.asarray(np.zeros_like(x)) + x",
        "np.full_like(x, x[0])",
        "np.full_like(x, [1, 2, 3, 4]) * x",
        "np.copy(x) * np.ones_like(x) + np.empty_like(x) * 0",
        "np.zeros_like(x, dtype=int) + x",
        "np.zeros_like(x, shape=(2, 4)) + x",
        "np.real_if_close(x)",
        "np.unwrap(4 * x)",
        "np.angle(x) * x",
        "np.poly(x[:2])",
        "np.polyval(x, 2.0) * np.polyval([1, 2, 3], x)",
        "np.polyder(x) * x[:3]",
        "np.polyint(x)",
        "np.polyadd(x, [1, 2])",
        "np.polysub(x[:2], x)",
        "np.polymul(x, [1, 2])",
        "np.convolve(x, [1, 2, 3])",
        "np.convolve(x[:2], x, 'same')",
        "np.convolve(x, x[:3], 'valid')",
        "np.correlate(x, [1, 2, 3])",
        "np.correlate(x[:2], x, 'full')",
        "np.correlate([1, 2, 0.5], x, 'same')",
        "np.correlate(x, [1, 2, 3, 4, 5], 'full')",
        "np.bincount([0, 1, 1, 3], weights=x)",
        "np.bincount([0, 1, 1, 3], weights=x, minlength=6)",
        "np.unstack(x.reshape(2, 2))[1]" if hasattr(np, "unstack") else "x",
        "np.cov(x, x**2)",
        "np.cov(x.reshape(2, 2), bias=True)",
        "np.cov(np.vstack([x, np.sin(x)]), ddof=0)",
        "np.corrcoef(x, np.sin(x))",
        "np.fill_diagonal(x.reshape(2, 2), 3.0) or x",
        "np.put(x, [0, 2], [x[1], 5.0]) or x",
        "np.place(x, x > 1, [7.0]) or x",
        "np.putmask(x, x > 1, x**2) or x",
        "np.put_along_axis(x, np.array([1]), x[0] ** 2, 0) or x",
        "np.copyto(x, x[0] ** 2, where=x > 1) or x",
        "np.copyto(x[1:], x[:-1]) or x",
    ],
)
cases(
    M,
    texts=[
        "x.T",
        "x.T @ x",
        "np.transpose(x) * 2",
        "np.ravel(x, 'F')",
        "x.T.ravel() * x.flatten()",
        "np.matrix_transpose(x) if hasattr(np, 'matrix_transpose') else x.T",
        "x.mT",
        "np.fliplr(x) * np.flipud(x)",
        "np.flip(x, axis=1)",
        "np.rot90(x)",
        "np.rot90(x, -1, (1, 0))",
        "np.triu(x)",
        "np.tril(x, -1)",
        "np.triu(x, 1)",
        "np.diag(x)",
        "np.diagonal(x, 1)",
        "np.trace(x)",
        "np.trace(x, 1)",
        "x.trace() * x.diagonal()",
        "np.repeat(x, 2, axis=0)",
        "np.atleast_1d(x[0, 0])",
        "np.atleast_3d(x)",
        "np.atleast_2d(x[0], 3)[0]",
        "np.squeeze(x[:1])",
        "np.squeeze(x[None, :, None], axis=(0, 2))",
        "np.roll(x, 2)",
        "np.roll(x, -1, axis=1)",
        "np.take(x, [2, 0], axis=1)",
        "np.take(x, 1, axis=0)",
        "np.delete(x, 1, axis=-1)",
        "np.take_along_axis(x, np.argsort(x, axis=1), axis=1)",
        "np.compress([False, True], x, axis=0)",
        "np.array_split(x, 2, axis=1)[0]",
        "np.var(x, axis=0, ddof=1)",
        "np.cov(x)",
        "np.cov(x.T, rowvar=False, aweights=[1, 2, 3])",
        "np.corrcoef(x, rowvar=False)" if False else "np.cov(x, fweights=[1, 2, 1])",
        "x[::-1, ::-1].T.sum(axis=1)",
        "np.asfortranarray(np.zeros((2, 3))) + x",
        "np.linalg.norm(x)",
        "np.linalg.norm(x, 'fro')",
        "np.linalg.norm(x, 1) + np.linalg.norm(x, -1)",
        "np.linalg.norm(x, np.inf) + np.linalg.norm(x, -np.inf)",
        "np.linalg.norm(x, axis=1)",
        "np.linalg.norm(x, axis=-1, keepdims=True)",
        "np.linalg.norm(x, 3, axis=0)",
        "np.linalg.norm(x, 'fro', axis=(0, 1), keepdims=True)",
        "np.linalg.norm(x, 2)",
        "np.linalg.norm(x, -2)",
        "np.linalg.norm(x, 'nuc')",
        "np.linalg.norm(x, keepdims=True)",
        "np.linalg.vector_norm(x)",
        "np.linalg.vector_norm(x, axis=1, ord=3)",
        "np.linalg.vector_norm(x, axis=(0, 1), keepdims=True)",
        "np.linalg.matrix_norm(x)",
        "np.linalg.matrix_norm(x, ord=1, keepdims=True)",
        "np.linalg.svd(x, compute_uv=False)",
        "np.linalg.svd(x)[0]",
        "np.linalg.svd(x.T, full_matrices=False)[0] @ np.linalg.svd(x, False).S",
        "np.linalg.svd(x, full_matrices=False).Vh",
        "np.linalg.svdvals(x)",
        "np.linalg.pinv(x)",
        "np.linalg.pinv(x.T)",
        "np.linalg.lstsq(x.T, [1.0, 2, 3], rcond=None)[0]",
        "np.linalg.lstsq(x.T, x.T**2, rcond=None)[0]",
        "np.linalg.qr(x)[0]",
        "np.linalg.qr(x)[1]",
        "np.linalg.qr(x, mode='r')",
        "np.linalg.qr(x.T)[0]",
        "np.linalg.qr(x.T)[1]",
        "np.linalg.qr(x.T, mode='r')",
        "np.linalg.tensorinv((x @ x.T)[None], 2)",
        "np.linalg.tensorsolve((x @ x.T)[:, None], x[:, :1])",
        "np.linalg.tensorsolve(np.stack([x[:, :2]], 1), x[:, 2] ** 2, axes=(1,))",
    ],
)
cases(
    X,
    texts=[
        "np.linalg.norm(x)",
        "np.linalg.norm(x, 1)",
        "np.linalg.norm(x, 2)",
        "np.linalg.norm(x, 3)",
        "np.linalg.norm(x, 0.5)",
        "np.linalg.norm(x, np.inf)",
        "np.linalg.norm(x, -np.inf)",
        "np.linalg.norm(x, 0) * x",
        "np.linalg.norm(x, -1)",
        "np.linalg.norm(x.reshape(2, 1, 2))",
        "np.linalg.norm(list(x))",
        "np.linalg.norm([x[0], 3.0], ord=1)",
        "np.linalg.outer(x, x)",
        "np.linalg.vecdot(x, x[::-1])",
        "np.polyfit([0.0, 1.0, 2.0, 3.0], x, 1)",
    ],
)
cases(
    T,
    texts=[
        "np.swapaxes(x, 0, -1)",
        "np.moveaxis(x, 0, -1)",
        "np.moveaxis(x, [0, 1], [2, 0])",
        "np.rollaxis(x, 2)",
        "np.transpose(x, (2, 0, 1))",
        "np.permute_dims(x, (1, 2, 0))" if hasattr(np, "permute_dims") else "x",
        "x.transpose(1, 0, 2) * x.transpose((1, 0, 2))",
        "x.swapaxes(1, 2)",
        "np.diagonal(x, 0, 0, 1)",
        "np.trace(x, axis1=1, axis2=2)",
        "np.diagonal(x, axis1=-2, axis2=-1)",
        "np.dsplit(x, 3)[1]",
        "np.triu(x)",
        "np.flip(x, (0, 2))",
        "np.cumsum(x, axis=1)",
        "np.cumprod(x, axis=2)",
        "np.sort(x, axis=1)",
        "np.diff(x, axis=-1)",
        "np.linalg.diagonal(x)",
        "np.linalg.trace(x)",
        "np.linalg.norm(x, axis=(1, 2))",
        "np.linalg.norm(x, 1, axis=(2, 0))",
        "np.linalg.norm(x, 2, axis=(0, 2))",
        "np.einsum('...ij->...ji', x)",
        "np.quantile(x, 0.4, axis=(0, 2))",
        "np.median(x, axis=(0, 1), keepdims=True)",
    ],
)

# Products
cases(
    M,
    N,
    texts=[
        "x @ y.T",
        "np.matmul(x.T, y)",
        "np.dot(x, y.T)",
        "x.dot(y.T)",
        "np.inner(x, y)",
        "np.vdot(x, y)",
        "np.outer(x, y[0])",
        "np.tensordot(x, y) * 1.0",
        "np.tensordot(x, y, 0)",
        "np.tensordot(x, y, axes=([1], [1]))",
        "np.tensordot(x, y, axes=(0, 0))",
        "np.tensordot(x, y.T, axes=1)",
        "np.tensordot(x, y, axes=[[0, 1], [0, 1]]) * 1.0",
        "np.tensordot(x, y, axes=([-1, 0], [1, -2])) * 1.0",
        "np.kron(x, y)",
        "np.kron(x[0], y)",
        "np.cross(x, y)",
        "np.cross(x.T, y.T, axis=0)",
        "np.cross(x, y, axisa=1, axisb=1, axisc=0)",
        "np.linalg.cross(x, y)",
        "np.cross(x, [1, 2, 3])",
        "np.einsum('ij,ij', x, y)",
        "np.einsum('ij,kj->ik', x, y)",
        "np.einsum('ij,kj', x, y)",
        "np.einsum('ij,ij->i', x, y)",
        "np.einsum('ij,ij->ji', x, y)",
        "np.einsum('ij,kl->', x, y)",
        "np.einsum('ij,ik,il->jkl', x, y, x)",
        "np.einsum('...j,...j->...', x, y)",
        "np.einsum('i...,i...->...', x, y)",
        "np.einsum('i...,ij', x, y)",
        "np.einsum('ij,j->i', x, [1, 2, 3])",
        "np.einsum(x, [0, 1], y, [2, 1], [0, 2])",
        "np.einsum(x, [0, 1], y, [0, 1])",
        "np.einsum('ij,kj->ik', x, y, optimize=True)",
        "np.einsum(' i j , k j -> i k ', x, y)",
        "np.einsum('ij,j->i', x, y[:1, 0] * [1.0, 2, 3])",
        "np.vecdot(x, y)",
        "np.vecdot(x, y, axis=0)",
        "np.matvec(x, y[0])" if hasattr(np, "matvec") else "x @ y[0]",
        "np.vecmat(x[:, 0], y)" if hasattr(np, "matvec") else "x[:, 0] @ y",
        "np.linalg.matmul(x, y.T)",
        "np.linalg.tensordot(x, y, axes=2) * 1.0",
        "np.linalg.vecdot(x, y, axis=-1)",
        "np.linalg.multi_dot([x, y.T, x, y[0]])",
        "x[:, ::-1] @ y[::-1].T",
        "np.matmul(x, y.T, out=np.zeros_like(x)[:, :2])",
        "x @ [[1], [2], [3]]",
        "[1, 2] @ x + y",
    ],
)
cases(
    Q,
    texts=[
        "np.einsum('ii', x)",
        "np.einsum('ii->i', x)",
        "np.einsum('ii->', x)",
        "np.einsum('ij->j', x)",
        "np.einsum('ij->', x)",
        "np.einsum('ji', x)",
        "np.einsum('ij->ji', x)",
        "np.einsum('ii,jj->', x, x)",
        "np.einsum('ii,ij->j', x, x)",
        "np.einsum('...ii->...i', x)",
        "np.linalg.inv(x)",
        "np.linalg.inv(x.T)",
        "np.linalg.det(x)",
        "np.linalg.slogdet(x)[1]",
        "np.linalg.slogdet(x).sign * x",
        "np.linalg.solve(x, [1, 2, 3])",
        "np.linalg.solve(x, x**2)",
        "np.linalg.solve(x, x[0])",
        "np.linalg.solve([[1, 2, 0], [0, 1, 3], [1, 0, 1]], x)",
        "np.linalg.cholesky(x @ x.T + np.eye(3))",
        "np.linalg.matrix_power(x, 3)",
        "np.linalg.matrix_power(x, -2)",
        "np.linalg.matrix_power(x, 0) + x",
        "np.linalg.eigvalsh(x + x.T)",
        "np.linalg.eigvalsh(x)",
        "np.linalg.eigh(x + x.T)[0]",
        "np.linalg.eigh(x + x.T)[1] ** 2",
        "np.linalg.cond(x)",
        "np.linalg.cond(x, 1)",
        "np.linalg.matrix_rank(x) * x",
        "np.linalg.pinv(x)",
        "np.linalg.qr(x)[1]",
        "x @ x @ x",
        "x[0] @ x @ x[:, 0]",
    ],
)
cases(
    SPD,
    texts=["np.linalg.cholesky(x)", "np.linalg.cholesky(x, upper=True)", "np.linalg.cholesky(np.tril(x) + 0 * x.T)"],
)
cases(
    BATCH,
    texts=[
        "np.linalg.inv(x)[1]",
        "np.linalg.det(x)",
        "np.linalg.slogdet(x)[1]",
        "np.linalg.slogdet(x).logabsdet",
        "np.linalg.solve(x, x[0])[:, 0]",
        "np.linalg.solve(x, [1.0, 2, 3])",
        "np.linalg.solve(x[0], x[1])",
        "np.linalg.cholesky(x @ x.mT + np.eye(3))[0]",
        "np.linalg.eigvalsh(x)",
        "np.linalg.svdvals(x)",
        "np.linalg.norm(x, 2, axis=(1, 2))",
        "np.einsum('bii->b', x)",
        "np.einsum('bij,jk,bkl->il', x, x[0], x)",
        "np.einsum('...ij,...j', x, x[:, 0])",
        "(x @ x[0])[1]",
        "(x[0] @ x)[0]",
        "x[0, 0] @ x",
        "x @ x[0, 0]",
        "x[:, None] @ x[:1, 0, :, None]",
        "np.dot(x[0, 0], x)",
        "np.dot(x, x[0])[0]",
        "np.dot(x[0], x)[0]",
        "np.inner(x, x[0, 0])",
        "np.tensordot(x, x[0], axes=([2, 1], [0, 1]))",
        "np.matmul(x[:, :1], x[:, :, :1])",
    ],
)
# numbers, lists and arrays together
cases(
    0.45,
    X,
    texts=[
        "x * y",
        "np.sin(x) * np.sum(y)",
        "np.array([x, 2.0, x * x])",
        "np.array([[x, 1], [y[0], 3]]) @ [1, 2]",
        "np.array(x) * y",
        "np.add(x, y)",
        "np.dot(x, y)",
        "np.dot(y, [x, 1, 2, 3])",
        "np.outer([x, 1], y)",
        "np.where(y > 0, x, y)",
        "np.maximum(x, y)",
        "np.concatenate([y, [x]])",
        "np.stack([x, *y])",
        "np.hstack([x, y])",
        "np.full_like(y, x)",
        "np.clip(y, -x, x)",
        "np.sum([x, x**2, 1]) * y",
        "np.prod((x, 2, x))",
        "np.einsum('i,->i', y, x)",
        "np.linspace(x, y[0], 3)",
        "np.ones_like(x) * x + np.zeros_like(x)",
        "np.square(x) * np.max([x, y[2]])",
        "np.linalg.norm([x, y[0]])",
        "np.arange(3) * x",
        "np.float64(2.0) * x + x / np.int64(3)",
        "np.array([1, 2]) * x + np.array([True, False]) / x",
        "np.expand_dims(x, 0) * y",
        "np.shape(x) == () and x * y",
        "np.ndim(y) * x + np.size(y)",
        "np.polyval([x, 1, 2], y)",
        "np.polyval(y, x)",
        "np.interp(x, [0, 1, 2, 3], y)",
        "np.sum(x) * np.mean(x) * np.max(x) + np.ravel(x)[0] * np.reshape(x, (1, 1))",
        "np.tile(x, 3) * np.repeat(x, 3)",
    ],
)
cases(
    np.array(0.7),
    texts=[
        "np.sin(x) * x",
        "np.tensordot(np.stack([x, 1.0]), np.stack([x, x]), 1)",
        "np.sum(x) + x.item() * x[()]",
        "x * np.ones(2)",
    ],
)
cases(
    np.array([[0.5, 1.25], [-0.75, 2.0]], dtype=np.float32),
    np.float32(0.5),
    texts=[
        "np.sin(x) @ x * y",
        "np.sum(x, axis=0) / y",
        "np.linalg.inv(x) + np.cumprod(x, axis=1)",
        "y**2 * x[::-1].T",
    ],
)
cases(
    X[::-2],
    np.asfortranarray(M)[:, ::-1],
    texts=["np.outer(x, y[0, :2])", "y @ y.T * x", "np.ravel(y) * np.sum(x)", "y.T.reshape(-1) * np.prod(x)"],
)
# assignment
ASSIGNED = {
    "x[0] = x[1]": X,
    "x[1:] = x[:-1]": X,
    "x[:-1] = x[1:]": X,
    "x[::-1] = x": X,
    "x[::2] *= x[1::2]": X,
    "x += x[::-1]": X,
    "x **= 2": X,
    "x /= x[0]": X,
    "x @= x": Q,
    "x[[0, 2]] = x[[2, 0]]": X,
    "x[[0, 0, 1]] += 1.0": X,
    "x[x > 0] = x[x > 0] ** 2": X,
    "x[x < 0] = 0": X,
    "x[:] = 3 * x": X,
    "x[...] = x[0]": X,
    "x[None, 1] = 5": X,
    "x[1] = x[0] * 2": M,
    "x[:, 1] -= x[:, 0]": M,
    "x[:, [0, 2]] = x[:, [2, 0]]": M,
    "x[[0, 1], [1, 2]] = x[0, 0]": M,
    "x.T[0] = x[0, :2]": M,
    "x.reshape(-1)[1:4] = x[0]": M,
    "x.ravel()[::2] *= 2": M,
    "np.add.at(x, [0, 0, 1], x[:3])": X,
    "np.subtract.at(x, [0, 0, 1], 2.0)": X,
    "np.multiply.at(x, [0, 1], x[2])": X,
    "np.add(x, x, out=x)": X,
    "np.sin(x[:2], out=x[2:])": X,
    "np.multiply(x, 2, out=x, where=x > 0)": X,
    "x.sort()": X,
    "x.fill(x[0])": X,
    "x.diagonal()[:1]": M,
    "x[-1, ..., 0] = x[0, ..., 1]": T,
    "x[:, 0] = x[:, 1].T.T": T,
    "x[np.ix_([0, 1], [0, 2])] = 1.5": M,
    "x[np.array([[True, False, True], [False, True, False]])] *= x[0, 0]": M,
}

PARAMETERS = ("x", "y", "z")


def function(text, primals):
    names = {"np": np, "dr": dr}
    given = zip(PARAMETERS, primals, strict=False)
    copies = "; ".join(f"{p} = {p}.copy()" for p, x in given if isinstance(x, np.ndarray))
    source = f"def f({', '.join(PARAMETERS[: len(primals)])}):\n  {copies or 'pass'}\n  return {text}"
    exec(source, names)
    return names["f"]


def assignment(text):
    names = {"np": np}
    exec(f"def f(x):\n  x = x * 1.0\n  {text}\n  return x * np.arange(1.0, x.size + 1).reshape(x.shape)", names)
    return names["f"]


EVERY = [pytest.param(function(text, primals), primals, id=text) for text, primals in CASES]
EVERY += [pytest.param(assignment(text), (x,), id=text) for text, x in ASSIGNED.items()]
# numpy 2.5 deprecates np.fix
pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
every_case = pytest.mark.parametrize(("f", "primals"), EVERY)


@every_case
def test_the_derivative_is_that_of_differences(f, primals):
    check_vjp(dr.vjp, f, *primals, rtol=1e-7)


@every_case
def test_the_second_derivative_is_that_of_differences(f, primals):
    check_order_2(dr.vjp, f, *primals, rtol=1e-6)


@every_case
def test_forward_mode_is_the_transpose_of_reverse_mode(f, primals):
    check_transpose(f, *primals)
    assert_same(dr.jvp(f, primals, direction(primals))[0], dr.vjp(f, *primals)[0])


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x, z: x / z, np.inf),
        (lambda x, z: x // z, 0.0),
        (lambda x, z: x % z, 1.0),
        (lambda x, z: np.divide(x, z), np.inf),
        (lambda x, z: np.fmod(x, z), 1.0),
    ],
)
def test_an_array_is_divided_by_a_number_that_is_zero_as_in_numpy(f, slope):
    """By Python's zero, and by one that is differentiated in an outer derivative."""
    x = np.array([1.0, 2.0])
    y, pullback = dr.vjp(lambda x: f(x, 0.0), x)
    assert_same(y, f(x, 0.0))
    assert_same(pullback(np.ones(2))[0], np.full(2, slope))
    inner = dr.vjp(lambda z: dr.vjp(lambda x: f(x, z), x)[1](np.ones(2))[0], 0.0)[0]
    assert_same(inner, np.full(2, slope))


@pytest.mark.parametrize("triangle", ["L", "U", "u"])
@pytest.mark.parametrize("eig", [np.linalg.eigh, np.linalg.eigvalsh])
def test_eigenvectors_have_numpy_s_signs_for_either_triangle(eig, triangle):
    """LAPACK gives them others for the lower triangle than for the upper one."""
    a = np.random.default_rng(0).normal(size=(3, 3))
    assert np.sign(np.linalg.eigh(a.T, "L")[1][0, 0]) != np.sign(np.linalg.eigh(a, "U")[1][0, 0])
    for f in (lambda x: tuple(eig(x, triangle)), lambda x: tuple(eig(x, UPLO=triangle))):
        assert_same(dr.vjp(f, a)[0], f(a), rtol=1e-12, types=False)
        check_vjp(dr.vjp, f, a, rtol=1e-7)
        check_order_2(dr.vjp, f, a, rtol=1e-6)
    with pytest.raises(ValueError, match="UPLO"):
        dr.vjp(lambda x: eig(x, "X"), a)


# What is written on the tape


def written(f, *primals):
    """How many blocks and rows."""
    linear = engine.linearize(f, *primals)[1]._linear
    return len(linear.blocks), len(linear.rows)


@pytest.mark.parametrize(
    "f", [np.sum, np.prod, np.mean, np.max, np.cumsum, lambda x: x @ x, lambda x: np.sum(x, axis=0)]
)
def test_a_reduction_is_one_block(f):
    for n in (3, 300):
        assert written(f, np.linspace(0.5, 1.5, n)) == (1, 0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a @ a,
        lambda a: np.einsum("ij,kj->ik", a, a),
        lambda a: np.tensordot(a, a, 2),
        lambda a: np.dot(a, a[0]),
        lambda a: np.inner(a, a),
        lambda a: np.vdot(a, a),
        np.linalg.inv,
        np.linalg.det,
        lambda a: np.linalg.solve(a, a[0]),
        lambda a: np.stack([a, a]) @ a,
        lambda a: np.convolve(a[0], a[1]),
    ],
)
def test_a_product_of_matrices_is_one_block(f):
    for n in (3, 30):
        assert written(f, np.eye(n) * 2.0 + 0.1) == (1, 0)


@pytest.mark.parametrize("n", [3, 300])
def test_moving_elements_writes_nothing(n):
    def f(x):
        y = np.concatenate([x, x[::-1]]).reshape(2, -1).T
        y[0] = x[:2]
        y[:, 1] = y[::-1, 0]
        y = np.where(y > 0.7, y, np.roll(y, 1))
        z = np.zeros_like(y)
        z[...] = np.sort(y, axis=0)
        return np.pad(np.tile(z, 2), 1)[np.arange(n) % 3, 0:2]

    assert written(f, np.linspace(0.5, 1.5, n)) == (0, 0)


# Where there is no derivative, and where numbers are missing


KINKS = {
    "np.max(x)": ([1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
    "np.min(x, axis=0).sum()": ([[1.0, 2.0], [1.0, 3.0]], [[0.5, 1.0], [0.5, 0.0]]),
    "np.maximum(x, 1.0)[0]": ([1.0], [0.5]),
    "np.sort(x)[0]": ([2.0, 1.0, 1.0], [0.0, 1.0, 0.0]),
    "np.max(x) ": ([1.0, math.nan, 3.0], [0.0, 1.0, 0.0]),
    "np.sort(x)[2]": ([math.nan, 1.0, 3.0], [1.0, 0.0, 0.0]),
    "np.nansum(x)": ([math.nan, 1.0], [0.0, 1.0]),
    "np.nanmax(x)": ([math.nan, 1.0], [0.0, 1.0]),
    "np.sum(np.where(x > 0, np.sqrt(x), 0.0))": ([0.0, 4.0], [0.0, 0.25]),
    "np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0))": ([0.0, -4.0, 2.0], [0.0, 0.0, 0.5]),
    "np.sum(np.log(x, out=np.zeros_like(x), where=x > 0))": ([0.0, -4.0, 2.0], [0.0, 0.0, 0.5]),
    "np.sum(np.divide(1.0, x, out=np.zeros_like(x), where=x != 0))": ([0.0, 2.0], [0.0, -0.25]),
    "np.sum(np.clip(x, 0.0, 1.0))": ([0.0, 2.0, math.inf, -math.inf], [0.5, 0.0, 0.0, 0.0]),
    "np.prod(x)": ([0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "np.prod(x) ": ([0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "np.cumprod(x)[2]": ([2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "np.linalg.det(x)": ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    "np.linalg.det(x) ": ([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
    "np.sum(np.linalg.eigvalsh(x))": ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]),
    "np.var(x)": ([3.0], [0.0]),
    "np.std(x)": ([3.0, 3.0], [math.nan, math.nan]),
    "np.linalg.norm(x)": ([0.0, 0.0], [math.nan, math.nan]),
    "np.sum(x[:0])": ([1.0], [0.0]),
    "np.prod(x[:0])": ([1.0], [0.0]),
    "np.sum(np.max(x[:, None][:, :0], axis=1, initial=0.0))": ([1.0], [0.0]),
    "np.median(x)": ([1.0, math.inf, math.inf, 0.0], [0.5, 0.5, 0.0, 0.0]),
    "np.interp(x, [0.0, 1.0], [1.0, 3.0]).sum()": ([-1.0, 0.5, math.inf], [0.0, 2.0, 0.0]),
    "np.sinc(x).sum()": ([0.0], [0.0]),
}


@pytest.mark.parametrize("text", KINKS)
def test_kinks(text):
    x, expected = (np.array(part) for part in KINKS[text])
    f = function(text.strip(), (x,))
    with warnings.catch_warnings(record=True) as before:
        warnings.simplefilter("always")
        plain = f(x)
    with warnings.catch_warnings(record=True) as during:
        warnings.simplefilter("always")
        y, (ct,) = dr.value_and_grad(lambda x: f(x) + 0.0 * np.sum(x[:0]), argnums=(0,))(x)
    assert_same(y, float(plain), types=False)
    assert_same(ct, expected, rtol=1e-12)
    assert {str(w.message) for w in during} <= {str(w.message) for w in before}


EDGES = [(np.log, 0.0), (np.sqrt, -1.0), (np.exp, 1000.0), (lambda x: np.divide(1.0, x), 0.0)]


@pytest.mark.parametrize(("f", "x"), EDGES)
def test_an_array_without_axes_meets_the_edge_of_a_domain_as_in_numpy(f, x):
    with np.errstate(all="ignore"):
        assert_same(dr.vjp(f, np.array(x))[0], float(f(x)))


@pytest.mark.parametrize(("f", "x"), EDGES)
def test_a_number_meets_the_edge_of_a_domain_as_in_numpy(f, x):
    with np.errstate(all="ignore"):
        assert_same(dr.vjp(f, x)[0], float(f(x)))


@pytest.mark.parametrize("f", [lambda x: np.var(x, ddof=1), lambda x: np.var(x[:0]), lambda x: np.nanstd(x * math.nan)])
def test_without_degrees_of_freedom_a_variance_is_nan_with_numpy_s_warning(f):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")  # of an empty array, numpy gives two more
        y, _ = dr.vjp(f, np.array([3.0]))
    assert any(str(w.message).startswith("Degrees of freedom <= 0") for w in found)
    assert_same(y, math.nan)


def test_empty_and_zero_dimensional_results():
    y, pullback = dr.vjp(lambda x: (np.sin(x[:0]), x[None][:0] @ x[:, None], x), X)
    assert y[0].shape == (0,)
    assert y[1].shape == (0, 1)
    assert_same(pullback(y)[0], X)


# Random programs: the same statements on plain floats

SLICES = ["1:", ":-1", "::2", "::-1", "1:3", ":", "-3:", "::-2", "2:2", "...", "None, :2"]
PLACES = [*SLICES, "[0, 2]", "[2, 0, 2]", "a > 0.3", "a < b", "np.arange(3)", "1", "-1"]
VALUES = [
    "b",
    "a * b",
    "np.sin(a)",
    "a[::-1]",
    "np.maximum(a, b)",
    "np.cumsum(b)",
    "a + np.mean(b)",
    "np.where(a > b, a, b)",
]
VALUES += [
    "np.sort(a)",
    "np.roll(b, 1)",
    "a.reshape(2, 3).T.ravel()",
    "np.clip(a, -0.7, 0.9)",
    "np.abs(b)",
    "a * 0.5 + 1",
]
NUMBERS = ["0.25", "a[0]", "np.max(b)", "b[-1] * a[1]", "np.sum(a)", "np.prod(b[:2])", "np.dot(a, b)", "c[0, 1]"]
STATEMENTS = st.one_of(
    st.sampled_from([f"{u}[1:] = {u}[:-1]" for u in "ab"] + [f"{u}[:-1] = {u}[1:]" for u in "ab"] + ["b[:] = a[::-1]"]),
    st.sampled_from(
        ["c[0] = c[1]", "c.T[1] = c.T[0]", "c[:, ::-1] = c", "c *= b[:3]", "c += c.mean(axis=0)", "c[c > 1] = a[0]"]
    ),
    st.sampled_from(
        ["a, b = b, a", "c = a.reshape(2, 3)", "c = b.reshape(3, 2).T", "c = np.stack([a[:3], b[3:]])", "b = a[:]"]
    ),
    st.builds("{} = {}".format, st.sampled_from("ab"), st.sampled_from(VALUES)),
    st.builds(
        "{}[{}] {}= {}".format,
        st.sampled_from("ab"),
        st.sampled_from(PLACES),
        st.sampled_from(["", "+", "*"]),
        st.sampled_from(NUMBERS),
    ),
    st.builds(
        "{0}[{1}] {2}= {3}[{1}]".format,
        st.sampled_from("ab"),
        st.sampled_from(SLICES),
        st.sampled_from(["", "-"]),
        st.sampled_from("ab"),
    ),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(STATEMENTS, min_size=3, max_size=9))
def test_random_programs(statements):
    source = "\n  ".join(
        ["def f(a, b):", "a, b = a * 1.0, b * 1.0", "c = a.reshape(2, 3)", *statements, "return a, b, c"]
    )
    names = {"np": np}
    exec(source, names)
    a = np.array([0.31, -0.57, 0.83, 1.13, -0.29, 0.71])
    b = np.array([0.47, 0.89, -0.37, 0.17, 1.07, -0.61])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = names["f"](a, b)
    if max(abs(u) for u in flat(expected)) > 50.0:
        return
    y, _ = dr.vjp(names["f"], a, b)
    assert_same(y, expected, rtol=1e-12)
    v = tuple(np.random.default_rng(1).uniform(0.5, 1.0, 6) for _ in range(2))
    h = 1e-7
    up, down = (np.array(flat(names["f"](a + s * v[0], b + s * v[1]))) for s in (h, -h))
    _, dy = dr.jvp(names["f"], (a, b), v)
    kinked = np.abs(up + down - 2.0 * np.array(flat(expected))) > 1e-9 * (1.0 + np.abs(up))
    found = np.where(kinked, 0.0, np.array(flat(dy)))
    slopes = np.where(kinked, 0.0, (up - down) / (2.0 * h))
    assert np.allclose(found, slopes, rtol=1e-5, atol=1e-5 * (1.0 + np.abs(slopes).max()))
    check_transpose(names["f"], a, b)


def check_transpose(f, *primals):
    y, pullback = dr.vjp(f, *primals)
    v, ct = direction(primals), direction(y, seed=1)
    _, dy = dr.jvp(f, primals, v)
    terms = [c * d for c, d in zip(flat(ct), flat(dy), strict=True)]
    mirror = [c * d for c, d in zip(flat(pullback(ct)), flat(v), strict=True)]
    rounding = 1e-6 if any(getattr(x, "dtype", float) == np.float32 for x in primals) else 1e-12  # the cotangents'
    size = max(map(abs, [*terms, *mirror]))
    assert_same(math.fsum(terms), math.fsum(mirror), rtol=1e-9, floor=rounding * size)


def test_interpolation_at_a_number_outside_is_a_number():
    y, dy = dr.jvp(lambda x: np.interp(x, [0.0, 1.0], [1.0, 3.0]), (5.0,), (1.0,))
    assert (type(y), y, type(dy), dy) == (float, 3.0, float, 0.0)


@pytest.mark.parametrize("given", [(np.inf, 0.0, 3), (1.0, 3.0, 1), (0.1, 0.7, 7, False), (2.0, 2.0, 3)])
def test_linspace_has_numpy_s_values(given):
    """linspace has numpy's values: by (1 - t) * x + t * y, the first element would be infinite where numpy's is NaN."""
    start, *rest = given
    with np.errstate(invalid="ignore"):
        value = dr.value_and_grad(lambda x: (x * 0.0, np.linspace(x, *rest)), has_aux=True)(start)[0][1]
        expected = np.linspace(*given)
    np.testing.assert_array_equal(value, expected)


def test_the_last_element_of_linspace_is_stop():
    x = np.array([0.3, 0.7])
    np.testing.assert_array_equal(dr.grad(lambda x: np.linspace(x[0], x[1], 7)[-1])(x), [0.0, 1.0])
