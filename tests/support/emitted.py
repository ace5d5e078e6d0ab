"""Hashes of all emitted text, to see whether a change of the compiler changes what it emits. From the folder tests:

python -m support.emitted --to before.txt            before the change: a line for each program and transform
python -m support.emitted --against before.txt       after it: the lines that differ; exit status 1 if there are any
python -m support.emitted --to after --texts         the text itself, a file for each line, to compare folders by diff
python -m support.emitted --programs 200 --jobs 2    fewer random programs of each generator (2,000)
python -m support.emitted --of features,random       some of the sources only

The programs: those of programs/constructs/, features/, bench/ and examples/, and random ones of every generator.
Test cases are differentiated by every transform, random programs take turns. The stages "lowered" and "expanded" are
hashed, too. Of a program that the compiler refuses, the message is hashed. numba compiles nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import multiprocessing
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from fuzzing.running import arguments, imported, load, reals
from fuzzing.variants import GENERATORS, VARIANTS, numbered, of_order
from numba.core import sigutils
from numba.core.dispatcher import Dispatcher
from programs.constructs.collected import CASES, RAISES
from programs.features import FEATURES, written
from programs.features.checking import moves

import dualrev as dr
from dualrev.compiler.driver.emit import emit

__all__ = ["main"]

ROOT = str(Path(__file__).resolve().parents[2])
FIRST = ("value_and_grad", "vjp", "jvp", "jacobian")
SECOND = ("hvp", "hessian")
STAGES = ("lowered", "expanded")
CHUNK = 50  # random programs of one process


class Question(NamedTuple):
    """A function whose derivatives are emitted."""

    name: str
    function: Any
    arguments: Callable[[], tuple[Any, ...]]
    argnums: tuple[int, ...]
    asked: tuple[str, ...]  # transforms and stages


class Answer(NamedTuple):
    """An answer of the compiler: `text` is emitted source, a stage, or an error's message."""

    key: str
    text: str

    @property
    def line(self) -> str:
        return f"{hashlib.sha256(self.text.encode()).hexdigest()[:20]} {self.key}"


def _answers(of: Question, folder: str = "") -> Iterator[Answer]:
    for what in of.asked:
        try:
            stage = {"stage": what} if what in STAGES else {"transform": what}
            argnums = 0 if what == "hvp" else of.argnums
            text = dr.derivative_source(of.function, *of.arguments(), argnums=argnums, **stage)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        yield Answer(f"{of.name} {what}", _without_places(text, folder))


def _without_places(text: str, folder: str) -> str:
    """Text without the folders of this checkout and of programs that are written for a moment, and addresses."""
    text = text.replace(ROOT, "").replace(folder or "\0", "")
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/tmp\w+/", "", text)
    text = re.sub(r'File "[^"]*/', 'File "', text)  # numba's errors name a file by the way from here to there
    return re.sub(r"0x[0-9a-f]{6,}|(?<=#)[0-9a-f]{10,}", "0x", text)


# ----------------------------------------------------------------------------------------------------------------------
# Where programs come from


def _cases(asked: tuple[str, ...]) -> Iterator[Question]:
    for case in [*CASES, *RAISES]:
        yield Question(f"constructs {case.name}", case.function, case.arguments, case.argnums, asked)


def _features(asked: tuple[str, ...]) -> Iterator[Question]:
    with tempfile.TemporaryDirectory() as folder:
        module = imported(written(FEATURES, Path(folder)))
        for of in FEATURES:
            f = getattr(module, f"feature_{of.number}")
            argnums = tuple(k for k, x in enumerate(of.arguments()) if moves(x))
            yield Question(f"features {of.heading}, {of.name}", f, of.arguments, argnums, asked)


def _benchmarks(asked: tuple[str, ...]) -> Iterator[Question]:
    sys.path.insert(0, ROOT)
    for module in ("array_programs", "second_programs", "parallel_programs", "sparse_programs"):
        programs = importlib.import_module(f"bench.programs.{module}")
        table = programs.EVERY if module == "array_programs" else programs.PROGRAMS
        for name, program in table.items():
            f = program.function
            f = f if isinstance(f, Dispatcher) else numba.njit(parallel=True)(f)
            made = partial(program.make, program.small)
            argnums = getattr(program, "argnums", 0)
            argnums = argnums if isinstance(argnums, tuple) else (argnums,)
            yield Question(f"bench {module} {name}", f, made, argnums, asked)


#: Functions of examples/, with the types of their arguments, and those by which they are differentiated.
EXAMPLES = {
    "bundle.residuals": ("(float64[::1], int64[::1], int64[::1], float64[:,::1])", (0,)),
    "garch.days": ("(float64[::1], float64[::1], float64)", (0,)),
    "garch.loss": ("(float64[::1], float64[::1], float64)", (0,)),
    "greeks.asian": ("(float64[::1], float64, float64, float64[:,::1])", (0,)),
    "greeks.barrier_call": ("(float64[::1], float64, float64, float64, float64[:,:,::1])", (0,)),
    "hares.by_loop": ("(float64[::1], float64[::1], int64)", (0,)),
    "heat.with_checkpoints": ("(float64[:,::1], float64[:,::1], float64[:,::1], int64)", (0,)),
    "heat.without": ("(float64[:,::1], float64[:,::1], float64[:,::1], int64)", (0,)),
    "kalman.log_likelihood": ("(float64[::1], float64[::1], int64)", (0, 1)),
    "kalman.loss": ("(float64[::1], float64[::1], int64)", (0,)),
}


def _examples() -> Iterator[Answer]:
    sys.path.insert(0, ROOT)
    for name, (signature, argnums) in EXAMPLES.items():
        module, _, function = name.rpartition(".")
        f = getattr(importlib.import_module(f"examples.{module}"), function)
        types, _ = sigutils.normalize_signature(signature)
        for transform in ("value_and_grad", "grad", "jacobian", "hessian"):
            try:
                text = emit(f, transform, argnums, types).source
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            yield Answer(f"examples {name} {transform}", _without_places(text, ""))


def _random(generator: str, first: int, count: int) -> list[Answer]:
    """The answers to random programs, which take turns at the variants of the campaign and at transforms."""
    answers: list[Answer] = []
    variants = [x for x in (*of_order(1), *of_order(2)) if x != "names"]  # those are words of the compiler's own files
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            of = numbered("emitted", number, 12, variants, generator)
            name = f"random {generator} {number} {of.variant}"
            try:
                module, args = load(of.source, folder), arguments(of)
            except Exception as error:
                answers.append(Answer(name, f"{type(error).__name__}"))
                continue
            first_order = VARIANTS[of.variant].order == 1
            turn = (*FIRST, "grad")[number % 5] if first_order else SECOND[number % 2]
            stages = STAGES[number % 2 : number % 2 + 1]
            question = Question(name, module.f, partial(arguments, of), reals(args), (turn, *stages))
            answers += _answers(question, folder)
    return answers


SOURCES = {"constructs": _cases, "features": _features, "bench": _benchmarks}


def _fixed(of: tuple[str, ...], part: int, parts: int) -> list[Answer]:
    """The answers to this part of the programs that are not random."""
    every = (*FIRST, *SECOND, "grad", *STAGES)
    answers: list[Answer] = []
    questions = (question for source in of if source in SOURCES for question in SOURCES[source](every))
    for question in islice(questions, part, None, parts):  # one by one: the files of some exist that long
        answers += _answers(question)
    if part == 0 and "examples" in of:
        answers += _examples()
    return answers


def _job(job: tuple[Any, ...]) -> list[Answer]:
    os.environ.setdefault("DUALREV_CACHE_DIR", tempfile.gettempdir())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _fixed(*job[1:]) if job[0] == "fixed" else _random(*job)


# ----------------------------------------------------------------------------------------------------------------------
# The command


def _all(of: tuple[str, ...], programs: int, jobs: int) -> list[Answer]:
    work: list[tuple[Any, ...]] = [("fixed", of, part, 4 * jobs) for part in range(4 * jobs)]
    for generator in GENERATORS if "random" in of else ():
        work += [(generator, k, min(CHUNK, programs - k)) for k in range(0, programs, CHUNK)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        return [answer for answers in pool.map(_job, work) for answer in answers]


def _write_texts(answers: Sequence[Answer], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for answer in answers:
        (folder / re.sub(r"[^\w.,-]+", "_", answer.key)[:150]).write_text(answer.text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, help="the file of hashes that is written; a folder with --texts")
    parser.add_argument("--against", type=Path, help="an earlier file of hashes")
    parser.add_argument("--texts", action="store_true", help="write the text of each answer, not its hash")
    every = ",".join([*SOURCES, "examples", "random"])
    parser.add_argument("--of", default=every, help=f"sources of programs: {every}")
    parser.add_argument("--programs", type=int, default=2000, help="random programs of each generator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(argv)
    answers = _all(tuple(options.of.split(",")), options.programs, options.jobs)
    lines = [answer.line for answer in answers]
    if options.texts:
        _write_texts(answers, options.to)
    elif options.to:
        options.to.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} texts, numba {numba.__version__}, numpy {np.__version__}")
    if not options.against:
        return 0
    before = dict(reversed(line.split(" ", 1)) for line in options.against.read_text().splitlines())
    now = dict(reversed(line.split(" ", 1)) for line in lines)
    differing = [key for key in now | before if now.get(key) != before.get(key)]
    print("\n".join([f"{len(differing)} differ", *differing]))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
