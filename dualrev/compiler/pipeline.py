"""From a numba function and its argument types to a module of derivative code.

    source -> lower -> types -> expand -> (flow, activity, plan) -> reverse or forward -> code

`emit` is the whole of it. A function that is called by another one is differentiated once for every combination of
argument types, active arguments and arguments that may share memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
from numba.core import types

from dualrev.compiler import derived, directions, jacobians, syntax
from dualrev.compiler.activity import Classes
from dualrev.compiler.analyses.activity import carries
from dualrev.compiler.analyses.memory import Memory, type_of
from dualrev.compiler.code import Code, Row, Suite, lines_of, rows_of
from dualrev.compiler.core import Call, Const, Node, Ref, leaves, terms, walk
from dualrev.compiler.core.program import Gradient, Program
from dualrev.compiler.core.show import show
from dualrev.compiler.core.show_lowered import show_lowered
from dualrev.compiler.core.terms import Function
from dualrev.compiler.core.typed import typed
from dualrev.compiler.core.untyped import untyped
from dualrev.compiler.emission import Emission
from dualrev.compiler.entries import Entry
from dualrev.compiler.expand import Expanded, expand, is_array, is_real, is_real_array
from dualrev.compiler.fingerprint import is_derivative
from dualrev.compiler.lower import Lowered, lower
from dualrev.compiler.naming import Names, renamed, words_of
from dualrev.compiler.options import alike, declared, is_checked, kept
from dualrev.compiler.plan import changed
from dualrev.compiler.prune import prune
from dualrev.compiler.simplify import simplify
from dualrev.compiler.source import Source, Static, read
from dualrev.compiler.tidy import tidy
from dualrev.compiler.transforms.forward import Forward
from dualrev.compiler.transforms.reverse import Reverse, has_words
from dualrev.compiler.types import Typed, infer
from dualrev.errors import ArgumentError, ArgumentNumberError, ScalarError

__all__ = ["Emitted", "core_program", "emit", "expanded_function", "show_forward", "show_lowered_core", "show_reverse"]


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
    groups: list[list[int]] = field(default_factory=list)  # arguments that it treats as one memory


def emit(f: Any, transform: str, argnums: Any, argtypes: tuple[Any, ...]) -> Emitted:
    """The derivative of a numba function for these types of arguments; see build.py for the transforms."""
    return Module(f).root(transform, argnums, argtypes)


def expanded_function(f: Any, argtypes: tuple[Any, ...]) -> Function:
    """A numba function for these types of arguments, as the derivatives are made from it."""
    return core_program(f, argtypes)[0]


def core_program(f: Any, argtypes: tuple[Any, ...]) -> tuple[Function, Program]:
    """A numba function for these types of arguments in the typed core, and the functions that its calls lead to."""
    module = Module(f)
    return module.typed(f, module.entered(argtypes)), Program(module.called)


def show_lowered_core(f: Any, argtypes: tuple[Any, ...]) -> str:
    """The text of a numba function in lowered core."""
    module = Module(f)
    made, typed = module.inferred(f, argtypes, (), module.functions_among(argtypes))
    return show_lowered(made.source.tree.name, made.parameters, made.body, made.result, typed, module.names)


def show_forward(f: Function, program: Program) -> str:
    """The text of a function with tangents for all its real arguments, and of those that it calls."""
    moving = [x for p in f.parameters for x in terms.leaves(p) if carries(x)]
    made = Forward(program, Memory(program)).function(f, moving).function
    return "\n".join(map(show, [made, *program.made_functions()]))


def show_reverse(f: Function, program: Program, numbers: int | tuple[int, ...]) -> str:
    """The text of both sweeps of a function by the arguments of these numbers, and of the functions for its calls."""
    chosen = numbers if isinstance(numbers, tuple) else (numbers,)
    memory = Memory(program)
    varied = [x for k in chosen for x in terms.leaves(f.parameters[k]) if carries(x)]
    made = Reverse(program, memory, Forward(program, memory)).pullback(f, varied)
    return "\n".join(map(show, [made, *program.made_functions()]))


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


class Module:
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
        self.functions: list[_Function] = []
        self.paths: dict[int, tuple[Any, ...]] = {}  # to functions that are arguments
        self.program = Program(self.called)
        memory = Memory(self.program)
        self.forward = Forward(self.program, memory)
        self.reverse = Reverse(self.program, memory, self.forward)
        self.written: set[terms.Symbol] = set()
        self.made: dict[terms.Symbol, Ref] = {}
        self.place: tuple[Source, int] | None = None  # the user's line that calls the derivative that is read

    # Functions in core

    def source(self, f: Any) -> Source:
        """The source of a numba function."""
        if id(f) not in self.sources:
            self.sources[id(f)] = derived.source_of(f, self.source(f.derivative_of[0])) if is_derivative(f) else read(f)
        return self.sources[id(f)]

    def expanded(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static], apart: bool = True
    ) -> Expanded:
        """The function in expanded core; `apart` as in expand.py: of f itself it is checked, of what it calls not."""
        key = (id(f), argtypes, apart)
        for static in functions.values():
            self.paths.setdefault(id(static.value), static.path)
        if key not in self.expanded_of and is_derivative(f):
            self.expanded_of[key] = derived.expanded(self, f, argtypes, path, functions)
        if key not in self.expanded_of:
            lowered, typed = self.inferred(f, argtypes, path, functions)
            source = lowered.source
            signature = declared(f, argtypes)
            if signature is not None and not alike(signature.return_type, typed.result):
                what = f"the signature `{signature.return_type}(...)`"
                why = f"the function computes {typed.result}, and numba converts that"
                source.refuse(source.tree, what, why, "the conversion into the function, or no signature")
            made = expand(lowered, typed, argtypes, apart)
            simplify(made.body, leaves(made.result))
            self.check_derivatives(made)
            self.expanded_of[key] = made
        return self.expanded_of[key]

    def inferred(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static]
    ) -> tuple[Lowered, Typed]:
        """The function in lowered core, and the types of its variables."""
        source = prune(self.source(f), argtypes)
        lowered = lower(source, path, functions, self.refs, self.names)
        return lowered, infer(lowered, argtypes, f.targetoptions, lambda: f.compile(argtypes))

    def callee(self, s: Call, e: Expanded) -> tuple[Any, Expanded]:
        """The key and the core of the function that a Call calls."""
        f = s.function.value
        if isinstance(f, Made):
            key = f.symbol, ()
            if key not in self.expanded_of:
                made = self.program.made(f.symbol)
                self.expanded_of[key] = self.untyped(made.of if isinstance(made, Gradient) else made)
            return key, self.expanded_of[key]
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
        return typed(e, Origin(f, e), is_checked(f))

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
        assert isinstance(s.function, terms.Global)
        f, path = s.function.value, s.function.path
        argtypes = tuple(map(type_of, s.args))
        args = self.source(f).tree.args
        functions = {}
        for name, a, kind in zip([*args.posonlyargs, *args.args, *args.kwonlyargs], s.args, argtypes, strict=True):
            if isinstance(kind, types.Dispatcher):
                known = a.path if isinstance(a, terms.Global) else self.paths[id(kind.dispatcher)]
                functions[name.arg] = Static(kind.dispatcher, known)
        return (id(f), argtypes), lambda: self.typed(f, self.expanded(f, argtypes, path, functions, apart=False))

    def check_derivatives(self, e: Expanded) -> None:
        """UnsupportedError for a call of a compiled derivative that has no derivatives itself."""
        before = self.place
        for s in walk(e.body):
            if isinstance(s, Call) and is_derivative(s.function.value):
                self.place = before or (e.lowered.source, s.line)
                self.callee(s, e)
        self.place = before

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
        made.groups = [some for some in of_class.values() if len(some) > 1]
        self.effects_of[key] = made
        return made

    def asks_for_layout(self, f: Function) -> bool:
        """Whether a function, or one that it calls, asks if an array is contiguous: then shadows have its strides."""
        seen: set[Any] = set()
        todo = [f]
        while todo:
            f = todo.pop()
            if f.origin.expanded.asks_for_layout:
                return True
            for s in terms.statements(f.body):
                if isinstance(s, terms.Call) and (key := self.program.key(s)) not in seen:
                    seen.add(key)
                    gradient = self.program.gradient(s)
                    todo.append(self.program.function(s) if gradient is None else gradient.of)
        return False

    def guard(self, source: Source) -> list[Any]:
        """What a recursive function does first: its frames are larger than those of the user's function."""
        text = f"{source.tree.name}: the recursion is too deep for the stack of this thread, since a derivative"
        text += " takes more of it than the function: write a loop, or run it where threading.stack_size is larger"
        return [Suite("if runtime.stack_is_low():", [Code(f"raise RecursionError({text!r})", 0)], 0)]

    # Text

    def options(self, f: Any) -> str:
        options = kept(f) | {"error_model": "numpy"}
        return ", ".join(f"{k}={v!r}" for k, v in sorted(options.items()))

    def function(self, name: str, parameters: list[str], doc: str, body: list[Any], source: Source, f: Any) -> None:
        rows = rows_of(tidy(body, self.names.is_temporary))
        made = _Function(name, parameters, self.options(f), doc, rows, source)
        words = set(made.words())
        for symbol, ref in list(self.made.items()):
            if ref.name in words:
                self.refer_name(symbol)  # what it calls stands before it
        self.functions.append(made)

    def text(self, doc: str) -> tuple[str, dict[str, str]]:
        """The whole module, and the printed names of what is generated in it and not local to a function."""
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

    def refer_name(self, symbol: terms.Symbol) -> str:
        """The name of a function that a transformation has made, which is written now if it has not been."""
        name = self.refer(symbol).name
        if symbol not in self.written:
            self.written.add(symbol)
            self.write_made(symbol, name)
        return name

    def write_made(self, symbol: terms.Symbol, name: str) -> None:
        """Write a function that a transformation has made."""
        made = self.program.made(symbol)
        origin = made.of.origin if isinstance(made, Gradient) else made.origin
        source, f = origin.expanded.lowered.source, origin.dispatcher
        if isinstance(made, Gradient):
            entry = Entry(self, "grad", list(made.numbers), made.of, f)
            entry.write(name, made.several, self.describe("grad", made.numbers, made.of.name))
            return
        emission = Emission(self.names, self.refer_name, made.checked, has_words(made.body))
        emission.introduce(terms.variables(made))
        enter, leave = [], []
        if has_words(made.body):
            enter = [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)]
            leave = [Code("tape[1] = top", 0)]
        guard = self.guard(source) if self.program.is_recursive(symbol) else []
        plain = isinstance(made.result, terms.Node) and made.result.cls is None
        parts = made.result.parts if plain else (made.result,)  # type: ignore[union-attr]
        back = ", ".join(syntax.text(emission.tree(x)) for x in parts) + "," * (plain and len(parts) == 1)
        parameters, before = [], []
        for x in made.parameters:
            parameters.append(emission.var(x) if isinstance(x, terms.Var) else self.names.fresh("arg_{k}"))
            if isinstance(x, terms.Node):
                before += emission.parts(parameters[-1], x)
        parameters += ["tape"] * made.tape
        code = before + emission.block(made.body)
        body = [*guard, *enter, *code, *leave, Code(f"return {back}".strip(), 0)]
        doc = made.doc or f"{made.name}, as derivatives call it."
        self.function(name, parameters, doc, body, source, f)

    # The function itself

    def entered(self, argtypes: tuple[Any, ...]) -> Expanded:
        """The function itself in expanded core, for these types of arguments."""
        return self.expanded(self.f, argtypes, (), self.functions_among(argtypes))

    def functions_among(self, argtypes: tuple[Any, ...]) -> dict[str, Static]:
        """The arguments that are functions; classes of named tuples among the arguments are known afterwards."""
        args = self.source(self.f).tree.args
        parameters = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        functions = {}
        for k, (name, kind) in enumerate(zip(parameters, argtypes, strict=True)):
            self.find_classes(kind, (("arg", k),))
            if isinstance(kind, types.Dispatcher):
                functions[name] = Static(kind.dispatcher, (("arg", k),))
        return functions

    def root(self, transform: str, argnums: Any, argtypes: tuple[Any, ...]) -> Emitted:
        args = self.source(self.f).tree.args
        count = len([*args.posonlyargs, *args.args, *args.kwonlyargs])
        if transform in directions.TRANSFORMS:
            return directions.root(self, transform, argnums, argtypes, count)
        if transform in jacobians.TRANSFORMS:
            return jacobians.root(self, transform, argnums, argtypes[:count])
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
        chosen = self.chosen(transform, argnums, e, primals)
        entry = Entry(self, transform, chosen, self.typed(f, e), f, e.lowered.parameters)
        doc = self.describe(transform, argnums, called)
        entry.write(name, isinstance(argnums, (tuple, list)), doc)
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
        if transform == "pull":
            return f"The cotangents of the arguments of {name} for the cotangent ct of its value."
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

    def check_scalar(self, e: Expanded) -> None:
        """ScalarError for a function that returns something else than one real number."""
        x, source = e.result, e.lowered.source
        is_number = is_real(e.types.get(x)) if isinstance(x, str) else isinstance(getattr(x, "value", None), float)
        if not is_number:
            raise ScalarError.of(str(self.typed_result(e)), f"{source.file}:{source.tree.lineno}")

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
