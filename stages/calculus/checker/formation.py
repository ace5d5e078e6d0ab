r"""Well-formed types, and the checks on types and terms that do not depend on the rule.

`Formation` knows the declarations and the language. Its methods raise IllTyped, with the term that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.checker.well_formed import parameters, twice, wrong_data, wrong_synonym
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import DataType, Declarations, Definition, Synonym, substitute
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import is_collection, is_monoid, is_resource, same, unknown_name
from stages.calculus.language.languages import VECTORS_ELSEWHERE, Language
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type
from stages.calculus.text.printer import mark, show, show_type

__all__ = ["Environment", "Formation", "Hidden"]


@dataclass(frozen=True, slots=True)
class Hidden(Type):
    """In place of a variable's type: the reason why it must not be used here."""

    why: str


#: Types of variables.
Environment = Mapping[str, Type]


@dataclass
class Formation:
    """Declarations and a language; `formed` and `seen` are the types that were checked."""

    declarations: Declarations
    language: Language
    formed: set[Type] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    parameters: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()  #: the parameters of the polymorphic functions around
    definitions: Mapping[str, Definition] = field(default_factory=dict)  #: those of a program

    def infer(self, term: Term, env: Environment) -> Type:
        """The type of a term that uses no resources (check.py)."""
        raise NotImplementedError

    def declared(self, term: Term) -> None:
        """Refuse declarations that are not allowed (well_formed.py)."""
        for item in self.declarations:
            known = self.declarations
            if wrong := wrong_data(item, known) if isinstance(item, DataType) else wrong_synonym(item, known):
                raise IllTyped(term, wrong, mark(term, term))

    @contextmanager
    def quantified(self, term: Term, names: tuple[str, ...]) -> Iterator[None]:
        """Declare type parameters within `with`, for the body of a polymorphic function."""
        if name := twice(names) or next((name for name in names if name in self.variables), None):
            raise IllTyped(term, f"{name} is a parameter already: call this one otherwise")
        outer = self.parameters, self.variables
        self.parameters, self.variables = self.parameters | set(names), self.variables | set(names)
        yield
        self.parameters, self.variables = outer
        self.formed = {kind for kind in self.formed if not parameters(kind) & set(names)}

    def instance(self, term: t.Instance, found: Type) -> Type:
        """The type of f[t1, .., tn], given the type of f."""
        name = show(term.function)
        if not isinstance(found, ty.ForAll):
            raise IllTyped(term, f"{name} is not polymorphic: it has type {show_type(found)}")
        if len(term.types) != len(found.parameters):
            many = f"{len(found.parameters)} parameters ({', '.join(found.parameters)}), not {len(term.types)}"
            raise IllTyped(term, f"{name} has {many}")
        for type_ in term.types:
            if is_resource(self.form(term, type_), self.declarations):
                raise IllTyped(term, f"{name} may use a value twice, and {show_type(type_)} is a resource")
        return substitute(found.type, dict(zip(found.parameters, term.types, strict=True)))

    def named(self, term: Term, name: str) -> None:
        """Refuse a declared type whose definition is not of the language."""
        item = self.declarations.types[name]
        outer = self.parameters, self.variables
        self.parameters, self.variables = frozenset(getattr(item, "parameters", ())), frozenset()
        kinds = [item.type] if isinstance(item, Synonym) else [kind for c in item.constructors for kind in c.fields]
        for kind in kinds:
            self.form(term, kind)
        self.parameters, self.variables = outer
        self.formed = {kind for kind in self.formed if not parameters(kind)}

    def expect(self, term: Term, found: Type, wanted: Type, where: str) -> None:
        """Refuse a part that has another type."""
        if not same(found, wanted, self.declarations):
            raise IllTyped(term, f"{where} has type {show_type(wanted)}, and this is {show_type(found)}")

    def form(self, term: Term, type_: Type) -> Type:
        """Refuse a type annotation that is no type of the language."""
        if type_ in self.formed:
            return type_
        if wrong := unknown_name(type_, self.declarations):
            raise IllTyped(term, wrong)
        if isinstance(type_, ty.ForAll):
            raise IllTyped(term, f"only functions of letrec and definitions have a type such as {show_type(type_)}")
        if type(type_) not in self.language.types:
            hint = VECTORS_ELSEWHERE * isinstance(type_, ty.Vector)
            raise IllTyped(term, f"{show_type(type_)} is no type of {self.spoken()}{hint}")
        if isinstance(type_, ty.Parameter) and type_.name not in self.parameters:
            raise IllTyped(term, f"{type_.name} is a parameter of no declaration here")
        for part in ty.parts(type_):
            self.form(term, part)
        if isinstance(type_, ty.Named) and type_.name not in self.seen:
            self.seen.add(type_.name)
            self.named(term, type_.name)
        if isinstance(type_, ty.Map) and not is_collection(type_.value, self.declarations):
            raise IllTyped(term, f"maps hold numbers, or pairs (R -o t, R), and not {show_type(type_.value)}")
        if isinstance(type_, ty.Linear):
            for side in (type_.argument, type_.result):
                self.monoid(term, side)
        self.formed.add(type_)
        return type_

    def monoid(self, term: Term, type_: Type) -> None:
        """Refuse a type under a linear arrow that has no 0 and +."""
        if name := min(parameters(type_) & self.variables, default=""):
            raise IllTyped(term, f"{name} may be any type, also one without 0 and +")
        if not is_monoid(type_, self.declarations, self.language.endomorphisms):
            functions = "functions t -> t" if self.language.endomorphisms else "no function"
            raise IllTyped(
                term,
                f"{show_type(type_)} cannot stand under a linear arrow, nor be added: it has no 0 and +"
                f" ({functions} may be in such a type)",
            )

    def spoken(self) -> str:
        """The name of the language in messages."""
        name = self.language.name
        if name in ("cells", "nested", "control", "maps"):
            return f"the language {name}"
        if name == "Fig. 4":
            return "the source language of Fig. 4"
        return "the source language" if name == "source" else f"the target language of {name}"

    def identity(self, term: Term, type_: Type) -> Type:
        """The type of id."""
        self.form(term, type_)
        return (ty.Resource if is_resource(type_, self.declarations) else ty.Arrow)(type_, type_)

    def compose(self, term: Term, outer: Type, inner: Type) -> Type:
        """The type of outer . inner."""
        for arrow in (ty.Arrow, ty.Resource):
            match outer, inner:
                case ((ty.Arrow(a, b) | ty.Resource(a, b)), (ty.Arrow(c, d) | ty.Resource(c, d))) if type(
                    outer
                ) is type(inner) is arrow and same(a, d, self.declarations):
                    return arrow(c, b)
        raise IllTyped(term, f"{show_type(outer)} and {show_type(inner)} cannot be composed: s -> t after r -> s")

    def unrestricted(self, term: Term, name: str, type_: Type) -> None:
        """Refuse to bind a resource by an ordinary binder."""
        if is_resource(type_, self.declarations):
            raise IllTyped(term, f"{name} : {show_type(type_)} is a resource: bind it by \\R or letR, and use it once")

    def partial(self, term: t.Partial) -> None:
        """Refuse a partial derivative that does not exist."""
        self.arity(term, term.name, len(term.arguments))
        if not 1 <= term.index <= len(term.arguments):
            raise IllTyped(
                term, f"{term.name} has {len(term.arguments)} arguments, so no partial derivative {term.index}"
            )

    def arity(self, term: Term, name: str, count: int) -> None:
        """Refuse an operation that the table does not have, or not with so many arguments."""
        if name not in PRIMITIVES:
            raise IllTyped(term, f"the table of primitives has no {name}")
        if count != len(PRIMITIVES[name].partials):
            raise IllTyped(term, f"{name} takes {len(PRIMITIVES[name].partials)} arguments, not {count}")

    def fields(self, term: t.Con) -> tuple[Type, ...]:
        """The types of a constructor's arguments."""
        self.form(term, term.type)
        constructors = self.declarations.constructors(term.type)
        if constructors is None:
            raise IllTyped(term, f"{show_type(term.type)} has no constructors{self.constructing(term.name)}")
        fields = next((c.fields for c in constructors if c.name == term.name), None)
        if fields is None:
            names = ", ".join(c.name for c in constructors)
            has = f"{show_type(term.type)} has no constructor {term.name}; it has {names}"
            raise IllTyped(term, f"{has}{self.constructing(term.name)}")
        if len(fields) != len(term.arguments):
            raise IllTyped(term, f"{term.name} takes {len(fields)} arguments, not {len(term.arguments)}")
        return fields

    def constructing(self, name: str) -> str:
        """How to write a constructor of this name, for messages; nothing if there is none."""
        for data in (item for item in self.declarations if isinstance(item, DataType)):
            for c in data.constructors:
                if c.name == name:
                    whole = " ".join([data.name, *data.parameters])
                    at = " ".join([data.name, *("R" for _ in data.parameters)])
                    fields = f"({', '.join('..' for _ in c.fields)})" if c.fields else ""
                    example = f", as {name}[{at}]{fields}" if data.parameters else ""
                    return f": {name} is a constructor of {data.name}, so write {name}[{whole}]{fields}{example}"
        return ""

    def branches(
        self, term: t.Case, kind: Type, holds: Callable[[Type, Declarations], bool] = is_resource
    ) -> list[tuple[t.Branch, dict[str, Type]]]:
        """Each branch with the types of its variables; refuses missing and superfluous cases.

        `holds` says which types may be those of resources.
        """
        constructors = self.declarations.constructors(kind)
        if constructors is None:
            raise IllTyped(term.scrutinee, f"case takes a sum or data type, and this is {show_type(kind)}")
        names = [branch.name for branch in term.branches]
        for c in constructors:
            if c.name not in names:
                raise IllTyped(term, f"the case {c.name} of {show_type(kind)} is missing")
        fields = {c.name: c.fields for c in constructors}
        for k, branch in enumerate(term.branches):
            if branch.name not in fields or branch.name in names[:k]:
                raise IllTyped(branch.body, f"there is a case {branch.name} too many for {show_type(kind)}")
            if len(branch.variables) != len(fields[branch.name]):
                raise IllTyped(
                    branch.body, f"{branch.name} has {len(fields[branch.name])} arguments, not {len(branch.variables)}"
                )
            if name := twice(branch.variables):
                raise IllTyped(branch.body, f"{branch.name} has the variable {name} twice")
            blank = [kind for x, kind in zip(branch.variables, fields[branch.name], strict=True) if x == "_"]
            if len(blank) > 1 and any(holds(kind, self.declarations) for kind in blank):
                raise IllTyped(branch.body, f"{branch.name} drops a resource: name it, and use it once")
        return [(b, dict(zip(b.variables, fields[b.name], strict=True))) for b in term.branches]
