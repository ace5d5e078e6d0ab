r"""The distributive law at compile time: from forward mode to the cost of reverse mode, by rewriting.

Paper:   Shaikhha, Fitzgibbon, Vytiniotis and Peyton Jones 2019, "Efficient differentiable programming in a functional
         array-processing language"
Changed: the gradient by forward mode runs a program once for each element of its input, with a one-hot tangent. No
         reverse mode: rewriting rules, valid for any program, fuse the loops, and v x + v y = v (x + y) factors the
         tangents. They remove the loop that the gradient has in addition.
Cost:    n times the program before the rewriting. After it a constant times the program, for the examples here; the
         paper promises no more, and neither do the rules.

    forward.py      forward mode, and the gradient by it
    rules.py        the rules (linear.py, moving.py)

The paper's text was not at hand: the modules are written from its published definitions. Its language has functions as
values and dual numbers as pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stages.relatives.bulk.binding import rewritten
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.terms import Build, Op, Sum, Term
from stages.relatives.distributive.forward import Same, gradient
from stages.relatives.distributive.rules import INNERMOST, RULES, Rule

__all__ = ["Step", "operations", "steps"]


class Step(NamedTuple):
    """The name of a rule, and the program after it."""

    rule: str
    program: Program


def steps(program: Program, argument: str, shapes: Mapping[str, tuple[int, ...]], limit: int = 2000) -> list[Step]:
    """The gradient by forward mode, and the program after each step of the rewriting.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> dot = program(lambda xs, ys: sum_of(build(3, lambda i: xs[i] * ys[i])))
    >>> print(steps(dot, "xs", {"xs": (3,), "ys": (3,)})[-1].program)
    \\xs ys. build 3 (\\g. ys[g])
    """
    found = [Step("forward mode", gradient(program, argument, shapes))]
    sizes = {f"g{k or ''}": n for k, n in enumerate(shapes[argument])}
    while len(found) < limit:
        body = found[-1].program.body
        for name, rule in RULES.items():
            made = _somewhere(rule, body, sizes, name in INNERMOST)
            if made is not None:
                found.append(Step(name, Program(program.arguments, made)))
                break
        else:
            return found
    raise RuntimeError(f"no end of the rewriting after {limit} steps: {found[-1].program}")


def _somewhere(rule: Rule, t: Term, sizes: Mapping[str, int], innermost: bool) -> Term | None:
    """The term after one use of a rule, at the first place where it applies."""
    made = None if innermost else rule(t, sizes)
    if made is not None:
        return made
    done: list[bool] = []

    def within(u: Term) -> Term:
        found = None if done else _somewhere(rule, u, sizes, innermost)
        if found is None:
            return u
        done.append(True)
        return found

    made = rewritten(within, t)
    return made if done else rule(t, sizes) if innermost else None


def operations(t: Term) -> int:
    """The scalar operations of a program's body: those of the table, the comparisons, and the additions of sums.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> operations(program(lambda xs, ys: sum_of(build(3, lambda i: xs[i] * ys[i]))).body)
    6
    """
    counts: list[int] = []
    rewritten(lambda u: (counts.append(operations(u)), u)[1], t)  # type: ignore[func-returns-value]
    match t:
        case Build(n):
            return n * sum(counts)
        case Sum(Build(n)):
            return n + sum(counts)
    return sum(counts) + isinstance(t, (Op, Same))
