"""Lists in Python functions that are programs of the calculus: against Python's own value, and against the tape."""

from __future__ import annotations

import inspect
import itertools
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

import dualrev as dr
from stages.calculus import TRANSFORMATIONS, Machine, check, parse_program, show_program
from stages.calculus.language.errors import NotTranslated
from stages.calculus.python import from_value, lists, to_value, translate, union

A = TypeVar("A")


@dataclass(frozen=True)
class Stop:
    pass


@dataclass(frozen=True)
class Link:
    head: float
    tail: Chain


Chain = union("Chain", Stop, Link)


def displayed(x: float) -> list[float]:
    return [x, 2, x * x]


def squares(xs: list[float]) -> list[float]:
    return [x * x for x in xs if x > 0.0]


def products(xs: list[float], n: int) -> list[float]:
    return [x * y + i for x in xs if x > 0 for i in range(1, n) for y in [x, *xs] if y < 2.0 or i == 2]


def downwards(n: int) -> list[int]:
    return [i * i for i in range(n, 0, -2)]


def dot(xs: list[float], ys: list[float]) -> float:
    return sum(x * y for x, y in zip(xs, ys, strict=True))


def shorter(xs: list[float], ys: list[float]) -> float:
    total = 0.0
    for x, y in zip(xs, ys):  # noqa: B905
        total += x * y
    return total


def horner(xs: list[float], x: float) -> float:
    y = 0.0
    for c in reversed(xs):
        y = y * x + c
    return y


def indices(xs: list[float], i: int) -> float:
    return xs[0] * xs[-1] + xs[i] * xs[len(xs) - 2] + sum(xs[1:])


def powers(x: float, n: int) -> list[float]:
    made = [1.0]
    for _ in range(n):
        made.append(made[-1] * x)
    return made


def table(xs: list[float]) -> list[list[float]]:
    rows: list[list[float]] = []
    for i, x in enumerate(xs, 1):
        row: list[float] = []
        for k in range(i):
            row.append(x * k)
        rows.append(row)
    return rows


def transposed(rows: list[list[float]]) -> list[list[float]]:
    return [[row[k] for row in rows] for k in range(len(rows[0]))]


def times(rows: list[list[float]], xs: list[float]) -> list[float]:
    return [dot(row, xs) for row in rows]


def leaves(xs: list[float]) -> float:
    product = 1.0
    for x in xs:
        if x < 0:
            continue
        if x > 10.0:
            break
        if product > 100.0:
            return product
        product *= x
    return product + 1.0


def first_large(xs: list[float]) -> float:
    for i, x in enumerate(xs):
        if x > 2.0:
            return x * i
    return -1.0


def patterns(xs: list[float]) -> float:
    match xs:
        case []:
            return 0.0
        case [x, *rest]:
            return x * x + patterns(rest)


def rotated(xs: list[float]) -> list[float]:
    match xs:
        case [x, *rest]:
            return [*rest, x]
        case whole:
            return whole


def extended(xs: list[float], ys: list[float]) -> list[float]:
    made = list(xs)
    made += ys
    made.extend([1.0] * 2)
    return made + [0.5]  # noqa: RUF005


def of_tuples(ps: list[tuple[float, int]]) -> list[tuple[int, float]]:
    return [(n, x * n) for x, n in ps]


def counts(xs: list[float]) -> int:
    return len([x for x in xs if x > 0]) + sum([len(xs), 1]) + sum(range(4))


def generic(xs: list[A], f: Callable[[A], float]) -> float:
    return sum(f(x) for x in xs)


def uses_generic(xs: list[float]) -> float:
    return generic(xs, lambda x: x * x) + generic([(x, 2.0) for x in xs], lambda p: p[0] ** p[1])


def names(xs: list[float], each: float, rest: float, tail: float, left: float, loop: float) -> float:
    for x in [x + each + rest + tail for x in xs]:
        left = left * x + loop + rest + tail
    return left


def nested_loops(xss: list[list[float]]) -> float:
    total = 0.0
    for xs in xss:
        for x in xs:
            if x < 0:
                break
            total += x
    return total


def chained(xs: list[float]) -> Chain:
    made = Stop()
    for x in xs:
        made = Link(x, made)
    return made


def learnt(x: float, n: int) -> tuple[list[float], list[list[int]], float]:
    made, total = [x], 0.0
    squares = []
    rows = []
    for i in range(n):
        row = []
        for k in range(i):
            row.append(k)
            if k > 1:
                squares.append(x * x)
        rows.append(row)
    none = []
    total += dot(made, none) if n < 0 else x
    all_ = []
    all_ += squares
    return all_, rows, total


def returned(n: int) -> list[tuple[int, float]]:
    found = []
    if n > 2:
        found.extend([(n, 1.0)])
    return found


def nothing(n: int) -> list[float]:
    found = []
    return [] if n > 0 else found


def chosen(x: float) -> list[float]:
    made = [x] if x > 0 else []
    if x > 1.0:
        made.append(2.0)
    else:
        made.append(x)
    return made


def anew(n: int) -> list[list[int]]:
    made: list[list[int]] = []
    row = [0]
    for i in range(n):
        row = list(row)
        row.append(i)
        made.append(row)
    return made


XS = [0.5, 3.0, -1.0, 1.5]
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
CASES = [
    (displayed, (1.5,)),
    (squares, (XS,), ([],)),
    (products, (XS, 3), ([], 3)),
    (downwards, (7,), (0,)),
    (dot, (XS, [1.0, 2.0, 3.0, 4.0]), ([], [])),
    (shorter, (XS, [2.0]), ([1.0], XS)),
    (horner, (XS, 0.7)),
    (indices, (XS, 2), (XS, -3)),
    (powers, (1.1, 4), (1.1, 0)),
    (table, (XS,)),
    (transposed, (ROWS,)),
    (times, (ROWS, [0.1, 0.2, 0.3])),
    (leaves, ([3.0, -1.0, 2.0, 11.0, 4.0],), ([20.0],), ([8.0, 20.0],), ([9.0, 9.0, 9.0, 9.0],)),
    (first_large, (XS,), ([],)),
    (patterns, (XS,)),
    (rotated, (XS,), ([],)),
    (extended, (XS, [7.0]), ([], [])),
    (of_tuples, ([(1.5, 2), (0.5, 3)],)),
    (counts, (XS,)),
    (uses_generic, (XS,)),
    (names, (XS, 1.0, 2.0, 3.0, 4.0, 5.0)),
    (nested_loops, ([[1.0, -1.0, 5.0], [], [2.0]],)),
    (chained, (XS,)),
    (learnt, (1.5, 4), (1.5, 0)),
    (returned, (3,), (1,)),
    (nothing, (3,)),
    (chosen, (2.0,), (0.5,), (-1.0,)),
    (anew, (3,)),
]


def hints(f):
    found = typing.get_type_hints(f, {**globals(), "Chain": Chain})
    return [found[name] for name in inspect.signature(f).parameters], found["return"]


@pytest.mark.parametrize(("f", "points"), [(f, points) for f, *points in CASES], ids=[f.__name__ for f, *_ in CASES])
def test_a_program_with_lists_is_the_function(f, points):
    program = translate(f)
    check(program, "source")
    assert parse_program(show_program(program)) == program
    types, result = hints(f)
    whole = types[0] if len(types) == 1 else tuple[tuple(types)]
    for point in points:
        machine = Machine(program)
        value = machine.apply(machine.value(), to_value(point[0] if len(types) == 1 else point, whole))
        found, expected = from_value(value, result), f(*point)
        assert _same(found, expected), (found, expected)


def _same(x, y):
    """Equal, up to what `sum` corrects from Python 3.12 on."""
    if isinstance(x, list | tuple):
        return type(x) is type(y) and len(x) == len(y) and all(map(_same, x, y))
    return math.isclose(x, y, rel_tol=1e-12) if isinstance(y, float) and isinstance(x, float) else x == y


DIFFERENTIATED = [
    (dot, (XS, [1.0, 2.0, 3.0, 4.0])),
    (horner, (XS, 0.7)),
    (indices, (XS, 2)),
    (leaves, ([3.0, -1.0, 2.0, 11.0, 4.0],)),
    (patterns, (XS,)),
    (uses_generic, (XS,)),
    (nested_loops, ([[1.0, -1.0, 5.0], [], [2.0]],)),
]


@pytest.mark.parametrize("name", [name for name in TRANSFORMATIONS if name != "forward"])
@pytest.mark.parametrize(("f", "point"), DIFFERENTIATED, ids=[f.__name__ for f, _ in DIFFERENTIATED])
def test_the_gradient_is_the_tapes(f, point, name):
    program = translate(f)
    derivative = TRANSFORMATIONS[name].wrap(program)
    check(derivative, "D4")
    types, _ = hints(f)
    whole = types[0] if len(types) == 1 else tuple[tuple(types)]
    machine = Machine(derivative)
    _, pullback = machine.apply(machine.value(), to_value(point[0] if len(point) == 1 else point, whole))
    found = from_value(machine.apply(pullback, 1.0), whole)
    found = (found,) if len(point) == 1 else found
    expected = dr.vjp(f, *point)[1](1.0)
    for one, other, x in zip(found, expected, point, strict=True):
        if not isinstance(x, int):
            assert _flat(one) == pytest.approx(_flat(other), rel=1e-12)


def _flat(x):
    return [y for part in x for y in _flat(part)] if isinstance(x, list) else [x]


def test_the_library_is_what_it_says_in_python_too():
    none = list
    assert lists.element(XS, 2, none) == XS[2]
    assert lists.element(XS, 9, none) == []
    assert lists.dropped(XS, 2) == XS[2:]
    assert lists.dropped(XS, 9) == []
    assert lists.followed(XS, [1.0]) == [*XS, 1.0]
    assert [lists.repeated([1, 2], n) for n in (-1, 0, 1, 3)] == [[1, 2] * n for n in (-1, 0, 1, 3)]
    assert lists.turned(XS, []) == XS[::-1]
    assert lists.zipped(XS, [1, 2], none) == [(XS[0], 1), (XS[1], 2)]
    assert lists.zipped([1, 2], XS, lambda: [(0, 0)])[2:] == [(0, 0)]
    assert lists.enumerated(XS, 3) == list(enumerate(XS, 3))
    assert (lists.length(XS), lists.total(XS), lists.count([1, 2])) == (4, 4.0, 3)


@pytest.mark.parametrize(
    ("f", "point", "name"),
    [(indices, (XS, 9), "list_index_out_of_range"), (indices, (XS, -9), "list_index_out_of_range"),
     (dot, (XS, [1.0]), "zip_of_lists_of_different_lengths")],
)  # fmt: skip
def test_an_error_of_python_is_an_operation_without_a_value(f, point, name):
    with pytest.raises((IndexError, ValueError)):
        f(*point)
    types, _ = hints(f)
    plain = translate(f)
    for program in (plain, TRANSFORMATIONS["D4"].wrap(plain)):
        machine = Machine(program)
        with pytest.raises(ZeroDivisionError, match=f"{name} = " if program is plain else "division by zero"):
            machine.apply(machine.value(), to_value(point, tuple[tuple(types)]))


def test_what_appending_and_comprehensions_cost():
    """A list is a chain: an append passes all of it, an element of a comprehension none."""

    def steps(f, n):
        machine = Machine(translate(f))
        machine.apply(machine.value(), to_value((1.1, n), tuple[float, int]))
        return machine.steps

    def comprehended(x: float, n: int) -> list[float]:
        return [x * i for i in range(n)]

    def differences(f):
        found = [steps(f, n) for n in (10, 20, 30, 40)]
        return [b - a for a, b in itertools.pairwise(found)]

    assert len(set(differences(comprehended))) == 1  # linear
    first, second, third = differences(powers)
    assert math.isclose(third - second, second - first) and second > first  # quadratic  # noqa: PT018


# Refusals


def of_nothing(x: float) -> float:
    xs = []
    return x * len(xs)


def to_a_parameter(xs: list[float]) -> float:
    xs.append(1.0)
    return xs[0]


def to_two_names(x: float) -> float:
    xs = [x]
    ys = xs
    xs.append(1.0)
    return ys[-1]


def to_a_part(x: float) -> float:
    xss = [[x]]
    xs = xss[0]
    xs.append(1.0)
    return len(xss[0]) * x


def kept_in_a_tuple(x: float) -> float:
    xs = [x]
    for i in range(3):
        p = (xs, i)
        xs.append(x)
    return len(p[0]) * x


def kept_in_rows(x: float, n: int) -> int:
    rows: list[list[float]] = []
    row: list[float] = []
    for _ in range(n):
        row.append(x)
        rows.append(row)
    return len(rows[0])


def while_over_it(x: float) -> float:
    xs = [x]
    for y in xs:
        if len(xs) < 5:
            xs.append(y)
    return x


def in_a_lambda(x: float) -> float:
    xs = [x]
    f: Callable[[], int] = lambda: len(xs)  # noqa: E731
    xs.append(x)
    return f() * x


def in_place(xs: list[float], ys: list[float]) -> float:
    xs += ys
    return xs[0]


def stored(xs: list[float]) -> float:
    ys = list(xs)
    ys[0] = 1.0
    return ys[0]


def sliced(xs: list[float]) -> list[float]:
    return xs[::2]


def indexed(xs: list[float]) -> float:
    return xs[0.5]


def mixed(x: float) -> list[float]:
    return [x, (x, x)]


def plus_number(xs: list[float]) -> list[float]:
    return xs + 1.0


def popped(xs: list[float]) -> float:
    ys = list(xs)
    ys.pop()
    return ys[0]


def truth(xs: list[float]) -> float:
    return xs[0] if xs else 0.0


def three(xs: list[float]) -> float:
    return sum(x * y * z for x, y, z in zip(xs, xs, xs, strict=True))


def generator(xs: list[float]) -> float:
    ys = (x for x in xs)
    return sum(ys)


def largest(xs: list[float]) -> float:
    return max(xs)


def two_and_more(xs: list[float]) -> float:
    match xs:
        case [x, y, *_]:
            return x * y
        case _:
            return 0.0


def no_empty_case(xs: list[float]) -> float:
    match xs:
        case [x, *_]:
            return x


REFUSED = [
    (of_nothing, 1, "`[]`: the type of its elements is not known here; annotate: xs: list[float] = []"),
    (to_a_parameter, 1, "xs is not made in this function, so that others see it grow; write xs = xs + [..]"),
    (to_two_names, 3, "what has xs from line"),
    (to_a_part, 3, "xs may be a list that others have, too (line"),
    (kept_in_a_tuple, 4, "what has xs from line"),
    (kept_in_rows, 4, "what has row from line"),
    (while_over_it, 4, "it grows in the loop over it"),
    (in_a_lambda, 2, "xs, which it reads, is assigned again on line"),
    (in_place, 1, "xs is not made in this function"),
    (stored, 2, "values are never changed; make a new tuple, list or constructor, and assign it to a name"),
    (sliced, 1, "of the slices there is xs[2:]; write a loop or a comprehension"),
    (indexed, 1, "an index that is float; pass an int"),
    (mixed, 1, "`(x, x)`: this is tuple[float, float], not float; make the types equal"),
    (plus_number, 1, "an operation on list[float] and float; of lists there are xs + ys, of one type, and xs * n"),
    (popped, 2, "`ys.pop()`: its value is not used, and it has no other effect"),
    (truth, 1, "a condition that is list[float], not bool; write len(xs) > 0"),
    (three, 1, "it takes 2 arguments here, not 3; write zip(xs, zip(ys, zs))"),
    (generator, 1, "a generator has no value before something goes over it; write [.. for ..], or sum(.. for ..)"),
    (largest, 1, "it takes 2 arguments here, not 1; write a loop over the list"),
    (two_and_more, 2, "a pattern outside the subset; write case [x, *rest]:, case []: or case _:"),
    (no_empty_case, 1, "no case for []; write case []: or case _:"),
]


@pytest.mark.parametrize(("f", "line", "wording"), REFUSED, ids=[f.__name__ for f, *_ in REFUSED])
def test_a_refusal_says_where_why_and_what_to_write(f, line, wording):
    with pytest.raises(NotTranslated) as caught:
        translate(f)
    assert wording in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:{f.__code__.co_firstlineno + line}: `")


def test_a_union_with_the_names_of_lists_is_refused_beside_them():
    @dataclass(frozen=True)
    class End:
        pass

    @dataclass(frozen=True)
    class Cons:
        head: float

    other = union("List", End)
    second = union("Second", Cons)
    with pytest.raises(NotTranslated, match="call the union List otherwise"):
        translate(lambda xs, ys: xs[0], list[float], other)
    with pytest.raises(NotTranslated, match="two constructors are called Cons, one of Python's lists"):
        translate(lambda xs, ys: xs[0], list[float], second)
