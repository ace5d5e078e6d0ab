"""How emitted functions are compiled that only other emitted functions call: as far as these need it.

numba optimises every function with what it calls, makes machine code of that, and links the function into those that
call it, where all of this is done once more. Of the emitted functions Python calls one, and the sweeps become a part of
it. So they are not optimised by themselves, and have no machine code.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler

__all__ = ["Linked"]

_ENVIRONMENT = "_ZN08NumbaEnv"  # how numba's names of what a function refers to in Python begin


class _Library(JITCodeLibrary):
    """The code of a function, and of what it calls, to be linked into its callers."""

    def _optimize_final_module(self) -> None:
        if self._is_referred_to():
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._is_referred_to():
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._codegen._engine.add_module(self._environments())
        self._finalized = True

    def _is_referred_to(self) -> bool:
        """Whether this has functions that call one another by their addresses in machine code."""
        return any(x.name.startswith(RuntimeLinker.PREFIX) for x in self._final_module.global_variables)

    def _environments(self) -> Any:
        """A module with the addresses of environments alone: numba fills them in."""
        module = self._codegen._create_empty_module(f"{self.name}.environments")
        for x in self._final_module.global_variables:
            if x.name.startswith(_ENVIRONMENT):
                address = ir.GlobalVariable(module, ir.IntType(8).as_pointer(), x.name)
                address.linkage, address.initializer = "common", ir.Constant(address.type.pointee, None)
        return llvmlite.binding.parse_assembly(str(module))


class Linked(Compiler):
    """numba's compiler, with such a library."""

    def define_pipelines(self) -> Any:
        """Numba's passes."""
        if self.state.library is None:
            self.state.library = _Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()
