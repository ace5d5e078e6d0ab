r"""The forward sweep and the return sweep of a scope, as Python text; the derivative of a program.

Paper:   Schenck, Rønning, Henriksen and Oancea 2022, "AD for an array language with nested parallelism"
Changed: there is no tape. A scope's return sweep needs the values of its variables, so the forward sweep of the scope
         runs again right before it: F(scope); R(scope). On the way into k nested scopes, the innermost one is run k + 1
         times, which is a constant of the program. Only loops store something: the variable of each iteration.
Cost:    a constant times the program, which depends on how deeply it nests. No memory for build, reduce and scan.

    F(x = t)                            x = t
    F(x = loop v = s for i < n do t)    v = s; for i: {v_at[i] = v; F(t); v = t}; x = v         v_at in a scope that R
    R(x = op(a, b))                     ct_a += ct_x * p;  ct_b += ct_x * q                     follows, else not
    R(x = xs[js])                       ct_xs[js] += ct_x
    R(x = build n (\i. t))              for i: {F(t); ct_t += ct_x[i]; R(t)}
    R(x = loop v = s for i < n do t)    c = ct_x; for i, last first: {v = v_at[i]; F(t); ct_t += c; R(t); c = ct_v}
    R(x = reduce op e xs)               ct_xs += the rule's cotangents (rules.py)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.relatives.bulk.binding import free
from stages.relatives.bulk.terms import OPERATIONS, Build, Index, Num, Op, Term, Var
from stages.relatives.futhark.anf import Atom, scope
from stages.relatives.futhark.terms import Loop, Reduce, Scan

__all__ = ["Sweeps", "text"]


class Sweeps:
    """The writer of the sweeps: the lines so far, and the ranks of the variables that have a cotangent."""

    def __init__(self, ranks: dict[str, int]) -> None:
        self.lines: list[str] = []
        self.ranks = dict(ranks)
        self.operators: dict[str, str] = {}

    def write(self, depth: int, *lines: str) -> None:
        """Append lines of an indentation."""
        self.lines += ["    " * depth + line for line in lines]

    # ---- the forward sweep

    def forward(self, t: Term, depth: int, store: bool) -> Atom:
        """F(t); with `store`, loops of this scope store their variable. The result's atom."""
        statements, result = scope(t)
        for x, u in statements:
            self.statement(x, u, depth, store)
        return result

    def statement(self, x: str, t: Term, depth: int, store: bool) -> None:
        """F(x = t)"""
        match t:
            case Build(n, i, body):
                self.write(depth, f"{x} = []", f"for {i} in range({n}):")
                result = self.forward(body, depth + 1, False)
                self.write(depth + 1, f"{x}.append({text(result)})")
                self.ranks[x] = 1 + self.rank(result)
            case Loop(v, start, i, n, body):
                self.ranks[v] = self.ranks[x] = self.rank(start)
                self.write(depth, *([f"{v}_at = keep()"] if store else []), f"{v} = {text(start)}")
                self.write(depth, f"for {i} in range({n}):")
                if store:
                    self.write(depth + 1, f"{v}_at.append({v})")
                result = self.forward(body, depth + 1, False)
                self.write(depth + 1, f"{v} = {text(result)}")
                self.write(depth, f"{x} = {v}")
            case Reduce():
                if self.rank(t.array) != 1:
                    raise ValueError(f"reduce and scan take a vector, got an array of rank {self.rank(t.array)}: {t}")
                every = f"scanned({self.operator(t)}, {t.neutral!r}, {t.array})"
                self.write(depth, f"{x} = {every}{'[1:]' if isinstance(t, Scan) else '[-1]'}")
                self.ranks[x] = int(isinstance(t, Scan))
            case _:
                self.write(depth, f"{x} = {text(t)}")
                self.ranks[x] = self.rank(t)

    def rank(self, t: Term) -> int:
        """The rank of an atom, of an operation or of an element."""
        match t:
            case Var(name):
                return self.ranks.get(name, 0)
            case Index(array, at):
                return self.rank(array) - len(at)
        return 0

    def operator(self, t: Reduce) -> str:
        """The name of the function of an operator; the functions of a lambda, op and d_op, are written once."""
        if t.op:
            return t.op
        outside = (free(t.body) - set(t.arguments)) & set(self.ranks)
        if outside:
            raise ValueError(
                f"the operator of a {type(t).__name__.lower()} uses {min(outside)}: only its arguments vary"
            )
        name = self.operators.setdefault(str((t.arguments, t.body)), f"op{len(self.operators) + 1}")
        inner = Sweeps(dict.fromkeys(t.arguments, 0))
        left, right = t.arguments
        inner.write(0, f"def {name}({left}, {right}):")
        inner.write(1, f"return {text(inner.forward(t.body, 1, False))}")
        inner.write(0, f"def d_{name}({left}, {right}, z):")
        inner.both(t.body, 1, "z", t.arguments)
        inner.write(1, f"return ct_{left}, ct_{right}")
        at = [f"    {line}" for line in inner.lines]
        if at[0] not in self.lines:
            self.lines[1:1] = at
        return name

    # ---- the return sweep

    def both(self, t: Term, depth: int, ct: str, arguments: Sequence[str] = ()) -> Atom:
        """F(t); ct_t += ct; R(t), with a cotangent for each variable of the scope and for its arguments."""
        result = self.forward(t, depth, True)
        statements, _ = scope(t)
        for x in (*arguments, *(x for x, _ in statements)):
            self.write(depth, f"ct_{x} = {'0.0' if self.ranks[x] == 0 else f'zeros({x})'}")
        self.add(depth, result, ct)
        for x, u in reversed(statements):
            self.back(x, u, depth)
        return result

    def add(self, depth: int, a: Term, ct: str) -> None:
        """ct_a += ct, for an atom or an element of an array that have a cotangent."""
        name = a.array if isinstance(a, Index) else a
        if not isinstance(name, Var) or name.name not in self.ranks:
            return
        target = text(Index(Var(f"ct_{name.name}"), a.at) if isinstance(a, Index) else Var(f"ct_{name.name}"))
        plus = f"{target} + {ct}" if self.rank(a) == 0 else f"plus({target}, {ct})"
        self.write(depth, f"{target} = {plus}")

    def back(self, x: str, t: Term, depth: int) -> None:
        """R(x = t)"""
        match t:
            case Op(name, args):
                for u, partial in zip(args, OPERATIONS[name].partials, strict=True):
                    self.add(depth, u, _times(f"ct_{x}", _named(partial, name, args, x)))
            case Build(n, i, body):
                self.write(depth, f"for {i} in range({n}):")
                before = len(self.lines)
                self.both(body, depth + 1, f"ct_{x}[{i}]")
                if len(self.lines) == before:  # a build of a number
                    self.write(depth + 1, "pass")
            case Loop(v, start, i, n, body):
                self.write(depth, f"ct_{v} = ct_{x}", f"for {i} in reversed(range({n})):")
                self.write(depth + 1, f"{v}, c_{v} = {v}_at[{i}], ct_{v}")
                self.both(body, depth + 1, f"c_{v}", [v])
                self.add(depth, start, f"ct_{v}")
            case Reduce(op=op, array=array):
                self.add(depth, array, self.rule(t, op, x))
            case _:
                self.add(depth, t, f"ct_{x}")

    def rule(self, t: Reduce, op: str, x: str) -> str:
        """The call of the rule."""
        kind = "scan" if isinstance(t, Scan) else "reduce"
        if kind == "scan" and op == "add":
            return f"scan_add(ct_{x})"
        if kind == "reduce" and op:
            return f"reduce_{op}({t.array}, ct_{x})"
        name = op or self.operators[str((t.arguments, t.body))]
        return f"{kind}_op({name}, d_{name}, {t.neutral!r}, {t.array}, ct_{x})"


def text(t: Term) -> str:
    """An atom, an operation or an element as Python text."""
    match t:
        case Index(array, at):
            return f"{text(array)}{''.join(f'[{text(j)}]' for j in at)}"
        case Op(name, args):
            return _named(OPERATIONS[name].value, name, args, "")
        case Num(value):
            return repr(value)
    return str(t)


def _named(formula: str, name: str, args: Sequence[Term], y: str) -> str:
    """A formula of the table, with the operands in it."""
    places = {**dict(zip(OPERATIONS[name].parameters, map(_operand, args), strict=True)), "y": y}
    return re.sub(r"\b[abxy]\b(?!\()", lambda found: places[found[0]], formula)


def _operand(t: Term) -> str:
    found = text(t)
    return found if re.fullmatch(r"[\w.\[\]]+", found) else f"({found})"


def _times(ct: str, partial: str) -> str:
    if partial in ("1.0", "-1.0"):
        return ct if partial == "1.0" else f"-{ct}"
    simple = re.fullmatch(r"[\w.]+(\(\w+\))?", partial)
    return f"{ct} * {partial if simple else f'({partial})'}"
