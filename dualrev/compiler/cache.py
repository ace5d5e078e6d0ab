"""The cache of emitted modules: one file each, in a folder of the user's own, named by its fingerprint.

folder    $DUALREV_CACHE_DIR; without it, for functions with cache=True, the user's cache folder. Mode 0700; one that
          others own or may write to is not used.
file      grad_f_<fingerprint>.py: the emitted text, and a last line with what it needs to be loaded:
          # dualrev {"entry": ..., "constants": {...}, "sha256": hash of the file's name and of all the above}
          Written in one step (os.replace). One whose hash does not match is written anew.
constants what the text uses and does not define, as paths that lead to it from the differentiated function
machine   numba's own cache of the file's functions, in __pycache__ beside it (or in $NUMBA_CACHE_DIR)
code
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core import sigutils, types
from numba.core.caching import FunctionCache, NullCache

from dualrev.compiler import library
from dualrev.compiler.fingerprint import lasting

__all__ = ["ConstantPath", "MachineCode", "Module", "folder_for", "read", "resolve", "write"]

#: Steps from the differentiated function to an object: ("global", name), ("closure", name), ("attr", name),
#: ("item", number), ("default", name); as a first step also ("arg", number), the function that is passed as this
#: argument, and ("library", name), a function of library.py.
ConstantPath = tuple[tuple[str, str | int], ...]

_MARK = "# dualrev "


@dataclass(frozen=True)
class Module:
    """An emitted module: its text, the name of its top function, and the paths of its constants."""

    source: str
    entry: str
    constants: dict[str, ConstantPath]


def resolve(f: Any, argtypes: tuple[types.Type, ...], path: ConstantPath) -> Any:
    """The object at the end of a path from f; the empty path is f itself.

    >>> from numba import njit
    >>> def scaled(by):
    ...     return njit(lambda x: x * by[0])
    >>> resolve(scaled((2.0, 3.0)), (), (("closure", "by"), ("item", 1)))
    3.0
    """
    x: Any = f
    for kind, step in path:
        if kind == "arg":
            x = argtypes[step]  # type: ignore[index]
            x = x.value if isinstance(x, types.Omitted) else x
        elif kind == "attr":
            x = getattr(x, step)  # type: ignore[arg-type]
        elif kind == "item":
            x = x[step]
        elif kind == "library":
            x = getattr(library, str(step))
        elif kind == "default":
            x = inspect.signature(getattr(x, "py_func", x)).parameters[str(step)].default
        else:
            function = getattr(x, "py_func", x)
            if kind == "global":
                x = function.__globals__[step]
            else:
                assert kind == "closure", kind
                x = function.__closure__[function.__code__.co_freevars.index(step)].cell_contents
        if isinstance(x, types.Dispatcher):
            x = x.dispatcher
    return x


def folder_for(f: Any) -> Path | None:
    """The folder to keep the derivatives of f in, made if need be; None if they are not to be kept.

    Warns (RuntimeWarning) if there should be one, and it cannot be used.
    """
    chosen = os.environ.get("DUALREV_CACHE_DIR")
    if chosen:
        place = Path(chosen).expanduser()
    elif isinstance(f._cache, NullCache):
        return None
    else:
        from platformdirs import user_cache_path  # needed here only

        place = user_cache_path("dualrev", appauthor=False)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = place.resolve(strict=True)  # where the checks hold, whatever becomes of a link
        obstacle = _obstacle(place)
    except OSError as e:
        obstacle = str(e)
    if obstacle:
        warn(f"derivatives are not cached in {place}: {obstacle}. Set DUALREV_CACHE_DIR to a folder of your own.")
        return None
    return place


def _obstacle(place: Path) -> str:
    """Why a folder is not safe to run code from."""
    if os.name != "posix":
        return "" if place.is_dir() else "it is not a folder"
    state = place.stat()
    if state.st_uid != os.getuid():
        return "it belongs to another user"
    if state.st_mode & 0o022:
        return f"others may write to it (mode {state.st_mode & 0o777:o}); `chmod 700` mends that"
    return "" if place.is_dir() and os.access(place, os.R_OK | os.W_OK | os.X_OK) else "it is no folder to write to"


def warn(message: str) -> None:
    """A warning that what was asked for is not cached; the derivatives themselves are as good."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def read(file: Path) -> Module | None:
    """The module in a file; None if there is none, or if it is not as it was written."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    source, found, last = text.rpartition(_MARK)
    try:
        needs = json.loads(last) if found else {}
        module = Module(source, needs["entry"], {k: tuple(map(tuple, path)) for k, path in needs["constants"].items()})
        return module if text == _text(module, file) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write(file: Path, module: Module) -> bool:
    """Keep a module; whether that worked (the disk may be full)."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.stem + ".", suffix=".tmp")
        with open(handle, "w", encoding="utf-8") as out:
            out.write(_text(module, file))
        os.replace(temporary, file)
    except OSError as e:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        warn(f"a derivative is not cached: {e}.")
        return False
    return True


def _text(module: Module, file: Path) -> str:
    needs: dict[str, Any] = {"entry": module.entry, "constants": module.constants}
    content = "\n".join((file.name, module.source, json.dumps(needs)))
    return module.source + _MARK + json.dumps(needs | {"sha256": hashlib.sha256(content.encode()).hexdigest()}) + "\n"


class MachineCode(FunctionCache):
    """numba's cache of one emitted function, mended in two places.

    A damaged or exchanged entry is a missing one: two processes that compile one function for different types at once
    can exchange the entries of numba's index. And functions as arguments are found again: for numba they are new ones
    in each process.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling a damaged file raises
            with contextlib.suppress(OSError):
                self.flush()
            return None
        args = _arguments(sig)
        if found is None or _lasting(found.signature.args) != _lasting(args):
            return None
        found.fndesc.argtypes = args
        return found._replace(signature=found.signature.replace(args=args))

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # the disk may be full
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return super()._index_key(_lasting(_arguments(sig)), codegen)


def _arguments(sig: Any) -> tuple[types.Type, ...]:
    return tuple(sigutils.normalize_signature(sig)[0])


def _lasting(args: tuple[types.Type, ...]) -> tuple[Any, ...]:
    return tuple(map(lasting, args))
