"""Normalisation and legality checks of array indices, and unravelling. Each function takes the writer."""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.predicates import is_array

__all__ = ["check_index", "flat_index", "index_of", "is_gathered", "unravelled"]


def is_gathered(code: ScalarBuilder, entries: anf.Index) -> bool:
    """Whether an index is advanced: it has an array, directly or inside a tuple."""
    atoms = [x for x in flat_index(code, entries) if isinstance(x, (str, anf.Ref))]
    return any(is_array(code.kind(x)) for x in atoms)


def flat_index(code: ScalarBuilder, entries: anf.Index) -> anf.Index:
    """Flatten the tuples in an index, such as the result of `np.nonzero`, into its entries."""
    flat: list[anf.Entry] = []
    for x in entries:
        flat += anf.leaves(code.tree(x)) if isinstance(x, str) and code.is_tuple(x) else [x]
    return tuple(flat)


def index_of(code: ScalarBuilder, entries: anf.Index, ndim: int, line: int) -> anf.Index:
    """Normalise and check a basic index: tuples are flattened, an ellipsis for no axis is dropped."""
    made: list[anf.Entry] = []
    for entry in entries:
        tree = code.tree(entry) if isinstance(entry, (str, anf.Const, anf.Ref)) else None
        made += anf.leaves(tree) if isinstance(tree, anf.Node) else [entry]
    check_index(code, tuple(made), line)
    if sum(x is not None and x is not Ellipsis for x in made) == ndim > 0 and None not in made:
        made = [x for x in made if x is not Ellipsis]
    return tuple(made)


def check_index(code: ScalarBuilder, index: anf.Index, line: int) -> None:
    """Refuse index entries that numba accepts and the compiler does not: only ints and slices are supported."""
    for entry in index:
        if isinstance(entry, (str, anf.Ref)) and not isinstance(code.kind(entry), types.Integer):
            what = "an array" if is_array(code.kind(entry)) else f"a value of numba type {code.kind(entry)}"
            code.refuse(line, f"an index that is {what}", "only ints and slices are known", "a loop over the index")
        if isinstance(entry, anf.Slice):
            _check_slice(code, entry, line)


def _check_slice(code: ScalarBuilder, entry: anf.Slice, line: int) -> None:
    """Refuse slice bounds that are not ints."""
    for x in entry.atoms():
        if isinstance(x, str) and not isinstance(code.kind(x), types.Integer):
            code.refuse(line, f"a slice whose bound is of numba type {code.kind(x)}", "only ints are known", "ints")


def unravelled(code: ScalarBuilder, base: anf.Atom, k: anf.Atom, line: int) -> anf.Index:
    """Emit the index of the `k`-th element of an array, in C order."""
    ndim = code.kind(base).ndim
    index: list[anf.Atom] = []
    for axis in reversed(range(1, ndim)):
        index.append(code.plain(f"k % a.shape[{axis}]", line, k=k, a=base))
        k = code.plain(f"k // a.shape[{axis}]", line, k=k, a=base)
    return (*([k] if ndim else []), *reversed(index))
