"""Functions of numpy, by the headings of numba's page "Supported NumPy features"."""

FEATURES = {
    "Joining, moving, choosing": """
# np.append
np.sum(np.append(a, c) ** 2) + np.sum(np.append(a, x))
# np.concatenate
np.sum(np.concatenate((a, c)) ** 2)
# np.concatenate along an axis
np.sum(np.concatenate((m, m * x), axis=1) ** 2)
# np.stack, hstack, vstack, dstack, column_stack, row_stack
s = np.sum(np.stack((a, c)) ** 2) + np.sum(np.hstack((a, c)) * x)
s + np.sum(np.vstack((a, c)) * x) + np.sum(np.column_stack((a, c)) * x) + np.sum(np.dstack((a, c)) * x)
# np.split
u, v = np.split(a[:4], 2)
np.sum(u * v)
# np.array_split
np.sum(np.array_split(a, 2)[0] * x)
# np.hsplit, vsplit
np.sum(np.vsplit(m[:2], 2)[0] * x)
# np.reshape, np.ravel
np.sum(np.reshape(m, 9) * np.ravel(m))
# np.resize
np.sum(np.resize(a, 7) ** 2)
# np.expand_dims
np.sum(np.expand_dims(a, 1) * x)
# np.atleast_1d, 2d, 3d
np.sum(np.atleast_1d(a) * x) + np.sum(np.atleast_2d(a) * x) + np.sum(np.atleast_3d(a) * y)
# np.transpose
np.sum(np.transpose(m) @ a[:3]) + np.sum(np.transpose(cube, (2, 0, 1))[0] * x)
# np.moveaxis, np.swapaxes, np.rollaxis
np.sum(np.moveaxis(cube, 0, 2)[0] * x) + np.sum(np.swapaxes(cube, 0, 1)[0] * x)
# np.flip, fliplr, flipud
np.sum(np.flip(a) * a) + np.sum(np.fliplr(m) * m) + np.sum(np.flipud(m) * m)
# np.rot90
np.sum(np.rot90(m) * m)
# np.roll
np.sum(np.roll(a, 2) * a)
# np.repeat
np.sum(np.repeat(a, 2) ** 2) + np.sum(np.repeat(a, np.array([1, 0, 2, 1, 1])) * x)
# np.broadcast_to
np.sum(np.broadcast_to(a, (2, 5)) * x)
# np.broadcast_arrays
np.sum(np.broadcast_arrays(a, np.array([x]))[0] * x)
# np.broadcast_shapes
x * np.broadcast_shapes((2, 1), (3,))[1]
# np.take
np.sum(np.take(a, places) * x) + np.take(a, 2)
# np.take_along_axis
np.sum(np.take_along_axis(m, np.argsort(m[0]).reshape(1, 3), 0) * x)
# np.delete
np.sum(np.delete(a, 2) ** 2)
# np.extract
np.sum(np.extract(a > 0.4, a) * x)
# np.where of a condition
np.sum(a[np.where(a > 0.4)] * x)
# np.where of three
np.sum(np.where(a > 0.4, a * x, c))
# np.where of numbers
np.sum(np.where(mask, x, y))
# np.select
np.sum(np.select([a > 1.0, a > 0.4], [a * x, c]))
# np.clip
np.sum(np.clip(a, 0.4, 1.6) * x)
# np.clip by arrays
np.sum(np.clip(a, c - 1.0, c) * x)
# np.trim_zeros
np.sum(np.trim_zeros(a) * x)
# np.fill_diagonal
np.fill_diagonal(m, x)
np.sum(m * m)
# np.union1d, intersect1d, setdiff1d, setxor1d, isin of ints
s = len(np.union1d(places, counts)) + len(np.intersect1d(places, counts)) + len(np.setdiff1d(places, counts))
x * (s + len(np.setxor1d(places, counts)) + np.sum(np.isin(places, counts)))
# np.unique
np.sum(np.unique(a) * x)
# np.lib.stride_tricks.as_strided
np.sum(as_strided(a, (2, 2), (8, 8)) ** 2)
# np.lib.stride_tricks.sliding_window_view
np.sum(sliding_window_view(a, 3) ** 2)
""",
    "Reductions and statistics": """
# np.sum, np.prod
np.sum(a) * np.prod(a)
# np.sum along an axis
np.sum(np.sum(m, 0) * np.sum(m, axis=1))
# np.sum with keepdims
np.sum(m.sum(axis=1) * x)
# np.cumsum, np.cumprod
np.cumsum(a)[3] * np.cumprod(a)[3]
# np.mean, np.average
np.mean(a) * np.average(c) + np.average(a, weights=c)
# np.var, np.std
np.var(a) + np.std(m)
# np.min, np.max, np.amin, np.amax
np.min(a) * np.max(a) + np.amin(m) * np.amax(m)
# np.ptp
np.ptp(a) * x
# np.median
np.median(a) * x
# np.percentile, np.quantile
np.percentile(a, 30.0) + np.quantile(a, 0.6) + np.sum(np.quantile(a, np.array([0.2, 0.7])))
# np.nansum, nanprod, nanmean, nanvar, nanstd
np.nansum(a) * np.nanprod(a) + np.nanmean(a) + np.nanvar(a) * np.nanstd(a)
# np.nanmin, nanmax, nanmedian
np.nanmin(a) * np.nanmax(a) + np.nanmedian(a)
# np.nanpercentile, nanquantile
np.nanpercentile(a, 30.0) + np.nanquantile(a, 0.6)
# np.nancumsum, nancumprod
np.nancumsum(a)[3] * np.nancumprod(a)[3]
# np.all, np.any
x if np.all(mask) or np.any(mask) else y
# np.argmax, np.argmin
x * np.argmax(a) + y * np.argmin(a)
# np.argmax along an axis
x * np.argmax(m, axis=0)[0]
# np.nanargmax, nanargmin
x * np.nanargmax(a) + y * np.nanargmin(a)
# np.count_nonzero
x * np.count_nonzero(a)
# np.cov, np.corrcoef
np.sum(np.cov(m) * x) + np.corrcoef(a, c)[0, 1]
# np.histogram
u, v = np.histogram(a, 3, (-1.0, 3.0))
x * u[1]
# np.bincount
x * np.bincount(counts)[1]
# np.bincount with weights
np.bincount(counts, weights=c[:4])[1] * x
# np.digitize, np.searchsorted
x * np.digitize(a, np.sort(c))[1] + x * np.searchsorted(np.sort(a), 0.4)
# np.searchsorted of an array
x * np.searchsorted(np.sort(a), c)[1]
# np.sort, argsort
np.sum(np.sort(a) * c) + np.argsort(a)[1] * x
# np.partition, argpartition
np.sum(np.partition(a, 2)[:2]) + np.argpartition(a, 2)[2] * x
# np.flatnonzero, np.nonzero, np.argwhere
x * np.flatnonzero(mask)[1] + x * np.nonzero(mask)[0][1] + x * np.argwhere(mask)[1, 0]
# np.array_equal, allclose, isclose
x if np.array_equal(a, a) and np.allclose(a, a) and np.isclose(x, x) else y
# np.iscomplex, isreal
x if np.isreal(a)[0] and not np.iscomplex(a)[0] else y
# np.shape, np.size
x * np.shape(m)[0] + y * np.size(m)
# np.finfo, np.iinfo
x * np.finfo(np.float64).eps + x * np.iinfo(np.int64).bits
# np.isscalar
x if np.isscalar(x) else y
# np.isrealobj, iscomplexobj
x if np.isrealobj(a) and not np.iscomplexobj(a) else y
""",
    "Numerics": """
# np.diff, np.ediff1d
np.sum(np.diff(a) ** 2) + np.sum(np.ediff1d(a) ** 2)
# np.diff of order two
np.sum(np.diff(a, 2) ** 2)
# np.trapezoid
np.trapezoid(a, np.sort(c)) + np.trapezoid(a, dx=0.5)
# np.interp
np.interp(x, np.sort(c), a) + np.sum(np.interp(a, np.sort(c), a))
# np.convolve, np.correlate
np.sum(np.convolve(a, c) ** 2) + np.sum(np.correlate(a, c) ** 2)
# np.convolve, same
np.sum(np.convolve(a, c, "same") ** 2)
# np.cross
np.sum(np.cross(a[:3], c[:3]) * x)
# cross2d
extensions.cross2d(a[:2], c[:2]) * x
# np.kron, np.outer
np.sum(np.kron(m, m) * x) + np.sum(np.outer(a, c) ** 2)
# np.dot, np.vdot, @
np.dot(a, c) + np.vdot(a, c) + a @ c + np.sum(m @ m) + np.sum(np.dot(m, a[:3]))
# np.dot into an array
np.dot(m, m, m.copy())[0, 1] * x
# np.trace
np.trace(m) * x
# np.nan_to_num
np.sum(np.nan_to_num(a) * x)
# np.sinc
np.sum(np.sinc(a))
# np.angle
x * np.angle(y)
# np.around, np.round
np.sum(np.around(a, 1) * x)
# np.round of numbers
x * np.round(y) + x * np.round(y, 1)
# np.bartlett, blackman, hamming, hanning, kaiser
np.sum((np.bartlett(5) + np.blackman(5) + np.hamming(5) + np.hanning(5) + np.kaiser(5, 2.0)) * a)
# np.polynomial.polynomial.polyadd
np.sum(np.polynomial.polynomial.polyadd(a, c) * x)
# np.polynomial.polynomial.polyval
np.polynomial.polynomial.polyval(x, a) * y
# np.polynomial: polymul, polysub
np.sum(np.polynomial.polynomial.polymul(a, c)) + np.sum(np.polynomial.polynomial.polysub(a, c) ** 2)
# np.logical_and of numbers
x if np.logical_and(k > 1, n > 1) else y
""",
    "Linear algebra": """
# np.linalg.cholesky
np.sum(np.linalg.cholesky(m @ m.T + np.eye(3)) * x)
# np.linalg.cond
np.linalg.cond(m) * x
# np.linalg.det, slogdet
np.linalg.det(m) * x + np.linalg.slogdet(m)[1]
# np.linalg.eig
np.sum(np.linalg.eig(m @ m.T)[0].real ** 2)
# np.linalg.eigh, eigvalsh
np.sum(np.linalg.eigvalsh(m @ m.T) ** 2)
# np.linalg.eigvals
np.sum(np.linalg.eigvals(m @ m.T).real ** 2)
# np.linalg.inv
np.sum(np.linalg.inv(m) ** 2)
# np.linalg.lstsq
np.sum(np.linalg.lstsq(m, a[:3])[0] ** 2)
# np.linalg.matrix_power
np.sum(np.linalg.matrix_power(m, 3))
# np.linalg.matrix_rank
x * np.linalg.matrix_rank(m)
# np.linalg.norm of a vector
np.linalg.norm(a) * x
# np.linalg.norm of a matrix
np.linalg.norm(m) * x
# np.linalg.norm of another order
np.linalg.norm(a, 1) + np.linalg.norm(a, np.inf)
# np.linalg.pinv
np.sum(np.linalg.pinv(m) ** 2)
# np.linalg.qr
np.sum(np.abs(np.linalg.qr(m)[1]))
# np.linalg.solve
np.sum(np.linalg.solve(m, a[:3]) ** 2)
# np.linalg.svd
np.sum(np.linalg.svd(m)[1] ** 3)
""",
    "Ufuncs": """
# add, subtract, multiply, divide, negative, positive
np.sum(np.add(a, c) * np.subtract(a, x) * np.multiply(a, y) / np.divide(c, 2.0) + np.negative(a) + np.positive(a))
# true_divide, floor_divide, remainder, mod, fmod, divmod
np.sum(np.true_divide(a, c) + np.floor_divide(a, 0.33) + np.remainder(a, 0.33) + np.mod(a, 0.33) + np.fmod(a, 0.33))
# power, float_power, square, sqrt, cbrt, reciprocal
s = np.power(a, 2) + np.float_power(a, 3) + np.square(a)
np.sum(s + np.sqrt(a * a) + np.cbrt(a) + np.reciprocal(a))
# exp, exp2, expm1, log, log2, log10, log1p
s = np.exp(a) + np.exp2(a) + np.expm1(a) + np.log(a * a)
np.sum(s + np.log2(a * a) + np.log10(a * a) + np.log1p(a * a))
# logaddexp
np.sum(np.logaddexp(a, c))
# absolute, fabs, sign, rint
np.sum(np.absolute(a) + np.fabs(a) + np.sign(a) + np.rint(a * 1.3))
# sin, cos, tan, arcsin, arccos, arctan, arctan2, hypot
s = np.sin(a) + np.cos(a) + np.tan(a) + np.arcsin(a * 0.3) + np.arccos(a * 0.3)
np.sum(s + np.arctan(a) + np.arctan2(a, c) + np.hypot(a, c))
# sinh, cosh, tanh, arcsinh, arccosh, arctanh
np.sum(np.sinh(a) + np.cosh(a) + np.tanh(a) + np.arcsinh(a) + np.arccosh(a * a + 1.5) + np.arctanh(a * 0.3))
# deg2rad, rad2deg, degrees, radians
np.sum(np.deg2rad(a) + np.rad2deg(a) + np.degrees(a) + np.radians(a))
# maximum, minimum
np.sum(np.maximum(a, c) * np.minimum(a, x))
# fmax, fmin
np.sum(np.fmax(a, c) * np.fmin(a, x))
# floor, ceil, trunc
np.sum((np.floor(a) + np.ceil(a) + np.trunc(a)) * x)
# copysign
np.sum(np.copysign(a, c))
# ldexp
np.sum(np.ldexp(a, 2))
# nextafter
np.sum(np.nextafter(a, c))
# isfinite, isinf, isnan, signbit
x if np.isfinite(a)[0] and not np.isinf(a)[0] and not np.isnan(a)[0] and not np.signbit(a)[0] else y
# greater, less, equal, logical
np.sum((np.greater(a, c) & np.less(a, 2.0) | np.equal(a, c)) * np.logical_not(mask) * x)
# bitwise, shifts, gcd, lcm
s = np.bitwise_and(places, 3) + np.left_shift(places, 1) + np.gcd(places, 2)
x * np.sum(s + np.lcm(places, 2) + np.invert(places))
# heaviside
np.sum(np.heaviside(a, 0.5) * x)
# a third argument for the result
np.multiply(a, x, c)
np.sum(c * c)
# of numbers
np.sin(x) * np.exp(y) + np.maximum(x, y)
# np.real, np.imag
np.sum(np.real(a) * x)
# ufunc of vectorize
np.sum(clamped(a, c)) + clamped(x, y)
# ufunc.reduce
np.multiply.reduce(a) * x
# conj
np.sum(np.conj(a) * x)
# logaddexp2
np.sum(np.logaddexp2(a, c))
""",
}
