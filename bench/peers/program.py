"""A program with a version for every library."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from bench.measuring.agreement import convert

__all__ = ["Program", "Version", "count_operations"]

Inputs = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Version:
    """A program as the users of a library write it.

    `build(...)` imports the library and returns the function. For "plain", "dualrev" and "micrograd" it is called with
    the library's `math`, so that these three share one version; for all others without an argument.
    """

    program: Program
    library: str  # its key in LIBRARIES
    build: Callable[..., Callable[..., Any]]
    form: str = ""  # what tells it from another version of the same library: "scan", "one tensor"
    inputs: Callable[..., Inputs] | None = None  # what the function is given instead of the program's inputs
    note: str = ""  # what a reader of the times has to know
    in_quick: bool = True  # whether `make bench-quick` takes it
    refused: bool = False  # the library raises an error, whose message is shown
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the library's adapter

    @property
    def name(self) -> str:
        """The name of this version in saved runs.

        >>> Version(None, "jax", int, form="scan").name, Version(None, "jax", int).name
        ('jax: scan', 'jax')
        """
        return f"{self.library}: {self.form}" if self.form else self.library

    def make(self, size: int) -> Inputs:
        """Return the function's arguments."""
        inputs = self.program.make(size)
        return self.inputs(*inputs) if self.inputs else inputs


@dataclasses.dataclass
class Program:
    """A function of real numbers with one number as its value, and the sizes to time it at."""

    name: str
    title: str
    about: str  # a sentence: what it computes, and what makes it hard or easy
    make: Callable[[int], Inputs]  # size -> the inputs: numbers, tuples or lists of numbers, arrays
    argnums: tuple[int, ...]  # what it is differentiated by: every entry of these inputs
    size: int
    unit: str  # what size counts
    quick: int  # a size for `make bench-quick`
    small: int  # a size for tests
    in_quick: bool = False  # whether `make bench-quick` takes it
    versions: list[Version] = dataclasses.field(default_factory=list)

    def version(self, *libraries: str, **fields: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate the builder of a version for one library or more; unknown fields become the adapter's options."""

        known = {field.name for field in dataclasses.fields(Version)}
        options = {name: fields.pop(name) for name in list(fields) if name not in known}

        def enter(build: Callable[..., Any]) -> Callable[..., Any]:
            """Enter the builder once for each library; ValueError if it has a version of that name already."""
            for library in libraries:
                version = Version(self, library, build, options=options, **fields)
                if version.name in {other.name for other in self.versions}:
                    raise ValueError(f"{self.name} has two versions {version.name}")
                self.versions.append(version)
            return build

        return enter


def count_operations(program: Program, size: int) -> int:
    """Count the operations on real numbers in a call of the plain version, without comparisons."""
    (version,) = [v for v in program.versions if v.library == "plain" and not v.options.get("arrays")]
    count = itertools.count()

    class Number(float):
        """A float whose operations are counted."""

    def counted(f: Callable[..., float]) -> Callable[..., Number]:
        """Wrap an operation so that each call adds one to the count."""

        def g(*xs: float) -> Number:
            """Count the call, and return the result as a number that counts, too."""
            next(count)
            return Number(f(*xs))

        return g

    for name in ("neg", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "abs", "pow", "rpow"):
        setattr(Number, f"__{name}__", counted(getattr(float, f"__{name}__")))
    functions = {name: counted(getattr(math, name)) for name in ("exp", "log", "tanh", "sqrt", "sin", "cos")}
    inputs = [convert(Number, x) if k in program.argnums else x for k, x in enumerate(version.make(size))]
    version.build(SimpleNamespace(**functions))(*inputs)
    return next(count)
