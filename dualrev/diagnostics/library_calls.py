"""Name of the library function that the user's code has called, from the frames below the user's line; and its cure."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType
from typing import Any, NamedTuple

from dualrev.diagnostics.call_sites import CallSite, called_at
from dualrev.diagnostics.user_lines import is_of_library, package_of

__all__ = ["Called", "called", "cure", "of_function", "outside_of_numba"]


class Called(NamedTuple):
    """A function of a library: `scipy`, `scipy.stats`, `norm.logpdf`. Parts that are not known are empty."""

    package: str
    module: str
    name: str
    by_us: bool  # whether dualrev called it, as dualrev.scipy does

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.package


def called(running: Iterable[FrameType] | None = None) -> Called | None:
    """Return the running function of an installed package that the user's code called; None if there is none.

    `running` has the frames of a traceback, the innermost first; by default it is those of this call.
    """
    frames: list[FrameType] = []
    by_us, site = False, None
    for frame in _callers() if running is None else running:
        kind = is_of_library(frame.f_code.co_filename)
        if kind is None:
            by_us = by_us or bool(frames)
        elif kind:
            if package_of(frame.f_code.co_filename) not in ("", "numpy"):
                frames.append(frame)
        else:
            site = called_at(frame)
            break
    named = None if site is None else _of_site(site)
    package = package_of(frames[-1].f_code.co_filename) if frames else ""
    if (named is not None and named[0].partition(".")[0] == package) or not package:
        return named and Called(named[0].partition(".")[0], *named, by_us)
    for frame in reversed(frames):
        module, name = _of_frame(frame)
        if name:
            return Called(package, module, name, by_us)
    owner = type(frames[-1].f_locals.get("self"))  # of an operator, as in A @ x
    return Called(package, *(_of_class(owner) or (package, "")), by_us)


def _of_class(x: type) -> tuple[str, str] | None:
    """The public module of a class of an installed package, and its name."""
    module = _public(x.__module__)
    return None if "." not in module or x.__name__.startswith("_") else (module, x.__name__)


def _of_site(site: CallSite) -> tuple[str, str] | None:
    """The public module of the function of a library that the user's line calls, and its name; None for others."""
    f, owner = site.function, site.owner
    owner = owner if isinstance(owner, type) else None
    of = getattr(f if owner is None else owner, "__module__", None)
    package = sys.modules.get(of.partition(".")[0]) if isinstance(of, str) else None
    if of is None or package_of(getattr(package, "__file__", None) or "") in ("", "numpy"):
        return None
    name = f.__name__ if owner is None and isinstance(getattr(f, "__name__", None), str) else site.name
    if owner is not None:
        name = f"{owner.__name__}.{name}"
    module = _public(of)
    return (module, name) if module and not name.startswith(("_", "<")) else None


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _of_frame(frame: FrameType) -> tuple[str, str]:
    """The public module of the function that a frame runs or wraps, and its name; "" for one that is not public."""
    module, name = _public(frame.f_globals.get("__name__", "")), frame.f_code.co_name
    if not module or name.endswith(("wrapper", "wrapped")):
        names = frame.f_code.co_freevars if module else frame.f_locals
        module, name = next(filter(None, (_wrapped(frame.f_locals.get(x)) for x in names)), ("", "_"))
    owner = frame.f_locals.get("self")
    if owner is not None:
        name = name.rpartition(".")[2]
        owner_name = type(owner).__name__.removesuffix("_gen")
        if module == "scipy.stats":
            kind = getattr(getattr(owner, "dist", owner), "name", None)  # scipy.stats.norm(...), or norm itself
            owner_name = kind if isinstance(kind, str) else owner_name
        name = owner_name if name in ("__init__", "__call__") else f"{owner_name}.{name}"
    hidden = any(part.startswith(("_", "<")) for part in name.split("."))
    return ("", "") if hidden or not module else (module, name)


def _wrapped(x: Any) -> tuple[str, str] | None:
    """Module and name of a function that a decorator of its package calls."""
    if not isinstance(x, FunctionType) or x.__name__.startswith(("_", "<")):
        return None
    public = _public(x.__module__ or "")
    return (public, x.__qualname__.rpartition("<locals>.")[2]) if public else None


def _public(module: str) -> str:
    """`scipy.stats` for `scipy.stats._distn_infrastructure`; "" for `scipy._lib._util`."""
    parts = module.split(".")
    if parts[1:2] == ["core"]:  # of pandas and xarray
        return parts[0]
    hidden = next((k for k, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:hidden]) if hidden > 1 or len(parts) == 1 else ""


def _has_drop_in(function: Called) -> bool:
    """Whether dualrev.scipy has a function of this name of its own, with a derivative."""
    if function.package != "scipy" or function.by_us or not function.name:
        return False
    try:
        module = importlib.import_module(f"dualrev.{function.module}")
    except ImportError:
        return False
    name, _, method = function.name.partition(".")
    found = vars(module).get(name)
    if name in getattr(module, "REFUSED", ()):
        return False
    if method:
        return method in vars(found) if hasattr(found, "_of_scipy") else False
    return name in module.__all__


def cure(function: Called) -> str:
    """Return a sentence that says what to write in place of a library function that makes plain numbers."""
    package, module, name, by_us = function
    if package == "pandas":
        return "Write t.to_numpy() for the table t that the array meets there, as in t.to_numpy() @ x."
    if package == "xarray":
        return "Write a.data for the array of the DataArray a, with its NaN."
    if module == "scipy.sparse" and _is_product(name):
        return (
            "Write `from dualrev.scipy import sparse`, and sparse.Sparse(a.data, a.row, a.col, a.shape) @ x for the"
            " product of the matrix A and x, with a = A.tocoo()."
        )
    if _has_drop_in(function):
        parent, _, module = module.rpartition(".")
        return f"Write `from dualrev.{parent} import {module}`: {module}.{name} takes these numbers."
    if by_us:
        return "Give the call a rule with dualrev.custom_vjp, or its solution a derivative with dualrev.implicit."
    if package != "scipy":
        return f"{_OWN_RULE}, or compute it with numpy, with t.to_numpy() for a table t."
    if (of_numpy := _of_numpy(module, name)) is not None:
        return f"Write {of_numpy}, which takes these numbers."
    return f"{_none(module, name)}: {_without_rule(module, name)}."


def _is_product(name: str) -> bool:
    """Whether a name is that of a class of sparse matrices, from an operator, or of its method `dot`."""
    name, _, method = name.partition(".")
    return hasattr(getattr(sys.modules["scipy.sparse"], name, None), "tocoo") and method in ("", "dot")


_OWN_RULE = "Give a function f that calls it a rule: `@dualrev.custom_vjp` above f, `f.defvjp(fwd, bwd)` below it"


def _none(module: str, name: str) -> str:
    """`dualrev.scipy.linalg has no rule for hessenberg`."""
    if not name:
        return "dualrev.scipy has no rule for this"
    if importlib.util.find_spec(".".join(["dualrev", *module.split(".")[:2]])) is None:
        return f"dualrev.scipy has no {module.removeprefix('scipy.')}.{name}"
    return f"dualrev.{module} has no rule for {name}"


def _without_rule(module: str, name: str) -> str:
    """Return the cure for a function of SciPy that has no rule."""
    own = f"{_OWN_RULE[0].lower()}{_OWN_RULE[1:]}"
    if module == "scipy.optimize" and "fprime" not in name:
        return (
            "find x with dualrev.value(a) for every number a that is differentiated, then write"
            " x = dualrev.implicit.attach(dualrev.grad(f), x) with these numbers in f"
        )
    if module == "scipy.integrate" and "quad" in name:
        return f"sum f over the nodes of np.polynomial.legendre.leggauss(n). Or {own}"
    if module == "scipy.stats" and "." in name:
        return f"write it with functions of scipy.special, as ndtri(p) for norm.ppf(p). Or {own}"
    return f"write it with functions of numpy. Or {own}"


def of_function(f: Any) -> Called | None:
    """Return the name of a function or a class of an installed package; None for any other."""
    named = _of_site(CallSite(None, getattr(f, "__name__", ""), f))
    return None if named is None else Called(named[0].partition(".")[0], *named, False)


def outside_of_numba(function: Called) -> str:
    """Return what to write in place of a function of SciPy in numba code, after `Write`."""
    _, module, name, _ = function
    if (of_numpy := _of_numpy(module, name)) is not None:
        return of_numpy
    if _has_drop_in(function):
        parent, _, short = module.rpartition(".")
        return f"it in a Python function, without @njit, with `from dualrev.{parent} import {short}`"
    return "it in a Python function, without @njit, that has a rule of its own by dualrev.custom_vjp"


def _of_numpy(module: str, name: str) -> str | None:
    """The function of numpy that has this name and a derivative; None if there is none."""
    from dualrev.rules.functions import known  # a table that only an error needs here

    path = {"scipy.fft": "np.fft.", "scipy.linalg": "np.linalg.", "scipy.integrate": "np."}.get(module)
    return None if path is None or not known(path + name).topic else path + name
