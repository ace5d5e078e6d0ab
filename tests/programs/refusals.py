"""Numba functions that have no compiled gradient, and are refused: `REFUSALS` lists them.

The line that the message has to name ends in the comment `# refused`; where several lines do, it is one of them.
"""

from __future__ import annotations

import cmath
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
from numba import float64, njit, prange
from numba.experimental import jitclass
from numba.extending import overload
from support.later import taken

__all__ = ["REFUSALS", "Refusal"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Refusal:
    """A function, its arguments, and words of the message: one of each group, in any case of letters."""

    function: Any
    primals: tuple[Any, ...]
    words: tuple[str, ...]
    argnums: int | tuple[int, ...]
    helper: Any  # a callee in which the construct may be

    def arguments(self) -> tuple[Any, ...]:
        """The arguments; of a class an object, which numba compiles when it is made."""
        return tuple(x() if inspect.isclass(x) else x for x in self.primals)

    def places(self) -> list[str]:
        """The lines that the message may name, as file:line."""
        made = []
        for f in filter(None, (self.function, self.helper)):
            lines, first = inspect.getsourcelines(f.py_func)
            file = f.py_func.__code__.co_filename
            made += [f"{file}:{first + k}" for k, line in enumerate(lines) if line.endswith("# refused\n")]
        return made


#: All of them.
REFUSALS: list[Refusal] = []


def refused(
    *primals: Any, words: str, argnums: int | tuple[int, ...] = 0, helper: Any = None, later: bool = False
) -> Callable[[F], F]:
    """A decorator that appends the function to `REFUSALS`; words are groups, with | between those of a group.

    What only a later numba takes is left out where the installed one refuses it (later.py).
    """

    def enter(function: F) -> F:
        if not later or taken(function, primals):
            REFUSALS.append(Refusal(function, primals, tuple(words.split()), argnums, helper))
        return function

    return enter


A = np.array([0.5, 1.2, 0.8])
M = np.array([[2.0, 0.5], [0.3, 1.5]])
COUNT = 0


# Statements


@refused(A, 5, words="try")
@njit
def a_handler(a, k):
    try:  # refused
        if k > 3:
            raise ValueError
        y = a[0]
    except Exception:
        y = 0.0
    return y * a[1]


@refused(0.7, words="with|objmode")
@njit
def object_mode(x):
    with numba.objmode(y="float64"):  # refused
        y = x * 2.0
    return y * x


@njit
def multiples(x):
    for k in range(3):
        yield x * k


@refused(0.7, words="generator multiples break")
@njit
def a_loop_over_a_generator_that_is_left(x):
    s = 0.0
    for y in multiples(x):  # refused
        if y > 1.0:
            break
        s += y
    return s


@refused(0.7, words="generator multiples loop")
@njit
def a_generator_that_is_kept(x):
    values = multiples(x)  # refused
    return next(values) + x


@refused(0.7, words="global")
@njit
def a_global_statement(x):
    global COUNT  # refused
    COUNT = 1
    return x * COUNT


def make_counter():
    count = 0.0

    @refused(0.7, words="nonlocal")
    @njit
    def counter(x):
        nonlocal count  # refused
        count = x
        return count * x

    return counter


make_counter()


@refused(0.7, words="recursion|loop")
@njit
def a_return_from_a_loop_of_an_inner_function(x):
    def g(t):
        for k in range(5):  # refused
            if k > t:
                t += 1.0
        else:
            return t
        return t * t

    return g(x)


# Data


@refused(0.7, words="sort key")
@njit
def a_list_that_is_sorted_by_a_key(x):
    ys = [x * k for k in range(3)]
    ys.sort(key=twice)  # refused
    return ys[1] * x


@refused(np.array([0.7, 1.2]), words="list arrays written")
@njit
def a_list_of_arrays_that_change(a):
    ys = []
    ys.append(a)  # refused
    a[0] = a[1] * 2.0
    return ys[0][0]


@refused(np.array([0.7, 1.2, 0.4]), words="names items")
@njit
def a_list_with_more_items_than_names(a):
    u, v = np.split(a, 3)  # refused
    return u[0] * v[0]


@refused(np.array([0.7, 1.2]), words="bits")
@njit
def other_bits(a):
    return a.view(np.int64)[0] * a[1]  # refused


@njit
def taken_from(ys):
    return ys.pop()  # refused


@njit
def twice(y):
    return 2.0 * y


@refused(0.7, words="list argument copy", helper=taken_from)
@njit
def a_list_that_a_callee_changes(x):
    ys = [x * k for k in range(1, 3)]
    return taken_from(ys) * x + ys[0]


@refused(0.7, words="generator|comprehension")
@njit
def a_generator_expression(x):
    return sum(x * k for k in range(3))  # refused


@refused(0.7, words="list loop")
@njit
def a_list_that_grows_while_it_is_gone_over(x):
    ys = [x, x * x]
    for y in ys:
        if len(ys) < 5:
            ys.append(y * x)  # refused
    return ys[-1]


@refused(0.7, words="list loop")
@njit
def a_list_that_shrinks_in_a_comprehension_over_it(x):
    ys = [x, x * x, 2.0 * x]
    zs = [y * ys.pop() for y in ys]  # refused
    return zs[0] * len(zs)


@refused(0.7, words="list name")
@njit
def a_list_that_grows_under_two_names(x):
    ys = [x, x * x]
    zs = ys  # refused
    zs.append(x)
    return ys[-1]


@refused(0.7, words="dict")
@njit
def a_dict_with_two_names(x):
    """A dict with two names: by one of them it looks constant, by the other it gets a differentiated number."""
    table = {1: 2.0}
    again = table  # refused
    y = table[1] * x
    again[1] = y
    return table[1]


@njit
def filled(table, x):
    table[1] = x  # refused
    return 1


@refused(0.7, words="dict", helper=filled)
@njit
def a_dict_that_is_filled_elsewhere(x):
    table = {1: 2.0}
    n = filled(table, x)
    return table[1] * n


@refused(0.7, words="container")
@njit
def a_dict_that_changes_in_a_loop(x):
    table = {1: 2, 3: 4}
    for k, v in table.items():
        table[3] = k  # refused
        x = x * v
    return x


def tripled(x):
    return 3.0 * x


RATE = 3.0


@overload(tripled)
def _tripled(x):
    return lambda x: RATE * x


@refused(0.7, words="tripled")
@njit
def an_overload_with_a_global(x):
    return tripled(x)  # refused


@refused(0.7, words="set")
@njit
def a_set(x):
    values = {x, x * x}  # refused
    return len(values) * x


@refused(0.7, words="str")
@njit
def strings(x):
    names = [str(x)]  # refused
    return len(names) * x


@refused(0.7, 0.3, words="complex real")
@njit
def a_complex_value(x, y):  # refused
    return complex(x, y) * 1j  # refused


@refused(0.7, words="complex printed")
@njit
def a_complex_number_that_is_printed(x):
    z = x + 2j
    print(z)  # refused
    return x * abs(z)


@refused(0.7, words="asin")
@njit
def a_complex_inverse(x):
    return cmath.asin(x + 2j).real  # refused


@refused(np.array([1.0 + 2.0j]), 0.7, words="complex written copy()", argnums=1)
@njit
def a_complex_argument_that_is_written(z, x):  # refused
    z[0] = x
    return abs(z[0])


@refused(np.array([1.0 + 2.0j]), words="np.prod complex")
@njit
def a_complex_product(z):
    return abs(np.prod(z))  # refused


@refused(0.7, words="list complex")
@njit
def a_list_of_complex_numbers(x):
    zs = [x * 1j, x + 1j]  # refused
    return abs(zs[0] * zs[1])


@jitclass([("value", float64), ("places", float64[:])])
class Box:
    def __init__(self):
        self.value = 0.5
        self.places = np.ones(2)


@refused(Box, 0.7, words="returned|value|fields tuple", argnums=1)
@njit
def an_object_that_is_returned(b, x):  # refused
    b.value = x
    return b


@refused(Box, 0.7, words="places .places[:]", argnums=1)
@njit
def an_array_that_is_bound_to_a_field(b, x):
    b.places = np.full(3, x)  # refused
    return b.places[0]


RECORDS = np.zeros(2, dtype=[("mass", "f8"), ("name", "S4")])


@refused(RECORDS, 0.7, words="records array loop", argnums=1)
@njit
def records_at_places(records, x):
    some = records[np.array([1, 0])]  # refused
    return some[0].mass * x


@refused(RECORDS, 0.7, words="records each|field", argnums=1)
@njit
def a_record_that_is_copied(records, x):
    records[0] = records[1]  # refused
    return records[0].mass * x


@refused(0.7, words="frozen")
@njit
def a_frozen_record_array(x):
    return RECORDS[0].mass * x  # refused


# Functions


@refused(0.7, words="nextafter")
@njit
def a_neighbour(x):
    return np.nextafter(x, 2.0)  # refused


@refused(A, words="nditer")
@njit
def an_iterator(a):
    s = 0.0
    for pair in np.nditer((a, a)):  # refused
        x, y = pair
        s += x.item() * y.item()
    return s


@refused(M, words="sort")
@njit
def a_sort_of_rows(m):
    return np.sort(m)[0, 0]  # refused


@refused(0.7, words="random.gamma")
@njit
def a_sample_of_an_active_parameter(x):
    np.random.seed(1)
    return x * np.random.gamma(x, 2.0)  # refused


@refused(0.7, words="random.poisson")
@njit
def a_count_with_an_active_parameter(x):
    np.random.seed(1)
    return np.random.poisson(lam=x, size=2)[0] * x  # refused


@refused(A, words="the variable most")
@njit(parallel=True)
def a_parallel_loop_that_looks_for_the_largest_itself(a):
    most = 0.0
    for i in prange(len(a)):
        if a[i] > most:
            most = a[i]  # refused
    return most


@refused(A, words="random numbers in a loop over prange")
@njit(parallel=True)
def a_parallel_loop_that_draws(a):
    s = 0.0
    for i in prange(len(a)):  # refused
        s += a[i] * np.random.normal()
    return s


@refused(A, words="has no sign")
@njit(parallel=True)
def a_parallel_loop_with_a_negated_counter(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i] * (-i)  # refused
    return s


def in_python(x):
    return x * x


@refused(0.7, words="in_python njit")
@njit
def a_call_of_plain_python(x):
    return in_python(x)  # refused


# Indices


@refused(A, np.array([0, 2]), words="index None")
@njit
def an_index_array(a, places):
    return np.sum(a[places, None])  # refused


@refused(M, np.array([True, False]), np.array([0, 1]), words="mask", later=True)
@njit
def a_mask_beside_places(m, flags, places):
    m[flags, places] = 0.0  # refused
    return np.sum(m)


def without_source():
    """A function that exec made, and one whose file has gone."""
    names: dict[str, Any] = {}
    exec("def from_exec(x):\n    return x * x\n", names)
    file = "<there is no such file>"
    linecache.cache.pop(file, None)
    exec(compile("def from_nowhere(x):\n    return x * x\n", file, "exec"), names)
    return [njit(names[name]) for name in ("from_exec", "from_nowhere")]


@refused(np.array([0.0, 0.7]), words="trim_zeros")
@njit
def zeros_at_one_end(x):
    """The table has no place for its other parameter."""
    return np.sum(np.trim_zeros(x, "f"))  # refused


@refused(np.array([[0.5, 0.7], [0.2, 0.1]]), words="np.nextafter|numpy.nextafter tape")
@njit
def what_the_tape_knows_alone(x):
    return np.sum(np.nextafter(x, 2.0))  # refused
