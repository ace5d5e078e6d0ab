"""The neighbours together: one interface, one corpus, the growth that docs/relatives.md says."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from programs.corpus import CASES
from support.oracle import assert_same, direction
from support.pages import table

from dualrev.errors import ConversionError, UnsupportedError
from stages import STAGES, LimitReached, __main__, count
from stages.comparison import measure
from stages.comparison.report import fields
from stages.order import algorithm
from stages.programs import PROGRAMS
from stages.relatives import RELATIVES

PAGE = Path(__file__).parents[2] / "docs" / "relatives.md"
DIRECT = [name for name in RELATIVES if name != "cps"]  # whose programs are in a style of their own
#: A fraction beside numbers, as a dual number beside plain ones. numpy 2.1 has no cross product of these.
MIXED = np.array([Fraction(1, 2), 1.0, 2.0], object)
LIMIT = 20_000  # steps of `delta`, which takes 2^n of them where numbers are shared

pytestmark = pytest.mark.usefixtures("timed_once")
by_name = {case.name: case for case in CASES}


@functools.cache
def left_out_by_delta(name):
    """Why a case is none for `delta`: the exception that counting its steps raises."""
    case = by_name[name]
    try:
        count("delta", case.function, *case.primals, limit=LIMIT)
    except (LimitReached, UnsupportedError) as error:
        return type(error)
    return None


def agrees(name, case, y, ct, cotangents):
    """Assert that an algorithm gives these cotangents, or that it does not take the case for a reason that is known."""
    if name == "delta" and left_out_by_delta(case.name) is LimitReached:
        return
    if (name, case.name) == ("lantern", "closures.skip_what_fails"):
        return  # it catches an exception of an operation, which generated code raises only when it runs
    try:
        same, again = RELATIVES[name].vjp(case.function, *case.primals)
    except getattr(RELATIVES[name], "REFUSALS", ()):
        if name != "lantern":
            raise
        return  # it decides by a value that is not known while code is generated
    except (ConversionError, UnsupportedError):
        if name == "tagged_forward":  # one number at a time is differentiated: where an array holds others, it is plain
            return
        raise
    except TypeError:
        if (name, case.name) != ("tagged_forward", "arrays.cross_and_convolve"):
            raise
        with pytest.raises(TypeError):
            np.cross(MIXED, np.ones(3))
        return
    assert_same(same, y)
    assert_same(again(ct), cotangents, rtol=1e-11, floor=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_corpus_a_neighbour_agrees_with_the_stages(case):
    try:
        y, pullback = STAGES["tape"].vjp(case.function, *case.primals)
    except UnsupportedError:
        pytest.skip("the stages do not take it")
    ct = direction(y, seed=1)
    cotangents = pullback(ct)
    for name in DIRECT:
        try:
            agrees(name, case, y, ct, cotangents)
        except Exception as error:
            error.add_note(f"the algorithm {name}")
            raise


def test_most_of_the_corpus_is_taken():
    """So that skipping is the exception: 38 of 267 share too much for `delta`, 9 use what no stage takes."""
    skipped = sum(left_out_by_delta(case.name) is not None for case in CASES)
    assert skipped <= 50


@pytest.mark.parametrize("name", RELATIVES)
def test_the_docstring_has_the_fields_of_a_stage(name):
    about = fields(name)
    assert about.keys() == {"Paper", "D[R]", "Changed", "Needs", "Cost"}
    assert "Needs:" in (RELATIVES[name].__doc__ or "")
    assert re.search(r"20(08|18|19|20|22|23|24)", about["Paper"])


def test_names_are_those_of_no_stage():
    assert not set(RELATIVES) & set(STAGES)
    assert algorithm("vlad") is RELATIVES["vlad"]
    with pytest.raises(KeyError):
        algorithm("none")


# ---- growth ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return {row[0]: row[1:] for row in table(PAGE, "relatives")}


def test_the_page_has_a_row_for_each_stage_and_each_neighbour(rows):
    assert list(rows) == [*RELATIVES, *STAGES]
    for name, (_, carried, *_) in rows.items():
        about = re.split(r"  |, a number|; in general", fields(name)["D[R]"])[0]
        assert carried.startswith((about, f"`{about}`"))


def test_the_laws_on_the_page_are_those_of_the_counts(rows):
    for column, family in enumerate(measure.FAMILIES, start=2):
        few = dataclasses.replace(family, sizes=family.sizes[:-1])  # half of the time is that of the largest size
        for growth in measure.grow(few, list(RELATIVES), limit=50_000):
            said = rows[growth.stage][column]
            if growth.stage == "cps":
                assert said == "-"
                assert growth.law is None  # it takes no such program
            else:
                assert (growth.law or said) == said  # None: cut off too early here


def test_the_laws_of_the_stages_are_those_of_the_readme(rows):
    said = {row[0]: [cell.strip("*") for cell in row[1:]] for row in table(PAGE.parent / "comparison.md", "growth")}
    assert {name: rows[name][2:5] for name in STAGES} == said


# ---- the comparison --------------------------------------------------------------------------------------------------


def test_the_comparison_of_neighbours(capsys, tmp_path):
    file = tmp_path / "numbers.json"
    assert __main__.main(["--relatives", "--program", "fig1", "--size", "1", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "Related algorithms, by paper" in out
    (found,) = json.loads(file.read_text(encoding="utf-8"))["comparisons"]
    stages = {stage["stage"]: stage for stage in found["stages"]}
    assert list(stages) == [*RELATIVES, "tape"]
    assert stages.pop("cps")["cut_off"].startswith("refused: an operation in continuation-passing style is no number")
    assert all(stage["deviation"] == 0.0 and stage["value_deviation"] == 0.0 for stage in stages.values())
    assert all(stage["difference"] < 1e-9 for stage in stages.values())


def test_one_neighbour_can_be_chosen_and_a_stage_is_none(capsys):
    assert __main__.main(["--relatives", "--stage", "vlad", "--program", "fig1", "--size", "1"]) == 0
    assert "delta" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        __main__.main(["--relatives", "--stage", "naive"])
    assert "unknown stage 'naive'" in capsys.readouterr().err


def test_the_counts_of_neighbours_are_those_of_their_modules():
    program = PROGRAMS["doublings"]
    primals = program.make(10, 0)
    assert count("delta", program.function, *primals).calls == 2**11 - 1
    assert count("vlad", program.function, *primals).calls == 11
    with pytest.raises(LimitReached):
        count("vlad", program.function, *primals, limit=5)
