"""Type inference by numba on A-normal form, with webs of SSA versions: afterwards each variable has one type.

Every operation of the core stands on a line of its own (one_op_per_line.py), so numba's typed IR tells by line which
version of a variable (in the sense of SSA) an operation reads and writes. Versions that flow together form a web. A
name whose webs have different types (`x = x.sum()`) is split into several, so that afterwards a variable has one type.
"""

from __future__ import annotations

import cmath
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numba.core import compiler, ir, types
from numba.core.errors import NumbaError, NumbaWarning
from numba.core.registry import cpu_target

from dualrev.compiler import runtime
from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.typing.infer_callees import Uncompiled, called_only, inferred
from dualrev.compiler.frontend.typing.one_op_per_line import Listing
from dualrev.compiler.frontend.typing.pruned_branches import drop_pruned
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import with_reads
from dualrev.compiler.ir.local_names import keep_apart
from dualrev.compiler.ir.names import readable
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes, UserValue
from dualrev.diagnostics.quoting import execute

__all__ = ["UNTYPED", "Typed", "infer"]

UNTYPED = "the compiler cannot type it"


class Typed:
    """Inferred types of a function's variables and of its result, and result types of its callees."""

    def __init__(
        self, of: dict[str, NumbaType], result: NumbaType, returned: Callable[[Dispatcher, NumbaTypes], NumbaType]
    ) -> None:
        self.of, self.result, self.returned = of, result, returned

    def __call__(self, x: anf.Atom) -> NumbaType:
        """Return the type of an atom."""
        if isinstance(x, str):
            return self.of[x]
        return numba.typeof(x.value)


def infer(
    lowered: Lowered,
    argtypes: NumbaTypes,
    options: dict[str, object],
    uncompiled: Uncompiled,
    compile_itself: Callable[[], object] | None,
) -> tuple[Lowered, Typed]:
    """Infer the types of all variables with numba; return the function with names that hold several types split.

    `options` are those of the function: what it calls, and numba compiles here for good, inherits some of them.
    `uncompiled` has what it calls and numba need not compile. Where numba finds no types, `compile_itself` raises its
    error for the user's function unchanged; if numba does compile that, UnsupportedError. With compile_itself=None,
    nothing is compiled: numba's error of the inference is raised.
    """
    listing = Listing(lowered)
    space: dict[str, UserValue] = {"np": np, "math": math, "cmath": cmath, "runtime": runtime, "range": range}
    space.update({ref.name: ref.value for ref in lowered.refs.values()})
    execute(listing.text, space, f"<A-normal form of {lowered.source.tree.name}>")
    # Numba calls the versions of x x.1, x.2: what stands before the dot is the name, with this suffix, too.
    renamed = keep_apart(space["function"], parameters=False, suffix=".")
    flags = compiler.Flags()
    inherited = {k: v for k, v in options.items() if k in ("boundscheck", "error_model", "fastmath")}
    cpu_target.options.parse_as_flags(flags, inherited)
    flags.nrt = True
    flags.enable_looplift = False

    functions = {name: space[name] for name in called_only(listing.text) & space.keys()}
    with warnings.catch_warnings(), _refusing(lowered, listing, compile_itself):
        warnings.simplefilter("ignore", NumbaWarning)  # numba warns where it compiles f itself
        # What failed for the function around this one, if there is one; the older numba keeps no such record.
        failed = getattr(cpu_target.typing_context.callstack, "_fail_cache", {})
        before = dict(failed)
        try:
            space.update({name: uncompiled.of(f) for name, f in functions.items()})
            with uncompiled.implementations():
                found = inferred(space["function"], argtypes, flags, {})
        except NumbaError:
            space.update(functions)
            failed.clear()
            failed.update(before)
            if compile_itself is None:
                raise
            found = inferred(space["function"], argtypes, flags, {})
    made, split, result = _webs(lowered, argtypes, listing, uncompiled.returned, renamed, *found)
    body = drop_pruned(lowered.body, listing, found[0], split)
    return replace(lowered, body=body, result=result), made


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@contextmanager
def _refusing(lowered: Lowered, listing: Listing, compile_itself: Callable[[], object] | None) -> Iterator[None]:
    """Translate numba's typing errors to UnsupportedError, at the line of the user's function."""
    try:
        yield
    except NumbaError as error:
        if compile_itself is None:
            raise
        compile_itself()
        text = [x.strip() for x in str(error).splitlines() if x.strip() and not x.startswith("Failed in ")]
        reason = " ".join(text[: 2 if text and text[0].endswith(":") else 1]) or type(error).__name__
        found = re.findall(r'File "<A-normal form[^"]*", line (\d+)', str(error))
        statement = next((listing.places[int(n)][0] for n in found if int(n) in listing.places), None)
        line = getattr(statement, "line", lowered.source.tree.lineno)
        if isinstance(statement, anf.GetItem) and statement.unpacked is not None:
            why = "only items of tuples, lists and arrays are known, by their places"
            lowered.source.refuse(line, "this assignment to several names", why, "a loop over it")
        why = f"{UNTYPED} ({_ADDRESS.sub('', readable(reason))})"
        lowered.source.refuse(line, "this line", why, "it in several steps")


# Webs: versions that flow together


def _webs(
    lowered: Lowered,
    argtypes: NumbaTypes,
    listing: Listing,
    returned: Callable[[Dispatcher, NumbaTypes], NumbaType],
    renamed: dict[str, str],
    func_ir: Any,
    typemap: Any,
    result: NumbaType,
) -> tuple[Typed, dict[anf.Stmt | Lowered, anf.Stmt], anf.Atom]:
    """Return the types, the statements that have other names now, and the result."""
    sets = Sets[str]()
    at: dict[int, dict[str, dict[str, str]]] = {}  # line -> {"read", "write"} -> variable -> version
    instructions = [inst for block in func_ir.blocks.values() for inst in block.body]
    for inst in instructions:
        if _same_variable(inst):  # what numba makes of a phi with one incoming version, or x = x
            sets.join(inst.target.name, inst.value.name)
    for of_copies in (False, True):  # numba gives a phi's line to its copy: what really stands there comes first
        for inst in instructions:
            if _same_variable(inst) != of_copies:
                continue
            if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr) and inst.value.op == "phi":
                for incoming in inst.value.incoming_values:
                    if isinstance(incoming, ir.Var):
                        sets.join(inst.target.name, incoming.name)
                continue
            found = at.setdefault(inst.loc.line, {"read": {}, "write": {}})
            for var in inst.list_vars():
                wrote = isinstance(inst, ir.Assign) and var is inst.target
                found["write" if wrote else "read"].setdefault(var.name.split(".")[0], var.name)
    versions: dict[str, list[str]] = {}
    for version in typemap:
        if not version.startswith(("$", "arg.")):
            versions.setdefault(version.split(".")[0], []).append(version)
    of: dict[str, NumbaType] = {}
    new: dict[tuple[str, str], str] = {}
    versions.pop(lowered.exit_value, None)
    if lowered.result == lowered.exit_value:
        of[lowered.exit_value] = types.unliteral(result)
    for variable, names in versions.items():
        kinds: dict[str, list[NumbaType]] = {}
        for version in names:
            kinds.setdefault(sets.find(version), []).append(types.unliteral(typemap[version]))
        unified = {web: _unify(some) for web, some in kinds.items()}
        if len(set(unified.values())) == 1:
            of[variable] = next(iter(unified.values()))
            continue
        first = sets.find(renamed.get(variable, variable))
        for web in sorted(unified, key=lambda w: w != first):
            split = variable if web == first else lowered.names.fresh("{}_{k}", variable)
            new[variable, web] = split
            of[split] = unified[web]
    for name, kind in zip(lowered.parameters, argtypes, strict=True):
        of.setdefault(name, types.unliteral(_given(kind)))
    for s in anf.walk(lowered.body):  # of g(*t, k=x) numba makes a call of the items, and leaves out t
        if isinstance(s, anf.MakeTuple) and s.cls is None and s.target not in of:
            parts = [of.get(x) if isinstance(x, str) else numba.typeof(x.value) for x in s.args]
            if None not in parts:
                of[s.target] = types.BaseTuple.from_types(parts)
    return Typed(of, types.unliteral(result), returned), *_renamed(lowered, listing, at, sets, new)


def _same_variable(inst: Any) -> bool:
    """Whether an instruction copies one SSA version of a variable to another version of it."""
    copied = isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Var)
    return bool(copied and inst.target.name.split(".")[0] == inst.value.name.split(".")[0] != "")


def _given(kind: NumbaType) -> NumbaType:
    return numba.typeof(kind.value) if isinstance(kind, types.Omitted) else kind


def _unify(kinds: list[NumbaType]) -> NumbaType:
    unified = cpu_target.typing_context.unify_types(*kinds)
    return kinds[0] if unified is None else types.unliteral(unified)


def _renamed(
    lowered: Lowered, listing: Listing, at: Any, sets: Sets[str], new: dict[tuple[str, str], str]
) -> tuple[dict[anf.Stmt | Lowered, anf.Stmt], anf.Atom]:
    """Return the statements whose names are split, with the new names, and the result."""
    if not new:
        return {}, lowered.result
    split = {variable for variable, _ in new}
    for s, _ in listing.places.values():
        if isinstance(s, anf.Opaque) and split & {*s.targets, *s.args}:
            why = "a variable of it has several types in this function"
            lowered.source.refuse(s.line, s.refusal[0], why, "a name for each of them")

    def version(line: int, x: anf.Atom, how: str) -> Any:
        """Return the new name of a variable that is read or written on a line."""
        if not isinstance(x, str) or x not in split:
            return x
        found = at.get(line, {}).get(how, {}).get(x)
        if found is None:
            return x
        return new[x, sets.find(found)]

    made: dict[anf.Stmt | Lowered, Any] = {}
    result = lowered.result
    for line, (s, part) in listing.places.items():
        now = made.get(s, s)

        def read(x: anf.Atom, line: int = line) -> Any:
            """Rename an atom that is read on this line."""
            return version(line, x, "read")

        if part == "result":
            result = read(result)
        elif part == "test":
            made[s] = replace(now, test=read(now.test))
        elif part.startswith("exit"):
            k = int(part.split()[1])
            made[s] = replace(now, exits=[*now.exits[:k], read(now.exits[k]), *now.exits[k + 1 :]])
        else:
            now = with_reads(now, read)
            if isinstance(now, anf.Let):
                now = now.to(version(line, now.target, "write"))
            made[s] = replace(now, target=version(line, now.target, "write")) if isinstance(now, anf.For) else now
    return made, result
