"""The page's description of each stage in plain words; the rest of its text comes from the stages' docstrings.

The text shortens paper_figures/walkthrough.md, around things that the reader can try.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["AREAS", "COUNTS", "GROWING", "IDEA", "IN_SHORT", "LEFT", "SCENES", "Growing", "Scene"]

#: Which problem a stage finds: what the stage before it left.
LEFT = {
    "naive": "The start. Every real number of the program carries a function, its backpropagator. It takes the "
    "derivative of the output with respect to that number, and passes it on to the inputs by the chain rule.",
    "staged": "naive calls a backpropagator once for every path that leads from the output to its number. Where "
    "numbers are used twice, and their uses twice again, the paths double each time: n doublings, 2ⁿ calls.",
    "cayley": "staged calls each backpropagator once. But what a call returns is a whole cotangent of the input, "
    "nearly all of it zeros, and every + adds two of them, number by number. With a large input that is most of the "
    "work. The paper calls this (A).",
    "sparse": "cayley adds to a single number of the cotangent, but it has to rebuild every pair between the root of "
    "the input and that number. In a list of n cells, these are up to n pairs. The paper "
    "calls this (B).",
    "arrays": "sparse keeps the delayed calls and the cotangents in ordered maps. Each access to a map takes a "
    "number of steps that grows with the logarithm of its size. The paper calls this (C).",
    "collectorless": "arrays is as fast as it should be, but keeps two arrays, and the backpropagator of an input "
    "only copies its own argument from one into the other.",
    "lists": "collectorless still holds a Python function for every operation, though these functions have only "
    "three forms.",
    "contrib": "lists follows references from list to list, in Python, and keeps one for every constant. A compiler "
    "cannot turn that into a loop.",
    "parallel": "tape resolves one id after the other, even where parts of the program do not depend on each other.",
    "tape": "contrib finds the lists of contributions by following references from the output. It has to gather them "
    "and lay them out flat before a compiled loop can run over them.",
}

#: What each stage does about it, in one sentence.
IN_SHORT = {
    "naive": "The chain rule as closures, easy to prove right.",
    "staged": "Calls of one backpropagator wait in a map until no more of them can come; then it is called once, with "
    "the sum of their arguments.",
    "cayley": "A cotangent is represented by the function that adds it to another one, so that zero and + cost O(1).",
    "sparse": "The input's numbers get indices, and a map holds their cotangents by index.",
    "arrays": "Both maps become arrays that are updated in place.",
    "collectorless": "The arguments of the inputs' backpropagators already are the cotangent, so one array is enough.",
    "lists": "A backpropagator becomes a list of factors and ids, which is interpreted.",
    "contrib": "The lists are laid out flat, so that a compiled loop can read them.",
    "parallel": "Each job of a program that forks writes its own tape; independent jobs resolve in parallel, on "
    "threads.",
    "tape": "The forward pass writes the lists one after the other into arrays: the tape.",
}

#: The fields of `stages.Counts`: heading, meaning.
COUNTS = {
    "created": ("created", "backpropagators created"),
    "calls": ("calls", "calls of backpropagators; from lists on, ids resolved"),
    "scalars": ("scalars", "real numbers touched by 0, + and one-hots on whole cotangents of the input"),
    "pairs": ("pairs", "pairs built on the way to a scalar of the input"),
    "map_steps": ("map nodes", "map nodes visited"),
    "array_writes": ("writes", "elements written to mutable arrays, including the tape"),
}

#: The parts of a stage's state, by their name in its code, with a description.
AREAS = {
    "todo": "calls still to make, the next one first",
    "m": "delayed calls, id and argument",
    "c": "cotangent of the input",
    "arguments": "argument of each id",
    "called": "whether the id was called",
    "rows": "the ids in the order of their lists",
    "ends": "where the entries of each row begin; the last one is where they end",
    "partials": "entries: partial derivatives",
    "ids": "entries: the ids that they go to",
}


#: Why the stage works, in a paragraph.
IDEA = {
    "naive": "Look at the chain rule for y made of u and v: (d of y) = p · (d of u) + q · (d of v). Nothing in it says "
    "that d has to be a number. Let it be a function from z to z times the derivatives with respect to all inputs: the "
    "rule stays the same, and running the program computes no derivative yet. Every operation only makes a "
    "backpropagator, which remembers the backpropagators of its arguments. The work begins when the result's "
    "backpropagator is called, with 1. Nobody had to program the reverse order: functions call the functions that they "
    "were made from.",
    "staged": "A backpropagator is linear: d(a) + d(b) = d(a + b). So instead of calling it twice, we may add the "
    "arguments and call it once. For that, a call has to wait until all others of the same backpropagator are in. "
    "When is that? Each one gets an id when it is made, and it can only call older ones. So nobody is left who could "
    "add to the highest id: it is called first.",
    "cayley": "Imagine a club that collects money like this: every member hands in a list of all members, with "
    "zeros for all names but one, and somebody adds up the lists. Sensible people pass one sheet around: each member "
    "adds a number to it, and passes it on. So a backpropagator no longer returns a cotangent for others to add up; it "
    "returns a function that adds to a cotangent.",
    "sparse": "The sheet has the shape of the input, and to change a number in nested pairs, all pairs around it "
    "have to be rebuilt. So give the sheet another shape: number the inputs 0, 1, 2, ..., and add up in a map, under "
    "its number, what each receives. At the end, put all of it back into the input's shape once.",
    "arrays": "There is one sheet. Whoever gets it passes on a changed copy, and never looks at the old one again. So "
    "nobody can tell whether it was changed in place. And once the program has run, its size is known: an element for "
    "each input, and one for each id.",
    "collectorless": "Look at the last calls: the backpropagators of the inputs are called with the derivatives, and "
    "only write them down a second time.",
    "lists": "There may be a million backpropagators, but there are only three kinds: an input's does nothing, a "
    "constant's does nothing, and an operation's multiplies its argument by partial derivatives and adds the products "
    "at known ids. The partial derivatives do not depend on the argument. So the forward pass can compute them, and "
    "these numbers and the ids suffice: data in place of functions. This is called defunctionalisation.",
    "contrib": "The lists refer to each other, all over memory. But the lists that the output reaches are known before "
    "the first number is passed on. So lay them out once, in a row, the highest id first, as arrays of numbers. A "
    "compiler can handle a loop that only reads and writes arrays.",
    "tape": "The position of a list of contributions is known as soon as it is made: its id. So append it to the lists "
    "written so far. The result is called a tape, or a Wengert list, and here it came from closures, step by step.",
}


class Scene(NamedTuple):
    """A thing to try: the text before the button, its label, the text after it, and the settings that it makes."""

    before: str
    label: str
    after: str
    sets: dict[str, Any]  #: program, size, beside (a stage in lockstep), choose (the reader picks calls), go (a step)


SCENES = {
    "naive": [
        Scene(
            "Step through the reverse pass:",
            "x · (x + y)",
            "has two inputs and two operations, but takes five calls, because x is used twice.",
            {"program": "fig1", "go": "seed"},
        ),
        Scene(
            "Then let sharing pile up:",
            "eight doublings",
            "take 511 calls. Type another x: the number of calls does not change.",
            {"program": "doublings", "size": 8, "go": "last"},
        ),
    ],
    "staged": [
        Scene(
            "See the two in step:",
            "staged beside naive on four doublings",
            "is done after 5 calls; naive needs 31.",
            {"program": "doublings", "size": 4, "beside": "naive", "go": "seed"},
        ),
        Scene(
            "Why the highest id first?",
            "Choose the calls yourself",
            "and call d1 before d2, by its button in the map m: what d2 adds to d1 later takes a second call. The "
            "answer is still right, because d is linear, but calls multiply: this is the exponential growth again.",
            {"program": "section4", "choose": True, "go": "call"},
        ),
    ],
    "cayley": [
        Scene(
            "A frame is drawn around what a step touches. See",
            "cayley beside staged on sixteen inputs",
            "of which six are used: staged touches all sixteen numbers every time it changes one.",
            {"program": "wide", "size": 16, "beside": "staged", "go": "last"},
        ),
    ],
    "sparse": [
        Scene(
            "See",
            "sparse beside cayley on a linked list",
            "of six cells: to change the last number, cayley builds all the pairs above it; the search tree of sparse "
            "is balanced.",
            {"program": "deep", "size": 6, "beside": "cayley", "go": "last"},
        ),
    ],
    "arrays": [
        Scene(
            "See",
            "arrays beside sparse on a linked list",
            "of eight cells: it writes one element where sparse visits a path of nodes.",
            {"program": "deep", "size": 8, "beside": "sparse", "go": "last"},
        ),
    ],
    "collectorless": [
        Scene(
            "See",
            "collectorless beside arrays",
            "at the end of x · (x + y): the first elements of m are those of c.",
            {"program": "fig1", "beside": "arrays", "go": "last"},
        ),
    ],
    "lists": [
        Scene(
            "See",
            "lists beside collectorless",
            "with the backpropagators opened below the steps: the same numbers and ids, without functions.",
            {"program": "section4", "beside": "collectorless", "go": "seed"},
        ),
    ],
    "contrib": [
        Scene(
            "See",
            "contrib beside lists",
            "on a linked list: the constant no longer has an id, and the lists are laid out before the loop begins.",
            {"program": "deep", "size": 4, "beside": "lists", "go": "seed"},
        ),
    ],
    "tape": [
        Scene(
            "Watch",
            "the tape of a linked list",
            "as the forward pass writes it and the reverse pass reads it backwards.",
            {"program": "deep", "size": 4, "go": "make"},
        ),
    ],
}


class Growing(NamedTuple):
    """A slider of a program's size in a stage's text: a count of some stages, their laws, and the text."""

    program: str
    stages: tuple[str, ...]
    counted: str
    laws: dict[str, str]
    says: str


GROWING = {
    "staged": Growing(
        "doublings",
        ("naive", "staged"),
        "calls",
        {"naive": "2ⁿ⁺¹ - 1", "staged": "n + 1"},
        "Each doubling uses its argument twice, so each backpropagator is called twice as often as the one after it, "
        "until calls wait for each other. Calls of backpropagators, for n doublings:",
    ),
    "cayley": Growing(
        "wide",
        ("staged", "cayley"),
        "scalars",
        {},
        "Three products of six of the n inputs: the program's work does not depend on n. Numbers touched on whole "
        "cotangents:",
    ),
    "sparse": Growing(
        "deep",
        ("cayley", "sparse"),
        "pairs",
        {},
        "A linked list of n cells. Pairs built on the way to its numbers, up to n for each; sparse builds none, and "
        "visits about log n nodes of a map for each:",
    ),
}
