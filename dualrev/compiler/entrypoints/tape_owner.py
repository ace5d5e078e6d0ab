"""Tape ownership: an entry point owns the memory that lives as long as a call, and calls the sweeps.

What it owns is the tape, the shadows of its arguments, and room for what they hold at the end. An exception in the
sweeps must not lose it, so it calls them by `runtime.attempt`: see runtime/tape/memory.py. Where nothing is owned, the
sweeps are the function.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dualrev.compiler.codegen.lines import Code, CodeStatement
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.names import Names

__all__ = ["Owned", "owner"]


@dataclass(frozen=True)
class Owned:
    """Inputs and allocations of the sweeps, by their names in the text."""

    inputs: list[str]  # the leaves of the arguments
    shadows: dict[str, str]  # those that have shadows
    zeros: dict[str, str]  # arrays whose gradients are returned
    finals: dict[str, str]  # names for what arrays hold at the end
    strided: set[str]  # arrays whose shadows have their strides
    covered: set[str]  # shadows that need not be zeros
    more: list[str]  # other parameters
    slots: int  # how many arrays the tape holds
    uses_tape: bool


def owner(
    owned: Owned, values: set[str], returned: ast.expr, name: str, names: Names
) -> tuple[list[str], list[CodeStatement], list[CodeStatement]] | None:
    """Split a derivative into its sweeps and their owner; None if it owns no memory.

    Returns the parameters and the last statements of the sweeps, and the statements of their owner.

    values: names of the sweeps that may be in `returned`, which the owner returns. name: what the sweeps are called.
    """
    shadows = {x: d for x in owned.inputs if (d := owned.shadows.get(x) or owned.zeros.get(x)) is not None}
    tape = owned.uses_tape or owned.slots > 0
    if not tape and not shadows and not owned.finals:
        return None
    made = names.fresh("_made{k}")
    text = ast.parse(to_python.text(returned), mode="eval")
    found = list(dict.fromkeys(n.id for n in ast.walk(text) if isinstance(n, ast.Name) and n.id in values))
    places = {name: ast.Subscript(ast.Name(made), ast.Constant(k), ast.Load()) for k, name in enumerate(found)}
    returned = to_python.substitute(returned, places.get)
    parameters = [*owned.inputs, *owned.shadows.values(), *owned.finals.values(), *owned.more]
    parameters += ["tape"] if tape else []
    code: list[CodeStatement] = [Code(f"tape = runtime.new_tape({owned.slots})", 0)]
    for x, d in shadows.items():
        new = "strided_zeros" if x in owned.strided else "empty_like" if d in owned.covered else "zeros_like"
        code.append(Code(f"{d} = runtime.attempt(tape, runtime.{new}, {x})", 0))
    code += [Code(f"{final} = runtime.attempt(tape, runtime.empty_like, {x})", 0) for x, final in owned.finals.items()]
    call = f"runtime.attempt(tape, {name}, {', '.join(parameters)})"
    code.append(Code(f"{made} = {call}" if found else call, 0))
    if shadows:
        whole = names.fresh("_returned{k}")
        code.append(Code(f"{whole} = runtime.unless_failed(tape, {to_python.text(returned)})", 0))
        returned = ast.Name(whole)
    code += [Code("runtime.close(tape)", 0), Code(f"return {to_python.text(returned)}", 0)]
    last = f"return {to_python.text(ast.Tuple([ast.Name(x) for x in found], ast.Load()))}" if found else "return"
    return parameters, [Code(last, 0)], code
