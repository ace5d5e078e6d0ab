"""Listing of a function in A-normal form as a Python program, one operation per line.

numba infers its types (infer.py), and says by line what it has found. What Python needs and core does not have,
such as the `break` of a loop that has set its flag, stands on lines of its own.
"""

from __future__ import annotations

import ast

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python

__all__ = ["Listing"]


class Listing:
    """Program text, and a map from line numbers to statements and the parts of them that stand there.

    A part is "all", "test" (of a While), "exit 0" and so on (of a loop), or "result" (of the function).
    """

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.places: dict[int, tuple[anf.Stmt | Lowered, str]] = {}
        self._lines = [f"def function({', '.join(lowered.parameters)}):"]
        self._lists = {s.target for s in anf.walk(lowered.body) if isinstance(s, (anf.MakeList, anf.AllocList))}
        self._block(lowered.body, 1)
        if lowered.result == lowered.exit_value:
            self._write(1, "raise RuntimeError")
        else:
            self._put(1, f"return {_text(lowered.result)}", lowered, "result")

    @property
    def text(self) -> str:
        """The program; its function is called `function`."""
        return "\n".join(self._lines)

    def _write(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _put(self, depth: int, text: str, s: anf.Stmt | Lowered, part: str = "all") -> None:
        self._write(depth, text)
        self.places[len(self._lines)] = (s, part)

    def _block(self, body: list[anf.Stmt], depth: int) -> None:
        for s in body:
            self._statement(s, depth)
        if not body:
            self._write(depth, "pass")

    def _statement(self, s: anf.Stmt, depth: int) -> None:
        match s:
            case anf.Let():
                self._put(depth, _assignment(s), s)
                if s.target == self.lowered.exit_value:  # so that numba sees no path on which it is not defined
                    self._write(depth, f"return {s.target}")
            case anf.Store() if s.array in self._lists:  # a comprehension
                self._put(depth, f"{s.array}.append({_text(s.value)})", s)
            case anf.Store():
                target = to_python.text(to_python.subscript(to_python.atom(s.array), s.index, to_python.atom))
                self._put(depth, f"{target} = {_text(s.value)}", s)
            case anf.Opaque():
                for line in ast.unparse(ast.Module(s.code, [])).split("\n"):
                    self._put(depth, line, s)
            case anf.Effect():
                self._put(depth, to_python.effect(s, to_python.atom), s)
            case anf.If():
                self._put(depth, f"if {_text(s.test)}:", s)
                if s.test == self.lowered.exit_flag:
                    self._write(depth + 1, "raise RuntimeError")
                else:
                    self._block(s.then, depth + 1)
                self._write(depth, "else:")
                self._block(s.orelse, depth + 1)
            case anf.For():
                bounds = ", ".join(map(_text, (s.start, s.stop, s.step)))
                self._put(depth, f"for {s.target} in range({bounds}):", s)
                self._loop_body(s, depth + 1)
            case anf.While():
                self._write(depth, "while True:")
                for t in s.test_block:
                    self._statement(t, depth + 1)
                if s.test != anf.Const(True):
                    self._put(depth + 1, f"if not {_text(s.test)}:", s, "test")
                    self._write(depth + 2, "break")
                self._loop_body(s, depth + 1)

    def _loop_body(self, s: anf.For | anf.While, depth: int) -> None:
        self._block(s.body, depth)
        for k, flag in enumerate(s.exits):
            self._put(depth, f"if {flag}:", s, f"exit {k}")
            self._write(depth + 1, "break")


def _text(x: anf.Atom) -> str:
    """Return an atom as text."""
    return to_python.text(to_python.atom(x))


def _assignment(s: anf.Let) -> str:
    """Return an operation as text."""
    if isinstance(s, anf.InplaceOp):
        return f"{s.target} {s.symbol}= {_text(s.args[1])}"
    if isinstance(s, anf.CallKnown) and s.function == "np.array":  # numba would make an array of the list at once
        s = anf.CallKnown(s.target, "np.asarray", s.args, s.line, s.keywords)
    if (
        isinstance(s, anf.CallKnown) and s.function == "np.linalg.matrix_power"
    ):  # numba takes it for one that may be None
        s = anf.CallKnown(s.target, "np.dot", (s.args[0], s.args[0]), s.line)
    return f"{s.target} = {to_python.text(to_python.expression(s, to_python.atom))}"
