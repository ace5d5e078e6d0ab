r"""A staged program: the `snippet` of Wang et al. 2019, section 4, with its code in three texts, compiled by numba.

>>> snippet = stage(lambda x: x * x, REAL)
>>> snippet(3.0)                                            # the value, and the derivative
(9.0, 6.0)
>>> print(snippet.paper)
def snippet(x0) = {
    y = ref 0
    d0 = ref 0
    v0 = x0 * x0
    d1 = ref 0
    y += v0
    d1 += 1.0
    d0 += x0 * ! d1
    d0 += x0 * ! d1
    ! y, ! d0
}
<BLANKLINE>
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.diagnostics.user_lines import where
from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.continuations.control import reset
from stages.relatives.continuations.lantern import LANGUAGE, Dual, Node, ended
from stages.relatives.staging import texts
from stages.relatives.staging.code import Block, Cell, Code, Let, Name, Scaled, StagingError, inner
from stages.relatives.staging.number import Index
from stages.relatives.staging.running import Memory, in_numba, in_python, numba_compiles
from stages.relatives.staging.tangents import Tangents, Unwritable
from stages.relatives.staging.twice import again

__all__ = ["REAL", "TREE_OF_REALS", "Staged", "flatten", "stage"]

REAL, TREE_OF_REALS = "real", "tree"


class Staged:
    """Generated code that returns the value and the derivatives with respect to all real arguments.

    paper, python, numba    its texts: in the notation of Fig. 14, in Python, and in the form that numba compiles
    __call__                run it on arguments; a tree is three arrays: left and right children (-1: none), values
    """

    def __init__(
        self, kinds: Sequence[str], block: Block, results: Sequence[Name], moves: Sequence[str] = (), order: int = 0
    ) -> None:
        self.kinds, self.block, self.results = kinds, block, results
        self.moves, self.order = list(moves), order  # further real arguments; how often `tangent` was taken
        self.memory = Memory()

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments, directions and cotangents last."""
        names = [f"x{i}" if kind == REAL else name for i, kind in enumerate(self.kinds) for name in _arrays(i, kind)]
        return [*names, *self.moves]

    @property
    def arrays(self) -> dict[str, str]:
        """The array parameters, with the types of their elements."""
        found: dict[str, str] = {}
        for i, kind in enumerate(self.kinds):
            if kind == TREE_OF_REALS:
                found |= dict(zip(_arrays(i, kind), ("int64", "int64", "float64"), strict=True))
        return found

    @functools.cached_property
    def paper(self) -> str:
        """The program in the notation of Fig. 14."""
        return texts.paper("snippet", self.parameters, self.block, self.results)

    @functools.cached_property
    def python(self) -> str:
        """The program in Python, with nested functions."""
        return texts.python("snippet", self.parameters, self.block, self.results)

    @functools.cached_property
    def numba(self) -> str:
        """The program after closure conversion and defunctionalisation."""
        for op in sorted(_operations(self.block)):
            if not numba_compiles(op):
                raise StagingError(
                    f"numba compiles no {op}: run the code in Python, by in_python(), or write it otherwise"
                )
        return texts.compiled("snippet", self.parameters, self.arrays, self.block, self.results)

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function compiled by numba."""
        return in_numba(self.numba, "snippet")

    def __call__(self, *arguments: Any) -> tuple[float, ...]:
        """The value and the derivatives, computed by the compiled code."""
        return tuple(self.memory.run(self.compiled, self._flat(arguments)))

    def in_python(self, *arguments: Any) -> tuple[float, ...]:
        """The value and the derivatives, computed by the Python text."""
        return tuple(map(float, in_python(self.python, "snippet")(*self._flat(arguments))))

    def _flat(self, arguments: Sequence[Any]) -> list[Any]:
        if len(arguments) != len(self.kinds) + len(self.moves):
            raise TypeError(
                f"the program takes {len(self.kinds) + len(self.moves)} arguments, and got {len(arguments)}"
            )
        flat: list[Any] = []
        for argument, kind in zip(arguments, [*self.kinds, *[REAL] * len(self.moves)], strict=True):
            flat += [float(argument)] if kind == REAL else checked(*argument)
        return flat

    @property
    def reals(self) -> list[Name]:
        """The arguments that are real numbers."""
        return [Name(x, "float") for x in self.parameters if x not in self.arrays]

    def tangent(self) -> Staged:
        """The program that also takes directions of the real arguments, and returns its results' derivatives last.

        So stage(f, REAL).tangent()(x, dx) is (f x, f' x, f' x dx, f'' x dx): forward over reverse. StagingError if
        a partial derivative is a choice between expressions, as for tanh.
        """
        tangents = Tangents(self.reals, self.order)
        try:
            block = tangents.block(self.block)
        except Unwritable as error:
            raise StagingError(
                f"the partial derivative of {error} is a choice, whose tangent is not generated: take cotangent(),"
                " which is reverse over reverse, or write the operation by others, such as"
                " 1.0 - 2.0 / (exp(2.0 * x) + 1.0) for tanh(x)"
            ) from None
        results = [*self.results, *(name for r in self.results if isinstance(name := tangents.of(r), Name))]
        return Staged(self.kinds, block, results, [*self.moves, *tangents.moves], self.order + 1)

    def cotangent(self) -> Staged:
        """The program that also takes cotangents of the results, and returns the real arguments' cotangents last.

        So stage(f, REAL).cotangent()(x, ct, ct1) is (f x, f' x, f' x ct + f'' x ct1): reverse over reverse, by staging
        the generated code once more (twice.py). StagingError if a partial derivative
        cannot be differentiated in generated code.
        """
        code, reals = Code(), self.reals
        xs = [Dual(code, x, code.cell()) for x in reals]
        results = [code.name("d", "cell") for _ in self.results]
        cts = [Name(f"ct{len(self.moves) + i}", "float") for i in range(len(results))]
        code.write(*map(Cell, results))

        def whole() -> None:
            """Run the generated code again, on numbers of a new program, and write its end."""
            values = again(LANGUAGE, self.block, dict(zip(reals, xs, strict=True)), self.results)
            ended(code, values, results, cts)

        written(code, whole)
        return Staged(
            self.kinds,
            code.block,
            [*results, *(x.d for x in xs)],
            [*self.moves, *(ct.text for ct in cts)],
            self.order,
        )


def stage(f: Callable[..., Any], *kinds: str) -> Staged:
    """Run f once, on names, so that it writes its code: the paper's `snippet`. StagingError if f cannot be staged.

    A kind is REAL or TREE_OF_REALS; f gets a number or a `Node` for each, and returns a number.
    """
    for kind in kinds:
        if kind not in (REAL, TREE_OF_REALS):
            raise StagingError(f"the kind of an argument is REAL or TREE_OF_REALS, and not {kind!r}")
    code, y = Code(), Name("y", "cell")
    code.write(Cell(y))
    given: list[Any] = []
    for i, kind in enumerate(kinds):
        if kind == REAL:
            given.append(Dual(code, Name(f"x{i}", "float"), code.cell()))
        else:
            left, right, value = _arrays(i, kind)
            given.append(Node(Index(code, 0), (left, right, value)))

    def whole() -> None:
        """Run f on names, and write the end of the program. StagingError if it does not return a number."""
        found = f(*given)
        if not isinstance(found, (Dual, float, int)):
            raise StagingError(f"the program{where()} has to return a number, not {found!r}: return a sum, for example")
        ended(code, [found], [y], [1.0])

    written(code, whole)
    return Staged(kinds, code.block, [y, *(u.d for u in given if isinstance(u, Dual))])


def written(code: Code, whole: Callable[[], None]) -> None:
    """Let `whole` write a complete program."""
    with code:
        reset(whole, code)
    if code.captured:
        raise StagingError("a number of another program that is being generated: stage one after the other")


def _arrays(i: int, kind: str) -> list[str]:
    return [f"x{i}"] if kind == REAL else [f"left{i}", f"right{i}", f"value{i}"]


def _operations(block: Block) -> set[str]:
    found = set()
    for s in block.statements:
        found |= {s.op} if isinstance(s, (Let, Scaled)) and s.op in PRIMITIVES else set()
        for part in inner(s):
            found |= _operations(part)
    return found


def flatten(tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of a tree that is None or (left, right, value); an empty tree has arrays of length 1.

    >>> left, right, value = flatten(((None, None, 3.0), None, 5.0))
    >>> left.tolist(), right.tolist(), value.tolist()
    ([1, -1], [-1, -1], [5.0, 3.0])
    """
    left: list[int] = []
    right: list[int] = []
    values: list[float] = []
    todo: list[tuple[Any, list[int], int]] = [(tree, [0], 0)]
    while todo:
        node, column, at = todo.pop()
        if node is None:
            continue
        column[at] = len(left)
        left.append(-1)
        right.append(-1)
        values.append(float(node[2]))
        here = len(left) - 1
        todo += [(node[1], right, here), (node[0], left, here)]
    return np.array(left, np.int64), np.array(right, np.int64), np.array(values)


def checked(left: Any, right: Any, value: Any) -> list[np.ndarray]:
    """A tree's arrays with the types that the compiled code expects. ValueError for invalid child indices."""
    arrays = [np.ascontiguousarray(left, np.int64), np.ascontiguousarray(right, np.int64)]
    numbers = np.ascontiguousarray(value, np.float64)
    n = numbers.size
    if any(a.shape != (n,) for a in arrays) or numbers.ndim != 1 or not n:
        raise ValueError("a tree is three arrays of one length, which is at least 1: left, right and values")
    for array in arrays:
        wrong = np.flatnonzero((array >= n) | (array < -1) | ((array >= 0) & (array <= np.arange(n))))
        if wrong.size:
            k = wrong[0]
            raise ValueError(
                f"node {k} has the child {array[k]}: children are later nodes, up to {n - 1}, or -1 for none"
            )
    return [*arrays, numbers]
