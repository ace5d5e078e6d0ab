"""The wheel and the sdist: what is in them, and whether a user's program runs, and is read, with the wheel installed.

The first environment has the wheel, and takes its dependencies from the one that runs the tests. The slow tests install
everything from the package index, for each Python that is there.
"""

import doctest
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numba
import numpy
import pytest

import dualrev

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parents[1] / "package"
VERSIONS = re.findall(r"Python :: (3\.\d+)", ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))


def run(*command, cwd=None):
    """A command as a user runs it, who has no path to this repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdist, and the wheel that is built from it."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    status, output = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    assert status == 0, output
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel, and with the dependencies that this one has."""
    folder = tmp_path_factory.mktemp("user")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder)[0] == 0
    made = next(path for path in folder.glob("*/python*") if path.stem == "python")
    packages = Path(run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")[1].strip())
    assert not list(packages.iterdir())
    zipfile.ZipFile(wheel).extractall(packages)  # of a wheel without compiled code, that is what installing does
    assert {x.name.partition("-")[0] for x in packages.iterdir()} == {"dualrev"}
    packages.joinpath("dependencies.pth").write_text(str(Path(numpy.__file__).parent.parent))
    return made


def test_the_wheel_holds_the_library_only(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"dualrev"}
    assert "dualrev/py.typed" in names
    assert {name for name in names if name.startswith("dualrev/")} >= {
        str(path.relative_to(ROOT)) for path in ROOT.joinpath("dualrev").rglob("*.py")
    }


def test_its_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    about = email.message_from_bytes(archive.read(name))
    assert about["Requires-Python"] == f">={VERSIONS[0]}"  # no cap: the dependencies say what they have wheels for
    always = [need for need in about.get_all("Requires-Dist") if "extra ==" not in need]
    assert {re.match(r"\w+", need)[0] for need in always} == {"numpy", "numba", "scipy", "optree", "platformdirs"}
    assert "Typing :: Typed" in about.get_all("Classifier")
    page = about.get_payload()
    assert "import dualrev as dr" in page
    assert not re.search(r"\]\((?!https?://)", page)  # a link to a file leads nowhere on a package index


def test_the_sdist_has_what_make_needs(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    needed = "Makefile README.md docs/numpy.md tests/conftest.py bench/suite/conftest.py stages/__main__.py"
    assert names >= {
        *needed.split(),
        "examples/lantern/data/trees.py",
        "stages/comparison/page/template.html",
        "tests/golden/dot.txt",
        "bench/published/run.json",
    }


def test_a_users_program_runs_with_the_wheel(python, tmp_path):
    status, output = run(python, PROGRAMS / "user.py", cwd=tmp_path)
    assert status == 0, output
    assert str(python.parent.parent) in output  # it is the wheel that was imported


def wrong_lines():
    text = PROGRAMS.joinpath("mistaken.py").read_text(encoding="utf-8")
    return {number for number, line in enumerate(text.splitlines(), start=1) if line.endswith("# wrong")}


def imports_of_numba():
    """The user's lines that import numba, where it comes without types, as an older one: a type checker says so."""
    if Path(numba.__file__).with_name("py.typed").exists():
        return set()
    lines = PROGRAMS.joinpath("user.py").read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, start=1) if line.startswith("from numba import")}


@pytest.mark.parametrize("checker", ["mypy", pytest.param("pyright", marks=pytest.mark.slow)])
def test_type_checkers_find_the_mistakes_and_nothing_else(checker, python, tmp_path):
    pytest.importorskip(checker)
    options = ["--python-executable", python, "--cache-dir", tmp_path]
    options = options if checker == "mypy" else ["--pythonpath", python]
    files = PROGRAMS / "user.py", PROGRAMS / "mistaken.py"
    _, output = run(sys.executable, "-m", checker, *options, *files, cwd=tmp_path)
    found = re.findall(r"(\w+)\.py:(\d+):.* error", output)
    expected = {("mistaken", line) for line in wrong_lines()} | {("user", line) for line in imports_of_numba()}
    assert {(name, int(line)) for name, line in found} == expected, output


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_environment_from_the_package_index(version, wheel, tmp_path):
    interpreter = shutil.which(f"python{version}")
    if interpreter is None or run(interpreter, "-c", "pass")[0] != 0:
        pytest.skip(f"there is no Python {version}")
    assert run(interpreter, "-m", "venv", tmp_path / "env")[0] == 0
    made = tmp_path / "env" / "bin" / "python"
    status, output = run(made, "-m", "pip", "install", "--quiet", wheel)
    assert status == 0, output
    assert run(made, "-m", "pip", "check")[0] == 0
    status, output = run(made, PROGRAMS / "user.py", cwd=tmp_path)
    assert status == 0, output
    status, output = run(made, "-m", "pip", "show", "--files", "dualrev")
    files = re.findall(r"(?m)^  (\S+)$", output)
    assert {name.partition("/")[0].partition("-")[0] for name in files} == {"dualrev"}


def test_the_examples_on_the_page_for_a_package_index_run():
    found = doctest.testfile(str(ROOT / "docs" / "package.md"), module_relative=False)
    assert (found.failed, found.attempted) == (0, 10)


def test_only_public_names_are_listed():
    listed = dir(dualrev)
    assert listed == sorted(dualrev.__all__)
    caught = {name for name in listed if name.endswith("Error")}
    assert caught == {"CheckError", "ConversionError", "DualrevError", "UnsupportedError"}
    assert all(
        getattr(dualrev, name) is getattr(dualrev.errors, name) for name in dualrev.errors.__all__ if name != "explain"
    )
    assert not {"derivatives", "checking", "eager", "compiler", "rules", "places"} & set(listed)
    assert all(hasattr(dualrev, name) for name in listed)


def test_an_import_leaves_out_what_only_some_programs_need(tmp_path):
    """SciPy's linear algebra, numba's definitions of numpy's functions, and the compiler: most of the time it took."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import dualrev
needed = {{"scipy.linalg", "numba.np.arraymath", "numba.np.arrayobj", "rich", "pandas", "dualrev.compiler.runtime"}}
needed |= {{"dualrev.math", "dualrev.rules.library.special"}}  # a line of the table is compiled when it is used
print(*sorted(needed & set(sys.modules)))
"""
    assert run(sys.executable, "-c", program, cwd=tmp_path) == (0, "\n")
