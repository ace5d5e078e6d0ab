r"""Figs. 1, 2 and 6 to 12 as text, and the transformations compared with it up to the names of bound variables.

D2 to D4 share tables: `D` stands for D[R] there, and `zero` and `plus` for 0 and + of what a backpropagator gives.
"""

import re
from dataclasses import fields

import pytest

from stages.calculus import TRANSFORMATIONS, Machine, check, check_term, parse_program, parse_term, parse_type, show
from stages.calculus.language import terms as t
from stages.calculus.language.kinds import same
from stages.calculus.language.types import INT, REAL, Arrow, Pair

REVERSE = ["D1", "D2", "D3", "sparse", "D4"]
FIGURES = [*REVERSE, "forward"]  # test_calculus_section8.py has the others


def canonical(term, bound=()):
    """A term without the names of its bound variables: each is the number of binders around its own."""
    inside = lambda part, *names: canonical(part, (*bound, *names))  # noqa: E731
    match term:
        case t.Var(name):
            places = [k for k, other in enumerate(bound) if other == name]
            return ("bound", places[-1]) if places else ("free", name)
        case t.Lambda(x, type_, body) | t.LinearLambda(x, type_, body) | t.ResourceLambda(x, type_, body):
            return type(term), type_, inside(body, x)
        case t.Let(x, value, body):
            return t.Let, inside(value), inside(body, x)
        case t.Letrec(functions, body):
            names = [f.name for f in functions]
            return t.Letrec, [(f.type, inside(f.body, *names, f.parameter)) for f in functions], inside(body, *names)
        case t.Case(scrutinee, branches):
            return t.Case, inside(scrutinee), [(b.name, inside(b.body, *b.variables)) for b in branches]
        case t.ResourceLet(names, value, body):
            bare = [name.removeprefix("!") for name in names]
            return t.ResourceLet, [name[0] == "!" for name in names], inside(value), inside(body, *bare)
        case t.Term():
            return type(term), *(canonical(getattr(term, field.name), bound) for field in fields(term))
        case tuple():
            return [canonical(part, bound) for part in term]
    return repr(term)


def assert_same(found, text):
    wanted = parse_term(text)
    assert canonical(found) == canonical(wanted), f"{show(found, True)}\n\n{show(wanted, True)}"


def test_canonical():
    same_up_to_names = [(r"\(x : R). \(y : R). x", r"\(y : R). \(x : R). y"), ("let x = x in x", "let y = x in y")]
    different = [
        (r"\(x : R). \(y : R). x", r"\(x : R). \(y : R). y"),
        ("let x = x in x", "let y = y in y"),
        ("0.0", "-0.0"),
        ("letR !x = y in x", "letR x = y in x"),
        (r"\(x : R). x", r"\_(x : R). x"),
        ("case s of {A(x, y) -> x}", "case s of {A(x, y) -> y}"),
        (r"letrec f : R -> R = \(x : R). f x in f", r"letrec f : R -> R = \(x : R). g x in f"),
    ]
    for a, b in same_up_to_names:
        assert canonical(parse_term(a)) == canonical(parse_term(b))
    for a, b in different:
        assert canonical(parse_term(a)) != canonical(parse_term(b))


# D on terms

TYPES_OF = {"x": "R", "y": "R", "n": "Int", "p": "(R, Int)", "f": "R -> R", "s": "R + Int", "l": "List R"}
ENVIRONMENT = {name: parse_type(type_) for name, type_ in TYPES_OF.items()}
DATA = parse_program("data List a = Nil | Cons a (List a); 1.0").declarations

FIG6 = {
    "x": "x",
    "()": "()",
    "3": "3",
    "(x, n)": "(x, n)",
    "fst(p)": "fst(p)",
    "snd(p)": "snd(p)",
    "f x": "f x",
    r"\(u : R). u": r"\(u : D). u",
    r"\(g : R -> Int). g": r"\(g : D -> Int). g",
    "let u = x in u": "let u = x in u",
    "2.0": r"(2.0, \_(z : R). 0[R])",
    "sin(x)": r"let (v, d) = x in (sin(v), \_(z : R). d (partial 1 sin(v)(z)))",
    "x * y": r"let (v, d) = x in let (w, e) = y in"
    r" (v * w, \_(z : R). d (partial 1 mul(v, w)(z)) + e (partial 2 mul(v, w)(z)))",
    "sin(2.0)": r"let (v, d) = (2.0, \_(z : R). 0[R]) in (sin(v), \_(z : R). d (partial 1 sin(v)(z)))",
    # section 9, and Int
    r"letrec g : R -> R = \(u : R). g u in g x": r"letrec g : D -> D = \(u : D). g u in g x",
    "inl[R + Int](x)": "inl[D + Int](x)",
    "case s of {inl(u) -> u; inr(k) -> x}": "case s of {inl(u) -> u; inr(k) -> x}",
    "Cons[List R](x, l)": "DCons[DList D](x, l)",
    "case l of {Nil -> x; Cons(u, r) -> u}": "case l of {DNil -> x; DCons(u, r) -> u}",
    "n +# 1": "n +# 1",
    "x < y": "let (v, d) = x in let (w, e) = y in v < w",
    "real(n)": r"(real(n), \_(z : R). 0[R])",
}

# D[t] i = (D[t], i) of Fig. 6
ATOMS = ("x", "()", "3", "(x, n)", "fst(p)", "snd(p)", "inl[R + Int](x)", "Cons[List R](x, l)", "n +# 1")
FIG8 = {
    **{term: f"({FIG6[term]}, i)" for term in ATOMS},
    "f x": "f x i",
    "(f x, f y)": "let (v, j) = f x i in let (w, k) = f y j in ((v, w), k)",
    "f (f x)": "let (v, j) = f x i in f v j",
    r"\(u : R). u": r"(\(u : D). \(j : Int). (u, j), i)",
    r"\(g : R -> Int). g": r"(\(g : D -> Int -> (Int, Int)). \(j : Int). (g, j), i)",
    "let u = x in u": "let (u, j) = (x, i) in (u, j)",
    "let u = 2.0 in u": r"let (u, j) = ((2.0, (i, \_(z : R). zero)), i +# 1) in (u, j)",
    "2.0": r"((2.0, (i, \_(z : R). zero)), i +# 1)",
    "sin(x)": r"let (v, d) = x in ((sin(v), (i, \_(z : R). SCall d (partial 1 sin(v)(z)))), i +# 1)",
    "x * y": r"let (v, d) = x in let (w, e) = y in ((v * w, (i, \_(z : R)."
    r" SCall d (partial 1 mul(v, w)(z)) plus SCall e (partial 2 mul(v, w)(z)))), i +# 1)",
    "sin(2.0)": r"let ((v, d), j) = ((2.0, (i, \_(z : R). zero)), i +# 1) in"
    r" ((sin(v), (j, \_(z : R). SCall d (partial 1 sin(v)(z)))), j +# 1)",
    r"letrec g : R -> R = \(u : R). g u in g x": r"letrec g : D -> Int -> (D, Int) ="
    r" \(u : D). \(j : Int). g u j in g x i",
    "inl[R + Int](f x)": "let (v, j) = f x i in (inl[D + Int](v), j)",
    "case s of {inl(u) -> u; inr(k) -> f x}": "case s of {inl(u) -> (u, i); inr(k) -> f x i}",
    "case l of {Nil -> x; Cons(u, r) -> u}": "case l of {DNil -> (x, i); DCons(u, r) -> (u, i)}",
    "x < y": "let (v, d) = x in let (w, e) = y in (v < w, i)",
    "real(n)": r"((real(n), (i, \_(z : R). zero)), i +# 1)",
}

FORWARD = {
    "2.0": "(2.0, 0.0)",
    "sin(x)": "let (v, d) = x in (sin(v), partial 1 sin(v)(d))",
    "x * y": "let (v, d) = x in let (w, e) = y in (v * w, add(partial 1 mul(v, w)(d), partial 2 mul(v, w)(e)))",
    r"\(u : R). u": r"\(u : (R, R)). u",
    "x < y": "let (v, d) = x in let (w, e) = y in v < w",
}

CODOMAIN = {"D2": "Staged", "D3": "(Staged -> Staged)", "sparse": "(Staged -> Staged)", "D4": "(Staged ->R Staged)"}
DUAL = {"D1": "(R, R -o R)", "forward": "(R, R)"} | {name: f"(R, (Int, R -o {s}))" for name, s in CODOMAIN.items()}


FROZEN = {"sparse": {"A": "Map Int R", "look": "lookup(i, a)"}, "D4": {"A": "IArray R", "look": "at(a, i)"}}


def written(name, text):
    """The figure's text for one of D2 to D4."""
    zero, plus = {"D1": ("0[R]", "+"), "D2": ("0[Staged]", "+")}.get(name, ("id[Staged]", "."))
    words = {"zero": zero, "plus": plus, "D": DUAL[name]} | FROZEN.get(name, {})
    return "".join(words.get(word, word) for word in re.split(r"(\w+)", text))


TABLE = [
    *(("D1", source, target) for source, target in FIG6.items()),
    *(("forward", source, target) for source, target in FORWARD.items()),
    *((name, source, rf"\(i : Int). {target}") for name in CODOMAIN for source, target in FIG8.items()),
]


@pytest.mark.parametrize(("name", "source", "target"), TABLE, ids=[f"{name} {source}" for name, source, _ in TABLE])
def test_d_on_terms(name, source, target):
    transformation = TRANSFORMATIONS[name](REAL, DATA)
    found = transformation.term(parse_term(source))
    assert_same(found, written(name, target))
    # if G |- t : s then D[G] |- D[t] : D[s]
    type_ = transformation.type(check_term(parse_term(source), ENVIRONMENT, DATA, "source"))
    if name in CODOMAIN:
        type_ = Arrow(INT, Pair(type_, INT))
    known = transformation.declarations()
    environment = transformation.environment(ENVIRONMENT) | {d.name: d.type for d in transformation.interface()}
    assert same(check_term(found, environment, known, transformation.language), type_, known)


# D on types and data types


TYPES = {"R": "D", "(R, Int)": "(D, Int)", "R + ()": "D + ()", "List (R, List Int)": "DList (D, DList Int)"}


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("name", FIGURES)
def test_d_on_types(name, source):
    found = TRANSFORMATIONS[name](REAL, DATA).type(parse_type(source))
    assert found == parse_type(written(name, TYPES[source]))


@pytest.mark.parametrize("name", FIGURES)
def test_d_on_function_types(name):
    found = TRANSFORMATIONS[name](REAL).type(parse_type("R -> Int"))
    assert found == parse_type(written(name, "D -> Int -> (Int, Int)" if name in CODOMAIN else "D -> Int"))


@pytest.mark.parametrize("name", FIGURES)
def test_d_on_the_data_types_of_section_9(name):
    section9 = "data T1 a = C1 a (T2 a) | C2 R; data T2 a = C3 Int (T1 a) (T2 a); "
    image = "data DT1 a = DC1 a (DT2 a) | DC2 D; data DT2 a = DC3 Int (DT1 a) (DT2 a); 1.0"
    transformation = TRANSFORMATIONS[name](REAL, parse_program(f"{section9} 1.0").declarations)
    wanted = parse_program(section9 + written(name, image)).declarations
    assert {**transformation.declarations().types} == {**wanted.types, **transformation.synonyms()}
    assert transformation.type(parse_type("T1 R")) == parse_type(written(name, "DT1 D"))


# The interfaces

POP = "let k = highest(m) in let (f, a) = lookup(k, m) in let rest = delete(k, m) in"
INTERFACES = {
    "D2": rf"""
    type Staged = ((R, Int), Map Int (R -o Staged, R));
    SCotan : (R, Int) -o Staged = \_(c : (R, Int)). (c, 0[Map Int (R -o Staged, R)]);
    SCall : (Int, R -o Staged) -> R -o Staged = \(i : Int, f : R -o Staged). \_(x : R). (0[(R, Int)], {{i |-> (f, x)}});
    SResolve : Staged -o (R, Int) =
        linear(\((c, m) : Staged). if empty(m) then c else {POP} SResolve (f a ++ (c, rest)));
    """,
    "D3": rf"""
    type Staged = ((R, Int), Map Int (R -o (Staged -> Staged), R));
    SCotan : ((R, Int) -> (R, Int)) -o (Staged -> Staged) = \_(g : (R, Int) -> (R, Int)). \((c, m) : Staged). (g c, m);
    SCall : (Int, R -o (Staged -> Staged)) -> R -o (Staged -> Staged) =
        \(i : Int, f : R -o (Staged -> Staged)). \_(x : R). \((c, m) : Staged). (c, insertWith(i, (f, x), m));
    loop : Staged -> (R, Int) = \((c, m) : Staged). if empty(m) then c else {POP} loop (f a (c, rest));
    SResolve : (Staged -> Staged) -o (R, Int) =
        linear(\(u : Staged -> Staged). loop (u (0[(R, Int)], 0[Map Int (R -o (Staged -> Staged), R)])));
    """,
    "sparse": rf"""
    type Staged = (Map Int R, Map Int (R -o (Staged -> Staged), R));
    SOneHot : Int -> R -o (Staged -> Staged) = \(i : Int). \_(z : R). \((c, m) : Staged). (insertWith(i, z, c), m);
    SCall : (Int, R -o (Staged -> Staged)) -> R -o (Staged -> Staged) =
        \(i : Int, f : R -o (Staged -> Staged)). \_(x : R). \((c, m) : Staged). (c, insertWith(i, (f, x), m));
    loop : Staged -> Map Int R = \((c, m) : Staged). if empty(m) then c else {POP} loop (f a (c, rest));
    SResolve : (Staged -> Staged) -> Map Int R =
        \(u : Staged -> Staged). loop (u (0[Map Int R], 0[Map Int (R -o (Staged -> Staged), R)]));
    """,
    "D4": r"""
    type Staged = (Array R, Array (R -o (Staged ->R Staged), R));
    SAlloc : Int -> Int -> (Staged ->R !(IArray R)) -> IArray R =
        \(n : Int). \(k : Int). \(f : Staged ->R !(IArray R)).
        alloc(n, 0.0, \R(c : Array R). f (allocBeside(k, (\_(z : R). id[Staged], 0.0), c)));
    SOneHot : Int -> R -o (Staged ->R Staged) =
        \(i : Int). \_(a : R). \R(s : Staged). letR (c, m) = s in (modify(i, \(b : R). a + b, c), m);
    SCall : (Int, R -o (Staged ->R Staged)) -> R -o (Staged ->R Staged) =
        \(i : Int, f : R -o (Staged ->R Staged)). \_(a : R). \R(s : Staged). letR (c, m) = s in
        (c, modify(i, \(_ : R -o (Staged ->R Staged), b : R). (f, a + b), m));
    loop : Int -> Staged ->R Staged = \(i : Int). if i <# 0 then id[Staged] else \R(s : Staged). letR (c, m) = s in
        letR (!u, m) = get(i, m) in let (f, a) = u in loop (i -# 1) (f a (c, m));
    SResolve : Int -> Staged ->R Array R = \(k : Int). \R(s : Staged).
        letR (c, m) = loop (k -# 1) s in dealloc(m, c);
    """,
}


@pytest.mark.parametrize("name", INTERFACES)
def test_interface(name):
    wanted = parse_program(INTERFACES[name] + "1.0")
    transformation = TRANSFORMATIONS[name](parse_type("(R, Int)"))
    assert {**transformation.declarations().types} == {**wanted.declarations.types}
    assert [(d.name, d.type) for d in transformation.interface()] == [(d.name, d.type) for d in wanted.definitions]
    for found, definition in zip(transformation.interface(), wanted.definitions, strict=True):
        assert canonical(found.term) == canonical(definition.term), f"{found.name} = {show(found.term, True)}"
    check(wanted, transformation.language)


# Interleave and Deinterleave: of x, with d in D1 to D3, at the id i in D2 to D4; `out` is Deinterleave of the scalar y

SUM = "R + ()"
INTERLEAVE = {
    "D1": {
        "R": "(x, d)",
        "()": "x",
        "Int": "x",
        "(R, Int)": r"let (v, w) = x in"
        r" (let e = \_(z : R). d (z, 0[Int]) in (v, e), let e = \_(z : Int). d (0[R], z) in w)",
        SUM: r"case x of {inl(y) -> inl[D + ()](let e = \_(z : R). d (inl[R + ()](z)) in (y, e));"
        r" inr(y) -> inr[D + ()](let e = \_(z : ()). d (inr[R + ()](z)) in y)}",
        "List R": "Interleave_List (x, d)",
    },
    "D2": {
        "R": "((x, (i, d)), i +# 1)",
        "()": "(x, i)",
        "Int": "(x, i)",
        "(R, Int)": r"let (v, w) = x in let e = \_(z : R). d (z, 0[Int]) in let (y, j) = ((v, (i, e)), i +# 1) in"
        r" let (u, k) = (let e = \_(z : Int). d (0[R], z) in (w, j)) in ((y, u), k)",
        SUM: r"case x of {inl(y) -> let e = \_(z : R). d (inl[R + ()](z)) in"
        r" let (v, j) = ((y, (i, e)), i +# 1) in (inl[D + ()](v), j);"
        r" inr(y) -> let e = \_(z : ()). d (inr[R + ()](z)) in let (v, j) = (y, i) in (inr[D + ()](v), j)}",
        "List R": "Interleave_List (x, d) i",
    },
    "D3": {
        "R": r"((x, (i, \_(z : R). d (\(a : R). z + a))), i +# 1)",
        "()": "(x, i)",
        "Int": "(x, i)",
        "(R, Int)": r"let (v, w) = x in let e = \_(f : R -> R). d (\(v : R, w : Int). (f v, w)) in"
        r" let (y, j) = ((v, (i, \_(z : R). e (\(a : R). z + a))), i +# 1) in"
        r" let (u, k) = (let e = \_(f : Int -> Int). d (\(v : R, w : Int). (v, f w)) in (w, j)) in ((y, u), k)",
        SUM: r"case x of {inl(y) -> let e = \_(f : R -> R). d (\(v : R + ()). case v of"
        r" {inl(y) -> inl[R + ()](f y); inr(y) -> inr[R + ()](y)}) in"
        r" let (v, j) = ((y, (i, \_(z : R). e (\(a : R). z + a))), i +# 1) in (inl[D + ()](v), j);"
        r" inr(y) -> let e = \_(f : () -> ()). d (\(v : R + ()). case v of"
        r" {inl(y) -> inl[R + ()](y); inr(y) -> inr[R + ()](f y)}) in let (v, j) = (y, i) in (inr[D + ()](v), j)}",
        "List R": "Interleave_List (x, d) i",
    },
    "D4": {
        "R": r"(((x, (i, SOneHot i)), \(a : A). look), i +# 1)",
        "()": r"((x, \(a : A). x), i)",
        "Int": r"((x, \(a : A). x), i)",
        "(R, Int)": r"let (v, w) = x in let ((y, g), j) = (((v, (i, SOneHot i)), \(a : A). look), i +# 1) in"
        r" let ((u, h), k) = ((w, \(a : A). w), j) in (((y, u), \(a : A). (g a, h a)), k)",
        SUM: r"case x of {inl(y) -> let ((v, g), j) = (((y, (i, SOneHot i)), \(a : A). look), i +# 1) in"
        r" ((inl[D + ()](v), \(a : A). inl[R + ()](g a)), j);"
        r" inr(y) -> let ((v, g), j) = ((y, \(a : A). y), i) in"
        r" ((inr[D + ()](v), \(a : A). inr[R + ()](g a)), j)}",
        "List R": "Interleave_List x i",
    },
}
INTERLEAVE["sparse"] = INTERLEAVE["D4"]
DEINTERLEAVE = {
    "R": "out",
    "()": r"(x, \_(z : ()). zero)",
    "Int": r"(x, \_(z : Int). zero)",
    "(R, Int)": r"let (y, w) = x in let (a, d) = out in let (b, e) = (w, \_(z : Int). zero) in"
    r" ((a, b), \_(z : (R, Int)). d (fst(z)) plus e (snd(z)))",
    SUM: r"case x of {inl(y) -> let (v, d) = out in"
    r" (inl[R + ()](v), \_(z : R + ()). case z of {inl(a) -> d a; inr(b) -> zero});"
    r" inr(y) -> let (v, d) = (y, \_(z : ()). zero) in"
    r" (inr[R + ()](v), \_(z : R + ()). case z of {inl(a) -> zero; inr(b) -> d b})}",
    "List R": "Deinterleave_List x",
}
LISTS = {
    "D1": r"\(v : List R, e : List R -o R). case v of {Nil -> DNil[DList D]; Cons(y, r) -> DCons[DList D]("
    r"let d = \_(z : R). e (Cons[List R](z, 0[List R])) in (y, d),"
    r" let d = \_(z : List R). e (Cons[List R](0[R], z)) in Interleave_List (r, d))}",
    "D4": r"\(v : List R). \(i : Int). case v of {Nil -> ((DNil[DList D], \(a : A). Nil[List R]), i); Cons(y, r) ->"
    r" let ((u, g), j) = (((y, (i, SOneHot i)), \(a : A). look), i +# 1) in let ((w, h), k) = Interleave_List r j in"
    r" ((DCons[DList D](u, w), \(a : A). Cons[List R](g a, h a)), k)}",
}


def interleaved(transformation, type_):
    x, d, i = map(t.Var, "xdi")
    match transformation.name:
        case "D1":
            return transformation.interleave(type_, x, d)
        case "D2" | "D3":
            return transformation.place(x, d, i, transformation.pure, type_)
    return transformation.number(x, i, transformation.pure, type_)


@pytest.mark.parametrize("type_", DEINTERLEAVE)
@pytest.mark.parametrize("name", REVERSE)
def test_interleave(name, type_):
    transformation = TRANSFORMATIONS[name](REAL, DATA)
    assert_same(interleaved(transformation, parse_type(type_)), written(name, INTERLEAVE[name][type_]))
    if type_ == "List R" and name in LISTS:
        assert_same(transformation.definitions["Interleave_List"].term, written(name, LISTS[name]))


@pytest.mark.parametrize("type_", DEINTERLEAVE)
@pytest.mark.parametrize("name", REVERSE)
def test_deinterleave(name, type_):
    y = "x" if type_ == "R" else "y"  # the scalar that is taken apart
    out = y if name == "D1" else rf"(let (v, u) = {y} in (v, \_(z : R). SCall u z))"
    text = re.sub(r"\bout\b", lambda _: out, DEINTERLEAVE[type_])
    found = TRANSFORMATIONS[name](REAL, DATA).deinterleave(parse_type(type_), t.Var("x"))
    assert_same(found, written(name, text))


STEP = r"in let e = fst((x, i)) in let (y, d) = let (v, u) = e in (v, \_(z : R). SCall u z) in"
WRAPPED = {
    "D1": r"\(x : R). let d = \_(z : R). z in let x = (x, d) in let y = x in y",
    "D2": rf"\(x : R). let (x, i) = ((x, (0, SCotan)), 0 +# 1) {STEP} (y, \_(z : R). SResolve (d z))",
    "D3": r"\(x : R). let (x, i) = ((x, (0, \_(z : R). SCotan (\(a : R). z + a))), 0 +# 1)"
    rf" {STEP} (y, \_(z : R). SResolve (d z))",
    "sparse": r"\(x : R). let ((x, rebuild), i) = (((x, (0, SOneHot 0)), \(a : Map Int R). lookup(0, a)), 0 +# 1) in"
    r" let (w, j) = (x, i) in let (y, d) = let (v, u) = w in (v, \_(z : R). SCall u z) in"
    r" (y, linear(\(z : R). rebuild (SResolve (d z))))",
    "D4": r"\(x : R). let ((x, rebuild), i) = (((x, (0, SOneHot 0)), \(a : IArray R). at(a, 0)), 0 +# 1) in"
    r" let (w, j) = (x, i) in let (y, d) = let (v, u) = w in (v, \_(z : R). SCall u z) in"
    r" (y, linear(\(z : R). rebuild (SAlloc i j (\R(s : Staged). freeze(SResolve j (d z s))))))",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrap(name):
    assert_same(TRANSFORMATIONS[name].wrap(parse_program(r"\(x : R). x")).term, WRAPPED[name])


# Fig. 1, at (3, 4)

FIG1A = r"\(x : R, y : R). let z = x + y in x * z"
FIG1B = r"\((x : R, dx : R), (y : R, dy : R)). let (z, dz) = (x + y, dx + dy) in (x * z, x * dz + z * dx)"
LINEAR = "R -o (R, R)"
FIG1C = (
    rf"\((x : R, dx : {LINEAR}), (y : R, dy : {LINEAR})). let (z, dz) = (x + y, \_(d : R). dx d + dy d) in"
    r" (x * z, \_(d : R). dz (partial 2 mul(x, z)(d)) + dx (partial 1 mul(x, z)(d)))"
)


def run(program, *arguments):
    machine = Machine(program)
    return machine, machine.apply(machine.value(), *arguments)


def test_fig1_a_b():
    assert run(parse_program(FIG1A), (3.0, 4.0))[1] == 21.0
    forward = TRANSFORMATIONS["forward"].wrap(parse_program(FIG1A))
    assert check(forward, "D1") == parse_type("((R, R), (R, R)) -> (R, R)")
    for dx, dy, tangent in ((1.0, 0.0, 10.0), (0.0, 1.0, 3.0), (2.0, 5.0, 35.0)):
        assert run(parse_program(FIG1B), ((3.0, dx), (4.0, dy)))[1] == (21.0, tangent)
        assert run(forward, ((3.0, 4.0), (dx, dy)))[1] == (21.0, tangent)


@pytest.mark.parametrize("name", REVERSE)
def test_fig1_c(name):
    figure = parse_program(rf"({FIG1C}) ((3.0, \_(z : R). (z, 0[R])), (4.0, \_(z : R). (0[R], z)))")
    assert check(figure, "D1") == parse_type(f"(R, {LINEAR})")
    derivative = TRANSFORMATIONS[name].wrap(parse_program(FIG1A))
    assert check(derivative, TRANSFORMATIONS[name].language) == parse_type(f"(R, R) -> (R, {LINEAR})")
    for machine, (y, back) in (run(figure), run(derivative, (3.0, 4.0))):
        assert (y, machine.apply(back, 1.0), machine.apply(back, -2.0)) == (21.0, (10.0, 3.0), (-20.0, -6.0))


# Fig. 2


@pytest.mark.parametrize(("name", "dx0", "operations"), [("D1", 8, 7), *((name, 1, 3) for name in CODOMAIN)])
def test_fig2(name, dx0, operations):
    """x1 = x0 + x0, x2 = x1 + x1, x3 = x2 + x2: D1 calls dx0 2^3 times, the others once."""
    program = parse_program(r"\(x0 : R). let x1 = x0 + x0 in let x2 = x1 + x1 in let x3 = x2 + x2 in x3")
    program = TRANSFORMATIONS[name].wrap(program)
    calls = []
    machine = Machine(program, called=lambda f, x: calls.append(f.made_by))
    y, back = machine.apply(machine.value(), 1.5)
    assert (y, machine.apply(back, 1.0)) == (12.0, 8.0)
    assert (calls.count("Interleave"), calls.count("D[op]")) == (dx0, operations)


# Programs whose names are those of the transformation's own

CLASHES = [
    ("D2", r"\(SCall : R). SCall * SCall"),
    ("D4", r"\(SCall : R). SCall * SCall"),
    ("D2", r"\(SCotan : R). SCotan * SCotan"),
    ("D2", r"\(SResolve : R). SResolve * SResolve"),
    ("D4", r"\(SResolve : R). SResolve * SResolve"),
    ("D3", r"\(loop : R + R). case loop of {inl(x) -> x; inr(y) -> y}"),
    ("D2", r"data Staged = S R; \(x : Staged). case x of {S(y) -> y}"),
    ("D1", r"data T = C R; data DT = E Int; \(x : T, y : DT). case x of {C(y) -> y}"),
    ("D1", r"f : R -> R = \(x : R). x * x; \(x : R). f x"),
]


@pytest.mark.parametrize(("name", "text"), CLASHES)
def test_names_are_kept_apart(name, text):
    derivative = TRANSFORMATIONS[name].wrap(parse_program(text))
    check(derivative, TRANSFORMATIONS[name].language)
