r"""Terms: the syntax shared by the source and all target languages (Fig. 4 and section 9), and its extensions.

    source   s, t ::= x | () | (s, t) | fst(t) | snd(t) | s t | \(x : t). s | let x = s in t | r | op(t1, .., tn) Fig. 4
                    | n | discrete(t1, .., tn)                                           Int, and comparisons of reals
                    | letrec f : s -> t = \(x : s). u in v                                                   section 9
                    | C(t1, .., tn) | case s of {C(x1, .., xn) -> t; ..}
                    | letrec f : forall a. s -> t = \(x : s). u in v | f[s]                    polymorphism.py
    target          | \_(z : t). b                                                                             Fig. 5
                    | id[t] | s . t                      the monoid of functions t -> t                     section 5
                    | {s -> t} | primitive(t1, .., tn)   maps: staged.py; arrays: arrays.py         section 4, Fig. 11
                    | \R(x : t). s | letR p = s in t | !t                                          resources, Fig. 11

                    | linear(t)                          linear for a reason that types do not show
    bodies      b ::= z | () | (b, b') | fst(b) | snd(b) | t b | di op(t1, .., tn)(b) | b + b' | 0[t]           Fig. 5
                    | C(b1, .., bn) | case b of {C(z1, .., zn) -> b'; ..}                                    section 9
                    | {t -> b} | {t -> (t', b)} | \(a : t). e | \R(a : t). e | id[t] | b . b'         sections 4 to 7

Linear bodies use the same nodes; the type checker restricts them (linear.py). Nodes are immutable and compared by their
content.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stages.calculus.language.types import Arrow, Type

__all__ = [
    "Apply",
    "Branch",
    "Case",
    "Claim",
    "Compose",
    "Con",
    "Discrete",
    "Fst",
    "Function",
    "Identity",
    "Instance",
    "Integer",
    "Lambda",
    "Let",
    "Letrec",
    "LinearLambda",
    "Literal",
    "Of",
    "Operation",
    "Partial",
    "Plus",
    "Primitive",
    "ResourceLambda",
    "ResourceLet",
    "Singleton",
    "Snd",
    "Star",
    "Term",
    "Tuple",
    "Var",
    "Zero",
    "subterms",
]


@dataclass(frozen=True, slots=True)
class Term:
    """Any term."""


@dataclass(frozen=True, slots=True)
class Var(Term):
    """x"""

    name: str


@dataclass(frozen=True, slots=True)
class Star(Term):
    """()"""


@dataclass(frozen=True, slots=True)
class Tuple(Term):
    """(s, t)"""

    first: Term
    second: Term


@dataclass(frozen=True, slots=True)
class Fst(Term):
    """fst(t)"""

    pair: Term


@dataclass(frozen=True, slots=True)
class Snd(Term):
    """snd(t)"""

    pair: Term


@dataclass(frozen=True, slots=True)
class Apply(Term):
    """s t, for a function type with any arrow."""

    function: Term
    argument: Term


@dataclass(frozen=True, slots=True)
class Lambda(Term):
    r"""\(x : s). t"""

    name: str
    type: Type
    body: Term


@dataclass(frozen=True, slots=True)
class Let(Term):
    """let x = s in t"""

    name: str
    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class Literal(Term):
    """r, a real number."""

    value: float


@dataclass(frozen=True, slots=True)
class Operation(Term):
    """op(t1, .., tn): an operation of the project's table (dualrev.rules.primitives), R^n -> R."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Integer(Term):
    """n, a literal of type Int."""

    value: int


@dataclass(frozen=True, slots=True)
class Discrete(Term):
    """An operation of discrete.py, with a discrete result or argument: AD does not act upon it."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Function:
    r"""A function of a letrec: f : s -> t = \(x : s). body; with `parameters`, f : forall a b. s -> t."""

    name: str
    type: Arrow
    parameter: str
    body: Term
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance(Term):
    """f[t1, .., tn]: a polymorphic function at these types."""

    function: Term
    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Letrec(Term):
    """letrec f1 : .. = .. and f2 : .. = .. in t"""

    functions: tuple[Function, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Con(Term):
    """C(t1, .., tn), for a constructor of a sum or data type: inl, inr, or a declared one."""

    type: Type
    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """C(x1, .., xn) -> t"""

    name: str
    variables: tuple[str, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Case(Term):
    """case s of {C(x1, .., xn) -> t; ..}, with a branch for every constructor."""

    scrutinee: Term
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class LinearLambda(Term):
    r"""\_(z : t). b, a linear function. `made_by` is the rule that made a backpropagator: "D[op]", "D[r]", ..."""

    name: str
    type: Type
    body: Term
    made_by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Partial(Term):
    """di op(t1, .., tn)(b): b times the partial derivative of op with respect to argument i (from 1) at t1, .., tn."""

    name: str
    index: int
    arguments: tuple[Term, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Plus(Term):
    """b + b', in the monoid of their type."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Zero(Term):
    """0[t]"""

    type: Type


@dataclass(frozen=True, slots=True)
class Identity(Term):
    """id[t] : t -> t, or t ->R t where t is a resource: the zero of functions t -> t."""

    type: Type


@dataclass(frozen=True, slots=True)
class Compose(Term):
    """s . t: first t, then s. It is the sum of functions t -> t."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Singleton(Term):
    """{key -> value}, a map."""

    key: Term
    value: Term


@dataclass(frozen=True, slots=True)
class Primitive(Term):
    """An operation on maps (staged.py) or arrays (arrays.py), with all its arguments."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ResourceLambda(Term):
    r"""\R(x : s). t, which uses x exactly once."""

    name: str
    type: Type
    body: Term


@dataclass(frozen=True, slots=True)
class ResourceLet(Term):
    """letR x = s in t; letR (x, y) = s in t. A name that starts with "!" is bound to the content of a !t."""

    names: tuple[str, ...]
    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class Of(Term):
    """!t, where t uses no resource."""

    content: Term


@dataclass(frozen=True, slots=True)
class Claim(Term):
    """linear(t): the function t, of type s -> t, as one of type s -o t. Its linearity does not follow by typing.

    Each transformation from D2 on has one: the function that resolves delayed calls (sections 4 and 5). claims.py says
    where it may occur.
    """

    function: Term


def subterms(term: Term) -> Iterator[Term]:
    """The direct subterms, in the order of the text."""
    match term:
        case Letrec(functions, body):
            yield from (function.body for function in functions)
            yield body
        case Case(scrutinee, branches):
            yield scrutinee
            yield from (branch.body for branch in branches)
        case _:
            names: tuple[str, ...] = term.__slots__
            for name in names:
                value = getattr(term, name)
                if isinstance(value, Term):
                    yield value
                elif isinstance(value, tuple):
                    yield from (part for part in value if isinstance(part, Term))
