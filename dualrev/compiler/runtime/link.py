"""Deferred machine code: LLVM optimises a derivative with all that it calls once, at the end.

numba optimises each function that it compiles, makes machine code of it, links it with each function that calls it, and
optimises that again. Of the functions of a derivative Python calls one:

    numba                                   a derivative
    -----                                   ------------
    optimise, machine code    inv           keep LLVM IR     inv
    link, optimise, m. code   sweeps        keep, with inv   sweeps
    link, optimise, m. code   grad          link, optimise, machine code   grad

A library that is deferred has machine code as soon as someone asks for the address of a function, or links it into a
library that is not deferred. What has machine code already is called by its name, and linked on demand only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

from llvmlite.binding import Linkage, ModuleRef
from numba.core import cpu
from numba.core.codegen import CodeLibrary, JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

__all__ = ["DeferredLibrary", "call_apart", "deferred_machine_code", "machine_code_at_once"]


def call_apart(caller: CodeLibrary, called: CodeLibrary) -> None:
    """Let compiled code call another compiled function, without linking it in if that has machine code."""
    if isinstance(called, DeferredLibrary) and not called.has_machine_code:
        caller.add_linking_library(called)
        return
    if type(caller) is JITCodeLibrary:
        caller.__class__ = _Caller
        caller.apart = []
    if isinstance(caller, _Caller):
        caller.apart.append(called)  # which has its machine code as long as it lives
    else:
        caller.add_linking_library(called)


class _Caller(JITCodeLibrary):
    """Code library whose calls of other libraries are not linked in."""

    apart: list[CodeLibrary]
    _shared_module: ModuleRef | None

    def _get_module_for_linking(self) -> ModuleRef:
        if self._shared_module is None:
            whole = super()._get_module_for_linking()
            if self.apart:
                whole = whole.clone()
                for called in self.apart:
                    whole.link_in(called._get_module_for_linking(), preserve=True)
            self._shared_module = whole
        return self._shared_module

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether the code depends on this process (numba's flag), callees included."""
        return super().has_dynamic_globals or any(called.has_dynamic_globals for called in self.apart)

    def get_llvm_str(self) -> str:
        """LLVM IR with the callees linked in."""
        return str(self._get_module_for_linking())

    def get_asm_str(self) -> str:
        """Assembly with the callees linked in."""
        return str(self._codegen._tm.emit_assembly(self._get_module_for_linking()))


class DeferredLibrary(_Caller):
    """Code library that has LLVM IR until its machine code is needed.

    Functions that call each other do so by pointers. Those get machine code at once, in any order.

    `environments` are those that numba makes for functions of the library, and of what is linked into it, by the name
    of the variable for their address. `closed` says that only functions of this library are visible from outside.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.apart: list[CodeLibrary] = []
        self.environments: dict[str, Any] = {}
        self.has_machine_code = self.closed = False
        self._linkable: ModuleRef | None = None  # once it has been asked for
        self._final_module: Any  # a module, or None if it is forgotten

    def _optimize_functions(self, module: ModuleRef) -> None:
        """Shorten the functions of a module. What is simplified less than this is vectorised less in the end."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=2)
                passes.run(function, builder)

    def finalize(self) -> None:
        """Link what is called. Machine code is made only of what calls through a pointer, in mutual recursion."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            if isinstance(library, DeferredLibrary) and not library.has_machine_code:
                self.environments |= library.environments
                self.apart += library.apart
                linked = library._module_alone()
            else:
                linked = library._get_module_for_linking()
            self._final_module.link_in(linked, preserve=True)
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True
        defined = [f.name for f in self._final_module.functions if not f.is_declaration]
        for name in defined:
            _DEFERRED.setdefault(name, self)
        if self._is_recursive() or not self._wanted().isdisjoint(defined):
            self.make_machine_code()

    def _wanted(self) -> set[str]:
        """Names of functions that machine code calls by a pointer, which is not known yet."""
        return {*self._codegen._rtlinker._unresolved}

    def _is_recursive(self) -> bool:
        return any(x.name.startswith(RuntimeLinker.PREFIX) for x in self._final_module.global_variables)

    def _module_alone(self) -> ModuleRef:
        """Module for linking, without what is called apart."""
        self._ensure_finalized()
        if self._linkable is None:
            self._linkable, self._shared_module = JITCodeLibrary._get_module_for_linking(self), None
        return self._linkable

    def _get_module_for_linking(self) -> ModuleRef:
        self.make_machine_code()  # who asks knows nothing of the environments
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function, or 0: see numba."""
        self._ensure_finalized()
        if any(f.name == name and not f.is_declaration for f in self._final_module.functions):
            self.make_machine_code()
        address: int = super().get_pointer_to_function(name)
        return address

    def make_machine_code(self) -> None:
        """Optimise the module and compile it, if that has not been done."""
        self._ensure_finalized()
        if self.has_machine_code:
            return
        self._linkable = None
        self._dynamic_globals.clear()
        self.closed = self.name in _ENTRIES and not self._is_recursive()
        hidden = self._hide() if self.closed else set()
        self._optimize_final_module()
        self._final_module.verify()
        defined = self._codegen._rtlinker._defined  # what may be called by a pointer
        hidden -= defined
        self._finalize_final_module()
        defined -= hidden
        for name, environment in self.environments.items():
            _set_env(self._codegen, name, environment)
        for name in self._wanted():
            if name in _DEFERRED:
                _DEFERRED[name].make_machine_code()

    def _hide(self) -> set[str]:
        """Hide the functions that have been linked in; return their names."""
        names = set()
        for function in self._final_module.functions:
            if function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.private  # internal ones have symbols, which hide others of their names
                names.add(function.name)
        return names

    def _finalize_final_module(self) -> None:
        self.has_machine_code = True
        super()._finalize_final_module()

    def _ensure_finalized(self) -> None:
        if self._final_module is None:  # LLVM would crash
            raise RuntimeError(
                f"{self.name} is a part of a derivative and has no code of its own: inspect the derivative"
            )
        super()._ensure_finalized()

    def forget(self) -> None:
        """Free the LLVM IR, if it has become a part of all that needs it: then it has no machine code of its own."""
        if not self.has_machine_code:
            for name in [name for name, library in _DEFERRED.items() if library is self]:
                del _DEFERRED[name]
            self._final_module = self._linkable = None

    def object_code(self) -> bytes | None:
        """Object code of a closed library; None of others."""
        return self._get_compiled_object() if self.closed and not self.apart else None


_DEFERRED: WeakValueDictionary[str, DeferredLibrary] = WeakValueDictionary()  # by the names of their functions
_ENTRIES: list[str] = []  # names of the functions that Python calls, of the derivatives that are being compiled


@contextlib.contextmanager
def deferred_machine_code(entry: str = "") -> Iterator[None]:
    """Defer the machine code of what is compiled in a `with` statement, by one that holds numba's compiler lock.

    Nothing but the derivative calls what is linked into the function with the name `entry`.
    """
    rtsys.initialize(cpu_target.target_context)  # whose functions have machine code at once
    _ENTRIES.append(entry)
    try:
        with _compiling(DeferredLibrary, _set_env, _get_executable):
            yield
    finally:
        _ENTRIES.pop()


def machine_code_at_once() -> contextlib.AbstractContextManager[None]:
    """Compile as numba does, inside of that."""
    return _compiling(JITCodeLibrary, *_NUMBAS)


@contextlib.contextmanager
def _compiling(library: Any, set_env: Any, get_executable: Any) -> Iterator[None]:
    before = JITCPUCodegen._library_class, JITCPUCodegen.set_env, cpu.CPUContext.get_executable
    now = library, set_env, get_executable
    try:
        JITCPUCodegen._library_class, JITCPUCodegen.set_env, cpu.CPUContext.get_executable = now
        yield
    finally:
        JITCPUCodegen._library_class, JITCPUCodegen.set_env, cpu.CPUContext.get_executable = before


_NUMBAS: Any = JITCPUCodegen.set_env, cpu.CPUContext.get_executable


def _set_env(self: Any, name: str, environment: Any) -> None:
    """Store the address of an environment in its variable, once that exists."""
    if self._engine.is_symbol_defined(name):
        _NUMBAS[0](self, name, environment)


def _get_executable(self: Any, library: CodeLibrary, description: Any, environment: Any) -> Any:
    """Function for Python, as numba makes it; the library notes the environment."""
    if isinstance(library, DeferredLibrary):
        library.environments[self.get_env_name(description)] = environment
    return _NUMBAS[1](self, library, description, environment)
