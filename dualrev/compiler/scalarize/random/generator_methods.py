"""Reparameterised samples of a numpy Generator: opaque standard samples, and smooth functions of the parameters.

    rng.normal(mu, sigma)      z = rng.standard_normal(), and mu + sigma * z
    rng.integers(n)            stays as it is: nothing is differentiated through it

Takes the writer, and what writes opaque values. Guarantees that the generator gives the same bits as in the primal:
the functions are those that numpy (and numba) makes such a sample by. Others stay as they are, with their parameters;
those of these that are differentiated are refused by analysis/opaque_flows.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.opaque.opaque_statements import Opaques

__all__ = ["SAMPLES", "GeneratorDraws"]


@dataclass(frozen=True)
class _Sample:
    """Reparameterisation of a method: standard sample, definition in rules/library/, parameters, and their defaults."""

    standard: str
    definition: str
    parameters: tuple[str, ...]
    defaults: tuple[float, ...] = ()


#: By the names of the methods.
SAMPLES = {
    "normal": _Sample("standard_normal", "sample_normal", ("loc", "scale"), (0.0, 1.0)),
    "lognormal": _Sample("standard_normal", "sample_lognormal", ("mean", "sigma"), (0.0, 1.0)),
    "uniform": _Sample("random", "sample_uniform", ("low", "high"), (0.0, 1.0)),
    "exponential": _Sample("standard_exponential", "sample_scaled", ("scale",), (1.0,)),
    "rayleigh": _Sample("standard_exponential", "sample_rayleigh", ("scale",), (1.0,)),
    "weibull": _Sample("standard_exponential", "sample_weibull", ("a",)),
    "pareto": _Sample("standard_exponential", "sample_pareto", ("a",)),
}


class GeneratorDraws:
    """Lowering of samples from a generator that is an argument or a captured value."""

    def __init__(self, code: ScalarBuilder, opaques: Opaques) -> None:
        self.code, self.opaques = code, opaques

    def takes(self, s: anf.Stmt) -> bool:
        """Lower a sampling method by reparameterisation; False for any other statement."""
        if not (isinstance(s, anf.CallMethod) and s.method in SAMPLES):
            return False
        code = self.code
        if not isinstance(code.kind(s.args[0]), types.NumPyRandomGeneratorType):
            return False
        sample, given = SAMPLES[s.method], self._given(s)
        if given is None:
            return False
        size = [given["size"]] if "size" in given else []
        keywords = ("size",) if sample.standard == "standard_exponential" and size else ()
        drawn = anf.CallMethod(code.temp(code.of[s.target]), s.base, sample.standard, (*size,), s.line, keywords)
        self.opaques.takes(drawn)
        for x in given.values():
            self.opaques.lazy.materialise(x)
        parameters = (_as_float(given[x]) for x in sample.parameters)
        code.library(s.target, sample.definition, (drawn.target, *parameters), s.line)
        return True

    def _given(self, s: anf.CallMethod) -> dict[str, anf.Atom] | None:
        """Parameters by name, and the size if it is given; None if the arguments do not fit."""
        sample, keywords = SAMPLES[s.method], s.keywords
        names = (*sample.parameters, "size")
        count = len(s.args) - 1 - len(keywords)
        given = dict(zip(names, s.args[1 : count + 1], strict=False))
        given |= dict(zip(keywords, s.args[count + 1 :], strict=True))
        first = len(sample.parameters) - len(sample.defaults)
        defaults = dict(zip(sample.parameters[first:], map(anf.Const, sample.defaults), strict=True))
        found = defaults | given
        if found.get("size") == anf.Const(None):
            del found["size"]
        known = set(names) >= set(found) >= set(sample.parameters) and count <= len(names)
        return found if known else None


def _as_float(x: anf.Atom) -> anf.Atom:
    return anf.Const(float(x.value)) if isinstance(x, anf.Const) and type(x.value) is int else x
