"""Reading and writing the calculus: parse(show(t)) = t, the spellings, the sugar, and what the errors say."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.calculus.calculus_strategies import any_program, any_term, any_type

from stages.calculus.deltas.terms import Do, InSequence, Pure
from stages.calculus.language import sugar, terms
from stages.calculus.language.declarations import DataType, Program
from stages.calculus.language.errors import Unreadable
from stages.calculus.language.terms import (
    Apply,
    Branch,
    Case,
    Claim,
    Compose,
    Con,
    Discrete,
    Fst,
    Function,
    Identity,
    Integer,
    Let,
    Letrec,
    LinearLambda,
    Literal,
    Of,
    Operation,
    Partial,
    Plus,
    Primitive,
    ResourceLambda,
    ResourceLet,
    Singleton,
    Snd,
    Tuple,
    Var,
    Zero,
)
from stages.calculus.language.types import (
    REAL,
    UNIT,
    Array,
    Arrow,
    Bang,
    Linear,
    Named,
    Pair,
    Parameter,
    Resource,
    Sum,
)
from stages.calculus.text.latex import latex, latex_program, latex_type
from stages.calculus.text.parser import parse_program, parse_term, parse_type
from stages.calculus.text.printer import mark, show, show_program, show_type

x, y, z, f, g = map(Var, "xyzfg")


@given(any_type, st.booleans())
def test_parse_type_of_show_type_is_the_type(type_, ascii_):
    assert parse_type(show_type(type_, ascii_)) == type_


@settings(max_examples=200, deadline=None)
@given(any_term, st.booleans(), st.sampled_from([1, 20, 60, 10**6]))
def test_parse_of_show_is_the_term(term, ascii_, width):
    text = show(term, ascii_, width)
    assert repr(parse_term(text)) == repr(term), text  # tells 0.0 from -0.0
    assert not ascii_ or text.replace("β", "").isascii()
    assert all(line == line.rstrip() for line in text.split("\n"))


@settings(max_examples=100, deadline=None)
@given(any_program, st.booleans(), st.sampled_from([1, 60]))
def test_parse_of_show_is_the_program(program, ascii_, width):
    assert repr(parse_program(show_program(program, ascii_, width))) == repr(program)


def _every(term):
    """A term and all below it."""
    every, at = [term], 0
    while at < len(every):
        every += terms.subterms(every[at])
        at += 1
    return every


@settings(max_examples=100, deadline=None)
@given(any_term, st.data())
def test_every_part_is_marked_and_latex_balances(term, data):
    line, carets = mark(term, data.draw(st.sampled_from(_every(term)))).split("\n")
    assert set(carets) == {" ", "^"} or set(carets) == {"^"}
    assert len(line) <= 106
    text = latex(term)
    assert text.replace(r"\{", "").count("{") == text.replace(r"\}", "").count("}")


def test_every_class_of_terms_is_tried():
    tried = set()

    @settings(max_examples=400, deadline=None, database=None)
    @given(any_term)
    def collect(term):
        tried.update(map(type, _every(term)))

    collect()
    assert {Do, Pure, InSequence} <= tried
    tried -= {Do, Pure, InSequence}
    classes = {value for name in terms.__all__ if isinstance(value := getattr(terms, name), type)}
    assert tried == classes - {terms.Term, terms.Branch, terms.Function, terms.subterms}


TERMS = {
    r"\(x : R). x * y - 1.0": sugar.lambda_("x", REAL, Operation("sub", (Operation("mul", (x, y)), Literal(1.0)))),
    r"\(x : R, y : R). x": sugar.lambda_(("x", "y"), Pair(REAL, REAL), x),
    r"\((x : R, dx : R -o R), y : R). x": sugar.lambda_(
        (("x", "dx"), "y"), Pair(Pair(REAL, Linear(REAL, REAL)), REAL), x
    ),
    r"\((x, y) : Dual). x": sugar.lambda_(("x", "y"), Named("Dual"), x),
    "let (x, y, z) = f x in x": sugar.let(("x", ("y", "z")), Apply(f, x), x),
    "let _x_y = f in let x = fst(_x_y) in x": Let("_x_y", f, Let("x", Fst(Var("_x_y")), x)),
    "let p = f in let x = fst(p) in let y = snd(p) in x": Let(
        "p", f, Let("x", Fst(Var("p")), Let("y", Snd(Var("p")), x))
    ),
    "if x < y then true else false": sugar.if_(Discrete("<", (x, y)), sugar.TRUE, sugar.FALSE),
    "case x of {inl(y) -> y; inr(_) -> z}": Case(x, (Branch("inl", ("y",), y), Branch("inr", ("_",), z))),
    "case x of {Nil -> y; Cons(x, y) -> z}": Case(x, (Branch("Nil", (), y), Branch("Cons", ("x", "y"), z))),
    "Cons[List R](x, Nil[List R])": Con(Named("List", (REAL,)), "Cons", (x, Con(Named("List", (REAL,)), "Nil", ()))),
    "inl[R + ()]((x, y))": Con(Sum(REAL, UNIT), "inl", (Tuple(x, y),)),
    "(Nil[List R]) (x, y)": Apply(Con(Named("List", (REAL,)), "Nil", ()), Tuple(x, y)),
    r"letrec f : R -> R = \(x : R). g x and g : R -> R = \(y : R). f y in f x": Letrec(
        (Function("f", Arrow(REAL, REAL), "x", Apply(g, x)), Function("g", Arrow(REAL, REAL), "y", Apply(f, y))),
        Apply(f, x),
    ),
    "(x, y, z)": Tuple(x, Tuple(y, z)),
    "((x, y), z)": Tuple(Tuple(x, y), z),
    "f x y + x": Operation("add", (Apply(Apply(f, x), y), x)),
    "x - y - z": Operation("sub", (Operation("sub", (x, y)), z)),
    "x - (y - z)": Operation("sub", (x, Operation("sub", (y, z)))),
    "-x ** y": Operation("neg", (Operation("pow", (x, y)),)),
    "(-x) ** (-y)": Operation("pow", (Operation("neg", (x,)), Operation("neg", (y,)))),
    "x ** y ** z": Operation("pow", (x, Operation("pow", (y, z)))),
    "-1.0": Literal(-1.0),
    "-(1.0)": Operation("neg", (Literal(1.0),)),
    "-(-1.0)": Operation("neg", (Literal(-1.0),)),
    "-(1.0 ** x)": Operation("neg", (Operation("pow", (Literal(1.0), x)),)),
    "f (-1.0)": Apply(f, Literal(-1.0)),
    "-inf": Literal(-math.inf),
    "-3": Integer(-3),
    "x +# 1 <=# y *# 2": Discrete("<=#", (Discrete("+#", (x, Integer(1))), Discrete("*#", (y, Integer(2))))),
    "(-#)(x)": Discrete("-#", (x,)),
    "real(3)": Discrete("real", (Integer(3),)),
    "sin(maximum(x, y))": Operation("sin", (Operation("maximum", (x, y)),)),
    "x ++ y": Plus(x, y),
    r"\_(z : R). z + z": LinearLambda("z", REAL, Plus(z, z)),
    r"\_(z : R). add(z, z)": LinearLambda("z", REAL, Operation("add", (z, z))),
    r"\_(z : R). f (x + y) z + z": LinearLambda(
        "z", REAL, Plus(Apply(Apply(f, Operation("add", (x, y))), z), z)
    ),
    r"\_(z : R). partial 1 mul(x + y, y)(z + z)": LinearLambda(
        "z", REAL, Partial("mul", 1, (Operation("add", (x, y)), y), Plus(z, z))
    ),
    r"\_(z : R). {x + y |-> z + z}": LinearLambda("z", REAL, Singleton(Operation("add", (x, y)), Plus(z, z))),
    r"\_(z : R). get(x + y, z + z)": LinearLambda(
        "z", REAL, Primitive("get", (Operation("add", (x, y)), Plus(z, z)))
    ),
    r"\_(z : R). case (x + y) z of {inl(a) -> z + z} y": None,
    "0[R -o R]": Zero(Linear(REAL, REAL)),
    "f . g . id[R]": Compose(f, Compose(g, Identity(REAL))),
    "empty()": Primitive("empty", ()),
    r"letR (!x, y) = !f in \R(z : Array R). linear(f) !x": ResourceLet(
        ("!x", "y"), Of(f), ResourceLambda("z", Array(REAL), Apply(Claim(f), Of(x)))
    ),
    "letR x = y in x": ResourceLet(("x",), y, x),
}  # fmt: skip


@pytest.mark.parametrize("text", TERMS)
def test_the_text_is_this_term(text):
    term = TERMS[text] or parse_term(text)
    assert parse_term(text) == term
    assert parse_term(show(term)) == term
    if TERMS[text]:
        assert show(term, ascii=True) == text


def test_all_in_front_of_the_last_argument_is_in_no_linear_body():
    term = parse_term(r"\_(z : R). case (x + y) of {inl(a) -> x + x} (z + z)")
    add = Operation("add", (x, x))
    inner = Case(Operation("add", (x, y)), (Branch("inl", ("a",), add),))
    assert term == LinearLambda("z", REAL, Apply(inner, Plus(z, z)))
    case = parse_term(r"\_(z : R). case z + z of {inl(a) -> a + z}").body
    assert isinstance(case.scrutinee, Plus)
    assert isinstance(case.branches[0].body, Plus)


def test_spellings_may_be_mixed_and_comments_are_ignored():
    text = "λ(x : ℝ → R). -- a comment: (\n λ̲(z : R⊸ℝ). λᴿ(a : s →ᴿ t). {x ↦ f ∘ g} -- end"
    plain = r"\(x : R->R). \_(z : R-o R). \R(a : s->R t). {x |-> f.g}"
    assert parse_term(text) == parse_term(plain)
    assert parse_term("∂1 mul(x · 2.0, y)(x ⊕ y)") == parse_term("partial 1 mul(x*2.0, y)(x ++ y)")
    assert show(parse_term(plain)) == "λ(x : ℝ → ℝ). λ̲(z : ℝ ⊸ ℝ). λᴿ(a : s →ᴿ t). {x ↦ f ∘ g}"
    assert show(parse_term("∂1 mul(x, y)(x ⊕ y · x)")) == "∂1 mul(x, y)(x ⊕ y · x)"


def test_types_have_these_texts():
    for text in (
        "(R, Int, ()) -> R -> R", "(R -> R) -> R", "R + R + R", "R + (R + R)", "List (List R) !a", "!(Array R) ->R R",
        "Map Int (R -o Staged, R)", "IArray R -o (R ->R R)",
    ):  # fmt: skip
        assert show_type(parse_type(text), ascii=True) == text.replace("(R ->R R)", "R ->R R")
    assert parse_type("R->R") == Arrow(REAL, REAL)
    assert parse_type("R ->R R") == Resource(REAL, REAL)
    assert parse_type("!List a") == Bang(Named("List", (Parameter("a"),)))


def test_nan_and_minus_zero():
    assert math.isnan(parse_term("nan").value)
    assert show(Literal(math.nan)) == "nan"
    assert math.copysign(1.0, parse_term("-0.0").value) == -1.0
    assert parse_term("-1.0 ** x") == parse_term("-(1.0 ** x)")
    assert parse_term("x -1.0") == parse_term("x - 1.0")
    assert parse_term("- 1.0") == parse_term("-(1.0)")
    assert parse_term("x + \\(y : R). y + z") == parse_term("x + (\\(y : R). (y + z))")


PROGRAM = r"""data List a = Nil | Cons a (List a);
type Staged = (c, Map Int (R -o Staged, R));
twice : R -> R = \(x : R). x + x;

let y = twice 1.0 in y"""


def test_a_program():
    program = parse_program(PROGRAM)
    assert list(program.declarations.types) == ["List", "Staged"]
    assert program.definitions[0].type == Arrow(REAL, REAL)
    assert show_program(program, ascii=True) == PROGRAM
    assert parse_program("x") == Program(x)
    assert parse_program("data Void = ; x").declarations.types["Void"] == DataType("Void", (), ())


LAYOUT = r"""
letrec f : R -> R = \(x : R).
  if x < 1.0 then x else f (x - 1.0)
in
let (y, dy) = f (1.0 + 2.0) in
\(x : R). \(z : R).
  case g x of {
    inl(a) -> a + y;
    inr(b) ->
      if b then
        first_long_name * second_long_name
      else if c then
        third_long_name
          + fourth_long_name
          + fifth_long_name * 2.0 * y
      else
        f
          (some_argument + some_other)
          (another, one)
  }
"""


def test_the_layout_of_long_terms():
    text = LAYOUT.strip()
    assert show(parse_term(text), ascii=True, width=50) == text
    assert show(parse_term(text), ascii=True, width=66) != text
    assert "\n" not in show(parse_term(text), width=10**6)


ERRORS = {
    "let x : R = 1.0 in x": ('line 1, column 7: expected "=" (let takes no type annotation), found ":"', "      ^"),
    "let x = 1.0 in": ("line 1, column 15: expected a term, found the end of the text", "              ^"),
    "let x = 1.0\n  x * x)": ('line 2, column 8: nothing is open that this ")" could close', "       ^"),
    "f (x": ('line 1, column 3: this "(" is never closed', "  ^"),
    "(x]": ('line 1, column 3: expected ")", which closes the "(" of line 1, column 1, found "]"', "  ^"),
    "λ̲(z : ℝ). let sin = z in z": (
        'line 1, column 15: expected a name or a pattern, found "sin", a reserved word', " " * 14 + "^"),
    "partial 1 foo(x)(y)": (
        'line 1, column 11: expected an operation of the table dualrev.rules.primitives, found "foo"', " " * 10 + "^"),
    "inl(x)": ('line 1, column 4: expected "[" and the type of inl, found "("', "   ^"),
    "x < y < z": ("line 1, column 7: comparisons do not chain: put one of them in parentheses", "      ^"),
    "2x": ('line 1, column 2: the number 2 runs into "x": put a space between', " ^"),
    "x ? y": ("line 1, column 3: the character '?' has no meaning", "  ^"),
    r"\(x). x": ('line 1, column 4: expected ":" and a type, found ")"', "   ^"),
    r"letrec f : R -> R = \(x : Int). x in f": (
        'line 1, column 22: expected a parameter of the type that f is declared with, found "("', " " * 21 + "^"),
    "letrec f : R = 1.0 in f": (
        'line 1, column 12: expected a type s -> t (of the function f), found "R"', " " * 11 + "^"),
    "x = y": ('line 1, column 3: expected an operator or the end of the text, found "="', "  ^"),
    "": ("line 1, column 1: expected a term, found the end of the text", "^"),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_where_and_what(text):
    with pytest.raises(Unreadable) as error:
        parse_term(text)
    message, line, caret = str(error.value).split("\n")
    assert message == ERRORS[text][0]
    assert caret == "    " + ERRORS[text][1]
    assert line.strip() in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data R = A; x", 'expected the name of a type that is not built in, found "R"'),
        ("type T = R; type T = Int; x", 'expected a name that is not declared yet, found "T"'),
        ("data List a = Nil | cons a; x", 'expected a constructor (it begins with a capital), found "cons"'),
        ("f : R -> R = g x", 'expected ";", found the end of the text'),
    ],
)
def test_errors_of_programs(text, message):
    with pytest.raises(Unreadable, match=r"^line 1, column \d+: ") as error:
        parse_program(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"let x{i} = x{i - 1} * 2.0 in\n" for i in range(1, 1000)) + "x999",
        " + ".join(["x"] * 1000),
        " ** ".join(["x"] * 1000),
        "f" + " x" * 1000,
        f"({', '.join(['x'] * 1000)})",
        r"\(x : R). " * 1000 + "x",
        "if x then y else " * 1000 + "z",
        r"\_(z : R). " + " + ".join(["z"] * 1000),
    ],
)
def test_long_chains_are_no_deep_nesting(text):
    shown = show(parse_term(text), ascii=True)
    assert shown.split() == text.split()
    assert show(parse_term(shown), ascii=True) == shown
    assert mark(parse_term(text), x) == ""
    term = parse_term(text)
    part = term
    while below := list(terms.subterms(part)):
        part = below[-1]
    assert "^" in mark(term, part)


def test_what_is_nested_too_deeply_is_refused():
    assert parse_term("(" * 100 + "x" + ")" * 100) == x
    with pytest.raises(Unreadable, match="nested too deeply"):
        parse_term("(" * 5000 + "x" + ")" * 5000)
    with pytest.raises(Unreadable, match="nested too deeply"):
        parse_type("(" * 5000 + "R" + ")" * 5000)
    term = deepest = Of(x)
    for _ in range(5000):
        term = Fst(term)
    assert mark(term, deepest).startswith("...")
    assert mark(term, term).split("\n")[1] == "^" * 100
    term = x
    for _ in range(250):
        term = Fst(term)
    assert show(term) == "fst(" * 250 + "x" + ")" * 250 or show(term).count("fst(") == 250


def test_marks():
    part = Operation("mul", (x, y))
    assert mark(Let("z", part, Operation("add", (z, part))), part) == "let z = x · y in z + x · y\n        ^^^^^"
    assert mark(LinearLambda("z", REAL, part), part) == "λ̲(z : ℝ). x · y\n          ^^^^^"
    assert mark(x, Var("x")) == ""
    inner = Operation("add", (Var("a"), y))
    assert mark(Operation("add", (inner, z)), inner) == "a + y + z\n^^^^^"
    hidden = Fst(Var("_x_y"))
    term = Let("_x_y", f, Let("x", hidden, Let("y", Snd(Var("_x_y")), x)))
    assert mark(term, hidden) == "let (x, y) = f in x\n^^^^^^^^^^^^^^^^^^^"


def test_ill_typed_terms_have_a_text_too():
    assert show(Operation("nonsense", (x,)), ascii=True) == "nonsense(x)"
    assert show(Apply(Literal(-1.0), Operation("sin", ())), ascii=True) == "(-1.0) sin()"
    assert show(Case(x, ())) == "case x of {}"


def test_latex():
    assert latex_type(parse_type("R -> (R, Map Int (R -o R))")) == (
        r"\mathbb{R} \to (\mathbb{R}, \mathrm{Map}\ \mathrm{Int}\ (\mathbb{R} \multimap \mathbb{R}))"
    )
    assert latex(parse_term(r"\_(z : R). partial 1 mul(x1, acc2')(z + β)")) == (
        r"\underline{\lambda}(z : \mathbb{R}).\ \partial_{1}\ \mathrm{mul}(x_{1}, \mathit{acc}_{2}')(z + \beta )"
    )
    assert latex(parse_term("let x_y = 2.5e-7 * sin(x) in f x_y")) == "\n".join(
        [
            r"\begin{array}[t]{@{}l@{}}",
            r"\textbf{let}\ \mathit{x\_y} = 2.5 \cdot 10^{-7} \cdot \mathrm{sin}(x)\ \textbf{in} \\",
            r"f\ \mathit{x\_y}",
            r"\end{array}",
        ]
    )
    assert latex_program(parse_program(PROGRAM)).count("\\\\\n") == 5
