"""Expanded core -> expanded core: sums into an element, `a[i] += x`, become one statement.

Its reverse is `d_x += d_a[i]` alone: neither the old element nor its cotangent takes part.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dualrev.compiler.core.lowered import Let, Store, blocks, index_atoms, reads, walk, writes

__all__ = ["simplify"]


def simplify(body: list[Any], result: list[Any]) -> None:
    """Find the sums, in place."""
    uses = Counter(x for s in walk(body) for x in reads(s) if isinstance(x, str))
    uses.update(x for x in result if isinstance(x, str))
    _block(body, uses)


def _block(block: list[Any], uses: Counter[str]) -> None:
    for s in block:
        for inner in blocks(s):
            _block(inner, uses)
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


def _sum_into(block: list[Any], k: int, uses: Counter[str]) -> tuple[Let, Let] | None:
    """The load and the addition that a store ends, if nothing else has to do with them."""
    store = block[k]
    if not isinstance(store, Store) or store.op != "=" or k < 2:
        return None
    add = block[k - 1]
    if not (isinstance(add, Let) and add.op == "prim" and add.info[0].name in ("add", "sub")):
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
