"""From a numba function and its argument types to a module of derivative code.

    source -> lower -> types -> expand -> (flow, activity, plan) -> reverse or forward -> code

`emit` is the whole of it. A function that is called by another one is differentiated once for every combination of
argument types, active arguments and arguments that may share memory.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numba
from numba.core import types

from dualrev.compiler import forward as forward_mode
from dualrev.compiler import syntax
from dualrev.compiler.activity import Classes
from dualrev.compiler.code import Assign, Code, lines_of
from dualrev.compiler.core import Call, Const, If, Let, Node, Ref, leaves, walk, writes
from dualrev.compiler.expand import Expanded, expand, is_array, is_real, is_real_array
from dualrev.compiler.lower import lower
from dualrev.compiler.plan import CHEAP, changed
from dualrev.compiler.reverse import Reverse
from dualrev.compiler.simplify import simplify
from dualrev.compiler.source import Source, Static, read
from dualrev.compiler.tidy import tidy
from dualrev.compiler.types import infer
from dualrev.errors import ArgumentError, ArgumentNumberError, ScalarError

__all__ = ["Emitted", "emit"]


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


class Unit:
    """The derivative of a function that another one calls: `name_forward` and `name_reverse`."""

    def __init__(self, name: str, leaf_count: int) -> None:
        self.forward_name, self.reverse_name = f"{name}_forward", f"{name}_reverse"
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


class _Module:
    """A module that is being written."""

    def __init__(self, f: Any) -> None:
        self.f = f
        self.refs: dict[str, Ref] = {}
        self.sources: dict[int, Source] = {}
        self.expanded_of: dict[Any, Expanded] = {}
        self.effects_of: dict[Any, Effects] = {}
        self.settled: set[Any] = set()
        self.visited: set[Any] | None = None
        self.units: dict[Any, Unit] = {}
        self.texts: list[str] = []
        self.kept: set[Any] = set()
        self.used_names: set[str] = set()

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
            source = self.source(f)
            lowered = lower(source, path, functions, self.refs)
            typed = infer(lowered, argtypes, f.targetoptions, lambda: f.compile(argtypes))
            made = expand(lowered, typed, argtypes, apart)
            simplify(made.body, leaves(made.result))
            self.expanded_of[key] = made
        return self.expanded_of[key]

    def callee(self, s: Call, e: Expanded) -> tuple[Any, Expanded]:
        """The key and the core of the function that a Call calls."""
        f = s.function.value
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

    # What functions do to memory

    def effects(self, s: Call, e: Expanded) -> Effects:
        """What a Call does to memory; for recursive functions, the least fixed point."""
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
        numbers: dict[str, int] = {}
        arrays = [x if isinstance(x, str) and is_array(e.types.get(x)) else None for x in inputs]
        pattern = tuple(None if x is None else numbers.setdefault(caller.classes.find(x), len(numbers)) for x in arrays)
        (f, argtypes), callee = self.callee(s, e)
        key = (f, argtypes, flags, wanted, pattern)
        if key in self.units:
            unit = self.units[key]
            if not unit.done:
                unit.recursive = True
            return unit
        unit = self.units[key] = Unit(self.unused(s.function.value.py_func.__name__), len(inputs))
        self.write_unit(unit, s.function.value, callee, flags, wanted, pattern)
        return unit

    def unused(self, base: str) -> str:
        name, k = base, 1
        while name in self.used_names:
            k += 1
            name = f"{base}_{k}"
        self.used_names.add(name)
        return name

    def reverse_of(
        self,
        f: Any,
        e: Expanded,
        varied: set[str],
        pattern: dict[str, int],
        shadowless: set[str],
        joint: bool,
        wanted: set[int] | None = None,
    ) -> Reverse:
        checked = f.targetoptions.get("error_model", "python") == "python"
        return Reverse(e, lambda s: self.effects(s, e), self.unit, varied, pattern, shadowless, joint, checked, wanted)

    def write_unit(self, unit: Unit, f: Any, e: Expanded, flags: Any, wanted: Any, pattern: Any) -> None:
        inputs = [x for p in e.parameters for x in leaves(p)]
        varied = {x for x, flag in zip(inputs, flags, strict=True) if flag}
        numbers = {x: n for x, n in zip(inputs, pattern, strict=True) if n is not None}
        shadowless = {x for x, flag, n in zip(inputs, flags, pattern, strict=True) if n is not None and not flag}
        places = [k for k, x in enumerate(leaves(e.result)) if x != Const(None)]
        chosen = {k for k, w in zip(places, wanted, strict=False) if w}
        r = self.reverse_of(f, e, varied, numbers, shadowless, joint=False, wanted=chosen)
        line = e.lowered.source.tree.lineno
        forward = r.forward()
        results = [syntax.atom(x) for x in r.result_leaves if x != Const(None)]
        reals = [x for x in r.result_leaves if x != Const(None)]
        for x, want in zip(reals, wanted, strict=False):
            if want and isinstance(x, str) and is_array(e.types.get(x)):
                has = r.has_shadow(x)
                results.append(ast.Name(r.cotangent(x)) if has else syntax.call("np.zeros_like", syntax.atom(x)))
        reverse = r.reverse()
        self.kept |= r.kept
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
                    returned_arrays.append(name if mine else f"_result_{k}")
                returned_arrays.append(r.cotangent(name) if mine else f"_d_result_{k}")
        extra = ["tape", "KEPT"] if unit.uses_tape else []
        cts = [f"d_result_{k}" for k, x in enumerate(r.result_leaves) if k in chosen and not self.array(x, e)]
        given = [names[x] for k, x in enumerate(inputs) if unit.needs(k)]
        back = [
            (r.cotangent(x) if r.is_scalar(x) else "0.0")
            for x, flag in zip(inputs, flags, strict=True)
            if flag and is_real(e.types.get(x))
        ]
        enter = [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)] if r.own_tape else []
        leave = [Code("tape[1] = top", 0)] if r.own_tape else []
        returned = f"return {', '.join(syntax.text(x) for x in results)}" if results else "return"
        name = e.lowered.source.tree.name
        if not unit.primal_suffices:
            body = [*enter, *forward, *leave, Code(returned, 0)]
            doc = f"{name}, and on the tape what {unit.reverse_name} needs."
            self.function(unit.forward_name, [*inputs, *shadows, *extra], doc, body, e, f)
        body = [*enter, *reverse, *leave, Code(f"return {', '.join(back)}" if back else "return", 0)]
        doc = f"Add what the arguments of {name} contribute to its results, backwards."
        self.function(unit.reverse_name, [*given, *shadows_back, *returned_arrays, *cts, *extra], doc, body, e, f)
        del line

    def array(self, x: Any, e: Expanded) -> bool:
        return isinstance(x, str) and is_array(e.types.get(x))

    # Text

    def options(self, f: Any) -> str:
        options = {k: f.targetoptions[k] for k in ("fastmath", "boundscheck", "nogil") if f.targetoptions.get(k)}
        options["error_model"] = "numpy"
        return ", ".join(f"{k}={v!r}" for k, v in sorted(options.items()))

    def function(self, name: str, parameters: list[str], doc: str, body: list[Any], e: Expanded, f: Any) -> None:
        source = e.lowered.source
        lines = [f"@njit({self.options(f)})", f"def {name}({', '.join(parameters)}):", f'    """{doc}"""']
        lines += lines_of(tidy(body), source.line)
        self.texts.append("\n".join(lines))

    def text(self, doc: str) -> str:
        """The whole module."""
        kept = sorted(self.kept)
        names = ", ".join(f"kept_{d}_{n}{layout.lower()}" for d, n, layout in kept)
        head = [f'"""{doc}"""', "", "import math", "", "import numpy as np", "from numba import njit", ""]
        head += ["from dualrev.compiler import runtime", ""]
        text = "\n".join(head) + "\n" + "".join(f"\n{t}\n" for t in self.texts)
        return text.replace(", KEPT", f", {names}" if names else "")

    # The function itself

    def root(self, transform: str, argnums: Any, argtypes: tuple[Any, ...]) -> Emitted:
        f = self.f
        source = self.source(f)
        tree = source.tree
        parameters = [a.arg for a in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]]
        count = len(parameters)
        primals, cts = argtypes[:count], argtypes[count:]
        for k, kind in enumerate(primals):
            self.find_classes(kind, (("arg", k),))
        functions = {
            name: Static(kind.dispatcher, (("arg", k),))
            for k, (name, kind) in enumerate(zip(parameters, primals, strict=True))
            if isinstance(kind, types.Dispatcher)
        }
        e = self.expanded(f, primals, (), functions)
        if transform == "jvp":
            return forward_mode.root(self, e, cts or primals)
        chosen = self.chosen(transform, argnums, e, primals)
        varied = {x for k in chosen for x in leaves(e.parameters[k]) if self.differentiable(x, e)}
        r = self.reverse_of(f, e, varied, {}, set(), joint=True)
        self.used_names |= {tree.name}
        name = f"{transform}_{tree.name}"
        body: list[Any] = []
        result = self.typed_result(e)
        if transform in ("grad", "value_and_grad"):
            if not (isinstance(e.result, str) and is_real(e.types.get(e.result))) and not isinstance(e.result, Const):
                raise ScalarError.of(str(result), f"{source.file}:{tree.lineno}")
            if isinstance(e.result, Const) and not isinstance(e.result.value, float):
                raise ScalarError.of(str(result), f"{source.file}:{tree.lineno}")
            r.seeds = [syntax.number(1.0)]
        else:
            r.seeds = [ast.Name(f"ct_{k}") for k in range(len(r.result_leaves))]
        line = tree.lineno
        for x, made in zip(e.lowered.parameters, e.parameters, strict=True):
            if isinstance(made, Node):
                self.unpack(x, made, body)
        arrays = [x for x in r.leaves if is_array(e.types.get(x))]
        rebound = {t for s in walk(e.body) for t in writes(s)}
        kept = {x: f"{x}_given" if x in rebound else x for x in arrays}  # the array that the caller has
        wrote = [
            x
            for x in arrays
            if any(r.classes.find(c) == r.classes.find(x) for s in walk(e.body) for c in changed(s, r.effects))
        ]
        if wrote and len(arrays) > 1:
            pairs = [(x, y) for k, x in enumerate(arrays) for y in arrays[k + 1 :] if x in wrote or y in wrote]
            for x, y in pairs:
                body.append(Code(f"runtime.check_apart({x}, {y})", 0))
        for x in arrays:
            if r.has_shadow(x):
                body.append(Assign(ast.Name(r.cotangent(x)), syntax.call("np.zeros_like", ast.Name(x)), 0))
            if kept[x] != x:
                body.append(Code(f"{kept[x]} = {x}", 0))
                if r.has_shadow(x):
                    body.append(Code(f"d_{kept[x]} = {r.cotangent(x)}", 0))
        forward = r.forward()
        if r.uses_tape:
            body += [Code("tape = runtime.new_tape()", 0)]
            if r.own_tape:
                body += [Code("words = runtime.words(tape)", 0), Code("top = 0", 0)]
            body += [Code("KEPT_LISTS", 0)]
        body += [Code("# the forward sweep", 0), *forward]
        for k, x in enumerate(wrote):
            if r.classes.find(x) in r.restored:
                body.append(Code(f"final_{k} = {kept[x]}.copy()", 0))
        made = {}
        for j, x in enumerate(r.result_leaves):
            if isinstance(x, str) and is_array(e.types.get(x)) and r.classes.find(x) in r.restored:
                made[x] = f"result_{j}"
                body.append(Code(f"result_{j} = {x}.copy()", 0))
            elif isinstance(x, str):
                body.append(Assign(ast.Name(f"result_{j}"), ast.Name(x), 0))
                made[x] = f"result_{j}"
        body.append(Code("# the reverse sweep", 0))
        if transform == "vjp":
            self.unpack_cotangent(r, e, cts[0], body)
        reverse = r.reverse()
        body += reverse
        for k, x in enumerate(wrote):
            if r.classes.find(x) in r.restored:
                body.append(Code(f"{kept[x]}[...] = final_{k}", 0))
        if r.uses_tape:
            body.append(Code("runtime.free_tape(tape)", 0))
        self.kept |= r.kept
        gradients = [self.gradient(e.parameters[k], r, e, kept) for k in chosen]
        if transform != "vjp" and not isinstance(argnums, (tuple, list)):
            gradient = gradients[0]
        else:
            gradient = ast.Tuple(gradients, ast.Load())
        value = r.tree(e.result, lambda x: ast.Name(made[x]) if x in made else syntax.atom(x))
        returned = gradient if transform == "grad" else ast.Tuple([value, gradient], ast.Load())
        body.append(Code(f"return {syntax.text(returned)}", 0))
        given = [*e.lowered.parameters, *(["ct"] if transform == "vjp" else [])]
        doc = self.describe(transform, argnums, tree.name)
        self.function(name, given, doc, body, e, f)
        del line
        return self.finish(name, f"{doc} Made by dualrev.")

    def find_classes(self, kind: Any, path: tuple[Any, ...]) -> None:
        """Name the classes of named tuples among the arguments."""
        if isinstance(kind, types.BaseNamedTuple):
            cls = kind.instance_class
            name = f"_{cls.__name__}"
            while name in self.refs and self.refs[name].value is not cls:
                name += "_"
            self.refs.setdefault(name, Ref(name, cls, (*path, ("attr", "instance_class"))))
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
        for d, n, layout in sorted(self.kept):
            name = f"kept_{d}_{n}{layout.lower()}"
            zeros = ", ".join("0" for _ in range(n))
            made = f"np.empty(({zeros},), np.{d})" if d != "bool" else f"np.empty(({zeros},), np.bool_)"
            if layout == "A":
                made += "[" + ", ".join("::1" for _ in range(n)) + "]"
            elif layout == "F" and n > 1:
                made += ".T"
            self.texts[-1] = self.texts[-1].replace("    KEPT_LISTS", f"    {name} = [{made}]\n    KEPT_LISTS")
        self.texts[-1] = self.texts[-1].replace("    KEPT_LISTS\n", "")
        text = self.text(doc)
        used = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        refs = {name: ref for name, ref in self.refs.items() if name in used}
        return Emitted(text, entry, {n: r.path for n, r in refs.items()}, {n: r.value for n, r in refs.items()})

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
                inner = f"{name}_{k}"
                body.append(Code(f"{inner} = {name}[{k}]", 0))
                self.unpack(inner, part, body)
            else:
                body.append(Code(f"{part} = {name}[{k}]", 0))

    def unpack_cotangent(self, r: Reverse, e: Expanded, kind: Any, body: list[Any]) -> None:
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
                body.append(Code(f"ct_{k} = {text}", 0))

        visit(e.result, "ct")

    def gradient(self, tree: Any, r: Reverse, e: Expanded, kept: dict[str, str]) -> ast.expr:
        """The gradient with respect to an argument, in its structure."""
        if isinstance(tree, Node):
            parts = [self.gradient(x, r, e, kept) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        kind = e.types.get(tree)
        if is_real_array(kind):
            if not r.has_shadow(tree):
                return syntax.call("np.zeros_like", ast.Name(kept[tree]))
            return ast.Name(r.cotangent(tree) if kept[tree] == tree else f"d_{kept[tree]}")
        if is_real(kind):
            made: ast.expr = ast.Name(r.cotangent(tree)) if r.is_scalar(tree) else syntax.number(0.0)
            return syntax.call("np.float32", made) if kind == types.float32 else made
        return ast.Constant(None)
