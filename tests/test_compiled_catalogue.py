"""Functions of numpy in numba functions, many in each: value, changes of the arguments and gradient are the tape's."""

import numpy as np
import pytest
from compiled.case import fresh
from compiled.constructs_catalogue import LARGE
from compiled.twin import twin
from oracle import assert_same

import dualrev as dr
from dualrev.compiler.library import DEFINITIONS
from dualrev.rules.catalogue import SELECTED, VARIANTS
from dualrev.rules.names import PARAMETERS


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


def test_the_catalogue_is_consistent():
    """Every function has the parameters that its patterns speak of, and every definition exists and is used."""
    used = {variant.name for variants in VARIANTS.values() for variant in variants}
    assert used <= set(DEFINITIONS)
    assert set(DEFINITIONS) - used <= {"arange", "divmod_of", "linspace", "std", "var"}
    for text, variants in VARIANTS.items():
        assert all(len(variant.pattern) <= len(PARAMETERS[text]) for variant in variants), text
        assert all(variant.pattern.count("=") == len(variant.fixed) for variant in variants), text
    assert all(text in PARAMETERS and number < len(PARAMETERS[text]) for text, (number, _, _) in SELECTED.items())
    assert np.all([callable(f) for f in DEFINITIONS.values()])
