"""Checks of a release, without publishing it: python -m tools.release_check, or `make release-check`.

    reproducible    the last commit is built twice, in different folders: the files are equal to the byte
    metadata        `twine check --strict` accepts both files
    tag             with --tag v1.0.0: the version is 1.0.0, and CHANGELOG.md has a section for it
    Python 3.x      for each supported Python on this machine: the wheel and its dependencies are installed in an empty
                    environment, `pip check` accepts them, and the examples of README.md and docs/package.md run

The checked files stay in dist/, with their hashes in dist/SHA256SUMS. A build takes the time of the last commit
(SOURCE_DATE_EPOCH). setuptools writes reproducible wheels from that, but not sdists: `normalize` packs these again.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

__all__ = ["example_of", "interpreters", "main", "normalize", "tag_problem"]

ROOT = Path(__file__).resolve().parents[1]
DOCTEST = "import doctest, sys; r = doctest.testfile(sys.argv[1], False); sys.exit(r.failed or not r.attempted)"


class CheckFailedError(Exception):
    """Check that fails, with the output that says why."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command as a user does, without a path to this repository, and return what it prints."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CheckFailedError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


# ---- the build -------------------------------------------------------------------------------------------------------


def build(folder: Path) -> list[Path]:
    """Build the sdist of the last commit, and the wheel from the sdist; return both files."""
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    source, out = folder / "source", folder / "dist"
    source.mkdir(parents=True)
    run("git", "archive", "--output", folder / "source.tar", "HEAD")
    with tarfile.open(folder / "source.tar") as archive:
        archive.extractall(source, filter="data")
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", out)
    run(*command, cwd=source, SOURCE_DATE_EPOCH=epoch)
    files = sorted(out.iterdir())
    for sdist in out.glob("*.tar.gz"):
        normalize(sdist, int(epoch))
    return files


def normalize(sdist: Path, epoch: int) -> None:
    """Pack an sdist again: sorted members, without owners, of the modes 644 and 755, and with one time everywhere."""
    with tarfile.open(sdist) as archive:
        found = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        contents = {member.name: (member, file.read() if file else b"") for member, file in found}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for _, (member, content) in sorted(contents.items()):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            archive.addfile(member, io.BytesIO(content))
    with sdist.open("wb") as out, gzip.GzipFile("", "wb", fileobj=out, mtime=epoch) as compressed:
        compressed.write(packed.getvalue())


def check_reproducible(folder: Path, dist: Path) -> str:
    """Build twice, compare, and leave the files of the first build in dist/."""
    first, second = build(folder / "a"), build(folder / "a second one" / "b")
    for x, y in zip(first, second, strict=True):
        if x.name != y.name or x.read_bytes() != y.read_bytes():
            raise CheckFailedError(
                f"two builds of {x.name} differ in {', '.join(differing(x, y)) or 'the archive itself'}"
            )
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in first]
    for file in first:
        shutil.copy(file, dist)
    dist.joinpath("SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return "two builds are equal:\n" + "".join(f"    {line}" for line in sums).rstrip()


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of the members that differ between two archives, or that only one of them has."""
    a, b = members(one), members(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def members(archive: Path) -> dict[str, object]:
    """Return the contents of a wheel or an sdist, with the facts that the archive keeps about each file, by name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {x.filename: (opened.read(x), x.date_time, x.external_attr) for x in opened.infolist()}
    with tarfile.open(archive) as packed:
        files = {x.name: (x, packed.extractfile(x)) for x in packed}
        return {name: (x.mtime, x.mode, x.uname, file and file.read()) for name, (x, file) in files.items()}


def check_metadata(dist: Path) -> str:
    """Check that a package index accepts and shows the metadata."""
    run(sys.executable, "-m", "twine", "check", "--strict", *packages(dist))
    return "twine accepts the metadata"


def packages(dist: Path) -> list[Path]:
    """Return the sdist and the wheel of a folder."""
    return [*dist.glob("*.tar.gz"), *dist.glob("*.whl")]


def tag_problem(tag: str, version: str, changelog: str) -> str:
    """Return why a tag does not fit the version and the changelog; "" if it fits.

    >>> tag_problem("v1.0.0", "1.0.0", "## 1.0.0")
    ''
    >>> tag_problem("v1.0.1", "1.0.0", "## 1.0.0")
    'the tag v1.0.1 does not fit the version 1.0.0: write `git tag -s v1.0.0`, or change dualrev/_version.py'
    """
    if tag != f"v{version}":
        cure = f"write `git tag -s v{version}`, or change dualrev/_version.py"
        return f"the tag {tag} does not fit the version {version}: {cure}"
    if not re.search(rf"(?m)^## {re.escape(version)}\b", changelog):
        return f"CHANGELOG.md has no section for {version}: rename `## Unreleased` to `## {version}`"
    return ""


def check_tag(tag: str, dist: Path) -> str:
    """Check that the tag, the built version and the changelog agree."""
    (wheel,) = dist.glob("*.whl")
    version = wheel.name.split("-")[1]
    if problem := tag_problem(tag, version, ROOT.joinpath("CHANGELOG.md").read_text(encoding="utf-8")):
        raise CheckFailedError(problem)
    return f"the tag {tag}, the version and the changelog agree"


# ---- the wheel in empty environments ---------------------------------------------------------------------------------


def interpreters() -> dict[str, str | None]:
    """Return the path of each supported Python; None where this machine has none that runs."""
    classifiers = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    versions = [
        found[1] for x in classifiers if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", x))
    ]
    own = ".".join(map(str, sys.version_info[:2]))
    return {version: sys.executable if version == own else _running(version) for version in versions}


def _running(version: str) -> str | None:
    """Return the path of an interpreter that runs: a shim may have none behind it."""
    path = shutil.which(f"python{version}")
    if path is not None:
        try:
            run(path, "-c", "pass")
        except (CheckFailedError, OSError):
            return None
    return path


def example_of(readme: str) -> tuple[str, str]:
    """Return the program on the README, and what it prints: the comment at its end."""
    (code,) = re.findall(r"(?s)```python\n(.*?)```", readme)
    return code, code.rstrip().rpartition("\n# ")[2]


def check_wheel(python: str | None, version: str, dist: Path, folder: Path) -> str:
    """Install the wheel in an empty environment, and run the examples of README.md and docs/package.md."""
    if python is None:
        return f"Python {version}: skipped, it is not on this machine"
    folder.mkdir()
    run(python, "-m", "venv", folder / "env")
    made = next(path for path in sorted(folder.joinpath("env").glob("*/python*")) if path.stem == "python")
    (wheel,) = dist.glob("*.whl")
    run(made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel.resolve(), cwd=folder)
    run(made, "-m", "pip", "check", cwd=folder)
    where = run(made, "-c", "import dualrev; print(dualrev.__file__)", cwd=folder).strip()
    if not Path(where).is_relative_to(folder):
        raise CheckFailedError(f"{where} was imported in place of the wheel")
    code, expected = example_of(ROOT.joinpath("README.md").read_text(encoding="utf-8"))
    folder.joinpath("example.py").write_text(code, encoding="utf-8")
    if (printed := run(made, "example.py", cwd=folder).strip()) != expected:
        raise CheckFailedError(f"the example of README.md prints {printed}, not {expected}")
    run(made, "-c", DOCTEST, shutil.copy(ROOT / "docs" / "package.md", folder), cwd=folder)
    installed = run(made, "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check", cwd=folder).split()
    return f"Python {version}: the examples run with {', '.join(x for x in installed if re.match('num|scipy', x))}"


# ---- the command line ------------------------------------------------------------------------------------------------


def checks(folder: Path, dist: Path, tag: str | None) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield all checks in order, each with its name."""
    yield "reproducible", lambda: check_reproducible(folder, dist)
    yield "metadata", lambda: check_metadata(dist)
    if tag is not None:
        yield "tag", lambda: check_tag(tag, dist)
    for version, python in interpreters().items():
        yield f"Python {version}", functools.partial(check_wheel, python, version, dist, folder / version)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all checks, print a line for each, and return the exit code: 1 if one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release_check", description="Check a release of the last commit."
    )
    parser.add_argument("--tag", help="the tag of the release, which has to fit the version and the changelog")
    given = parser.parse_args(arguments)
    os.umask(0o022)  # the modes of files are in a wheel
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dualrev-release-") as folder:
        for name, check in checks(Path(folder).resolve(), ROOT / "dist", given.tag):
            try:
                print(f"ok: {check()}", flush=True)
            except CheckFailedError as error:
                failed += 1
                print(f"FAILED: {name}: {error}", flush=True)
                if name == "reproducible":
                    break  # there is nothing to check
    if run("git", "status", "--porcelain").strip():
        print("note: the working tree has changes that are not committed, and are not in these files")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
