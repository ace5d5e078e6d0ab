"""Lower optional variables (None on some paths) to a value and a bool flag that says whether it is given.

    best = None                 best, best_given = 0.0, False
    best = x * x                best = x * x; best_given = True
    if best is None: ...        if not best_given: ...
    y = best + 1.0              if not best_given: raise TypeError; y = best + 1.0

    best = g(x)                 best, best_given = g(x)
    return best                 return best, best_given

This is between inference, which says that a variable is `Optional`, and lower.py, which knows no such type. Numba
raises the error where it converts such a value to a number, at its use. A function that is called gives such a pair in
core; the one that is differentiated raises it at its end, where there is nothing to differentiate.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.reading.source import is_derivative
from dualrev.compiler.frontend.typing.infer import Typed
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.types.aliases import NumbaType
from dualrev.diagnostics.quoting import raising
from dualrev.eager.numba_rules import Ruled

__all__ = ["without_optionals"]

_NEVER_NONE = {("get", (), 3), ("pop", (), 2), ("pop", (), 3)}
_CALLS = (anf.CallUser, anf.CallStarred, anf.MakeTuple, anf.MakeList, anf.AllocList, anf.CallUfunc)


def without_optionals(lowered: Lowered, typed: Typed, paired: bool, converts: bool) -> Lowered:
    """Return the function without optional variables, whose types change, too; parameters excepted.

    `paired` says that the function may give a pair, if its result is optional, too; else it has to have a value, and
    with `converts` one of another type.
    """
    result = lowered.result
    _defaults(lowered, typed, {*lowered.parameters, *([result, lowered.exit_value] if paired else [])})
    passed = {x for s in anf.walk(lowered.body) if isinstance(s, _CALLS) for x in s.args}
    made = {s.target for s in anf.walk(lowered.body) if isinstance(s, anf.Let) and _may_be_none(s, typed)}
    plain = {x for x, kind in typed.of.items() if isinstance(kind, types.Optional) and _is_plain(kind)}
    plain -= passed | made  # these stay, and are refused
    optional = isinstance(typed.result, types.Optional) and result not in lowered.parameters and not converts
    maybe = optional and result in plain
    found = plain - ({*lowered.parameters} if maybe else {*lowered.parameters, result, lowered.exit_value})
    return _Optionals(lowered, typed, found).run(maybe, paired) if found else lowered


def _defaults(lowered: Lowered, typed: Typed, kept: set[anf.Atom]) -> None:
    """Narrow variables that numba types as optional but that are never None, by a fixpoint over their definitions.

    `d.get(k, x)` is `x` where the key is missing, and `d.pop(k)` raises: neither is None. A variable whose
    other values are no optionals is narrowed, too, unless it is `kept`.
    """
    made = [s for s in anf.walk(lowered.body) if isinstance(s, anf.Let) and s.target in typed.of]
    never = {s.target for s in made if _has_default(s, typed)}
    never |= {
        s.target for s in made if isinstance(typed.of[s.target], types.Optional) and _is_plain(typed.of[s.target])
    }
    never -= kept | {x for s in anf.walk(lowered.body) if isinstance(s, anf.Opaque) for x in s.targets}
    while lost := {s.target for s in made if s.target in never and not _is_given(s, typed, never)}:
        never -= lost
    for x in never:
        typed.of[x] = typed.of[x].type


def _is_given(s: anf.Let, typed: Typed, never: set[str]) -> bool:
    """Whether an operation is never None, assuming that the variables `never` are not."""
    if isinstance(s, anf.Copy) and s.args[0] in never:
        return True
    if isinstance(s, (anf.Copy, anf.CallUser)):
        kind = _returned(s, typed) if isinstance(s, anf.CallUser) else _kind(s.args[0], typed)
        return not isinstance(kind, types.Optional | types.NoneType | None)
    return not _may_miss(s, typed) and not _may_be_none(s, typed)


def _kind(x: anf.Atom, typed: Typed) -> NumbaType:
    """Return the type of an atom; None if numba has found that it is unreachable."""
    return typed.of.get(x) if isinstance(x, str) else typed(x)


def _has_default(s: anf.Let, typed: Typed) -> bool:
    if not isinstance(s, anf.CallMethod) or (s.method, s.keywords, len(s.args)) not in _NEVER_NONE:
        return False
    if any(isinstance(x, str) and x not in typed.of for x in (s.target, *s.args)):
        return False
    number = len(s.args) == 2 or isinstance(typed(s.args[2]), (types.Float, types.Integer))
    return number and isinstance(typed(s.args[0]), types.DictType) and isinstance(typed.of[s.target], types.Optional)


def _may_be_none(s: anf.Let, typed: Typed) -> bool:
    """Whether an operation itself may give None: an item, a method, opaque code, or a call without a pair in core."""
    if any(isinstance(x, str) and x not in typed.of for x in s.args):
        return False  # numba has found that it is never reached
    if _has_default(s, typed) or _may_miss(s, typed):  # _Optionals knows the latter
        return False
    if isinstance(s, (anf.GetItem, anf.CallMethod)):
        return not isinstance(typed(s.args[0]), types.Array)
    if not isinstance(s, anf.CallUser):
        return isinstance(s, (anf.CallStarred, anf.MakeList, anf.AllocList, anf.OpaqueExpr))
    found = _returned(s, typed)
    return (
        found is None
        or isinstance(found, types.NoneType)
        or (isinstance(found, types.Optional) and not _pairs(s, found))
    )


def _may_miss(s: anf.Let, typed: Typed) -> bool:
    """Whether an operation is `d.get(k)` of a dict: None where the key is missing."""
    known = isinstance(s, anf.CallMethod) and s.method == "get" and len(s.args) == 2 and not s.keywords
    return known and isinstance(typed.of.get(s.args[0]), types.DictType) and s.target != s.args[1]


def _returned(s: anf.CallUser, typed: Typed) -> NumbaType:
    """Return the result type of a call; None if it is not known."""
    kinds = tuple(types.unliteral(typed(x)) for x in s.args)
    return typed.returned(s.function.value, kinds)


def _pairs(s: anf.CallUser, kind: NumbaType) -> bool:
    """Whether a callee with this optional result returns a (value, flag) pair in core."""
    f = s.function.value
    return _is_plain(kind) and not isinstance(f, Ruled) and not is_derivative(f) and f._can_compile


def _is_plain(kind: NumbaType) -> bool:
    of = kind.type
    if isinstance(of, types.Array):
        return of.layout == "C" and isinstance(of.dtype, (types.Float, types.Integer, types.Boolean))
    return isinstance(of, (types.Float, types.Integer, types.Boolean))


class _Optionals:
    def __init__(self, lowered: Lowered, typed: Typed, found: set[str]) -> None:
        self.lowered, self.of, self.pairs = lowered, typed.of, set[str]()
        called = [s for s in anf.walk(lowered.body) if isinstance(s, anf.CallUser) and s.target in found]
        self.calls = {s for s in called if isinstance(_returned(s, typed), types.Optional)}
        self.missing = {s for s in anf.walk(lowered.body) if isinstance(s, anf.Let) and _may_miss(s, typed)}
        self.given = {x: lowered.names.fresh("{}_given", x) for x in sorted(found)}
        for x, flag in self.given.items():
            self.of[x], self.of[flag] = self.of[x].type, types.boolean

    def run(self, maybe: bool, paired: bool) -> Lowered:
        """Lower the whole body; a result that `maybe` is None becomes a pair, or is checked at the end."""
        lowered, line = self.lowered, self.lowered.source.tree.lineno
        body, x = rewritten(lowered.body, self.statement), lowered.result
        result = x
        if maybe:
            assert isinstance(x, str)
            end = self.check(x, line)
            if paired:
                result = self.pair(x)
                end = [anf.MakeTuple(result, (x, self.given[x]), line)]
            body = [self.say(self.given[x], anf.Const(False), line), *self.nothing(x, line), *body, *end]
        return replace(lowered, body=body, result=result, paired=lowered.paired | self.pairs)

    def pair(self, x: str) -> str:
        """Allocate a variable for the (value, flag) pair of an optional one."""
        made = self.lowered.names.temporary()
        self.of[made] = types.Tuple((self.of[x], types.boolean))
        return made

    def called(self, s: anf.CallUser) -> list[anf.Stmt]:
        """Lower a call whose callee returns a (value, flag) pair, and unpack it."""
        made = self.pair(s.target)
        self.pairs.add(made)
        parts = [anf.GetItem(x, made, (anf.Const(k),), s.line) for k, x in enumerate((s.target, self.given[s.target]))]
        return [anf.CallUser(made, s.function, s.args, s.line), *parts]

    def looked_up(self, s: anf.Let, flag: str) -> list[anf.Stmt]:
        """Lower `target = d.get(k)` to a membership test and a lookup."""
        d, k = s.args
        tree = ast.Compare(to_python.atom(k), [ast.In()], [to_python.name(d)])
        test = anf.Discrete(flag, tuple(x for x in (k, d) if isinstance(x, str)), tree, s.line)
        found = anf.GetItem(s.target, d, (k,), s.line)
        return [test, anf.If(flag, [found], self.nothing(s.target, s.line), s.line)]

    def statement(self, s: anf.Stmt) -> list[anf.Stmt]:
        """Lower one statement: check the optionals that it reads, and set the flag of its target."""
        if isinstance(s, anf.While) and any(isinstance(t, anf.Effect) for t in anf.walk(s.test_block)):
            what, why = "the condition of this loop", "it reads a variable that is None on some paths"
            self.lowered.source.refuse(s.line, what, why, "`is not None and` before it")
        if isinstance(s, anf.Discrete):
            s, checked = self.condition(s)
        else:
            checked = [x for x in dict.fromkeys(anf.reads(s)) if x in self.given]
        target = s.target if isinstance(s, anf.Let) and s.target in self.given else None
        if target is None:
            return [*(t for x in checked for t in self.check(x, s.line)), s]
        flag = self.given[target]
        if isinstance(s, anf.Copy) and self.is_none(s.args[0]):
            return [self.say(flag, anf.Const(False), s.line), *self.nothing(target, s.line)]
        if isinstance(s, anf.Copy) and s.args[0] in self.given:
            return [s, self.say(flag, self.given[s.args[0]], s.line)]
        if s in self.missing:
            return [*(t for x in checked for t in self.check(x, s.line)), *self.looked_up(s, flag)]
        made = self.called(s) if s in self.calls else [s, self.say(flag, anf.Const(True), s.line)]
        return [*(t for x in checked for t in self.check(x, s.line)), *made]

    def is_none(self, x: anf.Atom) -> bool:
        """Whether an atom is None, by its value or its type."""
        return x == anf.Const(None) or (isinstance(x, str) and isinstance(self.of.get(x), types.NoneType))

    def say(self, flag: str, value: anf.Atom, line: int) -> anf.Let:
        """Set a flag."""
        return anf.Copy(flag, value, line)

    def nothing(self, x: str, line: int) -> list[anf.Stmt]:
        """Assign a dummy value that is never used: numba needs definite assignment."""
        kind = self.of[x]
        if not isinstance(kind, types.Array):
            zero = 0.0 if isinstance(kind, types.Float) else False if isinstance(kind, types.Boolean) else 0
            return [anf.Copy(x, anf.Const(zero), line)]
        shape = self.lowered.names.temporary()
        self.of[shape] = types.UniTuple(types.int64, kind.ndim)
        name = "bool_" if isinstance(kind.dtype, types.Boolean) else str(kind.dtype)
        dtype = anf.Ref(f"np.{name}", getattr(np, name))
        sizes = anf.MakeTuple(shape, (anf.Const(0),) * kind.ndim, line)
        return [sizes, anf.CallKnown(x, "np.empty", (shape, dtype), line)]

    def check(self, x: str, line: int) -> list[anf.Stmt]:
        """Raise TypeError if an optional is None, as numba does where it needs a value."""
        text = raising("TypeError", f"expected {self.of[x]}, got None")
        return [anf.If(self.given[x], [], [anf.Effect(text, (), line, True)], line)]

    def condition(self, s: anf.Discrete) -> tuple[anf.Discrete, list[str]]:
        """Replace `x is None` in a condition by the flag; return the optionals that must have a value."""
        looked: set[str] = set()
        tree = _Tests(self.given, looked).visit(to_python.copied(s.tree))
        names = to_python.left_of([*s.names, *self.given.values()], tree)
        return anf.Discrete(s.target, names, tree, s.line), [x for x in names if x in self.given and x not in looked]


class _Tests(ast.NodeTransformer):
    """Replace tests for None by flags; `looked` are the variables read behind one, in `x is None or x > y`."""

    def __init__(self, given: dict[str, str], looked: set[str]) -> None:
        self.given, self.looked = given, looked

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Note the variable whose leading test for None guards the other operands."""
        first = node.values[0]
        if isinstance(first, ast.Compare) and self.is_test(first) and isinstance(first.left, ast.Name):
            decides = isinstance(first.ops[0], (ast.Is, ast.Eq)) is isinstance(node.op, ast.Or)
            self.looked |= {first.left.id} if decides else set()
        return self.generic_visit(node)

    def is_test(self, node: ast.Compare) -> bool:
        """Whether a comparison tests an optional variable for None."""
        none = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
        known = isinstance(node.left, ast.Name) and node.left.id in self.given
        return none and known and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a test for None by the flag."""
        if not self.is_test(node):
            return self.generic_visit(node)
        assert isinstance(node.left, ast.Name)
        flag = ast.Name(self.given[node.left.id], ast.Load())
        return ast.UnaryOp(ast.Not(), flag) if isinstance(node.ops[0], (ast.Is, ast.Eq)) else flag
