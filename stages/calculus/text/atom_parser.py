r"""The parser of atoms, the terms that are arguments without parentheses. The grammar is in parser.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.continuations.terms import Gradient, Read, Ref, Reset
from stages.calculus.deltas.terms import Do, InSequence, Pure
from stages.calculus.language import sugar
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.terms import (
    Branch,
    Case,
    Claim,
    Con,
    Discrete,
    Fst,
    Identity,
    Instance,
    Integer,
    Literal,
    Of,
    Operation,
    Partial,
    Primitive,
    Singleton,
    Snd,
    Star,
    Term,
    Tuple,
    Var,
    Zero,
)
from stages.calculus.text.tokens import CALLS, Token
from stages.calculus.text.type_parser import TypeParser

__all__ = ["AtomParser", "number"]


class AtomParser(TypeParser):
    """A method for each atom. `body` says whether we are in a linear function's body, `cells` how to read !t."""

    body = False
    cells = False

    def term(self) -> Term:
        """A term: parser.py."""
        raise NotImplementedError

    def elsewhere(self, parse: Callable[[], Any]) -> Any:
        """Parse a part inside of a linear body that is not itself in the body."""
        body, self.body = self.body, False
        result = parse()
        self.body = body
        return result

    def starts_atom(self, token: Token) -> bool:
        """Whether an atom begins with this token."""
        return token.kind in ("name", "real", "integer") or token.text in _ATOMS

    def after_atom(self, at: int) -> int:
        """The index of the token after the atom that begins at this one."""
        tokens, last = self.tokens, len(self.tokens) - 1
        while tokens[at].text in ("!", "pure"):
            at += 1 if tokens[at + 1].text != "[" else self.closing[at + 1] - at + 1
        brackets = self.brackets(at)
        if tokens[at].text == "case":
            at = self.after_scrutinee(at)
        elif tokens[at].text == "partial":
            at = min(at + 2, last)
        elif tokens[at].text == "do":
            at = min(at + 1, last)
        at = min(self.closing.get(at, at) + 1, last)
        for bracket in brackets:
            if tokens[at].text == bracket:
                at = min(self.closing[at] + 1, last)
        return at

    def brackets(self, at: int) -> str:
        """The opening bracket that may follow the first words of an atom."""
        token, following = self.tokens[at], self.tokens[min(at + 1, len(self.tokens) - 1)].text
        if token.text == "partial":
            return "(("
        if token.text in ("inl", "inr") or (token.kind == "name" and following == "["):
            return "[(" if token.kind == "reserved" or token.text[:1].isupper() else "["
        if token.text in ("0", "id"):
            return "["
        called = token.kind == "reserved" and token.text not in ("case", "true", "false", "inf", "nan", "do")
        return "(" if called or (token.text == "(" and following in DISCRETE) else ""

    def after_scrutinee(self, at: int) -> int:
        """The index of the bracket after `case s of`."""
        cases = 0
        while at < len(self.tokens) - 1:
            cases += {"case": 1, "of": -1}.get(self.tokens[at].text, 0)
            at = self.closing.get(at, at) + 1
            if not cases:
                break
        return at

    def atom(self) -> Term:
        """A term that is an argument without parentheses."""
        token = self.token
        if token.kind == "name" and self.peek().text != "[":
            return Var(self.advance().text)
        if token.kind == "name":
            return self.constructor() if token.text[:1].isupper() else self.instance()
        if token.text in _ATOMS:
            return _ATOMS[token.text](self)
        if token.text == "0" and self.peek().text == "[":
            self.advance()
            return Zero(self.type_argument())
        if token.kind in ("real", "integer"):
            return number(self.advance())
        raise self.failure("a term")

    def parenthesised(self) -> Term:
        """(), (t), (s, t, ..) or (+#)(t, ..)."""
        if self.peek().text in DISCRETE and self.peek(2).text == ")":
            self.advance()
            name = self.advance().text
            self.advance()
            return Discrete(name, self.arguments())
        self.advance()
        if self.accept(")"):
            return Star()
        terms = [self.term()]
        while self.accept(","):
            terms.append(self.term())
        self.expect(")", ' or ","')
        term = terms.pop()
        while terms:
            term = Tuple(terms.pop(), term)
        return term

    def constructor(self) -> Term:
        """C[t](t1, .., tn) or C[t]"""
        name = self.advance().text
        type_ = self.type_argument(f" and the type of {name}")
        return Con(type_, name, self.arguments() if self.token.text == "(" else ())

    def instance(self) -> Term:
        """f[t1, .., tn]"""
        function = Var(self.advance().text)
        self.expect("[")
        return Instance(function, self.separated(self.type, "]"))

    def arguments(self) -> tuple[Term, ...]:
        """(t1, .., tn), perhaps none."""
        self.expect("(")
        return self.separated(self.term, ")")

    def argument(self) -> Term:
        """(t)"""
        self.expect("(")
        term = self.term()
        self.expect(")")
        return term

    def call(self) -> Term:
        """A reserved word with its arguments."""
        name = self.advance().text
        match name:
            case "fst":
                return Fst(self.argument())
            case "snd":
                return Snd(self.argument())
            case "ref":
                return Ref(self.argument())
            case "reset":
                return Reset(self.argument())
            case "sequence":
                return InSequence(self.argument())
            case "grad":
                return self.gradient()
            case "linear":
                return Claim(self.argument())
            case "id":
                return Identity(self.type_argument())
            case _ if name in DISCRETE:
                return Discrete(name, self.arguments())
            case _:
                return Operation(name, self.arguments())

    def gradient(self) -> Term:
        """The arguments (f, x) of grad."""
        self.expect("(")
        function = self.term()
        self.expect(",")
        argument = self.term()
        self.expect(")")
        return Gradient(function, argument)

    def primitive(self) -> Term:
        """An operation on maps or arrays."""
        name = self.advance().text
        self.expect("(")
        if self.accept(")"):
            return Primitive(name, ())
        first = self.elsewhere(self.term)
        if self.accept(","):
            return Primitive(name, (first, *self.separated(self.term, ")")))
        self.expect(")", ' or ","')
        return Primitive(name, (first,))

    def singleton(self) -> Term:
        """{s |-> t}"""
        self.advance()
        key = self.elsewhere(self.term)
        self.expect("|->")
        value = self.term()
        self.expect("}")
        return Singleton(key, value)

    def of(self) -> Term:
        """!t"""
        self.advance()
        return (Read if self.cells else Of)(self.atom())

    def pure(self) -> Term:
        """pure t, or pure[M] t"""
        self.advance()
        monad = "M"
        if self.accept("["):
            monad = self.capital("the name of a type")
            self.expect("]")
        return Pure(self.atom(), monad)

    def do(self) -> Term:
        """do {x <- s; let y = s; t}"""
        self.advance()
        self.expect("{")
        links: list[Callable[[Term], Term]] = []
        while self.token.text != "}":
            if self.accept("let"):
                pattern = self.pattern()
                self.expect("=")
                value = self.term()
                if self.accept("in"):  # an ordinary let, which ends the statements
                    links.append(lambda rest, p=pattern, v=value: sugar.let(p, v, rest))  # type: ignore[misc]
                    break
                links.append(lambda rest, p=pattern, v=value: sugar.let(p, v, rest))  # type: ignore[misc]
            elif self.binds():
                pattern = self.pattern()
                if self.advance().text == "<":
                    self.advance()
                value = self.term()
                links.append(lambda rest, p=pattern, v=value: Do(sugar.hidden(p), v, sugar.bind(p, rest)))  # type: ignore[misc]
            else:
                break
            self.expect(";", " (a statement is followed by others)")
        term = self.term()
        self.expect("}")
        for link in reversed(links):
            term = link(term)
        return term

    def binds(self) -> bool:
        """Whether x <- or (x, y) <- is next, a binding of do; it cannot be a comparison there."""
        after = min(self.closing.get(self.at, self.at) + 1, len(self.tokens) - 1)
        arrow = self.tokens[after]
        return arrow.text == "<-" or (
            arrow.text == "<" and self.tokens[after + 1].text == "-" and arrow.end == self.tokens[after + 1].start
        )

    def partial(self) -> Term:
        """partial i op(t1, .., tn)(b)"""
        self.advance()
        if self.token.kind != "integer":
            raise self.failure("the number of an argument")
        index = int(self.advance().text)
        if self.token.text not in PRIMITIVES:
            raise self.failure("an operation of the table dualrev.rules.primitives")
        name = self.advance().text
        arguments = self.elsewhere(self.arguments)
        return Partial(name, index, arguments, self.argument())

    def case(self) -> Term:
        """case s of {C(x1, .., xn) -> t; ..}"""
        self.advance()
        scrutinee = self.term()
        self.expect("of")
        self.expect("{")
        branches = self.separated(self.branch, "}", ";")
        return Case(scrutinee, branches)

    def branch(self) -> Branch:
        """C(x1, .., xn) -> t"""
        name = self.advance().text if self.token.text in ("inl", "inr") else self.capital("a constructor")
        variables: tuple[str, ...] = ()
        if self.accept("("):
            variables = self.separated(lambda: self.name("a name"), ")")
        self.expect("->")
        return Branch(name, variables, self.term())


def number(token: Token, sign: str = "") -> Term:
    """A literal."""
    return Integer(int(sign + token.text)) if token.kind == "integer" else Literal(float(sign + token.text))


def _constant(term: Term) -> Callable[[AtomParser], Term]:
    """A word that is a term by itself."""

    def parse(parser: AtomParser) -> Term:
        """Read the word, and return its term."""
        parser.advance()
        return term

    return parse


_ATOMS: Mapping[str, Callable[[AtomParser], Term]] = {
    **dict.fromkeys(["fst", "snd", "linear", "id", "real", "ref", "reset", "grad", "sequence"], AtomParser.call),
    **dict.fromkeys(PRIMITIVES, AtomParser.call),
    **dict.fromkeys(CALLS, AtomParser.primitive),
    "inl": AtomParser.constructor,
    "inr": AtomParser.constructor,
    "(": AtomParser.parenthesised,
    "{": AtomParser.singleton,
    "!": AtomParser.of,
    "partial": AtomParser.partial,
    "case": AtomParser.case,
    "pure": AtomParser.pure,
    "do": AtomParser.do,
    "true": _constant(sugar.TRUE),
    "false": _constant(sugar.FALSE),
    "inf": lambda parser: number(parser.advance()),
    "nan": lambda parser: number(parser.advance()),
}
