"""Programs that stop in the middle: `raise`, `return`, `break` and `continue` that happen at some passage.

Every function of the program gets a parameter `stop`, an array of one int, first; every call hands it on. At some
places it is counted down, and where it becomes 0 something happens:

    stop[0] -= 1
    if stop[0] == 0:
        raise ValueError('stopped', 3)

The first argument says at which passage: one that plain Python was seen to make. With a large number nothing happens:
the same derivative has to be right there, before and after.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import random
import re
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from fuzzing.agreeing import Engine, agree, coarse, compiled, tangents_like
from fuzzing.running import Discarded, Failed, arguments, eager, plain, reals, same

import dualrev as dr
from programs.generators.generator import Program

__all__ = ["calm", "check_exits", "same_error", "with_exits"]

NEVER = 10**6
_RAISES = [
    "raise ValueError('stopped', 3)",
    "raise RuntimeError('none LOST, KEPT all')",
    "raise IndexError",
    "raise ArithmeticError('no \"2\"')",
    "assert stop[0] > 0, 'asserted'",
    "x = x / min(int(stop[0]), 1)",
]
_BEYOND = "x = x + stop[1 - min(stop[0], 1)]"  # an error where numba checks bounds, and there only


def with_exits(of: Program, choices: random.Random) -> Program:
    """The program with one to three such places, and a passage that it reaches if it reaches any."""
    for _ in range(5):
        tree = ast.parse(of.source)
        for f in _functions(tree):
            f.args.args.insert(0, ast.arg("stop"))
        names = {f.name for f in _functions(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                node.args.insert(0, ast.Name("stop"))
        places = [place for f in _functions(tree) for place in _places(f, f.body, "")]
        for f, block, k, loop in choices.sample(places, min(len(places), choices.randint(1, 3))):
            block[k:k] = exits = ast.parse(_exit(f, loop, choices)).body
            if isinstance(exits[-1].body[0], (ast.Break, ast.Continue)):
                _fill_with_zeros(tree)
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        made = dataclasses.replace(of, source=source, arguments=(f"np.array([{NEVER}])", *of.arguments))
        if passages := _passages(made):
            first = f"np.array([{choices.randint(1, passages)}])"
            return dataclasses.replace(made, arguments=(first, *of.arguments))
    raise Discarded("no exit is reached")


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f for f in found if re.fullmatch(r"f|h\d+b?", f.name)]


def _places(f: ast.FunctionDef, block: list[ast.stmt], loop: str) -> Iterator[Any]:
    """The function, a block of it, a number of a statement there, and whether it is in a loop."""
    for k, statement in enumerate(block):
        yield f, block, k, loop
        if isinstance(statement, ast.FunctionDef) or _is_parallel(statement):
            continue  # the one has no `stop` of its own, the other would count in several threads at once
        inner = "loop" if isinstance(statement, (ast.For, ast.While)) else loop
        for field in ("body", "orelse"):
            yield from _places(f, getattr(statement, field, []), inner)


def _is_parallel(s: ast.stmt) -> bool:
    return isinstance(s, ast.For) and "prange(" in ast.unparse(s.iter)


def _fill_with_zeros(tree: ast.Module) -> None:
    """A loop that ends early would leave elements of `np.empty` as the memory was."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("empty", "empty_like"):
            node.attr = node.attr.replace("empty", "zeros")


def _exit(f: ast.FunctionDef, loop: str, choices: random.Random) -> str:
    returned = next(node.value for node in ast.walk(f) if isinstance(node, ast.Return))
    several = isinstance(returned, ast.Tuple)
    others = ["return x, 0.7 * x" if several else "return 1.3 * x", *["break", "continue"] * bool(loop)]
    if "boundscheck" in ast.unparse(f):
        others.append(_BEYOND)
    what = choices.choice(_RAISES if choices.random() < 0.6 else others)
    return f"stop[0] -= 1\nif stop[0] == 0:\n    {what}"


def _passages(of: Program) -> int:
    """How often plain Python comes by; 0 if it raises something of its own."""
    given = arguments(of, wide=True)
    try:
        with np.errstate(all="ignore"):
            plain(of.source, math, np)(*given)
    except Exception:
        return 0
    return NEVER - int(given[0][0])


def calm(of: Program) -> Program:
    """The same without an exit."""
    return dataclasses.replace(of, arguments=(f"np.array([{NEVER}])", *of.arguments[1:]))


def check_exits(of: Program, engine: Engine, folder: str) -> None:
    """The derivative raises what f raises, and leaves what f leaves; before and after, it is right without an exit."""
    _check_names(of)
    quiet = eager(calm(of))
    f = compiled(calm(of), folder)
    agree(calm(of), quiet, f, engine)
    if engine.value_and_grad is None:
        return
    if not same_error(of, f, engine):
        try:
            taped = eager(of)
        except ArithmeticError as error:  # a division by zero with error_model="numpy"
            raise Discarded(f"only the tape raises {type(error).__name__}") from error
        agree(of, taped, f, engine)
    agree(calm(of), quiet, f, engine)


def _check_names(of: Program) -> None:
    """Discard what reads a name that the exit has left without a value: numba reads an array there at address 0."""
    try:
        with np.errstate(all="ignore"):
            plain(of.source, math, np)(*arguments(of, wide=True))
    except UnboundLocalError as error:
        raise Discarded("a name without a value") from error
    except Exception:  # the exit's own, or what numba has and plain Python has not
        return


def same_error(of: Program, f: Any, engine: Engine) -> bool:
    """Whether f raises; Failed, unless the derivatives raise the same then, and leave the same in the arguments."""
    left, given, argnums = arguments(of), arguments(of), reals(arguments(of))
    expected = _raised(f, left)
    if expected is None:
        return False
    if isinstance(expected, numba.core.errors.NumbaError) or "reduction variable" in str(expected):
        raise Discarded(f"numba raises {type(expected).__name__}")
    if isinstance(expected, SystemError):
        raise Discarded("numba returns a result and an error, of a parallel loop's thread")
    if "op code RERAISE executed" in str(expected):
        raise Discarded("numba raises an error of its own in place of the one that it should raise after finally")
    if "unresolved symbol" in str(expected):
        raise Discarded("numba has compiled what it cannot link")
    assert engine.value_and_grad is not None
    _same_end("reverse", expected, _raised(engine.value_and_grad(f, argnums), given))
    same("arguments after an error, reverse", given, left, coarse(of) * 1e-13, 1.0)
    if of.forward:
        given = arguments(of)
        v = tuple(given[k] for k in argnums)
        _same_end("forward", expected, _raised(engine.jvp, (f, given, tangents_like(given, argnums, v))))
        same("arguments after an error, forward", given, left, coarse(of) * 1e-13, 1.0)
    return True


def _raised(f: Any, given: tuple[Any, ...]) -> Exception | None:
    try:
        f(*given)
    except dr.errors.UnsupportedError:
        raise
    except Exception as error:
        return error
    return None


def _same_end(mode: str, expected: Exception, found: Exception | None) -> None:
    if type(found) is not type(expected) or found.args != expected.args:
        raise Failed(f"error, {mode}", f"f raises {expected!r}, the derivative {found!r}")
