r"""Curried resource functions, as Fig. 11 writes them: a function that holds a resource is used exactly once.

\R(a : Array R). \R(b : Array R). dealloc(a, b) returns a function that holds a. The checker follows a through terms,
not through types: wherever the function goes, it is a resource.
"""

import pytest

from stages.calculus import check, check_term, evaluate, parse_program, parse_term, parse_type, show_type
from stages.calculus.language.declarations import Declarations
from stages.calculus.language.errors import IllTyped

A = "Array R"
DROP = rf"\R(a : {A}). \R(b : {A}). dealloc(a, b)"
HOLDS = rf"(\R(b : {A}). dealloc(a, b))"
TO = f" ->R {A}"
BOX = f"data Box = Box ({A} ->R {A}) Int; data Pick a = Pick a Int; "

#: Fig. 11 with its types. The derived modify is the paper's.
FIGURE = r"""
    alloc' : forall t s. Int -> t -> (Array t ->R !s) -> s
        = \(n : Int). \(x : t). \(f : Array t ->R !s). alloc(n, x, f);
    allocBeside' : forall t s. Int -> t -> Array s ->R (Array s, Array t)
        = \(n : Int). \(x : t). \R(a : Array s). allocBeside(n, x, a);
    get' : forall t. Int -> Array t ->R (!t, Array t) = \(i : Int). \R(a : Array t). get(i, a);
    set' : forall t. Int -> t -> Array t ->R Array t = \(i : Int). \(x : t). \R(a : Array t). set(i, x, a);
    size' : forall t. Array t ->R (!Int, Array t) = \R(a : Array t). size(a);
    dealloc' : forall t s. Array t ->R Array s ->R Array s = \R(a : Array t). \R(b : Array s). dealloc(a, b);
    freeze' : forall t. Array t ->R !(IArray t) = \R(a : Array t). freeze(a);
    at' : forall t. IArray t -> Int -> t = \(a : IArray t). \(i : Int). at(a, i);
    modify' : forall t. Int -> (t -> t) -> Array t ->R Array t
        = \(i : Int). \(f : t -> t). \R(a : Array t). letR (!x, a) = get'[t] i a in set'[t] i (f x) a;
"""

TYPED = [
    (DROP, f"{A} ->R {A} ->R {A}"),
    (rf"\R(a : {A}). {HOLDS}", f"{A} ->R {A} ->R {A}"),
    (rf"\R(p : ({A}, {A})). letR (a, b) = p in ({DROP}) a b", f"({A}, {A}) ->R {A}"),
    (rf"\R(p : ({A}, {A})). letR (a, c) = p in letR f = {HOLDS} in f c", f"({A}, {A}) ->R {A}"),
    (rf"\R(f : {A} ->R {A}). \R(a : {A}). f a", f"({A} ->R {A}) ->R {A} ->R {A}"),
    (r"\R(f : R -> R). f 1.0", "(R -> R) ->R R"),
    (rf"\R(a : {A}). ({HOLDS}, !x)", f"{A} ->R ({A} ->R {A}, !R)"),
    # a name hides an outer resource
    (rf"\R(a : {A}). \R(b : {A}). letR c = dealloc(a, b) in \R(a : {A}). dealloc(c, a)", f"{A} ->R {A} ->R {A}{TO}"),
    (rf"\R(a : {A}). (\R(a : {A}). a) a", f"{A} ->R {A}"),
    # in a sum and in data
    (
        rf"\R(p : ({A}, {A})). letR (a, c) = p in case inl[({A} ->R {A}) + {A}]({HOLDS}) of"
        " {inl(f) -> f c; inr(b) -> dealloc(b, c)}",
        f"({A}, {A}) ->R {A}",
    ),
    (
        rf"\R(p : ({A}, {A})). letR (a, c) = p in case Box[Box]({HOLDS}, 3) of {{Box(f, n) -> set(n, x, f c)}}",
        f"({A}, {A}) ->R {A}",
    ),
    # a function that holds nothing may be used many times
    (rf"\(f : {A} ->R {A}). \R(a : {A}). f (f a)", f"({A} ->R {A}) -> {A} ->R {A}"),
    (r"case Box[Box](id[Array R], 3) of {Box(f, n) -> \R(a : Array R). f (f a)}", f"{A} ->R {A}"),
]  # fmt: skip

CALLED_TWICE = "the resource f is used twice: a function that holds a resource can be called once"
MANY = "a is a resource, and a function that may be called many times holds none"

REFUSED = [
    (rf"\R(a : {A}). letR f = {HOLDS} in (f, f)", CALLED_TWICE),
    (rf"\R(p : ({A}, ({A}, {A}))). letR (a, q) = p in letR f = {HOLDS} in letR (b, c) = q in (f b, f c)", CALLED_TWICE),
    (rf"\R(f : {A} ->R {A}). \R(a : {A}). f (f a)", CALLED_TWICE),
    (rf"\R(a : {A}). letR f = {HOLDS} in !x", "the resource f is not used: use it exactly once (call it)"),
    (rf"\R(a : {A}). letR f = {HOLDS} in a", "the resource a is used twice: an array that was changed is gone"),
    (rf"\R(a : {A}). ({HOLDS}, a)", "the resource a is used twice"),
    (rf"\R(a : {A}). (a, {HOLDS})", "the resource a is used twice"),
    (rf"\R(a : {A}). {HOLDS} a", "the resource a is used twice"),
    (rf"\R(a : {A}). \R(b : {A}). b", "the resource a is not used"),
    # where a function of many uses, or a value that may be copied, would hold it
    (rf"\R(a : {A}). \(y : R). {HOLDS}", MANY),
    (rf"\R(a : {A}). letrec u : R -> {A} ->R {A} = \(y : R). {HOLDS} in u 1.0", MANY),
    (rf"\R(a : {A}). \R(f : {A} ->R {A}). \(y : R). f a", "f is a resource, and a function that may be called many"),
    (rf"\R(a : {A}). let f = {HOLDS} in f", "let binds no resource: use letR"),
    (rf"\R(a : {A}). (\(f : {A} ->R {A}). f) {HOLDS}", "only ->R promises to use it once"),
    (rf"\R(a : {A}). !{HOLDS}", "what stands under ! uses no resource"),
    (rf"\R(a : {A}). fst(({HOLDS}, x))", "a projection would drop the other half"),
    (rf"\R(a : {A}). {HOLDS} . id[{A}]", "a composition uses no resource"),
    (rf"\R(a : {A}). build(3, \(n : Int). {HOLDS})", "this argument uses no resource"),
    (rf"\R(a : {A}). alloc(3, 0.0, \R(c : {A}). freeze({HOLDS} c))", "this argument uses no resource"),
    (rf"\R(a : {A}). \_(z : R). {HOLDS}", "this must act on b"),
    (rf"\R(a : {A}). \_(z : R). \R(b : {A}). modify(0, \(y : R). z + y, a)", "this must act on b"),
    # in a sum and in data
    (rf"\R(a : {A}). case Box[Box]({HOLDS}, 3) of {{Box(f, n) -> (f, f)}}", CALLED_TWICE),
    (rf"\R(a : {A}). case Box[Box]({HOLDS}, 3) of {{Box(f, n) -> !n}}", "the resource f is not used"),
    (rf"\R(a : {A}). case Box[Box]({HOLDS}, 3) of {{Box(_, n) -> !n}}", "the resource _ is not used"),
    (rf"\R(a : {A}). case Box[Box]({HOLDS}, 3) of {{Box(_, _) -> !x}}", "Box drops a resource: name it"),
    (rf"\R(b : Box). case b of {{Box(f, n) -> \R(a : {A}). f (f a)}}", CALLED_TWICE),
    (rf"\R(a : {A}). \R(b : {A}). if x < x then dealloc(a, b) else b", "used in one branch and not in another"),
]  # fmt: skip

POLYMORPHIC = [  # a may be the type of a function that holds a resource
    (r"u : forall a. Pick a ->R (a, a) = \R(p : Pick a). case p of {Pick(x, n) -> (x, x)}; 1.0", "x is used twice"),
    (r"u : forall a. Pick a ->R Int = \R(p : Pick a). case p of {Pick(x, n) -> n}; 1.0", "x is not used"),
]  # fmt: skip


def declarations() -> Declarations:
    """Those of the terms."""
    return parse_program(f"{BOX} 1.0").declarations


@pytest.mark.parametrize(("text", "type_"), TYPED, ids=[text for text, _ in TYPED])
def test_curried_terms_are_typed(text, type_):
    found = check_term(parse_term(text), {"x": parse_type("R")}, declarations())
    assert found == parse_type(type_), show_type(found)


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[text for text, _ in REFUSED])
def test_misuses_are_refused(text, why):
    with pytest.raises(IllTyped) as error:
        check_term(parse_term(text), {"x": parse_type("R")}, declarations())
    assert why in error.value.reason


@pytest.mark.parametrize(("text", "why"), POLYMORPHIC)
def test_a_polymorphic_function_may_not_copy_what_it_was_given_once(text, why):
    with pytest.raises(IllTyped) as error:
        check(parse_program(BOX + text))
    assert why in error.value.reason


def test_a_free_variable_that_is_a_resource_is_captured():
    held = {"a": parse_type(A)}
    assert show_type(check_term(parse_term(HOLDS), held), True) == "Array R ->R Array R"
    with pytest.raises(IllTyped, match="used twice"):
        check_term(parse_term(f"({HOLDS}, {HOLDS})"), held)


@pytest.mark.parametrize(
    ("term", "result"),
    [
        ("freeze'[R] (dealloc'[R, R] a (set'[R] 1 y b))", [0.0, 3.0, 0.0]),
        (
            r"letR f = dealloc'[R, R] (set'[R] 0 y a) in letR b = modify'[R] 2 (\(u : R). u + y) b in freeze'[R] (f b)",
            [0.0, 0.0, 3.0],
        ),
        (
            "letR g = dealloc'[R, R] b in letR (!n, a) = size'[R] a in freeze'[R] (g (set'[R] (n -# 1) (real(n)) a))",
            [9.0, 2.0],
        ),
    ],
)  # fmt: skip
def test_figure_11_curried(term, result):
    """All of the figure's functions, with its types, in programs that apply them one argument at a time."""
    start = r"\R(a : Array R). letR (a, b) = allocBeside'[R, R] 3 0.0 a in "
    run = rf"\(y : R). alloc'[R, IArray R] 2 9.0 ({start}{term})"
    program = parse_program(f"{FIGURE} {run}")
    assert show_type(check(program), True) == "R -> IArray R"
    assert evaluate(program, 3.0).cells == result


def test_at():
    program = parse_program(rf"{FIGURE} \(y : R). at'[R] (alloc'[R, IArray R] 2 y freeze'[R]) 1")
    assert (show_type(check(program), True), evaluate(program, 3.0)) == ("R -> R", 3.0)
