"""Features of numpy and of numba itself, by the headings of numba's page "Supported NumPy features"."""

FEATURES = {
    "Arrays: types": """
# float64 array
a[1] * x
# float32 array
a32[1] * a32[2]
# strided array
strided[1] * strided[2]
# Fortran array
fortran[1, 2] * x
# three axes
cube[1, 0, 1] * x
# array of ints
places[1] * x + places[2] * y
# array of bools
x if mask[0] else y
# array of no axes
point[()] * x
# record array: a[i].x
records[1].mass * x
# record array: a[i]["x"]
records[1]["mass"] * x
# record array: a["x"]
np.sum(records["mass"] * records["at"]) * x
# record array: a.x
records.mass[1] * x
# record array: a loop
s = 0.0
for r in records: s += r.mass * r.at
s * x
# record array: a field is written
records[1].at = x * y
records[1].at * x
# record
record.mass * x
# array of complex numbers
za[0].real * x
# array of datetimes
x if times[0] < times[1] else y
""",
    "Arrays: access": """
# index by ints
m[1, 2] * m[k - 1, -1]
# index by a tuple
q = (1, 2)
m[q] * x
# slice
np.sum(a[1:4] * a[:3])
# slice with a step
np.sum(a[::-2] * x)
# slice of rows and columns
np.sum(m[1:, :2] * x)
# row
m[1] @ a[:3]
# ellipsis
np.sum(cube[..., 1] * x)
# None in an index
np.sum(a[:, None] * c[None, :])
# np.newaxis
np.sum(a[:, np.newaxis] * x)
# index by an array of ints
np.sum(a[places] * x)
# index by a mask
np.sum(a[mask] * x)
# index by a list
np.sum(a[np.array([1, 2])] * x)
# index by an array and an int
np.sum(m[counts[:2] - 1, 1] * x)
# index by two arrays
np.sum(m[places[:2], places[:2]] * x)
# condition as index
np.sum(a[a > 0.4] * x)
# element that is written
a[1] = x * a[2]
a[1] * a[0]
# slice that is written
a[1:3] = c[2:4] * x
np.sum(a * a)
# slice, augmented
a[1:3] *= c[2:4]
np.sum(a * a)
# mask that is written
a[mask] = x
np.sum(a * a)
# mask, augmented
a[mask] *= x
np.sum(a * a)
# places that are written
a[places] = c[:3] * x
np.sum(a * a)
# column that is written
m[:, 1] = x
np.sum(m * m)
# broadcast in an assignment
m[:] = a[:3]
np.sum(m * m * x)
# loop over an array
s = 0.0
for v in a: s += v * v
s
# loop over rows
s = 0.0
for row in m: s += row[0] * row[1]
s
# np.ndindex
s = 0.0
for q in np.ndindex(m.shape): s += m[q] * x
s
# np.ndenumerate
s = 0.0
for (q, r), v in np.ndenumerate(m): s += v * q * r * x
s
# np.nditer
s = 0.0
for v in np.nditer(m): s += v.item() * v.item()
s
# np.nditer of two arrays
s = 0.0
for u, v in np.nditer((a, c)): s += u.item() * v.item()
s
# .flat
s = 0.0
for v in m.flat: s += v * v
s
# .flat, an element
m.flat[4] * x
# .flat, written
m.flat[4] = x * y
np.sum(m)
# in place of a whole array
a += c * x
np.sum(a * a)
# broadcasting
np.sum(m * a[:3] + x)
# comparison of arrays
np.sum((a > 0.0) * x)
# array and scalar
np.sum(2.0 * a**2 / y - x)
""",
    "Arrays: attributes and methods": """
# .shape, .ndim, .size
x * m.shape[1] + y * m.ndim + m.size
# .strides, .itemsize, .nbytes
x * a.strides[0] + y * a.itemsize + a.nbytes
# .dtype
np.sum(np.zeros(3, dtype=a.dtype) + x)
# .T
np.sum(m.T @ a[:3])
# .flags
x if m.flags.c_contiguous else y
# .ctypes
x if a.ctypes is not None else y
# .real, .imag
np.sum(a.real * x) + np.sum(a.imag)
# .base
np.sum(a.conjugate() * x)
# .all(), .any()
x if (a > -9.0).all() and mask.any() else y
# .argmax(), .argmin(), .argsort()
x * a.argmax() + y * a.argmin() + a.argsort()[0]
# .astype()
np.sum(places.astype(np.float64) * x) + np.sum(a.astype(np.float32))
# .conj()
np.sum(a.conj() * x)
# .copy()
np.sum(a.copy() * a)
# .cumsum(), .cumprod()
a.cumsum()[3] * a.cumprod()[2]
# .diagonal()
np.sum(m.diagonal() * x)
# .dot()
a.dot(c)
# .fill()
a.fill(x)
np.sum(a)
# .flatten()
np.sum(m.flatten() * x)
# .item()
a[1:2].item() * x
# .item(k)
a.item(2) * x
# .itemset()
a.itemset(1, x)
np.sum(a)
# .max(), .min()
a.max() * a.min()
# .mean(), .std(), .var()
a.mean() * a.std() + a.var()
# .nonzero()
np.sum(a[mask.nonzero()[0]] * x)
# .prod()
a.prod() * x
# .ptp
np.ptp(a) * x
# .ravel()
np.sum(m.ravel() ** 2)
# .repeat()
np.sum(a.repeat(2) * x)
# .reshape()
np.sum(m.reshape(9) ** 2) + m.reshape((1, 9))[0, 3] + m.reshape(1, -1)[0, 2]
# .searchsorted()
x * np.sort(a).searchsorted(0.4)
# .sort()
a.sort()
a[1] * a[3]
# .sum()
a.sum() + np.sum(m.sum(axis=0) * m.sum(1))
# .take()
np.sum(a.take(places) * x)
# .transpose()
np.sum(cube.transpose(1, 0, 2)[0] * x)
# .tolist()
a[:2].tolist()[1] * x
# .view()
np.sum(a.view(np.float64) * x)
# .view of other bits
x * places.view(np.uint64)[0]
# .swapaxes
np.sum(np.swapaxes(m, 0, 1)[0] * x)
# .byteswap and the like of ints: .view(np.uint8)
x * raw.view(np.uint8)[1]
# .__contains__
x if raw[1] in raw else y
""",
    "Making arrays": """
# np.array, np.asarray
np.sum(np.array([x, y]) * np.asarray((x, y)))
# np.array with a dtype
np.sum(np.array([x, y], dtype=np.float32))
# np.array of an array
np.sum(np.array(a) * a)
# np.array, nested
np.sum(np.array([[x, y], [y, 1.0]]) ** 2)
# np.zeros, np.ones, np.empty, np.full
u = np.empty(3)
u[:] = x
np.sum((np.zeros(3) + np.ones(3) + np.full(3, x)) * u)
# np.zeros of a shape, with a dtype
u = np.zeros((2, 3), np.float64)
u[1, 2] = x
np.sum(u * u)
# np.zeros_like, np.ones_like, np.empty_like, np.full_like
u = np.empty_like(a)
u[:] = x
np.sum((np.zeros_like(a) + np.ones_like(a) + np.full_like(a, y)) * u)
# np.arange
np.sum(np.arange(5) * x + np.arange(1.0, x * 5.0))
# np.linspace
np.sum(np.linspace(x, y, 5) ** 2)
# np.logspace, np.geomspace
np.sum(np.logspace(x, y, 4)) + np.sum(np.geomspace(x, y, 4) ** 2)
# np.eye, np.identity
np.sum(np.eye(3) * m + np.identity(3) * x)
# np.diag, np.diagflat
np.sum(np.diag(a) * x) + np.sum(np.diag(m) ** 2) + np.sum(np.diagflat(a) * x)
# np.tri, np.tril, np.triu
np.sum(np.tri(3) * m) + np.sum(np.tril(m) ** 2) + np.sum(np.triu(m, 1) ** 2)
# np.vander
np.sum(np.vander(a, 3) * x)
# np.frombuffer
x * np.frombuffer(raw, dtype=np.uint8)[1]
# np.asarray_chkfinite
np.sum(np.asarray_chkfinite(a) * x)
# np.ascontiguousarray, np.asfortranarray
np.sum(np.ascontiguousarray(strided) * np.asfortranarray(strided))
# np.copy
np.sum(np.copy(a) * a)
# np.meshgrid
u, v = np.meshgrid(a, c)
np.sum(u * v)
# np.indices
np.sum(np.indices((2, 3))[0] * x)
# np.mgrid
np.sum(a * np.arange(len(a)))
# np.tri of ints, tril_indices, triu_indices
x * np.tril_indices(3)[0][2] + y * np.triu_indices(3)[1][1]
# np.tril_indices_from
x * np.tril_indices_from(m)[0][2] + np.triu_indices_from(m)[0][2]
# np.diag_indices
x * np.diag_indices(3)[0][1]
# carray
np.sum(carray(a.ctypes, (3,)) * x)
""",
    "Joining, moving, choosing": """
# np.append
np.sum(np.append(a, c) ** 2) + np.sum(np.append(a, x))
# np.concatenate
np.sum(np.concatenate((a, c)) ** 2)
# np.concatenate along an axis
np.sum(np.concatenate((m, m * x), axis=1) ** 2)
# np.stack, hstack, vstack, dstack, column_stack, row_stack
np.sum(np.stack((a, c)) ** 2) + np.sum(np.hstack((a, c)) * x) + np.sum(np.vstack((a, c)) * x) + np.sum(np.column_stack((a, c)) * x) + np.sum(np.dstack((a, c)) * x)
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
# np.squeeze
np.sum(np.squeeze(a.reshape(1, 5)) * x)
# np.expand_dims
np.sum(np.expand_dims(a, 1) * x)
# np.atleast_1d, 2d, 3d
np.sum(np.atleast_2d(a) * x) + np.sum(np.atleast_1d(x)) + np.sum(np.atleast_3d(a) * y)
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
# np.tile
np.sum(np.tile(a, 2) ** 2)
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
# np.choose
x * np.sum(np.argwhere(mask))
# np.compress
np.sum(np.compress(mask, a) * x)
# np.clip
np.sum(np.clip(a, 0.4, 1.6) * x)
# np.clip by arrays
np.sum(np.clip(a, c - 1.0, c) * x)
# np.trim_zeros
np.sum(np.trim_zeros(a) * x)
# np.fill_diagonal
np.fill_diagonal(m, x)
np.sum(m * m)
# np.put
np.put(a, places, c)
np.sum(a * a)
# np.put_along_axis, np.copyto
np.copyto(a, c * x)
np.sum(a * a)
# np.union1d, intersect1d, setdiff1d, setxor1d, isin of ints
x * (len(np.union1d(places, counts)) + len(np.intersect1d(places, counts)) + len(np.setdiff1d(places, counts)) + len(np.setxor1d(places, counts)) + np.sum(np.isin(places, counts)))
# np.unique
np.sum(np.unique(a) * x)
# np.unwrap
np.sum(np.unwrap(a * 9.0))
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
# np.lexsort
np.sum(a[np.argsort(c, kind="mergesort")] * c)
# np.flatnonzero, np.nonzero, np.argwhere
x * np.flatnonzero(mask)[1] + x * np.nonzero(mask)[0][1] + x * np.argwhere(mask)[1, 0]
# np.array_equal, allclose, isclose
x if np.array_equal(a, a) and np.allclose(a, a) and np.isclose(x, x) else y
# np.iscomplex, isreal, isscalar, iscomplexobj, isrealobj
x if np.isreal(a)[0] and np.isscalar(x) and np.isrealobj(a) and not np.iscomplexobj(a) else y
# np.shape, np.size, np.ndim
x * np.shape(m)[0] + y * np.size(m) + np.ndim(m)
# np.promote_types, result_type
np.sum(np.zeros(3, np.promote_types(np.float32, np.float64)) + x)
# np.finfo, np.iinfo
x * np.finfo(np.float64).eps + x * np.iinfo(np.int64).bits
# np.MachAr
x * np.finfo(np.float32).max / np.finfo(np.float32).max
# np.may_share_memory, shares_memory
x if np.shares_memory(a, a) else y
""",
    "Numerics": """
# np.diff, np.ediff1d
np.sum(np.diff(a) ** 2) + np.sum(np.ediff1d(a) ** 2)
# np.diff of order two
np.sum(np.diff(a, 2) ** 2)
# np.gradient
np.sum(np.gradient(a) ** 2)
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
cross2d(a[:2], c[:2]) * x
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
# np.sinc, np.i0
np.sum(np.sinc(a))
# np.angle
x * np.angle(y)
# np.around, np.round
np.sum(np.around(a, 1) * x)
# np.round of numbers
x * np.round(y) + x * np.round(y, 1)
# np.bartlett, blackman, hamming, hanning, kaiser
np.sum((np.bartlett(5) + np.blackman(5) + np.hamming(5) + np.hanning(5) + np.kaiser(5, 2.0)) * a)
# np.polynomial: poly1d by hand
np.sum(np.polynomial.polynomial.polyadd(a, c) * x)
# np.polynomial.polynomial.polyval
np.polynomial.polynomial.polyval(x, a) * y
# np.polynomial: polymul, polysub
np.sum(np.polynomial.polynomial.polymul(a, c)) + np.sum(np.polynomial.polynomial.polysub(a, c) ** 2)
# np.roots
np.sum(np.roots(np.array([1.0, -3.0 * x, 2.0 * x * x]))) * y
# np.logical_and of numbers
x if np.logical_and(k > 1, n > 1) else y
# np.pad
np.sum(np.zeros(7)[1:6] + a * x)
# np.geomspace of ints
x * np.geomspace(1.0, 8.0, 4)[2]
# np.row_stack
np.sum(np.vstack((a, c))[1] * x)
# np.setxor1d of floats
x * len(np.setxor1d(a, c))
# np.ndindex of numbers
s = 0.0
for p1, p2 in np.ndindex(3, 2): s += m[p1, p2] * x
s
""",
    "Linear algebra": """
# np.linalg.cholesky
np.sum(np.linalg.cholesky(m @ m.T + np.eye(3)) * x)
# np.linalg.cond
np.linalg.cond(m) * x
# np.linalg.det, slogdet
np.linalg.det(m) * x + np.linalg.slogdet(m)[1]
# np.linalg.eig
np.sum(np.linalg.eig(m @ m.T)[0] ** 2)
# np.linalg.eigh, eigvalsh
np.sum(np.linalg.eigvalsh(m @ m.T) ** 2)
# np.linalg.eigvals
np.sum(np.linalg.eigvals(m @ m.T) ** 2)
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
np.sum(np.power(a, 2) + np.float_power(a, 3) + np.square(a) + np.sqrt(a * a) + np.cbrt(a) + np.reciprocal(a))
# exp, exp2, expm1, log, log2, log10, log1p
np.sum(np.exp(a) + np.exp2(a) + np.expm1(a) + np.log(a * a) + np.log2(a * a) + np.log10(a * a) + np.log1p(a * a))
# logaddexp, logaddexp2
np.sum(np.logaddexp(a, c) + np.logaddexp2(a, c))
# absolute, fabs, sign, rint, conj
np.sum(np.absolute(a) + np.fabs(a) + np.sign(a) + np.rint(a) + np.conj(a))
# sin, cos, tan, arcsin, arccos, arctan, arctan2, hypot
np.sum(np.sin(a) + np.cos(a) + np.tan(a) + np.arcsin(a * 0.3) + np.arccos(a * 0.3) + np.arctan(a) + np.arctan2(a, c) + np.hypot(a, c))
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
# copysign, nextafter, spacing
np.sum(np.copysign(a, c))
# ldexp, frexp, modf
np.sum(np.ldexp(a, 2))
# nextafter
np.sum(np.nextafter(a, c))
# isfinite, isinf, isnan, signbit
x if np.isfinite(a)[0] and not np.isinf(a)[0] and not np.isnan(a)[0] and not np.signbit(a)[0] else y
# greater, less, equal, logical
np.sum((np.greater(a, c) & np.less(a, 2.0) | np.equal(a, c)) * np.logical_not(mask) * x)
# bitwise, shifts, gcd, lcm
x * np.sum(np.bitwise_and(places, 3) + np.left_shift(places, 1) + np.gcd(places, 2) + np.lcm(places, 2) + np.invert(places))
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
""",
    "Random numbers": """
# np.random.seed, rand, randn, random
np.random.seed(3)
x * np.random.rand() + y * np.random.randn() + x * np.random.random()
# np.random.rand of a shape
np.random.seed(3)
np.sum(np.random.rand(2, 3) * w)
# np.random.normal, uniform
np.random.seed(3)
np.random.normal(x, y) + np.random.uniform(x, y)
# np.random.normal with a size
np.random.seed(3)
np.sum(np.random.normal(x, y, 4) ** 2)
# np.random.exponential, lognormal
np.random.seed(3)
np.random.exponential(x) + np.random.lognormal(x, y)
# np.random.randint, random_integers
np.random.seed(3)
x * np.random.randint(1, 9)
# np.random.choice
np.random.seed(3)
np.random.choice(a) * x
# np.random.permutation, shuffle
np.random.seed(3)
np.random.shuffle(a)
np.sum(a * np.random.permutation(c))
# np.random.gamma, beta, of active parameters
np.random.seed(3)
np.random.gamma(x, y)
# np.random.gamma, beta, chisquare
np.random.seed(3)
x * (np.random.gamma(2.0, 1.0) + np.random.beta(2.0, 3.0) + np.random.chisquare(3.0))
# np.random.poisson, binomial
np.random.seed(3)
x * (np.random.poisson(2.0) + np.random.binomial(5, 0.4))
# np.random.geometric, hypergeometric, negative_binomial
np.random.seed(3)
x * np.random.geometric(0.4)
# np.random.laplace, logistic, gumbel
np.random.seed(3)
np.random.laplace(x, y) + np.random.logistic(x, y) + np.random.gumbel(x, y)
# np.random.weibull, rayleigh, pareto
np.random.seed(3)
np.random.rayleigh(x) + y * np.random.weibull(2.0) + y * np.random.pareto(2.0)
# np.random.triangular, vonmises, wald, f, power
np.random.seed(3)
x * (np.random.triangular(0.0, 0.5, 1.0) + np.random.vonmises(0.0, 1.0) + np.random.wald(1.0, 1.0) + np.random.f(2.0, 3.0) + np.random.power(2.0))
# np.random.standard_normal and the like
np.random.seed(3)
x * (np.random.standard_normal() + np.random.standard_exponential() + np.random.standard_gamma(2.0) + np.random.standard_cauchy() + np.random.standard_t(3.0))
# np.random.multinomial
np.random.seed(3)
x * np.random.multinomial(5, np.array([0.4, 0.6]))[0]
# np.random.dirichlet
np.random.seed(3)
x * np.random.dirichlet(np.array([1.0, 2.0]))[0]
# np.random.Generator as argument
x * generator.random()
""",
    "numba itself": """
# prange
s = 0.0
for q in prange(k): s += x * q
s
# vectorize
clamped(x, y) * x
# guvectorize
made = np.zeros(5)
cumulative(a, made)
np.sum(made * made)
# guvectorize over rows
made = np.zeros((3, 3))
cumulative(m, made)
np.sum(made * made)
# guvectorize of more than one argument
made = np.zeros(3)
spread(m, x, made)
np.sum(made * made)
# cfunc
area(x, y) * x
# stencil
np.sum(smoothed(a) ** 2)
# register_jitable
registered(x) * y
# overload
cubed(x) * y
# overload_method
x.overloaded() * y
# intrinsic
many(x) * y
# jitclass as argument: a float field
box.value * x
# jitclass as argument: an array field
np.sum(box.places) * x
# jitclass as argument: a method
box.total() * x
# jitclass as argument: a discrete field
box.count * x
# jitclass that is made inside
s = Box(x, a)
s.value * y
# structref as argument
pull.force * x
# typed function of ints
x * triangle(k)
# numba.types as a conversion
x * numba.float64(k) + numba.int32(y)
# numba.typeof
x * numba.float64(y)
# objmode with a float
with objmode(q="float64"): q = 5.0
x * q
# numba.get_num_threads
x * numba.get_num_threads()
# numba.pndindex
s = 0.0
for q in numba.pndindex(m.shape): s += m[q] * x
s
# array.array
x * np.sum(raw)
""",
}
