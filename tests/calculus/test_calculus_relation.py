"""Theorems 8 and 9 of Krawiec et al. 2022, as properties of generated terms and of the paper's own programs."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import closed_programs, open_terms
from programs.calculus.calculus_vectors import open_terms_with_vectors
from test_calculus_properties import Run, gradient_is_that_of_differences, scalars

from stages.calculus import TRANSFORMATIONS, Machine, Program, check, parse_program, parse_type
from stages.calculus.complexity import FAMILIES
from stages.calculus.deltas.monadic import Monadic
from stages.calculus.deltas.relation import Relation
from stages.calculus.deltas.vectorised import Vectorised
from stages.calculus.deltas.world import World, delta
from stages.calculus.language.errors import StepLimit, Unrelated
from stages.calculus.language.values import Made
from stages.relatives.deltas.delta_data import Let
from stages.relatives.deltas.meaning import meaning, one_hots

UNSHRUNK = [phase for phase in Phase if phase != Phase.shrink]
few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)

S = parse_type("(R, (R, R))")  # of three scalars
ZERO = (0.0, (0.0, 0.0))


FUNCTIONS = [r"\(u : R). u * sin(u)", r"\(u : R). 2.0", r"\(u : (R, R)). fst(u) * snd(u) + 1.0", r"\(n : Int). real(n)"]


def machines(term, environment, known, names):
    """D_S[t] and D[t] of a term, evaluators for them, and the relation between their values."""
    found = []
    for D in (Vectorised, Monadic):  # noqa: N806
        one = D(S, known, frozenset(names) | set(environment))
        image = one.term(term)
        found.append((image, Machine(Program(image, one.declarations(), one.interface()), 200_000), one))
    (whole, first, vectorised), (monadic, second, _) = found
    first.environment[vectorised.nothing.name] = ZERO
    relation = Relation(known, first, second, ZERO)
    relation.functions = [related_function(text, relation, vectorised) for text in FUNCTIONS]
    return whole, monadic, relation


def related_function(text, relation, vectorised):
    """A closed function's images, which are arguments for others: they are related, if Theorem 8 holds for them."""
    function = parse_program(text).term
    v = relation.whole.run(vectorised.term(function), relation.whole.environment)
    image = Monadic(S, relation.known).term(function)
    w, _ = relation.monadic.apply(relation.monadic.run(image, relation.monadic.environment), World.start(3).state)
    return check(Program(function)), v, w


def theorem_8(term, kind, environment, known, names, seed=0):
    """(g; [[e]], g'; [[D{e}]]) in E_A(C), for related environments (g, g') in a world C."""
    whole, monadic, relation = machines(term, environment, known, names)
    relation.rng = random.Random(seed)
    world = World.start(3)
    _, _, world = relation.number(world)  # a world that is not empty
    g, g1 = {}, {}
    for x, of in environment.items():
        g[x], g1[x], world = relation.argument(of, world)
    try:
        v = relation.whole.run(whole, {**relation.whole.environment, **g})
        m = relation.monadic.run(monadic, {**relation.monadic.environment, **g1})
        later = relation.computations(kind, v, m, world)
    except (StepLimit, ArithmeticError, ValueError, IndexError):
        assume(False)
    _, _, further = relation.number(later)
    relation.values(kind, v, relation.monadic.apply(m, world.state)[0], further)  # Lemma 7


@few
@given(open_terms())
def test_theorem_8_a_term_and_its_translation_are_related(of):
    theorem_8(of.term, of.type, of.environment, DATA, of.names)


@few
@given(open_terms_with_vectors())
def test_theorem_8_with_vectors(of):
    theorem_8(of.term, of.type, of.environment, DATA, of.names)


@pytest.mark.slow
@settings(few, max_examples=1000)
@given(open_terms())
def test_theorem_8_for_many_terms(of):
    theorem_8(of.term, of.type, of.environment, DATA, of.names)


TERMS = {  # of the paper, each with its type, in x, y : R and f : R -> R
    "2.0": "R",
    "x + y": "R",
    "x * y": "R",
    "sin(x)": "R",
    "atan2(y, x)": "R",
    "let z = x + y in x * z": "R",
    r"\(u : R). u * sin(u)": "R -> R",
    "let y = f x in y + y": "R",
    "(x, (y, 3))": "(R, (R, Int))",
    "fst((x, y))": "R",
    "f (f x)": "R",
    r"\(g : R -> R). g (g x)": "(R -> R) -> R",
    "inl[R + Int](x)": "R + Int",
    "case inl[R + Int](x) of {inl(u) -> u * u; inr(k) -> y}": "R",
    r"letrec p : (Int, R) -> R = \(n : Int, z : R). if n <# 1 then z else p (n -# 1, z * x) in p (5, y)": "R",
    r"index(build(3, \(i : Int). x * real(i)), 2)": "R",
}


@pytest.mark.parametrize("text", TERMS)
def test_theorem_8_for_the_terms_of_the_paper(text):
    environment = {"x": parse_type("R"), "y": parse_type("R"), "f": parse_type("R -> R")}
    program = parse_program(text)
    for seed in range(5):
        theorem_8(program.term, parse_type(TERMS[text]), environment, DATA, [], seed)


@pytest.mark.parametrize("broken", ["value", "delta", "binding"])
def test_what_is_not_related(broken):
    """The check sees a wrong number, a Delta of another meaning, and a Delta that is not bound."""
    term = parse_program("x * y").term
    environment = {"x": parse_type("R"), "y": parse_type("R")}
    whole, monadic, relation = machines(term, environment, DATA, [])
    world, g, g1 = World.start(3), {}, {}
    for x in environment:
        g[x], g1[x], world = relation.number(world)
    v = relation.whole.run(whole, {**relation.whole.environment, **g})
    w, state = relation.monadic.apply(
        relation.monadic.run(monadic, {**relation.monadic.environment, **g1}), world.state
    )
    later = world.after(state)
    relation.values(parse_type("R"), v, w, later)
    x, u = w
    wrong = {
        "value": (x + 1.0, u),
        "delta": (x, Made("Var", (0,))),
        "binding": (x, state[1].fields[0][1]),
    }[broken]
    with pytest.raises(Unrelated):
        relation.values(parse_type("R"), v, wrong, later)


def test_a_world_that_forgets_or_binds_twice_is_refused():
    world = World.start(2)
    i, later = world.binding(Made("Var", (0,)))
    assert i == 2
    with pytest.raises(Unrelated, match="a later world has the bindings of the earlier one"):
        later.after(world.state)
    with pytest.raises(Unrelated, match="the id 2 is bound twice"):
        later.after((4, Made("Cons", ((2, Made("Var", (1,))), later.state[1]))))


# ---- Theorem 9 -------------------------------------------------------------------------------------------------------


def get(binds, u):
    """get [] u = u; get ((y, delta) : C) u = get C (Let y delta u)"""
    while binds.name == "Cons":
        (y, bound), binds = binds.fields
        u = Let(y, delta(bound), u)
    return u


def theorem_9(program, x):
    """[[get C' z]] phi of D{e} at x is the row of the Jacobian, for e : S -> R with a scalars in S."""
    kind = check(program, "source")
    made = Monadic.of(program, kind)
    machine = Machine(made)
    a = len(scalars(x))
    ids = iter(range(a))

    def dual(value):
        if isinstance(value, float):
            return value, Made("Var", (next(ids),))
        if isinstance(value, Made):
            name = value.name if value.name in ("inl", "inr") else f"D{value.name}"
            return Made(name, tuple(map(dual, value.fields)))
        return tuple(map(dual, value)) if isinstance(value, tuple) else value

    f, state = machine.apply(machine.value(), (a, Made("Nil", ())))
    (y, u), (_, binds) = machine.apply(f, dual(x), state)
    return y, meaning(get(binds, delta(u)), one_hots(a), a)


def jacobian(program, x):
    """The Jacobian of e : S -> R at x, a column for each direction, by forward AD."""
    machine = Machine(TRANSFORMATIONS["forward"].wrap(program))
    wrap, size, found = machine.value(), len(scalars(x)), []
    for k in range(size):
        left = iter(range(size))

        def direction(value, left=left, k=k):
            if isinstance(value, float):
                return float(next(left) == k)
            if isinstance(value, Made):
                return Made(value.name, tuple(direction(part) for part in value.fields))
            return tuple(direction(part) for part in value) if isinstance(value, tuple) else value

        found.append(machine.apply(wrap, (x, direction(x)))[1])
    return found


PROGRAMS = {
    "fig1": (r"\(x : R, y : R). let z = x + y in x * z", (3.0, 4.0)),
    "sin": (r"\(x : R). x * sin(x)", 0.7),
    "atan2": (r"\(x : R, y : R). atan2(y, x) * x", (1.5, -0.5)),
    "twice": (r"\(x : R, y : R). let f = \(g : R -> R). \(u : R). g (g u) in f (\(u : R). u * y) x", (2.0, 3.0)),
    "sum": (r"\(s : R + (R, R), x : R). case s of {inl(u) -> u * x; inr(p) -> fst(p)}", (Made("inl", (2.0,)), 3.0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_theorem_9_the_meaning_is_the_row_of_the_jacobian(name):
    text, x = PROGRAMS[name]
    program = parse_program(text)
    y, row = theorem_9(program, x)
    assert y == Machine(program).apply(Machine(program).value(), x)
    assert list(row) == pytest.approx(jacobian(program, x), rel=1e-14)


@pytest.mark.parametrize("name", FAMILIES)
def test_theorem_9_for_the_programs_of_the_criterion(name):
    program, x = FAMILIES[name].make(6)
    _, row = theorem_9(program, x)
    assert list(row) == jacobian(program, x)


# ---- Fig. 5: what the numbers of the relation are --------------------------------------------------------------------


@few
@given(closed_programs())
def test_fig_6_has_the_gradient_of_d4_and_of_differences(of):
    run = Run(of)
    machine = Machine(Vectorised.wrap(of.program))
    y, pullback = machine.apply(machine.value(), run.x)
    assert y == run.y
    found = scalars(machine.apply(pullback, run.ct))
    assume(not any(map(math.isnan, found)))  # 0 times an infinite partial derivative: vectors are dense
    assert run.close(found, run.gradient)
    gradient_is_that_of_differences(run)
