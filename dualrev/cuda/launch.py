"""Launch of adjoint kernels: `adjoint`, which derives the kernel for the types of its arguments at the first launch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda
from numba.core import types

from dualrev.compiler.types.aliases import NumbaType, NumbaTypes, UserValue
from dualrev.cuda.arguments import flat, has_shadow, shadows_in, type_of
from dualrev.cuda.derive_kernel import KernelText, kernel_text
from dualrev.cuda.thread_function import is_kernel, thread_function
from dualrev.diagnostics.quoting import execute, remember
from dualrev.errors import LaunchError

__all__ = ["Adjoint", "adjoint", "cloned", "is_stream", "span"]

_TAPE = 64


def adjoint(kernel: UserValue, *, tape: int = _TAPE) -> Adjoint:
    """Return the adjoint of a CUDA kernel, a function to launch: `adjoint(kernel)[blocks, threads](*args, *shadows)`.

    The arguments are those of the kernel, and a shadow for each array of floats among them, of the same shape and
    dtype. The shadow of a tuple is a tuple with shadows of its members, and None for those that have none. Before the
    launch, the shadows hold the cotangents of the arrays as the kernel leaves them. After it, they hold the cotangents
    of the arrays as the kernel finds them. So the adjoint adds to the shadow of an array that the kernel reads, and
    takes what the kernel overwrites out of the shadow.

    Launch it with the grid of the kernel, and with the elements that the kernel found in the arrays of `before`. It
    changes the shadows only.

    Args:
        kernel: what `numba.cuda.jit` returns.
        tape: words of memory for each thread, for values that a loop of unknown length overwrites.

    Raises:
        UnsupportedError: a line of the kernel that has no derivative here, or a race of its threads.
        LaunchError: arguments that are not as said above, or a thread that needs a longer tape.

    Source: Moses et al., "Reverse-mode automatic differentiation and optimization of GPU kernels via Enzyme" (2021).

    In numba's simulator (NUMBA_ENABLE_CUDASIM=1):

    >>> import math, numpy as np, dualrev as dr
    >>> from numba import cuda
    >>> @cuda.jit
    ... def sine(x, y):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         y[i] = math.sin(x[i])
    >>> x, y = np.array([0.0, 1.0]), np.zeros(2)
    >>> d_x, d_y = np.zeros(2), np.ones(2)
    >>> dr.cuda.adjoint(sine)[1, 32](x, y, d_x, d_y)  # doctest: +SKIP
    >>> d_x  # doctest: +SKIP
    array([1.        , 0.54030231])
    """
    if not is_kernel(kernel):
        found = repr(kernel) if isinstance(kernel, Adjoint) else type(kernel).__name__
        raise LaunchError(
            "dr.cuda.adjoint", f"it takes a kernel of numba.cuda.jit, got {found}", "@cuda.jit above a kernel"
        )
    if not isinstance(tape, int) or isinstance(tape, bool) or tape < 1:
        raise LaunchError("dr.cuda.adjoint", f"tape is a positive number of words, got {tape!r}", f"tape={_TAPE}")
    return Adjoint(kernel, tape)


class Adjoint:
    """Adjoint of a kernel, which is derived and compiled once for the types of the arguments."""

    def __init__(self, kernel: UserValue, tape: int) -> None:
        self.kernel, self.tape = kernel, tape
        self._thread = thread_function(kernel)
        self.parameters = self._thread.parameters
        self._made: dict[tuple[NumbaTypes, bool], tuple[KernelText, UserValue]] = {}

    def __repr__(self) -> str:
        return f"dualrev.cuda.adjoint({self.kernel.py_func.__name__})"

    def __getitem__(self, grid: Any) -> Launch:
        """Return the adjoint for a grid: `[blocks, threads]`, as for the kernel."""
        if not isinstance(grid, tuple) or len(grid) < 2:
            raise self.misfit(f"a grid has blocks and threads, got {grid!r}", "adjoint[blocks, threads]")
        return Launch(self, grid)

    def __call__(self, *args: Any) -> None:
        """Raise LaunchError: a launch needs a grid."""
        raise self.misfit("a launch needs a grid", "adjoint[blocks, threads](*args, *shadows)")

    def misfit(self, why: str, instead: str) -> LaunchError:
        """Return the error for a launch."""
        return LaunchError(f"the launch of {self!r}", why, instead)

    def source(self, *args: Any) -> str:
        """Return the text of the adjoint kernel for arguments of the kernel."""
        return self._derived(args)[0].text

    def compiled(self, *args: Any) -> UserValue:
        """Return the adjoint kernel for arguments of the kernel, as `numba.cuda.jit` returns it.

        Its parameters are those of a launch, with the members of tuples in place of tuples. The shadows that it is
        launched with must not share memory. `adjoint` takes it for second derivatives, unless its threads look for
        room on the tape, or compete for cotangents.
        """
        return self._derived(args)[1]

    def before(self, *args: Any) -> tuple[str, ...]:
        """Return the arrays that the kernel changes, and that the adjoint needs as they were before the launch.

        Keep a copy of these before you launch the kernel, and hand the copy to the adjoint. All other arrays may be
        handed to it before or after the launch.
        """
        made = self._derived(args)[0]
        return tuple(made.members[k].name for k in made.before)

    def derived(self, grid: Any, args: Sequence[Any]) -> KernelText:
        """Return the derived kernel for a launch of the kernel itself; LaunchError if the launch has no adjoint."""
        if len(args) != len(self.parameters):
            raise self.misfit(
                f"the kernel takes {', '.join(self.parameters)}, got {len(args)} arguments", "all of them"
            )
        return self[grid].checked(args)

    def _derived(self, args: Sequence[Any], atomic: bool = False) -> tuple[KernelText, UserValue]:
        parameters = self.parameters
        if len(args) < len(parameters):
            why = f"it takes {', '.join(parameters)}, and shadows, got {len(args)} arguments"
            raise self.misfit(why, "*args, *shadows")
        kinds = self.types_of(args)
        if (kinds, atomic) not in self._made:
            options = "fastmath=True" if _is_fast(self.kernel) else ""
            made = kernel_text(self._thread, kinds, self.tape, options, atomic)
            self._made[kinds, atomic] = made, _compiled(made)
        return self._made[kinds, atomic]

    def types_of(self, args: Sequence[Any]) -> NumbaTypes:
        """Return numba's types of the arguments of the kernel, shadows left out."""
        return tuple(type_of(name, x, self._type_of) for name, x in zip(self.parameters, args, strict=False))

    def _type_of(self, name: str, x: Any) -> NumbaType:
        """Return numba's type of an argument; arrays on a device have that of arrays with their layout."""
        try:
            kind = numba.typeof(_on_host(x))
        except ValueError:
            cure = f"cuda.as_cuda_array({name})" if hasattr(x, "__cuda_array_interface__") else f"np.asarray({name})"
            raise self.misfit(f"numba has no type for {name}, of class {type(x).__name__}", cure) from None
        return types.Array(kind.dtype, kind.ndim, kind.layout) if isinstance(kind, types.Array) else kind


class Launch:
    """Adjoint of a kernel for a grid."""

    def __init__(self, of: Adjoint, grid: Any) -> None:
        self._of, self._grid = of, grid

    def __call__(self, *args: Any) -> None:
        """Launch the adjoint with the arguments of the kernel, and the shadows of its arrays of floats."""
        of = self._of
        made, kernel = of._derived(args)
        count = len(of.parameters)
        primals = flat(args[:count])
        self._check_grid(made)
        shadows = self._shadows(of.types_of(args), args[count:])
        self._check_shadows(made, primals, shadows)
        self._check_memory(made, primals, shadows)
        if _are_shared(made, shadows):  # an element of the shadows may have two readers, one of each array
            made, kernel = of._derived(args, atomic=True)
        needed = [] if made.limit is None else [np.zeros(1, np.int64)]
        self._run(made, kernel, primals, shadows, needed)
        if made.limit is None or needed[0][0] <= made.limit:
            return
        changed = "".join(f" and {made.members[k].name}" for k in made.restored)
        n = needed[0][0]
        why = f"a thread needs {n} words of tape and has {made.limit}: the shadows{changed} are half done"
        raise of.misfit(why, f"dr.cuda.adjoint(kernel, tape={n}), and launch it with arguments as before")

    def _run(
        self, made: KernelText, kernel: UserValue, primals: list[Any], shadows: list[Any], needed: list[Any]
    ) -> None:
        """Launch the adjoint kernel; twice, if threads compete for cotangents (winners.py)."""
        if made.extreme:
            self._check_order(made, primals)
            self._synchronize()
            best = [cloned(primals[k]) for k in made.extreme]
            unchanged = [cloned(x) if k in made.restored else x for k, x in enumerate(primals)]
            first, second = (
                [y for x in best for y in (x, cuda.to_device(np.zeros(tuple(x.shape), np.int32)))] for _ in range(2)
            )
            self._synchronize()
            kernel[self._grid](*unchanged, *shadows, *first, True, *needed)
            kernel[self._grid](*primals, *shadows, *second, False, *needed)
        else:
            kernel[self._grid](*primals, *shadows, *needed)
        if needed:
            self._synchronize()

    def _check_order(self, made: KernelText, primals: list[Any]) -> None:
        """Raise LaunchError if both launches would not run the same code, for arrays in different orders."""
        for k in made.restored:
            x = _on_host(primals[k])
            if not (x.flags.c_contiguous if isinstance(x, np.ndarray) else _numba_array(x).is_c_contiguous()):
                why = f"{made.members[k].name} changes while threads compete for a maximum, and is not in C order"
                raise self._of.misfit(why, f"a copy of {made.members[k].name} in C order")

    def _synchronize(self) -> None:
        """Wait for other streams than the default one."""
        if any(map(is_stream, self._grid[2:3])):
            cuda.synchronize()

    def checked(self, primals: Sequence[Any]) -> KernelText:
        """Return the derived kernel for arguments of the kernel, after the checks of a launch; launch nothing."""
        made = self._of._derived(primals)[0]
        self._check_grid(made)
        self._check_memory(made, flat(primals), ())
        return made

    def _check_grid(self, made: KernelText) -> None:
        """Raise LaunchError if threads that differ in what the kernel does not ask for would write to one element."""
        if made.threads is None:
            return
        for part, extents in zip(("block", "thread"), self._grid[:2], strict=True):
            for axis, n in zip("xyz", extents if isinstance(extents, (tuple, list)) else (extents,), strict=False):
                if n > 1 and f"{part}_{axis}" not in made.threads:
                    why = f"the kernel does not ask for cuda.{part}Idx.{axis}, so {n} threads write to one element"
                    raise self._of.misfit(why, f"1 for {axis} of the {part}s")

    def _shadows(self, kinds: NumbaTypes, shadows: Sequence[Any]) -> list[Any]:
        """Return the shadows of members, from those of arguments."""
        names = [(name, kind) for name, kind in zip(self._of.parameters, kinds, strict=True) if has_shadow(kind)]
        if len(shadows) != len(names):
            said = ", ".join(f"d_{name}" for name, _ in names) or "none"
            raise self._of.misfit(f"it takes {len(names)} shadows ({said}), got {len(shadows)}", "*args, *shadows")
        pairs = zip(names, shadows, strict=True)
        return [x for (name, kind), shadow in pairs for x in shadows_in(name, kind, shadow, self._of.misfit)]

    def _check_shadows(self, made: KernelText, primals: Sequence[Any], shadows: Sequence[Any]) -> None:
        for k, shadow in zip(made.active, shadows, strict=True):
            name, x = made.members[k].name, primals[k]
            kind = getattr(shadow, "shape", None), getattr(shadow, "dtype", None)
            if kind != (x.shape, x.dtype):
                why = (
                    f"the shadow of {name} has shape {kind[0]} and dtype {kind[1]}, and {name} {x.shape} and {x.dtype}"
                )
                raise self._of.misfit(why, f"np.zeros_like({name})")

    def _check_memory(self, made: KernelText, primals: Sequence[Any], shadows: Sequence[Any]) -> None:
        """Raise LaunchError if arguments share memory and one of them changes; without shadows, of the kernel alone."""
        names = [member.name for member in made.members]
        arrays = [
            _Given(name, x, k in made.written, False) for k, (name, x) in enumerate(zip(names, primals, strict=True))
        ]
        arrays += [
            _Given(f"d_{names[k]}", x, k in made.written, True)
            for k, x in zip(made.active, shadows, strict=bool(shadows))
        ]
        for one, other in itertools.combinations(arrays, 2):
            changes = one.changes or other.changes or one.is_shadow != other.is_shadow
            changes = changes or (one.is_shadow and isinstance(one.array, np.ndarray))  # copied to the device twice
            if changes and _overlap(one.array, other.array):
                raise self._of.misfit(f"{one.name} and {other.name} share memory", f"a copy of {other.name}")


class _Given(NamedTuple):
    """Argument of a launch: whether the kernel changes it, or what it is the shadow of."""

    name: str
    array: Any
    changes: bool
    is_shadow: bool


def _on_host(x: Any) -> Any:
    """Return the array behind one of numba's simulator; any other argument as it is."""
    return getattr(x, "_ary", x) if type(x).__name__ == "FakeCUDAArray" else x


def is_stream(x: Any) -> bool:
    """Whether a part of a grid is a stream, of numba or of another library: not 0, the default stream."""
    return hasattr(x, "synchronize") or hasattr(x, "__cuda_stream__")


def _numba_array(x: Any) -> Any:
    """Return numba's array for one on the device, which may be of another library."""
    return x if hasattr(x, "copy_to_host") else cuda.as_cuda_array(x)


def cloned(x: Any) -> Any:
    """Copy of an array, on the device, in C order; only records, and arrays in another order, travel to the host."""
    if isinstance(x, np.ndarray):
        return cuda.to_device(np.ascontiguousarray(x))
    x = _numba_array(x)
    if x.dtype.names is not None or not x.is_c_contiguous():  # the simulator copies no records on the device
        return cuda.to_device(np.ascontiguousarray(x.copy_to_host()))
    made = cuda.device_array(tuple(x.shape), x.dtype)
    made.copy_to_device(x)
    return made


def span(x: Any) -> tuple[int, int] | None:
    """Return the addresses of an array's memory, first and last; None if there is no memory."""
    x = _on_host(x)
    given = getattr(x, "__cuda_array_interface__", None) or getattr(x, "__array_interface__", None)
    if given is None or 0 in given["shape"]:
        return None
    size = x.dtype.itemsize
    strides = given.get("strides") or x.strides
    reach = [(n - 1) * step for n, step in zip(given["shape"], strides, strict=True)]
    first = given["data"][0]
    return first + sum(k for k in reach if k < 0), first + sum(k for k in reach if k > 0) + size


def _are_shared(made: KernelText, shadows: Sequence[Any]) -> bool:
    """Whether a shadow that is added to without atomics shares memory with another one."""
    pairs = itertools.combinations(zip(made.active, shadows, strict=True), 2)
    return any((k in made.alone or m in made.alone) and _overlap(x, y) for (k, x), (m, y) in pairs)


def _overlap(x: Any, y: Any) -> bool:
    """Whether the memory of two arguments may overlap."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return bool(np.may_share_memory(x, y) and np.shares_memory(x, y))
    one, other = span(x), span(y)
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _is_fast(kernel: UserValue) -> bool:
    """Whether a kernel has the option `fastmath`."""
    options = getattr(kernel, "targetoptions", {})
    return bool(options.get("fastmath") or getattr(kernel, "_fastmath", False))


_serial = itertools.count(1)


def _compiled(made: KernelText) -> UserValue:
    """Define the kernel of a text, whose lines tracebacks and `inspect.getsource` find."""
    file = f"<dualrev.cuda {made.name} {next(_serial)}>"
    space: dict[str, UserValue] = {**made.refs, "__name__": __name__}
    remember(made.text, file)
    execute(made.text, space, file)
    return space[made.name]
