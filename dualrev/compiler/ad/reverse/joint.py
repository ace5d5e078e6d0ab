"""Joint gradient (core -> core): both sweeps of a function as one function of core.

What lives longer than a call of it is not its own: its caller has the tape, the shadows of arguments, which are zeros,
and room for what arguments hold at the end, as the reverse sweep brings back what they held before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.values.nonzero_cotangents import Known
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array
from dualrev.compiler.ir.core.atoms import Constant, Node, Var
from dualrev.compiler.ir.core.builder import ZERO
from dualrev.compiler.ir.core.nodes import Copy, Function, Statement, Store
from dualrev.compiler.ir.core.traverse import statements, writes

__all__ = ["Joint", "joint"]


@dataclass
class Joint:
    """Joint gradient function: it returns the scalars' cotangents, and adds the arrays' to their shadows.

    function    takes the arguments, then the shadows, and then the room for finals
    shadows     by leaves of the parameters
    finals      by arrays among them that the sweeps change
    slots       how many arrays the tape holds
    """

    function: Function
    shadows: dict[Var, Var]
    finals: dict[Var, Var]
    slots: int


def joint(reverse: Reverse, f: Function, varied: Iterable[Var], lasting: Iterable[Var]) -> Joint:
    """The joint gradient of a function that returns one real scalar, by the leaves `varied` of its parameters.

    Those that are `lasting` are left as f leaves them.
    """
    varied = list(varied)
    sweeps = reverse.joint(f, varied, {0: Constant(1.0, types.float64)}, Known((True,)))
    facts, find, undone = sweeps.facts, sweeps.facts.classes.find, sweeps.undone_classes
    inputs = [x for x in facts.parameters if isinstance(x, Var)]
    shadowed = [x for x in inputs if facts.has_shadow(x) or (x in varied and is_real_array(x))]
    shadows = {x: facts.cotangent(x) for x in shadowed}
    finals = {x: Var("final_{}", x.type, x) for x in lasting if is_array(x) and find(x) in undone}
    rebound = {x for s in statements(f.body) for x in writes(s)}
    given = {x: Var("{}_given", x.type, x) if x in rebound else x for x in finals}
    body: list[Statement] = [Copy(y, x, 0) for x, y in given.items() if x is not y]
    body += sweeps.forward_body
    body += [Store(final, (...,), given[x], 0) for x, final in finals.items()]
    body += sweeps.reverse_body
    body += [Store(given[x], (...,), final, 0) for x, final in finals.items()]
    function = replace(
        f,
        name=f"{f.origin.source.tree.name}_sweeps",
        parameters=(*f.parameters, *shadows.values(), *finals.values()),
        body=tuple(body),
        result=Node(tuple(facts.cotangent(x) if facts.is_scalar(x) else ZERO for x in varied if is_real(x))),
        tape=sweeps.uses_tape or sweeps.forward.slots > 0,
        doc=f"Both sweeps of {f.name}.",
    )
    return Joint(function, shadows, finals, sweeps.forward.slots)
