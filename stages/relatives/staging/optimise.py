r"""Dead code elimination and constant folding of generated straight-line code.

Paper:   Wang et al. 2019, section 4.1: LMS reduces the generated code of its example to `return 2 * in`

A cell is known while the code is read, since nothing branches: it is a sum of terms, each with a number as its factor.

    before                            after, by cell                    after, as code
    d0 = ref 0                        d0 = 0
    v0 = x0 * x0                                                        (dead: no result needs v0)
    d1 = ref 0;  d1 += 1.0            d1 = 1
    d0 += x0 * ! d1                   d0 = 1 x0                         constant folding: 0 + x0 1
    d0 += x0 * ! d1                   d0 = 2 x0                         equal terms are added
    ! d0                                                                return 2.0 * x0

A sum that is multiplied by a partial derivative which is no number gets a name, so that no work is repeated. Terms are
added in another order than in the generated code, and 0 times a term is 0: the results are equal up to rounding where
all numbers are finite.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.staging.code import Add, Atom, Block, Cell, Let, Name, Scaled, StagingError
from stages.relatives.staging.texts import expression

__all__ = ["optimised"]

#: A sum: the factor of each term; the term "" is 1.
_Sum = dict[str, float]


def optimised(parameters: Sequence[str], block: Block, results: Sequence[Name]) -> str:
    """Python code for these results alone. StagingError for code with branches, functions, arrays or boxes.

    >>> from stages.relatives.staging.staged import REAL, stage
    >>> snippet = stage(lambda x: x * x, REAL)
    >>> print(optimised(snippet.parameters, snippet.block, snippet.results[1:]))
    def snippet(x0):
        return 2.0 * x0
    <BLANKLINE>
    """
    cells: dict[Name, _Sum] = {}
    lets: dict[str, str] = {}
    for s in block.statements:
        match s:
            case Let(name, op, arguments, limit):
                lets[name.text] = _operation(op, arguments, PRIMITIVES[op].value, limit=limit)
            case Cell(name, ()):
                cells[name] = {}
            case Scaled(cell, op, k, arguments, y, source):
                partial = _operation(op, arguments, PRIMITIVES[op].partials[k], y.text, limit=True)
                _add(cells[cell], _times(partial, cells[source], lets))
            case Add(cell, atom, None):
                _add(cells[cell], cells[atom] if isinstance(atom, Name) and atom in cells else _sum(_text(atom)))
            case Add(cell, atom, Name() as source):
                _add(cells[cell], _times(_text(atom), cells[source], lets))
            case _:
                raise StagingError(f"only straight-line code is optimised, and this code has {type(s).__name__}")
    returned = ", ".join(_written(cells[result]) for result in results)
    needed, lines = _names(returned), [f"    return {returned}"]
    for bound, value in reversed(lets.items()):  # dead code elimination
        if bound in needed:
            needed |= _names(value)
            lines.append(f"    {bound} = {value}")
    return "\n".join([f"def snippet({', '.join(parameters)}):", *reversed(lines)]) + "\n"


def _text(atom: Atom) -> str:
    return atom.text if isinstance(atom, Name) else repr(atom)


def _operation(op: str, arguments: Sequence[Atom], text: str, y: str = "", limit: bool = False) -> str:
    """A text of the table of primitives, at arguments."""
    at = dict(zip(PRIMITIVES[op].parameters, map(_text, arguments), strict=True))
    return expression(text, {**at, "y": y} if y else at, limit)


def _number(text: str) -> float | None:
    """The number that a text is; None for an expression."""
    try:
        return float(ast.literal_eval(text))
    except (ValueError, TypeError):
        return None


def _sum(text: str) -> _Sum:
    """A text as a sum of one term."""
    number = _number(text)
    return {_factor(text): 1.0} if number is None else {"": number}


def _add(into: _Sum, terms: _Sum) -> None:
    """Add the terms of a sum, equal ones to each other."""
    for term, factor in list(terms.items()):
        into[term] = into.get(term, 0.0) + factor
        if not into[term]:
            del into[term]


def _times(p: str, terms: _Sum, lets: dict[str, str]) -> _Sum:
    """The product of a partial derivative and a sum: constant folding, if one of them is a number."""
    number = _number(p)
    if number is not None:
        return {term: number * factor for term, factor in terms.items()}
    if terms.keys() <= {""}:
        return {_factor(p): terms[""]} if terms else {}
    return {f"{_factor(p)} * {_named(_written(terms), lets)}": 1.0}


def _named(text: str, lets: dict[str, str]) -> str:
    """A name for an expression, the same for equal ones."""
    if text.isidentifier():
        return text
    for name, value in lets.items():
        if value == text:
            return name
    lets[name := f"z{len(lets)}"] = text
    return name


def _factor(text: str) -> str:
    """An expression as a factor of a product."""
    match ast.parse(text, mode="eval").body:
        case ast.Name() | ast.Constant() | ast.Call() | ast.BinOp(op=ast.Mult()):
            return text
    return f"({text})"


def _written(terms: _Sum) -> str:
    """The expression of a sum."""
    parts = [
        (f"{factor!r} * {term}" if factor != 1.0 else term) if term else repr(factor) for term, factor in terms.items()
    ]
    return " + ".join(parts) or "0.0"


def _names(text: str) -> set[str]:
    """The variables of an expression."""
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
