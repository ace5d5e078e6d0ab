"""Flow check for opaque values (Opaque in nodes.py): refuse functions whose derivatives would pass through them.

Types decide first. What holds no floats, such as a set of ints, takes nothing from a float that is differentiated but
what is constant in pieces. A dict of floats may be there as long as none of them is differentiated: so nothing that is
may get in, under whatever name. A string may be made of such a float, to be printed; what it says is no number again.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.analysis.memory.alias import given
from dualrev.compiler.ir.core.atoms import Atom, Global, Var
from dualrev.compiler.ir.core.nodes import Call, Copy, Discrete, Function, Opaque, Statement
from dualrev.compiler.ir.core.traverse import leaves, reads, statements
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.opaque_types import holds_floats, holds_text, is_opaque

__all__ = ["check_flows", "is_opaque_atom", "meets_opaque"]

_CONTAINER = ("the call with a container", "floats that are differentiated might get into it", "an array")
_TEXT = (
    "the call with a string",
    "the string is made of what is differentiated, and might become a number there",
    "str(x) inside of the called function, and x as its argument",
)


def is_opaque_atom(x: Atom) -> bool:
    """Whether an atom is a variable or a global that is opaque: nothing but its type is known."""
    return isinstance(x, (Var, Global)) and is_opaque(x.type)


def meets_opaque(f: Function, calls: Callable[[Call], bool]) -> bool:
    """Whether a function handles opaque values, itself or in its callees; `calls` answers for a call."""
    return any(
        isinstance(s, Opaque) or (isinstance(s, Call) and calls(s)) or any(map(is_opaque_atom, reads(s)))
        for s in statements(f.body)
    )


def check_flows(f: Function, varied: Callable[[Atom], bool], enter: Callable[[Call], bool]) -> None:
    """Refuse a function (UnsupportedError) if varied values may flow into opaque values and back out.

    `f` handles opaque values. `enter` checks the callee of a call, and returns whether its core is known. It is called
    for every call that takes varied values: nobody else looks there if no derivative is seen to come out
    (summaries.py).
    """
    order = list(statements(f.body))
    texts: set[Atom] = set()  # strings that are made of what varies
    count = -1
    while count < len(texts):
        count = len(texts)
        for s in order:
            texts |= _texts(f, s, varied, texts)
            if isinstance(s, Call) and any(map(varied, given(s))) and not enter(s) and _passes_floats(s):
                _refuse(f, s, _CONTAINER)


def _texts(f: Function, s: Statement, varied: Callable[[Atom], bool], texts: set[Atom]) -> set[Atom]:
    """Strings that a statement makes from varied values, or from strings so made."""
    moving = [x for x in reads(s) if varied(x) or x in texts]
    if not moving:
        return set()
    match s:
        case Copy() if s.source in texts:
            return {s.target}
        case Discrete() if any(x in texts for x in moving) and holds_floats(s.target.type):
            _refuse(
                f,
                s,
                ("a number that is read from a string", "the string depends on what is differentiated", "the number"),
            )
        case Opaque():
            kept = [x for x in reads(s) if isinstance(x, Var) and is_opaque(x.type)] if s.changes else []
            if any(_takes(x.type) for x in kept) or any(_gives(x.type) for x in s.targets):
                _refuse(f, s, s.refusal)
            return {x for x in s.targets if isinstance(x.type, types.UnicodeType)}
        case Call():
            if any(x in texts for x in moving):
                _refuse(f, s, _TEXT)
    return set()


def _passes_floats(s: Call) -> bool:
    """Whether a call has containers of floats among its arguments or results."""
    return any(is_opaque_atom(x) and holds_floats(x.type) for x in [*given(s), *leaves(s.result)])


def _takes(kind: NumbaType) -> bool:
    """Whether a value of this type is mutable and may come to hold a float or a string."""
    return not isinstance(kind, types.UnicodeType) and (holds_floats(kind) or holds_text(kind))


def _gives(kind: NumbaType) -> bool:
    """Whether a value of this type may hold a float, or a string that nothing is known of."""
    return holds_floats(kind) or (holds_text(kind) and not isinstance(kind, types.UnicodeType))


def _refuse(f: Function, s: Statement, said: tuple[str, str, str] | tuple[str, str, str, int]) -> None:
    if isinstance(s, Opaque) and s.because is not None:
        raise s.because
    f.origin.source.refuse(s.line, *said)
