"""Random programs made of idioms of numerical code, as source text with arguments: a second generator.

An idiom is what people write in several lines: a sweep over a grid in place, a scatter by an index array, a list that
collects what passes a test, two buffers that are swapped. Templates of them are composed through a small pool of typed
variables; generator.py, in contrast, draws single statements and expressions from a grammar.

A letter in braces stands for a variable of the pool, a digit beside it makes two of them the same:

    s float      v vector      w vector that may be written      m matrix, written too      d vector as long as a row
    q places, an int array      b mask      k int      c constant      N the name of what is new
    z complex    Z complex vector    r records    o an instance: of what numba alone has

All vectors have the length of `a`, which is five to seven, and all matrices that many rows. Idioms keep values small.
"""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections import Counter

from programs.generators.idioms_numba import NUMBA_IDIOMS
from programs.generators.idioms_table import HEADER, HELPERS, IDIOMS, Idiom
from programs.generators.language import Program

__all__ = ["program"]

_ARGUMENTS = [("x", "s"), ("a", "w"), ("u", "w"), ("m", "m"), ("d", "d"), ("q", "q"), ("b", "b"), ("k", "k")]
_NUMBA_ARGUMENTS = [("z", "z"), ("y", "Z"), ("r", "r"), ("o", "o")]
_HOLE = re.compile(r"\{([a-zA-Z])(\d?)\}")
_KINDS = {"v": "vw", "w": "w", "s": "s", "m": "m", "d": "d", "q": "q", "b": "b", "k": "k"}
_KINDS |= {kind: kind for _, kind in _NUMBA_ARGUMENTS}
_VALUES = {"s": "{0}", "z": "abs({0})", "Z": "np.sum({0}).imag", "r": "np.sum({0}.x * {0}.x)", "o": "{0}.value"}


class _Body:
    """Statements of the function, with the variables that there are."""

    def __init__(self, choices: random.Random, pool: list[tuple[str, str]]) -> None:
        self.choices, self.uses = choices, Counter[str]()
        self.pool = pool
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
        """Return the result: a sum of some of the values."""
        terms = []
        for name, kind in self.pool:
            if kind in "vwdm" and (self.choices.random() < 0.6 or name.startswith("new")):
                terms.append(f"{self.choices.uniform(0.2, 0.9):.2f} * np.sum({name} * {name})")
            elif kind in _VALUES:
                terms.append(f"{self.choices.uniform(0.2, 0.9):.2f} * " + _VALUES[kind].format(name))
        self.choices.shuffle(terms)
        return " + ".join(terms[:6])


def _arguments(choices: random.Random, n: int) -> tuple[str, ...]:
    p = choices.randint(2, 4)
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


def _numba_arguments(choices: random.Random, size: int) -> dict[str, str]:
    """Return arguments: a complex number, an array of them, records, and an instance."""

    def row(count: int) -> str:
        return f"[{', '.join(f'{choices.uniform(-1.2, 1.2):.4f}' for _ in range(count))}]"

    return {
        "z": f"complex(*{row(2)})",
        "Z": f"np.array({row(size)}) + 1j * np.array({row(size)})",
        "r": f"bodies([{', '.join(row(3) for _ in range(size))}])",
        "o": f"Box({choices.uniform(-1.2, 1.2):.4f}, np.array({row(3)}), 2)",
    }


def _has(idiom: Idiom, kinds: str) -> bool:
    return any(letter in kinds for letter, _ in _HOLE.findall(idiom.text)) or any(kind in kinds for kind in idiom.makes)


def program(seed: int | str, size: int = 12, numba: bool = False) -> Program:
    """The program of this seed; a third of `size` is how many idioms it has, about, half of them numba's if asked."""
    choices = random.Random(f"idioms {seed}")
    table = [choices.choice([IDIOMS, NUMBA_IDIOMS] if numba else [IDIOMS]) for _ in range(9)]
    wanted = max(2, round(size / 3) + choices.randint(-1, 1))
    chosen = [choices.choice(one) for one in table[:wanted]]
    if any(_has(idiom, "zZ") for idiom in chosen):  # complex numbers do not go together with records
        chosen = [idiom for idiom in chosen if not _has(idiom, "ro")]
    holes = {letter for idiom in chosen for letter, _ in _HOLE.findall(idiom.text)}
    pool = [*_ARGUMENTS, *(one for one in _NUMBA_ARGUMENTS if one[1] in holes)]
    names, body = [name for name, _ in pool], _Body(choices, pool)
    for idiom in chosen:
        body.idiom(idiom)
    lines = ["np.random.seed(5)"] * numba + [*body.lines, f"return {body.value()}"]
    text = textwrap.indent("\n".join(lines), "    ")
    used = [helper for name, helper in HELPERS.items() if re.search(rf"\b{name}\(", text)]
    source = "\n".join([HEADER, *used, f"@njit\ndef f({', '.join(names)}):", text])
    size = choices.randint(5, 7)
    given, others = _arguments(choices, size), _numba_arguments(choices, size)
    arguments = (*given, *(others[kind] for _, kind in pool[len(_ARGUMENTS) : len(names)]))
    return Program(ast.unparse(ast.parse(source)) + "\n", arguments, body.uses)
