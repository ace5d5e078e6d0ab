"""The user's functions are read as they are, on every version of Python: their annotations, source and bytecode."""

import ast
import importlib.util
import inspect
import itertools
import linecache
import os
import pickle
import sys
import typing
import warnings
from pathlib import Path

import numba
import pytest
from support.oracle import assert_same

import dualrev as dr
import stages
from dualrev.compiler.bridge.cache.key import fingerprint
from dualrev.compiler.frontend.reading.source import read
from dualrev.diagnostics.signatures import signature
from dualrev.transformed import Wrapper
from stages.calculus.evaluate import evaluate
from stages.calculus.language.errors import NotTranslated
from stages.calculus.python.translate import translate
from stages.calculus.python.unions import to_value
from stages.comparison.page import code
from stages.comparison.page.build import Shown, page

later = pytest.mark.skipif(sys.version_info < (3, 14), reason="Python 3.14")


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Write a module and import it without warnings, as from compiled bytecode."""
    numbers = itertools.count()

    def made(text):
        file = tmp_path / f"read_{next(numbers)}.py"
        file.write_text(text)
        specification = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, file.stem, module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            specification.loader.exec_module(module)
        return module

    return made


# Annotations without a value

ANNOTATED = """
import dualrev as dr

def area(x: Length, n: Number = 2) -> Area:
    return x**n

def alone(x: Length) -> float:
    return x * 2.0

def returning(x: float) -> Area:
    return x * 2.0

def early(x: float) -> Later:
    return x * 2.0

Later = float

def forward(x, n):
    return x**n, x

@dr.checkpoint
def again(x: Length) -> Area:
    return x * x
"""


@later
def test_a_rule_is_for_a_function_whose_annotations_have_no_value(imported):
    module = imported(ANNOTATED)
    with pytest.raises(NameError, match="Length"):
        inspect.signature(module.area)
    assert str(signature(module.area)) == "(x: 'Length', n: 'Number' = 2) -> 'Area'"
    rule = dr.custom_vjp(module.area)
    rule.defvjp(module.forward, lambda x, ct: (10.0 * x * ct, None))  # not the derivative: so it is the rule's
    assert dr.value_and_grad(rule)(3.0) == (9.0, 30.0)
    assert dr.grad(lambda x: rule(n=3, x=x))(2.0) == 20.0
    for wrapped in (rule, dr.grad(module.area), module.again):
        assert str(signature(wrapped)).startswith("(x: 'Length'")
    assert dr.grad(module.again)(3.0) == 6.0
    assert dr.grad(pickle.loads(pickle.dumps(dr.checkpoint(module.area))))(3.0) == 6.0


@later
def test_the_comparison_names_parameters_whose_annotations_have_no_value(imported):
    f = imported(ANNOTATED).area
    result = stages.compare(f, 3.0, 2, stages=["naive", "tape"]).result
    assert result.gradient == [6.0]
    assert [stage.deviation for stage in result.stages] == [0.0, 0.0]
    html = page([Shown(f, (3.0, 2), result)])
    assert "<dt>x</dt><dd>3.0</dd>" in html
    assert "<dt>n</dt><dd>2</dd>" in html


@later
@pytest.mark.parametrize(("name", "wanting"), [("alone", "Length"), ("returning", "Area")])
def test_the_calculus_says_which_annotation_has_no_value(imported, name, wanting):
    f = getattr(imported(ANNOTATED), name)
    place = rf"{f.__code__.co_filename}:{f.__code__.co_firstlineno}: `{wanting}`: name '{wanting}' is not defined"
    with pytest.raises(NotTranslated, match=place):
        translate(f)


@later
def test_the_calculus_takes_an_annotation_that_got_its_value_later(imported):
    assert evaluate(translate(imported(ANNOTATED).early), 3.0) == 6.0


UNIONS = """
import dataclasses
from stages.calculus.python.union import union

@dataclasses.dataclass(frozen=True)
class Leaf:
    value: float

@dataclasses.dataclass(frozen=True)
class Node:
    children: PAIR
    weight: float

Tree = union("Tree", Leaf, Node)

def total(t: Tree) -> float:
    match t:
        case Leaf(value):
            return value
        case Node(children, weight):
            left, right = children
            return weight * (total(left) + total(right))
"""


@pytest.mark.parametrize("pair", ["tuple['Tree', 'Tree']", pytest.param("tuple[Tree, Tree]", marks=later)])
def test_a_field_of_a_union_is_of_the_union_that_is_made_later(imported, pair):
    module = imported(UNIONS.replace("PAIR", pair))
    tree = module.Node((module.Leaf(2.0), module.Node((module.Leaf(3.0), module.Leaf(4.0)), 0.5)), 10.0)
    assert evaluate(translate(module.total), to_value(tree, module.Tree)) == module.total(tree) == 55.0


@numba.njit
def squared(x: float, times: float = 1.0) -> float:
    return times * x * x


def test_a_function_that_is_wrapped_has_its_own_annotations():
    hints = {"x": float, "times": float, "return": float}
    rule = dr.custom_vjp(squared.py_func)
    for wrapped in (dr.lift(squared), dr.grad(squared.py_func), dr.checkpoint(squared.py_func), rule):
        assert typing.get_type_hints(wrapped) == hints


def test_no_wrapper_has_annotations_of_its_own():
    """From Python 3.14 on, annotations in the class would be taken for those of the wrapped function."""

    def annotated(of):
        return [c.__name__ for c in of.__subclasses__() if "__annotations__" in vars(c)] + [
            name for c in of.__subclasses__() for name in annotated(c)
        ]

    assert len(Wrapper.__subclasses__()) > 2
    assert "__annotations__" not in vars(Wrapper)
    assert annotated(Wrapper) == []


# Source that Python warned of

WARNED = r"""
from numba import njit

@njit
def compiled(x):
    "A \d, which is no escape sequence."
    return x * x

def plain(x: float) -> float:
    "A \d, which is no escape sequence."
    return x * x

def finished(n):
    try:
        return n is 1
    finally:
        return 2
"""


def test_source_is_read_without_the_warnings_that_python_gave(imported):
    """Here warnings are errors: what is read with them has no source."""
    module = imported(WARNED)
    assert_same(dr.value_and_grad(module.compiled)(3.0), (9.0, 6.0))
    assert evaluate(translate(module.plain), 3.0) == 9.0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert "return" in code.program(module.plain)[-1][1]
    assert seen == []


def test_in_a_notebook_too(monkeypatch):
    """There, a function is compiled with its cell, and its statement alone."""
    monkeypatch.setitem(linecache.cache, "cell", (len(WARNED), None, WARNED.splitlines(keepends=True), "cell"))
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(WARNED, "cell", "exec"), names)
    assert_same(dr.value_and_grad(names["compiled"])(3.0), (9.0, 6.0))


def test_the_filters_of_warnings_are_as_before(imported, tmp_path):
    """After what could not be read, too."""
    module = imported(WARNED)
    (tmp_path / f"{module.__name__}.py").write_text("def (")
    linecache.checkcache()
    before = list(warnings.filters)
    with pytest.raises(dr.UnsupportedError, match="source"):
        dr.grad(module.compiled)(3.0)
    assert warnings.filters == before


# Bytecode and syntax of the version that runs

RUN = """
import math
from numba import njit

class Scale:
    FACTOR = 2.0

def made(shift):
    @njit
    def f(x, n):
        y, seen = shift, [0.0]
        for k in range(n):
            y = y * 0.5 + Scale.FACTOR * math.sin(x) if k % 2 else y - x * seen[0]
            seen[0] = y
        return y
    return f

f = made(1.5)
"""


def test_code_counts_as_it_was_compiled_however_often_it_ran(imported):
    """Python adapts bytecode to the values that it meets, and changes it while it is traced."""
    f = imported(RUN).f

    def known():
        return fingerprint(f, "grad", 0, (numba.float64, numba.int64)), ast.dump(read(f).tree)

    before, traced = known(), []

    def trace(frame, event, argument):
        if frame.f_code is f.py_func.__code__:
            traced.append(known())
        return trace

    assert before[0][1] == ""  # no obstacle
    for _ in range(200):
        f.py_func(0.5, 7)
    assert known() == before
    others = sys.gettrace()
    sys.settrace(trace)
    try:
        f.py_func(0.5, 2)
    finally:
        sys.settrace(others)
    assert len(traced) > 5
    assert all(x == before for x in traced)


INSIDE = """
import math
from numba import njit

def made(one, two):
    @njit
    def f(x):
        return {}
    return f
"""
CHANGED = {
    "operation": ("x * x", "x + x"),
    "float": ("x * 2.0", "x * 3.0"),
    "sign of zero": ("x + 0.0", "x + -0.0"),
    "type": ("x * 2.0", "x * 2"),
    "small int": ("x * 2", "x * 3"),
    "large int": ("x * 70000", "x * 70001"),
    "global name": ("max(x, x)", "min(x, x)"),
    "attribute": ("math.sin(x)", "math.cos(x)"),
    "free variable": ("x * one", "x * two"),
    "code inside": ("(lambda: 2.0)()", "(lambda: 3.0)()"),
    "set": ("x in {1.0, 2.0}", "x in {1.0, 3.0}"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_source_that_compiles_to_anything_else_is_refused(imported, change):
    before, after = CHANGED[change]
    module = imported(INSIDE.format(before))
    f = module.made(1.0, 2.0)
    assert read(f).tree.name == "f"
    file = Path(module.__file__)
    file.write_text(INSIDE.format(after))
    os.utime(file, (2e9, 2e9))
    with pytest.raises(dr.UnsupportedError, match="not the one that it was made from"):
        read(f)


TEMPLATES = """
from numba import njit

@njit
def compiled(x):
    text = t"of {x}"
    return x * x

def plain(x: float) -> float:
    return t"{x}"
"""


@later
def test_a_template_string_is_refused_at_its_line(imported):
    module = imported(TEMPLATES)
    with pytest.raises(dr.UnsupportedError, match=r':6: `text = t"of \{x\}"`: a TemplateStr expression'):
        dr.grad(module.compiled)(2.0)
    with pytest.raises(NotTranslated, match=r":10: `t'\{x\}'`: TemplateStr is outside the subset"):
        translate(module.plain)
