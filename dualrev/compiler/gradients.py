"""The two sweeps of the call of a compiled gradient: it is differentiated by gradients alone.

    g = grad(f)(x)          forward: the gradient itself
    d_x += (d_g)^T H        reverse: the Hessian of f is symmetric, so that is the gradient of the slope of f in the
                            direction d_g, by all arguments of interest

So no tape is needed, and nothing but the arguments has to be there in the reverse sweep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dualrev.compiler import syntax
from dualrev.compiler.analyses.activity import carries
from dualrev.compiler.code import Code
from dualrev.compiler.core import Call, Node, leaves, terms
from dualrev.compiler.core.program import Gradient
from dualrev.compiler.expand import is_array
from dualrev.compiler.plain import Plain

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import _Module
    from dualrev.compiler.reverse import Reverse

__all__ = ["gradient_sweeps"]


class _Names(NamedTuple):
    forward: str
    reverse: str


def gradient_sweeps(
    module: _Module, g: Gradient, name: str, s: Call, flags: tuple[bool, ...], wanted: tuple[bool, ...], caller: Reverse
) -> _Names:
    """Write the functions for both sweeps of a call of the gradient that is called `name`."""
    names = _Names(*(module.names.fresh(f"{g.name}{{n}}_{sweep}") for sweep in ("forward", "reverse")))
    f = g.of.origin.dispatcher
    e = module.untyped(g.of)
    writing = Plain(e, lambda call: module.effects(call, e), True)
    inputs = [x for p in e.parameters for x in leaves(p)]
    shadows = {
        x: module.names.fresh("d_{}", x) for x, flag in zip(inputs, flags, strict=True) if flag and is_array(e.types[x])
    }
    paths = _paths(s.result)
    arrays = [k for k, (t, want) in enumerate(zip(s.targets, wanted, strict=True)) if want and is_array(caller.kind(t))]
    scalars = [k for k, want in enumerate(wanted) if want and k not in arrays]
    if arrays:
        made = module.names.fresh("made")
        call = f"{name}({', '.join(syntax.text(writing.tree(p, syntax.atom)) for p in e.parameters)})"
        results = [made + path for path in paths] + [f"np.zeros_like({made + paths[k]})" for k in arrays]
        body = [Code(f"{made} = {call}", 0), Code(f"return {', '.join(results)}", 0)]
        module.function(names.forward, [*inputs, *shadows.values()], f"The gradient of {g.of.name}.", body, e, f)
    cotangent = {k: module.names.shared(f"d_result_{k}") for k in (*arrays, *scalars)}
    chosen = [x for k in g.numbers for x in terms.leaves(g.of.parameters[k])]
    order = [x for p in g.of.parameters for x in terms.leaves(p)]
    slope = module.forward.slope(g.of, [x for x in chosen if carries(x)])
    flat = replace(slope, parameters=(*order, *slope.parameters[len(g.of.parameters) :]))
    symbol = terms.Symbol(f"grad_{slope.name}")
    flagged = [k for k, flag in enumerate(flags) if flag]
    module.program.define(symbol, Gradient(flat, tuple(flagged), True))
    text_of = dict(zip(order, inputs, strict=True))
    place = {x: k for k, x in enumerate(chosen)}
    direction = []
    for x in order:  # the cotangents of the gradient, as the directions of the slope
        if x in place and carries(x):
            zero = f"np.zeros_like({text_of[x]})" if is_array(x.type) else "0.0"
            direction.append(cotangent.get(place[x], zero))
    made = module.names.fresh("made")
    call = f"{module.refer(symbol).name}({', '.join([*inputs, *direction])})"
    body = [Code(f"{made} = {call}", 0)]
    back = []
    for n, k in enumerate(flagged):
        if inputs[k] in shadows:
            body.append(Code(f"runtime.add_to({shadows[inputs[k]]}, {made}[{n}])", 0))
        else:
            back.append(f"{made}[{n}]")
    body.append(Code(f"return {', '.join(back)}" if back else "return", 0))
    given = [*inputs, *shadows.values(), *cotangent.values()]
    module.function(
        names.reverse, given, f"Add what the arguments contribute to the gradient of {g.of.name}.", body, e, f
    )
    return names


def _paths(tree: Any) -> list[str]:
    """Where the leaves of a result are."""
    if isinstance(tree, Node):
        return [f"[{k}]{path}" for k, part in enumerate(tree.parts) for path in _paths(part)]
    return [""]
