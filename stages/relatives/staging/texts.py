"""Generated code as text: the paper's notation, Python, and Python that numba compiles.

In the Python text, functions nest, and a cell is a list of one number. Values raise what Python raises. Partial
derivatives have IEEE's limits, by `ieee_divide` and `ieee_power` (running.py). numba cannot pass closures as arguments,
so the third text is the same program after two transformations that the paper cites:

    closure conversion       a function becomes a record: its number, and its captured variables
    defunctionalisation      a call becomes a call of `apply` with the record, which selects the function

Records are stored in the arrays `ints` and `floats`, cells in `cells`; an integer is their address. `apply` calls
itself, and its returns are the reverse pass.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.staging.code import (
    Add,
    Atom,
    Block,
    Box,
    Call,
    Called,
    Cell,
    Fun,
    If,
    Item,
    Let,
    LetTensor,
    Load,
    Name,
    Pull,
    Scaled,
    Store,
    free,
    inner,
)
from stages.relatives.staging.operations import TENSORS

__all__ = ["compiled", "expression", "paper", "python"]


def expression(text: str, at: Mapping[str, str], limits: bool = False) -> str:
    """A text of the table of primitives, with its variables replaced by these texts.

    With `limits`, divisions and powers that could raise become calls of functions that have IEEE's limits.

    >>> expression("0.5 / abs(y)", {"y": "v1"})
    '0.5 / abs(v1)'
    >>> expression("0.5 / abs(y)", {"y": "v1"}, limits=True)
    'ieee_divide(0.5, abs(v1))'
    """
    at = {**at, "power": "ieee_power"} if limits else at

    class Named(ast.NodeTransformer):
        """Replaces variables by texts."""

        def visit_Name(self, node: ast.Name) -> ast.expr:
            """The text of a variable, parsed."""
            return ast.parse(at[node.id], mode="eval").body if node.id in at else node

        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            """A division, as a call where it could raise."""
            self.generic_visit(node)
            if limits and isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
                return ast.Call(ast.Name("ieee_divide"), [node.left, node.right], [])
            return node

    return ast.unparse(Named().visit(ast.parse(text, mode="eval")))


class Writer:
    """Statements as lines of text; subclasses write cells, functions and calls."""

    limits = True  # whether the text says where partial derivatives have IEEE's limits

    def atom(self, atom: Atom) -> str:
        """A name or a number."""
        return atom.text if isinstance(atom, Name) else repr(atom)

    def operation(self, op: str, arguments: Sequence[Atom], text: str, y: str = "", limit: bool = False) -> str:
        """A text of the table of primitives, at arguments."""
        at = dict(zip(PRIMITIVES[op].parameters, map(self.atom, arguments), strict=True))
        return expression(text, {**at, "y": y} if y else at, limit and self.limits)

    def block(self, block: Block) -> list[str]:
        """The lines of a block."""
        return [line for statement in block.statements for line in self.statement(statement)] or [self.nothing]

    def tensor(self, text: str, parameters: Sequence[str], arguments: Sequence[Atom]) -> str:
        """A text of the table of operations on tensors, at arguments; _z_ stands for the cotangent."""
        return expression(text, dict(zip((*parameters, "z"), (*map(self.atom, arguments), "_z_"), strict=True)))

    nothing = "pass"

    def statement(self, s: object) -> list[str]:
        """The lines of a statement."""
        match s:
            case Let(name, op, arguments, limit):
                return [f"{name.text} = {self.operation(op, arguments, PRIMITIVES[op].value, limit=limit)}"]
            case LetTensor(name, op, arguments):
                line = TENSORS[op]
                return [f"{name.text} = {self.tensor(line.value, line.parameters, arguments)}"]
            case Pull(cell, op, k, arguments, y, source):
                line = TENSORS[op]
                text = self.tensor(line.pullbacks[k], (*line.parameters, "y"), (*arguments, y))
                return [self.added(cell, text.replace("_z_", self.read(source)))]
            case Item(name, array, index):
                return [f"{name.text} = {array}[{self.atom(index)}]"]
            case Scaled(cell, op, k, arguments, y, source):
                p = self.operation(op, arguments, PRIMITIVES[op].partials[k], y.text, limit=True)
                return [self.added(cell, self.product(p, self.read(source)))]
            case Add(cell, atom, times):
                added = self.read(atom) if isinstance(atom, Name) and atom.kind == "cell" else self.atom(atom)
                return [self.added(cell, added if times is None else self.product(added, self.read(times)))]
            case Called(cell, body):
                return [f"if called({self.read(cell)}):", *_indented(self.block(body))]
        raise AssertionError(s)

    def product(self, p: str, z: str) -> str:
        """p * z, or z where p is 1."""
        if p == "1.0":
            return z
        simple = isinstance(ast.parse(p, mode="eval").body, (ast.Name, ast.Constant, ast.Call, ast.Subscript))
        return f"{p} * {z}" if simple else f"({p}) * {z}"

    def read(self, cell: Name) -> str:
        """The text that reads a cell."""
        raise NotImplementedError

    def added(self, cell: Name, text: str) -> str:
        """cell += text"""
        return f"{self.read(cell)} += {text}"

    def listed(self, atoms: Sequence[Atom]) -> str:
        """a1, .., an"""
        return ", ".join(map(self.atom, atoms))


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _Python(Writer):
    def read(self, cell: Name) -> str:
        """The only item of the list that is the cell."""
        return f"{cell.text}[0]"

    def statement(self, s: object) -> list[str]:
        """The lines of a statement in Python."""
        match s:
            case Cell(name, shape):
                start = f"zeros({shape})" if shape else "-0.0" if s.unsure else "0.0"
                return [f"{name.text} = [{start}]"]
            case Box(name, held):
                return [f"{name.text} = [{self.listed(held)}]"]
            case Load(names, box):
                return [f"[{self.listed(names)}] = {box.text}"]
            case Store(box, held):
                return [f"{box.text}[:] = [{self.listed(held)}]"]
            case Fun(name, parameters, body):
                return [f"def {name.text}({', '.join(p.text for p in parameters)}):", *_indented(self.block(body))]
            case Call(function, arguments):
                return [f"{function.text}({self.listed(arguments)})"]
            case If(left, symbol, right, yes, no):
                test = f"if {self.atom(left)} {symbol} {self.atom(right)}:"
                return [test, *_indented(self.block(yes)), "else:", *_indented(self.block(no))]
        return super().statement(s)


class _Paper(Writer):
    nothing = "()"
    limits = False

    def read(self, cell: Name) -> str:
        """The cell in the paper's notation: ! d"""
        return f"! {cell.text}"

    def added(self, cell: Name, text: str) -> str:
        """The addition in the paper's notation: d += e"""
        return f"{cell.text} += {text}"

    def statement(self, s: object) -> list[str]:
        """The lines of a statement in the paper's notation."""
        match s:
            case Cell(name):
                return [f"{name.text} = ref 0"]
            case Called(_, body):
                return self.block(body)
            case Box(name, held):
                return [f"{name.text} = ref ({self.listed(held)})"]
            case Load(names, box):
                return [f"({self.listed(names)}) = ! {box.text}"]
            case Store(box, held):
                return [f"{box.text} := ({self.listed(held)})"]
            case Fun(name, parameters, body):
                head = f"{name.text} = ({', '.join(p.text for p in parameters)}) => {{"
                return [head, *_indented(self.block(body)), "}"]
            case Call(function, arguments):
                return [f"{function.text}({self.listed(arguments)})"]
            case If(left, symbol, right, yes, no):
                test = f"if ({self.atom(left)} {symbol} {self.atom(right)}) {{"
                return [test, *_indented(self.block(yes)), "} else {", *_indented(self.block(no)), "}"]
        return super().statement(s)


def paper(name: str, parameters: Sequence[str], block: Block, results: Sequence[Name]) -> str:
    """The program in the notation of Fig. 14."""
    writer = _Paper()
    last = ", ".join(map(writer.read, results))
    lines = [f"def {name}({', '.join(parameters)}) = {{", *_indented([*writer.block(block), last]), "}"]
    return "\n".join(lines) + "\n"


def python(name: str, parameters: Sequence[str], block: Block, results: Sequence[Name]) -> str:
    """The program in Python."""
    writer = _Python()
    last = f"return ({', '.join(map(writer.read, results))},)"
    return "\n".join([f"def {name}({', '.join(parameters)}):", *_indented([*writer.block(block), last])]) + "\n"


# ---- for numba -------------------------------------------------------------------------------------------------------


class _Compiled(Writer):
    """The text for numba. `captured` has the record of each function: its number, and its captured variables."""

    def __init__(self, block: Block, arrays: Sequence[str]) -> None:
        self.arrays, self.functions = arrays, _functions(block)
        self.captured = {f.name: [n for n in free(f.body) if n not in (*f.parameters, f.name)] for f in self.functions}
        self.parameters = {f.name: f.parameters for f in self.functions}
        most = [sum(map(_is_float, f.parameters)) for f in self.functions]
        self.floats = max(most, default=0)
        self.ints = max((len(f.parameters) - n for f, n in zip(self.functions, most, strict=True)), default=0)

    def read(self, cell: Name) -> str:
        """The element of the array of cells."""
        return f"cells[{cell.text}]"

    def statement(self, s: object) -> list[str]:
        """The lines of a statement on records and cells in arrays."""
        match s:
            case Cell(name):
                start = [f"{self.read(name)} = -0.0"] * s.unsure
                return [f"{name.text} = new_cell(cells, top)", *start]
            case Box(name, held):
                count = sum(map(_is_float, held))
                made = f"new_record(ints, floats, top, -1, {len(held) - count}, {count})"
                return [f"{name.text} = {made}  # ref", *self.stored(name, held)]
            case Load(names, box):
                return [f"{self.atom(n)} = {place}" for n, place in zip(names, _places(box, names), strict=True)]
            case Store(box, held):
                return self.stored(box, held)
            case Fun(name):
                return self.record(name)
            case Call(function, arguments):
                return [self.call(function, arguments)]
            case If(left, symbol, right, yes, no):
                test = f"if {self.atom(left)} {symbol} {self.atom(right)}:"
                return [test, *_indented(self.block(yes)), "else:", *_indented(self.block(no))]
        return super().statement(s)

    def record(self, f: Name) -> list[str]:
        """Allocate a function's record with its captured variables; calls in its own body get the record as `this`."""
        number = [g.name for g in self.functions].index(f)
        ints = [n for n in self.captured[f] if not _is_float(n)]
        floats = [n for n in self.captured[f] if _is_float(n)]
        made = f"{f.text} = new_record(ints, floats, top, {number}, {len(ints)}, {len(floats)})  # {f.text}"
        return [made, *self.stored(f, [*ints, *floats])]

    def stored(self, record: Name, held: Sequence[Atom]) -> list[str]:
        """Write to the fields of a record."""
        return [f"{place} = {self.atom(a)}" for place, a in zip(_places(record, held), held, strict=True)]

    def call(self, function: Name, arguments: Sequence[Atom]) -> str:
        """apply(record, arguments), with 0 for parameters that this function does not have."""
        floats = [self.atom(a) for a in arguments if _is_float(a)]
        ints = [self.atom(a) for a in arguments if not _is_float(a)]
        floats += ["0.0"] * (self.floats - len(floats))
        ints += ["0"] * (self.ints - len(ints))
        return f"apply({', '.join([function.text, *floats, *ints, *self.state])})"

    @property
    def state(self) -> list[str]:
        """The arguments of every generated function: the memory and the program's arrays."""
        return ["ints", "floats", "cells", "top", *self.arrays]

    def branch(self, k: int, f: Fun) -> list[str]:
        """The branch of `apply` for a function."""
        floats = [p for p in f.parameters if _is_float(p)]
        ints = [p for p in f.parameters if not _is_float(p)]
        lines = [f"{p.text} = a{j}" for j, p in enumerate(floats)] + [f"{p.text} = i{j}" for j, p in enumerate(ints)]
        held = self.captured[f.name]
        lines += [f"{n.text} = ints[this + {2 + j}]" for j, n in enumerate(n for n in held if not _is_float(n))]
        lines += [f"{n.text} = floats[ints[this + 1] + {j}]" for j, n in enumerate(n for n in held if _is_float(n))]
        if f.name in free(f.body):
            lines.append(f"{f.name.text} = this")
        test = f"{'el' * (k > 0)}if ints[this] == {k}:  # {f.name.text}({', '.join(p.text for p in f.parameters)})"
        return [test, *_indented([*lines, *self.block(f.body)])]

    def apply(self) -> list[str]:
        """The function `apply`, through which all calls go."""
        parameters = [*(f"a{j}" for j in range(self.floats)), *(f"i{j}" for j in range(self.ints)), *self.state]
        lines = ["enter(top)"]
        for k, f in enumerate(self.functions):
            lines += self.branch(k, f)
        return [f"def apply({', '.join(['this', *parameters])}):", *_indented([*lines, "top[3] -= 1"])]

    def signature(self, arrays: Mapping[str, str]) -> str:
        """The types of `apply`, since numba cannot infer them for a function that only calls itself."""
        kinds = ["int64", *["float64"] * self.floats, *["int64"] * self.ints]
        kinds += ["int64[::1]", "float64[::1]", "float64[::1]", "int64[::1]"]
        kinds += [f"{arrays[name]}[::1]" for name in self.arrays]
        return f"void({', '.join(kinds)})"


def compiled(
    name: str, parameters: Sequence[str], arrays: Mapping[str, str], block: Block, results: Sequence[Name]
) -> str:
    """The program for numba; it also takes the memory for records and cells."""
    writer = _Compiled(block, list(arrays))
    lines = []
    if writer.functions:
        lines += [f"@njit({writer.signature(arrays)!r})", *writer.apply(), "", ""]
    last = f"return ({', '.join(map(writer.read, results))},)"
    head = f"def {name}({', '.join([*parameters, 'ints', 'floats', 'cells', 'top'])}):"
    return "\n".join([*lines, "@njit", head, *_indented([*writer.block(block), last])]) + "\n"


def _functions(block: Block) -> list[Fun]:
    found = []
    for statement in block.statements:
        if isinstance(statement, Fun):
            found.append(statement)
        for body in inner(statement):
            found += _functions(body)
    return found


def _is_float(atom: Atom) -> bool:
    return atom.kind == "float" if isinstance(atom, Name) else isinstance(atom, float)


def _places(record: Name, held: Sequence[Atom]) -> list[str]:
    """The expressions for the fields of a record: integers and floats apart, each in order."""
    count, places = {True: 0, False: 0}, []
    for real in map(_is_float, held):
        places.append(
            f"floats[ints[{record.text} + 1] + {count[real]}]" if real else f"ints[{record.text} + {2 + count[real]}]"
        )
        count[real] += 1
    return places
