"""Thread function of a CUDA kernel: the kernel's body as a numba function of one thread (syntax tree -> syntax tree).

    @cuda.jit                                        def scatter(x, k, y, grid_x):
    def scatter(x, k, y):                                i = grid_x
        i = cuda.grid(1)                                 if i < x.size:
        if i < x.size:                                       y[...][k[i]] += x[i]
            cuda.atomic.add(y, k[i], x[i])

What CUDA tells a thread about itself becomes an integer parameter, so the compiler can read the function as any other.
A device function becomes a numba function in the same way. It takes the indices that it asks for from its caller.

What the threads of a block share is a parameter, too: an array for each call of `cuda.shared.array`. A barrier,
`cuda.syncthreads()`, becomes a call of the marker `barrier` with these arrays.

An atomic addition becomes `y[...][i] += v`: the view `y[...]` of the whole array tells races.py that the store is
atomic, and means nothing to the derivative. `cuda.atomic.max(y, i, v)` becomes `y[...][...][i] = v`, and that of min
`y[...][...][...][i] = v`: if v is the element after the launch, this is what has happened (winners.py). No other view
`y[...]` is left in a thread function.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numba
import numpy as np
from numba.core import types
from numba.core.registry import CPUDispatcher

from dualrev.compiler.ad.custom.custom_rules import has_rule
from dualrev.compiler.frontend.reading.source import Source, is_derivative, read
from dualrev.compiler.runtime.markers import barrier
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.cuda.refusals import cause_and_cure
from dualrev.cuda.shared import Shared
from dualrev.diagnostics.quoting import execute, unused

__all__ = ["INDICES", "ThreadFunction", "is_kernel", "thread_function"]

_AXES = "xyz"

#: What a thread is told: the parameter, the expression in a kernel, and the coordinates that distinguish threads by it.
INDICES: dict[str, tuple[str, frozenset[str]]] = {}
for _k, _axis in enumerate(_AXES):
    _item = "" if _k == 0 else f"[{_k}]"
    _both = frozenset({f"thread_{_axis}", f"block_{_axis}"})
    INDICES[f"grid_{_axis}"] = f"cuda.grid({_k + 1}){_item}", _both
    INDICES[f"gridsize_{_axis}"] = f"cuda.gridsize({_k + 1}){_item}", frozenset()
    INDICES[f"thread_{_axis}"] = f"np.int64(cuda.threadIdx.{_axis})", frozenset({f"thread_{_axis}"})
    INDICES[f"block_{_axis}"] = f"np.int64(cuda.blockIdx.{_axis})", frozenset({f"block_{_axis}"})
    INDICES[f"blockdim_{_axis}"] = f"np.int64(cuda.blockDim.{_axis})", frozenset()
    INDICES[f"griddim_{_axis}"] = f"np.int64(cuda.gridDim.{_axis})", frozenset()

#: How many views mark an atomic operation: accesses.KINDS.
_MARKS = {"atomic.add": 1, "atomic.sub": 1, "atomic.max": 2, "atomic.min": 3}

_FIELDS = {"threadIdx": "thread", "blockIdx": "block", "blockDim": "blockdim", "gridDim": "griddim"}


def _is_name(s: ast.Assign, name: str) -> bool:
    """Whether a statement assigns a name, and only this."""
    return len(s.targets) == 1 and isinstance(s.targets[0], ast.Name) and s.targets[0].id == name


def is_kernel(x: UserValue) -> bool:
    """Whether `x` is what `numba.cuda.jit` returns, on a device or in numba's simulator."""
    return type(x).__name__ in ("CUDADispatcher", "FakeCUDAKernel") and isinstance(x.py_func, FunctionType)


def _is_callable_there(x: UserValue) -> bool:
    """Whether a kernel can call `x`, and nothing says what its derivative is: numba compiles it for the device."""
    return is_kernel(x) or (isinstance(x, CPUDispatcher) and not is_derivative(x) and not has_rule(x))


def _is_cuda(x: UserValue) -> bool:
    return isinstance(x, ModuleType) and x.__name__ in ("numba.cuda", "numba.cuda.simulator")


@dataclass(eq=False)
class ThreadFunction:
    """Kernel, or device function, as a numba function of one thread.

    indices     parameters after those of the kernel: their names, by the keys of INDICES
    shared      the last parameters: the names of the arrays that the threads of a block share
    sources     the sources of this function and of the device functions that it calls, by their ids
    """

    dispatcher: Dispatcher
    source: Source
    indices: dict[str, str]
    shared: dict[Shared, str]
    sources: dict[int, Source]

    @property
    def parameters(self) -> list[str]:
        """Parameters of the kernel."""
        names = self.source.parameters
        return names[: len(names) - len(self.indices) - len(self.shared)]


def thread_function(kernel: UserValue) -> ThreadFunction:
    """Return the thread function of a kernel; UnsupportedError names what it holds that has no derivative here."""
    return _made(kernel, ())


def _made(kernel: UserValue, callers: tuple[UserValue, ...]) -> ThreadFunction:
    source = read(numba.njit(kernel.py_func))
    if any(kernel is other for other in callers):
        source.refuse(source.tree, "a device function that calls itself", "it is inlined", "a loop")
    rewriting = _Rewriting(source, lambda called: _made(called, (*callers, kernel)))
    tree = copy.deepcopy(source.tree)
    tree.decorator_list = []
    tree.body = [t for s in tree.body for t in rewriting.statement(s)]
    indices = {key: rewriting.indices[key] for key in INDICES if key in rewriting.indices}
    arrays = [*rewriting.shared.values(), *(source.parameters if callers else ())]  # a caller may hand over its own
    for barrier_call in rewriting.barriers:
        barrier_call.args = [ast.Name(x, ast.Load()) for x in arrays]
    tree.args.args += [ast.arg(name) for name in (*indices.values(), *rewriting.shared.values())]
    ast.fix_missing_locations(tree)
    space = {**source.function.__globals__, **_closure(source.function), **rewriting.space}
    execute(ast.Module([tree], []), space, source.file)
    function = space[tree.name]
    function.__defaults__ = None  # a kernel takes none
    made = numba.njit(error_model="numpy")(function)
    own = Source(made, function, tree, source.file, source.lines)
    return ThreadFunction(made, own, indices, rewriting.shared, {**rewriting.sources, id(made): own})


def _closure(f: FunctionType) -> dict[str, UserValue]:
    cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


@dataclass(eq=False)
class _Rewriting(ast.NodeTransformer):
    """Rewriting of the body of a kernel, which collects the indices that it asks for, and what it refers to."""

    source: Source
    made: Callable[[UserValue], ThreadFunction]
    indices: dict[str, str] = field(default_factory=dict)  # their names, by the keys of INDICES
    shared: dict[Shared, str] = field(default_factory=dict)  # their names
    barriers: list[ast.Call] = field(default_factory=list)
    space: dict[str, UserValue] = field(default_factory=dict)
    sources: dict[int, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._taken = {x.id for x in ast.walk(self.source.tree) if isinstance(x, ast.Name)} | {*self.source.parameters}
        stored = (ast.Store, ast.Del)
        self._assigned = Counter(
            x.id for x in ast.walk(self.source.tree) if isinstance(x, ast.Name) and isinstance(x.ctx, stored)
        )
        self._locals = {*self.source.parameters, *self._assigned}

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """Rewrite a statement of the kernel."""
        made = self.visit(s)
        return made if isinstance(made, list) else [made]

    # Names

    def value(self, node: ast.expr) -> Any:
        """Value of a global name, or of an attribute of it; None for anything else."""
        if isinstance(node, ast.Name) and node.id not in self._locals:
            found = self.source.lookup(node.id, ())
            return None if found is None else found.value
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr, None)
        return None

    def path(self, node: ast.expr) -> str:
        """Path of an expression below numba.cuda: "atomic.add" for `cuda.atomic.add`; "" for any other expression."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
            if _is_cuda(self.value(node)):
                return ".".join(names)
        found = self.value(node)
        if found is None or isinstance(found, ModuleType):
            return ""
        parts = getattr(sys.modules.get("numba.cuda"), "__dict__", {})  # `from numba.cuda import grid`
        first = [name for name, x in parts.items() if x is found]
        return ".".join([*first[:1], *names]) if first else ""

    def refer(self, stem: str, x: UserValue) -> ast.Name:
        """Name for a value that the rewritten function refers to."""
        for name, known in self.space.items():
            if known is x:
                return ast.Name(name, ast.Load())
        name = self._free(stem)
        self.space[name] = x
        return ast.Name(name, ast.Load())

    def _free(self, name: str) -> str:
        found = unused(name, self._taken)
        self._taken.add(found)
        return found

    def index(self, key: str) -> ast.Name:
        """Parameter for an index."""
        if key not in self.indices:
            self.indices[key] = self._free(key)
        return ast.Name(self.indices[key], ast.Load())

    def refuse(self, node: ast.AST, path: str) -> NoReturn:
        """Refuse a part of numba.cuda."""
        self.source.refuse(node, f"cuda.{path}", *cause_and_cure(path))

    # Syntax

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Rewrite an assignment; an array that a block shares gets the name that it is assigned to, if it has one."""
        made, target = node.value, node.targets[0]
        is_shared = isinstance(made, ast.Call) and self.path(made.func) == "shared.array"
        if isinstance(target, ast.Name) and len(node.targets) == 1 and is_shared:
            assert isinstance(made, ast.Call)
            if self._assigned[target.id] == 1:
                self.shared[self._shared(made)] = target.id
                return ast.copy_location(ast.Pass(), node)
            return ast.copy_location(ast.Assign([target], self._block_array(self._shared(made), target.id)), node)
        found = self.generic_visit(node)
        assert isinstance(found, ast.stmt)
        return found

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Rewrite a barrier, or an atomic operation: a statement of its own."""
        call = node.value
        path = self.path(call.func) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and path == "syncthreads" and not call.args:
            self.barriers.append(ast.copy_location(ast.Call(self.refer("barrier_", barrier), [], []), node))
            return ast.copy_location(ast.Expr(self.barriers[-1]), node)
        if not isinstance(call, ast.Call) or path not in _MARKS or len(call.args) != 3 or call.keywords:
            made = self.generic_visit(node)
            assert isinstance(made, ast.stmt)
            return made
        array, place, value = (self.visit(x) for x in call.args)
        for _ in range(_MARKS[path]):
            array = ast.Subscript(array, ast.Constant(...), ast.Load())
        target = ast.Subscript(array, place, ast.Store())
        if path in ("atomic.max", "atomic.min"):
            return ast.copy_location(ast.Assign([target], value), node)
        op = ast.Add() if path == "atomic.add" else ast.Sub()
        return ast.copy_location(ast.AugAssign(target, op, value), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Leave out `[...]`, which marks atomic operations in a thread function."""
        made = self.generic_visit(node)
        assert isinstance(made, ast.Subscript)
        is_whole = isinstance(made.slice, ast.Constant) and made.slice.value is Ellipsis
        return made.value if is_whole and isinstance(made.ctx, ast.Load) else made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Rewrite a question for an index, a local array, or a call of a device function."""
        path, called = self.path(node.func), self.value(node.func)
        if path in ("grid", "gridsize"):
            made = self._grid(node, path)
        elif path == "local.array":
            made = self._local_array(node)
        elif path == "shared.array":
            made = self._block_array(self._shared(node), "shared")
        elif path == "const.array_like":
            made = self._constant_array(node)
        elif path:
            self.refuse(node, path)
        elif _is_callable_there(called):
            made = self._device_function(node, called)
        else:
            found = self.generic_visit(node)
            assert isinstance(found, ast.expr)
            return found
        return ast.copy_location(made, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Rewrite `cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x`, in any order, as `cuda.grid(1)`."""
        if isinstance(node.op, ast.Add):
            for part, product in ((node.left, node.right), (node.right, node.left)):
                paths = [self.path(part)]
                if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                    paths += sorted((self.path(product.left), self.path(product.right)))
                for axis in _AXES:
                    if paths == [f"threadIdx.{axis}", f"blockDim.{axis}", f"blockIdx.{axis}"]:
                        return ast.copy_location(self.index(f"grid_{axis}"), node)
        made = self.generic_visit(node)
        assert isinstance(made, ast.expr)
        return made

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Rewrite `cuda.threadIdx.x` and the like; refuse all else that is left of numba.cuda."""
        path = self.path(node)
        first, _, axis = path.partition(".")
        if first in _FIELDS and axis in (*_AXES,):
            return ast.copy_location(self.index(f"{_FIELDS[first]}_{axis}"), node)
        if path:
            self.refuse(node, path)
        made = self.generic_visit(node)
        assert isinstance(made, ast.expr)
        return made

    def _grid(self, node: ast.Call, path: str) -> ast.expr:
        count = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
        if not isinstance(count, int) or not 1 <= count <= 3:
            self.refuse(node, path)
        parts: list[ast.expr] = [self.index(f"{path}_{axis}") for axis in _AXES[:count]]
        return parts[0] if count == 1 else ast.Tuple(parts, ast.Load())

    def _array(self, node: ast.Call, path: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype of a local array, or of one that a block shares."""
        given = dict(zip(("shape", "dtype"), node.args, strict=False)) | {str(k.arg): k.value for k in node.keywords}
        if given.keys() != {"shape", "dtype"}:
            self.refuse(node, path)
        shape, named = self._shape(given["shape"]), given["dtype"]
        dtype: Any = named.value if isinstance(named, ast.Constant) else self.value(named)
        if not shape or min(shape) < 0 or dtype is None:
            self.refuse(node, path)
        return shape, numba.np.numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)

    def _shared(self, node: ast.Call) -> Shared:
        """Array that the threads of a block share, for a call of `cuda.shared.array`."""
        shape, kind = self._array(node, "shared.array")
        if 0 in shape:
            why = "its size is given at the launch"
            self.source.refuse(node, "cuda.shared.array of no elements", why, "its size as an int, such as 128")
        if kind.kind not in "biuf" or (kind.itemsize < 4 and kind.kind == "f"):
            why = "the threads of a block share numbers, here"
            self.source.refuse(
                node, f"cuda.shared.array of {kind}", why, "an array of numba.float64 for each part of it"
            )
        return Shared(self.source.file, (node.lineno, node.col_offset), shape, kind)

    def _block_array(self, array: Shared, stem: str) -> ast.Name:
        """Parameter for an array that the threads of a block share."""
        if array not in self.shared:
            self.shared[array] = self._free(stem)
        return ast.Name(self.shared[array], ast.Load())

    def _local_array(self, node: ast.Call) -> ast.expr:
        shape, kind = self._array(node, "local.array")
        module = self.refer("np_", np)
        extents = [ast.Constant(n) for n in shape]
        made = extents[0] if len(extents) == 1 else ast.Tuple([*extents], ast.Load())
        dtype_node = ast.Attribute(module, "bool_" if kind.kind == "b" else kind.name, ast.Load())
        return ast.Call(ast.Attribute(module, "empty", ast.Load()), [made, dtype_node], [])

    def _constant_array(self, node: ast.Call) -> ast.expr:
        """Global array in constant memory: the array itself, which the emission puts there again."""
        found = self.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(found, np.ndarray):
            self.refuse(node, "const.array_like")
        if found.dtype.kind not in "iub" and found.dtype not in (np.float64, np.float32):
            what, why = f"cuda.const.array_like of {found.dtype}", "constants are real numbers here"
            self.source.refuse(node, what, why, "an array of float64, or float32, for each part of it")
        return node.args[0]

    def _shape(self, node: ast.expr) -> tuple[int, ...] | None:
        """Constant extents of a shape; None if they are not constants."""
        if isinstance(node, ast.Tuple):
            parts = [self._shape(x) for x in node.elts]
            return None if None in parts else tuple(n for part in parts if part is not None for n in part)
        found = self._constant(node)
        extents = found if isinstance(found, tuple) else (found,)
        return extents if all(type(n) is int for n in extents) else None

    def _constant(self, node: ast.expr) -> Any:
        """Value of a constant expression, as numba knows them; None for any other."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name) if self._assigned[name] == 1:
                made = [s.value for s in ast.walk(self.source.tree) if isinstance(s, ast.Assign) and _is_name(s, name)]
                return self._constant(made[0]) if made else None
        return self.value(node)

    def _device_function(self, node: ast.Call, called: UserValue) -> ast.expr:
        callee = self.made(called)
        self.sources |= callee.sources
        name = self.refer(f"{called.py_func.__name__}_", callee.dispatcher)
        args = [self.visit(x) for x in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        more = [ast.keyword(name, self.index(key)) for key, name in callee.indices.items()]
        more += [ast.keyword(name, self._block_array(key, name)) for key, name in callee.shared.items()]
        return ast.Call(name, args, [*keywords, *more])
