r"""VLAD's text: s-expressions, as in the paper, and their expansion (section 4).

    (lambda (p) e)                       \p e; a pattern p is x, (cons p1 p2), (list p1 .. pn), (J p) or ()
    (lambda (p1 p2 .. pn) e)             \(p1, (p2, .. pn)) e;  (lambda () e) takes []
    (f e)  (f e1 e2 .. en)  (f)          f e;  f (e1, (e2, .. en));  f []
    (let ((p e) ..) e)  (let* ..)        let p = e; .. in e end
    (letrec ((f (lambda ..))) e)         let f = Y \f lambda .. in e end; for several functions, Y makes their selector
    (define x e) (define (f p ..) e)     at the top only: let or letrec around what follows
    (if e1 e2 e3)                        (e1 ((\x e2), (\x e3))) [], since #t is CAR and #f is CDR
    (cond (e1 e2) .. (else e)), (and ..), (or ..), (not e)                       by if
    (cons e1 e2)  (list e1 .. en)  ()    (e1, e2);  (e1, .. (en, []));  []
    (+ e1 e2 .. en), (* ..), (- e)       + ((+ (e1, e2)), ..);  neg e

`parse` reads a program, `show` writes it; `parse` reads back what `show` writes for a program without tags.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from stages.relatives.vlad.terms import (
    EMPTY,
    Abs,
    Apply,
    Binding,
    Cons,
    Let,
    Term,
    Var,
    VladError,
    is_number,
    tuple_of,
    without_recursion,
)

__all__ = ["expand", "function", "parse", "pattern_of", "read"]

Form = Any  #: an s-expression: a str, or a list of them
FORMS = frozenset(
    ["lambda", "let", "let*", "letrec", "define", "if", "cond", "else", "and", "or", "not", "cons", "list"]
)
_TOKEN = re.compile(r"\s+|;[^\n]*|([()])|([^\s();]+)")


def read(text: str) -> list[Form]:
    """The s-expressions of a text."""
    stack: list[list[Form]] = [[]]
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        if match[1] == "(":
            stack.append([])
            opened.append(match.start())
        elif match[1] == ")":
            if not opened:
                raise VladError(f"line {_line(text, match.start())}: a ) closes nothing; take it out")
            opened.pop()
            form = stack.pop()
            stack[-1].append(form)
        elif match[2]:
            stack[-1].append(match[2])
    if opened:
        raise VladError(f"line {_line(text, opened[-1])}: a ( is not closed; add a )")
    return stack[0]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def parse(text: str) -> Term:
    """The program of a text: definitions, and an expression in their scope."""
    forms = read(text)
    if not forms or _is_definition(forms[-1]):
        raise VladError("the text has no expression at its end, so it has no value: add one")
    for form in forms:
        _check_names(form)
    body = expand(forms[-1])
    for form in reversed(forms[:-1]):
        body = Let([_definition(form)], body)
    return body


def expand(form: Form) -> Term:
    """The term of an s-expression."""
    made: Term = without_recursion(_expand(form))
    return made


def function(pattern: Term, body: Term, parameter: str = " p") -> Abs:
    r"""\p e; the parameter has the name given, if the pattern is not one variable."""
    if isinstance(pattern, Var) and pattern != EMPTY:
        return Abs(pattern.name, body)
    return Abs(parameter, Let([Binding(pattern, Var(parameter))], body))


# Expansion; each is a generator: see without_recursion

Expansion = Generator[Any, Any, Any]


def _expand(form: Form) -> Expansion:
    match form:
        case str():
            return _variable(form)
        case []:
            return EMPTY
        case ["lambda", list(patterns), body]:
            return function(tuple_of([pattern_of(p) for p in patterns]), (yield _expand(body)))
        case ["if", condition, then, otherwise]:
            return _if((yield _expand(condition)), (yield _expand(then)), (yield _expand(otherwise)))
        case ["cons", first, second]:
            return Cons(0, (yield _expand(first)), (yield _expand(second)))
        case ["list", *forms]:
            terms = []
            for one in forms:
                terms.append((yield _expand(one)))
            return tuple_of([*terms, EMPTY])
        case ["let" | "let*" | "letrec", list(pairs), body] if all(isinstance(p, list) and len(p) == 2 for p in pairs):
            return (yield _let(form[0], pairs, body))
        case ["cond", *clauses] if all(isinstance(c, list) and len(c) == 2 for c in clauses):
            return (yield _expand(_cond(form, clauses)))
        case ["not", one]:
            return (yield _expand(["if", one, "#f", "#t"]))
        case ["and" | "or", *forms] if forms:
            first, *rest = forms
            if not rest:
                return (yield _expand(first))
            more = [form[0], *rest]
            return (yield _expand(["if", first, more, "#f"] if form[0] == "and" else ["if", first, "#t", more]))
        case [str() as name, *_] if name in FORMS:
            raise VladError(f"{_short(form)}: {name} is not written so; {_hint(name)}")
        case ["-", one]:
            return Apply(Var("neg"), (yield _expand(one)))
        case ["+" | "*", first, second, third, *rest]:
            return (yield _expand([form[0], [form[0], first, second], third, *rest]))
    terms = []
    for one in form:
        terms.append((yield _expand(one)))
    return Apply(terms[0], tuple_of(terms[1:]))


def _if(condition: Term, then: Term, otherwise: Term) -> Term:
    r"""(e1 ((\x e2), (\x e3))) []"""
    return Apply(Apply(condition, Cons(0, Abs(" else", then), Abs(" else", otherwise))), EMPTY)


def _cond(form: Form, clauses: Sequence[Form]) -> Form:
    *tests, (last, made) = clauses
    if last != "else":
        raise VladError(f"{_short(form)}: cond ends with (else e), since there is no other value to have")
    for test, value in reversed(tests):
        made = ["if", test, value, made]
    return made


def _let(kind: str, pairs: Sequence[Form], body: Form) -> Expansion:
    if kind == "letrec":
        bindings = yield _letrec([(_name(f), e) for f, e in pairs])
        return Let(bindings, (yield _expand(body)))
    bindings = []
    for pattern, form in pairs:
        bindings.append(Binding(pattern_of(pattern), (yield _expand(form))))
    if kind == "let" and len(bindings) > 1:  # no pattern is in the scope of another's term
        temporaries = [Var(f" let{i}") for i in range(len(bindings))]
        bindings = [Binding(x, b.term) for x, b in zip(temporaries, bindings, strict=True)] + [
            Binding(b.pattern, x) for x, b in zip(temporaries, bindings, strict=True)
        ]
    return Let(bindings, (yield _expand(body)))


def _letrec(functions: Sequence[tuple[str, Form]]) -> Expansion:
    r"""let f = Y \f e; of several, let all = Y \all \pick let fi = \x (all pick_i) x; .. in pick (e1, (e2, ..)) end"""
    terms = []
    for name, form in functions:
        if not (isinstance(form, list) and form[:1] == ["lambda"]):
            raise VladError(f"letrec {name}: {_short(form)} is no lambda; bind it by let")
        terms.append((yield _expand(form)))
    if len(functions) == 1:
        name = functions[0][0]
        return [Binding(Var(name), Apply(Var("Y"), Abs(name, terms[0])))]
    loops = [
        Binding(Var(name), Abs(" x", Apply(Apply(Var(" all"), _pick(i, len(functions))), Var(" x"))))
        for i, (name, _) in enumerate(functions)
    ]
    every = Abs(" all", Abs(" pick", Let(loops, Apply(Var(" pick"), tuple_of(terms)))))
    return [Binding(Var(" all"), Apply(Var("Y"), every)), *loops]


def _pick(i: int, n: int) -> Term:
    picked: Term = Var(" fs")
    for _ in range(i):
        picked = Apply(Var("cdr"), picked)
    return Abs(" fs", picked if i == n - 1 else Apply(Var("car"), picked))


def _is_definition(form: Form) -> bool:
    return isinstance(form, list) and form[:1] == ["define"]


def _definition(form: Form) -> Binding:
    match form:
        case ["define", str() as name, value]:
            pass
        case ["define", [str() as name, *patterns], value]:
            value = ["lambda", patterns, value]
        case _:
            raise VladError(f"{_short(form)}: what is not the last has to be (define x e) or (define (f p ..) e)")
    _name(name)
    if isinstance(value, list) and value[:1] == ["lambda"] and _mentions(value, name):
        return without_recursion(_letrec([(name, value)]))[0]
    return Binding(Var(name), expand(value))


def _check_names(form: Form) -> None:
    todo = [form]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo.extend(one)
        elif one[0] in "↼↽¯'\"" or (one[0] == "#" and one not in ("#t", "#f")):
            raise VladError(f"{one}: a program is made of base variables, numbers, #t, #f and ()")


def _mentions(form: Form, name: str) -> bool:
    todo = [form]
    while todo:
        one = todo.pop()
        if one == name:
            return True
        if isinstance(one, list):
            todo.extend(one)
    return False


def _variable(form: str) -> Term:
    if form in FORMS:
        raise VladError(
            f"{form} is syntax, not a function; write (lambda (x y) ({form} x y)), if that is what you mean"
        )
    return Var(form)


def _name(form: Form) -> str:
    if not isinstance(form, str) or is_number(form) or form.startswith("#"):
        raise VladError(f"{_short(form)} is no variable; write a name there")
    name: str = _variable(form).name  # type: ignore[attr-defined]
    return name


def pattern_of(form: Form) -> Term:
    """The pattern of an s-expression."""
    match form:
        case str():
            return Var(_name(form))
        case []:
            return EMPTY
        case ["cons", first, second]:
            return Cons(0, pattern_of(first), pattern_of(second))
        case ["list", *forms]:
            return tuple_of([*map(pattern_of, forms), EMPTY])
        case ["J", inner]:
            return Apply(Var("J"), pattern_of(inner))
    raise VladError(f"{_short(form)} is no pattern; patterns are x, (cons p1 p2), (list p1 .. pn), (J p) and ()")


def _short(form: Form) -> str:
    text, todo = "", [form]
    while todo and len(text) < 60:
        one = todo.pop()
        if isinstance(one, list):
            text += " ("
            todo += [")", *reversed(one)]
        else:
            text += one if one == ")" else f" {one}"
    return (text.replace("( ", "(").strip())[:60] + (" .." if todo else "")


_WRITTEN = {
    "lambda": "(lambda (p ..) e)",
    "let": "(let ((p e) ..) e)",
    "let*": "(let* ((p e) ..) e)",
    "letrec": "(letrec ((f (lambda ..)) ..) e)",
    "if": "(if e1 e2 e3)",
    "cond": "(cond (e1 e2) .. (else e))",
    "cons": "(cons e1 e2)",
    "not": "(not e)",
    "define": "(define x e), at the top only",
}


def _hint(name: str) -> str:
    return f"write {_WRITTEN.get(name, f'({name} e ..)')}"
