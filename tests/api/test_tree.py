"""Nested data: every kind of leaf and node; flatten, rebuild, cotangent and read as inverses; what is refused."""

import dataclasses
import enum
import functools
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.oracle import assert_same, check_vjp

import dualrev as dr
from dualrev.errors import ArgumentError, CotangentError, LeafError, OutputError
from dualrev.tree import flatten_scalars, inputs, outputs, register_node
from stages import STAGES

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test depends on times

ROOT = Path(__file__).resolve().parents[2]
DEEP = 100_000

# every kind of node


class Colour(enum.Enum):
    RED = 1
    GREEN = "green"


class Ratio(float, enum.Enum):
    HALF = 0.5


class Metres(float):
    pass


class Opaque:
    def __init__(self, x):
        self.x = x


class Box:
    def __init__(self, first, second, label):
        self.first, self.second, self.label = first, second, label


register_node(Box, lambda box: ((box.first, box.second), box.label), lambda label, children: Box(*children, label))

Pair = namedtuple("Pair", ["left", "right"])


class Typed(NamedTuple):
    x: float
    n: int = 3


@dataclasses.dataclass
class Plain:
    x: float
    y: object = None
    unit: ClassVar[float] = 9.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float
    y: object = None


@dataclasses.dataclass(slots=True)
class Slots:
    x: float
    y: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    x: float
    y: object = None


@dataclasses.dataclass
class Checked:
    x: float
    y: object = None

    def __post_init__(self):
        if type(self.x) is not float:
            raise TypeError("x is no float")


@dataclasses.dataclass
class Derived:
    x: float
    doubled: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        self.doubled = 2 * self.x


@dataclasses.dataclass
class Child(Plain):
    z: float = 1.0


@dataclasses.dataclass
class Cached:
    x: float

    @functools.cached_property
    def square(self):
        return self.x * self.x


@dataclasses.dataclass(slots=True)
class Cell:
    head: float
    tail: object


def objects(*children):
    """An array of objects, whatever numpy would make of them."""
    made = np.empty(len(children), dtype=object)
    for k, child in enumerate(children):
        made[k] = child
    return made


# An oracle that does not share the walk of tree.py: it recurses, and knows every class by itself.


def mapped(x, leaf):
    """The data with `leaf(x)` for every leaf."""

    def each(children):
        return [mapped(child, leaf) for child in children]

    if isinstance(x, np.ndarray) and x.dtype == object:
        children = each(x.ravel().tolist())
        if all(type(child) is float for child in children):
            return np.array(children, dtype=float).reshape(x.shape)
        return objects(*children).reshape(x.shape)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*each(x))
    if isinstance(x, (tuple, list)):
        return type(x)(each(x))
    if isinstance(x, deque):
        return deque(each(x), x.maxlen)
    if isinstance(x, defaultdict):
        return defaultdict(x.default_factory, zip(x, each(x.values()), strict=True))
    if isinstance(x, dict):
        return type(x)(zip(x, each(x.values()), strict=True))
    if isinstance(x, Box):
        return Box(*each((x.first, x.second)), x.label)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        made = object.__new__(type(x))
        for field in dataclasses.fields(x):
            object.__setattr__(made, field.name, mapped(getattr(x, field.name), leaf))
        return made
    return leaf(x)


def same(a, b):
    """Equal in value and in type, dtype, shape and order, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    if isinstance(a, deque) and a.maxlen != b.maxlen:
        return False
    if isinstance(a, (tuple, list, deque)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        factories = getattr(a, "default_factory", None) is getattr(b, "default_factory", None)
        return factories and list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, Box):
        return a.label == b.label and same(a.first, b.first) and same(a.second, b.second)
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return a is b or a == b


def is_real(x):
    return isinstance(x, (float, np.floating)) and not isinstance(x, enum.Enum)


def is_real_array(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def as_floats(x):
    """The leaf that `rebuild` returns for the scalars that `flatten_scalars` took from it."""
    if is_real(x):
        return float(x)
    return x.astype(float) if is_real_array(x) else x


def as_cotangent(x):
    """The leaf that `cotangent` returns for the scalars that `flatten_scalars` took from it."""
    if isinstance(x, np.floating) or is_real_array(x):
        return x
    return float(x) if is_real(x) else None


NUMBERS = st.integers(-1000, 1000).map(lambda n: n / 2)  # every float type holds these exactly
REAL_LEAVES = st.one_of(
    NUMBERS,
    NUMBERS.map(np.float64),
    NUMBERS.map(np.float32),
    NUMBERS.map(np.float16),
    NUMBERS.map(np.longdouble),
    NUMBERS.map(Metres),
    NUMBERS.map(np.array),
    st.builds(
        lambda xs, dtype, shape: np.array(xs[: int(np.prod(shape))], dtype).reshape(shape),
        st.lists(NUMBERS, min_size=6, max_size=6),
        st.sampled_from([np.float64, np.float32, np.float16, ">f8"]),
        st.sampled_from([(6,), (2, 3), (1, 1), (0,), (0, 3), ()]),
    ),
)
DISCRETE_VALUES = [
    3,
    True,
    "text",
    b"bytes",
    None,
    Colour.RED,
    Ratio.HALF,
    np.int64(2),
    np.bool_(True),
    np.arange(3),
    np.array([True, False]),
    np.array(["a", "b"]),
    np.zeros(0, dtype=int),
    len,
    lambda x: x,
    float,
    Plain,
    Opaque(1.0),
    {1, 2},
    frozenset("ab"),
    set(),
    range(3),
    Decimal("1.5"),
    Fraction(1, 2),
    slice(1.0, 2.0),
    np.datetime64("2024-01-01"),
    ...,
]
DISCRETE_LEAVES = st.sampled_from(DISCRETE_VALUES)
NAMES = st.text("abcxyz", max_size=2)


def nodes(inner):
    dicts = st.dictionaries(NAMES, inner, max_size=4)
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda d: defaultdict(list, d)),
        st.dictionaries(st.one_of(st.integers(0, 3), NAMES, st.none()), inner, max_size=4),
        st.builds(deque, st.lists(inner, max_size=3), st.sampled_from([None, 5])),
        st.builds(Pair, inner, inner),
        st.builds(Typed, inner, inner),
        *[st.builds(cls, inner, inner) for cls in [Plain, Frozen, Slots, FrozenSlots]],
        st.builds(Child, inner, inner, inner),
        st.builds(Checked, NUMBERS, inner),
        st.builds(Derived, NUMBERS),
        st.builds(Box, inner, inner, NAMES),
        st.lists(inner, min_size=1, max_size=3).map(lambda xs: objects(*xs)),
        st.lists(inner, min_size=4, max_size=4).map(lambda xs: objects(*xs).reshape(2, 2)),
    )


DATA = st.recursive(st.one_of(REAL_LEAVES, DISCRETE_LEAVES), nodes, max_leaves=12)


# flatten_scalars, rebuild, cotangent and read are inverses


@patient
@given(DATA)
def test_rebuild_of_flatten_is_the_identity_up_to_float_types(x):
    xs, structure = flatten_scalars(x)
    assert all(type(number) is float for number in xs)
    assert same(structure.rebuild(xs), mapped(x, as_floats))


@patient
@given(DATA, st.randoms(use_true_random=False))
def test_flatten_of_rebuild_is_the_identity(x, random):
    xs, structure = flatten_scalars(x)
    ys = [random.randint(-9, 9) / 4 for _ in xs]
    rebuilt, again = flatten_scalars(structure.rebuild(ys))
    assert rebuilt == ys
    assert same(again.rebuild(ys), structure.rebuild(ys))


@patient
@given(DATA)
def test_a_cotangent_has_the_types_of_the_data_and_none_at_discrete_leaves(x):
    xs, structure = flatten_scalars(x)
    assert same(structure.cotangent(xs), mapped(x, as_cotangent))


@patient
@given(DATA, st.randoms(use_true_random=False))
def test_read_of_cotangent_is_the_identity(x, random):
    xs, structure = flatten_scalars(x)
    ys = [random.randint(-9, 9) / 4 for _ in xs]
    assert structure.read(structure.cotangent(ys)) == ys


@patient
@given(DATA)
def test_the_data_itself_stays_as_it_was(x):
    before = mapped(x, lambda leaf: leaf.copy() if is_real_array(leaf) else leaf)
    xs, structure = flatten_scalars(x)
    structure.rebuild([0.0] * len(xs))
    structure.cotangent([0.0] * len(xs))
    assert same(mapped(x, lambda leaf: leaf), before)


@patient
@given(DATA)
def test_every_rebuild_makes_new_containers(x):
    def containers(data):
        found, todo = {}, [data]
        while todo:
            here = todo.pop()
            if isinstance(here, (list, dict, deque)) or is_real_array(here):
                found[id(here)] = here  # kept, so that no id is used twice
            if isinstance(here, (list, tuple, deque)):
                todo.extend(here)
            elif isinstance(here, dict):
                todo.extend(here.values())
        return found

    xs, structure = flatten_scalars(x)
    first, second = structure.rebuild(xs), structure.rebuild(xs)
    of_x, of_first, of_second = containers(x), containers(first), containers(second)
    assert not of_x.keys() & of_first.keys()
    assert not of_first.keys() & of_second.keys()


@patient
@given(DATA, DATA)
def test_data_of_another_structure_is_refused_as_a_cotangent(x, other):
    """Whatever `read` accepts has the structure: its numbers rebuild it."""
    ct = mapped(other, as_cotangent)
    structure = flatten_scalars(x)[1]
    try:
        numbers = structure.read(ct)
    except CotangentError:
        return
    expected = mapped(structure.cotangent(numbers), as_floats)
    assert same(mapped(expected, loosely), mapped(mapped(ct, as_floats), loosely))


def loosely(x):
    """A cotangent for a scalar may be an array without dimensions."""
    return float(x) if isinstance(x, np.ndarray) and x.shape == () else x


# leaves


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.float16, np.longdouble])
def test_a_scalar_has_a_cotangent_of_its_type(kind):
    xs, structure = flatten_scalars(kind(1.5))
    assert xs == [1.5]
    assert type(xs[0]) is float
    assert type(structure.cotangent([2.5])) is kind
    assert structure.cotangent([2.5]) == 2.5


def test_an_object_of_a_subclass_of_float_is_a_float():
    xs, structure = flatten_scalars(Metres(1.5))
    assert (xs, structure.rebuild([2.0]), structure.cotangent([2.0])) == ([1.5], 2.0, 2.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.longdouble, ">f4"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (0, 2)])
def test_an_array_has_a_cotangent_of_its_shape_and_dtype(dtype, shape):
    array = np.ones(shape, dtype)
    xs, structure = flatten_scalars(array)
    assert xs == [1.0] * array.size
    ct = structure.cotangent([float(k) for k in range(array.size)])
    assert isinstance(ct, np.ndarray)
    assert (ct.shape, ct.dtype) == (shape, np.dtype(dtype))
    assert ct.ravel().tolist() == list(range(array.size))


def test_arrays_are_read_in_c_order_however_they_are_stored():
    array = np.arange(6.0).reshape(2, 3)
    for stored in [np.asfortranarray(array), array[::-1][::-1], np.repeat(array, 2, axis=1)[:, ::2]]:
        xs, structure = flatten_scalars(stored)
        assert xs == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert structure.rebuild(xs).tolist() == array.tolist()


@pytest.mark.parametrize("x", DISCRETE_VALUES, ids=lambda x: type(x).__name__)
def test_a_discrete_leaf_passes_through_and_has_the_cotangent_none(x):
    xs, structure = flatten_scalars(x)
    assert xs == []
    assert structure.rebuild([]) is x
    assert structure.cotangent([]) is None
    assert structure.read(None) == []


@pytest.mark.parametrize("x", [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308])
def test_unusual_floats_pass_unchanged(x):
    for data in [x, [x], np.array([x])]:
        xs, structure = flatten_scalars(data)
        assert repr(xs) == repr([x])
        assert repr(flatten_scalars(structure.cotangent(xs))[0]) == repr([x])


# nodes


def test_a_dict_keeps_its_order_of_insertion():
    xs, structure = flatten_scalars({"w": 1.0, "b": 2.0, "a": 3.0})
    assert list(structure.rebuild(xs).items()) == [("w", 1.0), ("b", 2.0), ("a", 3.0)]
    assert list(structure.cotangent(xs).items()) == [("w", 1.0), ("b", 2.0), ("a", 3.0)]


def test_a_cotangent_for_a_dict_may_have_its_keys_in_another_order():
    xs, structure = flatten_scalars({"w": 1.0, "b": 2.0})
    assert structure.read({"b": 2.0, "w": 1.0}) == structure.read({"w": 1.0, "b": 2.0}) == xs


def test_keys_without_an_order_among_them_do():
    data = {"a": 1.0, 2: 2.0, None: 3.0, (1, "x"): 4.0, Colour.RED: 5.0}
    xs, structure = flatten_scalars(data)
    assert sorted(xs) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert structure.rebuild(xs) == data
    assert list(structure.rebuild(xs)) == list(data)


def test_a_defaultdict_keeps_its_factory_and_a_deque_its_length():
    xs, structure = flatten_scalars([defaultdict(int, a=1.0), deque([2.0], maxlen=4)])
    rebuilt = structure.rebuild(xs)
    assert rebuilt[0].default_factory is int
    assert rebuilt[1].maxlen == 4


def test_a_dataclass_is_rebuilt_without_its_init():
    xs, structure = flatten_scalars(Checked(1.0, 2.0))
    assert structure.rebuild([None, None]).x is None  # __post_init__ would raise
    assert type(structure.cotangent(xs)) is Checked


def test_a_field_that_is_not_in_init_is_carried_over():
    xs, structure = flatten_scalars(Derived(3.0))
    assert xs == [3.0, 6.0]
    assert structure.rebuild([1.0, 5.0]) == same_fields(Derived, x=1.0, doubled=5.0)


def same_fields(cls, **fields):
    made = cls.__new__(cls)
    for name, x in fields.items():
        setattr(made, name, x)
    return made


def test_an_inherited_dataclass_has_the_fields_of_both():
    xs, structure = flatten_scalars(Child(1.0, 2, 3.0))
    assert xs == [1.0, 3.0]
    assert structure.rebuild([4.0, 5.0]) == Child(4.0, 2, 5.0)
    assert structure.cotangent([4.0, 5.0]) == Child(4.0, None, 5.0)


def test_a_frozen_dataclass_stays_frozen():
    xs, structure = flatten_scalars(FrozenSlots(1.0, 2.0))
    rebuilt = structure.rebuild(xs)
    assert rebuilt == FrozenSlots(1.0, 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        rebuilt.x = 3.0


def test_what_a_method_has_cached_is_not_carried_over():
    data = Cached(3.0)
    assert data.square == 9.0
    rebuilt = flatten_scalars(data)[1].rebuild([4.0])
    assert "square" not in vars(rebuilt)
    assert rebuilt.square == 16.0


@dataclasses.dataclass
class Spring:
    stiffness: float
    coils: int = 3

    def __post_init__(self):
        self.root = self.stiffness**0.5
        self.turns = self.coils + 1
        self.force = lambda t: -self.stiffness * t


@dataclasses.dataclass(frozen=True)
class Direction:
    w: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "size", np.sqrt(np.sum(self.w**2)))
        object.__setattr__(self, "unit", {"w": self.w / self.size})


@dataclasses.dataclass
class Doubled:
    x: float

    def __post_init__(self):
        self.x = 2.0 * self.x
        self.above = self.x + 1.0


@dataclasses.dataclass
class Fitted:
    x: float

    def fit(self):
        self.name, self.b = "line", 2.0 * self.x
        return self


@dataclasses.dataclass
class Scaled:
    x: float
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.big = scale * self.x


def energy(spring):
    return spring.root * spring.stiffness * spring.turns + spring.force(2.0)


@pytest.mark.parametrize("vjp", [dr.vjp, *(stage.vjp for stage in STAGES.values())])
def test_what_post_init_sets_depends_on_the_fields(vjp):
    y, pullback = vjp(energy, Spring(4.0))
    assert y == 4.0 * 8.0 - 8.0
    (gradient,) = pullback(1.0)
    assert (gradient.stiffness, gradient.coils) == (4.0 * 1.5 * 2.0 - 2.0, None)


def test_what_post_init_sets_has_all_derivatives():
    def f(d):
        return d.unit["w"][0] * d.size**3

    check_vjp(dr.vjp, lambda w: f(Direction(w)), np.array([3.0, 4.0]))
    dr.check_grads(f, (Direction(np.array([3.0, 4.0])),))
    dr.check_grads(energy, (Spring(4.0),))


def test_what_post_init_would_not_make_again_is_refused():
    with pytest.raises(LeafError, match=r"'above' is not what __post_init__ makes.*Make 'above' a field"):
        dr.grad(lambda d: d.above)(Doubled(1.0))
    changed = Spring(4.0)
    changed.stiffness = 9.0
    with pytest.raises(LeafError, match=r"'root' is not what __post_init__ makes"):
        dr.grad(energy)(changed)


def test_an_attribute_that_is_not_there_is_explained():
    assert dr.grad(lambda x: len(x.name) * x.x)(Fitted(3.0).fit()) == Fitted(4.0)
    for f, x in ((lambda x: x.b, Fitted(3.0).fit()), (lambda x: x.big, Scaled(3.0))):
        with pytest.raises(AttributeError, match="object has no attribute 'b") as caught:
            dr.grad(f)(x)
        assert "made of its fields, and of what __post_init__ sets" in caught.value.__notes__[0]


def test_an_array_of_objects_is_a_node():
    data = objects(1.0, (2.0, 3), None, "a").reshape(2, 2)
    xs, structure = flatten_scalars(data)
    assert xs == [1.0, 2.0]
    rebuilt, ct = structure.rebuild([5.0, 6.0]), structure.cotangent([5.0, 6.0])
    assert rebuilt.shape == ct.shape == (2, 2)
    assert rebuilt.ravel().tolist() == [5.0, (6.0, 3), None, "a"]
    assert ct.ravel().tolist() == [5.0, (6.0, None), None, None]


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (2,),
        (0,),
    ],
)
def test_an_array_of_objects_stays_one(shape):
    data = np.full(shape, "text", dtype=object)
    assert flatten_scalars([1.0, data])[1].rebuild([1.0])[1].dtype == object


def test_none_is_a_leaf_and_an_empty_node_is_a_node():
    structure = flatten_scalars([None, (), [], {}, 1.0])[1]
    assert structure.cotangent([2.0]) == [None, (), [], {}, 2.0]
    with pytest.raises(CotangentError):
        structure.read([None, None, [], {}, 2.0])


def test_a_class_can_be_registered_once():
    with pytest.raises(ValueError, match="already registered"):
        register_node(Box, lambda box: ((), None), lambda rest, children: None)


def test_a_registered_class_may_hand_over_any_iterable():
    class Bag:
        def __init__(self, members):
            self.members = members

    register_node(Bag, lambda bag: (iter(bag.members), None), lambda rest, children: Bag(children))
    xs, structure = flatten_scalars(Bag([1.0, 2.0]))
    assert xs == [1.0, 2.0]
    assert structure.rebuild([3.0, 4.0]).members == (3.0, 4.0)


def test_nodes_that_a_registered_class_makes_on_the_fly_are_no_cycle():
    class Link:
        def __init__(self, head, tail):
            self.head, self.tail = head, tail

    register_node(Link, lambda link: ([[link.head, link.tail]], None), lambda rest, children: Link(*children[0]))
    chain = None
    for k in range(50):
        chain = Link(float(k), chain)
    assert flatten_scalars(chain)[0] == [float(k) for k in reversed(range(50))]


def test_a_dataclass_with_a_field_that_is_not_set_yet_is_rebuilt_without_it():
    @dataclasses.dataclass
    class Lazy:
        x: float
        cache: float = dataclasses.field(init=False)

    xs, structure = flatten_scalars(Lazy(1.0))
    assert xs == [1.0]
    assert structure.rebuild([2.0]).x == 2.0


# what read refuses


@pytest.mark.parametrize(
    ("data", "ct"),
    [
        # a number
        (1.0, None),
        (1.0, "1.0"),
        (1.0, 1j),
        (1.0, True),
        (1.0, np.bool_(True)),
        (1.0, np.complex64(1)),
        (1.0, [1.0]),
        (1.0, (1.0,)),
        (1.0, np.ones(1)),
        (1.0, np.array(True)),
        (1.0, np.array("a")),
        (1.0, Ratio.HALF),
        (1.0, Decimal(1)),
        # None
        (3, 0.0),
        (3, 3),
        (True, False),
        ("a", ""),
        (None, 0.0),
        (np.arange(3), np.zeros(3)),
        (Colour.RED, 0.0),
        # nodes
        ([1.0, 2.0], [1.0]),
        ([1.0, 2.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0], (1.0, 2.0)),
        ((1.0, 2.0), [1.0, 2.0]),
        ([1.0, 2.0], np.ones(2)),
        ([1.0, 2.0], 1.0),
        ([1.0, 2.0], None),
        ([1.0, 2], [1.0, 2.0]),
        ([[1.0], 2.0], [1.0, [2.0]]),
        ((), []),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0}, {}),
        ({"a": 1.0}, {"a": 1.0, "b": None}),
        ({"a": 1.0}, OrderedDict(a=1.0)),
        ({"a": 1.0, "b": {"c": 1.0}}, {"a": 1.0, "b": {"d": 1.0}}),
        (Pair(1.0, 2.0), (1.0, 2.0)),
        ((1.0, 2.0), Pair(1.0, 2.0)),
        (Typed(1.0), Pair(1.0, None)),
        (Plain(1.0), Frozen(1.0)),
        (Plain(1.0), {"x": 1.0, "y": None}),
        (Plain(1.0), Child(1.0)),
        (deque([1.0]), [1.0]),
        (Box(1.0, 2.0, "a"), Box(1.0, 2.0, "b")),
        (Box(1.0, 2.0, "a"), (1.0, 2.0)),
        (objects(1.0, None), [1.0, None]),
        (objects(1.0, None), objects(1.0, None).reshape(1, 2)),
        # arrays
        (np.ones(3), np.ones(2)),
        (np.ones(3), np.ones((3, 1))),
        (np.ones(3), np.ones((1, 3))),
        (np.ones(3), 1.0),
        (np.ones(3), [1.0, 1.0, 1.0]),
        (np.ones(3), None),
        (np.ones(3), np.ones(3, complex)),
        (np.ones(3), np.ones(3, bool)),
        (np.ones(3), np.array(["a", "b", "c"])),
        (np.ones(0), np.ones((0, 1))),
    ],
)
def test_read_refuses_a_wrong_structure(data, ct):
    with pytest.raises(CotangentError, match="the pullback was given"):
        flatten_scalars(data)[1].read(ct)


def test_an_array_without_axes_takes_a_number():
    assert [float(leaf) for leaf in flatten_scalars(np.ones(()))[1].read(1.5)] == [1.5]


@pytest.mark.parametrize(
    "ct",
    [
        objects("a", 1.0),
        objects(None, 1.0),
        objects(True, 1.0),
        objects(1j, 1.0),
        objects([1.0], 1.0),
        np.ma.array([1.0, 2.0], mask=[True, False]),
    ],
    ids=["str", "None", "bool", "complex", "list", "masked"],
)
def test_read_refuses_an_array_whose_elements_are_no_numbers(ct):
    with pytest.raises(CotangentError):
        flatten_scalars(np.ones(2))[1].read(ct)


@pytest.mark.parametrize("ct", [2, 2.0, np.float32(2), np.int8(2), np.array(2), np.array(2.0, np.float32), Metres(2)])
def test_read_takes_every_real_number_for_a_scalar(ct):
    numbers = flatten_scalars(1.0)[1].read(ct)
    assert numbers == [2.0]
    assert type(numbers[0]) is float


@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, int, np.uint8, object])
def test_read_takes_every_array_of_real_numbers(dtype):
    assert flatten_scalars(np.ones((2, 2)))[1].read(np.array([[1, 2], [3, 4]], dtype)) == [1.0, 2.0, 3.0, 4.0]


def test_a_refusal_says_what_was_expected_where():
    structure = flatten_scalars({"w": [1.0, 2.0], "n": 3, "a": np.ones((2, 3))})[1]
    right = {"w": [1.0, 2.0], "n": None, "a": np.ones((2, 3))}
    assert structure.read(right) == [1.0] * 6 + [1.0, 2.0]
    for key, wrong, message in [
        ("w", [1.0], r"given \[1.0\] \(type list\) where the function's value has a list with 2 entries"),
        ("w", [1.0, "x"], r"given 'x' \(type str\) where the function's value has a real scalar"),
        ("n", 0.0, r"given 0.0 \(type float\) where the function's value has a discrete value \(int\)"),
        ("a", None, r"given None \(type NoneType\) where the function's value has an array of shape \(2, 3\)"),
    ]:
        with pytest.raises(CotangentError, match=message):
            structure.read({**right, key: wrong})


# what flatten_scalars refuses

STRUCTURED = np.dtype([("x", float), ("n", int)])


class Listed(list):
    """A subclass that nobody registered."""


class Keyed(dict):
    """Another one."""


@pytest.mark.parametrize(
    ("x", "cure"),
    [
        (1j, "real and the imaginary part"),
        (np.complex64(1j), "real and the imaginary part"),
        (np.ones(2, complex), "real and the imaginary part"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), "the data and the mask as two arrays"),
        (np.ma.array([1, 2], mask=[True, False]), "the data and the mask as two arrays"),
        (np.ma.masked, "the data and the mask as two arrays"),
        (np.zeros(2, STRUCTURED), "the fields as a dict of arrays"),
        (np.zeros(2, STRUCTURED)[0], "the fields as a dict of arrays"),
        (np.zeros((2, 2)).view(np.matrix), r"Pass np\.asarray"),
        ({1.0, 2}, "a list or a tuple"),
        ({(1, (2.0,))}, "a list or a tuple"),
        (frozenset([np.float32(1)]), "a list or a tuple"),
        (Listed([2.0]), r"dualrev\.register_node"),
        (Keyed(a=[1, np.zeros(1)]), r"dualrev\.register_node"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("around", [lambda x: x, lambda x: [1.0, x], lambda x: {"a": Plain(1.0, x)}, objects])
def test_what_is_neither_real_nor_constant_is_refused_with_a_cure(x, cure, around):
    with pytest.raises(LeafError, match=cure) as caught:
        flatten_scalars(around(x))
    assert f"a value of type {type(x).__name__} cannot be differentiated" in str(caught.value)


def test_subclasses_without_real_scalars_are_constants():
    for x in (Listed([2, "a"]), Keyed(a=1), np.eye(2, dtype=int).view(np.matrix)):
        scalars, structure = flatten_scalars([1.0, x])
        assert scalars == [1.0]
        assert structure.rebuild([2.0])[1] is x


def test_numbers_of_an_array_of_objects_are_read_in_double_precision():
    _, structure = flatten_scalars(np.ones(3))
    found = structure.read(np.array([np.float32(0.5), 1, True * 2], dtype=object))
    assert found == [0.5, 1.0, 2.0]
    assert [type(x) for x in found] == [float, float, float]


def test_a_cotangent_too_large_for_float16_is_infinite():
    _, structure = flatten_scalars([np.float16(1), np.ones(1, np.float16)])
    scalar, array = structure.cotangent([1e6, -1e6])
    assert (scalar, array[0]) == (np.inf, -np.inf)
    assert array.dtype == np.float16


def cyclic():
    in_list = [1.0]
    in_list.append(in_list)
    in_dict = {"a": 1.0}
    in_dict["self"] = (in_dict,)
    in_dataclass = Plain(1.0)
    in_dataclass.y = [in_dataclass]
    in_deque = deque([1.0])
    in_deque.append(in_deque)
    in_array = objects(1.0, None)
    in_array[1] = in_array
    in_box = Box(1.0, None, "a")
    in_box.second = in_box
    around = [1.0, [2.0, [3.0]]]
    around[1][1].append(around)
    return [in_list, in_dict, in_dataclass, in_deque, in_array, in_box, around]


@pytest.mark.parametrize("k", range(7))
def test_data_that_contains_itself_is_refused_with_a_cure(k):
    with pytest.raises(LeafError, match=r"it contains itself\. Pass a tree, or register the class with the links left"):
        flatten_scalars([0.0, cyclic()[k]])


def test_data_that_contains_something_twice_is_fine():
    shared = [1.0, {"a": 2.0}]
    data = [shared, shared, (shared, {"again": shared})]
    xs, structure = flatten_scalars(data)
    assert xs == [1.0, 2.0] * 4
    rebuilt = structure.rebuild([float(k) for k in range(8)])  # every place has its own numbers
    assert rebuilt == [
        [0.0, {"a": 1.0}],
        [2.0, {"a": 3.0}],
        ([4.0, {"a": 5.0}], {"again": [6.0, {"a": 7.0}]}),
    ]


def test_a_refusal_leaves_nothing_behind():
    data = [1.0]
    data.append(data)
    with pytest.raises(LeafError):
        flatten_scalars(data)
    data[1] = 2.0
    assert flatten_scalars(data)[0] == [1.0, 2.0]


# inputs and outputs


@pytest.mark.parametrize(
    "x", [2, True, "a", None, Colour.RED, Ratio.HALF, np.arange(3), [], {}, np.zeros(0), Opaque(1.0)]
)
def test_arguments_without_a_real_scalar_are_refused(x):
    with pytest.raises(ArgumentError, match=f"types: {type(x).__name__}"):
        inputs((x,))


@pytest.mark.parametrize(
    "y", [2, True, "a", None, Colour.RED, Ratio.HALF, np.arange(3), [], {}, np.zeros(0), Opaque(1.0)]
)
def test_values_without_a_real_scalar_are_refused(y):
    with pytest.raises(OutputError, match=rf"\(type {type(y).__name__}\)"):
        outputs(y)


# depth


def linked(make, n, leaf):
    data = leaf
    for k in range(n):
        data = make(float(k), data)
    return data


def in_tuple(*children):
    return children


def in_list(*children):
    return list(children)


def in_dict(head, tail):
    return {"head": head, "tail": tail}


def in_box(*children):
    return Box(*children, "label")


@pytest.mark.parametrize(
    ("make", "n"),
    [(Cell, DEEP), (in_tuple, DEEP), (Frozen, 20_000), (in_list, 20_000), (in_dict, 20_000), (in_box, 20_000)],
)
def test_data_that_is_100_000_deep_needs_no_recursion(make, n):
    xs, structure = flatten_scalars(linked(make, n, None))
    assert len(xs) == n
    doubled = [2.0 * x for x in xs]
    # no comparison of the data itself: Python's == would recurse
    assert flatten_scalars(structure.rebuild(doubled))[0] == doubled
    assert structure.read(structure.cotangent(doubled)) == doubled


@pytest.mark.parametrize("make", [Cell, in_tuple, in_list])
def test_a_wrong_leaf_at_the_bottom_of_deep_data_is_found(make):
    structure = flatten_scalars(linked(make, 20_000, None))[1]
    with pytest.raises(CotangentError, match=r"given 0.0 \(type float\) where the function's value has a discrete"):
        structure.read(linked(make, 20_000, 0.0))


def test_deep_data_is_given_back_to_memory_safely():
    """In a process of its own: if an interpreter's deallocation recursed, it would take the tests down with it."""
    program = f"""
import dataclasses
from dualrev.tree import flatten_scalars

@dataclasses.dataclass
class Cell:
    head: float
    tail: object

for make in [Cell, lambda *children: children]:
    data = None
    for k in range({DEEP}):
        data = make(1.0, data)
    xs, structure = flatten_scalars(data)
    rebuilt = structure.rebuild(xs)
    del data
    del rebuilt
    del structure
print("done")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


# dr.tree, for users


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float
    name: str


LAYERS = {"a": [Layer(np.ones((2, 3)), 0.5, "first"), (np.float32(2.0), None)], "x": np.ones(2, np.float32), "n": 3}


def test_a_loop_of_an_optimiser_needs_no_more():
    def loss(p):
        return np.sum((p["a"][0].w @ np.arange(3.0) - p["x"]) ** 2) + p["a"][0].b ** 2

    first, params = loss(LAYERS), LAYERS
    for _ in range(20):
        params = dr.tree.map(lambda p, g: p - 0.01 * g, params, dr.grad(loss)(params))
    assert loss(params) < 0.5 * first


def test_ravel_and_back():
    vector, unravel = dr.tree.ravel(LAYERS)
    assert_same(vector, np.array([1.0] * 6 + [0.5, 2.0, 1.0, 1.0]))
    back = unravel(vector)
    assert (back["x"].dtype, type(back["a"][1][0]), back["a"][0].name) == (np.float32, np.float32, "first")
    assert_same(unravel(3.0 * vector)["a"][0].w, 3.0 * np.ones((2, 3)))

    def f(v):
        data = unravel(v)
        return np.sum(data["a"][0].w ** 2) * data["a"][0].b + np.sum(data["x"])

    dr.check_grads(f, (vector,), atol=1e-3)  # some of it becomes float32
    gradient = dr.grad(lambda x: np.sum(dr.tree.ravel(x)[0] ** 2))(LAYERS)  # and on the way there
    assert_same(dr.tree.ravel(gradient)[0], 2.0 * vector)
    with pytest.raises(dr.TreeError, match="a vector of 10 numbers"):
        unravel(np.ones(3))
