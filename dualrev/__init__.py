"""dualrev: reverse-mode automatic differentiation for code made of loops, branches, recursion and data structures.

>>> import dualrev as dr
>>> def f(x, n):
...     y = 1.0
...     while n > 0:
...         y, n = y * x, n - 1
...     return y
>>> dr.grad(f)(2.0, 3)
12.0
"""

import difflib
import importlib
import sys
from typing import TYPE_CHECKING, Any

from dualrev import errors, numpy, tree
from dualrev._version import __version__
from dualrev.api import derivatives
from dualrev.api.checking import check, check_grads
from dualrev.api.checkpointing import checkpoint
from dualrev.api.derivatives import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp
from dualrev.api.linearization import linearize
from dualrev.compiler.bridge.numba_ext.register import learn
from dualrev.diagnostics.nans import debug_nans
from dualrev.eager.arrays import RealArray
from dualrev.eager.custom import custom_jvp, custom_vjp, stop_gradient, value
from dualrev.eager.numbers.primitive import primitive
from dualrev.eager.tape.tape import Real
from dualrev.errors import CheckError, ConversionError, DualrevError, UnsupportedError
from dualrev.tree import register_node

if TYPE_CHECKING:
    from dualrev import cuda, implicit, math
    from dualrev.api.report import report
    from dualrev.api.vmap import vmap
    from dualrev.compiler.bridge.profile.compile_info import compile_info
    from dualrev.compiler.bridge.profile.tape_info import tape_info
    from dualrev.compiler.bridge.tape_block import derivative_source, lift
    from dualrev.sparse import sparse_hessian, sparse_jacobian

learn(derivatives)  # they can be written in numba functions
del learn

__all__ = [
    "CheckError",
    "ConversionError",
    "DualrevError",
    "Real",
    "RealArray",
    "UnsupportedError",
    "__version__",
    "check",
    "check_grads",
    "checkpoint",
    "compile_info",
    "cuda",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "derivative_source",
    "errors",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "lift",
    "linearize",
    "math",
    "numpy",
    "primitive",
    "register_node",
    "report",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "tape_info",
    "tree",
    "value",
    "value_and_grad",
    "vjp",
    "vmap",
]


#: What is imported when somebody asks for it, and from where: the compiler takes longer to import than all the rest.
_LATE = {
    "compile_info": "dualrev.compiler.bridge.profile.compile_info",
    "cuda": "dualrev.cuda",
    "derivative_source": "dualrev.compiler.bridge.tape_block",
    "implicit": "dualrev.implicit",
    "lift": "dualrev.compiler.bridge.tape_block",
    "math": "dualrev.math",
    "report": "dualrev.api.report",
    "sparse_hessian": "dualrev.sparse",
    "sparse_jacobian": "dualrev.sparse",
    "tape_info": "dualrev.compiler.bridge.profile.tape_info",
    "vmap": "dualrev.api.vmap",
}


#: What other libraries have, and what to write here in its place.
_ELSEWHERE = {
    "jit": "put @numba.njit above f: then dr.grad(f) is compiled, too",
    "scan": "write a loop: dualrev differentiates it as it is",
    "fori_loop": "write a loop: dualrev differentiates it as it is",
    "while_loop": "write a loop: dualrev differentiates it as it is",
    "cond": "write an `if`: dualrev differentiates the branch that is taken",
    "switch": "write `if` and `elif`: dualrev differentiates the branch that is taken",
    "lax": "write loops and branches of Python: dualrev differentiates them as they are",
    "at": "x[i] = y, or x[i] += y: assignments are differentiated",
    "where": "np.where",
    "nn": "a dict or a dataclass of arrays, as in docs/tutorials/train.md",
    "tree_map": "dr.tree.map",
    "tree_util": "dr.tree",
    "linear_transpose": "dr.vjp(f, *primals), which returns the value and the pullback",
    "pmap": "dr.vmap; for several processes see docs/many_machines.md",
    "remat": "dr.checkpoint",
    "custom_gradient": "dr.custom_vjp",
    "elementwise_grad": "dr.grad(lambda x: f(x).sum())",
    "make_vjp": "dr.vjp(f, *primals)",
    "make_jvp": "dr.jvp(f, primals, tangents)",
    "random": "numpy's generators: np.random.default_rng(seed)",
    "optimize": "scipy.optimize.minimize(dr.value_and_grad(f), x, jac=True)",
}


def __getattr__(name: str) -> Any:
    if name.endswith(("Error", "Warning")) and name in errors.__all__:  # dr.ScalarError is dr.errors.ScalarError
        return getattr(errors, name)
    if name not in _LATE:
        raise AttributeError(_unknown(name), name=name, obj=sys.modules[__name__])
    module = importlib.import_module(_LATE[name])
    found = globals()[name] = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return __all__


def _unknown(name: str) -> str:
    """Message for a name that the library does not have."""
    said = f"module {__name__!r} has no attribute {name!r}"
    if name in _ELSEWHERE:
        return f"{said}. In its place: {_ELSEWHERE[name]}"
    near = difflib.get_close_matches(name, __all__, 1)
    return f"{said}. Did you mean {near[0]!r}?" if near else said
