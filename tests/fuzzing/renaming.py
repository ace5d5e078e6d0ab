"""The same program with other names: those that emitted code, its runtime and numba use themselves."""

from __future__ import annotations

import ast
import dataclasses
import keyword
import random
import tempfile

from programs.generators.generator import Program

import dualrev as dr
from dualrev.compiler import runtime
from dualrev.compiler.ir.names import FIXED, words_of
from fuzzing.running import arguments, load, reals

__all__ = ["hostile_names", "renamed", "with_hostile_names"]

#: Names that numba's own intermediate code has, and names that look like those that a compiler makes.
_LIKELY = [
    "arg", "self", "tuple_setitem", "ir", "loc", "lifted", "loop_body", "result", "result_0", "result_1", "final",
    "final_0", "d_result_0", "ct_0", "trips", "trips_1", "kept", "kept_float64_1c", "x_1", "x_2", "d_x", "t_x",
    "d_d_x", "d_1", "d_2", "_1", "_2", "_3", "_d1", "_k1", "_flags", "_return", "_result", "_break1", "_continue1",
    "_stop1", "f_forward", "f_reverse", "f_tangent", "g", "g_forward", "g_reverse", "value_and_grad_f", "grad_f",
    "jvp_f", "vjp_f", "_sin", "u_", "u__", "__", "a_given", "x_new", "x__1", "a_0", "a_1", "t_0", "t_1", "d_a_0",
    "dualrev", "function", "argnums", "self_", "cls", "MARK",
]  # fmt: skip


def hostile_names(emitted: str) -> list[str]:
    """Return names that emitted code uses, or may use."""
    names = {name for line in emitted.splitlines() for name in words_of(line)}
    names |= {*FIXED, *_LIKELY, *(name for name in vars(runtime) if not name.startswith("__"))}
    return sorted(n for n in names if n.isidentifier() and not keyword.iskeyword(n))


def renamed(source: str, names: list[str], seed: str) -> str:
    """The module with other names for the variables of its functions; what they compute is the same."""
    choices = random.Random(seed)
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    closures = {id(inner) for f in functions for inner in ast.walk(f) if inner is not f}
    parameters: dict[str, dict[str, str]] = {}
    for f in functions:
        if id(f) in closures or any(isinstance(x, ast.FunctionDef) for s in f.body for x in ast.walk(s)):
            continue
        given = [a.arg for a in [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]]
        used = [x for s in f.body for x in ast.walk(s) if isinstance(x, ast.Name)]
        own = dict.fromkeys([*given, *(x.id for x in used if isinstance(x.ctx, ast.Store))])
        foreign = {x.id for x in used} - set(own)
        free = [n for n in names if n not in foreign]
        mapping = dict(zip(own, choices.sample(free, len(own)), strict=True))
        parameters[f.name] = {p: mapping[p] for p in given}
        for node in [*used, *(a for a in ast.walk(f.args) if isinstance(a, ast.arg))]:
            if isinstance(node, ast.Name):
                node.id = mapping.get(node.id, node.id)
            else:
                node.arg = mapping[node.arg]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in parameters:
            for k in node.keywords:
                k.arg = parameters[node.func.id].get(str(k.arg), k.arg)
    return ast.unparse(tree) + "\n"


def with_hostile_names(of: Program, choices: random.Random) -> Program:
    """The program with the names that its own derivative has."""
    primals, transforms = arguments(of), ["value_and_grad"] + ["jvp"] * of.forward
    with tempfile.TemporaryDirectory() as folder:
        f = load(of.source, folder).f
        texts = [dr.derivative_source(f, *primals, transform=t, argnums=reals(primals)) for t in transforms]
    names = hostile_names("\n".join(texts))
    return dataclasses.replace(of, source=renamed(of.source, names, str(choices.random())))
