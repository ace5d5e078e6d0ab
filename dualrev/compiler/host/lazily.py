"""What is compiled for a derivative is optimised and assembled once: as a part of it.

numba links every function with all that it calls, optimises that, makes machine code of it, and links it into those
that call the function, where all of this is done again. Of what is compiled for a derivative Python calls one function,
and the others become parts of it. So here functions wait. One is finished, as numba does it, when somebody wants its
address, or links it with a function that is not compiled here: nobody else can tell.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.registry import cpu_target

__all__ = ["lazily"]

_JITCodeLibrary: Any = JITCodeLibrary  # numba has no type information
_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names begin of what leads to Python's objects


@contextlib.contextmanager
def lazily() -> Iterator[None]:
    """Compile so. The compiler's lock is held: no other thread compiles meanwhile."""
    context = cpu_target.target_context
    context.refresh()  # numba compiles its own runtime first
    codegen = context.codegen()
    before = codegen._library_class
    codegen._library_class = _Library
    try:
        yield
    finally:
        codegen._library_class = before


class _Library(_JITCodeLibrary):
    """The code of a function, which may wait."""

    _linking_libraries: list[Any]
    _waits = False

    def finalize(self) -> None:
        """The function is complete: it waits, or is finished."""
        names = {f.name for f in self.get_defined_functions()}
        wanted = set(_wanted(self))
        if wanted or any(any(_wanted(x)) for x in self._linking_libraries) or names & set(self._linker()._unresolved):
            self._linking_libraries = self._called()
            super().finalize()
            for other in filter(None, map(self._waiting().get, wanted)):
                other._finish()
        else:
            self._waits = self._finalized = True
            self._waiting().update(dict.fromkeys(names, self))
            self._codegen._engine.add_module(self._environment())

    def _linker(self) -> Any:
        """What fills in the addresses by which functions call one another that are not complete: numba's."""
        return self._codegen._rtlinker

    def _waiting(self) -> Any:
        """Those that wait, by the names of their functions."""
        return vars(self._linker()).setdefault("_dualrev_waiting", weakref.WeakValueDictionary())

    def _called(self) -> list[Any]:
        """What is to be linked: all that is called, from here and from what waits; callers first.

        LLVM leaves out of a module what nobody calls so far.
        """
        seen: set[Any] = set()
        order: list[Any] = []

        def visit(library: Any) -> None:
            seen.add(library)
            waits = isinstance(library, _Library) and library._waits
            for x in library._linking_libraries if waits or library is self else ():
                if x not in seen:
                    visit(x)
            order.append(library)

        visit(self)
        return order[-2::-1]

    def _environment(self) -> Any:
        """A module with room for the addresses of Python's objects alone: numba fills it now."""
        module = self._codegen._create_empty_module(f"{self.name}.environment")
        for x in self._final_module.global_variables:
            if x.name.startswith(_ENVIRONMENT):
                address = ir.GlobalVariable(module, ir.IntType(8).as_pointer(), x.name)
                address.linkage, address.initializer = "common", ir.Constant(address.type.pointee, None)
        return llvmlite.binding.parse_assembly(str(module))

    def _finish(self) -> None:
        """Link, optimise and assemble."""
        self._ensure_finalized()
        if self._waits:
            self._linking_libraries = self._called()
            self._waits, self._finalized, self._shared_module = False, False, None
            super().finalize()

    def _get_module_for_linking(self) -> Any:
        if self._codegen._library_class is not _Library:
            self._finish()
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> Any:
        """The address of a function; 0 if it is not here."""
        if any(f.name == name for f in self.get_defined_functions()):
            self._finish()
        return super().get_pointer_to_function(name)

    @property
    def has_dynamic_globals(self) -> bool:
        """See numba."""
        self._finish()
        return bool(super().has_dynamic_globals)

    def _get_compiled_object(self) -> Any:
        self._finish()
        return super()._get_compiled_object()


def _wanted(library: Any) -> Iterator[str]:
    """The functions that are called by their addresses, since they are not complete: in a recursion."""
    for x in library._final_module.global_variables:
        if x.name.startswith(RuntimeLinker.PREFIX):
            yield x.name.removeprefix(RuntimeLinker.PREFIX)
