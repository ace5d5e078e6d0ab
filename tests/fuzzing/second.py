"""Derivatives of derivatives: products with the Hessian, Hessians, and functions that call a compiled gradient.

The reference is the tape, on which derivatives nest, and differences of its gradient check it. Another witness is the
core with tangents, once and twice, by the reference evaluator: no reverse mode takes part in it.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import math
import random
from typing import Any, NamedTuple

import numba
import numpy as np
from programs.generators.generator import Program
from support.oracle import direction, flat, inner, rebuild, widen

import dualrev as dr
from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.driver.emit import core_program
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.tree import flatten_leaves
from fuzzing.agreeing import RTOL, Engine, agree, coarse, compiled
from fuzzing.running import (
    LIMIT,
    Discarded,
    Failed,
    Taped,
    arguments,
    eager,
    load,
    plain,
    reals,
    same,
    slopes_agree,
    widened,
)

__all__ = [
    "check_called",
    "check_hessian",
    "check_product",
    "check_third",
    "with_a_called_gradient",
    "with_another_first_argument",
]

_ON_TAPE = (dr.math, dr.numpy)

# Making them


def with_another_first_argument(of: Program, choices: random.Random) -> Program:
    """The program with its arguments in another order: `hvp` differentiates by the first one."""
    tree = ast.parse(of.source)
    parameters = _function(tree).args.args
    chosen = choices.choice(reals(arguments(of)))
    order = [chosen, *(k for k in range(len(parameters)) if k != chosen)]
    parameters[:] = [parameters[k] for k in order]
    return dataclasses.replace(of, source=_text(tree), arguments=tuple(of.arguments[k] for k in order))


def with_a_called_gradient(of: Program, choices: random.Random) -> Program:
    """The program's f becomes `primal`, and a new f calls the compiled gradient of that.

    What is differentiated may not change its arguments: one that does gets copies.
    """
    tree = ast.parse(of.source)
    primal = _function(tree)
    given, left = arguments(of, wide=True), arguments(of, wide=True)
    plain(of.source, math, np)(*left)
    names = [a.arg for a in primal.args.args]
    primal.name = "primal"
    if repr(left) != repr(given):
        _copy_arrays(primal, given)
    places = [k for k, x in enumerate(given) if _is_real(x)]
    chosen = choices.sample(places, choices.randint(1, len(places)))
    single = len(chosen) == 1 and choices.random() < 0.5
    argnums = chosen[0] if single else tuple(chosen)
    gradients = ["g"] if single else [f"g[{j}]" for j in range(len(chosen))]
    parts = list(zip(gradients, (names[k] for k in chosen), (given[k] for k in chosen), strict=True))
    total = " + ".join(itertools.starmap(_product, parts))
    call = f"({', '.join(names)})"
    kinds = ["sum", "both"] + ["descent"] * all("float32" not in text for text in of.arguments)
    kind = choices.choice(kinds)
    if kind == "sum":
        lines = [f"g = derivative{call}", f"return {total}"]
    elif kind == "both":
        lines = [f"y, g = derivative{call}", f"return math.tanh(y) * ({total}) + y"]
    else:
        steps = [f"    {name} = {_step(g, name, x)}" for g, name, x in parts]
        lines = ["for _ in range(2):", f"    g = derivative{call}", *steps, f"return primal{call}"]
    transform = "value_and_grad" if kind == "both" else "grad"
    body = "\n".join(f"    {line}" for line in lines)
    added = f"import dualrev as dr\nderivative = dr.{transform}(primal, {argnums})\n@njit\ndef f{call}:\n{body}\n"
    return dataclasses.replace(of, source=_text(tree) + added)


def _function(tree: ast.Module) -> ast.FunctionDef:
    (f,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f"]
    return f


def _text(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _copy_arrays(f: ast.FunctionDef, given: tuple[Any, ...]) -> None:
    lines = []
    for a, x in zip(f.args.args, given, strict=True):
        name = a.arg
        if isinstance(x, np.ndarray):
            lines.append(f"{name} = np.copy({name}_given)")
        elif hasattr(x, "_make"):
            lines.append(f"{name} = Pair({name}_given.a, np.copy({name}_given.v), {name}_given.n)")
        else:
            continue
        a.arg = f"{name}_given"
    f.body[:0] = ast.parse("\n".join(lines)).body


def _is_real(x: Any) -> bool:
    """Whether no part of a gradient by it is None."""
    if isinstance(x, tuple):
        return all(map(_is_real, x))
    return x.dtype.kind == "f" if isinstance(x, np.ndarray) else isinstance(x, float)


def _product(g: str, name: str, x: Any) -> str:
    """A number, from a gradient and its argument."""
    if isinstance(x, tuple):
        return " + ".join(f"{g}[{k}] * {name}[{len(x) - 1 - k}]" for k in range(len(x)))
    return f"np.sum({g} * {name})" if isinstance(x, np.ndarray) else f"{g} * {name}"


def _step(g: str, name: str, x: Any) -> str:
    """A step of descent."""
    if isinstance(x, tuple):
        return f"({', '.join(f'{name}[{k}] - 0.1 * {g}[{k}]' for k in range(len(x)))})"
    return f"{name} - 0.1 * {g}"


# The tape


class _Curved(NamedTuple):
    """The tape's first and second derivatives: `product` is the Hessian-vector product with `v`."""

    taped: Taped
    v: tuple[Any, ...]
    product: tuple[Any, ...]


def _curved(of: Program) -> _Curved:
    """The Hessian by all real numbers, times a vector; checked by differences of the tape's gradient."""
    taped = eager(of, *_ON_TAPE)
    gradient = dr.grad(plain(of.source, *_ON_TAPE), taped.argnums)
    given = arguments(of, wide=True)
    v = direction(tuple(given[k] for k in taped.argnums))
    product = _along(of, gradient, taped.argnums, v)
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in flat(product)):
        raise Discarded("large second derivative")
    slopes_agree(lambda *xs: inner(gradient(*xs), v), of, product, taped.argnums)
    return _Curved(taped, v, product)


def _along(of: Program, gradient: Any, argnums: tuple[int, ...], v: tuple[Any, ...]) -> tuple[Any, ...]:
    """The derivative of a gradient in a direction."""
    given = arguments(of, wide=True)

    def chosen(*xs: Any) -> Any:
        whole = list(given)
        for k, x in zip(argnums, xs, strict=True):
            whole[k] = x
        return gradient(*whole)

    return widen(dr.jvp(chosen, tuple(given[k] for k in argnums), v)[1])  # the tape has numpy's scalars, too


# Core


def _slopes_of_core(of: Program, f: Any, v: Any, w: Any) -> tuple[float, float]:
    """The first and the second derivative in directions, by the reference evaluator on core with tangents."""
    core, program = core_program(f, tuple(map(numba.typeof, arguments(of))))
    forward = Forward(program, Memory(program), PassManager(LISTS))
    leaves = [x for p in core.parameters for x in traverse.leaves(p)]
    once = forward.function(core, [x for x in leaves if carries(x)]).function
    moving = [x for p in once.parameters[: len(core.parameters)] for x in traverse.leaves(p) if carries(x)]
    twice = forward.function(once, moving).function
    value, slope = program.run(once, (*arguments(of), *_tangents(of, v)))
    (again, first), (_, second) = program.run(twice, (*arguments(of), *_tangents(of, v), *_tangents(of, w)))
    if (value, slope) != (again, first):
        raise Failed("core, another number", f"{value, slope} and, with two tangents, {again, first}")
    return float(slope), float(second)


def _tangents(of: Program, v: Any) -> list[Any]:
    """The leaves of a direction as the evaluator takes them."""
    pairs = zip(flatten_leaves(arguments(of))[0], flatten_leaves(v)[0], strict=True)
    return [np.array(t, getattr(x, "dtype", float)) for x, t in pairs]


# Checking them


def check_product(of: Program, engine: Engine, folder: str) -> None:
    """`hvp`; every second time, all real arguments move in core."""
    curved = _curved(of)
    f = _checked(of, curved, engine, folder)
    if engine.value_and_grad is None:
        return
    _check_hvp(of, curved, f, engine)
    if of.forward:
        _check_core(of, curved, f)


def check_hessian(of: Program, engine: Engine, folder: str) -> None:
    """`hessian` by all real arguments."""
    curved = _curved(of)
    f = _checked(of, curved, engine, folder)
    if engine.value_and_grad is None:
        return
    argnums = curved.taped.argnums
    expected = widen(dr.hessian(plain(of.source, *_ON_TAPE), argnums)(*arguments(of, wide=True)))
    given, left = arguments(of), arguments(of)
    f(*left)
    found = engine.hessian(f, argnums)(*given)
    scale = max([1.0, *map(abs, flat(expected))])
    same("Hessian", widened(found), expected, coarse(of) * RTOL, scale)
    same("arguments, Hessian", given, left, coarse(of) * 1e-13, max(1.0, *map(abs, flat(curved.taped.left))))
    if of.forward:
        _check_core(of, curved, f)


def check_called(of: Program, engine: Engine, folder: str) -> None:
    """A function that calls a compiled gradient: its value and its derivatives are the tape's."""
    taped = eager(of, *_ON_TAPE)
    agree(of, taped, _calling(of, folder), engine)


def check_third(of: Program, engine: Engine, folder: str) -> None:
    """`hvp` of a function that calls a compiled gradient."""
    curved = _curved(of)
    f = _calling(of, folder)
    agree(of, curved.taped, f, engine._replace(value_and_grad=None))
    if engine.value_and_grad is not None:
        _check_hvp(of, curved, f, engine)


def _checked(of: Program, curved: _Curved, engine: Engine, folder: str) -> Any:
    """The numba function, if it is the tape's."""
    f = compiled(of, folder)
    agree(of, curved.taped, f, engine._replace(value_and_grad=None))
    return f


def _calling(of: Program, folder: str) -> Any:
    """The function that calls a gradient. The gradient is called first: in compiled code a refusal is numba's error."""
    module = load(of.source, folder)
    try:
        module.primal(*arguments(of))
    except Exception as error:
        raise Discarded(f"numba raises {type(error).__name__}") from error
    module.derivative(*arguments(of))
    try:
        module.f(*arguments(of))
    except Exception as error:
        raise Discarded(f"numba raises {type(error).__name__}") from error
    return module.f


def _check_hvp(of: Program, curved: _Curved, f: Any, engine: Engine) -> None:
    argnums = curved.taped.argnums
    first = (argnums[0],)
    gradient = dr.grad(plain(of.source, *_ON_TAPE), argnums)
    expected = _along(of, lambda *xs: gradient(*xs)[0], first, curved.v[:1])
    left = arguments(of)
    f(*left)
    scale, size = max([1.0, *map(abs, flat(expected))]), max(1.0, *map(abs, flat(curved.taped.left)))
    product = engine.hvp(f)
    for turn in ("first", "second"):
        given = arguments(of)
        p = rebuild(given[0], flat(curved.v[0]), lambda _: None)
        found = product(given[0], p, *given[1:])
        same(f"product, {turn} call", widened(found), expected, coarse(of) * RTOL, scale)
        same(f"arguments, product, {turn} call", given, left, coarse(of) * 1e-13, size)


def _check_core(of: Program, curved: _Curved, f: Any) -> None:
    w = direction(tuple(arguments(of, wide=True)[k] for k in curved.taped.argnums), seed=1)
    found = _slopes_of_core(of, f, curved.v, w)
    pairs = ((curved.taped.gradients, curved.v), (curved.product, w))
    for which, slope, (covector, along) in zip(("slope", "second derivative"), found, pairs, strict=True):
        terms = [abs(a * b) for a, b in zip(flat(covector), flat(along), strict=True)]
        expected = float(inner(covector, along))
        same(f"core, {which}", slope, expected, coarse(of) * RTOL, max(1.0, abs(curved.taped.value), sum(terms)))
