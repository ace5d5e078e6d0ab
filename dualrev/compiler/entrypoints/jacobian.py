"""Entry points of Jacobians: by columns in forward mode, or by rows in reverse mode, whichever is less work.

jacfwd_f(x, y)      the tangents in the directions of all unit vectors, several at a time (ad/vector_mode.py)
jacrev_f(x, y)      the cotangents of all unit vectors
pushes_f(x, y, ts)  the tangents in the directions of the rows of a matrix, for an array x: for each leaf of the value
                    a matrix, with a row for each direction
jacobian_f(x, y)    the one or the other: where types do not tell, both are there, and the call counts. A row takes
                    both sweeps, 1.8 to 4.4 times what one of four columns takes (measured); it is weighed by the
                    operations in the two functions (analysis/cost_model.py)
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ad.vector_mode import Directions
from dualrev.compiler.analysis.cost_model import Cost
from dualrev.compiler.codegen.lines import Code, CodeStatement, Suite
from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder, described
from dualrev.compiler.entrypoints.jvp import Leaf, is_single
from dualrev.compiler.entrypoints.matrix_columns import WIDTH, Matrices, Part
from dualrev.compiler.entrypoints.primal import NameTree, NumberTree, Plain
from dualrev.compiler.entrypoints.vjp import Entry
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.atom_types import type_of
from dualrev.compiler.ir.core.atoms import Constant, Node, Tree, Var
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.optimize.dead_code import acts
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes
from dualrev.errors import OutputError

__all__ = ["root"]


def root(
    module: ModuleBuilder,
    transform: str,
    argnums: ArgNums,
    argtypes: NumbaTypes,
    count: int,
    of: Function | None = None,
) -> Emitted:
    """Emit the module of a Jacobian, or of its products with several vectors; `of` as in `Chosen`."""
    return _Jacobian(module, argnums, argtypes[:count], of).emitted(transform)


class _Jacobian(Matrices):
    again = False
    _entry: Entry | None = None
    _directions: Directions | None = None

    def emitted(self, transform: str) -> Emitted:
        """Emit the entry point."""
        self.transform = transform
        self.found = []
        self.plain, fresh = Plain(self.module, self.f), self.module.names.fresh
        self.result = self.outputs(self.plain.result, ())
        if not self.found:
            raise OutputError.of(str(type_of(self.f.result)))
        if transform == "pushes":
            self.take_directions()
        self.prepare(self.plain)
        body: list[CodeStatement] = self.plain.take_apart(self.names, self.plain.parameters)
        body += self.plain.check_arrays(self.plain.parameters)
        body += [*self.opened(), *self.copied()]
        self.likes = [""] * len(self.found)
        if transform in ("jacfwd", "jacobian"):
            self.few = self.with_few()[2]
        unknown = any(leaf.is_array and j not in self.few for j, leaf in enumerate(self.found))
        if unknown or (self.few and any(map(acts, traverse.statements(self.f.body)))):
            value = fresh("value")
            body.append(Code(f"{value} = runtime.attempt(tape, {self.value()}, {', '.join(self.names)})", 0))
            self.likes = [value + _path(leaf) for leaf in self.found]
        body += self.allocated()
        body += self.filled()
        body += self.shaped(self.result)
        doc = f"The Jacobian of {self.called} with respect to argument {self.argnums}"
        doc += ", times the directions." if self.given else "."
        return self.finish(transform, [*self.names, *self.taken()], doc, body)

    def outputs(self, x: NameTree, path: tuple[int, ...]) -> NumberTree:
        """Structure of the result with indices for its leaves, which are appended to `found`."""
        if isinstance(x, Node):
            return Node(tuple(self.outputs(part, (*path, k)) for k, part in enumerate(x.parts)), x.cls)
        is_float = isinstance(x, Constant) and isinstance(x.value, float)
        if not (is_float or self.plain.moves(x)):
            return Constant(None)
        self.found.append(Leaf(path, types.float64 if is_float else self.plain.types[x], ""))
        return len(self.found) - 1

    def value(self) -> str:
        """Emit the primal function, whose results have the shapes of the matrices; return its name."""
        plain, name = self.plain, self.module.names.fresh(f"value_{self.called}")
        body = [*plain.take_apart(self.names, plain.parameters), *plain.body()]
        self.function(name, self.names, f"{self.called} itself.", body)
        return name

    def filled(self) -> list[CodeStatement]:
        """Calls that fill the matrices by rows or by columns; a runtime test chooses if types do not."""
        if self.transform != "jacobian":
            return self.by_rows() if self.transform == "jacrev" else self.by_columns()
        rows = [self.size(j) for j, leaf in enumerate(self.found) if leaf.is_array]
        columns = [f"{x}.size" for x in self.moving if self.is_array(x)]
        more = len(self.found) - len(rows), len(self.moving) - len(columns)
        weight, width = self.weight()
        if rows and columns:
            few = f"{weight:.2g} * {_term(rows, more[0])} <= {_runs(columns, more[1], width)}"
            return [Suite(f"if {few}:", self.by_rows(), 0, self.by_columns())]
        if rows or columns:
            return self.by_columns() if rows else self.by_rows()
        return self.by_rows() if weight * more[0] <= -(-more[1] // width) else self.by_columns()

    def weight(self) -> tuple[float, int]:
        """Cost of a row in runs of the function that makes columns; and the number of columns per run."""
        cost = Cost(self.module.program)
        sweeps = self.pull().sweeps
        made, width = self.with_lanes()
        return cost.work((*sweeps.forward.body, *sweeps.reverse_sweep.body)) / max(1.0, cost.work(made.body)), width

    def pull(self) -> Entry:
        """Pullback that makes a row, created on first use."""
        if self._entry is None:
            self._entry = Entry(self.module, "pull", self.chosen, self.f, self.module.f, self.names)
        return self._entry

    # By columns

    def by_columns(self) -> list[CodeStatement]:
        """Fill the matrices in forward mode."""
        made, self.width, _ = self.with_few()
        if made is not self.core:
            self.take(made)
        some = [self.tangents[k : k + self.width] for k in range(0, len(self.tangents), self.width)]
        self.lane = dict(zip(self.ordered, some, strict=True))
        directions = [t for x in self.arrays for t in self.lane[x]]
        given = [*self.names, *self.taken(), *directions, *self.blocks.values(), *self.kept.values()]
        self.tangent_of = self.slope()
        filling = self.filling(given)
        return [*self.directions(), *self.fill(filling, given)]

    def run(self) -> tuple[list[CodeStatement], Part]:
        """Call of the tangent function, for some directions."""
        made = self.module.names.fresh("made")
        given = [*self.names, *(t for x in self.ordered for t in self.lane[x])]

        def part(j: int, lane: int) -> str:
            """Text of the tangent of result leaf `j` in a lane."""
            return (f"{made}[{lane}]" if self.width > 1 else made) + _path(self.found[j])

        return [Code(f"{made} = {self.tangent_of}({', '.join(given)})", 0)], part

    def with_lanes(self) -> tuple[Function, int]:
        """Tangent function in vector mode, if possible; and its number of lanes."""
        made = self.in_directions()
        return made.made, made.width

    def in_directions(self) -> Directions:
        """Unit of vector mode for the tangent function, created on first use."""
        if self._directions is None:
            module = self.module
            width = WIDTH if any(map(self.is_array, self.moving)) else min(WIDTH, len(self.moving))
            tangents = [x for p in self.core.parameters[len(self.names) :] for x in traverse.leaves(p)]
            shortens = not self.given
            made = Directions(module.program, module.front.memory, self.core, tangents, (), width, shortens)
            module.passes.run("directions", made)
            self._directions = made
        return self._directions

    def with_few(self) -> tuple[Function, int, dict[int, int]]:
        """Tangent function with tuples for the result's arrays, if all are short; its lanes; their lengths.

        For given directions there are arrays: what is returned are the blocks, which may not be in the frame then.
        """
        made, width = self.with_lanes()
        if self.given:
            return made, width, {}
        function, lengths = self.in_directions().short, self.in_directions().lengths
        trees = made.result.parts if width > 1 and isinstance(made.result, Node) else (made.result,)
        arrays = [(j, leaf.path) for j, leaf in enumerate(self.found) if leaf.is_array]
        ends = {j: [_at(tree, path) for tree in trees] for j, path in arrays}
        found = {j: [lengths.get(x, 0) if isinstance(x, Var) else 0 for x in some] for j, some in ends.items()}
        short = bool(arrays) and all(all(some) for some in found.values())
        if not short or any(is_single(self.whole.types[x]) for x in self.moving):
            return made, width, {}
        return function, width, {j: some[0] for j, some in found.items()}

    # By rows

    def by_rows(self) -> list[CodeStatement]:
        """Fill the matrices in reverse mode."""
        fresh = self.module.names.fresh
        cts = [fresh("ct_{k}") for _ in self.found]
        arrays = {j: ct for j, ct in enumerate(cts) if self.found[j].is_array}
        body = []
        for j, ct in arrays.items():
            made = f"runtime.few_zeros, {self.few[j]}" if j in self.few else f"runtime.zeros_like, {self.likes[j]}"
            body.append(Code(f"{ct} = runtime.attempt(tape, {made})", 0))
        given = [*self.names, *arrays.values(), *self.blocks.values(), *self.kept.values()]
        filling = self.rows(cts, given)
        return [*body, *self.fill(filling, given)]

    def rows(self, cts: list[str], given: list[str]) -> str:
        """Emit the function that fills the matrices row by row; return its name."""
        fresh = self.module.names.fresh
        pull = fresh(f"pull_{self.called}")
        self.pull().write(pull, True, described("pull", self.argnums, self.called))
        body: list[CodeStatement] = self.plain.take_apart(self.names, self.plain.parameters)
        body += [Code(f"{ct} = 0.0", 0) for ct, leaf in zip(cts, self.found, strict=True) if not leaf.is_array]
        cotangent = to_python.text(_plain(self.result, lambda j: ast.Name(cts[j])))
        paths = dict(zip(self.moving, self.paths(), strict=True))
        for j, leaf in enumerate(self.found):
            k = fresh("k") if leaf.is_array else "0"
            place = f"{cts[j]}.flat[{k}]" if leaf.is_array else cts[j]
            made = fresh("made")
            lines: list[CodeStatement] = [Code(f"{place} = 1.0", 0)]
            lines += [Code(f"runtime.store({y}, {copy})", 0) for y, copy in self.kept.items()]
            lines.append(Code(f"{made} = {pull}({', '.join([*self.names, cotangent])})", 0))
            for x in self.moving:
                text = made + paths[x]
                if (j, x) in self.numbers:
                    lines.append(self.number(j, x, text))
                    continue
                block = self.blocks[j, x]
                row = f"runtime.put_row({block}, {k}, {text})" if self.is_array(x) else f"{block}[{k}, 0] = {text}"
                lines.append(Code(row, 0))
            lines.append(Code(f"{place} = 0.0", 0))
            loop = f"for {k} in range({cts[j]}.size):"
            body += [Suite(loop, lines, 0, loop=True)] if leaf.is_array else lines
        name = fresh(f"rows_{self.called}")
        doc = f"The cotangents of {self.called} for the unit vectors, a row for each."
        self.function(name, given, doc, [*body, self.end()])
        return name

    def paths(self) -> list[str]:
        """Access paths to the gradients of the leaves in the pullback's result."""

        def inside(tree: NameTree, path: str) -> list[str]:
            """Access paths to the active leaves of a tree."""
            if isinstance(tree, Node):
                return [found for k, part in enumerate(tree.parts) for found in inside(part, f"{path}[{k}]")]
            return [path] if self.moves(tree) else []

        return [found for n, k in enumerate(self.chosen) for found in inside(self.parameters[k], f"[{n}]")]


def _at(tree: Tree, path: tuple[int, ...]) -> Tree:
    return _at(tree.parts[path[0]], path[1:]) if path and isinstance(tree, Node) else tree


def _sum(sizes: list[str], more: int) -> str:
    return " + ".join([*sizes, *([str(more)] if more else [])])


def _term(sizes: list[str], more: int) -> str:
    """Text of a sum, as a factor of a product."""
    return sizes[0] if len(sizes) == 1 and not more else f"({_sum(sizes, more)})"


def _runs(sizes: list[str], more: int, width: int) -> str:
    """Text of the number of runs that make so many columns."""
    return _sum(sizes, more) if width == 1 else f"({_sum(sizes, more + width - 1)}) // {width}"


def _path(leaf: Leaf) -> str:
    return "".join(f"[{k}]" for k in leaf.path)


def _plain(tree: NumberTree, leaf: Callable[[int], ast.expr]) -> ast.expr:
    """Syntax of a tree as plain tuples, whatever their classes: a cotangent is read by index."""
    if isinstance(tree, Node):
        return ast.Tuple([_plain(x, leaf) for x in tree.parts], ast.Load())
    return ast.Constant(None) if isinstance(tree, Constant) else leaf(tree)
