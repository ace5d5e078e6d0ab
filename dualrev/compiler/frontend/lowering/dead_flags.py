"""Dead code elimination of flags that nothing reads: to_anf.py writes them before it knows their readers."""

from __future__ import annotations

from typing import Any

from dualrev.compiler.ir.anf.operations import Atom, For, Let, While, blocks, reads, walk
from dualrev.compiler.ir.names import is_generated

__all__ = ["drop_unread"]

_PURE = {"copy", "plain", "tuple"}


def drop_unread(body: list[Any], result: Atom) -> None:
    """Remove pure operations on generated names that nothing reads, until a fixpoint."""
    while True:
        read = {a for s in walk(body) for a in reads(s) if isinstance(a, str)} | {result}
        for s in walk(body):
            if isinstance(s, (For, While)):
                read |= set(s.exits)
            if isinstance(s, While):
                read.add(s.test)
        dead = {
            id(s)
            for s in walk(body)
            if isinstance(s, Let) and is_generated(s.target) and s.op in _PURE and s.target not in read
        }
        if not dead:
            return
        _remove(body, dead)


def _remove(body: list[Any], dead: set[int]) -> None:
    body[:] = [s for s in body if id(s) not in dead]
    for s in body:
        for inner in blocks(s):
            _remove(inner, dead)
