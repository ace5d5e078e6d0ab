"""Lazy linking: a caller calls a compiled function by name, and links it on demand only.

numba links every function with all that it calls, optimises that and makes machine code of it, although it has done so
for what is called. It is right where that is short and becomes a part of the caller. Both sweeps are long, and the
function that Python calls them by does little else: it calls them by their name, which is that of machine code in this
process. Who wants to link the function, or to keep it for other processes, gets it with the sweeps.
"""

from __future__ import annotations

from llvmlite.binding import ModuleRef
from numba.core.codegen import CodeLibrary, JITCodeLibrary

__all__ = ["call_apart"]


def call_apart(caller: CodeLibrary, called: CodeLibrary) -> None:
    """Let compiled code call another compiled function without linking it in."""
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
            whole = super()._get_module_for_linking().clone()
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
