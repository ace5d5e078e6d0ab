"""How numba compiles the functions of an emitted module: what is called becomes machine code in its caller only.

Numba optimises every function with all that it calls, and makes machine code of it. The sweeps of a derivative have one
caller, the entry, which numba inlines them into: all of their code would be optimised and written twice, that of what
they call three times. So only the entry goes all the way.

    entry     its library links those of all parts, is optimised as numba does, and becomes machine code
    part      any other function: its library is lowered, simplified by itself, and holds what it calls

Recursive calls may go through pointers, which numba sets when it loads the function. So parts with such pointers are
compiled as numba does, and what the pointers lead to is loaded when all is compiled.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

__all__ = ["link_parts", "load_recursive", "resting_collector"]

_Library: Any = JITCodeLibrary  # numba has no types


def link_parts(entry: Any, functions: list[Any]) -> None:
    """Let numba compile the functions of a module so; if some have threads, which call by address, as numba does."""
    if not any(f.targetoptions.get("parallel") for f in functions):
        for f in functions:
            f._compiler.pipeline_class = _EntryCompiler if f is entry else _PartCompiler


def load_recursive(functions: list[Any]) -> None:
    """Load the parts that are called through pointers, and are not loaded."""
    for function in functions:
        for made in function.overloads.values():
            if isinstance(made.library, _Part):
                made.library.load(made.fndesc.mangled_name)


@contextlib.contextmanager
def resting_collector() -> Iterator[None]:
    """Python's garbage collector rests while numba compiles: it would look at all that numba has a dozen times."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()


class _Whole(_Library):
    """The library of an entry."""

    def _optimize_functions(self, module: Any) -> None:
        """As numba does, without what is only declared."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _finalize_specific(self) -> None:
        """Numba's, and the Python objects that parts refer to: they were not loaded when numba has made these."""
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)


class _Part(_Whole):
    """The library of any other function."""

    def finalize(self) -> None:
        """Nothing is added any more."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if any(x.name.startswith(RuntimeLinker.PREFIX) for x in self._final_module.global_variables):
            super().finalize()
        else:
            self._finalize_dynamic_globals()
            self._finalized = True

    def load(self, name: str) -> None:
        """Make machine code of it if there is a pointer that leads to this name, and nowhere yet."""
        if name in self._codegen._rtlinker._unresolved:
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()


class _EntryCompiler(Compiler):
    """Numba's compiler, with another library."""

    library_class: type[Any] = _Whole

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


class _PartCompiler(_EntryCompiler):
    """The same for a function that Python does not call."""

    library_class = _Part

    def define_pipelines(self) -> Any:
        self.state.flags.no_compile = True
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(_Announce, NativeLowering)
        pipeline.finalize()
        return [pipeline]


@register_pass(mutates_CFG=False, analysis_only=False)
class _Announce(LoweringPass):
    """Tell numba where calls of a function find it, as it does itself for a function with machine code."""

    _name = "dualrev_announce"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        lowered, library = state["cr"], state.library
        described = lowered.fndesc
        name = described.qualname.split(".")[-1]
        key = _dynfunc.make_function(described.lookup_module(), name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(key, described, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=key)
        return True
