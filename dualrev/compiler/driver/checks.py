"""Checks of a function in core: that it may run twice, and that no callee with a rule is given an object."""

from __future__ import annotations

from dualrev.compiler.ad.custom.custom_rules import has_rule
from dualrev.compiler.analysis.determinism import done_anew, draws_anew
from dualrev.compiler.frontend.reading.source import Source, describe, is_derivative
from dualrev.compiler.ir.core.atom_types import type_of
from dualrev.compiler.ir.core.atoms import Global, Var
from dualrev.compiler.ir.core.nodes import Call, Function, Opaque
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.leaves import holds_structured
from dualrev.compiler.types.opaque_types import is_container

__all__ = ["check_objects", "check_reruns"]


def check_objects(s: Call, source: Source) -> None:
    """Raise UnsupportedError for a call with an object, if the callee has derivatives of its own."""
    f = s.function.value if isinstance(s.function, Global) else None
    if (has_rule(f) or is_derivative(f)) and any(holds_structured(type_of(x)) for x in s.args):
        what = f"the call of {describe(getattr(f, 'py_func', f))} with an object"
        source.refuse(s.line, what, "its derivative would be an object, too", "the fields as arguments")


def check_reruns(f: Function, program: Program, what: str, later: bool = False) -> None:
    """Raise UnsupportedError for a rerun, perhaps later, of a function that may not do the same again."""
    if later and any(isinstance(x, Var) and is_container(x.type) for p in f.parameters for x in leaves(p)):
        why = "the function is run once more, later, and the container may have changed by then"
        f.origin.source.refuse(
            f.origin.source.tree, f"a set, a dict or a list as an argument of {what}", why, "an array"
        )
    if draws_anew(f, program):
        source = f.origin.source
        why = "it draws random numbers, and is run more than once: the numbers would be others each time"
        source.refuse(source.tree, what, why, "np.random.seed(k) as its first line, or an array that is drawn outside")
    if (found := done_anew(f, program)) is not None:
        inside, s = found
        line = f"{s.refusal[0]} in {what}" if isinstance(s, Opaque) else f"this call in {what}"
        why = "the function is run more than once, and nobody knows whether this does the same each time"
        inside.origin.source.refuse(s.line, line, why, "dr.grad or dr.jvp, which run it once")
