"""The parts of expansion one by one: what each writes by itself is core that the interpreter runs as numpy does.

A part is made of what its constructor takes, and of nothing else. No function is read or compiled here.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf_to_core import typed
from dualrev.compiler.ir.core.interpret import run
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.names import Names
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Expression, Lazy
from dualrev.compiler.scalarize.arrays.elementwise import Elementwise
from dualrev.compiler.scalarize.arrays.fancy_indexing import Gathering
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.check_types import check_types
from dualrev.compiler.scalarize.lists.growable import Growing
from dualrev.compiler.scalarize.lists.legalize import lists_in
from dualrev.compiler.scalarize.lower import Expanded
from dualrev.compiler.scalarize.numpy.concatenate import Joining
from dualrev.compiler.scalarize.numpy.reductions import Reductions
from dualrev.compiler.scalarize.scalar_ops import arithmetic
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.errors import UnsupportedError

REAL, INT = types.float64, types.int64
VECTOR, MATRIX, INTS = (types.Array(dtype, ndim, "C") for dtype, ndim in ((REAL, 1), (REAL, 2), (INT, 1)))
A, B = np.array([0.5, -1.2, 0.8, 2.0]), np.array([1.1, 0.4, -0.6, 0.9])
M = np.arange(6.0).reshape(2, 3)


def refuse(line, what, why, instead, at=0):
    raise UnsupportedError.at(f"f.py:{line}", what, why, instead)


class Bench:
    """A writer, with what most parts take, for a function of these parameters; `others` are its variables."""

    def __init__(self, body=(), others=(), **parameters):
        dispatcher = SimpleNamespace(targetoptions={})
        source = SimpleNamespace(tree=SimpleNamespace(name="f", lineno=1), dispatcher=dispatcher, refuse=refuse)
        self.parameters = list(parameters)
        self.lowered = SimpleNamespace(
            body=list(body),
            parameters=self.parameters,
            names=Names(),
            refs={},
            source=source,
            result="y",
            exit_value="",
            blamed={},
        )
        self.of = {**parameters, **dict(others)}
        self.alias = Sets()
        self.code = code = ScalarBuilder(self.lowered, self.of, self.alias)
        self.lazy = Lazy(code)
        self.tuples, self.layouts, self.gathering = Tuples(code), Layouts(code, self.lazy), Gathering(code, self.lazy)
        no_lists = set()
        self.assignments = Assignments(code, no_lists, self.lazy, self.gathering)

    def wait(self, operation):
        """Put an operation on arrays off."""
        self.lazy.put_off(operation.target, Expression(operation, REAL, 1))

    def count(self, kind):
        """How many statements of this class have been written."""
        return sum(isinstance(s, kind) for s in anf.walk(self.code.out))

    def run(self, result, *args):
        """Check that the emitted core is well-formed, and return its result."""
        code = self.code
        trees = [code.tree(p) for p in self.parameters]
        kinds = {x: k for x, k in self.of.items() if not isinstance(k, types.BaseTuple)}
        made = Expanded(self.lowered, trees, code.out, code.tree(result), kinds, (), {}, False)
        f = typed(made, None, False)
        check(f)
        return run(f, args)


def test_an_expression_that_waits_becomes_one_loop():
    bench = Bench(a=VECTOR, b=VECTOR, others={"t": VECTOR, "y": VECTOR})
    bench.wait(anf.BinOp("t", "*", "a", "b", 1))
    bench.wait(anf.BinOp("y", "+", "t", "a", 1))
    assert not bench.code.out
    assert "t" in bench.lazy
    bench.lazy.flush()
    assert "t" not in bench.lazy
    assert (bench.count(anf.For), bench.count(anf.Alloc)) == (1, 1)
    np.testing.assert_array_equal(bench.run("y", A, B), A * B + A)


def test_a_real_number_without_a_line_of_the_table_is_no_constant():
    code = Bench(x=REAL, n=INT, others={"y": REAL, "k": INT}).code
    arithmetic(code, anf.BinOp("k", "<<", "n", "n", 1), INT)
    for s in (anf.CallKnown("y", "np.unheard_of", ("x",), 7), anf.BinOp("y", "@", "x", "x", 7)):
        with pytest.raises(AssertionError, match=r"line 7: .* no line"):
            arithmetic(code, s, REAL)
    assert [s.target for s in code.out] == ["k"]


def test_what_waits_is_computed_before_what_it_reads_changes():
    bench = Bench(a=VECTOR, b=VECTOR, others={"t": VECTOR})
    bench.wait(anf.BinOp("t", "*", "a", "a", 1))
    bench.lazy.settle(anf.Copy("b", "a", 1))
    bench.lazy.settle(anf.Copy("a", "t", 1))  # a = t may use it
    assert "t" in bench.lazy
    bench.lazy.settle(anf.Copy("a", "b", 1))
    bench.code.copy("a", "b", 1)
    np.testing.assert_array_equal(bench.run("t", A, B), A * A)


def test_operations_of_numbers_are_expanded_by_somebody_else():
    expanded = []
    bench = Bench(s=types.Array(REAL, 0, "C"), x=REAL, others={"y": REAL, "z": INT})
    elementwise = Elementwise(bench.code, bench.lazy, bench.assignments, expanded.append)
    assert elementwise.takes(anf.BinOp("y", "*", "s", "x", 1), REAL)
    assert [(type(s), s.symbol, s.right) for s in expanded] == [(anf.BinOp, "*", "x")]
    assert not elementwise.takes(anf.BinOp("y", "*", "x", "x", 1), REAL)
    assert not elementwise.takes(anf.GetItem("y", "s", (), 1), REAL)


@pytest.mark.parametrize(
    ("array", "index", "value"),
    [
        ("a", (anf.Slice(anf.Const(1), None, None),), "view"),  # a[1:] = a[:-1]
        ("a", (Ellipsis,), "b"),
        ("a", (anf.Slice(None, None, anf.Const(2)),), "x"),
        ("a", (anf.Const(2),), "x"),
        ("a", ("k",), "b"),  # places that repeat: the last one counts
        ("m", (anf.Const(1),), "r"),
    ],
)
def test_assignments_are_numpys(array, index, value):
    bench = Bench(a=VECTOR, b=VECTOR, x=REAL, k=INTS, m=MATRIX, r=VECTOR, others={"view": types.Array(REAL, 1, "A")})
    bench.code.emit(anf.View("view", "a", (anf.Slice(None, anf.Const(-1), None),), 1))
    bench.alias.join("view", "a")
    bench.assignments.store(anf.Store(array, index, value, 1))
    args = [A.copy(), B.copy(), 3.5, np.array([2, 0, 2, 1]), M.copy(), np.array([7.0, 8.0, 9.0])]
    bench.run(anf.Const(None), *args)
    expected = dict(zip("abxkmr", [A.copy(), B, 3.5, np.array([2, 0, 2, 1]), M.copy(), args[-1]], strict=True))

    def plain(entry):
        bounds = (getattr(x, "value", None) for x in (entry.lower, entry.upper, entry.step))
        return slice(*bounds)

    places = tuple(
        plain(x) if isinstance(x, anf.Slice) else getattr(x, "value", expected[x] if isinstance(x, str) else x)
        for x in index
    )
    expected[array][places] = expected["a"][:-1] if value == "view" else expected[value]
    np.testing.assert_array_equal(args["abxkmr".index(array)], expected[array])


def test_what_is_no_number_is_no_element():
    bench = Bench(a=VECTOR, b=VECTOR, others={"t": types.UniTuple(REAL, 2)})
    for value in ("b", "t"):
        with pytest.raises(UnsupportedError, match="as an element"):
            bench.assignments.store(anf.Store("a", (anf.Const(0),), value, 7))


def test_an_index_that_is_an_array_gives_a_copy():
    bench = Bench(m=MATRIX, k=INTS, others={"y": MATRIX})
    bench.gathering.read(anf.GetItem("y", "m", (Ellipsis, "k"), 1), MATRIX)
    np.testing.assert_array_equal(bench.run("y", M, np.array([2, 0, 2])), M[..., [2, 0, 2]])


def test_an_item_of_a_tuple_is_chosen_at_run_time():
    bench = Bench(t=types.UniTuple(REAL, 3), k=INT, others={"y": REAL})
    bench.tuples.item(anf.GetItem("y", "t", ("k",), 1))
    assert [bench.run("y", (1.0, 2.0, 3.0), k) for k in (0, 2, -1, -3)] == [1.0, 3.0, 3.0, 1.0]
    with pytest.raises(IndexError, match="tuple index out of range"):
        bench.run("y", (1.0, 2.0, 3.0), 3)


@pytest.mark.parametrize(("axis", "expected"), [(0, M.sum(0)), (-1, M.sum(1))])
def test_a_sum_along_an_axis(axis, expected):
    bench = Bench(m=MATRIX, others={"y": VECTOR})
    reductions = Reductions(bench.code, bench.lazy, bench.tuples)
    reductions.sum(anf.CallKnown("y", "np.sum", ("m", anf.Const(axis)), 1), VECTOR)
    np.testing.assert_array_equal(bench.run("y", M), expected)


def test_the_sum_of_what_waits_makes_no_array():
    bench = Bench(a=VECTOR, others={"t": VECTOR, "y": REAL})
    bench.wait(anf.BinOp("t", "*", "a", "a", 1))
    Reductions(bench.code, bench.lazy, bench.tuples).sum(anf.CallKnown("y", "np.sum", ("t",), 1), REAL)
    assert bench.count(anf.Alloc) == 0
    assert bench.run("y", A) == sum(A * A)


def test_a_layout_is_asked_for_where_it_is_not_known():
    bench = Bench(m=types.Array(REAL, 2, "A"), others={"y": MATRIX})
    bench.layouts.same_elements(anf.CallKnown("y", "np.ascontiguousarray", ("m",), 1), MATRIX)
    assert bench.layouts.asks_for_layout
    assert bench.alias.same("y", "m")
    np.testing.assert_array_equal(bench.run("y", M.T), M.T)
    assert np.shares_memory(bench.run("y", M), M)
    assert not np.shares_memory(bench.run("y", M.T), M)


def test_arrays_are_stacked_along_a_new_axis():
    bench = Bench(a=VECTOR, b=VECTOR, others={"t": types.UniTuple(VECTOR, 2), "y": MATRIX})
    bench.tuples.make(anf.MakeTuple("t", ("a", "b"), 1), bench.of["t"])
    joining = Joining(bench.code, bench.lazy, bench.layouts, bench.assignments)
    joining.stack(anf.CallKnown("y", "np.stack", ("t", anf.Const(1)), 1), MATRIX)
    np.testing.assert_array_equal(bench.run("y", A, B), np.stack((A, B), 1))
    with pytest.raises(ValueError, match="all input arrays must have the same shape"):
        bench.run("y", A, B[:2])


APPEND = [anf.CallMethod("_", "z", "append", ("x",), 2)]


def test_a_list_that_grows_is_an_array_and_a_length():
    of = {"z": types.List(REAL), "x": REAL, "_": types.none}
    bench = Bench(APPEND, of, n=INT)
    lists = lists_in(bench.lowered, bench.of)
    assert (lists.names, bench.of["z"]) == ({"z"}, VECTOR)
    assert bench.of[lists.lengths["z"]] == INT
    growing = Growing(bench.code, lists, bench.lazy, bench.assignments, bench.layouts, bench.code.out.append)
    assert not growing.takes(anf.Copy("x", anf.Const(1.0), 1))
    bench.code.out.clear()
    bench.code.emit(anf.Alloc("z", (), bench.code.expression(anf.CallKnown("", "np.empty", (anf.Const(2),), 1)), 1))
    bench.code.copy(lists.lengths["z"], anf.Const(1), 1)
    bench.code.put("z", (anf.Const(0),), anf.Const(2.5), 1)
    bench.code.copy("x", anf.Const(4.5), 1)
    assert growing.takes(*APPEND)
    assert growing.takes(anf.GetItem("x", "z", ("n",), 3))
    taken = bench.code.out.pop()  # growing has handed it on, with a place in the array
    bench.code.emit(anf.Load("x", taken.base, taken.index, 3))
    assert [bench.run("x", n) for n in (0, 1, -1, -2)] == [2.5, 4.5, 4.5, 2.5]
    with pytest.raises(IndexError, match="getitem out of range"):
        bench.run("x", 2)


def test_a_second_name_for_a_list_that_grows_is_refused():
    of = {"z": types.List(REAL), "w": types.List(REAL), "x": REAL, "_": types.none}
    bench = Bench([*APPEND, anf.Copy("w", "z", 3)], of)
    with pytest.raises(UnsupportedError, match=r"f\.py:3: a second name for a list that grows"):
        lists_in(bench.lowered, bench.of)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (types.complex128, "the complex number x"),
        (types.Optional(REAL), "it is None on some paths"),
        (types.Tuple([REAL, types.complex128]), r"the complex number x\[1\]"),
        (types.List(types.Tuple([REAL, REAL])), "the list x as an argument"),
        (types.Array(types.NPDatetime("D"), 1, "C"), "its elements are no numbers"),
    ],
)
def test_types_without_derivatives_are_refused(kind, text):
    with pytest.raises(UnsupportedError, match=text):
        check_types(Bench(x=kind).lowered, {"x": kind})
