"""Accumulation recognition: rewrite sums to the in-place forms that reverse mode recognises.

_1 = t + a          t = t + a           of a number: what has only been added to it is a sum, and its cotangent is
t = _1 - b          t = t - b           the same before and after (ad/reverse/fuse_sweeps.py)

_1 = y[i]           y[i] += a           of an element: neither the old one nor its cotangent takes part
_2 = _1 + a
y[i] = _2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dualrev.compiler.ir.anf.operations import Let, Store, blocks, index_atoms, reads, walk, writes

__all__ = ["simplify"]


def simplify(body: list[Any], result: list[Any], kinds: Mapping[str, Any]) -> None:
    """Recognise accumulations, in place; `kinds` are the types of variables."""
    uses = Counter(x for s in walk(body) for x in reads(s) if isinstance(x, str))
    uses.update(x for x in result if isinstance(x, str))
    written = Counter(x for s in walk(body) for x in writes(s))
    _block(body, uses, {x: kinds.get(x) for x, n in written.items() if n == uses[x] == 1}, kinds)


def _block(block: list[Any], uses: Counter[str], single: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Recognise the accumulations of a block; `single` has the types of variables written once and read once."""
    for s in block:
        for inner in blocks(s):
            _block(inner, uses, single, kinds)
    for k, s in enumerate(block):
        if _is_sum(s) and s.target not in single:
            _sum_up(block, k, single, kinds.get(s.target))
    k = 0
    while k < len(block):
        found = _sum_into(block, k, uses)
        if found is not None:
            load, add = found
            store = block[k]
            value = add.args[1] if add.args[0] == load.target else add.args[0]
            op = "+=" if add.info[0].name == "add" else "-="
            block[k] = Store(store.array, store.index, value, store.line, op)
            block.remove(add)
            block.remove(load)
            k -= 2
        k += 1


def _sum_up(block: list[Any], end: int, single: Mapping[str, Any], kind: Any) -> None:
    """Rewrite the chain of sums from a scalar to its next value, the last one at `end`, to update the scalar itself.

    What is passed from one sum to the next is of the same type `kind`, and nobody else reads it.
    """
    x = block[end].target
    chain = _chain(block, end, x, single, kind)
    sums = {id(s) for s, _ in chain}
    first = next((k for k, s in enumerate(block) if id(s) in sums), end)
    others = (s for s in walk(block[first:end]) if id(s) not in sums)
    if not any(x in reads(s) or x in writes(s) for s in others):
        for s, more in chain:
            s.target, s.args = x, (x, more)


def _chain(block: list[Any], k: int, x: Any, single: Mapping[str, Any], kind: Any) -> list[tuple[Let, Any]]:
    """Chain of sums from `x` to the result of the `k`-th statement, each with its addend; empty if none is found."""
    s = block[k]
    if not _is_sum(s):
        return []
    for old, more in (s.args, s.args[::-1])[: 2 if s.info[0].name == "add" else 1]:
        if old == x != more:
            return [(s, more)]
        if more != x and old in single and single[old] == kind:
            for j in (j for j in range(k) if old in writes(block[j])):  # the one place, if it is in this block
                if found := _chain(block, j, x, single, kind):
                    return [*found, (s, more)]
    return []


def _is_sum(s: Any) -> bool:
    return isinstance(s, Let) and s.op == "prim" and s.info[0].name in ("add", "sub")


def _sum_into(block: list[Any], k: int, uses: Counter[str]) -> tuple[Let, Let] | None:
    """Load and addition that a store completes to an accumulation, if nothing else uses or changes them."""
    store = block[k]
    if not isinstance(store, Store) or store.op != "=" or k < 2:
        return None
    add = block[k - 1]
    if not _is_sum(add):
        return None
    if add.target != store.value or not isinstance(add.target, str):
        return None
    for j in range(k - 2, -1, -1):
        s = block[j]
        if (
            isinstance(s, Let)
            and s.op == "load"
            and s.target in add.args
            and (s.args[0], s.info) == (store.array, store.index)
        ):
            place = {store.array, *index_atoms(store.index)}
            between = block[j + 1 : k - 1]
            once = uses[s.target] == (2 if s.target == add.target else 1) and uses[add.target] == (
                2 if s.target == add.target else 1
            )
            first = add.args[0] == s.target or (add.info[0].name == "add" and add.args[1] == s.target)
            if once and first and add.args[0] != add.args[1] and not any(set(writes(t)) & place for t in between):
                return s, add
            return None
        if not isinstance(s, Let) or s.op == "call":
            return None
    return None
