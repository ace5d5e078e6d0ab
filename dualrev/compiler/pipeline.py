"""From a numba function and its argument types to a module of derivative code.

    source -> lower -> types -> expand -> (flow, activity, plan) -> reverse or forward -> code

`emit` is the whole of it. A function that is called by another one is differentiated once for every combination of
argument types, active arguments and arguments that may share memory.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
from numba.core import types

from dualrev.compiler import directions, syntax
from dualrev.compiler.activity import Classes
from dualrev.compiler.analyses.activity import carries
from dualrev.compiler.analyses.memory import Memory
from dualrev.compiler.checkpoints import checkpoint_sweeps
from dualrev.compiler.code import Assign, Code, Row, Suite, lines_of, rows_of
from dualrev.compiler.core import Call, Const, If, Let, Node, Ref, blocks, leaves, terms, walk, writes
from dualrev.compiler.core.program import Gradient, Program
from dualrev.compiler.core.show import show
from dualrev.compiler.core.terms import Function
from dualrev.compiler.core.typed import typed
from dualrev.compiler.core.untyped import untyped
from dualrev.compiler.expand import Expanded, expand, is_array, is_real, is_real_array
from dualrev.compiler.fingerprint import is_derivative
from dualrev.compiler.gradients import gradient_sweeps
from dualrev.compiler.lower import lower
from dualrev.compiler.naming import Names, renamed, words_of
from dualrev.compiler.options import alike, declared, is_checked, kept
from dualrev.compiler.owner import owner
from dualrev.compiler.plain import plain
from dualrev.compiler.plan import CHEAP, changed
from dualrev.compiler.prune import prune
from dualrev.compiler.reverse import Reverse
from dualrev.compiler.rule_sweeps import rule_sweeps
from dualrev.compiler.rule_tangents import Tangents
from dualrev.compiler.rules import has_rule, name_of
from dualrev.compiler.simplify import simplify
from dualrev.compiler.source import Source, Static, describe, read
from dualrev.compiler.tidy import tidy
from dualrev.compiler.transforms.forward import Forward
from dualrev.compiler.types import infer
from dualrev.compiler.zeros import NOTHING, Known
from dualrev.errors import ArgumentError, ArgumentNumberError, ScalarError

__all__ = ["Emitted", "core_program", "emit", "expanded_function", "show_forward"]


@dataclass
class Emitted:
    """The text of a module, the function in it that was asked for, and the way to what the text does not define."""

    source: str
    entry: str
    constants: dict[str, tuple[Any, ...]]
    values: dict[str, Any]


@dataclass
class Effects:
    """What a function does to memory: by the leaves of its arguments and results."""

    writes: list[bool]
    aliases: list[list[int]]
    shared: bool = False
    cheap: bool = False  # short, of numbers only, without loops: may be called twice
    groups: list[list[int]] = field(default_factory=list)  # arguments that it treats as one memory


def emit(f: Any, transform: str, argnums: Any, argtypes: tuple[Any, ...]) -> Emitted:
    """The derivative of a numba function for these types of arguments; see build.py for the transforms."""
    return _Module(f).root(transform, argnums, argtypes)


def expanded_function(f: Any, argtypes: tuple[Any, ...]) -> Function:
    """A numba function for these types of arguments, as the derivatives are made from it."""
    return core_program(f, argtypes)[0]


def core_program(f: Any, argtypes: tuple[Any, ...]) -> tuple[Function, Program]:
    """A numba function for these types of arguments in the typed core, and the functions that its calls lead to."""
    module = _Module(f)
    return module.typed(f, module.entered(argtypes)), module.program


def show_forward(f: Function, program: Program) -> str:
    """The text of a function with tangents for all its real arguments, and of those that it calls."""
    moving = [x for p in f.parameters for x in terms.leaves(p) if carries(x)]
    made = Forward(program, Memory(program), getattr(program, "rules", None)).function(f, moving).function
    return "\n".join(map(show, [made, *program.made_functions()]))


class Unit:
    """The derivative of a function that another one calls: `name_forward` and `name_reverse`."""

    def __init__(self, forward_name: str, reverse_name: str, leaf_count: int) -> None:
        self.forward_name, self.reverse_name = forward_name, reverse_name
        self.leaf_count = leaf_count
        self.done, self.recursive = False, False
        self._tape, self._primal = True, False
        self._needs: set[int] = set(range(leaf_count))
        self._content: set[int] = set(range(leaf_count))
        self._results: set[int] | None = None
        self._result_content: set[int] | None = None

    def finish(
        self, tape: bool, primal: bool, needs: set[int], content: set[int], results: set[int], result_content: set[int]
    ) -> None:
        """What turned out; a recursive function keeps to what was promised to its calls."""
        self.done = True
        if not self.recursive:
            self._tape, self._primal, self._needs, self._content = tape, primal, needs, content
            self._results, self._result_content = results, result_content

    @property
    def uses_tape(self) -> bool:
        """Whether the functions take the tape."""
        return self._tape

    @property
    def primal_suffices(self) -> bool:
        """Whether the forward sweep may call the function itself."""
        return self._primal

    def needs(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the arguments."""
        return k in self._needs

    def needs_result(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the results, an array."""
        return self._results is None or k in self._results

    def reads_content(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf."""
        return k in self._content

    def reads_result(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the results as they were at the return."""
        return self._result_content is None or k in self._result_content


@dataclass
class _Function:
    """A function of the module; its names are not those that are printed."""

    name: str
    parameters: list[str]
    options: str
    doc: str
    rows: list[Row]
    source: Source

    def words(self) -> list[str]:
        """The names in it, in their order, each once."""
        found = dict.fromkeys(self.parameters)
        for row in self.rows:
            found |= dict.fromkeys(words_of(row.text))
        return list(found)

    def text(self, name: Callable[[str], str]) -> str:
        """The text, with other names."""
        rows = [Row(renamed(row.text, name), row.line, row.depth) for row in self.rows]
        head = renamed(f"def {self.name}({', '.join(self.parameters)}):", name)
        doc = re.sub(r"\w+", lambda m: name(m.group()), self.doc)
        return "\n".join([f"@njit({self.options})", head, f'    """{doc}"""', *lines_of(rows, self.source.line)])


@dataclass(frozen=True, eq=False)
class Made:
    """A function that a transformation has made, in the place where a numba function of the user's may stand."""

    name: str
    symbol: terms.Symbol
    origin: Origin


@dataclass(frozen=True, eq=False)
class Origin:
    """The user's function that one of the typed core was made from."""

    dispatcher: Any
    expanded: Expanded


class _Program(Program):
    """The functions that calls lead to, and the rules that some of them have."""

    def __init__(self, front: Any, rules: Tangents) -> None:
        super().__init__(front)
        self.rules = rules


class _Module:
    """A module that is being written."""

    def __init__(self, f: Any) -> None:
        self.f = f
        self.names = Names()
        self.refs: dict[str, Ref] = {}
        self.sources: dict[int, Source] = {}
        self.expanded_of: dict[Any, Expanded] = {}
        self.effects_of: dict[Any, Effects] = {}
        self.settled: set[Any] = set()
        self.visited: set[Any] | None = None
        self.units: dict[Any, Unit] = {}
        self.functions: list[_Function] = []
        self.calls: dict[terms.Call, tuple[Call, Expanded]] = {}
        self.rules = Tangents(self)
        self.program = _Program(self.called, self.rules)
        self.forward = Forward(self.program, Memory(self.program), self.rules)
        self.made: dict[terms.Symbol, Ref] = {}
        self.gradients: dict[Any, terms.Symbol] = {}

    # Functions in core

    def source(self, f: Any) -> Source:
        """The source of a numba function."""
        if id(f) not in self.sources:
            self.sources[id(f)] = read(f)
        return self.sources[id(f)]

    def expanded(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static], apart: bool = True
    ) -> Expanded:
        """The function in expanded core; `apart` as in expand.py: of f itself it is checked, of what it calls not."""
        key = (id(f), argtypes, apart)
        if key not in self.expanded_of:
            source = prune(self.source(f), argtypes)
            lowered = lower(source, path, functions, self.refs, self.names)
            typed = infer(lowered, argtypes, f.targetoptions, lambda: f.compile(argtypes))
            signature = declared(f, argtypes)
            if signature is not None and not alike(signature.return_type, typed.result):
                what = f"the signature `{signature.return_type}(...)`"
                why = f"the function computes {typed.result}, and numba converts that"
                source.refuse(source.tree, what, why, "the conversion into the function, or no signature")
            made = expand(lowered, typed, argtypes, apart)
            simplify(made.body, leaves(made.result))
            self.replace_derivatives(made.body, made)
            self.expanded_of[key] = made
        return self.expanded_of[key]

    def callee(self, s: Call, e: Expanded) -> tuple[Any, Expanded]:
        """The key and the core of the function that a Call calls."""
        f = s.function.value
        if isinstance(f, Made):
            key = f.symbol, ()
            if key not in self.expanded_of:
                made = self.program.made(f.symbol)
                self.expanded_of[key] = self.untyped(made.of if isinstance(made, Gradient) else made)
            return key, self.expanded_of[key]
        if has_rule(f):
            return self.rules.stub(s, e)
        argtypes = tuple(self.type_of(a, e) for a in s.args)
        tree = self.source(f).tree
        names = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        functions = {}
        for name, a, kind in zip(names, s.args, argtypes, strict=True):
            if isinstance(kind, types.Dispatcher):
                value = a.value if isinstance(a, Ref) else kind.dispatcher
                functions[name.arg] = Static(value, a.path if isinstance(a, Ref) else self.function_path(a, e))
        return (id(f), argtypes), self.expanded(f, argtypes, s.function.path, functions, apart=False)

    def function_path(self, a: Any, e: Expanded) -> tuple[Any, ...]:
        return e.lowered.constants[a].path if a in e.lowered.constants else ()

    def type_of(self, tree: Any, e: Expanded) -> Any:
        """The numba type of an argument."""
        if isinstance(tree, Node):
            parts = [self.type_of(x, e) for x in tree.parts]
            cls = tree.cls.value if tree.cls is not None else None
            return types.BaseTuple.from_types(parts, cls)
        if isinstance(tree, (Const, Ref)):
            return types.unliteral(numba.typeof(tree.value))
        return types.unliteral(e.types[tree])

    def typed(self, f: Any, e: Expanded) -> Function:
        """The same in the typed core."""
        return typed(e, Origin(f, e), is_checked(f), self.calls)

    def untyped(self, f: Function) -> Expanded:
        """The way back."""
        return untyped(f, f.origin.expanded, self.names, self.refer)

    def refer(self, symbol: terms.Symbol) -> Ref:
        """The name of a function that a transformation has made."""
        if symbol not in self.made:
            f = self.program.made(symbol)
            made = Made(f.name, symbol, f.of.origin if isinstance(f, Gradient) else f.origin)
            self.made[symbol] = Ref(self.names.fresh(f"{f.name}{{n}}"), made)
        return self.made[symbol]

    def called(self, s: terms.Call) -> tuple[Any, Callable[[], Function]]:
        """The key of what a call of the typed core calls, and how to get it."""
        call, e = self.calls[s]
        key, callee = self.callee(call, e)
        return key, lambda: self.typed(call.function.value, callee)

    def replace_derivatives(self, block: list[Any], e: Expanded) -> None:
        """Put what can be differentiated in place of calls of compiled gradients."""
        for k in range(len(block) - 1, -1, -1):
            s = block[k]
            for inner in blocks(s):
                self.replace_derivatives(inner, e)
            if isinstance(s, Call) and is_derivative(s.function.value):
                block[k : k + 1] = self.derivative_called(s, e)

    def derivative_called(self, s: Call, e: Expanded) -> list[Any]:
        """What stands in place of a call of a compiled gradient; one of the value with the gradient becomes two."""
        f, transform, _ = s.function.value.derivative_of
        source, what = e.lowered.source, f"a call of the {transform} of {describe(f.py_func)}"
        path = (*s.function.path, ("attr", "derivative_of"), ("item", 0))
        function = next((ref for ref in self.refs.values() if ref.value is f), None)
        if function is None:
            name = self.names.fresh(f"_{f.py_func.__name__}")
            function = self.refs[name] = Ref(name, f, path)
        if transform == "grad":
            s.function = self.gradient_called(s, function, e)
            return [s]
        if transform != "value_and_grad":
            instead = "dr.grad(f) or dr.value_and_grad(f)"
            source.refuse(s.line, what, "of derivatives that are called, it knows gradients", instead)
        value, gradient = s.result.parts
        kept = self.names.temporary()  # the second call reads the arguments, too, and the value may go to one of them
        e.types[kept] = e.types[value]
        first = Call([kept], function, s.args, kept, s.line)
        second = Call(leaves(gradient), s.function, s.args, gradient, s.line)
        second.function = self.gradient_called(second, function, e)
        return [first, second, Let(value, "copy", (kept,), None, s.line)]

    def gradient_called(self, s: Call, function: Ref, e: Expanded) -> Ref:
        """The gradient that a Call asks for, which core knows from now on; `function` is what it is the gradient of."""
        derivative = s.function.value
        f, transform, argnums = derivative.derivative_of
        source, what = e.lowered.source, f"a call of the {transform} of {describe(f.py_func)}"
        key, callee = self.callee(Call(s.targets, function, s.args, s.result, s.line), e)
        core = self.typed(f, callee)
        if self.forward.memory.writes(core):
            source.refuse(s.line, what, "the function changes its arguments", "a function of a copy")
        if not all(self.differentiable(x, e) for x in s.targets):
            source.refuse(s.line, what, "a part of the gradient is None", "a function of numbers and arrays alone")
        known = derivative, key
        if known not in self.gradients:
            numbers = self.chosen("grad", argnums, callee, tuple(self.type_of(a, e) for a in s.args))
            symbol = self.gradients[known] = terms.Symbol(f"grad_{core.name}")
            self.program.define(symbol, Gradient(core, tuple(numbers), isinstance(argnums, tuple)))
        return self.refer(self.gradients[known])

    # What functions do to memory

    def effects(self, s: Call, e: Expanded) -> Effects:
        """What a Call does to memory; for recursive functions, the least fixed point."""
        if self.gradient_of(s) is not None:
            return Effects([False] * sum(len(leaves(a)) for a in s.args), [[] for _ in s.targets])
        key, callee = self.callee(s, e)
        if key in self.settled:
            return self.effects_of[key]
        if self.visited is not None:
            return self.visit(key, callee)
        while True:
            before = dict(self.effects_of)
            self.visited = set()
            self.visit(key, callee)
            visited, self.visited = self.visited, None
            if before == self.effects_of:
                self.settled |= visited
                return self.effects_of[key]

    def gradient_of(self, s: Call) -> Gradient | None:
        """What a Call calls, if that is a gradient."""
        f = s.function.value
        made = self.program.made(f.symbol) if isinstance(f, Made) else None
        return made if isinstance(made, Gradient) else None

    def visit(self, key: Any, e: Expanded) -> Effects:
        assert self.visited is not None
        inputs = [x for p in e.parameters for x in leaves(p)]
        results = leaves(e.result)
        start = Effects([False] * len(inputs), [[] for _ in results])
        if key in self.visited:
            return self.effects_of.get(key, start)
        self.visited.add(key)
        classes = Classes(e, {}, lambda s: self.effects(s, e))
        of_class: dict[str, list[int]] = {}
        for k, x in enumerate(inputs):
            if is_array(e.types.get(x)):
                of_class.setdefault(classes.find(x), []).append(k)
        made = start
        for s in walk(e.body):
            for x in changed(s, lambda c: self.effects(c, e)):
                for k in of_class.get(classes.find(x), []):
                    made.writes[k] = True
        found = []
        for j, x in enumerate(results):
            if isinstance(x, str) and is_array(e.types.get(x)):
                made.aliases[j] = of_class.get(classes.find(x), [])
                found.append(classes.find(x))
        made.shared = len(found) > len(set(found))
        made.cheap = self.is_cheap(e)
        made.groups = [some for some in of_class.values() if len(some) > 1]
        self.effects_of[key] = made
        return made

    def asks_for_layout(self, e: Expanded, seen: set[Any] | None = None) -> bool:
        """Whether a function, or one that it calls, asks if an array is contiguous: then shadows have its strides."""
        seen = set() if seen is None else seen
        if e.asks_for_layout:
            return True
        for s in walk(e.body):
            if isinstance(s, Call):
                key, callee = self.callee(s, e)
                if key not in seen:
                    seen.add(key)
                    if self.asks_for_layout(callee, seen):
                        return True
        return False

    def is_cheap(self, e: Expanded) -> bool:
        """Whether a function is short, without loops, arrays, and costly operations."""
        count = 0
        for s in walk(e.body):
            count += 1
            if isinstance(s, Let):
                if s.op not in ("copy", "plain", "prim") or (s.op == "prim" and s.info[0].name not in CHEAP):
                    return False
            elif isinstance(s, Call):
                if not self.effects(s, e).cheap:
                    return False
            elif not isinstance(s, If):
                return False
        return count <= 60 and not any(is_array(e.types.get(x)) for p in e.parameters for x in leaves(p))

    # Derivatives of called functions

    def unit(self, s: Call, caller: Reverse) -> Unit | None:
        """The derivative of what a Call calls; None if it has nothing to do with derivatives and changes nothing."""
        e = caller.e
        inputs = [x for a in s.args for x in leaves(a)]
        effects = self.effects(s, e)
        flags = tuple(caller.is_active(x) or caller.shares(x) for x in inputs)
        wanted = tuple(caller.is_active(t) for t in s.targets)
        if not any(effects.writes) and not any(wanted):
            return None
        gradient = self.gradient_of(s)
        if gradient is not None:
            return self.gradient_unit(gradient, s, flags, wanted, caller)
        if has_rule(s.function.value):
            return self.rule_unit(s, flags, wanted, caller)
        numbers: dict[str, int] = {}
        arrays = [x if isinstance(x, str) and is_array(e.types.get(x)) else None for x in inputs]
        pattern = tuple(None if x is None else numbers.setdefault(caller.classes.find(x), len(numbers)) for x in arrays)
        (f, argtypes), callee = self.callee(s, e)
        known = caller.known_zeros.known_of(s)
        key = (f, argtypes, flags, wanted, pattern, known)
        value = s.function.value
        called = value.name if isinstance(value, Made) else value.py_func.__name__
        dispatcher = value.origin.dispatcher if isinstance(value, Made) else value

        def recorded(unit: Unit) -> None:
            self.write_unit(unit, called, dispatcher, callee, flags, wanted, pattern, known)

        if getattr(dispatcher, "kind", "") != "checkpoint":
            return self.known_unit(key, called, len(inputs), recorded)

        def again(unit: Unit) -> None:
            inner = self.known_unit((key, "recorded"), called, len(inputs), recorded)
            checkpoint_sweeps(self, unit, inner, s, callee, dispatcher, flags, caller)

        return self.known_unit(key, f"{called}{{n}}_again", len(inputs), again)

    def known_unit(self, key: Any, called: str, count: int, write: Callable[[Unit], None]) -> Unit:
        """The unit that is known by a key, written when it is asked for first."""
        if key in self.units:
            unit = self.units[key]
            if not unit.done:
                unit.recursive = True
            return unit
        names = called if "{n}" in called else f"{called}{{n}}"
        forward, reverse = (self.names.fresh(f"{names}_{sweep}") for sweep in ("forward", "reverse"))
        unit = self.units[key] = Unit(forward, reverse, count)
        write(unit)
        return unit

    def rule_unit(self, s: Call, flags: Any, wanted: Any, caller: Reverse) -> Unit:
        """The derivative of a function with a rule."""
        key = self.callee(s, caller.e)[0], flags, wanted, caller.known_zeros.known_of(s).reached
        write = lambda unit: rule_sweeps(self.rules, unit, s, flags, wanted, caller)  # noqa: E731
        return self.known_unit(key, name_of(s.function.value), len(flags), write)

    def gradient_unit(self, g: Gradient, s: Call, flags: Any, wanted: Any, caller: Reverse) -> Unit:
        """The derivative of a gradient: the gradient of the slope in the direction of the cotangents."""
        name = s.function.name
        key = (s.function.value.symbol, flags, wanted)
        if key not in self.units:
            made = gradient_sweeps(self, g, name, s, flags, wanted, caller)
            unit = self.units[key] = Unit(made.forward, made.reverse, len(flags))
            arrays = any(w and is_array(caller.kind(t)) for t, w in zip(s.targets, wanted, strict=True))
            every = set(range(len(flags)))
            unit.finish(False, not arrays, every, every, set(), set())
        return self.units[key]

    def reverse_of(
        self,
        f: Any,
        e: Expanded,
        varied: set[str],
        pattern: dict[str, int],
        shadowless: set[str],
        joint: bool,
        wanted: set[int] | None = None,
        known: Known = NOTHING,
    ) -> Reverse:
        effects = lambda s: self.effects(s, e)  # noqa: E731
        return Reverse(e, effects, self.unit, varied, pattern, shadowless, joint, is_checked(f), wanted, known)

    def write_unit(
        self, unit: Unit, name: str, f: Any, e: Expanded, flags: Any, wanted: Any, pattern: Any, known: Known
    ) -> None:
        inputs = [x for p in e.parameters for x in leaves(p)]
        varied = {x for x, flag in zip(inputs, flags, strict=True) if flag}
        numbers = {x: n for x, n in zip(inputs, pattern, strict=True) if n is not None}
        shadowless = {x for x, flag, n in zip(inputs, flags, pattern, strict=True) if n is not None and not flag}
        places = [k for k, x in enumerate(leaves(e.result)) if x != Const(None)]
        chosen = {k for k, w in zip(places, wanted, strict=False) if w}
        r = self.reverse_of(f, e, varied, numbers, shadowless, joint=False, wanted=chosen, known=known)
        shared = self.names.shared
        forward = r.forward()
        results = [syntax.atom(x) for x in r.result_leaves if x != Const(None)]
        reals = [x for x in r.result_leaves if x != Const(None)]
        for x, want in zip(reals, wanted, strict=False):
            if want and isinstance(x, str) and is_array(e.types.get(x)):
                has = r.has_shadow(x)
                results.append(ast.Name(r.cotangent(x)) if has else syntax.call("np.zeros_like", syntax.atom(x)))
        reverse = r.reverse()
        names = {x: r.names.get(r.flow.parameters[x], x) for x in inputs}
        flagged = [x for x, flag in zip(inputs, flags, strict=True) if flag and is_array(e.types.get(x))]
        shadows = [r.cotangent(x) for x in flagged]
        shadows_back = [r.cotangent(names[x]) for x in flagged]
        needs = {k for k, x in enumerate(inputs) if x in r.needed_parameters}
        content = {k for k, x in enumerate(inputs) if is_array(e.types.get(x)) and r.classes.find(x) in r.content}
        array_wanted = any(
            w and isinstance(x, str) and is_array(e.types.get(x)) for x, w in zip(reals, wanted, strict=False)
        )
        final = [(k, r.flow.result[x]) for k, x in enumerate(reals) if isinstance(x, str)]
        results_needed = {k for k, v in final if v in r.needed_results or v.variable in r.needed_parameters}
        result_content = {
            k
            for k, x in enumerate(reals)
            if isinstance(x, str) and is_array(e.types.get(x)) and r.classes.find(x) in r.content
        }
        primal = not r.uses_tape and not array_wanted
        unit.finish(r.uses_tape, primal, needs, content, results_needed, result_content)
        returned_arrays: list[str] = []
        for k, (x, want) in enumerate(zip(reals, wanted, strict=False)):
            if want and isinstance(x, str) and is_array(e.types.get(x)):
                v = r.flow.result[x]
                mine = v in r.given and v not in [r.flow.result.get(y) for y in reals[:k]]
                name = r.names.get(v, v.variable)
                if unit.needs_result(k):
                    returned_arrays.append(name if mine else shared(f"_result_{k}"))
                returned_arrays.append(r.cotangent(name) if mine else shared(f"_d_result_{k}"))
        extra = ["tape"] if unit.uses_tape else []
        cts = [shared(f"d_result_{k}") for k, x in enumerate(r.result_leaves) if k in chosen and not self.array(x, e)]
        given = [names[x] for k, x in enumerate(inputs) if unit.needs(k)]
        back = [
            (r.cotangent(x) if r.is_scalar(x) else "0.0")
            for x, flag in zip(inputs, flags, strict=True)
            if flag and is_real(e.types.get(x))
        ]
        enter = [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)] if r.own_tape else []
        leave = [Code("tape[1] = top", 0)] if r.own_tape else []
        returned = f"return {', '.join(syntax.text(x) for x in results)}" if results else "return"
        if not unit.primal_suffices:
            body = [*self.guard(unit.recursive, e), *enter, *forward, *leave, Code(returned, 0)]
            doc = f"{name}, and on the tape what {unit.reverse_name} needs."
            self.function(unit.forward_name, [*inputs, *shadows, *extra], doc, body, e, f)
        body = [*self.guard(unit.recursive, e), *enter, *reverse, *leave]
        body.append(Code(f"return {', '.join(back)}" if back else "return", 0))
        doc = f"Add what the arguments of {name} contribute to its results, backwards."
        self.function(unit.reverse_name, [*given, *shadows_back, *returned_arrays, *cts, *extra], doc, body, e, f)

    def guard(self, recursive: bool, e: Expanded) -> list[Any]:
        """What a recursive function does first: its frames are larger than those of the user's function."""
        if not recursive:
            return []
        text = (
            f"{e.lowered.source.tree.name}: the recursion is too deep for the stack of this thread, since a derivative"
        )
        text += " takes more of it than the function: write a loop, or run it where threading.stack_size is larger"
        return [Suite("if runtime.stack_is_low():", [Code(f"raise RecursionError({text!r})", 0)], 0)]

    def array(self, x: Any, e: Expanded) -> bool:
        return isinstance(x, str) and is_array(e.types.get(x))

    # Text

    def options(self, f: Any) -> str:
        options = kept(f) | {"error_model": "numpy"}
        return ", ".join(f"{k}={v!r}" for k, v in sorted(options.items()))

    def function(self, name: str, parameters: list[str], doc: str, body: list[Any], e: Expanded, f: Any) -> None:
        rows = rows_of(tidy(body, self.names.is_temporary))
        self.functions.append(_Function(name, parameters, self.options(f), doc, rows, e.lowered.source))

    def text(self, doc: str) -> tuple[str, dict[str, str]]:
        """The whole module, and the printed names of what is generated in it and not local to a function."""
        self.write_plain()
        words = {f.name: f.words() for f in self.functions}
        outer = [*words] + [x for found in words.values() for x in found if x in self.refs]
        printed = self.names.chosen(outer, {x for found in words.values() for x in found})
        parts = ["import math", "", "import numpy as np", "from numba import njit", ""]
        parts = [f'"""{doc}"""', "", *parts, "from dualrev.compiler import runtime", ""]
        for f in self.functions:
            taken = [*printed.values(), *words[f.name]]
            local = {**self.names.chosen([x for x in words[f.name] if x not in printed], taken), **printed}
            parts += ["", f.text(lambda x, local=local: local.get(x, x))]  # type: ignore[misc]
        return "\n".join(parts) + "\n", printed

    def write_plain(self) -> None:
        """Write the functions that transformations have made, as they are, where others call them."""
        written = {f.name for f in self.functions}
        done = 0
        while done < len(self.functions):
            words, done = self.functions[done].words(), done + 1
            for ref in list(self.made.values()):
                if ref.name in words and ref.name not in written:
                    written.add(ref.name)
                    self.write_made(ref.name, ref.value)

    def write_made(self, name: str, value: Made) -> None:
        """Write a function that a transformation has made, as it is."""
        made, f = self.program.made(value.symbol), value.origin.dispatcher
        if isinstance(made, Gradient):
            e = self.untyped(made.of)
            numbers = made.numbers if made.several else made.numbers[0]
            self.entry(name, "grad", numbers, f, e, e.argtypes, made.of.name)
            return
        e = self.untyped(made)
        code, result = plain(e, lambda s: self.effects(s, e), is_checked(f))
        body = [*self.guard(self.program.is_recursive(value.symbol), e), *code]
        body.append(Code(f"return {syntax.text(result)}", 0))
        doc = f"{e.lowered.source.tree.name}, and the tangents of its results."
        self.function(name, list(e.parameters), doc, body, e, f)

    # The function itself

    def entered(self, argtypes: tuple[Any, ...]) -> Expanded:
        """The function itself in expanded core, for these types of arguments."""
        args = self.source(self.f).tree.args
        parameters = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        functions = {}
        for k, (name, kind) in enumerate(zip(parameters, argtypes, strict=True)):
            self.find_classes(kind, (("arg", k),))
            if isinstance(kind, types.Dispatcher):
                functions[name] = Static(kind.dispatcher, (("arg", k),))
        return self.expanded(self.f, argtypes, (), functions)

    def root(self, transform: str, argnums: Any, argtypes: tuple[Any, ...]) -> Emitted:
        args = self.source(self.f).tree.args
        count = len([*args.posonlyargs, *args.args, *args.kwonlyargs])
        if transform in directions.TRANSFORMS:
            return directions.root(self, transform, argnums, argtypes, count)
        e = self.entered(argtypes[:count])
        name = self.names.fresh(f"{transform}_{e.lowered.source.tree.name}")
        doc = self.entry(name, transform, argnums, self.f, e, argtypes[:count], e.lowered.source.tree.name)
        return self.finish(name, f"{doc} Made by dualrev.")

    def entry(
        self, name: str, transform: str, argnums: Any, f: Any, e: Expanded, primals: tuple[Any, ...], called: str
    ) -> str:
        """Write the function that is called for a derivative in reverse mode; what it is.

        e is what is differentiated, with the options of the numba function f; `called` is its name for people.
        """
        source = e.lowered.source
        tree = source.tree
        chosen = self.chosen(transform, argnums, e, primals)
        varied = {x for k in chosen for x in leaves(e.parameters[k]) if self.differentiable(x, e)}
        r = self.reverse_of(
            f, e, varied, {}, set(), joint=True, known=NOTHING if transform == "vjp" else Known((True,))
        )
        shared = self.names.shared
        body: list[Any] = []
        result = self.typed_result(e)
        if transform in ("grad", "value_and_grad"):
            if not (isinstance(e.result, str) and is_real(e.types.get(e.result))) and not isinstance(e.result, Const):
                raise ScalarError.of(str(result), f"{source.file}:{tree.lineno}")
            if isinstance(e.result, Const) and not isinstance(e.result.value, float):
                raise ScalarError.of(str(result), f"{source.file}:{tree.lineno}")
            r.seeds = [syntax.number(1.0)]
        else:
            r.seeds = [ast.Name(shared(f"ct_{k}")) for k in range(len(r.result_leaves))]
        before: list[Any] = []
        for x, made in zip(e.lowered.parameters, e.parameters, strict=True):
            if isinstance(made, Node):
                self.unpack(x, made, before)
        arrays = [x for x in r.leaves if is_array(e.types.get(x))]
        rebound = {t for s in walk(e.body) for t in writes(s)}
        kept = {x: self.names.fresh("{}_given", x) if x in rebound else x for x in arrays}  # what the caller has
        wrote = [
            x
            for x in arrays
            if any(r.classes.find(c) == r.classes.find(x) for s in walk(e.body) for c in changed(s, r.effects))
        ]
        for x in wrote:
            if e.types[x].layout == "A":
                before.append(Code(f"runtime.check_spread({x})", 0))
        for k, x in enumerate(arrays):
            for y in arrays[k + 1 :]:
                if x in wrote or y in wrote:
                    before.append(Code(f"runtime.check_apart({x}, {y})", 0))
        asks = self.asks_for_layout(e)
        strided = {x for x in arrays if asks and e.types[x].layout == "A"}
        finals = {x: shared(f"final_{k}") for k, x in enumerate(wrote) if r.classes.find(x) in r.restored}
        forward = r.forward()
        for x in finals:
            if kept[x] != x:
                body.append(Code(f"{kept[x]} = {x}", 0))
        if r.own_tape:
            body += [Code("words = runtime.words(tape)", 0), Code("top = 0", 0)]
        body += [Code("# the forward sweep", 0), *forward]
        for x, final in finals.items():
            body.append(Code(f"{final}[...] = {kept[x]}", 0))
        results = {}
        for j, x in enumerate(r.result_leaves):
            if isinstance(x, str):
                results[x] = shared(f"result_{j}")
                key = r.classes.find(x) if is_array(e.types.get(x)) else None
                copied = key is not None and key in {*r.restored, *r.parameter_classes, *r.held_classes}
                if copied:
                    body.append(Code(f"{results[x]} = {x}.copy()", 0))
                else:
                    body.append(Assign(ast.Name(results[x]), ast.Name(x), 0))
        body.append(Code("# the reverse sweep", 0))
        if transform == "vjp":
            self.unpack_cotangent(r, e, body)
        body += r.reverse()
        for x, final in finals.items():
            body.append(Code(f"{kept[x]}[...] = {final}", 0))
        gradients = [self.gradient(e.parameters[k], r, e, strided) for k in chosen]
        if transform != "vjp" and not isinstance(argnums, (tuple, list)):
            gradient = gradients[0]
        else:
            gradient = ast.Tuple(gradients, ast.Load())
        value = r.tree(e.result, lambda x: ast.Name(results[x]) if x in results else syntax.atom(x))
        returned = gradient if transform == "grad" else ast.Tuple([value, gradient], ast.Load())
        given = [*e.lowered.parameters, *(["ct"] if transform == "vjp" else [])]
        doc = self.describe(transform, argnums, called)
        values = {*results.values(), *(r.cotangent(x) for x in r.leaves if r.is_scalar(x))}
        leaves_of = [x for k in chosen for x in leaves(e.parameters[k])]
        sweeps = self.names.fresh(f"{tree.name}{{n}}_sweeps")
        owned = owner(r, leaves_of, finals, strided, given[len(e.lowered.parameters) :], values, returned, sweeps)
        if owned is None:
            body = [*before, *body, Code(f"return {syntax.text(returned)}", 0)]
        else:
            inner, last, code = owned
            self.function(sweeps, inner, f"Both sweeps of {tree.name}.", [*body, *last], e, f)
            body = [*before, *code]
        self.function(name, given, doc, body, e, f)
        return doc

    def find_classes(self, kind: Any, path: tuple[Any, ...]) -> None:
        """Name the classes of named tuples among the arguments."""
        if isinstance(kind, types.BaseNamedTuple):
            cls = kind.instance_class
            if all(ref.value is not cls for ref in self.refs.values()):
                name = self.names.fresh(f"_{cls.__name__}")
                self.refs[name] = Ref(name, cls, (*path, ("attr", "instance_class")))
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self.find_classes(part, (*path, ("attr", "types"), ("item", k)))

    def describe(self, transform: str, argnums: Any, name: str) -> str:
        if transform == "grad":
            return f"The gradient of {name} with respect to argument {argnums}."
        if transform == "value_and_grad":
            return f"The value of {name}, and its gradient with respect to argument {argnums}."
        if transform == "vjp":
            return f"The value of {name}, and the cotangents of its arguments for the cotangent ct of the value."
        return f"The value of {name}, and its derivative in the direction of the tangents."

    def finish(self, entry: str, doc: str) -> Emitted:
        text, printed = self.text(doc)
        refs = {printed[name]: ref for name, ref in self.refs.items() if name in printed}
        paths, values = {n: r.path for n, r in refs.items()}, {n: r.value for n, r in refs.items()}
        return Emitted(text, printed[entry], paths, values)

    def chosen(self, transform: str, argnums: Any, e: Expanded, primals: tuple[Any, ...]) -> list[int]:
        count = len(primals)
        if transform in ("vjp", "jvp"):
            return list(range(count))
        given = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
        numbers = [k % count for k in given if isinstance(k, int) and not isinstance(k, bool) and -count <= k < count]
        if not numbers or len(set(numbers)) < len(given):
            raise ArgumentNumberError(argnums, count)
        for k in numbers:
            if not any(self.differentiable(x, e) for x in leaves(e.parameters[k])):
                raise ArgumentError.of(str(primals[k]))
        return numbers

    def differentiable(self, x: Any, e: Expanded) -> bool:
        kind = e.types.get(x) if isinstance(x, str) else None
        return kind is not None and (is_real(kind) or is_real_array(kind))

    def typed_result(self, e: Expanded) -> Any:
        return (
            self.type_of(e.result, e)
            if not isinstance(e.result, Const)
            else types.unliteral(numba.typeof(e.result.value))
        )

    def unpack(self, name: str, tree: Node, body: list[Any]) -> None:
        """name_0, name_1 = name."""
        for k, part in enumerate(tree.parts):
            if isinstance(part, Node):
                inner = self.names.fresh(f"{{}}_{k}", name)
                body.append(Code(f"{inner} = {name}[{k}]", 0))
                self.unpack(inner, part, body)
            else:
                body.append(Code(f"{part} = {name}[{k}]", 0))

    def unpack_cotangent(self, r: Reverse, e: Expanded, body: list[Any]) -> None:
        """The leaves of ct: numbers are the seeds, arrays are added to the shadows."""
        count = 0

        def visit(tree: Any, text: str) -> None:
            nonlocal count
            if isinstance(tree, Node):
                for k, part in enumerate(tree.parts):
                    visit(part, f"{text}[{k}]")
                return
            k, count = count, count + 1
            if isinstance(tree, str) and is_array(e.types.get(tree)):
                if r.has_shadow(tree):
                    body.append(Code(f"runtime.add_to({r.cotangent(tree)}, {text})", 0))
            elif isinstance(tree, str) and is_real(e.types.get(tree)):
                body.append(Code(f"{self.names.shared(f'ct_{k}')} = {text}", 0))

        visit(e.result, "ct")

    def gradient(self, tree: Any, r: Reverse, e: Expanded, strided: set[str]) -> ast.expr:
        """The gradient with respect to an argument, in its structure; arrays are contiguous."""
        if isinstance(tree, Node):
            parts = [self.gradient(x, r, e, strided) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        kind = e.types.get(tree)
        if is_real_array(kind):
            name = r.cotangent(tree)
            return syntax.name(f"{name}.copy()") if tree in strided else ast.Name(name)
        if is_real(kind):
            made: ast.expr = ast.Name(r.cotangent(tree)) if r.is_scalar(tree) else syntax.number(0.0)
            return syntax.call("np.float32", made) if kind == types.float32 else made
        return ast.Constant(None)
