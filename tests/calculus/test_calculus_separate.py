"""Separate compilation and static fusion: Krawiec et al. 2022, sections 8.1 and 8.7, Fig. 15."""

from __future__ import annotations

import itertools

import pytest
from test_calculus_properties import scalars

from stages.calculus import Machine, check, evaluate, parse_program, parse_type, show
from stages.calculus.deltas.separate import compiled, linked
from stages.calculus.deltas.table import DELTAS
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.values import Elements, Made
from stages.calculus.readable import readable
from stages.calculus.transformations.transform import Transformation

MONADIC = ["delta-map", "delta-array"]

LIBRARY = r"""
data List a = Nil | Cons a (List a);
square : R -> R = \(x : R). x * x;
norm : (R, R) -> R = \(x : R, y : R). sqrt(square x + square y);
twice : (R -> R) -> R -> R = \(g : R -> R). \(x : R). g (g x);
power : (Int, R) -> R = \(n : Int, x : R). if n <# 1 then 1.0 else x * power (n -# 1, x);
fold : forall a b. ((a, b) -> b, b, List a) -> b = \(f : (a, b) -> b, y : b, l : List a).
    case l of {Nil -> y; Cons(x, rest) -> f (x, fold[a, b] (f, y, rest))};
"""
CALLERS = {  # with different input types S
    "R": (r"\(x : R). norm (x, 2.0) * x", 1.5),
    "pair": (r"\(x : R, y : R). norm (square x, y) + power (3, y)", (1.5, -0.5)),
    "higher order": (r"\(x : R, (n : Int, y : R)). twice (\(u : R). u * y) x + power (n, x)", (2.0, (3, 5.0))),
    "list": (
        r"\(l : List R). fold[R, R] (\(x : R, s : R). square x + s, 0.0, l)",
        Made("Cons", (2.0, Made("Cons", (3.0, Made("Nil", ()))))),
    ),
    "sum": (r"\(s : R + (R, R)). case s of {inl(x) -> square x; inr(p) -> norm p}", Made("inr", ((3.0, 4.0),))),
    "own definitions": (r"h : R -> R = \(x : R). square x * 2.0; \(x : R). h x + square x", 3.0),
}


def gradient(program, x):
    machine = Machine(program)
    y, pullback = machine.apply(machine.value(), x)
    return y, machine.apply(pullback, 1.0)


@pytest.mark.parametrize("name", MONADIC)
def test_a_library_is_compiled_once_and_linked_with_callers_of_any_input(name, monkeypatch):
    """Section 8.1: the linked program computes what D of the whole program does, with the very same functions."""
    D = DELTAS[name]  # noqa: N806
    library = compiled(D, parse_program(f"{LIBRARY} ()"))
    transformed = []
    original = Transformation.wrap_term.__func__
    monkeypatch.setattr(
        Transformation,
        "wrap_term",
        classmethod(lambda cls, program, *rest: transformed.append(program.term) or original(cls, program, *rest)),
    )
    for text, x in CALLERS.values():
        program = linked(parse_program(text), library)
        assert all(any(f is g for g in program.definitions) for f in library.functions)
        whole = D.wrap(parse_program(LIBRARY + text))
        assert gradient(program, x) == gradient(whole, x)
        assert gradient(readable(program), x) == gradient(whole, x)
    assert not any("fold[a, b]" in show(term) for term in transformed[::2])  # no body of the library is seen again


@pytest.mark.parametrize("name", MONADIC)
def test_the_type_of_a_compiled_function_mentions_delta_and_not_s(name):
    library = compiled(DELTAS[name], parse_program(f"{LIBRARY} ()"))
    types = {f.name: f.type for f in library.functions}
    assert types["norm"] == parse_type("((R, Delta), (R, Delta)) -> M (R, Delta)")
    assert types["twice"] == parse_type("((R, Delta) -> M (R, Delta)) -> M ((R, Delta) -> M (R, Delta))")
    again = compiled(DELTAS[name], parse_program(f"{LIBRARY} ()"), c=parse_type("(R, (R, Int))"))
    assert again == library
    assert check(library.program, "deltas") == ty.UNIT


def test_with_fig_5_a_library_is_compiled_for_one_s():
    """Its types mention S: a caller with another input does not fit."""
    text = r"square : R -> R = \(x : R). x * x;"
    D = DELTAS["vectorised"]  # noqa: N806
    library = compiled(D, parse_program(f"{text} ()"), c=parse_type("(R, R)"))
    assert library.functions[0].type == parse_type("(R, (R, R)) -> (R, (R, R))")
    caller = parse_program(r"\(x : R, y : R). square x * y")
    assert gradient(linked(caller, library), (3.0, 2.0)) == (18.0, (12.0, 9.0))
    with pytest.raises(IllTyped, match=r"scale has type .* in the library: compile it for this c"):
        linked(parse_program(r"\(x : R). square x"), library)


def test_two_libraries_and_their_names():
    first = compiled(DELTAS["delta-map"], parse_program(r"f : R -> R = \(x : R). x * x; ()"))
    second = compiled(DELTAS["delta-map"], parse_program(r"g : R -> R = \(x : R). sin(x); ()"))
    program = linked(parse_program(r"\(x : R). f (g x)"), first, second)
    names = [d.name for d in program.definitions]
    assert names.count("deltaLet") == names.count("f") == names.count("g") == 1
    assert gradient(program, 0.0) == (0.0, 0.0)
    with pytest.raises(IllTyped, match="two definitions of f"):
        linked(
            parse_program(r"\(x : R). f x"),
            first,
            compiled(DELTAS["delta-map"], parse_program("f : R -> R = \\(x : R). x; ()")),
        )


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (r"\(x : R). h x", "there is no variable h here"),
        (r"\(x : R). f (x, x)", "the argument of f has type ℝ"),
        ("data Delta = A R; \\(x : Delta). case x of {A(y) -> f y}", "the type Delta is not the one of the library"),
        ("f x", "there is no variable x here"),
        ("f 2.0", "Wrap takes a function"),
    ],
)
def test_callers_that_do_not_fit(caller, said):
    library = compiled(DELTAS["delta-map"], parse_program(r"f : R -> R = \(x : R). x * x; ()"))
    with pytest.raises(IllTyped, match=said):
        linked(parse_program(caller), library)


@pytest.mark.parametrize("name", MONADIC)
def test_names_are_not_captured(name):
    library = compiled(DELTAS[name], parse_program(r"eval : R -> R = \(deltaLet : R). deltaLet * deltaLet; ()"))
    for text in (r"\(deltaLet : R). eval deltaLet", r"\(rebuild : R). eval rebuild", r"\(x : R). let f = eval in f x"):
        assert gradient(linked(parse_program(text), library), 3.0) == (9.0, 6.0)


# ---- static fusion ---------------------------------------------------------------------------------------------------

STRAIGHT = {
    "x sin x": (r"f : R -> R = \(x : R). x * sin(x);", "R"),
    "shared": (r"f : R -> R = \(x : R). let y = x + x in let z = y * y in z + y * z;", "R"),
    "two inputs": (r"f : (R, R) -> R = \(x : R, y : R). let z = x + y in x * z - sqrt(y);", "(R, R)"),
    "nested": (r"f : (R, (R, R)) -> R = \(x : R, p : (R, R)). atan2(x, fst(p)) / snd(p);", "(R, (R, R))"),
    "unused": (r"f : (R, R) -> R = \(x : R, y : R). 2.0 * x;", "(R, R)"),
    "a constant": (r"f : R -> R = \(x : R). 2.0 * 3.0;", "R"),
    "the input": (r"f : R -> R = \(x : R). x;", "R"),
    "two outputs": (r"f : (R, R) -> (R, (R, R)) = \(x : R, y : R). (x * y, (x, 1.5));", "(R, R)"),
    "calls": (r"g : R -> R = \(x : R). x * x; f : R -> R = \(x : R). let h = \(u : R). g (u + x) in h (g x);", "R"),
}


@pytest.mark.parametrize("name", MONADIC)
@pytest.mark.parametrize("case", STRAIGHT)
def test_a_fused_function_computes_what_the_function_does(case, name):
    """Fig. 15: D' has the type of D, and can be used wherever D is; the value is equal to the last bit."""
    text, kind = STRAIGHT[case]
    source = parse_program(f"{text} ()")
    fused, plain = compiled(DELTAS[name], source, fused=["f"]), compiled(DELTAS[name], source)
    assert [f.type for f in fused.functions] == [f.type for f in plain.functions]
    use = "let v = f x in fst(v) * fst(snd(v)) * snd(snd(v))" if case == "two outputs" else "f x * f x"
    caller = parse_program(rf"\(x : {kind}). {use}")
    x = {"R": 0.7, "(R, R)": (0.7, 1.3), "(R, (R, R))": (0.7, (1.3, -0.4))}[kind]
    (y, found), (expected_y, expected) = (gradient(linked(caller, one), x) for one in (fused, plain))
    assert y == expected_y
    assert scalars(found) == pytest.approx(scalars(expected), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("name", MONADIC)
def test_a_fused_function_binds_one_delta_however_many_operations_it_has(name):
    """Section 8.7: eval visits the same for each n; without fusion, three constructors more for each operation."""
    counts = {}
    for n, fused in itertools.product((2, 4, 8), ("f", "")):
        body = "x" + " * x" * n
        source = parse_program(rf"f : R -> R = \(x : R). {body}; ()")
        library = compiled(DELTAS[name], source, fused=[fused] if fused else [])
        program = linked(parse_program(r"\(x : R). f x"), library)
        counts[n, fused] = visits_of(program, 1.5)
        assert gradient(program, 1.5)[0] == evaluate(parse_program(rf"\(x : R). {body}"), 1.5)
    assert counts[2, "f"] == counts[4, "f"] == counts[8, "f"] < counts[2, ""]
    assert counts[8, ""] - counts[4, ""] == 2 * (counts[4, ""] - counts[2, ""]) > 0


def visits_of(program, x):
    """How often eval is called in a pullback."""
    machine, count = Machine(program), [0]
    _, pullback = machine.apply(machine.value(), x)
    machine.called = lambda f, _: count.append(count.pop() + 1)
    machine.apply(pullback, 1.0)
    return count[0]


def test_the_code_of_the_figures_example():
    """Section 8.7's result, with f x = x sin x where it has x + sin x; the partial derivative of sin is cos."""
    library = compiled(DELTAS["delta-map"], parse_program(r"f : R -> R = \(x : R). x * sin(x); ()"), fused=["f"])
    (function,) = readable(library.program).definitions[-1:]
    expected = r"""\(x : R, dx : Delta). let x2 = sin(x) in let p1 = partial 1 sin(x)(1.0) in let x3 = x * x2 in
        let p2 = x * p1 in let p3 = x2 + p2 in
        do {u2 <- deltaLet (Scale[Delta](p3, dx)); pure (x3, Var[Delta](u2))}"""
    assert Program(function.term) == parse_program(expected)
    assert function.type == parse_type("(R, Delta) -> M (R, Delta)")


def test_fusion_keeps_sharing():
    """The code of n doublings grows with n: what is used twice has a name."""
    sizes = []
    for n in (4, 8, 16):
        lets = "".join(f"let x{k + 1} = x{k} * x{k} in " for k in range(n))
        library = compiled(DELTAS["delta-map"], parse_program(rf"f : R -> R = \(x0 : R). {lets} x{n}; ()"), fused=["f"])
        sizes.append(show(library.functions[0].term).count("let "))
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0]) > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            r"f : R -> R = \(x : R). if x < 0.0 then 0.0 else x; ()",
            "this cannot be fused: only lets, pairs, operations",
        ),
        (r"f : (Int, R) -> R = \(n : Int, x : R). x; ()", "f cannot be fused: its argument is not made of numbers"),
        (r"f : R -> R = \(x : R). f x; ()", "f calls itself and cannot be fused"),
        (r"g : R -> R = \(x : R). h x; h : R -> R = \(x : R). g x; f : R -> R = \(x : R). g x; ()", "g calls itself"),
        (r"f : R -> R -> R = \(x : R). \(y : R). x * y; ()", "f cannot be fused: its result is not made of numbers"),
        (r"g : R -> R = \(x : R). x; ()", "fused names f, and the definitions are g"),
    ],
)
def test_what_cannot_be_fused(text, said):
    with pytest.raises(IllTyped, match=said):
        compiled(DELTAS["delta-map"], parse_program(text), fused=["f"])


def test_other_transformations_have_no_deltas_to_fuse():
    with pytest.raises(IllTyped, match="functions are fused for delta-map and delta-array, not for delta"):
        compiled(DELTAS["delta"], parse_program(r"f : R -> R = \(x : R). x; ()"), fused=["f"])


def test_a_pair_of_vectors_across_libraries():
    text = r"first : Vector R -> R = \(v : Vector R). index(v, 0) * 2.0; ()"
    library = compiled(DELTAS["delta-vectors"], parse_program(text))
    assert library.functions[0].type == parse_type("(Vector R, Vector Delta) -> M (R, Delta)")
    x = Elements((3.0, 5.0))
    assert gradient(linked(parse_program(r"\(v : Vector R). first v * index(v, 1)"), library), x) == (
        30.0,
        Elements((10.0, 6.0)),
    )
    with pytest.raises(IllTyped, match="fold is polymorphic, and delta-vectors copies it for each type"):
        compiled(DELTAS["delta-vectors"], parse_program(f"{LIBRARY} ()"))
