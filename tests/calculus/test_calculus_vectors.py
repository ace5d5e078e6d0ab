"""Vectors, Krawiec et al. 2022, section 8.3: types, values, costs, and who takes them; see test_calculus_deltas.py."""

from __future__ import annotations

import random

import pytest
from programs.calculus.calculus_vectors import closed_program_with_vectors

from stages.calculus import TRANSFORMATIONS, Machine, check, check_term, evaluate, parse_program, parse_term, parse_type
from stages.calculus.__main__ import main
from stages.calculus.complexity import measure
from stages.calculus.continuations.table import CONTINUATIONS
from stages.calculus.deltas.table import DELTAS
from stages.calculus.language.errors import CalculusError, IllTyped
from stages.calculus.language.terms import Primitive, subterms
from stages.calculus.language.values import Elements, Made

ALL = {**TRANSFORMATIONS, **DELTAS}
WHOLE = ["D1", "D2", "D3", "vectorised"]  # whose cotangents are whole
ENVIRONMENT = {
    name: parse_type(kind) for name, kind in {"v": "Vector R", "n": "Int", "x": "R", "f": "Int -> R"}.items()
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("build(n, f)", "Vector R"),
        ("index(v, n)", "R"),
        ("size(v)", "Int"),
        (r"build(n, \(i : Int). build(i, f))", "Vector (Vector R)"),
        (r"index(build(n, \(i : Int). \(y : R). y * x), 0) x", "R"),
        (r"build(2, \(i : Int). (index(v, i), i))", "Vector (R, Int)"),
    ],
)
def test_types(text, kind):
    assert check_term(parse_term(text), ENVIRONMENT, language="source") == parse_type(kind)


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        ("source", "index(v, x)", "index has type (Vector t, Int) -> t, and its arguments are Vector ℝ, ℝ"),
        ("source", r"build(n, \(x : R). x)", "build has type (Int, Int -> t) -> Vector t"),
        ("source", "size(n)", "size has type Vector t -> Int"),
        ("source", "fanin(v, v, x)", "the source language has no vectors"),
        ("source", "lookup(n, v)", "the source language has no maps"),
        ("source", "freeze(v)", "the source language has no arrays"),
        ("cells", "x", "no type of the language cells; vectors are for --to D1 .. tape, forward, and delta"),
        ("D1", r"\_(z : Vector R). fanin(v, z, 0[R])", "fanin takes a Vector of linear functions; this is Vector ℝ"),
        ("D1", r"\_(z : Vector R). build(n, \(i : Int). index(z, i))", "this is no part of a linear body"),
        ("D4", r"build(n, \(i : Int). \R(a : Array R). a) ", ""),
        ("D4", r"\R(a : Array R). build(n, \(i : Int). a)", "this argument uses no resource"),
    ],
)
def test_what_is_ill_typed(language, text, said):
    term = parse_term(rf"\(v : Vector R, n : Int, x : R). {text}")
    if not said:
        check_term(term, language=language)
        return
    with pytest.raises(IllTyped) as error:
        check_term(term, language=language)
    assert said in str(error.value)


def test_fanin_is_a_linear_body():
    text = r"\(d : Vector (R -o R)). \_(z : (Vector R, R)). fanin(d, fst(z), snd(z))"
    program = parse_program(text)
    assert check(program, "D1") == parse_type("Vector (R -o R) -> (Vector R, R) -o R")
    d = evaluate(
        parse_program(r"\(v : Vector R). build(size(v), \(i : Int). \_(z : R). partial 1 mul(1.0, index(v, i))(z))")
    )
    machine = Machine(program)
    functions = machine.apply(d, Elements((2.0, 3.0)))
    assert machine.apply(machine.value(), functions, (Elements((10.0, 100.0)), 1.0)) == 321.0


def test_values():
    assert evaluate(parse_program(r"build(3, \(i : Int). i *# i)")) == Elements((0, 1, 4))
    assert evaluate(parse_program(r"size(build(0, \(i : Int). i))")) == 0
    with pytest.raises(IndexError, match="index 3 of a vector of 3 elements"):
        evaluate(parse_program(r"index(build(3, \(i : Int). i), 3)"))
    with pytest.raises(IndexError, match="index -1 of a vector of 3 elements"):
        evaluate(parse_program(r"index(build(3, \(i : Int). i), -1)"))
    with pytest.raises(ValueError, match="a vector of -1 elements"):
        evaluate(parse_program(r"build(-1, \(i : Int). i)"))


SUM = r"""letrec sum : (Vector R, Int) -> R =
    \(v : Vector R, n : Int). if n <# 1 then 0.0 else index(v, n -# 1) + sum (v, n -# 1) in"""
SQUARES = parse_program(rf"{SUM} \(v : Vector R). sum (build(size(v), \(i : Int). index(v, i) * index(v, i)), size(v))")


@pytest.mark.parametrize(
    "name", [name for name in ALL if name not in (*WHOLE, "forward", "triple", "triple-delta", "tower")]
)
def test_a_vector_in(name):
    machine = Machine(ALL[name].wrap(SQUARES))
    y, back = machine.apply(machine.value(), Elements((1.0, 2.0, 5.0)))
    assert (y, machine.apply(back, 1.0)) == (30.0, Elements((2.0, 4.0, 10.0)))
    y, back = machine.apply(machine.value(), Elements(()))
    assert (y, machine.apply(back, 1.0)) == (0.0, Elements(()))


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("forward", "triple", "triple-delta", "tower")])
def test_a_vector_out_and_vectors_of_functions(name):
    program = parse_program(
        r"\(x : R, n : Int). let fs = build(n, \(i : Int). \(y : R). x * y + real(i)) in"
        r" build(n, \(i : Int). (index(fs, n -# 1 -# i) x, i))"
    )
    derivative = ALL[name].wrap(program)
    assert check(derivative, ALL[name].language) == parse_type(
        "(R, Int) -> (Vector (R, Int), Vector (R, Int) -o (R, Int))"
    )
    machine = Machine(derivative)
    y, back = machine.apply(machine.value(), (3.0, 2))
    assert y == Elements(((10.0, 0), (9.0, 1)))
    assert machine.apply(back, Elements(((1.0, 0), (10.0, 0))))[0] == 66.0
    assert machine.apply(back, Elements(((0.0, 0), (0.0, 0))))[0] == 0.0
    y, back = machine.apply(machine.value(), (3.0, 0))
    assert (y, machine.apply(back, Elements(()))[0]) == (Elements(()), 0.0)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_cotangents_take_no_vector(name):
    with pytest.raises(IllTyped, match=f"a Vector is in the argument, and {name} gives whole cotangents"):
        ALL[name].wrap(SQUARES)
    with pytest.raises(IllTyped, match="transform to sparse, D4"):
        ALL[name].wrap(parse_program(r"data L = N | C (Vector R) L; \(l : L, x : R). x * x"))


@pytest.mark.parametrize("name", CONTINUATIONS)
def test_continuations_take_no_vectors(name):
    pytest.importorskip("greenlet")
    with pytest.raises(CalculusError, match="; vectors are for --to D1"):
        CONTINUATIONS[name].wrap(SQUARES)
    with pytest.raises(CalculusError, match="; vectors are for --to D1"):
        CONTINUATIONS[name].wrap(parse_program(r"\(x : R). index(build(1, \(i : Int). x), 0)"))


@pytest.mark.parametrize("name", ["D4", "collectorless", "contrib", "tape", "delta-array", "delta-vectors"])
def test_the_criterion_with_vectors(name):
    """Steps divided by the steps of the program and the size of its input do not grow from n = 16 to n = 128."""
    small, large = (
        measure(ALL[name], SQUARES, Elements(tuple([0.1 * (k % 7) for k in range(n)])), 1.0).ratio for n in (16, 128)
    )
    assert large < 1.05 * small


def test_the_command_reads_and_prints_vectors(capsys):
    text = r"\(v : Vector R, i : Int). index(v, i) * index(v, 0)"
    given = r"build(3, \(i : Int). real(i) + 1.0), 2"
    assert main([text, "--run", given, "--to", "delta-map"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("value      3.0   (")
    assert second.startswith("cotangent  ([3.0, 0.0, 1.0], 2)   (")
    assert main([text, "--run", r"build(3, real), 2"]) == 1
    capsys.readouterr()
    assert main([text, "--run", r"build(3, \(i : Int). 1.0), 7"]) == 1
    assert "index 7 of a vector of 3 elements" in capsys.readouterr().err
    assert main([text, "--to", "D2", "--wrap"]) == 1
    assert "a Vector is in the argument" in capsys.readouterr().err


def test_the_generator_writes_vectors():
    rng, found = random.Random(0), set()
    for _ in range(60):
        todo = [closed_program_with_vectors(rng.randbytes(500)).program.term]
        while todo:
            term = todo.pop()
            found |= {term.name} if isinstance(term, Primitive) else set()
            todo.extend(subterms(term))
    assert found == {"build", "index", "size"}


# ---- a pair of vectors for Vector R ----------------------------------------------------------------------------------

COLUMNS = [  # of section 8.3: a term, and its image
    ("index(v, n)", "do {v1 <- pure v; i1 <- pure n; pure (index(fst(v1), i1), index(snd(v1), i1))}"),
    ("size(v)", "do {v1 <- pure v; pure (size(fst(v1)))}"),
    (
        "build(n, f)",
        r"""do {n1 <- pure n; f1 <- pure f; w1 <- sequence(build(n1, f1)); pure
            (build(size(w1), \(j1 : Int). fst(index(w1, j1))), build(size(w1), \(j2 : Int). snd(index(w1, j2))))}""",
    ),
    ("index(w, n)", "do {v1 <- pure w; i1 <- pure n; pure (index(v1, i1))}"),  # a vector of pairs stays one
]


@pytest.mark.parametrize(("source", "expected"), COLUMNS)
def test_section_8_3_the_rules_for_a_pair_of_vectors(source, expected):
    known = {**ENVIRONMENT, "w": parse_type("Vector (R, Int)")}
    D = DELTAS["delta-vectors"](parse_type("R"))  # noqa: N806
    assert D.term(D.annotated(parse_term(source), known)) == parse_term(expected)


def test_section_8_3_the_types_of_a_pair_of_vectors():
    D = DELTAS["delta-vectors"](parse_type("R"), parse_program("type V = Vector R; 1.0").declarations)  # noqa: N806
    pair = "(Vector R, Vector Delta)"
    for source, image in {
        "Vector R": pair,
        "V": pair,
        "Vector (Vector R)": f"Vector {pair}",
        "Vector (R, R)": "Vector ((R, Delta), (R, Delta))",
        "Vector Int": "Vector Int",
        "Vector R -> R": f"{pair} -> M (R, Delta)",
    }.items():
        assert D.type(parse_type(source)) == parse_type(image)


def test_the_input_of_numbers_is_not_copied_and_takes_fewer_steps():
    """initVars of a vector of pairs makes a pair for each number; here, ids beside the numbers."""
    x = Elements(tuple([float(k) for k in range(64)]))
    steps = {}
    for name in ("delta-array", "delta-vectors"):
        machine = Machine(DELTAS[name].wrap(parse_program(r"\(v : Vector R). index(v, 0) * index(v, 1)")))
        y, back = machine.apply(machine.value(), x)
        assert (y, machine.apply(back, 1.0).elements[:3]) == (0.0, (1.0, 0.0, 0.0))
        steps[name] = machine.steps
    assert steps["delta-vectors"] < 0.9 * steps["delta-array"]


POLYMORPHIC = r"""first : forall a. Vector a -> a = \(v : Vector a). index(v, 0);
    \(v : Vector R, w : Vector (R, R)). first[R] v * snd (first[(R, R)] w)"""


def test_polymorphic_functions_are_copied_for_each_kind_of_vector():
    program = parse_program(POLYMORPHIC.replace("snd (first[(R, R)] w)", "(let p = first[(R, R)] w in snd(p))"))
    machine = Machine(DELTAS["delta-vectors"].wrap(program))
    y, back = machine.apply(machine.value(), (Elements((2.0,)), Elements(((3.0, 5.0),))))
    assert (y, machine.apply(back, 1.0)) == (10.0, (Elements((5.0,)), Elements(((0.0, 2.0),))))


def test_data_with_a_vector_of_a_parameter_is_refused():
    program = parse_program(r"data V a = V (Vector a); \(v : V R). case v of {V(x) -> index(x, 0)}")
    with pytest.raises(IllTyped, match="V has a Vector of a parameter: delta-vectors needs its element type"):
        DELTAS["delta-vectors"].wrap(program)
    named = parse_program(r"data V = V (Vector R); \(v : V). case v of {V(x) -> index(x, 0) * 2.0}")
    machine = Machine(DELTAS["delta-vectors"].wrap(named))
    y, back = machine.apply(machine.value(), Made("V", (Elements((3.0, 1.0)),)))
    assert (y, machine.apply(back, 1.0)) == (6.0, Made("V", (Elements((2.0, 0.0)),)))
