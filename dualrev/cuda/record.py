"""Reverse mode over several launches of CUDA kernels: `vjp`, which records the launches of a function.

    forward                                     pullback
    record[step, blocks, threads](u, v)         adjoint of step [blocks, threads](v, u, d_v, d_u)
    record[step, blocks, threads](v, u)         adjoint of step [blocks, threads](u, v, d_u, d_v)

The function gets handles, not arrays: only the record can reach their memory, so no launch and no copy escapes it.

The elements of a memory have *versions*. If a launch overwrites elements that an adjoint reads, the record keeps a copy
of the memory, and a new version begins. So the pullback changes no version, and may be called again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numba import cuda

from dualrev.cuda.launch import Adjoint, adjoint, span
from dualrev.cuda.thread_function import is_kernel
from dualrev.errors import ConversionError, LaunchError

__all__ = ["Handle", "Record", "vjp"]

_FLOATS = ("float64", "float32")

_adjoint = functools.lru_cache(maxsize=256)(adjoint)


def vjp(launch: Callable[..., Any], *arrays: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Value and pullback of a function that launches CUDA kernels: reverse mode, launch by launch.

    `launch(record, *handles)` gets a handle for a copy of each array. It launches a kernel by
    `record[kernel, blocks, threads](*args)`, makes further arrays by `record.zeros(shape)` and `record.to_device(x)`,
    and returns a handle or a tuple of handles. `vjp` does not change `arrays`.

    Args:
        launch: The function. Each kernel is what `numba.cuda.jit` returns, or its `dr.cuda.adjoint`.
        *arrays: Arrays of float64 or float32, with one axis or more, of NumPy or on the device.

    Returns:
        (y, pullback). y is the array behind the handle that `launch` returns, or a tuple of arrays. They are on the
        device if one of `arrays` is on the device, else of NumPy. pullback(ct) takes an array with the shape of y, or a
        tuple of arrays, and returns a tuple with one cotangent for each of `arrays`. It can be called any number of
        times.

    Raises:
        UnsupportedError: A line of a kernel that has no derivative here, or a race of its threads.
        LaunchError: Arguments that are not as said above, or a thread that needs a longer tape.

    `dr.custom_vjp` makes a function that `dr.grad` takes: docs/cuda.md shows it.

    Source: Griewank and Walther, "Evaluating derivatives" (2008), chapter 3.

    In numba's simulator (NUMBA_ENABLE_CUDASIM=1):

    >>> import numpy as np, dualrev as dr
    >>> from numba import cuda
    >>> @cuda.jit
    ... def square(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] = x[i] * x[i]
    >>> def to_the_fourth(record, x):
    ...     for _ in range(2):
    ...         record[square, 1, 32](x)
    ...     return x
    >>> y, pullback = dr.cuda.vjp(to_the_fourth, np.array([1.0, 2.0]))  # doctest: +SKIP
    >>> y, pullback(np.ones(2))  # doctest: +SKIP
    (array([ 1., 16.]), (array([ 4., 32.]),))
    """
    if not callable(launch):
        _misfit(f"it takes a function of a record, got {type(launch).__name__}", "dr.cuda.vjp(launch, *arrays)")
    for k, x in enumerate(arrays):
        found = getattr(x, "dtype", type(x).__name__)
        if str(found) not in _FLOATS:
            is_array = getattr(x, "shape", ()) != ()
            cure = "record.to_device(x) within the function, for a constant" if is_array else "np.array([x])"
            _misfit(f"arrays have dtype float64 or float32, argument {k + 1} has {found}", cure)
    record = Record()
    try:
        inputs = [record.to_device(x) for x in arrays]
        returned = launch(record, *inputs)
        outputs = returned if isinstance(returned, tuple) else (returned,)
        record._check_outputs(outputs)
    finally:
        record._is_open = False
    host = [isinstance(x, np.ndarray) for x in arrays]
    values = tuple(_on_host(x) if all(host) else _on_device(x) for x in outputs)
    pullback = _Pullback(record._launches, inputs, host, outputs, isinstance(returned, tuple))
    return values if isinstance(returned, tuple) else values[0], pullback


@dataclass(eq=False)
class _Version:
    """Elements of a memory, of which adjoints read these addresses; `kept` is a copy from before a store to them."""

    reads: set[tuple[int, int]] = field(default_factory=set)
    kept: Any = None

    def is_overwritten(self, by: tuple[int, int] | None) -> bool:
        """Whether a store to these addresses overwrites what an adjoint reads."""
        return by is not None and any(first < by[1] and by[0] < last for first, last in self.reads)


@dataclass(eq=False)
class _Memory:
    """Array on the device, which only the record changes."""

    array: Any
    owner: Record
    version: _Version = field(default_factory=_Version)


class Handle:
    """Array of a record: an argument of the kernels that the record launches. Slices are views."""

    __array_ufunc__ = None  # arithmetic with arrays of NumPy raises TypeError

    def __init__(self, memory: _Memory, keys: tuple[Any, ...] = ()) -> None:
        self._memory, self._keys = memory, keys
        array = self._of(memory.array)
        self.shape, self.dtype, self.size = tuple(array.shape), array.dtype, int(array.size)
        self.ndim = len(self.shape)

    def __repr__(self) -> str:
        return f"dualrev.cuda.Handle(shape={self.shape}, dtype={self.dtype})"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Handle:
        """Return a view: slices, and numbers of rows."""
        parts = list(key) if isinstance(key, tuple) else [key]
        dots = [k for k, part in enumerate(parts) if part is Ellipsis]
        for k in dots[:1]:  # arrays on the device know no ellipsis
            parts[k : k + 1] = [slice(None)] * (self.ndim - len(parts) + 1)
        if not all(_is_int(k) or (isinstance(k, slice) and (k.step is None or k.step > 0)) for k in parts):
            raise TypeError(f"an array of a record has views by ints, and slices with positive steps, got {key!r}")
        if sum(map(_is_int, parts)) >= self.ndim:
            raise TypeError("no element of an array of a record can be read: launch kernels by record[kernel, ...]")
        return Handle(self._memory, (*self._keys, tuple(parts)))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Raise TypeError: only kernels write."""
        raise TypeError("no element of an array of a record can be set: launch kernels by record[kernel, ...]")

    def __iter__(self) -> NoReturn:
        raise TypeError("the elements of an array of a record cannot be read: slice it, such as x[i:i + 1]")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise TypeError: no derivative goes through NumPy."""
        raise TypeError("an array of a record cannot be read: return it, or write a kernel")

    def _of(self, array: Any) -> Any:
        """Take the view of another array with the shape of the memory."""
        for key in self._keys:
            array = array[key]
        return array


@dataclass(frozen=True, eq=False)
class _Launch:
    """Recorded launch: its arguments with the versions that the kernel finds, and the arrays that have shadows."""

    adjoint: Adjoint
    grid: tuple[Any, Any]
    args: tuple[Any, ...]
    versions: tuple[_Version | None, ...]
    active: tuple[int, ...]


class Record:
    """Launches of a function, in order: the first argument of the function that `dualrev.cuda.vjp` differentiates."""

    def __init__(self) -> None:
        self._launches: list[_Launch] = []
        self._is_open, self._broken = True, False

    def zeros(self, shape: int | Sequence[int], dtype: Any = np.float64) -> Handle:
        """Return a new array of zeros on the device."""
        return self.to_device(np.zeros(shape if isinstance(shape, int) else tuple(shape), dtype))

    def to_device(self, x: Any) -> Handle:
        """Return a copy of an array on the device. Its derivative is not asked for, unless `vjp` was given it."""
        self._check_open()
        if isinstance(x, Handle):
            _misfit("record.to_device takes an array, got an array of a record", "a kernel that copies it")
        x = x if _is_on_device(x) else _as_numpy(x)
        if len(x.shape) == 0:
            _misfit("an array has one axis or more, got none", "np.array([x])")
        return Handle(_Memory(_cloned(x), self))

    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return a launcher of a kernel: `record[kernel, blocks, threads](*args)`."""
        cure = "record[kernel, blocks, threads](*args)"
        if not isinstance(key, tuple) or len(key) < 3:
            _misfit(f"a launch has a kernel, blocks and threads, got {key!r}", cure)
        if len(key) > 3:
            _misfit("launches run in the order of the record, on the default stream, without shared memory", cure)
        kernel, *grid = key
        if not isinstance(kernel, Adjoint) and not is_kernel(kernel):
            _misfit(f"the kernel is {type(kernel).__name__}, not what numba.cuda.jit returns", "@cuda.jit above it")
        made = kernel if isinstance(kernel, Adjoint) else _adjoint(kernel)
        return functools.partial(self._launch, made, tuple(grid))

    def _launch(self, made: Adjoint, grid: tuple[Any, Any], *args: Any) -> None:
        self._check_open()
        self._check_arguments(made, args)
        given = tuple(x._of(x._memory.array) if isinstance(x, Handle) else x for x in args)
        text = made.derived(grid, given)
        memories = [x._memory if isinstance(x, Handle) else None for x in args]
        versions = tuple(m.version if m is not None else None for m in memories)
        self._launches.append(_Launch(made, grid, args, versions, text.active))
        for k in text.loaded:
            version, found = versions[k], span(given[k])
            if version is not None and found is not None:
                version.reads.add(found)
        self._broken = True  # until the kernel has run
        for k in text.written:
            memory = memories[k]
            if memory is not None and memory.version.is_overwritten(span(given[k])):
                memory.version.kept = _cloned(memory.array)
                memory.version = _Version()
        made.kernel[grid](*given)
        self._broken = False

    def _check_open(self) -> None:
        if self._broken:
            _misfit("an earlier launch of this record failed, so its arrays are half written", "dr.cuda.vjp again")
        if not self._is_open:
            _misfit("the record was used after the function had returned", "record[kernel, ...] within the function")

    def _check_arguments(self, made: Adjoint, args: Sequence[Any]) -> None:
        for name, x in zip(made.parameters, args, strict=False):
            if isinstance(x, Handle) and x._memory.owner is not self:
                _misfit(f"{name} belongs to another record", "record.to_device(x) of an array")
            if not isinstance(x, Handle) and getattr(x, "shape", ()) != ():
                _misfit(f"{name} is an array that the record does not know", f"record.to_device({name})")

    def _check_outputs(self, outputs: Sequence[Any]) -> None:
        self._check_open()
        for x in outputs:
            if not isinstance(x, Handle):
                _misfit(
                    f"the function returned {type(x).__name__}", "return u, or return u, v, of arrays of the record"
                )
            if x._memory.owner is not self:
                _misfit("the function returned an array of another record", "arrays of its own record")
            if str(x.dtype) not in _FLOATS:
                _misfit(f"the function returned an array of {x.dtype}", "arrays of float64 or float32")


@dataclass(eq=False)
class _Pullback:
    """Pullback of recorded launches: cotangents of the outputs -> cotangents of the inputs."""

    launches: list[_Launch]
    inputs: list[Handle]
    host: list[bool]
    outputs: tuple[Handle, ...]
    is_tuple: bool
    failed: bool = False

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        if self.failed:
            _misfit("an earlier call of this pullback failed within a launch", "dr.cuda.vjp again")
        shadows = self._begun(ct)
        self.failed = True  # until all launches are reversed
        for one in reversed(self.launches):
            pairs = list(zip(one.args, one.versions, strict=True))
            given = [x if v is None else x._of(_elements(x._memory, v)) for x, v in pairs]
            one.adjoint[one.grid](*given, *(one.args[k]._of(shadows(one.args[k])) for k in one.active))
        self.failed = False
        found = [shadows(x) for x in self.inputs]
        return tuple(x.copy_to_host() if host else x for x, host in zip(found, self.host, strict=True))

    def _begun(self, ct: Any) -> Callable[[Handle], Any]:
        """Shadows by memory, which begin with the cotangents of the outputs."""
        cts = ct if self.is_tuple else (ct,)
        if not isinstance(cts, tuple) or len(cts) != len(self.outputs):
            n = len(cts) if isinstance(cts, tuple) else type(cts).__name__
            _misfit(f"the pullback takes a tuple of {len(self.outputs)} cotangents, got {n}", "pullback((ct_1, ct_2))")
        begun: dict[_Memory, Any] = {}
        for x, given in zip(self.outputs, cts, strict=True):
            host = _numba_array(given).copy_to_host() if _is_on_device(given) else _as_numpy(given)
            if host.shape != x.shape or host.dtype.kind not in "fiub":
                why = f"a cotangent has shape {host.shape} and dtype {host.dtype}, its output {x.shape} and {x.dtype}"
                _misfit(why, "np.ones_like(y)")
            total = begun.setdefault(x._memory, np.zeros(x._memory.array.shape, x.dtype))
            x._of(total)[...] += host.astype(x.dtype)
        made = {memory: cuda.to_device(x) for memory, x in begun.items()}

        def shadow(x: Handle) -> Any:
            """Shadow of the memory of a handle, of zeros at first."""
            if x._memory not in made:
                made[x._memory] = cuda.to_device(np.zeros(x._memory.array.shape, x.dtype))
            return made[x._memory]

        return shadow


def _elements(memory: _Memory, version: _Version) -> Any:
    """Elements of a version; any others if no adjoint reads them."""
    return memory.array if version.kept is None else version.kept


def _is_on_device(x: Any) -> bool:
    return hasattr(x, "copy_to_host") or hasattr(x, "__cuda_array_interface__")


def _numba_array(x: Any) -> Any:
    return x if hasattr(x, "copy_to_host") else cuda.as_cuda_array(x)


def _is_int(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _as_numpy(x: Any) -> np.ndarray:
    try:
        found = np.asarray(x)
    except ConversionError:
        cure = "f.defvjp(lambda x: dr.cuda.vjp(launch, x), lambda pullback, ct: pullback(ct)) for f of dr.custom_vjp"
        why = "it has first derivatives only, and an array holds numbers that are being differentiated"
        raise LaunchError("dr.cuda.vjp", why, cure) from None
    if found.dtype == object:
        _misfit(f"it takes arrays of NumPy or on the device, got {type(x).__name__}", "np.array(x, float)")
    return found


def _cloned(x: Any) -> Any:
    """Copy of an array, on the device, in C order; an array on the device does not travel through the host."""
    if isinstance(x, np.ndarray):
        return cuda.to_device(np.ascontiguousarray(x))
    x = _numba_array(x)
    if not x.is_c_contiguous():
        cure = "cuda.to_device(np.ascontiguousarray(x.copy_to_host()))"
        _misfit("an array on the device is not in C order", cure)
    made = cuda.device_array(tuple(x.shape), x.dtype)
    made.copy_to_device(x)
    return made


def _on_host(x: Handle) -> np.ndarray:
    return np.array(x._of(x._memory.array.copy_to_host()))


def _on_device(x: Handle) -> Any:
    array = x._of(x._memory.array)
    return _cloned(array) if array.is_c_contiguous() else cuda.to_device(_on_host(x))


def _misfit(why: str, instead: str) -> NoReturn:
    raise LaunchError("dr.cuda.vjp", why, instead)
