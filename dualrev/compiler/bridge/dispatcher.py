"""Numba dispatchers of emitted source, kept on disk if caching is on (store.py and key.py).

`derivative(f, "grad", 0)` is a numba dispatcher of its own: called from Python it goes through numba's compiled call
path, at the cost of calling f; called from other njit code it is typed and linked as any numba function. For each tuple
of argument types it loads an emitted module, has numba compile the module's top function (the entry) for these types,
and takes over what came of it:

    types -> fingerprint -> file in the cache, or emit(f, ...) -> namespace -> entry.compile -> overload

Emitted functions get a qualified name that holds the fingerprint: numba makes the names of symbols from it, and code
loaded from the cache must not meet other code of the same name. Their `__module__` is this one: numba imports it to
load compiled functions again, in processes that know nothing of the emitted module.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import uuid
import warnings
from collections import Counter
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from numba.core import config, sigutils, types
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _CompileStats
from numba.core.errors import NumbaError, NumbaExperimentalFeatureWarning, NumbaPerformanceWarning, TypingError
from numba.core.registry import CPUDispatcher
from numba.core.withcontexts import objmode_context

from dualrev.compiler.bridge.cache.frozen_globals import World, check, plain, watch
from dualrev.compiler.bridge.cache.key import fingerprint
from dualrev.compiler.bridge.cache.machine_code import MachineCode
from dualrev.compiler.bridge.cache.store import CachedModule, folder_for, resolve, tell_uncached, warn
from dualrev.compiler.bridge.check_arguments import check_taken, check_writable
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.bridge.numba_ext.compile_log import Compilation, compiling
from dualrev.compiler.bridge.numba_ext.emitted_functions import own_functions, prepare
from dualrev.compiler.bridge.plain_arguments import copies, separate
from dualrev.compiler.frontend.reading.njit_options import inherited, outlined
from dualrev.compiler.ir.pass_manager import Settings
from dualrev.compiler.runtime.link import DeferredLibrary, deferred_machine_code
from dualrev.compiler.runtime.recursion.stack_guard import need_stack  # noqa: F401 - functions that numba loads from its cache may need it
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, NumbaType, NumbaTypes, Signature, UserValue
from dualrev.diagnostics.nans import debugging, listen
from dualrev.diagnostics.quoting import execute, identifier, remember, unused
from dualrev.eager.checking.finite_results import finite_result
from dualrev.eager.copies import copied
from dualrev.errors import DualrevError
from dualrev.rules.library.constant_functions import ConstantFunction

if TYPE_CHECKING:
    from dualrev.compiler.codegen.count_tape import TapeCounter

__all__ = ["Derivative", "made"]

_CPUDispatcher: Any = CPUDispatcher  # numba's type information leaves out what is overridden here

_TAPES = {  # what the placeholders do: the same by the tape, for the curious who call `py_func`
    "grad": "return {dualrev}.grad({function}, {argnums})({all})",
    "value_and_grad": "return {dualrev}.value_and_grad({function}, {argnums})({all})",
    "grad_aux": "return {dualrev}.grad({function}, {argnums}, True)({all})",
    "value_and_grad_aux": "return {dualrev}.value_and_grad({function}, {argnums}, True)({all})",
    "vjp": "return {dualrev}.vjp({function}, {primals})[1]({others})",
    "jvp": "return {dualrev}.jvp({function}, ({primals},), ({others},))",
    "keep": "return {function}({all}), ({all},)",
    "hvp": "return {dualrev}.hvp({function})({all})",
    "product": "{gradient} = lambda {chosen}: {dualrev}.grad({function}, {argnums})({primals})\n"
    "    return {dualrev}.jvp({gradient}, ({chosen},), ({others},))[1]",
    "hessian": "return {dualrev}.hessian({function}, {argnums})({all})",
    "pushes": "return {others} @ {dualrev}.jacobian({function}, {argnums})({primals})"
    ".reshape(-1, {others}.shape[1]).T,",
    "products": "return {others} @ {dualrev}.hessian({function}, {argnums})({primals}).reshape(-1, {others}.shape[1]),",
    **{x: f"return {{dualrev}}.{x}({{function}}, {{argnums}})({{all}})" for x in ("jacfwd", "jacrev", "jacobian")},
}


def made(kind: NumbaType, f: Dispatcher, transform: str, argnums: ArgNums) -> Derivative:
    """Memoised derivative of a numba function, of the class `kind`."""
    # A weak dictionary would keep f: the derivatives refer to it. What f itself refers to goes with it.
    known = f.__dict__.get("_dualrev_derivatives", {})
    key = id(f), kind, transform, argnums  # id: functools.wraps copies the dictionary to another function
    if key in known:
        return known[key]
    watch(f)
    return vars(f).setdefault("_dualrev_derivatives", {}).setdefault(key, kind(f, transform, argnums))


class Derivative(_CPUDispatcher):
    """Numba dispatcher whose overloads the compiler of dualrev makes: see the module's docstring."""

    is_derivative = True  # see frontend/reading/source.py

    def __init__(self, f: Dispatcher, transform: str, argnums: ArgNums) -> None:
        self.derivative_of = f, transform, argnums
        self._entries: dict[tuple[types.Type, ...], Any] = {}
        self._worlds: dict[tuple[types.Type, ...], World] = {}
        self._modules: dict[tuple[types.Type, ...], CachedModule] = {}  # go with it to processes that have no source
        self.compilations: dict[tuple[types.Type, ...], Compilation] = {}
        self.pullbacks: set[Any] = (
            set()
        )  # types of arguments that api.py has compiled, and keys for them (plain_arguments.py)
        self.written: dict[int, Any] = {}  # what ad_in_njit.py has written with it, by the number of arguments
        count = len(inspect.signature(f.py_func).parameters)
        self._places = [0, *range(2, count + 1)] if transform == "hvp" else list(range(count))  # of f's arguments
        placeholder = _placeholder(f, transform, argnums)
        options = {k: v for k, v in f.targetoptions.items() if k != "inline"}  # numba would copy the placeholder
        super().__init__(placeholder, locals={}, targetoptions=options)
        self.__wrapped__ = f
        self.__signature__ = inspect.signature(placeholder)

    def __repr__(self) -> str:
        f, transform, argnums = self.derivative_of
        of = repr(f) if isinstance(f, Derivative) else f.__name__
        name, numbers = transform.removesuffix("_aux"), "" if argnums == 0 else f", argnums={argnums}"
        return f"<dualrev.{name} of {of}{numbers}, compiled>"

    def compile(self, sig: Signature | NumbaTypes) -> Any:
        """Compile for a signature, as numba's dispatchers do."""
        with global_compiler_lock, self._compiling_counter, fast_compilation():
            args = self._declared(tuple(map(types.unliteral, sigutils.normalize_signature(sig)[0])))
            if args not in self.overloads:
                if not self._can_compile:
                    raise RuntimeError("compilation disabled")  # numba's words
                check_writable(*self._function(args))
                frozen = check(*self._function(args))
                f, transform, _ = self.derivative_of
                with compiling(f, transform, self._primals(args)) as compilation:
                    entry = self._load(args)
                    compilation.own = _functions(entry.py_func.__globals__)[0]
                    _compile(entry, args, f)
                    compilation.lines = self._modules[args].source.count("\n") if args in self._modules else 0
                    compilation.cached = bool(entry.stats.cache_hits)
                self._entries[args], self._worlds[args], self.compilations[args] = entry, frozen, compilation
                self.add_overload(entry.overloads[args])
            return self.overloads[args].entry_point

    def forget(self, args: tuple[types.Type, ...], world: World) -> None:
        """Invalidate the overloads for these types if they froze other values; the next call compiles again."""
        worlds = self._worlds.items()
        stale = [a for a, w in worlds if plain(self._function(a)[1]) == plain(args) and w.hash != world.hash]
        if stale:
            kept = {a: made for a, made in self.overloads.items() if a not in stale}
            super()._reset_overloads()
            self.written.clear()
            for a in stale:
                del self._worlds[a], self._entries[a]
                self._modules.pop(a, None)
                self.compilations.pop(a, None)
            for made in kept.values():
                self.add_overload(made)

    def _declared(self, args: tuple[types.Type, ...]) -> tuple[types.Type, ...]:
        """Argument types that f is compiled for, if called with these: declared signatures may have others."""
        f = self.derivative_of[0]
        if isinstance(f, Derivative):
            kinds = f._declared(self._primals(args))
        elif f._can_compile:
            return args
        else:
            found = self.typingctx.resolve_overload(f.py_func, f.nopython_signatures, self._primals(args), {})
            if found is None:
                raise TypingError(f"No matching definition for argument type(s) {', '.join(map(str, args))}")
            kinds = found.args
        made = list(args)
        for k, kind in zip(self._places, kinds, strict=False):
            made[k] = kind
        return tuple(made)

    def _function(self, args: tuple[types.Type, ...]) -> tuple[Any, tuple[types.Type, ...]]:
        """User's function at the bottom of nested derivatives, and the types of its arguments."""
        f, primals = self.derivative_of[0], self._primals(args)
        return f._function(primals) if isinstance(f, Derivative) else (f, primals)

    def _primals(self, args: tuple[types.Type, ...]) -> tuple[types.Type, ...]:
        """Types of f's own arguments."""
        return tuple(args[k] for k in self._places if k < len(args))

    def _load(self, args: tuple[types.Type, ...]) -> Any:
        """Load the entry point of the module for these types, from the cache or newly emitted."""
        f, transform, argnums = self.derivative_of
        name, module, digest, obstacle = self.py_func.__name__, None, "", ""
        settings = Settings.of(os.environ)
        if settings.times:
            from dualrev.compiler.bridge.numba_ext.compile_times import install  # it needs the whole compiler

            install()
        folder = None if settings.watches else folder_for(self._function(args)[0])
        if settings.watches:
            tell_uncached(f"{name} is not cached: the environment leaves out, prints, verifies or times passes")
        if folder is not None:
            digest, obstacle = fingerprint(f, transform, argnums, args)
            folder = None if obstacle else folder
        stem = f"{name[:40]}_{digest}"
        if folder is not None and (data := folder.read(f"{stem}.py")) is not None:
            module = CachedModule.from_bytes(data)
        if module is None:
            module = self.emit(args)
            obstacle = obstacle or (module.obstacle if folder is not None else "")
            if obstacle:
                folder = None
                warn(f"{name} is not cached: it depends on {obstacle}.")
            if folder is not None and not folder.write(f"{stem}.py", module.to_bytes()):
                folder = None
        constants = {name: outlined(resolve(f, self._primals(args), path)) for name, path in module.constants.items()}
        if folder is None:
            return _execute(module, constants, f"<dualrev {name} {uuid.uuid4().hex}>")
        entry = _execute(module, constants, str(folder.place / f"{stem}.py"), digest)
        entry._cache = MachineCode(folder, stem, entry)
        return entry

    def emit(self, args: tuple[types.Type, ...]) -> CachedModule:
        """Emit the module for these types, once; from then on, pickling takes it along."""
        with global_compiler_lock:
            args = self._declared(tuple(map(types.unliteral, args)))
            if args not in self._modules:
                self._modules[args] = _emit(*self.derivative_of, args)
            return self._modules[args]

    def counted(self, args: tuple[types.Type, ...], counter: TapeCounter) -> Any:
        """Compiled entry point of a module that counts what it puts on the tape (profile/tape_info.py)."""
        with global_compiler_lock, fast_compilation():
            args = self._declared(tuple(map(types.unliteral, args)))
            f, transform, argnums = self.derivative_of
            module = _emit(f, transform, argnums, args, counter)
            constants = {x: outlined(resolve(f, self._primals(args), path)) for x, path in module.constants.items()}
            entry = _execute(module, constants, f"<dualrev {self.py_func.__name__} counted {uuid.uuid4().hex}>")
            _compile(entry, args, f)
            return entry

    def _compile_for_args(self, *args: UserValue, **kwargs: UserValue) -> Any:
        try:
            check_taken(self._function(())[0], args)
            return super()._compile_for_args(*args, **kwargs)
        except DualrevError as e:
            if config.FULL_TRACEBACKS:
                raise
            raise e.with_traceback(None)  # noqa: B904 - it is the same error, without the compiler's frames
        except ImportError as e:
            if "scipy" not in str(e):
                raise
            code = self._function(())[0].py_func.__code__
            raise ImportError(
                f"{code.co_name!r} at {code.co_filename}:{code.co_firstlineno} uses @, np.dot or np.linalg: in compiled"
                " code they need SciPy, which is not installed. Write pip install scipy"
            ) from None

    def typeof_pyval(self, val: UserValue) -> NumbaType:
        """Numba type of an argument; `pyobject` for a value that numba refuses (check_arguments.py)."""
        try:
            return super().typeof_pyval(val)
        except NumbaError:
            return types.pyobject

    def get_call_template(self, args: NumbaTypes, kws: dict[str, NumbaType]) -> Any:
        """Type a call in njit code: see numba."""
        with _as_typing_error():
            return super().get_call_template(args, kws)

    def get_compile_result(self, sig: Signature | NumbaTypes) -> Any:
        """Overload for a signature, where njit code takes this dispatcher as an argument: see numba."""
        with _as_typing_error():
            return super().get_compile_result(sig)

    @property
    def stats(self) -> _CompileStats:
        """Hits and misses of numba's cache, of the entry points."""
        entries = list(self._entries.values())
        path = next((entry.stats.cache_path for entry in entries), None)
        hits: Counter[Any] = sum((entry.stats.cache_hits for entry in entries), Counter())
        return _CompileStats(path, hits, sum((entry.stats.cache_misses for entry in entries), Counter()))

    def _reset_overloads(self) -> None:  # `recompile` means it: globals may have changed
        super()._reset_overloads()
        self.written.clear()
        self._entries.clear()
        self._worlds.clear()
        self._modules.clear()
        self.compilations.clear()

    def _make_finalizer(self) -> Any:
        return _nothing  # the compiled functions are the entries', which remove them

    def _reduce_states(self) -> dict[str, Any]:
        f, transform, argnums = self.derivative_of
        cached = not isinstance(f._cache, NullCache)
        return {"f": f, "transform": transform, "argnums": argnums, "cached": cached, "modules": dict(self._modules)}

    @classmethod
    def _rebuild(cls, f: Dispatcher, transform: str, argnums: ArgNums, cached: bool, modules: Any = ()) -> Derivative:
        if cached and isinstance(f._cache, NullCache):  # numba forgets it when it pickles f
            with contextlib.suppress(RuntimeError):  # no place for its own cache
                f.enable_caching()
        derivative = made(cls, f, transform, argnums)
        for args, module in dict(modules).items():
            derivative._modules.setdefault(args, module)
        return derivative


def _finite_call(self: Derivative, *args: UserValue, **kwargs: UserValue) -> UserValue:
    """Call a derivative; under `debug_nans`, NonFiniteError names what makes its result NaN or infinite."""
    call = super(Derivative, self).__call__
    if not debugging():
        return call(*args, **kwargs)
    args = inspect.signature(self).bind(*args, **kwargs).args if kwargs else args
    copy = copies if separate(args) else copied
    return finite_result(call, self.py_func, args, {}, self._function(())[0].py_func, copy)


def _watch_calls(on: bool) -> None:
    """Have Python call derivatives by `_finite_call`, or as numba's dispatchers, by numba's compiled call path."""
    if on:
        Derivative.__call__ = _finite_call
    elif "__call__" in vars(Derivative):
        del Derivative.__call__


listen(_watch_calls)


def _placeholder(f: Dispatcher, transform: str, argnums: ArgNums) -> FunctionType:
    """Placeholder with the name and the parameters of the derivative, which numba reads from a Python function."""
    parameters = inspect.signature(f.py_func).parameters.values()
    primals = [str(p.replace(default=p.empty, annotation=p.empty)) for p in parameters]
    variadic = transform == "hvp" and primals[0].startswith("*")  # the tangent is one of *args
    others: list[str] = []
    chosen: list[str] = []
    if transform == "vjp":
        others = [unused("cotangent", primals)]
    elif transform == "jvp":
        others = [unused(f"tangent_{p.name}", primals) for p in parameters]
    elif variadic:
        pass
    elif transform in ("hvp", "product"):
        chosen = [list(parameters)[k].name for k in (argnums if isinstance(argnums, (tuple, list)) else (argnums,))]
        others = [unused(f"tangent_{name}", primals) for name in chosen]
    elif transform in ("pushes", "products"):
        others = [unused("directions", primals)]
    if others:
        primals = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in parameters]
    every = [primals[0], *others, *primals[1:]] if transform == "hvp" else primals + others
    parts = {"all": every, "primals": primals, "others": others, "chosen": chosen}
    joined = {key: ", ".join(names) for key, names in parts.items()}
    own = {x: unused(x, [p.name for p in parameters] + others) for x in ("dualrev", "function", "argnums", "gradient")}
    called = f.py_func.__name__
    word = identifier(called, "function")
    name = f"{transform}_{word if word.isascii() else 'function'}"
    namespace = {own["function"]: f.py_func, own["argnums"]: argnums, "__name__": f.py_func.__module__}
    text = _TAPES[transform].format(**joined, **own)
    execute(f"def {name}({joined['all']}):\n    import dualrev as {own['dualrev']}\n    {text}", namespace)
    placeholder: Any = namespace[name]
    defaults = f.py_func.__defaults__
    if not others or (transform == "hvp" and len(defaults or ()) < len(parameters)):
        placeholder.__defaults__ = defaults
    placeholder.__doc__ = f"`{transform}` of `{called}`, compiled by dualrev and numba; argnums={argnums!r}."
    return placeholder


def _emit(
    f: Dispatcher,
    transform: str,
    argnums: ArgNums,
    argtypes: tuple[types.Type, ...],
    counter: TapeCounter | None = None,
) -> CachedModule:
    from dualrev.compiler.driver.emit import emit  # what is found in the cache does not need it

    emitted = emit(f, transform, argnums, argtypes, counter)
    return CachedModule(emitted.source, emitted.entry, dict(emitted.constants), emitted.obstacle)


def _execute(module: CachedModule, constants: dict[str, Any], filename: str, digest: str = "") -> Any:
    """Execute an emitted module, and return its entry point; without a hash, its text is in linecache."""
    unique = digest or uuid.uuid4().hex
    namespace: dict[str, Any] = {"__name__": __name__, **constants}
    execute(module.source, namespace, filename)
    entry = namespace[module.entry]
    own = prepare(namespace, entry, constants)
    for made in own:
        made.py_func.__qualname__ = f"{unique[:16]}.{made.py_func.__name__}"
        if any(x is objmode_context for x in constants.values()):  # Python runs a block, with the names of `__module__`
            made.py_func.__module__ = None
    if not digest:
        remember(module.source, filename, entry)
    return entry


def _compile(entry: Any, args: tuple[types.Type, ...], f: Dispatcher) -> None:
    """Compile the entry point of a module for a derivative of f, and all functions of the module."""
    own, called = _functions(entry.py_func.__globals__)
    linked = deferred_machine_code(entry.py_func.__qualname__)
    with warnings.catch_warnings(), inherited(f, called), linked:
        # numba warns where it compiles f itself; of first-class functions, also where a call has many arguments
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        entry.compile(args)
    for made in own:
        _forget_intermediate_code(made, annotated=made is entry)


def _functions(namespace: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Numba functions of an emitted module, and the numba functions that it was given."""
    own = own_functions(namespace)
    return own, [x.dispatcher for x in namespace.values() if isinstance(x, ConstantFunction)]


def _forget_intermediate_code(made: Any, annotated: bool) -> None:
    """Drop the LLVM IR of compiled functions, and their type maps, which would keep the module alive for ever.

    The text with types is made of those that the user sees.
    """
    for args, compiled in list(made.overloads.items()):
        if isinstance(compiled.library, DeferredLibrary):
            compiled.library.forget()
        compiled.fndesc.typemap = compiled.fndesc.calltypes = None
        text = str(compiled.type_annotation) if annotated else ""
        made.overloads[args] = compiled._replace(type_annotation=text)


@contextlib.contextmanager
def _as_typing_error() -> Iterator[None]:
    """Reraise an error of ours as numba's TypingError, which reaches the caller of the njit function."""
    try:
        yield
    except DualrevError as e:
        raise TypingError(f"{type(e).__name__}: {e}") from e


def _nothing() -> None:
    pass
