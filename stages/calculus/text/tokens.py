r"""The tokens of the calculus, which the parser reads and the printer writes.

    name      letters, digits, _ and ', not beginning with a digit, and not a word of RESERVED
    real      1.0   2.5e-3   1e100      with a point or an exponent
    integer   3
    symbol    ( ) [ ] { } , ; : = | ! \ \_ \R . -> |-> and those of PRECEDENCE
    comment   from -- and a space to the end of the line

Every Unicode spelling (SPELLINGS) has an ASCII equivalent, which is the token's `text`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.language.errors import Unreadable

__all__ = ["CALLS", "INFIX", "KEYWORDS", "PRECEDENCE", "RESERVED", "SPELLINGS", "Cursor", "Token", "width"]

#: ASCII -> unicode
SPELLINGS = {
    "R": "\u211d",
    "->": "→",
    "-o": "⊸",
    "->R": "→ᴿ",
    "\\": "λ",
    "\\_": "λ̲",
    "\\R": "λᴿ",
    "*": "·",
    "partial": "∂",
    "|->": "↦",
    ".": "∘",
    "++": "⊕",
    "forall": "∀",
    "<-": "←",
}

#: The operations of dualrev.rules.primitives that are written between their arguments.
INFIX = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}

ASSIGN, COMPARISON, SUM, PRODUCT, PREFIX, POWER, COMPOSE, APPLY, ATOM = range(1, 10)

#: Symbols between terms: the higher binds tighter. Comparisons and := do not chain, POWER and COMPOSE go to the right.
PRECEDENCE: Mapping[str, int] = {
    ":=": ASSIGN,
    **dict.fromkeys(("<", "<=", "<#", "<=#", "==#"), COMPARISON),
    **dict.fromkeys(("+", "-", "+#", "-#", "++"), SUM),
    **dict.fromkeys(("*", "/", "*#", "//#", "%#"), PRODUCT),
    "**": POWER,
    ".": COMPOSE,
}

#: Operations on maps, arrays and vectors (terms.Primitive).
CALLS = frozenset(("empty", "highest", "lookup", "delete", "alloc", "allocBeside", "get", "set", "size", "dealloc"))
CALLS |= {"freeze", "at", "modify", "push", "build", "index", "fanin", "lookupMaybe", "insertWith"}

#: Words that are no names.
KEYWORDS = frozenset(
    ("let", "letrec", "letR", "in", "and", "if", "then", "else", "case", "of", "data", "type", "shift", "forall")
)
KEYWORDS |= {"pure", "do"}
RESERVED = CALLS | KEYWORDS | frozenset(PRIMITIVES)
RESERVED |= {"true", "false", "inf", "nan", "fst", "snd", "id", "linear", "partial", "inl", "inr", "real"}
RESERVED |= {"ref", "reset", "grad", "sequence"}

_DIGITS = 4300  # what Python reads and writes, by default
_NO_LETTERS = SPELLINGS["R"] + SPELLINGS["\\R"]
_ASCII = {unicode: ascii_ for ascii_, unicode in SPELLINGS.items()}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_SYMBOLS = {*_ASCII, *PRECEDENCE, *"()[]{},;:=|!.\\", "\\_", "\\R", "->", "|->"} - {SPELLINGS["R"]}
_TOKEN = re.compile(
    r"(?P<space>\s+|--(?=\s|$)[^\n]*)"
    r"|(?P<real>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<integer>[0-9]+)"
    rf"|(?P<symbol>{'|'.join(re.escape(symbol) for symbol in sorted(_SYMBOLS, key=len, reverse=True))})"
    rf"|(?P<name>{SPELLINGS['R']}|[^\W\d{_NO_LETTERS}](?:[^\W{_NO_LETTERS}]|')*)"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind (real, integer, symbol, name, reserved, end), its text in ASCII, and its position."""

    kind: str
    text: str
    start: int
    end: int


class Cursor:
    """The tokens of a text, and the index of the next one."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.tokens = self._tokens()
        self.closing = self._match()  # from the index of an opening bracket to that of its closing one

    def _tokens(self) -> list[Token]:
        tokens, at = [], 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise unreadable(self.text, at, f"the character {self.text[at]!r} has no meaning")
            kind, text, at = str(match.lastgroup), match.group(), match.end()
            if kind in ("real", "integer") and re.match(r"[\w']", self.text[at : at + 1]):
                raise unreadable(self.text, at, f'the number {text} runs into "{self.text[at]}": put a space between')
            if kind == "integer" and len(text) > _DIGITS:
                raise unreadable(self.text, match.start(), f"a number of more than {_DIGITS} digits")
            text = _ASCII.get(text, text)
            kind = "reserved" if text in RESERVED else kind
            if kind != "space":
                tokens.append(Token(kind, text, match.start(), at))
        return [*tokens, Token("end", "", at, at)]

    def _match(self) -> dict[int, int]:
        closing: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self.tokens):
            if token.text in _BRACKETS:
                opened.append(index)
            elif token.text in _BRACKETS.values():
                if not opened:
                    raise unreadable(self.text, token.start, f'nothing is open that this "{token.text}" could close')
                expected = _BRACKETS[self.tokens[opened[-1]].text]
                if token.text != expected:
                    line, column = position(self.text, self.tokens[opened[-1]].start)
                    why = f'which closes the "{self.tokens[opened[-1]].text}" of line {line}, column {column}'
                    raise unreadable(self.text, token.start, f'expected "{expected}", {why}, found "{token.text}"')
                closing[opened.pop()] = index
        if opened:
            token = self.tokens[opened[-1]]
            raise unreadable(self.text, token.start, f'this "{token.text}" is never closed')
        return closing

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def peek(self, distance: int = 1) -> Token:
        """A token further on."""
        return self.tokens[min(self.at + distance, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Return the next token, and move past it."""
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, text: str) -> bool:
        """Move past the next token if it has this text."""
        found = self.token.text == text and self.token.kind != "end"
        if found:
            self.advance()
        return found

    def expect(self, text: str, hint: str = "") -> None:
        """Move past the next token, which must have this text."""
        if not self.accept(text):
            raise self.failure(f'"{text}"{hint}')

    def name(self, what: str) -> str:
        """Read a name; `what` describes it in the error message."""
        if self.token.kind != "name":
            raise self.failure(what)
        return self.advance().text

    def adjacent(self) -> bool:
        """Whether no space is between the next token and the one after it."""
        return self.token.end == self.peek().start

    def failure(self, expected: str) -> Unreadable:
        """The error that the next token is not what was expected."""
        token = self.token
        found = f'"{self.text[token.start : token.end]}"' if token.kind != "end" else "the end of the text"
        reserved = ", a reserved word" if token.kind == "reserved" else ""
        return unreadable(self.text, token.start, f"expected {expected}, found {found}{reserved}")


def width(text: str) -> int:
    """The number of columns of a text: the line under λ̲ is a character of width 0."""
    return len(text) - text.count("\u0332")


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1."""
    return text.count("\n", 0, offset) + 1, width(text[text.rfind("\n", 0, offset) + 1 : offset]) + 1


def unreadable(text: str, offset: int, reason: str) -> Unreadable:
    """The error at this offset of a text, with its line."""
    if not text[offset:].strip():
        offset = len(text.rstrip())  # the end of the text is where its last word ends
    line, column = position(text, offset)
    shown = text.split("\n")[line - 1].replace("\t", " ")
    return Unreadable(f"line {line}, column {column}: {reason}\n    {shown}\n    {' ' * (column - 1)}^")
