"""Transform table: the entry point of each derivative that can be asked of the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder
from dualrev.compiler.entrypoints import hessian, jacobian, jvp, vjp, vjp_residuals
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes

__all__ = ["TRANSFORMS", "Transform"]


class Root(Protocol):
    """Emitter of the module of a derivative of `module.f`, which has `count` parameters."""

    def __call__(
        self, module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int
    ) -> Emitted:
        """Emit the module for these types of arguments; those after `count` are tangents or cotangents."""


@dataclass(frozen=True)
class Transform:
    """A derivative: what emits it, and whether it runs the function more than once.

    `reruns` is what a refusal calls it, as a function that draws random numbers may not be run again; `later` says that
    it is run when the caller may have changed something.
    """

    root: Root
    reruns: str = ""
    later: bool = False


TRANSFORMS = {
    "grad": Transform(vjp.root),
    "value_and_grad": Transform(vjp.root),
    "grad_aux": Transform(vjp.root),
    "value_and_grad_aux": Transform(vjp.root),
    "vjp": Transform(vjp.root, "vjp", later=True),
    "keep": Transform(vjp_residuals.root, "vjp", later=True),
    "jvp": Transform(jvp.root),
    "hvp": Transform(jvp.root),
    "product": Transform(jvp.root),
    "jacfwd": Transform(jacobian.root, "jacfwd"),
    "jacrev": Transform(jacobian.root, "jacrev"),
    "jacobian": Transform(jacobian.root, "jacobian"),
    "pushes": Transform(jacobian.root, "pushes"),
    "hessian": Transform(hessian.root, "hessian"),
    "products": Transform(hessian.root, "products"),
}
