r"""The printer of types, terms and programs, in the parser's syntax: parse_term(show(t)) is t.

It writes sugar for the terms that sugar.py makes: let and lambda with patterns, if, true and false. Other terms are
written out. The grammar is in parser.py, the layout in layout.py. Chains of binders or operators of any length need no
recursion.
"""

from __future__ import annotations

from collections.abc import Sequence

from stages.calculus.language.declarations import DataType, Definition, Program, Synonym
from stages.calculus.language.terms import LinearLambda, Term, subterms
from stages.calculus.language.types import Type
from stages.calculus.text.layout import LINE, Document, Group, Nest, render, single_line
from stages.calculus.text.term_printer import TermPrinter
from stages.calculus.text.tokens import width as columns

__all__ = ["mark", "show", "show_program", "show_type", "write_program"]

_EXCERPT = 100  # characters that `mark` shows
_ANCESTORS, _LEVELS = 40, 80  # how far above a part, and how far below that, `mark` looks


def show_type(type_: Type, ascii: bool = False) -> str:
    """A type as text, on one line."""
    return TermPrinter(ascii).type(type_)


def show(term: Term, ascii: bool = False, width: int = 100) -> str:
    r"""A term as text, on one line if it fits.

    >>> from stages.calculus.language.terms import Operation, Var
    >>> show(Operation("mul", (Operation("add", (Var("x"), Var("y"))), Var("x"))), ascii=True)
    '(x + y) * x'
    """
    return render(TermPrinter(ascii).term(term), width)


def show_program(program: Program, ascii: bool = False, width: int = 100) -> str:
    """A program as text: a line for each declaration, and the term."""
    return write_program(TermPrinter(ascii), program, width)


def write_program(printer: TermPrinter, program: Program, width: int) -> str:
    """The text of a program."""
    lines = [_declaration(printer, declared) for declared in program.declarations]
    lines += [_definition(printer, definition) for definition in program.definitions]
    texts = [render(line, width) + ";\n" for line in lines]
    return "".join([*texts, "\n" * bool(texts), render(printer.term(program.term), width)])


def _declaration(printer: TermPrinter, declared: DataType | Synonym) -> Document:
    if isinstance(declared, Synonym):
        return f"type {' '.join([declared.name, *declared.parameters])} = {printer.type(declared.type)}"
    head = " ".join(["data", declared.name, *declared.parameters, "="])
    constructors: list[Document] = []
    for constructor in declared.constructors:
        text = " ".join([constructor.name, *(printer.type(field, 3) for field in constructor.fields)])
        constructors.append([LINE, "| " if constructors else "", text])
    return Group([head, Nest(constructors)])


def _definition(printer: TermPrinter, definition: Definition) -> Document:
    head = f"{definition.name} : {printer.type(definition.type)} ="
    return Group([head, Nest([LINE, printer.term(definition.term)])])


def mark(root: Term, part: Term) -> str:
    """The term on one line, with carets under this part (this very object); "" if the term does not contain it.

    Of a long line, only the text around the part is shown. For a part that sugar hides, the sugar is marked. Far from
    the part, `...` replaces deeply nested terms.
    """
    path = _path(root, part)
    above = max(0, len(path) - _ANCESTORS)
    body = any(isinstance(term, LinearLambda) for term in path[:above])
    for candidate in reversed(path[above:]):
        printer = TermPrinter(part=candidate, levels=_LEVELS)
        text, place = single_line(["..." * (above > 0), printer.term(path[above], body=body)])
        if place is not None:
            return _excerpt(text, *place)
    return ""


def _path(root: Term, part: Term) -> Sequence[Term]:
    """The terms from the root to the first occurrence of a part; empty if there is none."""
    stack: list[tuple[Term, int]] = [(root, 0)]
    path: list[Term] = []
    seen: set[int] = set()
    while stack:
        term, depth = stack.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        path[depth:] = [term]
        if term is part:
            return path
        stack.extend((below, depth + 1) for below in reversed(list(subterms(term))))
    return []


def _excerpt(text: str, start: int, end: int) -> str:
    """A text, or an excerpt of it around a position, with carets under the position."""
    first = max(0, min(start, (start + end - _EXCERPT) // 2, len(text) - _EXCERPT))
    last = first + _EXCERPT
    before, after = "..." * (first > 0), "..." * (last < len(text))
    indent = columns(before + text[first:start])
    return f"{before}{text[first:last]}{after}\n{' ' * indent}{'^' * columns(text[start : min(end, last)])}"
