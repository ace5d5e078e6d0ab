"""Functions of numpy in numba functions, many in each: value, changes of the arguments and gradient are the tape's."""

import pytest
from numba import njit, types
from programs.constructs.arrays.constructs_catalogue import LARGE
from support.case import fresh
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.driver.context import Front
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.scalarize.lower import Expansion
from dualrev.compiler.scalarize.random import generator_methods
from dualrev.rules.functions import TABLE
from dualrev.rules.library import DEFINITIONS, complexes, lists, reimplemented
from dualrev.rules.library.linalg import complex_eigen
from dualrev.rules.library.rule_definitions import rule_of
from dualrev.rules.primitives import PRIMITIVES


@pytest.mark.slow
@pytest.mark.parametrize(("f", "primals"), LARGE, ids=[f.__name__ for f, _ in LARGE])
def test_the_gradient_is_that_of_the_tape(f, primals):
    argnums = tuple(k for k, x in enumerate(primals) if isinstance(x, float) or x.dtype.kind == "f")
    args, mine = fresh(primals), fresh(primals)
    y, expected = dr.value_and_grad(twin(f), argnums)(*fresh(primals))
    assert_same(f(*args), y, rtol=1e-11)
    found, gradient = dr.value_and_grad(f, argnums)(*mine)
    assert_same(found, y, rtol=1e-11)
    assert_same(mine, args, rtol=1e-11)
    assert_same(gradient, expected, rtol=1e-9, floor=1e-10, types=False)


@njit
def identity(x):
    return x


#: The rules whose results may be views.
VIEWS = {"same_elements", "split", "broadcast_arrays", "trimmed"}


def test_the_table_is_consistent():
    """Every name in a line of the table exists: parameters, primitives, definitions, rules of the compiler."""
    made = Front().inferred(identity, (types.float64,), (), {})
    expansion = Expansion(
        made.lowered, made.typed.of, True, made.typed.returned, set(), Lists(set(), set(), set())
    ).rules
    assert set(expansion.core) | set(expansion.scalar) == {
        rule for f in TABLE.values() for rule in (f.core, f.scalar)
    } - {""}
    used = {definition.name for f in TABLE.values() for definition in f.definitions}
    assert used <= set(DEFINITIONS)
    drawn = {name for name in DEFINITIONS if name.startswith(("np_", "py_"))}  # rules/drawing.py has these
    drawn |= {sample.definition for sample in generator_methods.SAMPLES.values()}
    rules = [rule_of(f) or () for f in DEFINITIONS.values()]
    of_rules = {name for name, f in DEFINITIONS.items() if any(f is part for rule in rules for part in rule)}
    called = {
        "arange",
        "digamma",
        "divmod_of",
        "grown",
        "inverse_turned",
        "lengthened",
        "linspace",
        "polygamma",
        "solved",
        "std",
        "var",
    }
    for module in (complex_eigen, complexes, lists, reimplemented):  # expansion and the front end call these
        called |= set(module.__all__)
    assert set(DEFINITIONS) - used - drawn - of_rules <= called
    assert all(callable(f) for f in DEFINITIONS.values())
    for f in TABLE.values():
        for definition in f.definitions:
            assert len(definition.pattern) <= len(f.names), f.name
            assert definition.pattern.count("=") == len(definition.fixed), f.name
        assert f.selection is None or f.selection.argument < len(f.names), f.name
        assert not f.line or f.line in PRIMITIVES, f.name
        assert not f.core or f.core in expansion.core, f.name
        assert not f.scalar or f.scalar in expansion.scalar, f.name
        assert f.shares is None or f.core in VIEWS or "." not in f.name, f.name
