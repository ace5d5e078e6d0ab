"""Data races of a kernel: which elements do several threads touch, at least one of which writes?

For each array, the analysis knows on which coordinates of a thread (its index in the block, the index of its block, on
each axis) each index may depend. An array that the kernel writes to has to be one of these:

    atomic    all accesses are atomic additions: threads may add to one element; or all are atomic maxima, or minima
    written   stores only, each with indices that depend on all coordinates that the kernel asks for
    own       loads, too: on the axes where all accesses have one index, the index depends on all coordinates

An index such as `k[i]` depends on the coordinates of i. The analysis takes it that different threads then get different
elements, which it cannot know: as in CUDA itself, that is up to the kernel. What certainly is a race is refused, and
what is read at one index and written at another one, for another thread may write there at any time.

A test fixes coordinates where it compares an index of the thread with what is the same for all: below `if i == 0`,
stores need not depend on the coordinates of i.

Of an array that a block shares, only accesses between the same two barriers race: phases.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dualrev.compiler.analysis.memory.alias import Memory, Representative
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.cuda.accesses import Access, Accesses
from dualrev.cuda.disjoint_accesses import are_apart
from dualrev.cuda.distinct_indices import coordinates, covers, fixed, meet
from dualrev.cuda.phases import check_barriers, check_shared, said
from dualrev.cuda.readers import has_one_reader
from dualrev.cuda.thread_function import INDICES

__all__ = ["Touched", "check_races"]


class Touched(NamedTuple):
    """Effects of a kernel on arrays among its parameters, those that a block shares included.

    stored    it stores into them
    added     it adds to them, atomically; those that a block shares may be stored into, too
    alone     it only loads from them, each element in one thread
    extreme   it takes maxima or minima of their elements and of values, atomically
    """

    stored: set[Var]
    added: set[Var]
    alone: set[Var]
    extreme: set[Var]


def check_races(f: Function, memory: Memory, indices: Mapping[str, Var], shared: Iterable[Var] = ()) -> Touched:
    """Raise UnsupportedError for a race.

    `indices` are the parameters that tell a thread its indices, by the keys of INDICES; `shared` those that a block
    shares.
    """
    made = Accesses(f, memory, {x: INDICES[name][1] for name, x in indices.items()}, indices)
    found: dict[Representative, list[Access]] = {}
    for access, array in made.all():
        found.setdefault(made.classes.find(array), []).append(access)
    parameters = [x for tree in f.parameters for x in leaves(tree) if isinstance(x, Var) and is_array(x)]
    names = {made.classes.find(x): x for x in parameters if made.classes.find(x) in found}
    shared = {*shared}
    check_barriers(made)
    for key, x in names.items():
        _check_atomics(made, x, found[key], x in shared)
        check = check_shared if x in shared else _check_array
        check(made, x, found[key])
    kinds = {x: {a.kind for a in found[key]} for key, x in names.items()}
    stored, added = ({x for x, of in kinds.items() if kind in of} for kind in ("store", "atomic"))
    alone = {x for key, x in names.items() if x not in shared and has_one_reader(made, indices, found[key])}
    extreme = {x for x, of in kinds.items() if of & {"max", "min"}}
    return Touched(stored, added, alone if stored - shared else set(), extreme)


_ACCESS = {
    "load": "a load from {}",
    "store": "a store into {}",
    "atomic": "cuda.atomic.add to {}",
    "max": "cuda.atomic.max of {}",
    "min": "cuda.atomic.min of {}",
}
_BESIDE = {
    "atomic": "to which the kernel adds atomically",
    "max": "of which it takes the maximum atomically",
    "min": "of which it takes the minimum atomically",
}


def _check_atomics(made: Accesses, x: Var, some: list[Access], shared: bool) -> None:
    """Raise UnsupportedError for atomic operations beside other accesses, and for extrema that a block shares."""
    extreme = next((a for a in some if a.kind in ("max", "min")), None)
    if extreme is not None and shared:
        what, why = f"cuda.atomic.{extreme.kind} of {x}, an array that a block shares,", "it is not read yet"
        made.source.refuse(extreme.s.line, what, why, "an array that the kernel is given")
    first = extreme or next((a for a in some if a.kind == "atomic"), None)
    other = next((a for a in some if first is not None and a.kind != first.kind), None)
    if first is not None and other is not None and not shared:
        what = f"{_ACCESS[other.kind].format(x)}, {_BESIDE[first.kind]},"
        why = "another thread may change the element before or after that"
        made.source.refuse(other.s.line, what, why, "a kernel for each of both, launched one after the other")


def _check_array(made: Accesses, x: Var, some: list[Access]) -> None:
    source = made.source
    kinds = {a.kind for a in some}
    if not kinds & {"store"}:
        return
    for a in some:
        if not a.known:
            what, why = f"an access to a part of {x}", "a branch or a loop chooses the part"
            source.refuse(a.s.line, what, why, f"{x} with all its indices, such as {x}[i, j] for row[j]")
        if a.kind == "store" and not covers(made, [a], made.asked):
            _refuse_shared(made, x, a)
    for a, b in itertools.combinations([a for a in some if a.kind == "store"], 2):
        if meet(made, a, b) and not are_apart(made, a, b, everywhere=True):
            what, why = f"a store into {x}, into which line {a.s.line} stores,", "another thread writes to the element"
            source.refuse(
                b.s.line, what, why, f"cuda.atomic.add({x}, index, value) to add, or an index for each thread"
            )
    if "load" in kinds and not covers(made, some, made.asked):
        first = next(a for a in some if a.kind == "load")
        what = f"a load from {x}, which the kernel writes to at another index,"
        why = "another thread may write to the element before or after that"
        source.refuse(first.s.line, what, why, "an array for the results, other than the one that is read")


def _refuse_shared(made: Accesses, x: Var, a: Access) -> None:
    missing = made.asked - coordinates(made, [a]) - fixed(made, [a])
    why = f"threads that differ in {said(missing)} write to one element"
    instead = f"cuda.atomic.add({x}, index, value) to add, or an index for each thread"
    made.source.refuse(a.s.line, f"a store into {x}", why, instead)
