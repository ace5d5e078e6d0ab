r"""The paper's languages, and D1 to the tape as typed program transformations: Figs. 4 to 12, section 8.

In the other stages, D is operator overloading. Here it maps terms to terms, with the types that the paper states.

    types, terms, declarations, sugar, discrete, languages    the languages: Fig. 4, section 9, Fig. 5, Fig. 11
    kinds, well_formed, formation, check, linear              the type checker, with its two kinds of linearity
    transform, d1, d2, d3, sparse, d4, forward                the transformations, each under its figure
    collectorless, contrib, tape                              the transformations of sections 8.1 to 8.3
    polymorphism                                              section 9's polymorphic functions, and their instances
    values, evaluate, staged, arrays                          call-by-value evaluation, counting steps
    text: parser, printer, latex                              programs as text
    python                                                    Python functions as programs
    readable, complexity                                      shorter text, and section 4.1's criterion, measured
    vectors                                                   build and index: Krawiec et al. 2022, section 8.3
    deltas                                                    Krawiec et al. 2022: Deltas, pure and do, towers
    continuations                                             Wang et al. 2019: cells, shift and reset
    chad                                                      Vákár and Smeding 2022; Smeding and Vákár 2024
    python -m stages.calculus                                 prints programs and their derivatives

>>> program = parse_program(r"\(x : R, y : R). let z = x + y in x * z")
>>> show_type(check(program, "source"))
'(ℝ, ℝ) → ℝ'
>>> derivative = TRANSFORMATIONS["D4"].wrap(program)
>>> show_type(check(derivative, "D4"))
'(ℝ, ℝ) → (ℝ, ℝ ⊸ (ℝ, ℝ))'
>>> machine = Machine(derivative)
>>> y, pullback = machine.apply(machine.value(), (3.0, 2.0))
>>> y, machine.apply(pullback, 1.0)
(15.0, (8.0, 3.0))
"""

from collections.abc import Mapping

from stages.calculus.checker.check import check, check_term
from stages.calculus.evaluate import Machine, evaluate
from stages.calculus.language.declarations import Program
from stages.calculus.text.parser import parse_program, parse_term, parse_type
from stages.calculus.text.printer import show, show_program, show_type
from stages.calculus.transformations.collectorless import Collectorless
from stages.calculus.transformations.contrib import Contrib
from stages.calculus.transformations.d1 import D1
from stages.calculus.transformations.d2 import D2
from stages.calculus.transformations.d3 import D3
from stages.calculus.transformations.d4 import D4
from stages.calculus.transformations.forward import Forward
from stages.calculus.transformations.sparse import Sparse
from stages.calculus.transformations.tape import Tape
from stages.calculus.transformations.transform import Transformation

__all__ = [
    "TRANSFORMATIONS",
    "Machine",
    "Program",
    "check",
    "check_term",
    "evaluate",
    "parse_program",
    "parse_term",
    "parse_type",
    "show",
    "show_program",
    "show_type",
]

#: The transformations by name: reverse AD in the paper's order, and forward AD.
TRANSFORMATIONS: Mapping[str, type[Transformation]] = {
    D.name: D for D in (D1, D2, D3, Sparse, D4, Collectorless, Contrib, Tape, Forward)
}
