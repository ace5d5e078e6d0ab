"""The parameters of a random program's function f, and their arguments as text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from programs.generators.language import Complexes, IntVector, Length, Matrix, Records, Single, Variable, Vector

__all__ = ["parameters"]

#: What is as long as a vector: the kind, and how a row of so many numbers becomes the argument.
_LONG: dict[str, tuple[Any, str]] = {
    "vector": (Vector, "np.array({row})"),
    "strided": (Vector, "np.array({double})[::2]"),
    "single": (Single, "np.array({row}, dtype=np.float32)"),
    "complexes": (Complexes, "np.array({row}) + 1j * np.array({row})"),
    "records": (Records, "bodies({rows})"),
}


class _Values:
    """Numbers without pattern, so that no two are equal and none is at a kink."""

    def __init__(self, seed: int) -> None:
        self.state = random.Random(seed)

    def float(self) -> str:
        return repr(round(self.state.uniform(-1.2, 1.2), 4))

    def row(self, size: int) -> str:
        return f"[{', '.join(self.float() for _ in range(size))}]"

    def rows(self, rows: int, columns: int) -> str:
        return f"[{', '.join(self.row(columns) for _ in range(rows))}]"

    def filled(self, template: str, size: int) -> str:
        """A template with rows of new numbers."""
        for hole, make in (
            ("{row}", lambda: self.row(size)),
            ("{double}", lambda: self.row(2 * size)),
            ("{rows}", lambda: self.rows(size, 3)),
            ("{float}", self.float),
        ):
            while hole in template:
                template = template.replace(hole, make(), 1)
        return template


#: What has no length of its own in the table above.
_SINGLE = {
    "float": "{float}",
    "tuple": "({float}, {float})",
    "mixed": "(3, ({float}, True))",
    "pair": "Pair({float}, np.array([{float}, {float}, {float}]), 2)",
    "complex": "complex({float}, {float})",
    "record": "bodies([[{float}, {float}, {float}]])[0]",
    "box": "Box({float}, np.array([{float}, {float}, {float}]), 2)",
}


def parameters(choices: Any, kinds: Sequence[str]) -> tuple[list[Variable], tuple[str, ...]]:
    """The parameters of f and their arguments, of these kinds. Lengths that are equal have one name."""
    values = _Values(choices.integer(0, 9999))
    size, other = choices.integer(2, 5), choices.integer(2, 4)
    made, arguments = [Variable("x", "float")], [values.float()]
    lengths: dict[int, Length] = {}
    while len(made) < 6 and choices.more(5):
        kind, name = choices.pick(kinds), "yabcdef"[len(made)]
        rows, columns = (size, other) if choices.more(1) else (other, size)
        own: Any = kind
        if kind in _LONG:
            own, text = _LONG[kind]
            own, text = own(lengths.setdefault(rows, Length(f"len({name})", rows))), values.filled(text, rows)
        elif kind == "ints":
            own = IntVector(lengths.setdefault(rows, Length(f"len({name})", rows)))
            text = f"np.array({[(7 * j + 3) % 5 for j in range(rows)]})"
        elif kind in ("matrix", "transposed"):
            first = lengths.setdefault(rows, Length(f"{name}.shape[0]", rows))
            second = lengths.setdefault(columns, Length(f"{name}.shape[1]", columns))
            own = Matrix(first, second)
            text = f"np.array({values.rows(rows, columns)})"
            text = text if kind == "matrix" else f"np.array({values.rows(columns, rows)}).T"
        elif kind in ("int", "bool"):
            text = str(choices.integer(0, 4) if kind == "int" else choices.more(1))
        else:
            text = values.filled(_SINGLE[kind], 1)
        made.append(Variable(name, own, fixed=kind == "complexes"))
        arguments.append(text)
    return made, tuple(arguments)
