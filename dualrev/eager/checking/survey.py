"""All places at once that the tape refuses: the function runs once more, and goes on after each of them.

What is refused is noted, and a number or an array with the same value takes its place; it is under differentiation
where something can be (math.sin(x) is dualrev.math.sin(x), a function of numpy has the value that numpy gives it), so
that what comes after it is seen, too. Nobody asks such a run for derivatives.

Python's math, numpy's constructors and np.array of numbers under differentiation ask nobody what these are. A copy of
the function, and of those that it calls by their names, has others in their places. What our own classes refuse is
noted by themselves, in the thread that asks, while the function runs.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

from dualrev import math as our_math
from dualrev import numpy as our_numpy
from dualrev.diagnostics.user_lines import is_of_user
from dualrev.eager.arguments import choose
from dualrev.eager.arrays.memory.record import attach
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain
from dualrev.eager.checking.explanations import explained
from dualrev.eager.copies import copied
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.eager.py_func_globals import as_python, with_globals
from dualrev.eager.tape.engine import linearize
from dualrev.eager.tape.tape import Tape, real
from dualrev.errors import ConversionError, DualrevError, HashError, LeakError, UnsupportedError
from dualrev.tree import flatten_scalars

__all__ = ["survey"]

_MAKERS = ["zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"]
_MAKERS += ["eye", "identity", "array", "asarray"]
_WRITERS = (np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis)
_Site = tuple[str, int]
_CHANGING = threading.RLock()  # of classes, which are everybody's


def survey(f: Callable[..., Any], args: tuple[Any, ...], argnums: Sequence[int], error: DualrevError) -> DualrevError:
    """The error that says all places of f that the tape refuses, where `error` is the first; that one if no other is.

    f runs twice, with copies of its arguments.
    """
    first = _Survey(None)
    first.watch(f, args, argnums)  # finds out which of numpy's arrays are written to
    second = _Survey(first.written)
    ended = second.watch(f, args, argnums)
    texts = [str(note) for note in second.notes]
    if ended:
        why = str(
            explained(ended) or (ended if isinstance(ended, DualrevError) else f"{type(ended).__name__}: {ended}")
        )
        texts += [why] if why not in texts else []
    if len(texts) < 2:
        return error
    unseen = "; the run ended at the last one, and what comes after it was not" if ended else ""
    name = getattr(f, "__qualname__", type(f).__name__)
    return error.among(name, texts, f"The branches that these arguments do not take were not seen{unseen}.")


class _Survey:
    """One run. Of the arrays that numpy makes, those of `sites` are ours; all, if that is None."""

    def __init__(self, sites: set[_Site] | None) -> None:
        self.sites, self.written = sites, set[_Site]()
        self.notes: list[DualrevError] = []
        self.finished = False
        self._made: dict[int, tuple[RealArray, _Site]] = {}
        self._copies: dict[Any, Any] = {}
        known = set(our_math.__all__) & {name for name, x in vars(math).items() if callable(x)}
        functions = {name: self._of_math(getattr(math, name), getattr(our_math, name)) for name in known}
        makers = {name: self._maker(getattr(np, name)) for name in _MAKERS}
        self._modules = {"math": _Module(math, functions), "numpy": _Module(np, makers)}
        self._thread, self._inside = threading.get_ident(), 0

    def watch(self, f: Callable[..., Any], args: tuple[Any, ...], argnums: Sequence[int]) -> Exception | None:
        """Run a copy of the function; the error that ended it."""
        own = self._meant(as_python(f), lambda g: with_globals(g, self._meant, self._copies))

        def whole(*args: Any) -> None:
            """Run the function to its end, and return nothing: no derivative is needed."""
            own(*args)
            self.finished = True  # and no derivative is asked for: there is no value

        function, chosen = choose(whole, argnums, copied(args), {})

        with _CHANGING, contextlib.ExitStack() as stack:
            for owner, name, new in self._changes():
                stack.enter_context(_changed(owner, name, new))
            try:
                linearize(function, *chosen)
            except Exception as error:
                return None if self.finished else error
        return None

    def _meant(self, x: Any, copy: Callable[[Any], Any]) -> Any:
        """Return the stand-in of a global of the user's functions."""
        if x is math or x is np:
            return self._modules[x.__name__]
        for module in (math, np):  # from math import sin
            name = getattr(x, "__name__", "")
            if callable(x) and name in vars(self._modules[module.__name__]) and getattr(module, name) is x:
                return getattr(self._modules[module.__name__], name)
        if type(x) is MethodType:
            return MethodType(copy(x.__func__), x.__self__) if type(x.__func__) is FunctionType else x
        return copy(x) if type(x) is FunctionType and is_of_user(x.__code__.co_filename) else x

    def note(self, error: DualrevError) -> None:
        """Keep an error; once, if it comes in a loop."""
        if str(error) not in map(str, self.notes):
            self.notes.append(error)

    def _changes(self) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
        """Yield (owner, attribute, replacement) for everything that raises on traced numbers."""
        for owner, name, standin in (
            (DualNumber, "__float__", lambda u: float(value(u))),
            (DualNumber, "__complex__", lambda u: complex(value(u))),
            (DualNumber, "__hash__", lambda u: hash(value(u))),
            (DualNumber, "as_integer_ratio", lambda u: value(u).as_integer_ratio()),
            (RealArray, "__float__", lambda u: float(u.x)),
            (RealArray, "__array__", lambda u, dtype=None, copy=None: np.array(plain(u), dtype=dtype)),
        ):
            yield owner, name, self._converted(getattr(owner, name), standin)
        yield ANSWERS, "ufunc", self._answered(ANSWERS.ufunc, _of_ufunc)
        yield ANSWERS, "function", self._answered(ANSWERS.function, _of_function)
        yield RealArray, "__setitem__", self._stored(RealArray.__setitem__)

    def _mine(self) -> bool:
        return not self._inside and threading.get_ident() == self._thread

    def _converted(self, original: Callable[..., Any], standin: Callable[..., Any]) -> Callable[..., Any]:
        """A conversion to a plain number, which has its value."""

        def convert(u: Any, *args: Any, **kwargs: Any) -> Any:
            """Convert a traced number; note the error, and go on with the plain value."""
            try:
                return original(u, *args, **kwargs)
            except (ConversionError, HashError) as error:
                if not self._mine():
                    raise
                self.note(error)
                return standin(u, *args, **kwargs)

        return convert

    def _answered(self, original: Callable[..., Any], parts: Callable[..., Any]) -> Callable[..., Any]:
        """A function of numpy, which has numpy's value."""

        def answer(function: Any, *given: Any) -> Any:
            """Answer numpy's function; note the error, and go on with the plain value."""
            if not self._mine():
                return original(function, *given)
            args, outs, call = parts(function, *given)
            for out in outs:
                self._write(out, args)
            self._inside += 1
            try:
                return original(function, *given)
            except LeakError:
                raise
            except DualrevError as error:
                self.note(error)
                return _active(call(), args)
            finally:
                self._inside -= 1

        return answer

    def _stored(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def store(a: RealArray, key: Any, new: Any) -> None:
            """Store in an array, and note traced numbers."""
            if self._mine():
                self._write(a, [new])
            original(a, key, new)

        return store

    def _write(self, a: Any, new: Any) -> None:
        """Note that numbers under differentiation are stored in an array that numpy has made."""
        if not isinstance(a, RealArray):
            return
        root = a
        while root.base is not None:
            root = root.base
        if id(root) in self._made and any(map(holds_duals, flatten_scalars(new)[0])):
            self.written.add(self._made[id(root)][1])
            self.note(ConversionError("storing"))

    def _of_math(self, original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            """Call the function of `math`; for traced numbers note its error, and call dualrev's."""
            if not self._mine() or not any(isinstance(u, DualNumber) for u in flatten_scalars(list(args))[0]):
                return original(*args, **kwargs)
            with contextlib.suppress(Exception):
                original(*args, **kwargs)  # which is noted where it asks for a float, if it does
            return ours(*args, **kwargs)

        return function

    def _maker(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A constructor of numpy; in the user's code its arrays can hold numbers under differentiation."""

        def make(*args: Any, **kwargs: Any) -> Any:
            """Make an array; note where, so that storing a traced number in it can name the line."""
            made = original(*args, **kwargs)
            if type(made) is not np.ndarray:
                return made
            frame: FrameType = sys._getframe(1)
            site = frame.f_code.co_filename, frame.f_lineno
            if made.dtype == object and holds_duals(made):
                if not all(isinstance(u, DualNumber) for u in made.flat):
                    why = "numpy makes an array of objects of it, which most functions refuse"
                    self.note(UnsupportedError(f"numpy.{original.__name__}", "dualrev.numpy.array or np.stack", why))
                return our_numpy.array(made.tolist())
            if made.dtype != float or (self.sites is not None and site not in self.sites):
                return made
            array = RealArray(made)
            self._made[id(array)] = array, site
            return array

        return make


class _Module:
    """A module some of whose functions are others."""

    def __init__(self, module: Any, others: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextlib.contextmanager
def _changed(owner: Any, name: str, new: Any) -> Iterator[None]:
    old = getattr(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


def _of_ufunc(ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """The arguments of a call, what it writes to, and the same call of plain numbers."""
    outs = list(inputs[:1]) if method == "at" else list(kwargs.get("out") or ())
    return inputs, outs, lambda: getattr(ufunc, method)(*_plain(inputs), **_plain(kwargs))


def _of_function(function: Any, args: Any, kwargs: Any) -> Any:
    outs = [args[0]] if function in _WRITERS and args else []
    return [*args, *kwargs.values()], outs, lambda: function(*_plain(args), **_plain(kwargs))


def _plain(data: Any) -> Any:
    """The same nested arguments, of plain numbers."""
    if isinstance(data, (tuple, list)) and type(data) in (tuple, list):
        return type(data)(map(_plain, data))
    if type(data) is dict:
        return {key: _plain(x) for key, x in data.items()}
    return plain(data) if isinstance(data, (RealArray, np.ndarray)) else value(data)


def _active(made: Any, args: Any) -> Any:
    """Numbers and arrays that are under differentiation, as those among the arguments: nobody asks for their slopes."""
    run = innermost([u for u in flatten_scalars(list(args))[0] if isinstance(u, (DualNumber, RealArray))])
    if not isinstance(run, Tape):
        return made
    if isinstance(made, (tuple, list)) and type(made) in (tuple, list):
        return type(made)(_active(x, args) for x in made)
    if isinstance(made, np.ndarray) and made.dtype == float:
        return attach(run, made)[0]
    return real(run, float(made), run.fresh()) if isinstance(made, (float, np.floating)) else made
