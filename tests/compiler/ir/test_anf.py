"""Statements of A-normal form: they never change, and say what they read and write."""

import ast
import dataclasses

import pytest

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.builder import AnfBuilder
from dualrev.compiler.ir.anf.rewrite import rewritten, with_reads

G, BOX = anf.Ref("g", len), anf.Ref("Box", int)
INDEX = ("i", anf.Slice(None, "j", None), Ellipsis, None, anf.Const(2))
STAR = anf.Star(anf.CallUser, G, (False, True), (), ("a", "b"), {})
TREE = ast.parse("x + y", mode="eval").body

#: An operation of each class, what it reads, and the Python expression for it; None for those of scalars.
OPERATIONS = [
    (anf.Copy("t", "x", 1), ["x"], "x"),
    (anf.Discrete("t", ("x", "y"), TREE, 1), ["x", "y"], "x + y"),
    (anf.OpaqueExpr("t", ("x", "y"), TREE, ("a sum", "", ""), 1), ["x", "y"], "x + y"),
    (anf.BinOp("t", "@", "x", anf.Const(2), 1), ["x", anf.Const(2)], "x @ 2"),
    (anf.InplaceOp("x", "+", "x", "y", 1), ["x", "y"], "x + y"),
    (anf.UnaryOp("t", "~", "x", 1), ["x"], "~x"),
    (anf.GetItem("t", "x", INDEX, 1), ["x", "i", "j", anf.Const(2)], "x[i, :j, ..., None, 2]"),
    (anf.GetAttr("t", "x", "shape", 1), ["x"], "x.shape"),
    (anf.CallKnown("t", "np.sum", ("x", "k"), 1, ("axis",)), ["x", "k"], "np.sum(x, axis=k)"),
    (anf.CallMethod("t", "x", "sum", ("k",), 1, ("axis",)), ["x", "k"], "x.sum(axis=k)"),
    (anf.CallUser("t", anf.Ref("g", None), ("x", "y"), 1), ["x", "y"], "g(x, y)"),
    (anf.CallUfunc("t", anf.Ref("g", None), ("x",), 1), ["x"], "g(x)"),
    (anf.CallStarred("t", STAR, ("x", "y"), 1), ["x", "y"], "g(x, *y)"),
    (anf.MakeTuple("t", ("x", "y"), 1), ["x", "y"], "(x, y)"),
    (anf.MakeObject("t", BOX, ("x",), 1), ["x"], "Box(x)"),
    (anf.MakeList("t", ("x", "y"), 1), ["x", "y"], "[x, y]"),
    (anf.AllocList("t", "n", 1), ["n"], "[]"),
    (anf.AsList("t", "x", 1), ["x"], "runtime.listed(x)"),
    (
        anf.MakeArray("t", ("x", "y", "z"), [[0, 1], [2, 0]], 1, (anf.Ref("np.float32", None),)),
        ["x", "y", "z", anf.Ref("np.float32", None)],
        "np.array([[x, y], [z, x]], dtype=np.float32)",
    ),
    (anf.Prim("t", None, "+", ("x", "y"), 1), ["x", "y"], None),
    (anf.Load("t", "x", INDEX, 1), ["x", "i", "j", anf.Const(2)], "x[i, :j, ..., None, 2]"),
    (anf.View("t", "x", INDEX, 1), ["x", "i", "j", anf.Const(2)], "x[i, :j, ..., None, 2]"),
    (anf.ViewExpr("t", "x", ("y",), TREE, 1), ["x", "y"], None),
    (anf.Window("t", "x", "i", "j", 1), ["x", "i", "j"], None),
    (anf.Alloc("t", ("x", "y"), TREE, 1), ["x", "y"], None),
    (anf.WholeArray("t", "np.dot", ("x", "y"), 1), ["x", "y"], None),
]
EACH = pytest.mark.parametrize(("s", "read", "text"), OPERATIONS, ids=[type(s).__name__ for s, _, _ in OPERATIONS])


def fields(s):
    """The values of the fields, by which two operations can be compared."""
    return {f.name: getattr(s, f.name) for f in dataclasses.fields(s)}


def test_all_operations_are_here():
    assert {type(s) for s, _, _ in OPERATIONS} == {*anf.Let.__subclasses__()}


@EACH
def test_an_operation_says_what_it_reads_and_writes(s, read, text):
    assert anf.reads(s) == read
    assert anf.writes(s) == [s.target]
    if text is not None:
        assert to_python.text(to_python.expression(s, to_python.atom)) == text


@EACH
def test_an_operation_never_changes(s, read, text):
    before = fields(s)
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.target = "u"
    assert fields(s.on(*s.args)) == before
    assert fields(s.to("u")) == {**before, "target": "u"}
    assert s.on(*s.args) != s  # two statements are never one
    assert fields(s) == before


@EACH
def test_all_that_is_read_is_replaced(s, read, text):
    made = with_reads(s, lambda x: f"{x}_2" if isinstance(x, str) else x)
    assert anf.reads(made) == [f"{x}_2" if isinstance(x, str) else x for x in read]
    assert made.target == s.target
    assert anf.reads(s) == read
    if text is not None and all(isinstance(x, str) for x in read):
        parts = to_python.names_in([to_python.expression(made, to_python.atom)])
        assert not {*parts} & {*read}


def test_a_block_is_rewritten_from_the_inside():
    one, two = anf.Copy("x", anf.Const(1), 1), anf.Copy("y", "x", 2)
    loop = anf.For("k", anf.Const(0), "n", anf.Const(1), [one, anf.If("x", [two], [], 2)], [], 1)
    seen = []

    def change(s):
        """Leave out the copy to y, and write the copy to x twice."""
        seen.append(type(s).__name__)
        return [] if s is two else [s, s] if s is one else [s]

    (made,) = rewritten([loop], change)
    assert seen == ["Copy", "Copy", "If", "For"]
    assert [type(s) for s in anf.walk([made])] == [anf.For, anf.Copy, anf.Copy, anf.If]
    assert [type(s) for s in anf.walk([loop])] == [anf.For, anf.Copy, anf.If, anf.Copy]


def test_blocks_of_a_builder_stand_inside_of_each_other():
    code = AnfBuilder()
    assert code.emit(anf.Copy("x", "a", 1)) == "x"
    inner = code.collect(lambda: code.add(anf.Copy("y", "x", 2), anf.Copy("z", "y", 2)))
    with code.opened() as other:
        code.emit(anf.Copy("u", "x", 3))
        with pytest.raises(ZeroDivisionError):
            code.collect(lambda: 1 / 0)
        code.emit(anf.Copy("v", "u", 3))  # the block that failed is closed
    code.add(anf.If("x", inner, other, 1))
    assert [s.target for s in anf.walk(code.out) if isinstance(s, anf.Copy)] == ["x", "y", "z", "u", "v"]
