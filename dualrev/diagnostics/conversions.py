"""Text of a ConversionError: what made a plain number of a traced one, and what to write instead."""

from __future__ import annotations

import re
from types import FrameType, ModuleType

import numpy as np

from dualrev.diagnostics import call_sites, library_calls
from dualrev.diagnostics.user_lines import innermost_frame, is_assigned_to_an_element

__all__ = ["said"]

#: The methods of numpy's generators that take parameters of a distribution.
_DRAW = re.compile(
    r"\.(normal|uniform|exponential|gamma|beta|lognormal|laplace|logistic|gumbel|chisquare|standard_gamma|rayleigh"
    r"|poisson|triangular|vonmises|wald|weibull|pareto|power|standard_t)\("
)
_IN_A_LIBRARY = (
    "Libraries compute with plain numbers. dualrev.scipy has functions of SciPy that take these; dualrev.implicit gives"
    " a solver the derivative of its solution, and dualrev.custom_vjp any function that calls others a rule of its own."
    " To Python code that calls np.asarray, pass np.asarray(x, dtype=object): an array of numbers under"
    " differentiation."
)
_STORED = (
    "Constant arrays and their copies, np.zeros(n), np.zeros(n, complex) and the like are arrays of plain numbers."
)

#: What happened, what to write, and more.
_CONVERSIONS = {
    "float()": (
        "float() of a number that is being differentiated",
        "Write `from dualrev import math` for Python's `math`, or `from dualrev import numpy as np` for arrays of plain"
        " floats.",
        "The functions of Python's `math` make floats of their arguments: use the ones of the same name in"
        " dualrev.math, or numpy's. Arrays of plain floats do so with what they store: dualrev.numpy has others.",
    ),
    "complex()": (
        "complex() of a number that is being differentiated",
        "Write np.exp for a function of `cmath`, x + 1j * y for complex(x, y), dualrev.numpy.array for a plain array.",
        "`cmath`, complex(x, y) and plain arrays make plain numbers: dualrev.numpy.array and .zeros make arrays that"
        " hold these.",
    ),
    "astype()": ("astype of complex numbers that are being differentiated", "Take z.real, z.imag or abs(z).", ""),
    "storing": (
        "storing a number that is being differentiated in an array of plain numbers",
        "Write dualrev.numpy.zeros(n) for np.zeros(n) (`from dualrev import numpy as np`), dualrev.numpy.array(u) for a"
        " constant array u or for u.copy(), or collect the numbers in a list.",
        _STORED,
    ),
    "asarray()": (
        "making a plain array of one that holds numbers that are being differentiated",
        "Leave np.array or np.asarray out, or write `from dualrev import numpy as np`; for a list of arrays, write"
        " np.stack([a, b]); for a.dot(x), a @ x.",
        "np.array, np.asarray and functions that call them make plain arrays: dualrev.numpy has functions of the same"
        " name that keep the derivatives.",
    ),
}


def said(conversion: str, inside: str, place: str) -> tuple[str, str]:
    """Return the message and what `explain` adds, for a conversion at a place of the user's code.

    `inside` names the line of an installed package that asks for the plain number; "" if it is the user's line.
    """
    frame = innermost_frame()
    if conversion in ("float()", "complex()", "asarray()") and frame is not None and _stores(frame):
        conversion = "storing"
    what, cure, more = _CONVERSIONS.get(conversion, (f"{conversion} of a number that is being differentiated", "", ""))
    function = library_calls.called()
    if (series := _series(frame)) is not None:
        what = f"{series} of numbers that are being differentiated"
        cure = f"Write `from dualrev import numpy as np`, and {_ours(series)}."
    elif function is not None:
        cure = library_calls.cure(function)
        more = f"{f'The plain number is made{inside}. ' if inside else ''}{_IN_A_LIBRARY}"
    elif conversion == "storing" and frame is not None:
        cure = call_sites.stored_at(frame) or cure
    elif frame is not None:
        cure = _at_the_call(frame, place) or cure
    return (
        f"{what}{place}{f' (inside {function})' if function else ''}.\n"
        f"{f'{cure} ' if cure else ''}Where a constant is meant, write dualrev.value(x).",
        f"The plain number would lose its derivative. {more}".strip(),
    )


def _series(frame: FrameType | None) -> str | None:
    """Return the outermost function or class of numpy.polynomial that runs; None if none does."""
    found = None
    while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith("numpy."):
        if module.startswith("numpy.polynomial."):
            owner = frame.f_locals.get("self")
            found = (
                f"{module}.{frame.f_code.co_name}"
                if owner is None
                else f"{type(owner).__module__}.{type(owner).__name__}"
            )
        frame = frame.f_back
    return found


def _ours(series: str) -> str:
    """Return the cure that calls a function of dualrev.numpy.polynomial."""
    module, _, name = series.rpartition(".")
    short = module.replace("numpy.", "np.", 1)
    if name[0].islower():
        return f"call it as {short}.{name}"
    value = {"Polynomial": "poly", "Chebyshev": "cheb", "Legendre": "leg", "Laguerre": "lag"}
    value |= {"Hermite": "herm", "HermiteE": "herme"}
    return f"{short}.{value.get(name, 'poly')}val(x, c) for the series {name}(c) at x"


#: Modules whose functions make plain numbers, and what to write.
_MODULES = {
    "numpy.ma.": "Write np.where(mask, 0.0, x) for an array x with a mask.",
    "numpy.matrixlib.": "Write np.stack([a, b]) for a matrix of rows, and a @ b for its product.",
    "numpy.lib._index_tricks_impl": "Write `from dualrev import numpy as np` for np.r_, np.c_; np.arange for np.mgrid.",
    "statistics": "Write np.mean(x), np.median(x) or np.std(x, ddof=1) of the array x = np.stack(list).",
}
_DRAWN = (
    "The generators of numpy take plain numbers: draw z, and compute with it, as in `z = rng.normal()` and"
    " `mean + s * z`."
)


def _at_the_call(frame: FrameType, place: str) -> str:
    """Return the cure for a call of numpy or `statistics` that makes a plain number; "" for other calls."""
    module = frame.f_globals.get("__name__", "")
    found = next((cure for name, cure in _MODULES.items() if f"{module}.".startswith(name)), "")
    site = call_sites.called_at(frame)
    if found or site is None:
        return found or (_DRAWN if _DRAW.search(place) else "")
    of = site.owner if isinstance(site.owner, ModuleType) else type(site.owner)
    if f"{getattr(of, '__name__', '')}.{getattr(of, '__module__', '')}".find("numpy.random") >= 0:
        return _DRAWN
    if isinstance(site.owner, np.ndarray) and callable(getattr(np, site.name, None)):
        return f"Write np.{site.name}(a, ...) for the array's method a.{site.name}(...)."
    if isinstance(site.function, type) and issubclass(site.function, (float, np.floating)):
        return f"Leave {site.name}(...) out: the number is a float in double precision."
    return ""


_STORING = {"fill", "itemset", "put", "setfield", "__setitem__"}


def _stores(frame: FrameType) -> bool:
    """Whether a frame is at `a[i] = x`, `a.real = x`, or at a call of a method of a plain array, as a.fill(x)."""
    if is_assigned_to_an_element(frame):
        return True
    call = call_sites.called_at(frame)
    return call is not None and isinstance(call.owner, np.ndarray) and call.name in _STORING
