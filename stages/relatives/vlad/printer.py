"""VLAD's terms as text: s-expressions, broken into lines of limited width.

A tagged variable has its tags in front of it; (cons↼ a b) is a pair that J has been applied to; in a let*, (⊕= p e)
adds e to the variables of p. A unit of A-normal form that J made is shown with patterns, as in the figure.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from stages.relatives.vlad.terms import (
    EMPTY,
    Abs,
    Apply,
    Binding,
    Call,
    Cons,
    Copy,
    Join,
    Lambda,
    Let,
    Term,
    Var,
    without_recursion,
)

__all__ = ["show_term"]


def show_term(term: Term, width: int = 100) -> str:
    """The term as text."""
    return "\n".join(without_recursion(_lines(without_recursion(_form(term)), width)))


def _form(term: Any) -> Generator[Any, Any, Any]:
    """The s-expression."""
    match term:
        case Var(name) | Copy(name):
            return "()" if name == "[]" else name.strip()
        case Apply(f, e):
            return [(yield _form(f)), (yield _form(e))]
        case Call(f, e):
            return [f, e]
        case Cons(0) if (parts := _list(term)) is not None:
            forms: list[Any] = ["list"]
            for one in parts:
                forms.append((yield _form(one)))
            return forms
        case Cons(n, first, second):
            return ["cons" + "↼" * n, (yield _form(first)), (yield _form(second))]
        case Join(n, first, second):
            return ["cons" + "↼" * n, first, second]
        case Abs(parameter, body):
            return ["lambda", [parameter.replace(" ", "")], (yield _form(body))]
        case Binding(pattern, e, adds):
            made = [(yield _form(pattern)), (yield _form(e))]
            return ["⊕=", *made] if adds else made
        case Let(bindings, body):
            forms = []
            for binding in bindings:
                forms.append((yield _form(binding)))
            return ["let*", forms, (yield _form(body))]
        case Lambda(figure=Term() as figure) if term.origin is not None:
            return (yield _form(figure))
    forms = []
    for x, e in term.bindings:
        forms.append([x, (yield _form(e))])
    return ["lambda", [term.parameter], ["let*", forms, term.result]]


def _list(term: Term) -> list[Term] | None:
    """The parts of a term that ends with []."""
    parts = []
    while isinstance(term, Cons) and term.level == 0:
        parts.append(term.first)
        term = term.second
    return parts if term == EMPTY else None


def _lines(form: Any, width: int) -> Generator[Any, Any, list[str]]:
    """The lines of an s-expression: one if it fits, otherwise its parts below each other."""
    if isinstance(form, str):
        return [form]
    parts = []
    for one in form:
        parts.append((yield _lines(one, width - 2)))
    if all(len(part) == 1 for part in parts):
        line = "(" + " ".join(part[0] for part in parts) + ")"
        if len(line) <= width:
            return [line]
    match form:
        case ["lambda", *_]:
            lines = [f"(lambda {parts[1][0]}", *_hung("  ", parts[2])]
        case ["let*", *_]:
            lines = [*_hung("(let* ", parts[1]), *_hung("  ", parts[2])]
        case [str() as head, *_]:
            lines = _hung(f"({head} ", [line for part in parts[1:] for line in part])
        case _:
            lines = _hung("(", [line for part in parts for line in part])
    return [*lines[:-1], lines[-1] + ")"]


def _hung(first: str, lines: list[str]) -> list[str]:
    """Put `first` in front of the first line, and indent the others."""
    return [(first if i == 0 else " " * len(first)) + line for i, line in enumerate(lines)]
