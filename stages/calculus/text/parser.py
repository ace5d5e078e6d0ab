r"""The parser of types, terms and programs, in ASCII, Unicode (tokens.SPELLINGS), or a mixture.

    s, t ::= R | Int | () | (s, t, ..) | a | T | !t                      types: T begins with a capital
           | T t1 .. tn | Map Int t | Array t | IArray t | Ref t         of the types above
           | Vector t
           | s + t                                                       to the left
           | s -> t | s -o t | s ->R t                                   to the right; no space in ->R and -o

    s, t ::= \(x : s, ..). t | \_(z : s). t | \R(x : s). t               terms: these extend to the right
           | let x = s in t | let (x, (y, z), ..) = s in t               as far as possible
           | letrec f : s -> s' = \(x : s, ..). u and .. in t           forall a b. s -> s' likewise; used as f[t, ..]
           | shift k : t in e                                            continuations/
           | letR !x = s in t | letR (!x, y) = s in t
           | if s then t else u
           | s := t                                                      does not chain
           | s < t | s <= t | s <# t | s <=# t | s ==# t                 do not chain
           | s + t | s - t | s +# t | s -# t | s ++ t                    to the left; ++ is the plus of monoids
           | s * t | s / t | s *# t | s //# t | s %# t                   to the left
           | -t                                                          neg(t)
           | s ** t                                                      to the right, as in Python
           | s . t                                                       to the right
           | s t                                                         to the left, of the terms below
           | x | 1.0 | 3 | true | false | inf | nan | () | (s, t, ..) | !t
           | ref(t) | reset(t) | grad(s, t)
           | pure t | pure[M] t | sequence(t)                            deltas/
           | do {x <- s; let y = s; ..; t}                               a let may be the last but one
           | fst(t) | snd(t) | linear(t) | op(t, ..) | C[t](t, ..) | C[t] | 0[t] | id[t] | {s |-> t}
           | f[t, ..] | partial i op(t, ..)(b) | case s of {C(x, ..) -> t; D -> u; ..}

    x, .. ::= x : s | (x, y) : s | (x : s, y : t), ..                    parameters

    program ::= data T a .. = C t .. | D;  type T a .. = t;  f : t = s;  f : forall a .. t = s;  ..  and then a term

(s, t, u) is (s, (t, u)). `-1.0` is a literal, unless `**` follows; `- 1.0` and `-(1.0)` are neg(1.0). `f -1.0` is a
difference. A discrete operation without its two arguments is (+#)(t).

In the body of \_(z : s). b, `+` is the plus of monoids; the operation on reals is add(s, t) there. The function part of
an application, the arguments of `partial`, the key of {s |-> t} and the first argument of an operation on maps or
arrays do not belong to the body.

!t reads a cell if the text is parsed with `cells=True`; otherwise it is the !t of resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.calculus.continuations.terms import Assign, Shift
from stages.calculus.language import sugar
from stages.calculus.language.declarations import DataType, Declarations, Definition, Program, Synonym
from stages.calculus.language.errors import Unreadable
from stages.calculus.language.terms import (
    Apply,
    Compose,
    Discrete,
    Function,
    Letrec,
    LinearLambda,
    Operation,
    Plus,
    ResourceLambda,
    ResourceLet,
    Term,
)
from stages.calculus.language.types import Arrow, ForAll, Type
from stages.calculus.text.atom_parser import AtomParser, number
from stages.calculus.text.tokens import ASSIGN, COMPARISON, COMPOSE, INFIX, POWER, PRECEDENCE, PREFIX, unreadable

__all__ = ["parse_program", "parse_term", "parse_type"]


def parse_type(text: str) -> Type:
    """Parse a type. Unreadable if the text is not a type."""
    return _read(text, _Parser.type)


def parse_term(text: str, cells: bool = False) -> Term:
    """Parse a term. Unreadable if the text is not a term.

    >>> parse_term("fst(x) * 2.0")
    Operation(name='mul', arguments=(Fst(pair=Var(name='x')), Literal(value=2.0)))
    """
    return _read(text, _Parser.term, cells)


def parse_program(text: str, cells: bool = False) -> Program:
    """Parse a program. Unreadable if the text is not a program."""
    return _read(text, _Parser.program, cells)


def _read(text: str, parse: Callable[[_Parser], Any], cells: bool = False) -> Any:
    """Parse the whole text."""
    try:
        parser = _Parser(text)
        parser.cells = cells
        result = parse(parser)
        if parser.token.kind != "end":
            raise parser.failure("an operator or the end of the text")
        return result
    except RecursionError:
        raise Unreadable("nested too deeply for Python's recursion limit: name the inner parts by let") from None


_Link = Callable[[Term], Term]  # what a binder makes of the term after it


class _Parser(AtomParser):
    """A method for each binder, for operators, and for programs."""

    def term(self) -> Term:
        """A term: its binders, and the term that they extend over."""
        body, links = self.body, []
        while binder := _BINDERS.get(self.token.text):
            links.append(binder(self))
        term = self.expression()
        for link in reversed(links):
            term = link(term)
        self.body = body
        return term

    def let(self) -> _Link:
        """let p = s in .."""
        self.advance()
        pattern = self.pattern()
        if self.token.text == ":":
            raise self.failure('"=" (let takes no type annotation)')
        self.expect("=")
        value = self.term()
        self.expect("in")
        return lambda rest: sugar.let(pattern, value, rest)

    def lambda_(self) -> _Link:
        r"""\(x : s, ..). .."""
        self.advance()
        pattern, type_ = self.parameters()
        self.expect(".")
        return lambda rest: sugar.lambda_(pattern, type_, rest)

    def single_parameter(self) -> tuple[str, Type]:
        """(x : t)"""
        self.advance()
        self.expect("(")
        name = self.name("a name")
        self.expect(":")
        type_ = self.type()
        self.expect(")")
        self.expect(".")
        return name, type_

    def linear_lambda(self) -> _Link:
        r"""\_(z : s). .., whose body is linear"""
        name, type_ = self.single_parameter()
        self.body = True
        return lambda rest: LinearLambda(name, type_, rest)

    def resource_lambda(self) -> _Link:
        r"""\R(x : s). .."""
        name, type_ = self.single_parameter()
        return lambda rest: ResourceLambda(name, type_, rest)

    def letrec(self) -> _Link:
        """letrec f : .. = .. and g : .. = .. in .."""
        self.advance()
        functions = [self.function()]
        while self.accept("and"):
            functions.append(self.function())
        self.expect("in")
        return lambda rest: Letrec(tuple(functions), rest)

    def function(self) -> Function:
        r"""f : s -> t = \(x : s). u"""
        name = self.name("the name of a function")
        self.expect(":", f" and the type of {name}")
        at, declared = self.at, self.scheme()
        parameters, type_ = (declared.parameters, declared.type) if isinstance(declared, ForAll) else ((), declared)
        if not isinstance(type_, Arrow):
            self.at = at
            raise self.failure(f"a type s -> t (of the function {name})")
        self.expect("=")
        self.expect("\\", r" (letrec defines functions: \(x : s). t)")
        at = self.at
        pattern, annotation = self.parameters()
        if annotation != type_.argument:
            self.at = at
            raise self.failure(f"a parameter of the type that {name} is declared with")
        self.expect(".")
        return Function(name, type_, sugar.hidden(pattern), sugar.bind(pattern, self.term()), parameters)

    def resource_let(self) -> _Link:
        """letR !x = s in .., letR (!x, y) = s in .."""
        self.advance()
        if self.accept("("):
            names = self.separated(self.resource_name, ")")
        else:
            names = (self.resource_name(),)
        self.expect("=")
        value = self.term()
        self.expect("in")
        return lambda rest: ResourceLet(names, value, rest)

    def resource_name(self) -> str:
        """x or !x"""
        return "!" * self.accept("!") + self.name("a name")

    def shift(self) -> _Link:
        """shift k : t in .."""
        self.advance()
        name = self.name("a name")
        self.expect(":", f" and the type of what {name} takes")
        type_ = self.type()
        self.expect("in")
        return lambda rest: Shift(name, type_, rest)

    def if_(self) -> _Link:
        """if s then t else .."""
        self.advance()
        condition = self.term()
        self.expect("then")
        yes = self.term()
        self.expect("else")
        return lambda no: sugar.if_(condition, yes, no)

    def expression(self) -> Term:
        """Operators and operands, by two stacks: chains of any length need no recursion."""
        operators: list[tuple[int, str]] = []
        operands: list[Term] = []
        while True:
            while self.token.text == "-" and not self.negative():
                self.advance()
                operators.append((PREFIX, "-"))
            operands.append(self.operand())
            symbol = self.token.text
            level = PRECEDENCE.get(symbol, 0)
            to_the_right = level in (POWER, COMPOSE)
            while operators and (operators[-1][0] > level or (operators[-1][0] == level and not to_the_right)):
                if level in (ASSIGN, COMPARISON) and level == operators[-1][0]:
                    what = "comparisons do" if level == COMPARISON else ":= does"
                    reason = f"{what} not chain: put one of them in parentheses"
                    raise unreadable(self.text, self.token.start, reason)
                self.reduce(operands, *operators.pop())
            if not level:
                return operands.pop()
            operators.append((level, symbol))
            self.advance()

    def reduce(self, operands: list[Term], level: int, symbol: str) -> None:
        """Apply one operator to the last two operands."""
        right = operands.pop()
        if level == PREFIX:
            operands.append(Operation("neg", (right,)))
        elif symbol == "++" or (symbol == "+" and self.body):
            operands.append(Plus(operands.pop(), right))
        elif symbol == ":=":
            operands.append(Assign(operands.pop(), right))
        elif symbol == ".":
            operands.append(Compose(operands.pop(), right))
        elif symbol in INFIX:
            operands.append(Operation(INFIX[symbol], (operands.pop(), right)))
        else:
            operands.append(Discrete(symbol, (operands.pop(), right)))

    def negative(self) -> bool:
        """Whether the next minus belongs to a literal."""
        number = self.peek().kind in ("real", "integer") or self.peek().text in ("inf", "nan")
        return number and self.adjacent() and self.peek(2).text not in ("**", "[")

    def operand(self) -> Term:
        """An operand of an operator: an application of atoms, a binder, or a negative literal."""
        if self.accept("-"):
            return number(self.advance(), "-")
        if self.token.text in _BINDERS:
            return self.term()
        term: Term | None = None
        while term is None or self.starts_atom(self.token):
            # all atoms but the last are in the function part of an application
            inner = self.body and self.starts_atom(self.tokens[self.after_atom(self.at)])
            atom = self.elsewhere(self.atom) if inner else self.atom()
            term = atom if term is None else Apply(term, atom)
        return term

    def program(self) -> Program:
        """Declarations and definitions, and then a term."""
        types: dict[str, DataType | Synonym] = {}
        definitions: dict[str, Definition] = {}
        while (word := self.token.text) in ("data", "type") or (self.token.kind == "name" and self.peek().text == ":"):
            start, declared = self.at, self.declaration()
            known: Mapping[str, object] = definitions if isinstance(declared, Definition) else types
            if declared.name in known:
                self.at = start + (word in ("data", "type"))
                raise self.failure("a name that is not declared yet")
            if isinstance(declared, Definition):
                definitions[declared.name] = declared
            else:
                types[declared.name] = declared
            self.expect(";")
        return Program(self.term(), Declarations(types), tuple(definitions.values()))

    def declaration(self) -> DataType | Synonym | Definition:
        """A data type, a synonym, or a definition."""
        if self.accept("data"):
            return self.data_type()
        if self.accept("type"):
            return self.synonym()
        name = self.name("a name")
        self.expect(":")
        type_ = self.scheme()
        self.expect("=")
        return Definition(name, type_, self.term())


_BINDERS: Mapping[str, Callable[[_Parser], _Link]] = {
    "let": _Parser.let,
    "\\": _Parser.lambda_,
    "\\_": _Parser.linear_lambda,
    "\\R": _Parser.resource_lambda,
    "letrec": _Parser.letrec,
    "letR": _Parser.resource_let,
    "shift": _Parser.shift,
    "if": _Parser.if_,
}
