"""The functions on accumulators that Efficient CHAD's programs call: addk, readk, take and run (efficient.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Definition
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import INT, Type

if TYPE_CHECKING:
    from stages.calculus.chad.efficient import Efficient

__all__ = ["accumulators"]


def accumulators(D: Efficient) -> Iterator[Definition]:  # noqa: N803 - the paper's letter
    """The definitions, for the types of the program's variables."""
    for k, content in enumerate(D.contents, 1):
        yield adding(D, k, content)
        yield reading(D, k, content)
    yield taking(D)
    yield running(D)


def adding(D: Efficient, k: int, content: Type) -> Definition:  # noqa: N803
    r"""addk = \i. \_(z). \R(a). modify i (\b. Ak(z) + b) a"""
    added = t.Lambda("b", D.acc, t.Plus(t.Con(D.acc, f"A{k}", (Var("z"),)), Var("b")))
    body = t.ResourceLambda("a", ty.Array(D.acc), t.Primitive("modify", (Var("i"), added, Var("a"))))
    kind = ty.Arrow(INT, ty.Linear(content, D.evm))
    return Definition(D.own(f"add{k}").name, kind, t.Lambda("i", INT, t.LinearLambda("z", content, body)))


def reading(D: Efficient, k: int, content: Type) -> Definition:  # noqa: N803
    r"""readk = \_(a). case a of {Ak(z) -> z; .. -> 0}"""
    branches = [t.Branch("Empty", (), t.Zero(content))]
    for j in range(1, len(D.contents) + 1):
        branches.append(t.Branch(f"A{j}", ("z",), Var("z")) if j == k else t.Branch(f"A{j}", ("_",), t.Zero(content)))
    body = t.LinearLambda("a", D.acc, t.Case(Var("a"), tuple(branches)))
    return Definition(D.own(f"read{k}").name, ty.Linear(D.acc, content), body)


def taking(D: Efficient) -> Definition:  # noqa: N803
    r"""take i f b = \R(a). letR a = b a in letR (!z, a) = get i a in f z (set i 0 a)"""
    emptied = t.Primitive("set", (Var("i"), t.Zero(D.acc), Var("a")))
    body: Term = t.Apply(t.Apply(Var("f"), Var("z")), emptied)
    body = t.ResourceLet(("!z", "a"), t.Primitive("get", (Var("i"), Var("a"))), body)
    body = t.ResourceLet(("a",), t.Apply(Var("b"), Var("a")), body)
    body = t.ResourceLambda("a", ty.Array(D.acc), body)
    used = ty.Arrow(D.acc, D.evm)
    made = t.Lambda("i", INT, t.Lambda("f", used, t.Lambda("b", D.evm, body)))
    kind = ty.Arrow(INT, ty.Arrow(used, ty.Arrow(D.evm, D.evm)))
    return Definition(D.own("take").name, kind, made)


def running(D: Efficient) -> Definition:  # noqa: N803
    r"""run n b = alloc n 0 (\R(a). freeze (b a))"""
    body = t.ResourceLambda("a", ty.Array(D.acc), t.Primitive("freeze", (t.Apply(Var("b"), Var("a")),)))
    made = t.Primitive("alloc", (Var("n"), t.Zero(D.acc), body))
    kind = ty.Arrow(INT, ty.Arrow(D.evm, ty.FrozenArray(D.acc)))
    return Definition(D.own("run").name, kind, t.Lambda("n", INT, t.Lambda("b", D.evm, made)))
