"""Expanded core -> the code of its derivative in forward mode: the function as it is, with a tangent for each value.

With t_x the tangent of the variable x at this place:

    y = op(a, b)        t_y = (partial by a) * t_a + (partial by b) * t_b
    x = op(x, b)        the same, with the partials of the old x
    y = a               t_y = t_a                             y = an int, a constant, ...    t_y = 0
    y = a[i]            t_y = t_a[i]                          a[i] = x                       t_a[i] = t_x
    b = a[1:]           t_b = t_a[1:], a view of the tangents of a
    a = np.empty(n)     t_a = zeros of the same shape
    y = g(x, n)         y, t_y = g_tangent(x, n, t_x), if y may depend on x
    if, for, while, raise: as they are

A variable has a tangent if it is active (activity.py). The tangent of an array is an array of the same shape, and
arrays that share memory have tangents that share memory in the same way, so writing needs no rule of its own.

It is the forward sweep of reverse.py on which nothing is recorded. A function that another one calls becomes one
function, `f_tangent`: the leaves of its arguments and the tangents of the active ones -> the leaves of its result and
the tangents of the active ones. So recursion needs nothing special.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.code import Code
from dualrev.compiler.core import Call, Const, Let, Node, Store, leaves, walk
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array
from dualrev.compiler.flow import Value
from dualrev.compiler.partials import kept_apart, partial, scaled
from dualrev.compiler.plan import changed
from dualrev.compiler.reverse import Reverse
from dualrev.errors import TangentError

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Emitted, _Module

__all__ = ["Forward", "root"]

# Their partials are infinite or NaN somewhere in their domain: a tangent of 0 takes no part there, as on the tape.


class Forward(Reverse):
    """One function with tangents, at given types and activity; `callee(s)` is the Unit of what a Call calls, or None.

    What Reverse names and writes for cotangents stands for tangents here.
    """

    def __init__(
        self,
        e: Expanded,
        effects: Callable[[Call], Any],
        callee: Callable[[Call, Any], Any],
        varied: set[str],
        pattern: dict[str, int],
        joint: bool,
        checked_division: bool,
    ) -> None:
        self._tangents: dict[str, str] = {}
        super().__init__(e, effects, callee, varied, pattern, set(), joint, checked_division)

    def _plan(self) -> None:
        """Nothing is recorded."""
        self.names, self.hold, self.recorded_in = {}, set(), {}
        self.own_tape = self.calls_tape = self.uses_tape = False

    def must_restore(self, s: Store) -> bool:
        """Nothing is undone."""
        return False

    def cotangent(self, x: str) -> str:
        """The name of the tangent of a variable."""
        if x not in self._tangents:
            self._tangents[x] = self.fresh_name("t_{}", x)
        return self._tangents[x]

    def held(self, v: Value, value: ast.expr) -> ast.expr:
        """There is no tape."""
        return value

    # Statements

    def forward_statement(self, s: Any) -> None:
        """A statement, and the tangents of what it makes."""
        super().forward_statement(s)
        if isinstance(s, Store) and self.has_shadow(s.array):
            self.assign(syntax.subscript(self.d(s.array), s.index, syntax.atom), self.tangent(s.value), s.line, s.op)

    def tangent(self, x: Any) -> ast.expr:
        """The tangent of a scalar atom."""
        return self.d(x) if self.is_scalar(x) else ast.Constant(0.0)

    def forward_let(self, s: Let) -> None:
        """An operation: most tangents come after the value, since their partials may speak of it."""
        t = s.target
        if s.op == "array" and self.has_shadow(t):
            made = self.products(s)
            if made is not None:  # before the value: the target may be one of the factors
                self.assign(self.cotangent(t), made, s.line)
                self.assign(t, self.primal(s), s.line)
                return
        if not self.is_scalar(t):
            super().forward_let(s)
        elif s.op == "prim" and t in s.args:
            self.update(s)
        else:
            self.assign(t, self.primal(s), s.line)
            self.assign(self.cotangent(t), self.of_scalar(s), s.line)

    def of_scalar(self, s: Let) -> ast.expr:
        """The tangent of the scalar that an operation makes."""
        x: Any = s.args[0] if s.args else None
        if s.op == "prim":
            return self.linear(s, s.target)[0]
        if s.op == "copy":
            return self.tangent(x)
        if s.op == "load" and self.has_shadow(x):
            return syntax.subscript(self.d(x), s.info, syntax.atom)
        if s.op == "array" and s.info[0] in ("np.min", "np.max") and self.has_shadow(x):
            return syntax.call("runtime.at_extreme", syntax.atom(x), syntax.atom(s.target), self.d(x))
        if s.op == "array" and s.info[0] == "np.dot":
            return self.products(s) or ast.Constant(0.0)
        return ast.Constant(0.0)

    def update(self, s: Let) -> None:
        """X = op(x, ...): the partials are those at the old x."""
        t = s.target
        made, used = self.linear(s, t)
        if t not in used:
            self.assign(t, self.primal(s), s.line)
            self.assign(self.cotangent(t), made, s.line)
        elif "" not in used:
            self.assign(self.cotangent(t), made, s.line)
            self.assign(t, self.primal(s), s.line)
        else:
            name = self.fresh_name("{}_new", t)
            self.assign(name, self.primal(s), s.line)
            self.assign(self.cotangent(t), self.linear(s, name)[0], s.line)
            self.assign(t, ast.Name(name), s.line)

    def linear(self, s: Let, y: str) -> tuple[ast.expr, set[str]]:
        """The sum of the partials times the tangents, and what the partials read: variables, and "" for the value y."""
        line = s.info[0]
        names = dict(zip(line.parameters, s.args, strict=True))
        used: set[str] = set()

        def get(name: str) -> ast.expr:
            if name == "y":
                used.add("")
                return ast.Name(y)
            if isinstance(names[name], str):
                used.add(names[name])
            return syntax.atom(names[name])

        total: ast.expr | None = None
        for k, x in enumerate(s.args):
            if not self.is_scalar(x) or line.partials[k] == "0.0":
                continue
            factor = partial(line, k, s.args, get)
            if isinstance(factor, ast.Constant) and factor.value == 0.0:
                continue
            term = scaled(factor, self.d(x))
            if self.known_zeros.wild.partial(s, k):
                term = kept_apart(self.d(x), term)
            if total is None:
                total = term
            elif isinstance(term, ast.UnaryOp) and isinstance(term.op, ast.USub):
                total = syntax.binary("-", total, term.operand)
            else:
                total = syntax.binary("+", total, term)
        return (ast.Constant(0.0) if total is None else total), used

    def products(self, s: Let) -> ast.expr | None:
        """dot(t_a, b) + dot(a, t_b); None if neither has a tangent."""
        total: ast.expr | None = None
        for k, x in enumerate(s.args):
            if self.has_shadow(x):
                factors = [self.d(x) if j == k else syntax.atom(y) for j, y in enumerate(s.args)]
                term = syntax.call(s.info[0], *factors)
                total = term if total is None else syntax.binary("+", total, term)
        return total

    def forward_call(self, s: Call) -> None:
        """A call, with tangents if its results or what it writes have some."""
        unit = self.callee(s, self)
        wanted = [t for t in s.targets if self.is_active(t)]
        if unit is None:
            self.assign_results(s, syntax.call(s.function.name, *(self.tree(a, syntax.atom) for a in s.args)))
            for t in wanted:
                self.assign(self.cotangent(t), self.zeros(t), s.line)
            return
        inputs = self.call_leaves(s)
        tangents = [self.in_type(x, self.d(x)) for x in inputs if self.is_active(x)]
        self.assign_results(s, syntax.call(unit.name, *map(syntax.atom, inputs), *tangents), wanted)

    # Tangents of arguments and results

    def zeros(self, x: str) -> ast.expr:
        """A tangent of 0 for a variable."""
        return syntax.call("np.zeros_like", ast.Name(x)) if is_array(self.kind(x)) else ast.Constant(0.0)

    def in_type(self, x: Any, tangent: ast.expr) -> ast.expr:
        """A tangent in the type of its scalar: in emitted code, that of a float32 may be a float64."""
        return syntax.call("np.float32", tangent) if self.kind(x) == types.float32 else tangent

    def result_tangent(self, x: Any) -> ast.expr:
        """The tangent of a leaf of the result; None for what is discrete."""
        if isinstance(x, Const):
            return ast.Constant(0.0 if isinstance(x.value, float) else None)
        kind = self.kind_of(x)
        if is_real_array(kind):
            return self.d(x) if self.has_shadow(x) else syntax.call("np.zeros_like", syntax.atom(x))
        return self.in_type(x, self.tangent(x)) if is_real(kind) else ast.Constant(None)


class Unit:
    """The function with tangents that stands for one that another one calls."""

    def __init__(self, name: str) -> None:
        self.name, self.done, self.recursive = name, False, False


class _Tangents:
    """The functions with tangents of a module."""

    def __init__(self, module: _Module) -> None:
        self.module = module

    def forward(self, f: Any, e: Expanded, varied: set[str], pattern: dict[str, int], joint: bool) -> Forward:
        """The code of a function."""
        checked = f.targetoptions.get("error_model", "python") == "python"
        return Forward(e, lambda s: self.module.effects(s, e), self.unit, varied, pattern, joint, checked)

    def unit(self, s: Call, caller: Forward) -> Unit | None:
        """The function for a Call; None if the function itself will do."""
        module, e = self.module, caller.e
        inputs = [x for a in s.args for x in leaves(a)]
        flags = tuple(caller.is_active(x) for x in inputs)
        wanted = tuple(caller.is_active(t) for t in s.targets)
        wrote = any(w and caller.is_active(x) for x, w in zip(inputs, module.effects(s, e).writes, strict=True))
        if not any(flags) or not (wrote or any(wanted)):
            return None
        numbers: dict[str, int] = {}
        arrays = [x if is_array(caller.kind(x)) else None for x in inputs]
        pattern = tuple(None if x is None else numbers.setdefault(caller.classes.find(x), len(numbers)) for x in arrays)
        key, callee = module.callee(s, e)
        full = (*key, flags, wanted, pattern)
        if full not in module.units:
            name = module.names.fresh(f"{s.function.value.py_func.__name__}{{n}}_tangent")
            unit: Any = Unit(name)
            module.units[full] = unit  # first: it may call itself
            self.write(unit, s.function.value, callee, flags, wanted, pattern)
            unit.done = True
        found: Any = module.units[full]
        found.recursive = found.recursive or not found.done
        return found

    def write(self, unit: Unit, f: Any, e: Expanded, flags: Any, wanted: Any, pattern: Any) -> None:
        inputs = [x for p in e.parameters for x in leaves(p)]
        varied = {x for x, flag in zip(inputs, flags, strict=True) if flag}
        numbers = {x: n for x, n in zip(inputs, pattern, strict=True) if n is not None}
        r = self.forward(f, e, varied, numbers, joint=False)
        given = [r.cotangent(x) for x in inputs if x in varied]
        later = [x for x in inputs if r.is_active(x) and x not in varied]  # they become active in the function
        body = [*(Code(f"{r.cotangent(x)} = {syntax.text(r.zeros(x))}", 0) for x in later), *r.forward()]
        made = [syntax.atom(x) for x in r.result_leaves]
        made += [r.result_tangent(x) for x, want in zip(r.result_leaves, wanted, strict=True) if want]
        returned = f"return {', '.join(map(syntax.text, made))}" if made else "return"
        doc = f"{e.lowered.source.tree.name}, and the tangents of its results."
        body = [*self.module.guard(unit, e), *body, Code(returned, 0)]
        self.module.function(unit.name, [*inputs, *given], doc, body, e, f)


def root(module: _Module, e: Expanded, kinds: tuple[Any, ...]) -> Emitted:
    """The function itself: jvp_f(arguments..., tangents...) -> (value, tangent of the value)."""
    source = e.lowered.source
    name = module.names.fresh(f"jvp_{source.tree.name}")
    inputs = [x for p in e.parameters for x in leaves(p)]
    varied = {x for x in inputs if module.differentiable(x, e)}
    r = _Tangents(module).forward(module.f, e, varied, {}, joint=True)
    body: list[Any] = []
    for x, tree in zip(e.lowered.parameters, e.parameters, strict=True):
        if isinstance(tree, Node):
            module.unpack(x, tree, body)
    arrays = [x for x in inputs if is_array(e.types.get(x))]
    written = {r.classes.find(x) for s in walk(e.body) for x in changed(s, r.effects)}
    for x in arrays:
        if r.classes.find(x) in written and e.types[x].layout == "A":
            body.append(Code(f"runtime.check_spread({x})", 0))
    for k, x in enumerate(arrays):
        for y in arrays[k + 1 :]:
            if r.classes.find(x) in written or r.classes.find(y) in written:
                body.append(Code(f"runtime.check_apart({x}, {y})", 0))
    returned = {r.classes.find(x) for x in r.result_leaves if is_array(r.kind(x))}
    strided = {x for x in arrays if e.types[x].layout == "A" and module.asks_for_layout(e)}
    for x, tree, kind in zip(e.lowered.parameters, e.parameters, kinds, strict=True):
        _read(r, tree, r.cotangent(x), kind, written | returned, strided, body)
    body += r.forward()
    value, tangent = r.tree(e.result, syntax.atom), r.tree(e.result, r.result_tangent)
    body.append(Code(f"return {syntax.text(ast.Tuple([value, tangent], ast.Load()))}", 0))
    doc = module.describe("jvp", None, source.tree.name)
    parameters = [*e.lowered.parameters, *map(r.cotangent, e.lowered.parameters)]
    module.function(name, parameters, doc, body, e, module.f)
    return module.finish(name, f"{doc} Made by dualrev from {source.file}.")


def _read(r: Forward, tree: Any, text: str, kind: Any, copied: set[str], strided: set[str], body: list[Any]) -> None:
    """The tangents of an argument's leaves, from the tangent `text` of numba type `kind`."""
    if isinstance(tree, Node):
        kinds: Any = getattr(kind, "types", ())
        if not isinstance(kind, types.BaseTuple) or len(kinds) != len(tree.parts):
            raise TangentError.of(str(kind), f"a tuple with {len(tree.parts)} entries")
        for k, part in enumerate(tree.parts):
            _read(r, part, f"{text}[{k}]", kinds[k], copied, strided, body)
        return
    of = r.kind(tree)
    if is_real(of):
        if not isinstance(kind, (types.Float, types.Integer, types.Boolean)):
            raise TangentError.of(str(kind), "a real scalar")
        if r.is_active(tree) and (text != r.cotangent(tree) or not is_real(kind)):
            body.append(Code(f"{r.cotangent(tree)} = {text if is_real(kind) else f'float({text})'}", 0))
    elif is_real_array(of):
        if not is_array(kind) or kind.ndim != of.ndim:
            raise TangentError.of(str(kind), f"an array with {of.ndim} axes")
        if r.is_active(tree):
            fits = kind.dtype == of.dtype and kind.layout == of.layout and r.classes.find(tree) not in copied
            made = "strided_tangent" if tree in strided else "tangent" if fits else "new_tangent"
            body.append(Code(f"{r.cotangent(tree)} = runtime.{made}({tree}, {text})", 0))
