"""Mutation run: which small changes of the rules, the tape and two passes do the tests find?

    make mutants                                    a sample of the mutants, with the tests of `make quick`
    make mutants ARGS="--sample 100 --suite"        ... those that `make quick` misses with the suite's tests, too
    make mutants ARGS="--sample 0 --targets tape"   all mutants of the tape: some hours
    make mutants ARGS="--table FILE"                the table of a finished run

Mutants are run one at a time, in a copy of the files that git knows, so the working tree does not change. A mutant is
found if a test fails, or if the tests need more than the limit of processor time or memory. The results go to
failures/mutants.jsonl, a line per mutant; a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutations import Mutant, mutants

__all__ = ["TARGETS", "Target", "main", "run_tests", "sampled", "table"]

ROOT = Path(__file__).resolve().parents[1]
QUICK = ROOT / "tests" / "quick.txt"
MEMORY = 6 << 30


@dataclass(frozen=True)
class Target:
    """Source files, and the tests of the suite that run them (CONTRIBUTING.md has a table of these)."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


TARGETS = {
    "rules": Target(
        ("dualrev/rules/*.py", "dualrev/eager/arrays/*.py"),
        (
            "tests/rules",
            "tests/conventions",
            "tests/tape",
            "tests/integrations/test_scipy_functions.py",
            "tests/integrations/test_scipy_special.py",
            "tests/compiler/scalarize/test_compiled_complex.py",
        ),
    ),
    "tape": Target(("dualrev/eager/tape/*.py",), ("tests/tape", "tests/api", "tests/conventions", "tests/diagnostics")),
    "reverse pass": Target(
        ("dualrev/compiler/ad/reverse/adjoint.py",),
        ("tests/compiler/ad", "tests/compiler/codegen", "tests/compiler/end_to_end"),
    ),
    "CSE": Target(
        ("dualrev/compiler/optimize/cse.py",),
        ("tests/compiler/optimize", "tests/compiler/codegen", "tests/compiler/driver", "tests/compiler/end_to_end"),
    ),
}


def sampled(target: Target, count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Return some mutants of a target, each with its file: `count` of them, or all if `count` is 0."""
    files = sorted(path for pattern in target.files for path in ROOT.glob(pattern))
    every = [(path.relative_to(ROOT).as_posix(), m) for path in files for m in mutants(path.read_text("utf-8"))]
    return random.Random(seed).sample(every, count) if 0 < count < len(every) else every


def copied_tree(folder: Path) -> None:
    """Copy the files that git knows, as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_tests(folder: Path, tests: Iterable[str], seconds: int) -> tuple[str, float]:
    """Run tests in a copy until one fails; return what failed, "" if nothing did, and the seconds of processor time."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / ".cache")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment,
            preexec_fn=limited,
            capture_output=True,
            text=True,
            check=False,
            timeout=20 * seconds,
        )
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, output = -1, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code == 0:
        return "", spent
    if code < 0:
        return "limit", spent
    failed = re.search(r"(?m)^(?:FAILED|ERROR) (\S+)", output)
    return failed[1] if failed else "start of the tests", spent


def tried(folder: Path, file: str, mutant: Mutant, tests: Iterable[str], seconds: int) -> tuple[str, float]:
    """Run tests with a mutant, as `run_tests` does."""
    path = folder / file
    source = path.read_text("utf-8")
    path.write_text(mutant.applied(source), "utf-8")
    try:
        return run_tests(folder, tests, seconds)
    finally:
        path.write_text(source, "utf-8")


def run(given: argparse.Namespace, folder: Path, results: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Run what the results lack; yield each new result."""
    quick = [f"@{QUICK.relative_to(ROOT)}"]
    if failed := run_tests(folder, quick, given.seconds)[0]:
        raise SystemExit(f"the tests fail without a mutant: {failed}")
    for name in given.targets:
        for file, mutant in sampled(TARGETS[name], given.sample, given.seed):
            label = f"{file}:{mutant}"
            result = results.setdefault(label, {"target": name, "id": label})
            for kind, tests, limit in [("quick", quick, 1), ("suite", TARGETS[name].tests, 5)][: 1 + given.suite]:
                if kind not in result and not result.get("quick"):
                    found, spent = tried(folder, file, mutant, tests, limit * given.seconds)
                    result |= {kind: found, f"{kind} seconds": round(spent, 1)}
                    yield result


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results in a file by mutant; a later line of a mutant replaces an earlier one."""
    return {result["id"]: result for result in map(json.loads, path.read_text("utf-8").splitlines())}


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return the table of a run, in Markdown, and the mutants that no test finds."""
    lines = ["| code | mutants | `make quick` finds | only the suite finds | nothing finds |", "|" + " --- |" * 5]
    for name in [*dict.fromkeys(r["target"] for r in results), "all"]:
        own = [r for r in results if name in ("all", r["target"])]
        quick, suite = sum(bool(r["quick"]) for r in own), sum(bool(r.get("suite")) for r in own)
        lines.append(f"| {name} | {len(own)} | {quick} | {suite} | {len(own) - quick - suite} |")
    by_file = Counter((r["quick"] or r.get("suite") or "nothing").partition("::")[0] for r in results)
    lines += ["", "first found by:", *(f"{count:5} {name}" for name, count in by_file.most_common())]
    left = [f"{r['id']}   {r.get('suite', '')}" for r in results if not r["quick"]]
    return "\n".join([*lines, "", "not found by the quick tests:", *left])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="NAME")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each target; 0: all (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="the sample's seed (default: 1)")
    parser.add_argument("--suite", action="store_true", help="run the suite's tests if the quick ones find nothing")
    parser.add_argument("--seconds", type=int, default=90, help="processor time of the quick tests (default: 90)")
    parser.add_argument("--to", type=Path, default=ROOT / "failures" / "mutants.jsonl", help="file of results")
    parser.add_argument("--table", type=Path, help="print the table of this file, and run nothing")
    given = parser.parse_args(arguments)
    if given.table:
        print(table(list(read(given.table).values())))
        return 0
    given.to.parent.mkdir(exist_ok=True)
    given.to.touch()
    results = read(given.to)
    with tempfile.TemporaryDirectory() as name, given.to.open("a", encoding="utf-8") as out:
        copied_tree(Path(name))
        for result in run(given, Path(name), results):
            print(json.dumps(result), file=out, flush=True)
            print(result["id"], "   ", result["quick"] or result.get("suite") or "NOT FOUND", flush=True)
    print(table(list(results.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
