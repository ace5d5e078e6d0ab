r"""Well-formed declarations: data types, synonyms and definitions.

data T a1 .. an = C1 .. | C2 ..    at least one constructor; no name twice; fields are types of the language, with no
                                   other parameters; within itself, T has its own parameters or types without any
type T a1 .. an = t                t is a type of the language, and does not unfold to T itself
f : t = term                       the term is a function, so that definitions may refer to each other
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from stages.calculus.language.declarations import DataType, Declarations, Definition, Synonym
from stages.calculus.language.kinds import unknown_name
from stages.calculus.language.terms import Claim, Identity, Lambda, LinearLambda, ResourceLambda
from stages.calculus.language.types import Named, Parameter, Type, parts

__all__ = ["parameters", "twice", "wrong_data", "wrong_definition", "wrong_synonym"]

_DEEP = 12  # levels of types in types, where a data type is taken for one that never ends


def twice(found: Iterable[str]) -> str | None:
    """A name that occurs more than once, except `_`; None if there is none."""
    return next((name for name, count in Counter(found).items() if count > 1 and name != "_"), None)


def parameters(type_: Type) -> set[str]:
    """The type parameters that occur in a type."""
    if isinstance(type_, Parameter):
        return {type_.name}
    return {name for part in parts(type_) for name in parameters(part)}


def wrong_data(data: DataType, known: Declarations) -> str | None:
    """The error in the form of a data type; None if it is well formed."""
    if not data.constructors:
        return f"{data.name} has no constructor, and so no value"
    if name := twice(data.parameters):
        return f"{data.name} has the parameter {name} twice"
    if name := twice(c.name for c in data.constructors):
        return f"{data.name} has the constructor {name} twice"
    for field in (field for c in data.constructors for field in c.fields):
        if wrong := unknown_name(field, known):
            return wrong
        if free := parameters(field) - set(data.parameters):
            return f"{min(free)} is no parameter of {data.name}"
    if not _regular(data, known):
        return f"{data.name} contains itself at ever larger types"
    return None


def wrong_synonym(synonym: Synonym, known: Declarations) -> str | None:
    """The error in the form of a synonym; None if it is well formed."""
    if wrong := unknown_name(synonym.type, known):
        return wrong
    if name := twice(synonym.parameters):
        return f"{synonym.name} has the parameter {name} twice"
    if free := parameters(synonym.type) - set(synonym.parameters):
        return f"{min(free)} is no parameter of {synonym.name}"
    seen = {synonym.name}
    found: Type = synonym.type
    while isinstance(found, Named) and isinstance(declared := known.types.get(found.name), Synonym):
        if found.name in seen:
            return f"{synonym.name} stands for itself"
        seen.add(found.name)
        found = declared.type
    return None


def wrong_definition(definition: Definition) -> str | None:
    """The error in the form of a definition; None if it is well formed."""
    if isinstance(definition.term, (Lambda, LinearLambda, ResourceLambda, Identity, Claim)):
        return None
    return f"{definition.name} is no function: bind other values by let"


def _regular(data: DataType, known: Declarations) -> bool:
    """Whether a data type refers to data types at finitely many arguments, of bounded depth."""
    seen: set[Named] = set()
    todo = [Named(data.name, tuple([Parameter(name) for name in data.parameters]))]
    while todo:
        whole = todo.pop()
        if whole in seen:
            continue
        if _depth(whole) > _DEEP:
            return False
        seen.add(whole)
        fields = [field for c in known.constructors(whole) or () for field in c.fields]
        todo.extend(inner for field in fields for inner in _named(field))
    return True


def _depth(type_: Type) -> int:
    return 1 + max([_depth(part) for part in parts(type_)], default=0)


def _named(type_: Type) -> Iterator[Named]:
    if isinstance(type_, Named):
        yield type_
    for part in parts(type_):
        yield from _named(part)
