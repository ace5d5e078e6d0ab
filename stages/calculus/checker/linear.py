r"""The type checker of linear bodies: the b of \_(z : s). b (Fig. 5).

    G; Z |- b : t      G: variables as everywhere.  Z: variables in which b preserves 0 and +

    b ::= z | () | (b, b') | fst(b) | snd(b)
        | t b                        G |- t : s -o u: a linear function that does not depend on Z
        | di op(t1, .., tn)(b)       G |- ti : R
        | b + b' | 0[t]
        | C(b1, .., bn) | case b of {C(z1, .., zn) -> b'}        b' in Z = z1, .., zn alone          section 9
        | fanin(t, b, b')            G |- t : Vector (s -o u): the sum of t's functions at b's elements, and b'
        | {t -> b} | {t -> (t', b)}  a map with one key, and one with a delayed call of t' : s -o u   section 4
        | id[t] | b . b'             0 and + of functions t -> t                                      section 5
        | \(a : t). e | \R(a : t). e in Z, functions t -> t: those that add to a part of a            sections 5 to 7

    e(p) ::= p                       acting on the part p of a: not at all,
           | b + p | b p             by adding to it, by a function b : u -> u,
           | (e(fst p), snd p) | (fst p, e(snd p)) | case p of {C(x1, .., xn) -> C(x1, .., e(xk), .., xn); ..}
           | (t', b + snd p)         by delaying a call of t' : s -o u in a place for such calls; t' may be data
                                     that stands for one (contributions.py), or true, the mark of a called id
           | modify t (\(x : u). e(x)) p                                           by acting on one element of an array
           | insertWith t b p | insertWith t (t', b) p      by adding at one key of a map, as {t -> b} + p

The last two lines of b are sums in the monoid t -> t by the Cayley isomorphism: the function that adds m represents m.
`let` may name a part.
"""

from __future__ import annotations

from dataclasses import dataclass

from stages.calculus.checker.formation import Environment, Formation, Hidden
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.sugar import TRUE
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type
from stages.calculus.transformations.contributions import is_contributions

__all__ = ["Bodies"]

#: A part of a variable: the variable, and what leads to the part.
Path = tuple[str, ...]


@dataclass
class Bodies:
    """The rules for linear bodies; `ordinary` has the rules for ordinary terms."""

    ordinary: Formation

    def rule(self, b: Term, env: Environment, zs: Environment) -> Type:
        """The type of a body."""
        if type(b) not in self.ordinary.language.terms:
            raise IllTyped(b, "the language has no such term")
        match b:
            case t.Var(name):
                if name not in zs:
                    raise IllTyped(b, f"{name} is not linear: a linear body is made of {', '.join(zs)} and 0")
                return zs[name]
            case t.Star():
                return ty.UNIT
            case t.Tuple(first, second):
                return ty.Pair(self.rule(first, env, zs), self.rule(second, env, zs))
            case t.Fst(pair) | t.Snd(pair):
                found = self.ordinary.declarations.expose(self.rule(pair, env, zs))
                if not isinstance(found, ty.Pair):
                    raise IllTyped(pair, f"a projection takes a pair, and this is {show_type(found)}")
                return found.first if isinstance(b, t.Fst) else found.second
            case t.Apply(function, argument):
                kind = self.ordinary.declarations.expose(self.outside(function, env, zs))
                if not isinstance(kind, ty.Linear):
                    raise IllTyped(function, f"a linear body applies only linear functions; this is {show_type(kind)}")
                self.ordinary.expect(argument, self.rule(argument, env, zs), kind.argument, "the argument")
                return kind.result
            case t.Partial(name, _, arguments, body):
                self.ordinary.partial(b)
                for part in arguments:
                    self.ordinary.expect(part, self.outside(part, env, zs), ty.REAL, f"an argument of {name}")
                self.ordinary.expect(body, self.rule(body, env, zs), ty.REAL, "what a partial derivative is applied to")
                return ty.REAL
            case t.Plus(left, right):
                found = self.rule(left, env, zs)
                self.ordinary.monoid(left, found)
                self.ordinary.expect(right, self.rule(right, env, zs), found, "the other side of the sum")
                return found
            case t.Zero() | t.Identity():
                return self.ordinary.infer(b, env)
            case t.Compose(left, right):
                outer, inner = self.rule(left, env, zs), self.rule(right, env, zs)
                found = self.ordinary.compose(b, outer, inner)
                self.ordinary.monoid(b, found)
                return found
            case t.Con():
                for part, wanted in zip(b.arguments, self.ordinary.fields(b), strict=True):
                    self.ordinary.expect(part, self.rule(part, env, zs), wanted, f"an argument of {b.name}")
                return b.type
            case t.Case(scrutinee):
                return self.case(b, self.rule(scrutinee, env, zs), env, zs)
            case t.Singleton(key, value):
                self.ordinary.expect(key, self.outside(key, env, zs), ty.INT, "a key")
                return self.ordinary.form(b, ty.Map(self.call(value, env, zs) or self.rule(value, env, zs)))
            case t.Primitive("fanin", (functions, z, rest)):
                kind = self.ordinary.declarations.expose(self.outside(functions, env, zs))
                d = self.ordinary.declarations.expose(kind.element) if isinstance(kind, ty.Vector) else kind
                if not isinstance(kind, ty.Vector) or not isinstance(d, ty.Linear):
                    raise IllTyped(functions, f"fanin takes a Vector of linear functions; this is {show_type(kind)}")
                self.ordinary.expect(z, self.rule(z, env, zs), ty.Vector(d.argument), "what fanin applies them to")
                self.ordinary.expect(rest, self.rule(rest, env, zs), d.result, "what fanin adds")
                return d.result
            case t.Lambda(name, type_, body) | t.ResourceLambda(name, type_, body):
                self.ordinary.form(b, type_)
                if isinstance(b, t.Lambda):
                    self.ordinary.unrestricted(b, name, type_)
                self.act(body, (name,), type_, {name: ((name,), type_)}, env, zs)
                return (ty.Arrow if isinstance(b, t.Lambda) else ty.Resource)(type_, type_)
        raise IllTyped(b, "this is no part of a linear body")

    def outside(self, term: Term, env: Environment, zs: Environment) -> Type:
        """The type of an ordinary term in a body."""
        why = "{} is linear: it may be added, scaled and passed to linear functions, not used here"
        return self.ordinary.infer(term, {**env, **{z: Hidden(why.format(z)) for z in zs}})

    def call(self, value: Term, env: Environment, zs: Environment) -> Type | None:
        """The type of a delayed call (t, b); None for another pair."""
        match value:
            case t.Tuple(function, argument):
                try:
                    kind = self.outside(function, env, zs)
                except IllTyped:
                    return None
                if isinstance(kind, ty.Linear):
                    found = self.rule(argument, env, zs)
                    self.ordinary.expect(argument, found, kind.argument, "the argument of the delayed call")
                    return ty.Pair(kind, found)
        return None

    def case(self, b: t.Case, kind: Type, env: Environment, zs: Environment) -> Type:
        """The type of a case; branches are linear in the constructor's fields, and use no other linear variable."""
        result: Type | None = None
        hidden = {
            z: Hidden(f"{z} cannot be used in a branch: it would be multiplied by the branch's choice") for z in zs
        }
        for branch, variables in self.ordinary.branches(b, kind):
            found = self.rule(branch.body, {**env, **hidden}, variables)
            result = result or found
            self.ordinary.expect(branch.body, found, result, "the first branch")
        assert result is not None
        return result

    # Functions t -> t that add to a part of their argument

    def act(
        self,
        e: Term,
        p: Path,
        kind: Type,
        parts: dict[str, tuple[Path, Type]],
        env: Environment,
        zs: Environment,
    ) -> None:
        """e(p), with names for parts; they hide other variables with the same names."""
        zs = {z: found for z, found in zs.items() if z not in parts}
        names = {x: found for x, found in env.items() if x not in parts}
        if self.part(e, parts) == (p, kind):
            return None
        match e:
            case t.Let(name, value, body) if found := self.part(value, parts):
                return self.act(body, p, kind, {**parts, name: found}, env, zs)
            case t.ResourceLet((first, second), value, body) if (
                (found := self.part(value, parts)) and first != second and not any(x[0] == "!" for x in e.names)
            ):
                halves = self.halves(value, found)
                return self.act(body, p, kind, {**parts, first: halves[0], second: halves[1]}, env, zs)
            case t.Plus(left, right) if p in (self.path(left, parts), self.path(right, parts)):
                b = left if self.path(right, parts) == p else right
                self.ordinary.monoid(e, kind)
                self.ordinary.expect(b, self.rule(b, names, zs), kind, "what is added to the part")
                return None
            case t.Apply(b, rest) if self.path(rest, parts) == p:
                function = self.rule(b, names, zs)
                wanted = type(function)(kind, kind) if isinstance(function, (ty.Arrow, ty.Resource)) else ty.UNIT
                self.ordinary.expect(b, function, wanted, "the function that acts on the part")
                return None
            case t.Tuple(left, right):
                return self.pair(e, left, right, p, kind, parts, env, zs)
            case t.Case(scrutinee, _) if self.path(scrutinee, parts) == p:
                for branch, variables in self.ordinary.branches(e, kind):
                    self.constructor(kind, branch, variables, p, parts, env, zs)
                return None
            case t.Primitive("modify", (index, function, rest)) if self.path(rest, parts) == p:
                self.ordinary.expect(index, self.outside(index, names, zs), ty.INT, "an index")
                exposed = self.ordinary.declarations.expose(kind)
                if not isinstance(exposed, ty.Array):
                    raise IllTyped(rest, f"modify takes an array, and this is {show_type(kind)}")
                wanted = ty.Arrow(exposed.element, exposed.element)
                self.ordinary.expect(function, self.rule(function, names, zs), wanted, "what modifies an element")
                return None
            case t.Primitive("insertWith", (key, value, rest)) if self.path(rest, parts) == p:
                added = self.rule(t.Singleton(key, value), names, zs)
                self.ordinary.expect(e, added, kind, "what is inserted into the map")
                return None
        raise IllTyped(e, f"this must act on {'.'.join(p)} by adding to it or to one of its parts, and on nothing else")

    def pair(
        self,
        e: Term,
        left: Term,
        right: Term,
        p: Path,
        kind: Type,
        parts: dict[str, tuple[Path, Type]],
        env: Environment,
        zs: Environment,
    ) -> None:
        """(e(fst p), snd p), (fst p, e(snd p)), or a delayed call (t', b + snd p), (true, b + snd p)."""
        exposed = self.ordinary.declarations.expose(kind)
        if not isinstance(exposed, ty.Pair):
            raise IllTyped(e, f"this is a pair, and what it acts on is {show_type(kind)}")
        first, second = (*p, "fst"), (*p, "snd")
        if self.path(right, parts) == second:
            return self.act(left, first, exposed.first, parts, env, zs)
        names = {x: found for x, found in env.items() if x not in parts}
        if self.path(left, parts) != first:
            calls = isinstance(exposed.first, ty.Linear) or is_contributions(exposed.first, self.ordinary.declarations)
            if not calls and left != TRUE:
                raise IllTyped(e, "only one half of a pair may change")
            self.ordinary.expect(left, self.outside(left, names, zs), exposed.first, "the function of a delayed call")
        return self.act(right, second, exposed.second, parts, env, zs)

    def constructor(
        self,
        type_: Type,
        branch: t.Branch,
        variables: dict[str, Type],
        p: Path,
        parts: dict[str, tuple[Path, Type]],
        env: Environment,
        zs: Environment,
    ) -> None:
        """C(x1, .., e(xk), .., xn)"""
        named = {x: ((*p, branch.name, str(k)), kind) for k, (x, kind) in enumerate(variables.items())}
        inner = {**parts, **named}
        body = branch.body
        if not isinstance(body, t.Con) or body.name != branch.name or len(body.arguments) != len(named):
            raise IllTyped(body, f"this must be a {branch.name} of the same parts, of which one may change")
        self.ordinary.fields(body)
        self.ordinary.expect(body, body.type, type_, "the constructor")
        changed = [k for k, x in enumerate(branch.variables) if self.path(body.arguments[k], inner) != named[x][0]]
        if len(changed) > 1:
            raise IllTyped(body, "only one part may change")
        for k in changed:
            place, kind = named[branch.variables[k]]
            self.act(body.arguments[k], place, kind, inner, env, zs)

    def path(self, e: Term, parts: dict[str, tuple[Path, Type]]) -> Path | None:
        """The path to the part that a term stands for; None if it stands for no part."""
        found = self.part(e, parts)
        return None if found is None else found[0]

    def part(self, e: Term, parts: dict[str, tuple[Path, Type]]) -> tuple[Path, Type] | None:
        """The path and type of the part that a term stands for; None if it stands for no part."""
        match e:
            case t.Var(name):
                return parts.get(name)
            case t.Fst(pair) | t.Snd(pair) if found := self.part(pair, parts):
                return self.halves(pair, found)[0 if isinstance(e, t.Fst) else 1]
        return None

    def halves(self, e: Term, found: tuple[Path, Type]) -> tuple[tuple[Path, Type], tuple[Path, Type]]:
        """The halves of a part that is a pair."""
        p, kind = found
        exposed = self.ordinary.declarations.expose(kind)
        if not isinstance(exposed, ty.Pair):
            raise IllTyped(e, f"a projection takes a pair, and this is {show_type(kind)}")
        return ((*p, "fst"), exposed.first), ((*p, "snd"), exposed.second)
