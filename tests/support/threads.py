"""Interpreter of CUDA kernels that logs the accesses of each thread: an oracle for races.

    cuda.syncthreads()    a `yield`: the interpreter resumes all threads of a block, in random order

Two threads race on an element if both access it in one phase, or in different blocks, at least one of them stores, and
not both add atomically. The interpreter knows kernels without device functions, such as adjoints.
"""

import ast
import itertools
import math
from types import FunctionType, SimpleNamespace

import numba
import numpy as np

__all__ = ["DivergenceError", "Program"]

UNSET = 0.7  # what uninitialised memory holds


class DivergenceError(Exception):
    """Some threads of a block wait at a barrier, and others have ended."""


class Program:
    """A kernel as Python text; `run` returns the lines of code that race, if any."""

    def __init__(self, text, name, refs=()):
        tree = ast.parse(text)
        tree.body = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
        (kernel,) = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == name]
        kernel.decorator_list = []
        kernel.body.append(ast.If(ast.Constant(value=False), [ast.Expr(ast.Yield())], []))  # a generator in any case
        tree = ast.fix_missing_locations(_Waiting().visit(tree))
        self.space = {"np": np, "math": math, "numba": numba, **dict(refs)}
        exec(compile(tree, "<kernel>", "exec"), self.space)
        self.function = self.space[name]

    def run(self, grid, args, rng, fill=UNSET):
        """Run the kernel on arrays of NumPy; return the set of pairs of accesses that race."""
        blocks, threads = ((x,) if isinstance(x, int) else x for x in grid)
        log = {}
        for b in rng.permutation([*np.ndindex(*blocks)]).tolist():
            shared = []
            every = [_Thread(self, (blocks, threads, b, t), args, shared, log, fill) for t in np.ndindex(*threads)]
            self._run_block(every, rng)
        return {pair for some in log.values() for pair in _races(some)}

    @staticmethod
    def _run_block(every, rng):
        answer = None
        while every:
            asked = []
            for k in rng.permutation(len(every)):
                try:
                    asked.append(every[k].code.send(answer))
                except StopIteration:
                    asked.append(DivergenceError)
                every[k].phase += 1
            ended = asked.count(DivergenceError)
            if ended == len(every):
                return
            if ended:
                raise DivergenceError
            answer = any(asked)


class _Waiting(ast.NodeTransformer):
    """`cuda.syncthreads()` and `cuda.syncthreads_or(x)` as yields."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = ast.unparse(node.func)
        return ast.Yield(*node.args) if name.startswith("cuda.syncthreads") else node


class _Thread:
    def __init__(self, program, place, args, shared, log, fill):
        blocks, threads, b, t = place
        self.phase, self.block, self.name, self.log = 0, tuple(b), (tuple(b), tuple(t)), log
        dims = ((*x, *[1] * (3 - len(x))) for x in (threads, blocks))
        places = ((*x, *[0] * (3 - len(x))) for x in (t, b))
        (bd, gd), (ti, bi) = dims, places
        count = itertools.count()

        def array(shape, dtype):
            k = next(count)
            if k == len(shared):
                shared.append(np.full(shape, fill, _dtype(dtype)))
            return _Logged(shared[k], self, (k, self.block))

        def one(values):
            return lambda n: values[0] if n == 1 else tuple(values[:n])

        cuda = SimpleNamespace(
            threadIdx=SimpleNamespace(x=ti[0], y=ti[1], z=ti[2]),
            blockIdx=SimpleNamespace(x=bi[0], y=bi[1], z=bi[2]),
            blockDim=SimpleNamespace(x=bd[0], y=bd[1], z=bd[2]),
            gridDim=SimpleNamespace(x=gd[0], y=gd[1], z=gd[2]),
            grid=one([i * d + j for i, d, j in zip(bi, bd, ti, strict=True)]),
            gridsize=one([i * d for i, d in zip(gd, bd, strict=True)]),
            shared=SimpleNamespace(array=array),
            local=SimpleNamespace(array=lambda shape, dtype: np.full(shape, fill, _dtype(dtype))),
            atomic=SimpleNamespace(
                add=lambda a, i, v: a.add(i, v), sub=lambda a, i, v: a.add(i, -v), max=lambda a, i, v: a.add(i, 0)
            ),
        )
        function = FunctionType(program.function.__code__, {**program.space, "cuda": cuda})
        given = [_Logged(x, self, k) if isinstance(x, np.ndarray) else x for k, x in enumerate(args)]
        self.code = function(*given)


def _dtype(x):
    return numba.np.numpy_support.as_dtype(x) if isinstance(x, numba.types.Type) else np.dtype(x)


class _Logged:
    """An array, or a part of it, by the positions of its elements."""

    def __init__(self, whole, thread, key, positions=None):
        self.whole, self.thread, self.key = whole, thread, key
        self.positions = np.arange(whole.size).reshape(whole.shape) if positions is None else positions
        self.shape, self.size, self.ndim, self.dtype = (
            self.positions.shape,
            self.positions.size,
            self.positions.ndim,
            whole.dtype,
        )

    def _at(self, index, kind):
        found = self.positions[tuple(index) if isinstance(index, tuple) else index]
        if isinstance(found, np.ndarray):
            return found
        line = self.thread.code.gi_frame.f_lineno
        access = kind, self.thread.name, self.thread.phase, line
        self.thread.log.setdefault((self.key, int(found)), {})[access] = None
        return np.unravel_index(found, self.whole.shape)

    def __getitem__(self, index):
        found = self._at(index, "load")
        return _Logged(self.whole, self.thread, self.key, found) if isinstance(found, np.ndarray) else self.whole[found]

    def __setitem__(self, index, value):
        self.whole[self._at(index, "store")] = value

    def __len__(self):
        return self.shape[0]

    def add(self, index, value):
        """Add atomically."""
        self.whole[self._at(index, "atomic")] += value


def _races(accesses):
    """Pairs of racing accesses to one element, each as its kind and line."""
    if len({thread for _, thread, _, _ in accesses}) == 1 or {kind for kind, *_ in accesses} in ({"load"}, {"atomic"}):
        return
    for (kind, one, phase, line), (other, two, then, at) in itertools.combinations(accesses, 2):
        apart = one == two or (one[0] == two[0] and phase != then)
        if not apart and {kind, other} not in ({"load"}, {"atomic"}):
            yield tuple(sorted(((kind, line), (other, at))))
