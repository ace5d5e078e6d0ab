r"""Figs. 7, 9, 11 and 16 and sections 5.3.3, 8.2, 8.3 and 8.6 of Krawiec et al. 2022, rule by rule: the paper's text
beside what is printed here.

Each rule is written as the paper has it, in our syntax: C[Delta](s, t) for a constructor C s t. What differs else:

    all       terms have types: lambdas say theirs, constructors that of what they make
    Fig. 9    an operation has its arguments, as in Fig. 14; the paper's rule is that of a function, and the two do the
              same (test_fig_9_operations_as_functions). A do binds patterns. letrec and data types are added (8.5)
    Fig. 8    eval_2 takes the Delta first: then its type says that it is linear in the number
    Fig. 10   ids begin at 0, as elsewhere here, and the wrapper gives the value and a pullback
    Fig. 11   eval takes the Delta first. Its lookup is lookupMaybe, its lookupOrZero lookup. The case of Let is a
              function of its own. runDelta ends the nest of Lets in Zero: the output's Delta, which the cotangent
              scales, is evaluated before the nest, so that the nest is made once. Lists are a data type
    Fig. 16   initVars_S and lookup_S as there; in place of the dot product with the cotangent, Deinterleave
    8.3       size, the number of elements, is added; sequence(v) is a construct, as it is polymorphic
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stages.calculus import Machine, check, check_term, evaluate, parse_program, parse_term, parse_type, show, show_type
from stages.calculus.__main__ import main
from stages.calculus.deltas.table import DELTAS
from stages.calculus.deltas.terms import Do, do
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import CalculusError, IllTyped
from stages.calculus.language.kinds import same as same_type
from stages.calculus.language.terms import Apply, Var
from stages.calculus.language.types import REAL
from stages.calculus.language.values import Elements, Made

DATA = parse_program("data List a = Nil | Cons a (List a); 1.0").declarations
TYPES = {"x": "R", "y": "R", "n": "Int", "p": "(R, Int)", "f": "R -> R", "h": "Int -> R", "s": "R + Int", "l": "List R"}
ENVIRONMENT = {name: parse_type(kind) for name, kind in {**TYPES, "v": "Vector R"}.items()}
DUALS = {"delta": "(R, Delta)", "delta-map": "(R, Delta)", "delta-array": "(R, Delta)", "triple-delta": "(R, R, Delta)"}


def written(name, text):
    """The text, with D for D[R] and without the type of constructors of Delta."""
    text = re.sub(r"\b(Zero|Scale|Add|OneHot|Var)\b", r"\1[Delta]", text)
    return re.sub(r"\bD\b", DUALS[name], text)


def is_rule(name, source, expected):
    """D[t] is this text, with exactly these names; and if G |- t : s then D[G] |- D[t] : M D[s]."""
    D = DELTAS[name](REAL, DATA)  # noqa: N806
    found = D.term(parse_term(source))
    assert found == parse_term(written(name, expected)), show(found, ascii=True)
    wanted = D.type(check_term(parse_term(source), ENVIRONMENT, DATA, "source"))
    wanted = D.computing(wanted) if name != "delta" else wanted
    environment = D.environment(ENVIRONMENT) | {d.name: d.type for d in D.interface()}
    assert same_type(check_term(found, environment, D.declarations(), D.language), wanted, D.declarations())


# ---- Fig. 7 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("2.0", "(2.0, Zero)"),
        ("x + y", "let (x1, d1) = x in let (x2, d2) = y in (x1 + x2, Add(d1, d2))"),
        ("x * y", "let (x1, d1) = x in let (x2, d2) = y in (x1 * x2, Add(Scale(x2, d1), Scale(x1, d2)))"),
        # "where omitted rules are as in Fig. 3"
        ("x", "x"),
        ("3", "3"),
        (r"\(u : R). u", r"\(u : D). u"),
        ("f x", "f x"),
        ("let u = x in u", "let u = x in u"),
        ("inl[R + Int](x)", "inl[D + Int](x)"),
        ("case s of {inl(u) -> u; inr(k) -> x}", "case s of {inl(u) -> u; inr(k) -> x}"),
        ("(x, n)", "(x, n)"),
        ("fst(p)", "fst(p)"),
        ("n +# 1", "n +# 1"),
    ],
)
def test_fig_7(source, expected):
    is_rule("delta", source, expected)


# ---- Fig. 9, in the order of its lines -------------------------------------------------------------------------------

FIG_9 = [
    ("x", "pure x"),
    (r"\(u : R). u", r"pure (\(u : D). pure u)"),
    ("let u = x in u", "do {u <- pure x; pure u}"),
    ("f x", "do {f1 <- pure f; x1 <- pure x; f1 x1}"),
    ("inl[R + Int](x)", "do {x1 <- pure x; pure (inl[D + Int](x1))}"),
    ("inr[R + Int](n)", "do {x1 <- pure n; pure (inr[D + Int](x1))}"),
    (
        "case s of {inl(u) -> u; inr(k) -> x}",
        "do {x1 <- pure s; case x1 of {inl(u) -> pure u; inr(k) -> pure x}}",
    ),
    ("(x, n)", "do {x1 <- pure x; y1 <- pure n; pure (x1, y1)}"),
    ("fst(p)", "do {x1 <- pure p; pure (fst(x1))}"),
    ("snd(p)", "do {x1 <- pure p; pure (snd(x1))}"),
    ("3", "pure 3"),
    ("n +# n", "do {x1 <- pure n; x2 <- pure n; pure (x1 +# x2)}"),
    ("2.0", "pure (2.0, Zero)"),
    (
        "x + y",
        "do {(x1, u1) <- pure x; (x2, u2) <- pure y; u3 <- deltaLet (Add(u1, u2)); pure (x1 + x2, Var(u3))}",
    ),
    (
        "x * y",
        """do {(x1, u1) <- pure x; (x2, u2) <- pure y;
            u3 <- deltaLet (Add(Scale(x2, u1), Scale(x1, u2))); pure (x1 * x2, Var(u3))}""",
    ),
]
SECTION_8 = [
    # 8.2 and Fig. 14
    (
        "sin(x)",
        "do {(x1, u1) <- pure x; u2 <- deltaLet (Scale(partial 1 sin(x1)(1.0), u1)); pure (sin(x1), Var(u2))}",
    ),
    (
        "atan2(y, x)",
        """do {(x1, u1) <- pure y; (x2, u2) <- pure x;
            u3 <- deltaLet (Add(Scale(partial 1 atan2(x1, x2)(1.0), u1), Scale(partial 2 atan2(x1, x2)(1.0), u2)));
            pure (atan2(x1, x2), Var(u3))}""",
    ),
    # 8.3
    ("build(n, h)", "do {n1 <- pure n; f1 <- pure h; sequence(build(n1, f1))}"),
    ("index(v, n)", "do {v1 <- pure v; i1 <- pure n; pure (index(v1, i1))}"),
    # 8.5
    ("Cons[List R](x, l)", "do {x1 <- pure x; x2 <- pure l; pure (DCons[DList D](x1, x2))}"),
    (
        r"letrec g : R -> R = \(u : R). g u in g x",
        r"""letrec g : D -> M D = \(u : D). do {f1 <- pure g; x1 <- pure u; f1 x1}
            in do {f2 <- pure g; x2 <- pure x; f2 x2}""",
    ),
    # what is discrete
    ("x < y", "do {(x1, u1) <- pure x; (x2, u2) <- pure y; pure (x1 < x2)}"),
    ("real(n)", "do {x1 <- pure n; pure (real(x1), Zero)}"),
]


@pytest.mark.parametrize("name", ["delta-map", "delta-array"])
@pytest.mark.parametrize(("source", "expected"), [*FIG_9, *SECTION_8])
def test_fig_9_and_section_8(name, source, expected):
    is_rule(name, source, expected)


@pytest.mark.parametrize("name", ["delta-map", "delta-array"])
def test_fig_9_on_types(name):
    D = DELTAS[name](REAL, DATA)  # noqa: N806
    lines = {
        "(R, Int)": "((R, Delta), Int)",
        "R + Int": "(R, Delta) + Int",
        "R -> R": "(R, Delta) -> M (R, Delta)",
        "Int": "Int",
        "R": "(R, Delta)",
        "Vector R": "Vector (R, Delta)",
        "Vector (Int -> R)": "Vector (Int -> M (R, Delta))",
        "List R": "DList (R, Delta)",
    }
    for source, image in lines.items():
        assert D.type(parse_type(source)) == parse_type(image)


OPERATIONS = {
    "x + y": r"""\((x : R, u : Delta), (y : R, v : Delta)).
        do {w <- deltaLet (Add[Delta](u, v)); pure (x + y, Var[Delta](w))}""",
    "x * y": r"""\((x : R, u : Delta), (y : R, v : Delta)).
        do {w <- deltaLet (Add[Delta](Scale[Delta](y, u), Scale[Delta](x, v))); pure (x * y, Var[Delta](w))}""",
}


@pytest.mark.parametrize("source", OPERATIONS)
def test_fig_9_operations_as_functions(source):
    """D[op] of Fig. 9, applied by the rule of pairs and that of applications, makes the same numbers and bindings."""
    D = DELTAS["delta-map"](REAL, DATA)  # noqa: N806
    of_pair = D.term(parse_term("(x, y)"))
    figure = do([("f", parse_term(f"pure ({OPERATIONS[source]})")), ("p", of_pair)], Apply(Var("f"), Var("p")))
    state = parse_term("(7, Nil[DeltaBinds])")
    found = []
    for term in (figure, D.term(parse_term(source))):
        assert isinstance(term, Do)
        x, y = (parse_term(f"({value}, Var[Delta]({i}))") for value, i in (("3.0", 0), ("2.0", 1)))
        whole = Apply(do([("x", D.pure(x)), ("y", D.pure(y))], term), state)
        program = Program(whole, D.declarations(), D.interface())
        assert show_type(check(program, "deltas"), ascii=True) == "((R, Delta), DeltaState)"
        found.append(evaluate(program))
    assert found[0] == found[1]
    assert found[0][0][1] == Made("Var", (7,))


# ---- Figs. 8, 10, 11 and 16 ------------------------------------------------------------------------------------------

FIG_11 = r"""
    data Delta = Zero | Scale R Delta | Add Delta Delta | Var Int | Let Int Delta Delta;
    type DeltaMap = Map Int R;
    data DeltaBinds = Nil | Cons (Int, Delta) DeltaBinds;
    type DeltaState = (Int, DeltaBinds);
    type M a = DeltaState -> (a, DeltaState);
    deltaLet : Delta -> M Int =
        \(delta : Delta). \((i, bs) : DeltaState). (i, (i +# 1, Cons[DeltaBinds]((i, delta), bs)));
    wrap : Delta -> DeltaBinds -> Delta = \(body : Delta). \(binds : DeltaBinds).
        case binds of {Nil -> body; Cons(b, rest) -> let (i, u) = b in wrap (Let[Delta](i, u, body)) rest};
    runDelta : Int -> M (R, Delta) -> ((R, Delta), Delta) = \(i : Int). \(m : M (R, Delta)).
        let (res, (_, binds)) = m (i, Nil[DeltaBinds]) in (res, wrap (Zero[Delta]) binds);
    eval : Delta -> R -o (DeltaMap -> DeltaMap) = \(u : Delta). case u of {
        Zero -> \_(x : R). id[DeltaMap];
        Scale(y, u) -> \_(x : R). eval u (partial 1 mul(1.0, y)(x));
        Add(u, v) -> \_(x : R). eval v x . eval u x;
        Var(i) -> \_(x : R). \(m : DeltaMap). {i |-> x} + m;
        Let(i, u, v) -> linear(\(x : R). \(m : DeltaMap). evalBound i u (eval v x m))};
    evalBound : Int -> Delta -> DeltaMap -> DeltaMap = \(i : Int). \(u : Delta). \(m : DeltaMap).
        case lookupMaybe(i, m) of {inl(_) -> m; inr(x) -> eval u x (delete(i, m))};
    idOf : Delta -> Int = \(u : Delta).
        case u of {Zero -> -1; Scale(_, _) -> -1; Add(_, _) -> -1; Var(i) -> i; Let(_, _, _) -> -1};
"""
SECTION_5_3_3 = r"""
    data Delta = Zero | Scale R Delta | Add Delta Delta | Var Int;
    type DeltaMap = Array R;
    type DeltaState = Array Delta;
    type M a = DeltaState ->R (!a, DeltaState);
    deltaLet : Delta -> M Int = \(delta : Delta). \R(w : DeltaState). push(delta, w);
    runDelta : Int -> M (R, Delta) -> ((R, Delta), (IArray Delta, Int)) = \(n : Int). \(m : M (R, Delta)).
        alloc(n, Zero[Delta], \R(w : Array Delta). letR (!res, w) = m w in letR (!k, w) = size(w) in
        letR !binds = freeze(w) in !(res, (binds, k)));
    eval : Delta -> R -o (DeltaMap ->R DeltaMap) = \(u : Delta). case u of {
        Zero -> \_(x : R). id[DeltaMap];
        Scale(y, u) -> \_(x : R). eval u (partial 1 mul(1.0, y)(x));
        Add(u, v) -> \_(x : R). eval v x . eval u x;
        Var(i) -> \_(x : R). \R(m : DeltaMap). modify(i, \(y : R). x + y, m)};
    evalBinds : IArray Delta -> Int -> Int -> DeltaMap ->R DeltaMap =
        \(binds : IArray Delta). \(n : Int). \(k : Int). if k <# n then id[DeltaMap] else
        \R(m : DeltaMap). letR (!x, m) = get(k, m) in evalBinds binds n (k -# 1)
        (if (if 0.0 <= x then x <= 0.0 else false) then m else eval (at(binds, k)) x m);
    allocate : Int -> (DeltaMap ->R !(IArray R)) -> IArray R = \(n : Int). \(f : DeltaMap ->R !(IArray R)).
        alloc(n, 0.0, \R(m : Array R). f m);
    idOf : Delta -> Int = \(u : Delta). case u of {Zero -> -1; Scale(_, _) -> -1; Add(_, _) -> -1; Var(i) -> i};
"""
FIG_8 = r"""
    data Delta = Zero | OneHot Int | Scale R Delta | Add Delta Delta;
    type DeltaMap = Array R;
    eval : Delta -> R -o (DeltaMap ->R DeltaMap) = \(u : Delta). case u of {
        Zero -> \_(x : R). id[DeltaMap];
        Scale(y, u) -> \_(x : R). eval u (partial 1 mul(1.0, y)(x));
        Add(u, v) -> \_(x : R). eval v x . eval u x;
        OneHot(i) -> \_(x : R). \R(m : DeltaMap). modify(i, \(y : R). x + y, m)};
    allocate : Int -> (DeltaMap ->R !(IArray R)) -> IArray R = \(n : Int). \(f : DeltaMap ->R !(IArray R)).
        alloc(n, 0.0, \R(m : Array R). f m);
    idOf : Delta -> Int = \(u : Delta). case u of {Zero -> -1; OneHot(i) -> i; Scale(_, _) -> -1; Add(_, _) -> -1};
"""
# Figs. 10 and 16, for \(x : R). x: s0 = initVars (x, 0); (y', u) = runDelta; the map; lookup in it
WRAPPED = {
    "delta": r"""\(x : R). let (x, n1) = ((x, OneHot[Delta](0)), 0 +# 1) in
        let rebuild = \(m2 : IArray R). at(m2, idOf (snd(x))) in
        let y1 = x in let (y2, d1) = let (x1, u1) = y1 in (x1, eval u1) in
        (y2, linear(\(z1 : R). rebuild (allocate n1 (\R(m1 : DeltaMap). freeze(d1 z1 m1)))))""",
    "delta-map": r"""\(x : R). let (x, i1) = ((x, Var[Delta](0)), 0 +# 1) in
        let rebuild = \(m1 : DeltaMap). lookup(idOf (snd(x)), m1) in
        let (y1, u1) = runDelta i1 (pure x) in let (y2, d1) = let (x1, u2) = y1 in (x1, eval u2) in
        (y2, linear(\(z1 : R). rebuild (eval u1 1.0 (d1 z1 0[DeltaMap]))))""",
    "delta-array": r"""\(x : R). let (x, n1) = ((x, Var[Delta](0)), 0 +# 1) in
        let rebuild = \(m2 : IArray R). at(m2, idOf (snd(x))) in
        let (y1, (binds1, k1)) = runDelta n1 (pure x) in let (y2, d1) = let (x1, u1) = y1 in (x1, eval u1) in
        (y2, linear(\(z1 : R). rebuild (allocate k1 (\R(m1 : DeltaMap).
        freeze(evalBinds binds1 n1 (k1 -# 1) (d1 z1 m1))))))""",
}


@pytest.mark.parametrize(("name", "figure"), [("delta", FIG_8), ("delta-map", FIG_11), ("delta-array", SECTION_5_3_3)])
def test_figs_8_10_11_and_section_5_3_3(name, figure):
    wanted = parse_program(f"{figure} {WRAPPED[name]}")
    check(wanted, "deltas")
    found = DELTAS[name].wrap(parse_program(r"\(x : R). x"))
    assert {**found.declarations.types} == {**wanted.declarations.types}
    assert [(d.name, show(d.term, True)) for d in found.definitions] == [
        (d.name, show(d.term, True)) for d in wanted.definitions
    ]
    assert found == wanted


def test_fig_16_from_a_sum_a_list_and_an_int():
    program = parse_program(
        r"""data List a = Nil | Cons a (List a);
        letrec total : List R -> R = \(l : List R). case l of {Nil -> 0.0; Cons(x, rest) -> x * x + total rest} in
        \(l : List R, (b : R + (), n : Int)). (total l, case b of {inl(x) -> x * total l; inr(_) -> real(n)})"""
    )
    nil = Made("Nil", ())
    pair = Made("Cons", (2.0, Made("Cons", (3.0, nil))))
    for name in ("delta", "delta-map", "delta-array"):
        machine = Machine(DELTAS[name].wrap(program))
        y, back = machine.apply(machine.value(), (pair, (Made("inl", (5.0,)), 4)))
        assert y == (13.0, 65.0)
        gradient, (b, n) = machine.apply(back, (1.0, 10.0))
        assert gradient == Made("Cons", (4.0 + 200.0, Made("Cons", (6.0 + 300.0, nil))))
        assert (b, n) == (Made("inl", (130.0,)), 4)
        _, back = machine.apply(machine.value(), (nil, (Made("inr", ((),)), 4)))
        assert machine.apply(back, (1.0, 10.0)) == (nil, (Made("inr", ((),)), 4))


def test_fig_11_the_bindings_of_the_running_example():
    """x (x + y) at (3, 2): z = x + y has the id 2, and its Delta is bound once."""
    program = parse_program(r"\(x : R, y : R). let z = x + y in x * z")
    D = DELTAS["delta-map"]  # noqa: N806
    made = D.of(program, check(program, "source"))
    machine = Machine(made)
    nil = Made("Nil", ())
    f, state = machine.apply(machine.value(), (2, nil))
    (value, delta), (following, binds) = machine.apply(
        f, tuple((x, Made("Var", (i,))) for x, i in ((3.0, 0), (2.0, 1))), state
    )
    var = lambda i: Made("Var", (i,))  # noqa: E731
    z = (2, Made("Add", (var(0), var(1))))
    product = (3, Made("Add", (Made("Scale", (5.0, var(0))), Made("Scale", (3.0, var(2))))))
    assert (value, delta, following) == (15.0, var(3), 4)
    assert binds == Made("Cons", (product, Made("Cons", (z, nil))))


def test_fig_11_do_and_pure_are_those_of_its_monad():
    """return x = \\s. (x, s), and m >>= n = \\s. let (r, s') = m s in n r s'; what is written out has the same type."""
    head = "type S = (Int, R); type M a = S -> (a, S); next : M Int = \\((i, r) : S). (i, (i +# 1, r));"
    short = parse_program(
        head + r"do {i <- next; j <- next; let k = i +# j; v <- sequence(build(2, \(i : Int). next)); pure (k, v)}"
    )
    long = parse_program(
        head + r"\(s : S). let (i, s1) = next s in let (j, s2) = next s1 in let k = i +# j in"
        r" let (a, s3) = next s2 in let (b, s4) = next s3 in"
        r" ((k, build(2, \(i : Int). if i ==# 0 then a else b)), s4)"
    )
    assert same_type(check(short, "deltas"), check(long, "deltas"), short.declarations)
    for program in (short, long):
        assert evaluate(program, (5, 1.5)) == ((11, Elements((7, 8))), (9, 1.5))


# ---- 8.6 -------------------------------------------------------------------------------------------------------------

TRIPLES = {
    "2.0": "(2.0, (0.0, 0.0))",
    "x + y": "let (x1, d1) = x in let (x2, d2) = y in let x3 = (x1, fst(d1)) in let x4 = (x2, fst(d2)) in"
    " let y1 = (let (x5, d3) = x3 in let (x6, d4) = x4 in (x5 + x6, d3 + d4)) in"
    " (fst(y1), (snd(y1), snd(d1) + snd(d2)))",
    "x * y": "let (x1, d1) = x in let (x2, d2) = y in let x3 = (x1, fst(d1)) in let x4 = (x2, fst(d2)) in"
    " let y1 = (let (x5, d3) = x3 in let (x6, d4) = x4 in (x5 * x6, d3 * x6 + d4 * x5)) in"
    " let p1 = x4 in let p2 = x3 in (fst(y1), (snd(y1),"
    " snd(d1) * fst(p1) + fst(d1) * snd(p1) + snd(d2) * fst(p2) + fst(d2) * snd(p2)))",
    "sin(x)": "let (x1, d1) = x in let x2 = (x1, fst(d1)) in let y1 = (let (x4, d3) = x2 in (sin(x4), d3 * cos(x4))) in"
    " let p1 = (let (x3, d2) = x2 in (cos(x3), d2 * -sin(x3))) in"
    " (fst(y1), (snd(y1), snd(d1) * fst(p1) + fst(d1) * snd(p1)))",
}


@pytest.mark.parametrize("source", TRIPLES)
def test_section_8_6_triple_numbers(source):
    D = DELTAS["triple"](REAL, DATA)  # noqa: N806
    found = D.term(parse_term(source))
    assert found == parse_term(TRIPLES[source]), show(found, True)
    assert check_term(found, D.environment(ENVIRONMENT), D.declarations(), "source") == parse_type("(R, R, R)")


def test_section_8_6_in_reverse():
    is_rule("triple-delta", "2.0", "pure (2.0, (0.0, Zero))")
    is_rule(
        "triple-delta",
        "x * y",
        """do {(x1, u1) <- pure x; (x2, u2) <- pure y; let x3 = (x1, fst(u1)); let x4 = (x2, fst(u2));
            let y1 = (let (x5, d1) = x3 in let (x6, d2) = x4 in (x5 * x6, d1 * x6 + d2 * x5)); let p1 = x4; let p2 = x3;
            u3 <- deltaLet (Add(Scale(p1, snd(u1)), Scale(p2, snd(u2)))); pure (fst(y1), (snd(y1), Var(u3)))}""",
    )


# ---- pure, do and sequence as terms ----------------------------------------------------------------------------------

HEAD = "type S = Int; type M a = S -> (a, S); type W = Array R; type L a = W ->R (!a, W);"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("pure (1.0, 2)", "M (R, Int)"),
        ("pure[L] 1.0", "L R"),
        ("do {x <- pure 1.0; pure (x, x)}", "M (R, R)"),
        (r"do {(i, _) <- pure (1, 2.0); \(s : S). (i +# s, s)}", "S -> (Int, S)"),
        ("do {let x = 1.0; y <- pure x; pure (x + y)}", "M R"),
        (r"do {i <- \R(w : W). push(1.0, w); pure[L] i}", "L Int"),
        (r"sequence(build(3, \(i : Int). pure i))", "M (Vector Int)"),
        (r"sequence(build(3, \(i : Int). \R(w : W). push(real(i), w)))", "W ->R (!(Vector Int), W)"),
    ],
)
def test_the_types_of_computations(text, kind):
    program = parse_program(f"{HEAD} {text}")
    assert same_type(check(program, "deltas"), parse_type(kind), program.declarations)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pure[N] 1.0", "pure e has type N t, and no type N a = s → (a, s) is declared"),
        ("do {x <- 1.0; pure x}", "this is ℝ, and no computation s → (t, s): write pure in front of a value"),
        ("do {x <- pure 1.0; x}", "this is ℝ, and no computation s → (t, s): write pure in front of a value"),
        ("do {x <- pure 1.0; pure[L] x}", "this is M ℝ, and the last statement is L ℝ: another monad"),
        ("sequence(build(3, real))", 'expected "("'),
        (r"sequence(build(3, \(i : Int). i))", "sequence takes a Vector of computations, and this is Vector Int"),
        (
            r"\R(w : W). do {x <- pure 1.0; let y = w; pure x}",
            "a computation, which may run at any time, holds no resource",
        ),
    ],
)
def test_what_is_no_computation(text, said):
    with pytest.raises(CalculusError) as error:
        check(parse_program(f"{HEAD} {text}"), "deltas")
    assert said in str(error.value)


@pytest.mark.parametrize("language", ["source", "D1", "D4", "control"])
def test_other_languages_have_no_pure(language):
    with pytest.raises(IllTyped, match="has no such term"):
        check(parse_program(f"{HEAD} pure 1.0" if language != "source" else "do {x <- 1.0; x}"), language)


# ---- the command -----------------------------------------------------------------------------------------------------

FIG1 = r"\(x : R, y : R). let z = x + y in x * z"


def test_what_the_command_prints(capsys):
    assert main([FIG1, "--to", "delta-map", "--ascii"]) == 0
    printed = capsys.readouterr().out.split("\n\n")[1]
    assert (
        printed
        == r"""pure (\((x : R, dx : Delta), y : R, dy : Delta).
    do {
      u3 <- deltaLet (Add[Delta](dx, dy));
      let (z, dz) = (x + y, Var[Delta](u3));
      u6 <- deltaLet (Add[Delta](Scale[Delta](z, dx), Scale[Delta](x, dz)));
      pure (x * z, Var[Delta](u6))
    })
"""
    )
    for name in DELTAS:
        assert main([FIG1, "--to", name, "--run", "3,4", "--direction", "1,0"]) == 0
        last = capsys.readouterr().out.splitlines()[-1]
        wanted = {
            "triple": "first, second  (10.0, 2.0)   (",
            "triple-delta": "cotangent  ((10.0, 3.0), 2.0, 1.0)   (",
            "tower": "1st to 4th  10.0, 2.0, 0.0, 0.0   (",
        }
        assert last.startswith(wanted.get(name, "cotangent  (10.0, 3.0)   ("))


@pytest.mark.parametrize("name", DELTAS)
@pytest.mark.parametrize("more", [[], ["--wrap"], ["--exact"], ["--wrap", "--exact"]])
def test_what_is_printed_can_be_read_back_and_has_the_type_that_is_printed(capsys, name, more):
    assert main([FIG1, "--to", name, *more]) == 0
    program = parse_program(capsys.readouterr().out)
    assert main([FIG1, "--to", name, *more, "--ascii"]) == 0
    assert parse_program(capsys.readouterr().out) == program
    assert main([FIG1, "--to", name, *more, "--type", "--ascii"]) == 0
    assert capsys.readouterr().out.strip() == show_type(check(program, DELTAS[name].language), ascii=True)
    assert main([FIG1, "--to", name, *more, "--latex"]) == 0
    assert (r"\leftarrow" in capsys.readouterr().out) == (name not in ("vectorised", "delta", "triple", "tower"))


def test_the_page_shows_what_the_command_prints(capsys):
    page = (Path(__file__).parents[3] / "docs" / "calculus.md").read_text(encoding="utf-8")
    ((program, shown),) = re.findall(r'calculus "([^\n]*)" --to delta-map\n```\n\n```\n(.*?)```', page, re.DOTALL)
    assert main([program, "--to", "delta-map"]) == 0
    assert capsys.readouterr().out == shown
    table = page.split("| `--to` | D[R] | figures |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(DELTAS)
