"""Arbitrary types, terms and programs of the calculus: well-formed as text, not well-typed."""

import math

from hypothesis import strategies as st

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.deltas.terms import InSequence, Pure, do
from stages.calculus.language import sugar
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Definition, Program, Synonym
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.terms import (
    Apply,
    Branch,
    Case,
    Claim,
    Compose,
    Con,
    Discrete,
    Fst,
    Function,
    Identity,
    Instance,
    Integer,
    Lambda,
    Let,
    Letrec,
    LinearLambda,
    Literal,
    Of,
    Operation,
    Partial,
    Plus,
    Primitive,
    ResourceLambda,
    ResourceLet,
    Singleton,
    Snd,
    Star,
    Tuple,
    Var,
    Zero,
)
from stages.calculus.language.types import (
    INT,
    REAL,
    UNIT,
    Array,
    Arrow,
    Bang,
    ForAll,
    FrozenArray,
    Linear,
    Map,
    Named,
    Pair,
    Parameter,
    Resource,
    Sum,
    Vector,
)
from stages.calculus.text.tokens import CALLS

names = st.sampled_from(["x", "y", "x1", "dx'", "_", "_x_y", "__y", "o", "β", "F", "SCall", "lets"])
capitals = st.sampled_from(["Nil", "Cons", "R'", "inl", "inr"])
floats = st.sampled_from([0.0, -0.0, 1.0, -1.5, 1e16, 2.5e-7, -1e300, math.inf, -math.inf]) | st.floats(allow_nan=False)
type_names = st.sampled_from(["List", "Staged", "T1"])


def _compound_types(inner):
    several = st.lists(inner, max_size=3).map(tuple)
    two = [st.builds(kind, inner, inner) for kind in (Pair, Arrow, Sum, Linear, Resource)]
    one = [st.builds(kind, inner) for kind in (Map, Array, FrozenArray, Bang, Vector)]
    return st.one_of(*two, *one, st.builds(Named, type_names, several))


any_type = st.recursive(
    st.sampled_from([REAL, UNIT, INT, Parameter("a"), Parameter("o"), Named("Staged")]), _compound_types, max_leaves=5
)
parameters = st.sampled_from([(), (), ("a",), ("b", "o")])
polymorphic = st.builds(ForAll, parameters.filter(bool), any_type)
patterns = st.recursive(names, lambda inner: st.tuples(inner, inner), max_leaves=4)


def _compound_terms(inner):
    several = st.lists(inner, max_size=3).map(tuple)
    two = [st.builds(kind, inner, inner) for kind in (Tuple, Apply, Apply, Plus, Plus, Compose, Singleton)]
    one = [st.builds(kind, inner) for kind in (Fst, Snd, Of, Claim, InSequence, Pure)]
    infix = st.sampled_from(["add", "add", "sub", "mul", "div", "pow"])
    binders = [
        *(st.builds(kind, names, any_type, inner) for kind in (Lambda, LinearLambda, LinearLambda, ResourceLambda)),
        *(st.builds(kind, patterns, any_type, inner) for kind in (sugar.lambda_,)),
        st.builds(sugar.let, patterns, inner, inner),
        st.builds(lambda p, value, body: do([(p, value)], body), patterns, inner, inner),
        st.builds(Pure, inner, st.sampled_from(["M'", "Staged"])),
        st.builds(Let, names, inner | st.builds(Fst, names.map(Var)), inner | st.builds(Let, names, inner, inner)),
        st.builds(
            ResourceLet,
            st.lists(names.flatmap(lambda n: st.sampled_from([n, "!" + n])), max_size=3).map(tuple),
            inner,
            inner,
        ),
    ]
    function = st.builds(
        lambda name, type_, pattern, body, parameters: Function(
            name, type_, sugar.hidden(pattern), sugar.bind(pattern, body), parameters
        ),
        names,
        st.builds(Arrow, any_type, any_type),
        patterns,
        inner,
        parameters,
    )
    branch = st.builds(Branch, capitals, st.lists(names, max_size=2).map(tuple), inner)
    return st.one_of(
        *two,
        *one,
        *binders,
        st.builds(Operation, infix, st.tuples(inner, inner)),
        st.builds(Operation, st.just("neg"), st.tuples(inner)),
        st.builds(Operation, st.sampled_from(sorted(PRIMITIVES)), several),
        st.builds(Discrete, st.sampled_from(sorted(DISCRETE)), st.tuples(inner, inner) | several),
        st.builds(Con, any_type, capitals, several),
        st.builds(Con, any_type, capitals, st.just(())),
        st.builds(Case, inner, st.lists(branch, max_size=2).map(tuple)),
        st.builds(sugar.if_, inner, inner, inner),
        st.builds(Letrec, st.lists(function, min_size=1, max_size=2).map(tuple), inner),
        st.builds(Partial, st.sampled_from(sorted(PRIMITIVES)), st.integers(0, 3), several, inner),
        st.builds(Primitive, st.sampled_from(sorted(CALLS)), several),
    )


any_term = st.recursive(
    st.one_of(
        names.map(Var),
        st.builds(
            Instance,
            names.filter(lambda name: not name[0].isupper()).map(Var),
            st.lists(any_type, min_size=1, max_size=2).map(tuple),
        ),
        floats.map(Literal),
        st.integers().map(Integer),
        any_type.map(Zero),
        any_type.map(Identity),
        st.sampled_from([Star(), sugar.TRUE, sugar.FALSE, Con(UNIT, "inl", (Star(),))]),
    ),
    _compound_terms,
    max_leaves=12,
)
any_declaration = st.one_of(
    st.builds(Synonym, type_names, any_type, st.lists(st.sampled_from("ab"), unique=True).map(tuple)),
    st.builds(
        DataType,
        type_names,
        st.lists(st.sampled_from("ab"), unique=True).map(tuple),
        st.lists(
            st.builds(Constructor, st.sampled_from(["Nil", "Cons"]), st.lists(any_type, max_size=3).map(tuple)),
            max_size=3,
        ).map(tuple),
    ),
)
any_program = st.builds(
    lambda term, declared, defined: Program(term, Declarations({d.name: d for d in declared}), tuple(defined)),
    any_term,
    st.lists(any_declaration, max_size=3),
    st.lists(st.builds(Definition, names, any_type | polymorphic, any_term), max_size=2, unique_by=lambda d: d.name),
)
