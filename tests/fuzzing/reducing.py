"""Keeping a program that fails, and making it smaller."""

from __future__ import annotations

import ast
import copy
import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from programs.generators.generator import Program

__all__ = ["read", "reduce", "save"]


def save(of: Program, path: Path, why: str) -> None:
    """The program as a file that `read` reads, with a note at the top."""
    note = "".join(f"# {line}\n" for line in why.splitlines())
    path.parent.mkdir(parents=True, exist_ok=True)
    checked = f"{of.variant}, forward" if of.forward else of.variant
    path.write_text(f"{note}\n{of.source}\n# variant: {checked}\n# arguments: {of.arguments!r}\n")


def read(path: Path) -> Program:
    """A program that was saved."""
    text = path.read_text()
    (given,) = re.findall(r"(?m)^# arguments: (.*)$", text)
    (variant, _, forward) = re.findall(r"(?m)^# variant: (.*)$", text)[-1].partition(", ")
    source = ast.unparse(ast.parse(text)) + "\n"
    return Program(source, ast.literal_eval(given), variant=variant, forward=bool(forward))


def _edits(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Yield edits that leave out a part: statements, the heads of loops and branches, sides of operations."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            for k, statement in enumerate(block if isinstance(block, list) else []):
                spare = [ast.Pass()] if field == "body" and len(block) == 1 else []
                yield lambda b=block, k=k, s=spare: b.__setitem__(slice(k, k + 1), s)
                for inner_field in ("body", "orelse"):
                    if not isinstance(statement, ast.FunctionDef) and getattr(statement, inner_field, None):
                        kept = getattr(statement, inner_field)
                        yield lambda b=block, k=k, s=kept: b.__setitem__(slice(k, k + 1), s)
    for node in ast.walk(tree):
        for field, child in ast.iter_fields(node):
            parts: list[Any] = []
            if isinstance(child, ast.BinOp):
                parts = [child.left, child.right]
            elif isinstance(child, ast.IfExp):
                parts = [child.body, child.orelse]
            elif isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.args:
                parts = [child.args[0]]
            for part in parts:
                yield lambda n=node, f=field, p=part: setattr(n, f, p)


def reduce(of: Program, fails: Callable[[Program], bool], seconds: float = 120.0) -> Program:
    """A smaller program that still fails."""
    end, k, before = time.monotonic() + seconds, 0, ""
    while time.monotonic() < end:
        tree = copy.deepcopy(ast.parse(of.source))
        edit = next((e for j, e in enumerate(_edits(tree)) if j == k), None)
        if edit is None:
            if of.source == before:
                break
            k, before = 0, of.source  # what was needed earlier may be spare now
            continue
        edit()
        smaller = dataclasses.replace(of, source=ast.unparse(tree) + "\n")
        if smaller.source != of.source and fails(smaller):
            of = smaller
        else:
            k += 1
    return of
