"""The script that checks a release: its parts, on small files. The slow test builds the last commit twice."""

import gzip
import importlib.util
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools import release_check

ROOT = Path(__file__).parents[2]
EPOCH = 1_700_000_000
CONTENT = {"pkg-1.0/b.py": b"b = 1\n", "pkg-1.0/a.py": b"", "pkg-1.0/run": b"#!/bin/sh\n"}


def sdist(path, order, mtime, owner, mode):
    """An sdist as setuptools packs it: with the time, the owner and the umask of whoever builds it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo("pkg-1.0")
        folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o700, mtime
        archive.addfile(folder)
        for name in order:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.uid = len(CONTENT[name]), mtime, owner, len(owner)
            member.mode = mode | 0o111 if name.endswith("run") else mode
            archive.addfile(member, io.BytesIO(CONTENT[name]))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=mtime))
    return path


def test_two_sdists_of_one_content_become_equal(tmp_path):
    one = sdist(tmp_path / "one.tar.gz", list(CONTENT), 1.5, "ada", 0o644)
    other = sdist(tmp_path / "other.tar.gz", list(CONTENT)[::-1], 99, "charles", 0o664)
    assert one.read_bytes() != other.read_bytes()
    release_check.normalize(one, EPOCH)
    release_check.normalize(other, EPOCH)
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as archive:
        members = archive.getmembers()
        assert [x.name for x in members] == sorted(["pkg-1.0", *CONTENT])
        assert {name: archive.extractfile(name).read() for name in CONTENT} == CONTENT
    assert {x.mtime for x in members} == {EPOCH}
    assert {(x.uid, x.gid, x.uname, x.gname) for x in members} == {(0, 0, "", "")}
    assert {x.name: x.mode for x in members if x.isfile()} == {
        "pkg-1.0/a.py": 0o644,
        "pkg-1.0/b.py": 0o644,
        "pkg-1.0/run": 0o755,
    }


def test_another_content_gives_another_sdist(tmp_path):
    one = sdist(tmp_path / "one.tar.gz", list(CONTENT), 1, "ada", 0o644)
    other = sdist(tmp_path / "other.tar.gz", list(CONTENT)[1:], 1, "ada", 0o644)
    for file in (one, other):
        release_check.normalize(file, EPOCH)
    assert one.read_bytes() != other.read_bytes()
    assert release_check.differing(one, other) == [next(iter(CONTENT))]


def test_two_builds_that_differ_are_named(tmp_path, monkeypatch):
    """A wheel whose files have another time, as from a build that does not look at SOURCE_DATE_EPOCH."""

    def build(folder):
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / "pkg.whl", "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("a.py", (2020, 1, 1, 0, 0, 0)), "")
            wheel.writestr(zipfile.ZipInfo("b.py", (2020, 1, 1, 0, 0, 2 * (folder.name == "b"))), "")
        return [folder / "pkg.whl"]

    monkeypatch.setattr(release_check, "build", build)
    with pytest.raises(release_check.CheckFailedError, match=r"two builds of pkg\.whl differ in b\.py"):
        release_check.check_reproducible(tmp_path / "x", tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "problem"),
    [
        ("v1.0.0", "1.0.0", "# Changelog\n\n## 1.0.0\n", ""),
        ("v1.0.0", "1.0.0", "## 1.0.0, 1 December 2026\n", ""),
        ("1.0.0", "1.0.0", "## 1.0.0\n", "write `git tag -s v1.0.0`"),
        ("v1.0.1", "1.0.0", "## 1.0.0\n", "does not fit the version 1.0.0"),
        ("v1.0.0", "1.0.0", "## Unreleased\n\nSince 1.0.0.\n", "rename `## Unreleased` to `## 1.0.0`"),
        ("v1.0.0", "1.0.0", "## 1x0.0\n", "no section"),
    ],
)
def test_a_tag_fits_the_version_and_the_changelog(tag, version, changelog, problem):
    found = release_check.tag_problem(tag, version, changelog)
    assert found == "" if problem == "" else problem in found


def test_a_command_that_fails_shows_its_output():
    with pytest.raises(release_check.CheckFailedError, match=r"(?s)-c .*ZeroDivisionError"):
        release_check.run(sys.executable, "-c", "1 / 0")


def test_the_interpreters_are_the_supported_ones(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = release_check.interpreters()
    assert [*found] == re.findall(r"Python :: (3\.\d+)", ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {version: path for version, path in found.items() if path} == {own: sys.executable}
    skipped = next(version for version in found if version != own)
    assert "skipped" in release_check.check_wheel(None, skipped, ROOT, ROOT)


def test_a_shim_without_an_interpreter_is_none(monkeypatch, tmp_path):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert release_check._running("3.99") is None


def test_the_example_of_the_readme_has_its_output():
    code, printed = release_check.example_of(ROOT.joinpath("README.md").read_text(encoding="utf-8"))
    assert code.startswith("import numpy as np\n")
    assert re.fullmatch(r"\d+\.\d+ \[.*\]", printed)


def test_the_examples_of_the_package_page_are_found(tmp_path):
    """The command for the wheel fails for a wrong example, and for a page without any."""
    page = tmp_path / "page.md"
    for text, status in ((">>> 1 + 1\n2\n", 0), (">>> 1 + 1\n3\n", 1), ("no example\n", 1)):
        page.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", release_check.DOCTEST, page], capture_output=True, check=False)
        assert done.returncode == status, text


@pytest.mark.slow
def test_two_builds_of_the_last_commit_are_equal(tmp_path):
    if importlib.util.find_spec("build") is None or not ROOT.joinpath(".git").exists():
        pytest.skip("needs the extra dist, and a clone")
    said = release_check.check_reproducible(tmp_path / "builds", tmp_path / "dist")
    names = {path.name.rpartition("-")[2] for path in (tmp_path / "dist").iterdir()}
    assert "two builds are equal" in said
    assert "any.whl" in names
    assert "SHA256SUMS" in names
