"""Random programs whose names are first bound inside of a branch: a fourth generator.

Names of several types (floats, an int, a bool, a vector, a tuple) are bound where a test holds for the first time: of
a counter, a flag, or a number. Later iterations read what an earlier one has bound, in `if`, `elif`, `else`, `while`,
inner loops, after `break` and `continue`, in a loop's `else`, in what is called, and in a function that calls itself. A
name is read only below the text that binds it, as numba wants it. Programs that read a name without a value are thrown
away.
"""

from __future__ import annotations

import math
import random
import textwrap
from collections import Counter

import numpy as np

from programs.generators.language import Program

__all__ = ["program"]

_HEADER = "import math\nimport numpy as np\nfrom numba import njit\n"
_FLOATS, _OTHERS = ("u", "w", "z"), ("k", "b", "p", "t")


class _Body:
    """Statements of a function, with the names that the text above binds."""

    def __init__(self, choices: random.Random, calls: tuple[str, ...]) -> None:
        self.choices, self.calls = choices, calls
        self.bound: list[str] = []
        self.count = 0

    def number(self) -> str:
        """Return an expression for a float, of names that may be bound."""
        c = self.choices
        values = {
            "k": "(0.1 * k)",
            "b": "(1.0 if b else 0.4)",
            "p": f"p[{c.randrange(3)}]",
            "t": f"t[{c.randrange(2)}]",
        }
        known = [values.get(name, name) for name in self.bound] + ["x", "s", f"a[{c.randrange(3)}]"]
        one, two = c.choice(known[-5:] if c.random() < 0.6 else known), c.choice(known)
        forms = [
            "{0} * {1}",
            "0.5 * {0} + {1}",
            "math.sin({0}) * {1}",
            "{0} - 0.3 * {1} * {1}",
            "{0} / (2.0 + {1} * {1})",
        ]
        forms += [f"{call}({{0}}, {{1}})" for call in self.calls]
        return c.choice(forms).format(one, two)

    def bind(self, name: str) -> str:
        """An assignment to a name; what is bound already may be changed."""
        known = name in self.bound
        c = self.choices
        match name:
            case "k":
                text = (
                    c.choice(["k = k + 1", "k = 2 * k - 1"]) if known and c.random() < 0.7 else f"k = {c.randint(1, 4)}"
                )
            case "b":
                text = "b = not b" if known and c.random() < 0.5 else f"b = {self.number()} > 0.2"
            case "p":
                text = (
                    f"p = p * {c.choice(['0.5', 'x'])} + a"
                    if known and c.random() < 0.6
                    else f"p = a * {self.number()}"
                )
                text = f"p[{c.randrange(3)}] = {self.number()}" if known and c.random() < 0.3 else text
            case "t":
                text = f"t = ({self.number()}, {self.number()})"
            case _:
                text = f"{name} = {self.number()}"
                text = f"{name} *= 0.7 * x" if known and c.random() < 0.2 else text
        if not known:
            self.bound.append(name)
        return text

    def binds(self, names: list[str]) -> str:
        return "\n".join(map(self.bind, names))

    def use(self, inside: bool) -> str:
        """A statement that reads."""
        c = self.choices
        around = c.random()
        if inside and around < 0.12:
            return f"if i == {c.randint(1, 3)}:\n    {c.choice(['break', 'continue'])}"
        if around < 0.18 and self.bound:
            return f"if s > 1.5:\n    return s * {self.number()}"
        if around < 0.4:
            return f"if {self.number()} > 0.1:\n    s += {self.number()}\nelse:\n    {self.bind(c.choice(_FLOATS))}"
        return f"s {c.choice(['+=', '-='])} {self.number()}"

    def first(self, counter: str) -> str:
        """Return code that binds names in the first iteration, and uses them later."""
        c = self.choices
        names = c.sample([*_FLOATS, *_OTHERS], c.randint(1, 3))
        test, after = f"{counter} == 0", ""
        before = ""
        if c.random() < 0.3:
            self.count += 1
            test, before, after = f"not seen{self.count}", f"seen{self.count} = False\n", f"\nseen{self.count} = True"
        text = textwrap.indent(self.binds(names) + after, "    ")
        later = [*names, *c.sample(_FLOATS, 1)]
        c.shuffle(later)
        sides = [f"if {test}:", text]
        if c.random() < 0.3:
            sides += [f"elif {counter} == 2:", textwrap.indent(self.binds(later[:1]), "    ")]
        sides += [
            "else:",
            textwrap.indent("\n".join([self.bind(later[0]), self.use(True), *map(self.bind, later[1:2])]), "    "),
        ]
        return before + "|" + "\n".join(sides)

    def loop(self, depth: int) -> str:
        """A loop; `i` counts its iterations, and those of an outer one have another name."""
        c = self.choices
        before, text = self.first("i").split("|")
        lines = [text, *(self.use(True) for _ in range(c.randint(1, 2)))]
        if depth < 2 and c.random() < 0.4:
            inner = self.loop(depth + 1)
            lines.insert(c.randint(0, len(lines)), f"i{depth} = i\n{inner}\ni = i{depth}")
        body = "\n".join(lines)
        if c.random() < 0.3:
            flag = f"n{depth}_"
            head = f"{flag} = 0\nwhile {flag} < n:\n    i = {flag}\n    {flag} += 1"
        else:
            head = "for i in range(n):"
        made = f"{before}{head}\n{textwrap.indent(body, '    ')}"
        if c.random() < 0.25:
            made += f"\nelse:\n    s += {self.number()}"
        return made


def _function(choices: random.Random, name: str, calls: tuple[str, ...], size: int, again: bool) -> str:
    body = _Body(choices, calls)
    parts = ["s = 0.3 * x"]
    if again:
        parts.append("if n > 2:\n    s += 0.2 * " + f"{name}(0.5 * x, a, n - 1)")
    for _ in range(max(1, size // 6)):
        parts.append(body.loop(0))
        parts.append(body.use(False))
    text = "\n".join([*parts, f"return s + 0.1 * {body.number()}"])
    return f"@njit\ndef {name}(x, a, n):\n{textwrap.indent(text, '    ')}\n"


def _source(choices: random.Random, size: int) -> str:
    helper = "@njit\ndef inner(x, y):\n    for i in range(2):\n        if i == 0:\n            z = x * y\n"
    helper += "        else:\n            z = z * 0.5 + x\n    return z\n"
    uses, again = choices.random() < 0.3, choices.random() < 0.2
    made = _function(choices, "again" if again else "f", ("inner",) * uses, size, again)
    caller = "@njit\ndef f(x, a, n):\n    return again(x, a, n) * x\n"
    return "\n".join([_HEADER, helper * uses, made, caller * again])


def program(seed: int | str, size: int = 12, numba: bool = False) -> Program:
    """The program of this seed: the first one of those with it that reads no name without a value."""
    choices = random.Random(f"carried {seed}")
    while True:
        source = _source(choices, size)
        arguments = (f"{choices.uniform(0.4, 1.2):.4f}", _vector(choices), f"{choices.randint(2, 4)}")
        if _has_a_value(source, arguments):
            return Program(source, arguments, Counter(["carried"]))


def _vector(choices: random.Random) -> str:
    return f"np.array([{', '.join(f'{choices.uniform(-1.0, 1.0):.4f}' for _ in range(3))}])"


def _has_a_value(source: str, arguments: tuple[str, ...]) -> bool:
    names = {"np": np, "math": math, "njit": lambda f: f}
    try:
        exec(source.replace(_HEADER, ""), names)
        value = names["f"](*(eval(x, {"np": np}) for x in arguments))
    except (UnboundLocalError, OverflowError, ValueError):  # ValueError: outside of the domain of a function of math
        return False
    return abs(value) < 1e3
