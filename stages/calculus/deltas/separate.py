r"""Separate compilation: Krawiec et al. 2022, section 8.1.

    f : s -> t = \(x : s). e            f : D[s] -> M D[t] = \(x : D[s]). D[e]         a definition, compiled once
    D[f] = pure f                       f is the compiled function, in each program that it is linked with

    compiled(D, program)       the program's definitions, compiled
    linked(caller, library)    Wrap of a caller that uses a library's functions; it reads their types, not their bodies

The type of a compiled function mentions Delta and M, and not the type S of a program's input. So one compiled function
serves callers with different inputs. In the first version of reverse AD (vectorised.py), S is in all types: to compile
a library, S has to be chosen, and a caller with another input does not fit (IllTyped). `fused` names functions that
are compiled to a single operation (fusing.py).

>>> from stages.calculus import Machine, parse_program, show
>>> from stages.calculus.deltas.monadic import Monadic
>>> from stages.calculus.readable import readable
>>> library = compiled(Monadic, parse_program(r"f : R -> R = \(x : R). x * sin(x); ()"), fused=["f"])
>>> print(show(readable(library.program).definitions[-1].term, ascii=True))
\(x : R, dx : Delta).
  let x2 = sin(x) in
  let p1 = partial 1 sin(x)(1.0) in
  let x3 = x * x2 in
  let p2 = x * p1 in
  let p3 = x2 + p2 in
  do {u2 <- deltaLet (Scale[Delta](p3, dx)); pure (x3, Var[Delta](u2))}
>>> machine = Machine(linked(parse_program(r"\(x : R, y : R). f (f x) * y"), library))
>>> y, pullback = machine.apply(machine.value(), (2.0, 3.0))
>>> round(y, 6), [round(g, 6) for g in machine.apply(pullback, 1.0)]
(5.289136, [0.120913, 1.763045])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stages.calculus.checker.check import check, check_term
from stages.calculus.deltas.fusing import fused_function
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Declarations, Definition, Program
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.polymorphism import as_function, scheme
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type
from stages.calculus.transformations.d1 import D1
from stages.calculus.transformations.transform import names

__all__ = ["Library", "compiled", "linked"]


@dataclass(frozen=True)
class Library:
    """Compiled definitions.

    D              the transformation that compiled them
    signatures     the types of their sources, by name; all that a caller needs to know of them
    sources        the data types of these types
    declarations   the types that the compiled functions use
    interface      the functions of D that they call
    functions      the compiled functions
    """

    D: type[D1]
    signatures: dict[str, Type]
    sources: Declarations
    declarations: Declarations
    interface: tuple[Definition, ...]
    functions: tuple[Definition, ...]

    @property
    def program(self) -> Program:
        """The compiled library as a program without a term of its own."""
        return Program(t.Star(), self.declarations, (*self.interface, *self.functions))


def compiled(D: type[D1], program: Program, fused: Iterable[str] = (), c: Type = ty.UNIT) -> Library:  # noqa: N803
    """Compile the definitions of a program; its term is not used.

    `c` is the type of the caller's input, for transformations whose types mention it. IllTyped for definitions that do
    not type-check, and for names in `fused` that are no straight-line functions of numbers.
    """
    check(program, D.reads)
    sources = [as_function(d, program.declarations) for d in program.definitions]
    taken = frozenset().union(*[names(t.Letrec((f,), t.Star())) for f in sources])
    self = D(c, program.declarations, taken)
    typed = self.annotated(t.Letrec(tuple(sources), t.Star()), {})
    sources = [*typed.functions] if isinstance(typed, t.Letrec) else []
    known, selected = {f.name: f for f in sources}, frozenset(fused)
    if lost := min({d.name for d in program.definitions} - set(known), default=""):
        raise IllTyped(
            program.term, f"{lost} is polymorphic, and {D.name} copies it for each type: put it in the caller"
        )
    if missing := min(selected - set(known), default=""):
        raise IllTyped(program.term, f"fused names {missing}, and the definitions are {', '.join(known)}")
    images = [fused_function(self, f, known) if f.name in selected else self.function(f) for f in sources]
    functions = [Definition(f.name, scheme(f), t.Lambda(f.parameter, f.type.argument, f.body)) for f in images]
    signatures = {d.name: d.type for d in program.definitions}
    library = Library(D, signatures, program.declarations, self.declarations(), self.interface(), tuple(functions))
    check(library.program, D.language)
    return library


def linked(caller: Program, *libraries: Library) -> Program:
    """Wrap[P] for a caller P of the libraries' functions, which are linked, not compiled again.

    IllTyped if the caller does not fit, if two libraries define one name, or if a type of D has another meaning here.
    """
    D = libraries[0].D  # noqa: N806
    known = Declarations({name: item for one in libraries for name, item in one.sources.types.items()})
    known = known | caller.declarations.types
    term = caller.term
    if caller.definitions:
        term = t.Letrec(tuple([as_function(d, known) for d in caller.definitions]), term)
    signatures = {name: type_ for one in libraries for name, type_ in one.signatures.items()}
    kind = check_term(term, signatures, known, D.reads)
    self, made = D.wrap_term(Program(term, known), kind, signatures)
    declarations = self.declarations()
    for one in libraries:
        for name, item in one.declarations.types.items():
            if declarations.types.get(name, item) != item:
                raise IllTyped(caller.term, f"the type {name} is not the one of the library: call yours otherwise")
        declarations = declarations | one.declarations.types
    interface = {d.name: d for d in self.interface()}
    for one in libraries:
        for d in one.interface:
            if interface.setdefault(d.name, d).type != d.type:
                ours, theirs = show_type(interface[d.name].type), show_type(d.type)
                raise IllTyped(
                    term, f"{d.name} has type {ours} here, and {theirs} in the library: compile it for this c"
                )
    functions = [f for one in libraries for f in one.functions]
    whole = Program(made, declarations, (*interface.values(), *functions, *self.definitions.values()))
    check(whole, D.language)
    return whole
