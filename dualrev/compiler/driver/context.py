"""From numba functions to core: the functions that a module of derivatives is made from.

    source -> prune -> lower -> infer -> expand -> core

A function is read once for every combination of argument types. What it calls is read when somebody asks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from numba.core import types

from dualrev.compiler.ad.custom.custom_forward import Tangents
from dualrev.compiler.ad.custom.custom_reverse import RuleSweeps
from dualrev.compiler.ad.custom.custom_rules import has_rule, is_checkpoint
from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.higher import compiled_derivative
from dualrev.compiler.ad.opaque_calls import underived
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.determinism import done_anew, draws_anew
from dualrev.compiler.analysis.memory.alias import Memory, given, is_array, is_real, type_of
from dualrev.compiler.analysis.values.finiteness import holds_wild
from dualrev.compiler.driver.complex_arguments import ComplexCalls
from dualrev.compiler.frontend.desugar.closures import parameters
from dualrev.compiler.frontend.desugar.iter_next import iterates
from dualrev.compiler.frontend.lowering.to_anf import Lowered, lower
from dualrev.compiler.frontend.reading.ast_purity import looks_at_layout
from dualrev.compiler.frontend.reading.jitclass_methods import refer_methods
from dualrev.compiler.frontend.reading.locals_option import with_conversions
from dualrev.compiler.frontend.reading.njit_options import alike, declared, is_checked, is_checked_for, kept
from dualrev.compiler.frontend.reading.prune_branches import prune
from dualrev.compiler.frontend.reading.source import Source, Static, describe, is_derivative, read
from dualrev.compiler.frontend.typing.dtype_constants import fold_dtypes
from dualrev.compiler.frontend.typing.infer import Typed, infer
from dualrev.compiler.frontend.typing.infer_callees import Uncompiled
from dualrev.compiler.frontend.typing.optional import without_optionals
from dualrev.compiler.frontend.typing.write_truth import write_truth
from dualrev.compiler.ir.anf.operations import Ref
from dualrev.compiler.ir.anf.operations import leaves as old_leaves
from dualrev.compiler.ir.anf_to_core import typed
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.atoms import Constant, Global, Var
from dualrev.compiler.ir.core.nodes import Call, Function, Opaque, Statement
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, mapped, renewed, statements
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.names import Names
from dualrev.compiler.optimize.constant_folding import with_folded_branches
from dualrev.compiler.optimize.initial_values import with_initial_values
from dualrev.compiler.optimize.inline import inlined, is_small
from dualrev.compiler.parallel.outline import outlined
from dualrev.compiler.scalarize.lower import expand
from dualrev.compiler.scalarize.recognize_accumulation import simplify
from dualrev.compiler.types.leaves import holds_structured
from dualrev.compiler.types.opaque_types import is_container
from dualrev.errors import ArgumentError, ArgumentNumberError, ScalarError, UnsupportedError

__all__ = ["Front", "Origin"]

#: What iterators go over place by place.
_PLACES = (types.Array, types.BaseTuple, types.List, types.ListType)


@dataclass(frozen=True, eq=False)
class Origin:
    """The user's function that one of core was made from."""

    dispatcher: Any
    source: Source
    parameters: list[str]  # what its parameters are called
    asks_for_layout: bool  # whether it asks, while it runs, if an array is contiguous
    looks_at_layout: bool  # whether that, or it looks at the flags or the strides of an array
    result: Any = None  # the numba type of its value, if that is known


class Front:
    """The functions of a module in core, and the transformations of them.

    names    the names of the module
    refs     what its text uses and does not define, by name
    """

    def __init__(self, sources: Mapping[int, Source] = MappingProxyType({})) -> None:
        self.names = Names()
        self.refs: dict[str, Ref] = {}
        self.program = Program(self.called)
        self.memory = Memory(self.program, lambda s: self.rules.refuse_draw(s))
        self.rules = Tangents(self)
        self.forward = Forward(self.program, self.memory, self.rules)
        self.reverse = Reverse(self.program, self.memory, self.forward, RuleSweeps(self.rules))
        self.f: Any = None  # the function that is differentiated
        self.inherits = True  # whether what it calls has its error model, if that says none itself
        self.sites: dict[Call, Source] = {}  # where functions with rules are called
        self.place: tuple[Source, int] | None = None  # the user's line that calls the derivative that is read
        self.sources = dict(sources)  # of functions, by their id
        self._cores: dict[Any, Function] = {}
        self._refused: dict[Any, UnsupportedError] = {}  # why there are none, of what is called
        self._reading: set[int] = set()  # functions whose calls are looked at: one that calls itself is not small
        self._uncompiled = Uncompiled()
        self._paths: dict[int, tuple[Any, ...]] = {}  # to functions that are arguments
        self.complexes = ComplexCalls(self)

    def source(self, f: Any) -> Source:
        """The source of a numba function."""
        if id(f) not in self.sources:
            self.sources[id(f)] = (
                compiled_derivative.source_of(f, self.source(f.derivative_of[0]))
                if is_derivative(f)
                else with_conversions(read(f))
            )
        return self.sources[id(f)]

    def parameters(self, f: Any) -> list[str]:
        """The names of its parameters."""
        return parameters(self.source(f).tree)

    def core(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static], apart: bool = True
    ) -> Function:
        """A numba function in core; `apart` as in lower.py: of f itself it is checked, of what it calls not."""
        key = (id(f), argtypes, apart)
        for static in functions.values():
            self._paths.setdefault(id(static.value), static.path)
        if key not in self._cores:
            make = compiled_derivative.core if is_derivative(f) else Front._read
            self._cores[key] = made = make(self, f, argtypes, path, functions, apart)
            for s in statements(made.body):
                if isinstance(s, Call) and isinstance(s.function, Global) and has_rule(s.function.value):
                    self.sites[s] = made.origin.source
                if isinstance(s, Call):
                    self._check_objects(s, made.origin.source)
            self._check_derivatives(made)
            if is_derivative(f):
                bottom, kinds = f._function(argtypes)
                self.check_draws(self.core(bottom, kinds, path, functions), f"the derivative of a {f.derivative_of[1]}")
            elif made.again:
                self.check_draws(made, "a checkpoint", later=True)
            made = outlined(with_initial_values(with_folded_branches(made)), self.program, self.memory)
            self._reading.add(id(f))
            try:
                self._cores[key] = with_folded_branches(inlined(made, lambda s: self._small(made, s)))
            finally:
                self._reading.discard(id(f))
        return self._cores[key]

    def _small(self, caller: Function, s: Call) -> Function | None:
        """What a call calls, if that is to be put in its place: it is small, and has the options of the caller."""
        f = s.function.value if isinstance(s.function, Global) else None
        if f is None or has_rule(f) or is_derivative(f) or id(f) in self._reading:
            return None
        found = self.program.function(s)
        if not is_small(found) or found.origin.looks_at_layout or found.checked != caller.checked:
            return None
        one, other = (kept(x) | {"forceinline": True} for x in (f, caller.origin.dispatcher))
        return found if one == other else None

    def _check_objects(self, s: Call, source: Source) -> None:
        """UnsupportedError for an object that a function takes which has derivatives of its own."""
        f = s.function.value if isinstance(s.function, Global) else None
        if (has_rule(f) or is_derivative(f)) and any(holds_structured(type_of(x)) for x in s.args):
            what = f"the call of {describe(getattr(f, 'py_func', f))} with an object"
            source.refuse(s.line, what, "its derivative would be an object, too", "the fields as arguments")

    def check_draws(self, f: Function, what: str, later: bool = False) -> None:
        """UnsupportedError for what runs a function again, perhaps later, if the second run may do something else."""
        if later and any(isinstance(x, Var) and is_container(x.type) for p in f.parameters for x in leaves(p)):
            why = "the function is run once more, later, and the container may have changed by then"
            f.origin.source.refuse(
                f.origin.source.tree, f"a set, a dict or a list as an argument of {what}", why, "an array"
            )
        if draws_anew(f, self.program):
            source = f.origin.source
            why = "it draws random numbers, and is run more than once: the numbers would be others each time"
            source.refuse(
                source.tree, what, why, "np.random.seed(k) as its first line, or an array that is drawn outside"
            )
        if (found := done_anew(f, self.program)) is not None:
            inside, s = found
            line = f"{s.refusal[0]} in {what}" if isinstance(s, Opaque) else f"this call in {what}"
            why = "the function is run more than once, and nobody knows whether this does the same each time"
            inside.origin.source.refuse(s.line, line, why, "dr.grad or dr.jvp, which run it once")

    def _read(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static], apart: bool
    ) -> Function:
        lowered, known = self.inferred(f, argtypes, path, functions)
        source = lowered.source
        signature = declared(f, argtypes)
        converts = signature is not None and not alike(signature.return_type, known.result)
        returned = signature.return_type if converts else known.result
        fold_dtypes(lowered, known)
        write_truth(lowered, known)
        without_optionals(lowered, known, not (apart or converts), converts)
        made = expand(lowered, known, argtypes, apart, returned if converts else None)
        simplify(made.body, old_leaves(made.result), made.types)
        looks = made.asks_for_layout or looks_at_layout(source.tree)
        origin = Origin(f, source, lowered.parameters, made.asks_for_layout, looks, returned)
        checked = is_checked_for(f, argtypes, self.f or f) if self.inherits else is_checked(f)
        core = typed(made, origin, checked, lambda s: self.complexes.symbol(s, source))
        _verify(core, source)
        infinite = [
            x
            for p, kind in zip(core.parameters, argtypes, strict=True)
            for x in leaves(p)
            if isinstance(x, Var) and isinstance(kind, types.Omitted) and holds_wild(kind.value)
        ]
        return replace(core, again=is_checkpoint(f), wild=tuple(infinite))

    def origin(self, f: Any, source: Source) -> Origin:
        """The origin of a function of which only types are known."""
        return Origin(f, source, [a.arg for a in source.tree.args.args], asks_for_layout=False, looks_at_layout=False)

    def inferred(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static]
    ) -> tuple[Lowered, Typed]:
        """The function in lowered core, and the types of its variables."""
        source = prune(self.source(f), argtypes)

        def attempt(listed: bool) -> tuple[Lowered, Typed]:
            lowered = lower(source, path, functions, self.refs, self.names, listed)
            return lowered, infer(lowered, argtypes, f.targetoptions, self._uncompiled, lambda: f.compile(argtypes))

        try:
            lowered, known = attempt(False)
        except UnsupportedError:  # a loop over a set or the like has no types, until that is a list
            loops = any(isinstance(x, (ast.For, ast.comprehension)) for x in ast.walk(source.tree))
            if not (loops or iterates(source.tree)):
                raise
            return attempt(True)
        have_places = all(isinstance(known.of.get(x), _PLACES) for x in lowered.iterated)
        over = (known.of.get(x) for s in lowered.lengths for x in s.args if isinstance(x, str))
        dicts = any(isinstance(kind, types.DictType) for kind in over)  # d[k] is no key
        return (lowered, known) if have_places and not dicts else attempt(True)

    def _check_derivatives(self, f: Function) -> None:
        """UnsupportedError for a call of a compiled derivative that has no derivatives itself."""
        before = self.place
        for s in statements(f.body):
            if isinstance(s, Call) and isinstance(s.function, Global) and is_derivative(s.function.value):
                self.place = before or (f.origin.source, s.line)
                self.program.function(s)
        self.place = before

    def entered(self, f: Any, argtypes: tuple[Any, ...]) -> Function:
        """The function that is differentiated, for these types of arguments."""
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

    def once(self, f: Function) -> Function:
        """A function that only calls the one that is differentiated, if that one calls itself; else the function.

        Both sweeps of f in one function would be a second derivative of it, beside the one that its calls have.
        """
        call = self._call_of_itself(f)
        if call is None or f.again or any(isinstance(x, Global) or is_array(x) for x in leaves(f.result)):
            return f
        parameters = tuple(mapped(p, lambda x: Var(x.name, x.type)) for p in f.parameters)
        result = renewed(call.result)
        targets = tuple(x for x in leaves(result) if isinstance(x, Var))
        made = Call(targets, call.function, parameters, result, f.origin.source.tree.lineno)
        return replace(f, parameters=parameters, body=(made,), result=result)

    def _call_of_itself(self, f: Function) -> Call | None:
        """The call, in a function or what it calls, that is one of the function with arguments of the same types."""
        key, seen, todo = (id(self.f), tuple(map(type_of, f.parameters))), set(), [f]
        for g in todo:
            for s in statements(g.body):
                if not isinstance(s, Call) or not isinstance(s.function, Global):
                    continue
                called = self.program.key(s)
                if called == key:
                    return s
                if called not in seen:
                    seen.add(called)
                    todo.append(self.program.function(s))
        return None

    def functions_among(self, f: Any, argtypes: tuple[Any, ...]) -> dict[str, Static]:
        """The arguments that are functions; classes of named tuples among the arguments are known afterwards."""
        functions = {}
        for k, (name, kind) in enumerate(zip(self.parameters(f), argtypes, strict=True)):
            self._find_classes(kind, (("arg", k),))
            if isinstance(kind, types.Dispatcher):
                functions[name] = Static(kind.dispatcher, (("arg", k),))
        return functions

    def _find_classes(self, kind: Any, path: tuple[Any, ...]) -> None:
        """Name the classes of named tuples among the arguments."""
        if isinstance(kind, types.BaseNamedTuple):
            cls = kind.instance_class
            if all(ref.value is not cls for ref in self.refs.values()):
                name = self.names.fresh(f"_{cls.__name__}")
                self.refs[name] = Ref(name, cls, (*path, ("attr", "instance_class")))
        if isinstance(kind, types.ClassInstanceType):
            refer_methods(self.refs, self.names, kind.class_type, (*path, ("attr", "class_type")))
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self._find_classes(part, (*path, ("attr", "types"), ("item", k)))

    def called(self, s: Call) -> tuple[Any, Callable[[], Function]]:
        """The key of what a call calls, and how to get it."""
        assert isinstance(s.function, Global)
        f, path = s.function.value, s.function.path
        argtypes = tuple(map(type_of, s.args))
        if has_rule(f):
            return (id(f), argtypes), lambda: self.rules.stub(s)
        functions = self.functions_passed(f, s.args, argtypes)
        key, frozen = (id(f), argtypes), tuple(isinstance(x, Global) and is_array(x) for x in given(s))
        make = lambda: self._derived(key, lambda: self.core(f, argtypes, path, functions, apart=False))  # noqa: E731
        if any(frozen) and not isinstance(make(), Function):  # what is not derived cannot write to frozen arrays
            return (*key, frozen), lambda: self._whole(s, make())
        return key, lambda: self._whole(s, make())

    def _derived(self, key: Any, make: Callable[[], Function]) -> Function | UnsupportedError:
        """A function that is called in core, or why there is none."""
        if key not in self._refused:
            try:
                return make()
            except UnsupportedError as why:
                self._refused[key] = why
        return self._refused[key]

    def _whole(self, s: Call, made: Function | UnsupportedError) -> Function:
        """What a call calls; as a whole, if there is no core of it."""
        return made if isinstance(made, Function) else underived(self, s, made)

    def functions_passed(self, f: Any, args: Sequence[Any], argtypes: tuple[Any, ...]) -> dict[str, Static]:
        """The arguments of a call that are functions."""
        functions = {}
        for name, a, kind in zip(self.parameters(f), args, argtypes, strict=True):
            if isinstance(kind, types.Dispatcher):
                known = a.path if isinstance(a, (Global, Ref)) else self._paths[id(kind.dispatcher)]
                functions[name] = Static(kind.dispatcher, known)
        return functions

    def chosen_numbers(self, argnums: Any, f: Function, primals: tuple[Any, ...]) -> list[int]:
        """The numbers of the arguments that are chosen, of these types."""
        count = len(primals)
        given = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
        numbers = [k % count for k in given if isinstance(k, int) and not isinstance(k, bool) and -count <= k < count]
        if not numbers or len(set(numbers)) < len(given):
            raise ArgumentNumberError(argnums, count)
        for k in numbers:
            if not any(map(carries, leaves(f.parameters[k]))):
                raise ArgumentError.of(str(primals[k]))
        return numbers

    def check_scalar(self, f: Function) -> None:
        """ScalarError for a function that returns something else than one real number."""
        x, source = f.result, f.origin.source
        if not (is_real(x) or (isinstance(x, Constant) and isinstance(x.value, float))):
            raise ScalarError.of(str(type_of(x)), f"{source.file}:{source.tree.lineno}")

    def asks_for_layout(self, f: Function) -> bool:
        """Whether a function, or one that it calls, asks if an array is contiguous: then shadows have its strides."""
        return any(g.origin.asks_for_layout for g in self._run_by(f))

    def looks_at_layout(self, f: Function) -> bool:
        """Whether that, or one looks at flags or strides: then f has to be run again with arrays of such strides."""
        return any(g.origin.looks_at_layout for g in self._run_by(f))

    def _run_by(self, f: Function) -> Iterator[Function]:
        """A function, and those that it calls."""
        seen: set[Any] = set()
        todo = [f]
        while todo:
            f = todo.pop()
            yield f
            for s in traverse.statements(f.body):
                if isinstance(s, Call) and (key := self.program.key(s)) not in seen:
                    seen.add(key)
                    gradient = self.program.gradient(s)
                    todo.append(self.program.function(s) if gradient is None else gradient.of)


def _verify(core: Function, source: Source) -> None:
    """Refuse a statement that is not well formed: it would be a constant, without a word."""

    def refuse(s: Statement, why: str) -> None:
        why = f"the compiler has no rule for it ({why}). Please report it"
        source.refuse(s.line, "this statement", why, "it with numbers, or with elements of arrays")

    check(core, refuse)
