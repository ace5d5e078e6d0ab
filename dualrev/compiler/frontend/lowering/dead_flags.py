"""Dead code elimination of flags that nothing reads: to_anf.py writes them before it knows their readers."""

from __future__ import annotations

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.ir.names import is_generated

__all__ = ["drop_unread"]

_PURE = (anf.Copy, anf.Discrete, anf.MakeTuple)


def drop_unread(body: list[anf.Stmt], result: anf.Atom) -> list[anf.Stmt]:
    """Return the block without pure operations on generated names that nothing reads, to a fixpoint."""
    while True:
        read = {a for s in anf.walk(body) for a in [*anf.reads(s), *anf.ends(s)] if isinstance(a, str)} | {result}
        dead = {s for s in anf.walk(body) if isinstance(s, _PURE) and is_generated(s.target) and s.target not in read}
        if not dead:
            return body
        body = rewritten(body, lambda s, dead=dead: [] if s in dead else [s])  # type: ignore[misc]
