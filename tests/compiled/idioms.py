"""Random programs made of idioms of numerical code, as source text with arguments: a second generator.

An idiom is what people write in several lines: a sweep over a grid in place, a scatter by an index array, a list that
collects what passes a test, two buffers that are swapped. Templates of them are composed through a small pool of typed
variables; generator.py, in contrast, draws single statements and expressions from a grammar.

A letter in braces stands for a variable of the pool, a digit beside it makes two of them the same:

    s float      v vector      w vector that may be written      m matrix, written too      d vector as long as a row
    q places, an int array      b mask      k int      c constant      N the name of what is new

All vectors have the length of `a`, which is five to seven, and all matrices that many rows. Idioms keep values small.
"""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections import Counter

from compiled.idioms_table import HEADER, HELPERS, IDIOMS, Idiom
from compiled.language import Program

__all__ = ["program"]

_ARGUMENTS = [("x", "s"), ("a", "w"), ("u", "w"), ("m", "m"), ("d", "d"), ("q", "q"), ("b", "b"), ("k", "k")]
_HOLE = re.compile(r"\{([a-zA-Z])(\d?)\}")
_KINDS = {"v": "vw", "w": "w", "s": "s", "m": "m", "d": "d", "q": "q", "b": "b", "k": "k"}


class _Body:
    """Statements of the function, with the variables that there are."""

    def __init__(self, choices: random.Random) -> None:
        self.choices, self.uses = choices, Counter[str]()
        self.pool = [*_ARGUMENTS]
        self.lines: list[str] = []
        self.count = 0

    def named(self, kind: str) -> str:
        """A variable of a kind, mostly a late one."""
        names = [name for name, of in self.pool if of in _KINDS[kind]]
        return names[-1] if self.choices.random() < 0.4 else self.choices.choice(names)

    def filled(self, text: str) -> str:
        """A template with variables for its holes; what it names itself gets a number."""
        self.count += 1
        taken: dict[str, str] = {}

        def fill(found: re.Match[str]) -> str:
            letter, digit = found.groups()
            if letter == "N":
                return f"new{digit}_{self.count}"
            if letter == "c":
                return f"{self.choices.uniform(0.15, 0.85):.3f}"
            if not digit:
                return self.named(letter)
            if letter + digit not in taken:
                others = [name for key, name in taken.items() if key[0] == letter]
                free = [name for name, of in self.pool if of in _KINDS[letter] and name not in others]
                taken[letter + digit] = self.choices.choice(free) if free else self.named(letter)
            return taken[letter + digit]

        made = _HOLE.sub(fill, text)
        return re.sub(r"\b([A-Za-z]+)_\b", rf"\1_{self.count}", made)  # i_, best_ and the like

    def idiom(self, idiom: Idiom) -> None:
        """One idiom; sometimes in a branch or a loop, where it adds nothing to the pool."""
        self.uses[idiom.name] += 1
        text = self.filled(idiom.text)
        around = self.choices.random()
        if not idiom.makes and around < 0.35:
            head = "for round_ in range({k} % 3 + 1):" if around < 0.2 else "if {s} > {c} * {s}:"
            self.uses[head.split()[0]] += 1
            text = self.filled(head) + "\n" + textwrap.indent(text, "    ")
        self.lines.append(text)
        if idiom.makes:
            self.pool += [(f"new{n}_{self.count}", kind) for n, kind in idiom.made]

    def value(self) -> str:
        """What is returned: a sum of some of what there is."""
        terms = []
        for name, kind in self.pool:
            if kind in "vwdm" and (self.choices.random() < 0.6 or name.startswith("new")):
                terms.append(f"{self.choices.uniform(0.2, 0.9):.2f} * np.sum({name} * {name})")
            elif kind == "s":
                terms.append(f"{self.choices.uniform(0.2, 0.9):.2f} * {name}")
        self.choices.shuffle(terms)
        return " + ".join(terms[:6])


def _arguments(choices: random.Random) -> tuple[str, ...]:
    n, p = choices.randint(5, 7), choices.randint(2, 4)

    numbers = iter(choices.sample(range(-12000, 12000), 99))  # no two are equal: that would be a kink

    def number() -> str:
        return f"{next(numbers) / 1e4:.4f}"

    def row(size: int) -> str:
        return f"[{', '.join(number() for _ in range(size))}]"

    vector, matrix = f"np.array({row(n)})", f"np.array([{', '.join(row(p) for _ in range(n))}])"
    if choices.random() < 0.3:
        vector = f"np.array({row(2 * n)})[::2]"
    if choices.random() < 0.3:
        matrix = f"np.asfortranarray({matrix})"
    places = [choices.randrange(n) for _ in range(n)]
    mask = [choices.random() < 0.5 for _ in range(n)]
    discrete = (f"np.array({places})", f"np.array({mask})", f"{choices.randint(0, 4)}")
    return (number(), vector, f"np.array({row(n)})", matrix, f"np.array({row(p)})", *discrete)


def program(seed: int | str, size: int = 12) -> Program:
    """The program of this seed; a third of `size` is how many idioms it has, about."""
    choices = random.Random(f"idioms {seed}")
    body = _Body(choices)
    wanted = max(2, round(size / 3) + choices.randint(-1, 1))
    while wanted > 0:
        wanted -= 1
        body.idiom(choices.choice(IDIOMS))
    head = f"@njit\ndef f({', '.join(name for name, _ in _ARGUMENTS)}):"
    lines = textwrap.indent("\n".join([*body.lines, f"return {body.value()}"]), "    ")
    used = [text for name, text in HELPERS.items() if re.search(rf"\b{name}\(", lines)]
    source = "\n".join([HEADER, *used, head, lines])
    return Program(ast.unparse(ast.parse(source)) + "\n", _arguments(choices), body.uses)
