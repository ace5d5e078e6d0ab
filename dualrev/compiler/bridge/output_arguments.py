"""Output arguments: a numba function that returns what another one has written into them (dualrev/outputs.py).

It is what a user would write, `def f(x, out): _f(x, out); return out`, so all derivatives of numba functions are those
of this one, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from numba.core.registry import CPUDispatcher

from dualrev.compiler.bridge.bind_arguments import parameters_of
from dualrev.compiler.bridge.cache.frozen_globals import watch
from dualrev.compiler.bridge.check_arguments import OUTPUTS
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.diagnostics.quoting import execute, identifier, remember
from dualrev.errors import UnsupportedError
from dualrev.outputs import output_numbers

__all__ = ["numba_function", "written"]


def written(f: Dispatcher, outputs: int | Sequence[int]) -> Dispatcher:
    """Memoised numba function whose value is the final content of these arguments of f."""
    parameters = parameters_of(f).values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        what, why = f"outputs={outputs!r} of {describe(f.py_func)}", "it has *args, whose number is not known"
        raise UnsupportedError.at(describe(f.py_func), what, why, "a parameter for every argument")
    numbers = output_numbers(outputs, len(parameters))
    several = isinstance(outputs, Sequence)
    watch(f)
    known = vars(f).setdefault("_dualrev_written", {})
    key = id(f), tuple(numbers), several  # id: functools.wraps copies the dictionary to another function
    return known.get(key) or known.setdefault(key, _made(f, [p.name for p in parameters], numbers, several))


def _made(f: Dispatcher, names: list[str], numbers: list[int], several: bool) -> Dispatcher:
    name = identifier(f.py_func.__name__, "function")
    inner = f"{name}_"
    while inner in names:
        inner += "_"
    value = ", ".join(names[k] for k in numbers) + "," * (several and len(numbers) == 1)
    text = f"def {name}({', '.join(names)}):\n    {inner}({', '.join(names)})\n    return {value}\n"
    options = {**kept(f), "error_model": f.targetoptions.get("error_model", "python")}
    made = numba_function(name, text, {inner: f}, f.py_func, options)
    vars(made.py_func)[OUTPUTS] = numbers
    return made


def numba_function(
    name: str, text: str, namespace: dict[str, UserValue], of: Dispatcher, options: dict[str, object]
) -> Dispatcher:
    """Build the numba function of this name from a text, with the module, defaults and docstring of another one."""
    file = f"<what {name} is called by {uuid.uuid4().hex}>"
    namespace["__name__"] = of.__module__
    execute(text, namespace, file)
    function = namespace.pop(name)
    function.__defaults__, function.__doc__ = of.__defaults__, of.__doc__
    made: Dispatcher = CPUDispatcher(function, {}, {"nopython": True, **options})
    remember(text, file, made)
    return made
