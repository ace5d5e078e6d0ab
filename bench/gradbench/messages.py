"""GradBench's protocol: the eval sends a JSON object on a line, and the tool answers with one of the same `id`.

    start     {"kind", "eval"}                         -> {"tool"}
    define    {"kind", "module"}                       -> {"success"}                       compiles the module
    evaluate  {"kind", "module", "function", "input"}  -> {"success", "output", "timings"}  runs it
    analysis  {"kind", "of", "valid"}                  -> {}                                the eval's verdict
    end       {"kind"}                                                                      has no answer

An error is answered by "success": false and an "error" that describes it. A line that is not a message has no `id`; its
answer has the next number, since evals count their messages from 0.
"""

from __future__ import annotations

import functools
import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from bench.gradbench.function import Function, InputError, field, real, whole

__all__ = ["EVALS", "answer", "serve"]

#: The evals that the tool answers: GradBench reads the same file.
EVALS = tuple((Path(__file__).parent / "evals.txt").read_text(encoding="utf-8").split())


#: A clock in nanoseconds, whose zero does not matter.
Clock = Callable[[], int]


def serve(messages: Iterable[str], answers: TextIO, clock: Clock = time.perf_counter_ns) -> None:
    """Answer every line as it arrives, and continue after an error."""
    following = 0
    for line in messages:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise InputError(f"a message is an object of JSON, not {line.strip()[:80]}")
        except (ValueError, RecursionError) as error:
            response: dict[str, Any] | None = {"id": following} | failure(f"no message: {error}")
        else:
            response = answer(message, following, clock)
        if response is not None:
            following = response["id"] + 1
            answers.write(json.dumps(response, allow_nan=False) + "\n")
            answers.flush()


def answer(message: dict[str, Any], following: int = 0, clock: Clock = time.perf_counter_ns) -> dict[str, Any] | None:
    """Return the answer to a message, or None for `end`. `following` replaces an `id` that is not an integer."""
    number = message.get("id")
    made: dict[str, Any] = {"id": number if isinstance(number, int) and not isinstance(number, bool) else following}
    try:
        match message.get("kind"):
            case "start":
                return made | {"tool": "dualrev"}
            case "define":
                return made | define(field(message, "module"))
            case "evaluate":
                named = field(message, "module"), field(message, "function")
                return made | evaluate(*named, field(message, "input"), clock)
            case "analysis":
                return made
            case "end":
                return None
            case kind:
                return made | failure(f"kind must be start, define, evaluate, analysis or end, not {kind!r}")
    except InputError as error:
        return made | failure(str(error))
    except Exception:  # any error of a function is an answer, and the conversation continues
        return made | failure(traceback.format_exc())


def failure(error: str) -> dict[str, Any]:
    """Build the answer for an error."""
    return {"success": False, "error": error}


def functions(module: Any) -> dict[str, Function]:
    """Return the functions of an eval by their names; InputError if the eval is unknown."""
    if module not in EVALS:
        raise InputError(f"there is no eval {module!r}; the evals are {', '.join(EVALS)}")
    return importlib.import_module(f"bench.gradbench.evals.{module}").FUNCTIONS


def define(module: Any) -> dict[str, Any]:
    """Compile every function of the eval by a call on its small example."""
    for name in functions(module):
        compiled(module, name)
    return {"success": True}


@functools.cache
def compiled(module: str, name: str) -> Function:
    """Return a function that has been run once on its example, so that numba has compiled it."""
    function = functions(module)[name]
    function.run(*function.prepare(function.example))
    return function


def evaluate(module: Any, name: Any, given: Any, clock: Clock) -> dict[str, Any]:
    """Run the function `min_runs` times and for `min_seconds` or more, and return the time of each run."""
    known = functions(module)
    if name not in known:
        raise InputError(f"the eval {module!r} has no function {name!r}, but {', '.join(known)}")
    function, timings, spent = compiled(module, name), [], 0
    runs, seconds = repetitions(given)
    start = clock()
    args = function.prepare(given)
    timings.append({"name": "prepare", "nanoseconds": clock() - start})
    while len(timings) <= runs or spent < 1e9 * seconds:
        start = clock()
        found = function.run(*args)
        took = clock() - start
        timings.append({"name": "evaluate", "nanoseconds": took})
        spent += took
    output = function.finish(found)
    try:
        json.dumps(output, allow_nan=False)
    except ValueError:
        raise InputError(f"{module}::{name} is not finite here, and JSON cannot express NaN or infinity") from None
    return {"success": True, "output": output, "timings": timings}


def repetitions(given: Any) -> tuple[int, float]:
    """Return `min_runs` and `min_seconds` of the input, by default 1 and 0, as in `hello`."""
    if not isinstance(given, dict):
        return 1, 0.0
    runs = whole(given, "min_runs", 1) if "min_runs" in given else 1
    return runs, real(given, "min_seconds") if "min_seconds" in given else 0.0
