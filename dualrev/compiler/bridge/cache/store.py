"""Cache of emitted modules and their machine code on disk, in a folder of the user's own.

folder    $DUALREV_CACHE_DIR; without it, for functions with cache=True, the user's cache folder. Made with mode 0700,
          and so are the folders above it that are not there. One that others own or may write to is not used.
          From one that is read-only, derivatives are loaded; a warning says that new ones are not kept.
files     all of them directly in the folder, of mode 0600. One that others own or may write to is not used, either.
          key                              32 random bytes
          grad_f_<fingerprint>.py          the emitted text, and a line with what it needs to be loaded
          grad_f_<fingerprint>.<cpu>.nbc   the machine code of that: see machine_code.py
seal      The last line of a file is a hash of its name and of all that stands before, keyed with `key`. Nothing of a
          file is parsed, unpickled or run before its seal has been compared. One that does not match is written anew:
          it was damaged, or made by somebody who does not have the key.
writing   into another file, which then takes the name (os.replace): a reader finds the old content or the new one.
          Windows has neither modes nor owners of this kind: there the folder has to be one's own. And it refuses to
          open or to replace a file for as long as another process replaces or reads it: that is tried again.
constants what the text uses and does not define, as paths that lead to it from the differentiated function
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import inspect
import json
import logging
import os
import secrets
import stat
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from numba.core import types
from numba.core.caching import NullCache

from dualrev.compiler.frontend.reading.ad_operators import TRANSFORMATIONS
from dualrev.compiler.frontend.reading.callables import jitted
from dualrev.compiler.frontend.reading.njit_options import copied
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, UserValue
from dualrev.rules import library
from dualrev.rules.library.rule_definitions import rule_of

__all__ = [
    "CachedModule",
    "ConstantPath",
    "Folder",
    "chosen_place",
    "describe_folder",
    "folder_for",
    "resolve",
    "tell_uncached",
    "warn",
]

LOGGER = logging.getLogger("dualrev")

#: Steps from the differentiated function to an object: ("global", name), ("closure", name), ("attr", name),
#: ("item", number), ("default", name); as a first step also ("arg", number), the function that is passed as this
#: argument, and ("library", name), a function of library/; ("jitted", "") is the numba function of what is there,
#: ("copied", options) what numba makes of it where it copies it into a caller with these options, and
#: ("derivative", (transform, argnums)) a derivative of it. ("overload", g) is the implementation g that numba has
#: chosen for it; a module with one is never kept, since what it depends on has no text (key.py).
ConstantPath = tuple[tuple[str, UserValue], ...]

_NEEDS, _SEAL = "# needs ", b"# sealed "
_SEAL_LENGTH = len(_SEAL) + 64 + 1
_KEY_LENGTH = 32
_POSIX = os.name == "posix"
_PAUSES = (0.001, 0.01, 0.1)  # seconds
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


@dataclass(frozen=True)
class CachedModule:
    """Emitted module: its text, the name of its entry point, and the access paths of its constants."""

    source: str
    entry: str
    constants: dict[str, ConstantPath]
    obstacle: str = ""  # why it is not to be kept

    def to_bytes(self) -> bytes:
        """Serialise the module."""
        needs = json.dumps({"entry": self.entry, "constants": self.constants})
        return f"{self.source}{_NEEDS}{needs}\n".encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> CachedModule:
        """Deserialise a module: the inverse of `to_bytes`."""
        source, _, last = data.decode().removesuffix("\n").rpartition("\n")
        needs = json.loads(last.removeprefix(_NEEDS))
        return cls(
            f"{source}\n", needs["entry"], {k: tuple(map(tuple, path)) for k, path in needs["constants"].items()}
        )


def resolve(f: Dispatcher, argtypes: tuple[types.Type, ...], path: ConstantPath) -> UserValue:
    """Resolve an access path from f; the empty path is f itself.

    >>> from numba import njit
    >>> def scaled(by):
    ...     return njit(lambda x: x * by[0])
    >>> resolve(scaled((2.0, 3.0)), (), (("closure", "by"), ("item", 1)))
    3.0
    """
    x: UserValue = f
    for kind, step in path:
        if kind == "arg":
            x = argtypes[step]
            x = x.value if isinstance(x, types.Omitted) else x
        elif kind == "attr":
            x = getattr(x, step)
        elif kind == "item":
            x = x[step]
        elif kind == "library":
            x = library.DEFINITIONS[str(step)]
        elif kind == "rule":
            x = getattr(rule_of(x), str(step))
        elif kind == "jitted":
            x = jitted(x)
        elif kind == "copied":
            x = copied(x, step)
        elif kind == "overload":
            x = step
        elif kind == "derivative":
            x = _derivative(x, *step)
        else:
            x = _in_function(getattr(x, "py_func", x), kind, step)
        if isinstance(x, types.Dispatcher):
            x = x.dispatcher
    return x


def _in_function(function: UserValue, kind: str, step: UserValue) -> UserValue:
    """Default of a parameter, global or closure variable of a function."""
    if kind == "default":
        return inspect.signature(function).parameters[str(step)].default
    if kind == "global":
        return function.__globals__[step]
    assert kind == "closure", kind
    return function.__closure__[function.__code__.co_freevars.index(step)].cell_contents


def _derivative(f: Dispatcher, transform: str, argnums: ArgNums) -> Dispatcher:
    argnums = tuple(argnums) if isinstance(argnums, list) else argnums  # JSON has lists only
    return TRANSFORMATIONS.derivative(f, transform, argnums)


def folder_for(f: Dispatcher) -> Folder | None:
    """Folder to cache the derivatives of f in, made if need be; None if they are not cached.

    Warns (RuntimeWarning) if there should be one, and it cannot be used.
    """
    if not os.environ.get("DUALREV_CACHE_DIR") and isinstance(f._cache, NullCache):
        tell_uncached(f"derivatives of {f.__name__} are not cached: write @njit(cache=True), or set DUALREV_CACHE_DIR")
        return None
    place = chosen_place()
    try:
        place = place.expanduser()
        _make(place)
        place = place.resolve(strict=True)  # where the checks hold, whatever becomes of a link
        if not (obstacle := _obstacle(place)):
            return Folder(place, _key(place), os.access(place, os.W_OK))
    except (OSError, RuntimeError) as e:  # RuntimeError: there is no such user, or a loop of links
        obstacle = str(e)
    warn(f"derivatives are not cached in {place}: {obstacle}. Set DUALREV_CACHE_DIR to a folder of your own.")
    return None


def chosen_place() -> Path:
    """Path of the cache folder: DUALREV_CACHE_DIR, or else the user's cache folder."""
    if chosen := os.environ.get("DUALREV_CACHE_DIR"):
        return Path(chosen)
    from platformdirs import user_cache_path  # needed here only

    return user_cache_path("dualrev", appauthor=False)


def describe_folder(place: Path) -> str:
    """Describe the state of a cache folder in words, without creating it: number and size of its files, or an obstacle.

    >>> describe_folder(Path("no/such/folder"))
    'it does not exist yet'
    """
    try:
        place = place.expanduser()
        if not place.exists():
            return "it does not exist yet"
        if obstacle := _obstacle(place):
            return f"not used: {obstacle}"
        sizes = [file.stat().st_size for file in place.iterdir() if file.suffix in (".py", ".nbc")]
    except (OSError, RuntimeError) as e:
        return f"not used: {e}"
    read_only = "" if os.access(place, os.W_OK) else ", read-only"
    return f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB{read_only}"


def _make(place: Path) -> None:
    """Make a folder and its missing parents, which nobody else may write to whatever the umask is."""
    if not place.is_dir():
        with contextlib.suppress(FileExistsError):
            if place.parent != place:
                _make(place.parent)
            place.mkdir(mode=0o700)


def _obstacle(place: Path) -> str:
    """Reason why a folder is not safe to run code from; empty if it is."""
    state = place.stat()
    if not stat.S_ISDIR(state.st_mode):
        return "it is not a folder"
    if foreign := _foreign(state):
        return foreign
    return "" if os.access(place, os.R_OK | os.X_OK) else "it cannot be read"


def _foreign(state: os.stat_result) -> str:
    """Reason why somebody else may have written a file or into a folder; empty if nobody can."""
    if not _POSIX:
        return ""
    if state.st_uid != os.geteuid():
        return "it belongs to another user"
    if state.st_mode & 0o022:
        mend = "700" if stat.S_ISDIR(state.st_mode) else "600"
        return f"others may write to it (mode {state.st_mode & 0o777:o}); `chmod {mend}` mends that"
    return ""


def warn(message: str) -> None:
    """Warn that a derivative is not cached, as requested; the derivatives themselves are as good."""
    tell_uncached(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def tell_uncached(message: str) -> None:
    """Log, at the level DEBUG, that a derivative is not cached; `python -m dualrev.warm` takes it for a failure."""
    LOGGER.debug("%s", message, extra={"uncached": True})


@functools.cache
def _warn_read_only(place: Path) -> None:
    """Warn, once in a process, that new derivatives are not cached in a read-only folder."""
    warn(f"new derivatives are not cached: {place} is read-only. Those that it holds are loaded.")


def _read(file: Path) -> bytes | None:
    """Read a file that nobody else can have written; None if it is missing, or, with a warning, if it is not safe."""
    try:
        with open(_patiently(os.open, file, _READ), "rb") as opened:
            state = os.fstat(opened.fileno())
            obstacle = _foreign(state) if stat.S_ISREG(state.st_mode) else "it is not a file"
            if not obstacle:
                return opened.read()
    except FileNotFoundError:
        return None
    except OSError as e:
        obstacle = str(e)
    warn(f"{file} is not used: {obstacle}")
    return None


def _write(file: Path, data: bytes, *, new: bool = False) -> None:
    """Write a file atomically, with mode 0600; a `new` one only if none exists."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.stem + ".", suffix=".tmp")
    try:
        with open(handle, "wb") as out:
            out.write(data)
        if not new:
            _patiently(os.replace, temporary, file)
        elif _POSIX:
            os.link(temporary, file)  # os.rename would replace another one
        else:
            os.rename(temporary, file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


_T = TypeVar("_T")


def _patiently(operation: Callable[..., _T], *args: str | int | Path) -> _T:
    """Do something to a file, on Windows again if another process has it for the moment."""
    for pause in () if _POSIX else _PAUSES:
        try:
            return operation(*args)
        except PermissionError:
            time.sleep(pause)
    return operation(*args)


def _key(place: Path) -> bytes:
    """Secret key of a folder; a new one if it is damaged, or others may know it: then nothing matches it."""
    file = place / "key"
    for _ in range(2):
        new = not os.path.lexists(file)  # asked before it is read: whoever makes it between the two has made the key
        found = _read(file)
        if found is not None and len(found) == _KEY_LENGTH and not (_POSIX and file.stat().st_mode & 0o077):
            return found
        with contextlib.suppress(FileExistsError):  # another process was faster
            _write(file, secrets.token_bytes(_KEY_LENGTH), new=new)
    raise OSError(f"{file} cannot be read")


@dataclass(frozen=True)
class Folder:
    """Cache folder, whose files are read and written as the module's docstring says."""

    place: Path
    key: bytes
    writable: bool = True

    def read(self, name: str) -> bytes | None:
        """Read what was written under a name; None if it is missing, or its seal does not match."""
        content = _read(self.place / name)
        if content is None:
            return None
        data = content[:-_SEAL_LENGTH]
        return data if hmac.compare_digest(content, self._sealed(name, data)) else None

    def write(self, name: str, data: bytes) -> bool:
        """Write data under a name; return whether that worked (the disk may be full)."""
        if not self.writable:
            _warn_read_only(self.place)
            return False
        try:
            _write(self.place / name, self._sealed(name, data))
        except OSError as e:
            warn(f"a derivative is not cached: {e}.")
            return False
        return True

    def _sealed(self, name: str, data: bytes) -> bytes:
        seal = hmac.new(self.key, name.encode() + b"\0" + data, "sha256").hexdigest()
        return data + _SEAL + seal.encode() + b"\n"
