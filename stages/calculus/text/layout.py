"""Documents: text with places where lines may break.

    document ::= text | LINE | EDGE | [document, ..] | Nest(document) | Group(document) | START | END

A group is put on one line if it fits; otherwise all LINEs and EDGEs directly in it become line breaks. On one line,
LINE is a space and EDGE is empty. Nest indents the lines that begin in it. START and END enclose the part to mark.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from stages.calculus.text.tokens import width as columns

__all__ = ["EDGE", "END", "LINE", "START", "Document", "Group", "Nest", "first_text", "render", "single_line"]


class Mark(enum.Enum):
    """The parts of a document that are not text: possible line breaks, and the ends of the marked part."""

    LINE, EDGE, START, END = " ", "", "start", "end"


LINE, EDGE, START, END = Mark.LINE, Mark.EDGE, Mark.START, Mark.END


@dataclass(frozen=True, slots=True)
class Nest:
    """A document whose lines are indented by two."""

    content: Document


@dataclass(frozen=True, slots=True)
class Group:
    """A document on one line if it fits, unless its lines have to break in any case."""

    content: Document
    always: bool = False


Document = str | Mark | list["Document"] | Nest | Group


def _words(document: Document) -> Iterator[str | Mark]:
    """Texts and marks, in order."""
    stack = [document]
    while stack:
        match stack.pop():
            case Nest(content) | Group(content):
                stack.append(content)
            case list(several):
                stack.extend(reversed(several))
            case word:
                yield word


def single_line(document: Document) -> tuple[str, tuple[int, int] | None]:
    """The text on one line, and the position of the first part between START and END."""
    texts, length, start, end = [], 0, -1, -1
    for word in _words(document):
        if word is START:
            start = length if start < 0 else start
        elif word is END:
            end = length if end < 0 else end
        else:
            texts.append(word if isinstance(word, str) else word.value)
            length += len(texts[-1])
    return "".join(texts), (start, end) if end >= 0 else None


def first_text(document: Document) -> str:
    """The first text of a document."""
    return next((word for word in _words(document) if isinstance(word, str) and word), "")


def render(document: Document, width: int) -> str:
    """The text in lines of at most this width, as far as it can be broken."""
    texts: list[str] = []
    column = 0
    stack: list[tuple[int, bool, Document]] = [(0, False, document)]
    while stack:
        indent, flat, item = stack.pop()
        match item:
            case str(text):
                texts.append(text)
                column += columns(text)
            case list(several):
                stack.extend((indent, flat, part) for part in reversed(several))
            case Nest(content):
                stack.append((indent + 2, flat, content))
            case Group(content):
                stack.append((indent, flat or _fits(item, width - column, stack), content))
            case Mark.LINE | Mark.EDGE if not flat:
                texts.append("\n" + " " * indent)
                column = indent
            case Mark.LINE:
                texts.append(" ")
                column += 1
    return "".join(texts)


def _fits(group: Group, room: int, rest: list[tuple[int, bool, Document]]) -> bool:
    """Whether a group, and the text after it up to the next possible line break, has room on the line."""
    below = len(rest)
    stack: list[tuple[bool, Document]] = [(True, group)]
    while room >= 0:
        if not stack:
            if not below:
                return True
            below -= 1
            stack.append(rest[below][1:])
        flat, item = stack.pop()
        match item:
            case str(text):
                room -= columns(text)
            case list(several):
                stack.extend((flat, part) for part in reversed(several))
            case Group(_, always=True) if flat:
                return False
            case Nest(content) | Group(content):
                stack.append((flat, content))
            case Mark.LINE | Mark.EDGE:
                if not flat:
                    return True
                room -= item is LINE
    return False
