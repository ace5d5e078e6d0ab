"""`python -m stages`: the step-by-step comparison of all stages, on the paper's programs or on your own function."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dualrev.errors import DualrevError
from stages import report
from stages.compare import FAMILIES, Comparison, Family, Growth, compare, grow
from stages.order import STAGES
from stages.programs import PROGRAMS, Program

# What the paper shows of a program besides.
_MORE = {"fig1": report.fig_10, "section4": report.section_4}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m stages",
        description="Compare the stages of the paper on a program: agreement, counts, times, growth.",
        epilog=f"programs: {', '.join(PROGRAMS)}.  stages: {', '.join(STAGES)}.",
    )
    made.add_argument("--program", action="append", metavar="NAME", help="only this program (may be repeated)")
    made.add_argument("--stage", action="append", metavar="NAME", help="only this stage (may be repeated)")
    made.add_argument("--size", type=int, metavar="N", help="the size of the programs, instead of their own")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the programs' inputs (0)")
    made.add_argument("--limit", type=float, default=1.5e6, metavar="STEPS", help="cut a stage off there (1,500,000)")
    made.add_argument("--json", type=Path, metavar="FILE", help="save all numbers in this file, too")
    made.add_argument("--file", metavar="FILE.py:FUNCTION", help="compare on a function of your own")
    made.add_argument("--args", default="", metavar="LITERALS", help="its arguments, for example '3.0, [1.0, 2.0]'")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; 0 if all went well, 1 if the user's function failed, 2 for a wrong command line."""
    options = parser().parse_args(argv)
    stages = _known("stage", options.stage, tuple(STAGES))
    if options.size is not None and options.size < 1:
        _usage(f"--size {options.size}: a size is at least 1")
    if options.file:
        if options.program or options.size is not None:
            _usage("--file takes --args, not --program or --size")
        chosen: list[tuple[Program, tuple[Any, ...], int | None]]
        chosen = [(_own(options.file), _literals(options.args), None)]
        families: tuple[Family, ...] = ()
    else:
        if options.args:
            _usage("--args goes with --file")
        names = _known("program", options.program, tuple(PROGRAMS))
        programs = [PROGRAMS[name] for name in names]
        sizes = [program.size if options.size is None else options.size for program in programs]
        chosen = [(p, p.make(n, options.seed), n) for p, n in zip(programs, sizes, strict=True)]
        families = tuple(family for family in FAMILIES if family.program in names and options.size is None)

    console = report.console()
    comparisons: list[Comparison] = []
    growths: list[Growth] = []
    if not options.program and not options.file:
        console.print(report.overview(stages))
    console.print(report.legend())
    total = len(stages) * (len(chosen) + len(families))
    with _progress(total) as progress:
        task = progress.task_ids[0]
        for program, primals, size in chosen:

            def step(stage: str, name: str = program.name) -> None:
                progress.update(task, advance=1, description=f"{name}: {stage}")

            try:
                comparisons.append(compare(program, primals, size, stages, options.limit, step))
            except DualrevError as error:
                print(f"{program.name}: {error}", file=sys.stderr)
                return 1
            console.print(report.comparison(comparisons[-1]))
            if (more := _MORE.get(program.name)) is not None:
                console.print(more(program.function, *primals))
            if program.name == "loop":
                console.print(report.per_operation(comparisons[-1]))
        for family in families:
            results = []
            for result in grow(family, stages, options.limit):
                progress.update(task, advance=1, description=f"growth of {family.program}: {result.stage}")
                results.append(result)
            console.print(report.growth(family, results))
            growths += results
    if options.json:
        _save(options.json, comparisons, growths)
    return 0


def _progress(total: int) -> Progress:
    """On standard error, and only where someone watches."""
    columns = (
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    errors = Console(stderr=True)
    made = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
    made.add_task("", total=total)
    return made


def _known(kind: str, names: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The names asked for, in the order of the known ones; all if none were."""
    for name in names or ():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            _usage(f"there is no {kind} '{name}'.{hint} Known: {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)


def _own(place: str) -> Program:
    """The user's function FILE.py:FUNCTION as a program."""
    file, _, name = place.rpartition(":")
    if not file or not Path(file).is_file():
        _usage(f"--file {place}: expected FILE.py:FUNCTION, and the file to exist")
    sys.path.insert(0, str(Path(file).resolve().parent))  # as `python FILE.py` does
    names = runpy.run_path(file)
    function = names.get(name)
    if not callable(function):
        functions = ", ".join(key for key, x in names.items() if callable(x) and not key.startswith("_")) or "none"
        _usage(f"--file {place}: there is no function '{name}' in {file}. There: {functions}")
    about = (function.__doc__ or "").strip().partition("\n")[0]
    return Program(name=name, paper=file, about=about, function=function, make=lambda n, seed: (), size=0, unit="")


def _literals(text: str) -> tuple[Any, ...]:
    try:
        return ast.literal_eval(f"({text},)" if text.strip() else "()")
    except (ValueError, SyntaxError):
        _usage(f"--args {text!r}: expected Python literals with commas between, for example '3.0, [1.0, 2.0]'")


def _save(path: Path, comparisons: list[Comparison], growths: list[Growth]) -> None:
    data = {
        "comparisons": [dataclasses.asdict(comparison) for comparison in comparisons],
        "growth": [dataclasses.asdict(growth) for growth in growths],
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        _usage(f"--json {path}: {error.strerror}")


def _usage(message: str) -> NoReturn:
    print(f"python -m stages: {message}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
