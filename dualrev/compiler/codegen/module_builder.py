"""Interface of the module under construction, for entry points and parallel loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from dualrev.compiler.ad.function_table import FunctionTable
from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.codegen.lines import CodeStatement
from dualrev.compiler.codegen.module_text import ModuleText
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.core.atoms import Symbol
from dualrev.compiler.ir.core.nodes import Call
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.types.aliases import AccessPath, ArgNums, Dispatcher, UserValue

__all__ = ["Emitted", "ModuleBuilder"]


@dataclass
class Emitted:
    """Emitted module: its text, its entry point, and the access paths of the objects that the text refers to."""

    source: str
    entry: str
    constants: dict[str, AccessPath]
    values: dict[str, UserValue]
    obstacle: str = ""  # what the text depends on, and no hash covers: it is not to be kept


class ModuleBuilder(Protocol):
    """Module of derivatives of a numba function `f` (driver/emit.py)."""

    f: Dispatcher
    names: Names
    program: Program
    passes: PassManager
    natural: Natural
    text: ModuleText

    @property
    def front(self) -> FunctionTable:
        """Table of the module's functions in core."""

    @property
    def is_plain(self) -> bool:
        """Whether f takes numbers and arrays only."""

    def refer(self, of: Symbol | Call) -> str:
        """Name of the function behind a symbol or a call, which is emitted on first use."""

    def function(
        self,
        name: str,
        parameters: list[str],
        doc: str,
        body: list[CodeStatement],
        source: Source,
        f: Dispatcher,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Add a function with the options of numba function `f`, and the options in `more`."""

    def finish(self, entry: str, doc: str) -> Emitted:
        """Finish the module, and return its text."""


def described(transform: str, argnums: ArgNums | None, name: str) -> str:
    """Docstring of an emitted derivative, one sentence."""
    if transform == "grad":
        return f"The gradient of {name} with respect to argument {argnums}."
    if transform == "pull":
        return f"The cotangents of the arguments of {name} for the cotangent ct of its value."
    if transform == "value_and_grad":
        return f"The value of {name}, and its gradient with respect to argument {argnums}."
    if transform == "grad_aux":
        return f"The gradient of the first result of {name} with respect to argument {argnums}, and the second result."
    if transform == "value_and_grad_aux":
        return f"The value of {name}, and the gradient of its first result with respect to argument {argnums}."
    if transform == "vjp":
        return f"The value of {name}, and the cotangents of its arguments for the cotangent ct of the value."
    return f"The value of {name}, and its derivative in the direction of the tangents."
