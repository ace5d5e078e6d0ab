"""A numba function that returns what another one has written into its arguments: see dualrev/outputs.py.

It is what a user would write, `def f(x, out): _f(x, out); return out`, so all derivatives of numba functions are those
of this one, too.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Sequence
from typing import Any

from numba.core.registry import CPUDispatcher

from dualrev.compiler.frontend.options import kept
from dualrev.compiler.frontend.source import describe
from dualrev.compiler.host.frozen import watch
from dualrev.compiler.host.taken import OUTPUTS
from dualrev.errors import UnsupportedError
from dualrev.outputs import output_numbers
from dualrev.quoting import execute, identifier, remember

__all__ = ["written"]


def written(f: Any, outputs: int | Sequence[int]) -> Any:
    """The numba function whose value is what these arguments of f hold at the end; always the same one."""
    parameters = list(inspect.signature(f.py_func).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        what, why = f"outputs={outputs!r} of {describe(f.py_func)}", "it has *args, whose number is not known"
        raise UnsupportedError.at(describe(f.py_func), what, why, "a parameter for every argument")
    numbers = output_numbers(outputs, len(parameters))
    several = isinstance(outputs, Sequence)
    watch(f)
    known = vars(f).setdefault("_dualrev_written", {})
    key = id(f), tuple(numbers), several  # id: functools.wraps copies the dictionary to another function
    return known.get(key) or known.setdefault(key, _made(f, [p.name for p in parameters], numbers, several))


def _made(f: Any, names: list[str], numbers: list[int], several: bool) -> Any:
    name = identifier(f.py_func.__name__, "function")
    inner = f"{name}_"
    while inner in names:
        inner += "_"
    value = ", ".join(names[k] for k in numbers) + "," * (several and len(numbers) == 1)
    text = f"def {name}({', '.join(names)}):\n    {inner}({', '.join(names)})\n    return {value}\n"
    file = f"<what {name} writes {uuid.uuid4().hex}>"
    namespace: dict[str, Any] = {inner: f, "__name__": f.py_func.__module__}
    execute(text, namespace, file)
    function = namespace.pop(name)
    function.__defaults__, function.__doc__ = f.py_func.__defaults__, f.py_func.__doc__
    vars(function)[OUTPUTS] = numbers
    options = {"nopython": True, **kept(f), "error_model": f.targetoptions.get("error_model", "python")}
    made: Any = CPUDispatcher(function, {}, options)
    remember(text, file, made)
    return made
