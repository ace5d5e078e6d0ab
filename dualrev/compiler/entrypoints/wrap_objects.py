"""Entry points by records, jitclass instances or structrefs, or tuples of these: wrappers around derivatives.

It takes them apart, calls the derivative of their leaves (types/leaves.py), and puts the gradients together:

    grad_f(a, x)    runtime.mirrored(tape, a, grad_f1(runtime.fields(a), x))

The gradient by records are records of the same type, that by an instance is a named tuple of its fields. A Jacobian, or
a Hessian, has a tuple of the leaves in their place.
"""

from __future__ import annotations

from dualrev.compiler.codegen.lines import Code
from dualrev.compiler.codegen.module_builder import ModuleBuilder
from dualrev.compiler.types.aliases import ArgNums

__all__ = ["opening"]


def opening(module: ModuleBuilder, entry: str, transform: str, argnums: ArgNums, doc: str) -> str:
    """Emit the wrapper that calls the entry point with the leaves of the objects; return its name."""
    front, fresh = module.front, module.names.fresh
    f, source = module.f, front.source(module.f)
    several = isinstance(argnums, (tuple, list))
    words = [fresh("{}", x) for x in source.parameters]
    count = len(words)
    chosen = [k % count for k in (argnums if isinstance(argnums, (tuple, list)) else (argnums,))]
    opened = [f"runtime.fields({x})" for x in words]
    names, given, of = list(words), list(opened), chosen
    if transform in ("vjp", "pull"):
        names, given, of, several = [*words, "ct"], [*opened, "ct"], list(range(count)), True
    elif transform in ("jvp", "product", "hvp"):
        moved = list(range(count)) if transform == "jvp" else chosen
        tangents = [fresh("t_{}", words[k]) for k in moved]
        inner = [f"runtime.tangents({words[k]}, {t})" for k, t in zip(moved, tangents, strict=True)]
        at = 1 if transform == "hvp" else count
        names[at:at], given[at:at] = tangents, inner
    made, mirrored, returned = fresh("made"), fresh("mirrored"), fresh("returned")
    gradient = f"{made}[1]" if transform in ("value_and_grad", "vjp") else made
    objects, parts = ", ".join(words[k] for k in of), gradient
    objects = f"({objects},)" if several else objects
    body = ["tape = runtime.new_tape(0)", f"{made} = runtime.attempt(tape, {entry}, {', '.join(given)})"]
    value = made
    if transform in ("vjp", "pull", "jvp"):  # f, or its derivative, may return an argument
        body.append(f"{made} = runtime.to_return(tape, {made})")
    if transform in ("grad", "value_and_grad", "vjp", "pull", "hvp", "product"):
        body.append(f"{mirrored} = runtime.mirrored(tape, {objects}, {parts})")
        value = mirrored if gradient == made else f"({made}[0], {mirrored})"
    body += [f"{returned} = runtime.unless_failed(tape, {value})", "runtime.close(tape)", f"return {returned}"]
    name = fresh("{}", entry)
    module.function(name, names, doc, [Code(text, 0) for text in body], source, f)
    return name
