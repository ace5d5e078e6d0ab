r"""The meaning of a program, element by element: on Python's numbers and nested lists.

All numbers may be those of a derivative: `function` makes of a program a Python function that the stages take. Each
scalar operation is then one dual number, so that an array of n elements costs n backpropagators.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualrev.eager.numbers.overload import function as on_numbers
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.terms import OPERATIONS, Build, Gather, Index, Let, Num, Op, Scatter, Sum, Term, Var

__all__ = ["evaluate", "function"]

_COMPUTE = {name: on_numbers(line) for name, line in OPERATIONS.items()}
_WHOLE: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}


def function(program: Program) -> Callable[..., Any]:
    """The program as a Python function of numbers and nested lists.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> function(program(lambda xs, ys: sum_of(build(2, lambda i: xs[i] * ys[i]))))([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    return lambda *args: evaluate(program.body, dict(zip(program.arguments, args, strict=True)))


def evaluate(t: Term, env: Mapping[str, Any]) -> Any:
    """The value of a term."""
    match t:
        case Var(name):
            return env[name]
        case Num(value):
            return value
        case Op(name, args):
            return _elements(name, *(evaluate(u, env) for u in args))
        case Let(x, bound, body):
            return evaluate(body, {**env, x: evaluate(bound, env)})
        case Build(n, i, body):
            return [evaluate(body, {**env, i: k}) for k in range(n)]
        case Index(array, at):
            return _at(evaluate(array, env), [evaluate(j, env) for j in at])
        case Sum(array):
            first, *others = evaluate(array, env)
            for u in others:
                first = _elements("add", first, u)
            return first
        case Gather(shape, array, indices, at):
            whole = evaluate(array, env)
            return _gather(shape, lambda ks: _at(whole, _indices(at, env, indices, ks)), ())
        case Scatter(shape, array, indices, at):
            return _scatter(shape, evaluate(array, env), lambda ks: _indices(at, env, indices, ks), len(indices))
    return t.evaluated(lambda u: evaluate(u, env))


def _elements(name: str, *args: Any) -> Any:
    if isinstance(args[0], list):
        return [_elements(name, *us) for us in zip(*args, strict=True)]
    if all(type(u) is int for u in args) and name in _WHOLE:
        return _WHOLE[name](*args)
    return _COMPUTE[name](*args)


def _indices(at: Sequence[Term], env: Mapping[str, Any], names: Sequence[str], ks: Sequence[int]) -> list[int]:
    inner = {**env, **dict(zip(names, ks, strict=True))}
    return [evaluate(j, inner) for j in at]


def _at(array: Any, js: Sequence[int]) -> Any:
    inside = True
    for j in js:
        inside = inside and 0 <= j < len(array)
        array = array[j if inside else 0]
    return array if inside else _zeros(array)


def _zeros(like: Any) -> Any:
    return [_zeros(u) for u in like] if isinstance(like, list) else 0.0


def _gather(shape: Sequence[int], element: Callable[[Sequence[int]], Any], ks: tuple[int, ...]) -> Any:
    if len(ks) == len(shape):
        return element(ks)
    return [_gather(shape, element, (*ks, k)) for k in range(shape[len(ks)])]


def _scatter(shape: Sequence[int], array: Any, at: Callable[[Sequence[int]], list[int]], axes: int) -> Any:
    sizes, part = [], array
    for _ in range(axes):
        sizes.append(len(part))
        part = part[0]
    result = _gather(shape, lambda ks: _zeros(part), ())
    for ks in itertools.product(*map(range, sizes)):
        *outer, last = at(ks)
        if all(0 <= j < n for j, n in zip((*outer, last), shape, strict=True)):
            row = _at(result, outer)
            row[last] = _elements("add", row[last], _at(array, ks))
    return result
