"""Text of the user's in generated code: names, comments, docstrings and messages, and how generated code is run.

What a user calls a function, and what stands in a line of a file, may be anything: quotes, backslashes, newlines that
Python sees as such or not, letters that Python normalizes. In generated code it stands only as what these functions
make of it, which cannot end early and become a statement.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import unicodedata
import weakref
from collections.abc import Collection
from typing import Any

__all__ = ["comment", "docstring", "execute", "identifier", "raising", "remember", "unused"]


def identifier(name: Any, instead: str) -> str:
    """A function's name as Python reads it in code; `instead` if it is no name, as that of a lambda expression.

    >>> identifier("f", "function"), identifier("ﬁt", "function"), identifier("<lambda>", "function")
    ('f', 'fit', 'function')
    """
    found = unicodedata.normalize("NFKC", str(name))
    return found if found.isidentifier() and not keyword.iskeyword(found) else instead


def unused(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: this one, or this one with underscores.

    >>> unused("x", ["x", "x_"])
    'x__'
    """
    while name in taken:
        name += "_"
    return name


def comment(text: str) -> str:
    r"""A comment on one line.

    >>> comment("y = x\f")
    '# y = x\\x0c'
    """
    return f"# {_printable(text)}"


def docstring(text: str) -> str:
    r"""A docstring, with its quotes; `text` may have several paragraphs.

    >>> docstring('half of "x"').strip('"')
    'half of \\"x\\'
    """
    paragraphs = map(_printable, text.replace("\\", "\\\\").replace('"', '\\"').split("\n\n"))
    return '"""' + "\n\n    ".join(paragraphs) + '"""'


def raising(error: str, message: str) -> str:
    """A `raise` statement for `str.format`, which is called on the statements of the compiler's first forms."""
    return f"raise {error}({message!r})".replace("{", "{{").replace("}", "}}")


def _printable(text: str) -> str:
    """The text on one line, without characters that nobody sees, or that change the order of others."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def execute(text: str | ast.Module, space: dict[str, Any], file: str = "<string>") -> None:
    """Run generated code, or its syntax tree, whose names are those in `space`."""
    exec(compile(text, file, "exec"), space)


def remember(text: str, file: str, owner: Any = None) -> None:
    """Keep generated code where Python looks for the lines of a file, as long as `owner` lives."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    if owner is not None:
        weakref.finalize(owner, linecache.cache.pop, file, None)
