"""Residuals of a pullback: the entry point that returns the value, and copies of the arguments.

    keep_f(x, y)    f(x, y), and a copy of (x, y) from before

A pullback runs f again at these copies. So it may be called when the arguments have been written: by f, or by whoever
made it. Arrays that share memory would not do so in the copies; if f writes to one of them, that is an error.
"""

from __future__ import annotations

import ast

from dualrev.compiler.analysis.layout import looks_at_layout
from dualrev.compiler.codegen.lines import Code
from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder
from dualrev.compiler.entrypoints.primal import Plain, rebuilt
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atoms import Node
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import ArgNums, NumbaTypes
from dualrev.compiler.types.leaves import holds_structured

__all__ = ["root"]


def root(module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int) -> Emitted:
    """Emit the module of a value with what its pullback needs."""
    primals = argtypes[:count]
    f = module.front.entered(module.f, primals)
    plain, names, fresh, source = Plain(module, f), f.origin.parameters, module.names.fresh, f.origin.source
    if any(map(holds_structured, primals)):
        what, why = "dr.vjp by an object with fields", "there is no copy of it for the pullback"
        source.refuse(source.tree, what, why, "dr.value_and_grad, or arguments for its fields")
    arrays = [x for tree in plain.parameters for x in leaves(tree) if plain.is_array(x)]
    strided = {x for x in arrays if plain.types[x].layout == "A"} if looks_at_layout(f, module.front.program) else set()
    value, made, returned = fresh(f"value_{f.name}"), fresh("made"), fresh("returned")
    inside = [*plain.take_apart(names, plain.parameters), *plain.body()]
    module.function(value, names, f"{f.name} itself.", inside, source, module.f)
    copies = {x: fresh("{}_kept", x) for x in arrays}
    body = [*plain.take_apart(names, plain.parameters), *plain.check_arrays(plain.parameters)]
    body.append(Code("tape = runtime.new_tape(0)", 0))
    for x, copy in copies.items():
        how = "strided_copy" if x in strided else "copy"
        body.append(Code(f"{copy} = runtime.attempt(tape, runtime.{how}, {x})", 0))
    body.append(Code(f"{made} = runtime.attempt(tape, {value}, {', '.join(names)})", 0))
    trees = [
        tree if isinstance(tree, Node) or tree in copies else x for x, tree in zip(names, plain.parameters, strict=True)
    ]

    def kept(x: str) -> ast.expr:
        """Syntax of a leaf, or of its copy."""
        return ast.Name(copies.get(x, x))

    copied = ast.Tuple([rebuilt(tree, kept) for tree in trees], ast.Load())
    both = to_python.text(ast.Tuple([ast.Name(made), copied], ast.Load()))
    body += [Code(f"{returned} = runtime.unless_failed(tape, {both})", 0), Code("runtime.close(tape)", 0)]
    body.append(Code(f"return {returned}", 0))
    name, doc = fresh(f"keep_{f.name}"), f"The value of {f.name}, and copies of its arguments."
    module.function(name, names, doc, body, source, module.f)
    return module.finish(name, f"{doc} Made by dualrev.")
