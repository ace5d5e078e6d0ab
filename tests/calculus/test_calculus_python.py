"""Python functions as programs of the calculus: each is checked, evaluated, and compared with Python's own value."""

import dataclasses
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from stages.calculus.checker.check import check
from stages.calculus.evaluate import evaluate
from stages.calculus.language.errors import NotTranslated
from stages.calculus.language.types import INT, REAL, Arrow, Pair
from stages.calculus.python.translate import from_value, to_value, translate, union
from stages.calculus.text.parser import parse_program
from stages.calculus.text.printer import show, show_program

A, B = TypeVar("A"), TypeVar("B")


@dataclass(frozen=True)
class Leaf:
    value: float


@dataclass(frozen=True)
class Node:
    left: "Tree"
    right: "Tree"


Tree = union("Tree", Leaf, Node)


@dataclass(frozen=True)
class Nil:
    pass


@dataclass(frozen=True)
class Cons:
    head: A
    tail: "List[A]"


List = union("List", Nil, Cons, parameters=(A,))


@dataclass(frozen=True)
class X:
    pass


@dataclass(frozen=True)
class Num:
    value: float


@dataclass(frozen=True)
class Add:
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True)
class Mul:
    left: "Expr"
    right: "Expr"


Expr = union("Expr", X, Num, Add, Mul)


@dataclass(frozen=True)
class Rose:
    label: float
    children: "Forest"


@dataclass(frozen=True)
class Empty:
    pass


@dataclass(frozen=True)
class Trees:
    first: "RoseTree"
    rest: "Forest"


RoseTree = union("RoseTree", Rose)
Forest = union("Forest", Empty, Trees)
HALF, COUNT, POINT = 0.5, 3, (1.5, 2)


# Expressions


def polynomial(x: float) -> float:
    """A docstring is no statement."""
    return 2 * x**2 - x / 3 + 1


def negated(x: float, n: int) -> tuple[float, int]:
    return -x + -1, -n - -2


def mixed(x: float, n: int) -> float:
    return x * n + float(n) / 2 + n / 4 + HALF * COUNT


def functions(x: float) -> float:
    return math.sin(x) + math.atan2(x, 2.0) + abs(-x) + max(x, 1) + min(x, 0.25) + math.pi + math.pow(x, 2)


def remainders(x: float) -> float:
    return x % 2 + x // 3


def compared(x: float, y: float) -> tuple[bool, bool, bool, bool]:
    return x < y, x <= y, x + 1 > y + 1, x * 1 >= y * 1


def compared_ints(m: int, n: int) -> tuple[bool, bool, bool, bool]:
    return m == n, m != n, m > n, m + 1 >= n * n


def chained(x: float, left: float) -> bool:
    return 0 < x + left <= 2 < 3


def logic(x: float, b: bool) -> bool:
    return (x > 0 and b and x < 9) or not (b or x <= -1)


def conditional(x: float) -> float:
    return 0 if x < 0 else x if x < 1 else 1


def tuples(t: tuple[float, float, int], u: tuple[float, tuple[float, float]]) -> tuple[float, float]:
    return t[0] * t[2] + t[-2], u[1][0] - u[-1][1]


def global_tuple(x: float) -> float:
    a, n = POINT
    return a * n * x


def no_parameter() -> float:
    return 1.5


# Statements


def shadowed(x: float) -> float:
    x = x + 1
    x *= 2
    y = x
    x = y * x
    return x - y


def swapped(a: float, b: float) -> float:
    a, b = b, a + b
    (a, b), c = (b, a), 2.0
    return a - b * c


def annotated(x: float) -> float:
    total: float = 1
    total += x
    return total


def reserved(size: float, exp: float, _x: float, _x_y: float, R: float, let: float) -> float:  # noqa: N803
    size_ = size * 2
    _ = exp
    return size_ - size + exp * _x - _x_y * R + let + _


def early(x: float) -> float:
    if x < 0:
        return -x
    if x > 10:
        y = x - 10
    elif x > 5:
        y = 5.0
    else:
        y = x
        x = 0.0
    return x * y


def one_goes_on(x: float) -> float:
    if x > 1:
        if x > 2:
            return x
        y = 3.0
    else:
        return 1.0
    return x + y


def joined_types(x: float) -> float:
    n = 0 if x < 0 else 1
    y = 1
    if x < n:
        y = x
    return y * 2


# Functions


def twice(f: Callable[[float], float], x: float) -> float:
    return f(f(x))


def square(x: float) -> float:
    return x * x


def higher(x: float) -> float:
    g: Callable[[float, float], float] = lambda a, b: a * b + x  # noqa: E731
    return twice(lambda y: y * x + 1, g(x, 2)) + twice(square, x) + twice(math.sin, x) + (lambda a: a + 1)(x)


def curried(a: float) -> Callable[[float], float]:
    return lambda b: a - b


def uses_curried(x: float) -> float:
    f = curried(x)
    return f(1.0) * curried(2)(x)


def local(x: float) -> float:
    def add(y: float):
        return x + y

    def thunk() -> float:
        return add(2.0) * x

    return add(thunk())


def factorial(n: int) -> float:
    return 1.0 if n <= 0 else n * factorial(n - 1)


def even(n: int) -> bool:
    return True if n == 0 else odd(n - 1)


def odd(n: int) -> bool:
    return False if n == 0 else even(n - 1)


def parity(n: int, x: float) -> float:
    return x if even(n) else -x


def local_recursion(x: float, n: int) -> float:
    def power(k: int) -> float:
        return 1.0 if k == 0 else x * power(k - 1)

    return power(n)


def local_circle(n: int) -> bool:
    def is_even(k: int) -> bool:
        return k == 0 or is_odd(k - 1)

    def is_odd(k: int) -> bool:
        return k != 0 and is_even(k - 1)

    return is_even(n)


def unannotated(x, y):
    return x * y


def captures(square_: float, f: float) -> float:
    x = f
    add = square_ + square(x)
    return unannotated(add, 2) + square(square_)


# Loops


def summed(n: int, x: float) -> float:
    total = 0.0
    for i in range(n):
        total += x * i
    return total


def stepped(a: int, b: int) -> tuple[int, int]:
    up, down = 0, 0
    for i in range(a, b, 2):
        up = up * 3 + i
    for i in range(b, a, -1):
        i = i * 2
        down = down - i
    return up, down


def newton(x: float) -> float:
    y, n = x, 0
    while abs(y * y - x) > 1e-12 and n < 50:
        y = (y + x / y) / 2
        n += 1
    return y


def names_of_the_translation(loop: float, stop: int, middle: float, left: float, start: int, i: int) -> float:
    subject, x = loop, 0.0
    for counter in range(start, stop):
        x += loop * counter + middle
    for i in range(stop):
        i = i + start
        x = x + i if left - 1 < middle + 1 < loop + left + middle else subject
        while x * left > middle * stop:
            x -= 1
    return x - left * stop


def nested_loops(n: int) -> int:
    total = 0
    stop = n
    for i in range(stop):
        for j in range(i):
            if j != 2:
                total += i * j
            stop = 7
    return total + stop


def loop_with_lambda(x: float, n: int) -> float:
    for i in range(n):
        x = twice(lambda y: y * 0.5 + i, x)  # noqa: B023
    return x


# Unions


def total(t: Tree) -> float:
    match t:
        case Leaf(v):
            return v
        case Node(l, r):
            return total(l) + total(r)


def mirror(t: Tree) -> Tree:
    match t:
        case Node(left, right):
            made = Node(mirror(right), mirror(left))
        case leaf:
            made = leaf
    return made


def value_at(e: Expr, x: float) -> float:
    match e:
        case X():
            return x
        case Num(v):
            y = v
        case Add(a, b):
            y = value_at(a, x) + value_at(b, x)
        case Mul(a, b):
            return value_at(a, x) * value_at(b, x)
    return y


def evaluated(e: Expr, x: float) -> float:
    match e:
        case X():
            y = x
        case Num(v):
            y = v
        case Add(a, b):
            y = evaluated(a, x) + evaluated(b, x)
        case Mul(a, b):
            y = evaluated(a, x) * evaluated(b, x)
    return y


def fold(f: Callable[[A, B], B], start: B, xs: List[A]) -> B:
    match xs:
        case Nil():
            return start
        case Cons(x, rest):
            return f(x, fold(f, start, rest))


def mapped(f: Callable[[A], B], xs: List[A]) -> List[B]:
    match xs:
        case Nil():
            return Nil()
        case Cons(x, rest):
            return Cons(f(x), mapped(f, rest))


def folded(xs: List[float]) -> float:
    return fold(lambda x, y: x * y, 1.0, xs) + fold(lambda x, n: n + 1, 0, xs)


def tripled(xs: List[float]) -> List[tuple[float, float]]:
    return mapped(lambda x: (x, 3 * x), xs)


def built(n: int) -> List[float]:
    xs: List[float] = Nil()
    for i in range(n):
        xs = Cons(i * 0.5, xs)
    return Cons(1, Cons(2, xs)) if n > 2 else Nil()


def wildcard(e: Expr) -> float:
    match e:
        case Num(v):
            return v
        case _:
            return 0.0


def labels(tree: RoseTree) -> float:
    return tree.label + forest_labels(tree.children)


def forest_labels(trees: Forest) -> float:
    match trees:
        case Empty():
            return 0.0
        case Trees(first, rest):
            return labels(first) + forest_labels(rest)


def first_above(x: float, n: int) -> float:
    for i in range(n):
        x = x * 1.5
        if x > 10.0:
            return x * i
    return x


def endless_newton(a: float) -> float:
    x = a
    while True:
        y = 0.5 * (x + a / x)
        if abs(y - x) < 1e-9:
            return y
        x = y


def skips(x: float, n: int) -> float:
    total = 0.0
    for i in range(n):
        if i == 2:
            continue
        if total > 5.0:
            break
        total += x * i
    return total


def leaves_two_loops(x: float, n: int) -> float:
    total = x
    for i in range(n):
        for j in range(i):
            if total > 20.0:
                return total * j
            if j == 3:
                break
            total = total + x * j
        if i == 4:
            continue
        total = total * 1.1
    return total


def only_returns(x: float, n: int) -> float:
    for i in range(n):
        if i * x > 3.0:
            return i * x
    return x


def breaks_out(x: float) -> float:
    while True:
        x = x * 1.25
        if x > 4.0:
            break
    return x * x


def divided(m: int, n: int) -> int:
    return m // n * 100 + m % n


TREE = Node(Node(Leaf(1.0), Leaf(2.5)), Leaf(-3.0))
EXPR = Add(Mul(X(), Num(3.0)), Mul(X(), X()))
LIST = Cons(1.5, Cons(-2.0, Cons(4.0, Nil())))
ROSE = Rose(1.0, Trees(Rose(2.0, Empty()), Trees(Rose(3.0, Trees(Rose(4.0, Empty()), Empty())), Empty())))

CASES = [
    (polynomial, (1.5,), (-2.0,)),
    (negated, (1.5, 4)),
    (mixed, (1.5, 4)),
    (functions, (0.7,), (1.2,)),
    (remainders, (7.5,), (-4.0,)),
    (compared, (1.0, 2.0), (2.0, 1.0), (1.0, 1.0)),
    (compared_ints, (1, 2), (2, 1), (2, 2)),
    (chained, (1.0, 0.5), (-1.0, 0.0), (3.0, 0.0)),
    (logic, (1.0, True), (10.0, True), (-2.0, False), (0.0, False)),
    (conditional, (-1.0,), (0.5,), (2.0,)),
    (tuples, ((1.0, 2.0, 3), (4.0, (5.0, 6.5)))),
    (global_tuple, (2.0,)),
    (no_parameter, ()),
    (shadowed, (1.5,)),
    (swapped, (1.5, 4.0)),
    (annotated, (1.5,)),
    (reserved, (1.5, 2.0, 3.0, 4.0, 5.0, 6.0)),
    (early, (-1.0,), (12.0,), (7.0,), (2.0,)),
    (one_goes_on, (3.0,), (1.5,), (0.0,)),
    (joined_types, (-1.0,), (0.5,), (3.0,)),
    (higher, (0.7,)),
    (uses_curried, (0.7,)),
    (local, (1.5,)),
    (factorial, (5,), (0,)),
    (even, (4,), (7,)),
    (parity, (4, 1.5), (7, 1.5)),
    (local_recursion, (1.5, 4)),
    (local_circle, (4,), (7,)),
    (captures, (1.5, 2.0)),
    (summed, (5, 1.5), (0, 1.5)),
    (stepped, (1, 8), (3, 3)),
    (newton, (2.0,)),
    (nested_loops, (5,), (0,)),
    (first_above, (1.0, 3), (2.0, 9), (11.0, 2)),
    (endless_newton, (2.0,), (9.0,)),
    (skips, (1.0, 2), (1.0, 7), (2.0, 9)),
    (leaves_two_loops, (1.0, 3), (1.0, 7), (3.0, 9), (30.0, 4)),
    (only_returns, (1.0, 9), (0.1, 3)),
    (breaks_out, (3.0,), (0.5,)),
    (divided, (17, 5), (-17, 5), (17, -5)),
    (names_of_the_translation, (1.5, 4, 2.5, 0.5, 1, 7), (-1.5, 2, 0.5, 3.5, 0, 1)),
    (loop_with_lambda, (1.5, 3)),
    (total, (TREE,)),
    (mirror, (TREE,)),
    (evaluated, (EXPR, 2.0)),
    (folded, (LIST,), (Nil(),)),
    (tripled, (LIST,)),
    (built, (4,), (1,)),
    (wildcard, (Num(2.0),), (X(),)),
    (labels, (ROSE,)),
    (twice_square := lambda x: square(square(x)), (1.5,)),
]


def annotations(f):
    given = f.__annotations__
    return [given.get(name, float) for name in inspect.signature(f).parameters]


@pytest.mark.parametrize(("f", "points"), [(f, points) for f, *points in CASES], ids=[f.__name__ for f, *_ in CASES])
def test_a_program_is_the_function(f, points):
    types = annotations(f)
    program = translate(f, *types)
    argument = types[0] if len(types) == 1 else tuple[tuple(types)]
    result = check(program, "source").result
    assert parse_program(show_program(program)) == program
    for point in points:
        value = evaluate(program, to_value(point[0] if len(types) == 1 else point, argument))
        expected = f(*point)
        kind = f.__annotations__.get("return", float)
        found = from_value(value, kind)
        assert found == pytest.approx(expected, rel=1e-12) if result == REAL else found == expected


# Refusals: the construct, what is said, and the line within the function


def branch_only(x: float) -> float:
    if x < 0:
        y = x
    return y


def some_return(x: float) -> float:
    if x < 0:  # noqa: SIM102
        if x < -1:
            return x
    return x


def ends(x: float) -> float:
    y = x  # noqa: F841


def asserted(x: float) -> float:
    assert x > 0
    return x


def listed(x: float) -> float:
    return {x: x}[x]


def keyword(x: float) -> float:
    return square(x=x)


def default(x: float = 1.0) -> float:
    return x


def endless(x: float) -> float:
    while True:
        x = x * x


def no_state(x: float) -> float:
    while x < 1:
        y = x  # noqa: F841
    return x


def returns_in_loop(x: float):
    for i in range(3):
        x += i
        if x > 2.0:
            return x
    return x


def falls_out(x: float) -> float:  # noqa: RET503
    for i in range(3):
        x += i
        if x > 2.0:
            return x


def int_becomes_real(x: float) -> float:
    total = 0
    for _i in range(3):
        total += x
    return total


def equality(x: float) -> bool:
    return x == 1.0


def truth(n: int) -> float:
    return 1.0 if n else 0.0


def bare_lambda(x: float) -> float:
    f = lambda y: y  # noqa: E731
    return f(x)


def late_binding(x: float) -> float:
    def g(y: float) -> float:
        return x + y

    x = 2.0
    return g(x)


def missing_case(t: Tree) -> float:
    match t:
        case Leaf(v):
            return v


def nested_pattern(t: Tree) -> float:
    match t:
        case Node(Leaf(v), _):
            return v
        case _:
            return 0.0


def guarded(t: Tree) -> float:
    match t:
        case Leaf(v) if v > 0:
            return v
        case _:
            return 0.0


def unknown_nil(x: float) -> float:
    xs = Nil()  # noqa: F841
    return x


def no_result_type(n: int):
    return 1.0 if n == 0 else no_result_type(n - 1)


def printed(x: float) -> float:
    print(x)
    return x


def int_power(n: int) -> int:
    return n**2


def variable_index(t: tuple[float, float], n: int) -> float:
    return t[n]


def too_far(t: tuple[float, float]) -> float:
    return t[2]


def wrong_branches(x: float) -> float:
    y = x if x < 0 else (x, x)
    return y  # noqa: RET504


def set_item(x: float) -> float:
    x.y = 2.0
    return x


def iterated(t: tuple[float, float]) -> float:
    s = 0.0
    for x in t:
        s += x
    return s


def texts(x: str) -> float:
    return x


def constructor_type(x: Node) -> float:
    return 0.0


def untyped_parameter(x):
    return x


def wrong_count(x: float) -> float:
    return square(x, x)


def undefined(x: float) -> float:
    return x + nothing  # noqa: F821


REFUSED = [
    (branch_only, 3, "`y`: it is assigned in one branch only; assign it before, on every path"),
    (some_return, 1, "some branches return, and several go on; let all return, or all but one, or none"),
    (ends, 1, "ends may end here without a value; end with return"),
    (asserted, 1, "`assert x > 0`: an assertion is outside the subset; leave it out, or return a value for that case"),
    (listed, 1, "`{x: x}`: a dict is no value of the calculus; write a tuple, or register a union"),
    (keyword, 1, "an argument with a keyword or *; pass every argument by its position"),
    (default, 0, "a parameter with *, ** or a default; write plain parameters, and pass them all"),
    (endless, 1, "a loop that nothing ends; write break or return"),
    (no_state, 1, "the loop assigns no variable that has a value before it; assign it before the loop"),
    (returns_in_loop, 4, "return inside of a loop, of a type that is not known; annotate: -> float"),
    (falls_out, 1, "falls_out may end here without a value; end with return"),
    (int_becomes_real, 2, "total is int before the loop and float after its body; begin with a float"),
    (equality, 1, "reals are not compared for equality; write a <= b and b <= a, or abs(a - b) < 1e-9"),
    (truth, 1, "`n`: a condition that is int, not bool; write a comparison, as n != 0"),
    (bare_lambda, 1, "the types of its parameters are not known here; annotate: f: Callable[[float], float] = lambda"),
    (late_binding, 1, "x, which it reads, is assigned again on line"),
    (missing_case, 1, "no case for Node; write case Node(..): or case _:"),
    (nested_pattern, 2, "a pattern in a pattern; match the field in a match of its own"),
    (guarded, 2, "`v > 0`: a case with a condition; write if inside of the case"),
    (unknown_nil, 1, "its parameter A is not known here; annotate: x: List[float] = Nil(..)"),
    (no_result_type, 0, "a recursive function without the type of its result; annotate: -> float"),
    (printed, 1, "its value is not used, and it has no other effect; assign it or return it"),
    (int_power, 1, "of the operations on ints there are + - * // %; write float(n), or a loop"),
    (variable_index, 1, "an index that is no literal int; write t[0], t[1], .."),
    (too_far, 1, "the tuple has 2 elements; write an index within"),
    (wrong_branches, 1, "its branches are float and tuple[float, float]; make the types equal"),
    (set_item, 1, "values are never changed; make a new tuple, list or constructor, and assign it to a name"),
    (iterated, 2, "`t`: a loop over tuple[float, float]; loop over range(..) or a list"),
    (texts, 0, "str is no type of the calculus; write float, int, bool, tuple[..], list[..], Callable or a union"),
    (constructor_type, 0, "Node is a constructor of Tree, not a type; write Tree"),
    (untyped_parameter, 0, "`x`: a parameter whose type is not known; annotate: x: float"),
    (wrong_count, 1, "it takes 1 arguments, not 2; pass as many"),
    (undefined, 1, "`nothing`: nothing has this name; assign it before, on every path"),
    (value_at, 1, "some branches return, and several go on"),
]


@pytest.mark.parametrize(("f", "line", "wording"), REFUSED, ids=[f.__name__ for f, *_ in REFUSED])
def test_a_refusal_says_where_why_and_what_to_write(f, line, wording):
    with pytest.raises(NotTranslated) as caught:
        translate(f)
    assert wording in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:{f.__code__.co_firstlineno + line}: `")


def test_two_lambdas_on_a_line_are_ambiguous():
    f, _ = (lambda x: x), (lambda x: -x)
    with pytest.raises(NotTranslated, match="2 lambdas with these parameters begin on one line"):
        translate(f, float)


def test_what_is_no_function_or_has_no_source_is_refused():
    with pytest.raises(NotTranslated, match="is no Python function"):
        translate(math.sin, float)
    space = {}
    exec("def f(x): return x", space)
    with pytest.raises(NotTranslated, match="its source is not to be found"):
        translate(space["f"], float)


def test_a_union_is_made_of_dataclasses_of_its_own():
    with pytest.raises(NotTranslated, match="no dataclass"):
        union("U", int)
    with pytest.raises(NotTranslated, match="Leaf belongs to Tree already"):
        union("U", Leaf)
    with pytest.raises(NotTranslated, match="no name for a type"):
        union("R", dataclasses.make_dataclass("Fresh", []))


def test_types_may_be_given_as_types_of_the_calculus():
    program = translate(lambda f, t: f(t[0]) * t[1], Arrow(REAL, REAL), Pair(REAL, INT))
    assert check(program) == Arrow(Pair(Arrow(REAL, REAL), Pair(REAL, INT)), REAL)


def test_closures_constants_and_functions_are_found():
    scale = 2.5

    def inner(x: float) -> float:
        return x * scale

    program = translate(lambda x: inner(x) + scale, float)
    assert evaluate(program, 2.0) == 7.5


def test_a_left_operand_is_evaluated_first():
    text = show(translate(lambda x, y: math.log(x) > math.sqrt(y), float, float))
    assert text.index("log") < text.index("sqrt")
