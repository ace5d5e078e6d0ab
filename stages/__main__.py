"""`python -m stages`: compare all stages, step by step, on the paper's programs or on your own function."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import functools
import gc
import importlib.util
import inspect
import itertools
import json
import math
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dualrev.errors import DualrevError
from stages.calculus.language.errors import NotTranslated
from stages.comparison import report
from stages.comparison.api import GROWTH_LIMIT
from stages.comparison.derivatives import as_programs
from stages.comparison.measure import FAMILIES, Comparison, Family, Growth, compare, grow
from stages.order import STAGES
from stages.programs import PROGRAMS, Program
from stages.terminal import print_utf8

if TYPE_CHECKING:
    from stages.comparison.page import Sample


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m stages",
        description="Run programs through all stages of the paper, from naive reverse AD to a tape: compare values, "
        "gradients, operation counts, times and how the work grows. Without options: on all of the programs below.",
        epilog=f"programs: {', '.join(PROGRAMS)}.  stages: {', '.join(STAGES)}.",
    )
    made.add_argument("--program", action="append", metavar="NAME", help="run only this program (repeatable)")
    made.add_argument("--stage", action="append", metavar="NAME", help="run only this stage (repeatable)")
    made.add_argument(
        "--relatives", action="store_true", help="compare algorithms of related papers with the stage tape"
    )
    made.add_argument("--size", type=int, metavar="N", help="run the programs at this size, not at their default")
    made.add_argument("--sizes", metavar="N,N,...", help="measure how the work grows over at least three sizes")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random inputs (0)")
    made.add_argument(
        "--limit",
        type=float,
        default=1.5e6,
        metavar="STEPS",
        help="cut off a stage after this many operations (1,500,000)",
    )
    made.add_argument("--derivative", action="store_true", help="also print each stage's derivative as a program")
    made.add_argument("--json", type=Path, metavar="FILE", help="also save all numbers as JSON")
    made.add_argument(
        "--html", type=Path, metavar="FILE", help="also write an HTML page to step through the stages in a browser"
    )
    made.add_argument("--file", metavar="FILE.py:FUNCTION", help="compare the stages on your own function")
    made.add_argument(
        "--args",
        default="",
        metavar="LITERALS",
        help="arguments of your function: '3.0, [1.0, 2.0]'; --args='-1.0' if negative",
    )
    made.add_argument(
        "--inputs",
        metavar="FUNCTION",
        help="with --file and --sizes: a function in FILE.py that maps a size to the tuple of arguments",
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; 0, or 1 if stages disagree or the user's function failed, or 2 for a wrong command line."""
    options = parser().parse_args(argv)
    _check(options)
    stages = _known("stage", options.stage, _candidates(options))
    console = report.console()
    try:
        chosen = _own(options) if options.file else _programs(options)
        comparisons, growths = _run(chosen, stages, options, console)
        if options.html:
            _page(chosen, comparisons, growths, stages, options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except DualrevError as error:
        print("\n".join([f"python -m stages: {error.explanation}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 1
    except Exception as error:
        if not options.file:
            raise
        _explain(error, options.file.rpartition(":")[0])
        return 1
    if options.json:
        _save(options.json, comparisons, growths)
    if not (sys.argv[1:] if argv is None else argv):
        print(NEXT, file=sys.stderr)
    return 0 if all(map(report.agree, comparisons)) else 1


def _check(options: argparse.Namespace) -> None:
    """Refuse invalid values of options, before any work is done."""
    if options.size is not None and options.size < 1:
        _usage(f"--size {options.size}: a size is at least 1")
    if options.seed < 0:
        _usage(f"--seed {options.seed}: a seed is at least 0")
    if not options.limit > 0:
        _usage(f"--limit {options.limit}: a limit is above 0")
    if options.file and (options.program or options.size is not None):
        _usage("--file takes --args, or --inputs and --sizes, not --program or --size")
    for name in ("args", "inputs"):
        if getattr(options, name) and not options.file:
            _usage(f"--{name} needs --file FILE.py:FUNCTION")
    options.sizes = _sizes(options.sizes) if options.sizes is not None else ()
    if options.sizes and options.size is not None:
        _usage("--size runs one comparison, --sizes measures growth: give one of them")
    if options.file and bool(options.inputs) != bool(options.sizes):
        _usage("--inputs FUNCTION makes the arguments for each size of --sizes N,N,...: give both")
    if options.inputs and options.args:
        _usage("--args and --inputs both give arguments: drop --args")
    for name, path in (("json", options.json), ("html", options.html)):
        if path and (path.is_dir() or not path.parent.is_dir()):
            _usage(f"--{name} {path}: expected a file in an existing folder")
    if options.html and not importlib.util.find_spec("jinja2"):
        _usage("--html needs jinja2: pip install 'dualrev[plots]'")


def _sizes(text: str) -> tuple[int, ...]:
    """Return the distinct sizes in ascending order."""
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError:
        _usage(f"--sizes {text}: expected comma-separated integers, for example 10,20,40,80")
    if len(sizes) < 3 or sizes[0] < 1:
        _usage(f"--sizes {text}: expected at least three sizes, each at least 1")
    return tuple(sizes)


def _candidates(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the names that --stage accepts: the stages, or the related algorithms."""
    if not options.relatives:
        return tuple(STAGES)
    from stages.relatives import RELATIVES

    return (*RELATIVES, "tape")


#: Printed after a call without options.
NEXT = """
What to try next:
  python -m stages --program fig1 --derivative                  the derivative as a program, after each stage
  python -m stages --html stages.html                           a page to step through the stages in a browser
  python -m stages --file FILE.py:FUNCTION --args '3.0, 2.0'    the stages on your own function
  python -m stages --relatives                                  the algorithms of related papers
  python -m stages.calculus                                     the stages as program transformations
  python -m stages.exercises                                    the exercises of the course in docs/learn
  python -m stages --help                                       all options"""

#: A program, its arguments, the size that they have, and the family that shows how it grows.
_Chosen = tuple[Program, tuple[Any, ...], int | None, Family | None]


def _programs(options: argparse.Namespace) -> list[_Chosen]:
    """Return the chosen programs, by default the paper's; growth is measured unless --size is given."""
    families = {family.program: family for family in FAMILIES} if options.size is None else {}
    if options.sizes:
        problems = {family.program: family.problem for family in FAMILIES}
        families = {
            name: Family(name, problems.get(name, program.about), options.sizes) for name, program in PROGRAMS.items()
        }
    chosen: list[_Chosen] = []
    names = options.program
    if options.html:
        from stages.comparison.page import DEFAULTS, sample

        names = names or list(DEFAULTS)
    for name in _known("program", names, tuple(PROGRAMS)):
        program = PROGRAMS[name]
        size = program.size if options.size is None else options.size
        try:
            if options.html:  # small enough to step through
                shown = sample(name, options.size, options.seed)
                size, primals = shown.start, shown.make(shown.start)
            else:
                primals = program.make(size, options.seed)
            chosen.append((program, primals, size, families.get(name)))
        except (ValueError, MemoryError, OverflowError) as error:
            _usage(f"--size {size}: cannot make the input of {name} at this size ({error})")
    return chosen


def _run(
    chosen: list[_Chosen], stages: tuple[str, ...], options: argparse.Namespace, console: Console
) -> tuple[list[Comparison], list[Growth]]:
    """Compare the programs, and print each table as soon as its program is done."""
    comparisons: list[Comparison] = []
    growths: list[Growth] = []
    total = len(stages) * sum(1 if family is None else 2 for *_, family in chosen)
    done = itertools.count()
    with _progress(total) as progress:

        def step(name: str, stage: str) -> None:
            """Show the program and the stage that runs now on the progress bar."""
            progress.update(progress.task_ids[0], completed=next(done), description=f"{name}: {stage}")

        for program, primals, size, family in chosen:
            name = program.name
            gc.freeze()  # every measurement of a time collects garbage first: among all earlier objects that takes long
            result = compare(program, primals, size, stages, options.limit, functools.partial(step, name))
            if not comparisons:  # after the first comparison: an error of the user's function comes without them
                console.print(report.overview(stages))
                console.print(report.legend())
            comparisons.append(result)
            console.print(report.comparison(result))
            # the user's function may have the name of a built-in program
            if not options.file and (more := report.MORE.get(name)) is not None:
                console.print(more(program, result))
            if options.derivative:
                console.print(report.derivatives(_derivatives(program, primals, stages)))
            if family is not None:
                progressing = functools.partial(step, f"growth of {name}")
                limit = _growth_limit(options) if options.html else options.limit
                found = list(grow(family, stages, limit, progressing, program))
                console.print(report.growth(family, found))
                growths += found
    return comparisons, growths


def _page(
    chosen: list[_Chosen],
    comparisons: list[Comparison],
    growths: list[Growth],
    stages: tuple[str, ...],
    options: argparse.Namespace,
) -> None:
    """Write the page, with the growth of the chosen programs, or of all families."""
    from stages.comparison.page import Shown, write, write_relatives

    measured = {growth.program for growth in growths}
    missing = [] if options.program else [family for family in FAMILIES if family.program not in measured]
    limit = _growth_limit(options)
    with _progress(len(missing) * len(stages)) as progress:
        done = itertools.count()
        for family in missing:

            def step(stage: str, name: str = family.program) -> None:
                """Show the stage that is measured now on the progress bar."""
                progress.update(progress.task_ids[0], completed=next(done), description=f"growth of {name}: {stage}")

            growths = growths + list(grow(family, stages, limit, step))
    shown = [
        Shown(program.function, primals, result, _sample(program, options))
        for (program, primals, *_), result in zip(chosen, comparisons, strict=True)
    ]
    try:
        written = (write_relatives if options.relatives else write)(options.html, shown, growths)
    except OSError as error:
        _usage(f"--html {options.html}: {error.strerror}")
    print(f"wrote {options.html} ({written / 1000:,.0f} kB)")


def _growth_limit(options: argparse.Namespace) -> float:
    """Return the limit of work on a page's plots, lower for related algorithms, as some are slow to count."""
    return min(options.limit, GROWTH_LIMIT / 4 if options.relatives else GROWTH_LIMIT)


def _derivatives(program: Program, primals: tuple[Any, ...], stages: tuple[str, ...]) -> dict[str, str]:
    try:
        return as_programs(program.function, primals, stages)
    except NotTranslated as why:
        return {"": f"{program.name} has no translation to the calculus: {why}"}


def _progress(total: int) -> Progress:
    """Return a progress bar on standard error, which is shown only in a terminal."""
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
    """Return the chosen names, in the order of the known ones; all of them without a choice."""
    for name in names or ():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            _usage(f"unknown {kind} '{name}'.{hint} Known: {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)


def _own(options: argparse.Namespace) -> list[_Chosen]:
    """Return the user's function FILE.py:FUNCTION as a program."""
    file, _, name = options.file.rpartition(":")
    if not file or not Path(file).is_file():
        _usage(f"--file {options.file}: expected FILE.py:FUNCTION with an existing file")
    primals = _literals(options.args)
    sys.path.insert(0, str(Path(file).resolve().parent))  # as `python FILE.py` does
    names = runpy.run_path(file)
    function = names.get(name)
    if not callable(function):
        functions = ", ".join(key for key, x in names.items() if callable(x) and not key.startswith("_")) or "none"
        _usage(f"--file {options.file}: {file} has no function '{name}'. Its functions: {functions}")
    if not options.inputs:
        _takes(function, name, primals, options.args)
    about = (function.__doc__ or "").strip().partition("\n")[0]
    make = names.get(options.inputs) if options.inputs else (lambda n: primals)
    if not callable(make):
        _usage(f"--inputs {options.inputs}: {file} has no such function")

    def made(n: int, seed: int) -> tuple[Any, ...]:
        """The arguments of size n, from the user's --inputs function."""
        found = make(n)
        if not isinstance(found, tuple):
            _usage(f"--inputs {options.inputs}: {options.inputs}({n}) gave {found!r}; expected a tuple of arguments")
        return found

    program = Program(name=name, paper=file, about=about, function=function, make=made, size=0, unit="size")
    if not options.sizes:
        return [(program, primals, None, None)]
    family = Family(name, about or "own function", options.sizes)
    return [(program, made(options.sizes[0], 0), options.sizes[0], family)]


def _sample(program: Program, options: argparse.Namespace) -> Sample:
    """Return the sizes that a reader of the page can choose from."""
    from stages.comparison.page import of_sizes, sample

    if options.file:
        return of_sizes(options.sizes or (1,), lambda n: program.make(n, options.seed))
    return sample(program.name, options.size, options.seed)


def _literals(text: str) -> tuple[Any, ...]:
    try:
        return ast.literal_eval(f"({text.strip().rstrip(',')},\n)" if text.strip() else "()")
    except (ValueError, SyntaxError):
        _usage(f"--args {text!r}: expected comma-separated Python literals, for example '3.0, [1.0, 2.0]'")


def _takes(function: Callable[..., Any], name: str, primals: tuple[Any, ...], text: str) -> None:
    """Refuse --args that are too many or too few for the function."""
    try:
        signature = inspect.signature(function)
        signature.bind(*primals)
    except TypeError as error:
        _usage(f"--args {text!r} does not fit {name}{signature}: {error}")
    except ValueError:  # a callable without a signature
        return


def _explain(error: Exception, file: str) -> None:
    """Print the traceback of an error of the user's function, from the function's own frame on."""
    where = error.__traceback__
    while where is not None and where.tb_frame.f_code.co_filename != file:
        where = where.tb_next
    print("".join(traceback.format_exception(type(error), error, where)).rstrip(), file=sys.stderr)


def _save(path: Path, comparisons: list[Comparison], growths: list[Growth]) -> None:
    data = {
        "comparisons": [dataclasses.asdict(comparison) for comparison in comparisons],
        "growth": [dataclasses.asdict(growth) for growth in growths],
    }
    try:
        path.write_text(json.dumps(_finite(data), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        _usage(f"--json {path}: {error.strerror}")


def _finite(x: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, by null."""
    if isinstance(x, dict):
        return {key: _finite(value) for key, value in x.items()}
    if isinstance(x, list):
        return list(map(_finite, x))
    return None if isinstance(x, float) and not math.isfinite(x) else x


def _usage(message: str) -> NoReturn:
    print(f"python -m stages: {message}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    print_utf8()
    sys.exit(main())
