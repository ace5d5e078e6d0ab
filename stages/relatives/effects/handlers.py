r"""Deep effect handlers by Python's generators: one-shot continuations.

    perform e                  answer = yield e                         in a generator, the program
    handle p with e, k -> c    handle(p, clause), where clause(e) is a generator, too
    continue k v, in c         result = yield Resume(v)                 the rest of the program, with v as the answer
    perform e, in c            answer = yield e                         goes to the next handler outside

`handle` is itself a program: it performs the effects of its clauses. The clauses that wait for the rest of the program
are on a list, not on Python's stack, so that a program may perform any number of effects.

Generators cannot be copied. So a clause may resume once (the rest runs), or never (its value is the handler's value,
like an exception), but not twice: no backtracking, and no second call of k for another cotangent. And a generator
holds only its own frame: each function between `perform` and the handler has to be a generator, called by `yield from`.
Greenlets (continuations/control.py) hold the whole stack, and are one-shot as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

__all__ = ["HandlerError", "Program", "Resume", "handle", "run"]

#: A generator that yields effects, is sent their answers, and returns its value.
Program = Generator[Any, Any, Any]


class HandlerError(RuntimeError):
    """A clause that resumes a second time, or an effect that no handler knows."""


class Resume(NamedTuple):
    """continue k value"""

    value: Any


class _End(NamedTuple):
    value: Any


def handle(program: Program, clause: Callable[[Any], Program]) -> Program:
    """Run a program, with a clause for each effect; effects of clauses go to the next handler outside.

    HandlerError if a clause resumes a second time.

    >>> def program():
    ...     return (yield "a") + (yield "b")
    >>> def clause(effect):
    ...     result = yield Resume(effect.upper())
    ...     return f"{effect}({result})"
    >>> run(handle(program(), clause), None)
    'a(b(AB))'
    """
    waiting: list[Program] = []
    send: Callable[[], Any] = functools.partial(program.send, None)
    while True:
        try:
            effect = send()
        except StopIteration as end:
            result = end.value
            break
        body = clause(effect)
        try:
            said = yield from _until_resumed(body, None)
        except Exception as error:  # of the effect: the program may catch it
            send = functools.partial(program.throw, error)
            continue
        if isinstance(said, _End):
            program.close()
            result = said.value
            break
        waiting.append(body)
        send = functools.partial(program.send, said.value)
    while waiting:
        said = yield from _until_resumed(waiting.pop(), result)
        if isinstance(said, Resume):
            raise HandlerError(
                "a clause resumed a second time, but a generator cannot be copied: run the whole program again"
            )
        result = said.value
    return result


def _until_resumed(body: Program, answer: Any) -> Generator[Any, Any, Resume | _End]:
    """Run a clause, and perform its effects, until it resumes the program or ends."""
    send: Callable[[], Any] = functools.partial(body.send, answer)
    while True:
        try:
            said = send()
        except StopIteration as end:
            return _End(end.value)
        if isinstance(said, Resume):
            return said
        try:
            send = functools.partial(body.send, (yield said))
        except Exception as error:
            send = functools.partial(body.throw, error)


def run(program: Program, answer: Callable[[Any], Any] | None) -> Any:
    """The value of a program, whose remaining effects have a function's values as their answers.

    HandlerError if it is no generator, or if there is no function and an effect remains.
    """
    if not isinstance(program, Generator):
        raise HandlerError(f"the program is no generator, but {program!r}: yield its operations, z = yield mul(x, y)")
    send: Callable[[], Any] = functools.partial(program.send, None)
    while True:
        try:
            effect = send()
        except StopIteration as end:
            return end.value
        if answer is None:
            raise HandlerError(f"no handler for the effect {effect!r}")
        try:
            send = functools.partial(program.send, answer(effect))
        except Exception as error:
            send = functools.partial(program.throw, error)
