"""Wang et al. 2019 in the calculus: its transformations agree with each other, with D4 and with differences."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from programs.calculus.calculus_cells import closed_programs_with_cells, program_with_cells
from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import Closed, closed_programs, open_terms
from test_calculus_properties import Run, gradient_is_that_of_differences, product, rebuilt, scalars, shape

from stages.calculus import Machine, check, check_term, evaluate, parse_program, parse_term, show_program
from stages.calculus.__main__ import main
from stages.calculus.continuations.evaluating import ControlError
from stages.calculus.continuations.table import CONTINUATIONS
from stages.calculus.continuations.terms import Assign, Read, Ref
from stages.calculus.language import types as ty
from stages.calculus.language.errors import CalculusError, IllTyped
from stages.calculus.language.kinds import same
from stages.calculus.language.terms import Var, subterms

pytest.importorskip("greenlet", reason="Fig. 10's metalanguage has shift and reset by greenlets")

FORWARD = ["fig4", "tagged"]
UNSHRUNK = [phase for phase in Phase if phase != Phase.shrink]  # shrinking takes minutes: the seed is printed
REVERSE = [name for name in CONTINUATIONS if name not in FORWARD]
few = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
many = settings(few, max_examples=300)


class Cells(Run):
    """A run of a program with cells; its gradient is Fig. 11's, since D4 refuses cells."""

    @property
    def gradient(self):
        found = scalars(transformed("cps", self.of, self.ct))
        assume(all(abs(r) < 1e4 for r in found))
        return found

    @property
    def magnitude(self):
        """Bounds for rounding errors: the size of terms that cancel is unknown, so 1,000 times the gradient."""
        return [1e3 * (1.0 + max(map(abs, self.gradient)))] * len(self.gradient)


def transformed(name, of: Closed, second):
    """The value of Transform[f] at the input, and a cotangent or a tangent."""
    machine = Machine(CONTINUATIONS[name].wrap(of.program))
    return machine.apply(machine.value(), (of.x, second))


def agree(run: Run, names) -> None:
    for name in names:
        if name in FORWARD:
            y, dy = transformed(name, run.of, rebuilt(run.x, run.direction))
            assert y == run.y
            found, expected = product(scalars(dy), scalars(run.ct)), product(run.gradient, run.direction)
            scale = math.fsum(abs(g * v) for g, v in zip(run.gradient, run.direction, strict=True))
            assert abs(found - expected) <= 1e-9 * scale or abs(found - expected) <= 1e-11 * sum(run.magnitude), name
        else:
            found = transformed(name, run.of, run.ct)
            assert shape(found) == shape(run.x)
            assert run.close(scalars(found), run.gradient), (name, found, run.gradient)


@few
@given(closed_programs())
def test_all_transformations_give_the_gradient_of_d4_and_the_tangent_of_forward_ad(of):
    agree(Run(of), CONTINUATIONS)


@few
@given(closed_programs_with_cells())
def test_with_cells_they_agree_with_each_other_and_with_differences(of):
    run = Cells(of)
    gradient_is_that_of_differences(run)
    agree(run, CONTINUATIONS)


@pytest.mark.slow
@many
@given(closed_programs_with_cells())
def test_many_programs_with_cells(of):
    run = Cells(of)
    gradient_is_that_of_differences(run)
    agree(run, CONTINUATIONS)


@pytest.mark.slow
@many
@given(closed_programs())
def test_many_programs(of):
    agree(Run(of), CONTINUATIONS)


def test_the_generator_writes_cells_and_what_they_hold_matters():
    import random

    rng, depends = random.Random(0), 0
    found: set[type] = set()
    for _ in range(60):
        of = program_with_cells(rng.randbytes(500))
        todo = [of.program.term]
        while todo:
            found.add(type(part := todo.pop()))
            todo.extend(subterms(part))
        y, z = (evaluate(of.program, rebuilt(of.x, [r + d for r in scalars(of.x)])) for d in (0.0, 0.1))
        depends += y != z
    assert {Ref, Read, Assign} <= found
    assert depends > 30


# ---- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fig4", "shift-reset"])
@few
@given(open_terms())
def test_if_e_has_type_t_in_g_then_d_e_has_type_d_t_in_d_g(name, of):
    D = CONTINUATIONS[name](of.c, DATA, of.names)  # noqa: N806
    found = check_term(D.term(of.term), D.environment(of.environment), D.declarations(), D.language)
    assert same(found, D.type(of.type), D.declarations())


@pytest.mark.parametrize("name", ["cps", "meta", "functional"])
@few
@given(open_terms())
def test_d_e_k_has_the_type_of_answers_in_d_g(name, of):
    D = CONTINUATIONS[name](of.c, DATA, of.names | {"k"})  # noqa: N806
    state = (Var("next_id"),) if name == "functional" else ()
    term = D.prepared(of.term, dict(of.environment))
    made = D.cps(term, state, D.applied(Var("k_of_the_whole")))
    environment = {**D.environment(of.environment), "k_of_the_whole": D.continuation(D.type(of.type))}
    found = check_term(made, {**environment, "next_id": ty.INT} if state else environment, D.declarations(), D.language)
    assert same(found, D.answer(), D.declarations())


@pytest.mark.parametrize("name", CONTINUATIONS)
@few
@given(closed_programs_with_cells())
def test_transform_has_its_type_and_is_text_that_can_be_read_back(name, of):
    program = CONTINUATIONS[name].wrap(of.program)
    wanted = ty.Arrow(ty.Pair(of.source, of.target), of.source)
    if name in FORWARD:
        wanted = ty.Arrow(ty.Pair(of.source, of.source), ty.Pair(of.target, of.target))
    assert same(check(program, CONTINUATIONS[name].language), wanted, program.declarations)
    text = show_program(program)
    assert show_program(parse_program(text, cells=True)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("!1.0", "only cells are read and written, and this is ℝ: make one by ref(..)"),
        ("ref(1.0) := ()", "the content of this cell has type ℝ, and this is ()"),
        ("reset(1.0)", "what stands in reset (its answer) has type (), and this is ℝ"),
        ("shift k : R in k 1.0 + 2.0", "an argument of add has type ℝ, and this is ()"),
        ("shift k : R in 1.0", "the body of a shift (there is one type of answers) has type (), and this is ℝ"),
        (r"grad(\(x : R). (x, x), 1.0)", "grad's function has type ℝ → ℝ, and this is ℝ → (ℝ, ℝ)"),
    ],
)
def test_ill_typed_terms(text, said):
    with pytest.raises(IllTyped) as error:
        check_term(parse_term(text, cells=True), language="control")
    assert said in str(error.value)


@pytest.mark.parametrize("language", ["source", "D1", "D4"])
def test_other_languages_have_no_cells(language):
    with pytest.raises(IllTyped, match="has no such term: cells are for --to fig4"):
        check_term(parse_term("ref(1.0)"), language=language)


# ---- evaluation ------------------------------------------------------------------------------------------------------


def run(text, *arguments):
    program = parse_program(text, cells=True)
    check(program, "control")
    return evaluate(program, *arguments)


def test_cells_are_shared_and_evaluated_from_left_to_right():
    assert run("let c = ref(1.0) in let d = c in let _ = d := 2.0 in !c") == 2.0
    assert run("let c = ref(1.0) in (!c, let _ = c := 5.0 in !c)") == (1.0, 5.0)
    assert run(r"let c = ref(1.0) in let f = \(x : R). let _ = c := !c + x in !c in f 1.0 * f 2.0") == 2.0 * 4.0


def test_shift_takes_what_is_left_of_reset():
    assert run("let c = ref(1.0) in let _ = reset(c := 10.0 * (shift k : R in k 2.0)) in !c") == 20.0
    assert run("let c = ref(1.0) in let _ = reset(c := 10.0 * (shift k : R in ())) in !c") == 1.0  # k is dropped
    back = "let c = ref(0.0) in let _ = reset(let x = shift k : R in let _ = k 3.0 in c := !c + 1.0 in c := x) in !c"
    assert run(back) == 4.0  # there, and back again
    inner = "let c = ref(0.0) in let _ = reset(let _ = reset(let x = shift k : R in () in c := 7.0) in c := 2.0) in !c"
    assert run(inner) == 2.0  # up to the nearest reset
    escaped = (
        r"let f = ref(\(x : R). ()) in let c = ref(0.0) in let _ = reset(c := (shift k : R in f := k)) in (!f) 9.0"
    )
    assert run(f"let c = {escaped} in c") == ()  # called when its reset has ended


def test_control_that_cannot_be():
    with pytest.raises(ControlError, match=r"a shift outside of reset: write reset\(..\) around"):
        run("shift k : () in k ()")
    with pytest.raises(ControlError, match="one-shot, and was called a second time"):
        run("reset(let x = shift k : R in let _ = k 1.0 in k 2.0 in ())")
    with pytest.raises(CalculusError, match="has a value in a transformed program only"):
        run(r"grad(\(x : R). x, 1.0)")


def test_deep_recursion_waits_in_memory():
    loop = r"letrec f : (R, Int) -> R = \(x : R, n : Int). if n ==# 0 then x else f (x * 1.0, n -# 1)"
    text = rf"{loop} in \(x : R). f (x, 1000)"
    for name in REVERSE:
        assert evaluate(CONTINUATIONS[name].wrap(parse_program(text)), (2.0, 1.0)) == 1.0


def test_variables_are_not_captured_and_effects_stay_in_order():
    """The paper's rules put `!c` where its continuation uses it, after the second component has written the cell."""
    ordered = parse_program(
        r"\(x : R). let c = ref(x) in let p = (!c, let _ = c := 5.0 in !c) in fst(p) * snd(p)", True
    )
    assert evaluate(ordered, 3.0) == 15.0
    hidden = parse_program(r"\(x : R). (let y = x * x in let x = y * y in x) * x * (let x = 2.0 in x)")
    for name in REVERSE:
        assert evaluate(CONTINUATIONS[name].wrap(ordered), (3.0, 1.0)) == 5.0
        assert evaluate(CONTINUATIONS[name].wrap(hidden), (3.0, 1.0)) == 10 * 3.0**4


# ---- derivatives of derivatives --------------------------------------------------------------------------------------


def gradient_of(name, text):
    r"""\(x : R). Transform[f] (x, 1.0), as a program"""
    program = CONTINUATIONS[name].wrap(parse_program(text, cells=True))
    return text_of(program)


def text_of(program):
    whole = show_program(program)
    head, _, term = whole.rpartition(";\n\n")
    return f"{head};\n" * bool(head) + rf"\(x : R). ({term}) (x, 1.0)"


@pytest.mark.parametrize("name", CONTINUATIONS)
@pytest.mark.parametrize("inner", ["cps", "meta", "functional"])
def test_what_cps_gives_can_be_differentiated_again(name, inner):
    """2 x + x^3 twice, by every transformation over reverse AD in continuation-passing style: 6 x."""
    program = parse_program(gradient_of(inner, r"\(x : R). 2.0 * x + x * x * x"), cells=True)
    if inner == "functional":
        with pytest.raises(IllTyped, match="has no such term"):  # no rule has maps
            CONTINUATIONS[name].wrap(program)
        return
    found = evaluate(CONTINUATIONS[name].wrap(program), (3.0, 1.0))
    assert found == ((29.0, 18.0) if name in FORWARD else 18.0)


def test_what_is_nested_too_deeply_is_refused():
    program = parse_program(r"\(x : R). " + "let x = x + x in " * 2000 + "x")
    with pytest.raises(IllTyped, match="nested too deeply to transform"):
        CONTINUATIONS["cps"].wrap(program)


def test_three_times():
    text = r"\(x : R). sin(x) * x"
    for _ in range(2):
        text = gradient_of("cps", text)
    _, third = evaluate(CONTINUATIONS["fig4"].wrap(parse_program(text, cells=True)), (0.7, 1.0))
    assert third == pytest.approx(-3 * math.sin(0.7) - 0.7 * math.cos(0.7), rel=1e-13)


def test_tags_keep_perturbations_apart():
    """Section 2.4: 1, and 2 without tags; and a derivative within one within one."""
    confused = parse_program(r"\(x : R). x * grad(\(y : R). x + y, 1.0)", cells=True)
    assert evaluate(CONTINUATIONS["tagged"].wrap(confused), (1.0, 1.0)) == (1.0, 1.0)
    assert evaluate(CONTINUATIONS["fig4"].wrap(confused), (1.0, 1.0)) == (2.0, 2.0)
    nested = parse_program(r"\(x : R). grad(\(y : R). grad(\(z : R). sin(x * y) * exp(z * x), y), x)", cells=True)
    x, h = 0.6, 1e-5

    def inner(x):  # d/dy of x sin(x y) exp(x y) at y = x
        s, c, e = math.sin(x * x), math.cos(x * x), math.exp(x * x)
        return x * x * e * (s + c)

    y, dy = evaluate(CONTINUATIONS["tagged"].wrap(nested), (x, 1.0))
    assert y == pytest.approx(inner(x), rel=1e-12)
    assert dy == pytest.approx((inner(x + h) - inner(x - h)) / (2 * h), rel=1e-8)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTINUATIONS)
@pytest.mark.parametrize("more", [[], ["--wrap"], ["--exact"], ["--wrap", "--exact"]])
def test_what_is_printed_can_be_read_back_and_has_the_type_that_is_printed(capsys, name, more):
    source = r"\(x : R). let c = ref(x) in let _ = c := !c * x in !c"
    assert main([source, "--to", name, *more]) == 0
    program = parse_program(capsys.readouterr().out, cells=True)
    assert main([source, "--to", name, *more, "--type", "--ascii"]) == 0
    printed = capsys.readouterr().out
    assert main([source, "--to", name, *more, "--latex"]) == 0
    from stages.calculus import show_type

    assert printed.strip() == show_type(check(program, CONTINUATIONS[name].language), ascii=True)


def test_the_page_shows_what_the_command_prints(capsys):
    page = (Path(__file__).parents[2] / "docs" / "calculus.md").read_text(encoding="utf-8")
    ((program, shown),) = re.findall(r'calculus "([^\n]*)" --to cps --wrap\n```\n\n```\n(.*?)```', page, re.DOTALL)
    assert main([program, "--to", "cps", "--wrap"]) == 0
    assert capsys.readouterr().out == shown
    rows = re.findall(r"^\| `([\w-]+)` \| (?:figure|\d|section)", page, re.MULTILINE)
    assert rows == ["--to", *CONTINUATIONS]


def test_what_the_command_prints(capsys):
    assert main(["--to", "cps", "--ascii"]) == 0
    assert (
        capsys.readouterr().out
        == r"""\((x : R, dx : Ref R), y : R, dy : Ref R). \(k1 : (R, Ref R) -> ()).
  let (y1, d3) = (x + y, ref(0.0)) in
  let (z, dz) = (y1, d3) in
  let (y2, d6) = (x * z, ref(0.0)) in
  let _ = k1 (y2, d6) in
  let _ = dx := !dx + !d6 * z in
  let _ = dz := !dz + !d6 * x in
  let _ = dx := !dx + !d3 in
  dy := !dy + !d3
"""
    )
    for name in CONTINUATIONS:
        assert main(["--to", name, "--run", "3,4"]) == 0
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith("tangent    42.0   (" if name in FORWARD else "cotangent  (10.0, 3.0)   (")
    assert main([r"\(x : R). let c = ref(x) in !c", "--run", "3"]) == 0
    assert capsys.readouterr().out.startswith("value      3.0   (")
    assert main([r"\(x : R). reset(shift k : () in k ())", "--to", "cps"]) == 1
    assert "the language cells has no such term" in capsys.readouterr().err
