"""Adapters for the libraries: each converts the inputs, and prepares a call of value and gradient.

An adapter takes a version and a size. It returns two functions: one without arguments, which is timed, and one that
converts the answer to plain numbers. Inputs are converted before the clock runs, as they would be in a user's loop of
optimisation; libraries that compile lazily do so in the first call. A call returns after the answer is complete.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.measuring.agreement import convert
from bench.peers.program import Version

__all__ = ["LIBRARIES", "Library"]

Answer = tuple[Any, Any]  # value and gradient, the latter nested in any way, in the order of the inputs
Call = Callable[[], Any]
Prepared = tuple[Call, Callable[[Any], Answer]]


def _as_it_is(answer: Answer) -> Answer:
    return answer


# ---- without derivatives, for scale ----------------------------------------------------------------------------------


def plain(version: Version, size: int) -> Prepared:
    """Prepare plain Python, or NumPy for versions with `arrays`: the value only."""
    f = version.build(np if version.options.get("arrays") else math)
    inputs = version.make(size)
    return lambda: f(*inputs), lambda value: (value, ())


def njit(version: Version, size: int) -> Prepared:
    """Prepare the numba function itself: the value only."""
    f = version.build()
    inputs = version.make(size)
    return lambda: f(*inputs), lambda value: (value, ())


# ---- dualrev ---------------------------------------------------------------------------------------------------------


def dualrev(version: Version, size: int) -> Prepared:
    """Prepare dualrev's tape: `value_and_grad` of a Python function."""
    import dualrev as dr

    f = version.build(np if version.options.get("arrays") else dr.math)
    inputs = version.make(size)
    value_and_grad = dr.value_and_grad(f, version.program.argnums)
    return lambda: value_and_grad(*inputs), _as_it_is


def compiled(version: Version, size: int) -> Prepared:
    """Prepare dualrev's compiler: `value_and_grad` of a numba function."""
    import dualrev as dr

    value_and_grad = dr.value_and_grad(version.build(), version.program.argnums)
    inputs = version.make(size)
    return lambda: value_and_grad(*inputs), _as_it_is


# ---- others ----------------------------------------------------------------------------------------------------------


def autograd(version: Version, size: int) -> Prepared:
    """Prepare autograd's `value_and_grad`."""
    from autograd import value_and_grad

    f = value_and_grad(version.build(), version.program.argnums)
    inputs = version.make(size)
    return lambda: f(*inputs), _as_it_is


def jax(version: Version, size: int) -> Prepared:
    """Prepare JAX's `value_and_grad` in float64, under `jax.jit` unless the version says `jit=False`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # on one core, waiting for a thread is all that it adds
    argnums, inputs = version.program.argnums, version.make(size)
    differentiable = tuple(
        jax.tree.map(jax.numpy.asarray, x) if k in argnums or isinstance(x, np.ndarray) else x
        for k, x in enumerate(inputs)
    )
    static = tuple(k for k, x in enumerate(inputs) if k not in argnums and not isinstance(x, np.ndarray))
    f = jax.value_and_grad(version.build(), argnums)
    if version.options.get("jit", True):
        f = jax.jit(f, static_argnums=static)

    return lambda: jax.block_until_ready(f(*differentiable)), lambda answer: jax.tree.map(np.asarray, answer)


def torch(version: Version, size: int) -> Prepared:
    """Prepare PyTorch in eager mode, on one thread: `torch.autograd.grad` with respect to the leaves."""
    import torch

    torch.set_num_threads(1)
    f, argnums = version.build(), version.program.argnums
    inputs = list(version.make(size))
    leaves: list[Any] = []

    def leaf(x: Any) -> Any:
        """Return a tensor that requires a gradient, and list it among the leaves."""
        leaves.append(torch.tensor(x, dtype=torch.float64, requires_grad=True))
        return leaves[-1]

    for k, x in enumerate(inputs):
        if k in argnums:
            inputs[k] = convert(leaf, x)
        elif isinstance(x, np.ndarray):
            inputs[k] = torch.as_tensor(x)

    def run() -> Any:
        """Compute the value and the gradient."""
        y = f(*inputs)
        return y, torch.autograd.grad(y, leaves)

    return run, lambda answer: (answer[0].item(), tuple(ct.numpy() for ct in answer[1]))


def casadi(version: Version, size: int) -> Prepared:
    """Prepare a `casadi.Function` of value and gradient, built from symbols in the first call."""
    import casadi

    symbolic = getattr(casadi, version.options.get("symbols", "SX"))
    f, argnums = version.build(), version.program.argnums
    inputs = list(version.make(size))
    symbols: list[Any] = []
    numbers: list[Any] = []

    def symbol(x: Any) -> Any:
        """Return a symbol of the same shape, and list it and its number among the inputs."""
        numbers.append(casadi.DM(x))
        symbols.append(symbolic.sym(f"x{len(symbols)}", *np.shape(x)))
        return symbols[-1]

    for k in argnums:
        inputs[k] = convert(symbol, inputs[k])

    @functools.cache
    def function() -> Any:
        """Build the `casadi.Function`, in the first call only."""
        y = f(*inputs)
        return casadi.Function("f", symbols, [y, *(casadi.gradient(y, x) for x in symbols)])

    def read(answer: Any) -> Answer:
        """Convert CasADi's matrices to a float and to arrays."""
        value, *gradient = answer
        return float(value), tuple(np.asarray(ct.full()) for ct in gradient)

    return lambda: function()(*numbers), read


def walked(call: Callable[[], Any]) -> Any:
    """Return `call()` under a high recursion limit: micrograd walks its graph by recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        return call()
    finally:
        sys.setrecursionlimit(limit)


def micrograd(version: Version, size: int) -> Prepared:
    """Prepare micrograd's reverse pass, with comparisons, exp, log and the like added, which micrograd lacks."""
    from micrograd.engine import Value

    def function(f: Callable[[float], float], derivative: Callable[[float, float], float]) -> Callable[[Any], Any]:
        """Make a function of micrograd's values from a function of floats and its derivative."""

        def of(x: Any) -> Any:
            """Return `f(x)` as a node of the graph."""
            x = x if isinstance(x, Value) else Value(x)
            out = Value(f(x.data), (x,))

            def backward() -> None:
                """Add the derivative times the result's gradient to the operand's."""
                x.grad += derivative(x.data, out.data) * out.grad

            out._backward = backward
            return out

        return of

    functions = SimpleNamespace(
        exp=function(math.exp, lambda x, y: y),
        log=function(math.log, lambda x, y: 1.0 / x),
        tanh=function(math.tanh, lambda x, y: 1.0 - y * y),
        sqrt=function(math.sqrt, lambda x, y: 0.5 / y),
        sin=function(math.sin, lambda x, y: math.cos(x)),
        cos=function(math.cos, lambda x, y: -math.sin(x)),
    )
    # in the class itself, since its operators return a Value for any subclass
    Value.__lt__ = lambda x, y: x.data < (y.data if isinstance(y, Value) else y)
    Value.__gt__ = lambda x, y: x.data > (y.data if isinstance(y, Value) else y)
    f, argnums = version.build(functions), version.program.argnums
    inputs = version.make(size)

    def run() -> Any:
        """Build the graph, run its reverse pass, and return the value and the inputs with their gradients."""
        numbers = [convert(Value, x) if k in argnums else x for k, x in enumerate(inputs)]
        y = walked(lambda: f(*numbers))
        walked(y.backward)
        return y, [numbers[k] for k in argnums]

    return run, lambda answer: (answer[0].data, convert(lambda x: x.grad, answer[1]))


@dataclasses.dataclass(frozen=True)
class Library:
    """A library: `prepare(version, size)` imports it and returns the call to time."""

    title: str
    module: str
    prepare: Callable[[Version, int], Prepared]
    calibration: str  # the loop of bench/measuring/machine.py that its times are compared by
    gradient: bool = True  # or the value only
    note: str = ""


#: In the order of tables and plots. All values are checked against the first library's, all gradients against the
#: second's.
LIBRARIES = {
    "plain": Library("plain Python", "math", plain, "python", gradient=False, note="the value only"),
    "dualrev": Library("dualrev, tape", "dualrev", dualrev, "python"),
    "njit": Library("numba", "numba", njit, "compiled", gradient=False, note="the value only"),
    "compiled": Library("dualrev, compiled", "dualrev", compiled, "compiled"),
    "jax": Library(
        "JAX, jit",
        "jax",
        jax,
        "compiled",
        note="float64, `jax.jit` of the gradient, without asynchronous dispatch, which takes longer here; "
        "from run to run, its times of a scan vary by a factor of two",
    ),
    "casadi": Library(
        "CasADi",
        "casadi",
        casadi,
        "compiled",
        note="its virtual machine, called with its own matrices; it can write C code too",
    ),
    "torch": Library("PyTorch", "torch", torch, "python", note="eager, float64"),
    "autograd": Library("autograd", "autograd", autograd, "python"),
    "micrograd": Library(
        "micrograd", "micrograd", micrograd, "python", note="with comparisons, exp, log and the like added by bench/"
    ),
}
