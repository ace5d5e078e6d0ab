r"""The type checker of ordinary terms; linear.py checks linear bodies.

    G; D |- t : s      G: variables.  D: variables that hold resources, each of which is used exactly once

Two kinds of linearity are kept apart (appendix A). Monoid-linear: \_(z : s). b has type s -o t if b is built so that it
preserves 0 and + (linear.py); using z twice is fine, b = z + z. Resource-linear: \R(x : s). t has type s ->R u if t
uses x exactly once, however it does. All other constructs have their usual rules, with these on resources:

    a pair, a constructor, a primitive's marked arguments, and an application split D between their parts, the argument
    of -> and -o excepted; the branches of a case use the same of it; \R(x : s). t uses what t does, except x; no other
    part of a term may use any.

So \R(a : Array s). \R(b : Array t). dealloc(a, b) has Fig. 11's type. A function that holds a resource is one: its term
uses `a`, so it stands only where resources may, is bound only by \R, letR and case, and is used exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.calculus.checker.claims import is_claim, resolves
from stages.calculus.checker.formation import Environment, Formation, Hidden
from stages.calculus.checker.linear import Bodies
from stages.calculus.checker.well_formed import twice, wrong_definition
from stages.calculus.continuations.checking import RULES as CONTINUATIONS
from stages.calculus.deltas.checking import RULES as DELTAS
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.arrays import ARRAYS
from stages.calculus.language.declarations import Declarations, Program
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import is_resource, may_capture, same, unfold
from stages.calculus.language.languages import LANGUAGES, VECTORS_ELSEWHERE
from stages.calculus.language.polymorphism import scheme
from stages.calculus.language.staged import MAPS
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type
from stages.calculus.language.vectors import VECTORS
from stages.calculus.text.printer import mark, show, show_type

__all__ = ["Checker", "Environment", "check", "check_term"]

OPERATORS = {**MAPS, **ARRAYS, **VECTORS}


#: The type that a language has where it has these operations.
_OF = ((VECTORS, ty.Vector, "vectors"), (MAPS, ty.Map, "maps"), (ARRAYS, ty.Array, "arrays"))
Used = frozenset[str]
NONE: Used = frozenset()

_CALLED = "a function that holds a resource can be called once"
_CHANGED = "an array that was changed is gone"
_MANY = "{} is a resource, and a function that may be called many times holds none: write \\R, and call it once"


def check(program: Program, language: str = "D4") -> Type:
    """Check a program and all its definitions, and return the program's type.

    `language` is one of languages.LANGUAGES: "source" refuses constructs that are not in Fig. 4 and section 9. IllTyped
    states the error and marks its place in the term.
    """
    definitions = {definition.name: definition for definition in program.definitions}
    checker = Checker(program.declarations, LANGUAGES[language], definitions=definitions)
    checker.declared(program.term)
    known = {definition.name: definition.type for definition in program.definitions}
    if name := twice(definition.name for definition in program.definitions):
        raise IllTyped(program.term, f"there are two definitions of {name}")
    for definition in program.definitions:
        whole = mark(definition.term, definition.term)
        if wrong := wrong_definition(definition):
            raise IllTyped(definition.term, wrong, whole)
        names, kind = definition.scheme
        with checker.quantified(definition.term, names):
            checker.form(definition.term, kind)
            checker.resolver = definition.term if resolves(definition, checker.declarations) else None
            found = _placed(checker, definition.term, known)
        if not same(found, kind, program.declarations):
            declared = f"{definition.name} is declared {show_type(definition.type)}"
            raise IllTyped(definition.term, f"{declared}, and has type {show_type(found)}", whole)
    return _placed(checker, program.term, known)


def check_term(
    term: Term, environment: Environment | None = None, declarations: Declarations | None = None, language: str = "D4"
) -> Type:
    """The type of a term with free variables of these types. Resources among them are used exactly once."""
    checker = Checker(declarations or Declarations(), LANGUAGES[language])
    checker.declared(term)
    return _placed(checker, term, environment or {})


def _placed(checker: Checker, term: Term, environment: Environment) -> Type:
    """The type of a term; an error gets its place in the whole term."""
    held = {x: kind for x, kind in environment.items() if is_resource(kind, checker.declarations)}
    try:
        found, used = checker.rule(term, {x: kind for x, kind in environment.items() if x not in held}, held)
        checker.all_used(term, held, used)
        return found
    except IllTyped as error:
        raise IllTyped(error.term, error.reason, mark(term, error.term)) from None
    except RecursionError:
        raise IllTyped(term, "the term is nested too deeply to check: name its parts by let") from None


@dataclass
class Checker(Formation):
    """The rules, for one set of declarations and one language."""

    resolver: Term | None = None  #: the claim that is a definition of SResolve

    # What rules share

    def infer(self, term: Term, env: Environment) -> Type:
        """The type of a term that uses no resources."""
        found, _ = self.rule(term, env, {})
        return found

    def closed(self, term: Term, env: Environment, held: Environment, why: str) -> Type:
        """The type of a part that must not use the resources in scope."""
        return self.infer(term, {**env, **{name: Hidden(why) for name in held}} if held else env)

    # The rules, in the order of terms.py

    def rule(self, term: Term, env: Environment, held: Environment) -> tuple[Type, Used]:
        """The type of a term, and the resources that it uses."""
        if type(term) not in self.language.terms:
            hint = ": cells are for --to fig4, tagged, shift-reset, meta, cps, functional" * (
                type(term) in CONTINUATIONS
            )
            hint += VECTORS_ELSEWHERE * (isinstance(term, t.Primitive) and term.name in VECTORS)
            raise IllTyped(term, f"{self.spoken()} has no such term{hint}")
        if (special := CONTINUATIONS.get(type(term)) or DELTAS.get(type(term))) is not None:
            return special(self, term, env, held), NONE
        match term:
            case t.Var(name):
                return self._var(term, name, env, held)
            case t.Instance(function):
                if not isinstance(function, t.Var):
                    raise IllTyped(term, "only a variable is a polymorphic function")
                found = env.get(function.name)
                if found is None or isinstance(found, Hidden):
                    return self._var(function, function.name, env, held)
                return self.instance(term, found), NONE
            case t.Star():
                return ty.UNIT, NONE
            case t.Literal():
                return ty.REAL, NONE
            case t.Integer():
                return ty.INT, NONE
            case t.Tuple(first, second):
                (s, u), used = self.split([first, second], env, held)
                return ty.Pair(s, u), used
            case t.Fst(pair) | t.Snd(pair):
                return self._projection(term, pair, env, held), NONE
            case t.Apply(function, argument):
                return self._apply(term, function, argument, env, held)
            case t.Lambda(name, type_, body):
                return self._lambda(term, name, type_, body, env, held), NONE
            case t.Let():
                return self._let(term, env, held)
            case t.Operation(name, arguments):
                self.arity(term, name, len(arguments))
                for argument in arguments:
                    found = self.closed(argument, env, held, f"an argument of {name} uses no resource")
                    self.expect(argument, found, ty.REAL, f"an argument of {name}")
                return ty.REAL, NONE
            case t.Discrete(name, arguments):
                return self._discrete(term, name, arguments, env, held), NONE
            case t.Letrec(functions, body):
                return self._letrec(functions, body, env, held)
            case t.Con():
                return self._con(term, env, held)
            case t.Case():
                return self._case(term, env, held)
            case t.LinearLambda(name, type_, body):
                self.monoid(term, self.form(term, type_))
                inner = {**env, **{x: Hidden(f"{x} is a resource, which no linear function may hold") for x in held}}
                result = Bodies(self).rule(body, inner, {name: type_})
                self.monoid(term, result)
                return ty.Linear(type_, result), NONE
            case t.Partial(name, _, arguments, body):
                self.partial(term)
                for part in (*arguments, body):
                    found = self.closed(part, env, held, "a partial derivative uses no resource")
                    self.expect(part, found, ty.REAL, f"a partial derivative of {name} takes R: it")
                return ty.REAL, NONE
            case t.Plus(left, right):
                found = self.closed(left, env, held, "a sum uses no resource")
                self.monoid(left, found)
                other = self.closed(right, env, held, "a sum uses no resource")
                self.expect(right, other, found, "the other side of the sum")
                return found, NONE
            case t.Zero(type_):
                self.monoid(term, self.form(term, type_))
                return type_, NONE
            case t.Identity(type_):
                return self.identity(term, type_), NONE
            case t.Compose(left, right):
                after, before = [self.closed(f, env, held, "a composition uses no resource") for f in (left, right)]
                return self.compose(term, after, before), NONE
            case t.Singleton(key, value):
                self.expect(key, self.closed(key, env, held, "a map holds no resource"), ty.INT, "a key")
                return self.form(term, ty.Map(self.closed(value, env, held, "a map holds no resource"))), NONE
            case t.Primitive(name, arguments):
                return self._primitive(term, name, arguments, env, held)
            case t.ResourceLambda(name, type_, body):
                mine = {name: self.form(term, type_)}
                result, used = self.rule(body, env, {**held, **mine})
                self.all_used(term, mine, used)
                return ty.Resource(type_, result), used - {name}
            case t.ResourceLet():
                return self._resource_let(term, env, held)
            case t.Of(content):
                return ty.Bang(self.closed(content, env, held, "what stands under ! uses no resource")), NONE
            case t.Claim(function):
                found = self.declarations.expose(self.closed(function, env, held, "a function holds no resource"))
                if not isinstance(found, ty.Arrow):
                    raise IllTyped(function, f"linear(..) takes a function s -> t, and this is {show_type(found)}")
                if term is not self.resolver:
                    is_claim(self, term, env)
                return self.form(term, ty.Linear(found.argument, found.result)), NONE
        raise AssertionError(term)

    def split(
        self, parts: Sequence[Term], env: Environment, held: Environment, only: frozenset[int] | None = None
    ) -> tuple[list[Type], Used]:
        """The types of parts that divide the resources; only the parts in `only` may have some."""
        found: list[Type] = []
        used: Used = NONE
        for k, part in enumerate(parts):
            if only is not None and k not in only:
                found.append(self.closed(part, env, held, "this argument uses no resource"))
                continue
            kind, more = self.rule(part, *self.after(used, env, held))
            found.append(kind)
            used |= more
        return found, used

    def after(self, used: Used, env: Environment, held: Environment) -> tuple[Environment, Environment]:
        """The variables and the resources that are left after some resources are used."""
        if not used:
            return env, held
        why = {x: _CALLED if self.calls(held[x]) else _CHANGED for x in used}
        gone = {x: Hidden(f"the resource {x} is used twice: {why[x]}") for x in used}
        return {**env, **gone}, {x: kind for x, kind in held.items() if x not in used}

    def all_used(self, term: Term, held: Environment, used: Used) -> None:
        """Refuse a resource that is not used."""
        for name in sorted(set(held) - used):
            how = "call it" if self.calls(held[name]) else "dealloc throws an array away"
            raise IllTyped(term, f"the resource {name} is not used: use it exactly once ({how})")

    def calls(self, kind: Type) -> bool:
        """Whether a resource of the type is a function."""
        return isinstance(self.declarations.expose(kind), (ty.Arrow, ty.Linear, ty.Resource))

    def _var(self, term: Term, name: str, env: Environment, held: Environment) -> tuple[Type, Used]:
        if name in held:
            return held[name], frozenset({name})
        found = env.get(name)
        if found is None:
            raise IllTyped(term, f"there is no variable {name} here{self.constructing(name)}")
        if isinstance(found, Hidden):
            raise IllTyped(term, found.why)
        if isinstance(found, ty.ForAll):
            types = ", ".join("R" for _ in found.parameters)
            raise IllTyped(term, f"{name} is polymorphic: write {name}[{types}], or with other types")
        return found, NONE

    def _projection(self, term: Term, pair: Term, env: Environment, held: Environment) -> Type:
        found = self.closed(pair, env, held, "a projection would drop the other half of a resource: use letR")
        exposed = self.declarations.expose(found)
        if not isinstance(exposed, ty.Pair):
            raise IllTyped(pair, f"a projection takes a pair, and this is {show_type(found)}")
        return exposed.first if isinstance(term, t.Fst) else exposed.second

    def _apply(
        self, term: Term, function: Term, argument: Term, env: Environment, held: Environment
    ) -> tuple[Type, Used]:
        found, used = self.rule(function, env, held)
        kind = self.declarations.expose(found)
        env, held = self.after(used, env, held)
        if isinstance(kind, ty.Resource):
            given, more = self.rule(argument, env, held)
        elif isinstance(kind, (ty.Arrow, ty.Linear)):
            why = f"an argument of {show_type(kind)} uses no resource: only ->R promises to use it once"
            given, more = self.closed(argument, env, held, why), NONE
        else:
            raise IllTyped(function, f"only functions are applied, and this is {show_type(kind)}")
        self.expect(argument, given, kind.argument, f"the argument of {show(function)}")
        return kind.result, used | more

    def _lambda(self, term: Term, name: str, type_: Type, body: Term, env: Environment, held: Environment) -> Type:
        self.unrestricted(term, name, self.form(term, type_))
        inner = {**env, **{x: Hidden(_MANY.format(x)) for x in held}, name: type_}
        return ty.Arrow(type_, self.infer(body, inner))

    def _let(self, term: t.Let, env: Environment, held: Environment) -> tuple[Type, Used]:
        """The type of a chain of lets, in a loop, since chains are as long as programs."""
        body: Term = term
        while isinstance(body, t.Let):
            found = self.closed(body.value, env, held, "let binds no resource: use letR")
            self.unrestricted(body, body.name, found)
            env = {**env, body.name: found}
            held = {x: kind for x, kind in held.items() if x != body.name}
            body = body.body
        return self.rule(body, env, held)

    def _discrete(self, term: Term, name: str, arguments: Sequence[Term], env: Environment, held: Environment) -> Type:
        line = DISCRETE.get(name)
        if line is None or len(arguments) != len(line.arguments):
            raise IllTyped(term, f"there is no discrete operation {name} of {len(arguments)} arguments")
        for argument, wanted in zip(arguments, line.arguments, strict=True):
            found = self.closed(argument, env, held, f"an argument of {name} uses no resource")
            self.expect(argument, found, wanted, f"an argument of {name}")
        return line.result

    def _letrec(
        self, functions: tuple[t.Function, ...], body: Term, env: Environment, held: Environment
    ) -> tuple[Type, Used]:
        own = {f.name: scheme(f) for f in functions}
        if name := twice(f.name for f in functions):
            raise IllTyped(body, f"letrec defines {name} twice")
        hidden = {x: Hidden(_MANY.format(x)) for x in held}
        for f in functions:
            with self.quantified(f.body, f.parameters):
                self.form(f.body, f.type)
                self.unrestricted(f.body, f.parameter, f.type.argument)
                found = self.infer(f.body, {**env, **hidden, **own, f.parameter: f.type.argument})
                self.expect(f.body, found, f.type.result, f"the result of {f.name}")
        return self.rule(body, {**env, **own}, {x: kind for x, kind in held.items() if x not in own})

    def _con(self, term: t.Con, env: Environment, held: Environment) -> tuple[Type, Used]:
        found, used = self.split(term.arguments, env, held)
        for argument, kind, wanted in zip(term.arguments, found, self.fields(term), strict=True):
            self.expect(argument, kind, wanted, f"an argument of {term.name}")
        return term.type, used

    def _case(self, term: t.Case, env: Environment, held: Environment) -> tuple[Type, Used]:
        kind, used = self.rule(term.scrutinee, env, held)
        holds = may_capture if used else is_resource  # a function in the scrutinee may hold a resource that it uses
        env, rest = self.after(used, env, held)
        result: Type | None = None
        before: Used = NONE
        for branch, variables in self.branches(term, kind, holds):
            mine = {x: type_ for x, type_ in variables.items() if holds(type_, self.declarations)}
            plain = {x: type_ for x, type_ in variables.items() if x not in mine}
            outer = {x: type_ for x, type_ in rest.items() if x not in variables}
            found, more = self.rule(branch.body, {**env, **plain}, {**outer, **mine})
            self.all_used(branch.body, mine, more)
            more -= set(mine)
            if result is None:
                result, before = found, more
            self.expect(branch.body, found, result, "the first branch")
            if more != before:
                name = sorted(more ^ before)[0]
                raise IllTyped(branch.body, f"the resource {name} is used in one branch and not in another")
        assert result is not None
        return result, used | before

    def _primitive(
        self, term: Term, name: str, arguments: Sequence[Term], env: Environment, held: Environment
    ) -> tuple[Type, Used]:
        operator = OPERATORS.get(name)
        if operator is None:
            raise IllTyped(term, f"there is no operation {name}")
        needed, plural = next((kind, plural) for table, kind, plural in _OF if name in table)
        if needed not in self.language.types or (name == "fanin" and ty.Linear not in self.language.types):
            raise IllTyped(term, f"{self.spoken()} has no {plural}{VECTORS_ELSEWHERE * (needed is ty.Vector)}")
        found, used = self.split(arguments, env, held, operator.resources)
        result = operator.type([unfold(self.declarations.expose(kind), self.declarations) for kind in found])
        if result is None:
            given = ", ".join(map(show_type, found))
            raise IllTyped(term, f"{name} has type {operator.signature}, and its arguments are {given}")
        return result, used

    def _resource_let(self, term: t.ResourceLet, env: Environment, held: Environment) -> tuple[Type, Used]:
        kind, used = self.rule(term.value, env, held)
        exposed = self.declarations.expose(kind)
        if len(term.names) not in (1, 2) or twice(name.removeprefix("!") for name in term.names):
            raise IllTyped(term, "letR binds one name, or two different ones")
        if len(term.names) == 2 and not isinstance(exposed, ty.Pair):
            raise IllTyped(term.value, f"letR (x, y) takes a pair, and this is {show_type(kind)}")
        kinds = (exposed.first, exposed.second) if len(term.names) == 2 else (kind,)  # type: ignore[attr-defined]
        plain: dict[str, Type] = {}
        mine: dict[str, Type] = {}
        for name, part in zip(term.names, kinds, strict=True):
            if not name.startswith("!"):
                mine[name] = part
            elif isinstance(part, ty.Bang):
                plain[name[1:]] = part.content
            else:
                raise IllTyped(term.value, f"{name} takes a !t, and this is {show_type(part)}")
        env, rest = self.after(used, env, held)
        rest = {x: type_ for x, type_ in rest.items() if x not in plain and x not in mine}
        result, more = self.rule(term.body, {**env, **plain}, {**rest, **mine})
        self.all_used(term, mine, more)
        return result, used | (more - set(mine))
