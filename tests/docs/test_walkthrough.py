"""The tutorial runs, its numbers are outputs, and what the reader types does what the repository's stages do."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from paper_figures import walkthrough_pictures
from stages import STAGES, count

PAGE = Path(__file__).parents[2] / "paper_figures" / "walkthrough.md"
TEXT = PAGE.read_text(encoding="utf-8")
CODE = re.compile(r"(?ms)^```python\n(.*?)^```\n")
PROSE = CODE.sub("", TEXT)
STEPS = dict(re.findall(r"(?ms)^## Step (\d+): (.*?)(?=^## )", TEXT))


def run(text):
    """Run all examples, which have to give the outputs on the page, and return the names that they define."""
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "walkthrough", str(PAGE), 0)
    failed, attempted = doctest.DocTestRunner().run(test, clear_globs=False)
    assert failed == 0
    assert attempted >= 90
    return test.globs


@pytest.fixture(scope="module")
def session():
    return run(TEXT)


def test_the_examples_run_without_the_answers_to_the_exercises():
    assert "CalledTape" not in run(re.sub(r"(?s)<details>.*?</details>", "", TEXT))


def straight_line(seed):
    """A program of fourteen sums and products of what has been computed so far, as a function of three numbers."""

    def f(*scalars):
        random, scalars = np.random.default_rng(seed), list(scalars)
        for _ in range(14):
            u, v = (scalars[random.integers(len(scalars))] for _ in range(2))
            scalars.append(u + v if random.random() < 0.6 else u * (0.5 * v))
        return scalars[-1]

    return f


@pytest.mark.parametrize("seed", range(10))
def test_what_the_reader_types_gives_the_derivatives_of_the_stages(session, seed):
    f, x = straight_line(seed), np.random.default_rng(seed).uniform(-1.0, 1.0, 3).tolist()
    assert list(session["ours"]) == [
        name for name in STAGES if name not in ("contrib", "parallel")
    ]  # variants of the step before
    for name, version in session["ours"].items():
        y, pullback = session["vjp"](version, f, *x)
        expected, expected_pullback = STAGES[name].vjp(f, *x)
        assert y == expected
        assert pullback(1.0) == pytest.approx(list(expected_pullback(1.0)), rel=1e-12)


def test_what_the_reader_types_makes_as_many_calls_as_the_stages(session):
    f = session["fibonacci"](9)
    assert session["total_calls"](f, 1.0, 1.0) == count("naive", f, 1.0, 1.0).calls
    for name in list(session["ours"])[1:]:
        assert session["agrees"](name, session["ours"][name], f, 1.0, 1.0)


def test_numbers_in_the_text_are_in_the_examples():
    """Numbers of two digits or more, without those of sections, figures, steps, exercises and years."""
    references = r"POPL \d+|(?:Figs?\.|sections?) [\d. and()a-z]+?(?=[,.]|$)|steps? \d+(?: to \d+)?|[ef]\d"
    said = re.findall(r"(?<![\w.#/-])\d[\d,]*\.?\d+", re.sub(rf"(?m){references}", "", PROSE))
    code = re.sub(r"(?<=\d),(?=\d{3})", "", "".join(CODE.findall(TEXT)))
    shown = set(re.findall(r"\d+\.?\d*", code)) | {"24"}  # the permutations of four
    assert len(said) >= 10
    for number in said:
        plain = number.replace(",", "").rstrip(".")
        assert {plain, plain.removesuffix(".0"), f"{plain}.0"} & shown, number


def test_every_step_has_a_problem_and_names_its_places():
    assert list(STEPS) == [str(i) for i in range(1, 12)]
    for text in STEPS.values():
        assert "*Paper: section" in text
        assert text.count("**The problem.**") == text.count("**What is still wrong.**") == 1
    files = re.findall(r"In the repository: `stages/(\w+)\.py`", TEXT)
    followed = {name: module for name, module in STAGES.items() if name not in ("contrib", "parallel")}
    assert files == [module.__name__.rpartition(".")[2] for module in followed.values()]


def test_the_three_questions_are_answered_where_the_top_of_the_page_says():
    asked = re.findall(r"(?m)^\d\. \[(.*)\]\(#.*\)\s+\(step (\d+)\)$", TEXT)
    assert len(asked) == 3
    for question, step in asked:
        assert f"\n### {question}\n" in STEPS[step]


def test_every_exercise_has_an_answer_with_code():
    exercises = re.split(r"(?m)^\*\*Exercise \d\.\*\*", TEXT)[1:]
    assert len(exercises) == TEXT.count("<details>") == TEXT.count("</details>") == 5
    for exercise in exercises:
        answer = re.search(r"(?s)\n\n<details>\n<summary>Answer</summary>\n\n(.*?)\n\n</details>\n", exercise)
        assert answer
        assert CODE.search(answer[1])


def test_links_lead_somewhere():
    headings = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in re.findall(r"(?m)^#+ (.*)$", TEXT)}
    links = re.findall(r"\]\(([^)]+)\)", PROSE)
    assert len(links) >= 15
    for link in links:
        path, _, anchor = link.partition("#")
        assert not path or (PAGE.parent / path).exists(), link
        assert path or anchor in headings, link


def test_code_is_narrow_enough_to_be_read_without_scrolling():
    assert max(len(line) for block in CODE.findall(TEXT) for line in block.splitlines()) <= 100


def test_the_pictures_are_up_to_date_and_shown():
    made = walkthrough_pictures.pictures()
    assert sorted(made) == sorted(file.name for file in PAGE.parent.glob("walkthrough_*.svg"))
    for name, text in made.items():
        assert (PAGE.parent / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make figures`"
        assert f"]({name})" in TEXT
        assert "<title>" in text
