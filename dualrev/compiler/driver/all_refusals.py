"""All refusals of a numba function, for dr.check: refused statements are sliced out, one by one.

The compiler reads the function again, without the statement that it refused and without those that depend on it
(driver/slice_out.py), and so on, until nothing is refused. No machine code is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from numba.core.compiler_lock import global_compiler_lock

from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.driver.context import Front
from dualrev.compiler.driver.slice_out import without
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.frontend.typing.infer import UNTYPED
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes
from dualrev.errors import UnsupportedError

__all__ = ["survey"]

_MOST = 50  # places: each takes one more reading


def survey(f: Dispatcher, argtypes: NumbaTypes, numbers: Sequence[int], error: UnsupportedError) -> UnsupportedError:
    """Collect all refusals of a function in one error, where `error` is the first; that one if no other is found."""
    reduced: dict[int, Source] = {}
    notes: dict[str, tuple[str, int]] = {}  # where each is
    while len(notes) < _MOST:
        front = Front(reduced)
        try:
            _read(front, f, argtypes, numbers)
            break
        except UnsupportedError as found:
            if (notes and UNTYPED in str(found)) or str(found) in notes or (not notes and str(found) != str(error)):
                break
            notes[str(found)] = found.place or ("", 0)
            key, source = _smaller(front, found)
            if source is None:
                break
            reduced[key] = source
        except Exception:  # what is left is no program: a loop without its list, a function that returns nothing
            break
    if len(notes) < 2:
        return error
    unseen = "What depends on them, and may be refused as well, was not seen."
    return error.among(f.py_func.__qualname__, sorted(notes, key=lambda text: notes[text]), unseen)


def _read(front: Front, f: Dispatcher, argtypes: NumbaTypes, numbers: Sequence[int]) -> None:
    """Run the compiler up to the derivatives in core, in both modes."""
    with global_compiler_lock:
        core = front.entered(f, argtypes)
        moving = [x for k in numbers for x in leaves(core.parameters[k]) if carries(x)]
        front.reverse.pullback(core, moving)
        front.forward.function(core, moving)
        front.program.made_functions()


def _smaller(front: Front, error: UnsupportedError) -> tuple[int, Source | None]:
    """Slice the refused statement out of its function; None if the refusal names no statement."""
    if error.place is None:
        return 0, None
    file, line = error.place
    found = [
        (key, source)
        for key, source in front.sources.items()
        if source.file == file and source.tree.lineno <= line <= (source.tree.end_lineno or 0)
    ]
    if not found:
        return 0, None
    key, source = max(found, key=lambda pair: pair[1].tree.lineno)
    return key, without(source, line)
