r"""The evaluator (section 4): eval and apply, with pending calls on a list instead of Python's stack.

    E s x = s x            E s (\x e) = <s, (\x e)>              A t v = t v
    E s (e1 e2) = A (E s e1) (E s e2)                            A <s, (\x e)> v = E s[x -> v] e

A Lambda's body is evaluated binding by binding; a call in the last one does not wait (so loops take no memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from stages.relatives.vlad.primitives import closure
from stages.relatives.vlad.syntax import parse
from stages.relatives.vlad.terms import Abs, Call, Copy, Join, Lambda, Term, VladError
from stages.relatives.vlad.values import NIL, Closure, J, J_inverse, Meter, Pair, Primitive, Value, describe

__all__ = ["call", "evaluate"]

_CALL, _COPY, _JOIN, _LAMBDA = range(4)


def evaluate(program: str | Term, meter: Meter | None = None) -> Value:
    """The value of a program; VladError if the text or the program is wrong."""
    term = parse(program) if isinstance(program, str) else program
    return call(closure(Abs(" program", term)), NIL, meter)


def call(f: Value, v: Value, meter: Meter | None = None) -> Value:
    """A f v"""
    meter = meter or Meter()
    if isinstance(f, Primitive):
        return f.function(v, meter)
    waiting: list[tuple[Iterator[tuple], dict[str, Value], str, str]] = []
    while True:
        if f.__class__ is not Closure:
            raise VladError(f"{describe(f)} is applied to {describe(v)}, and is no function")
        unit = f.unit
        if unit.parameter[0] == "↽":
            meter.calls += 1
            meter.check()
        code = unit.code or _coded(unit)
        meter.steps += len(code)
        s, steps, result = {**f.environment, unit.parameter: v}, iter(code), unit.result
        while True:
            for x, kind, a, b in steps:
                if kind == _CALL:
                    f, v = s[a], s[b]
                    if f.__class__ is Primitive:
                        s[x] = f.function(v, meter)
                    else:  # go on with its body
                        if x is not result:
                            waiting.append((steps, s, x, result))
                        break
                elif kind == _LAMBDA:
                    if a.parameter[0] == "↽":
                        meter.created += 1
                        meter.check()
                    s[x] = Closure(a, {z: s[z] for z in a.free})
                elif kind == _JOIN:
                    s[x] = Pair(s[a], s[b])
                elif kind == _COPY:
                    s[x] = s[a]
                else:
                    s[x] = _join(kind - _LAMBDA, s[a], s[b])
            else:  # the body is done: go on where its value is waited for
                y = s[result]
                if not waiting:
                    return y
                steps, s, x, result = waiting.pop()
                s[x] = y
                continue
            break


def _join(n: int, first: Value, second: Value) -> Value:
    """(v1 ,n v2) = J (J^-1 v1 ,n-1 J^-1 v2)"""
    for _ in range(n):
        first, second = J_inverse(first), J_inverse(second)
    made: Value = Pair(first, second)
    for _ in range(n):
        made = J(made)
    return made


def _coded(unit: Lambda) -> list[tuple]:
    """The bindings as (variable, kind, operands); for pairs, the kind says how often J has been applied."""
    code: list[tuple] = []
    for x, e in unit.bindings:
        match e:
            case Call(a, b):
                code.append((x, _CALL, a, b))
            case Copy(a):
                code.append((x, _COPY, a, None))
            case Join(n, a, b):
                code.append((x, _LAMBDA + n if n else _JOIN, a, b))
            case _:
                code.append((x, _LAMBDA, e, None))
    unit.code = code
    return code
