"""What `dir`, `help` and `repr` show: public names only, documented, and what an object is."""

import importlib
import inspect
import re

import numba
import numpy as np
import pytest

import dualrev as dr

#: Modules whose `dir` is their `__all__`, with the package that they need.
OWN = {"tree": "", "math": "", "outputs": "", "sparse": "", "implicit": "", "scipy": "scipy", "dask": "dask"}
#: Modules whose `dir` is their `__all__` and the names of the module that they stand in for.
STAND_INS = {
    "numpy": "numpy",
    **{
        f"scipy.{name}": f"scipy.{name}"
        for name in ("integrate", "interpolate", "linalg", "optimize", "signal", "special", "stats")
    },
    "scipy.ndimage": "scipy.ndimage",
    "scipy.spatial": "scipy.spatial",
    "scipy.sparse": "scipy.sparse",
    "scipy.sparse.linalg": "scipy.sparse.linalg",
}
BRIDGES = ("casadi", "cyipopt", "jax", "nutpie", "pytensor", "torch")
#: Functions that take an engine.
WITH_ENGINE = ("grad", "value_and_grad", "vjp", "jvp", "linearize", "jacobian", "hessian", "hvp")


def module(name, needed):
    if needed:
        pytest.importorskip(needed)
    return importlib.import_module(f"dualrev.{name}")


@pytest.mark.parametrize("name", OWN)
def test_dir_has_the_public_names_only(name):
    found = module(name, OWN[name])
    assert dir(found) == sorted(found.__all__)
    assert all(hasattr(found, public) for public in found.__all__)


@pytest.mark.parametrize("name", STAND_INS)
def test_dir_of_a_stand_in_has_the_names_of_what_it_stands_in_for(name):
    found = module(name, STAND_INS[name].partition(".")[0])
    original = importlib.import_module(STAND_INS[name])
    assert set(dir(found)) == {*found.__all__, *dir(original)}
    assert not {"Any", "annotations", "Callable", "functools"} & set(dir(found))
    assert all(hasattr(found, public) for public in found.__all__)


@pytest.mark.parametrize("name", BRIDGES)
def test_dir_of_a_bridge_has_its_function_only(name):
    found = module(f"interop.{name}", name)
    assert dir(found) == found.__all__


def test_what_engines_use_is_not_among_the_public_names_of_the_tree():
    assert "flatten" in dir(dr.tree)
    assert not {"inputs", "outputs", "unpack"} & set(dir(dr.tree))
    assert dr.tree.inputs((2.0,))[0] == dr.tree.outputs(2.0)[0] == [2.0]  # the stages import them


def documented():
    names = [name for name in dr.__all__ if name != "__version__"]
    yield from ((name, getattr(dr, name)) for name in names)
    for name in ("tree", "implicit", "math", "numpy", "errors"):
        found = getattr(dr, name)
        yield from ((f"{name}.{public}", getattr(found, public)) for public in found.__all__)


@pytest.mark.parametrize(("name", "x"), list(documented()), ids=lambda x: x if isinstance(x, str) else "")
def test_everything_public_has_a_docstring(name, x):
    if isinstance(x, float):  # math.pi
        return
    first = (inspect.getdoc(x) or "").partition("\n")[0]
    assert len(first) > 5
    assert not re.match(r"What |Which |Those |That of |The one", first)


@pytest.mark.parametrize("name", WITH_ENGINE)
def test_the_docstring_has_every_parameter_the_result_and_an_example_on_a_screen_or_so(name):
    f = getattr(dr, name)
    text = inspect.getdoc(f)
    for parameter in inspect.signature(f).parameters.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        assert f"\n    {star}{parameter.name}: " in text, parameter
    assert re.search(r"engine: What differentiates f\. None: the compiler for a numba function, the tape for", text)
    for part in ("Args:", "Returns:", "Raises:", ">>> "):
        assert part in text
    assert len(text.splitlines()) <= 50


def loss(x):
    return x[0] * x[1]


@numba.njit
def compiled(x):
    return x[0] * x[1]


POINT = np.array([2.0, 3.0])


def custom():
    made = dr.custom_vjp(loss)
    made.defvjp(lambda x: (loss(x), x), lambda x, ct: (ct * x[::-1],))
    return made


HELD = {
    "grad": (lambda: dr.grad(loss), "<dualrev.grad of loss>"),
    "value_and_grad": (lambda: dr.value_and_grad(loss), "<dualrev.value_and_grad of loss>"),
    "jacobian": (lambda: dr.jacobian(loss), "<dualrev.jacobian of loss>"),
    "jacrev": (lambda: dr.jacrev(loss), "<dualrev.jacrev of loss>"),
    "jacfwd": (lambda: dr.jacfwd(loss), "<dualrev.jacfwd of loss>"),
    "hessian": (lambda: dr.hessian(loss), "<dualrev.hessian of loss>"),
    "hvp": (lambda: dr.hvp(loss), "<dualrev.hvp of loss>"),
    "outputs": (lambda: dr.jacobian(loss, outputs=0), "<dualrev.jacobian of <dualrev.outputs.writing of loss>>"),
    "nested": (lambda: dr.grad(dr.vmap(loss)), "<dualrev.grad of <dualrev.vmap of loss>>"),
    "compiled grad": (lambda: dr.grad(compiled), "<dualrev.grad of compiled, compiled>"),
    "lift": (lambda: dr.lift(compiled), "<dualrev.lift of compiled>"),
    "vmap": (lambda: dr.vmap(compiled), "<dualrev.vmap of compiled>"),
    "pullback": (lambda: dr.vjp(loss, POINT)[1], "<pullback of loss, by dualrev.vjp>"),
    "linearize": (lambda: dr.linearize(loss, POINT)[1], "<derivative of loss, by dualrev.linearize>"),
    "compiled pullback": (lambda: dr.vjp(compiled, POINT)[1], "<pullback of compiled, by dualrev.vjp>"),
    "checkpoint": (lambda: dr.checkpoint(loss), "<dualrev.checkpoint of loss>"),
    "compiled checkpoint": (lambda: dr.checkpoint(compiled), "<dualrev.checkpoint of compiled>"),
    "custom_vjp": (custom, "<dualrev.custom_vjp of loss>"),
    "custom_jvp": (lambda: dr.custom_jvp(compiled), "<dualrev.custom_jvp of compiled>"),
    "rule": (lambda: dr.grad(custom()), "<dualrev.grad of <dualrev.custom_vjp of loss>>"),
    "no name": (lambda: dr.grad(numba.typed.List), "<dualrev.grad of List>"),
    "custom_root": (lambda: dr.implicit.custom_root(loss)(loss), "<dualrev.implicit.custom_root of loss>"),
    "structure": (lambda: dr.tree.flatten_leaves([1.0, 2, POINT])[1], "<dualrev.tree.Structure with 2 real leaves>"),
    "treedef": (lambda: dr.tree.structure([1.0, 2, None]), "<dualrev.tree.TreeDef with 2 leaves>"),
    "vectorize": (lambda: dr.numpy.vectorize(loss), "<dualrev.numpy.vectorize of loss>"),
    "r_": (lambda: dr.numpy.r_, "<dualrev.numpy.r_>"),
    "array": (lambda: dr.numpy.ones(1), "RealArray([1.])"),
}


@pytest.mark.parametrize(("make", "text"), HELD.values(), ids=HELD)
def test_repr_says_what_it_is(make, text):
    assert repr(make()) == text


def test_repr_of_what_needs_scipy():
    pytest.importorskip("scipy")
    from dualrev.scipy import sparse, stats

    assert repr(dr.sparse_jacobian(loss)) == "<dualrev.sparse_jacobian of loss>"
    assert repr(dr.sparse_hessian(loss)) == "<dualrev.sparse_hessian of loss>"
    assert repr(stats.norm) == "<dualrev.scipy.stats.norm>"
    assert repr(stats.multivariate_normal) == "<dualrev.scipy.stats.multivariate_normal>"
    seen = []

    def f(x):
        seen.append(repr(stats.norm(x)))
        a = sparse.diags_array([x, 1.0])
        seen.append(repr(a))
        seen.append(repr(sparse.linalg.splu(a)))
        return x

    assert dr.grad(f)(2.0) == 1.0
    assert seen == [
        "<<dualrev.scipy.stats.norm> with parameters that are being differentiated>",
        "<dualrev.scipy.sparse.Sparse of shape (2, 2) with 2 entries>",
        "<factors of a matrix of shape (2, 2), by dualrev.scipy.sparse.linalg.splu>",
    ]


def test_repr_of_a_sum_over_partitions():
    dask = pytest.importorskip("dask")
    from dualrev.dask import hvp, value_and_grad

    parts = [dask.delayed(POINT), dask.delayed(POINT)]
    assert repr(value_and_grad(loss, parts)) == "<dualrev.dask.value_and_grad of loss over 2 partitions>"
    assert repr(hvp(compiled, parts[:1])) == "<dualrev.dask.hvp of compiled over 1 partitions>"


def test_a_pullback_is_called_any_number_of_times():
    y, pullback = dr.vjp(loss, POINT)
    assert y == 6.0
    assert pullback(1.0)[0].tolist() == pullback(1.0)[0].tolist() == [3.0, 2.0]
