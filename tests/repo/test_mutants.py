"""The mutation run: its mutants, its sample, its table, and small test suites in place of dualrev's."""

import ast
import itertools

import pytest

pytest.importorskip("resource")  # processor time is limited on Linux and macOS only
from tools.mutants import ROOT, TARGETS, main, read, run_tests, sampled, table
from tools.mutations import mutants

MUTATIONS = [
    ("a + b * 2", ["(a - b * 2)", "a + (b / 2)", "a + b * (3)"]),
    ("-a // 1.5", ["(-a / 1.5)", "(a) // 1.5", "-a // (2.5)"]),
    ("a < b", ["(a <= b)", "(a >= b)"]),
    ("a is not b and not c", ["(a is not b or not c)", "(a is b) and not c", "a is not b and (c)"]),
    ("a if b else True", ["(True if b else a)", "a if b else (False)"]),
    ("f(a, b, *c)", ["f(b, a, *c)", "pass"]),
    ("f(a, a), isinstance(a, b)", []),
    ("if a in b:\n    del c", ["if (a not in b):\n    del c", "if (not (a in b)):\n    del c"]),
    ("a[b] = c", ["pass"]),
    ("d = 1; a.b = c", ["d = (2); a.b = c", "d = 1; pass"]),
    ("d -= c", ["pass"]),
    ("('é' 'x * y', f(a, b))", ["('(éx / y)', f(a, b))", "('é' 'x * y', f(b, a))"]),
    ("'é', 'x * y'", ["'é', '(x / y)'"]),
    (
        "p = 'x if a < b ' 'else y'",
        ["p = '(y if a < b else x)'", "p = 'x if (a <= b) else y'", "p = 'x if (a >= b) else y'"],
    ),
    ("p = '0.0', '-1.0'", ["p = '1.0', '-1.0'", "p = '0.0', '(1.0)'", "p = '0.0', '-(2.0)'"]),
    ("'prose, as in a sentence: 1 + 1'", []),
    ("p = 'x', 'f(x)', 'np.sum', 'x, y'", []),
    ("p = f'{a + b}'", []),
    ("assert a < b", []),
    ("__all__ = [x + y]", []),
    ("def f(x: int | None) -> a | b:\n    'x + y'\n    return x", []),
]


@pytest.mark.parametrize(("source", "expected"), MUTATIONS, ids=[source for source, _ in MUTATIONS])
def test_mutations(source, expected):
    assert sorted(m.applied(source) for m in mutants(source)) == sorted(expected)


@pytest.mark.parametrize("file", ["dualrev/rules/complexes.py", "dualrev/rules/special.py"])
def test_a_mutant_is_another_program(file):
    source = (ROOT / file).read_text("utf-8")
    for mutant in mutants(source):
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source)), mutant


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_files_and_tests(name):
    target = TARGETS[name]
    assert all(list(ROOT.glob(pattern)) for pattern in target.files)
    assert all((ROOT / test).exists() for test in target.tests)


def test_a_sample_is_the_same_again():
    target = TARGETS["CSE"]
    assert len(sampled(target, 5, seed=3)) == 5
    assert sampled(target, 5, seed=3) == sampled(target, 5, seed=3) != sampled(target, 5, seed=4)
    every = sampled(target, 0, seed=3)
    assert set(sampled(target, 5, seed=3)) < set(every)
    assert all(one.start <= other.start for (_, one), (_, other) in itertools.pairwise(every))


SMALL = [
    ("def test_a(): pass", ""),
    ("def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): assert 0", "test_small.py::test_b"),
    ("import nothing_of_this_name", "test_small.py"),
    ("def test_a():\n    while True: pass", "limit"),
    ("def test_a(): bytearray(1 << 40)", "test_small.py::test_a"),
]


@pytest.mark.parametrize(("tests", "found"), SMALL)
def test_what_finds_a_mutant(tests, found, tmp_path):
    (tmp_path / "test_small.py").write_text(tests, "utf-8")
    failed, spent = run_tests(tmp_path, ["test_small.py"], seconds=2)
    assert failed == found
    assert 0.0 < spent < 10.0


def test_the_table_counts_by_target(tmp_path, capsys):
    results = [
        '{"target": "tape", "id": "t.py:1: a -> b", "quick": "tests/a.py::test_x"}',
        '{"target": "tape", "id": "t.py:2: a -> b", "quick": ""}',
        '{"target": "CSE", "id": "c.py:3: a -> b", "quick": "", "suite": ""}',
        '{"target": "tape", "id": "t.py:2: a -> b", "quick": "", "suite": "tests/b.py::test_y[1]"}',
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(results), "utf-8")
    assert len(read(tmp_path / "r.jsonl")) == 3
    assert main(["--table", str(tmp_path / "r.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert printed == table(list(read(tmp_path / "r.jsonl").values())) + "\n"
    for line in ("| tape | 2 | 1 | 1 | 0 |", "| CSE | 1 | 0 | 0 | 1 |", "| all | 3 | 1 | 1 | 1 |", "    1 tests/b.py"):
        assert f"\n{line}\n" in printed
    assert printed.endswith("t.py:2: a -> b   tests/b.py::test_y[1]\nc.py:3: a -> b   \n")
