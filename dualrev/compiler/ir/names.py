"""Hygienic names: generated ones cannot collide with others; printed ones are chosen when the text is written.

While a function is transformed there are three kinds of names, disjoint by construction:

    fixed       what emitted code says itself: math, np, runtime, tape, words, ..., and the builtins that it calls
    the user's  as they are written, unless they are fixed ones or have the MARK in them: these get a generated name
    generated   some text, the MARK, and a number that no other name of the module has

`Names.chosen` gives the generated ones the names that are printed: `_1`, `d_x`, `x_1`, `result_0`, or the next that is
free, where "free" means that nothing else in the function, and nothing in the module around it, has the name.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["FIXED", "MARK", "Names", "bare", "is_generated", "readable", "renamed", "retold", "words_of"]

#: A letter (of Khoisan languages) that NFKC, Python's normal form of names, leaves as it is.
MARK = "\u01c0"

_EXCEPTIONS = {n for n, x in vars(builtins).items() if isinstance(x, type) and issubclass(x, BaseException)}
_CALLED = {"abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "print", "range", "round", "sum"}
_RUNTIME = {"math", "np", "numba", "njit", "prange", "runtime", "tape", "words", "top", "ct", "BASE", "_", "cuda"}

#: The names that emitted code has for itself.
FIXED = frozenset(_EXCEPTIONS | _CALLED | _RUNTIME)

#: Of other letters than ASCII's, emitted code has names only; `\w` leaves out marks that a name may have, as in Hindi.
_NAME = "[A-Za-z_\x80-\U0010ffff][0-9A-Za-z_\x80-\U0010ffff]*"
_STRING = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_FORMATTED = rf"(?<![0-9A-Za-z_])f(?:'{{3}}(?:\\.|[^\\])*?'{{3}}|\"{{3}}(?:\\.|[^\\])*?\"{{3}}|{_STRING})"
_WORD = re.compile(rf"(?P<formatted>{_FORMATTED})|{_STRING}|(?P<word>(?<![0-9A-Za-z_\x80-\U0010ffff.]){_NAME})")
_SERIAL = re.compile(rf"{MARK}\d+")


def is_generated(name: str) -> bool:
    """Whether the compiler generated a name."""
    return MARK in name


def readable(text: str) -> str:
    """Strip the marks and serial numbers of generated names from a text."""
    return _SERIAL.sub("", text)


def bare(name: str) -> str:
    """Strip a generated name to a stem for new names: u71 for _71."""
    found = readable(name).replace(MARK, "").strip("_")
    return found if found.isidentifier() else f"u{found}"


def words_of(text: str) -> list[str]:
    """Names in a line of code, in order; no attributes, and no strings other than f-strings."""
    found: list[str] = []
    for m in _WORD.finditer(text):
        if m.group("formatted"):
            tree = ast.parse(m.group(), mode="eval")
            found += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        elif m.group("word"):
            found.append(m.group())
    return found


@dataclass(frozen=True)
class _Generated:
    template: str  # of the printed name: {} is that of `of`, {k} a number that is free, {n} the same but for the first
    of: str | None
    temporary: bool


class Names:
    """Generated names of a module."""

    def __init__(self) -> None:
        self._made: dict[str, _Generated] = {}
        self._shared: dict[str, str] = {}
        self._users: dict[str, str] = {}

    def fresh(self, template: str, of: str | None = None, temporary: bool = False) -> str:
        """Generate a name; it is printed as `template` says.

        >>> names = Names()
        >>> made = names.fresh("d_{}", "x")
        >>> made == names.fresh("d_{}", "x")
        False
        >>> names.chosen([made], {"d_x"})[made]
        'd_x_'
        """
        template = _of_letters(template)
        base = template.format(readable(of or ""), k="", n="")
        name = f"{base}{MARK}{len(self._made)}"
        self._made[name] = _Generated(template, of, temporary)
        return name

    def temporary(self) -> str:
        """Generate a name for an intermediate value, which may be inlined into its use."""
        return self.fresh("_{k}", temporary=True)

    def shared(self, text: str) -> str:
        """Return the generated name that several functions share for one thing, such as `d_result_0`."""
        if text not in self._shared:
            self._shared[text] = self.fresh(text)
        return self._shared[text]

    def user(self, name: str) -> str:
        """Internal name of a user's variable during transformation: a generated one if it could collide."""
        if name not in FIXED and MARK not in name:
            return name
        if name not in self._users:
            self._users[name] = self.fresh(f"{bare(name)}_")
        return self._users[name]

    def is_temporary(self, name: str) -> bool:
        """Whether a name was generated for an intermediate value, or for its cotangent."""
        made = self._made.get(name)
        return made is not None and made.temporary

    def chosen(self, names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
        """Choose the printed names of generated names, in this order, apart from `taken` and the fixed names."""
        used = {*FIXED, *taken}
        found: dict[str, str] = {}
        last: dict[tuple[str, str], int] = {}

        def choose(name: str) -> str:
            """Choose the printed name of one generated name."""
            if name in found or name not in self._made:
                return found.get(name, name)
            made = self._made[name]
            of = choose(made.of) if made.of is not None else ""
            inner = of if made.template.startswith("{}") else of.lstrip("_")
            numbered = "{k}" in made.template or "{n}" in made.template
            k = last.get((made.template, inner), 0) + 1
            text = _normal(made.template.format(inner, k=k, n=f"_{k}" if k > 1 else ""))
            while text in used:
                k += 1
                text = _normal(made.template.format(inner, k=k, n=f"_{k}")) if numbered else text + "_"
            last[made.template, inner] = k
            used.add(text)
            found[name] = text
            return text

        for name in names:
            choose(name)
        return found


def renamed(text: str, name: Callable[[str], str]) -> str:
    """Rename the names in a line of code."""

    def other(m: re.Match[str]) -> str:
        """Rename one match."""
        if m.group("formatted"):
            tree = ast.parse(m.group(), mode="eval")
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    node.id = name(node.id)
            return ast.unparse(tree)
        return name(m.group()) if m.group("word") else m.group()

    return _WORD.sub(other, text)


def retold(text: str, name: Callable[[str], str]) -> str:
    """Rename the names in a sentence."""
    return re.sub(_NAME, lambda m: name(m.group()), text)


@functools.lru_cache(maxsize=4096)
def _of_letters(template: str) -> str:
    """Make a template whose names are identifiers: classes, methods and fields may be called anything.

    >>> _of_letters("_a b{x}_{k}"), _of_letters("{}_ﬁt")
    ('_a_b_x__{k}', '{}_fit')
    """

    def letter(m: re.Match[str]) -> str:
        """Replace a character that no identifier may have."""
        return m.group() if m.group("field") or f"_{m.group()}".isidentifier() else "_"

    return re.sub(r"(?P<field>\{[kn]?\})|.", letter, _normal(template), flags=re.DOTALL)


def _normal(name: str) -> str:
    """Normalise a name as Python does (NFKC)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)
