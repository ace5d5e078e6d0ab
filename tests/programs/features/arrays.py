"""Features of numpy's arrays, by the headings of numba's page "Supported NumPy features"."""

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
# .conjugate()
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
# .dot()
a.dot(c)
# .fill()
a.fill(x)
np.sum(a)
# .flatten()
np.sum(m.flatten() * x)
# .item()
a[1:2].item() * x
# .max(), .min()
a.max() * a.min()
# .mean(), .std(), .var()
a.mean() * a.std() + a.var()
# .nonzero()
np.sum(a[mask.nonzero()[0]] * x)
# .prod()
a.prod() * x
# .ravel()
np.sum(m.ravel() ** 2)
# .repeat()
np.sum(a.repeat(2) * x)
# .reshape()
np.sum(m.reshape(9) ** 2) + m.reshape((1, 9))[0, 3] + m.reshape(1, -1)[0, 2]
# .sort()
a.sort()
a[1] * a[3]
# .sum()
a.sum() + np.sum(m.sum(axis=0) * m.sum(1))
# .take()
np.sum(a.take(places) * x)
# .transpose()
np.sum(cube.transpose(1, 0, 2)[0] * x)
# .view()
np.sum(a.view(np.float64) * x)
# .view of other bits
x * places.view(np.uint64)[0]
# .swapaxes
np.sum(np.swapaxes(m, 0, 1)[0] * x)
""",
    "Making arrays": """
# np.array, np.asarray
np.sum(np.array([x, y]) * np.asarray((x, y)))
# np.array with a dtype
np.sum(np.array([x, y], dtype=np.float32))
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
np.sum(np.arange(5) * x) + np.sum(np.arange(1.0, x * 5.0) * x)
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
# np.indices
np.sum(np.indices((2, 3))[0] * x)
# np.tri of ints, tril_indices, triu_indices
x * np.tril_indices(3)[0][2] + y * np.triu_indices(3)[1][1]
# np.tril_indices_from
x * np.tril_indices_from(m)[0][2] + np.triu_indices_from(m)[0][2]
""",
}
