"""The language of random programs with numba itself as the oracle, since the tape does not support these types.

The types are samples and either complex numbers or records and jitclass instances, which are not mixed. The letters
mean the same as in language.py.
"""

from __future__ import annotations

from typing import Any

from programs.generators.language import ARGUMENTS, COMMON, Complexes, Length, Vector, table

__all__ = ["NUMBA", "made_of_complexes", "made_of_records"]

_COMPLEX_HEADER = """
import cmath
@njit
def turned(z, u):
    if z.real > u:
        return z * complex(u, 1.0)
    return z + 1j * u
@njit
def damped(z, u):
    for i in range(len(z)):
        z[i] *= 0.5 + 0.1j * u
    return z[-1]
"""
_OBJECTS_HEADER = """
from programs.generators.things import Box
@njit
def pushed(r, u):
    if r.x > u:
        return u
    r.x += 0.3 * u * r.v[0]
    r.v[1] *= u
    return r.x
"""
_SAMPLES = {
    "float": table("""
np.random.normal({a}, 0.3)|np.random.normal(0.2, 1.0 + {a1} * {a1})|np.random.uniform({a}, 2.0)|np.random.uniform()
np.random.exponential(0.5 + {a1} * {a1})|np.random.lognormal({a}, 0.2)|np.random.gumbel({a}, 0.5)
np.random.standard_normal()|np.random.laplace({a}, 0.4)|np.random.weibull(1.5 + {a1} * {a1})
np.random.triangular(-2.0, {a1} / (1.0 + abs({a1})), 2.0)|np.random.normal({a}, 0.3, 2)[{k} % 2]
"""),
    "vector": table("""
np.random.normal({a}, 0.2, {l})|np.random.permutation({v})|np.random.randn({l})
({v} * np.random.uniform({a}, 2.0, {l}))
"""),
    "int": table("np.random.randint(4)"),
    "bool": table("(np.random.rand() < 0.5)"),
    "statement": table("""
{n1}[{i}] = np.random.normal({a}, 0.2)|np.random.shuffle({n})|{n1} += np.random.normal(0.0, 0.3, {l})
np.random.seed({k})
"""),
}
_COMPLEX = {
    "float": table("""
abs({g})|{g}.real|{g}.imag|abs({g}) ** 2|np.angle({g})|np.sum({y}.real)|np.sum(np.abs({y}))|np.vdot({y}, {y}).real
{C}.real|cmath.phase({g})|np.dot({y}, {y}).imag|np.real({g})|np.imag(np.sum({y}))|{Z}[{i}].imag
(np.sum({y}) / {l}).real
"""),
    "vector": table("""
{Z}.real|{Z}.imag|np.abs({y})|np.abs({y}) ** 2|np.angle({y} + 4.0)|np.real({y})|np.imag({y})
"""),
    "int": table("len({Z})"),
    "bool": table("({g}.real > {a})|(abs({g}) < {a})"),
    "complex": table("""
{C}|{C}|({g} + {g})|({g} * {g})|({g} - {f})|({f} * {g})|complex({f}, {f})|({g} / (2.5 + abs({g})))|{g}.conjugate()
np.conj({g})|np.exp(1j * {f})|np.sqrt({g} + 2.5)|cmath.exp(0.3 * {C} / (1.0 + abs({C})))|({C} ** 2)|{Z}[{i}]
np.sum({y})|({g} if {b} else {g})|np.sin(0.4 * {g})|np.dot({y}, {y})|np.vdot({y}, {y})|(-{g})|({g} * (0.5 - 0.3j))
turned({g}, {f})|({f} + 1j * {f})|np.mean({y})|({g} / (1.5 + {f} * 1j))|np.tanh({f} * 0.5j)|np.log({g} + 3.0)|{Q}({C})
cmath.rect({f}, {f})|({k} * {C})|(1j ** {k})|np.where({b}, {g}, {g}).item()
"""),
    "complexes": table("""
{Z}|({y} + {y})|({y} * {v})|({g} * {y})|np.exp(1j * {v})|np.conj({y})|{Z}[::-1]|({v} + 1j * {v})|({y} * {y})|(-{y})
({y} - {g})|np.sqrt({y} + 3.5)|np.where({v} > {a}, {y}, {y})|np.roll({y}, 1)|{Z}.copy()|({y} / (2.0 + {v} * {v}))
np.cumsum({y})|np.append({Z}[1:], {g})|np.full({l}, {g})|np.array([{g} * u for u in {n}])|{Z}.conj()
{y}[np.argsort({v})]
"""),
    "statement": table("""
{C1} = {g}|{C1} *= {g}|{C1} += {g}|{C1} = {C1} * {C1}|{C1} = {g} if {b} else {C1}|{C1} -= {f}
{C1} = {C1} / (1.5 + abs({C1}))|{C1} = {g}|{C1} = {C1}.conjugate() * {g}|{C1}, {F} = {g}, {C1}.real|{F} = {C}.imag
{Y1}[{i}] = {g}|{Y1}[{i}] *= {g}|{Y1}[{i}] += {f}|{Y1} *= {g}|{Y1} += {y}|{Y1}[:] = {y}|{Y1}[1:] += {Y1}[:-1]
{Y1} -= {Y1}[::-1]|{Y1}[1:] = {Y1}[:-1] * {a}|{Y1}[::-1] = {y}|{Y1}[{i}] = {Y1}[{j}] * {Z}[{i}]|{Y1}[:] = {f}
{Y1}[1:] *= {g}|{Y1} *= {Y1}[{i}]|{Y1}[{i1}], {Y1}[{j2}] = {Y1}[{j2}], {Y1}[{i1}]|{C1} = damped({Y1}, {a})
{Y1}[np.abs({Y1}) > {a}] = {g}|{Y1} = {y} * {g}
"""),
}
_OBJECTS = {
    "float": table("""
{A}[{i}].x|{A}[{i}]['x']|{A}['v'][{i}, 1]|{A}.x[{i}]|np.sum({A}['x'])|np.sum({A}.v)|{A}[{i}].v[{k} % 2]|{D}.x|{D}.v[0]
pushed({A}[{i}], {a})|pushed({D}, {a})|{J}.value|{J}.total({k} % 3)|{J}.places[{k} % 3]|{J}.half|np.sum({J}.places)
"""),
    "vector": table("({A}.x * {a})|{A}['v'][:, 0].copy()"),
    "int": table("{J}.count|{A}[{i}].k|{D}.k"),
    "bool": table("({A}[{i}].x < {a})|({J}.count > 2)"),
    "statement": table("""
{A1}[{i}].x = {f}|{A1}[{i}].x += {f}|{A1}[{i1}]['x'] *= {A1}[{j}].x|{A1}['x'][:] = {v}|{A1}['v'][{i}] *= {a}
{A1}[{i}] = {A1}[{j}]|{A1}['x'][1:] += {A1}['x'][:-1]|{A1}.v[{i}, 1] = {f}|{A1}['v'][:, 0] += {A1}.x
{A1}[{i}].k += {k}|{A1}['x'] *= {a}|{A1}.x += {v}|{D1}.x *= {a}|{D1}.v[1] = {D1}.x * {f}|{D1}.v[:] = {D1}.v[::-1]
{D1}.v += {f}|{D1}.k = {k}|{D1}.x = {f} if {b} else {D1}.x|{J1}.value = {f}|{J1}.places[{k} % 3] *= {a}|{J1}.grow({f})
{J1}.half = {f}|{J1}.value += {J1}.places[{k} % 3]|{J1}.count += 1|{J1}.places[:] = {J1}.places[::-1]
{J1}.places[1:] += {J1}.places[:-1]|{J1}.half *= {a}|{J1}.places *= {J1}.value
"""),
}
_TWO = Length("2", 2)
_NEW_COMPLEX: list[tuple[str, Any]] = [
    ("{N} = {g}", "complex"),
    ("{N} = 0j\nfor u in {n}:\n    {N} += u * {g}", "complex"),
    ("{N} = 1.0 + 0j\nfor k in range(3):\n    {N} *= {g} + 0.2 * k", "complex"),
    ("{N} = np.array([{g}, {g}])", Complexes(_TWO)),
    ("{N} = np.zeros(2, np.complex128)\n{N}[{k} % 2] = {g}", Complexes(_TWO)),
    ("{N} = {y}.copy()", Complexes(_TWO)),
]
_NEW_OBJECTS: list[tuple[str, Any]] = [
    ("{N} = Box({f}, np.full(3, {f}), {J}.count)", "box"),
    ("{N} = {J}", "box"),
    ("{N} = {J}.places", Vector(Length("3", 3))),
]
_ARGUMENTS = [kind for kind in ARGUMENTS if kind != "single"]  # differences of single precision say little
_SEED = "np.random.seed(11)"

_DRAWING = COMMON.with_more("", _SAMPLES, [], arguments=[])

#: The languages whose programs are compared with differences of the numba function itself. Few have an instance: its
#: methods are compiled for long.
NUMBA = (
    _DRAWING.with_more(
        _COMPLEX_HEADER, _COMPLEX, _NEW_COMPLEX, arguments=[*_ARGUMENTS, *["complex", "complexes"] * 3], first=_SEED
    ),
    _DRAWING.with_more(
        _OBJECTS_HEADER, _OBJECTS, _NEW_OBJECTS, arguments=[*_ARGUMENTS, *["records", "record"] * 3, "box"], first=_SEED
    ),
)


def made_of_complexes(length: Length, written: bool) -> list[tuple[str, Any]]:
    """Templates of values made of a complex vector {V}: arrays of its length, and views if it may be written."""
    same, real = Complexes(length), Vector(length)
    found: list[tuple[str, Any]] = [
        ("{N} = " + text, same) for text in ("{V}.copy()", "{V} * {g}", "np.zeros_like({V})")
    ]
    found += [("{N} = np.empty({l}, np.complex128)\nfor j in range({l}):\n    {N}[j] = {V}[j] * {g}", same)]
    found += [("{N} = " + text, real) for text in ("np.abs({V})", "{V}.real.copy()", "np.angle({V} + 3.0)")]
    if written:
        found += [("{N} = " + text, same) for text in ("{V}", "{V}[::-1]", "{V}[:]")]
        if length.least > 1:
            found += [("{N} = {V}[1:]", Complexes(Length(f"{length.text} - 1", length.least - 1)))]
    return found


def made_of_records(length: Length) -> list[tuple[str, Any]]:
    """Templates of values made of an array of records {V}: a record, and its fields, which are views."""
    found: list[tuple[str, Any]] = [("{N} = {V}[{k} % len({V})]", "record"), ("{N} = {V}['v'][-1]", Vector(_TWO))]
    return [*found, ("{N} = {V}['x']", Vector(length)), ("{N} = {V}.v[:, 1]", Vector(length))]
