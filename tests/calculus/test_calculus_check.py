r"""The type checker: every construct with its type, and ill-typed terms with what is said and what is marked.

A row of REFUSED has the language, the term, the part that the carets stand below, and what the message says. All terms
are typed with ENVIRONMENT and DECLARATIONS.
"""

import pytest

from stages.calculus import check, check_term, parse_program, parse_term, parse_type, show_type
from stages.calculus.language.declarations import DataType, Declarations, Program
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import same
from stages.calculus.language.terms import Case, Lambda, Var
from stages.calculus.language.types import Named
from stages.calculus.text.tokens import SPELLINGS

DECLARATIONS = parse_program(
    """
    data List a = Nil | Cons a (List a);
    data Even = Zero | Even Odd; data Odd = Odd R Even;
    data Two = Two (Array R) (Array R);
    type Pair = (R, R); type Stream = (R, Stream); type Twice = (R, (R, Twice));
    type Numbers = Array R; type Cells = (Array R, !R);
    1.0
    """
).declarations
ENVIRONMENT = {
    "x": "R", "y": "R", "n": "Int", "p": "(R, R)", "b": "() + ()", "s": "R + Int", "l": "List R",
    "f": "R -> R", "k": "R -> R -> R", "g": "R -o R", "h": "(R, R) -o R", "c": "R -o (R -> R)",
    "m": "Map Int R", "q": "Map Int (R -o R, R)", "i": "IArray R", "w": "Array R ->R Array R",
}  # fmt: skip
ENVIRONMENT = {name: parse_type(type_) for name, type_ in ENVIRONMENT.items()}

TYPED = [
    # Fig. 4
    ("source", "x", "R"),
    ("source", "()", "()"),
    ("source", "(x, n)", "(R, Int)"),
    ("source", "fst((x, n))", "R"),
    ("source", "snd((x, n))", "Int"),
    ("source", "f x", "R"),
    ("source", r"\(x : Int). x", "Int -> Int"),
    ("source", r"\(x : R, n : Int). n", "(R, Int) -> Int"),
    ("source", "let x = n in x", "Int"),
    ("source", "1.5", "R"),
    ("source", "sin(x) * y ** 2.0", "R"),
    ("source", "3", "Int"),
    ("source", "n +# 1 <# n", "() + ()"),
    ("source", "x < y", "() + ()"),
    ("source", "real(n)", "R"),
    # section 9
    ("source", r"letrec f : Int -> R = \(n : Int). f (n -# 1) in f", "Int -> R"),
    ("source", r"letrec a : Int -> R = \(n : Int). b x and b : R -> R = \(x : R). a 1 in b", "R -> R"),
    ("source", "inl[R + Int](x)", "R + Int"),
    ("source", "inr[R + Int](n)", "R + Int"),
    ("source", "Cons[List R](x, l)", "List R"),
    ("source", "Nil[List (R, Int)]", "List (R, Int)"),
    ("source", "Even[Even](Odd[Odd](x, Zero[Even]))", "Even"),
    ("source", "case s of {inl(x) -> x; inr(n) -> real(n)}", "R"),
    ("source", "case s of {inr(n) -> real(n); inl(x) -> x}", "R"),
    ("source", "case l of {Nil -> 0.0; Cons(x, l) -> x}", "R"),
    ("source", "if b then x else y", "R"),
    # Fig. 5
    ("D1", r"\_(z : R). z + z", "R -o R"),
    ("D1", r"\_(z : R). 0[(R, List R)]", "R -o (R, List R)"),
    ("D1", r"\_(z : (R, Int)). (snd(z), fst(z))", "(R, Int) -o (Int, R)"),
    ("D1", r"\_(z : R). h (g z, 0[R])", "R -o R"),
    ("D1", r"\_(z : R). partial 2 mul(x, y)(z)", "R -o R"),
    ("D1", r"\_(z : R). ()", "R -o ()"),
    ("D1", r"\_(z : R). inl[R + ()](z)", "R -o R + ()"),
    ("D1", r"\_(z : R + Int). case z of {inl(a) -> g a; inr(k) -> 0[R]}", "R + Int -o R"),
    ("D1", r"\_(z : R). g (g z)", "R -o R"),
    ("D1", r"linear(\(z : R). z ++ 0.0)", "R -o R"),
    ("D1", "x ++ y", "R"),
    ("D1", "partial 1 pow(x, 2.0)(y)", "R"),
    ("D1", r"\(d : R -o R). d x", "(R -o R) -> R"),
    ("D1", r"\_(z : Pair). h z", "(R, R) -o R"),
    # section 4
    ("D2", "{n |-> x}", "Map Int R"),
    ("D2", "{1 |-> (g, x)} ++ q", "Map Int (R -o R, R)"),
    ("D2", "0[Map Int R]", "Map Int R"),
    ("D2", r"\_(z : R). {1 |-> z}", "R -o Map Int R"),
    ("D2", r"\_(z : R). (z, {1 |-> (g, z)})", "R -o (R, Map Int (R -o R, R))"),
    ("D2", "(empty(m), (highest(m), (lookup(n, m), delete(n, m))))", "(() + (), (Int, (R, Map Int R)))"),
    ("D2", "insertWith(n, x, m)", "Map Int R"),
    # section 5
    ("D3", r"\_(z : R). \(m : Map Int R). insertWith(n, g z, m)", "R -o Map Int R -> Map Int R"),
    (
        "D3",
        r"\_(z : R). \(q : Map Int (R -o R, R)). insertWith(n, (g, z), q)",
        "R -o (Map Int (R -o R, R) -> Map Int (R -o R, R))",
    ),
    ("D3", "id[R] . f", "R -> R"),
    ("D3", r"(\(n : Int). real(n)) . (\(x : R). n)", "R -> R"),
    ("D3", "0[Map Int R] ++ m", "Map Int R"),
    ("D3", r"\_(z : R). \(a : R). z + a", "R -o R -> R"),
    ("D3", r"\_(z : R). id[R] . c z", "R -o R -> R"),
    ("D3", r"\_(z : R). c z . c z", "R -o R -> R"),
    ("D3", r"\_(z : R). \(a : R). c z a", "R -o R -> R"),
    ("D3", r"\_(z : R -> R). \(v : R, w : Int). (z v, w)", "(R -> R) -o ((R, Int) -> (R, Int))"),
    ("D3", r"\_(z : R). \(v : R, w : R). let u = w in (v, z + u)", "R -o ((R, R) -> (R, R))"),
    ("D3", r"\_(z : R). \(a : (R -o R, R)). (g, z + snd(a))", "R -o ((R -o R, R) -> (R -o R, R))"),
    (
        "D3",
        r"\_(z : R). \(a : List R). case a of {Nil -> Nil[List R]; Cons(y, r) -> Cons[List R](z + y, r)}",
        "R -o (List R -> List R)",
    ),
    # Fig. 11
    ("D4", r"\R(a : Array R). a", "Array R ->R Array R"),
    ("D4", r"\R(a : Numbers). a", "Array R ->R Array R"),
    ("D4", "id[Array R]", "Array R ->R Array R"),
    ("D4", "w . id[Array R]", "Array R ->R Array R"),
    ("D4", r"\R(a : Array R). w (w a)", "Array R ->R Array R"),
    ("D4", "!x", "!R"),
    ("D4", "letR !y = !n in (y, y)", "(Int, Int)"),
    ("D4", r"alloc(n, x, \R(a : Array R). freeze(a))", "IArray R"),
    ("D4", r"\R(a : Array R). allocBeside(n, p, a)", "Array R ->R (Array R, Array (R, R))"),
    ("D4", r"\R(a : Array R). letR (!y, a) = get(n, a) in set(n, y * y, a)", "Array R ->R Array R"),
    ("D4", r"\R(a : Array R). modify(0, f, a)", "Array R ->R Array R"),
    ("D4", r"\R(a : Array R). letR (!k, a) = size(a) in (!k, a)", "Array R ->R (!Int, Array R)"),
    ("D4", r"\R(t : Two). case t of {Two(a, b) -> dealloc(a, b)}", "Two ->R Array R"),
    ("D4", r"\R(a : Array R). (a, !x)", "Array R ->R (Array R, !R)"),
    ("D4", r"\R(a : Array R). case b of {inl(_) -> a; inr(_) -> w a}", "Array R ->R Array R"),
    ("D4", r"\R(a : Array R). let y = x * x in set(0, y, a)", "Array R ->R Array R"),
    ("D4", "at(i, n)", "R"),
    ("D4", r"\_(z : R). \R(a : Array R). modify(n, \(y : R). z + y, a)", "R -o (Array R ->R Array R)"),
    ("D4", r"\_(z : R). \R(s : (Numbers, !R)). letR (u, v) = s in (modify(n, c z, u), v)", "R -o (Cells ->R Cells)"),
]


@pytest.mark.parametrize(("language", "text", "type_"), TYPED, ids=[text for _, text, _ in TYPED])
def test_the_type_of(language, text, type_):
    found = check_term(parse_term(text), ENVIRONMENT, DECLARATIONS, language)
    assert same(found, parse_type(type_), DECLARATIONS), show_type(found)


REFUSED = [
    # names, arities, types of parts
    ("source", "(x, nothing)", "nothing", "there is no variable nothing here"),
    ("source", "(let u = x in u, u)", "u", "there is no variable u here"),
    ("source", "fst(x)", "x", "a projection takes a pair, and this is R"),
    ("source", "x y", "x", "only functions are applied, and this is R"),
    ("source", "f n", "n", "the argument of f has type R, and this is Int"),
    ("source", "x * n", "n", "an argument of mul has type R, and this is Int"),
    ("source", "sin(x, y)", "sin(x, y)", "sin takes 1 arguments, not 2"),
    ("source", "n +# x", "x", "an argument of +# has type Int, and this is R"),
    ("source", "n < x", "n", "an argument of < has type R, and this is Int"),
    ("source", "(+#)(n)", "(+#)(n)", "there is no discrete operation +# of 1 arguments"),
    ("source", r"\(y : Tree). y", r"\(y : Tree). y", "there is no type Tree"),
    ("source", r"\(y : List). y", r"\(y : List). y", "List takes 1 types, not 0"),
    ("source", r"\(y : Pair R). y", r"\(y : Pair R). y", "Pair takes 0 types, not 1"),
    ("source", r"letrec f : R -> Int = \(y : R). y in f", "y", "the result of f has type Int, and this is R"),
    ("source", r"letrec f : R -> R = \(y : R). f n in f", "n", "the argument of f has type R, and this is Int"),
    ("source", r"letrec u : R -> Tree = \(y : R). u y in 1.0", "u y", "there is no type Tree"),
    # sums and data types
    ("source", "inl[R](x)", "inl[R](x)", "R has no constructors"),
    ("source", "inl[Int + R](x)", "x", "an argument of inl has type Int, and this is R"),
    ("source", "Leaf[List R]", "Leaf[List R]", "List R has no constructor Leaf; it has Nil, Cons"),
    ("source", "Cons[List R](x)", "Cons[List R](x)", "Cons takes 2 arguments, not 1"),
    ("source", "Cons[List Int](n, l)", "l", "has type List Int, and this is List R"),
    ("source", "case x of {inl(y) -> y; inr(y) -> y}", "x", "case takes a sum or data type, and this is R"),
    ("source", "case s of {inl(y) -> y}", "case s of {inl(y) -> y}", "the case inr of R + Int is missing"),
    ("source", "case l of {Nil -> x; Cons(y, r) -> y; Nil -> y}", "y", "there is a case Nil too many"),
    ("source", "case l of {Nil -> x; Cons(y, r) -> y; Leaf -> y}", "y", "there is a case Leaf too many for List R"),
    ("source", "case l of {Nil -> x; Cons(y) -> y}", "y", "Cons has 2 arguments, not 1"),
    ("source", "case s of {inl(y) -> y; inr(k) -> k}", "k", "the first branch has type R, and this is Int"),
    ("source", "if x < y then x else n", "n", "the first branch has type R, and this is Int"),
    # each language lacks what later ones have
    ("source", r"\_(z : R). z", r"\(z : R). z", "the source language has no such term"),
    ("source", "0[R]", "0[R]", "the source language has no such term"),
    ("source", r"\(d : R -o R). d", r"\(d : R -o R). d", "R -o R is no type of the source language"),
    ("D1", "{n |-> x}", "{n |-> x}", "the target language of D1 has no such term"),
    ("D1", r"\(m : Map Int R). m", r"\(m : Map Int R). m", "Map Int R is no type of the target language of D1"),
    ("D2", "id[R]", "id[R]", "the target language of D2 has no such term"),
    ("D2", r"\_(z : R). \(a : R). z + a", r"\(z : R). \(a : R). z + a", "R -> R cannot stand under a linear arrow"),
    ("D3", "at(i, n)", "at(i, n)", "the target language of D3 has no arrays"),
    ("D3", r"\R(y : R). y", r"\R(y : R). y", "the target language of D3 has no such term"),
    ("D3", r"\(a : IArray R). a", r"\(a : IArray R). a", "IArray R is no type of the target language of D3"),
    # functions under linear arrows
    ("D1", r"\(d : R -o (R -> R)). d", r"\(d : R -o R -> R). d", "R -> R cannot stand under a linear arrow"),
    ("D1", r"\(d : (R -> R) -o R). d", r"\(d : (R -> R) -o R). d", "R -> R cannot stand under a linear arrow"),
    ("D3", r"\(d : R -o (R -> Int)). d", r"\(d : R -o R -> Int). d", "R -> Int cannot stand under a linear arrow"),
    ("D3", r"\(d : R -o (R -o R)). d", r"\(d : R -o R -o R). d", "R -o R cannot stand under a linear arrow"),
    ("D4", r"\(d : Array R -o R). d", r"\(d : Array R -o R). d", "Array R cannot stand under a linear arrow"),
    ("D1", "f ++ f", "f", "no function may be in such a type"),
    ("D3", "0[R -> Int]", "0[R -> Int]", "functions t -> t may be in such a type"),
    ("D3", "f . k", "f . k", "R -> R and R -> R -> R cannot be composed"),
    ("D3", "f . x", "f . x", "R -> R and R cannot be composed"),
    # linear bodies
    ("D1", r"\_(z : R). 1.0", "1.0", "this is no part of a linear body"),
    ("D1", r"\_(z : R). x", "x", "x is not linear: a linear body is made of z and 0"),
    ("D1", r"\_(z : R). mul(z, z)", "z * z", "this is no part of a linear body"),
    ("D1", r"\_(z : R). f z", "f", "a linear body applies only linear functions; this is R -> R"),
    ("D1", r"\_(z : R). g x", "x", "x is not linear"),
    ("D1", r"\_(z : R). h (z, 1.0)", "1.0", "this is no part of a linear body"),
    ("D1", r"\_(z : R). g (z, z)", "(z, z)", "the argument has type R, and this is (R, R)"),
    ("D1", r"\_(z : R). partial 1 mul(x, z)(z)", "z", "z is linear: it may be added, scaled"),
    ("D1", r"\_(z : R). partial 1 mul(x, y)((z, z))", "(z, z)", "what a partial derivative is applied to has type R"),
    ("D1", r"\_(z : R). z + (z, z)", "(z, z)", "the other side of the sum has type R"),
    ("D1", r"\_(z : R). let u = z in u", "let u = z in u", "this is no part of a linear body"),
    ("D1", r"\_(z : R). case s of {inl(y) -> z; inr(k) -> z}", "s", "s is not linear"),
    ("D1", r"\_(z : (R + R, R)). case fst(z) of {inl(y) -> snd(z); inr(k) -> k}", "z", "z is not linear"),
    ("D1", r"\_(z : R + R). case z of {inl(y) -> y + x; inr(k) -> k}", "x", "x is not linear"),
    ("D1", r"\_(z : R + Int). case z of {inl(y) -> y; inr(k) -> k}", "k", "the first branch has type R"),
    ("D1", r"\_(z : R). inl[Int + R](z)", "z", "an argument of inl has type Int"),
    ("D1", r"\_(z : R). 0[R -> R]", "0[R -> R]", "it has no 0 and +"),
    ("D1", r"\_(z : R). \(y : R). y", r"\(z : R). \(y : R). y", "R -> R cannot stand under a linear arrow"),
    ("D1", r"\_(z : R). (z, g)", "g", "g is not linear"),
    ("D1", r"linear(\(z : R). z * z)", r"linear(\(z : R). z * z)", "stands only where a rule needs it"),
    ("D4", r"linear(\(z : R). z * 2.0)", r"linear(\(z : R). z * 2.0)", "which the checker can see to be linear"),
    ("D1", r"linear(\(z : R). z ++ 1.0)", r"linear(\(z : R). z ++ 1.0)", "stands only where a rule needs it"),
    ("D1", r"linear(\(z : R). z ++ x)", r"linear(\(z : R). z ++ x)", "stands only where a rule needs it"),
    ("D1", r"linear(\(z : R). sin(z) ++ 0.0)", "sin(z)", "this is no part of a linear body"),
    ("D3", r"linear(\(z : R). f (g z))", r"linear(\(z : R). f (g z))", "stands only where a rule needs it"),
    ("D1", r"linear(x)", "x", "linear(..) takes a function s -> t, and this is R"),
    ("D1", r"partial 3 mul(x, y)(x)", "partial3 mul(x, y)(x)", "mul has 2 arguments, so no partial derivative 3"),
    ("D1", r"x ++ n", "n", "the other side of the sum has type R, and this is Int"),
    ("D2", r"\_(z : Int). {z |-> 0[R]}", "z", "z is linear"),
    ("D2", r"{x |-> x}", "x", "a key has type Int, and this is R"),
    ("D2", r"\_(z : R). {n |-> (g, (z, z))}", "z, z", "the argument of the delayed call has type R"),
    ("D2", r"\_(z : R). {n |-> (g, x)}", "x", "x is not linear"),
    ("D2", "lookup(x, m)", "lookup(x, m)", "lookup has type (Int, Map Int t) -> t, and its arguments are R, Map Int R"),
    # functions t -> t that add to a part
    ("D3", r"\_(z : R). \(a : R). z", "z", "this must act on a by adding to it"),
    ("D3", r"\_(z : R). \(a : R). z + z", "z + z", "this must act on a by adding to it"),
    ("D3", r"\_(z : R). \(a : R). x + a", "x", "x is not linear"),
    ("D3", r"\_(z : R). \(a : Map Int R). insertWith(n, x, a)", "x", "x is not linear"),
    ("D3", r"\_(z : R). \(a : Map Int R). insertWith(n, z, m)", "insertWith(n, z, m)", "this must act on a"),
    ("D3", r"\_(z : R). \(a : Map Int R). insertWith(n, lookup(n, a), a)", "lookup(n, a)", "no part of a linear body"),
    ("D2", "insertWith(x, x, m)", "insertWith(x, x, m)", "insertWith has type"),
    ("D2", "insertWith(n, n, m)", "insertWith(n, n, m)", "insertWith has type"),
    ("D3", r"\_(z : R). \(a : R). (a + z) + a", "a", "a is not linear"),
    ("D3", r"\_(z : R). \(a : R). f a", "f", "f is not linear"),
    ("D3", r"\_(z : R). \(a : R). \(y : R). z + y", r"\(y : R). z + y", "this must act on a"),
    ("D3", r"\_(z : R). \(a : (R, R)). (snd(a), fst(a))", "(snd(a), fst(a))", "only one half of a pair may change"),
    ("D3", r"\_(z : R). \(a : (R, R)). (z + snd(a), snd(a))", "z + snd(a)", "this must act on a.fst"),
    (
        "D3",
        r"\_(z : R). \(a : Pair). (c z (fst(a)), z + snd(a))",
        "(c z (fst(a)), z + snd(a))",
        "only one half of a pair",
    ),
    (
        "D3",
        r"\_(z : R). \(a : R + R). case a of {inl(y) -> inr[R + R](y); inr(y) -> inr[R + R](y)}",
        "inr[R + R](y)",
        "this must be a inl of the same parts",
    ),
    ("D4", r"\_(z : R). \R(a : Array R). modify(z, f, a)", "z", "z is linear"),
    ("D4", r"\_(z : R). \R(a : Array R). modify(n, \(y : R). z, a)", "z", "this must act on y by adding to it"),
    # resources
    ("D4", r"\R(a : Array R). (a, a)", "a", "the resource a is used twice: an array that was changed is gone"),
    ("D4", r"\R(a : Array R). dealloc(a, set(0, x, a))", "a", "the resource a is used twice"),
    ("D4", r"\R(a : Array R). letR c = set(0, x, a) in a", "a", "the resource a is used twice"),
    ("D4", r"\R(a : Array R). x", r"\R(a : Array R). x", "the resource a is not used: use it exactly once"),
    ("D4", r"\R(y : R). x", r"\R(y : R). x", "the resource y is not used"),
    ("D4", r"\R(t : Two). case t of {Two(a, c) -> a}", "a", "the resource c is not used"),
    ("D4", r"\R(t : (Array R, Array R)). letR (a, c) = t in a", "letR (a, c) = t in a", "the resource c is not used"),
    ("D4", r"\(a : Array R). a", r"\(a : Array R). a", "a : Array R is a resource: bind it by \\R or letR"),
    ("D4", r"\(a : Numbers). a", r"\(a : Numbers). a", "a : Numbers is a resource"),
    ("D4", r"\(a : List (Array R)). a", r"\(a : List (Array R)). a", "is a resource"),
    ("D4", r"\R(a : Array R). let c = a in c", "a", "let binds no resource: use letR"),
    ("D4", r"letrec u : Array R -> R = \(a : Array R). x in x", "x", "a : Array R is a resource"),
    ("D4", r"\R(a : Array R). \(y : R). a", "a", "a is a resource, and a function that may be called many times"),
    ("D4", r"\R(a : Array R). \R(c : Array R). a", r"\R(c : Array R). a", "the resource c is not used"),
    ("D4", r"\R(a : Array R). \_(z : R). a", "a", "a is not linear"),
    ("D4", r"\R(a : Array R). letrec u : R -> R = \(y : R). a in a", "a", "a is a resource, and a function that"),
    ("D4", r"\R(a : Array R). fst((a, x))", "a", "a projection would drop the other half of a resource: use letR"),
    ("D4", r"\R(a : Array R). f a", "a", "an argument of R -> R uses no resource: only ->R promises"),
    ("D4", r"\R(a : Array R). !a", "a", "what stands under ! uses no resource"),
    ("D4", r"\R(a : Array R). {n |-> a}", "a", "a map holds no resource"),
    ("D4", r"\R(y : R). y * y", "y", "an argument of mul uses no resource"),
    ("D4", r"\R(a : Array R). lookup(n, a)", "a", "this argument uses no resource"),
    ("D4", r"\R(a : Array R). case b of {inl(_) -> a; inr(_) -> !x}", "!x", "the first branch has type Array R"),
    ("D4", r"\R(a : Array R). alloc(n, x, \R(c : Array R). a)", "a", "this argument uses no resource"),
    (
        "D4",
        r"\R(a : (Array R, Array R)). letR (u, v) = a in case b of {inl(_) -> u; inr(_) -> v}",
        "v",
        "the resource u is used in one branch and not in another",
    ),
    ("D4", r"alloc(n, x, w)", "alloc(n, x, w)", "alloc has type (Int, t, Array t ->R !s) -> s, and its arguments are"),
    ("D4", r"\R(a : Array R). set(n, n, a)", "set(n, n, a)", "set has type (Int, t, Array t) ->R Array t"),
    ("D4", r"letR (u, v) = x in u", "x", "letR (x, y) takes a pair, and this is R"),
    ("D4", r"letR !u = x in u", "x", "!u takes a !t, and this is R"),
]

ASCII = str.maketrans({unicode: ascii_ for ascii_, unicode in SPELLINGS.items() if len(unicode) == 1})
ASCII |= {ord("ᴿ"): "R", 0x332: ""}


def marked(error: IllTyped) -> tuple[str, str]:
    """Return the reason of an error, and the marked part of the program in ASCII."""
    *reason, line, carets = str(error).split("\n")
    line = line.replace("\u0332", "")
    assert set(carets) <= {" ", "^"}, carets
    return "\n".join(reason), line[carets.index("^") : carets.rindex("^") + 1].translate(ASCII)


@pytest.mark.parametrize(("language", "text", "part", "why"), REFUSED, ids=[f"{row[0]} {row[1]}" for row in REFUSED])
def test_refused(language, text, part, why):
    with pytest.raises(IllTyped) as error:
        check_term(parse_term(text), ENVIRONMENT, DECLARATIONS, language)
    reason, found = marked(error.value)
    assert found == part
    assert why in reason.translate(ASCII)


# Names that hide others, declarations, and what else once went wrong

WRONG = [
    r"\_(z : R). \(z : R). z + z",
    r"\_(z : R). \(a : R). let z = a in z + a",
    r"\_(z : R). \(a : (R, R)). let (v, z) = a in (z + v, z)",
    r"\_(z : R). \(a : R + R). case a of {inl(z) -> inl[R + R](z + z); inr(y) -> inr[R + R](y)}",
    r"\(a : R). \R(a : Array R). letrec a : R -> R = \(y : R). y in a",
    r"\R(p : (Array R, Array R)). letR (a, a) = p in a",
    r"\R(p : (Array R, !R)). letR (a, !a) = p in a",
    "data T = T (Array R) (Array R); \\R(t : T). case t of {T(a, a) -> a}",
    "data T = T (Array R) R; \\R(t : T). case t of {T(a, a) -> a}",
    "data T = C R | C Int; case C[T](1.0) of {C(n) -> n}",
    "data T a = Nil | Cons a (T (a, a)); \\(x : T R). x",
    "data T a a = C a; \\(x : T R Int). x",
    r"\_(z : R). \R(s : (R, R)). letR (c, !c) = s in (z + c, snd(s))",
    r"\_(z : R). \(a : Array R). a",
    r"\_(z : R). \(a : R + R). case a of {inl(y) -> inl[R + Int](z + y); inr(y) -> inr[R + R](y)}",
    r"\(x : a). x",
    "data T = C Tree; \\(x : T). x",
    "data T = C (T R); \\(x : T). x",
    "data T = C b; \\(x : T). x",
    "data T = C ((R -> Int) -o R); \\(x : T). x",
    "type T = (R -> Int) -o R; \\(x : T). x",
    "u : Tree = u; 1.0",
    "u : R = u; u",
    "u : R = v; v : R = 1.0; u",
    "type T = T; \\(x : T). x",
    "type T = U; type U = T; \\(x : T). x",
    r"\R(p : (!R, (!R, !R))). letR (a, b, c) = p in a",
    r"\R(p : !R). letR () = p in 1.0",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_refused(text):
    program = parse_program(text)
    with pytest.raises(IllTyped):
        check(program)


@pytest.mark.parametrize("text", ["(a, a)", "1.0", r"\(x : R). a"])
def test_free_variables_that_are_resources(text):
    with pytest.raises(IllTyped):
        check_term(parse_term(text), {"a": parse_type("Array R")})


@pytest.mark.parametrize("declaration", ["data T = C (Map Int R)", "type T = Map Int R", "type T = R -o R"])
def test_the_source_language_has_no_declarations_of_later_types(declaration):
    with pytest.raises(IllTyped):
        check(parse_program(f"{declaration}; \\(x : T). x"), "source")


RIGHT = [
    "data List a = Nil | Cons a (List a); data Rose a = Rose a (List (Rose a)); \\(x : Rose R). x",
    r"\_(z : R). \(a : R). a + z",
    "type A = Array R; alloc(3, 0.0, \\R(a : A). freeze(a))",
    "type D = R; \\(x : (D, R)). \\R(a : Array (R, R)). set(0, x, a)",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_is_accepted(text):
    check(parse_program(text))


def test_data_without_constructors():
    with pytest.raises(IllTyped):
        check(Program(Lambda("x", Named("E"), Case(Var("x"), ())), Declarations({"E": DataType("E", (), ())})))


# Programs


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        ("u : R -> R = \\(x : R). fst(x); 1.0", "x", "a projection takes a pair"),
        ("u : R -> Int = \\(x : R). 1; u (u 1.0)", "u 1.0", "the argument of u has type R, and this is Int"),
    ],
)
def test_programs_are_refused(text, part, why):
    with pytest.raises(IllTyped) as error:
        check(parse_program(text))
    reason, found = marked(error.value)
    assert (found, why in reason.translate(ASCII)) == (part, True)


def test_a_definition_of_another_type():
    with pytest.raises(IllTyped, match=r"u is declared .* and has type Int") as error:
        check(parse_program("u : R -> R = \\(x : Int). x; 1.0"))
    assert error.value.term == parse_term(r"\(x : Int). x")


def test_definitions_refer_to_each_other_and_to_themselves():
    program = parse_program("u : R -> R = \\(x : R). v x; v : R -> R = \\(x : R). u (v x); \\(x : R). u x")
    assert check(program, "source") == parse_type("R -> R")


def test_a_synonym_equals_what_it_stands_for():
    known = DECLARATIONS
    assert same(parse_type("Stream"), parse_type("(R, (R, Stream))"), known)
    assert same(parse_type("Stream"), parse_type("Twice"), known)  # both are (R, (R, ..
    assert not same(parse_type("Stream"), parse_type("(R, (Int, Stream))"), known)
    assert not same(parse_type("List Pair"), parse_type("List R"), known)
    assert same(parse_type("List Pair -> Pair"), parse_type("List (R, R) -> (R, R)"), known)
    assert not same(parse_type("Even"), parse_type("Odd"), known)


def test_a_partial_derivative_in_a_body_is_marked():
    with pytest.raises(IllTyped) as error:
        check_term(parse_term(r"\_(z : R). partial 3 mul(x, y)(z)"), ENVIRONMENT)
    assert marked(error.value)[1] == "partial3 mul(x, y)(z)"


@pytest.mark.xfail(strict=True, reason="true is one object wherever it stands")
def test_the_second_true_is_marked():
    with pytest.raises(IllTyped) as error:
        check_term(parse_term("(true, fst(true))"))
    assert str(error.value).split("\n")[-1].index("^") == len("(true, fst(")


def test_long_terms_are_checked_and_deep_ones_refused():
    chain = "".join(f"let x{k + 1} = x{k} + x{k} in " for k in range(3000))
    assert show_type(check_term(parse_term(f"let x0 = 1.0 in {chain} x3000"), language="source"), True) == "R"
    deep = parse_term("x")
    for _ in range(5000):
        deep = Lambda("x", parse_type("R"), deep)
    with pytest.raises(IllTyped, match="nested too deeply"):
        check_term(deep)
