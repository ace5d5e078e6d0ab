"""Fields of a line of the table of functions."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["LARGEST", "SHARED", "Definition", "Function", "Selection", "rows"]


LARGEST = "largest"
_MODULES = {"np": np, "math": math}


class Definition(NamedTuple):
    """A function of rules/library/, for arguments of certain kinds. The pattern has a letter for every parameter:

    v  a vector         m  a matrix        f  any array, which is passed on as a vector in C order
    e  any array, whose shape the result has; passed on likewise
    a  any array        x  a number        i  an int        _  nothing is given, or None
    c  a constant       =  a constant that equals the next entry of `fixed`

    It is passed the arguments whose letter is none of `_` and `=`, then `more`, where `LARGEST` stands for the largest
    finite number of the result's type.
    """

    pattern: str
    name: str
    fixed: tuple[Any, ...] = ()
    more: tuple[Any, ...] = ()


class Selection(NamedTuple):
    """Elements of an argument that the result consists of: their positions, as an expression.

    The expression uses the array `x_`, an array `p_` of the same shape that counts its elements, and the other
    arguments `a_` and `b_`. With `zero`, p_ counts from 1, and 0 stands for the number 0. `ndim` is the number of axes
    that the array must have; None means any. `view` says that a result with as many elements shares the memory of an
    array in C order.
    """

    places: str
    argument: int = 0
    zero: bool = False
    ndim: int | None = None
    view: bool = False


class Function(NamedTuple):
    """A function of numpy, of math or of Python, and what both engines know of it.

    name         as emitted code calls it, where `math` and `np` are imported
    parameters   their names, as words, in the order of numpy; those that the compiler has no use for are left out
    topic        where docs/numpy.md lists it; "values" if the answer is a constant: a place, an order, a comparison

    What is its derivative? The compiler takes one of these; the tape its handler in eager/arrays, or one of these:
    line         the name of a line of primitives.py: partial derivatives of a function of numbers
    product      it is a product or a quotient: the operator, and the other factor (None for the argument itself)
    definitions  functions in numba code, which are differentiated themselves; the first that fits is taken
    selection    it gives elements of an argument
    core         the compiler has a rule of its own for arrays and tuples: its name in compiler/scalarize/lower.py
    scalar       and one for numbers

    And for the compiler:
    shares       of a function that gives the elements of one array: is its memory shared? See `SHARED`
    written      of ints and bools, or of what is not differentiated, it stays as it is written: its result is made of
                 numbers, or of new arrays, and is never a view
    pure         it may stay in a condition: it is one of numbers, without effects
    makes        it makes an array, of numbers too, and takes keywords
    method       arrays have a method of this name, which is the function

    >>> Function("np.ptp", "a", "reductions", definitions=(Definition("f", "ptp"),)).kind
    'definition'
    """

    name: str
    parameters: str = ""
    topic: str = ""
    line: str = ""
    product: tuple[str, float | None] | None = None
    definitions: tuple[Definition, ...] = ()
    selection: Selection | None = None
    core: str = ""
    scalar: str = ""
    shares: tuple[str, str, str] | None = None
    written: bool = False
    pure: bool = False
    makes: bool = False
    method: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.parameters.split())

    @property
    def function(self) -> Any:
        """The function itself; None for a method, for a function of SciPy, and for what this numpy does not have."""
        module, _, rest = self.name.partition(".")
        try:
            return operator.attrgetter(rest)(_MODULES[module]) if rest else getattr(builtins, module)
        except (KeyError, AttributeError):
            return None

    @property
    def discrete(self) -> bool:
        """Whether the value is a constant, whatever it looks at."""
        return self.topic == "values"

    @property
    def compiled(self) -> bool:
        """Whether the compiler knows it."""
        return self.kind != "tape" or self.written or self.pure

    @property
    def kind(self) -> str:
        """Kind of rule that the compiler takes first; "tape" if only the tape has a rule."""
        ways: dict[str, Any] = {
            "definition": self.definitions,
            "selection": self.selection,
            "product": self.product,
            "line": self.line,
            "block": self.core or self.scalar,
            "discrete": self.written,
        }
        return next((name for name, given in ways.items() if given), "tape")


#: What `shares` says, for the layouts C, F and A of numba: contiguous in C order, in Fortran's order, and with strides
#: that are known at run time only. `view` is the memory of the array, `copy` new memory, and `either` a view if the
#: array is contiguous after all (in the order that is asked for), else a copy: the program asks, as numba does.
#: What is not in the table: slices, rows that a loop goes over, `.T` and `None` in an index are views of every array;
#: arithmetic, np.where and other functions of elements make new arrays.
SHARED = ("view", "copy", "either")


def rows(names: str, parameters: str = "", topic: str = "", **others: Any) -> list[Function]:
    """Functions of numpy that differ by their names only."""
    return [Function(f"np.{name}", parameters, topic, **others) for name in names.split()]
