"""dr.tree: JAX's names and meanings, what differs for gradients, and dataclasses with fields that are carried."""

import dataclasses
import functools

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import CotangentError, LeafError, TreeError


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float
    name: str


LAYERS = {"a": [Layer(np.ones((2, 3)), 0.5, "first"), (np.float32(2.0), None)], "x": np.ones(2, np.float32), "n": 3}


def test_leaves_are_all_but_none_and_come_back():
    leaves, structure = dr.tree.flatten(LAYERS)
    assert [np.shape(x) for x in leaves] == [(2, 3), (), (), (), (), (2,)]
    assert leaves[2:5] == ["first", 2.0, 3]
    assert [x is y for x, y in zip(leaves, dr.tree.leaves(LAYERS), strict=True)] == [True] * 6
    again = dr.tree.unflatten(structure, leaves)
    assert structure == dr.tree.structure(LAYERS) == dr.tree.structure(again)
    assert hash(structure) == hash(dr.tree.structure(again))
    assert_same(again["a"][0].w, LAYERS["a"][0].w)
    assert (again["a"][1], again["n"]) == ((np.float32(2.0), None), 3)
    assert structure.num_leaves == len(leaves)
    with pytest.raises(TreeError, match="where the first one has 6 leaves"):
        dr.tree.unflatten(structure, leaves[:5])
    for other in ([1.0], (1.0, 2.0), {"a": 1.0}, None):
        assert dr.tree.structure(other) != dr.tree.structure((1.0,))
    assert dr.tree.structure({"a": 1.0}) != dr.tree.structure({"b": 1.0})
    assert dr.tree.structure(1.0) != 1.0


def test_complex_numbers_and_traced_numbers_are_leaves():
    z = np.array([1.0 + 2.0j])
    assert dr.tree.leaves([1.0j, z]) == [1.0j, z]

    def f(x, z):
        tree = dr.tree.map(lambda u: u * u, {"list": [x[0], 2], "array": x, "objects": np.array([x[0], x[1]]), "z": z})
        assert len(dr.tree.leaves(tree)) == 5
        return tree["list"][0] + tree["list"][1] + np.sum(tree["array"]) + np.sum(tree["objects"]) + tree["z"].imag

    gradient = dr.grad(f, (0, 1))(np.array([1.0, 3.0]), 1.0 + 2.0j)
    assert_same(gradient, (np.array([6.0, 12.0]), 4.0 - 2.0j))


def test_map_takes_every_leaf_as_in_jax():
    batch = {"pictures": np.ones((4, 2)), "labels": np.arange(4), "names": None}
    part = dr.tree.map(lambda x: x[1:3], batch)
    assert_same(part, {"pictures": np.ones((2, 2)), "labels": np.array([1, 2]), "names": None})
    assert dr.tree.map(lambda x, y: (x, y), [1, "a"], [{"k": 2}, (3, 4)]) == [(1, {"k": 2}), ("a", (3, 4))]
    pair = functools.partial(dr.tree.map, lambda x, y: (x, y), is_leaf=lambda x: x is None)
    assert pair([None, 1], [2, None]) == [(None, 2), (1, None)]
    assert dr.tree.map(len, [(1, 2), [(3,)]], is_leaf=lambda x: isinstance(x, tuple)) == [2, [1]]


def test_a_gradient_has_none_for_a_discrete_leaf_which_stays():
    def loss(p):
        return np.sum((p["a"][0].w @ np.arange(3.0) - p["x"]) ** 2)

    made = dr.tree.map(lambda p, g: p - g, LAYERS, dr.grad(loss)(LAYERS))
    assert (made["a"][0].name, made["n"], made["a"][1]) == ("first", 3, (np.float32(2.0), None))
    zeros = dr.tree.map(lambda p: 0.0 * p, dr.tree.real(LAYERS))
    assert (zeros["a"][0].name, zeros["n"], zeros["a"][0].b) == (None, None, 0.0)
    assert dr.tree.structure(zeros) == dr.tree.structure(dr.grad(loss)(LAYERS))
    with pytest.raises(TreeError, match=r"has None .* where the first one has a real number"):
        dr.tree.map(lambda p, g: p, {"a": 1.0}, {"a": None})
    with pytest.raises(TreeError, match="where the first one has None"):
        dr.tree.map(lambda p, g: p, {"a": None}, {"a": 1.0})
    with pytest.raises(TreeError, match="where the first one has a list with 2 entries"):
        dr.tree.map(lambda p, g: p, [1.0, 2.0], [1.0])


def test_reduce_and_all():
    assert dr.tree.reduce(lambda a, b: a - b, [10, (1, None), 2]) == 7
    assert dr.tree.reduce(lambda a, b: a - b, [], 1) == 1
    assert (dr.tree.all([True, {"a": 1}]), dr.tree.all([1, 0]), dr.tree.all(None)) == (True, False, True)


def test_deep_data_and_data_that_contain_themselves():
    cell = None
    for k in range(20_000):
        cell = (float(k), cell)
    assert dr.tree.structure(dr.tree.map(lambda x: x + 1.0, cell)).num_leaves == 20_000
    loop = [1.0]
    loop.append(loop)
    with pytest.raises(LeafError, match="it contains itself"):
        dr.tree.leaves(loop)


# dataclasses with meta fields


@functools.partial(dr.tree.register_dataclass, data_fields=["w"], meta_fields=["scale", "label"])
@dataclasses.dataclass(frozen=True)
class Scaled:
    w: np.ndarray
    scale: float
    label: object

    @functools.cached_property
    def norm(self):
        return np.sum(self.w**2) * self.scale


def test_meta_fields_are_carried_and_not_differentiated():
    x = Scaled(np.array([1.0, 2.0]), 3.0, {1.5})  # a set of floats cannot be differentiated
    gradient = dr.grad(lambda s: s.norm * s.w[0])(x)
    assert_same(gradient.w, np.array([21.0, 12.0]))
    assert (gradient.scale, gradient.label) == (3.0, {1.5})
    assert [len(dr.tree.leaves(x)), dr.tree.ravel(x)[0].tolist()] == [1, [1.0, 2.0]]
    assert dr.tree.map(lambda u: 2.0 * u, x).scale == 3.0
    _, pullback = dr.vjp(lambda s: s, x)
    assert_same(pullback(x)[0].w, x.w)
    with pytest.raises(CotangentError):
        pullback(Scaled(x.w, 4.0, {1.5}))


def test_how_meta_fields_are_named():
    @dr.tree.register_dataclass
    @dataclasses.dataclass
    class Marked:
        x: float
        n: float = dataclasses.field(metadata={"static": True})

    @dataclasses.dataclass
    class Child(Marked):
        y: float

    assert dr.tree.leaves(Marked(1.0, 2.0)) == [1.0]
    assert dr.tree.leaves(Child(1.0, 2.0, 3.0)) == [1.0, 3.0]
    assert dr.tree.register_dataclass(Marked, data_fields=("n",)) is Marked
    assert dr.tree.leaves(Marked(1.0, 2.0)) == [2.0]
    for fields in ({"meta_fields": ("z",)}, {"data_fields": ("x",), "meta_fields": ()}, {"data_fields": ("x", "x")}):
        with pytest.raises(ValueError, match="must name each of its fields once, which are x, n; they name"):
            dr.tree.register_dataclass(Marked, **fields)
    with pytest.raises(TypeError, match="takes a dataclass, got <class 'int'>"):
        dr.tree.register_dataclass(int)
