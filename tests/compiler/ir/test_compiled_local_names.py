"""Numba's intermediate names of a large function stand for one variable each, whatever its variables are called."""

import random
from collections import defaultdict

from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.interpreter import Interpreter

from dualrev.compiler.ir.local_names import keep_apart

NAMES = ["x", "x1", "x2", "x11", "x12", "x21", "x22"]


def large():
    """A function of several hundred branches, which read these variables in some order."""
    choices = random.Random(0)
    lines = [f"    {x} = a[{k}]" for k, x in enumerate(NAMES)]
    for j in range(800):
        x, y = choices.choices(NAMES, k=2)
        lines += choices.choice([[f"    if {x} < {j}:", f"        {x} = {y}"], [f"    {x} += {y}"]])
    space = {}
    exec("def f(a):\n" + "\n".join(lines), space)
    return space["f"]


def ambiguous(f, monkeypatch):
    """Numba's intermediate names that stand for several variables."""
    found, store = defaultdict(set), Interpreter.store

    def stored(self, value, name, redefine=False):
        if name.startswith("$") and isinstance(value, ir.Var):
            found[name].add(value.name)
        return store(self, value, name, redefine)

    with monkeypatch.context() as patch:
        patch.setattr(Interpreter, "store", stored)
        run_frontend(f)
    assert found
    return [name for name, variables in found.items() if len(variables) > 1]


def test_intermediate_names_stand_for_one_variable(monkeypatch):
    f = large()
    assert ambiguous(f, monkeypatch)
    new = keep_apart(f, parameters=True)
    assert set(new) == {"x", "x1", "x2"}
    assert not ambiguous(f, monkeypatch)


def test_parameters_keep_their_names_if_they_have_to():
    def f(x1, x10, x2):
        x12 = x20 = x1 + x2
        return x10, x12, x20

    assert keep_apart(f, parameters=False) == {"x12": "x12_", "x20": "x20_"}
    assert f(x1=1, x10=2, x2=3) == (2, 4, 4)
    assert keep_apart(f, parameters=True) == {"x1": "x1_"}
    assert f(1, 2, 3) == (2, 4, 4)


def test_a_new_name_meets_no_other():
    """s_ would be one: s_ at 1640 is s_1 at 640."""

    def f(a):
        s = s1 = s_1 = s__ = a
        return s + s1 + s_1 + s__

    assert keep_apart(f, parameters=True) == {"s": "s___"}
    assert f(1) == 4
