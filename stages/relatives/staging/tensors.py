r"""Staged tensors: `TensorR` of Wang et al. 2019, section 5, whose operators are overloaded with shift.

Paper:   section 5: class Tensor(data: Rep[Array[Double]], dimension), class TensorR(x: Tensor, d: Tensor)
D[Tensor] = (Tensor, Ref Tensor)                    of generated code: the names of an array and of its cell
Changed: in lantern.py an operation on numbers writes a line that computes, and lines that add. Here the lines are of
         arrays, and a line that adds is a pullback (operations.py), because the partial derivative is a matrix. IF,
         WHILE, FUN and TREE take tensors, and tuples of them. The paper knows the rank of a tensor at staging time, and
         its dimensions when the code runs. Here the shape is known at staging time, so that a wrong one is an error.
Cost:    O(1) lines for an operation. An operation adds to its operands' cells in place.

    D[op(t1..tn)] = shift (\k. write v = op(x1..xn); d = ref 0;  k (v, d);  write d1 += pullback 1 (!d); ..)
    snippet       = write y = ref 0; di = ref 0; reset (let z = f (x1, d1) .. in write y += z.x; z.d += 1.0); !y, !di

Code for tensors runs in Python, on NumPy's arrays of doubles. It has no tangents and no text for numba: derivatives of
the first order only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.diagnostics.user_lines import where
from stages.relatives.continuations.control import reset, shift
from stages.relatives.staging import texts
from stages.relatives.staging.code import Add, Atom, Block, Cell, Code, LetTensor, Name, Pull, StagingError
from stages.relatives.staging.number import Index, atom, here
from stages.relatives.staging.operations import FUNCTIONS
from stages.relatives.staging.running import in_python

__all__ = ["StagedTensors", "TensorR", "cross_entropy", "row", "sigmoid", "stage_tensors", "tanh", "total", "zeros"]

Shape = tuple[int, ...]
_UFUNCS = {np.add: "add", np.subtract: "sub", np.multiply: "mul"}


class TensorR:
    """D[Tensor]: the name x of an array, its cell d (None for a constant), and its shape."""

    __slots__ = ("d", "run", "shape", "x")

    def __init__(self, run: Code, x: Atom, d: Name | None, shape: Shape) -> None:
        self.run, self.x, self.d, self.shape = run, x, d, shape

    def atoms(self, code: Code) -> list[Atom]:
        """What passes the tensor to a call; a constant has a cell that nobody reads."""
        return [_atom(code, self), code.cell(self.shape) if self.d is None else self.d]

    def renamed(self, code: Code) -> tuple[TensorR, tuple[Name, Name]]:
        """A tensor of this shape with fresh names, and the names."""
        x, d = code.name("v", "tensor"), code.name("d", "cell")
        return TensorR(code, x, d, self.shape), (x, d)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc in _UFUNCS and method == "__call__" and not options:  # a number of NumPy on the left
            return _elementwise(_UFUNCS[ufunc], *inputs)
        raise StagingError(
            f"np.{ufunc.__name__} of a staged tensor{where()}, whose elements are not known while code is generated:"
            " take tanh, sigmoid, total or cross_entropy of stages.relatives.staging.tensors"
        )

    def __add__(self, that: Any) -> TensorR:
        return _elementwise("add", self, that)

    def __radd__(self, that: Any) -> TensorR:
        return _elementwise("add", that, self)

    def __sub__(self, that: Any) -> TensorR:
        return _elementwise("sub", self, that)

    def __rsub__(self, that: Any) -> TensorR:
        return _elementwise("sub", that, self)

    def __mul__(self, that: Any) -> TensorR:
        return _elementwise("mul", self, that)

    def __rmul__(self, that: Any) -> TensorR:
        return _elementwise("mul", that, self)

    def __matmul__(self, x: Any) -> TensorR:
        if not isinstance(x, TensorR) or len(self.shape) != 2 or x.shape != self.shape[1:]:
            raise StagingError(f"@{where()} takes a matrix and a vector of its columns: {_told(self)} @ {_told(x)}")
        return op("matvec", (self, x), self.shape[:1])

    def __getitem__(self, key: Any) -> TensorR:
        if not isinstance(key, slice) or len(self.shape) != 1 or key.step not in (None, 1):
            raise StagingError(f"a staged tensor{where()} takes a slice of a vector, such as x[2:4], not {key!r}")
        i, j, _ = key.indices(self.shape[0])
        return op("part", (self, i, max(i, j)), (max(0, j - i),))

    def __neg__(self) -> TensorR:
        return -1.0 * self

    def unknown(self, *_: object) -> Any:
        """Raise the error that the elements are not known yet."""
        return Name("", "tensor").unknown()

    __bool__ = __float__ = __int__ = __iter__ = __len__ = __lt__ = __le__ = __gt__ = __ge__ = unknown
    __array__ = unknown

    def __repr__(self) -> str:
        return f"the staged tensor {self.x.text if isinstance(self.x, Name) else self.x} of the shape {self.shape}"


class TensorCode(Code):
    """A program with tensors that is being generated."""


def _told(u: Any) -> str:
    return f"a tensor of the shape {u.shape}" if isinstance(u, TensorR) else f"a {type(u).__name__}"


def _atom(code: Code, u: Any) -> Atom:
    if not isinstance(u, TensorR):
        return u if isinstance(u, (int, Name)) else atom(code, u)
    if u.run is not code or u.run.over:
        raise StagingError(f"a tensor of another program that is being generated{where()}: make it an argument")
    return u.x


def op(name: str, arguments: tuple[Any, ...], shape: Shape) -> TensorR:
    """D[op(t1..tn)] = shift (\\k. write v = ..; d = ref 0; k (v, d); write d1 += ..)"""
    code = here()
    if not isinstance(code, TensorCode):
        raise StagingError(f"{name} of tensors{where()} in a program of numbers: stage the program by stage_tensors")
    atoms = tuple(_atom(code, u) for u in arguments)
    y = code.name("v", "tensor")
    code.write(LetTensor(y, name, atoms))
    moving = {k: u.d for k, u in enumerate(arguments) if isinstance(u, TensorR) and u.d is not None}
    if not moving or code.plain:
        return TensorR(code, y, None, shape)

    def body(k: Any) -> Any:
        """Call the continuation, which writes the rest of the program, and then write the reverse step."""
        d = code.cell(shape)
        k(TensorR(code, y, d, shape))
        for i, cell in moving.items() if d in code.reached else ():
            code.write(Pull(cell, name, i, atoms, y, d))

    return shift(body, code)


def _elementwise(name: str, a: Any, b: Any) -> TensorR:
    """An operation on two tensors of one shape, or on a tensor and a number that is known."""
    known = [isinstance(u, (int, float)) for u in (a, b)]
    if any(known):
        shape = (b if known[0] else a).shape
        return op(name, tuple(float(u) if k else u for u, k in zip((a, b), known, strict=True)), shape)
    if not (isinstance(a, TensorR) and isinstance(b, TensorR)) or a.shape != b.shape:
        raise StagingError(
            f"{name}{where()} takes staged tensors of one shape, or a Python number, and got {_told(a)} and {_told(b)}"
        )
    return op(name, (a, b), a.shape)


def tanh(a: TensorR) -> TensorR:
    """The hyperbolic tangent of each element."""
    return op("tanh", (a,), a.shape)


def sigmoid(a: TensorR) -> TensorR:
    """1 / (1 + exp(-x)) of each element."""
    return op("sigmoid", (a,), a.shape)


def total(a: TensorR) -> TensorR:
    """The sum of all elements."""
    return op("sum", (a,), ())


def cross_entropy(scores: TensorR, label: Index) -> TensorR:
    """-log softmax(scores)[label], for a label that is known when the code runs."""
    if len(scores.shape) != 1:
        raise StagingError(f"cross_entropy{where()} takes a vector of scores, and got {_told(scores)}")
    return op("cross_entropy", (scores, label), ())


def zeros(shape: Shape) -> TensorR:
    """A constant tensor of zeros."""
    return op("zeros", (shape[0],), shape) if shape else TensorR(here(), 0.0, None, ())


def row(array: str, index: Index, length: int) -> TensorR:
    """array[index], of an array argument of the program: a constant vector of this length."""
    return op("row", (Name(array, "array"), index, length), (length,))


class StagedTensors:
    """Generated code that returns the value, a number, and its gradient by all tensors.

    paper, python    its texts: in the notation of Fig. 14, and in Python
    __call__         run it: the tensors in their order, and the array arguments by name
    """

    def __init__(self, shapes: Sequence[Shape], arrays: Sequence[str], block: Block, results: Sequence[Name]) -> None:
        self.shapes, self.arrays, self.block, self.results = tuple(shapes), tuple(arrays), block, tuple(results)
        self.parameters = [*(f"x{i}" for i in range(len(self.shapes))), *self.arrays]

    @functools.cached_property
    def paper(self) -> str:
        """The program in the notation of Fig. 14."""
        return texts.paper("snippet", self.parameters, self.block, self.results)

    @functools.cached_property
    def python(self) -> str:
        """The program in Python, with nested functions."""
        return texts.python("snippet", self.parameters, self.block, self.results)

    @functools.cached_property
    def run(self) -> Callable[..., Any]:
        """The function that the text in Python defines."""
        return in_python(self.python, "snippet", FUNCTIONS)

    def __call__(self, *tensors: Any, **arrays: Any) -> tuple[float, tuple[np.ndarray, ...]]:
        """The value and the gradient. TypeError or ValueError for other arguments than the program was staged for."""
        given = [np.asarray(x) for x in tensors]
        if tuple(x.shape for x in given) != self.shapes:
            raise ValueError(f"the program takes tensors of the shapes {self.shapes}, not {[x.shape for x in given]}")
        if wrong := [x.dtype for x in given if x.dtype.kind not in "fiu"]:
            raise TypeError(f"the program takes tensors of real numbers, not of {wrong[0]}")
        if set(arrays) != set(self.arrays):
            raise TypeError(f"the program takes the arrays {', '.join(self.arrays)} by name, not {sorted(arrays)}")
        y, *cts = self.run(*(x.astype(float) for x in given), *(arrays[name] for name in self.arrays))
        return float(y), tuple(map(np.asarray, cts))


def stage_tensors(f: Callable[..., Any], shapes: Sequence[Shape], arrays: Sequence[str] = ()) -> StagedTensors:
    """Run f once, on names, so that it writes its code. StagingError if it cannot be staged, or returns no number.

    f gets a TensorR of each shape. `arrays` names further arguments of the code, constants: `row` and `Index.of` read
    them.

    >>> snippet = stage_tensors(lambda W, x: total(tanh(W @ x)), [(2, 3), (3,)])
    >>> y, (dW, dx) = snippet(np.zeros((2, 3)), np.ones(3))
    >>> y, dx.tolist(), dW.tolist()
    (0.0, [0.0, 0.0, 0.0], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    """
    code, y = TensorCode(), Name("y", "cell")
    code.write(Cell(y))
    xs = [TensorR(code, Name(f"x{i}", "tensor"), code.cell(s), s) for i, s in enumerate(map(tuple, shapes))]

    def whole() -> None:
        """Run f on names, and write the end of the program."""
        z = f(*xs)
        if not isinstance(z, TensorR) or z.shape != ():
            raise StagingError(f"the program{where()} has to return a number, not {_told(z)}: return total(x), say")
        code.write(Add(y, _atom(code, z)))
        if z.d is not None:
            code.write(Add(z.d, 1.0))

    with code:
        reset(whole, code)
    if code.captured:
        raise StagingError("a number of another program that is being generated: stage one after the other")
    return StagedTensors([x.shape for x in xs], arrays, code.block, [y, *(x.d for x in xs if x.d is not None)])
