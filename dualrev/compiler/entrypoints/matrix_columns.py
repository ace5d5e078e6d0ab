"""Jacobian and Hessian matrices, one for each leaf of a result and each of the arguments, filled by columns.

The function that is called has the matrices. What fills them is called by it, since an error must not lose them: see
runtime/tape/memory.py. It takes several unit vectors at a time, each in a lane (ad/vector_mode.py); or, if it is given
directions of one array, the rows of a matrix, it takes those in place of the unit vectors, and fills rows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from dualrev.compiler.codegen.lines import Code, CodeStatement, Suite
from dualrev.compiler.entrypoints.jvp import Chosen, Leaf, is_single
from dualrev.compiler.entrypoints.primal import NumberTree, Plain, rebuilt
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.traverse import leaves

__all__ = ["WIDTH", "Matrices"]

WIDTH = 4  # so many directions at a time
Part = Callable[[int, int], str]


class Matrices(Chosen):
    """Entry point with matrices of derivatives, which functions that it calls fill.

    found     the leaves of the result
    likes     for those that are arrays, arrays of their shapes
    blocks    the matrices: by the number of a leaf of the result, and a leaf of the arguments
    numbers   in place of those that would have one number only, names for these: what fills the others returns them
    kept      copies of the arrays that a run writes, for the next run
    few       the lengths of those that are tuples in the functions which make columns (sroa_arrays.py), by numbers
    lane      the directions, by leaves of the arguments, then by lanes
    given     the name of the matrix whose rows are the directions; empty for unit vectors
    """

    found: list[Leaf]
    likes: list[str]
    lane: dict[str, list[str]]
    width = 1
    given = ""

    def take_directions(self) -> None:
        """Add a parameter for directions to the entry point, after the arguments of f."""
        one_array = not self.several and len(self.moving) == 1 and self.is_array(self.moving[0])
        assert one_array, "sparse/matrix_products.py asks for the derivative by one array of floats"
        self.given = self.module.names.fresh("directions")

    def taken(self) -> list[str]:
        """Parameters of the entry point after the arguments of f."""
        return [self.given] if self.given else []

    def prepare(self, plain: Plain) -> None:
        """Name the matrices, and the copies of written arrays; `plain` is the function that runs."""
        fresh = self.module.names.fresh
        inputs = [x for p in plain.parameters[: len(self.names)] for x in leaves(p) if plain.is_array(x)]
        self.arrays = [x for x in self.moving if self.is_array(x)]
        self.kept = {x: fresh("{}_given", x) for x in inputs if plain.is_written(x)}
        self.few: dict[int, int] = {}
        every = [(j, x) for j in range(len(self.found)) for x in self.moving]
        lone = [(j, x) for j, x in every if not (self.found[j].is_array or self.is_array(x) or self.given)]
        self.blocks = {(j, x): fresh("block_{k}") for j, x in every if (j, x) not in lone}
        self.numbers = {pair: fresh("number_{k}") for pair in lone}

    @property
    def owns(self) -> bool:
        """Whether the entry point owns memory, which an exception must not leak."""
        return bool(self.blocks or self.kept or self.arrays)

    def opened(self, slots: int = 0) -> list[CodeStatement]:
        """Code that creates the tape, the owner of all allocations."""
        return [Code(f"tape = runtime.new_tape({slots})", 0)] if self.owns else []

    def copied(self) -> list[CodeStatement]:
        """Code that copies the arrays that a run writes."""
        return [Code(f"{copy} = runtime.attempt(tape, runtime.copy, {x})", 0) for x, copy in self.kept.items()]

    def allocated(self) -> list[CodeStatement]:
        """Code that allocates the matrices."""
        body: list[CodeStatement] = []
        for (j, x), block in self.blocks.items():
            rows = self.size(j) if self.found[j].is_array else "1"
            columns = f"{x}.size" if self.is_array(x) else "1"
            size = f"{self.given}.shape[0], {rows}" if self.given else f"{rows}, {columns}"
            made, room = self.small("block")
            body += [*room, Code(f"{block} = runtime.attempt(tape, {made}, {size})", 0)]
        return body

    def size(self, j: int) -> str:
        """Text of the number of elements of a result leaf that is an array."""
        return str(self.few[j]) if j in self.few else f"{self.likes[j]}.size"

    def small(self, what: str) -> tuple[str, list[CodeStatement]]:
        """Allocator of a block or of zeros, and the code before it: on the stack, if the matrix may be small."""
        if not self.few:
            return {"block": "runtime.block", "zeros": "runtime.zeros_like"}[what], []
        name = self.module.names.fresh("room_{k}")
        return f"runtime.{what}_in, {name}", [Code(f"{name} = runtime.frame()", 0)]

    def shaped(self, result: NumberTree) -> list[CodeStatement]:
        """Code that gives the matrices their shapes, and returns them in the structure of the result."""
        if self.given:
            return self.returned(f"({', '.join(self.blocks.values())},)")
        shaped, fresh = {}, self.module.names.fresh
        body: list[CodeStatement] = []
        for (j, x), block in self.blocks.items():
            like = [self.likes[j]] if self.found[j].is_array else []
            like += [x] if self.is_array(x) else []
            what = f"runtime.shaped_{len(like)}{'_single' if is_single(self.whole.types[x]) else ''}"
            if j in self.few:
                what, like = f"runtime.shaped_few_{len(like)}", like[1:]
            shaped[j, x] = fresh("part_{k}")
            body.append(Code(f"{shaped[j, x]} = runtime.attempt(tape, {', '.join([what, block, *like])})", 0))
        shaped |= self.numbers
        return body + self.returned(to_python.text(rebuilt(result, lambda j: self.inner(j, shaped))))

    def returned(self, text: str) -> list[CodeStatement]:
        """Code that returns a value, unless something has failed."""
        if not self.owns:
            return [Code(f"return {text}", 0)]
        returned = self.module.names.fresh("returned")
        body: list[CodeStatement] = [Code(f"{returned} = runtime.unless_failed(tape, {text})", 0)]
        return [*body, Code("runtime.close(tape)", 0), Code(f"return {returned}", 0)]

    def inner(self, j: int, shaped: dict[tuple[int, str], str]) -> ast.expr:
        """Derivatives of a result leaf, in the structure of the arguments."""

        def part(x: str) -> ast.expr:
            """Syntax of the derivative by an argument leaf; None for a leaf without a tangent."""
            return ast.Name(shaped[j, x]) if self.moves(x) else ast.Constant(None)

        trees = [rebuilt(self.parameters[k], part) for k in self.chosen]
        return ast.Tuple(trees, ast.Load()) if self.several else trees[0]

    # Column by column

    def run(self) -> tuple[list[CodeStatement], Part]:
        """Code for some directions, and the text of its results by leaves and lanes."""
        raise NotImplementedError

    def directions(self) -> list[CodeStatement]:
        """Code that allocates the directions that are arrays."""
        every = [(t, x) for x in self.arrays for t in self.lane[x]]
        body: list[CodeStatement] = []
        for t, x in every:
            made, room = self.small("zeros")
            body += [*room, Code(f"{t} = runtime.attempt(tape, {made}, {x})", 0)]
        return body

    def filling(self, given: list[str]) -> str:
        """Emit the function that fills the matrices column by column; return its name."""
        module = self.module
        body: list[CodeStatement] = self.whole.take_apart(self.names, self.parameters)
        scalars = [x for x in self.moving if not self.is_array(x)]
        body += [Code(f"{t} = 0.0", 0) for x in scalars for t in self.lane[x]]
        for x in self.arrays:
            k = module.names.fresh("k")
            places = [(x, k if lane == 0 else f"{k} + {lane}") for lane in range(self.width)]
            count = f"{self.given}.shape[0]" if self.given else f"{x}.size"
            if x == self.arrays[0] and not scalars:
                count = f"max({count}, 1)"  # without directions, too, f runs: it may raise, and write to its arrays
            step = f"0, {count}, {self.width}" if self.width > 1 else count
            body.append(Suite(f"for {k} in range({step}):", self.some_columns(places), 0, loop=True))
        for n in range(0, len(scalars), self.width):
            body += self.some_columns([(x, "0") for x in scalars[n : n + self.width]])
        name = module.names.fresh(f"columns_{self.called}")
        doc = f"{self.called} in the directions of the unit vectors, a column for each."
        self.function(name, given, doc, [*body, self.end()])
        return name

    def some_columns(self, places: list[tuple[str, str]]) -> list[CodeStatement]:
        """Code of the columns for these unit vectors, one lane each; indices beyond an array's end are none."""
        every = [t for x in self.arrays for t in self.lane[x]]
        clear = self.kept and not self.given  # they may have been written
        lines: list[CodeStatement] = [Code(f"runtime.clear({t})", 0) for t in every if clear]
        lines += [self.place(x, k, lane, "1.0") for lane, (x, k) in enumerate(places)]
        lines += [Code(f"runtime.store({y}, {copy})", 0) for y, copy in self.kept.items()]
        run, part = self.run()
        lines += run
        for lane, (x, k) in enumerate(places):
            lines += [self.entry(j, x, k, part(j, lane)) for j in range(len(self.found))]
            lines += [] if self.given else [self.place(x, k, lane, "0.0")]
        return lines

    def place(self, x: str, k: str, lane: int, value: str) -> Code:
        """Code that sets an element of the direction in a lane."""
        t = self.lane[x][lane]
        if self.given:
            return Code(f"runtime.put_direction({t}, {self.given}, {k})", 0)
        return Code(f"runtime.put_number({t}, {k}, {value})" if self.is_array(x) else f"{t} = {value}", 0)

    def entry(self, j: int, x: str, k: str, text: str) -> Code:
        """Code that stores a column of a matrix; for a given direction, a row."""
        if (j, x) in self.numbers:
            return self.number(j, x, text)
        what = ("put_row" if self.given else "put_column") if self.found[j].is_array else "put_number"
        what = "put_few" if j in self.few else what
        return Code(f"runtime.{what}({self.blocks[j, x]}, {k}, {text})", 0)

    def number(self, j: int, x: str, text: str) -> Code:
        """Code of the derivative of a scalar by a scalar, in the precision of the latter."""
        kind = "np.float32" if is_single(self.whole.types[x]) else "np.float64"
        return Code(f"{self.numbers[j, x]} = {kind}({text})", 0)

    def end(self) -> Code:
        """Return statement of the function that fills the matrices."""
        return Code(f"return ({', '.join(self.numbers.values())},)" if self.numbers else "return", 0)

    def fill(self, filling: str, given: list[str]) -> list[CodeStatement]:
        """Call of the function that fills the matrices."""
        call = (
            f"runtime.attempt(tape, {', '.join([filling, *given])})" if self.owns else f"{filling}({', '.join(given)})"
        )
        return [Code(f"{', '.join(self.numbers.values())}, = {call}" if self.numbers else call, 0)]
