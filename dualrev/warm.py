"""Command line that fills the cache of compiled derivatives: python -m dualrev.warm module:function ...

    module:function             called once, without arguments: it calls the derivatives as the program will
    module:function(types)      derivatives of a numba function, compiled for these types without running it

A derivative that is compiled but not kept is a failure: the next process would compile it again. With --source, the
source of one derivative is written into a file of the user's own package instead.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import logging
import operator
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from numba.core import sigutils, types
from numba.core.dispatcher import Dispatcher

import dualrev as dr

__all__ = ["main"]

TRANSFORMS = ("grad", "value_and_grad", "hessian", "jacobian", "jacfwd", "jacrev", "hvp")

DESCRIPTION = """
Compile derivatives and put them into the cache, so that the next process loads them. Set DUALREV_CACHE_DIR, or write
@njit(cache=True) above your numba functions: without either, there is no cache.
"""
EXAMPLES = """
examples:
  python -m dualrev.warm package.model:warm_up
      calls warm_up(), which calls the derivatives with arguments of the types that the program uses
  python -m dualrev.warm --transform grad,hessian "package.model:loss(float64[:], float64[:])"
      compiles dr.grad(loss) and dr.hessian(loss) for two contiguous vectors; loss does not run
  python -m dualrev.warm --source package/slope.py --transform grad "package.model:loss(float64[:], float64[:])"
      writes the function grad_loss, a numba function that needs dualrev's runtime, and none of its passes

Types are written as in numba's signatures. float64[:] is a contiguous vector here and float64[:, :] a contiguous
matrix, as numpy makes them. For other arrays (Fortran order, strided, read-only) and for objects use a function without
arguments. The exit code is 0 if all derivatives are in the cache, and else 1.
"""


class Target(NamedTuple):
    """Target to warm: a function, by its module and its name, and the types of its arguments; None to call it."""

    module: str
    name: str
    types: str | None


class _Report(logging.Handler):
    """Handler that prints a line for each derivative, and keeps the reasons why derivatives are not cached."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.count = 0
        self.uncached: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record of a derivative; keep a reason."""
        if hasattr(record, "compilation"):
            self.count += 1
            print(record.getMessage(), flush=True)
        elif hasattr(record, "uncached"):
            self.uncached.append(record.getMessage())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words of the command line, without the program's name; None for those of this process.

    Returns:
        Exit code: 0 if all derivatives are in the cache, 1 if one is not. Wrong options raise SystemExit(2).

    >>> main(["package.model"])  # prints what is missing
    1
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    transforms = options.transform or ("grad", "value_and_grad")
    if options.source:
        if len(options.targets) > 1 or (options.transform and len(options.transform) > 1):
            parser.error("--source takes one function with its types, and one name in --transform")
        return _write(options.source, options.targets[0], (options.transform or ["value_and_grad"])[0], options.argnums)
    failed = False
    with _reporting() as report:
        for text in options.targets:
            try:
                warm(target(text), transforms, options.argnums)
            except Exception as error:  # of a user's module, or of its functions
                failed = True
                print(f"failed: {text}: {_said(error)}", file=sys.stderr)
    for reason in dict.fromkeys(report.uncached):
        print(f"not cached: {reason}", file=sys.stderr)
    if report.count:
        from dualrev.compiler.bridge.cache.store import chosen_place

        print(f"cache: {chosen_place()}")
    elif not failed:
        print("no derivative was compiled or loaded: numba's own cache has the callers, or none is of a numba function")
    return 1 if failed or report.uncached else 0


def warm(target: Target, transforms: Sequence[str], argnums: int | tuple[int, ...]) -> None:
    """Compile the derivatives of a target, or load them from the cache."""
    f = found(target)
    if target.types is None:
        if not callable(f):
            raise TypeError(f"{target.name} is not a function")
        if needed := [p.name for p in _parameters(f) if p.default is p.empty and p.kind not in _REST]:
            raise TypeError(
                f"{target.name} has arguments ({', '.join(needed)}): write their types, as in "
                f'"{target.module}:{target.name}(float64[:])", or name a function without arguments that calls it'
            )
        f()
        return
    check_numba_function(f, target)
    for transform in transforms:
        _derivative(f, transform, argnums).compile(argument_types(f, target, transform == "hvp"))


def source(target: Target, transform: str, argnums: int | tuple[int, ...], command: str) -> tuple[str, str, str]:
    """Text of a module with a derivative that needs dualrev's runtime only, the derivative's name, and its types.

    Raises UnsupportedError if the function uses what cannot be imported by name.
    """
    from dualrev.compiler.bridge.cache.standalone import standalone

    f = found(target)
    check_numba_function(f, target)
    if target.types is None:
        raise TypeError(f'write the types of the arguments, as in "{target.module}:{target.name}(float64[:])"')
    kinds = argument_types(f, target, transform == "hvp")
    if any(isinstance(t, types.Omitted) for t in kinds):
        raise TypeError(f"write a type for every argument of {target.name}{inspect.signature(f.py_func)}")
    return standalone(_derivative(f, transform, argnums), target.module, target.name, kinds, command)


def _write(path: str, text: str, transform: str, argnums: int | tuple[int, ...]) -> int:
    """Write a derivative's module; return the exit code."""
    chosen = argnums if isinstance(argnums, int) else ",".join(map(str, argnums))
    words = ["python", "-m", "dualrev.warm", "--source", path, "--transform", transform]
    words += ["--argnums", str(chosen)] if argnums != 0 else []
    try:
        module, name, kinds = source(target(text), transform, argnums, shlex.join([*words, text]))
        Path(path).write_text(module, encoding="utf-8")
    except Exception as error:  # of a user's module, or of its functions
        print(f"failed: {text}: {_said(error)}", file=sys.stderr)
        return 1
    print(f"wrote {path}: {name} for ({kinds})")
    return 0


def _derivative(f: Any, transform: str, argnums: int | tuple[int, ...]) -> Any:
    return getattr(dr, transform)(f, *() if transform == "hvp" else (argnums,))


def target(text: str) -> Target:
    """Parse `module:function` or `module:function(types)`.

    >>> target("package.model:loss(float64[:], int64)")
    Target(module='package.model', name='loss', types='(float64[:], int64)')
    """
    parts = re.fullmatch(r"\s*([\w.]+):([\w.]+)\s*(\(.*\))?\s*", text, re.DOTALL)
    if parts is None:
        raise ValueError("write module:function, or module:function(types)")
    return Target(*parts.groups())


def found(target: Target) -> Any:
    """Import a target's module, and return its function."""
    module = importlib.import_module(target.module)
    try:
        return operator.attrgetter(target.name)(module)
    except AttributeError:
        raise ValueError(f"module {target.module} has no {target.name}") from None


def check_numba_function(f: Any, target: Target) -> None:
    """Raise TypeError if f is no numba function."""
    if not isinstance(f, Dispatcher):
        raise TypeError(f"{target.name} is no numba function: write @njit above it, or leave out the types to call it")


def argument_types(f: Any, target: Target, with_tangent: bool = False) -> tuple[types.Type, ...]:
    """Numba types of a call of f; parameters without a type have their defaults.

    `with_tangent` repeats the first type: `hvp` takes a tangent after the first argument.
    """
    inside = str(target.types).strip()[1:-1].strip().removesuffix(",")
    try:
        given, _ = sigutils.normalize_signature(f"({inside},)" if inside else "()")
    except Exception as error:  # it may be any text
        raise TypeError(f"{target.types} are no numba types: {error}") from None
    parameters = _parameters(f.py_func)
    fixed = [p for p in parameters if p.kind not in _REST]
    needed = sum(p.default is p.empty for p in fixed)
    if len(given) < needed or (len(given) > len(fixed) and len(fixed) == len(parameters)):
        raise TypeError(f"{target.name}{inspect.signature(f.py_func)} has other arguments than {target.types}")
    kinds = [_contiguous(t) for t in given]
    kinds += [types.Omitted(p.default) for p in fixed[len(given) :]]
    return (kinds[0], *kinds) if with_tangent else tuple(kinds)


_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(f: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(f).parameters.values())


def _contiguous(t: types.Type) -> types.Type:
    """Type of a contiguous array in place of an array of any layout, in tuples too."""
    if isinstance(t, types.Array) and t.layout == "A":
        return t.copy(layout="C")
    if isinstance(t, types.BaseTuple) and not isinstance(t, types.BaseNamedTuple):
        return types.BaseTuple.from_types(tuple(map(_contiguous, t)))
    return t


def _said(error: Exception) -> str:
    """Message of an error; of one that is not dualrev's, with its class and its last line of code."""
    if isinstance(error, (dr.DualrevError, TypeError, ValueError)) or not error.__traceback__:
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"


@contextmanager
def _reporting() -> Iterator[_Report]:
    """Have dualrev's log printed in a `with` statement."""
    logger, report = logging.getLogger("dualrev"), _Report()
    level = logger.level
    logger.addHandler(report)
    logger.setLevel(logging.DEBUG)
    try:
        yield report
    finally:
        logger.removeHandler(report)
        logger.setLevel(level)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m dualrev.warm",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="+", metavar="module:function", help="with or without types; see the examples")
    parser.add_argument(
        "--transform",
        type=_transforms,
        metavar="NAMES",
        help=f"derivatives for targets with types: some of {', '.join(TRANSFORMS)} (default: grad,value_and_grad)",
    )
    parser.add_argument(
        "--argnums",
        type=_argnums,
        default=0,
        metavar="N",
        help="argument to differentiate with respect to, for targets with types: 1, or 0,2 for a tuple (default: 0)",
    )
    parser.add_argument(
        "--source",
        metavar="OUT.py",
        help="write the source of one derivative (default: value_and_grad) into this file, and compile nothing",
    )
    return parser


def _transforms(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in TRANSFORMS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(TRANSFORMS)}")
    return names


def _argnums(text: str) -> int | tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no int, and no list of ints such as 0,2") from None
    return numbers if "," in text else numbers[0]


if __name__ == "__main__":
    sys.exit(main())
