"""Random programs of the array language: dual arrays, Futhark's sweeps and the rewriting have D4's gradient."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from stages import STAGES
from stages.relatives.bulk import dual_arrays, elementwise
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.terms import Build, Index, Let, Num, Op, Sum, Term, Var
from stages.relatives.distributive import operations, steps
from stages.relatives.futhark import vjp as futhark_vjp

N = 2
SHAPES = {"xs": (N,), "a": (N, N)}
ARGS = [np.random.default_rng(0).uniform(0.3, 1.2, s).tolist() for s in SHAPES.values()]


class Maker:
    """Makes terms whose indices are those of builds; all axes have N elements."""

    def __init__(self, seed: int) -> None:
        self.random, self.ids = random.Random(seed), itertools.count(1)

    def number(self, depth: int, indices: list[str], ranks: dict[str, int]) -> Term:
        """A term for a number, in a scope of indices and of variables with ranks."""
        kinds = ["element", "element", "constant"]
        if depth:
            kinds = ["element", "op", "op", "op", "sum", "let", "let of a vector", "element of a build"]
        match self.random.choice(kinds):
            case "constant":
                return Num(self.random.choice([0.0, 1.0, -0.5]))
            case "element":
                name = self.random.choice(sorted(ranks))
                at = tuple(self.index(indices) for _ in range(ranks[name]))
                return Index(Var(name), at) if at else Var(name)
            case "op":
                op = self.random.choice(["add", "sub", "mul", "mul", "sin", "cos", "neg"])
                arity = 1 if op in ("sin", "cos", "neg") else 2
                return Op(op, tuple(self.number(depth - 1, indices, ranks) for _ in range(arity)))
            case "sum":
                return Sum(self.vector(depth - 1, indices, ranks))
            case "element of a build":
                return Index(self.vector(depth - 1, indices, ranks), (self.index(indices),))
            case "let":
                x = f"v{next(self.ids)}"
                bound = self.number(depth - 1, indices, ranks)
                return Let(x, bound, self.number(depth - 1, indices, {**ranks, x: 0}))
        x = f"v{next(self.ids)}"
        bound = self.vector(depth - 1, indices, ranks)
        return Let(x, bound, self.number(depth - 1, indices, {**ranks, x: 1}))

    def vector(self, depth: int, indices: list[str], ranks: dict[str, int]) -> Term:
        """A build."""
        i = f"i{next(self.ids)}"
        return Build(N, i, self.number(depth, [*indices, i], ranks))

    def index(self, indices: list[str]) -> Term:
        """An index in scope, or a number."""
        return (
            Var(self.random.choice(indices))
            if indices and self.random.random() < 0.8
            else Num(self.random.randrange(N))
        )


def made(seed, depth):
    return Program(tuple(SHAPES), Maker(seed).number(depth, [], {"xs": 1, "a": 2}))


@pytest.mark.parametrize("seed", range(60))
def test_gradients_are_those_of_d4(seed):
    program = made(seed, 3 + seed % 3)
    f = elementwise.function(program)
    y, pullback = STAGES["arrays"].vjp(f, *ARGS)
    expected = pullback(1.0)
    for vjp in (
        dual_arrays.vjp,
        lambda *args: dual_arrays.vjp(*args, bulk_operations=False),
        futhark_vjp,
    ):
        same, back = vjp(program, *ARGS)
        assert same == pytest.approx(y, rel=1e-13, abs=1e-14)
        for found, wanted in zip(back(1.0), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=str(program))


@pytest.mark.parametrize("seed", [*range(30), 305, 457])  # in the last two, a let moves past one of the same name
def test_the_rewriting_keeps_the_gradient(seed):
    program = made(seed, 3 + seed % 3)
    expected = STAGES["arrays"].vjp(elementwise.function(program), *ARGS)[1](1.0)
    for argument, wanted in zip(SHAPES, expected, strict=True):
        found = steps(program, argument, SHAPES)
        for step in (*found[:: max(1, len(found) // 5)], found[-1]):
            value = elementwise.function(step.program)(*ARGS)
            np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-12, err_msg=f"{step}\n{program}")
        assert operations(found[-1].program.body) <= operations(found[0].program.body)
