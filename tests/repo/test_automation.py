"""Workflows, forms and metadata files: they name versions, targets and files that exist. They do not run here."""

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fuzzing.reducing import read, save
from programs.generators.generator import Program

import dualrev as dr
from dualrev._version import NEWEST_NUMBA
from tools import campaign_issue

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHONS = re.findall(r"Python :: (3\.\d+)", PYPROJECT)
OLDEST = dict(
    re.findall(r'"(numpy|numba|scipy|optree|platformdirs|pandas)>=([\d.]+)(?:; python_version < .*)?",', PYPROJECT)
)


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(name):
    return loaded(ROOT / ".github" / "workflows" / f"{name}.yml")["jobs"]


def pythons(job):
    """The versions of Python that a job sets up, without a matrix."""
    (step,) = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
    return step["with"]["python-version"].split()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_limits_and_names_what_exists(path):
    workflow = loaded(path)
    assert "permissions" in workflow
    targets = re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 180, name
        for step in job["steps"]:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step.get("uses", "a/b@v1")), step
            command = step.get("run", "")
            assert set(re.findall(r"(?m)^make ([\w-]+)", command)) <= set(targets)
            assert all((ROOT / file).exists() for file in re.findall(r"@(tests/[\w./]+)", command))
            assert all((ROOT / "tools" / f"{x}.py").exists() for x in re.findall(r"-m tools\.(\w+)", command))
            assert "${{" not in command, "text of others would become a command: pass it by the environment"


def test_the_matrix_has_every_supported_python_on_three_systems():
    matrix = jobs("ci")["quick"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert sorted(pythons(jobs("ci")["package"])) == sorted(pythons(jobs("release")["build"])) == PYTHONS


def test_the_oldest_and_the_newest_versions_are_the_supported_ones():
    found = dict(x.split("==") for x in jobs("ci")["oldest"]["env"]["OLDEST"].split())
    assert set(found) == set(OLDEST)
    assert {name: version.removesuffix(".0") for name, version in found.items()} == {
        name: version.removesuffix(".0") for name, version in OLDEST.items()
    }
    assert pythons(jobs("ci")["oldest"]) == PYTHONS[:1]
    assert pythons(jobs("ci")["newest"]) == PYTHONS[-1:]
    assert loaded(ROOT / ".github" / "workflows" / "ci.yml")["env"]["NUMBA"] == f"numba=={NEWEST_NUMBA}.*"


def test_the_quick_tests_exist():
    for test in (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").split():
        file, _, function = test.partition("::")
        assert f"\ndef {function}" in (ROOT / file).read_text(encoding="utf-8"), test


def test_only_the_job_that_an_approval_starts_publishes():
    found = jobs("release")
    publish = found["publish"]
    assert publish["environment"] == "release"
    assert set(publish["needs"]) == {"build", "attest"}
    assert [name for name, job in found.items() if "gh-action-pypi-publish" in str(job)] == ["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "--tag" in str(found["build"]["steps"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_a_maintainer_needs(path):
    form = loaded(path)
    assert {"name", "description", "labels", "body"} <= set(form)
    fields = {field["id"]: field for field in form["body"] if field["type"] != "markdown"}
    assert set(form["labels"]) <= set(
        re.findall(r"`([a-z ]+)`", (ROOT / "docs/releasing.md").read_text(encoding="utf-8"))
    )
    if path.stem != "idea":
        assert {"program", "found", "expected", "report"} <= set(fields)
        assert "dr.report()" in fields["report"]["attributes"]["description"]
        assert fields["report"]["validations"]["required"]


def test_the_program_in_the_form_of_a_wrong_derivative_runs(capsys):
    form = loaded(ROOT / ".github" / "ISSUE_TEMPLATE" / "wrong_derivative.yml")
    (program,) = [field for field in form["body"] if field.get("id") == "program"]
    exec(program["attributes"]["value"], {})
    assert capsys.readouterr().out == "[2. 4.]\n"


def test_the_issue_of_a_campaign_has_the_smallest_program(tmp_path, capsys):
    small = Program("def f(x):\n    return x\n", (0.5,))
    save(Program("def f(x):\n    y = x\n    return y\n", (0.5,)), tmp_path / "0-17.py", "gradient: 1.0 and 2.0")
    save(small, tmp_path / "0-17-small.py", "gradient: 1.0 and 2.0\nat 0.5")
    assert campaign_issue.main([str(tmp_path), "--to", str(tmp_path / "issue.md")]) == 0
    assert capsys.readouterr().out == "Random program fails: gradient\n"
    text = (tmp_path / "issue.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"(?s)~~~python\n(.*?)~~~", text)
    (tmp_path / "again.py").write_text(program, encoding="utf-8")
    assert read(tmp_path / "again.py").source == small.source
    assert "--replay ../failures/0-17-small.py" in text
    assert "- 0-17.py" in text
    assert re.search(rf"dualrev +{re.escape(dr.__version__)}", text)


def test_a_campaign_without_failures_has_no_issue(tmp_path, capsys):
    with pytest.raises(SystemExit):
        campaign_issue.main([str(tmp_path), "--to", str(tmp_path / "issue.md")])
    assert "has no programs: run `make campaign FOR=600`" in capsys.readouterr().err


def test_the_citation_and_the_recipe_have_the_version_and_the_paper():
    citation, recipe = loaded(ROOT / "CITATION.cff"), loaded(ROOT / "conda" / "recipe.yaml")
    assert citation["version"] == recipe["context"]["version"] == dr.__version__
    assert citation["license"] == recipe["about"]["license"] == "MIT"
    assert f'"https://doi.org/{citation["references"][0]["doi"]}"' in PYPROJECT


def test_the_recipe_has_the_dependencies_of_the_package():
    run = dict(line.split(" >=") for line in loaded(ROOT / "conda" / "recipe.yaml")["requirements"]["run"])
    wanted = {name: version for name, version in OLDEST.items() if name != "pandas"}
    assert run == {"python": PYTHONS[0], **wanted}


def test_the_commands_that_set_a_version_change_every_file(tmp_path):
    """The first block of docs/releasing.md, in a copy."""
    if b"GNU" not in subprocess.run(["sed", "--version"], capture_output=True, check=False).stdout:
        pytest.skip("the commands are for GNU sed")
    files = ["dualrev/_version.py", "CITATION.cff", "conda/recipe.yaml", "CHANGELOG.md"]
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n", encoding="utf-8")
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"(?s)```sh\n( *VERSION=.*?)```", page)
    for _ in range(2):  # the second release finds a date
        subprocess.run(["sh", "-e", "-c", block.replace("1.0.0", "9.8.7")], cwd=tmp_path, check=True)
    today = datetime.now(UTC).date()
    assert '__version__ = "9.8.7"\n' in (tmp_path / "dualrev/_version.py").read_text(encoding="utf-8")
    citation = loaded(tmp_path / "CITATION.cff")
    assert citation["version"] == "9.8.7"
    assert abs((today - citation["date-released"]).days) <= 1
    assert loaded(tmp_path / "conda/recipe.yaml")["context"]["version"] == "9.8.7"
    assert "${{ version }}" in (tmp_path / "conda/recipe.yaml").read_text(encoding="utf-8")
    assert "## 9.8.7\n" in (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
