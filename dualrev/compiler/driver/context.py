"""Front end: from numba functions to core, specialised to argument types.

    source -> prune -> lower -> infer -> expand -> core

A function is read once for every combination of argument types. What it calls is read when somebody asks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from numba.core import types
from numba.core.errors import NumbaError

from dualrev.compiler.ad.custom.custom_forward import CustomPushforwards
from dualrev.compiler.ad.custom.custom_reverse import RuleSweeps
from dualrev.compiler.ad.custom.custom_rules import has_rule
from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.function_table import Caller
from dualrev.compiler.ad.higher import compiled_derivative
from dualrev.compiler.ad.opaque_calls import underived
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.memory.alias import Memory, given
from dualrev.compiler.driver.checks import check_objects, check_reruns
from dualrev.compiler.driver.complex_arguments import ComplexCalls
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.driver.reading import Reading
from dualrev.compiler.frontend.desugar.iter_next import iterates
from dualrev.compiler.frontend.reading.global_paths import find
from dualrev.compiler.frontend.reading.jitclass_methods import refer_methods
from dualrev.compiler.frontend.reading.locals_option import with_conversions
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.frontend.reading.source import Source, Static, describe, is_derivative, read
from dualrev.compiler.frontend.typing.infer_callees import Uncompiled
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.atom_types import is_array, type_of
from dualrev.compiler.ir.core.atoms import Global, Tree
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import statements
from dualrev.compiler.ir.names import Names
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.inline import inlined, is_small
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.leaves import holds_structured
from dualrev.errors import UnsupportedError

__all__ = ["Front"]

#: What iterators go over place by place.
_PLACES = (types.Array, types.BaseTuple, types.List, types.ListType)


class Front:
    """Functions of a module in core, and their transformations (forward and reverse mode).

    names    the names of the module
    refs     what its text uses and does not define, by name
    """

    def __init__(
        self,
        sources: Mapping[int, Source] = MappingProxyType({}),
        passes: PassManager | None = None,
        inlines_all: bool = False,
    ) -> None:
        """Begin without functions; `sources` are known already, by the ids of functions.

        If `inlines_all`, functions are inlined whatever their size.
        """
        self.inlines_all = inlines_all
        self.passes = passes or PassManager(LISTS)
        self.names = Names()
        self.refs: dict[str, anf.Ref] = {}
        self.program = Program(self.called)
        self.memory = Memory(self.program, lambda s: self.rules.refuse_draw(s))
        self.rules: CustomPushforwards = CustomPushforwards(self)
        self.forward: Forward = Forward(self.program, self.memory, self.passes, self.rules)
        self.reverse: Reverse = Reverse(self.program, self.memory, self.forward, self.passes, RuleSweeps(self.rules))
        self.f: Dispatcher = None  # the function that is differentiated
        self.callers: dict[Call, Caller] = {}  # what callees take from their callers
        self.sources = dict(sources)  # of functions, by their id
        self._cores: dict[tuple[int, NumbaTypes, bool], Function] = {}
        self._refused: dict[Hashable, UnsupportedError] = {}  # why there are none, of what is called
        self._reading: set[int] = set()  # functions whose calls are looked at: one that calls itself is not small
        self.uncompiled = Uncompiled()
        self._paths: dict[int, AccessPath] = {}  # to functions that are arguments
        self.complexes = ComplexCalls(self, self.functions_passed)

    def source(self, f: Dispatcher) -> Source:
        """Source of a numba function, read once."""
        if id(f) not in self.sources:
            self.sources[id(f)] = (
                compiled_derivative.source_of(f, self.source(f.derivative_of[0]))
                if is_derivative(f)
                else with_conversions(read(f))
            )
        return self.sources[id(f)]

    def core(
        self,
        f: Dispatcher,
        argtypes: NumbaTypes,
        path: AccessPath,
        functions: dict[str, Static],
        apart: bool = True,
        caller: Caller | None = None,
    ) -> Function:
        """Lower a numba function to core, once for each specialisation.

        `apart` as in lower.py: of f itself it is checked, of what it calls not.
        """
        caller = caller or Caller(self.f)
        key = (id(f), argtypes, apart)
        for static in functions.values():
            self._paths.setdefault(id(static.value), static.path)
        if key not in self._cores:
            reading = self._read(f, argtypes, path, functions, apart, caller)
            self._cores[key] = made = reading.core
            self._note_calls(made, caller)
            self._check_calls(made)
            if is_derivative(f):
                bottom, kinds = f._function(argtypes)
                check_reruns(
                    self.core(bottom, kinds, path, functions), self.program, f"the derivative of a {f.derivative_of[1]}"
                )
            elif made.again:
                check_reruns(made, self.program, "a checkpoint", later=True)
            self.passes.run("optimise", reading)
            self._cores[key] = reading.core
            self._note_calls(reading.core, caller)
        return self._cores[key]

    def _small(self, caller: Function, s: Call) -> Function | None:
        """Callee to inline at a call: a small function with the options of the caller; else None."""
        f = s.function.value if isinstance(s.function, Global) else None
        if f is None or has_rule(f) or is_derivative(f) or id(f) in self._reading:
            return None
        found = self.program.function(s)
        chosen = is_small(found) or (self.inlines_all and not found.opaque)
        if not chosen or found.origin.looks_at_layout or found.checked != caller.checked:
            return None
        one, other = (kept(x) | {"forceinline": True} for x in (f, caller.origin.dispatcher))
        return found if one == other else None

    def _read(
        self,
        f: Dispatcher,
        argtypes: NumbaTypes,
        path: AccessPath,
        functions: dict[str, Static],
        apart: bool,
        caller: Caller,
    ) -> Reading:
        if is_derivative(f):
            reading = Reading(self, f, argtypes, path, functions, caller, apart, holds={"core"})
            reading.core = compiled_derivative.core(self, f, argtypes, path, functions, caller)
            return reading
        reading = self.inferred(f, argtypes, path, functions, apart, caller)
        self.passes.run("lower", reading)
        return reading

    def inlined(self, f: Dispatcher, core: Function) -> Function:
        """Inline small functions into the core of a function."""
        self._reading.add(id(f))
        try:
            return inlined(core, lambda s: self._small(core, s))
        finally:
            self._reading.discard(id(f))

    def inferred(
        self,
        f: Dispatcher,
        argtypes: NumbaTypes,
        path: AccessPath,
        functions: dict[str, Static],
        apart: bool = True,
        caller: Caller | None = None,
    ) -> Reading:
        """Lower a function to ANF, with the types of its variables."""
        caller = caller or Caller(self.f)

        def attempt(listed: bool, in_haste: bool = False) -> Reading:
            """Run the passes up to type inference; if `listed`, loops over iterables without indices go over lists."""
            reading = Reading(self, f, argtypes, path, functions, caller, apart, listed, in_haste)
            self.passes.run("read", reading)
            return reading

        def hasty() -> Reading | None:
            """Attempt both without numba's last word, for which numba compiles f and what f calls."""
            for listed in (False, True):
                with suppress(NumbaError, UnsupportedError):
                    return attempt(listed, in_haste=True)
            return None

        tree = self.source(f).tree
        loops = any(isinstance(x, (ast.For, ast.comprehension)) for x in ast.walk(tree)) or iterates(tree)
        found = hasty() if loops else None
        try:
            found = found or attempt(False)
        except UnsupportedError:  # a loop over a set or the like has no types, until that is a list
            if not loops:
                raise
            found = attempt(True)
        if found.listed:
            return found
        kinds, lowered = found.typed.of, found.lowered
        have_places = all(isinstance(kinds.get(x), _PLACES) for x in lowered.iterated)
        lengths = (s for s in anf.walk(lowered.body) if isinstance(s, anf.CallKnown) and s.target in lowered.lengths)
        over = (kinds.get(x) for s in lengths for x in s.args if isinstance(x, str))
        dicts = any(isinstance(kind, types.DictType) for kind in over)  # d[k] is no key
        return found if have_places and not dicts else attempt(True)

    def _note_calls(self, f: Function, caller: Caller) -> None:
        """Note what the callees of a function take from their callers."""
        source = f.origin.source
        for s in statements(f.body):
            if isinstance(s, Call):
                own = (source, s.line) if _is_derivative_call(s) else None
                self.callers[s] = replace(caller, place=caller.place or own)

    def _check_calls(self, f: Function) -> None:
        """Check the calls of functions that have a rule, or are derivatives, which are lowered here."""
        calls = [s for s in statements(f.body) if isinstance(s, Call)]
        for s in calls:
            if isinstance(s.function, Global) and has_rule(s.function.value):
                self.rules.sites[s] = f.origin.source
            check_objects(s, f.origin.source)
        for s in filter(_is_derivative_call, calls):
            self.program.function(s)

    def entered(self, f: Dispatcher, argtypes: NumbaTypes) -> Function:
        """Core of the function that is differentiated, for these argument types."""
        self.f = f
        self.complexes.check_derivatives(f, argtypes)
        source = self.source(f)
        if source.tree.args.vararg:
            what, why = "*args of this function", "how many arguments it has, is not said here"
            source.refuse(source.tree, what, why, "a function with named arguments that calls it")
        made = self.core(f, argtypes, (), self.functions_among(f, argtypes))
        if holds_structured(type_of(made.result)):
            what, why = "a value with fields", "a derivative of it would have to be one, too"
            source.refuse(source.tree, what, why, "a tuple of the fields")
        self.complexes.check_entered(made, argtypes)
        return made

    def functions_among(self, f: Dispatcher, argtypes: NumbaTypes) -> dict[str, Static]:
        """Parameters whose arguments are functions; classes of named tuples are named on the way."""
        functions = {}
        for k, (name, kind) in enumerate(zip(self.source(f).parameters, argtypes, strict=True)):
            self._find_classes(kind, (("arg", k),))
            if isinstance(kind, types.Dispatcher):
                functions[name] = Static(kind.dispatcher, (("arg", k),))
        return functions

    def _find_classes(self, kind: NumbaType, path: AccessPath) -> None:
        """Name the classes of named tuples, the methods of jitclasses and functions in tuples, among the arguments."""
        if isinstance(kind, types.Dispatcher) and len(path) > 1:
            self._paths.setdefault(id(kind.dispatcher), path)
        if isinstance(kind, types.BaseNamedTuple):
            cls = kind.instance_class
            if all(ref.value is not cls for ref in self.refs.values()):
                name = self.names.fresh(f"_{cls.__name__}")
                self.refs[name] = anf.Ref(name, cls, (*path, ("attr", "instance_class")))
        if isinstance(kind, types.ClassInstanceType):
            refer_methods(self.refs, self.names, kind.class_type, (*path, ("attr", "class_type")))
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self._find_classes(part, (*path, ("attr", "types"), ("item", k)))

    def called(self, s: Call) -> tuple[Hashable, Callable[[], Function]]:
        """Key of a call's callee, and a thunk that builds it."""
        assert isinstance(s.function, Global)
        f, path = s.function.value, s.function.path
        argtypes = tuple(map(type_of, s.args))
        if has_rule(f):
            return (id(f), argtypes), lambda: self.rules.stub(s)
        functions = self.functions_passed(f, s.args, argtypes)
        key, frozen = (id(f), argtypes), tuple(isinstance(x, Global) and is_array(x) for x in given(s))

        def make() -> Function | UnsupportedError:
            """Core of the callee, or why there is none."""
            return self._derived(key, lambda: self.core(f, argtypes, path, functions, False, self.callers.get(s)))

        if any(frozen) and not isinstance(make(), Function):  # what is not derived cannot write to frozen arrays
            return (*key, frozen), lambda: self._whole(s, make())
        return key, lambda: self._whole(s, make())

    def _derived(self, key: Hashable, make: Callable[[], Function]) -> Function | UnsupportedError:
        """Core of a callee, or the refusal of it, which is memoised."""
        if key not in self._refused:
            try:
                return make()
            except UnsupportedError as why:
                self._refused[key] = why
        return self._refused[key]

    def _whole(self, s: Call, made: Function | UnsupportedError) -> Function:
        """Callee of a call: its core, or a function with one opaque statement if it has none."""
        return made if isinstance(made, Function) else underived(self, s, made)

    def functions_passed(
        self, f: Dispatcher, args: Sequence[Tree | anf.Atom], argtypes: NumbaTypes
    ) -> dict[str, Static]:
        """Parameters of a callee whose arguments at a call are functions."""
        functions = {}
        for name, a, kind in zip(self.source(f).parameters, args, argtypes, strict=True):
            if isinstance(kind, types.Dispatcher):
                known = a.path if isinstance(a, (Global, anf.Ref)) else self._path_of(kind.dispatcher, f)
                functions[name] = Static(kind.dispatcher, known)
        return functions

    def _path_of(self, passed: Dispatcher, to: Dispatcher) -> AccessPath:
        """Access path of a function that a variable holds, from another place that names it."""
        if id(passed) not in self._paths:
            found = find(passed, [Static(self.f, ())])
            if found is None:
                source, name = self.source(self.f), passed.py_func.__name__
                why = f"it is passed to {describe(to.py_func)}, and no numba function here names it"
                source.refuse(
                    source.tree, f"a variable that holds the function {name}", why, f"{name} where it is passed"
                )
            self._paths[id(passed)] = found.path
        return self._paths[id(passed)]


def _is_derivative_call(s: Call) -> bool:
    return isinstance(s.function, Global) and is_derivative(s.function.value)
