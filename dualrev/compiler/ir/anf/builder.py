"""Builder of A-normal form: statements are added to the block that is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dualrev.compiler.ir.anf.operations import Let
from dualrev.compiler.ir.anf.statements import Stmt

__all__ = ["AnfBuilder"]


class AnfBuilder:
    """Builder of blocks of statements, one inside of the other."""

    def __init__(self) -> None:
        self._open: list[list[Stmt]] = [[]]  # the blocks that are being built, each inside of the one before

    @property
    def out(self) -> list[Stmt]:
        """Statements of the block that is open."""
        return self._open[-1]

    def add(self, *statements: Stmt) -> None:
        """Add statements to the block that is open."""
        self._open[-1] += statements

    def emit(self, operation: Let) -> str:
        """Add an operation; return its target."""
        self.add(operation)
        return operation.target

    @contextmanager
    def opened(self) -> Iterator[list[Stmt]]:
        """Open a block, in a `with` statement: what is added there are the statements of the list that it gives."""
        made: list[Stmt] = []
        self._open.append(made)
        try:
            yield made
        finally:
            self._open.pop()

    def collect(self, work: Callable[[], object]) -> list[Stmt]:
        """Return the statements that a piece of work adds, as a block of its own."""
        with self.opened() as made:
            work()
        return made
