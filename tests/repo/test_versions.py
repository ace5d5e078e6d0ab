"""All files that name supported versions name the same ones; a version of numba that is not tested gives a warning."""

import re
import tomllib
import warnings
from pathlib import Path

import numba
import pytest
from numba import njit
from support.pages import table

import dualrev as dr
from dualrev._version import NEWEST_NUMBA
from dualrev.compiler.bridge.numba_ext import tested_versions

ROOT = Path(__file__).parents[2]
PACKAGE = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [found[1] for x in PACKAGE["classifiers"] if (found := re.fullmatch(r"Programming .* :: (3\.\d+)", x))]


def text(name):
    return ROOT.joinpath(name).read_text(encoding="utf-8")


def needed():
    """The oldest version of each dependency, by name: that for the oldest Python where there are several."""
    every = [*PACKAGE["dependencies"], *PACKAGE["optional-dependencies"]["test"]]
    found = [re.match(r"([\w-]+)>=([\d.]+)", x) for x in every if ">= '" not in x]
    return {x[1]: x[2] for x in found if x}


def numbers(version):
    return tuple(map(int, version.split(".")))


def minor(version):
    return ".".join(version.split(".")[:2])


def supported():
    """docs/versions.md: the oldest and the newest tested version of each package."""
    rows = table(ROOT / "docs" / "versions.md", "supported")
    return {row[0].removesuffix(" (optional)"): tuple(row[1:]) for row in rows}


def ran_with():
    """CONTRIBUTING.md: the versions of Python, numpy, numba, SciPy and pandas that the tests ran with."""
    lines = re.findall(
        r"(?m)^\| (3\.\d+\.\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text("CONTRIBUTING.md")
    )
    columns = zip(*lines, strict=True)
    return dict(zip(("Python", "numpy", "numba", "SciPy", "pandas"), map(list, columns), strict=True))


def test_the_versions_of_python_are_the_same_everywhere():
    """The package's classifiers, the pages and the Makefile name the same versions."""
    makefile = text("Makefile")
    minors = [int(version.partition(".")[2]) for version in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PACKAGE["requires-python"] == f">={PYTHONS[0]}"
    spoken = f"Python {PYTHONS[0]} to {PYTHONS[-1]}"
    for page in ("README.md", "CONTRIBUTING.md", "docs/package.md", "docs/start.md", "docs/index.md"):
        assert spoken in text(page), page
    assert makefile.count(spoken) == 2
    assert re.findall(r"(?<=python)3\.\d+(?=.*; do)", makefile) == PYTHONS[::-1]
    assert f"(3, {minors[0]}) <= sys.version_info < (3, {minors[-1] + 1})" in makefile


def test_the_page_of_versions_has_the_oldest_ones():
    assert supported()["Python"][0] == PYTHONS[0]
    oldest = {name.lower(): old for name, (old, _) in supported().items() if name != "Python"}
    assert oldest == {name: needed()[name] for name in oldest}
    assert oldest.keys() >= {re.match(r"\w+", x)[0] for x in PACKAGE["dependencies"]}
    (at_314,) = re.findall(r"numpy>=([\d.]+); python_version >= '3.14'", "\n".join(PACKAGE["dependencies"]))
    assert f"Python 3.14, with numpy {at_314} or newer" in text("docs/versions.md")


def test_the_page_of_versions_has_the_newest_that_the_tests_ran_with():
    for name, ran in ran_with().items():
        assert supported()[name][1] == minor(max(ran, key=numbers)), name
    assert supported()["numba"][1] == NEWEST_NUMBA


def test_the_warning_of_untested_versions_knows_the_newest_tested_one():
    assert tested_versions.is_tested(numba.__version__), "run the tests, then raise NEWEST_NUMBA and the two tables"
    assert not tested_versions.is_tested(
        f"{NEWEST_NUMBA.partition('.')[0]}.{int(NEWEST_NUMBA.partition('.')[2]) + 1}.0"
    )


@njit
def square(x):
    return x * x


@pytest.fixture
def first_compilation():
    """As in a new process: no warning has been given."""
    tested_versions.warn_untested_numba.cache_clear()
    yield
    tested_versions.warn_untested_numba.cache_clear()


@pytest.mark.parametrize("version", ["99.1.0", "99.1.0rc1", "99.1.0dev0+7.g1a2b"])
def test_an_untested_numba_gives_one_warning_and_the_derivative(version, monkeypatch, first_compilation):
    monkeypatch.setattr(numba, "__version__", version)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert dr.grad(njit(square.py_func))(3.0) == 6.0
        assert dr.hessian(njit(square.py_func))(3.0) == 2.0
    (warning,) = found
    assert warning.category is dr.UntestedVersionWarning
    cap = f"0.{int(NEWEST_NUMBA.removeprefix('0.')) + 1}"
    assert f"numba {version} is newer than {NEWEST_NUMBA}, the newest version that dualrev" in str(warning.message)
    assert f'Run `pip install "numba<{cap}"`' in str(warning.message)


def test_the_cure_in_the_message_silences_it(monkeypatch, first_compilation):
    monkeypatch.setattr(numba, "__version__", "99.1.0")
    (cure,) = re.findall(r"(warnings\.filterwarnings\(.*\))$", str(dr.UntestedVersionWarning("99.1.0", NEWEST_NUMBA)))
    with warnings.catch_warnings():
        exec(cure, {"warnings": warnings, "dr": dr})
        assert dr.grad(njit(square.py_func))(3.0) == 6.0


@pytest.mark.parametrize("version", [numba.__version__, f"{NEWEST_NUMBA}.99", "0.1.0", "0+unknown"])
def test_other_versions_give_none(version, monkeypatch, first_compilation):
    monkeypatch.setattr(numba, "__version__", version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dr.grad(njit(square.py_func))(3.0) == 6.0
