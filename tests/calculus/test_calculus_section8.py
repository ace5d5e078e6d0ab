"""Sections 8.1 to 8.3 as text, and the transformations compared with it; Fig. 10; what they cost."""

import math

import pytest
from test_calculus_figures import DATA, ENVIRONMENT, assert_same, canonical

from stages.calculus import TRANSFORMATIONS, Machine, check, check_term, parse_program, parse_term, parse_type, show
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import same
from stages.calculus.language.types import REAL
from stages.calculus.language.values import Cells, Made
from stages.calculus.space import reachable
from stages.calculus.transformations.contributions import is_contributions

SECTION8 = ["collectorless", "contrib", "tape"]
WORDS = {
    "collectorless": {"U": "R -o (Staged ->R Staged)", "D": "(R, (Int, R -o (Staged ->R Staged)))"},
    "contrib": {"U": "Contrib", "D": "(R, (Int, Contrib))"},
    "tape": {"D": "(R, Int)", "U": "()+()"},
}

# D on terms. A computation begins at the id i, or at the tape w

MUL = "let (v, d) = x in let (u, e) = y in"
LISTED = "Cons[Contrib](partial 1 mul(v, u)(1.0), d, Cons[Contrib](partial 2 mul(v, u)(1.0), e, Nil[Contrib]))"
TERMS = {
    "collectorless": {
        "2.0": r"\(i : Int). ((2.0, (i, \_(z : R). id[Staged])), i +# 1)",
        "x * y": rf"\(i : Int). {MUL} ((v * u, (i, \_(z : R)."
        r" SCall d (partial 1 mul(v, u)(z)) . SCall e (partial 2 mul(v, u)(z)))), i +# 1)",
    },
    "contrib": {
        "2.0": r"\(i : Int). ((2.0, (i, Nil[Contrib])), i +# 1)",
        "x * y": rf"\(i : Int). {MUL} ((v * u, (i, {LISTED})), i +# 1)",
        "f x": r"\(i : Int). f x i",
    },
    "tape": {
        "x": r"\R(w : Tape). (!x, w)",
        "(x, n)": r"\R(w : Tape). (!(x, n), w)",
        "2.0": r"\R(w : Tape). letR (!i, v) = push(Nil[Contrib], w) in (!(2.0, i), v)",
        "x * y": rf"\R(w : Tape). {MUL} letR (!i, s) = push({LISTED}, w) in (!(v * u, i), s)",
        "f x": r"\R(w : Tape). f x w",
        "f (f x)": r"\R(w : Tape). letR (!y, v) = f x w in f y v",
        "let u = f x in u": r"\R(w : Tape). letR (!u, v) = f x w in (!u, v)",
        r"\(u : R). u": r"\R(w : Tape). (!(\(u : (R, Int)). \R(v : Tape). (!u, v)), w)",
        "case s of {inl(u) -> u; inr(k) -> f x}": r"\R(w : Tape). case s of {inl(u) -> (!u, w); inr(k) -> f x w}",
        "x < y": rf"\R(w : Tape). {MUL} (!(v < u), w)",
    },
}


@pytest.mark.parametrize(("name", "source"), [(name, source) for name in SECTION8 for source in TERMS[name]])
def test_d_on_terms(name, source):
    D = TRANSFORMATIONS[name](REAL, DATA)  # noqa: N806
    found = D.term(parse_term(source))
    assert_same(found, TERMS[name][source])
    wanted = D.computing(D.type(check_term(parse_term(source), ENVIRONMENT, DATA, "source")))
    environment = D.environment(ENVIRONMENT) | {d.name: d.type for d in D.interface()}
    assert same(check_term(found, environment, D.declarations(), D.language), wanted, D.declarations())


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("collectorless", "D -> Int -> ((D, Int), Int)"),
        ("contrib", "D -> Int -> ((D, Int), Int)"),
        ("tape", "D -> (Tape ->R (!(D, Int), Tape))"),
    ],
)
def test_d_on_types(name, image):
    D = TRANSFORMATIONS[name](REAL, DATA)  # noqa: N806
    assert D.type(REAL) == parse_type(WORDS[name]["D"])
    assert D.type(parse_type("R -> (R, Int)")) == parse_type(image.replace("D", WORDS[name]["D"]))
    assert D.type(parse_type("List R")) == parse_type(f"DList {WORDS[name]['D']}")


# The interfaces

LOOP = r"\(i : Int). if i <# 0 then id[Staged] else \R(m : Staged). letR (!u, m) = get(i, m) in"
APPLY = r"""
    SApply : Contrib -> R -o (Staged ->R Staged) = \(c : Contrib). case c of {Nil -> \_(z : R). id[Staged];
        Cons(p, u, rest) -> \_(z : R). SCall u (partial 1 mul(1.0, p)(z)) . SApply rest z};
"""
INTERFACES = {
    "collectorless": rf"""
    type Staged = Array (R -o (Staged ->R Staged), R);
    SAlloc : Int -> (Staged ->R !(IArray (U, R))) -> IArray (U, R) = \(n : Int). \(f : Staged ->R !(IArray (U, R))).
        alloc(n, (\_(z : R). id[Staged], 0.0), \R(m : Array (U, R)). f m);
    SCall : (Int, U) -> R -o (Staged ->R Staged) = \(i : Int, f : U). \_(a : R). \R(m : Staged).
        modify(i, \(_ : U, b : R). (f, a + b), m);
    loop : Int -> Staged ->R Staged = {LOOP} let (f, a) = u in loop (i -# 1) (f a m);
    SResolve : Int -> Staged ->R Staged = \(n : Int). loop (n -# 1);
    """,
    "contrib": rf"""
    data Contrib = Nil | Cons R (Int, Contrib) Contrib;
    type Staged = Array (Contrib, R);
    SAlloc : Int -> (Staged ->R !(IArray (U, R))) -> IArray (U, R) = \(n : Int). \(f : Staged ->R !(IArray (U, R))).
        alloc(n, (Nil[Contrib], 0.0), \R(m : Array (U, R)). f m);
    SCall : (Int, U) -> R -o (Staged ->R Staged) = \(i : Int, c : U). \_(a : R). \R(m : Staged).
        modify(i, \(_ : U, b : R). (c, a + b), m);
    {APPLY}
    loop : Int -> Staged ->R Staged = {LOOP} let (c, a) = u in loop (i -# 1) (SApply c a m);
    SResolve : Int -> Staged ->R Staged = \(n : Int). loop (n -# 1);
    """,
    "tape": rf"""
    data Contrib = Nil | Cons R Int Contrib;
    type Tape = Array Contrib;
    type Staged = Array (U, R);
    SAlloc : Int -> (Staged ->R !(IArray (U, R))) -> IArray (U, R) = \(n : Int). \(f : Staged ->R !(IArray (U, R))).
        alloc(n, (false, 0.0), \R(m : Array (U, R)). f m);
    SCall : Int -> R -o (Staged ->R Staged) = \(i : Int). \_(a : R). \R(m : Staged).
        modify(i, \(_ : U, b : R). (true, a + b), m);
    {APPLY}
    loop : IArray Contrib -> Int -> Staged ->R Staged = \(tape : IArray Contrib). \(i : Int). if i <# 0 then id[Staged]
        else \R(m : Staged). letR (!u, m) = get(i, m) in let (called, a) = u in loop tape (i -# 1)
        (if called then SApply (at(tape, i)) a m else m);
    SResolve : IArray Contrib -> Int -> Staged ->R Staged = \(tape : IArray Contrib). \(n : Int). loop tape (n -# 1);
    """,
}


@pytest.mark.parametrize("name", SECTION8)
def test_interface(name):
    text = INTERFACES[name].replace("U", WORDS[name].get("U", "U"))
    wanted = parse_program(text + "1.0")
    check(wanted, "D4")
    D = TRANSFORMATIONS[name](parse_type("(R, Int)"))  # noqa: N806
    assert {**D.declarations().types} == {**wanted.declarations.types}
    assert [d.name for d in D.interface()] == [d.name for d in wanted.definitions]
    for found, definition in zip(D.interface(), wanted.definitions, strict=True):
        assert same(found.type, definition.type, D.declarations())
        at_array = str(canonical(found.term)).replace(repr(D.calls()), repr(D.staged))  # a synonym and what it is
        assert at_array == str(canonical(definition.term)).replace(repr(D.calls()), repr(D.staged)), show(found.term)


# The wrapper

BACK = r"(v, \_(z : R). SCall u z)"
WRAPPED = {
    "collectorless": r"\(x : R). let ((x, rebuild), i) = (((x, (0, \_(z : R). id[Staged])), \(a : A). snd(at(a, 0))),"
    rf" 0 +# 1) in let (w, j) = (x, i) in let (y, d) = let (v, u) = w in {BACK} in"
    r" (y, linear(\(z : R). rebuild (SAlloc j (\R(s : Staged). freeze(SResolve j (d z s))))))",
    "contrib": r"\(x : R). let ((x, rebuild), i) = (((x, (0, Nil[Contrib])), \(a : A). snd(at(a, 0))), 0 +# 1) in"
    rf" let (w, j) = (x, i) in let (y, d) = let (v, u) = w in {BACK} in"
    r" (y, linear(\(z : R). rebuild (SAlloc j (\R(s : Staged). freeze(SResolve j (d z s))))))",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrap(name):
    text = WRAPPED[name].replace("A)", f"IArray ({WORDS[name]['U']}, R))")
    assert_same(TRANSFORMATIONS[name].wrap(parse_program(r"\(x : R). x")).term, text)


def test_wrap_of_the_tape():
    """The hidden variables of letR's patterns make no text of their own: the term is made here."""
    found = TRANSFORMATIONS["tape"].wrap(parse_program(r"\(x : R). x")).term
    text = (
        r"\(x : R). alloc(0, Nil[Contrib], \R(w1 : Tape). letR (!p, w2) ="
        r" letR (!i, w3) = push(Nil[Contrib], w1) in (!((x, i), \(a : IArray (() + (), R)). snd(at(a, i))), w3) in"
        r" let x = fst(p) in let rebuild = snd(p) in letR (!e, w4) = (!x, w2) in letR (!n, w5) = size(w4) in"
        rf" letR !tape = freeze(w5) in !(let (y, d) = let (v, u) = e in {BACK} in"
        r" (y, linear(\(z : R). rebuild (SAlloc n (\R(s : Staged). freeze(SResolve tape n (d z s))))))))"
    )
    assert_same(found, text)


# Fig. 10


def test_fig10_b():
    """\\(x, y). let z = x + y in x z at (3, 2): the sharing structure, before and after it is a tape."""
    program = parse_program(r"\(x : R, y : R). let z = x + y in x * z")
    nil = Made("Nil", ())
    machine = Machine(TRANSFORMATIONS["contrib"].of(program, check(program, "source")))
    (f, _) = machine.apply(machine.value(), 0)
    (value, (i, contrib)), following = machine.apply(f, ((3.0, (0, nil)), (2.0, (1, nil))), 2)
    z = Made("Cons", (1.0, (0, nil), Made("Cons", (1.0, (1, nil), nil))))
    assert (value, i, following) == (15.0, 3, 4)
    assert contrib == Made("Cons", (5.0, (0, nil), Made("Cons", (3.0, (2, z), nil))))


@pytest.mark.parametrize("name", SECTION8)
def test_a_pullback_may_be_called_twice(name):
    derivative = TRANSFORMATIONS[name].wrap(parse_program(r"\(x : R, y : R). let z = x + y in x * z"))
    machine = Machine(derivative)
    y, back = machine.apply(machine.value(), (3.0, 4.0))
    assert [machine.apply(back, z) for z in (1.0, -2.0, 1.0)] == [(10.0, 3.0), (-20.0, -6.0), (10.0, 3.0)]
    assert y == 21.0


@pytest.mark.parametrize("name", SECTION8)
def test_an_infinite_partial_derivative_that_is_not_used_is_passed_over(name):
    derivative = TRANSFORMATIONS[name].wrap(
        parse_program(r"\(x : R). let u = sqrt(x) in if u < 1.0 then x * 2.0 else u")
    )
    machine = Machine(derivative)
    _, back = machine.apply(machine.value(), 0.0)
    assert machine.apply(back, 1.0) == 2.0
    _, back = machine.apply(machine.value(), 4.0)
    assert machine.apply(back, 1.0) == 0.25


@pytest.mark.parametrize("name", [name for name in TRANSFORMATIONS if name != "forward"])
def test_an_infinite_partial_derivative_that_is_called_with_zero_is_nan(name):
    """A cotangent 0 of the output is a call, too: 0 times infinity, in every transformation."""
    machine = Machine(TRANSFORMATIONS[name].wrap(parse_program(r"\(x : R). (sqrt(x), x)")))
    _, back = machine.apply(machine.value(), 0.0)
    assert math.isnan(machine.apply(back, (0.0, 1.0)))


def test_what_stands_for_backpropagators():
    known = parse_program(
        "data C = N | L R (Int, C) C; data T = M | K R Int T; data S = P | Q R (Int, S); data U = V | W U R (Int, U);"
        "data O = O R (Int, O) O; 1.0"
    ).declarations
    assert [name for name in "CTSUO" if is_contributions(parse_type(name), known)] == ["C", "T"]
    with pytest.raises(IllTyped, match="only one half of a pair may change"):
        check_term(parse_term(r"\(s : S). \_(a : R). \(_ : S, b : R). (s, a + b)"), declarations=known, language="D4")


def test_an_id_is_marked_as_called_and_the_mark_stays():
    assert check_term(parse_term(r"\_(a : R). \(_ : ()+(), b : R). (true, a + b)"), language="D4")
    for half in ("false", "if 1.0 < 2.0 then true else false"):
        with pytest.raises(IllTyped, match="only one half of a pair may change"):
            check_term(parse_term(rf"\_(a : R). \(_ : ()+(), b : R). ({half}, a + b)"), language="D4")
    with pytest.raises(IllTyped):
        check_term(parse_term(r"\_(a : R). \(_ : R, b : R). (true, a + b)"), language="D4")


def test_push_grows_an_array():
    program = parse_program(
        r"alloc(0, 0.0, \R(a : Array R). letR (!i, a) = push(1.5, a) in letR (!j, a) = push(2.5, a) in"
        r" letR (!n, a) = size(a) in letR !b = freeze(a) in !((at(b, i), at(b, j)), ((i, j), n)))"
    )
    assert check(program, "D4") == parse_type("((R, R), ((Int, Int), Int))")
    assert Machine(program).value() == ((1.5, 2.5), ((0, 1), 2))
    with pytest.raises(IllTyped, match="the resource a is used twice"):
        check_term(parse_term(r"\R(a : Array R). letR (!i, b) = push(1.0, a) in a"))


def test_each_doubling_costs_as_much_as_the_one_before_and_least_without_closures():
    cost = {}
    for name in SECTION8:
        steps, cells = [], []
        for n in (10, 20, 30):
            text = "let x = x + x in " * n
            machine = Machine(TRANSFORMATIONS[name].wrap(parse_program(rf"\(x : R). {text} x")))
            _, back = machine.apply(machine.value(), 1.0)
            cells.append(reachable(back))
            assert machine.apply(back, 1.0) == 2.0**n
            steps.append(machine.steps)
        assert steps[2] - steps[1] == steps[1] - steps[0]
        assert cells[2] - cells[1] == cells[1] - cells[0]
        cost[name] = steps[2] - steps[1], cells[2] - cells[1]
    assert all(a < b for a, b in zip(cost["tape"], cost["contrib"], strict=True))


def test_what_is_reachable():
    assert reachable(1.0) == 0
    pair = (1.0, 2.0)
    assert reachable(pair) == 3  # a header and two words
    assert reachable((pair, pair)) == 6  # what is shared counts once
    assert reachable(Made("Nil", ())) == 1
    assert reachable(Cells([1.0, pair])) == 3 + 3
    machine = Machine(parse_program(r"let p = (1.0, 2.0) in let q = (3.0, 4.0) in \(x : R). (p, x)"))
    assert reachable(machine.value()) == 2 + 3  # q is in scope, and not captured
