"""Inlining hints: functions that LLVM inlines into their callers, within a budget of code growth.

A call passes seven words for each array, takes numbers back through memory, and ends what LLVM knows of the tape. That
is as long as a few operations take; and where numbers go from call to call, the one waits for the other. LLVM's own
measure does not see it. Copies cost time when they are compiled, loops more than lines: so all copies of a function
together are at most LINES long, where a loop counts as LOOP lines, and a call as what is copied there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from dualrev.compiler.ir.names import words_of

__all__ = ["copied"]

LINES, LOOP = 110, 10


def copied(functions: Mapping[str, Sequence[str]], some: Collection[str]) -> list[str]:
    """Choose the functions among `some` to force-inline within the budget of code growth.

    `functions` are the lines of all, each after what it calls: only in a circle of calls, one comes before what it
    calls. What leads into a circle is not copied.
    """
    called = {name: Counter(x for line in lines for x in words_of(line)) for name, lines in functions.items()}
    calls = sum(called.values(), Counter[str]())
    length: dict[str, int] = {}
    before: set[str] = set()  # those that lead into no circle
    for name, lines in functions.items():
        if any(x in functions and x not in before for x in called[name]):
            continue
        before.add(name)
        loops = sum(line.startswith(("for ", "while ")) for line in lines)
        whole = len(lines) + LOOP * loops + sum(n * length.get(x, 0) for x, n in called[name].items())
        if name in some and calls[name] * whole <= LINES:
            length[name] = whole
    return [*length]
