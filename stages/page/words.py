"""What the page says of each stage in plain words; the rest of its text are the stages' own docstrings."""

from __future__ import annotations

from collections.abc import Callable

from stages.steps import Scalar, Step, Walk

__all__ = ["AREAS", "COUNTS", "IN_SHORT", "LEFT", "backpropagator", "number", "sentence"]

#: Which problem a stage finds: what the stage before it left.
LEFT = {
    "naive": "The start. Every real number of the program carries a function, its backpropagator. It is given the "
    "derivative of the output by that number, and passes it on towards the inputs by the chain rule.",
    "staged": "naive calls a backpropagator once for every path that leads from the output to its number. Where "
    "numbers are used twice, and their uses twice again, the paths double each time: n doublings, 2^n calls.",
    "cayley": "staged calls each backpropagator once. But what a call returns is a whole cotangent of the input, "
    "nearly all of it zeros, and every + adds two of them, number by number. With a large input that is most of the "
    "work. The paper calls this (A).",
    "sparse": "cayley adds to a single place of the cotangent, but on its way there it takes apart and builds anew "
    "every pair between the root of the input and the place. In a list of n cells that are up to n pairs. The paper "
    "calls this (B).",
    "arrays": "sparse keeps the delayed calls and the cotangents in ordered maps. Each look into a map takes a number "
    "of steps that grows with the logarithm of its size. The paper calls this (C).",
    "collectorless": "arrays is as fast as it should be, but keeps two arrays, and all that the backpropagator of an "
    "input does is to copy its own argument from the one into the other.",
    "lists": "collectorless still holds a Python function for every operation, though there are only three forms of "
    "them.",
    "contrib": "lists follows references from list to list, in Python, and keeps one for every constant. No compiler "
    "can make a loop of that.",
    "parallel": "tape resolves one id after the other, also where the program has parts that need nothing of each "
    "other.",
    "tape": "contrib finds the lists of contributions by following references from the output. They have to be "
    "gathered and laid out flat before a compiled loop can run over them.",
}

#: What each stage does about it, in one sentence.
IN_SHORT = {
    "naive": "The chain rule as closures, easy to prove right.",
    "staged": "Calls wait in a map until no other call of the same backpropagator can come, and are made once, with "
    "the sum of their arguments.",
    "cayley": "A cotangent is represented by the function that adds it to another one; zero costs nothing any more.",
    "sparse": "The input's numbers are counted through, and their cotangents kept in a map.",
    "arrays": "Both maps become arrays that are written in place.",
    "collectorless": "The arguments of the inputs' backpropagators are the cotangent already; one array is enough.",
    "lists": "A backpropagator becomes a list of factors and ids, which is interpreted.",
    "contrib": "The lists are laid out flat, so that a compiled loop reads them.",
    "parallel": "Every job of a program that forks writes a tape of its own; jobs beside each other resolve on "
    "threads.",
    "tape": "The lists are written down in the forward pass, one after the other: the tape.",
}

#: The fields of `stages.Counts`: heading, meaning.
COUNTS = {
    "created": ("created", "backpropagators created"),
    "calls": ("calls", "calls of backpropagators; from lists on, ids resolved"),
    "scalars": ("scalars", "real numbers touched by 0, + and one-hots on whole cotangents of the input"),
    "pairs": ("pairs", "pairs built on the way to a scalar of the input"),
    "map_steps": ("map nodes", "nodes of maps visited"),
    "array_writes": ("writes", "elements written to mutable arrays, the tape among them"),
}

#: The parts of a state: what is shown of them, under the name that they have in the stage's code.
AREAS = {
    "todo": "calls still to be made, the next one first",
    "m": "delayed calls, id and argument",
    "c": "cotangent of the input",
    "arguments": "argument of each id",
    "called": "whether the id was called",
    "rows": "the ids in the order of their lists",
    "ends": "where the entries of each row begin; the last one is where they end",
    "partials": "entries: partial derivatives",
    "ids": "entries: the ids that they go to",
}

_CLOSURES = ("naive", "staged", "cayley", "sparse", "arrays", "collectorless")


def number(x: float) -> str:
    """A number, short."""
    return f"{x:.5g}"


def backpropagator(stage: str, scalar: Scalar) -> str:
    r"""The backpropagator of a scalar in the stage's notation.

    >>> backpropagator("staged", Scalar(3, "operation", 15.0, "v0 * v2", ((5.0, 0), (3.0, 2)), None))
    '\\z. SCall d0 (5*z) + SCall d2 (3*z)'
    """
    if stage not in _CLOSURES:
        mark = "d" if stage in ("lists", "contrib") else ""
        return f"[{', '.join(f'({number(p)}, {mark}{i})' for p, i in scalar.refers)}]"
    call, plus = ("", " + ") if stage == "naive" else ("SCall ", " + " if stage == "staged" else " . ")
    if scalar.kind == "operation":
        return "\\z. " + plus.join(f"{call}d{i} ({number(p)}*z)" for p, i in scalar.refers)
    nothing = "0" if stage in ("naive", "staged") else "id"
    return f"\\z. {nothing if scalar.kind == 'constant' else _INPUTS[stage].format(scalar)}"


_INPUTS = {
    "naive": "one-hot of z at {0.text}",
    "staged": "SCotan (one-hot of z at {0.text})",
    "cayley": "SCotan (add z at {0.text})",
    "sparse": "SOneHot {0.id} z",
    "arrays": "SOneHot {0.id} z",
    "collectorless": "id",
}


def sentence(walk: Walk, step: Step, times: int) -> str:
    """What happens in a step; `times` is how often its backpropagator has been called by then."""
    return _SENTENCES[step.kind](walk, step, times)


def _make(walk: Walk, step: Step, times: int) -> str:
    assert step.id is not None
    scalar = walk.scalars[step.id]
    what = f"v{scalar.id} = {scalar.text} = {number(scalar.value)}"
    origin = {"input": "of the input", "constant": "a constant", "operation": "the result of an operation"}[scalar.kind]
    text = backpropagator(walk.stage, scalar)
    if walk.stage in ("tape", "parallel"):
        entries = text if scalar.refers else "nothing"
        return f"Forward: {what}, {origin}, takes id {scalar.id}. Written to the tape for it: {entries}."
    draws = f"gets the backpropagator d{scalar.id}" if walk.stage == "naive" else f"draws the id {scalar.id}"
    carried = "the contributions" if walk.stage in ("lists", "contrib") else f"d{scalar.id} ="
    return f"Forward: {what}, {origin}, {draws}; {carried} {text}."


def _seed(walk: Walk, step: Step, times: int) -> str:
    to = _list([f"d{i} with {number(z)}" for i, z in step.passed])
    if not step.passed:
        return "Reverse: the pullback is called with the cotangent 1, which depends on no input."
    means = {
        "naive": f"To be called: {to}.",
        "contrib": "Written to the arguments: " + _list([f"{number(z)} at id {i}" for i, z in step.passed]) + ".",
        "tape": "Written to the arguments: " + _list([f"{number(z)} at id {i}" for i, z in step.passed]) + ".",
    }
    means["parallel"] = means["tape"]
    return f"Reverse: the pullback gets the cotangent 1. {means.get(walk.stage, f'Not called yet, but noted: {to}.')}"


def _call(walk: Walk, step: Step, times: int) -> str:
    assert step.id is not None
    assert step.argument is not None
    stage, z = walk.stage, number(step.argument)
    known = step.id < len(walk.scalars)
    kind = walk.scalars[step.id].kind if known else "operation"
    name = walk.scalars[step.id].text if known else ""
    if stage == "naive":
        again = f", for the {times}{_ordinal(times)} time" if times > 1 else ""
        start = f"Reverse: d{step.id} is called with {z}{again}."
    elif stage in ("contrib", "tape", "parallel"):
        start = f"Reverse: id {step.id} is next; its argument is {z}, and nothing can be added to it any more."
    else:
        start = f"Reverse: {step.id} is the highest id left, so all calls of d{step.id} are in. It is called with {z}."
    if step.passed:
        parts = [f"d{i} with {number(x)}" for i, x in step.passed]
        if stage in ("contrib", "tape", "parallel"):
            parts = [f"{number(x)} at id {i}" for i, x in step.passed]
            return f"{start} Its contributions, {z} times each partial derivative, are added: now {_list(parts)}."
        return f"{start} {'It calls' if stage == 'naive' else 'Its own calls are delayed:'} {_list(parts)}."
    if kind == "input":
        return f"{start} {_AT_AN_INPUT[stage].format(name=name, z=z, i=step.id)}"
    return f"{start} It has nothing to pass on."


_ONE_HOT = "That is one-hot, {z} at {name} and 0 elsewhere, and is added to the cotangent, all of it."
_AT_AN_INPUT = {
    "naive": _ONE_HOT,
    "staged": _ONE_HOT,
    "cayley": "It adds {z} at {name}, and builds only the pairs on the way there.",
    "sparse": "It adds {z} to what the map of cotangents has at {i}.",
    "arrays": "It adds {z} to the element {i} of the array of cotangents.",
    "collectorless": "It does nothing: its argument is the cotangent of {name}.",
    "lists": "It has no contributions: its argument is the cotangent of {name}.",
    "contrib": "It has no contributions: its argument is the cotangent of {name}.",
    "parallel": "Its row of the tape is empty: its argument is the cotangent of {name}.",
    "tape": "Its row of the tape is empty: its argument is the cotangent of {name}.",
}


def _result(walk: Walk, step: Step, times: int) -> str:
    gradient = [f"{number(z)} for {name}" for name, z in zip(walk.inputs, walk.gradient, strict=True)]
    shown = gradient if len(gradient) <= 12 else [*gradient[:12], f"{len(gradient) - 12} more"]
    return f"Done. The cotangent of the input: {_list(shown)}."


_SENTENCES: dict[str, Callable[[Walk, Step, int], str]] = {
    "make": _make,
    "seed": _seed,
    "call": _call,
    "result": _result,
}


def _list(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "nothing"


def _ordinal(n: int) -> str:
    return "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
