r"""`python -m stages.calculus`: print a program, its type, its derivative as a program, and their values.

python -m stages.calculus "\(x : R, y : R). let z = x + y in x * z" --to D1      Fig. 1 (c)
python -m stages.calculus --program doublings --to D4 --wrap                       with its wrapper and definitions
python -m stages.calculus --file model.py:f --to D2 --run 3,4                      a Python function
python -m stages.calculus "\(x : R). let c = ref(x) in let _ = c := !c * x in !c" --to cps --wrap      Wang et al.
python -m stages.calculus "\(x : R, y : R). let z = x + y in x * z" --to delta-map    Krawiec et al.
python -m stages.calculus "\(x : R, y : R). let z = x + y in x * z" --to chad             Vákár and Smeding
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from stages.calculus import TRANSFORMATIONS
from stages.calculus.chad.table import CHADS
from stages.calculus.checker.check import check, check_term
from stages.calculus.complexity import FAMILIES
from stages.calculus.continuations.table import CONTINUATIONS
from stages.calculus.deltas.table import DELTAS
from stages.calculus.evaluate import Machine
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import CalculusError
from stages.calculus.language.kinds import first_order
from stages.calculus.language.types import Arrow, Type
from stages.calculus.language.values import read_value, show_value
from stages.calculus.python import translate
from stages.calculus.readable import readable
from stages.calculus.text.latex import latex_program, latex_type
from stages.calculus.text.parser import parse_program, parse_term
from stages.calculus.text.printer import show_program, show_type
from stages.terminal import print_utf8

#: The transformations of our paper, of Wang et al. 2019 (continuations/), of Krawiec et al. 2022 (deltas/) and CHAD.
ALL = {**TRANSFORMATIONS, **CONTINUATIONS, **DELTAS, **CHADS}
#: Printed after a call without options.
NEXT = """
This is the program of Fig. 1. What to try next:
  python -m stages.calculus --type                     its type
  python -m stages.calculus --to D1                    its derivative as a program, by the naive transformation
  python -m stages.calculus --to D4 --wrap             the same with mutable arrays, its wrapper and definitions
  python -m stages.calculus --to D1 --run 3,4          its value and gradient at x = 3, y = 4
  python -m stages.calculus --file FILE.py:FUNCTION    your own Python function, with annotations
  python -m stages.calculus --help                     all options"""
FIG1 = r"\(x : R, y : R). let z = x + y in x * z"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m stages.calculus",
        description="Print a program of the paper's source language, its type, or its derivative as a program.",
        epilog=f"Transformations: {', '.join(TRANSFORMATIONS)} (Smeding and Vákár 2023); "
        f"{', '.join(CONTINUATIONS)} (Wang et al. 2019); {', '.join(DELTAS)} (Krawiec et al. 2022); "
        f"{', '.join(CHADS)} (Vákár and Smeding 2022; Smeding and Vákár 2024). "
        "The syntax of programs: stages/calculus/text/parser.py.",
    )
    made.add_argument("term", nargs="?", help=f"a program as text (default: Fig. 1's, {FIG1})")
    made.add_argument("--program", choices=tuple(FAMILIES), help="a program of complexity.py, at size 4")
    made.add_argument("--file", metavar="FILE.py:FUNCTION", help="translate an annotated Python function")
    made.add_argument(
        "--to", choices=tuple(ALL), metavar="NAME", help="print the derivative D[t] by this transformation"
    )
    made.add_argument("--wrap", action="store_true", help="with --to: print Wrap[t], and its definitions")
    made.add_argument("--type", action="store_true", help="print the type instead of the program")
    made.add_argument("--run", metavar="ARGUMENT", help="evaluate, for example at 3,4; with --to also the gradient")
    made.add_argument("--cotangent", metavar="VALUE", default="1", help="with --run: cotangent of the output (1)")
    made.add_argument("--direction", metavar="VALUE", help="with --run, forward mode: tangent of the input (ARGUMENT)")
    made.add_argument(
        "--limit", type=float, default=1e7, metavar="STEPS", help="with --run: stop after this many steps (10,000,000)"
    )
    made.add_argument("--exact", action="store_true", help="print the result of the paper's rules unsimplified")
    made.add_argument("--latex", action="store_true", help="print as LaTeX")
    made.add_argument("--ascii", action="store_true", help="print ASCII instead of Unicode")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 1 for an invalid or failing program, or 2 for a wrong command line."""
    options = parser().parse_args(argv)
    if sum(x is not None for x in (options.term, options.program, options.file)) > 1:
        _usage("give only one of TERM, --program and --file")
    if options.wrap and not options.to:
        _usage("--wrap needs --to NAME")
    try:
        program = _program(options)
        kind = check(program, ALL[options.to].reads if options.to else "control")
        if options.type:
            _print_type(check(_transformed(program, kind, options), _target(options)) if options.to else kind, options)
        elif options.run is not None:
            _run(program, kind, options)
        else:
            _print(_transformed(program, kind, options) if options.to else program, options)
            if not (options.term or options.program or options.file or options.to):
                print(NEXT, file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (CalculusError, ArithmeticError, ValueError, IndexError) as error:
        print(f"python -m stages.calculus: {error}", file=sys.stderr)
        return 1
    return 0


def _program(options: argparse.Namespace) -> Program:
    if options.program:
        return FAMILIES[options.program].make(4)[0]
    if not options.file:
        return parse_program(options.term or FIG1, cells=True)
    path, _, name = options.file.rpartition(":")
    if not Path(path).is_file():
        _usage(f"--file {options.file}: there is no file {path!r}; write FILE.py:FUNCTION")
    found = runpy.run_path(path).get(name)
    if not callable(found):
        _usage(f"--file {options.file}: {path} has no function {name!r}")
    return translate(found)


def _transformed(program: Program, kind: Type, options: argparse.Namespace) -> Program:
    """Return Wrap[t], or D[t] with the type of the program's argument as the type of cotangents."""
    D = ALL[options.to]  # noqa: N806 - the paper's letter
    made = D.wrap(program) if options.wrap else D.of(program, kind)
    return made if options.exact else readable(made)


def _target(options: argparse.Namespace) -> str:
    """Return the target language of a transformation; the language of D4 includes those of D1 to D3."""
    return ALL[options.to].language if options.to not in TRANSFORMATIONS else "D4"


def _print(program: Program, options: argparse.Namespace) -> None:
    print(latex_program(program) if options.latex else show_program(program, options.ascii))


def _print_type(kind: Type, options: argparse.Namespace) -> None:
    print(latex_type(kind) if options.latex else show_type(kind, options.ascii))


def _run(program: Program, kind: Type, options: argparse.Namespace) -> None:
    if not isinstance(kind, Arrow) or not first_order(kind.argument, program.declarations):
        _usage(f"--run needs a function of first-order data; this program has the type {show_type(kind)}")
    x = _value(options.run, kind.argument, program)
    machine = Machine(program, options.limit)
    print(f"value      {show_value(machine.apply(machine.value(), x))}   ({machine.steps:,} steps)")
    if not options.to:
        return
    machine = Machine(ALL[options.to].wrap(program), options.limit)
    if options.to in ("forward", "fig4", "tagged", "triple", "tower"):
        given = options.direction or (options.cotangent if options.cotangent != "1" else options.run)
        dx = _value(given, kind.argument, program)
        if options.to == "tower":
            derivative = machine.apply(machine.value(), (x, dx))
            found = ", ".join(show_value(machine.apply(derivative, k)) for k in range(1, 5))
            print(f"1st to 4th  {found}   ({machine.steps:,} steps, in the direction {show_value(dx)})")
            return
        _, tangent = machine.apply(machine.value(), (x, dx))
        word = "first, second" if options.to == "triple" else "tangent  "
        print(f"{word}  {show_value(tangent)}   ({machine.steps:,} steps, in the direction {show_value(dx)})")
        return
    if options.to == "triple-delta":
        x = (x, _value(options.direction or options.run, kind.argument, program))
    cotangent = _value(options.cotangent, kind.result, program)
    if options.to in CONTINUATIONS:
        found = machine.apply(machine.value(), (x, cotangent))
    else:
        _, pullback = machine.apply(machine.value(), x)
        found = machine.apply(pullback, cotangent)
    print(f"cotangent  {show_value(found)}   ({machine.steps:,} steps)")


def _value(text: str, kind: Type, program: Program) -> Any:
    """Evaluate a term given as text to a value of a type; whole numbers may stand for reals."""
    term = parse_term(f"({text})")
    check_term(term, declarations=program.declarations)
    machine = Machine(Program(term, program.declarations))
    return read_value(machine.value(), kind, program.declarations)


def _usage(message: str) -> NoReturn:
    print(f"python -m stages.calculus: {message}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    print_utf8()
    sys.exit(main())
