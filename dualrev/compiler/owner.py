"""The function that is called for a derivative: it owns what lives as long as the call, and calls the sweeps.

What it owns is the tape, the shadows of its arguments, and room for what they hold at the end. An exception in the
sweeps must not lose it, so it calls them by `runtime.attempt`: see tape.py. Where nothing is owned, the sweeps are the
function.
"""

from __future__ import annotations

import ast
from typing import Any

from dualrev.compiler import syntax
from dualrev.compiler.code import Code
from dualrev.compiler.expand import is_real_array

__all__ = ["owner"]


def owner(
    r: Any,
    chosen: list[Any],
    finals: dict[str, str],
    strided: set[str],
    more: list[str],
    values: set[str],
    returned: ast.expr,
    name: str,
) -> tuple[list[str], list[Any], list[Any]] | None:
    """The parameters and the last statements of the sweeps, and the statements of their owner; None if it owns nothing.

    chosen: the leaves of the arguments whose gradients are returned. finals: names for what arrays hold at the end.
    strided: arrays whose shadows have their strides. more: other parameters of the sweeps. values: names of theirs that
    may be in `returned`, which the owner returns. name: what the sweeps are called.
    """
    inputs = [x for x in r.leaves if isinstance(x, str)]
    owned = [x for x in inputs if r.has_shadow(x) or (x in chosen and is_real_array(r.kind(x)))]
    if not r.uses_tape and not owned and not r.holds:
        return None
    shadows = {x: r.cotangent(x) for x in owned}
    made = r.fresh("made")
    text = ast.parse(syntax.text(returned), mode="eval")
    found = list(dict.fromkeys(n.id for n in ast.walk(text) if isinstance(n, ast.Name) and n.id in values))
    places = {name: ast.Subscript(ast.Name(made), ast.Constant(k), ast.Load()) for k, name in enumerate(found)}
    returned = syntax.substitute(returned, places.get)
    parameters = [*inputs, *(d for x, d in shadows.items() if r.has_shadow(x)), *finals.values(), *more]
    parameters += ["tape"] if r.uses_tape or r.holds else []
    code = [Code(f"tape = runtime.new_tape({r.holds})", 0)]
    for x, d in shadows.items():
        zeros = "strided_zeros" if x in strided else "zeros_like"
        code.append(Code(f"{d} = runtime.attempt(tape, runtime.{zeros}, {x})", 0))
    code += [Code(f"{final} = runtime.attempt(tape, runtime.empty_like, {x})", 0) for x, final in finals.items()]
    call = f"runtime.attempt(tape, {name}, {', '.join(parameters)})"
    code.append(Code(f"{made} = {call}" if found else call, 0))
    if owned:
        whole = r.fresh("returned")
        code.append(Code(f"{whole} = runtime.unless_failed(tape, {syntax.text(returned)})", 0))
        returned = ast.Name(whole)
    code += [Code("runtime.close(tape)", 0), Code(f"return {syntax.text(returned)}", 0)]
    last = f"return {syntax.text(ast.Tuple([ast.Name(x) for x in found], ast.Load()))}" if found else "return"
    return parameters, [Code(last, 0)], code
