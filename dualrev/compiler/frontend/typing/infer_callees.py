"""Type inference of callees without code generation: stand-in dispatchers that infer and are never compiled.

Numba infers the type of `g(x)` by compiling g for that, machine code included; and that of `np.sum(x)` by compiling its
implementation, which takes a tenth of a second and up to two seconds. The derivative often calls neither of them.
Inference is given stand-ins, which answer by inference alone:

    f(x): return g(x) + 1         a stand-in for g infers g's own text, in which h is a stand-in, too
    g(x): return np.sum(h(x))     one for numba's implementation of np.sum infers the text of that

A stand-in must not become a value: only what is called by its name gets one. Numba has the last word: inference that
fails with stand-ins is done again without (infer.py).
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any

from numba.core import compiler, event, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import ForceLiteralArg, TypingError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing import make_concrete_template, signature
from numba.core.typing.templates import _IntrinsicTemplate, _OverloadFunctionTemplate
from numba.core.untyped_passes import InlineInlinables

from dualrev.compiler.ir import anf
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes, Signature, UserValue
from dualrev.eager.numba_rules import Ruled
from dualrev.rules.library.constant_functions import TakesFunctions, as_constant
from dualrev.rules.library.njit_internal import Inner

__all__ = ["Uncompiled", "called_only", "inferred"]

_CPUDispatcher: Any = CPUDispatcher  # numba has no type information

# Inference


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(AnalysisPass):
    """Terminal pass: the pipeline returns the typed IR as `cr`, which is usually the compiled function."""

    _name = "dualrev_stop_after_inference"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Store the IR, the types of its variables and the type of the result."""
        state.cr = state.func_ir, state.typemap, state.return_type
        return False


class _Inference(compiler.CompilerBase):
    """Numba's compiler pipeline up to type inference, without inlining: inlinable callees stay calls."""

    def define_pipelines(self) -> list[Any]:
        """Return the untyped passes but for inlining, then type inference, then the stop."""
        passes = compiler.DefaultPassBuilder.define_untyped_pipeline(self.state)
        passes.passes = [(made, name) for made, name in passes.passes if made is not InlineInlinables]
        passes.add_pass(NopythonTypeInference, "type inference")
        passes.add_pass(_Stop, "stop")
        passes.finalize()
        return [passes]


def inferred(function: FunctionType, args: tuple[anf.Atom, ...], flags: Any, declared: dict[str, NumbaType]) -> Any:
    """Infer a function by numba: return its IR, the types of its variables, and the type of the result."""
    contexts = cpu_target.typing_context, cpu_target.target_context
    return compiler.compile_extra(*contexts, function, args, None, flags, declared, pipeline_class=_Inference)


# Stand-ins


class Uncompiled:
    """Memoised stand-in dispatchers for numba functions, with the result types that they have inferred."""

    def __init__(self) -> None:
        self._made: dict[int, _StandIn] = {}

    def of(self, f: Dispatcher) -> UserValue:
        """Return the stand-in for a numba function; anything that has none is returned unchanged."""
        known = type(f) in (CPUDispatcher, Inner) or isinstance(f, (TakesFunctions, Ruled))
        if not known or not f._can_compile or f._compiler.pipeline_class is not compiler.Compiler:
            return f
        if id(f) not in self._made:
            self._made[id(f)] = made = _StandIn(f)
            made.substitute(self)
        return self._made[id(f)]

    def returned(self, f: Dispatcher, kinds: NumbaTypes) -> NumbaType:
        """Return the known result type of a numba function, compiled or inferred for these types; else None."""
        stand_in = self._made.get(id(f))
        known = [*f.nopython_signatures, *(stand_in.known.values() if stand_in is not None else ())]
        return next((x.return_type for x in known if tuple(map(types.unliteral, x.args)) == kinds), None)

    @contextmanager
    def implementations(self) -> Iterator[None]:
        """Context in which numba's `@overload` implementations are inferred through stand-ins, not compiled."""
        with global_compiler_lock:  # no other thread compiles meanwhile
            replaced, before = _Replaced(self._implementation), _methods()  # of inference around this, if there is any
            try:
                _put(replaced.new)
                with event.install_listener("numba:compile", replaced):
                    yield
            finally:
                _put(before)

    def _implementation(self, template: Any, args: NumbaTypes, kws: dict[str, NumbaType]) -> Any:
        """Infer the signature of a call of an `@overload` implementation; None to leave it to numba."""
        key = type(template), tuple(args), tuple(kws.items())
        if key not in _KNOWN:
            decorator = template._get_jit_decorator()
            # The template is one for this call.
            template._get_jit_decorator = lambda: lambda **options: lambda f: self.of(decorator(**options)(f))
            try:
                made, given = template._build_impl(None, args, kws)
            finally:
                del template._get_jit_decorator
            found = None if made is None else types.Dispatcher(made).get_call_type(template.context, given, kws)
            if found is None or any(isinstance(x, types.Callable) for x in args):
                return found
            _KNOWN[key] = found
        return _KNOWN[key]


#: Signatures of calls of functions that numba knows.
_KNOWN: dict[Any, Any] = {}


class _Replaced(event.Listener):
    """Monkey patch of the typing methods of numba's templates; off while numba compiles, and for intrinsics.

    Numba keeps what an intrinsic has said of types, and lowers what it has typed.
    """

    def __init__(self, implementation: Callable[[Any, Any, Any], Any]) -> None:
        self._depth = 0

        def generic(template: Any, args: NumbaTypes, kws: dict[str, NumbaType]) -> Any:
            """Type a call by inference of its implementation; else as numba does."""
            found = implementation(template, args, kws) if template._inline.is_never_inline else None
            return _NUMBAS[0](template, args, kws) if found is None else found

        def get_impl_key(template: Any, sig: Signature) -> Any:
            """Return the compiled overload, without compiling one."""
            # What is typed here is never lowered. A function that waits to be lowered has compiled its calls before.
            return template._compiled_overloads.get(sig.args)

        def as_ever(template: Any, args: NumbaTypes, kws: dict[str, NumbaType]) -> Any:
            """Type an intrinsic with numba's own methods."""
            self.on_start(None)
            try:
                return _NUMBAS[2](template, args, kws)
            finally:
                self.on_end(None)

        self.new = generic, get_impl_key, as_ever

    def on_start(self, event: Any) -> None:
        """Restore numba's methods when numba begins to compile a function."""
        self._depth += 1
        _put(_NUMBAS)

    def on_end(self, event: Any) -> None:
        """Patch the methods again when the outermost compilation ends."""
        self._depth -= 1
        if not self._depth:
            _put(self.new)


def _methods() -> tuple[Any, Any, Any]:
    overload: Any = _OverloadFunctionTemplate
    return overload.generic, overload.get_impl_key, _IntrinsicTemplate.generic


def _put(methods: tuple[Any, Any, Any]) -> None:
    overload: Any = _OverloadFunctionTemplate
    overload.generic, overload.get_impl_key, _IntrinsicTemplate.generic = methods


_NUMBAS = _methods()


class _StandIn(_CPUDispatcher):
    """Dispatcher that answers type inference and is never compiled."""

    def __init__(self, f: Dispatcher) -> None:
        own = f.py_func
        space, cells = dict(own.__globals__), tuple(map(_copied, own.__closure__ or ()))
        made = FunctionType(own.__code__, space, own.__name__, own.__defaults__, cells)
        made.__kwdefaults__, made.__module__, made.__qualname__ = own.__kwdefaults__, own.__module__, own.__qualname__
        super().__init__(made, dict(f.locals), dict(f.targetoptions))
        self.stands_for = f
        self.known: dict[tuple[Any, ...], Any] = {}

    def substitute(self, others: Uncompiled) -> None:
        """Rebind the callees in its globals and closure to stand-ins, itself included."""
        code, space = self.py_func.__code__, self.py_func.__globals__
        called = _called(code)
        for name in called & space.keys():
            space[name] = others.of(space[name])
        for name, cell in zip(code.co_freevars, self.py_func.__closure__ or (), strict=True):
            if name in called and cell != CellType():
                cell.cell_contents = others.of(cell.cell_contents)

    def get_call_template(self, args: NumbaTypes, kws: dict[str, NumbaType]) -> Any:
        """Infer a call, as numba's dispatchers do by compilation."""
        if isinstance(self.stands_for, TakesFunctions):
            args, kws = tuple(map(as_constant, args)), {k: as_constant(x) for k, x in kws.items()}
        pysig, folded = self._compiler.fold_argument_types(args, kws)
        args = tuple(folded)
        if args not in self.known:
            self.known[args] = signature(self._result(args), *args)
            # What is recursive is looked up here, as what is compiled would be called.
            called = SimpleNamespace(modname="", qualname=self.py_func.__qualname__, uid=len(self.overloads))
            self.overloads[args] = SimpleNamespace(fndesc=called, entry_point=None)
        made = make_concrete_template(f"CallTemplate({self.py_func.__name__})", self.py_func, [self.known[args]])
        return made, pysig, args, {}

    def _result(self, args: tuple[anf.Atom, ...]) -> NumbaType:
        compiled = self.stands_for.overloads.get(args)
        if compiled is not None:
            return compiled.signature.return_type
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        with self._compiling_counter:  # by that numba sees a call of itself
            try:
                result = inferred(self.py_func, args, flags, self.locals)[2]
            except ForceLiteralArg as e:
                raise e.bind_fold_arguments(lambda args, kws: self._compiler.fold_argument_types(args, kws)[1]) from e
        if _is_bound(result):
            raise TypingError(f"{result} needs the function that makes it")
        return result


def _copied(cell: CellType) -> CellType:
    """Copy a closure cell; an empty one stays empty."""
    return CellType() if cell == CellType() else CellType(cell.cell_contents)


def _is_bound(kind: NumbaType) -> bool:
    """Whether a type depends on the identity of a function object."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_is_bound, kind.types))
    if isinstance(kind, types.Optional):
        return _is_bound(kind.type)
    if isinstance(kind, types.List | types.ListType):
        return _is_bound(kind.dtype)
    return isinstance(kind, types.Generator | types.Dispatcher | types.FunctionType | types.MakeFunctionLiteral)


# What is only called


def called_only(text: str) -> set[str]:
    """Return the names that a program calls and never uses as values."""
    found = list(ast.walk(ast.parse(text)))
    called = {x.func: x.func.id for x in found if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)}
    return set(called.values()) - {x.id for x in found if isinstance(x, ast.Name) and x not in called}


def _called(code: CodeType) -> set[str]:
    """Return the globals and free variables that bytecode calls and never uses as values."""
    called: set[str] = set()
    others: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for k, x in enumerate(instructions):
        if x.opname == "LOAD_GLOBAL":  # its last bit says that a call follows
            (called if (x.arg or 0) & 1 else others).add(x.argval)
        if x.opname == "LOAD_DEREF":
            beside = instructions[k + (1 if sys.version_info >= (3, 13) else -1)]
            (called if beside.opname == "PUSH_NULL" else others).add(x.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):  # it may do anything with them
            others |= {*inner.co_names, *inner.co_freevars}
    return called - others
