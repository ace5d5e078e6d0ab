"""Registration of AD operators with numba; the compiler itself is imported on first use.

    dr.grad(f), dr.jvp(f, x, t) and the like, in njit code       ad_in_njit.py
    dr.stop_gradient(x), in njit code                            runtime/markers.py
    f(x) of a number x under differentiation, in Python          tape_block.py

Most programs that import dualrev need none of it, and it takes longer to import than all the rest.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.core.typing.typeof import Purpose
from numba.extending import overload, typeof_impl

from dualrev.compiler.frontend.reading.ad_operators import AT_A_POINT, FROM_PYTHON, MAKING, TRANSFORMATIONS
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes, Signature, UserValue
from dualrev.eager.arrays.complex.pairs import ComplexArray, ComplexNumber
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.custom import stop_gradient
from dualrev.eager.numbers.dual import DualNumber
from dualrev.rules.library.constant_functions import as_constant
from dualrev.transformed import Transformed

__all__ = ["learn"]


def learn(public: Any) -> None:
    """Register the AD operators with numba and the front end; `public` is the module that defines them."""
    TRANSFORMATIONS.names = {id(getattr(public, name)): name for name in (*MAKING, *AT_A_POINT)}
    TRANSFORMATIONS.numbers = lambda f, argnums: _inside().numbers(f, argnums)
    TRANSFORMATIONS.derivative = lambda *args: _inside().derivative(*args)
    for name in MAKING:
        if name != "hvp":
            _overload(getattr(public, name))
    overload(public.hvp)(_hvp)
    for name in AT_A_POINT:
        infer_global(getattr(public, name))(type(name, (_AtAPoint,), {}))
    overload(stop_gradient)(_stop_gradient)
    for kind in (DualNumber, RealArray, ComplexNumber, ComplexArray):
        typeof_impl.register(kind, _refuse)
    typeof_impl.register(Transformed, _refuse_transformed)


def _inside() -> Any:
    from dualrev.compiler.bridge.numba_ext import ad_in_njit

    return ad_in_njit


def _overload(transformation: Any) -> None:
    name = transformation.__name__

    @overload(transformation, prefer_literal=True)
    def typed(f, argnums=0, has_aux=False, engine=None):
        """Implement the operator by the dispatcher that it stands for."""
        made = _inside().making(name, f, argnums, has_aux, engine)
        return lambda f, argnums=0, has_aux=False, engine=None: made


def _hvp(f, engine=None):
    made = _inside().product(f, engine)
    return lambda f, engine=None: made


class _AtAPoint(AbstractTemplate):
    """Typing of a call of `dr.jvp` or `dr.vjp`, again in each caller: `f.recompile()` may have changed the callee."""

    called: Any

    def generic(self, args: NumbaTypes, kws: dict[str, NumbaType]) -> Signature | None:
        """Type the call: see numba."""
        self.called = _inside().at_a_point(self.context, type(self).key, args, kws)
        constants = {name: as_constant(kind) for name, kind in kws.items()}
        return self.called.get_call_type(self.context, tuple(map(as_constant, args)), constants)

    def get_impl_key(self, sig: Signature) -> Any:
        """Key of the call's implementation: see numba."""
        return self.called.get_impl_key(sig)


def _stop_gradient(x):
    from dualrev.compiler.runtime import markers

    return markers.typed(x)


def _refuse(x: object, context: object) -> None:
    """Refuse to type a number under differentiation."""
    from dualrev.compiler.bridge import tape_block

    tape_block.refuse(x, context)


def _refuse_transformed(x: UserValue, context: Any) -> None:
    """Refuse to freeze `dr.vmap(f)`, or a derivative of a Python function, as a constant."""
    if context.purpose is Purpose.constant:
        why, instead = FROM_PYTHON
        raise ValueError(f"dr.{x.made_by} has made it, and {why}. Write {instead}.")
