r"""No escape by type: rad1 and rad2 of ad-delcont with the type variable of the run, for a type checker.

Paper:   the article on ad-delcont: rad1 :: (Num a, Num b) => (forall s. AD' s a -> AD' s b) -> a -> (b, a)
Changed: delcont.py raises LeakError when a number is used after its run. Here a type checker finds the escape, without
         a run. `AD[S]` is a number of the run S, and `Program` is forall S. AD[S] -> AD[S]: Python's rank-2 types are
         protocols whose `__call__` is generic. At run time these functions are those of delcont.py.
Needs:   a type checker, such as mypy, and annotations. The parameter of a lambda counts as `Any` in mypy, and code with
         `Any`, or without annotations, is not checked: use `def`.

    def square(x: AD[S]) -> AD[S]:              accepted: it works for every run
        return x * x

    kept: list[AD[int]] = []
    def keep(x: AD[S]) -> AD[S]:
        kept.append(x)                          an error: the list has numbers of one run, and x is of any run
        return x

    def outer(x: AD[S]) -> AD[S]:
        def inner(y: AD[S]) -> AD[S]:
            return x * y
        rad1(inner, 2.0)                        an error: y is of the run of x, and not of any run
        return x

Haskell refuses these, too: a number that is stored outside or returned from an inner run, and numbers of two runs in
one operation. The last is a price: derivatives of delcont.py nest, but these types do not express it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from stages.relatives.continuations import delcont

__all__ = ["AD", "Program", "Program2", "S", "rad1", "rad2"]

S = TypeVar("S")


class AD(Generic[S]):
    """A number of the run S, for the type checker; at run time a delcont.Dual. S is invariant."""

    if TYPE_CHECKING:

        def _of(self, that: AD[S] | float) -> AD[S]: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _of

        def __neg__(self) -> AD[S]: ...


class Program(Protocol):
    """forall S. AD[S] -> AD[S]"""

    def __call__(self, x: AD[S], /) -> AD[S]:
        """Run the program on a number of any run."""


class Program2(Protocol):
    """forall S. (AD[S], AD[S]) -> AD[S]"""

    def __call__(self, x: AD[S], y: AD[S], /) -> AD[S]:
        """Run the program on two numbers of any run."""


def rad1(f: Program, x: float) -> tuple[float, float]:
    """f's value at x and x's cotangent, as delcont.rad1.

    >>> rad1(lambda x: x * x + 1.0, 3.0)
    (10.0, 6.0)
    """
    return cast("Any", delcont.rad1)(f, x)


def rad2(f: Program2, x: float, y: float) -> tuple[float, tuple[float, float]]:
    """f's value at x and y, and the cotangents of both, as delcont.rad2.

    >>> rad2(lambda x, y: x * y, 3.0, 2.0)
    (6.0, (2.0, 3.0))
    """
    return cast("Any", delcont.rad2)(f, x, y)
