"""`python -m stages.calculus`, and the readable form in which it prints derivatives."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stages.__main__ import main as compare
from stages.calculus import TRANSFORMATIONS, Machine, check, evaluate, parse_program, show_program, show_type
from stages.calculus.__main__ import main
from stages.calculus.complexity import FAMILIES
from stages.calculus.readable import readable

FIG1 = r"\(x : R, y : R). let z = x + y in x * z"


@pytest.fixture
def printed(capsys):
    def run(*words):
        code = main(words)
        found = capsys.readouterr()
        return code, found.out if code == 0 else found.err

    return run


def test_fig_1_as_it_is_printed_in_the_paper(printed):
    """(b) forward, (c) reverse."""
    assert printed(FIG1, "--ascii") == (0, FIG1 + "\n")
    forward = r"""\((x : R, dx : R), y : R, dy : R).
  let (z, dz) = (x + y, partial 1 add(x, y)(dx) + partial 2 add(x, y)(dy)) in
  (x * z, partial 1 mul(x, z)(dx) + partial 2 mul(x, z)(dz))
"""
    assert printed(FIG1, "--ascii", "--to", "forward") == (0, forward)
    reverse = r"""\((x : R, dx : R -o (R, R)), y : R, dy : R -o (R, R)).
  let (z, dz) = (x + y, \_(z1 : R). dx (partial 1 add(x, y)(z1)) + dy (partial 2 add(x, y)(z1))) in
  (x * z, \_(z2 : R). dx (partial 1 mul(x, z)(z2)) + dz (partial 2 mul(x, z)(z2)))
"""
    assert printed(FIG1, "--ascii", "--to", "D1") == (0, reverse)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_printed_can_be_read_back_and_has_the_type_that_is_printed(printed, name, wrap, exact):
    words = [FIG1, "--to", name, *["--wrap"] * wrap, *["--exact"] * exact]
    _, text = printed(*words)
    _, kind = printed(*words, "--type", "--ascii")
    _, ascii_text = printed(*words, "--ascii")
    assert ascii_text.isascii()
    program = parse_program(text)
    assert program == parse_program(ascii_text)
    assert show_program(program) + "\n" == text
    assert main([*words, "--type"]) == 0
    assert kind.strip() == show_type(check(program), ascii=True)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", [name for name in TRANSFORMATIONS if name != "forward"])
def test_the_readable_form_means_the_same(family, name):
    source, x = FAMILIES[family].make(4)
    plain = TRANSFORMATIONS[name].wrap(source)
    short = readable(plain)
    assert check(short) == check(plain)
    assert len(show_program(short)) < len(show_program(plain))
    assert evaluate(short, x)[0] == evaluate(plain, x)[0]
    assert evaluate_pullback(short, x) == evaluate_pullback(plain, x)


@pytest.mark.parametrize("name", [name for name in TRANSFORMATIONS if name != "forward"])
def test_the_readable_form_of_a_name_that_hides_another(name):
    """`readable` moves a let outwards although its name hides a variable, or stands in its own definition."""
    source = parse_program(r"\(w : R). let u = w in let y = (let w = u * u in w + 1.0) in u + y")
    short = readable(TRANSFORMATIONS[name].wrap(source))
    assert evaluate(short, 3.0)[0] == evaluate(source, 3.0) == 13.0
    assert evaluate_pullback(short, 3.0) == 7.0
    source = parse_program(r"\(e : (R, (R, R))). let x = (let e = fst(snd(e)) in sin(e) * e) in x")
    short = readable(TRANSFORMATIONS[name].wrap(source))
    check(short, "D4")
    assert evaluate(short, (1.0, (2.0, 3.0)))[0] == 2.0 * math.sin(2.0)


def evaluate_pullback(program, x):
    machine = Machine(program)
    return machine.apply(machine.apply(machine.value(), x)[1], 1.0)


def test_run_prints_value_gradient_and_steps(printed):
    assert printed(FIG1, "--run", "3,4") == (0, "value      21.0   (14 steps)\n")
    code, text = printed(FIG1, "--run", "3, 4", "--to", "D4", "--cotangent", "2")
    assert code == 0
    assert text.splitlines()[1].startswith("cotangent  (20.0, 6.0)   (")
    assert "tangent    10.0" in printed(FIG1, "--run", "3,4", "--to", "forward", "--cotangent", "(1, 0)")[1]


def test_latex_and_types(printed):
    assert printed(FIG1, "--type") == (0, "(ℝ, ℝ) → ℝ\n")
    assert r"\underline{\lambda}" in printed(FIG1, "--to", "D1", "--latex")[1]
    assert printed(FIG1, "--to", "D1", "--wrap", "--type", "--latex") == (
        0,
        r"(\mathbb{R}, \mathbb{R}) \to (\mathbb{R}, \mathbb{R} \multimap (\mathbb{R}, \mathbb{R}))" + "\n",
    )


def test_programs_and_python_functions(printed, tmp_path):
    assert "letrec f" in printed("--program", "doublings")[1]
    file = tmp_path / "model.py"
    file.write_text("def f(x: float, y: float) -> float:\n    z = x + y\n    return x * z\n")
    assert printed("--file", f"{file}:f", "--ascii") == (0, FIG1 + "\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([r"\(x : R). fst(x)"], "a projection takes a pair, and this is ℝ"),
        ([r"\(x : R). "], "line 1"),
        ([FIG1, "--run", "(1, 2, 3)"], "(2, 3) is no value of the type ℝ"),
        ([FIG1, "--run", "one"], "there is no variable one here"),
        ([FIG1, "--run", "1, 2", "--to", "D4", "--cotangent", "(1, 2)"], "(1, 2) is no value of the type ℝ"),
        ([r"letrec f : R -> R = \(x : R). f x in f", "--run", "1", "--limit", "1e4"], "more than 10,000 steps"),
        ([r"\(f : R -> R). f 1.0", "--to", "D1", "--wrap"], "with a function in it"),
        (["data F = FN | FC R F; FC(1.0, FN)"], "FC is a constructor of F, so write FC[F](.., ..)"),
        (["data L a = Nil | Cons a (L a); Nil[R]"], "Nil is a constructor of L, so write Nil[L a], as Nil[L R]"),
        (["data L a = Nil | Cons a (L a); Nil[R + R]"], "ℝ + ℝ has no constructor Nil; it has inl, inr: Nil is a"),
    ],
)
def test_what_is_refused_says_why(printed, words, said):
    code, text = printed(*words)
    assert code == 1
    assert said in text


@pytest.mark.parametrize("to", list(TRANSFORMATIONS))
def test_the_derivative_of_a_function_of_functions_has_a_type(to, printed):
    """With c = (), as a program has that is no function of data."""
    code, text = printed(r"\(f : R -> R). f 3.0", "--to", to, "--type", "--ascii")
    assert code == 0
    cotangents = {"forward": "(R, R)", "D1": "(R, R -o ())", "contrib": "(R, Int, Contrib)", "tape": "(R, Int)"}
    assert cotangents.get(to, "(R, Int, R -o Staged") in text


def test_a_union_of_a_file_given_by_its_path(tmp_path, printed):
    file = tmp_path / "uni.py"
    file.write_text(UNION)
    assert "case v of {" in printed("--file", f"{file}:f", "--to", "D1")[1]
    code, text = printed("--file", f"{file}:g")
    assert code == 1
    assert "A | B is no type of the calculus; make the classes dataclasses, write T = union('T', A, B)" in text


UNION = """
from dataclasses import dataclass
from stages.calculus.python import union

@dataclass
class A:
    x: float

@dataclass
class B:
    left: "AB"

AB = union("AB", A, B)

def f(v: AB) -> float:
    match v:
        case A(x): return x * x
        case B(l): return f(l)

def g(v: A | B) -> float:
    return 1.0
"""


def test_an_error_of_python_s_keeps_its_words(printed):
    """They differ between versions."""
    with pytest.raises(ValueError, match=r"domain error|positive input") as plain:
        math.log(-1.0)
    code, text = printed(r"\(x : R). log(x)", "--run", "-1")
    assert code == 1
    assert f": {plain.value}: log(-1.0)\n" in text
    assert text.endswith("λ(x : ℝ). log(x)\n          ^^^^^^\n")  # and its place


@pytest.mark.parametrize(
    "words", [[FIG1, "--program", "deep"], ["--wrap"], ["--file", "nowhere.py:f"], ["1.0", "--run", "3"]]
)
def test_wrong_command_lines(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("python -m stages.calculus: ")


def test_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "stages.calculus", "--run", "3,4"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert done.stdout == "value      21.0   (14 steps)\n"


def test_a_pipe_with_the_encoding_of_windows_gets_utf_8():
    done = subprocess.run(
        [sys.executable, "-m", "stages.calculus", "--to", "D1"],
        capture_output=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        check=True,
    )
    assert "λ̲(z1 : ℝ)" in done.stdout.decode()


def test_the_comparison_of_stages_shows_the_derivative_as_a_program(capsys):
    assert compare(["--program", "fig1", "--stage", "naive", "--stage", "tape", "--derivative"]) == 0
    found = capsys.readouterr().out
    assert "naive: the derivative as a program" in found
    assert "let (z, dz) = (x + y, λ̲(z1 : ℝ). dx (∂1 add(x, y)(z1)) + dy (∂2 add(x, y)(z1))) in" in found
    assert compare(["--program", "scalar_mult", "--size", "3", "--stage", "naive", "--derivative"]) == 0
    assert "data DList a = DNil | DCons a (DList a);" in capsys.readouterr().out
    assert compare(["--program", "rotate", "--size", "1", "--stage", "naive", "--derivative"]) == 0
    assert "an argument of type Vec3: programs take numbers, and tuples and lists of them" in capsys.readouterr().out
