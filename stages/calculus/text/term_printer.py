r"""Terms and types as documents (layout.py). The grammar is in parser.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref, Reset, Shift
from stages.calculus.deltas.terms import Do, InSequence, Pure
from stages.calculus.language.polymorphism import scheme
from stages.calculus.language.sugar import FALSE, TRUE, Pattern, hidden
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
    Term,
    Tuple,
    Var,
    Zero,
)
from stages.calculus.text.layout import EDGE, END, LINE, START, Document, Group, Nest, first_text
from stages.calculus.text.tokens import (
    APPLY,
    ASSIGN,
    ATOM,
    COMPARISON,
    COMPOSE,
    INFIX,
    POWER,
    PRECEDENCE,
    PREFIX,
    SPELLINGS,
    SUM,
)
from stages.calculus.text.type_printer import TypePrinter, show_pattern

__all__ = ["TermPrinter", "taken_apart"]

_SYMBOLS = {name: symbol for symbol, name in INFIX.items()}  # of operations

_CALLED: dict[type[Term], str] = {Fst: "fst", Snd: "snd", Claim: "linear", Ref: "ref", Reset: "reset"}
_CALLED |= {InSequence: "sequence"}


class TermPrinter(TypePrinter):
    """A method for each kind of terms. `body` says whether a term is in a linear function's body.

    `part` is marked; terms nested more than `levels` deep become `...`; with `open_lets`, each let takes a line.
    """

    def __init__(
        self, ascii_: bool = False, part: Term | None = None, levels: int = 10**6, open_lets: bool = False
    ) -> None:
        super().__init__(ascii_)
        self.part, self.levels, self.open_lets = part, levels, open_lets

    def marked(self, term: Term, document: Document) -> Document:
        """The document of a term, with a mark if this is the part."""
        return [START, document, END] if term is self.part else document

    def term(self, term: Term, level: int = 0, body: bool = False) -> Document:
        """A term in a position that needs at least this precedence."""
        if not self.levels:
            return "..."
        self.levels -= 1
        own = precedence(term, body)
        if own == 0:
            document = self.binders(term, body)
        elif own == PREFIX:
            document = self.prefix(term, body)
        elif own == APPLY:
            document = self.application(term, body)
        elif own == ATOM:
            document = self.atom(term, body)
        else:
            document = self.operators(term, own, body)
        self.levels += 1
        document = self.marked(term, document)
        return ["(", Nest(document), ")"] if own < level else document

    def binders(self, term: Term, body: bool) -> Document:
        """A chain of terms that extend to the right; consecutive ones of a kind break together."""
        links: list[tuple[Term, str, Document]] = []
        while link := self.link(term, body):
            kind, head, rest, body = link
            links.append((term, kind, head))
            term = rest
        if not links:
            return self.case(term, body)
        document, following = self.term(term, 0, body), ""
        for node, kind, head in reversed(links):
            if following and following != kind:
                document = self.group(document, following)
            if kind == following != "let":
                document = [head, " ", document]
            else:
                document = [head, LINE, document] if kind == "let" else [head, Nest([LINE, document])]
            document, following = self.marked(node, document), kind
        return self.group(document, following)

    def group(self, document: Document, kind: str) -> Document:
        """A chain of binders of one kind."""
        return Group(document, always=self.open_lets and kind == "let")

    def link(self, term: Term, body: bool) -> tuple[str, Document, Term, bool] | None:
        """A binder's kind, the text before its body, the body, and whether it is linear; None for other terms."""
        match term:
            case Let(name, value, rest):
                pattern, rest = next(taken_apart(name, rest))
                return "let", self.bound(f"let {show_pattern(pattern)} =", value, body), rest, body
            case ResourceLet(names, value, rest):
                left = names[0] if len(names) == 1 else f"({', '.join(names)})"
                return "let", self.bound(f"letR {left} =", value, body), rest, body
            case Letrec(functions, rest):
                heads: list[Document] = []
                for function in functions:
                    heads += [self.function("and" if heads else "letrec", function, body), LINE]
                return "let", [heads, "in"], rest, body
            case Shift(name, type_, rest):
                return "lambda", f"shift {name} : {self.type(type_)} in", rest, body
            case Lambda(name, type_, rest):
                pattern, rest = next(taken_apart(name, rest))
                return "lambda", self.spell("\\") + self.parameters(pattern, type_) + ".", rest, body
            case LinearLambda(name, type_, rest) | ResourceLambda(name, type_, rest):
                linear = isinstance(term, LinearLambda)
                symbol = self.spell("\\_" if linear else "\\R")
                return "lambda", f"{symbol}({name} : {self.type(type_)}).", rest, body or linear
            case Case(condition, (Branch("inl", ("_",), yes), Branch("inr", ("_",), no))):
                head = [
                    "if ",
                    self.term(condition, 0, body),
                    " then",
                    Nest([LINE, self.term(yes, 0, body)]),
                    LINE,
                    "else",
                ]
                return "if", head, no, body
        return None

    def bound(self, head: str, value: Term, body: bool) -> Document:
        """let p = value in"""
        return [Group([head, Nest([LINE, self.term(value, 0, body)])]), " in"]

    def function(self, word: str, function: Function, body: bool) -> Document:
        """A function of a letrec."""
        pattern, rest = next(taken_apart(function.parameter, function.body))
        parameters = self.parameters(pattern, function.type.argument)
        head = f"{word} {function.name} : {self.type(scheme(function))} = {self.spell(chr(92))}{parameters}."
        return Group([head, Nest([LINE, self.term(rest, 0, body)])])

    def case(self, term: Term, body: bool) -> Document:
        """case s of {C(x) -> t; ..}"""
        assert isinstance(term, Case)
        branches: list[Document] = []
        for branch in term.branches:
            head = branch.name + (f"({', '.join(branch.variables)})" if branch.variables else "")
            rest = Nest([LINE, self.term(branch.body, 0, body)])
            branches.append(Group([f"{head} {self.spell('->')}", rest]))
        listing: Document = [Nest([EDGE, listed(branches, ";")]), EDGE] if branches else ""
        return Group(["case ", self.term(term.scrutinee, 0, body), " of {", listing, "}"])

    def operators(self, term: Term, own: int, body: bool) -> Document:
        """Operands of one precedence, on one line or below each other."""
        chain: list[tuple[Term, Term, str]] = []
        to_the_right = own in (POWER, COMPOSE)
        while precedence(term, body) == own and not (chain and own in (ASSIGN, COMPARISON)):
            left, symbol, right = _sides(term, body)
            chain.append((term, left if to_the_right else right, self.spell(symbol)))
            term = right if to_the_right else left
        document = self.term(term, own + (own in (ASSIGN, COMPARISON)), body)
        for node, operand, symbol in reversed(chain):
            other = self.term(operand, own + 1, body)
            first, second = (other, document) if to_the_right else (document, other)
            document = self.marked(node, [first, Nest([LINE, symbol, " ", second])])
        return Group(document)

    def do(self, term: Term, body: bool) -> Document:
        """do {x <- e; let y = e; e}"""
        statements: list[Document] = []
        while isinstance(term, Do) or (statements and isinstance(term, Let)):
            pattern, rest = next(taken_apart(term.name, term.body))
            bound = show_pattern(pattern)
            head = f"let {bound} =" if isinstance(term, Let) else f"{bound} {self.spell('<-')}"
            statements.append(self.marked(term, Group([head, Nest([LINE, self.term(term.value, 0, body)])])))
            term = rest
        statements.append(self.term(term, 0, body))
        return Group(["do {", Nest([EDGE, listed(statements, ";")]), EDGE, "}"])

    def prefix(self, term: Term, body: bool) -> Document:
        """pure e, or a minus that must not merge with a number."""
        if isinstance(term, Pure):
            monad = "" if term.monad == "M" else f"[{term.monad}]"
            return Group([f"pure{monad} ", self.term(term.content, ATOM + _is_call(term.content), body)])
        if not isinstance(term, Operation):
            return self.atom(term, body)
        operand = self.term(term.arguments[0], POWER, body)
        number = re.match(r"[0-9]|inf\b|nan\b", first_text(operand))
        return ["-(", operand, ")"] if number else ["-", operand]

    def application(self, term: Term, body: bool) -> Document:
        """A function and its arguments. Only the last of these is in a linear body, if the application is."""
        chain: list[tuple[Term, Term, bool]] = []
        while isinstance(term, Apply):
            chain.append((term, term.argument, body and not chain))
            term = term.function
        document = self.term(term, ATOM + _is_open(term), False)
        for index, (node, argument, inner) in reversed(list(enumerate(chain))):
            level = ATOM + (_is_call(argument) or (index > 0 and _is_open(argument)))
            document = self.marked(node, [document, Nest([LINE, self.term(argument, level, inner)])])
        return Group(document)

    def atom(self, term: Term, body: bool) -> Document:
        """A term that needs no parentheses."""
        if term in (TRUE, FALSE):
            return "true" if term == TRUE else "false"
        match term:
            case Var(name):
                return name
            case Star():
                return "()"
            case Instance(function, types):
                return [self.term(function, ATOM), f"[{', '.join(map(self.type, types))}]"]
            case Literal(value) | Integer(value):
                return repr(float(value)) if isinstance(term, Literal) else repr(value)
            case Tuple():
                return self.tuple(term, body)
            case Of(content) | Read(content):
                return ["!", self.term(content, ATOM, body)]
            case Zero(type_) | Identity(type_):
                return f"{'0' if isinstance(term, Zero) else 'id'}[{self.type(type_)}]"
            case Singleton(key, value):
                arrow = self.spell("|->")
                return Group(["{", self.term(key), f" {arrow}", Nest([LINE, self.term(value, 0, body)]), "}"])
            case Do():
                return self.do(term, body)
            case Fst(content) | Snd(content) | Claim(content) | Ref(content) | Reset(content) | InSequence(content):
                return self.call(_CALLED[type(term)], (content,), body)
            case Gradient(function, argument):
                return self.call("grad", (function, argument), body)
            case Operation(name, arguments) | Primitive(name, arguments):
                return self.call(name, arguments, body, isinstance(term, Primitive))
            case Discrete(name, arguments):
                return self.call(f"({name})" if name in PRECEDENCE else name, arguments, body)
            case Con(type_, name, arguments):
                head = f"{name}[{self.type(type_)}]"
                return self.call(head, arguments, body) if arguments else head
            case Partial(name, index, arguments, argument):
                return [
                    self.call(f"{self.partial()}{index} {name}", arguments, False),
                    self.call("", (argument,), body),
                ]
        return repr(term)

    def partial(self) -> str:
        """The word before the argument number of a partial derivative."""
        return SPELLINGS["partial"] if self.spellings else "partial "

    def call(self, head: str, terms: Sequence[Term], body: bool, primitive: bool = False) -> Document:
        """f(t1, .., tn). The first argument of a primitive is not in the linear body."""
        documents: list[Document] = []
        for term in terms:
            documents.append(self.term(term, 0, body and not (primitive and not documents)))
        return Group([head, "(", Nest([EDGE, listed(documents)]), ")"]) if documents else f"{head}()"

    def tuple(self, term: Term, body: bool) -> Document:
        """(s, t, ..)"""
        chain: list[tuple[Term, Document]] = []
        while isinstance(term, Tuple):
            chain.append((term, self.term(term.first, 0, body)))
            term = term.second
        document = self.term(term, 0, body)
        for index, (node, first) in reversed(list(enumerate(chain))):
            document = [first, ",", LINE, document]
            document = self.marked(node, document) if index else document  # the whole is marked with its parentheses
        return Group(["(", Nest(document), ")"])


def listed(documents: Sequence[Document], separator: str = ",") -> Document:
    """Documents with separators between them."""
    return [[separator, LINE, document] if index else document for index, document in enumerate(documents)]


def _is_call(term: Term) -> bool:
    """Whether a term is written f(..): as an argument it gets parentheses, which is easier to read."""
    if isinstance(term, (Con, Operation, Discrete, Primitive)):
        return bool(term.arguments) and term not in (TRUE, FALSE)
    return isinstance(term, (Fst, Snd, Claim, Partial, Ref, Reset, Gradient, InSequence))


def precedence(term: Term, body: bool) -> int:
    """The precedence of a term's text: 0 if it extends to the right."""
    match term:
        case Lambda() | Let() | Letrec() | LinearLambda() | ResourceLambda() | ResourceLet() | Shift() | Case():
            return 0
        case Operation("neg", (_,)) | Pure():
            return PREFIX
        case Literal(value) | Integer(value):
            return PREFIX if repr(value).startswith("-") else ATOM
        case Operation("add", (_, _)) if body:
            return ATOM
        case Operation(name, (_, _)):
            return PRECEDENCE.get(_SYMBOLS.get(name, ""), ATOM)
        case Discrete(name, (_, _)):
            return PRECEDENCE.get(name, ATOM)
        case Plus():
            return SUM
        case Assign():
            return ASSIGN
        case Compose():
            return COMPOSE
        case Apply():
            return APPLY
    return ATOM


def _sides(term: Term, body: bool) -> tuple[Term, str, Term]:
    """The operands of an operator, and its symbol."""
    match term:
        case Operation(name, (left, right)):
            return left, _SYMBOLS[name], right
        case Discrete(name, (left, right)):
            return left, name, right
        case Plus(left, right):
            return left, "+" if body else "++", right
        case Compose(left, right):
            return left, ".", right
        case Assign(left, right):
            return left, ":=", right
    raise AssertionError(term)


def _is_open(term: Term) -> bool:
    """Whether parentheses after this term would be read as a constructor's arguments."""
    while isinstance(term, (Of, Read)):
        term = term.content if isinstance(term, Of) else term.cell
    return isinstance(term, Con) and not term.arguments


def taken_apart(whole: str, body: Term) -> Iterator[tuple[Pattern, Term]]:
    """All (p, t) with hidden(p) = whole and sugar.bind(p, t) = body, larger patterns first."""
    if whole.startswith("_") and isinstance(body, Let) and body.value == Fst(Var(whole)):
        for left, middle in taken_apart(body.name, body.body):
            if isinstance(middle, Let) and middle.value == Snd(Var(whole)):
                for right, inner in taken_apart(middle.name, middle.body):
                    if hidden((left, right)) == whole:
                        yield (left, right), inner
    yield whole, body
