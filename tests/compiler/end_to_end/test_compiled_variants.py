"""The variants of the random campaign: each finds a fault that is planted, and nothing where there is none."""

import ast
import contextlib
import copy
import dataclasses
import itertools
import math
import random
import sys

import numpy as np
import pytest
from fuzzing import campaign, second
from fuzzing.campaign import main
from fuzzing.renaming import with_hostile_names
from fuzzing.running import Discarded, Failed, arguments, plain, reals
from fuzzing.second import with_a_called_gradient, with_another_first_argument
from fuzzing.special import special_arguments, with_singular_functions
from fuzzing.variants import VARIANTS, check, numbered, of_order
from programs.generators.exits import with_exits
from programs.generators.generator import Program, program

import dualrev as dr
from dualrev.compiler.ir.core import atoms, nodes, traverse
from dualrev.rules.primitives import PRIMITIVES

HEAD = "import math\nimport numpy as np\nfrom numba import njit\n@njit\n"


def by_tape(of, change=lambda value, gradients: (value, gradients)):
    """A value_and_grad that leaves and raises what f does; the tape's answer is changed where the tests say so."""

    def value_and_grad(f, argnums):
        def both(*xs):
            copies, value = copy.deepcopy(xs), f(*xs)
            return change(value, dr.value_and_grad(plain(of.source, dr.numpy, dr.numpy), argnums)(*copies)[1])

        return both

    return value_and_grad


def jvp_by_tape(of, change=lambda tangent: tangent):
    def jvp(f, primals, tangents):
        copies, value = copy.deepcopy(primals), f(*primals)
        return value, change(dr.jvp(plain(of.source, dr.numpy, dr.numpy), copies, tangents)[1])

    return jvp


# Forward mode

SMOOTH = Program(
    HEAD + "def f(x, a):\n    a[0] *= x\n    return math.sin(a[0]) * a[1] + x\n", ("0.4", "np.array([0.3, 0.7])")
)


def test_forward_finds_a_tangent_that_is_wrong():
    of = dataclasses.replace(SMOOTH, forward=True)
    check(of, by_tape(of), jvp_by_tape(of))
    check(SMOOTH, by_tape(of), jvp_by_tape(of, lambda tangent: 2.0 * tangent))
    with pytest.raises(Failed, match=r"^tangent"):
        check(of, by_tape(of), jvp_by_tape(of, lambda tangent: (1.0 + 1e-7) * tangent))


# Special values

SINGULAR = Program(
    HEAD + "def f(x, a):\n    return math.sqrt(x) * a[0] + a[1]\n",
    ("0.0", "np.array([0.0, 2.0])"),
    variant="special",
    forward=True,
)


def test_special_values_agree_with_the_tape():
    taped = dr.grad(plain(SINGULAR.source, dr.numpy, dr.numpy), (0, 1))(*arguments(SINGULAR))
    assert math.isnan(taped[0])
    check(SINGULAR, by_tape(SINGULAR), jvp_by_tape(SINGULAR))
    check(
        SINGULAR,
        by_tape(SINGULAR, lambda value, g: (value, (g[0] if math.isfinite(g[0]) else math.inf, g[1]))),
        jvp_by_tape(SINGULAR),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value, g: (value, (g[0], g[1] * math.inf)), "special gradient, only compiled is not finite"),
        (lambda value, g: (value, (g[0], g[1] + 1e-6)), "special gradient, another number"),
        (lambda value, g: (math.nan, g), "special value"),
    ],
    ids=["infinite", "other", "value"],
)
def test_special_values_that_are_wrong_are_found(change, message):
    with pytest.raises(Failed, match=f"^{message}"):
        check(SINGULAR, by_tape(SINGULAR, change), jvp_by_tape(SINGULAR))


def test_a_tangent_that_is_wrong_is_found():
    with pytest.raises(Failed, match="special tangent, another number"):
        check(SINGULAR, by_tape(SINGULAR), jvp_by_tape(SINGULAR, lambda tangent: 1.0))


def test_special_programs_have_special_values_and_singular_functions():
    changed = [with_singular_functions(program(f"special-{k}"), random.Random(k)) for k in range(80)]
    for text in ("math.sqrt(", "np.log(", "/ (", "np.where(", "** 0.5"):
        assert any(text in of.source for of in changed), text
    sets = [one.arguments for one in special_arguments(SINGULAR)]
    assert sets == [one.arguments for one in special_arguments(dataclasses.replace(SINGULAR, forward=False))]
    assert sets[0] == SINGULAR.arguments
    for value in ("np.nan", "np.inf", "-0.0", "e-3", "e308"):
        assert any(value in text for one in sets for text in one), value


def test_arguments_that_make_a_program_fail_are_said():
    """The first sets are right here; one of the others is not."""
    of = dataclasses.replace(SINGULAR, arguments=("0.5", "np.array([0.5, 2.0])"), forward=False)
    calls = itertools.count()
    wrong = by_tape(of, lambda value, g: (value, (g[0] + 1.0 * (next(calls) > 1), g[1])))
    with pytest.raises(Failed, match=r"^special gradient, another number: [^\n]*\nf\("):
        check(of, wrong)


def test_a_division_that_numba_drops_says_nothing():
    """The derivative raises as Python does; numba's f, after its list comprehension, has no division any more."""

    def raising(f, argnums):
        def derivative(x, a):
            if a[0] == 0.0:
                raise ZeroDivisionError("division by zero")
            return 2.0 * x, (2.0, np.zeros(2))

        return derivative

    text = "def f(x, a):\n    kept = [y for y in a]\n    spare = (x, a[0] ** (-1))\n    return 2.0 * x\n"
    given = {"arguments": ("0.5", "np.array([0.0, 2.0])"), "variant": "special"}
    of = Program(HEAD + text, **given)
    with contextlib.suppress(Discarded):
        check(of, raising)
    loose = HEAD.replace("@njit", "@njit(error_model='numpy')") + text
    drops = sys.version_info < (3, 12)  # later Pythons make no function of a comprehension, which numba would inline
    for source in [HEAD + text.replace("a[0] ** (-1)", "a[0]"), *[loose] * drops]:
        of = Program(source, **given)
        with pytest.raises(Failed, match=r"^ZeroDivisionError"):
            check(of, raising)


def test_what_numba_sorts_beside_nan_says_nothing():
    of = Program(
        HEAD + "def f(x, a):\n    return x + sorted([y for y in a])[0]\n",
        ("0.5", "np.array([0.3, 2.0])"),
        variant="special",
    )
    check(of, by_tape(of, lambda value, g: (value, g if math.isfinite(value) else (g[0], g[1][::-1]))))
    with pytest.raises(Failed, match="special gradient, another number"):
        check(of, by_tape(of, lambda value, g: (value, (g[0], g[1][::-1]))))


def test_at_special_values_the_derivative_raises_what_f_raises():
    of = Program(HEAD + "def f(x):\n    return 1.0 / (x * x)\n", ("1e-200",), variant="special")
    check(of, by_tape(of))
    with pytest.raises(Failed, match="error, reverse"):
        check(of, lambda f, argnums: lambda x: (math.inf, (math.nan,)))


# Exits in the middle

STOPS = Program(
    HEAD
    + """def f(stop, x, a):
    for i in range(2):
        a[i] *= x
        stop[0] -= 1
        if stop[0] == 0:
            raise ValueError('stopped', 3)
    return a[0] * a[1]
""",
    ("np.array([2])", "0.4", "np.array([0.3, 0.7])"),
    variant="raise",
    forward=True,
)


def test_exits_agree_where_all_is_right():
    check(STOPS, by_tape(STOPS), jvp_by_tape(STOPS))


def failing(fault):
    """As f, with a fault where f raises; `fault` gets the error and the arguments as f has left them."""

    def value_and_grad(f, argnums):
        def both(*xs):
            try:
                return by_tape(STOPS)(f, argnums)(*xs)
            except ValueError as error:
                return fault(error, xs)

        return both

    return value_and_grad


def raise_error(error):
    raise error


def not_left(error, xs):
    xs[2][1] += 1e-9
    raise error


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda error, xs: raise_error(ValueError("stopped", 4)), "error, reverse"),
        (lambda error, xs: raise_error(TypeError(*error.args)), "error, reverse"),
        (lambda error, xs: (1.0, (1.0, xs[2])), "error, reverse"),
        (not_left, "arguments after an error, reverse"),
    ],
    ids=["text", "class", "none", "arguments"],
)
def test_another_end_is_found(fault, message):
    with pytest.raises(Failed, match=f"^{message}"):
        check(STOPS, failing(fault), jvp_by_tape(STOPS))


def test_another_error_of_forward_mode_is_found():
    def jvp(f, primals, tangents):
        if primals[0][0] > 2:
            return jvp_by_tape(STOPS)(f, primals, tangents)
        raise ValueError("stopped", 4)

    with pytest.raises(Failed, match=r"^error, forward"):
        check(STOPS, by_tape(STOPS), jvp)


def test_what_is_left_over_from_a_call_that_raised_is_found():
    raised = []

    def value_and_grad(f, argnums):
        def both(*xs):
            try:
                value, (dx, da) = by_tape(STOPS)(f, argnums)(*xs)
            except ValueError:
                raised.append(True)
                raise
            return value, (dx + 1e-6 * len(raised), da)

        return both

    with pytest.raises(Failed, match="gradient, first call"):
        check(dataclasses.replace(STOPS, forward=False), value_and_grad)
    assert raised


def test_programs_stop_in_many_ways():
    """Half of them raise; others return or leave a loop; the passage is one that happens."""
    ends = {"raised": 0, "went on": 0}
    texts = ""
    for k in range(40):
        try:
            of = with_exits(program(f"exits-{k}"), random.Random(k))
        except Discarded:
            continue
        texts += of.source
        given = arguments(of, wide=True)
        try:
            with np.errstate(all="ignore"):
                plain(of.source, math, np)(*given)
            ends["went on"] += 1
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, ValueError):
            ends["raised"] += 1
        assert given[0][0] <= 0
    assert ends["raised"] >= 10, ends
    assert ends["went on"] >= 5, ends
    for word in ("raise ValueError('stopped', 3)", "break", "return 1.3 * x", "assert stop", "h1(stop, "):
        assert word in texts


# Names


def variables(source):
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    used = {x.id for f in functions for x in ast.walk(f) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    return used | {a.arg for f in functions for a in f.args.args}


def test_a_fault_that_comes_with_a_name_is_found():
    changed = with_hostile_names(SMOOTH, random.Random(0))
    names = variables(changed.source)
    assert len(names) == len(variables(SMOOTH.source))
    assert not names & variables(SMOOTH.source)

    def value_and_grad(f, argnums):
        clash = 1e-6 * bool(names & set(f.py_func.__code__.co_varnames))
        return by_tape(changed, lambda value, g: (value, (g[0] + clash, g[1])))(f, argnums)

    check(SMOOTH, value_and_grad)
    check(changed, by_tape(changed))
    with pytest.raises(Failed, match="gradient, first call"):
        check(changed, value_and_grad)


# The cache

CACHED = Program(HEAD + "def f(x):\n    return math.sin(x) * x\n", ("0.4",), variant="cache", forward=True)


def test_a_fresh_process_finds_the_same_in_the_cache():
    check(CACHED)


def test_a_fresh_process_that_compiles_again_is_found():
    with pytest.raises(Failed, match="cache, compiled again"):
        check(CACHED, by_tape(CACHED), jvp_by_tape(CACHED))


def test_a_fresh_process_with_another_last_bit_is_found():
    def value_and_grad(f, argnums):
        def both(x):
            value, (slope,) = dr.value_and_grad(f, argnums)(x)
            return value, (math.nextafter(slope, 2.0),)

        return both

    with pytest.raises(Failed, match="cache, another number"):
        check(CACHED, value_and_grad)


# Second derivatives

CURVED = Program(
    HEAD + "def f(a, x):\n    a[0] *= x\n    return math.sin(a[0]) * a[1] + x * x\n",
    ("np.array([0.3, 0.7])", "0.4"),
    variant="product",
)
ON_TAPE = plain(CURVED.source, dr.numpy, dr.numpy)


def hvp_by_tape(factor=1.0, error=0.0):
    """An hvp of CURVED, whose product is wrong by a factor, and what it leaves in the argument by an error."""

    def hvp(f):
        def product(a, p, x):
            gradient, given = dr.grad(ON_TAPE, (0, 1)), a.copy()
            f(a, x)
            a += error
            return factor * dr.jvp(lambda b: gradient(b, x)[0], (given,), (p,))[1]

        return product

    return hvp


def test_a_product_that_is_wrong_is_found():
    check(CURVED, hvp=hvp_by_tape())
    with pytest.raises(Failed, match=r"^product, first call"):
        check(CURVED, hvp=hvp_by_tape(factor=1.0 + 1e-7))
    with pytest.raises(Failed, match=r"^arguments, product, first call"):
        check(CURVED, hvp=hvp_by_tape(error=1e-9))


def test_a_hessian_that_is_wrong_is_found():
    def hessian_by_tape(factor):
        def hessian(f, argnums):
            def matrix(a, x):
                (first, across), last = dr.hessian(ON_TAPE, argnums)(a.copy(), x)
                f(a, x)
                return (first, factor * across), last

            return matrix

        return hessian

    of = dataclasses.replace(CURVED, variant="hessian")
    check(of, hessian=hessian_by_tape(1.0))
    with pytest.raises(Failed, match=r"^Hessian"):
        check(of, hessian=hessian_by_tape(1.0 + 1e-7))


def test_a_tape_that_is_wrong_is_found(monkeypatch):
    right = second._along
    monkeypatch.setattr(second, "_along", lambda *given: tuple(1.01 * x for x in right(*given)))
    with pytest.raises(Failed, match=r"^differences"):
        check(CURVED, hvp=hvp_by_tape())


@pytest.mark.parametrize(("passes", "message"), [(1, "core, slope"), (2, "core, second derivative")])
def test_core_with_tangents_that_is_wrong_is_found(monkeypatch, passes, message):
    """A tangent is set to another number, in what one pass or two of forward mode have made."""
    of = dataclasses.replace(CURVED, forward=True)
    check(of, hvp=hvp_by_tape())

    class Wrong(second.Forward):
        def function(self, f, chosen):
            made = super().function(f, chosen)
            deep = "t_{}" in {x.name for p in f.parameters for x in traverse.leaves(p)}
            if deep == (passes == 1):
                return made
            t = traverse.leaves(made.function.result)[-1]
            wrong = nodes.Real(t, PRIMITIVES["mul"], "*", (t, atoms.Constant(1.0 + 1e-7)), 0)
            return dataclasses.replace(
                made, function=dataclasses.replace(made.function, body=(*made.function.body, wrong))
            )

    monkeypatch.setattr(second, "Forward", Wrong)
    with pytest.raises(Failed, match=f"^{message}"):
        check(of, hvp=hvp_by_tape())


CALLS = dataclasses.replace(
    with_a_called_gradient(dataclasses.replace(CURVED, forward=True), random.Random(3)), variant="called"
)


def test_the_derivative_of_a_called_gradient_that_is_wrong_is_found():
    """The tape differentiates the gradient that the program calls, as differences do."""
    assert "derivative = dr." in CALLS.source
    check(CALLS, by_tape(CALLS), jvp_by_tape(CALLS))
    with pytest.raises(Failed, match="gradient, first call"):
        check(CALLS, by_tape(CALLS, lambda value, g: (value, (g[0], (1.0 + 1e-7) * g[1]))))


def test_a_called_gradient_that_is_refused_is_no_disagreement():
    of = dataclasses.replace(
        CALLS, source=CALLS.source.replace("a = np.copy(a_given)", "a = np.copy(a_given)\n    np.nextafter(a, 0.5)")
    )
    with pytest.raises(dr.errors.UnsupportedError, match="nextafter"):
        check(of)


def test_programs_call_gradients_in_many_ways():
    texts = []
    for k in range(30):
        of = program(f"calls-{k}", 4)
        try:
            made = with_a_called_gradient(of, random.Random(k))
        except Exception:  # plain Python raises
            continue
        texts.append(made.source.partition("import dualrev")[2])
        assert made.arguments == of.arguments
        value = plain(of.source, math, np)(*arguments(of, wide=True))
        assert plain(made.source.replace("\ndef f(", "\ndef g(") + "f = primal\n", math, np)(
            *arguments(made, wide=True)
        ) == pytest.approx(value, nan_ok=True)
    assert len(texts) >= 20
    for text in ("return math.tanh(y)", "for _ in range(2)", "dr.grad(primal, 0)", "np.sum(g", "[1] * "):
        assert any(text in found for found in texts), text


def test_every_argument_comes_first():
    firsts = set()
    for k in range(160):
        of = program(f"order-{k}", 3)
        made = with_another_first_argument(of, random.Random(k))
        assert sorted(made.arguments) == sorted(of.arguments)
        assert 0 in reals(arguments(made))
        head = made.arguments[0].partition("(")[0]
        firsts.add(head if head.isidentifier() or "." in head else "float")
    assert {"Pair", "np.array"} < firsts


def test_an_order_is_some_of_the_variants(monkeypatch):
    chosen = []
    monkeypatch.setattr(campaign, "campaign", lambda options: chosen.append(options.variants) or [])
    for words in ([], ["--order", "2"], ["--order", "3"], ["--order", "2", "--variants", "called"]):
        assert main([*words]) == 0
    assert chosen == [
        ["plain", "special", "raise", "names", "cache", "numba"],
        ["product", "hessian", "called", "curved"],
        ["third"],
        ["called"],
    ]
    assert [name for order in (1, 2, 3, 0) for name in of_order(order)] == [*VARIANTS]


# Which program is which


def test_programs_take_turns_and_can_be_made_again():
    names = ["plain", "special", "raise", "cache"]
    made = [numbered("turns", k, 6, names) for k in range(8)]
    assert [of.forward for of in made] == [True] * 4 + [False] * 4
    for k, of in enumerate(made):
        assert of.variant in (names[k % 4], "plain")
        assert of == numbered("turns", k, 6, names)
    assert {of.variant for of in made} == set(names)


def test_a_program_that_cannot_be_changed_is_a_plain_one(monkeypatch):
    def refuse(of, choices):
        raise Discarded("no exit is reached")

    monkeypatch.setitem(VARIANTS, "raise", dataclasses.replace(VARIANTS["raise"], change=refuse))
    assert numbered("turns", 0, 6, ["raise"]).variant == "plain"


def test_an_unknown_variant_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--variants", "plain,nonsense"])
    assert "nonsense: the variants are plain, special, raise, names, cache, numba, product, " in capsys.readouterr().err
