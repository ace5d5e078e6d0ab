"""Random programs with lists that grow, alias each other and are part of lists: Python's own value, or a refusal."""

from __future__ import annotations

import collections
import importlib.util
import math
import random

from stages.calculus import Machine, check
from stages.calculus.language.errors import NotTranslated
from stages.calculus.python import from_value, to_value, translate

HEAD = """
def same(xs: list[float]) -> list[float]:
    return xs


def f(p: float, q: float, xs: list[float]) -> tuple[list[float], list[float], list[float], list[list[float]], float]:
"""
NAMES = ("xs", "ys", "zs")
ROWS = list[list[float]]
ARGUMENTS, RESULT = tuple[float, float, list[float]], tuple[list[float], list[float], list[float], ROWS, float]
POINTS = ((0.3, 0.5, [1.0, 2.0]), (3.0, 2.0, [0.5]))


class Writer:
    """One program, from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        copied = ["    xs = list(xs)"] * self.random.randint(0, 1)
        self.lines = [*copied, "    ys = [1.0, p]", f"    zs = {self.any('[]', '[q]')}", "    rs = [[p], [q, 1.0]]"]
        self.block("    ", 0, False)
        self.block("    ", 0, False)
        self.text = HEAD + "\n".join([*self.lines, "    return xs, ys, zs, rs, p", ""])

    def any(self, *choices):
        return self.random.choice(choices)

    def number(self):
        return self.any("1.0", "p", "q", f"float(len({self.any(*NAMES)}))", f"sum({self.any(*NAMES)})")

    def list(self):
        n, m, x = self.any(*NAMES), self.any(*NAMES), self.number()
        made = (f"[{x}, p]", f"list({n})", f"{n} + [{x}]", f"[x * 2.0 for x in {n}]", f"[*{n}, {x}]", f"{n} * 2")
        return self.any(n, n, f"same({n})", f"{n} if p > 0.5 else {m}", "rs[0]", "rs[-1]", *made)

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent, depth, in_loop):
        n, kind = self.any(*NAMES), self.random.random()
        if kind < 0.3:
            self.lines.append(f"{indent}{n}.append({self.number()})")
        elif kind < 0.4:
            self.lines.append(indent + self.any(f"{n} += {self.list()}", f"{n}.extend({self.any(*NAMES)})"))
        elif kind < 0.62:
            self.lines.append(f"{indent}{n} = {self.list()}")
        elif kind < 0.75:
            self.lines.append(
                indent + self.any(f"rs.append({n})", f"rs = rs + [{n}]", f"rs = [{n}, ys]", "rs = list(rs)")
            )
        elif kind < 0.8 or depth == 2:
            self.lines.append(f"{indent}p += {self.number()}")
        elif kind < 0.85:
            self.lines.append(f"{indent}if p > 2.0:")
            self.block(indent + "    ", depth + 1, in_loop)
        elif kind < 0.88 and in_loop:
            self.lines += [f"{indent}if q > 1.0:", f"{indent}    {self.any('break', 'continue')}"]
        else:
            over = ("for i in range(2):", f"for x in {n}:", f"for i, x in enumerate({n}):", "for zs in rs:")
            self.lines.append(indent + self.any(*over))
            self.block(indent + "    ", depth + 1, True)


def function(text, path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def agrees(f, program):
    """Whether the program is the function."""
    for point in POINTS:
        machine = Machine(program, 1e5)
        found = from_value(machine.apply(machine.value(), to_value(point, ARGUMENTS)), RESULT)
        if not _close(found, f(*[list(x) if isinstance(x, list) else x for x in point])):
            return False
    return True


def _close(x, y):
    """Equal, up to what `sum` corrects from Python 3.12 on."""
    if isinstance(x, list | tuple):
        return type(x) is type(y) and len(x) == len(y) and all(map(_close, x, y))
    return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12)


def outcome(seed, folder):
    f = function(Writer(seed).text, folder / f"wild{seed}.py")
    try:
        program = translate(f)
    except NotTranslated:
        return "refused"
    check(program, "source")
    return "agrees" if agrees(f, program) else "wrong"


def test_a_list_that_grows_has_python_s_meaning_or_is_refused(tmp_path):
    found = {seed: outcome(seed, tmp_path) for seed in range(400)}
    counts = collections.Counter(found.values())
    assert counts["wrong"] == 0, [seed for seed, one in found.items() if one == "wrong"]
    assert counts["agrees"] > 60  # and refusing is not all there is


def test_without_the_look_at_who_has_a_list_programs_are_wrong(tmp_path, monkeypatch):
    """So that the test above can fail. Loops over lists that grow in them would not end."""
    monkeypatch.setattr("stages.calculus.python.statements.check_owned", lambda *_: None)
    finite = [seed for seed in range(100) if ", x in" not in (text := Writer(seed).text) and "for x in" not in text]
    assert "wrong" in {outcome(seed, tmp_path) for seed in finite}
