"""The page's description of each stage in plain words; the rest of the text comes from the stages' docstrings.

The prose is that of paper_figures/walkthrough.md, shortened, around what the reader can try.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["AREAS", "COUNTS", "GROWING", "IDEA", "IN_SHORT", "LEFT", "SCENES", "Growing", "Scene"]

#: Which problem a stage finds: what the stage before it left.
LEFT = {
    "naive": "The start. Every real number of the program carries a function, its backpropagator. It is given the "
    "derivative of the output by that number, and passes it on towards the inputs by the chain rule.",
    "staged": "naive calls a backpropagator once for every path that leads from the output to its number. Where "
    "numbers are used twice, and their uses twice again, the paths double each time: n doublings, 2ⁿ calls.",
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


#: How it comes about that the stage works, in a paragraph.
IDEA = {
    "naive": "Look at the chain rule for y made of u and v: (d of y) = p · (d of u) + q · (d of v). Nothing in it says "
    "that d has to be a number. Let it be a function from z to z times the derivatives by all inputs: the rule stays "
    "the same, and the run of the program computes no derivative at all. Every operation only makes a backpropagator, "
    "which remembers those of its arguments. The work begins when that of the result is called, with 1. So nobody "
    "had to program the reverse direction: it is the direction in which functions call the functions that they were "
    "made from.",
    "staged": "A backpropagator is linear: d(a) + d(b) = d(a + b). So instead of calling it twice, we may add the "
    "arguments and call it once. For that, a call has to wait until all others of the same backpropagator are in. "
    "When is that? Each one gets an id when it is made, and it can only call older ones. So when the highest id is "
    "called first, nobody is left who could add to it.",
    "cayley": "Imagine that money is collected like this: everyone hands in a list of all the members, with zeros "
    "beside all names but one, and somebody adds up the lists. Sensible people pass one sheet around. Everyone adds a "
    "number to what is there, and passes it on. So a backpropagator no longer returns a cotangent for others to add "
    "up; it returns a function that does the adding.",
    "sparse": "The sheet has the shape of the input, and to change a number in nested pairs is to make anew all the "
    "pairs around it. So give it another shape: number the inputs 0, 1, 2, ..., and collect what each receives in a "
    "map, under its number. Once, at the end, all is put back into the input's shape.",
    "arrays": "There is one sheet. Whoever gets it passes on a changed copy, and never looks at the old one again; so "
    "nobody can tell if it is the old one, changed in place. And once the program has run, we know how large it has "
    "to be: an element for each input, and one for each id.",
    "collectorless": "Look at the last calls: the backpropagators of the inputs are called with the derivatives, and "
    "all that they do is to write these down a second time.",
    "lists": "There may be a million backpropagators, but there are only three kinds: an input's does nothing, a "
    "constant's does nothing, and an operation's multiplies its argument by known numbers and adds the products at "
    "known ids. So the numbers and the ids say it all: data in place of functions. It is called defunctionalisation.",
    "contrib": "The lists refer to each other, all over memory. But which of them the output reaches is known before "
    "the first number is passed on. So they are laid out once, in a row, the highest id first, as arrays of "
    "numbers; and a loop that only reads and writes arrays is one that a compiler can take.",
    "tape": "Where a list of contributions belongs is known as soon as it is made: at its id. So it is written there, "
    "at the end of what has been written so far. What comes out is called a tape, or a Wengert list, and here it came "
    "from closures, step by step.",
}


class Scene(NamedTuple):
    """A thing to try: what is said before the button, its label, what is said after it, and what it sets."""

    before: str
    label: str
    after: str
    sets: dict[str, Any]  #: program, size, beside (a stage in lockstep), choose (the reader picks calls), go (a step)


SCENES = {
    "naive": [
        Scene(
            "Step through the reverse pass:",
            "x · (x + y)",
            "has two inputs and two operations, but five calls, as x is used twice.",
            {"program": "fig1", "go": "seed"},
        ),
        Scene(
            "Then let sharing pile up:",
            "eight doublings",
            "take 511 calls. Type another x: the number of calls stays.",
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
            "answer is right all the same, as d is linear, but calls multiply: this is the exponential growth again.",
            {"program": "section4", "choose": True, "go": "call"},
        ),
    ],
    "cayley": [
        Scene(
            "A frame is drawn around what a step touches. See",
            "cayley beside staged on sixteen inputs",
            "of which six are used: staged touches all sixteen numbers, again and again, to change one.",
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
            "of eight cells: one element is written where sparse visits a path of nodes.",
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
            "on a linked list: the constant has no id any more, and the lists are laid out before the loop begins.",
            {"program": "deep", "size": 4, "beside": "lists", "go": "seed"},
        ),
    ],
    "tape": [
        Scene(
            "Watch",
            "the tape of a linked list",
            "being written in the forward pass, and read backwards.",
            {"program": "deep", "size": 4, "go": "make"},
        ),
    ],
}


class Growing(NamedTuple):
    """A slider of a program's size in a stage's text: a count of some stages, their laws, and what is said."""

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
        "visits some log n nodes of a map for each:",
    ),
}
