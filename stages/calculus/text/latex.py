r"""Types, terms and programs in LaTeX, for math mode with amsmath and amssymb.

This translates the text of printer.py word by word to the notation of the paper's figures: \mathbb{R}, \multimap,
\textbf{let}, \underline{\lambda}. Text of several lines becomes an array.

    x1 -> x_{1}    acc -> \mathit{acc}    dx' -> \mathit{dx}'    List, sin -> \mathrm{..}    let -> \textbf{let}
"""

from __future__ import annotations

import re
import unicodedata

from stages.calculus.language.declarations import Program
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type
from stages.calculus.text.layout import render
from stages.calculus.text.printer import show_type, write_program
from stages.calculus.text.term_printer import TermPrinter
from stages.calculus.text.tokens import KEYWORDS, SPELLINGS, Cursor, Token

__all__ = ["latex", "latex_program", "latex_type"]

_WIDTH = 80  # columns of the text that a line is made of

_WORDS = {
    "\\": r"\lambda",
    "\\_": r"\underline{\lambda}",
    "\\R": r"\lambda^{\mathrm{R}}",
    "->": r"\to",
    "-o": r"\multimap",
    "->R": r"\to^{\mathrm{R}}",
    "|->": r"\mapsto",
    "<-": r"\leftarrow",
    "*": r"\cdot",
    "**": r"\mathbin{{*}{*}}",
    "++": r"\oplus",
    "+#": r"+_{\#}",
    "-#": r"-_{\#}",
    "*#": r"\cdot_{\#}",
    "//#": r"\div_{\#}",
    "%#": r"\bmod_{\#}",
    "<=": r"\le",
    "<#": r"<_{\#}",
    "<=#": r"\le_{\#}",
    "==#": r"=_{\#}",
    "{": r"\{",
    "}": r"\}",
    "|": r"\mid",
    "!": "{!}",
    "partial": r"\partial_",
    "R": r"\mathbb{R}",
    "inf": r"\infty",
    "forall": r"\forall ",
}
#: Greek capitals that LaTeX has by name; the others look like Latin ones.
_CAPITALS = {"GAMMA", "DELTA", "THETA", "LAMBDA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA"}


def latex_type(type_: Type) -> str:
    r"""A type in LaTeX.

    >>> from stages.calculus.language.types import REAL, Linear, Pair
    >>> latex_type(Linear(Pair(REAL, REAL), REAL))
    '(\\mathbb{R}, \\mathbb{R}) \\multimap \\mathbb{R}'
    """
    return _translate(show_type(type_))


def latex(term: Term) -> str:
    """A term in LaTeX, with one line for each let."""
    return _translate(render(TermPrinter(open_lets=True).term(term), _WIDTH))


def latex_program(program: Program) -> str:
    """A program in LaTeX: a line for each declaration, and the term."""
    return _translate(write_program(TermPrinter(open_lets=True), program, _WIDTH))


def _translate(text: str) -> str:
    """Translate a text word by word."""
    lines, before = [""], Token("start", "", 0, 0)
    for token in Cursor(text).tokens[:-1]:
        gap, word = text[before.end : token.start], _word(before, token, text[token.start : token.end])
        if "\n" in gap:
            *blank, indentation = gap.split("\n")[1:]
            lines += [*blank, r"\quad " * (len(indentation) // 2) + word]
        elif gap:
            lines[-1] += _space(before, token) + word
        else:
            runs_in = re.search(r"\\[A-Za-z]+$", lines[-1]) and word[0].isalpha()
            lines[-1] += " " * bool(runs_in) + word
        before = token
    if len(lines) == 1:
        return lines[0]
    return "\n".join([r"\begin{array}[t]{@{}l@{}}", " \\\\\n".join(lines), r"\end{array}"])


def _space(before: Token, after: Token) -> str:
    """A space in LaTeX: math mode adds it around operators, but not between words."""
    operator = before.kind == "symbol" and before.text not in (*")]}", ".")
    operator |= after.kind == "symbol" and after.text not in (*"([{!", "\\", "\\_", "\\R")
    return " " if operator else r"\ "


def _word(before: Token, token: Token, raw: str) -> str:
    """A token in LaTeX, given the token before it."""
    if token.kind == "real":
        mantissa, _, exponent = raw.lower().partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else raw
    if before.text == "partial":
        return f"{{{raw}}}"
    if raw == SPELLINGS["."]:
        return r"\circ"
    if token.text in _WORDS:
        return _WORDS[token.text]
    if token.kind == "reserved":
        return (r"\textbf{%s}" if token.text in KEYWORDS else r"\mathrm{%s}") % raw
    return _name(raw) if token.kind == "name" else raw


def _name(name: str) -> str:
    """A name; digits at its end become its index."""
    match = re.fullmatch(r"(.+?)([0-9]*)('*)", name)
    assert match is not None
    base, index, primes = match.groups()
    letters = "".join(map(_letter, base))
    if len(base) > 1:
        letters = (r"\mathrm{%s}" if base[0].isupper() else r"\mathit{%s}") % letters
    return letters + (f"_{{{index}}}" if index else "") + primes


def _letter(letter: str) -> str:
    """A letter of a name; Greek letters by name."""
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(letter, ""))
    if greek is None:
        return letter.replace("_", r"\_")
    name = greek[2].replace("LAMDA", "LAMBDA")
    if greek[1] == "SMALL" and name != "OMICRON":
        return f"\\{name.lower()} "
    return f"\\{name.capitalize()} " if name in _CAPITALS else letter
