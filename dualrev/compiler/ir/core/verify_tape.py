"""Verifier of the tape protocol: the reverse sweep pops in opposite order what the forward sweep pushes.

    push x, y                     pop x, y
    for i: push z                 for i: pop z
    if c: push u                  if c: pop u
    call f_forward (tape)         call f_reverse (tape)

Both sweeps, one after the other, have to leave the tape as it was. So has each loop that runs both, of an iteration at
a time. Numbers and arrays are in two stacks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from dualrev.compiler.ir.core.atoms import Symbol
from dualrev.compiler.ir.core.nodes import Block, Call, Columns, For, If, Keep, Kept, Pop, Push, Statement, While

__all__ = ["check_tape"]

#: What is pushed (+1) or popped (-1), in a form that is the same for both.
_Move = tuple[int, Hashable]


def check_tape(forward: Block, reverse: Block) -> None:
    """Verify that the tape is balanced after both sweeps; AssertionError if not."""
    for arrays in (False, True):
        left = _moves((*forward, *reverse), arrays)
        assert not left, f"the tape is not empty after both sweeps: {', '.join(map(_words, left))}"


def _moves(body: Block, arrays: bool) -> list[_Move]:
    """Net pushes and pops of a block, after inner pairs have cancelled."""
    left: list[_Move] = []
    for sign, what in (move for s in body for move in _of(s, arrays)):
        if sign < 0 and left and left[-1] == (1, what):
            left.pop()
        else:
            left.append((sign, what))
    return left


def _of(s: Statement, arrays: bool) -> Iterator[_Move]:
    """Pushes and pops of a statement."""
    match s:
        case Push(values) if not arrays:
            yield 1, ("words", len(values))
        case Pop(targets) if not arrays:
            yield -1, ("words", len(targets))
        case Columns() if not arrays:
            yield -1 if s.taken else 1, ("columns", len(s.targets))
        case Keep() if arrays:
            yield 1, "array"
        case Kept() if arrays:
            yield -1, "array"
        case Call(function=Symbol() as f) if s.tape:
            yield -1 if f.name.endswith("_reverse") else 1, "call"
        case If():
            yield from _nested("if", [_moves(s.then, arrays), _moves(s.orelse, arrays)])
        case For():
            yield from _nested("loop", [_moves(s.body, arrays)])
        case While():
            yield from _nested("loop", [_moves((*s.before, *s.body), arrays)])


def _nested(kind: str, blocks: list[list[_Move]]) -> Iterator[_Move]:
    """Net pushes or pops of a statement with blocks; AssertionError if it does both."""
    signs = {sign for moves in blocks for sign, _ in moves}
    assert len(signs) < 2, f"a block pushes and pops: {', '.join(_words(m) for moves in blocks for m in moves)}"
    if signs:
        (sign,) = signs
        yield sign, (kind, *(tuple(what for _, what in moves[::sign]) for moves in blocks))


def _words(move: _Move) -> str:
    return f"{'push' if move[0] > 0 else 'pop'} {move[1]}"
