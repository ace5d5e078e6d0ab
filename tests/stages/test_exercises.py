"""The exercises of the course docs/learn: solutions pass their checks, typical wrong answers are told what is wrong."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from support.wrong_answers_late import WRONG

from stages.exercises import CHAPTERS, check
from stages.exercises.__main__ import main
from stages.exercises.exercise import same, shown
from stages.exercises.report import report
from stages.exercises.running import examine
from stages.order import STAGES
from stages.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "stages" / "exercises"
PAGES = sorted((ROOT / "docs" / "learn").glob("*.md"))


def functions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_solutions_pass_their_checks(number, capsys):
    assert main([str(number), str(FOLDER / "solutions" / f"chapter_{number}.py")]) == 0
    out = capsys.readouterr().out
    assert out.count("right on ") == 3
    for count, bound in re.findall(r": ([\d,]+), bound ([\d,]+)", out):
        assert int(count.replace(",", "")) <= int(bound.replace(",", ""))


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_tasks_have_the_functions_of_the_checks_and_nothing_is_written_yet(number, capsys):
    chapter = CHAPTERS[number]
    tasks = functions(chapter.tasks)
    names = [exercise.name for exercise in chapter.exercises]
    assert [name for name in tasks if name != "plus"] == names
    assert all(tasks.values())
    assert main([str(number), str(chapter.tasks)]) == 1
    assert capsys.readouterr().out.count("not written yet") == len(names) == 3
    assert main([str(number)]) == 0
    assert capsys.readouterr().out == chapter.tasks.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "name", "texts", "answer"), WRONG, ids=[f"{name}-{answer.__name__}" for _, name, _, answer in WRONG]
)
def test_a_wrong_answer_is_told_the_input(number, name, texts, answer):
    (exercise,) = [exercise for exercise in CHAPTERS[number].exercises if exercise.name == name]
    result = examine(exercise, answer)
    assert result.state in ("wrong", "error")
    assert result.details[0][0] == "input"
    assert texts[0] in result.details[0][1]
    text = report(CHAPTERS[number], [result])
    for part in texts[1:]:
        assert part in text
    assert f"hint      {exercise.hint[:30]}" in text


def test_each_exercise_has_a_wrong_answer():
    every = {(number, exercise.name) for number, chapter in CHAPTERS.items() for exercise in chapter.exercises}
    assert {(number, name) for number, name, *_ in WRONG} == every


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (1\n", ("my_file.py:1: `x = (1`", "SyntaxError: '(' was never closed")),
        ("y = 1 / 0\n", ("my_file.py:1: `y = 1 / 0`", "ZeroDivisionError: division by zero")),
        ("while True: pass\n", ("my_file.py:1: `while True: pass`", "3,000,000 operations")),
        ("import sys\nsys.exit()\n", ("my_file.py:2: `sys.exit()`", "SystemExit")),
    ],
)
def test_a_file_that_cannot_be_read(text, said, tmp_path, capsys):
    file = tmp_path / "my_file.py"
    file.write_text(text, encoding="utf-8")
    assert main(["1", str(file)]) == 2
    error = capsys.readouterr().err
    assert all(part in error for part in (*said, "before the check of any answer"))


def test_a_file_or_a_chapter_that_is_not_there(tmp_path, capsys):
    assert main(["1", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["99"]) == 2
    assert "the chapters are 1 to 10" in capsys.readouterr().err


def test_a_function_that_is_missing_or_has_another_name(tmp_path, capsys):
    file = tmp_path / "my_file.py"
    file.write_text("from math import sin\ndef forwrd_difference(f, x, h):\n    return 1.0\n", encoding="utf-8")
    assert main(["1", str(file)]) == 1
    out = capsys.readouterr().out
    assert "has no function forward_difference. Did you mean it to be forwrd_difference?" in out
    assert "has no function difference_gradient." in out


def test_an_answer_that_calls_an_unwritten_function(tmp_path, capsys):
    file = tmp_path / "my_file.py"
    text = "def merge(m1, m2):\n    raise NotImplementedError\ndef resolve(c, m):\n    return merge(m, {})\n"
    file.write_text(text, encoding="utf-8")
    assert main(["4", str(file)]) == 1
    out = capsys.readouterr().out
    assert "merge      not written yet\n" in out
    assert "resolve    it calls merge, which is not written yet\n" in out


def test_an_answer_may_return_an_array(capsys):
    def read_pullback(n, indices, z):
        ct = np.zeros(n)
        np.add.at(ct, np.array(indices, dtype=int), z)
        return ct

    check(6, read_pullback)
    assert "read_pullback  right on 5 inputs" in capsys.readouterr().out


def test_the_list_of_exercises_has_all_of_them(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(exercise.name in out for chapter in CHAPTERS.values() for exercise in chapter.exercises)


def test_check_refuses_what_is_no_answer():
    def forward_difference(f, x):
        return 1.0

    with pytest.raises(ValueError, match="there is no chapter 11"):
        check(11, forward_difference)
    with pytest.raises(ValueError, match="needs a function: forward_difference, "):
        check(1)
    with pytest.raises(ValueError, match=r"chapter 2 has no exercise 'forward_difference'. Did you mean forward_grad"):
        check(2, forward_difference)


def test_an_error_in_a_call_names_the_line_of_the_answer(capsys):
    def forward_difference(f, x, h):
        return f(x + h) / (h - h)

    check(1, forward_difference)
    out = capsys.readouterr().out
    line = inspect.getsourcelines(forward_difference)[1] + 1
    assert f"test_exercises.py:{line}: `return f(x + h) / (h - h)`" in out
    assert "ZeroDivisionError" in out


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (1.0, 1.0 + 1e-6),
        ([1.0], [1.0, 2.0]),
        (None, 0.0),
        (True, 1.0),
        (float("nan"), 0.0),
        ("1.0", 1.0),
        ({1: 2.0}, {2: 2.0}),
        (1.0, [1.0]),
        (2**60 + 1, 2**60),
    ],
)
def test_results_that_differ_are_not_the_same(found, expected):
    assert not same(found, expected)
    assert same(expected, expected)
    assert shown(found)


# ---- the pages


def test_every_chapter_has_a_page_with_its_tasks_and_only_lecturers_see_the_solutions():
    for number in CHAPTERS:
        (page,) = [page for page in PAGES if page.name.startswith(f"{number}_")]
        text = page.read_text(encoding="utf-8")
        assert f"```{{literalinclude}} ../../stages/exercises/tasks/chapter_{number}.py\n" in text
        assert f"python -m stages.exercises {number} chapter_{number}.py" in text
        for exercise in CHAPTERS[number].exercises:
            assert f". `{exercise.name}`" in text
    assert [page.name for page in PAGES if "solutions/" in page.read_text(encoding="utf-8")] == ["lecturer.md"]


def test_the_code_on_the_pages_is_there():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for path, name in re.findall(r"\{literalinclude\} (\S+)\n:pyobject: (\w+)\n", text):
            tree = ast.parse((page.parent / path).resolve().read_text(encoding="utf-8"))
            assert name in [getattr(node, "name", None) for node in tree.body], (page.name, path, name)


def test_the_links_to_pages_to_step_through_lead_to_programs_and_stages():
    pytest.importorskip("jinja2")
    from stages.comparison.page.site import STEPPED

    assert {*PROGRAMS} - {*STEPPED} == {"particles"}
    found = [link for page in PAGES for link in re.findall(r'"steps/(\w+)\.html(?:#(\w+))?"', page.read_text("utf-8"))]
    assert {name for name, _ in found} == {*STEPPED, "relatives"}
    assert {stage for _, stage in found if stage} <= {*STAGES}
