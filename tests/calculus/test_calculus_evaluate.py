r"""The evaluator: values of every construct, maps and arrays, steps counted by hand, depth, what stops programs."""

import math
from dataclasses import replace

import pytest

from stages import ordered_map
from stages.calculus import Machine, Program, check, check_term, evaluate, parse_program, parse_term, parse_type
from stages.calculus.language.declarations import Definition
from stages.calculus.language.errors import StepLimit
from stages.calculus.language.values import Cells, Made, Tree
from stages.calculus.transformations.d2 import D2

T = Made("inl", ((),))
F = Made("inr", ((),))
LIST = "data List a = Nil | Cons a (List a); "
NIL = Made("Nil", ())


def value(text, *arguments):
    """The value of a program that is well-typed."""
    program = parse_program(text)
    check(program)
    return evaluate(program, *arguments)


VALUES = [
    ("()", ()),
    ("1.5", 1.5),
    ("-2", -2),
    ("(1.0, 2, ())", (1.0, (2, ()))),
    ("fst((1.0, 2))", 1.0),
    ("snd((1.0, 2))", 2),
    (r"(\(x : R). x * x) 3.0", 9.0),
    (r"(\(x : R, y : R). x - y) (3.0, 1.0)", 2.0),
    (r"(\(x : R). \(y : R). x - y) 3.0 1.0", 2.0),
    ("let x = 2.0 in let y = x * x in let x = 3.0 in x + y", 7.0),
    (r"let x = 2.0 in let f = \(y : R). x * y in let x = 100.0 in f x", 200.0),
    ("sin(0.0) + exp(0.0) - 4.0 / 2.0 ** 3.0", 0.5),
    ("3 +# 4 *# 5 -# 1", 22),
    ("(1 <# 2, (2 <=# 1, (3 ==# 3)))", (T, (F, T))),
    ("(1.0 < 2.0, (2.0 <= 1.0, nan < nan))", (T, (F, F))),
    ("real(3)", 3.0),
    ("inr[R + Int](3)", Made("inr", (3,))),
    ("case inr[R + Int](3) of {inl(x) -> x; inr(n) -> real(n +# 1)}", 4.0),
    ("if 1.0 < 2.0 then 10.0 else log(-1.0)", 10.0),
    (LIST + "Cons[List R](1.0, Nil[List R])", Made("Cons", (1.0, NIL))),
    (LIST + "case Cons[List R](1.0, Nil[List R]) of {Nil -> 0.0; Cons(x, r) -> x}", 1.0),
    (r"letrec fac : Int -> Int = \(n : Int). if n <# 1 then 1 else n *# fac (n -# 1) in fac 20", math.factorial(20)),
    (
        r"letrec even : Int -> R = \(n : Int). if n ==# 0 then 1.0 else odd (n -# 1)"
        r"   and odd : Int -> R = \(n : Int). if n ==# 0 then 0.0 else even (n -# 1) in (even 10, even 7)",
        (1.0, 0.0),
    ),
    (r"twice : R -> R = \(x : R). half (4.0 * x); half : R -> R = \(x : R). x / 2.0; twice 3.0", 6.0),
    # Fig. 5
    (r"(\_(z : R). z + z) 2.0", 4.0),
    (r"(\_(z : (R, R)). (snd(z), 0[R])) (1.0, 2.0)", (2.0, 0.0)),
    (r"partial 1 mul(2.0, 3.0)(10.0)", 30.0),
    (r"partial 2 pow(2.0, 3.0)(1.0)", 8.0 * math.log(2.0)),
    ("0[(R, (Int, ()))]", (0.0, (0, ()))),
    ("(1.0, (2, ())) ++ (10.0, (20, ()))", (11.0, (22, ()))),
    ("inl[R + R](1.0) ++ inl[R + R](2.0)", Made("inl", (3.0,))),
    ("inl[R + R](1.0) ++ 0[R + R]", Made("inl", (1.0,))),
    ("0[R + R] ++ inr[R + R](1.0)", Made("inr", (1.0,))),
    (r"(\_(z : R + R). case z of {inl(a) -> (a, 0[R]); inr(a) -> (0[R], a)}) inr[R + R](5.0)", (0.0, 5.0)),
    # section 5
    (r"((\(x : R). x * 2.0) . (\(x : R). x + 1.0)) 3.0", 8.0),
    (r"(id[R] . (\(x : R). x + 1.0) . id[R]) 3.0", 4.0),
    (r"(id[R]) 3.0", 3.0),
    (r"(\_(z : R). \(a : R). z + a) 2.0 3.0", 5.0),
    # maps
    ("empty(0[Map Int R])", T),
    ("empty({1 |-> 2.0})", F),
    ("highest({1 |-> 1.0} ++ {7 |-> 2.0} ++ {3 |-> 3.0})", 7),
    ("lookup(3, {1 |-> 1.0} ++ {7 |-> 2.0} ++ {3 |-> 3.0})", 3.0),
    ("lookup(2, {1 |-> 1.0})", 0.0),
    ("lookup(1, {1 |-> 1.0} ++ {1 |-> 2.0})", 3.0),
    ("highest(delete(7, {1 |-> 1.0} ++ {7 |-> 2.0}))", 1),
    ("highest(delete(1, {1 |-> 1.0} ++ {7 |-> 2.0}))", 7),
    ("empty(delete(1, {1 |-> 1.0}))", T),
    # arrays
    (r"at(alloc(3, 7.0, \R(a : Array R). freeze(a)), 2)", 7.0),
    (r"at(alloc(3, 0.0, \R(a : Array R). freeze(set(1, 5.0, a))), 1)", 5.0),
    (
        r"at(alloc(3, 2.0, \R(a : Array R). freeze(modify(0, \(x : R). x * x, modify(0, \(x : R). x + 1.0, a)))), 0)",
        9.0,
    ),
    (r"alloc(3, 2.0, \R(a : Array R). letR (!x, a) = get(1, a) in letR !_ = freeze(a) in !(x * 3.0))", 6.0),
    (r"alloc(3, 2.0, \R(a : Array R). letR (!n, a) = size(a) in letR !_ = freeze(a) in !n)", 3),
    (
        r"at(alloc(1, 1.0, \R(a : Array R). letR (a, b) = allocBeside(2, 5, a) in freeze(dealloc(a, b))), 1)",
        5,
    ),
    (r"letR !x = !3.0 in x * x", 9.0),
    (r"letR (!x, !y) = (!3.0, !4) in (y, x)", (4, 3.0)),
    (r"(\R(x : (R, R)). x) (1.0, 2.0)", (1.0, 2.0)),
]


@pytest.mark.parametrize(("text", "wanted"), VALUES, ids=[text for text, _ in VALUES])
def test_value(text, wanted):
    found = value(text)
    assert (found, repr(found)) == (wanted, repr(wanted))


def test_arguments():
    assert value(r"\(x : R). \(n : Int). x * real(n)", 1.5, 4) == 6.0
    assert value(r"\(f : R -> R, x : R). f (f x)", (value(r"\(x : R). x * x"), 3.0)) == 81.0


def test_map_union_with_linear_factoring():
    """{i1 -> (f1, a1), i2 -> (f2, a2)} + {i2 -> (f2, a3)} = {i1 -> (f1, a1), i2 -> (f2, a2 + a3)}: section 4."""
    definitions = r"f1 : R -o R = \_(z : R). z + z; f2 : R -o R = \_(z : R). z; "
    found = value(definitions + "({1 |-> (f1, 1.0)} ++ {2 |-> (f2, 20.0)}) ++ {2 |-> (f2, 300.0)}")
    entries = {key: argument for key, (_, argument) in ordered_map.items(found.root)}
    assert entries == {1: 1.0, 2: 320.0}
    assert [f.body.__class__.__name__ for _, (f, _) in ordered_map.items(found.root)] == ["Plus", "Var"]


def test_insert_with():
    """A new key, or the sum with the argument at a known one; the function there stays (section 5.1)."""
    definitions = r"f1 : R -o R = \_(z : R). z + z; f2 : R -o R = \_(z : R). z; "
    found = value(definitions + "insertWith(2, (f2, 300.0), insertWith(2, (f2, 20.0), {1 |-> (f1, 1.0)}))")
    assert {key: argument for key, (_, argument) in ordered_map.items(found.root)} == {1: 1.0, 2: 320.0}
    assert [f.body.__class__.__name__ for _, (f, _) in ordered_map.items(found.root)] == ["Plus", "Var"]
    assert value("let m = {1 |-> 1.0} in let u = insertWith(1, 2.0, m) in (lookup(1, m), lookup(1, u))") == (1.0, 3.0)


def test_maps_are_persistent():
    found = value(
        "let m = {1 |-> 1.0} in let u = m ++ {1 |-> 2.0} in (lookup(1, m), lookup(1, u), empty(delete(1, m)))"
    )
    assert found == (1.0, (3.0, T))


FUNCTIONS_AND_ZEROS = [
    (r"snd(((\(x : R). x), (1.0, 2.0)) ++ ((\(x : R). x), (3.0, 4.0)))", (4.0, 6.0)),
    (r"fst(((\(x : R). x * 2.0), 1.0) ++ ((\(x : R). x * 3.0), 1.0)) 1.0", 6.0),
    (r"((\(x : R). x * 2.0) ++ (\(x : R). x * 3.0)) 1.0", 6.0),
    ("(0[R -> R]) 1.0", 1.0),
    (r"(\_(z : R + R). case z of {inl(a) -> a; inr(b) -> b}) 0[R + R]", 0.0),
]


@pytest.mark.parametrize(("text", "wanted"), FUNCTIONS_AND_ZEROS, ids=[text for text, _ in FUNCTIONS_AND_ZEROS])
def test_functions_are_added_by_composition_and_sums_have_a_formal_zero(text, wanted):
    assert value(text) == wanted


def test_what_is_no_key_is_zero_or_an_error():
    assert value("lookup(2, {1 |-> 3.0})") == 0.0
    with pytest.raises(ValueError, match="2 is no key of the map"):
        value(r"lookup(2, {1 |-> (\_(z : R). z, 3.0)})")


# Steps


def steps(text, **values):
    """How many steps a term takes, with these values of its free variables."""
    machine = Machine(Program(parse_term("()")))
    machine.run(parse_term(text), values)
    return machine.steps


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.0", 1),
        ("()", 1),
        ("(1.0, 2.0)", 3),
        ("fst((1.0, 2.0))", 4),
        ("1.0 + 2.0 * 3.0", 5),
        ("let x = 1.0 in x", 3),
        (r"\(x : R). x + x", 1),
        (r"(\(x : R). x) 1.0", 4),
        ("if true then 1.0 else 2.0 + 2.0", 4),  # case, inl, (), 1.0
        (r"letrec f : R -> R = \(x : R). x in f 1.0", 5),  # letrec, call, f, 1.0, x
        ("partial 1 mul(1.0, 2.0)(3.0)", 4),
        ("id[R]", 1),
        (r"(id[R]) 1.0", 3),
        (r"((\(x : R). x) . (\(x : R). x)) 1.0", 8),  # call, ., two functions, 1.0, taking . apart, x, x
        ("!1.0", 2),
        ("letR !x = !1.0 in x", 4),
        ("{1 |-> 2.0}", 3),
        # the sizes of what is made or added
        ("0[R]", 2),
        ("0[(R, R)]", 4),
        ("0[(R, (R, R))]", 6),
        ("0[Map Int R]", 2),
        ("1.0 ++ 2.0", 4),
        ("(1.0, 2.0) ++ (3.0, 4.0)", 10),
        # maps, arrays
        ("empty(0[Map Int R])", 3),
        ("{1 |-> 2.0} ++ {2 |-> 2.0}", 9),  # ++, 2 * 3, and 1 * (1 + 1)
        (r"alloc(0, 1.0, \R(a : Array R). freeze(a))", 6),
        (r"alloc(7, 1.0, \R(a : Array R). freeze(a))", 13),
    ],
)
def test_steps(text, count):
    assert steps(text) == count


@pytest.mark.parametrize("n", [1, 10, 100])
def test_zero_and_plus_cost_the_size_of_the_type(n):
    type_, sum_ = "R", "x"
    for _ in range(n - 1):
        type_ = f"(R, {type_})"
        sum_ = f"(1.0, {sum_})"
    assert steps(f"0[{type_}]") == 1 + (2 * n - 1)
    big = Machine(Program(parse_term(sum_.replace("x", "1.0")))).value()
    assert steps("a ++ a", a=big) == 3 + (2 * n - 1)


def tree(n):
    root = None
    for key in range(n):
        root = ordered_map.insert_with(lambda _, new: new, root, key, 1.0)
    return Tree(root)


@pytest.mark.parametrize(
    "term", ["highest(m)", "lookup(3, m)", "delete(999, m)", "{5 |-> 1.0} ++ m", "m ++ {5 |-> 1.0}"]
)
def test_operations_on_maps_cost_a_logarithm(term):
    costs = {n: steps(term, m=tree(n)) for n in (10, 1000, 16_000)}
    assert costs[1000] - costs[10] in (6, 7)
    assert costs[16000] - costs[1000] in (4, 5)


def test_union_of_maps_costs_the_smaller_one():
    assert steps("a ++ b", a=tree(0), b=tree(1000)) == 3
    assert steps("a ++ b", a=tree(100), b=tree(100)) == 3 + 100 * 2
    assert steps("a ++ b", a=tree(1000), b=tree(10)) == steps("a ++ b", a=tree(10), b=tree(1000)) < 3 + 10 * 9


@pytest.mark.parametrize(
    "term", ["get(2, a)", "set(2, 1.0, a)", "size(a)", "dealloc(a, b)", "freeze(a)", "at(a, 2)", r"modify(2, f, a)"]
)
def test_operations_on_arrays_cost_the_same_at_every_length(term):
    f = value(r"\(x : R). x")
    short, long = (steps(term, a=Cells([1.0] * n), b=Cells([]), f=f) for n in (3, 30_000))
    assert short == long <= 5


def test_alloc_costs_its_length():
    text = r"alloc(n, 0.0, \R(a : Array R). letR (a, b) = allocBeside(n, 0.0, a) in freeze(dealloc(a, b)))"
    assert steps(text, n=1000) - steps(text, n=0) == 2000


def test_arrays_have_a_length():
    with pytest.raises(ValueError, match="an array of -50 elements"):
        steps(r"alloc(-50, 0.0, \R(a : Array R). freeze(a))")


# Long and deep programs, and what stops them


def test_a_long_loop():
    text = (
        r"letrec f : (Int, R) -> R = \(k : Int, x : R). if k ==# 0 then x else f (k -# 1, x + 1.0)"
        r" in \(n : Int). f (n, 0.0)"
    )
    program = parse_program(text)
    check(program, "source")
    machine = Machine(program)
    assert machine.apply(machine.value(), 10_000) == 10_000.0
    assert machine.steps > 150_000


def test_deep_recursion():
    text = r"\(n : Int). letrec f : Int -> R = \(k : Int). if k ==# 0 then 0.0 else 1.0 + f (k -# 1) in f n"
    assert value(text, 50_000) == 50_000.0


def test_a_long_list_is_made_added_and_taken_apart():
    text = LIST + (
        r"make : Int -> List R = \(n : Int). if n ==# 0 then Nil[List R] else Cons[List R](real(n), make (n -# 1));"
        r"total : List R -> R = \(l : List R). case l of {Nil -> 0.0; Cons(x, r) -> x + total r};"
        r"\(n : Int). let l = make n in total (l ++ l)"
    )
    assert value(text, 20_000) == 20_000 * 20_001


@pytest.mark.parametrize("order", ["f . g", "g . f"])
def test_a_long_composition(order):
    text = (
        r"chain : Int -> R -> R = \(n : Int). if n ==# 0 then id[R] else let f = \(x : R). x + 1.0 in"
        rf" let g = chain (n -# 1) in {order}; \(n : Int). chain n 0.0"
    )
    assert value(text, 20_000) == 20_000.0


def test_step_limit():
    program = parse_program(r"letrec f : R -> R = \(x : R). f x in f")
    machine = Machine(program, limit=1000)
    f = machine.value()
    with pytest.raises(StepLimit, match="more than 1,000 steps"):
        machine.apply(f, 1.0)
    assert 1000 < machine.steps <= 1010
    with pytest.raises(StepLimit):
        evaluate(program, 1.0, limit=10)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ("log(-1.0)", ValueError),
        ("1.0 / 0.0", ZeroDivisionError),
        ("highest(0[Map Int R])", ValueError),
        (r"at(alloc(3, 0.0, \R(a : Array R). freeze(a)), 3)", IndexError),
        (r"at(alloc(3, 0.0, \R(a : Array R). freeze(a)), -1)", IndexError),
        (r"alloc(3, 0.0, \R(a : Array R). freeze(set(3, 1.0, a)))", IndexError),
        (r"alloc(3, 0.0, \R(a : Array R). freeze(modify(3, \(x : R). x, a)))", IndexError),
        ("inl[R + R](1.0) ++ inr[R + R](1.0)", ValueError),
    ],
)
def test_the_machine_is_usable_after_an_error(bad, error):
    check_term(parse_term(bad))
    machine = Machine(parse_program(r"\(x : R). x * x"))
    f = machine.value()
    with pytest.raises(error):
        machine.run(parse_term(f"1.0 + (let y = {bad} in 2.0)"), {})
    assert machine.apply(f, 3.0) == 9.0


# The worked example of section 4

STAGED = "(R, (R, R))"
EXAMPLE = {
    "f1": r"\_(z : R). ((0[R], (z, 0[R])), 0[Map Int (R -o Staged, R)])",
    "f2": r"\_(z : R). SCall (1, f1) (partial 1 mul(1.0, 2.0)(z)) + SCall (1, f1) (partial 1 mul(1.0, 3.0)(z))",
    "f3": r"\_(z : R). SCall (2, f2) (partial 1 mul(1.0, 4.0)(z)) + SCall (1, f1) (partial 1 mul(1.0, 5.0)(z))",
    "f4": r"\_(z : R). SCall (2, f2) z + SCall (3, f3) (partial 1 mul(1.0, 2.0)(z))",
}


def example():
    """f1 .. f4 with the interface of D2, and the calls that are made."""
    d2 = D2(parse_type(STAGED))
    linear = parse_type("R -o Staged")
    functions = [Definition(name, linear, replace(parse_term(text), made_by=name)) for name, text in EXAMPLE.items()]
    program = Program(parse_term("SResolve"), d2.declarations(), (*d2.interface(), *functions))
    check(program, "D2")
    calls = []
    return Machine(program, called=lambda f, x: calls.append((f.made_by, x))), calls


def test_worked_example_call_by_call():
    machine, calls = example()
    c, m = machine.apply(machine.environment["f4"], 1.0)
    seen = []
    while len(m):
        entries = list(ordered_map.items(m.root))
        seen.append({f.made_by: a for _, (f, a) in entries})
        i, (f, a) = entries[-1]
        here = {**machine.environment, "f": f, "a": a, "c": c, "m": m, "i": i}
        c, m = machine.run(parse_term("f a ++ (c, delete(i, m))"), here)
    assert seen == [{"f2": 1.0, "f3": 2.0}, {"f2": 9.0, "f1": 10.0}, {"f1": 55.0}]
    assert calls == [("f4", 1.0), ("f3", 2.0), ("f2", 9.0), ("f1", 55.0)]
    assert c == (0.0, (55.0, 0.0))


def test_worked_example_resolved():
    machine, calls = example()
    assert machine.apply(machine.value(), machine.apply(machine.environment["f4"], 1.0)) == (0.0, (55.0, 0.0))
    assert [name for name, _ in calls] == ["f4", "f3", "f2", "f1"]
