r"""Pass 1, forward mode: after each operation, the linear equations of its tangent.

    v = op(a1, .., an)      v = op(a1, .., an)
                            rk = dk op(a1, .., an)          for each ak with a tangent uk
                            t1 = r1 * u1; ..; dv = t1 + .. + tn

A number has no tangent, and neither has an argument whose partial derivative is 0 everywhere. If the partial derivative
is an argument or the result, as for a product, rk is that variable; a factor of 1 is left out. A tangent with several
uses is copied by dup, and one without uses is dropped: linearity made explicit, which the transposition needs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from stages.relatives.linearize.program import Add, Compute, Drop, Dup, Equation, Program, Scale, Slope, Zero
from stages.relatives.recording import Atom, Operation, Recording

__all__ = ["jvp"]


def jvp(recording: Recording) -> Program:
    """The program of a recording with the equations of its tangents: (ys; dys) from (xs; dxs).

    >>> from stages.relatives.recording import record
    >>> print(jvp(record(lambda x, y: x * (x + y), (3.0, 2.0))))
    jvp(x0, x1; dx0, dx1):
      x2 = x0 + x1
      (t1, t2) = dup dx0
      dx2 = t1 + dx1
      x3 = x0 * x2
      t3 = x2 * t2
      t4 = x0 * dx2
      dx3 = t3 + t4
      return (x3; dx3)
    """
    return _Forward(recording).program()


class _Forward:
    def __init__(self, recording: Recording) -> None:
        self.of = recording
        self.equations: list[Equation] = []
        self.fresh = (f"t{k}" for k in itertools.count(1))
        self.moving = _moving(recording)
        self.left = self.uses()  # the uses of each tangent that are still to come
        self.tangents = {x: f"d{x}" for x in recording.names}
        self.known = dict(recording.known)

    def uses(self) -> Counter[Atom]:
        """How often each variable's tangent is used, by what the results depend on."""
        found = Counter(a for a in self.of.results if a in self.moving)
        for u in reversed(self.of.operations):
            if found[u.result]:
                found.update(a for _, a in _factors(u) if a in self.moving)
        return found

    def program(self) -> Program:
        """The program with all equations."""
        for x in self.of.names:
            if not self.left[x]:
                self.equations.append(Drop(self.tangents[x]))
        for u in self.of.operations:
            if u.line is None:
                self.known[u.result] = u.value
            else:
                self.equations.append(Compute(u.result, u.line, u.arguments))
            if self.left[u.result]:
                self.tangent(u)
        linear = [self.result(a) for a in self.of.results]
        names = self.of.names
        return Program("jvp", names, [f"d{x}" for x in names], self.equations, self.of.results, linear, self.known)

    def tangent(self, u: Operation) -> None:
        """t1 = r1 * u1; ..; dv = t1 + .. + tn"""
        parts = [(self.factor(u, k), self.take(a)) for k, a in _factors(u) if a in self.moving]
        left = sum(factor != 1.0 for factor, _ in parts) + len(parts) - 1  # equations
        names = iter([*itertools.islice(self.fresh, max(left - 1, 0)), f"d{u.result}"])
        terms = []
        for factor, of in parts:
            terms.append(of if factor == 1.0 else next(names))
            if factor != 1.0:
                self.equations.append(Scale(terms[-1], factor, of))
        total, *others = terms
        for term in others:
            before, total = total, next(names)
            self.equations.append(Add(total, before, term))
        self.tangents[u.result] = total

    def factor(self, u: Operation, k: int) -> Atom:
        """The partial derivative with respect to argument k (from 0): a number, a variable, or a new Slope."""
        name = f"r{u.result[1:]}" + (f".{k + 1}" if len(u.arguments) > 1 else "")
        if u.line is None:
            self.known[name] = u.partials[k]
            return name
        text = u.line.partials[k]
        if text in ("1.0", "-1.0"):
            return float(text)
        if text == "y":
            return u.result
        if text in u.line.parameters:
            return u.arguments[u.line.parameters.index(text)]
        self.equations.append(Slope(name, u.line, k + 1, u.arguments, u.result))
        return name

    def take(self, x: Atom) -> str:
        """The tangent of a variable; a copy, if there are more uses."""
        assert isinstance(x, str)
        self.left[x] -= 1
        tangent = self.tangents[x]
        if self.left[x]:
            first, second = next(self.fresh), next(self.fresh)
            self.equations.append(Dup(first, second, tangent))
            tangent, self.tangents[x] = first, second
        return tangent

    def result(self, a: Atom) -> str:
        """The tangent of an output; 0, if it does not depend on the input."""
        if a in self.moving:
            return self.take(a)
        zero = next(self.fresh)
        self.equations.append(Zero(zero))
        return zero


def _factors(u: Operation) -> Sequence[tuple[int, Atom]]:
    """The arguments on which an operation depends by its partial derivatives, with their indices."""
    if u.line is None:
        return list(enumerate(u.arguments))
    return [(k, a) for k, a in enumerate(u.arguments) if u.line.partials[k] != "0.0"]


def _moving(recording: Recording) -> set[Atom]:
    """The variables that depend on the input."""
    found: set[Atom] = set(recording.names)
    for u in recording.operations:
        if any(a in found for _, a in _factors(u)):
            found.add(u.result)
    return found
