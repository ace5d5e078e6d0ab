"""Programs at NaN, infinities, zeros, subnormal and huge numbers, with functions that have singularities.

The reference is the tape. What it calls finite has to be finite in the compiled gradient, and equal. The two differ in
which zeros are known (docs/conventions.md): a zero that was computed may hide in compiled code what is NaN on the tape,
and where an argument is not finite, or so large that products of it are not, compiled code may multiply it with a known
zero.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import random
import re
import types
from collections.abc import Iterator
from typing import Any

from programs.generators.exits import same_error
from programs.generators.generator import Program
from support.oracle import direction, flat, rebuild

import dualrev as dr
from fuzzing.agreeing import Engine, check_rows, coarse, tangents_like
from fuzzing.running import LIMIT, Discarded, Failed, arguments, load, plain, reals, same, widened

__all__ = ["check_special", "special_arguments", "with_singular_functions"]

_PALETTES = [
    ["0.0", "-0.0"],
    ["np.nan"],
    ["np.inf", "-np.inf"],
    ["0.0", "-0.0", "1.0", "np.nan", "np.inf", "-np.inf"],
    ["5e-324", "-1e-310", "2.3e-308"],
    ["1e308", "-1e200", "1e154"],
]
SETS = 12  # of arguments
_SINGLE = 4  # the first palettes: float32 has other subnormal and huge numbers
_SCALAR = (
    """
math.sqrt({0})|math.log({0})|1.0 / {0}|math.log1p({0})|({0}) ** 0.5|({0}) ** 0.0|({0}) ** -1|({0}) ** 3|math.exp({0})
math.sqrt({0}) if {0} > 0.0 else 0.0|math.hypot({0}, 0.3 * {0})|math.atan2({0}, 0.5 * {0})|math.acosh({0})|abs({0})
math.asin({0})|max({0}, 0.0)|min({0}, 0.0, 1.0)|np.maximum({0}, 0.0)|np.logaddexp({0}, {0})|({0}) % 0.7|np.sign({0})
np.cbrt({0})|math.expm1({0})|math.copysign({0}, 1.0)|2.0 ** ({0})|({0}) ** ({0})|np.minimum({0}, {0})
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
_ARRAY = (
    """
np.sqrt({0})|np.log({0})|1.0 / {0}|np.log1p({0})|({0}) ** 0.5|({0}) ** 0.0|({0}) ** -1|({0}) ** 3|np.exp({0})
np.where({0} > 0.0, np.sqrt({0}), 0.0)|np.hypot({0}, 0.3 * {0})|np.arctan2({0}, 0.5 * {0})|np.maximum({0}, 0.0)
np.logaddexp({0}, {0})|({0}) % 0.7|np.sign({0})|np.cbrt({0})|np.clip({0}, -0.5, 0.5)|np.abs({0})|2.0 ** ({0})
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
_REDUCED = ["np.std({0})", "np.var({0})", "np.max({0})", "np.min({0})", "np.prod({0})"]

#: For the tape: numpy's functions, which do not raise where those of `math` do.
_NAMES = {"atan2": "arctan2", "asin": "arcsin", "acosh": "arccosh", "atan": "arctan"}


class _Quiet(types.SimpleNamespace):
    def __getattr__(self, name: str) -> Any:
        return getattr(dr.numpy, _NAMES.get(name, name))


# Making them


class _Singular(ast.NodeTransformer):
    """Half of the smooth functions become others, and half of the guards such as `1.5 + ` go."""

    def __init__(self, choices: random.Random) -> None:
        self.choices = choices

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self.generic_visit(node) if re.fullmatch(r"f|h\d+b?", node.name) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name, half = ast.unparse(node.func), self.choices.random() < 0.5
        if name == "int":  # numba's int of a large number is another one than Python's
            return ast.parse(f"int(min({ast.unparse(node.args[0])}, 5.0))", mode="eval").body
        options = {"math.sin": _SCALAR, "math.cos": _SCALAR, "math.tanh": _SCALAR, "np.sin": _ARRAY, "np.tanh": _ARRAY}
        chosen = options.get(name) or (_REDUCED if name in ("np.mean", "np.prod", "np.min") else None)
        if chosen is None or not half:
            return node
        return ast.parse(self.choices.choice(chosen).format(ast.unparse(node.args[0])), mode="eval").body

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        guard = isinstance(node.op, ast.Add) and ast.unparse(node.left) in ("1.5", "1.0")
        return node.right if guard and self.choices.random() < 0.5 else node


def with_singular_functions(of: Program, choices: random.Random) -> Program:
    """The program with functions that have infinite derivatives or none; its arguments stay as they are."""
    tree = ast.fix_missing_locations(_Singular(choices).visit(ast.parse(of.source)))
    return dataclasses.replace(of, source=ast.unparse(tree) + "\n")


def special_arguments(of: Program) -> Iterator[Program]:
    """The program with other arguments of the same types: special values in one to three places, or all over one.

    First come its own arguments. They also say which the others are, so that a program that was saved has the same.
    """
    yield of
    choices, number = random.Random(repr(of.arguments)), r"-?\d+\.\d+(?![\de])"
    single = any("float32" in text for text in of.arguments)
    for turn in range(SETS):
        palette = _PALETTES[turn % (_SINGLE if single else len(_PALETTES))]
        given = list(of.arguments)
        for _ in range(choices.randint(1, 3)):
            k = choices.choice([k for k, text in enumerate(given) if re.search(number, text)] or [0])
            found = list(re.finditer(number, given[k]))
            whole = choices.random() < 0.2
            for match in reversed(found if whole else found and [choices.choice(found)]):
                given[k] = given[k][: match.start()] + choices.choice(palette) + given[k][match.end() :]
        yield dataclasses.replace(of, arguments=tuple(given))


class _Total(ast.NodeTransformer):
    """For the tape: `/` and `**` of numbers that give infinities and NaN, as numba's with error_model="numpy".

    np.power(x, 0.5) is a square root in numpy 2.4, NaN at minus infinity; np.float_power is a power, as numba's.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "divide", ast.Pow: "power"}.get(type(node.op))
        if name is None:
            return node
        if name == "power" and isinstance(node.right, ast.Constant) and node.right.value == 0.5:
            name = "float_power"
        return ast.Call(ast.parse(f"np.{name}", mode="eval").body, [node.left, node.right], [])


# Checking them


def check_special(of: Program, engine: Engine, folder: str) -> None:
    """Compiled once, and called with many arguments: value, what is left of them, gradient and tangent."""
    check_rows(of)
    f = load(of.source, folder).f
    source = ast.unparse(ast.fix_missing_locations(_Total().visit(ast.parse(of.source))))
    on_tape = plain(source, _Quiet(), dr.numpy)
    _check_as_numpy(of, f, on_tape)
    said, why = 0, Discarded("no arguments")
    for one in special_arguments(of):
        try:
            _check_one(one, f, on_tape, engine)
            said += 1
        except Discarded as reason:
            why = reason
        except Failed as error:
            for near in _ordinary(one):
                _check_as_numpy(near, f, on_tape)
            raise Failed(error.kind, f"{error}\nf({', '.join(one.arguments)})") from error
    if not said:
        raise why


def _ordinary(of: Program) -> Iterator[Program]:
    """The program with other numbers for the special ones: at zeros, two functions may only look the same."""
    numbers = sorted({x for palette in _PALETTES for x in palette}, key=len, reverse=True)
    special = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, numbers))})(?![\w.])")
    choices = random.Random(0)
    for _ in range(5):
        given = (special.sub(lambda _: f"{choices.uniform(-1.0, 1.0):.4f}", text) for text in of.arguments)
        yield dataclasses.replace(of, arguments=tuple(given))


def _check_as_numpy(of: Program, f: Any, on_tape: Any) -> None:
    """Discard what numba computes otherwise than numpy, such as overlapping slices: infinities would hide it."""
    try:
        value = float(f(*arguments(of)))
    except Exception:  # the same arguments come once more, and are looked at there
        return
    if abs(value) > LIMIT:
        raise Discarded("large value")  # beside which a difference would be small
    try:
        same("numba's value", value, float(on_tape(*arguments(of, wide=True))), coarse(of) * 1e-11, 1.0)
    except Failed as error:
        raise Discarded("numba differs from the tape") from error
    except (ArithmeticError, ValueError) as error:  # int(nan), and a few more
        raise Discarded(f"the tape raises {type(error).__name__}") from error


def _check_one(of: Program, f: Any, on_tape: Any, engine: Engine) -> None:
    if engine.value_and_grad is not None and same_error(of, f, engine):
        return
    left, given = arguments(of), arguments(of, wide=True)
    argnums = reals(given)
    try:
        value = float(f(*left))
    except Exception as error:  # numba has limits and errors of its own
        raise Discarded(f"numba raises {type(error).__name__}") from error
    try:
        expected, gradients = dr.value_and_grad(on_tape, argnums)(*given)
    except (ArithmeticError, ValueError) as error:  # int(nan), and a few more
        raise Discarded(f"the tape raises {type(error).__name__}") from error
    try:
        same("numba's value", value, float(expected), coarse(of) * 1e-11, 1.0)
    except Failed as error:
        raise Discarded("numba differs from the tape") from error
    if engine.value_and_grad is None:
        return
    if math.isnan(value) and "np.median(" in of.source:
        raise Discarded("to numba's median, NaN is the largest number: its value, NaN too, is of other elements")
    if not math.isfinite(value) and re.search(r"\bsorted\(|(?<!\bnp)\.sort\(", of.source):
        raise Discarded("numba's sorted and list.sort put NaN elsewhere than Python's: the value may hide it")
    given = arguments(of)
    try:
        found = engine.value_and_grad(f, argnums)(*given)
    except ZeroDivisionError as error:
        if _is_dropped(of, argnums):
            raise Discarded("numba drops a division by zero whose value is not used") from error
        raise
    same("special value", float(found[0]), value, coarse(of) * 1e-13, 1.0)
    same("special arguments", given, left, coarse(of) * 1e-13, 1.0)
    _same_where_finite("special gradient", widened(found[1]), gradients, coarse(of) * 1e-9, flat(arguments(of)))
    if of.forward:
        _forward(of, f, on_tape, engine)


def _is_dropped(of: Program, argnums: tuple[int, ...]) -> bool:
    """Whether a division by zero, which the tape makes as Python does, may be one that numba leaves out.

    Where it inlines a list comprehension, numba removes all operations whose value is not used, also those that raise.
    """
    comprehends = any(isinstance(node, ast.ListComp) for node in ast.walk(ast.parse(of.source)))
    if not comprehends or "error_model" in of.source:
        return False
    try:
        dr.value_and_grad(plain(of.source, dr.math, dr.numpy), argnums)(*arguments(of, wide=True))
    except (ArithmeticError, ValueError) as error:
        return isinstance(error, ZeroDivisionError)
    return False


def _forward(of: Program, f: Any, on_tape: Any, engine: Engine) -> None:
    """Compare a tangent in which every third number is zero."""
    given, wide = arguments(of), arguments(of, wide=True)
    argnums = reals(given)
    ones = tuple(rebuild(given[k], [1.0] * len(flat(given[k]))) for k in argnums)
    steps = [0.0 if k % 3 == 1 else step for k, step in enumerate(flat(direction(ones)))]
    v = rebuild(ones, steps)
    _, expected = dr.jvp(on_tape, wide, tangents_like(wide, argnums, v))
    found = engine.jvp(f, given, tangents_like(given, argnums, v))[1]
    _same_where_finite("special tangent", float(found), float(expected), coarse(of) * 1e-9, flat(arguments(of)))


def _same_where_finite(kind: str, found: Any, expected: Any, share: float, given: list[float]) -> None:
    """Numbers that the tape calls finite are equal, up to roundings, also of huge arguments that cancel."""
    moderate = all(abs(x) < 1e50 for x in given)  # finite, and so are products of a few
    largest = max((abs(x) for x in given if math.isfinite(x)), default=0.0)
    pairs = list(zip(flat(found), flat(expected), strict=True))
    for k, (a, b) in enumerate(pairs):
        if math.isfinite(b) and not math.isfinite(a) and moderate:
            raise Failed(f"{kind}, only compiled is not finite", f"number {k}: {found} and {expected}")
    finite = [abs(b) for _, b in pairs if math.isfinite(b)]
    for k, (a, b) in enumerate(pairs):
        if 1e50 < max(abs(a), abs(b)) < 1e-13 * largest:
            continue
        if math.isfinite(a) and math.isfinite(b) and abs(a - b) > share * max(1.0, abs(b), *finite):
            raise Failed(f"{kind}, another number", f"number {k}: {found} and {expected}")
