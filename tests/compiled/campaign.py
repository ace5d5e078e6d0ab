"""Random programs: the compiled gradient, the eager tape and differences agree, and every fourth time the compiled
derivative in a direction. From the folder tests:

python -m compiled.campaign --programs 2000              run so many programs, in processes of 50 each
python -m compiled.campaign --seconds 600 --jobs 2       ... or for so long
python -m compiled.campaign --replay failures/0-17.py    run one that was saved

A failing program is saved with its arguments and with what disagreed, and once more after statements that do not matter
have been left out. `--eager` checks the generator alone: no gradient is compiled.
"""

from __future__ import annotations

import argparse
import ast
import copy
import faulthandler
import importlib.util
import json
import linecache
import math
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from oracle import assert_same, direction, flat, inner, rebuild

import dualrev as dr
from compiled.generator import Program, program
from compiled.language import Pair

__all__ = ["Discarded", "Failed", "check", "load", "main", "plain", "read", "reduce", "save"]

LIMIT = 1e5  # larger values or gradients: roundings would count
RTOL = 1e-9  # of the compiled gradient against the tape: they add in different orders
SECONDS = 300  # for one program, after which it counts as failed


class Discarded(Exception):  # noqa: N818 - not an error: the program says nothing
    """Values are too large, or the function is not smooth where it is evaluated."""


class Failed(AssertionError):  # noqa: N818 - as Discarded
    """Two of the ways to differentiate disagree, or one raises an error."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"{kind}: {why}")
        self.kind = kind


# Running programs


def plain(source: str, math: Any, numpy: Any) -> Callable[..., Any]:
    """The program's f as a plain Python function, with these modules."""

    def njit(f: Any = None, **_: Any) -> Any:
        return (lambda g: g) if f is None else f

    names = {"math": math, "np": numpy, "njit": njit, "Pair": Pair}
    exec(re.sub(r"(?m)^(import|from) .*$", "", source), names)
    return names["f"]


def load(source: str, folder: str) -> ModuleType:
    """The program as a module with a file of its own."""
    number = len(list(Path(folder).iterdir()))
    path = Path(folder) / f"program_{number}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # numba gives wrong names to what recursive functions of other modules call
    spec.loader.exec_module(module)
    return module


def arguments(of: Program, wide: bool = False) -> tuple[Any, ...]:
    """The arguments; `wide` ones have no float32, as plain Python and the tape want them."""
    texts = [text.replace("float32", "float64") if wide else text for text in of.arguments]
    return tuple(eval(text, {"np": np, "Pair": Pair}) for text in texts)


def slopes_agree(f: Callable[..., Any], of: Program, gradients: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    """The gradient against central differences; Discarded if these disagree among themselves, as beside a kink."""
    primals = arguments(of, wide=True)
    v = direction(tuple(primals[k] for k in argnums))

    def at(t: float) -> float:
        moved = list(arguments(of, wide=True))
        for k, w in zip(argnums, v, strict=True):
            moved[k] = rebuild(primals[k], [x + t * s for x, s in zip(flat(primals[k]), flat(w), strict=True)])
        return float(f(*moved))

    def slope(h: float) -> float:
        wide, narrow = ((at(step) - at(-step)) / (2 * step) for step in (h, h / 2))
        return (4 * narrow - wide) / 3

    expected = float(inner(gradients, v))
    scale = sum(abs(g * s) for g, s in zip(flat(gradients), flat(v), strict=True)) + 1e-3 * abs(at(0.0)) + 1e-6
    found = []
    for h in (2.0**-10, 2.0**-13, 2.0**-16, 2.0**-20):
        found.append(slope(h))
        if abs(found[-1] - expected) <= 1e-5 * scale:
            return
    if max(found[1:]) - min(found[1:]) > 1e-4 * scale:
        raise Discarded("not smooth")
    raise Failed("differences", f"slopes {found}, the tape's is {expected}")


def eager(of: Program) -> tuple[float, tuple[Any, ...], tuple[int, ...], tuple[Any, ...]]:
    """Value and gradient by the tape, the places of the real arguments, and what f leaves in its arguments.

    Checked against plain Python and differences.
    """
    f, left = plain(of.source, math, np), arguments(of, wide=True)
    try:
        value = float(f(*left))
    except (ArithmeticError, ValueError) as error:
        raise Discarded("not finite") from error
    except Exception as error:
        raise Failed("plain Python", repr(error)) from error
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in [value, *flat(left)]):
        raise Discarded("large value")
    argnums = tuple(k for k, x in enumerate(left) if flat(x))
    taped, gradients = dr.value_and_grad(plain(of.source, dr.math, dr.numpy), argnums)(*arguments(of, wide=True))
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in flat(gradients)):
        raise Discarded("large gradient")
    _same("tape's value", float(taped), float(value), 1e-12, max(1.0, abs(value)))
    slopes_agree(f, of, gradients, argnums)
    return float(value), gradients, argnums, left


def check(of: Program, value_and_grad: Callable[..., Any] | None = dr.value_and_grad, forward: bool = False) -> None:
    """Failed, unless all agree; Discarded, if nothing can be said; dualrev.errors.UnsupportedError, if refused.

    value_and_grad=None checks the program only: that numba compiles it, and that values and the tape are right. forward
    says whether jvp is compared as well.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # numba warns of slow products
        try:
            _check(of, value_and_grad, forward, folder)
        except (Discarded, Failed, dr.errors.UnsupportedError):
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {Path(place.filename).name} line {place.lineno}"
            raise Failed(kind, str(error)) from error
        finally:
            linecache.checkcache()


def _check(of: Program, value_and_grad: Callable[..., Any] | None, forward: bool, folder: str) -> None:
    expected, gradients, argnums, by_python = eager(of)
    left = arguments(of)
    single = any("float32" in text for text in of.arguments)
    coarse = 1e6 if single else 1.0  # how much larger the roundings may be
    try:
        f = load(of.source, folder).f
        value = f(*left)
    except Exception as error:  # numba has limits and errors of its own
        raise Discarded(f"numba raises {type(error).__name__}") from error
    size = max(1.0, *map(abs, flat(by_python)))
    try:
        _same("numba's value", float(value), expected, coarse * 1e-11, max(1.0, abs(expected)))
        _same("numba's arguments", widened(left), by_python, coarse * 1e-11, size)
    except Failed as error:  # numba reads what an operation in place has written: a += a[::-1]
        raise Discarded("numba differs from numpy") from error
    if value_and_grad is None:
        return
    compiled = value_and_grad(f, argnums)
    scale = max([1.0, abs(expected), *map(abs, flat(gradients))])
    for turn in ("first", "second"):  # nothing may be left over from the first call
        given = arguments(of)
        found = compiled(*given)
        _same(f"value, {turn} call", float(found[0]), float(value), coarse * 1e-13, max(1.0, abs(expected)))
        _same(f"gradient, {turn} call", widened(found[1]), gradients, coarse * RTOL, scale)
        _same(f"arguments, {turn} call", given, left, coarse * 1e-13, size)
    if not forward:
        return
    given = arguments(of)
    v = direction(tuple(given[k] for k in argnums))
    tangents: list[Any] = [None] * len(given)  # discrete values have none
    for k, tangent in zip(argnums, v, strict=True):
        tangents[k] = rebuild(given[k], flat(tangent), lambda _: None)
    found = dr.jvp(f, given, tuple(tangents))
    slopes = [abs(g * s) for g, s in zip(flat(gradients), flat(v), strict=True)]
    _same("value, jvp", float(found[0]), float(value), coarse * 1e-13, max(1.0, abs(expected)))
    _same("tangent", float(found[1]), float(inner(gradients, v)), coarse * RTOL, max(1.0, abs(expected), sum(slopes)))
    _same("arguments, jvp", given, left, coarse * 1e-13, size)


def widened(x: Any) -> Any:
    """The same with float64 arrays in place of float32 ones."""
    if isinstance(x, tuple):
        return x._make(map(widened, x)) if hasattr(x, "_make") else tuple(map(widened, x))
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x


def _same(kind: str, found: Any, expected: Any, rtol: float, scale: float) -> None:
    try:
        assert_same(found, expected, rtol=rtol, floor=rtol * scale)
    except AssertionError as error:
        raise Failed(kind, str(error)) from error


# Keeping and reducing those that fail


def save(of: Program, path: Path, why: str) -> None:
    note = "".join(f"# {line}\n" for line in why.splitlines())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{note}\n{of.source}\n# arguments: {of.arguments!r}\n")


def read(path: Path) -> Program:
    text = path.read_text()
    (line,) = re.findall(r"(?m)^# arguments: (.*)$", text)
    return Program(ast.unparse(ast.parse(text)) + "\n", ast.literal_eval(line))


def _edits(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """What can be left out: statements, the heads of loops and branches, sides of operations."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            for k, statement in enumerate(block if isinstance(block, list) else []):
                spare = [ast.Pass()] if field == "body" and len(block) == 1 else []
                yield lambda b=block, k=k, s=spare: b.__setitem__(slice(k, k + 1), s)
                for inner_field in ("body", "orelse"):
                    if not isinstance(statement, ast.FunctionDef) and getattr(statement, inner_field, None):
                        kept = getattr(statement, inner_field)
                        yield lambda b=block, k=k, s=kept: b.__setitem__(slice(k, k + 1), s)
    for node in ast.walk(tree):
        for field, child in ast.iter_fields(node):
            parts: list[Any] = []
            if isinstance(child, ast.BinOp):
                parts = [child.left, child.right]
            elif isinstance(child, ast.IfExp):
                parts = [child.body, child.orelse]
            elif isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.args:
                parts = [child.args[0]]
            for part in parts:
                yield lambda n=node, f=field, p=part: setattr(n, f, p)


def reduce(of: Program, fails: Callable[[Program], bool], seconds: float = 120.0) -> Program:
    """A smaller program that still fails."""
    end, k, before = time.monotonic() + seconds, 0, ""
    while time.monotonic() < end:
        tree = copy.deepcopy(ast.parse(of.source))
        edit = next((e for j, e in enumerate(_edits(tree)) if j == k), None)
        if edit is None:
            if of.source == before:
                break
            k, before = 0, of.source  # what was needed earlier may be spare now
            continue
        edit()
        smaller = Program(ast.unparse(tree) + "\n", of.arguments)
        if smaller.source != of.source and fails(smaller):
            of = smaller
        else:
            k += 1
    return of


def _fails_as(kind: str, options: argparse.Namespace, forward: bool) -> Callable[[Program], bool]:
    def fails(of: Program) -> bool:
        try:
            check(of, None if options.eager else dr.value_and_grad, forward)
        except Failed as error:
            return error.kind == kind
        except Exception:
            return False
        return False

    return fails


# Many programs


def _run(of: Program, options: argparse.Namespace, forward: bool = True) -> tuple[str, str]:
    """What became of the program, and why."""
    value_and_grad = None if options.eager else dr.value_and_grad
    try:
        check(of, value_and_grad, forward)
    except Discarded as why:
        return f"discarded: {why}", ""
    except dr.errors.UnsupportedError as why:
        return "refused", str(why)
    except Failed as why:
        return "failed", str(why)
    return "agreed", ""


def _shard(options: argparse.Namespace) -> None:
    """In a process of its own: programs one after another, a line of JSON before and after each."""
    kinds: Counter[str] = Counter()
    for number in range(options.first, options.first + options.programs):
        if time.time() > options.until:
            return
        faulthandler.dump_traceback_later(SECONDS + options.reduce, exit=True)
        name = f"{options.seed}-{number}"
        print(json.dumps({"started": number}), flush=True)
        of, forward = program(name, options.size), number % 4 == 0
        status, why = _run(of, options, forward)
        if status == "failed":
            save(of, options.save / f"{name}.py", why)
            kind = why.partition(":")[0]
            kinds[kind] += 1
            if options.reduce and kinds[kind] <= 2:
                small = reduce(of, _fails_as(kind, options, forward), options.reduce)
                save(small, options.save / f"{name}-small.py", _run(small, options, forward)[1])
        print(json.dumps({"number": number, "status": status, "why": why, "uses": of.constructs}), flush=True)
    faulthandler.cancel_dump_traceback_later()


def _process(options: argparse.Namespace, first: int, count: int) -> list[dict[str, Any]]:
    """The results of these programs. One that ends its process is a failure; the rest run in another."""
    results: list[dict[str, Any]] = []
    while count > 0 and time.time() < options.until:
        flags = [f"--{name}={getattr(options, name)}" for name in ("seed", "save", "reduce", "until", "size")]
        flags += [f"--first={first}", f"--programs={count}", *["--eager"] * options.eager]
        done = subprocess.run(
            [sys.executable, "-m", "compiled.campaign", *flags],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        finished = [line for line in lines if "number" in line]
        results += finished
        if done.returncode == 0:
            break
        if not lines:
            raise RuntimeError(done.stderr)
        last = max(line.get("started", -1) for line in lines)
        name, why = f"{options.seed}-{last}", f"the process ended with {done.returncode}\n{done.stderr[-2000:]}"
        save(program(name, options.size), options.save / f"{name}.py", why)
        results.append({"number": last, "status": "failed", "why": why, "uses": program(name, options.size).constructs})
        first, count = last + 1, first + count - last - 1
    return results


def campaign(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All programs, in processes of `shard` programs each; `jobs` of them run at a time."""
    options.until = time.time() + options.seconds if options.seconds else math.inf
    total = options.programs or (10**9 if options.seconds else 200)
    starts = iter(range(0, total, options.shard))
    results: list[dict[str, Any]] = []
    lock = threading.Lock()

    def work(_: int) -> None:
        while time.time() < options.until:
            with lock:
                first = next(starts, None)
            if first is None:
                return
            part = _process(options, first, min(options.shard, total - first))
            with lock:
                results.extend(part)
                failed = sum(result["status"] == "failed" for result in results)
                print(f"{len(results)} programs, {failed} failed", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    return results


def summary(results: list[dict[str, Any]], options: argparse.Namespace) -> str:
    counts = Counter(result["status"] for result in results)
    lines = [f"{len(results)} programs", *(f"  {counts[status]:6} {status}" for status in sorted(counts))]
    refusals = Counter(
        re.sub(r"[\w/.-]+:\d+|`.*`|\d+", "", r["why"])[:150] for r in results if r["status"] == "refused"
    )
    lines += [f"refused {number}: {why}" for why, number in refusals.most_common(8)]
    for result in results:
        if result["status"] == "failed":
            lines.append(f"{options.save}/{options.seed}-{result['number']}.py: {result['why'][:200]}")
    uses: dict[str, Counter[str]] = {}
    for result in results:
        for construct in result["uses"]:
            uses.setdefault(construct, Counter())[result["status"].partition(":")[0]] += 1
    lines.append("constructs (programs: agreed, refused, failed)")
    for construct in sorted(uses, key=lambda name: (uses[name]["agreed"], name)):
        found = uses[construct]
        lines.append(f"  {found['agreed']:5} {found['refused']:4} {found['failed']:4}  {construct!r}")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    """0 if no program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=0, help="how many (200, unless --seconds is given)")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--save", type=Path, default=Path("failures"), help="the folder for programs that fail")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--size", type=int, default=12, help="statements of the function, about; few compile faster")
    parser.add_argument("--shard", type=int, default=50, help="programs of one process")
    parser.add_argument("--reduce", type=float, default=120.0, help="seconds for making a failing program smaller")
    parser.add_argument("--eager", action="store_true", help="compile the programs, not their gradients")
    parser.add_argument("--replay", type=Path, help="a saved program")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    options.save = options.save.resolve()
    if options.replay:
        of = read(options.replay)
        status, why = _run(of, options)
        print(of, f"{status}\n{why}", sep="\n")
        return int(status == "failed")
    if options.first is not None:
        _shard(options)
        return 0
    results = campaign(options)
    print(summary(results, options))
    return int(any(result["status"] == "failed" for result in results))


if __name__ == "__main__":
    sys.exit(main())
