"""Result of lowering: a function in A-normal form, with its references and access paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from dualrev.compiler.frontend.messages import Words
from dualrev.compiler.frontend.reading.global_paths import find
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.names import Names

__all__ = ["Lowered"]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A function in ANF that computes `result` from its parameters: a pass returns another one.

    `names` gives new names, and `refs` grows by what emitted code names.
    """

    source: Source
    parameters: list[str]
    body: list[anf.Stmt]
    result: anf.Atom
    names: Names
    exit_flag: str  # set by a `return` before the end, ...
    exit_value: str  # ... which leaves its value here
    refs: dict[str, anf.Ref] = field(default_factory=dict)
    constants: dict[str, Static] = field(default_factory=dict)  # parameters that are functions
    calls: list[Static] = field(default_factory=list)  # the functions that it calls
    paired: set[str] = field(default_factory=set)  # the values of functions that may be None: see optional.py
    iterated: set[str] = field(default_factory=set)  # what iterators go over, if that has places: see iter_next.py
    lengths: set[str] = field(default_factory=set)  # the lengths of what loops go over
    blamed: dict[str, Words] = field(default_factory=dict)  # dicts that are not known because of one of their uses

    def class_ref(self, cls: type) -> anf.Ref:
        """Return the reference to a named tuple's class; its access path leads through a callee that names it."""
        found = next((ref for ref in self.refs.values() if ref.value is cls), None)
        if found is None:
            way = find(cls, self.calls)
            if way is None:
                what, why = f"the named tuple {cls.__name__}", "no function names its class in a way that can be found"
                instead = f"{cls.__name__} as a global of the module"
                if cls.__module__.startswith("numba."):  # numba makes it of what has other names for Python
                    what = f"the object that numba makes of np.{cls.__name__}"
                    why = "it has no name in the program"
                    instead = f"its numbers as globals, as EPS = np.{cls.__name__}(...).eps"
                self.source.refuse(self.source.tree, what, why, instead)
            name = self.names.fresh(f"_{cls.__name__}")
            found = self.refs[name] = anf.Ref(name, cls, way.path)
        return found
