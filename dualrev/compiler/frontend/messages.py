"""Diagnostics for unsupported syntax and functions: the construct, the reason, and the remedy."""

from __future__ import annotations

import functools
from typing import TypeAlias

from numba.core.registry import CPUDispatcher

from dualrev.compiler.frontend.reading.callables import is_known_to_numba
from dualrev.compiler.types.aliases import UserValue
from dualrev.diagnostics import library_calls

__all__ = ["EXPRESSIONS", "FUNCTIONS", "STATEMENTS", "Words", "about_function", "refused_at_once"]

#: The construct, the reason, and the remedy.
#: What is refused, the reason, the cure, and the line, if it is another one than that of the statement.
Words: TypeAlias = tuple[str, str, str] | tuple[str, str, str, int]

_UNKNOWN = "the compiler does not know it"
_LEFT = "the reverse pass cannot know at which statement the block was left"
_TEST = "a test before the operation that may fail, or the `try` in a function that calls this one"
_DICT = "which of its values an operation changes is not known before it runs"
_SET, _NO_SET = "it has no places for its elements", "an array, such as np.unique gives, or a mask"
_TOP = "it at the top of the module"

#: By the names of the nodes of the syntax tree.
STATEMENTS = {
    "Try": ("try/except", _LEFT, _TEST),
    "TryStar": ("try/except", _LEFT, _TEST),
    "With": (
        "a `with` statement",
        "numba runs its body in Python, or in another context, and nothing is known of what it does",
        "the block in a function that calls this one",
    ),
    "ClassDef": ("a class inside of a numba function", _UNKNOWN, "tuples or arrays"),
    "Delete": ("a `del` statement", _UNKNOWN, "nothing: variables may stay"),
    "Import": ("an import inside of a numba function", _UNKNOWN, _TOP),
    "ImportFrom": ("an import inside of a numba function", _UNKNOWN, _TOP),
}
EXPRESSIONS = {
    "SetComp": ("a set comprehension", _SET, "a loop that fills an array"),
    "DictComp": ("a dict comprehension", _DICT, "an array and a number for each key"),
    "GeneratorExp": ("a generator expression", _UNKNOWN, "a loop"),
    "Dict": ("a dict", _DICT, "arrays or named tuples"),
    "Set": ("a set", _SET, _NO_SET),
    "Lambda": ("a lambda", _UNKNOWN, "a numba function outside of this one"),
    "NamedExpr": ("an assignment inside of an expression", _UNKNOWN, "the assignment on a line of its own"),
    "JoinedStr": ("an f-string", "strings have no derivative, and only constant ones are known", "a constant string"),
    "Yield": ("a generator", _UNKNOWN, "a loop, or an array of the results"),
    "YieldFrom": ("a generator", _UNKNOWN, "a loop, or an array of the results"),
    "Await": ("a coroutine", _UNKNOWN, "a plain function"),
    "Starred": ("a starred expression", _UNKNOWN, "every value"),
}
_TEXT = ("strings have no derivative, and only constant ones are known", "a constant string, or a number")
_RANDOM = ("only some functions of the module random are known", "np.random, or a sample that is drawn outside")
#: By what functions are called: the reason, and the remedy.
FUNCTIONS = {
    "dict": (_DICT, "arrays or named tuples"),
    "set": (_SET, _NO_SET),
    **dict.fromkeys(("str", "repr", "chr"), _TEXT),
    "numpy.nditer": (
        "only a loop over that of arrays of real numbers (if there are several, in C order) is known, which reads or"
        " writes v.item(), v[()]",
        "such a loop, or one over np.ndindex(a.shape)",
    ),
}
_OPERATORS = {
    "abs": "abs(x)",
    "attrgetter": "x.name for attrgetter('name')(x)",
    "call": "f(x)",
    "concat": "x + y",
    "countOf": "a loop that counts",
    "iconcat": "x += y",
    "imatmul": "x = x @ y",
    "index": "int(x)",
    "indexOf": "a loop that finds it",
    "is_none": "x is None",
    "is_not_none": "x is not None",
    "itemgetter": "x[k] for itemgetter(k)(x)",
    "length_hint": "len(x)",
    "methodcaller": "x.name() for methodcaller('name')(x)",
    "truth": "bool(x)",
}
FUNCTIONS |= {f"operator.{name}": ("numba does not have it", instead) for name, instead in _OPERATORS.items()}
FUNCTIONS |= {
    "functools.reduce": ("dualrev has no derivative for it in numba functions", "a loop: `for y in ys: x = f(x, y)`"),
    "functools.partial": ("numba does not have it", "a numba function with all arguments"),
}
_CONTINUOUS = (
    "the continuous adjoint has only first derivatives, in reverse mode",
    "ode.rk45 or ode.checkpointed.rk45 in place of ode.continuous.rk45",
)
_MODULES = {
    "dualrev.ode.continuous": _CONTINUOUS,
    "dualrev.ode.nested_args": _CONTINUOUS,  # the first of its functions that the reverse pass calls
    "random": _RANDOM,
    "heapq": (
        "of lists, only those are known that grow and shrink at their end",
        "np.sort, or a search for the least",
    ),
}


def about_function(name: str) -> tuple[str, str] | None:
    """Return the reason and the remedy for a function with a diagnostic of its own; else None."""
    return FUNCTIONS.get(name) or _MODULES.get(name.partition(".")[0]) or _MODULES.get(name.rpartition(".")[0])


def refused_at_once(f: UserValue) -> Words | None:
    """Return subject, reason and remedy for a function that is refused whatever its arguments; else None.

    These are functions of SciPy, and functools.reduce.
    """
    if f is functools.reduce:
        return "the call of functools.reduce", *FUNCTIONS["functools.reduce"]
    if not callable(f) or not str(getattr(f, "__module__", "")).startswith("scipy."):
        return None
    if isinstance(f, CPUDispatcher) or is_known_to_numba(f):
        return None
    called = library_calls.of_function(f)
    if called is None:
        return None
    return f"the call of {called}", "numba compiles no functions of SciPy", library_calls.outside_of_numba(called)
