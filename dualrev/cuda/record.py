"""Reverse mode over several launches of CUDA kernels: `vjp`, which records the launches of a function.

    forward                                     pullback
    record[step, blocks, threads](u, v)         adjoint of step [blocks, threads](v, u, d_v, d_u)
    record[step, blocks, threads](v, u)         adjoint of step [blocks, threads](u, v, d_u, d_v)

If a launch overwrites elements that an adjoint reads, the record keeps a copy of the memory, and a new version of it
begins (handles.py). So the pullback changes no version, and may be called again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numba import cuda

from dualrev.cuda.arguments import flat, mapped, shadows_of
from dualrev.cuda.handles import Handle, Memory, Version
from dualrev.cuda.launch import Adjoint, adjoint, cloned, is_stream, span
from dualrev.cuda.thread_function import is_kernel
from dualrev.errors import ConversionError, LaunchError

__all__ = ["Record", "vjp"]

_FLOATS = ("float64", "float32")

_adjoint = functools.lru_cache(maxsize=256)(adjoint)


def vjp(launch: Callable[..., Any], *arrays: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Value and pullback of a function that launches CUDA kernels: reverse mode, launch by launch.

    `launch(record, *handles)` gets a handle for a copy of each array. It launches a kernel by
    `record[kernel, blocks, threads](*args)`, makes further arrays by `record.zeros(shape)` and `record.to_device(x)`,
    and returns a handle or a tuple of handles. `vjp` does not change `arrays`. Launches on streams,
    `record[kernel, blocks, threads, stream](*args)`, have ended when `vjp` returns. The pullback reverses the order in
    which Python has launched them, on the default stream.

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
        record._synchronize(record._launched)
    host = [isinstance(x, np.ndarray) for x in arrays]
    values = tuple(_on_host(x) if all(host) else _on_device(x) for x in outputs)
    pullback = _Pullback(record._launches, inputs, host, outputs, isinstance(returned, tuple))
    return values if isinstance(returned, tuple) else values[0], pullback


@dataclass(frozen=True, eq=False)
class _Launch:
    """Recorded launch: its arguments, the versions of their members that the kernel finds, and which have shadows."""

    adjoint: Adjoint
    grid: tuple[Any, Any]
    args: tuple[Any, ...]
    versions: tuple[Version | None, ...]
    active: tuple[int, ...]

    def given(self) -> list[Any]:
        """The arguments with the elements that the kernel found; any others if no adjoint reads them."""
        versions = iter(self.versions)

        def found(_: str, x: Any) -> Any:
            """Elements of a member."""
            v = next(versions)
            return x if v is None else x._of(x._memory.array if v.kept is None else v.kept)

        return [mapped("", x, found) for x in self.args]


class Record:
    """Launches of a function, in order: the first argument of the function that `dualrev.cuda.vjp` differentiates.

    The record itself copies arrays on the default stream. A launch on another stream waits for that, and a copy waits
    for the launches on other streams.
    """

    def __init__(self) -> None:
        self._launches: list[_Launch] = []
        self._is_open, self._broken = True, False
        self._launched = False  # whether launches on other streams may still run
        self._copied = False  # whether copies on the default stream may still run

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
        return Handle(Memory(self._copy(x), self))

    def _copy(self, x: Any) -> Any:
        """Return a copy of an array on the device, on the default stream."""
        self._synchronize(self._launched)
        self._copied = True
        return cloned(x)

    def _synchronize(self, needed: bool) -> None:
        """Wait for all streams, if needed."""
        if needed:
            cuda.synchronize()
            self._launched = self._copied = False

    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return a launcher of a kernel: `record[kernel, blocks, threads](*args)`, or with a stream as the last."""
        cure = "record[kernel, blocks, threads](*args)"
        if not isinstance(key, tuple) or len(key) < 3:
            _misfit(f"a launch has a kernel, blocks and threads, got {key!r}", cure)
        if len(key) > 4:
            why = "a launch has a kernel, blocks, threads and a stream, and no shared memory of a size given here"
            _misfit(why, "record[kernel, blocks, threads, stream](*args)")
        kernel, *grid = key
        stream = grid.pop() if len(grid) == 3 else 0
        if not _is_default(stream) and not is_stream(stream):
            _misfit(f"the stream is {type(stream).__name__}", "stream = cuda.stream()")
        if not isinstance(kernel, Adjoint) and not is_kernel(kernel):
            _misfit(f"the kernel is {type(kernel).__name__}, not what numba.cuda.jit returns", "@cuda.jit above it")
        made = kernel if isinstance(kernel, Adjoint) else _adjoint(kernel)
        return functools.partial(self._launch, made, tuple(grid), stream)

    def _launch(self, made: Adjoint, grid: tuple[Any, Any], stream: Any, *args: Any) -> None:
        self._check_open()
        self._check_arguments(made, args)
        given = tuple(mapped("", x, lambda _, y: y._of(y._memory.array) if isinstance(y, Handle) else y) for x in args)
        text = made.derived(grid, given)
        arrays, memories = flat(given), [x._memory if isinstance(x, Handle) else None for x in flat(args)]
        versions = tuple(m.version if m is not None else None for m in memories)
        self._launches.append(_Launch(made, grid, args, versions, text.active))
        for k in text.loaded:
            version, found = versions[k], span(arrays[k])
            if version is not None and found is not None:
                version.reads.add(found)
        self._broken = True  # until the kernel has run
        for k in text.written:
            memory = memories[k]
            if memory is not None and memory.version.is_overwritten(span(arrays[k])):
                memory.version.kept = self._copy(memory.array)
                memory.version = Version()
        self._run(made.kernel, grid, stream, given)
        self._broken = False

    def _run(self, kernel: Any, grid: tuple[Any, Any], stream: Any, given: Sequence[Any]) -> None:
        """Launch a kernel."""
        if _is_default(stream):
            kernel[grid](*given)
        else:
            self._synchronize(self._copied)
            self._launched = True
            kernel[(*grid, stream)](*given)

    def _check_open(self) -> None:
        if self._broken:
            _misfit("an earlier launch of this record failed, so its arrays are half written", "dr.cuda.vjp again")
        if not self._is_open:
            _misfit("the record was used after the function had returned", "record[kernel, ...] within the function")

    def _check_arguments(self, made: Adjoint, args: Sequence[Any]) -> None:
        def check(name: str, x: Any) -> None:
            """Check a member of an argument."""
            if isinstance(x, Handle) and x._memory.owner is not self:
                _misfit(f"{name} belongs to another record", "record.to_device(x) of an array")
            if not isinstance(x, Handle) and getattr(x, "shape", ()) != ():
                _misfit(f"{name} is an array that the record does not know", f"record.to_device({name})")

        for name, x in zip(made.parameters, args, strict=False):
            mapped(name, x, check)

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
            given = shadows_of(one.args, one.active, lambda x: x._of(shadows(x)))
            one.adjoint[one.grid](*one.given(), *given)
        self.failed = False
        found = [shadows(x) for x in self.inputs]
        return tuple(x.copy_to_host() if host else x for x, host in zip(found, self.host, strict=True))

    def _begun(self, ct: Any) -> Callable[[Handle], Any]:
        """Shadows by memory, which begin with the cotangents of the outputs."""
        cts = ct if self.is_tuple else (ct,)
        if not isinstance(cts, tuple) or len(cts) != len(self.outputs):
            n = len(cts) if isinstance(cts, tuple) else type(cts).__name__
            _misfit(f"the pullback takes a tuple of {len(self.outputs)} cotangents, got {n}", "pullback((ct_1, ct_2))")
        begun: dict[Memory, Any] = {}
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


def _is_on_device(x: Any) -> bool:
    return hasattr(x, "copy_to_host") or hasattr(x, "__cuda_array_interface__")


def _numba_array(x: Any) -> Any:
    return x if hasattr(x, "copy_to_host") else cuda.as_cuda_array(x)


def _is_default(stream: Any) -> bool:
    """Whether a stream is the default one, as the launch of a kernel takes it."""
    return isinstance(stream, int) and not isinstance(stream, bool) and stream == 0


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


def _on_host(x: Handle) -> np.ndarray:
    return np.array(x._of(x._memory.array.copy_to_host()))


def _on_device(x: Handle) -> Any:
    array = x._of(x._memory.array)
    return cloned(array) if array.is_c_contiguous() else cuda.to_device(_on_host(x))


def _misfit(why: str, instead: str) -> NoReturn:
    raise LaunchError("dr.cuda.vjp", why, instead)
